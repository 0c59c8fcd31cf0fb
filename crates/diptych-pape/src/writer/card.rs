//! The card: what is in the folder, and how it opens in `load_dataset`.

use std::collections::BTreeMap;
use std::fmt::Write;

use diptych_format::card::{self, CardSplit};
use diptych_format::writer::Provenance;
use diptych_schema::Split;

/// What the pictures beside the tables match: those in the folders of their roles, but for masks,
/// which lie a folder deeper. The pattern only has the loader take pictures.
const PICTURES: &str = "*/*/*/*";

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

/// The card of an output. `split_file` is its split file.
pub(crate) fn card(
    counts: &Counts,
    split_file: &str,
    not_finite: u64,
    provenance: &Provenance,
) -> String {
    let all: u64 = counts.pairs.values().sum();
    let splits: Vec<_> = counts
        .pairs
        .iter()
        .map(|(split, pairs)| CardSplit {
            split: *split,
            // At the least, each pair has a target and each row a source.
            paths: card::paths_beside(&table_name(*split), PICTURES, 2 * all),
            bytes: 0,
            samples: *pairs,
        })
        .collect();
    let tables: Vec<_> = counts.pairs.keys().map(|split| table_name(*split)).collect();
    let mut text = card::front_matter(&splits, &tables, "");
    let _ = write!(
        text,
        "\n# Edit pairs in the layout of PAPE\n\n\
         A folder for each subset, in it one for each editor, and in that `manifest.jsonl` with \
         the pictures of its rows: `source/`, `normal/`, `abnormal/`, `masks/normal/` and \
         `masks/abnormal/`. A row is a source photograph with a normal edit, an abnormal one, or \
         both; what is not there is null. Masks say which pixels changed: what is not 0 did. \
         `{split_file}` says of each `image_id` which split it is in.\n\n\
         A row that is not PAPE's own has `extra`: the record of each of its pairs with all that \
         their release says of them, and the names of the files, further input pictures in \
         `references/` among them. `mask_origin` says where each mask comes from.\n\n\
         | folder | rows |\n|---|---|\n"
    );
    for (folder, rows) in &counts.rows {
        let _ = writeln!(text, "| `{folder}` | {rows} |");
    }
    text.push_str("\n| split | pairs |\n|---|---|\n");
    for (split, pairs) in &counts.pairs {
        let _ = writeln!(text, "| {split} | {pairs} |");
    }
    if not_finite > 0 {
        let _ = writeln!(text, "\nNumbers that were not finite and are null: {not_finite}.");
    }
    text.push_str(
        "\n## How to load it\n\n\
         By its manifests, or as a whole: `load_dataset(FOLDER, split=\"train\")` gives a row for \
         each pair, with `source`, `target`, `mask` and `references` as pictures, from the tables \
         `metadata-SPLIT.parquet`. This needs `datasets` 5.0 or later, or 4.0 where every pair has \
         a mask; version 3 gives pictures without columns, or an error. Load the folder, not its \
         files: without this card a folder whose name ends in `_dev` is taken for a split, and \
         the others are left out without a word. From the Hub, download it first: the patterns \
         above name no masks.\n\n",
    );
    text.push_str(&card::origins(provenance));
    text
}
