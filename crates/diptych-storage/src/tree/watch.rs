//! What went wrong with the files of a tree, whoever read them.

use std::io;
use std::sync::{Arc, OnceLock};

use crate::path::RelPath;
use crate::read::{LocalFile, ReadAt, WatchedFile, same_error};

/// The first failure of the system.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures(Arc<OnceLock<(RelPath, io::Error)>>);

impl Failures {
    pub(super) fn note(&self, path: &RelPath, error: &io::Error) {
        // What was only interrupted is tried again.
        if error.kind() != io::ErrorKind::Interrupted {
            self.0.get_or_init(|| (path.clone(), same_error(error)));
        }
    }

    pub(super) fn first(&self) -> Option<(RelPath, io::Error)> {
        self.0.get().map(|(path, error)| (path.clone(), same_error(error)))
    }

    /// A file whose failures are noted.
    pub(super) fn watched(&self, path: &RelPath, file: LocalFile) -> Arc<dyn ReadAt> {
        let (failures, path) = (self.clone(), path.clone());
        let on_error = move |error| {
            failures.note(&path, &error);
            error
        };
        Arc::new(WatchedFile { file: Arc::new(file), on_error })
    }
}
