//! The tables of a tree, and the split that the folder of each tells.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use diptych_format::foreign::split_of;
use diptych_schema::Split;
use diptych_storage::{ReadTree, RelPath};

/// What a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Parquet.
    Columns,
    /// JSON lines.
    Lines,
    /// Text that commas part.
    Csv,
}

impl Form {
    /// By the name of a file: the loader knows no others.
    fn of(name: &str) -> Option<Self> {
        match name {
            "metadata.parquet" => Some(Self::Columns),
            "metadata.jsonl" => Some(Self::Lines),
            "metadata.csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// A table, and the folder from which its rows name pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableFile {
    pub(crate) path: RelPath,
    pub(crate) form: Form,
}

/// The tables of a tree, in the order of their paths. Of several in one folder, of which the loader
/// takes none, the first by their form counts; the others are given as well.
pub(crate) fn tables(tree: &dyn ReadTree) -> (Vec<TableFile>, BTreeSet<RelPath>) {
    let mut tables: BTreeMap<&str, TableFile> = BTreeMap::new();
    let mut others = BTreeSet::new();
    for entry in tree.list() {
        let Some(form) = Form::of(entry.path.file_name()) else { continue };
        let table = TableFile { path: entry.path.clone(), form };
        match tables.entry(entry.path.parent().unwrap_or("")) {
            Entry::Vacant(place) => {
                place.insert(table);
            }
            Entry::Occupied(mut other) if other.get().form > form => {
                others.insert(other.insert(table).path);
            }
            Entry::Occupied(_) => {
                others.insert(table.path);
            }
        }
    }
    let mut tables: Vec<_> = tables.into_values().collect();
    tables.sort_by(|a, b| a.path.cmp(&b.path));
    (tables, others)
}

impl TableFile {
    /// The folder from which its rows name pictures; empty at the root.
    pub(crate) fn folder(&self) -> &str {
        self.path.parent().unwrap_or("")
    }

    /// A path that a row gives, from the root.
    pub(crate) fn path_of(&self, path: &RelPath) -> String {
        match self.folder() {
            "" => path.as_str().to_owned(),
            folder => format!("{folder}/{}", path.as_str()),
        }
    }

    /// The split that a folder's name tells, the nearest first.
    pub(crate) fn split(&self) -> Option<Split> {
        self.folder().rsplit('/').find_map(split_of)
    }
}

#[cfg(test)]
mod tests {
    use diptych_storage::MemoryTree;

    use super::*;

    fn found(names: &[&str]) -> (Vec<String>, Vec<String>) {
        let files = names.iter().map(|name| (RelPath::new(name).unwrap(), Vec::new()));
        let (tables, others) = tables(&MemoryTree::new(files));
        let path = |path: &RelPath| path.as_str().to_owned();
        (tables.iter().map(|table| path(&table.path)).collect(), others.iter().map(path).collect())
    }

    #[test]
    fn tables_are_called_as_the_loader_wants_them() {
        let (tables, others) = found(&[
            "metadata.csv",
            "train/metadata.jsonl",
            "val/metadata.csv",
            "val/metadata.jsonl",
            "val/metadata.parquet",
            "metadata-train.parquet",
            "x/Metadata.jsonl",
            "x/metadata.json",
            "x/metadata.jsonl.gz",
        ]);
        assert_eq!(tables, ["metadata.csv", "train/metadata.jsonl", "val/metadata.parquet"]);
        assert_eq!(others, ["val/metadata.csv", "val/metadata.jsonl"]);
    }

    #[test]
    fn a_split_is_told_by_a_folder() {
        let of = |path: &str| {
            let path = RelPath::new(path).unwrap();
            TableFile { path, form: Form::Lines }.split()
        };
        assert_eq!(of("train/metadata.jsonl"), Some(Split::Train));
        assert_eq!(of("data/validation/metadata.jsonl"), Some(Split::Val));
        assert_eq!(of("test/part1/metadata.jsonl"), Some(Split::Test));
        assert_eq!(of("metadata.jsonl"), None);
        assert_eq!(of("my_test/metadata.jsonl"), None);
    }
}
