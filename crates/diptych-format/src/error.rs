//! Errors that say where, what and why.

use std::fmt;
use std::io;

use diptych_storage::output::OutputError;
use diptych_storage::text::printable;
use serde::{Deserialize, Serialize};

use crate::record::columns::ColumnsError;

/// Where in a release something is. What is not known is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The release's label.
    pub source: String,
    /// Path of the file from the release's root.
    pub file: Option<String>,
    /// Name of the member, where the file is an archive.
    pub member: Option<String>,
    /// Row of the file, from 0.
    pub row: Option<u64>,
    /// Byte offset in the file (for rows of a compressed file: in its text).
    pub offset: Option<u64>,
}

impl Place {
    /// A file of a release.
    #[must_use]
    pub fn file(source: &str, file: &str) -> Self {
        Self { source: source.to_owned(), file: Some(file.to_owned()), ..Self::default() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(file) = &self.file {
            write!(f, "/{}", printable(file.as_bytes()))?;
        }
        if let Some(member) = &self.member {
            write!(f, ", member {}", printable(member.as_bytes()))?;
        }
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", offset {offset}")?;
        }
        Ok(())
    }
}

/// Why a format cannot go on. What is wrong with one edit is a
/// [`Rejection`](crate::Rejection), never this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A file of the release cannot be read.
    #[error("cannot read {at}")]
    Read {
        /// Where.
        at: Box<Place>,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The release as a whole is not what it should be.
    #[error("{at}: {what}")]
    Malformed {
        /// Where.
        at: Box<Place>,
        /// What is wrong.
        what: String,
    },
    /// The format cannot do what was asked.
    #[error("{format} is not {action}")]
    Unsupported {
        /// The format's name.
        format: &'static str,
        /// What it is not: a participle.
        action: &'static str,
    },
    /// An option of a format is not as declared.
    #[error("{0}")]
    Option(#[from] crate::options::OptionError),
    /// A pair holds what the output cannot.
    #[error("{pair_id}: {what}")]
    CannotHold {
        /// The pair.
        pair_id: String,
        /// What cannot be held.
        what: String,
    },
    /// A pair that was taken in before cannot be written.
    #[error("cannot write {pair_id}")]
    Pair {
        /// The pair.
        pair_id: String,
        /// Why not.
        #[source]
        source: Box<FormatError>,
    },
    /// A pair is an item of a benchmark, and the output is for training.
    #[error("{pair_id} has no target: it is for evaluation, and {format} is for training")]
    NoTarget {
        /// The pair.
        pair_id: String,
        /// The output's format.
        format: String,
    },
    /// The output cannot be written, or what is to be copied into it cannot be read.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Something that was to be written is no JSON.
    #[error("cannot write {what} as JSON")]
    Json {
        /// What it was.
        what: &'static str,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// Records cannot be written as columns.
    #[error("cannot write records as columns")]
    Columns(#[source] ColumnsError),
}

impl From<ColumnsError> for FormatError {
    fn from(error: ColumnsError) -> Self {
        match error {
            ColumnsError::Output(error) => Self::Output(error),
            error => Self::Columns(error),
        }
    }
}
