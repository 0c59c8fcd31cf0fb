//! Releases in memory, read through their format and held against what every reader owes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use diptych::FORMATS;
use diptych::format::{
    Confidence, Edit, Format, Notice, Options, Probe, Reader, ReaderInput, Rejection, SourceFile,
    Tally, Used,
};
use diptych::schema::{Address, EditPair};
use diptych::storage::parquet::cells::{CellPlace, Cells};
use diptych::storage::tree::{Oddity, TreeEntry};
use diptych::storage::{MemoryTree, ReadAt, ReadTree, RelPath};

use crate::LIMITS;
use crate::bytes::Dripping;
use crate::text::{printable, told};

/// Edits that are looked at of one partition: there may be more than anyone could wait for.
const EDITS: usize = 500;

#[cfg(test)]
thread_local! {
    /// Pairs that were read by this thread.
    pub(crate) static PAIRS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Files of a release: path and bytes. Of one path the last counts.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A release whose files are read in small steps.
struct Slow(MemoryTree);

impl ReadTree for Slow {
    fn list(&self) -> &[TreeEntry] {
        self.0.list()
    }

    fn oddities(&self) -> &[Oddity] {
        self.0.oddities()
    }

    fn open(&self, path: &RelPath) -> io::Result<Arc<dyn ReadAt>> {
        let file = self.0.open(path)?;
        let mut bytes = vec![0; usize::try_from(file.len()).unwrap()];
        file.read_exact_at(0, &mut bytes)?;
        Ok(Arc::new(Dripping(bytes)))
    }
}

/// The format of that name.
pub(crate) fn format(name: &str) -> &'static dyn Format {
    *FORMATS.iter().find(|format| format.about().name == name).expect("there is such a format")
}

/// Files as a tree; those whose names no tree has are left out.
pub(crate) fn tree(files: &Files) -> MemoryTree {
    let named =
        files.iter().filter_map(|(name, bytes)| Some((RelPath::new(name).ok()?, bytes.clone())));
    MemoryTree::new(named)
}

/// Reads a release at once and in steps, and holds both against each other. `beside` are folders
/// for options of the format.
pub(crate) fn check(format: &dyn Format, files: &Files, beside: &[(&'static str, Files)]) {
    let at_once = |files: &Files| Arc::new(tree(files)) as Arc<dyn ReadTree>;
    let in_steps = |files: &Files| Arc::new(Slow(tree(files))) as Arc<dyn ReadTree>;
    let folders = |make: &dyn Fn(&Files) -> Arc<dyn ReadTree>| {
        beside.iter().map(|(key, files)| (*key, make(files))).collect()
    };
    let whole = read(format, &at_once(files), folders(&at_once), Probe::Header);
    let slow = read(format, &in_steps(files), folders(&in_steps), Probe::Header);
    assert_eq!(slow, whole, "what is read does not depend on how much is read at a time");
}

/// What a reader says, in words that can be compared.
fn read(
    format: &dyn Format,
    tree: &Arc<dyn ReadTree>,
    folders: BTreeMap<&'static str, Arc<dyn ReadTree>>,
    probe: Probe,
) -> Result<Vec<String>, String> {
    let detection = format.detect(tree.as_ref());
    if detection.confidence == Confidence::No {
        detection.near.iter().for_each(|near| printable(near));
    }
    printable(&detection.reason);
    let about = format.about();
    let options = Options::new(about.name, about.options, &[], Used::Reading);
    let options = options.expect("the defaults are options");
    let input = ReaderInput {
        tree: Arc::clone(tree),
        label: "fuzz",
        options: &options,
        folders,
        limits: LIMITS,
        probe,
    };
    let reader = format.open_reader(input).map_err(|error| told(&error))?;
    let held = Held { tree: tree.as_ref(), files: reader.files(), cells: Cells::new(LIMITS) };
    let (mut said, mut tally) = (Vec::new(), Tally::default());
    for number in 0..reader.partitions().len() {
        let (edits, pairs) = partition(reader.as_ref(), number, &held, &mut said)?;
        tally.edits.push(edits);
        tally.pairs.push(pairs);
    }
    let parts = reader.parts(&tally).map_err(|error| told(&error))?;
    parts.iter().for_each(|part| printable(&part.name));
    said.push(format!("{parts:?}"));
    for notice in reader.notices(&tally) {
        let Notice { kind, detail, at } = &notice;
        assert!(is_kind(kind), "{kind}");
        printable(detail);
        printable(&at.to_string());
        said.push(format!("{notice:?}"));
    }
    Ok(said)
}

/// Edits and pairs of a partition.
fn partition(
    reader: &dyn Reader,
    number: usize,
    held: &Held<'_>,
    said: &mut Vec<String>,
) -> Result<(u64, u64), String> {
    let mut edits = reader.read(number).map_err(|error| told(&error))?;
    let (mut all, mut pairs) = (0, 0);
    for _ in 0..EDITS {
        match edits.next().map_err(|error| told(&error))? {
            None => {
                let after = edits.next().map_err(|error| told(&error))?;
                assert!(after.is_none(), "behind the last edit there is none");
                break;
            }
            Some(Edit::Pair(mut pair)) => {
                #[cfg(test)]
                PAIRS.with(|pairs| pairs.set(pairs.get() + 1));
                said.push(format!("{pair:?}"));
                held.check(&mut pair);
                (all, pairs) = (all + 1, pairs + 1);
            }
            Some(Edit::Rejected(rejection)) => {
                let Rejection { kind, cause, at, dataset, .. } = rejection.as_ref();
                assert!(is_kind(kind), "{kind}");
                printable(cause);
                printable(&at.to_string());
                assert!(at.source == "fuzz" && !dataset.is_empty());
                said.push(format!("{rejection:?}"));
                all += 1;
            }
        }
    }
    Ok((all, pairs))
}

/// Whether a word is one that rejections and notices are called by.
fn is_kind(kind: &str) -> bool {
    !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// What addresses point into.
struct Held<'a> {
    tree: &'a dyn ReadTree,
    files: &'a [SourceFile],
    cells: Cells,
}

impl Held<'_> {
    /// The pictures of a pair are where it says.
    fn check(&self, pair: &mut EditPair) {
        let id = pair.pair_id.clone();
        for address in pair.addresses_mut() {
            match address {
                Address::Range { file, offset, length } => {
                    let end = offset.checked_add(*length).expect("it has an end");
                    assert!(*length > 0 && end <= self.length(*file), "{id}: {address:?}");
                }
                Address::Cell { file, row_group, column, row, length } => {
                    let place = CellPlace {
                        file: *file,
                        row_group: *row_group,
                        column: *column,
                        number: *row,
                    };
                    let open = || self.open(*file);
                    let value = self.cells.value(place, open).expect("a cell can be read again");
                    let found = value.map(|value| value.length());
                    assert_eq!(found, Some(*length), "{id}: {address:?}");
                }
                Address::Inline(_) | Address::Url { .. } => {}
            }
        }
    }

    fn pieces(&self, file: u32) -> &[RelPath] {
        &self.files.get(file as usize).expect("there is such a file").pieces
    }

    fn length(&self, file: u32) -> u64 {
        let length = |piece: &RelPath| self.tree.entry(piece.as_str()).unwrap().length;
        self.pieces(file).iter().map(length).sum()
    }

    fn open(&self, file: u32) -> io::Result<Arc<dyn ReadAt>> {
        self.tree.open(self.pieces(file).first().expect("it has a piece"))
    }
}
