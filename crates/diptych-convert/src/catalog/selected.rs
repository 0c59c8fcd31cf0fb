//! What a catalog of chosen pairs says besides.
//!
//! ```text
//! pairs-00000.parquet            the pairs that were chosen, in their order, under their splits
//! rejections-selected.jsonl      a line a rejection, where choosing led to any
//! splits.parquet                 the split of each pair, and what it follows from
//! duplicates.jsonl               a line a duplicate, where they were looked for
//! ```

use serde::{Deserialize, Serialize};

use crate::report::Books;
use crate::select::{SelectionReport, SelectionTerms};

/// Name of the file of what was rejected while pairs were chosen.
pub(crate) const SELECTED_REJECTIONS: &str = "rejections-selected.jsonl";

/// What was chosen of the pairs that were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// What was asked for.
    pub terms: SelectionTerms,
    /// The pairs in each file.
    pub files: Vec<u64>,
    /// What was not chosen, and what was chosen again; nothing of it counts as read.
    pub books: Books,
    /// How it was chosen.
    pub report: SelectionReport,
}

impl Selected {
    /// Holds the numbers against the pairs that were read of each partition.
    pub(super) fn check(&self, read: impl Iterator<Item = u64>) -> Result<(), String> {
        let total = self.books.total();
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
        let gone = total.filtered_out().saturating_add(total.rejections());
        let left = sum(&mut read.chain([total.repeated])).checked_sub(gone);
        if total.read == 0 && left == Some(sum(&mut self.files.iter().copied())) {
            return Ok(());
        }
        Err("the books of what was chosen do not agree with its pairs".to_owned())
    }
}
