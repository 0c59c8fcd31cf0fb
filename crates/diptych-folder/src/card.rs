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

/// What has to be known of tables of JSON lines.
const LINES: &str = "The tables are JSON lines, whose types `datasets` guesses from their first rows: \
    a column that is null there has no type, and splits that differ in that are not loaded together. \
    Load one split at a time, with the features declared above: `features = \
    load_dataset_builder(FOLDER).info.features`, then `load_dataset(\"imagefolder\", \
    data_files={\"train\": \"FOLDER/train/**\"}, features=features)`. Where all instructions of a split \
    look like dates they become dates all the same.\n\n";

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
        true => " Versions 3.6 and 5.2 of `datasets` were tried.\n\n",
        false => {
            " This needs `datasets` 5.0 or later, since some pairs have no mask: versions 3.6 to \
             4.8 end with an error at a null `mask_file_name`, and 2.21 knows no column \
             `X_file_name`.\n\n"
        }
    });
    if kind == Kind::Lines {
        text.push_str(LINES);
    }
    text.push_str(&card::origins(provenance));
    text
}

#[cfg(test)]
mod tests {
    use diptych_format::UnitFiles;
    use diptych_format::writer::UnitFile;

    use super::*;

    fn unit(unit: u32, split: Split, samples: u64, masks: u64) -> FinishedUnit {
        let fields = [("source", samples), ("target", samples), ("mask", masks), (NOT_FINITE, 1)];
        FinishedUnit {
            unit,
            split: Some(split),
            files: UnitFiles {
                files: vec![UnitFile { name: "metadata.parquet".to_owned(), bytes: 9, samples }],
                fields: fields.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            },
        }
    }

    fn units(masks: u64) -> Vec<FinishedUnit> {
        vec![
            unit(0, Split::Train, 12, 12),
            unit(1, Split::Train, 8, masks),
            unit(2, Split::Val, 6, 6),
            unit(3, Split::Test, 4, 4),
        ]
    }

    fn head(kind: Kind) -> String {
        let card = card(&units(7), kind, &Provenance::default());
        card.split_once("\n# Edit pairs").unwrap().0.to_owned()
    }

    #[test]
    fn the_head_is_as_readers_were_tried_with() {
        assert_eq!(head(Kind::Parquet), include_str!("golden/card-head.yaml"));
    }

    #[test]
    fn of_lines_the_card_has_the_features() {
        let head = head(Kind::Lines);
        let names = head.lines().filter_map(|line| line.strip_prefix("  - name: "));
        let names: Vec<_> = names.collect();
        assert_eq!(names.len(), 27 + 4 + 3);
        assert_eq!(
            names[17..24],
            ["editor", "source", "references", "target", "mask", "pictures", "mask_grid"]
        );
        let whole = card(&units(7), Kind::Lines, &Provenance::default());
        assert!(whole.contains("load_dataset_builder(FOLDER).info.features"), "{whole}");
        assert!(head.contains("  - name: references\n    list: image\n"), "{head}");
        assert!(head.contains("  - name: edit_type_native\n    list: string\n"), "{head}");
    }

    #[test]
    fn the_card_says_which_versions_load_it() {
        let all = card(&units(8), Kind::Parquet, &Provenance::default());
        assert!(all.contains(" Versions 3.6 and 5.2 of `datasets` were tried."), "{all}");
        let some = card(&units(7), Kind::Parquet, &Provenance::default());
        assert!(some.contains(" 5.0 or later, since some pairs have no mask"), "{some}");
        assert!(some.contains("| train | 20 | 20 | 0 | 20 | 19 |\n"), "{some}");
        assert!(some.contains("\nNumbers that were not finite and are null: 4.\n"), "{some}");
    }
}
