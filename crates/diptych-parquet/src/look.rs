//! A first look at a release: whose rows it has, and what their columns are.

use diptych_format::foreign::known::{Known, Shape, Shapes, known};
use diptych_format::table::Table;
use diptych_storage::{Limits, ReadTree, RelPath};

use crate::columns::Columns;
use crate::files::rows_paths;

/// Files that are looked into: the first may be damaged.
const FILES: usize = 4;

/// What was seen.
#[derive(Default)]
pub(crate) struct Look {
    /// A file whose rows have the record that this program writes.
    pub(crate) ours: Option<RelPath>,
    /// A file that was one of these, and the columns that it has lost.
    pub(crate) lost: Option<(RelPath, Vec<String>)>,
    /// The columns of all files that were looked into.
    pub(crate) shapes: Shapes,
    /// A file with two columns of pictures or more, and its columns.
    pub(crate) pictures: Option<(RelPath, Shapes)>,
    /// Files that have no such columns, or cannot be read, and why that is so.
    pub(crate) others: Vec<String>,
}

impl Look {
    /// Looks into the first files of a tree.
    pub(crate) fn at(tree: &dyn ReadTree) -> Self {
        let mut look = Self::default();
        for path in rows_paths(tree).take(FILES) {
            let file = tree.open(path).map_err(|error| error.to_string());
            let table = file.and_then(|file| Table::open(file, &Limits::LOOK));
            let columns = match table {
                Ok(table) => Columns::of(&table, &Limits::LOOK, &|_| false),
                Err(why) => {
                    look.others.push(format!("{path}, which cannot be read: {why}"));
                    continue;
                }
            };
            if columns.ours.is_some() {
                look.ours = Some(path.clone());
                break;
            }
            if !columns.lost.is_empty() {
                look.lost.get_or_insert((path.clone(), columns.lost));
            }
            look.shapes.extend(columns.shapes.clone());
            let pictures = columns.shapes.values().filter(|shape| **shape == Shape::Picture);
            match pictures.count() {
                0 | 1 => look.others.push(format!("{path}, which has not two columns of pictures")),
                _ => drop(look.pictures.get_or_insert((path.clone(), columns.shapes))),
            }
        }
        look
    }

    /// The layout that it is known to be of.
    pub(crate) fn known(&self) -> Option<&'static Known> {
        self.pictures.as_ref().and_then(|(_, shapes)| known(shapes))
    }
}
