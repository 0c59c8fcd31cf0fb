//! Rows of text that commas part, as RFC 4180 has them: a cell may be in quotes, and then have
//! commas, ends of lines and doubled quotes in it. The first row names the columns.
//!
//! What is in a cell is text here; an empty one is nothing.

use std::io::{self, BufRead, BufReader};
use std::sync::Arc;

use diptych_storage::read::Cursor;
use diptych_storage::{Limits, ReadAt};
use serde_json::{Map, Value};

/// Columns that a table may have: cells take more room than their bytes.
const COLUMNS: usize = 4096;

/// What comes next of a table.
#[derive(Debug, PartialEq)]
pub enum CsvEvent {
    /// A row: its number from 0, where it begins in bytes, and its cells by their columns.
    Row {
        /// From 0; the row of names is none.
        number: u64,
        /// In bytes.
        offset: u64,
        /// Cells by their columns; an empty one is null.
        fields: Map<String, Value>,
    },
    /// A row that is none.
    Bad {
        /// From 0; the row of names is none.
        number: u64,
        /// In bytes.
        offset: u64,
        /// What kind of rejection it is.
        kind: &'static str,
        /// Why it is none.
        cause: String,
    },
}

/// The rows of a table.
pub struct CsvRows {
    text: BufReader<Cursor>,
    columns: Option<Vec<String>>,
    number: u64,
    /// Where the next row begins.
    offset: u64,
    limit: usize,
    /// Rows that are given, at most.
    most: u64,
    /// Bytes in which a row has to end.
    gap: u64,
    ended: bool,
}

/// Cells of a row as they are read.
#[derive(Default)]
struct Cells {
    /// Those that a row can have, and one more.
    done: Vec<Vec<u8>>,
    /// How many there are in all.
    count: usize,
    cell: Vec<u8>,
    bytes: usize,
    quotes: Quotes,
    /// Whether text stands behind the quotes of a cell: one of them is not where it should be.
    is_torn: bool,
}

/// Where reading stands with quotes.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// At the start of a cell.
    #[default]
    Start,
    /// In a cell without quotes.
    None,
    /// Within quotes.
    Open,
    /// Behind a quote that ends them, or is the first of two.
    Closed,
}

impl CsvRows {
    /// The rows of a file, under the limits on rows.
    pub fn open(file: Arc<dyn ReadAt>, limits: &Limits) -> Self {
        let text = BufReader::new(Cursor::new(file));
        let Limits { row_bytes: limit, rows: most, gap_bytes: gap, .. } = *limits;
        Self { text, columns: None, number: 0, offset: 0, limit, most, gap, ended: false }
    }

    /// What comes next.
    ///
    /// # Errors
    /// Those of reading.
    pub fn event(&mut self) -> io::Result<Option<CsvEvent>> {
        if self.ended {
            return Ok(None);
        }
        loop {
            let offset = self.offset;
            let Some(cells) = self.cells()? else { return Ok(None) };
            let number = self.number;
            let bad = |kind, cause| Ok(Some(CsvEvent::Bad { number, offset, kind, cause }));
            if self.offset - offset > self.gap {
                self.ended = true;
                let cause =
                    format!("no row ends within {} bytes: what follows was not read", self.gap);
                return bad("truncated_metadata", cause);
            }
            let too_long = || {
                let cause = format!("{} bytes, the limit is {}", cells.bytes, self.limit);
                (cells.bytes > self.limit).then_some(cause)
            };
            let Some(columns) = &self.columns else {
                let too_many = || format!("{} columns, the limit is {COLUMNS}", cells.count);
                let cause = too_long().or_else(|| (cells.count > COLUMNS).then(too_many));
                if let Some(cause) = cause {
                    self.ended = true;
                    return bad("row_too_long", format!("the names of its columns: {cause}"));
                }
                // A mark of the order of bytes is no part of a name.
                let names = cells.done.iter().map(|name| String::from_utf8_lossy(name));
                let names = names.map(|name| name.trim_start_matches('\u{feff}').to_owned());
                self.columns = Some(names.collect());
                continue;
            };
            if cells.count == 1 && cells.bytes == 0 {
                continue;
            }
            if number >= self.most {
                self.ended = true;
                let cause = format!("there are more than {number} rows: what follows was not read");
                return bad("truncated_metadata", cause);
            }
            if let Some(cause) = too_long() {
                self.number += 1;
                return bad("row_too_long", cause);
            }
            self.number += 1;
            if cells.quotes == Quotes::Open {
                return bad("truncated_metadata", "the file ends within quotes".to_owned());
            }
            if cells.is_torn {
                return bad("invalid_row", "text behind the quotes of a cell".to_owned());
            }
            if cells.count != columns.len() {
                let cause = format!("{} cells, {} columns", cells.count, columns.len());
                return bad("invalid_row", cause);
            }
            let mut fields = Map::new();
            for (name, cell) in columns.iter().zip(cells.done) {
                let value = match String::from_utf8(cell) {
                    Ok(text) if text.is_empty() => Value::Null,
                    Ok(text) => Value::String(text),
                    Err(_) => return bad("invalid_text", "not UTF-8".to_owned()),
                };
                fields.insert(name.clone(), value);
            }
            return Ok(Some(CsvEvent::Row { number, offset, fields }));
        }
    }

    /// The cells of the next row; `None` behind the last.
    fn cells(&mut self) -> io::Result<Option<Cells>> {
        let mut cells = Cells::default();
        let most = self.columns.as_ref().map_or(COLUMNS, Vec::len) + 1;
        let begin = self.offset;
        let mut any = false;
        loop {
            let buffer = self.text.fill_buf()?;
            if buffer.is_empty() {
                cells.end_cell(most);
                return Ok(any.then_some(cells));
            }
            any = true;
            let mut taken = 0;
            let mut ended = false;
            for byte in buffer {
                taken += 1;
                ended = cells.take(*byte, self.limit, most);
                if ended {
                    break;
                }
            }
            self.text.consume(taken);
            self.offset += taken as u64;
            if ended || self.offset - begin > self.gap {
                return Ok(Some(cells));
            }
        }
    }
}

impl Cells {
    fn end_cell(&mut self, most: usize) {
        self.count += 1;
        let cell = std::mem::take(&mut self.cell);
        if self.done.len() < most {
            self.done.push(cell);
        }
        if self.quotes != Quotes::Open {
            self.quotes = Quotes::Start;
        }
    }

    /// Takes a byte, and says whether it ends the row.
    fn take(&mut self, byte: u8, limit: usize, most: usize) -> bool {
        let in_quotes = self.quotes == Quotes::Open;
        match byte {
            b'\n' if !in_quotes => {
                self.end_cell(most);
                return true;
            }
            b'\r' if !in_quotes => return false,
            b',' if !in_quotes => self.end_cell(most),
            b'"' if self.quotes == Quotes::Start => self.quotes = Quotes::Open,
            b'"' if in_quotes => self.quotes = Quotes::Closed,
            byte => {
                self.is_torn |= self.quotes == Quotes::Closed && byte != b'"';
                // Of two quotes the second is one of the text.
                self.quotes = match (self.quotes, byte) {
                    (Quotes::Open, _) | (Quotes::Closed, b'"') => Quotes::Open,
                    _ => Quotes::None,
                };
                if self.bytes <= limit {
                    self.cell.push(byte);
                }
            }
        }
        self.bytes += usize::from(byte != b'"');
        if self.bytes > limit {
            self.done.clear();
            self.cell.clear();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(text: &str) -> Vec<CsvEvent> {
        let limits = Limits { row_bytes: 100, rows: 3, ..Limits::DEFAULT };
        let mut rows = CsvRows::open(Arc::new(text.as_bytes().to_vec()), &limits);
        std::iter::from_fn(|| rows.event().unwrap()).collect()
    }

    fn row(number: u64, offset: u64, fields: Value) -> CsvEvent {
        let Value::Object(fields) = fields else { unreachable!() };
        CsvEvent::Row { number, offset, fields }
    }

    #[test]
    fn cells_may_be_in_quotes() {
        let text = "\u{feff}a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n\r\n,图\n\"\",\"\"";
        assert_eq!(
            rows(text),
            [
                row(0, 8, json!({"a": "1", "b": "x, \"y\"\nz"})),
                row(1, 26, json!({"a": null, "b": "图"})),
                row(2, 31, json!({"a": null, "b": null})),
            ]
        );
        assert_eq!(rows(""), []);
        assert_eq!(rows("a,b\n"), []);
    }

    #[test]
    fn what_is_no_row_is_told() {
        let bad = |text: &str| match rows(text).remove(0) {
            CsvEvent::Bad { number: 0, kind, cause, .. } => (kind, cause),
            other => panic!("{other:?}"),
        };
        assert_eq!(bad("a,b\n1\n").0, "invalid_row");
        assert_eq!(bad("a,b\n1,2,3\n").1, "3 cells, 2 columns");
        assert_eq!(bad("a,b\n1,\"2\n").0, "truncated_metadata");
        // A quote that is opened in one row and closed in another would make one cell of both.
        assert_eq!(bad("a,b\n1,\"2\n3,\"4\"\n").1, "text behind the quotes of a cell");
        let long = format!("a\n{}\nx\n", "y".repeat(101));
        assert_eq!(bad(&long), ("row_too_long", "101 bytes, the limit is 100".to_owned()));
        assert_eq!(rows(&long).len(), 2);
        assert_eq!(bad(&format!("a\n{}\n", ",".repeat(1000))).0, "row_too_long");
    }

    #[test]
    fn rows_and_names_of_columns_are_bounded() {
        assert_eq!(rows("a\n1\n2\n3\n").len(), 3);
        let more = rows("a\n1\n2\n3\n4\n5\n");
        let cause = "there are more than 3 rows: what follows was not read".to_owned();
        let kind = "truncated_metadata";
        assert_eq!(more[3..], [CsvEvent::Bad { number: 3, offset: 8, kind, cause }]);
        let told = |names: &str| rows(&format!("{names}\n1\n"));
        let cause = "the names of its columns: 101 bytes, the limit is 100".to_owned();
        let kind = "row_too_long";
        let bad = CsvEvent::Bad { number: 0, offset: 0, kind, cause };
        assert_eq!(told(&"x".repeat(101)), [bad]);
        assert_eq!(told(&"x".repeat(100)).len(), 1);
        // Cells take more room than their bytes.
        let limits = Limits { row_bytes: 1 << 20, ..Limits::DEFAULT };
        let first = |columns: usize| {
            let text = format!("{}\n{}\n", ",".repeat(columns - 1), ",".repeat(1 << 19));
            CsvRows::open(Arc::new(text.into_bytes()), &limits).event().unwrap().unwrap()
        };
        let CsvEvent::Bad { cause, .. } = first(COLUMNS) else { unreachable!() };
        assert_eq!(cause, "524289 cells, 4096 columns");
        let CsvEvent::Bad { cause, .. } = first(COLUMNS + 1) else { unreachable!() };
        assert_eq!(cause, "the names of its columns: 4097 columns, the limit is 4096");
    }
}
