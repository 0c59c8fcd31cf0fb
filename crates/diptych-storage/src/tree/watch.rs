//! What went wrong with the files of a tree, whoever read them.

use std::fs;
use std::io;
use std::sync::{Arc, OnceLock};

use crate::path::RelPath;
use crate::read::{LocalFile, ReadAt};

/// The first failure of the system.
#[derive(Debug, Default)]
pub(super) struct Failures(Arc<OnceLock<(RelPath, io::Error)>>);

impl Failures {
    pub(super) fn note(&self, path: &RelPath, error: &io::Error) {
        note(&self.0, path, error);
    }

    pub(super) fn first(&self) -> Option<(RelPath, io::Error)> {
        self.0.get().map(|(path, error)| (path.clone(), same(error)))
    }

    /// A file whose failures are noted.
    pub(super) fn watched(&self, path: &RelPath, file: LocalFile) -> Arc<dyn ReadAt> {
        Arc::new(Watched { file, path: path.clone(), failure: Arc::clone(&self.0) })
    }
}

fn note(failure: &OnceLock<(RelPath, io::Error)>, path: &RelPath, error: &io::Error) {
    // It is tried again, and nothing has gone wrong.
    if error.kind() != io::ErrorKind::Interrupted {
        failure.get_or_init(|| (path.clone(), same(error)));
    }
}

/// The same error once more.
fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

struct Watched {
    file: LocalFile,
    path: RelPath,
    failure: Arc<OnceLock<(RelPath, io::Error)>>,
}

impl ReadAt for Watched {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(offset, buffer);
        read.inspect_err(|error| note(&self.failure, &self.path, error))
    }

    fn share_with(&self, to: &fs::File) -> io::Result<bool> {
        self.file.share_with(to)
    }
}
