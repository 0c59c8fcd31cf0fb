//! A row an item of a JSON array.
//!
//! Only strings and brackets are understood: enough to find where an item ends. Whether it is
//! JSON is for whoever reads the row.

use std::io::{self, BufRead};

use super::source::Text;
use super::{Ending, Next};

/// Where in the array the text is.
#[derive(Default)]
pub(super) struct Items {
    has_any: bool,
    is_closed: bool,
}

/// Where in an item the text is.
#[derive(Default)]
struct Item {
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Bytes so far.
    length: u64,
    /// Bytes up to the last that is not blank.
    solid: u64,
    /// That byte.
    last: u8,
}

impl Items {
    /// Whether the closing bracket was there.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Reads the next item into `row`, which is empty. The opening bracket was read.
    pub(super) fn next(
        &mut self,
        text: &mut Text,
        limit: usize,
        row: &mut Vec<u8>,
    ) -> io::Result<Next> {
        if self.is_closed {
            return behind(text);
        }
        text.skip_blanks()?;
        let offset = text.offset();
        let mut item = Item::default();
        let end = loop {
            let chunk = text.fill_buf()?;
            if chunk.is_empty() {
                break None;
            }
            let end = chunk.iter().position(|byte| item.ends_before(*byte));
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            let room = limit.saturating_sub(row.len());
            row.extend_from_slice(part.get(..room).unwrap_or(part));
            let (end, used) = (end.and_then(|end| chunk.get(end)).copied(), part.len());
            text.consume(used);
            if end.is_some() {
                break end;
            }
        };
        let is_empty = item.solid == 0;
        match end {
            None if is_empty => return Ok(Next::End { unfinished: false }),
            None if !item.is_whole() => return Ok(Next::End { unfinished: true }),
            None => {}
            Some(b']') if is_empty && !self.has_any => {
                text.consume(1);
                self.is_closed = true;
                return behind(text);
            }
            Some(_) if is_empty => {
                return Ok(Next::Stop(Ending::MissingItem { offset: text.offset() }));
            }
            Some(end) => {
                text.consume(1);
                self.is_closed = end == b']';
            }
        }
        self.has_any = true;
        Ok(match usize::try_from(item.solid) {
            Ok(length) if length <= limit => {
                row.truncate(length);
                Next::Row { offset }
            }
            _ => Next::TooLong { offset, length: item.solid },
        })
    }
}

impl Item {
    /// Takes a byte, unless the item ends before it.
    fn ends_before(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b',' | b']' if self.depth == 0 => return true,
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.length += 1;
        if !byte.is_ascii_whitespace() {
            self.solid = self.length;
            self.last = byte;
        }
        false
    }

    /// Whether it is all there although nothing follows: a number could go on, an object cannot.
    fn is_whole(&self) -> bool {
        self.depth == 0 && !self.in_string && matches!(self.last, b'}' | b']' | b'"')
    }
}

/// Looks at what is behind the array.
fn behind(text: &mut Text) -> io::Result<Next> {
    Ok(match text.skip_blanks()? {
        None => Next::End { unfinished: false },
        Some(_) => Next::Stop(Ending::TextAfterArray { offset: text.offset() }),
    })
}
