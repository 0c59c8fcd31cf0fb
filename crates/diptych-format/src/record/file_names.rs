//! The names of a row's picture files.

use serde::Serialize;

/// The names of a row's picture files, with `/` between folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FileNames<'a> {
    /// The picture before.
    #[serde(rename = "source_file_name")]
    pub source: &'a str,
    /// Further input pictures, in order.
    #[serde(rename = "references_file_names")]
    pub references: &'a [String],
    /// The picture after.
    #[serde(rename = "target_file_name")]
    pub target: Option<&'a str>,
    /// The mask.
    #[serde(rename = "mask_file_name")]
    pub mask: Option<&'a str>,
}
