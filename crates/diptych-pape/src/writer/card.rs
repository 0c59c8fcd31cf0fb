//! The card: what is in the folder, and how it opens in `load_dataset`.

use std::collections::BTreeMap;
use std::fmt::Write;

use diptych_format::card;
use diptych_format::writer::Provenance;
use diptych_schema::Split;

/// What an output holds.
#[derive(Default)]
pub(crate) struct Counts {
    /// Rows of each editor folder.
    rows: BTreeMap<String, u64>,
    /// Pairs of each split.
    pairs: BTreeMap<Split, u64>,
}

impl Counts {
    /// Enters a row.
    pub(crate) fn row(&mut self, folder: &str) {
        *self.rows.entry(folder.to_owned()).or_default() += 1;
    }

    /// Enters a pair.
    pub(crate) fn pair(&mut self, split: Split) {
        *self.pairs.entry(split).or_default() += 1;
    }
}

/// The table that lets the pairs of a split be loaded.
pub(crate) fn table_name(split: Split) -> String {
    format!("metadata-{split}.parquet")
}
pub(crate) fn card(counts: &Counts, not_finite: u64, provenance: &Provenance) -> String {
    let _ = (counts, not_finite);
    card::origins(provenance)
}
