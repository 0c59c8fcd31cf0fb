//! Which columns of a file are read for a condition.

use std::collections::BTreeSet;

use arrow_schema::{DataType, Fields, Schema};

/// The numbers of the leaf columns at or below some paths, from 0 and in the order of the schema:
/// what a projection of Parquet is made of. Paths that the schema does not have are left out.
#[must_use]
pub fn leaves(columns: &BTreeSet<String>, schema: &Schema) -> Vec<usize> {
    let mut found = Found { columns, next: 0, leaves: Vec::new() };
    found.look("", schema.fields(), false);
    found.leaves
}

struct Found<'a> {
    columns: &'a BTreeSet<String>,
    next: usize,
    leaves: Vec<usize>,
}

impl Found<'_> {
    fn look(&mut self, above: &str, fields: &Fields, taken: bool) {
        for field in fields {
            let path = format!("{above}{}", field.name());
            let taken = taken || self.columns.contains(&path);
            let mut inside = field.data_type();
            while let DataType::List(item) = inside {
                inside = item.data_type();
            }
            if let DataType::Struct(fields) = inside {
                self.look(&format!("{path}."), fields, taken);
                continue;
            }
            if taken {
                self.leaves.push(self.next);
            }
            self.next += 1;
        }
    }
}
