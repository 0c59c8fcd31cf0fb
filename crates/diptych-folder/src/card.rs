//! The card: explicit splits, and how to load them.

use std::collections::BTreeMap;
use std::fmt::Write;

use diptych_format::card::{self, CardSplit};
use diptych_format::record;
use diptych_format::writer::{FinishedUnit, Provenance};
use diptych_schema::Split;

use crate::layout::Role;
use crate::table::Kind;

/// Counts, among the fields of a unit, numbers that became null because they are not finite. No
/// role has a space in its name.
pub(crate) const NOT_FINITE: &str = "not finite";

/// Sums, among the fields of a unit, the bytes of its pictures.
pub(crate) const PICTURE_BYTES: &str = "picture bytes";

/// What units hold together.
#[derive(Default)]
pub(crate) struct Counts<'a> {
    /// Pairs.
    pub(crate) pairs: u64,
    fields: BTreeMap<&'a str, u64>,
}

impl<'a> Counts<'a> {
    /// Of these units.
    pub(crate) fn of(units: impl Iterator<Item = &'a FinishedUnit>) -> Self {
        let mut counts = Self::default();
        for unit in units {
            counts.pairs += unit.files.files.iter().map(|file| file.samples).sum::<u64>();
            for (field, count) in &unit.files.fields {
                *counts.fields.entry(field).or_default() += count;
            }
        }
        counts
    }

    /// What the units count under a name.
    pub(crate) fn fields(&self, name: &str) -> u64 {
        self.fields.get(name).copied().unwrap_or(0)
    }

    /// Pictures of a role.
    pub(crate) fn pictures(&self, role: Role) -> u64 {
        self.fields(role.word())
    }

    /// Pictures of all roles.
    pub(crate) fn all_pictures(&self) -> u64 {
        Role::ALL.iter().map(|role| self.pictures(*role)).sum()
    }
}

/// The columns that readers of the tables get, with their types.
fn features() -> String {
    let mut yaml = String::new();
    for field in record::fields(false) {
        if field.name == "pictures" {
            yaml.push_str(&card::picture_feature("source"));
            yaml.push_str(&card::pictures_feature("references"));
            yaml.push_str(&card::picture_feature("target"));
            yaml.push_str(&card::picture_feature("mask"));
        }
        yaml.push_str(&card::field_feature(&field));
    }
    yaml
}

/// The card of an output.
pub(crate) fn card(units: &[FinishedUnit], kind: Kind, provenance: &Provenance) -> String {
    let of_split = |split: Split| {
        let counts = Counts::of(units.iter().filter(|unit| unit.split == Some(split)));
        (counts.pairs > 0).then_some((split, counts))
    };
    let counted: Vec<_> = Split::ALL.iter().filter_map(|split| of_split(*split)).collect();
    let splits: Vec<_> = counted
        .iter()
        .map(|(split, counts)| CardSplit {
            split: *split,
            paths: vec![format!("{split}/**")],
            // What is loaded are rows of names.
            bytes: 0,
            samples: counts.pairs,
        })
        .collect();
    let features = match kind {
        // The tables themselves have the types of their columns.
        Kind::Parquet => String::new(),
        Kind::Lines => features(),
    };
    let mut text = card::front_matter(&splits, &[], &features);
    let _ = write!(
        text,
        "\n# Edit pairs\n\n\
         A folder for each split, in it `{table}` with a row for each edit, and the pictures that \
         the row names from there: one before (`source_file_name`), one after \
         (`target_file_name`), where there are any further inputs (`references_file_names`, a \
         list) and a mask of the edited region (`mask_file_name`: 8-bit grey PNG, 255 = edited). \
         The other columns are the record: the instruction and all else that the release says of \
         the edit. What it does not say is null, or an empty list. The pictures are the release's, \
         byte for byte; `pictures` says what each was called, and how large it is.\n\n",
        table = kind.file(),
    );
    text.push_str("| split | pairs |");
    Role::ALL.iter().for_each(|role| text.push_str(&format!(" {role} |")));
    text.push_str("\n|---|---|");
    Role::ALL.iter().for_each(|_| text.push_str("---|"));
    text.push('\n');
    for (split, counts) in &counted {
        let _ = write!(text, "| {split} | {} |", counts.pairs);
        for role in Role::ALL {
            let _ = write!(text, " {} |", counts.pictures(*role));
        }
        text.push('\n');
    }
    let all = Counts::of(units.iter());
    let not_finite = all.fields(NOT_FINITE);
    if not_finite > 0 {
        let _ = writeln!(text, "\nNumbers that were not finite and are null: {not_finite}.");
    }
    text.push_str(
        "\n## How to load it\n\n\
         `load_dataset(FOLDER, split=\"train\")` gives a row for each pair with `source`, \
         `references`, `target` and `mask` as pictures.",
    );
    text.push_str(match all.pictures(Role::Mask) == all.pairs {
        true => " This needs `datasets` 4.0 or later.\n\n",
        false => {
            " This needs `datasets` 5.0 or later, since some pairs have no mask: versions 3.6 to \
             4.8 end with an error at a null `mask_file_name`, and 2.21 knows no column \
             `X_file_name`.\n\n"
        }
    });
    text.push_str(&card::origins(provenance));
    text
}
