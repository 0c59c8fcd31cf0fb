//! Edits that could not become a pair, and what else was noticed.

use serde::{Deserialize, Serialize};

use crate::error::Place;

/// An edit that could not become a pair. It is counted and listed, never silent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// What kind of thing is wrong: one lower-case word with underscores, stable over versions.
    pub kind: String,
    /// What is wrong, expected and found: a fragment without a period.
    pub cause: String,
    /// Where.
    #[serde(rename = "where")]
    pub at: Place,
    /// The dataset that loses the edit.
    pub dataset: String,
    /// Its subset.
    pub subset: Option<String>,
    /// The pair that it would have become, where that much is known.
    pub pair_id: Option<String>,
    /// The release's own record, as far as it could be read.
    pub native: Option<String>,
}

/// Something to know about a release that costs no edit by itself, or whose cost cannot be
/// counted in edits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Notice {
    /// What kind of thing it is: one lower-case word with underscores, stable over versions.
    pub kind: String,
    /// Where.
    #[serde(rename = "where")]
    pub at: Place,
    /// What it is: a fragment without a period.
    pub detail: String,
}
