//! Files read at positions.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes that many threads can read at once, each at its own position.
pub trait ReadAt: Send + Sync {
    /// Length in bytes when the file was opened.
    fn len(&self) -> u64;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads up to `buffer.len()` bytes from `offset`; 0 at the end.
    ///
    /// # Errors
    /// Those of the system.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] where the bytes end first.
    fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(offset, buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    buffer = buffer.get_mut(n..).unwrap_or_default();
                    offset += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Has the empty file `to` share the blocks of all bytes, where these are one file and its file
    /// system can do that. Says whether it did: where not, `to` is empty as before.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the file systems of both never do.
    fn share_with(&self, to: &File) -> io::Result<bool> {
        let _ = to;
        Ok(false)
    }
}

#[cfg(target_os = "linux")]
fn share(from: &File, to: &File) -> io::Result<bool> {
    use rustix::io::Errno;
    match rustix::fs::ioctl_ficlone(to, from) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS | Errno::XDEV) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        // Of this file, for a reason of its own.
        Err(_) => Ok(false),
    }
}

#[cfg(not(target_os = "linux"))]
fn share(_: &File, _: &File) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// One file of a local disk.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    length: u64,
}

impl LocalFile {
    /// Takes an open file.
    ///
    /// # Errors
    /// Those of the system when asked for the length.
    pub fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }
}

impl ReadAt for LocalFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn share_with(&self, to: &File) -> io::Result<bool> {
        // What was appended since it was opened is none of its bytes.
        if self.file.metadata()?.len() == self.length { share(&self.file, to) } else { Ok(false) }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)?;
        if read == 0 && offset < self.length && !buffer.is_empty() {
            let what = format!("it ends before byte {offset} and had {} bytes", self.length);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(read)
    }
}

/// A file whose errors are told with its name, for those that have no name for it.
pub struct NamedFile<F> {
    /// The file.
    pub file: Arc<dyn ReadAt>,
    /// Puts the name to an error.
    pub name: F,
}

impl<F: Fn(io::Error) -> io::Error + Send + Sync> ReadAt for NamedFile<F> {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer).map_err(&self.name)
    }

    fn share_with(&self, to: &File) -> io::Result<bool> {
        self.file.share_with(to)
    }
}

impl ReadAt for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.get(start..).unwrap_or_default();
        let n = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        Ok(n)
    }
}

/// Files that follow each other and are read as one: an archive cut in pieces, joined without
/// being written again.
pub struct Pieces {
    /// Where each piece begins, and the piece.
    pieces: Vec<(u64, Arc<dyn ReadAt>)>,
    length: u64,
}

impl Pieces {
    /// Joins `pieces` in the order given.
    #[must_use]
    pub fn new(pieces: Vec<Arc<dyn ReadAt>>) -> Self {
        let mut length = 0_u64;
        let pieces = pieces
            .into_iter()
            .map(|piece| {
                let start = length;
                length = length.saturating_add(piece.len());
                (start, piece)
            })
            .collect();
        Self { pieces, length }
    }

    /// The piece that holds `offset`, and the position in it.
    fn piece_at(&self, offset: u64) -> Option<(u64, &Arc<dyn ReadAt>)> {
        if offset >= self.length {
            return None;
        }
        // Of pieces that begin at one place all but the last are empty.
        let after = self.pieces.partition_point(|(start, _)| *start <= offset);
        let (start, piece) = self.pieces.get(after.checked_sub(1)?)?;
        Some((offset - start, piece))
    }
}

impl ReadAt for Pieces {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self.piece_at(offset) {
            Some((within, piece)) => piece.read_at(within, buffer),
            None => Ok(0),
        }
    }
}

/// Reads from a position on, as a stream.
pub struct Cursor {
    file: Arc<dyn ReadAt>,
    offset: u64,
}

impl Cursor {
    /// A stream of `file` from its start.
    #[must_use]
    pub fn new(file: Arc<dyn ReadAt>) -> Self {
        Self::at(file, 0)
    }

    /// A stream of `file` from `offset`.
    #[must_use]
    pub fn at(file: Arc<dyn ReadAt>, offset: u64) -> Self {
        Self { file, offset }
    }
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(self.offset, buffer)?;
        self.offset += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_read_as_one_file() {
        let whole: Vec<u8> = (0..=255).collect();
        for cuts in [vec![0, 256], vec![0, 1, 1, 100, 256, 256], vec![0, 128, 129, 256]] {
            let pieces = cuts
                .windows(2)
                .map(|w| Arc::new(whole[w[0]..w[1]].to_vec()) as Arc<dyn ReadAt>)
                .collect();
            let joined = Pieces::new(pieces);
            assert_eq!(ReadAt::len(&joined), 256);
            for start in 0..=255_u8 {
                let mut found = vec![0; 256 - usize::from(start)];
                joined.read_exact_at(u64::from(start), &mut found).unwrap();
                assert_eq!(found, &whole[usize::from(start)..]);
            }
            assert_eq!(joined.read_at(256, &mut [0]).unwrap(), 0);
            let error = joined.read_exact_at(250, &mut [0; 7]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
