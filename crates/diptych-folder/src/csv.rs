//! Rows of text that commas part, as RFC 4180 has them: a cell may be in quotes, and then have
//! commas, ends of lines and doubled quotes in it. The first row names the columns.
//!
//! What is in a cell is text here; an empty one is nothing.

use std::io::{self, BufRead, BufReader};
use std::sync::Arc;

use diptych_storage::ReadAt;
use diptych_storage::read::Cursor;
use serde_json::{Map, Value};

/// What comes next of a table.
#[derive(Debug, PartialEq)]
pub(crate) enum CsvEvent {
    /// A row: its number from 0, where it begins in bytes, and its cells by their columns.
    Row { number: u64, offset: u64, fields: Map<String, Value> },
    /// A row that is none.
    Bad { number: u64, offset: u64, kind: &'static str, cause: String },
}

/// The rows of a table.
pub(crate) struct CsvRows {
    text: BufReader<Cursor>,
    columns: Option<Vec<String>>,
    number: u64,
    /// Where the next row begins.
    offset: u64,
    limit: usize,
}

/// Cells of a row as they are read.
#[derive(Default)]
struct Cells {
    done: Vec<Vec<u8>>,
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
    /// The rows of a file, of which none may have more than `limit` bytes.
    pub(crate) fn open(file: Arc<dyn ReadAt>, limit: usize) -> Self {
        let text = BufReader::new(Cursor::new(file));
        Self { text, columns: None, number: 0, offset: 0, limit }
    }

    /// What comes next.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn next(&mut self) -> io::Result<Option<CsvEvent>> {
        loop {
            let offset = self.offset;
            let Some(cells) = self.cells()? else { return Ok(None) };
            let number = self.number;
            let Some(columns) = &self.columns else {
                // A mark of the order of bytes is no part of a name.
                let names = cells.done.iter().map(|name| String::from_utf8_lossy(name));
                let names = names.map(|name| name.trim_start_matches('\u{feff}').to_owned());
                self.columns = Some(names.collect());
                continue;
            };
            if cells.done.len() == 1 && cells.bytes == 0 {
                continue;
            }
            self.number += 1;
            let bad = |kind, cause| Ok(Some(CsvEvent::Bad { number, offset, kind, cause }));
            if cells.bytes > self.limit {
                let cause = format!("{} bytes, the limit is {}", cells.bytes, self.limit);
                return bad("row_too_long", cause);
            }
            if cells.quotes == Quotes::Open {
                return bad("truncated_metadata", "the file ends within quotes".to_owned());
            }
            if cells.is_torn {
                return bad("invalid_row", "text behind the quotes of a cell".to_owned());
            }
            if cells.done.len() != columns.len() {
                let cause = format!("{} cells, {} columns", cells.done.len(), columns.len());
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
        let mut any = false;
        loop {
            let buffer = self.text.fill_buf()?;
            if buffer.is_empty() {
                cells.end_cell();
                return Ok(any.then_some(cells));
            }
            any = true;
            let mut taken = 0;
            let mut ended = false;
            for byte in buffer {
                taken += 1;
                ended = cells.take(*byte, self.limit);
                if ended {
                    break;
                }
            }
            self.text.consume(taken);
            self.offset += taken as u64;
            if ended {
                return Ok(Some(cells));
            }
        }
    }
}

impl Cells {
    fn end_cell(&mut self) {
        self.done.push(std::mem::take(&mut self.cell));
        if self.quotes != Quotes::Open {
            self.quotes = Quotes::Start;
        }
    }

    /// Takes a byte, and says whether it ends the row.
    fn take(&mut self, byte: u8, limit: usize) -> bool {
        let in_quotes = self.quotes == Quotes::Open;
        match byte {
            b'\n' if !in_quotes => {
                self.end_cell();
                return true;
            }
            b'\r' if !in_quotes => return false,
            b',' if !in_quotes => self.end_cell(),
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
        // Cells without bytes take room, too.
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
        let mut rows = CsvRows::open(Arc::new(text.as_bytes().to_vec()), 100);
        std::iter::from_fn(|| rows.next().unwrap()).collect()
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
}
