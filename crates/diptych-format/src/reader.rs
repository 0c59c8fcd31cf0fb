//! Reading: a release opened as partitions of edits.

use diptych_schema::EditPair;
use diptych_storage::RelPath;
use serde::Serialize;

use crate::error::FormatError;
use crate::rejection::{Notice, Rejection};

/// Whether pictures' headers are looked at while a release is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Probe {
    /// No: sizes and types stay unknown until a picture is written.
    None,
    /// Yes: size and type of each picture are told from its first bytes.
    #[default]
    Header,
}

/// A file that addresses point into: one file of the release, or several that are read as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The pieces in order; one for a file that is whole.
    pub pieces: Vec<RelPath>,
    /// Where it is the rest of an archive whose beginning is missing: what is known of that.
    pub rest: Option<Rest>,
}

/// The rest of an archive whose beginning is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// The position of the first block border in it, in bytes; `None` where nobody knows.
    pub border: Option<u64>,
}

impl SourceFile {
    /// A file that is read from its beginning.
    #[must_use]
    pub fn new(pieces: Vec<RelPath>) -> Self {
        Self { pieces, rest: None }
    }
}

/// One edit of a release.
#[derive(Debug)]
pub enum Edit {
    /// It became a pair.
    Pair(Box<EditPair>),
    /// It did not.
    Rejected(Box<Rejection>),
}

/// What was read of a release, for a reader to hold against what the release says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Edits of each partition, rejected ones among them, in the order of the partitions.
    pub edits: Vec<u64>,
    /// Pairs of each partition: those of its edits that were not rejected.
    pub pairs: Vec<u64>,
}

/// Something that a release consists of, in numbers: how much of it is here, and how much there
/// should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What is counted, in the plural: `source shards`.
    pub name: String,
    /// How many are here.
    pub here: u64,
    /// How many this copy says that there are.
    pub stated: Option<Stated>,
    /// How many there are in the whole release by what its authors published, or by what was
    /// measured on it.
    pub published: Option<u64>,
    /// Which are not here, where they have names, or why there are fewer: a fragment without a
    /// period.
    pub missing: Option<String>,
}

/// What a copy says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stated {
    /// How many there are.
    pub count: u64,
    /// What says so: `manifest.json`, `the names of the files`.
    pub by: String,
}

/// An open release.
///
/// # For implementations
/// Partitions are independent: the engine reads them in any order and at the same time, each
/// once, and the edits of one must not depend on what else was read. Files are numbered from 0 in
/// the order of [`files`](Reader::files), which is fixed when the reader is opened.
pub trait Reader: Send + Sync {
    /// Every file that addresses may point into.
    fn files(&self) -> &[SourceFile];

    /// Names of the partitions, in order.
    fn partitions(&self) -> &[String];

    /// The edits of a partition, from its first.
    ///
    /// # Errors
    /// What makes the partition unreadable as a whole.
    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError>;

    /// What was noticed of the release, once every partition was read; in an order that does not
    /// depend on the one in which they were.
    fn notices(&self, tally: &Tally) -> Vec<Notice>;

    /// How complete the copy is, once every partition was read: a line for each thing that such a
    /// release consists of, in the order in which they should be told. May look at what no edit
    /// has asked for, and decode it, on all threads of the pool that it is called on; what is
    /// noticed in doing so, [`notices`](Reader::notices) tell from then on.
    ///
    /// # Errors
    /// Where that cannot be read.
    fn parts(&self, tally: &Tally) -> Result<Vec<Part>, FormatError>;
}

/// The edits of a partition, in their fixed order.
pub trait Edits {
    /// The next edit; `None` after the last, and from then on.
    ///
    /// # Errors
    /// An error is fatal for the partition. What is wrong with one edit is
    /// [`Edit::Rejected`].
    fn next(&mut self) -> Result<Option<Edit>, FormatError>;
}
