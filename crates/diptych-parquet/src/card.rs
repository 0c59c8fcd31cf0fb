//! The card: explicit splits, what the columns are called, and how to load them.

use std::collections::BTreeMap;
use std::fmt::Write;

use diptych_format::card::{self, CardSplit};
use diptych_format::split_files;
use diptych_format::writer::{FinishedUnit, Provenance};

use crate::layout::{MASK, REFERENCES, SOURCE, TARGET};
use crate::names::Names;

/// Counts, among the fields of a unit, numbers that became null because they are not finite. No
/// column has a space in its name.
pub(crate) const NOT_FINITE: &str = "not finite";

/// The card of an output.
pub(crate) fn card(units: &[FinishedUnit], names: &Names, provenance: &Provenance) -> String {
    let splits = split_files::card_splits(units, "parquet");
    let mut fields: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, samples) in units.iter().flat_map(|unit| &unit.files.fields) {
        *fields.entry(name).or_default() += samples;
    }
    // The files themselves declare their columns.
    let mut text = card::front_matter(&splits, &[], "");
    let name = |column| names.name(column);
    let _ = write!(
        text,
        "\n# Edit pairs\n\n\
         Each row is one edit: a picture before (`{}`), a picture after (`{}`), where there are \
         any further inputs (`{}`, a list) and a mask of the edited region (`{}`: 8-bit grey PNG, \
         255 = edited), and the record: the instruction (`{}`) and all else that the release says \
         of the edit. What it does not say is null, or an empty list. The pictures are in the \
         files, byte for byte; `{}` says what each was called, and how large it is.\n\n",
        name(SOURCE),
        name(TARGET),
        name(REFERENCES),
        name(MASK),
        name("instruction"),
        name("pictures"),
    );
    text.push_str("| split | rows | files | bytes |\n|---|---|---|---|\n");
    for CardSplit { split, samples, bytes, .. } in &splits {
        let files = split_files::of_split(units, *split).len();
        let _ = writeln!(text, "| {split} | {samples} | {files} | {bytes} |");
    }
    text.push_str("\n| column | rows with a picture |\n|---|---|\n");
    for column in [SOURCE, REFERENCES, TARGET, MASK] {
        let rows = fields.get(column).copied().unwrap_or(0);
        let _ = writeln!(text, "| `{}` | {rows} |", name(column));
    }
    if !names.renamed().is_empty() {
        text.push_str("\n| column | in the record of other outputs |\n|---|---|\n");
        for (column, name) in names.renamed() {
            let _ = writeln!(text, "| `{name}` | `{column}` |");
        }
    }
    if let Some(not_finite) = fields.get(NOT_FINITE) {
        let _ = writeln!(text, "\nNumbers that were not finite and are null: {not_finite}.");
    }
    text.push_str(
        "\n## How to load it\n\n\
         `load_dataset(FOLDER, split=\"train\")`. Each file says of itself which columns are \
         pictures, so that `data_files=` gives them too; only the folder has missing files \
         noticed. In SQL `references` is a reserved word and needs quotes.\n\n",
    );
    text.push_str(&card::origins(provenance));
    text
}
