//! The page of edit types: the shared vocabulary, and the words of releases that become it.

use std::fmt::Write;

use diptych::format::Format;
use diptych::format::foreign::known::ALL;
use diptych::schema::EditTypes;
use diptych::schema::edit_type::VOCABULARY;

use super::{MADE, cell};

/// `docs/edit-types.md`.
pub(super) fn page(formats: &[&dyn Format]) -> String {
    let mut text = format!("# Edit types\n\n{MADE}");
    text.push_str(
        "Each release has its own words for kinds of edit. Its reader goes by a table of them, \
         whatever their case, and gives a pair the shared word as its `edit_type`; what was \
         published stays in `edit_type_native`. A word that is not in the table is passed on in \
         lower case. How many pairs have which `edit_type`, and which of these words are not in \
         the shared vocabulary, is in the report of a conversion under `edit_types`, for each \
         dataset. The command ends with a line about those that are not.\n\n\
         ## The shared vocabulary\n\n| word | what such an edit does |\n|---|---|\n",
    );
    for (word, does) in VOCABULARY {
        let _ = writeln!(text, "| `{word}` | {} |", cell(does));
    }
    text.push_str("\n## Formats\n");
    for about in formats.iter().map(|format| format.about()) {
        push_table(&mut text, about.name, about.title, about.edit_types);
    }
    text.push_str(
        "\n## Layouts of others\n\nThe [layouts that are known](foreign.md#layouts-that-are-known) \
         have tables too. Those that are not here have no table: their words are passed on.\n",
    );
    for known in ALL {
        push_table(&mut text, known.dataset.unwrap_or("none"), known.title, known.edit_types);
    }
    text
}

/// The table of a format or a layout, where it has one.
fn push_table(text: &mut String, name: &str, title: &str, table: EditTypes) {
    if table.is_empty() {
        return;
    }
    let _ = write!(text, "\n### {title}\n\n`{name}`:\n\n| its word | shared word |\n|---|---|\n");
    for (native, shared) in table {
        let _ = writeln!(text, "| `{}` | `{shared}` |", cell(native));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_every_table_is_told_of() {
        let page = page(diptych::FORMATS);
        let tables = diptych::FORMATS.iter().map(|format| format.about());
        let tables = tables.map(|about| (about.title, about.edit_types));
        let known = ALL.iter().map(|known| (known.title, known.edit_types));
        let tables: Vec<_> = tables.chain(known).filter(|(_, table)| !table.is_empty()).collect();
        assert!(tables.len() > 5, "{tables:?}");
        for (title, table) in tables {
            let (_, rest) = page.split_once(&format!("\n### {title}\n")).unwrap();
            let section = rest.split("\n#").next().unwrap();
            for (native, shared) in table {
                assert!(section.contains(&format!("\n| `{native}` | `{shared}` |")), "{native}");
            }
        }
        for (word, does) in VOCABULARY {
            assert!(page.contains(&format!("\n| `{word}` | {does} |\n")), "{word}");
        }
    }
}
