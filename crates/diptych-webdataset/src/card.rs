//! The card: every field of the whole output declared, explicit splits, and how to load it.

use std::collections::BTreeMap;
use std::fmt::Write;

use diptych_format::card::{self, CardSplit};
use diptych_format::record;
use diptych_format::split_files;
use diptych_format::writer::{FinishedUnit, Provenance};

/// Counts, among the fields of a unit, numbers that became null because they are not finite. No
/// field of a sample has a space in its name.
pub(crate) const NOT_FINITE: &str = "not finite";

pub(crate) fn card(units: &[FinishedUnit], provenance: &Provenance) -> String {
    let splits = split_files::card_splits(units, "tar");
    let mut fields: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, samples) in units.iter().flat_map(|unit| &unit.files.fields) {
        *fields.entry(name).or_default() += samples;
    }
    let not_finite = fields.remove(NOT_FINITE).unwrap_or(0);
    let mut parts: Vec<&str> = fields.keys().copied().collect();
    parts.sort_by_key(|part| place(part));

    // Both of these are declared: without `__url__` one version fails while streaming.
    let mut features = card::text_feature("__key__") + &card::text_feature("__url__");
    parts.iter().for_each(|part| features.push_str(&card::picture_feature(part)));
    features.push_str(&card::struct_feature("json", &record::fields(true)));

    let mut text = card::front_matter(&splits, &[], &features);
    text.push_str("\n# Edit pairs\n\n");
    text.push_str(
        "Each sample is one edit: a picture before (`source`), a picture after (`target`), where \
         there are any further inputs (`reference0`, ...) and a `mask` of the edited region \
         (8-bit grey PNG, 255 = edited), and `json`, the record: the instruction and all else \
         that the release says of the edit. `json[\"pictures\"]` names the part of each picture, \
         so that `sample[sample[\"json\"][\"pictures\"][\"source\"][\"part\"]]` is the source.\n\n",
    );
    text.push_str("| split | samples | shards | bytes |\n|---|---|---|---|\n");
    for split in &splits {
        let shards = split_files::of_split(units, split.split).len();
        let CardSplit { split, samples, bytes, .. } = split;
        let _ = writeln!(text, "| {split} | {samples} | {shards} | {bytes} |");
    }
    text.push_str("\n| part | samples |\n|---|---|\n");
    for part in &parts {
        let _ = writeln!(text, "| `{part}` | {} |", fields.get(part).copied().unwrap_or(0));
    }
    if not_finite > 0 {
        let _ = writeln!(text, "\nNumbers that were not finite and are null: {not_finite}.");
    }
    text.push_str(
        "\n## How to load it\n\n\
         Load the folder, not its files: `load_dataset(FOLDER, split=\"train\")`. With \
         `data_files=` or `load_dataset(\"webdataset\", ...)` the features declared above are \
         not used, and columns that the first samples lack are dropped in silence.\n\n\
         `wids-SPLIT.json` are shard lists for `wids`. Energon finds `.nv-meta` and the \
         `.tar.idx` of each shard; it needs a cooker that says which part is what.\n\n",
    );
    text.push_str(&card::origins(provenance));
    text
}

/// Parts are declared by role, references by number, and within a role in byte order.
fn place(part: &str) -> (usize, usize, &str) {
    let role = part.split_once('.').map_or(part, |(role, _)| role);
    let (name, number) = role.split_at(role.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    let order = ["source", "reference", "target", "mask"];
    let order = order.iter().position(|known| *known == name).unwrap_or(order.len());
    (order, number.parse().unwrap_or(0), part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_format::UnitFiles;
    use diptych_format::writer::UnitFile;
    use diptych_schema::Split;

    #[test]
    fn parts_stand_by_role_and_number() {
        let mut parts = [
            "mask.png",
            "target.png",
            "reference10.png",
            "reference2.png",
            "source.png",
            "source.jpg",
            "reference0.webp",
        ];
        parts.sort_by_key(|part| place(part));
        assert_eq!(
            parts,
            [
                "source.jpg",
                "source.png",
                "reference0.webp",
                "reference2.png",
                "reference10.png",
                "target.png",
                "mask.png"
            ]
        );
    }

    /// A set in which some pairs lack what others have, and one split is plain only.
    fn mixed() -> Vec<FinishedUnit> {
        let unit = |unit, split, bytes, samples, fields: &[(&str, u64)]| FinishedUnit {
            unit,
            split: Some(split),
            files: UnitFiles {
                files: vec![UnitFile { name: "shard.tar".to_owned(), bytes, samples }],
                fields: fields.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            },
        };
        let plain = [("source.png", 6), ("target.png", 6)];
        vec![
            unit(0, Split::Train, 61_440, 10, &[("source.png", 10), ("target.png", 10)]),
            unit(
                1,
                Split::Train,
                61_440,
                10,
                &[
                    ("mask.png", 7),
                    ("reference0.png", 6),
                    ("reference1.png", 3),
                    ("source.jpg", 5),
                    ("source.png", 5),
                    ("target.png", 10),
                ],
            ),
            unit(2, Split::Val, 30_720, 6, &plain),
            unit(3, Split::Test, 30_720, 4, &plain),
        ]
    }

    #[test]
    fn the_head_declares_the_union_of_all_fields() {
        let card = card(&mixed(), &Provenance::default());
        let (head, _) = card.split_once("\n# Edit pairs").unwrap();
        assert_eq!(head, include_str!("golden/card-head.yaml"));
    }

    #[test]
    fn numbers_that_are_not_finite_are_told_and_declared_as_no_field() {
        let mut units = mixed();
        units[0].files.fields.insert(NOT_FINITE.to_owned(), 3);
        let card = card(&units, &Provenance::default());
        assert!(card.contains("\nNumbers that were not finite and are null: 3.\n"));
        assert!(!card.contains("name: not finite"));
    }
}
