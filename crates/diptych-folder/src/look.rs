//! A first look at a release: whose rows its tables have, and what their columns are.

use diptych_format::foreign::known::{Known, Shape, Shapes, known};
use diptych_format::record::restore;
use diptych_format::written::resembles_record;
use diptych_storage::{Limits, ReadTree, RelPath};
use serde_json::{Map, Value};

use crate::names::picture_column;
use crate::rows::{Event, TableRows};
use crate::tables::{TableFile, tables};

/// Tables that are looked into: the first may be damaged.
const TABLES: usize = 4;

/// Rows of each that are looked at.
const ROWS: usize = 16;

/// What was seen.
#[derive(Default)]
pub(crate) struct Look {
    /// A table whose rows have the record that this program writes.
    pub(crate) ours: Option<RelPath>,
    /// A table whose rows were such, and what is wrong with them.
    pub(crate) damaged: Option<(RelPath, String)>,
    /// A table that has rows.
    pub(crate) rows: Option<RelPath>,
    /// The first table, whatever is in it.
    pub(crate) table: Option<RelPath>,
    /// Columns, and what they hold.
    pub(crate) shapes: Shapes,
}

impl Look {
    /// Looks into the first tables of a tree. What cannot be read shows nothing.
    pub(crate) fn at(tree: &dyn ReadTree) -> Self {
        let mut look = Self::default();
        let (tables, _) = tables(tree);
        look.table = tables.first().map(|table| table.path.clone());
        for table in tables.iter().take(TABLES) {
            look.table(tree, table);
            if look.ours.is_some() {
                break;
            }
        }
        look
    }

    /// The layout that it is known to be of.
    pub(crate) fn known(&self) -> Option<&'static Known> {
        known(&self.shapes)
    }

    fn table(&mut self, tree: &dyn ReadTree, table: &TableFile) {
        let file = tree.open(&table.path);
        let rows = file.and_then(|file| TableRows::open(table.form, file, &Limits::LOOK));
        let Ok(mut rows) = rows else { return };
        for _ in 0..ROWS {
            let Ok(Some(event)) = rows.next() else { return };
            let Event::Row { text, .. } = event else { continue };
            let Ok(text) = std::str::from_utf8(&text) else { continue };
            let fields: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
            let restored = restore(text).map_err(|error| error.to_string());
            let why = match restored {
                Ok(_) if fields.contains_key(SOURCE_FILE_NAME) => {
                    self.ours.get_or_insert_with(|| table.path.clone());
                    return;
                }
                Ok(_) => format!("there is no {SOURCE_FILE_NAME}"),
                Err(why) => why,
            };
            if resembles_record(&fields) {
                self.damaged.get_or_insert_with(|| (table.path.clone(), why));
            }
            if !fields.is_empty() {
                self.rows.get_or_insert_with(|| table.path.clone());
            }
            fields.iter().for_each(|(name, value)| self.see(name, value));
        }
    }

    /// Enters a column. One that is sometimes null is what it is otherwise.
    fn see(&mut self, name: &str, value: &Value) {
        let (name, shape) = match picture_column(name) {
            Some(picture) => (picture, Shape::Picture),
            None => (name, Shape::of(value)),
        };
        let known = self.shapes.entry(name.to_owned()).or_insert(shape);
        if *known == Shape::Nothing || shape == Shape::Picture {
            *known = shape;
        }
    }
}

/// The column of sources, which every row of ours has.
const SOURCE_FILE_NAME: &str = "source_file_name";
