//! Tables, row by row, into edits.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use diptych_format::foreign::known::{Shape, Shapes, unknown};
use diptych_format::foreign::{ColumnMap, Seen};
use diptych_format::written::{fewer, stated};
use diptych_format::{
    Edit, Edits, FormatError, Notice, Part, Place, Reader, ReaderInput, SourceFile, Stated, Tally,
};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadTree, RelPath};

use crate::NAME;
use crate::look::Look;
use crate::pictures::Pictures;
use crate::row::RowReader;
use crate::rows::{Event, Lost, TableRows};
use crate::tables::{TableFile, tables};

pub(crate) struct FolderReader {
    pub(crate) tree: Arc<dyn ReadTree>,
    limits: Limits,
    tables: Vec<TableFile>,
    partitions: Vec<String>,
    pub(crate) pictures: Pictures,
    /// What foreign columns are; `None` where rows have records.
    map: Option<ColumnMap>,
    notices: Mutex<BTreeSet<Notice>>,
    /// How many pairs were written, where the copy says it.
    pub(crate) written: Option<Stated>,
    /// Rows read of all tables.
    rows: AtomicU64,
}

impl FolderReader {
    pub(crate) fn open(input: &ReaderInput<'_>) -> Result<Self, FormatError> {
        let (tables, others) = tables(input.tree.as_ref());
        let nothing = |what: String| FormatError::Malformed {
            at: Box::new(Place { source: input.label.to_owned(), ..Place::default() }),
            what,
        };
        if tables.is_empty() {
            let what = "no table: there is no metadata.parquet, metadata.jsonl or metadata.csv";
            return Err(nothing(what.to_owned()));
        }
        let look = Look::at(input.tree.as_ref());
        let given = ColumnMap::given(NAME, input.options)?;
        let unmet = given.as_ref().and_then(|map| map.unmet(&look.shapes, input.label));
        let lost = look.damaged.as_ref().map(|(path, why)| {
            format!(
                "the rows of {path} were written by diptych and are no records any more ({why}); \
                 they can be read as somebody else's with the option `map`"
            )
        });
        let seen = Seen { is_ours: look.ours.is_some(), lost, known: look.known() };
        let map = ColumnMap::of_release(given, seen, || unknown(&look.shapes)).map_err(nothing)?;
        let mut no_pictures: BTreeSet<_> = tables.iter().map(|table| &table.path).collect();
        no_pictures.extend(&others);
        let paths = input.tree.list().iter().map(|entry| &entry.path);
        let files = paths.filter(|path| !no_pictures.contains(path)).cloned().collect();
        let unread = unread_pictures(map.as_ref(), &look.shapes, input.label);
        let notice = |path: &RelPath| Notice {
            kind: "several_tables".to_owned(),
            at: Place::file(input.label, path.as_str()),
            detail: "another table lies beside it, which is read instead".to_owned(),
        };
        Ok(Self {
            written: stated(input.tree.as_ref()).filter(|_| map.is_none()),
            tree: Arc::clone(&input.tree),
            limits: input.limits,
            partitions: tables.iter().map(|table| table.path.as_str().to_owned()).collect(),
            pictures: Pictures::new(input, files),
            map,
            notices: Mutex::new(others.iter().map(notice).chain(unmet).chain(unread).collect()),
            rows: AtomicU64::new(0),
            tables,
        })
    }

    /// Rows read of all tables.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    fn place(&self, path: &RelPath) -> Place {
        Place::file(self.pictures.archives.label(), path.as_str())
    }

    fn notice(&self, notice: Notice) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).insert(notice);
    }
}

/// That nothing is made of some columns of pictures.
fn unread_pictures(map: Option<&ColumnMap>, shapes: &Shapes, label: &str) -> Option<Notice> {
    let is_unread = |(name, shape): (_, &Shape)| {
        let name: &String = name;
        let takes = map?.takes_picture(name);
        (*shape == Shape::Picture && !takes).then_some(name.as_str())
    };
    let names: Vec<_> = shapes.iter().filter_map(is_unread).collect();
    (!names.is_empty()).then(|| Notice {
        kind: "unread_pictures".to_owned(),
        at: Place { source: label.to_owned(), ..Place::default() },
        detail: format!(
            "nothing is made of the pictures {}",
            printable(names.join(", ").as_bytes())
        ),
    })
}

impl Reader for FolderReader {
    fn files(&self) -> &[SourceFile] {
        self.pictures.archives.files()
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        let table = self.tables.get(partition).ok_or_else(|| FormatError::Malformed {
            at: Box::new(Place::default()),
            what: format!("there is no partition {partition}"),
        })?;
        let place = self.place(&table.path);
        let file = self.tree.open(&table.path);
        let rows = file.and_then(|file| TableRows::open(table.form, file, &self.limits));
        let rows =
            rows.map_err(|source| FormatError::Read { at: Box::new(place.clone()), source })?;
        let row = RowReader { table, pictures: &self.pictures, map: self.map.as_ref() };
        Ok(Box::new(TableEdits { reader: self, row, rows, place, pending: VecDeque::new() }))
    }

    fn notices(&self, tally: &Tally) -> Vec<Notice> {
        let mut all = self.pictures.archives.notices();
        all.extend(self.notices.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        // Where not all was read, what was not asked for says nothing.
        let label = self.pictures.archives.label();
        all.extend(fewer(label, self.written.as_ref(), tally, self.tables.len()));
        if tally.edits.len() == self.tables.len() {
            all.extend(self.pictures.unclaimed().map(|(count, first)| Notice {
                kind: "unclaimed_files".to_owned(),
                at: self.place(first),
                detail: format!(
                    "{count} pictures that no pair has, {} for one",
                    printable(first.file_name().as_bytes())
                ),
            }));
        }
        all.into_iter().collect()
    }

    fn parts(&self, _: &Tally) -> Result<Vec<Part>, FormatError> {
        Ok(crate::parts::parts(self))
    }
}

/// The edits of a table.
struct TableEdits<'a> {
    reader: &'a FolderReader,
    row: RowReader<'a>,
    rows: TableRows,
    place: Place,
    /// Edits of the row that was read last.
    pending: VecDeque<Edit>,
}

impl Edits for TableEdits<'_> {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        loop {
            if let Some(edit) = self.pending.pop_front() {
                return Ok(Some(edit));
            }
            let event = self.rows.next().map_err(|source| {
                let at = Box::new(self.place.clone());
                FormatError::Read { at, source }
            })?;
            match event {
                None => return Ok(None),
                Some(event) => self.event(event)?,
            }
        }
    }
}

impl TableEdits<'_> {
    fn event(&mut self, event: Event) -> Result<(), FormatError> {
        let Self { reader, row, place, pending, .. } = self;
        match event {
            Event::Row { number, offset, text } => {
                reader.rows.fetch_add(1, Ordering::Relaxed);
                let at = Place { row: Some(number), offset, ..place.clone() };
                pending.extend(row.edits(number, &at, &text)?);
            }
            Event::Lost(Lost { kind, cause, row: number, offset }) => {
                let at = Place { row: number, offset, ..place.clone() };
                pending.push_back(row.lost(kind, cause, &at, number));
            }
            Event::Behind { offset, detail } => reader.notice(Notice {
                kind: "trailing_garbage".to_owned(),
                at: Place { offset: Some(offset), ..place.clone() },
                detail,
            }),
        }
        Ok(())
    }
}
