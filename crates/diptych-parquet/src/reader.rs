//! Files, row by row, into edits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use diptych_format::archives::Archives;
use diptych_format::foreign::known::unknown;
use diptych_format::foreign::{ColumnMap, Seen};
use diptych_format::shards::Counted;
use diptych_format::table::{Table, TableEvent};
use diptych_format::written::{fewer, stated};
use diptych_format::{
    Edit, Edits, FormatError, Notice, Part, Place, Reader, ReaderInput, Rejection, SourceFile,
    Stated, Tally,
};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadAt};

use crate::NAME;
use crate::columns::Columns;
use crate::files::{Files, RowsFile};
use crate::layout::PICTURES;
use crate::look::Look;
use crate::pictures::PictureRows;
use crate::row::{RowEdits, longest_row};

pub(crate) struct FileReader {
    pub(crate) archives: Archives,
    pub(crate) limits: Limits,
    /// What foreign columns are; `None` where rows have records.
    pub(crate) map: Option<ColumnMap>,
    files: Vec<RowsFile>,
    counted: Vec<Counted>,
    /// Numbers of pictures that lie loose, by their paths.
    pub(crate) loose: BTreeMap<String, u32>,
    partitions: Vec<String>,
    /// How many pairs were written, where the copy says it.
    written: Option<Stated>,
    /// What was noticed while rows were read.
    notices: Mutex<BTreeSet<Notice>>,
    /// Rows read, and rows that the files say they have.
    rows: AtomicU64,
    stated: AtomicU64,
}

impl FileReader {
    pub(crate) fn open(input: &ReaderInput<'_>) -> Result<Self, FormatError> {
        let Files { rows: files, all, loose_from, counted } = Files::of(input.tree.as_ref());
        let nothing = |what: String| FormatError::Malformed {
            at: Box::new(Place { source: input.label.to_owned(), ..Place::default() }),
            what,
        };
        if loose_from == 0 {
            return Err(nothing("no file of rows: there is no .parquet".to_owned()));
        }
        let look = Look::at(input.tree.as_ref());
        let given = ColumnMap::given(NAME, input.options)?;
        let unmet = given.as_ref().and_then(|map| map.unmet(&look.shapes, input.label));
        let lost = look.lost.as_ref().map(|(path, lost)| {
            format!(
                "{path} was written by diptych and has lost columns: {}; it can be read as \
                 somebody else's with the option `map`",
                lost.join(", ")
            )
        });
        let seen = Seen { is_ours: look.ours.is_some(), lost, known: look.known() };
        let map = ColumnMap::of_release(given, seen, || match &look.pictures {
            Some((_, shapes)) => unknown(shapes),
            None => format!("no pictures in its rows: there is {}", look.others.join("; ")),
        });
        let map = map.map_err(nothing)?;
        let loose = (0..).zip(&all).skip(loose_from);
        Ok(Self {
            loose: loose.map(|(number, path)| (path.to_string(), number)).collect(),
            archives: Archives::new(
                input,
                all.into_iter().map(|path| SourceFile::new(vec![path])).collect(),
            ),
            limits: input.limits,
            written: stated(input.tree.as_ref()).filter(|_| map.is_none()),
            map,
            partitions: files.iter().map(|file| file.path.clone()).collect(),
            files,
            counted,
            notices: Mutex::new(unmet.into_iter().collect()),
            rows: AtomicU64::new(0),
            stated: AtomicU64::new(0),
        })
    }

    pub(crate) fn place(&self, path: &str) -> Place {
        Place::file(self.archives.label(), path)
    }

    /// The dataset's name where a row does not tell it.
    pub(crate) fn dataset(&self) -> &str {
        self.map.as_ref().and_then(|map| map.dataset.as_deref()).unwrap_or(NAME)
    }

    fn notice(&self, kind: &str, path: &str, detail: String) {
        let (kind, at) = (kind.to_owned(), self.place(path));
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.insert(Notice { kind, at, detail });
    }

    /// The edit that stands for rows of which nothing is known but where they are.
    fn lost(&self, path: &str, kind: &str, cause: String, row: Option<u64>) -> Edit {
        Edit::Rejected(Box::new(Rejection {
            kind: kind.to_owned(),
            cause,
            at: Place { row, ..self.place(path) },
            dataset: self.dataset().to_owned(),
            subset: None,
            pair_id: None,
            native: None,
        }))
    }

    /// Tells what is read of a file; or that nothing is, with the edit that it costs, if it does.
    fn begin(&self, path: &str, table: Table) -> Result<Begun, Option<Edit>> {
        let takes = |name: &str| self.map.as_ref().is_some_and(|map| map.takes_picture(name));
        let Columns { pictures, others, unread, ours, .. } =
            Columns::of(&table, &self.limits, &takes);
        let (taken, passed_over): (Vec<_>, Vec<_>) = match (&self.map, &ours) {
            (Some(map), _) => {
                pictures.into_iter().partition(|field| map.takes_picture(&field.name))
            }
            (None, Some(names)) => {
                let own = pictures.into_iter().map(|mut field| {
                    if let Some(name) = names.get(&field.name) {
                        field.name.clone_from(name);
                    }
                    field
                });
                own.partition(|field| PICTURES.contains(&field.name.as_str()))
            }
            (None, None) => {
                let columns = printable(table.columns().join(", ").as_bytes());
                let cause = format!("there are no records in its rows; its columns are {columns}");
                return Err(Some(self.lost(path, "missing_record", cause, None)));
            }
        };
        if taken.is_empty() {
            let detail = "its rows have no pictures that are meant, and were not read".to_owned();
            self.notice("no_pictures", path, detail);
            return Err(None);
        }
        if !unread.is_empty() {
            let names = printable(unread.join(", ").as_bytes());
            let detail = format!("the types of the columns {names} have no form in JSON");
            self.notice("unread_columns", path, detail);
        }
        if !passed_over.is_empty() {
            let names: Vec<_> = passed_over.iter().map(|field| field.name.as_str()).collect();
            let names = printable(names.join(", ").as_bytes());
            self.notice(
                "unread_pictures",
                path,
                format!("nothing is made of the pictures {names}"),
            );
        }
        let names = ours.filter(|_| self.map.is_none()).unwrap_or_default();
        let table = table.of_leaves(others).renamed(names);
        Ok(Begun { table, pictures: taken.into_iter().map(PictureRows::new).collect() })
    }
}

impl Reader for FileReader {
    fn files(&self) -> &[SourceFile] {
        self.archives.files()
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        let file = self.files.get(partition).ok_or_else(|| FormatError::Malformed {
            at: Box::new(self.place("")),
            what: format!("there is no partition {partition}"),
        })?;
        let path = file.path.as_str();
        let only = |edit: Option<Edit>| Ok(Box::new(Once(edit)) as Box<dyn Edits>);
        let Some(number) = file.number else {
            let cause = format!("{path} is not there");
            return only(Some(self.lost(path, "missing_shard", cause, None)));
        };
        let input = self.archives.open(number)?;
        let limits = Limits { row_bytes: longest_row(&self.limits), ..self.limits };
        let table = match Table::open(Arc::clone(&input), &limits) {
            Ok(table) => table,
            Err(cause) => return only(Some(self.lost(path, "damaged_parquet", cause, None))),
        };
        self.stated.fetch_add(table.rows(), Ordering::Relaxed);
        match self.begin(path, table) {
            Ok(Begun { table, pictures }) => Ok(Box::new(FileEdits {
                reader: self,
                file,
                number,
                input,
                table,
                pictures,
                group: None,
                pending: Vec::new(),
                ended: false,
            })),
            Err(lost) => only(lost),
        }
    }

    fn notices(&self, tally: &Tally) -> Vec<Notice> {
        let mut all = self.archives.notices();
        let label = self.archives.label();
        all.extend(fewer(label, self.written.as_ref(), tally, self.partitions.len()));
        all.extend(self.notices.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        all.into_iter().collect()
    }

    fn parts(&self, tally: &Tally) -> Result<Vec<Part>, FormatError> {
        let mut parts: Vec<_> = self.counted.iter().map(|counted| counted.part("files")).collect();
        parts.push(Part {
            name: "rows".to_owned(),
            here: self.rows.load(Ordering::Relaxed),
            stated: Some(Stated {
                count: self.stated.load(Ordering::Relaxed),
                by: "the files themselves".to_owned(),
            }),
            published: None,
            missing: None,
        });
        parts.extend(self.written.clone().map(|written| Part {
            name: "pairs".to_owned(),
            here: tally.pairs.iter().sum(),
            stated: Some(written),
            published: None,
            missing: None,
        }));
        Ok(parts)
    }
}

/// A file about to be read.
struct Begun {
    /// Its rows without their pictures.
    table: Table,
    /// The columns of pictures that something is made of.
    pictures: Vec<PictureRows>,
}

struct Once(Option<Edit>);

impl Edits for Once {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        Ok(self.0.take())
    }
}

/// The edits of a file.
struct FileEdits<'a> {
    reader: &'a FileReader,
    file: &'a RowsFile,
    number: u32,
    input: Arc<dyn ReadAt>,
    table: Table,
    pictures: Vec<PictureRows>,
    /// The row group that the columns of pictures stand in.
    group: Option<usize>,
    /// Edits of the row that was read last, the last one first.
    pending: Vec<Edit>,
    ended: bool,
}

impl Edits for FileEdits<'_> {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        loop {
            if let Some(edit) = self.pending.pop() {
                return Ok(Some(edit));
            }
            if self.ended {
                return Ok(None);
            }
            let event = self.table.next_event();
            let is_of_it = event.is_some() && self.group == Some(self.table.group());
            if let Some(group) = self.group.take_if(|_| !is_of_it) {
                self.end(group);
            }
            match event {
                Some(TableEvent::Row { number, json }) => self.row(number, &json)?,
                Some(TableEvent::Lost { first, count, cause }) => {
                    let group = self.table.group();
                    let cause = format!(
                        "{count} rows from here on, in row group {group}, cannot be read: {cause}"
                    );
                    let path = &self.file.path;
                    let lost = self.reader.lost(path, "damaged_parquet", cause, Some(first));
                    self.pending.insert(0, lost);
                    // What its columns of pictures have more is of the rows that are lost.
                    self.group = None;
                }
                None => self.ended = true,
            }
        }
    }
}

impl FileEdits<'_> {
    /// Tells of pictures that are of no row of a row group, all of whose rows were read.
    fn end(&mut self, group: usize) {
        let with_more = self
            .pictures
            .iter_mut()
            .filter_map(|column| column.has_more().then_some(column.field.leaf));
        let leaves: Vec<_> = with_more.map(|leaf| leaf.to_string()).collect();
        if !leaves.is_empty() {
            let leaves = leaves.join(", ");
            let cause = format!("row group {group}: there are more rows in column {leaves}");
            self.pending.push(self.reader.lost(&self.file.path, "damaged_parquet", cause, None));
        }
    }

    fn row(&mut self, row: u64, json: &str) -> Result<(), FormatError> {
        let group = self.table.group();
        if self.group != Some(group) {
            for column in &mut self.pictures {
                column.open(&self.table, group, &self.reader.limits);
            }
            self.group = Some(group);
        }
        for column in &mut self.pictures {
            column.advance(self.reader, self.number)?;
        }
        self.reader.rows.fetch_add(1, Ordering::Relaxed);
        let edits = RowEdits {
            reader: self.reader,
            file: self.file,
            number: self.number,
            input: self.input.as_ref(),
            group,
            row,
            pictures: &self.pictures,
        };
        let edits = edits.read(json)?;
        // Before them is what was found at the end of the row group before.
        self.pending.splice(0..0, edits.into_iter().rev());
        Ok(())
    }
}
