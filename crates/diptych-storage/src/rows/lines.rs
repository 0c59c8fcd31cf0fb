//! A row a line.

use std::io::{self, BufRead, Read};

use super::Next;
use super::source::Text;

/// Reads the next line that is not blank into `row`, which is empty.
pub(super) fn next(text: &mut Text, limit: usize, row: &mut Vec<u8>) -> io::Result<Next> {
    // Room for a line as long as may be, and its end.
    let room = limit.saturating_add(2);
    loop {
        row.clear();
        let offset = text.offset();
        let read = text.take(room as u64).read_until(b'\n', row)?;
        if read == 0 {
            return Ok(Next::End { unfinished: false });
        }
        let mut length = read as u64;
        let mut is_blank = row.trim_ascii().is_empty();
        let mut ends_with_return = row.ends_with(b"\r");
        let mut has_end = row.ends_with(b"\n");
        if has_end {
            row.pop();
            length -= 1;
            ends_with_return = row.ends_with(b"\r");
        }
        while !has_end {
            let chunk = text.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            is_blank &= part.trim_ascii().is_empty();
            ends_with_return = part.last().map_or(ends_with_return, |last| *last == b'\r');
            length += part.len() as u64;
            has_end = end.is_some();
            let used = part.len() + usize::from(has_end);
            text.consume(used);
        }
        // A line without an end is the last one, unless more should follow: then it is a piece.
        if !has_end && text.is_broken() {
            return Ok(Next::End { unfinished: !is_blank });
        }
        if is_blank {
            continue;
        }
        if ends_with_return {
            length -= 1;
        }
        return Ok(match usize::try_from(length) {
            Ok(length) if length <= limit => {
                row.truncate(length);
                Next::Row { offset }
            }
            _ => Next::TooLong { offset, length },
        });
    }
}
