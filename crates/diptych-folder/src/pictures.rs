//! Pictures by the paths that rows give.

use std::sync::atomic::{AtomicBool, Ordering};

use diptych_format::archives::{Archives, NotFound, PictureFault};
use diptych_format::{ReaderInput, SourceFile};
use diptych_schema::Picture;
use diptych_storage::RelPath;
use diptych_storage::text::printable;

use crate::tables::TableFile;

/// Extensions of pictures, in lower case: what else lies about is nobody's loss.
const EXTENSIONS: [&str; 9] = ["png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "avif"];

/// The files of a release that rows may name.
pub(crate) struct Pictures {
    pub(crate) archives: Archives,
    /// Which of them a row has asked for.
    claimed: Vec<AtomicBool>,
}

impl Pictures {
    /// Of the files `files`, which are sorted.
    pub(crate) fn new(input: &ReaderInput<'_>, files: Vec<RelPath>) -> Self {
        let claimed = files.iter().map(|_| AtomicBool::new(false)).collect();
        let files = files.into_iter().map(|path| SourceFile::new(vec![path])).collect();
        Self { archives: Archives::new(input, files), claimed }
    }

    /// The picture that a row of `table` calls by this path.
    ///
    /// # Errors
    /// Where the path leads elsewhere, nothing is there, or no picture.
    pub(crate) fn named(&self, table: &TableFile, path: &str) -> Result<Picture, NotFound> {
        let fault = |kind, cause: String| PictureFault {
            kind,
            cause: format!("{}: {cause}", printable(path.as_bytes())),
            file: Some(table.path.as_str().to_owned()),
            member: path.to_owned(),
            offset: None,
        };
        let place = RelPath::new(path)
            .map_err(|error| fault("invalid_path", format!("no path below the table: {error}")))?;
        let place = table.path_of(&place);
        let Some(number) = self.number(&place) else {
            return Err(fault("missing_member", "there is no such file".to_owned()).into());
        };
        if let Some(claimed) = self.claimed.get(number as usize) {
            claimed.store(true, Ordering::Relaxed);
        }
        self.archives.loose(path, number)
    }

    /// The number of the file at a path.
    fn number(&self, path: &str) -> Option<u32> {
        let compare = |file: &SourceFile| file.pieces.first().map(RelPath::as_str).cmp(&Some(path));
        let at = self.archives.files().binary_search_by(compare).ok()?;
        u32::try_from(at).ok()
    }

    /// How many files rows have asked for.
    pub(crate) fn claimed(&self) -> u64 {
        self.claimed.iter().filter(|claimed| claimed.load(Ordering::Relaxed)).count() as u64
    }

    /// How many pictures no row has asked for, and one of them.
    pub(crate) fn unclaimed(&self) -> Option<(u64, &RelPath)> {
        let files = self.archives.files().iter().filter_map(|file| file.pieces.first());
        let unclaimed = files.zip(&self.claimed).filter(|(path, claimed)| {
            !claimed.load(Ordering::Relaxed) && is_picture(path.file_name())
        });
        unclaimed.fold(None, |found, (path, _)| match found {
            None => Some((1, path)),
            Some((count, first)) => Some((count + 1, first)),
        })
    }
}

fn is_picture(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}
