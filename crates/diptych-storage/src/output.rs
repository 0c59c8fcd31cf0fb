//! Writing: files are staged whole, then published by a rename.

mod lock;

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::path::RelPath;
use crate::read::ReadAt;
use crate::tree::read_at_most;
pub use lock::Lock;

/// Why something could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The output's side failed.
    #[error("cannot {action} {path}")]
    Write {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Bytes that were to be copied cannot be read; who asked knows whose they are.
    #[error("cannot read {length} bytes at offset {offset}")]
    Read {
        /// First byte of the range.
        offset: u64,
        /// Length of the range.
        length: u64,
        /// What the system said; [`io::ErrorKind::UnexpectedEof`] where the file is shorter than
        /// it was.
        #[source]
        source: io::Error,
    },
}

/// A file that is being written and cannot be seen under its final name yet.
pub trait StagedFile: Send {
    /// Says that about so many bytes will come, so that the store can find them room in one
    /// piece. It is a hint: nothing depends on it.
    fn reserve(&mut self, bytes: u64);

    /// Appends bytes.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn write(&mut self, bytes: &[u8]) -> Result<(), OutputError>;

    /// Appends a range of another file.
    ///
    /// # Errors
    /// [`OutputError::Write`], or [`OutputError::Read`] where the range cannot be read whole.
    fn copy_range(
        &mut self,
        from: &dyn ReadAt,
        offset: u64,
        length: u64,
    ) -> Result<(), OutputError>;

    /// Bytes appended so far.
    fn position(&self) -> u64;

    /// Ends the file, on the disk where the tree is durable, and gives its length.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn close(self: Box<Self>) -> Result<u64, OutputError>;
}

/// A staged file for libraries that write into an [`io::Write`]. What goes wrong is inside the
/// [`io::Error`], as the [`OutputError`] that it was.
pub struct StagedWrite(pub Box<dyn StagedFile>);

impl Write for StagedWrite {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An output: files are staged under a path and published under another.
pub trait WriteTree: Send + Sync {
    /// Begins a file at `path`, in folders made as needed. What was there is replaced.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn stage(&self, path: &RelPath) -> Result<Box<dyn StagedFile>, OutputError>;

    /// Begins one of very many small files, of about so many bytes: like
    /// [`stage`](Self::stage), but it is on the disk only after [`sync`](Self::sync).
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn stage_small(&self, path: &RelPath, bytes: u64) -> Result<Box<dyn StagedFile>, OutputError>;

    /// Moves a file or folder, as a whole and durably where the tree is durable.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn publish(&self, from: &RelPath, to: &RelPath) -> Result<(), OutputError>;

    /// Moves one of very many files: like [`publish`](Self::publish), but the move is on the disk
    /// only after [`sync`](Self::sync).
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn publish_small(&self, from: &RelPath, to: &RelPath) -> Result<(), OutputError>;

    /// Moves a folder with very many small files to where another may be: what is in it then goes
    /// beside what is there, and replaces what has its name. On the disk after
    /// [`sync`](Self::sync).
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn merge(&self, from: &RelPath, to: &RelPath) -> Result<(), OutputError>;

    /// Waits until all that was staged and moved is on the disk, where the tree is durable: once
    /// for very many files, which costs far less than once for each.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn sync(&self) -> Result<(), OutputError>;

    /// Removes a file or a folder with all that is in it; nothing there is no error.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn remove(&self, path: &RelPath) -> Result<(), OutputError>;

    /// Whether something is at `path`.
    ///
    /// # Errors
    /// [`OutputError::Write`] where it cannot be looked at: that is not nothing.
    fn exists(&self, path: &RelPath) -> Result<bool, OutputError>;

    /// The bytes of a small file; `None` where there is none.
    ///
    /// # Errors
    /// [`OutputError::Write`] where it cannot be read.
    fn read(&self, path: &RelPath) -> Result<Option<Vec<u8>>, OutputError>;

    /// Stages `bytes` at `path` in one step.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    fn put(&self, path: &RelPath, bytes: &[u8]) -> Result<(), OutputError> {
        let mut file = self.stage(path)?;
        file.write(bytes)?;
        file.close().map(drop)
    }
}

/// A folder of a local disk.
#[derive(Debug, Clone)]
pub struct LocalOutput {
    root: PathBuf,
    durable: bool,
    /// Whether files may share blocks with those that they are copies of: until it is seen that the
    /// file system does not do that.
    shares: Arc<AtomicBool>,
    buffers: Arc<Buffers>,
}

impl LocalOutput {
    /// Writes below `root`. A durable tree waits for the disk before a file or a move counts.
    #[must_use]
    pub fn new(root: &Path, durable: bool) -> Self {
        let shares = Arc::new(AtomicBool::new(true));
        Self { root: root.to_path_buf(), durable, shares, buffers: Arc::default() }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), OutputError> {
        // Only Unix lets a folder be opened to be synced.
        if cfg!(unix) && self.durable {
            // What a path without a name before it begins in.
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|e| write_error("sync the folder", folder, e))?;
        }
        Ok(())
    }

    /// Whether files are on the disk when [`WriteTree::sync`] returns, and need not be so before.
    fn syncs_at_once(&self) -> bool {
        cfg!(target_os = "linux") || !self.durable
    }

    fn staged(&self, file: File, path: PathBuf, sync: bool) -> LocalStaged {
        LocalStaged {
            file,
            path,
            buffer: self.buffers.take(),
            held: 0,
            buffers: Arc::clone(&self.buffers),
            flushed: 0,
            durable: self.durable && sync,
            reserved: false,
            shares: Arc::clone(&self.shares),
        }
    }

    /// Does what needs the folder of `path`, which is looked for only where that fails: of very
    /// many files nearly all have it.
    fn with_parent<T>(path: &Path, action: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match (action(), path.parent()) {
            (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(parent)?;
                action()
            }
            (done, _) => done,
        }
    }

    /// Moves a file or folder, durably where the tree is durable.
    fn move_durably(&self, from: &Path, to: &Path) -> Result<(), OutputError> {
        self.make_parent(to)?;
        // What is in a folder has its names on the disk before it is moved; a file is moved to say
        // of what lies beside it that it is complete.
        match from.parent() {
            Some(parent) if !is_folder(from)? => self.sync_folder(parent)?,
            _ => self.sync_folder(from)?,
        }
        fs::rename(from, to).map_err(|e| write_error("publish", to, e))?;
        for folder in [to.parent(), from.parent()].into_iter().flatten() {
            self.sync_folder(folder)?;
        }
        Ok(())
    }

    /// Moves a file or folder; the move is on the disk only after [`WriteTree::sync`].
    fn move_quickly(&self, from: &Path, to: &Path) -> Result<(), OutputError> {
        if !self.syncs_at_once() {
            return self.move_durably(from, to);
        }
        let moved = Self::with_parent(to, || fs::rename(from, to));
        moved.map_err(|e| write_error("publish", to, e))
    }

    /// Moves a file, or a folder to where another may be.
    fn merge_into(&self, from: &Path, to: &Path) -> Result<(), OutputError> {
        if !(is_folder(from)? && is_folder(to)?) {
            return self.move_quickly(from, to);
        }
        let failed = |e| write_error("read", from, e);
        for entry in fs::read_dir(from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            self.merge_into(&entry.path(), &to.join(entry.file_name()))?;
        }
        fs::remove_dir(from).map_err(|e| write_error("remove", from, e))
    }

    /// Makes the folder of `path`, and has the disk know of each that is new.
    fn make_parent(&self, path: &Path) -> Result<(), OutputError> {
        path.parent().map_or(Ok(()), |parent| self.make_all(parent))
    }

    /// Makes a folder and those above it, and has the disk know of each that is new.
    fn make_all(&self, folder: &Path) -> Result<(), OutputError> {
        let missing: Vec<_> = folder.ancestors().take_while(|folder| !is_there(folder)).collect();
        fs::create_dir_all(folder).map_err(|e| write_error("make the folder", folder, e))?;
        for made in missing {
            self.sync_folder(made.parent().unwrap_or(made))?;
        }
        Ok(())
    }

    /// Makes a folder, durably where the tree is durable.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn make_folder(&self, path: &RelPath) -> Result<(), OutputError> {
        self.make_all(&path.under(&self.root))
    }

    /// Whether there is a folder.
    ///
    /// # Errors
    /// [`OutputError::Write`] where it cannot be looked at.
    pub fn is_folder(&self, path: &RelPath) -> Result<bool, OutputError> {
        is_folder(&path.under(&self.root))
    }
}

/// Whether something is there. The folder that a path without a name before it begins in is.
fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}

fn is_folder(path: &Path) -> Result<bool, OutputError> {
    look_at(path).map(|meta| meta.is_some_and(|meta| meta.is_dir()))
}

/// What is at a path; `None` where nothing is, or the way there leads through a file.
fn look_at(path: &Path) -> Result<Option<fs::Metadata>, OutputError> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match fs::metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(write_error("look at", path, error)),
    }
}

fn write_error(action: &'static str, path: &Path, source: io::Error) -> OutputError {
    OutputError::Write { action, path: path.display().to_string(), source }
}

impl WriteTree for LocalOutput {
    fn stage(&self, path: &RelPath) -> Result<Box<dyn StagedFile>, OutputError> {
        let path = path.under(&self.root);
        self.make_parent(&path)?;
        let file = File::create(&path).map_err(|e| write_error("create", &path, e))?;
        Ok(Box::new(self.staged(file, path, true)))
    }

    fn stage_small(&self, path: &RelPath, _: u64) -> Result<Box<dyn StagedFile>, OutputError> {
        if !self.syncs_at_once() {
            return self.stage(path);
        }
        let path = path.under(&self.root);
        let file = Self::with_parent(&path, || File::create(&path));
        let file = file.map_err(|e| write_error("create", &path, e))?;
        Ok(Box::new(self.staged(file, path, false)))
    }

    fn publish(&self, from: &RelPath, to: &RelPath) -> Result<(), OutputError> {
        self.move_durably(&from.under(&self.root), &to.under(&self.root))
    }

    fn publish_small(&self, from: &RelPath, to: &RelPath) -> Result<(), OutputError> {
        self.move_quickly(&from.under(&self.root), &to.under(&self.root))
    }

    fn merge(&self, from: &RelPath, to: &RelPath) -> Result<(), OutputError> {
        self.merge_into(&from.under(&self.root), &to.under(&self.root))
    }

    fn sync(&self) -> Result<(), OutputError> {
        if !self.durable {
            return Ok(());
        }
        let root = File::open(&self.root);
        root.and_then(|root| sync_file_system(&root))
            .map_err(|e| write_error("sync", &self.root, e))
    }

    fn remove(&self, path: &RelPath) -> Result<(), OutputError> {
        let path = path.under(&self.root);
        let removed = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(write_error("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    fn exists(&self, path: &RelPath) -> Result<bool, OutputError> {
        look_at(&path.under(&self.root)).map(|meta| meta.is_some())
    }

    fn read(&self, path: &RelPath) -> Result<Option<Vec<u8>>, OutputError> {
        let path = path.under(&self.root);
        match read_small(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(write_error("read", &path, error)),
        }
    }
}

/// The most that a file has which is read whole.
const SMALL: u64 = 64 << 20;

/// The bytes of a file that this program wrote: no link, since somebody else may have put it there.
fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    if path.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    read_at_most(path, SMALL)
}

#[cfg(target_os = "linux")]
fn sync_file_system(of: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(of)?)
}

/// Every file and folder was synced when it was written.
#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &File) -> io::Result<()> {
    Ok(())
}

/// Bytes that are written at one time. The file's positions are multiples of it, so that whole
/// pages are written once; that and [`StagedFile::reserve`] were measured to be twice as fast as
/// `copy_file_range` between the odd offsets of archives (see `ARCHITECTURE.md`).
const BUFFER: usize = 512 << 10;

/// Buffers that files of an output are done with: of very many small files each would else have
/// memory of its own made, filled and given back.
#[derive(Debug, Default)]
struct Buffers(Mutex<Vec<Vec<u8>>>);

/// Buffers that are kept: more than threads of most machines have files open at one time.
const KEPT: usize = 32;

impl Buffers {
    /// A buffer of [`BUFFER`] bytes, whatever is in it.
    fn take(&self) -> Vec<u8> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| vec![0; BUFFER])
    }

    fn give(&self, buffer: Vec<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(buffer);
        }
    }
}

struct LocalStaged {
    file: File,
    path: PathBuf,
    /// [`BUFFER`] bytes, of which the first `held` are the file's.
    buffer: Vec<u8>,
    held: usize,
    buffers: Arc<Buffers>,
    flushed: u64,
    durable: bool,
    /// Whether the file was made longer than what is written.
    reserved: bool,
    /// Whether it may share blocks with another.
    shares: Arc<AtomicBool>,
}

impl LocalStaged {
    /// Has the file, in which nothing is yet, share the blocks of all of `from`. Says whether it
    /// does.
    fn share(&mut self, from: &dyn ReadAt) -> Result<bool, OutputError> {
        if self.reserved || !self.shares.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match from.share_with(&self.file) {
            Ok(true) => {
                let end = self.file.seek(SeekFrom::End(0));
                self.flushed = end.map_err(|e| write_error("copy to", &self.path, e))?;
                Ok(true)
            }
            Ok(false) => Ok(false),
            // Whatever is wrong with it, reading tells it.
            Err(error) => {
                if error.kind() == io::ErrorKind::Unsupported {
                    self.shares.store(false, Ordering::Relaxed);
                }
                Ok(false)
            }
        }
    }

    fn flush(&mut self) -> Result<(), OutputError> {
        let written = self.file.write_all(self.buffer.get(..self.held).unwrap_or_default());
        written.map_err(|e| write_error("write", &self.path, e))?;
        self.flushed += self.held as u64;
        self.held = 0;
        Ok(())
    }

    /// The place in the buffer for the next of so many bytes; never empty.
    fn room(&mut self, bytes: u64) -> Result<&mut [u8], OutputError> {
        if self.held >= BUFFER {
            self.flush()?;
        }
        let room = self.buffer.get_mut(self.held..).unwrap_or_default();
        let bytes = usize::try_from(bytes).unwrap_or(BUFFER).min(room.len());
        Ok(room.get_mut(..bytes).unwrap_or_default())
    }
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> bool {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> bool {
    false
}

impl StagedFile for LocalStaged {
    fn reserve(&mut self, bytes: u64) {
        if bytes > 0 {
            self.reserved |= reserve(&self.file, bytes);
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), OutputError> {
        while !bytes.is_empty() {
            let room = self.room(bytes.len() as u64)?;
            let (now, later) = bytes.split_at(room.len());
            room.copy_from_slice(now);
            self.held += now.len();
            bytes = later;
        }
        Ok(())
    }

    fn copy_range(
        &mut self,
        from: &dyn ReadAt,
        mut offset: u64,
        mut length: u64,
    ) -> Result<(), OutputError> {
        let is_whole = self.position() == 0 && offset == 0 && length == from.len();
        if is_whole && self.share(from)? {
            return Ok(());
        }
        while length > 0 {
            let room = self.room(length)?;
            let part = room.len();
            let read = from.read_exact_at(offset, room);
            read.map_err(|source| OutputError::Read { offset, length, source })?;
            self.held += part;
            offset += part as u64;
            length -= part as u64;
        }
        Ok(())
    }

    fn position(&self) -> u64 {
        self.flushed + self.held as u64
    }

    fn close(mut self: Box<Self>) -> Result<u64, OutputError> {
        self.flush()?;
        if self.reserved {
            let cut = self.file.set_len(self.flushed);
            cut.map_err(|e| write_error("cut", &self.path, e))?;
        }
        if self.durable {
            self.file.sync_all().map_err(|e| write_error("sync", &self.path, e))?;
        }
        Ok(self.flushed)
    }
}

impl Drop for LocalStaged {
    fn drop(&mut self) {
        self.buffers.give(std::mem::take(&mut self.buffer));
    }
}

/// Bytes that are free for us on the file system of `path`, or of the nearest folder above it that
/// exists; `None` where the system does not say.
#[must_use]
pub fn free_space(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find(|folder| folder.exists())?;
    free_in(there)
}

#[cfg(target_os = "linux")]
fn free_in(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(not(target_os = "linux"))]
fn free_in(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests;
