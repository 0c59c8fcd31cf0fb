//! The page of the canonical schema: its columns, and what each release fills them from.

use std::fmt::Write;

use arrow_schema::{DataType, Field};
use diptych::format::{About, Format};
use diptych::schema::arrow::about::{RECORDS, RecordAbout};
use diptych::schema::arrow::catalog_schema;

use super::{MADE, cell};

/// `docs/schema.md`.
pub(super) fn page(formats: &[&dyn Format]) -> String {
    let mut text = format!("# The canonical schema\n\n{MADE}");
    text.push_str(
        "Every release is read into this schema: it is that of the Parquet files of a catalog \
         (`diptych index`, `pairs-*.parquet`), version ",
    );
    let _ = write!(text, "{}. ", diptych::schema::SCHEMA_VERSION);
    text.push_str(
        "A catalog stands for the releases that it was made of: `diptych convert CATALOG` takes its \
         pairs. It is not what `--to parquet` writes, which holds the record below and the \
         pictures themselves. ",
    );
    let back = formats.iter().map(|format| format.about()).filter(|of| of.reads && of.writes);
    let back: Vec<_> = back.map(|about| format!("`{}`", about.name)).collect();
    let _ = write!(text, "Outputs are read back as releases are: {}.\n\n", back.join(", "));
    text.push_str(
        "What a release does not say is null, a list that it does not have is empty, and \
         nothing is made up. `null` in the tables says whether a column may be null.\n\n\
         The record that outputs carry for a pair holds the same under the same names, with \
         `pictures` (`name`, `width`, `height`) in place of the addresses, and `mask_grid` and \
         `mask_origin` in place of the mask; [reading.md](reading.md) shows how to use it.\n",
    );
    for record in RECORDS {
        push_record(&mut text, record);
    }
    text.push_str("\n## What fills it\n");
    for about in formats.iter().map(|format| format.about()).filter(|about| about.reads) {
        push_fills(&mut text, about);
    }
    text
}

fn push_record(text: &mut String, record: &RecordAbout) {
    // In a catalog, fewer columns of the pair may be null than in the pairs of other tools.
    let fields: Vec<Field> = match record.name {
        "pair" => catalog_schema().fields().iter().map(|field| field.as_ref().clone()).collect(),
        _ => record.fields(),
    };
    let _ = write!(text, "\n## {}\n\n{}\n\n", title(record.name), record.about);
    text.push_str("| column | type | null | what it holds |\n|---|---|---|---|\n");
    for (field, column) in fields.iter().zip(record.columns) {
        let null = if field.is_nullable() { "yes" } else { "no" };
        let (kind, about) = (kind(field.data_type()), cell(column.about));
        let _ = writeln!(text, "| `{}` | {kind} | {null} | {about} |", column.name);
    }
}

fn title(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

/// A type, by the name that documents have for it.
fn kind(of: &DataType) -> String {
    match of {
        DataType::List(item) => format!("list of {}", kind(item.data_type())),
        DataType::Struct(fields) => {
            let is_it = |record: &&RecordAbout| {
                let own = record.fields();
                own.iter().eq(fields.iter().map(AsRef::as_ref))
            };
            match RECORDS.iter().find(is_it) {
                Some(record) => {
                    format!("[{}](#{})", record.name, record.name.replace(' ', "-"))
                }
                None => "struct".to_owned(),
            }
        }
        DataType::Utf8 => "string".to_owned(),
        other => other.to_string().to_lowercase(),
    }
}

fn push_fills(text: &mut String, about: &About) {
    let _ = write!(text, "\n### {}\n\n", about.title);
    text.push_str("| column | from |\n|---|---|\n");
    for fill in about.fills {
        let _ = writeln!(text, "| `{}` | {} |", fill.column, cell(fill.from));
    }
    let filled = |name: &str| about.fills.iter().any(|fill| fill.column == name);
    let schema = catalog_schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let empty: Vec<_> =
        names.filter(|name| !filled(name)).map(|name| format!("`{name}`")).collect();
    if !empty.is_empty() {
        let _ = writeln!(text, "\nNull, or empty: {}.", empty.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_by_their_names() {
        let page = page(diptych::FORMATS);
        for part in [
            "| `pair_id` | string | no | ",
            "| `turn` | uint16 | yes | ",
            "| `source` | [picture](#picture) | no | ",
            "| `references` | list of [reference](#reference) | no | ",
            "| `parts` | list of [mask part](#mask-part) | no | ",
            "| `x0` | float64 | yes | ",
            "\n## Mask part\n",
            "| `bytes` | binary | yes | ",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        assert!(!page.contains("| struct"), "a type has no name: {page}");
    }

    #[test]
    fn what_fills_the_schema_is_of_the_schema() {
        let schema = catalog_schema();
        for about in diptych::FORMATS.iter().map(|format| format.about()) {
            let places: Vec<_> = about
                .fills
                .iter()
                .map(|fill| schema.fields().iter().position(|f| f.name() == fill.column))
                .collect();
            assert!(places.iter().all(Option::is_some), "{}: {:?}", about.name, about.fills);
            assert!(places.is_sorted(), "{}: in the order of the schema", about.name);
            assert_eq!(about.reads, !about.fills.is_empty(), "{}", about.name);
        }
    }
}
