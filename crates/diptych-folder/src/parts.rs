//! How complete a copy is.

use diptych_format::{Part, Stated};

use crate::reader::FolderReader;

/// The lines that tell how complete a copy is.
pub(crate) fn parts(reader: &FolderReader) -> Vec<Part> {
    let part = |name: &str, here, stated: Option<Stated>| Part {
        name: name.to_owned(),
        here,
        stated,
        published: None,
        missing: None,
    };
    vec![
        part("rows", reader.rows(), reader.written.clone()),
        part("pictures that rows name", reader.pictures.claimed(), None),
    ]
}
