//! Why the engine cannot go on.

use std::io;

use diptych_condition::ConditionError;
use diptych_format::options::OptionError;
use diptych_format::{FormatError, Rejection};
use diptych_pixels::difference::ParameterError;
use diptych_schema::arrow::{DecodeError, EncodeError};
use diptych_storage::limits::LimitError;
use diptych_storage::output::OutputError;
use diptych_storage::text::runs;
use diptych_storage::tree::TreeError;
use parquet::errors::ParquetError;

use crate::detect::DetectError;
use crate::select::SelectError;

/// Why the engine cannot go on. Everything wrong with single edits is a rejection instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A source cannot be listed.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A source's format cannot be told.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// No format has this name.
    #[error("there is no format `{name}` that can be {action}: there are {}", known.join(", "))]
    NoFormat {
        /// The name asked for.
        name: String,
        /// `read` or `written`.
        action: &'static str,
        /// Those there are.
        known: Vec<&'static str>,
    },
    /// An option is not as declared.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A parameter of the comparison of pictures is not what it may be.
    #[error("`--difference {0}`")]
    Difference(#[from] ParameterError),
    /// A limit cannot be set.
    #[error("`--max {0}`")]
    Limit(#[from] LimitError),
    /// A catalog was made under other limits than those that are asked for.
    #[error("the catalog {path} was made with the limits {was}, and {is} is asked for")]
    OtherLimits {
        /// The catalog.
        path: String,
        /// Those that differed from the defaults when it was made.
        was: String,
        /// Those that do now.
        is: String,
    },
    /// Options were given for a format that takes no part.
    #[error("`-o {format}.{key}` is for a format that takes no part in this, or not so")]
    StrayOption {
        /// The format named.
        format: String,
        /// The key given.
        key: String,
    },
    /// A format cannot go on.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A reader or writer failed within a partition or unit.
    #[error("{what}")]
    Within {
        /// Which partition, or which unit and pair.
        what: String,
        /// Why.
        #[source]
        source: Box<EngineError>,
    },
    /// A file of a release cannot be opened or read.
    #[error("cannot read {file} of {label}")]
    ReadSource {
        /// The source's label.
        label: String,
        /// The file.
        file: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A catalog is of a shape that this program does not read.
    #[error("{path} is of version {found} of the {of}; this program reads version {reads}")]
    OtherVersion {
        /// The catalog's head.
        path: String,
        /// What the version is of: `catalog` or `schema`.
        of: &'static str,
        /// The version that it is of.
        found: u32,
        /// The one that is read.
        reads: u32,
    },
    /// Something is asked for that was decided when a catalog was made.
    #[error("{what} cannot be given for the catalog {path}: that was decided when it was made")]
    Decided {
        /// What was given: `--from`, `-o imgedit.recap`.
        what: String,
        /// The catalog.
        path: String,
    },
    /// A catalog that pairs are taken from is not what was written.
    #[error("cannot take the pairs of the catalog {path}")]
    DamagedCatalog {
        /// The catalog.
        path: String,
        /// What is wrong with it.
        #[source]
        source: Box<EngineError>,
    },
    /// A catalog holds fewer pairs than are asked for.
    #[error("the catalog {path} was made with a limit of {limit} pairs and holds no more")]
    LimitedCatalog {
        /// The catalog.
        path: String,
        /// How many pairs it was asked for.
        limit: u64,
    },
    /// A release that a catalog was made of is not where it was.
    #[error("{label} is not where its catalog says")]
    Gone {
        /// The source's label.
        label: String,
        /// Why it cannot be listed.
        #[source]
        source: TreeError,
    },
    /// A release is not what it was when the catalog was made.
    #[error("{label} has changed since its catalog was made: {what}")]
    Changed {
        /// The source's label.
        label: String,
        /// What is different.
        what: String,
    },
    /// A release was written while it was read.
    #[error("{label} changed while it was read: {what}")]
    ChangedMeanwhile {
        /// The source's label.
        label: String,
        /// What is different.
        what: String,
    },
    /// A label that no source has.
    #[error("no source is called {label}: there are {}", known.join(", "))]
    NoLabel {
        /// The label given.
        label: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// The output folder holds something.
    #[error("the output folder {path} is not empty")]
    NotEmpty {
        /// The folder.
        path: String,
    },
    /// The output folder is to be overwritten and holds something that is not of this program.
    #[error("the output folder {path} holds {name}, which its report does not list")]
    NotOurs {
        /// The folder.
        path: String,
        /// What is in it.
        name: String,
    },
    /// A source would be written over.
    #[error("the source {source_path} lies inside the output folder {path}")]
    SourceInside {
        /// The folder.
        path: String,
        /// The source.
        source_path: String,
    },
    /// The output folder would be read as part of a source.
    #[error("the output folder {path} lies inside the source {inside}")]
    Inside {
        /// The folder.
        path: String,
        /// The source.
        inside: String,
    },
    /// The output was begun by another request.
    #[error("{path} was begun with another request: {}", differences.join("; "))]
    OtherRequest {
        /// The output folder.
        path: String,
        /// What differs, `was` and `is`.
        differences: Vec<String>,
    },
    /// Another process plans or finishes the same output.
    #[error("{path} is in use by another process")]
    Locked {
        /// The output folder.
        path: String,
    },
    /// The plan of an output was made anew while a process wrote units of an earlier one.
    #[error("{path} was planned anew meanwhile: this process has another plan")]
    OtherPlan {
        /// The output folder.
        path: String,
    },
    /// The observer said to stop.
    #[error("stopped before the end")]
    Stopped,
    /// There is no plan where one is needed.
    #[error("{path} holds no plan")]
    NoPlan {
        /// The output folder.
        path: String,
    },
    /// A unit that the plan does not have.
    #[error("the plan has {units} units, numbered from 0; there is no unit {asked}")]
    NoUnit {
        /// The number asked for.
        asked: u32,
        /// How many there are.
        units: usize,
    },
    /// Units that have no receipt yet.
    #[error("{} of {units} units are not done: {}", missing.len(), ranges(missing))]
    Unfinished {
        /// The output folder.
        path: String,
        /// Their numbers.
        missing: Vec<u32>,
        /// How many there are in all.
        units: usize,
    },
    /// A rejection where none is allowed.
    #[error("rejected ({}): {}: {}", .0.kind, .0.at, .0.cause)]
    Strict(Box<Rejection>),
    /// Two sources bring the same pair.
    #[error("{pair_id} is in {first} and in {second}")]
    SameId {
        /// The pair's id.
        pair_id: String,
        /// Where it was read first.
        first: String,
        /// Where it was read again.
        second: String,
    },
    /// A condition, or what pairs are compared by, is not one.
    #[error("{option}: {source}")]
    Condition {
        /// The option that gave it.
        option: &'static str,
        /// What is wrong with it.
        source: ConditionError,
    },
    /// Pairs are to be taken more than once that were so before.
    #[error("{pair_id} was taken more than once already")]
    RepeatedBefore {
        /// One of them.
        pair_id: String,
    },
    /// Of the kinds that are to be drawn there are no pairs.
    #[error("there are no pairs of {}: there are some of {}", asked.join(", "), there.join(", "))]
    NoKind {
        /// The kinds asked for.
        asked: Vec<String>,
        /// Those there are.
        there: Vec<String>,
    },
    /// What is asked for cannot be asked for together, or so.
    #[error("{what}")]
    Asked {
        /// What is wrong with it.
        what: String,
    },
    /// A recipe cannot be used.
    #[error("{path} is no recipe: {what}")]
    Recipe {
        /// The file.
        path: String,
        /// What is wrong with it, and where.
        what: String,
    },
    /// A list of pairs or of splits cannot be used.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The sums do not agree: a fault of this program.
    #[error("the books do not balance for {of}: {read} edits read, {accounted} accounted for")]
    Books {
        /// Dataset and subset.
        of: String,
        /// Edits read.
        read: u64,
        /// Edits written, filtered and rejected.
        accounted: u64,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A working file cannot be read or written.
    #[error("cannot use {path}")]
    Work {
        /// The file.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The output is there and is no folder.
    #[error("the output {path} is not a folder")]
    NotAFolder {
        /// The path.
        path: String,
    },
    /// A path that cannot be written down in a catalog.
    #[error("the path {path} is not UTF-8")]
    NotUtf8 {
        /// The path, as far as it is.
        path: String,
    },
    /// A working file is not what was written.
    #[error("{path} is damaged")]
    Damaged {
        /// The file.
        path: String,
        /// Why it cannot be read.
        #[source]
        source: DamagedBy,
    },
}

/// What is wrong with a working file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DamagedBy {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no JSON of the kind expected.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is no Parquet.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// It is no Arrow.
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
    /// Pairs cannot be made of it.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Pairs cannot be put into it.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// It does not hold what it should.
    #[error("{0}")]
    Content(String),
}

impl EngineError {
    /// Says in which partition or unit it was.
    #[must_use]
    pub fn within(self, what: impl Into<String>) -> Self {
        Self::Within { what: what.into(), source: Box::new(self) }
    }

    /// Whether it only was told to stop.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Within { source, .. } => source.is_stop(),
            error => matches!(error, Self::Stopped),
        }
    }

    /// Whether the user asked for something that cannot be asked for.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoFormat { .. }
                | Self::Option(_)
                | Self::Format(FormatError::Option(_))
                | Self::StrayOption { .. }
                | Self::Decided { .. }
                | Self::LimitedCatalog { .. }
                | Self::Limit(_)
                | Self::OtherLimits { .. }
                | Self::NoLabel { .. }
                | Self::NoUnit { .. }
                | Self::Condition { .. }
                | Self::NoKind { .. }
                | Self::Asked { .. }
                | Self::Recipe { .. }
        )
    }
}

/// Numbers as ranges: `0-3, 7`.
#[must_use]
pub fn ranges(numbers: &[u32]) -> String {
    let run = |(first, last): (u32, u32)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    runs(numbers).into_iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_told_as_ranges() {
        assert_eq!(super::ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        assert_eq!(super::ranges(&[]), "");
    }
}
