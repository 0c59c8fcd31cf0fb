//! The rows of text files: lines, or the items of one JSON array; plain or gzipped.
//!
//! What a file is, its bytes say and never its name. One row is in memory at a time, up to
//! [`Limits::row_bytes`].

mod array;
mod lines;
mod source;

use std::fmt;
use std::io::{self, BufRead};
use std::sync::Arc;

use crate::limits::Limits;
use crate::read::ReadAt;
use array::Items;
use source::{Source, Stop, Text};

/// A row of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'r> {
    /// The place among the rows, from 0. Blank lines are no rows.
    pub number: u64,
    /// Position of the first byte in the text, after decompression, in bytes.
    pub offset: u64,
    /// The row: a line without its end, or an item without what stands around it.
    pub bytes: &'r [u8],
}

/// What [`Rows::next_row`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowEvent<'r> {
    /// A row, whole.
    Row(Row<'r>),
    /// A row longer than [`Limits::row_bytes`], which was passed over.
    TooLong {
        /// The place among the rows, from 0.
        number: u64,
        /// Position of the first byte in the text, after decompression, in bytes.
        offset: u64,
        /// Its length in bytes.
        length: u64,
    },
}

/// How a text ended. Rows given before count, whatever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// As it should.
    Clean,
    /// Something that is not compressed follows the compressed text. Nothing of it was read.
    TrailingGarbage {
        /// Where it begins in the file, in bytes.
        offset: u64,
        /// How much there is.
        bytes: u64,
    },
    /// The file ends inside the compressed text: rows are missing.
    Cut {
        /// Length of the file, in bytes.
        offset: u64,
        /// Number of the row that was begun; it was not given.
        unfinished_row: Option<u64>,
    },
    /// The compressed text is damaged: rows are missing, and the last ones may be wrong.
    Corrupt {
        /// About where in the file, in bytes.
        offset: u64,
        /// What the decompressor says.
        detail: String,
        /// Number of the row that was begun; it was not given.
        unfinished_row: Option<u64>,
    },
    /// The compressed text becomes more than [`Limits::expansion`] lets it: rows are missing.
    TooMuch {
        /// About how far the file was read, in bytes.
        offset: u64,
        /// How many bytes it may become.
        limit: u64,
        /// Number of the row that was begun; it was not given.
        unfinished_row: Option<u64>,
    },
    /// No row ends within [`Limits::gap_bytes`]: nothing was read from there on.
    NoRow {
        /// Position in the text, in bytes.
        offset: u64,
        /// Within how many bytes it should have ended.
        limit: u64,
        /// Number of the row that was begun; it was not given.
        unfinished_row: Option<u64>,
    },
    /// There are more rows than [`Limits::rows`]: the others were not read.
    TooManyRows {
        /// Position of the first that was not given in the text, in bytes.
        offset: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The array has no closing bracket: rows may be missing.
    Unclosed {
        /// Length of the text, in bytes.
        offset: u64,
        /// Number of the row that was begun; it was not given.
        unfinished_row: Option<u64>,
    },
    /// Between two commas of the array there is nothing. Nothing was read from there on.
    MissingItem {
        /// Position in the text, in bytes.
        offset: u64,
    },
    /// There is more behind the array. Nothing of it was read.
    TextAfterArray {
        /// Position in the text, in bytes.
        offset: u64,
    },
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clean => f.write_str("ends as it should"),
            Self::TrailingGarbage { offset, bytes } => {
                write!(f, "{bytes} bytes that are no gzip member follow at byte {offset}")
            }
            Self::Cut { offset, .. } => {
                write!(f, "ends inside the compressed text, at byte {offset}")
            }
            Self::Corrupt { offset, detail, .. } => {
                write!(f, "the compressed text is damaged before byte {offset}: {detail}")
            }
            Self::TooMuch { offset, limit, .. } => {
                write!(f, "before byte {offset} it has become {limit} bytes, and it may no more")
            }
            Self::NoRow { offset, limit, .. } => {
                write!(f, "no row ends within {limit} bytes before byte {offset} of the text")
            }
            Self::TooManyRows { offset, limit } => {
                write!(f, "more than {limit} rows, from byte {offset} of the text on")
            }
            Self::Unclosed { offset, .. } => {
                write!(f, "the array has no end, at byte {offset} of the text")
            }
            Self::MissingItem { offset } => {
                write!(f, "an item of the array is missing at byte {offset} of the text")
            }
            Self::TextAfterArray { offset } => {
                write!(f, "more follows the array at byte {offset} of the text")
            }
        }
    }
}

/// How the rows of a text are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A row a line.
    Lines,
    /// A row an item of a JSON array.
    Array,
}

/// The rows of a text file, one after the other.
pub struct Rows {
    text: Text,
    splitter: Splitter,
    limit: usize,
    row: Vec<u8>,
    most: u64,
    number: u64,
    ending: Option<Ending>,
}

/// How rows are told apart, and where that stands.
enum Splitter {
    Lines,
    Array(Items),
}

/// What a layout found next.
enum Next {
    /// A row from this position on, in the buffer.
    Row { offset: u64 },
    /// A row that is longer than the limit.
    TooLong { offset: u64, length: u64 },
    /// The end of the text; `unfinished` if it came inside a row.
    End { unfinished: bool },
    /// Another end, before that of the text.
    Stop(Ending),
}

impl Rows {
    /// Opens a text, gzipped if its first bytes say so. It is a JSON array if the first character
    /// that is not blank is `[`, and lines otherwise. A byte order mark and what is blank before
    /// the first row are passed over.
    ///
    /// # Errors
    /// Those of reading. Bad data is no error: see [`Rows::ending`].
    pub fn open(file: Arc<dyn ReadAt>, limits: &Limits) -> io::Result<Self> {
        let mut text = Text::new(Source::open(file, limits)?, limits.gap_bytes);
        text.skip_mark()?;
        let splitter = if text.skip_blanks()? == Some(b'[') {
            text.consume(1);
            Splitter::Array(Items::default())
        } else {
            Splitter::Lines
        };
        let (limit, row, most) = (limits.row_bytes, Vec::new(), limits.rows);
        Ok(Self { text, splitter, limit, row, most, number: 0, ending: None })
    }

    /// How rows are told apart.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match self.splitter {
            Splitter::Lines => Layout::Lines,
            Splitter::Array(_) => Layout::Array,
        }
    }

    /// The next row; `None` after the last that is whole, where [`Rows::ending`] tells how the
    /// text ended.
    ///
    /// # Errors
    /// Those of reading. Bad data is no error.
    pub fn next_row(&mut self) -> io::Result<Option<RowEvent<'_>>> {
        if self.ending.is_some() {
            return Ok(None);
        }
        self.row.clear();
        self.text.begin_row();
        let next = match &mut self.splitter {
            Splitter::Lines => lines::next(&mut self.text, self.limit, &mut self.row)?,
            Splitter::Array(items) => items.next(&mut self.text, self.limit, &mut self.row)?,
        };
        let number = self.number;
        let event = match next {
            Next::Row { offset } | Next::TooLong { offset, .. } if number >= self.most => {
                self.ending = Some(Ending::TooManyRows { offset, limit: self.most });
                return Ok(None);
            }
            Next::Row { offset } => RowEvent::Row(Row { number, offset, bytes: &self.row }),
            Next::TooLong { offset, length } => RowEvent::TooLong { number, offset, length },
            Next::End { unfinished } => {
                let unfinished_row = unfinished.then_some(number);
                self.ending = Some(self.end(unfinished_row));
                return Ok(None);
            }
            Next::Stop(ending) => {
                self.ending = Some(ending);
                return Ok(None);
            }
        };
        self.number += 1;
        Ok(Some(event))
    }

    /// How the text ended; `None` before [`Rows::next_row`] has said that there is no more.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn end(&self, unfinished_row: Option<u64>) -> Ending {
        let open = matches!(&self.splitter, Splitter::Array(items) if !items.is_closed());
        match self.text.stop() {
            Some(Stop::Cut { offset }) => Ending::Cut { offset: *offset, unfinished_row },
            Some(Stop::Corrupt { offset, detail }) => {
                Ending::Corrupt { offset: *offset, detail: detail.clone(), unfinished_row }
            }
            Some(Stop::TooMuch { offset, limit }) => {
                Ending::TooMuch { offset: *offset, limit: *limit, unfinished_row }
            }
            Some(Stop::NoRow { limit }) => {
                Ending::NoRow { offset: self.text.offset(), limit: *limit, unfinished_row }
            }
            _ if open => Ending::Unclosed { offset: self.text.offset(), unfinished_row },
            Some(Stop::Garbage { offset, bytes }) => {
                Ending::TrailingGarbage { offset: *offset, bytes: *bytes }
            }
            Some(Stop::Clean) | None => Ending::Clean,
        }
    }
}
