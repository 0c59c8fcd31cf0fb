//! Whether a tree is this release.

use diptych_format::table::Table;
use diptych_format::{Confidence, Detection};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadTree};

use crate::groups::{Group, Stem};
use crate::layout::rows_files;
use crate::paths::last;
use crate::pieces;
use crate::rows::Kind;

/// Parquet files that are looked into.
const FILES: usize = 16;

/// What is looked for.
const LOOKED_FOR: &str = "no Parquet file of a known name, no archive of a known group, and no \
                          Parquet file with the columns input_images, output_images and prompt";

/// How sure it is that `tree` is this release, and why.
pub(crate) fn detect(tree: &dyn ReadTree) -> Detection {
    let names = || tree.list().iter().map(|entry| entry.path.as_str());
    let archive = names().find(|path| {
        pieces::parse(path).is_some_and(|(prefix, _)| Group::named(last(prefix)).is_some())
    });
    let is_rows = |path: &&str| {
        let stem = last(path).strip_suffix(".parquet").and_then(Stem::named);
        stem.is_some() && path.rsplit('/').nth(1) == Some("Parquet")
    };
    let rows = names().find(is_rows);
    let in_folder = |path: &&str| ["Singleturn/", "Multiturn/"].iter().any(|f| path.starts_with(f));
    let pictures = archive.or_else(|| names().find(in_folder));
    if let (Some(rows), Some(pictures)) = (rows, pictures) {
        let reason = format!("there are {rows} and {}", printable(pictures.as_bytes()));
        return Detection::yes(Confidence::Exact, reason);
    }
    if let Some(one) = rows.or(archive) {
        let reason = format!("there is {}", printable(one.as_bytes()));
        return Detection::yes(Confidence::Strong, reason);
    }
    let mut near = Vec::new();
    for path in rows_files(tree).into_iter().take(FILES) {
        let file = tree.open(path).map_err(|error| error.to_string());
        let table = file.and_then(|file| Table::open(file, &Limits::LOOK));
        match table {
            Ok(table) if Kind::of(table.fields()).is_some() => {
                let columns = printable(table.columns().join(", ").as_bytes());
                let reason = format!("{path} has the columns {columns}");
                return Detection::yes(Confidence::Weak, reason);
            }
            Ok(table) => {
                let columns = printable(table.columns().join(", ").as_bytes());
                near.push(format!("{path}, whose columns are others: {columns}"));
            }
            Err(error) => near.push(format!("{path}, which cannot be read: {error}")),
        }
    }
    Detection::no(LOOKED_FOR, near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::{MemoryTree, RelPath};

    #[test]
    fn a_tree_is_known_by_names() {
        let of = |names: &[&str]| {
            let files = names.iter().map(|name| (RelPath::new(name).unwrap(), Vec::new()));
            detect(&MemoryTree::new(files))
        };
        let by = |names: &[&str]| of(names).confidence;
        let (rows, piece) =
            ("Parquet/add_part0.parquet", "Singleturn/results_add_laion_part0.tar.split.000");
        assert_eq!(by(&[rows, piece, "Benchmark.tar"]), Confidence::Exact);
        assert_eq!(by(&[rows, "Singleturn/renamed.tar"]), Confidence::Exact);
        assert_eq!(by(&[rows]), Confidence::Strong);
        assert_eq!(by(&[piece, "mine.parquet"]), Confidence::Strong);
        assert_eq!(by(&["add_part0.parquet"]), Confidence::No);
        assert_eq!(by(&[piece]), Confidence::Strong);
        assert_eq!(by(&["Benchmark.tar"]), Confidence::No);
        assert!(of(&["x.parquet"]).near[0].starts_with("x.parquet, which cannot be read: "));
    }
}
