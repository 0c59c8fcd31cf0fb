//! How pairs were chosen, for the report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How pairs were chosen. What became of each dataset's pairs is in the books.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectionReport {
    /// The list of pairs that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListReport>,
    /// The sources whose source pictures are excluded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<ExcludedReport>,
    /// How splits were decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splits: Option<SplitsReport>,
    /// Pictures that could not be decoded and were compared by their bytes, by why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_bytes_only: BTreeMap<String, u64>,
    /// Pairs that were dropped as duplicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// What was drawn of each kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
}

/// What became of a list of pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListReport {
    /// Ids in it, each once.
    pub listed: u64,
    /// How often one stood there again.
    pub repeated: u64,
    /// How many of them no pair has that is chosen from.
    pub not_found: u64,
    /// The first of these.
    pub first_not_found: Vec<String>,
}

/// A source that is excluded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedReport {
    /// Its label.
    pub label: String,
    /// Its pairs.
    pub pairs: u64,
}

/// How splits were decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitsReport {
    /// Sets of pairs that belong together.
    pub components: u64,
    /// Pairs in the largest.
    pub largest: u64,
    /// Pairs by split; `none` for those that have none.
    pub pairs: BTreeMap<String, u64>,
    /// Pairs whose split was decided by the file that was given.
    pub pinned: u64,
    /// What pairs share that the file keeps in different splits: so many photographs, sessions and
    /// groups are cut by it.
    #[serde(default)]
    pub contested: u64,
    /// How many components hold pairs of several splits of their releases.
    pub disagreements: u64,
    /// The first of them.
    pub first_disagreements: Vec<Collision>,
    /// How many components hold pairs of several datasets.
    pub collisions: u64,
    /// The first of them.
    pub first_collisions: Vec<Collision>,
}

/// Pairs that belong together though their releases do not say so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collision {
    /// The datasets.
    pub datasets: Vec<String>,
    /// The splits that their releases give them.
    pub released: Vec<String>,
    /// The split that all of them have.
    pub split: Option<String>,
    /// Some of the pairs.
    pub pairs: Vec<String>,
    /// How many there are.
    pub count: u64,
}

/// What was drawn of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// The kind.
    pub kind: String,
    /// How many pairs were asked for.
    pub asked: u64,
    /// How many there were to draw from.
    pub available: u64,
    /// How many were drawn, repeats among them.
    pub drawn: u64,
    /// How often one was taken again.
    pub repeated: u64,
}
