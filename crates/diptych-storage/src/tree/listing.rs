//! How the files of a folder are found.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{Oddity, OddityKind, TreeEntry, TreeError, shown};
use crate::limits::Limits;
use crate::path::RelPath;

/// A listing being made.
pub(super) struct Listing<'a> {
    limits: &'a Limits,
    /// Where what is listed may lie: in the release's folder, in that in which its cache has its
    /// files, and in that which a link out of them led to.
    homes: Vec<PathBuf>,
    entries: Vec<TreeEntry>,
    /// By kind.
    oddities: BTreeMap<OddityKind, BTreeSet<Oddity>>,
    /// Entries of folders of unfinished downloads that were looked at.
    looked_at: usize,
    /// The folders that were listed.
    listed: HashSet<FolderId>,
    /// Links to folders that are still to be followed, by name, each with the folders above it and
    /// the homes of what is in it.
    /// They come after all folders that are none, so that what is listed depends on no order.
    links: BTreeMap<String, (PathBuf, Vec<FolderId>, Vec<PathBuf>)>,
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
    pub(super) fn new(limits: &'a Limits, root: &Path) -> Self {
        let homes = std::iter::once(root.to_path_buf()).chain(blobs_of(root));
        Self {
            limits,
            homes: homes.filter_map(|home| fs::canonicalize(home).ok()).collect(),
            entries: Vec::new(),
            oddities: BTreeMap::new(),
            looked_at: 0,
            listed: HashSet::new(),
            links: BTreeMap::new(),
        }
    }

    /// Lists everything below `root`: what lies there, then what links lead to.
    pub(super) fn all(mut self, root: &Path) -> Result<(Vec<TreeEntry>, Vec<Oddity>), TreeError> {
        self.unfinished_downloads(root)?;
        self.folder(root, "", &mut Vec::new())?;
        while let Some((name, (path, mut above, homes))) = self.links.pop_first() {
            self.homes = homes;
            self.folder(&path, &format!("{name}/"), &mut above)?;
        }
        let Self { mut entries, oddities, .. } = self;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let mut oddities: Vec<_> = oddities.into_values().flatten().collect();
        oddities.sort();
        Ok((entries, oddities))
    }

    fn odd(&mut self, name: String, kind: OddityKind) {
        self.oddity(Oddity { name, kind, to: None });
    }

    /// Keeps the first of each kind: whoever makes names can make any number of them.
    fn oddity(&mut self, oddity: Oddity) {
        let kept = self.oddities.entry(oddity.kind).or_default();
        kept.insert(oddity);
        if kept.len() > self.limits.notices.saturating_add(1) {
            kept.pop_last();
        }
    }

    /// Tells of a link that leads out of the release, and gives the homes of what is behind it.
    fn link(&mut self, path: &Path, name: &str) -> Vec<PathBuf> {
        let mut homes = self.homes.clone();
        let Ok(end) = fs::canonicalize(path) else { return homes };
        if homes.iter().any(|home| end.starts_with(home)) {
            return homes;
        }
        homes.push(end);
        // As the link says it, and not where that is on this disk: the release says the same
        // wherever it lies.
        let to = fs::read_link(path).ok().map(|to| to.to_string_lossy().into_owned());
        self.oddity(Oddity { name: name.to_owned(), kind: OddityKind::OutsideLink, to });
        homes
    }

    /// What a download that was not ended has left.
    fn unfinished_downloads(&mut self, root: &Path) -> Result<(), TreeError> {
        // A snapshot's lie in the cache's `blobs`, beside `snapshots`.
        if let Some(blobs) = blobs_of(root) {
            self.unfinished_in(&blobs, "blobs", 0)?;
        }
        // A download into a plain folder keeps its own below a hidden one.
        let mut folder = root.to_path_buf();
        for part in [".cache", "huggingface", "download"] {
            folder.push(part);
            if !is_own_folder(&folder)? {
                return Ok(());
            }
        }
        self.unfinished_in(&folder, ".cache/huggingface/download", 0)
    }

    fn unfinished_in(&mut self, folder: &Path, name: &str, depth: usize) -> Result<(), TreeError> {
        if !is_own_folder(folder)? || depth > self.limits.folder_depth {
            return Ok(());
        }
        let entries = match fs::read_dir(folder) {
            Err(error) if is_of_the_entry(&error) => return Ok(()),
            entries => entries.map_err(|error| read_error(folder, error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| read_error(folder, error))?;
            self.looked_at += 1;
            if self.looked_at > self.limits.files {
                return Ok(());
            }
            let file = entry.file_name().to_string_lossy().into_owned();
            let name = format!("{name}/{file}");
            if file.ends_with(UNFINISHED) {
                self.odd(name, OddityKind::Unfinished);
            } else if entry.file_type().is_ok_and(|t| t.is_dir()) {
                self.unfinished_in(&entry.path(), &name, depth + 1)?;
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
            Err(error) if above.is_empty() || !is_of_the_entry(&error) => {
                return Err(read_error(folder, error));
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
            self.entry(&entry.map_err(|error| read_error(folder, error))?, prefix, above)?;
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
            Err(error) => return Err(read_error(&entry.path(), error)),
        };
        if entry.file_type().is_ok_and(|of| of.is_symlink()) {
            let homes = self.link(&entry.path(), &full);
            if meta.is_dir() {
                self.links.insert(full, (entry.path(), above.clone(), homes));
                return Ok(());
            }
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

/// Where the cache that a snapshot lies in has its files.
fn blobs_of(root: &Path) -> Option<PathBuf> {
    let snapshots = root.parent()?;
    (snapshots.file_name()? == "snapshots").then(|| snapshots.with_file_name("blobs"))
}

/// Whether an error says what a file or folder is: one that leads nowhere or is not for us. Any
/// other is the disk's or the system's, and what is there is not known.
pub(super) fn is_of_the_entry(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound, PermissionDenied};
    // Links in a ring, for which the standard library has no word yet.
    let in_a_ring = if cfg!(target_os = "linux") { 40 } else { 62 };
    matches!(error.kind(), NotFound | PermissionDenied | NotADirectory | InvalidFilename)
        || error.raw_os_error() == Some(in_a_ring)
}

pub(super) fn read_error(path: &Path, source: io::Error) -> TreeError {
    TreeError::Read { path: shown(path), source }
}

/// Whether a folder is there, and is no link to one.
fn is_own_folder(path: &Path) -> Result<bool, TreeError> {
    is_folder_by(path, fs::symlink_metadata(path))
}

/// Whether a folder is there.
pub(super) fn is_folder(path: &Path) -> Result<bool, TreeError> {
    is_folder_by(path, fs::metadata(path))
}

fn is_folder_by(path: &Path, meta: io::Result<fs::Metadata>) -> Result<bool, TreeError> {
    match meta {
        Ok(meta) => Ok(meta.is_dir()),
        Err(error) if is_of_the_entry(&error) => Ok(false),
        Err(error) => Err(read_error(path, error)),
    }
}

pub(super) fn changed(meta: &fs::Metadata) -> u64 {
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}
