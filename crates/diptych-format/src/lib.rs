//! The contract between formats and the engine.
//!
//! A format is something Diptych reads, writes or both. It gives one [`Format`]; the engine sees
//! nothing else of it.
//!
//! - [`reader`]: a release opened as partitions of edits, each a pair or a rejection.
//! - [`writer`]: atoms with their payloads in, whole files and a receipt out.
//! - [`archives`]: what readers share: the files of a release and the pictures in them.
//! - [`shards`]: files that are numbered in their names, of which not all need be there.
//! - [`table`]: rows of Parquet files.
//! - [`csv`]: rows of text that commas part.
//! - [`EndOfRows`]: what the end of a text of rows means.
//! - [`rejection`]: edits that could not become a pair, and what was noticed beside that.
//! - [`options`]: what a format lets its user choose, as data.
//! - [`key`]: the one function that makes a file-name key from a `pair_id`.
//! - [`foreign`]: pairs from rows that somebody else laid out.
//! - [`record`]: the record that every output carries for a pair, and its declared features.
//! - [`card`]: the card of an output.
//! - [`split_files`]: the names of outputs that are numbered files, a split's by themselves.

mod alteration;
pub mod archives;
pub mod card;
pub mod csv;
mod ending;
pub mod error;
pub mod foreign;
pub mod key;
mod notices;
pub mod options;
pub mod reader;
pub mod record;
pub mod rejection;
pub mod shards;
pub mod split_files;
pub mod table;
pub mod writer;
pub mod written;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use alteration::{Alteration, Altered};
pub use ending::EndOfRows;
pub use error::{FormatError, Place};
pub use notices::Notices;
pub use options::{OptionKind, OptionSpec, Options, Used};
pub use reader::{Edit, Edits, Part, Probe, Reader, Rest, SourceFile, Stated, Tally};
pub use rejection::{Notice, Rejection};
pub use writer::{Atom, Grain, Payload, Sample, UnitFiles, UnitWriter, Writer};

use diptych_schema::EditTypes;
use diptych_storage::{Limits, ReadTree};

/// What a format is, as data: help, the table in the docs and detection come from it.
#[derive(Debug)]
pub struct About {
    /// The name on the command line: lower case, words joined by `-`.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it is, in one sentence without a period.
    pub summary: &'static str,
    /// Whether a release in this format can be read.
    pub reads: bool,
    /// Whether an output in this format can be written.
    pub writes: bool,
    /// What its user may choose with `-o NAME.KEY=VALUE`.
    pub options: &'static [OptionSpec],
    /// What of a release is not read, a sentence each.
    pub losses: &'static [&'static str],
    /// What an output does not hold as it went in, in the order of [`Altered::ALL`]. Empty where
    /// the format is only read.
    pub alters: &'static [Alteration],
    /// Which columns of the canonical schema its releases fill, and from what.
    pub fills: &'static [Fill],
    /// The words that its releases have for kinds of edit, and the shared word for each: what
    /// its reader goes by. Empty where the format is of no dataset.
    pub edit_types: EditTypes,
    /// What the masks of its releases say.
    pub masks: MaskMeaning,
    /// What its authors state of rights that no field of a pair says: a sentence each, about the
    /// dataset that is called as the format.
    pub terms: &'static [&'static str],
    /// How the dataset is cited that is called as the format, and where it was published; `None`
    /// where the format is of no dataset.
    pub citation: Option<Citation>,
    /// How many pairs of a kind the authors published; for copies to be held against, never to
    /// stop at.
    pub published: &'static [Published],
}

/// How a dataset is cited: as its authors ask for it, and no more than is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Citation {
    /// The authors, as they name themselves; empty where they are not known.
    pub authors: &'static str,
    /// The title of their paper; the dataset's name where no paper is known.
    pub title: &'static str,
    /// Where the paper was published, and when; empty where none is known.
    pub published: &'static str,
    /// Where the dataset was published.
    pub dataset: &'static str,
}

/// What the masks of a release say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskMeaning {
    /// Its pairs have none, or it is not read.
    None,
    /// The region that was asked to be edited: what changed may be less, or more.
    Asked,
    /// The pixels that changed.
    Changed,
}

/// A column of the canonical schema that a format's releases fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// The column.
    pub column: &'static str,
    /// What it is filled from: a fragment without a period.
    pub from: &'static str,
}

/// What pairs are told apart by when they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Facet {
    /// `edit_type`.
    EditType,
    /// `language`.
    Language,
    /// `subset`.
    Subset,
    /// `editor`.
    Editor,
}

impl Facet {
    /// The column of the schema.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Self::EditType => "edit_type",
            Self::Language => "language",
            Self::Subset => "subset",
            Self::Editor => "editor",
        }
    }
}

/// How many pairs of a kind the authors published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// What is counted by.
    pub facet: Facet,
    /// Its value, as pairs have it.
    pub value: &'static str,
    /// Pairs in the whole release.
    pub pairs: u64,
}

/// How sure a format is that a tree is one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It is not.
    No,
    /// It could be; nothing in it is of this format alone.
    Weak,
    /// It looks like it.
    Strong,
    /// It says so itself.
    Exact,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "no",
            Self::Weak => "weak",
            Self::Strong => "strong",
            Self::Exact => "exact",
        })
    }
}

/// What a format says of a tree, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// How sure it is.
    pub confidence: Confidence,
    /// What was found, or what was looked for and not found: a fragment without a period.
    pub reason: String,
    /// What is there that such a release has too, though it was not enough: fragments without a
    /// period. Of several formats that say no, the one with the most of it comes nearest.
    pub near: Vec<String>,
}

impl Detection {
    /// A tree that is in the format, and why.
    #[must_use]
    pub fn yes(confidence: Confidence, reason: impl Into<String>) -> Self {
        Self { confidence, reason: reason.into(), near: Vec::new() }
    }

    /// A tree that is not in the format: what was looked for, and what comes near it.
    #[must_use]
    pub fn no(looked_for: impl Into<String>, near: Vec<String>) -> Self {
        Self { confidence: Confidence::No, reason: looked_for.into(), near }
    }
}

/// What a reader is opened with.
pub struct ReaderInput<'a> {
    /// The release.
    pub tree: Arc<dyn ReadTree>,
    /// What places in this release are named by.
    pub label: &'a str,
    /// What the user chose of the format's options.
    pub options: &'a Options,
    /// Further folders that the user named, by the key of the option ([`OptionKind::Folder`]):
    /// read beside the release, and nothing that is written points into them.
    pub folders: BTreeMap<&'static str, Arc<dyn ReadTree>>,
    /// How much the release may ask of us.
    pub limits: Limits,
    /// Whether pictures' headers are looked at.
    pub probe: Probe,
}

/// A format: the one item that a format crate exports.
pub trait Format: Send + Sync {
    /// What it is.
    fn about(&self) -> &'static About;

    /// Whether `tree` is a release in this format, from names and the first bytes of files.
    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        let _ = tree;
        Detection::no("it is only written", Vec::new())
    }

    /// Opens a release.
    ///
    /// # Errors
    /// [`FormatError::Unsupported`] where the format is only written; else what makes the release
    /// unreadable as a whole.
    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        let _ = input;
        Err(FormatError::Unsupported { format: self.about().name, action: "read" })
    }

    /// A writer with the options given.
    ///
    /// # Errors
    /// [`FormatError::Unsupported`] where the format is only read.
    fn open_writer(&self, options: &Options) -> Result<Box<dyn Writer>, FormatError> {
        let _ = options;
        Err(FormatError::Unsupported { format: self.about().name, action: "written" })
    }
}
