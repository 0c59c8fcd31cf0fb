//! A release as a tree of files.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use crate::limits::Limits;
use crate::path::RelPath;
use crate::read::{LocalFile, ReadAt};
use crate::text::visible;

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

/// What was seen while listing that is no file to be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oddity {
    /// Name, from the root of the tree where it lies below it.
    pub name: String,
    /// What is odd about it.
    pub kind: OddityKind,
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
}

/// A release: files that can be listed and read at positions.
pub trait ReadTree: Send + Sync {
    /// Every file, sorted by path (as bytes). Hidden files and folders are left out.
    fn list(&self) -> &[TreeEntry];

    /// What was seen while listing that is no file to be read, sorted.
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
/// it: under its own name where it lies in the tree, else under the first of the links. The
/// cache's own folder is taken too: the revision is
/// then the one that `refs/main` names, or the only one.
#[derive(Debug)]
pub struct LocalTree {
    root: PathBuf,
    entries: Vec<TreeEntry>,
    oddities: Vec<Oddity>,
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
        let mut listing = Listing::new(limits);
        listing.unfinished_blobs(&root)?;
        listing.all(&root)?;
        let Listing { mut entries, mut oddities, .. } = listing;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        oddities.sort();
        Ok(Self { root, entries, oddities })
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
        let (file, _) = open_regular(&path.under(&self.root))?;
        Ok(Arc::new(LocalFile::new(file)?))
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

/// Whether an error says what a file or folder is: one that leads nowhere or is not for us. Any
/// other is the disk's or the system's, and what is there is not known.
fn is_of_the_entry(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound, PermissionDenied};
    // Links in a ring, for which the standard library has no word yet.
    let in_a_ring = if cfg!(target_os = "linux") { 40 } else { 62 };
    matches!(error.kind(), NotFound | PermissionDenied | NotADirectory | InvalidFilename)
        || error.raw_os_error() == Some(in_a_ring)
}

fn is_folder(path: &Path) -> Result<bool, TreeError> {
    match fs::metadata(path) {
        Ok(meta) => Ok(meta.is_dir()),
        Err(error) if is_of_the_entry(&error) => Ok(false),
        Err(source) => Err(TreeError::Read { path: shown(path), source }),
    }
}

/// The snapshot meant by `folder`, where it is the cache folder of a repository.
fn snapshot_of_cache(folder: &Path) -> Result<Option<PathBuf>, TreeError> {
    let snapshots = folder.join("snapshots");
    if !is_folder(&snapshots)? || !is_folder(&folder.join("blobs"))? {
        return Ok(None);
    }
    if let Ok(named) = fs::read_to_string(folder.join("refs").join("main")) {
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

struct Listing<'a> {
    limits: &'a Limits,
    entries: Vec<TreeEntry>,
    oddities: Vec<Oddity>,
    /// The folders that were listed.
    listed: HashSet<FolderId>,
    /// Links to folders that are still to be followed, by name, each with the folders above it.
    /// They come after all folders that are none, so that what is listed depends on no order.
    links: BTreeMap<String, (PathBuf, Vec<FolderId>)>,
}

/// What tells one folder from all others, whatever links lead to it.
type FolderId = (u64, u64);

#[cfg(unix)]
fn folder_id(folder: &Path) -> io::Result<FolderId> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(folder)?;
    Ok((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn folder_id(folder: &Path) -> io::Result<FolderId> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    fs::canonicalize(folder)?.hash(&mut hasher);
    Ok((0, hasher.finish()))
}

const UNFINISHED: &str = ".incomplete";

impl<'a> Listing<'a> {
    fn new(limits: &'a Limits) -> Self {
        let (entries, oddities) = (Vec::new(), Vec::new());
        Self { limits, entries, oddities, listed: HashSet::new(), links: BTreeMap::new() }
    }

    /// Lists everything below `root`: what lies there, then what links lead to.
    fn all(&mut self, root: &Path) -> Result<(), TreeError> {
        self.folder(root, "", &mut Vec::new())?;
        while let Some((name, (path, mut above))) = self.links.pop_first() {
            self.folder(&path, &format!("{name}/"), &mut above)?;
        }
        Ok(())
    }

    fn odd(&mut self, name: String, kind: OddityKind) {
        self.oddities.push(Oddity { name, kind });
    }

    /// A snapshot's unfinished downloads lie in the cache's `blobs`, beside `snapshots`.
    fn unfinished_blobs(&mut self, root: &Path) -> Result<(), TreeError> {
        let beside = |root: &Path| {
            let snapshots = root.parent()?;
            (snapshots.file_name()? == "snapshots").then(|| snapshots.with_file_name("blobs"))
        };
        if let Some(blobs) = beside(root) {
            self.unfinished_in(&blobs, "blobs")?;
        }
        // A download into a plain folder keeps its own below a hidden one.
        let local = root.join(".cache").join("huggingface").join("download");
        self.unfinished_in(&local, ".cache/huggingface/download")
    }

    fn unfinished_in(&mut self, folder: &Path, name: &str) -> Result<(), TreeError> {
        let read = |source| TreeError::Read { path: shown(folder), source };
        let entries = match fs::read_dir(folder) {
            Err(error) if is_of_the_entry(&error) => return Ok(()),
            entries => entries.map_err(read)?,
        };
        for entry in entries {
            let entry = entry.map_err(read)?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let name = format!("{name}/{file}");
            if file.ends_with(UNFINISHED) {
                self.odd(name, OddityKind::Unfinished);
            } else if name.len() < 1024 && entry.file_type().is_ok_and(|t| t.is_dir()) {
                self.unfinished_in(&entry.path(), &name)?;
            }
        }
        Ok(())
    }

    fn folder(
        &mut self,
        folder: &Path,
        prefix: &str,
        above: &mut Vec<FolderId>,
    ) -> Result<(), TreeError> {
        let name = || prefix.trim_end_matches('/').to_owned();
        let listed = folder_id(folder).and_then(|id| Ok((id, fs::read_dir(folder)?)));
        let (id, entries) = match listed {
            Ok(listed) => listed,
            // The release itself has to be readable; a folder in it that is not for us need not be
            // of it.
            Err(source) if above.is_empty() || !is_of_the_entry(&source) => {
                return Err(TreeError::Read { path: shown(folder), source });
            }
            Err(_) => {
                self.odd(name(), OddityKind::UnreadableFolder);
                return Ok(());
            }
        };
        if above.contains(&id) {
            self.odd(name(), OddityKind::Loop);
            return Ok(());
        }
        if self.listed.contains(&id) {
            self.odd(name(), OddityKind::Repeated);
            return Ok(());
        }
        if above.len() > self.limits.folder_depth {
            self.odd(name(), OddityKind::TooDeep);
            return Ok(());
        }
        self.listed.insert(id);
        above.push(id);
        for entry in entries {
            let read = |source| TreeError::Read { path: shown(folder), source };
            self.entry(&entry.map_err(read)?, prefix, above)?;
        }
        above.pop();
        Ok(())
    }

    fn entry(
        &mut self,
        entry: &fs::DirEntry,
        prefix: &str,
        above: &mut Vec<FolderId>,
    ) -> Result<(), TreeError> {
        let name = entry.file_name();
        let full = format!("{prefix}{}", name.to_string_lossy());
        let path = match name.to_str().and_then(|_| RelPath::new(&full).ok()) {
            Some(path) if !path.file_name().starts_with('.') => path,
            Some(_) => return Ok(()),
            None => {
                self.odd(full, OddityKind::UnreadableName);
                return Ok(());
            }
        };
        let meta = match fs::metadata(entry.path()) {
            Ok(meta) => meta,
            Err(error) if is_of_the_entry(&error) => {
                self.odd(full, OddityKind::BrokenLink);
                return Ok(());
            }
            Err(source) => return Err(TreeError::Read { path: shown(&entry.path()), source }),
        };
        if meta.is_dir() && entry.file_type().is_ok_and(|of| of.is_symlink()) {
            self.links.insert(full, (entry.path(), above.clone()));
            return Ok(());
        }
        if meta.is_dir() {
            return self.folder(&entry.path(), &format!("{full}/"), above);
        }
        if full.ends_with(UNFINISHED) {
            self.odd(full, OddityKind::Unfinished);
        } else if !meta.is_file() {
            self.odd(full, OddityKind::NotAFile);
        } else if self.entries.len() >= self.limits.files {
            let path = shown(&entry.path());
            return Err(TreeError::Limit { path, what: "files", limit: self.limits.files });
        } else {
            self.entries.push(TreeEntry { path, length: meta.len(), modified: changed(&meta) });
        }
        Ok(())
    }
}

fn changed(meta: &fs::Metadata) -> u64 {
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
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
        let deep = Oddity { name: "a/b/c".to_owned(), kind: OddityKind::TooDeep };
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
            let odd = |name: &str, kind| Oddity { name: name.to_owned(), kind };
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
        assert_eq!(odd.len(), 31, "a, n, and a link of each folder but the last");
        assert!(odd.iter().all(|odd| odd.kind == OddityKind::Repeated), "{odd:?}");
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
