//! ImgEdit-Bench, the benchmark that is released beside the dataset.
//!
//! It is `Benchmark.tar`, or the folder `Benchmark/` that it unpacks to: `singleturn` (one edit of
//! a known kind), `hard` (one edit that needs understanding) and `multiturn` (sessions, in a folder
//! for each of three kinds). Pictures lie below the folder of the file that lists them. An item
//! says what is to be done to a picture and has no target: it is for evaluation, and no output for
//! training takes it.
//!
//! - `items`: the lists into items. No I/O.
//! - `reader`: items and pictures into pairs.

mod items;
mod reader;
#[cfg(test)]
mod tests;

use diptych_format::{
    About, Confidence, Detection, Facet, Fill, Format, FormatError, MaskMeaning, Published, Reader,
    ReaderInput,
};
use diptych_storage::{ReadTree, RelPath};

use crate::groups::EDIT_TYPES;

/// The format.
pub const FORMAT: &dyn Format = &Benchmark;

/// The dataset's name in pairs, and the format's.
const NAME: &str = "imgedit-bench";

/// The archive.
const ARCHIVE: &str = "Benchmark.tar";

struct Benchmark;

const ABOUT: About = About {
    name: NAME,
    title: "ImgEdit-Bench",
    summary: "pictures and what to do with them, without targets: for evaluation only",
    reads: true,
    writes: false,
    options: &[],
    losses: &["`judge_prompt.json`, the words that a judge is asked with, is not read"],
    alters: &[],
    fills: FILLS,
    edit_types: EDIT_TYPES,
    masks: MaskMeaning::None,
    terms: &[],
    citation: Some(crate::CITATION),
    published: PUBLISHED,
};

const FILLS: &[Fill] = &[
    Fill {
        column: "pair_id",
        from: "the list and the item's key in it; for sessions the turn too",
    },
    Fill { column: "dataset", from: "always `imgedit-bench`" },
    Fill { column: "subset", from: "`basic`, `hard`, or the session's folder" },
    Fill { column: "split", from: "always `test`" },
    Fill { column: "session_id", from: "the list and the item's key, in `multiturn`" },
    Fill { column: "turn", from: "the place among `turn1`, `turn2` and so on" },
    Fill { column: "base", from: "`original` for a session's first turn" },
    Fill { column: "edit_type", from: "`edit_type`, by the shared word; for sessions the task" },
    Fill { column: "edit_type_native", from: "`edit_type`" },
    Fill { column: "instruction", from: "`prompt`, `turn1` and so on, as they are" },
    Fill { column: "language", from: "`zh` for text with Han characters and `en` for other" },
    Fill { column: "source", from: "`id`, a path from the list's folder" },
    Fill { column: "labels", from: "`benchmark`: basic, hard or multiturn; `task` for sessions" },
    Fill { column: "native", from: "the item" },
];

/// Items of the whole benchmark: those of `singleturn` by kind too.
const PUBLISHED: &[Published] = &[
    Published { facet: Facet::Subset, value: "basic", pairs: 737 },
    Published { facet: Facet::Subset, value: "hard", pairs: 47 },
    Published { facet: Facet::EditType, value: "extract", pairs: 117 },
    Published { facet: Facet::EditType, value: "style", pairs: 100 },
    Published { facet: Facet::EditType, value: "add", pairs: 95 },
    Published { facet: Facet::EditType, value: "adjust", pairs: 94 },
    Published { facet: Facet::EditType, value: "background", pairs: 94 },
    Published { facet: Facet::EditType, value: "replace", pairs: 92 },
    Published { facet: Facet::EditType, value: "remove", pairs: 86 },
    Published { facet: Facet::EditType, value: "action", pairs: 36 },
    Published { facet: Facet::EditType, value: "hybrid", pairs: 23 },
];

/// Members of the whole archive.
const MEMBERS: u64 = 287;

/// What is looked for.
const LOOKED_FOR: &str = "no Benchmark.tar by itself, and no singleturn/singleturn.json, hard/ or \
                          multiturn/ with a list of items";

/// A part of the benchmark: a list of items, below whose folder the pictures lie.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct List {
    part: Part,
    /// How far its name is from the one that it should have: of two for one part the nearer counts.
    rank: usize,
    /// Its path.
    path: String,
}

/// Which part of the benchmark.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Basic,
    Hard,
    /// The folder's name.
    Multiturn(String),
}

impl List {
    /// The list that a path is, if it is one.
    fn at(path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = folder.rsplit('/').next().unwrap_or(folder);
        let is_of_session = ["content_", "version_"].iter().any(|kind| folder.starts_with(kind));
        let (part, names): (_, &[&str]) = match folder {
            _ if is_of_session => {
                (Part::Multiturn(folder.to_owned()), &["annotation.json", "annotation.jsonl"])
            }
            "hard" => (Part::Hard, &["annotation.jsonl", "annotation.json", "UGE_edit.json"]),
            _ => (Part::Basic, &["singleturn.json", "basic_edit.json"]),
        };
        let rank = names.iter().position(|known| *known == name)?;
        Some(Self { part, rank, path: path.to_owned() })
    }

    /// One list for each part, of all that are there.
    fn all<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<Self> {
        let mut lists: Vec<_> = paths.filter_map(Self::at).collect();
        lists.sort();
        lists.dedup_by(|later, first| later.part == first.part);
        lists
    }
}

impl Part {
    /// The word of the label.
    fn word(&self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Hard => "hard",
            Self::Multiturn(_) => "multiturn",
        }
    }

    fn subset(&self) -> &str {
        match self {
            Self::Basic | Self::Hard => self.word(),
            Self::Multiturn(folder) => folder,
        }
    }

    /// What stands in front of the keys in ids.
    fn prefix(&self) -> String {
        match self {
            Self::Basic | Self::Hard => format!("{NAME}:{}", self.word()),
            Self::Multiturn(folder) => format!("{NAME}:multiturn:{folder}"),
        }
    }

    /// The task by the name that the dataset has for it.
    fn task(&self) -> Option<&str> {
        match self {
            Self::Basic | Self::Hard => None,
            Self::Multiturn(folder) => {
                let known = EDIT_TYPES.iter().find(|(native, _)| native == folder);
                Some(known.map_or(folder, |(_, word)| word))
            }
        }
    }

    fn published(&self) -> Option<u64> {
        let of = PUBLISHED.iter().find(|of| of.facet == Facet::Subset && of.value == self.subset());
        of.map(|of| of.pairs)
    }
}

/// A path of the dataset itself, where there is one.
fn of_the_dataset(tree: &dyn ReadTree) -> Option<&RelPath> {
    let is_of_it = |path: &&RelPath| {
        let path = path.as_str();
        let folders = ["Parquet/", "Singleturn/", "Multiturn/"];
        folders.iter().any(|folder| path.starts_with(folder))
            || path.contains(".tar.split.")
            || [".parquet", "all_dataset_gpt_score.json"].iter().any(|end| path.ends_with(end))
            || (path.ends_with(".tar") && path != ARCHIVE)
    };
    tree.list().iter().map(|entry| &entry.path).find(is_of_it)
}

/// Whether an archive begins as this one does; one of which nothing can be read may.
fn begins_so(tree: &dyn ReadTree, path: &RelPath) -> bool {
    let mut name = [0; 100];
    let read = tree.open(path).and_then(|file| file.read_exact_at(0, &mut name));
    let name = name.strip_prefix(b"./").unwrap_or(&name);
    let known: [&[u8]; 4] = [b"Benchmark", b"singleturn/", b"hard/", b"multiturn/"];
    // Headers that only lengthen a name come before it.
    let extended: [&[u8]; 2] = [b"PaxHeader", b"././@"];
    read.is_ok() && known.iter().chain(&extended).any(|start| name.starts_with(start))
}

impl Format for Benchmark {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        let archive = tree.entry(ARCHIVE);
        let lists = List::all(tree.list().iter().map(|entry| entry.path.as_str()));
        let near = |found: &str, instead: String| {
            Detection::no(LOOKED_FOR, vec![format!("{found}, {instead}")])
        };
        let found = match (archive, lists.first()) {
            (Some(_), _) => ARCHIVE,
            (None, Some(list)) => &list.path,
            (None, None) => return Detection::no(LOOKED_FOR, Vec::new()),
        };
        // Beside the dataset it is a part of that, which is read first.
        if let Some(path) = of_the_dataset(tree) {
            return near(found, format!("which lies beside {path}"));
        }
        match archive {
            Some(entry) if begins_so(tree, &entry.path) => {
                Detection::yes(Confidence::Strong, format!("there is {ARCHIVE} by itself"))
            }
            Some(_) if lists.is_empty() => near(found, "which holds something else".to_owned()),
            _ => Detection::yes(Confidence::Strong, format!("there is {found}")),
        }
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(reader::BenchmarkReader::open(&input)?))
    }
}
