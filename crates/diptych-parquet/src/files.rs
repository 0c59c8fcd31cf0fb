//! Which files a copy has, and which it should have by their names.

use diptych_format::shards::{Counted, series, split_of_path};
use diptych_format::written::is_beside;
use diptych_schema::Split;
use diptych_storage::{ReadTree, RelPath};

/// The ending of a file of rows.
const ENDING: &str = ".parquet";

/// Endings of pictures that rows may name instead of holding them.
const PICTURES: [&str; 8] = [".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"];

/// A file of rows, or the place of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowsFile {
    pub(crate) path: String,
    /// Its number among the files; `None` where others of its series are there, and it is not.
    pub(crate) number: Option<u32>,
}

/// The files of a copy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Files {
    /// Split by split, in the order of their paths.
    pub(crate) rows: Vec<RowsFile>,
    /// The files that are there: those of rows, and behind them the pictures that lie loose.
    pub(crate) all: Vec<RelPath>,
    /// How many of them are of rows.
    pub(crate) loose_from: usize,
    pub(crate) counted: Vec<Counted>,
}

/// The files of rows of a tree.
pub(crate) fn rows_paths(tree: &dyn ReadTree) -> impl Iterator<Item = &RelPath> {
    let paths = tree.list().iter().map(|entry| &entry.path);
    paths.filter(|path| path.as_str().ends_with(ENDING) && !is_beside(tree, path))
}

impl Files {
    pub(crate) fn of(tree: &dyn ReadTree) -> Self {
        let mut all: Vec<RelPath> = rows_paths(tree).cloned().collect();
        let mut rows: Vec<_> = (0..)
            .zip(&all)
            .map(|(number, path)| RowsFile { path: path.to_string(), number: Some(number) })
            .collect();
        let mut counted = Vec::new();
        for series in series(all.iter().map(RelPath::as_str)) {
            counted.push(series.counted());
            let missing = series.missing().into_iter();
            rows.extend(
                missing.map(|index| RowsFile { path: series.example.sibling(index), number: None }),
            );
        }
        let place = |file: &RowsFile| {
            let split = file.split();
            Split::ALL.iter().position(|of| Some(*of) == split).unwrap_or(Split::ALL.len())
        };
        rows.sort_by(|a, b| (place(a), &a.path).cmp(&(place(b), &b.path)));
        let loose_from = all.len();
        let paths = tree.list().iter().map(|entry| &entry.path);
        all.extend(
            paths
                .filter(|path| {
                    let path = path.as_str().to_ascii_lowercase();
                    PICTURES.iter().any(|ending| path.ends_with(ending))
                })
                .cloned(),
        );
        Self { rows, all, loose_from, counted }
    }
}

impl RowsFile {
    /// Its path without the ending: what ids of its pairs begin with.
    pub(crate) fn stem(&self) -> &str {
        self.path.strip_suffix(ENDING).unwrap_or(&self.path)
    }

    /// The split that its name tells.
    pub(crate) fn split(&self) -> Option<Split> {
        split_of_path(&self.path, ENDING)
    }
}

#[cfg(test)]
mod tests {
    use diptych_storage::MemoryTree;

    use super::*;

    #[test]
    fn files_are_in_order_and_missing_ones_have_their_place() {
        let names = [
            "data/test-00000-of-00001.parquet",
            "data/train-00000-of-00003-0123456789abcdef.parquet",
            "data/train-00002-of-00003-fedcba9876543210.parquet",
            "more/0000.parquet",
            "pictures/a.JPG",
            "README.md",
        ];
        let files = names.iter().map(|name| (RelPath::new(name).unwrap(), Vec::new()));
        let found = Files::of(&MemoryTree::new(files));
        let rows: Vec<_> = found.rows.iter().map(|of| (of.path.as_str(), of.number)).collect();
        assert_eq!(
            rows,
            [
                (names[1], Some(1)),
                ("data/train-00001-of-00003-*.parquet", None),
                (names[2], Some(2)),
                (names[0], Some(0)),
                (names[3], Some(3)),
            ]
        );
        assert_eq!((found.all.len(), found.loose_from), (5, 4));
        let counted: Vec<_> = found.counted.iter().map(|of| (of.here, of.stated)).collect();
        assert_eq!(counted, [(1, 1), (2, 3)]);
        assert_eq!(found.rows[4].stem(), "more/0000");
    }
}
