//! A release as a tree of files.

mod listing;
mod watch;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::limits::Limits;
use crate::path::RelPath;
use crate::read::{LocalFile, ReadAt};
use crate::text::visible;
use listing::{Listing, changed, is_folder, read_error};
use watch::Failures;

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Where it is, from the root of the tree.
    pub path: RelPath,
    /// Length in bytes.
    pub length: u64,
    /// Time of the last change, in nanoseconds since 1970; 0 where the store has none.
    pub modified: u64,
}

impl TreeEntry {
    /// What is different about the same file by now: a fragment; `None` where nothing is. A copy
    /// has times of its own.
    #[must_use]
    pub fn what_changed(&self, now: &Self, with_times: bool) -> Option<String> {
        let (path, was, is) = (&self.path, self.length, now.length);
        if was != is {
            Some(format!("{path} had {was} bytes and has {is}"))
        } else if with_times && self.modified != now.modified {
            Some(format!("{path} was written since"))
        } else {
            None
        }
    }
}

/// What was seen while listing that is no file to be read, or lies elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oddity {
    /// Name, from the root of the tree where it lies below it.
    pub name: String,
    /// What is odd about it.
    pub kind: OddityKind,
    /// Where it leads, as it says itself: of [`OddityKind::OutsideLink`].
    pub to: Option<String>,
}

/// Kinds of [`Oddity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OddityKind {
    /// A download that was begun and not ended.
    Unfinished,
    /// A link to something that is not there.
    BrokenLink,
    /// A name that is not UTF-8 or has characters that no path here may have.
    UnreadableName,
    /// A folder that lies within itself, through a link.
    Loop,
    /// A link to a folder that is listed already, under another name.
    Repeated,
    /// A folder that cannot be read.
    UnreadableFolder,
    /// A folder farther down than [`Limits::folder_depth`]; nothing in it is looked at.
    TooDeep,
    /// A pipe, a socket or a device.
    NotAFile,
    /// A link to something outside the release, which is followed.
    OutsideLink,
}

/// A release: files that can be listed and read at positions.
pub trait ReadTree: Send + Sync {
    /// Every file, sorted by path (as bytes). Hidden files and folders are left out.
    fn list(&self) -> &[TreeEntry];

    /// What was seen while listing that is no file to be read, or lies elsewhere; sorted, of each
    /// kind at most one more than [`Limits::notices`].
    fn oddities(&self) -> &[Oddity];

    /// Opens a file.
    ///
    /// # Errors
    /// Those of the store.
    fn open(&self, path: &RelPath) -> io::Result<Arc<dyn ReadAt>>;

    /// The entry at `path`.
    fn entry(&self, path: &str) -> Option<&TreeEntry> {
        let list = self.list();
        let at = list.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?;
        list.get(at)
    }
}

/// Why a folder cannot be a tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A folder, or a file in it, cannot be read or looked at.
    #[error("cannot read {path}")]
    Read {
        /// The folder or file.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The path is there and is no folder.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// The path.
        path: String,
    },
    /// A download cache holds several revisions and does not say which is meant.
    #[error("{path} is a download cache of several revisions: {}", revisions.join(", "))]
    Revisions {
        /// The folder.
        path: String,
        /// Their names, sorted.
        revisions: Vec<String>,
    },
    /// More files than [`Limits`] allow.
    #[error("{path}: more than {limit} {what}")]
    Limit {
        /// Where it was exceeded.
        path: String,
        /// What was counted.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
}

/// A folder of a local disk.
///
/// Symbolic links are followed, since a download cache of the Hub is a tree of links
/// (`snapshots/REVISION/...`) into `blobs/`. A folder is listed once, however many links lead to
/// it: under its own name where it lies in the tree, else under the first of the links. What leads
/// out of the release, and not into the cache that it lies in, is followed and told of. The cache's
/// own folder is taken too: the revision is then the one that `refs/main` names, or the only one.
#[derive(Debug)]
pub struct LocalTree {
    root: PathBuf,
    entries: Vec<TreeEntry>,
    oddities: Vec<Oddity>,
    failures: Failures,
}

impl LocalTree {
    /// Lists `folder`.
    ///
    /// # Errors
    /// [`TreeError`] where it is no folder, cannot be read or exceeds `limits`.
    pub fn open(folder: &Path, limits: &Limits) -> Result<Self, TreeError> {
        let read = |source| TreeError::Read { path: shown(folder), source };
        let meta = fs::metadata(folder).map_err(read)?;
        if !meta.is_dir() {
            return Err(TreeError::NotAFolder { path: shown(folder) });
        }
        let root = snapshot_of_cache(folder)?.unwrap_or_else(|| folder.to_path_buf());
        let (entries, oddities) = Listing::new(limits, &root).all(&root)?;
        Ok(Self { root, entries, oddities, failures: Failures::default() })
    }

    /// Whether the system has opened and read all that was asked of it. What a reader cannot read
    /// it may take for damage, which it is only where this is so.
    ///
    /// # Errors
    /// [`TreeError::Read`] with the first file that failed, whoever read it.
    pub fn check_read(&self) -> Result<(), TreeError> {
        match self.failures.first() {
            Some((path, error)) => Err(read_error(&path.under(&self.root), error)),
            None => Ok(()),
        }
    }

    /// What is different from this listing by now: a fragment; `None` where nothing is.
    ///
    /// # Errors
    /// [`TreeError`] where the folder cannot be listed any more.
    pub fn what_changed(&self, limits: &Limits) -> Result<Option<String>, TreeError> {
        let now = Self::open(&self.root, limits)?;
        let gone = self.entries.iter().find_map(|was| match now.entry(was.path.as_str()) {
            None => Some(format!("{} is not there any more", was.path)),
            Some(is) => was.what_changed(is, true),
        });
        let new = || {
            let new = now.entries.iter().find(|is| self.entry(is.path.as_str()).is_none());
            new.map(|is| format!("{} was not there", is.path))
        };
        Ok(gone.or_else(new))
    }

    /// The folder that paths start from.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl ReadTree for LocalTree {
    fn list(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn oddities(&self) -> &[Oddity] {
        &self.oddities
    }

    fn open(&self, path: &RelPath) -> io::Result<Arc<dyn ReadAt>> {
        let opened = open_regular(&path.under(&self.root));
        match opened.and_then(|(file, _)| LocalFile::new(file)) {
            Ok(file) => Ok(self.failures.watched(path, file)),
            Err(error) => {
                // Whether another file is there is asked for in this way too.
                if self.entry(path.as_str()).is_some() {
                    self.failures.note(path, &error);
                }
                Err(error)
            }
        }
    }
}

/// A path in a message: in one line, whatever it holds.
fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}

/// Opens a file below `root` that was listed before, and says what it is now.
///
/// # Errors
/// Those of the system.
pub fn open_listed(root: &Path, path: &RelPath) -> io::Result<(Arc<dyn ReadAt>, TreeEntry)> {
    let (file, meta) = open_regular(&path.under(root))?;
    let entry = TreeEntry { path: path.clone(), length: meta.len(), modified: changed(&meta) };
    Ok((Arc::new(LocalFile::new(file)?), entry))
}

/// Says what a file below `root` that was listed before is now.
///
/// # Errors
/// Those of the system.
pub fn look_at_listed(root: &Path, path: &RelPath) -> io::Result<TreeEntry> {
    let meta = fs::metadata(path.under(root))?;
    Ok(TreeEntry { path: path.clone(), length: meta.len(), modified: changed(&meta) })
}

/// The bytes of a regular file that has at most so many.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::InvalidData`] where it has more.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, _) = open_regular(path)?;
    let mut bytes = Vec::new();
    if file.take(most.saturating_add(1)).read_to_end(&mut bytes)? as u64 > most {
        let what = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

/// Opens a file that is one. What was listed as a file may have become something else since, and
/// a pipe would be waited for without end.
fn open_regular(path: &Path) -> io::Result<(fs::File, fs::Metadata)> {
    let not_a_file = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    if !fs::metadata(path)?.is_file() {
        return Err(not_a_file());
    }
    let file = fs::File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() { Ok((file, meta)) } else { Err(not_a_file()) }
}

/// What a reference of a cache says: one name.
fn reference(path: &Path) -> Option<String> {
    /// No name of a folder has more bytes.
    const LONGEST: u64 = 256;
    let (file, _) = open_regular(path).ok()?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The snapshot meant by `folder`, where it is the cache folder of a repository.
fn snapshot_of_cache(folder: &Path) -> Result<Option<PathBuf>, TreeError> {
    let snapshots = folder.join("snapshots");
    if !is_folder(&snapshots)? || !is_folder(&folder.join("blobs"))? {
        return Ok(None);
    }
    if let Some(named) = reference(&folder.join("refs").join("main")) {
        // The reference is text of the cache: it may only name a folder in `snapshots`.
        let revision = RelPath::new(named.trim()).ok().filter(|r| r.parent().is_none());
        if let Some(path) = revision.map(|r| r.under(&snapshots)).filter(|p| p.is_dir()) {
            return Ok(Some(path));
        }
    }
    let read = |source| TreeError::Read { path: shown(&snapshots), source };
    let mut revisions = Vec::new();
    for entry in fs::read_dir(&snapshots).map_err(read)? {
        let entry = entry.map_err(read)?;
        if entry.path().is_dir() {
            revisions.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    revisions.sort();
    match revisions.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(snapshots.join(only))),
        _ => Err(TreeError::Revisions { path: shown(folder), revisions }),
    }
}

/// A folder of a tree as a tree of its own.
pub struct Subtree<'a> {
    tree: &'a dyn ReadTree,
    folder: String,
    entries: Vec<TreeEntry>,
}

impl<'a> Subtree<'a> {
    /// The files of `tree` below `folder`, a path without a `/` behind it.
    #[must_use]
    pub fn new(tree: &'a dyn ReadTree, folder: &str) -> Self {
        let inside = |entry: &TreeEntry| {
            let path = entry.path.as_str().strip_prefix(folder)?.strip_prefix('/')?;
            Some(TreeEntry { path: RelPath::new(path).ok()?, ..*entry })
        };
        let begin = format!("{folder}/");
        let first = tree.list().partition_point(|entry| entry.path.as_str() < begin.as_str());
        let run = tree.list().iter().skip(first);
        let run = run.take_while(|entry| entry.path.as_str().starts_with(&begin));
        let entries = run.filter_map(inside).collect();
        Self { tree, folder: folder.to_owned(), entries }
    }
}

impl ReadTree for Subtree<'_> {
    fn list(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn oddities(&self) -> &[Oddity] {
        &[]
    }

    fn open(&self, path: &RelPath) -> io::Result<Arc<dyn ReadAt>> {
        let path = RelPath::new(&format!("{}/{path}", self.folder));
        self.tree.open(&path.map_err(|_| io::ErrorKind::NotFound)?)
    }
}

/// A tree in memory, for tests and for data that never was on a disk.
#[derive(Debug, Default, Clone)]
pub struct MemoryTree {
    entries: Vec<TreeEntry>,
    files: BTreeMap<RelPath, Arc<Vec<u8>>>,
}

impl MemoryTree {
    /// A tree of these files.
    #[must_use]
    pub fn new(files: impl IntoIterator<Item = (RelPath, Vec<u8>)>) -> Self {
        let files: BTreeMap<_, _> =
            files.into_iter().map(|(path, bytes)| (path, Arc::new(bytes))).collect();
        let entry = |(path, bytes): (&RelPath, &Arc<Vec<u8>>)| TreeEntry {
            path: path.clone(),
            length: ReadAt::len(bytes.as_ref()),
            modified: 0,
        };
        Self { entries: files.iter().map(entry).collect(), files }
    }
}

impl ReadTree for MemoryTree {
    fn list(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn oddities(&self) -> &[Oddity] {
        &[]
    }

    fn open(&self, path: &RelPath) -> io::Result<Arc<dyn ReadAt>> {
        let bytes = self.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::clone(bytes) as Arc<dyn ReadAt>)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn names(tree: &dyn ReadTree) -> Vec<&str> {
        tree.list().iter().map(|entry| entry.path.as_str()).collect()
    }

    fn write(root: &Path, name: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }

    #[test]
    fn lists_files_sorted_and_leaves_hidden_ones_out() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b/2.tar", "b/10.tar", "a.json", ".hidden", ".cache/x", "b.json"] {
            write(dir.path(), name);
        }
        let tree = LocalTree::open(dir.path(), &Limits::DEFAULT).unwrap();
        assert_eq!(names(&tree), ["a.json", "b.json", "b/10.tar", "b/2.tar"]);
        assert_eq!(tree.entry("b/2.tar").unwrap().length, 7);
        assert!(tree.entry("b/3.tar").is_none());
        let file = tree.open(&RelPath::new("b/2.tar").unwrap()).unwrap();
        let mut bytes = vec![0; 7];
        file.read_exact_at(0, &mut bytes).unwrap();
        assert_eq!(bytes, b"b/2.tar");
    }

    #[test]
    fn limits_on_files_and_depth_hold() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a/b/c/1", "2", "3"] {
            write(dir.path(), name);
        }
        let with = |files, folder_depth| {
            LocalTree::open(dir.path(), &Limits { files, folder_depth, ..Limits::DEFAULT })
        };
        assert!(with(3, 3).is_ok());
        assert!(matches!(with(2, 3), Err(TreeError::Limit { what: "files", limit: 2, .. })));
        let shallow = with(3, 2).unwrap();
        assert_eq!(names(&shallow), ["2", "3"]);
        let deep = Oddity { name: "a/b/c".to_owned(), kind: OddityKind::TooDeep, to: None };
        assert_eq!(shallow.oddities(), [deep]);
    }

    #[cfg(unix)]
    #[test]
    fn a_download_cache_is_read_as_it_lies() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "blobs/aaaa");
        write(root, "blobs/bbbb.incomplete");
        fs::create_dir_all(root.join("snapshots/rev1/metadata")).unwrap();
        symlink("../../../blobs/aaaa", root.join("snapshots/rev1/metadata/m.jsonl.gz")).unwrap();
        symlink("../../blobs/gone", root.join("snapshots/rev1/gone.tar")).unwrap();
        symlink("..", root.join("snapshots/rev1/metadata/up")).unwrap();
        for given in [root.to_path_buf(), root.join("snapshots/rev1")] {
            let tree = LocalTree::open(&given, &Limits::DEFAULT).unwrap();
            assert_eq!(names(&tree), ["metadata/m.jsonl.gz"]);
            assert_eq!(tree.list()[0].length, 10);
            let odd = |name: &str, kind| Oddity { name: name.to_owned(), kind, to: None };
            assert_eq!(
                tree.oddities(),
                [
                    odd("blobs/bbbb.incomplete", OddityKind::Unfinished),
                    odd("gone.tar", OddityKind::BrokenLink),
                    odd("metadata/up", OddityKind::Loop),
                ]
            );
        }
        fs::create_dir_all(root.join("snapshots/rev2")).unwrap();
        let error = LocalTree::open(root, &Limits::DEFAULT).unwrap_err();
        assert!(matches!(&error, TreeError::Revisions { revisions, .. } if revisions.len() == 2));
        write(root, "refs/main");
        fs::write(root.join("refs/main"), "rev1\n").unwrap();
        let tree = LocalTree::open(root, &Limits::DEFAULT).unwrap();
        assert_eq!(tree.root(), root.join("snapshots/rev1"));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_listed_once_however_many_links_lead_to_it() {
        use std::os::unix::fs::symlink;
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path();
        // Two links in each folder to the next: more paths than anyone could list.
        for number in 0..30 {
            write(outside.path(), &format!("{number}/file"));
            if number > 0 {
                for name in ["a", "b"] {
                    let link = outside.path().join((number - 1).to_string()).join(name);
                    symlink(outside.path().join(number.to_string()), link).unwrap();
                }
            }
        }
        write(root, "z/1");
        symlink(root.join("z"), root.join("a")).unwrap();
        symlink(outside.path().join("0"), root.join("n")).unwrap();
        symlink(outside.path().join("0"), root.join("m")).unwrap();
        let tree = LocalTree::open(root, &Limits::DEFAULT).unwrap();
        let deepest = format!("m/{}file", "a/".repeat(29));
        assert_eq!(tree.list().len(), 31);
        assert!(tree.entry("z/1").is_some() && tree.entry("m/file").is_some());
        assert!(tree.entry(&deepest).is_some());
        let odd = tree.oddities();
        let repeated = odd.iter().filter(|odd| odd.kind == OddityKind::Repeated);
        assert_eq!(repeated.count(), 31, "a, n, and a link of each folder but the last");
    }

    /// Also to a folder: what is in that is told of once, and its own links are not.
    #[cfg(unix)]
    #[test]
    fn links_out_of_a_release_are_followed_and_told_of() {
        use std::os::unix::fs::symlink;
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path().join("release");
        let beside = outside.path();
        for name in ["inside/1", "2"] {
            write(&root, name);
        }
        write(dir.path(), "near");
        write(beside, "folder/3");
        write(beside, "4");
        symlink("3", beside.join("folder/same")).unwrap();
        symlink("../4", beside.join("folder/up")).unwrap();
        symlink("../2", root.join("inside/2")).unwrap();
        symlink("../near", root.join("near")).unwrap();
        symlink(beside.join("folder"), root.join("out")).unwrap();
        symlink("/dev/zero", root.join("zero")).unwrap();
        symlink(&root, root.join("self")).unwrap();
        let tree = LocalTree::open(&root, &Limits::DEFAULT).unwrap();
        let wanted = ["2", "inside/1", "inside/2", "near", "out/3", "out/same", "out/up"];
        assert_eq!(names(&tree), wanted);
        let odd = |name: &str, kind, to: Option<&Path>| Oddity {
            name: name.to_owned(),
            kind,
            to: to.map(|to| to.display().to_string()),
        };
        let to = |name: &str, to: &Path| odd(name, OddityKind::OutsideLink, Some(to));
        assert_eq!(
            tree.oddities(),
            [
                to("near", Path::new("../near")),
                to("out", &beside.join("folder")),
                to("out/up", Path::new("../4")),
                odd("self", OddityKind::Loop, None),
                odd("zero", OddityKind::NotAFile, None),
                to("zero", Path::new("/dev/zero")),
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn so_many_oddities_of_a_kind_are_kept_and_no_more() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a");
        for number in 0..9 {
            symlink("gone", dir.path().join(format!("{number}"))).unwrap();
            fs::write(dir.path().join(format!("{number}.incomplete")), "").unwrap();
        }
        let odd = |notices| {
            let tree = LocalTree::open(dir.path(), &Limits { notices, ..Limits::DEFAULT }).unwrap();
            tree.oddities().iter().map(|odd| odd.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(odd(9).len(), 18);
        let few = ["0", "0.incomplete", "1", "1.incomplete", "2", "2.incomplete"];
        assert_eq!(odd(2), few, "one more than are told of, the first of each kind");
    }

    /// Unfinished downloads are looked for in two places that are no part of the release.
    #[cfg(unix)]
    #[test]
    fn no_link_leads_the_search_for_unfinished_downloads_elsewhere() {
        use std::os::unix::fs::symlink;
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(outside.path(), "huggingface/download/x.incomplete");
        write(outside.path(), "y.incomplete");
        let plain = dir.path().join("plain");
        write(&plain, "a");
        write(&plain, ".cache/huggingface/download/z.incomplete");
        let cached = dir.path().join("cache/snapshots/1");
        write(&cached, "a");
        let odd = |folder: &Path, limits: Limits| {
            let tree = LocalTree::open(folder, &limits).unwrap();
            tree.oddities().iter().map(|odd| odd.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(odd(&plain, Limits::DEFAULT), [".cache/huggingface/download/z.incomplete"]);
        let deep = plain.join(".cache/huggingface/download/1/2");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("w.incomplete"), "").unwrap();
        assert_eq!(odd(&plain, Limits::DEFAULT).len(), 2);
        assert_eq!(odd(&plain, Limits { folder_depth: 1, ..Limits::DEFAULT }).len(), 1);
        fs::remove_dir_all(plain.join(".cache")).unwrap();
        symlink(outside.path(), plain.join(".cache")).unwrap();
        assert_eq!(odd(&plain, Limits::DEFAULT), [""; 0]);
        symlink(outside.path(), dir.path().join("cache/blobs")).unwrap();
        assert_eq!(odd(&cached, Limits::DEFAULT), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn a_reference_of_a_cache_is_short_and_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "blobs/x");
        write(root, "snapshots/rev1/a");
        fs::create_dir_all(root.join("refs")).unwrap();
        let found = || LocalTree::open(root, &Limits::DEFAULT).unwrap().root().to_path_buf();
        let main = root.join("refs/main");
        // Zeros without end, and a pipe that nobody writes to.
        std::os::unix::fs::symlink("/dev/zero", &main).unwrap();
        assert_eq!(found(), root.join("snapshots/rev1"));
        fs::remove_file(&main).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&main).status();
        assert!(made.unwrap().success());
        assert_eq!(found(), root.join("snapshots/rev1"));
        fs::remove_file(&main).unwrap();
        File::create(&main).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(found(), root.join("snapshots/rev1"));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_place_of_a_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "file");
        let tree = LocalTree::open(dir.path(), &Limits::DEFAULT).unwrap();
        let path = RelPath::new("file").unwrap();
        assert!(tree.open(&path).is_ok() && open_listed(dir.path(), &path).is_ok());
        fs::remove_file(dir.path().join("file")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(dir.path().join("file")).status();
        assert!(made.unwrap().success());
        let errors = [tree.open(&path).err(), open_listed(dir.path(), &path).err()];
        for error in errors {
            assert_eq!(error.unwrap().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn what_cannot_be_read_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["gone", "short", "whole"] {
            write(dir.path(), name);
        }
        let tree = || LocalTree::open(dir.path(), &Limits::DEFAULT).unwrap();
        let read = |tree: &LocalTree, name: &str| {
            let file = tree.open(&RelPath::new(name).unwrap())?;
            if name == "short" {
                fs::write(dir.path().join(name), "sh").unwrap();
            }
            file.read_exact_at(0, &mut vec![0; usize::try_from(file.len()).unwrap()])
        };
        let first = tree();
        read(&first, "whole").unwrap();
        assert!(read(&first, "never there").is_err(), "somebody looks whether it is");
        assert!(first.check_read().is_ok());
        assert_eq!(first.what_changed(&Limits::DEFAULT).unwrap(), None);
        fs::remove_file(dir.path().join("gone")).unwrap();
        for (tree, name) in [(first, "gone"), (tree(), "short")] {
            assert!(read(&tree, name).is_err());
            let failed = tree.check_read().unwrap_err().to_string();
            assert!(failed.ends_with(&format!("/{name}")), "{failed}");
            let changed = tree.what_changed(&Limits::DEFAULT).unwrap().unwrap();
            assert!(changed.starts_with(name), "{changed}");
        }
    }

    #[test]
    fn a_folder_of_a_tree_is_a_tree() {
        let file = |name: &str| (RelPath::new(name).unwrap(), name.as_bytes().to_vec());
        let tree = MemoryTree::new(["a/b/2", "a/b/1", "a/bc", "a/b", "b/1"].map(file));
        let sub = Subtree::new(&tree, "a/b");
        assert_eq!(names(&sub), ["1", "2"]);
        let opened = sub.open(&RelPath::new("2").unwrap()).unwrap();
        let mut bytes = vec![0; 5];
        opened.read_exact_at(0, &mut bytes).unwrap();
        assert_eq!(bytes, b"a/b/2");
        assert!(sub.open(&RelPath::new("bc").unwrap()).is_err());
    }

    #[test]
    fn a_file_or_nothing_is_no_tree() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "file");
        let open = |name: &str| LocalTree::open(&dir.path().join(name), &Limits::DEFAULT);
        assert!(matches!(open("file"), Err(TreeError::NotAFolder { .. })));
        assert!(matches!(open("nothing"), Err(TreeError::Read { .. })));
    }
}
