//! The card of an output: what the readers are told, so that nothing is inferred.
//!
//! `datasets` infers features from the first samples it meets, and drops in silence what they
//! lack. The card therefore declares every feature of the whole output, with explicit splits and
//! their sizes, so that a missing shard is noticed.

use std::fmt::Write;

use diptych_schema::Split;

use crate::record::{Field, Kind};
use crate::writer::Provenance;

/// A split of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSplit {
    /// Which.
    pub split: Split,
    /// Patterns of its files, from the output's root.
    pub paths: Vec<String>,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its samples.
    pub samples: u64,
}

/// The head of a card: YAML between two lines of `---`. `metadata_files` are the names of files
/// that hold the rows of pictures beside them, where these are called otherwise than `datasets`
/// expects: it takes no other name for one. `features` is empty where the files themselves declare
/// them.
#[must_use]
pub fn front_matter(splits: &[CardSplit], metadata_files: &[String], features: &str) -> String {
    let mut yaml = String::from("---\nconfigs:\n- config_name: default\n");
    if !metadata_files.is_empty() {
        yaml.push_str("  metadata_filenames:\n");
        metadata_files.iter().for_each(|name| yaml.push_str(&format!("  - {name}\n")));
    }
    yaml.push_str("  data_files:\n");
    for CardSplit { split, paths, .. } in splits {
        let _ = write!(yaml, "  - split: {split}\n    path:\n");
        paths.iter().for_each(|path| yaml.push_str(&format!("    - \"{path}\"\n")));
    }
    yaml.push_str("dataset_info:\n  config_name: default\n");
    if !features.is_empty() {
        yaml.push_str("  features:\n");
        yaml.push_str(features);
    }
    yaml.push_str("  splits:\n");
    for CardSplit { split, bytes, samples, .. } in splits {
        let _ = write!(
            yaml,
            "  - name: {split}\n    num_bytes: {bytes}\n    num_examples: {samples}\n"
        );
    }
    yaml.push_str("---\n");
    yaml
}

/// So many pictures have an extension that at least two of them share: there are fewer extensions
/// of pictures that any release or output uses.
const MANY: u64 = 16;

/// The paths of a split whose rows are in `metadata_file`, with pictures beside it of which the
/// pattern `pictures` matches so many.
///
/// `datasets` chooses its loader by the extension that most of a split's files have, and in a draw
/// it is for Parquet. A pattern may be given twice and counts twice then, which is needed where
/// there may be one picture of each extension only. It is no more than is needed, since whatever a
/// pattern matches is looked at again for every split.
#[must_use]
pub fn paths_beside(metadata_file: &str, pictures: &str, matched: u64) -> Vec<String> {
    let times = if matched < MANY { 2 } else { 1 };
    let pictures = std::iter::repeat_n(pictures.to_owned(), times);
    std::iter::once(metadata_file.to_owned()).chain(pictures).collect()
}

/// A feature of a picture.
#[must_use]
pub fn picture_feature(name: &str) -> String {
    format!("  - name: {name}\n    dtype: image\n")
}

/// A feature of a list of pictures.
#[must_use]
pub fn pictures_feature(name: &str) -> String {
    format!("  - name: {name}\n    list: image\n")
}

/// A feature that is a field of the record.
#[must_use]
pub fn field_feature(field: &Field) -> String {
    let mut yaml = String::new();
    push_field(&mut yaml, field, 1);
    yaml
}

/// A feature that is text.
#[must_use]
pub fn text_feature(name: &str) -> String {
    format!("  - name: {name}\n    dtype: string\n")
}

/// A feature of named values.
#[must_use]
pub fn struct_feature(name: &str, fields: &[Field]) -> String {
    let mut yaml = format!("  - name: {name}\n    struct:\n");
    for field in fields {
        push_field(&mut yaml, field, 2);
    }
    yaml
}

fn push_field(yaml: &mut String, field: &Field, level: usize) {
    let indent = "  ".repeat(level);
    let _ = write!(yaml, "{indent}- name: {}\n{indent}  ", field.name);
    let nested = match &field.kind {
        Kind::List(of) => match of.as_ref() {
            Kind::Struct(fields) => {
                yaml.push_str("list:\n");
                fields
            }
            of => {
                let _ = writeln!(yaml, "list: {}", dtype(of));
                return;
            }
        },
        Kind::Struct(fields) => {
            yaml.push_str("struct:\n");
            fields
        }
        of => {
            let _ = writeln!(yaml, "dtype: {}", dtype(of));
            return;
        }
    };
    for field in nested {
        push_field(yaml, field, level + 1);
    }
}

fn dtype(kind: &Kind) -> &'static str {
    match kind {
        Kind::String => "string",
        Kind::U16 => "uint16",
        Kind::U32 => "uint32",
        Kind::F64 => "float64",
        // The record has no list of lists.
        Kind::Struct(_) | Kind::List(_) => "null",
    }
}

/// What a card says of where the pairs come from: datasets with their counts, and licences and
/// terms as far as the releases state them.
#[must_use]
pub fn origins(provenance: &Provenance) -> String {
    let mut text = String::from("## Where the pairs come from\n\n| dataset | pairs |\n|---|---|\n");
    for (dataset, pairs) in &provenance.datasets {
        let _ = writeln!(text, "| {} | {pairs} |", markdown(dataset));
    }
    let stated: u64 = provenance.licences.values().sum();
    let all: u64 = provenance.datasets.values().sum();
    text.push_str("\nLicences, as the releases state them: ");
    let mut licences: Vec<_> = provenance
        .licences
        .iter()
        .map(|(licence, pairs)| format!("{} ({pairs} pairs)", markdown(licence)))
        .collect();
    if stated < all {
        licences.push(format!("none stated ({} pairs)", all - stated));
    }
    let _ = writeln!(text, "{}.", licences.join(", "));
    for (dataset, terms) in &provenance.terms {
        let _ = writeln!(text, "\nTerms of {}: {}", markdown(dataset), terms.join(" "));
    }
    let _ = writeln!(text, "\nWritten by {}.", provenance.generator);
    text
}

/// Text of a release in a table or a line of Markdown: nothing in it is markup.
fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn text_of_a_release_is_no_markup() {
        assert_eq!(markdown("a|b\n<i>&_x_"), "a\\|b &lt;i&gt;&amp;\\_x\\_");
    }

    #[test]
    fn rows_may_stand_in_files_beside_their_pictures() {
        let names = ["metadata-train.parquet".to_owned(), "metadata-val.parquet".to_owned()];
        let splits = [(Split::Train, &names[0], 16), (Split::Val, &names[1], 15)];
        let splits = splits.map(|(split, name, pictures)| CardSplit {
            split,
            paths: paths_beside(name, "*/*/*/*", pictures),
            bytes: 7,
            samples: 2,
        });
        let expected = "---
configs:
- config_name: default
  metadata_filenames:
  - metadata-train.parquet
  - metadata-val.parquet
  data_files:
  - split: train
    path:
    - \"metadata-train.parquet\"
    - \"*/*/*/*\"
  - split: val
    path:
    - \"metadata-val.parquet\"
    - \"*/*/*/*\"
    - \"*/*/*/*\"
dataset_info:
  config_name: default
  splits:
  - name: train
    num_bytes: 7
    num_examples: 2
  - name: val
    num_bytes: 7
    num_examples: 2
---
";
        assert_eq!(front_matter(&splits, &names, ""), expected);
    }

    #[test]
    fn the_origins_say_what_no_release_states() {
        let provenance = Provenance {
            generator: "diptych 1".to_owned(),
            datasets: BTreeMap::from([("a".to_owned(), 3), ("b".to_owned(), 2)]),
            licences: BTreeMap::from([("cc-by-4.0".to_owned(), 2)]),
            terms: BTreeMap::from([("b".to_owned(), &["Ask first.", "Cite."][..])]),
        };
        let text = origins(&provenance);
        assert!(text.contains("| a | 3 |\n| b | 2 |\n"), "{text}");
        assert!(text.contains("cc-by-4.0 (2 pairs), none stated (3 pairs).\n"), "{text}");
        assert!(
            text.contains("\nTerms of b: Ask first. Cite.\n\nWritten by diptych 1.\n"),
            "{text}"
        );
    }
}
