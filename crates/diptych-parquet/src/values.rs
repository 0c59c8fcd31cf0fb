//! Where the values of a column of picture bytes lie: page after page, without reading what is in
//! them.

use std::io;
use std::sync::Arc;

use diptych_storage::ReadAt;

use crate::wire::{self, PageFault, PageLevels};

/// Bytes of a page that are looked at first: its head, its levels and the length of a picture.
const WINDOW: usize = 256;

/// Bytes of a page that are looked at, at most, for its head and its levels.
const MOST: usize = 1 << 20;

/// The range of a value in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// Why values cannot be found.
#[derive(Debug)]
pub(crate) enum ValueFault {
    /// The file cannot be read.
    Read(io::Error),
    /// The bytes are not what they should be: a fragment.
    Unknown(String),
}

impl From<io::Error> for ValueFault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

fn unknown<T>(what: &str, at: u64) -> Result<T, ValueFault> {
    Err(ValueFault::Unknown(format!("{what}, in the page at {at}")))
}

/// The rows of a chunk of a column.
pub(crate) struct Values {
    file: Arc<dyn ReadAt>,
    /// The next page.
    at: u64,
    /// The end of the chunk.
    end: u64,
    max_repetition: u8,
    max_definition: u8,
    page: Option<Page>,
}

/// A page that is gone through.
struct Page {
    /// Where it begins, and the first bytes of it.
    at: u64,
    window: Vec<u8>,
    levels: PageLevels,
    /// Which value comes next, where its length is, and where the page ends.
    value: usize,
    next: u64,
    end: u64,
}

impl Values {
    /// The rows of a chunk that lies there. Its pages are neither compressed nor encoded.
    pub(crate) fn new(
        file: Arc<dyn ReadAt>,
        (start, end): (u64, u64),
        max_repetition: u8,
        max_definition: u8,
    ) -> Self {
        Self { file, at: start, end, max_repetition, max_definition, page: None }
    }

    /// The values of the next row; `None` behind the last. A row without any has none, and a null
    /// in it is none either.
    ///
    /// # Errors
    /// [`ValueFault`].
    pub(crate) fn next_row(&mut self) -> Result<Option<Vec<Place>>, ValueFault> {
        let mut row = Vec::new();
        if self.begins()?.is_none() {
            return Ok(None);
        }
        row.extend(self.value()?);
        // A page may end within a row.
        while self.begins()? == Some(false) {
            row.extend(self.value()?);
        }
        Ok(Some(row))
    }

    /// Whether the next value begins a row; `None` behind the last.
    fn begins(&mut self) -> Result<Option<bool>, ValueFault> {
        loop {
            let page = self.page.as_ref();
            let begins = page.and_then(|page| page.levels.begins.get(page.value));
            match begins {
                Some(begins) => return Ok(Some(*begins)),
                None if self.at >= self.end => return Ok(None),
                None => self.page = Some(self.next_page()?),
            }
        }
    }

    /// Passes over the next value, and says where it is.
    fn value(&mut self) -> Result<Option<Place>, ValueFault> {
        let Some(page) = &mut self.page else { return Ok(None) };
        let definition = page.levels.definition.get(page.value);
        page.value += 1;
        if definition != Some(&self.max_definition) {
            return Ok(None);
        }
        let mut length = [0; 4];
        let offset = page.next.saturating_add(4);
        if offset > page.end {
            return unknown("it has fewer values than it says", page.at);
        }
        page.read(self.file.as_ref(), &mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        page.next = offset.saturating_add(length);
        if page.next > page.end {
            return unknown("a value is longer than it", page.at);
        }
        Ok(Some(Place { offset, length }))
    }

    fn next_page(&mut self) -> Result<Page, ValueFault> {
        let at = self.at;
        let most = usize::try_from(self.end - at).unwrap_or(MOST).min(MOST);
        let mut window = Vec::new();
        let (head, levels) = loop {
            let length = (window.len() * 16).max(WINDOW).min(most);
            window.resize(length, 0);
            self.file.read_exact_at(at, &mut window)?;
            let both = wire::page_head(&window).and_then(|head| {
                let body = window.get(head.length..).unwrap_or_default();
                let levels = wire::levels(&head, body, self.max_repetition, self.max_definition);
                Ok((head, levels?))
            });
            match both {
                Ok(both) => break both,
                Err(PageFault::NeedsMore) if length < most => {}
                Err(PageFault::NeedsMore) => return unknown("it does not end", at),
                Err(PageFault::Unknown(what)) => return unknown(what, at),
            }
        };
        let body = at + head.length as u64;
        let end = body.saturating_add(head.size);
        if end > self.end {
            return unknown("it is longer than its column", at);
        }
        self.at = end;
        let next = body + levels.length as u64;
        Ok(Page { at, window, levels, value: 0, next, end })
    }
}

impl Page {
    /// Reads what comes next, from the first bytes where it is in them.
    fn read(&self, file: &dyn ReadAt, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(self.next - self.at).unwrap_or(usize::MAX);
        let here = start.checked_add(buffer.len()).and_then(|end| self.window.get(start..end));
        match here {
            Some(here) => {
                buffer.copy_from_slice(here);
                Ok(())
            }
            None => file.read_exact_at(self.next, buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of the first form: levels of these bytes, then these values.
    fn page(values: u8, levels: &[u8], texts: &[&str]) -> Vec<u8> {
        let mut body = levels.to_vec();
        for text in texts {
            body.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
            body.extend(text.as_bytes());
        }
        // A number of the head has two bytes where it does not fit in one.
        let size = body.len() * 2;
        let size = [u8::try_from(size & 0x7F).unwrap() | 0x80, u8::try_from(size >> 7).unwrap()];
        let mut page = vec![0x15, 0, 0x15, size[0], size[1], 0x15, size[0], size[1]];
        page.extend([0x2C, 0x15, values * 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]);
        page.extend(body);
        page
    }

    fn rows(bytes: &[u8], repetition: u8, definition: u8) -> Result<Vec<Vec<String>>, String> {
        let end = bytes.len() as u64;
        let file = Arc::new(bytes.to_vec());
        let mut values = Values::new(file, (0, end), repetition, definition);
        let mut rows = Vec::new();
        loop {
            match values.next_row() {
                Ok(None) => return Ok(rows),
                Ok(Some(row)) => rows.push(
                    row.iter()
                        .map(|Place { offset, length }| {
                            let start = usize::try_from(*offset).unwrap();
                            let end = start + usize::try_from(*length).unwrap();
                            String::from_utf8(bytes[start..end].to_vec()).unwrap()
                        })
                        .collect(),
                ),
                Err(ValueFault::Unknown(what)) => return Err(what),
                Err(ValueFault::Read(error)) => return Err(error.to_string()),
            }
        }
    }

    #[test]
    fn values_are_found_over_pages_and_within_them() {
        // Three rows without a picture, then one with, then two in one page.
        let long = "x".repeat(5000);
        let column = [
            page(3, &[2, 0, 0, 0, 6, 0], &[]),
            page(1, &[2, 0, 0, 0, 2, 2], &[&long]),
            page(2, &[2, 0, 0, 0, 4, 2], &["", "b"]),
        ]
        .concat();
        let found = rows(&column, 0, 2).unwrap();
        let row = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(found, [row(&[]), row(&[]), row(&[]), row(&[&long]), row(&[""]), row(&["b"])]);
        // Lists: one of two, an empty one, and one that goes on in the next page.
        let column = [
            page(4, &[2, 0, 0, 0, 3, 0b0010, 3, 0, 0, 0, 4, 4, 3], &["a"]),
            page(4, &[2, 0, 0, 0, 3, 0b0010, 5, 0, 0, 0, 4, 4, 2, 1, 2], &["a", "b"]),
            page(1, &[2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 2, 4], &["c"]),
        ];
        assert!(rows(&column[0], 1, 4).unwrap_err().starts_with("levels that are not as many"));
        let found = rows(&column[1..].concat(), 1, 4);
        assert!(found.is_err(), "{found:?}");
        let whole = page(4, &[2, 0, 0, 0, 3, 0b0010, 4, 0, 0, 0, 4, 4, 4, 1], &["a", "b"]);
        let found = rows(&[whole, column[2].clone()].concat(), 1, 4).unwrap();
        assert_eq!(found, [row(&["a", "b"]), row(&[]), row(&["c"])]);
    }

    #[test]
    fn a_page_that_lies_about_itself_is_told_of() {
        let message = |column: &[u8]| rows(column, 0, 2).unwrap_err();
        let whole = page(1, &[2, 0, 0, 0, 2, 2], &["picture"]);
        let cut = &whole[..whole.len() - 1];
        assert_eq!(message(cut), "it is longer than its column, in the page at 0");
        let mut longer = whole.clone();
        longer[25] += 1;
        assert_eq!(message(&longer), "a value is longer than it, in the page at 0");
        let more = page(2, &[2, 0, 0, 0, 4, 2], &["picture"]);
        assert_eq!(message(&more), "it has fewer values than it says, in the page at 0");
        assert_eq!(message(&whole[..10]), "it does not end, in the page at 0");
    }
}
