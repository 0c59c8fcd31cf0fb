//! Manifests, row by row, into edits.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use diptych_format::archives::PictureFault;
use diptych_format::written::{fewer, stated};
use diptych_format::{
    Edit, Edits, EndOfRows, FormatError, Notice, Part, Place, Reader, ReaderInput, Rejection,
    SourceFile, Stated, Tally,
};
use diptych_storage::rows::{Ending, RowEvent, Rows};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadTree};
use sha2::{Digest, Sha256};

use crate::NAME;
use crate::layout::{Editor, Layout, Side};
use crate::pair::{Called, Lost, Outcome, edit};
use crate::pictures::Pictures;
use crate::splits::Splits;
use crate::wire::{self, Row, RowFault};

pub(crate) struct PapeReader {
    pub(crate) tree: Arc<dyn ReadTree>,
    pub(crate) label: String,
    /// How many pairs were written, where it is an output of this program.
    written: Option<Stated>,
    pub(crate) limits: Limits,
    pub(crate) editors: Vec<Editor>,
    partitions: Vec<String>,
    pub(crate) pictures: Pictures,
    pub(crate) splits: Splits,
    layout_notices: Vec<Notice>,
    /// What was noticed while rows were read.
    row_notices: Mutex<BTreeSet<Notice>>,
    /// Rows read of each manifest.
    rows: Vec<AtomicU64>,
}

impl PapeReader {
    pub(crate) fn open(input: ReaderInput<'_>) -> Result<Self, FormatError> {
        let Layout { editors, pictures, mut notices } =
            Layout::of(input.tree.as_ref(), input.label);
        if editors.is_empty() {
            return Err(FormatError::Malformed {
                at: Box::new(Place { source: input.label.to_owned(), ..Place::default() }),
                what: "no manifest: no SUBSET/EDITOR/manifest.jsonl".to_owned(),
            });
        }
        let subsets = editors.iter().filter_map(|editor| editor.subset.as_deref());
        let (splits, of_splits) =
            Splits::of(input.tree.as_ref(), input.label, &input.limits, subsets);
        notices.extend(of_splits);
        let pictures = Pictures::new(&input, pictures);
        let ReaderInput { tree, label, limits, .. } = input;
        Ok(Self {
            written: stated(tree.as_ref()),
            tree,
            label: label.to_owned(),
            limits,
            partitions: editors.iter().map(|of| of.manifest.as_str().to_owned()).collect(),
            rows: editors.iter().map(|_| AtomicU64::new(0)).collect(),
            editors,
            pictures,
            splits,
            layout_notices: notices,
            row_notices: Mutex::default(),
        })
    }

    pub(crate) fn place(&self, editor: &Editor) -> Place {
        Place::file(&self.label, editor.manifest.as_str())
    }

    /// The rows of a manifest.
    pub(crate) fn open_rows(&self, editor: &Editor) -> Result<Rows, FormatError> {
        let file = self.tree.open(&editor.manifest);
        let rows = file.and_then(|file| Rows::open(file, &self.limits));
        rows.map_err(|source| FormatError::Read { at: Box::new(self.place(editor)), source })
    }

    /// The next row of a manifest.
    pub(crate) fn next_row<'r>(
        &self,
        editor: &Editor,
        rows: &'r mut Rows,
    ) -> Result<Option<RowEvent<'r>>, FormatError> {
        let next = rows.next_row();
        next.map_err(|source| FormatError::Read { at: Box::new(self.place(editor)), source })
    }

    /// What stands for image and language of the rows that share both with another row of their
    /// manifest.
    fn repeated(&self, editor: &Editor) -> Result<HashSet<Key>, FormatError> {
        let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
        let mut rows = self.open_rows(editor)?;
        while let Some(event) = self.next_row(editor, &mut rows)? {
            let RowEvent::Row(row) = event else { continue };
            let key = wire::parse(row.bytes).ok().as_ref().and_then(key);
            if let Some(key) = key.filter(|key| !seen.insert(*key)) {
                repeated.insert(key);
            }
        }
        Ok(repeated)
    }

    /// Takes what was noticed while rows were read.
    pub(crate) fn notice(&self, notices: impl IntoIterator<Item = Notice>) {
        self.row_notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
    }

    /// Rows read of the manifest of a partition.
    pub(crate) fn rows_of(&self, partition: usize) -> u64 {
        self.rows.get(partition).map_or(0, |rows| rows.load(Ordering::Relaxed))
    }
}

/// Half of a digest: of rows in a manifest no two have the same by chance.
type Key = [u8; 16];

/// What stands for the image and the language of a published row. A row with records has its ids
/// from them, and is no repeat of any.
fn key(row: &Row) -> Option<Key> {
    if row.extra.is_some() {
        return None;
    }
    let mut hasher = Sha256::new();
    for part in [&row.image_id, &crate::pair::language(row)] {
        let part = part.as_deref().unwrap_or_default();
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().first_chunk().copied()
}

impl Reader for PapeReader {
    fn files(&self) -> &[SourceFile] {
        self.pictures.files()
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        let editor = self.editors.get(partition).ok_or_else(|| FormatError::Malformed {
            at: Box::new(Place { source: self.label.clone(), ..Place::default() }),
            what: format!("there is no partition {partition}"),
        })?;
        let mut pending = VecDeque::new();
        let is_empty = |entry: &diptych_storage::tree::TreeEntry| entry.length == 0;
        if self.tree.entry(editor.manifest.as_str()).is_some_and(is_empty) {
            // Nobody knows its rows, and one edit stands for all.
            let cause = "the file is empty: its rows are lost";
            pending.push_back(lost_rows(editor, self.place(editor), cause.to_owned()));
        }
        Ok(Box::new(ManifestRows {
            reader: self,
            editor,
            repeated: self.repeated(editor)?,
            rows: self.open_rows(editor)?,
            count: self.rows.get(partition),
            pending,
            ended: false,
        }))
    }

    fn notices(&self, tally: &Tally) -> Vec<Notice> {
        let mut notices = self.layout_notices.clone();
        notices.extend(
            self.row_notices.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned(),
        );
        // Where not all was read, what was not asked for says nothing.
        let partitions = self.editors.len();
        notices.extend(fewer(&self.label, self.written.as_ref(), tally, partitions));
        if tally.edits.len() == partitions {
            notices.extend(self.pictures.unclaimed().into_iter().map(|(folder, (files, one))| {
                let one = printable(one.file_name().as_bytes());
                Notice {
                    kind: "unclaimed_files".to_owned(),
                    at: Place::file(&self.label, folder),
                    detail: format!("{files} that no row has, {one} for one"),
                }
            }));
        }
        notices
    }

    fn parts(&self, _: &Tally) -> Result<Vec<Part>, FormatError> {
        crate::parts::parts(self)
    }
}

/// The edits of a manifest.
struct ManifestRows<'a> {
    reader: &'a PapeReader,
    editor: &'a Editor,
    repeated: HashSet<Key>,
    rows: Rows,
    /// Where its rows are counted.
    count: Option<&'a AtomicU64>,
    /// Edits of the row that was read last.
    pending: VecDeque<Edit>,
    ended: bool,
}

impl Edits for ManifestRows<'_> {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        loop {
            if let Some(edit) = self.pending.pop_front() {
                return Ok(Some(edit));
            }
            if self.ended {
                return Ok(None);
            }
            self.step()?;
        }
    }
}

impl ManifestRows<'_> {
    /// Reads the next row.
    fn step(&mut self) -> Result<(), FormatError> {
        let Self { reader, editor, repeated, rows, count, pending, ended } = self;
        let place = reader.place(editor);
        let event = reader.next_row(editor, rows)?;
        if let (Some(_), Some(count)) = (&event, count) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        match event {
            Some(RowEvent::Row(row)) => {
                let at = Place { row: Some(row.number), offset: Some(row.offset), ..place };
                pending.extend(reader.edits(editor, repeated, row.number, row.bytes, &at)?);
            }
            Some(RowEvent::TooLong { number, offset, length }) => {
                let limit = reader.limits.row_bytes;
                pending.push_back(rejected(
                    editor,
                    Fault {
                        kind: "row_too_long",
                        cause: format!("{length} bytes, the limit is {limit}"),
                        at: Place { row: Some(number), offset: Some(offset), ..place },
                        native: None,
                    },
                ));
            }
            None => {
                *ended = true;
                pending.extend(reader.ending(editor, rows.ending(), &place));
            }
        }
        Ok(())
    }
}

/// Why nothing comes of a row, as far as it is known which.
struct Fault {
    kind: &'static str,
    cause: String,
    at: Place,
    native: Option<String>,
}

fn rejected(editor: &Editor, fault: Fault) -> Edit {
    let Fault { kind, cause, at, native } = fault;
    Edit::Rejected(Box::new(Rejection {
        kind: kind.to_owned(),
        cause,
        at,
        dataset: NAME.to_owned(),
        subset: editor.subset.clone(),
        pair_id: None,
        native,
    }))
}

/// The edit that stands for rows of which nobody knows how many they are.
fn lost_rows(editor: &Editor, at: Place, cause: String) -> Edit {
    rejected(editor, Fault { kind: "cut_metadata", cause, at, native: None })
}

impl PapeReader {
    /// The edits of a row.
    fn edits(
        &self,
        editor: &Editor,
        repeated: &HashSet<Key>,
        number: u64,
        bytes: &[u8],
        at: &Place,
    ) -> Result<Vec<Edit>, FormatError> {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let row = match wire::parse(bytes) {
            Ok(row) => row,
            Err(RowFault { kind, cause }) => {
                // What is no JSON cannot be kept as a record.
                let native =
                    (kind != "invalid_json").then(|| format!("{{\"row\":{}}}", text.trim()));
                let at = at.clone();
                return Ok(vec![rejected(editor, Fault { kind, cause, at, native })]);
            }
        };
        let is_repeated = key(&row).is_some_and(|key| repeated.contains(&key));
        let called = Called::new(editor, &row, text, is_repeated.then_some(number + 1));
        let mut edits = Vec::new();
        for side in Side::BOTH {
            match edit(&called, side, &self.pictures, &self.splits) {
                Outcome::None => {}
                Outcome::Pair(pair) => edits.push(Edit::Pair(pair)),
                Outcome::Lost(lost) => edits.push(lost_edit(*lost, editor, number, at)),
                Outcome::Failed(error) => return Err(error),
            }
        }
        if edits.is_empty() {
            let sides = if row.extra.is_some() { "record" } else { "prompt, path or picture" };
            edits.push(rejected(
                editor,
                Fault {
                    kind: "missing_field",
                    cause: format!("no {sides} of a normal or an abnormal edit"),
                    at: at.clone(),
                    native: Some(called.native(&self.splits)),
                },
            ));
        }
        Ok(edits)
    }

    /// What the end of a manifest means: rows that are lost are rejected as one edit, since
    /// nobody knows how many they are.
    fn ending(&self, editor: &Editor, ending: Option<&Ending>, place: &Place) -> Option<Edit> {
        match EndOfRows::of(ending?) {
            EndOfRows::Whole => None,
            EndOfRows::Behind { offset, detail } => {
                let at = Place { offset: Some(offset), ..place.clone() };
                self.notice([Notice { kind: "trailing_garbage".to_owned(), at, detail }]);
                None
            }
            EndOfRows::Lost { row, offset, cause } => {
                let at = Place { row, offset: Some(offset), ..place.clone() };
                Some(lost_rows(editor, at, cause))
            }
        }
    }
}

/// An edit of which a picture or a word is not there.
fn lost_edit(lost: Lost, editor: &Editor, number: u64, at: &Place) -> Edit {
    let Lost { fault, pair_id, dataset, subset, native } = lost;
    let PictureFault { kind, cause, file, offset, .. } = fault;
    // Where the picture should be, rather than where the row is: the row is there in the native
    // record.
    let (at, cause) = match file {
        Some(file) => {
            let cause = format!("{cause}; asked for by {}, row {number}", editor.manifest);
            (Place { offset, ..Place::file(&at.source, &file) }, cause)
        }
        None => (at.clone(), cause),
    };
    Edit::Rejected(Box::new(Rejection {
        kind: kind.to_owned(),
        cause,
        at,
        dataset,
        subset,
        pair_id: Some(pair_id),
        native,
    }))
}
