//! Reading: a release opened as partitions of edits.

use diptych_schema::EditPair;
use diptych_storage::RelPath;

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
