//! The rows of a table, whatever its kind, as JSON.

use std::io;
use std::sync::Arc;

use diptych_format::EndOfRows;
use diptych_format::record::RECORD_IN_ROWS;
use diptych_format::table::{Table, TableEvent};
use diptych_storage::rows::{Ending, RowEvent, Rows};
use diptych_storage::{Limits, ReadAt};

use crate::tables::Form;
use diptych_format::csv::{CsvEvent, CsvRows};

/// What comes next of a table.
pub(crate) enum Event {
    /// A row.
    Row {
        /// Its number, from 0.
        number: u64,
        /// Where it begins, in bytes, where rows have a place.
        offset: Option<u64>,
        /// It, as JSON.
        text: Vec<u8>,
    },
    /// What is lost instead of a row, or of several.
    Lost(Lost),
    /// Something at the end that is no row.
    Behind {
        /// Where it begins, in bytes.
        offset: u64,
        /// What it is: a fragment without a period.
        detail: String,
    },
}

/// What is lost of a table.
pub(crate) struct Lost {
    /// The kind of the rejection.
    pub(crate) kind: &'static str,
    /// Why: a fragment without a period.
    pub(crate) cause: String,
    /// The number of the first row that is lost, from 0.
    pub(crate) row: Option<u64>,
    /// Where it begins, in bytes.
    pub(crate) offset: Option<u64>,
}

enum Source {
    Columns(Box<Table>),
    Lines(Box<Rows>),
    Csv(Box<CsvRows>),
}

/// The rows of a table.
pub(crate) struct TableRows {
    source: Option<Source>,
    /// Why there is none.
    unopened: Option<Lost>,
    limit: usize,
}

impl TableRows {
    /// Opens a table.
    ///
    /// # Errors
    /// Those of reading. Bad data is no error: it is told as the first event.
    pub(crate) fn open(form: Form, file: Arc<dyn ReadAt>, limits: &Limits) -> io::Result<Self> {
        let limit = limits.row_bytes.saturating_mul(RECORD_IN_ROWS);
        let limits = Limits { row_bytes: limit, ..*limits };
        let lost = |kind, cause: String| Lost { kind, cause, row: None, offset: None };
        let source = match form {
            _ if file.is_empty() => {
                Err(lost("empty_table", "the file is empty: its rows are lost".to_owned()))
            }
            Form::Lines => Ok(Source::Lines(Box::new(Rows::open(file, &limits)?))),
            Form::Csv => Ok(Source::Csv(Box::new(CsvRows::open(file, &limits)))),
            Form::Columns => Table::open(file, &limits)
                .map(|table| Source::Columns(Box::new(table)))
                .map_err(|why| lost("damaged_parquet", why)),
        };
        let (source, unopened) = match source {
            Ok(source) => (Some(source), None),
            Err(lost) => (None, Some(lost)),
        };
        Ok(Self { source, unopened, limit })
    }

    /// What comes next.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        if let Some(lost) = self.unopened.take() {
            return Ok(Some(Event::Lost(lost)));
        }
        let event = match &mut self.source {
            None => return Ok(None),
            Some(Source::Columns(table)) => table.next_event().map(of_table),
            Some(Source::Lines(rows)) => of_lines(rows, self.limit)?,
            Some(Source::Csv(rows)) => rows.event()?.map(of_csv),
        };
        if event.is_none() {
            let source = self.source.take();
            return Ok(match source {
                Some(Source::Lines(rows)) => at_end(rows.ending()),
                _ => None,
            });
        }
        Ok(event.map(|event| self.within_limit(event)))
    }

    /// A table in columns has no limit of its own.
    fn within_limit(&self, event: Event) -> Event {
        match event {
            Event::Row { number, offset, text } if text.len() > self.limit => {
                Event::Lost(too_long(number, offset, text.len() as u64, self.limit))
            }
            event => event,
        }
    }
}

fn too_long(number: u64, offset: Option<u64>, length: u64, limit: usize) -> Lost {
    let cause = format!("{length} bytes, the limit is {limit}");
    Lost { kind: "row_too_long", cause, row: Some(number), offset }
}

fn of_table(event: TableEvent) -> Event {
    match event {
        TableEvent::Row { number, json } => {
            Event::Row { number, offset: None, text: json.into_bytes() }
        }
        TableEvent::Lost { first, count, cause } => Event::Lost(Lost {
            kind: "damaged_parquet",
            cause: format!("{count} rows from here on cannot be read: {cause}"),
            row: Some(first),
            offset: None,
        }),
    }
}

fn of_lines(rows: &mut Rows, limit: usize) -> io::Result<Option<Event>> {
    Ok(rows.next_row()?.map(|event| match event {
        RowEvent::Row(row) => {
            let text = row.bytes.to_vec();
            Event::Row { number: row.number, offset: Some(row.offset), text }
        }
        RowEvent::TooLong { number, offset, length } => {
            Event::Lost(too_long(number, Some(offset), length, limit))
        }
    }))
}

fn of_csv(event: CsvEvent) -> Event {
    match event {
        CsvEvent::Row { number, offset, fields } => {
            let text = serde_json::Value::from(fields).to_string().into_bytes();
            Event::Row { number, offset: Some(offset), text }
        }
        CsvEvent::Bad { number, offset, kind, cause } => {
            Event::Lost(Lost { kind, cause, row: Some(number), offset: Some(offset) })
        }
    }
}

/// What the end of lines tells.
fn at_end(ending: Option<&Ending>) -> Option<Event> {
    match EndOfRows::of(ending?) {
        EndOfRows::Whole => None,
        EndOfRows::Behind { offset, detail } => Some(Event::Behind { offset, detail }),
        EndOfRows::Lost { row, offset, cause } => {
            let (kind, offset) = ("truncated_metadata", Some(offset));
            Some(Event::Lost(Lost { kind, cause, row, offset }))
        }
    }
}
