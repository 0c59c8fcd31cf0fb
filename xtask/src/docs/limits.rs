//! The table of limits in `docs/limits.md`.

use std::fmt::Write;

use diptych::storage::Limits;
use diptych::storage::limits::{Limit, Unit};

use super::cell;

pub(super) fn table() -> String {
    let mut text = String::from("| limit | default | what it bounds |\n|---|---|---|\n");
    for limit in &Limits::ALL {
        let _ = writeln!(text, "| `{}` | {} | {} |", limit.name, default(limit), cell(limit.help));
    }
    text
}

/// A default as `--max` takes it, with its unit.
fn default(limit: &Limit) -> String {
    let Limit { unit, default, .. } = *limit;
    match unit {
        Unit::Bytes => {
            let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
            let whole = units.iter().find(|(bits, _)| default.is_multiple_of(1 << bits));
            match whole {
                Some((bits, name)) => format!("`{}{name}`", default >> bits),
                None => format!("`{default}` bytes"),
            }
        }
        Unit::Count => format!("`{default}`"),
        Unit::Times => format!("`{default}` times"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_limit_has_its_row_with_a_default_that_can_be_set() {
        let table = super::table();
        let mut limits = super::Limits::DEFAULT;
        for limit in &super::Limits::ALL {
            let row = table.lines().find(|row| row.starts_with(&format!("| `{}` |", limit.name)));
            let default = row.unwrap().split('`').nth(3).unwrap();
            limits.set(limit.name, default).unwrap();
        }
        assert_eq!(limits, super::Limits::DEFAULT);
    }
}
