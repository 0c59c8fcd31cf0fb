//! The table of layouts that are known.

use std::fmt::Write;

use diptych::format::foreign::Column;
use diptych::format::foreign::known::{ALL, Known};

/// The table in `docs/foreign.md`.
pub(super) fn table() -> String {
    let mut text = String::from("| name | set | told by | fields |\n|---|---|---|---|\n");
    for known in ALL {
        let name = known.dataset.map_or_else(|| "none".to_owned(), |name| format!("`{name}`"));
        let signs: Vec<_> = known.signs.iter().map(|(sign, _)| format!("`{sign}`")).collect();
        let signs = if signs.is_empty() { "its pictures".to_owned() } else { signs.join(", ") };
        let _ = writeln!(text, "| {name} | {} | {signs} | {} |", known.title, fields(known));
    }
    text
}

/// The fields of each column.
fn fields(known: &Known) -> String {
    let of = |column: &Column| {
        let names = known.fields.iter().filter(|(of, _)| of == column);
        let names: Vec<_> = names.map(|(_, name)| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| format!("{column}: {}", names.join(" or ")))
    };
    Column::ALL.iter().filter_map(of).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_that_fields_can_be_is_told_of() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/foreign.md");
        let page = std::fs::read_to_string(path).unwrap();
        for column in Column::ALL {
            assert!(page.contains(&format!("\n| `{column}` |")), "{column}");
        }
    }

    #[test]
    fn a_layout_is_told_with_its_fields() {
        let row = "| `crispedit` | CrispEdit-2M | `instruction`, `type` | source: `input_img`; \
                   target: `output_img`; instruction: `instruction`; edit_type: `type` |\n";
        assert!(table().contains(row), "{}", table());
    }
}
