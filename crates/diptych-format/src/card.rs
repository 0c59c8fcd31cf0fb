//! The card of an output: what the readers are told, so that nothing is inferred.
//!
//! `datasets` infers features from the first samples it meets, and drops in silence what they
//! lack. The card therefore declares every feature of the whole output, with explicit splits and
//! their sizes, so that a missing shard is noticed.

use std::fmt::Write;

use diptych_schema::Split;

use crate::Citation;
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

/// What a card says of where the pairs come from: datasets with their counts and where they were
/// published, licences and terms as far as the releases state them, and how each is cited.
#[must_use]
pub fn origins(provenance: &Provenance) -> String {
    let mut text = String::from(
        "## Where the pairs come from\n\n| dataset | pairs | published at |\n|---|---|---|\n",
    );
    for (dataset, pairs) in &provenance.datasets {
        let at = provenance.citations.get(dataset).map_or("", |citation| citation.dataset);
        let _ = writeln!(text, "| {} | {pairs} | {at} |", markdown(dataset));
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
    text.push_str("\n## How to cite them\n\n");
    for dataset in provenance.datasets.keys() {
        let _ = writeln!(text, "- {}: {}", markdown(dataset), cited(provenance, dataset));
    }
    let _ = writeln!(text, "\nWritten by {}.", provenance.generator);
    text
}

/// A citation, or what to do where none is known.
fn cited(provenance: &Provenance, dataset: &str) -> String {
    let Some(citation) = provenance.citations.get(dataset) else {
        return "as its release asks for it, which is not known here.".to_owned();
    };
    let Citation { authors, title, published, dataset } = citation;
    match (*authors, *published) {
        ("", "") => format!("{title}, by its name and where it was published, {dataset}"),
        _ => format!("{authors}. {title}. {published}."),
    }
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

    const PAPER: Citation = Citation {
        authors: "A. One and B. Two",
        title: "The Title: Of It",
        published: "Journal, 2026",
        dataset: "https://b",
    };
    const NO_PAPER: Citation =
        Citation { authors: "", title: "C", published: "", dataset: "https://c" };

    #[test]
    fn the_origins_say_what_no_release_states() {
        let provenance = Provenance {
            generator: "diptych 1".to_owned(),
            datasets: [("a", 3), ("b", 2), ("c", 1)].map(|(of, n)| (of.to_owned(), n)).into(),
            licences: BTreeMap::from([("cc-by-4.0".to_owned(), 2)]),
            terms: BTreeMap::from([("b".to_owned(), &["Ask first.", "Mind."][..])]),
            citations: BTreeMap::from([("b".to_owned(), PAPER), ("c".to_owned(), NO_PAPER)]),
        };
        let text = origins(&provenance);
        let rows = "| a | 3 |  |\n| b | 2 | https://b |\n| c | 1 | https://c |\n";
        assert!(text.contains(rows), "{text}");
        assert!(text.contains("cc-by-4.0 (2 pairs), none stated (4 pairs).\n"), "{text}");
        let end = "\nTerms of b: Ask first. Mind.\n\n\
                   ## How to cite them\n\n\
                   - a: as its release asks for it, which is not known here.\n\
                   - b: A. One and B. Two. The Title: Of It. Journal, 2026.\n\
                   - c: C, by its name and where it was published, https://c\n\n\
                   Written by diptych 1.\n";
        assert!(text.ends_with(end), "{text}");
    }
}
