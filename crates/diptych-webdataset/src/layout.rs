//! Which shards a copy has, and which it should have by their names.

use std::collections::BTreeSet;

use diptych_format::shards::{Counted, series, split_of_path};
use diptych_schema::Split;
use diptych_storage::{ReadTree, RelPath};

/// Endings of shards that are compressed, which no sample can be read from where it lies.
const COMPRESSED: [&str; 5] = [".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz"];

/// The ending of a shard.
const SHARD: &str = ".tar";

/// A shard, or the place of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) path: String,
    pub(crate) state: State,
}

/// Whether a shard can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// It is there, and has this number among the files.
    Here(u32),
    /// Others of its series are there.
    Missing,
    Compressed,
}

/// The shards of a copy, in the order of their paths.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) shards: Vec<Shard>,
    /// The files that are there.
    pub(crate) files: Vec<RelPath>,
    pub(crate) counted: Vec<Counted>,
}

/// The shards of a tree.
pub(crate) fn shard_paths(tree: &dyn ReadTree) -> impl Iterator<Item = &RelPath> {
    let paths = tree.list().iter().map(|entry| &entry.path);
    paths.filter(|path| path.as_str().ends_with(SHARD))
}

impl Layout {
    pub(crate) fn of(tree: &dyn ReadTree) -> Self {
        let files: Vec<RelPath> = shard_paths(tree).cloned().collect();
        let mut shards: Vec<_> = (0..)
            .zip(&files)
            .map(|(number, path)| Shard {
                path: path.as_str().to_owned(),
                state: State::Here(number),
            })
            .collect();
        let mut names: BTreeSet<_> = files.iter().map(|path| path.as_str().to_owned()).collect();
        for path in tree.list().iter().map(|entry| entry.path.as_str()) {
            let stem = COMPRESSED.iter().find_map(|ending| path.strip_suffix(ending));
            // One that was unpacked beside is read there.
            let is_new = |stem: &str| names.insert(format!("{stem}{SHARD}"));
            if stem.is_some_and(is_new) {
                shards.push(Shard { path: path.to_owned(), state: State::Compressed });
            }
        }
        let mut counted = Vec::new();
        for series in series(names.iter().map(String::as_str)) {
            counted.push(series.counted());
            let missing = series.missing().into_iter();
            shards.extend(
                missing.map(|index| Shard {
                    path: series.example.sibling(index),
                    state: State::Missing,
                }),
            );
        }
        shards.sort_by(|a, b| a.path.cmp(&b.path));
        Self { shards, files, counted }
    }
}

impl Shard {
    /// Its path without the ending: what ids of its samples begin with.
    pub(crate) fn stem(&self) -> &str {
        self.path.strip_suffix(SHARD).unwrap_or(&self.path)
    }

    /// The split that its name tells.
    pub(crate) fn split(&self) -> Option<Split> {
        split_of_path(&self.path, SHARD)
    }
}

#[cfg(test)]
mod tests {
    use diptych_storage::MemoryTree;

    use super::*;

    fn layout(names: &[&str]) -> Layout {
        let files = names.iter().map(|name| (RelPath::new(name).unwrap(), Vec::new()));
        Layout::of(&MemoryTree::new(files))
    }

    #[test]
    fn shards_are_in_order_and_missing_ones_have_their_place() {
        let names = [
            "data/train-00002-of-00003.tar",
            "data/train-00000-of-00003.tar",
            "data/train-00000-of-00003.tar.idx",
            "more.tar.gz",
            "more/0.tar",
            "more/0.tar.gz",
        ];
        let found = layout(&names);
        let shards: Vec<_> = found.shards.iter().map(|of| (of.path.as_str(), &of.state)).collect();
        assert_eq!(
            shards,
            [
                ("data/train-00000-of-00003.tar", &State::Here(0)),
                ("data/train-00001-of-00003.tar", &State::Missing),
                ("data/train-00002-of-00003.tar", &State::Here(1)),
                ("more.tar.gz", &State::Compressed),
                ("more/0.tar", &State::Here(2)),
            ]
        );
        let counted = Counted {
            series: "data/train".to_owned(),
            here: 2,
            stated: 3,
            missing: Some("data/train-00001-of-00003.tar".to_owned()),
        };
        assert_eq!(found.counted, [counted]);
    }
}
