//! Which pairs are taken, in which order, and what for.
//!
//! All of it is decided on the pairs that were read, by their columns and, where a rule needs them,
//! by hashes of their pictures; then a catalog of the chosen pairs is written, which units are
//! planned from like any other. The steps, in their order:
//!
//! 1. the condition (`--where`), of a source and of all;
//! 2. ids that repeat are rejected;
//! 3. the list of pairs (`--pairs`);
//! 4. what shares a source with what is excluded (`--exclude`);
//! 5. splits (`--split`, `--split-file`, `--same`): pairs that belong together get one;
//! 6. duplicates (`--dedup`);
//! 7. sessions and groups of which something is gone go as well (`--whole`);
//! 8. what is drawn (`--mix`, `--sample`);
//! 9. the order (`--shuffle`, `--in-order`);
//! 10. the first so many (`--limit`).

mod anchors;
mod asked;
mod choose;
mod compare;
mod draw;
mod drawing;
mod duplicates;
mod error;
mod gate;
mod lists;
mod pool;
mod released;
mod repeats;
mod report;
mod splits;
mod survey;
mod terms;
mod write;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use diptych_condition::{Condition, Number, Word};

pub(crate) use asked::check_asked;
pub(crate) use choose::{Choosing, needs_choosing, write_selected};
pub use error::SelectError;
pub(crate) use gate::Gate;
pub(crate) use released::write_splits_as_released;
pub use report::{Collision, Drawn, ExcludedReport, ListReport, SelectionReport, SplitsReport};
pub use terms::SelectionTerms;

use arrow_array::{BooleanArray, RecordBatch};

use crate::error::EngineError;
pub use crate::hashes::{Level, LevelError};
use crate::request::SourceRequest;
pub use duplicates::DedupOn;
pub use splits::{Shares, SharesError};

/// Why a pair is not taken for which no condition holds, for the books.
pub(crate) const WHERE: &str = "where";

/// Which pairs are taken, in which order, and what for. By itself: all, as they come, for what
/// their release says.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Those for which it is true.
    pub condition: Option<Condition>,
    /// Those that a file lists.
    pub pairs: Option<PathBuf>,
    /// In the order of that list.
    pub in_order: bool,
    /// Drops sessions and groups whole where it drops one of their pairs, and draws them whole.
    pub whole: bool,
    /// None whose source picture one of these has.
    pub exclude: Vec<SourceRequest>,
    /// When two source pictures are the same, for splits and for what is excluded.
    pub same: Option<Same>,
    /// How large splits are.
    pub shares: Option<Shares>,
    /// Splits that are decided: the file that an earlier output has.
    pub split_file: Option<PathBuf>,
    /// Drops duplicates.
    pub dedup: Option<Dedup>,
    /// So many of them.
    pub sample: Option<Sample>,
    /// So many of each kind.
    pub mix: Option<Mix>,
    /// In an order by chance.
    pub shuffle: bool,
    /// What chance follows from; 0 where it is not said.
    pub seed: Option<u64>,
}

/// When two source pictures are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// Where they are one range of one file: no picture is read.
    Place,
    /// Where what is compared is the same.
    Level(Level),
}

impl FromStr for Same {
    type Err = LevelError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        if word == "place" { Ok(Self::Place) } else { word.parse().map(Self::Level) }
    }
}

impl fmt::Display for Same {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place => f.write_str("place"),
            Self::Level(level) => level.fmt(f),
        }
    }
}

/// How many pairs are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sample {
    /// So many, or all where there are fewer.
    Count(u64),
    /// So many of a hundred, to the nearest.
    Percent(f64),
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(percent) = text.strip_suffix('%') else {
            let count = text.parse().map_err(|_| "it is no number of pairs and no percentage")?;
            return Ok(Self::Count(count));
        };
        match percent.trim().parse() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Percent(percent)),
            _ => Err("it is no percentage from 0% to 100%".to_owned()),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// So many pairs of each kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// What tells kinds apart.
    pub by: MixBy,
    /// The kinds and their shares of the whole, against each other. What is of no kind named is not
    /// drawn. Of sources their weights hold, and nothing stands here.
    pub shares: Vec<(String, f64)>,
    /// How many pairs there are to be; as many as can be had without a repeat where it is `None`.
    pub total: Option<u64>,
    /// Takes pairs more than once where a kind has too few.
    pub repeat: bool,
}

/// What tells kinds apart.
#[derive(Debug, Clone, PartialEq)]
pub enum MixBy {
    /// The source; the shares are the weights that sources have.
    Source,
    /// The value of a column.
    Column(Word),
}

impl MixBy {
    /// By the dataset.
    ///
    /// # Errors
    /// None: it is a column.
    pub fn dataset() -> Result<Self, EngineError> {
        let column = Word::parse("dataset");
        let column = column.map_err(|source| EngineError::Condition { option: "--mix", source })?;
        Ok(Self::Column(column))
    }
}

/// Which pairs are duplicates, and which of them stays.
#[derive(Debug, Clone)]
pub struct Dedup {
    /// When two pictures are the same.
    pub level: Level,
    /// Which pictures.
    pub on: DedupOn,
    /// The one that has most of this stays; the first where it is not said.
    pub prefer: Option<Number>,
}

impl Selection {
    /// Whether splits are decided anew.
    pub(crate) fn splits(&self) -> bool {
        self.shares.is_some() || self.split_file.is_some() || self.same.is_some()
    }
}

/// Whether a condition holds for the pairs of a batch.
pub(crate) fn holds(
    condition: &Condition,
    batch: &RecordBatch,
) -> Result<BooleanArray, EngineError> {
    condition.evaluate(batch).map_err(|source| EngineError::Condition { option: "--where", source })
}
