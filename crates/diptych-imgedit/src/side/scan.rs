//! JSON text walked over in one pass without being held: where its values begin and end.
//!
//! Only as much of the grammar is held to as that takes. What a value says is read, and held to
//! all of the grammar, when somebody asks for it.

use std::borrow::Cow;
use std::io;

use diptych_storage::ReadAt;

/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;

/// Why a text cannot be walked over any farther.
#[derive(Debug)]
pub(super) enum ScanError {
    /// It cannot be read.
    Read(io::Error),
    /// It is no JSON.
    Broken {
        /// Where, in bytes from the start of the file.
        at: u64,
        /// What was expected there.
        expected: &'static str,
    },
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// A text and a place in it.
pub(super) struct Scanner<'f> {
    file: &'f dyn ReadAt,
    /// Where the buffer's first byte is in the file.
    start: u64,
    buffer: Vec<u8>,
    /// The place, in the buffer.
    at: usize,
    /// Where the text ends in the file.
    end: u64,
}

impl<'f> Scanner<'f> {
    /// The text of `length` bytes from `offset`, at its start.
    pub(super) fn new(file: &'f dyn ReadAt, offset: u64, length: u64) -> Self {
        let end = offset.saturating_add(length).min(file.len());
        let mut scanner = Self { file, start: offset, buffer: Vec::new(), at: 0, end };
        // A byte order mark is no part of the text.
        let mut mark = [0; 3];
        if length >= 3 && file.read_exact_at(offset, &mut mark).is_ok() && mark == *b"\xEF\xBB\xBF"
        {
            scanner.start = offset + 3;
        }
        scanner
    }

    /// The place, in bytes from the start of the file.
    pub(super) fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    /// What was read of the text from the place on; empty only at the end.
    fn rest(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.buffer.len() {
            self.start = self.position();
            self.at = 0;
            let left = usize::try_from(self.end.saturating_sub(self.start)).unwrap_or(usize::MAX);
            self.buffer.resize(left.min(CHUNK), 0);
            let read = loop {
                match self.file.read_at(self.start, &mut self.buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.buffer.truncate(*read.as_ref().unwrap_or(&0));
            read?;
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    /// The next byte that is not blank, which is not passed; `None` at the end.
    pub(super) fn blank(&mut self) -> io::Result<Option<u8>> {
        loop {
            let rest = self.rest()?;
            if rest.is_empty() {
                return Ok(None);
            }
            let count = rest.iter().take_while(|b| is_blank(**b)).count();
            let next = rest.get(count).copied();
            self.at += count;
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    /// Goes to the next line; `false` where there is none.
    pub(super) fn next_line(&mut self) -> io::Result<bool> {
        loop {
            let rest = self.rest()?;
            if rest.is_empty() {
                return Ok(false);
            }
            match rest.iter().position(|b| *b == b'\n') {
                Some(before) => {
                    self.at += before + 1;
                    return Ok(true);
                }
                None => self.at = self.buffer.len(),
            }
        }
    }

    fn broken<T>(&self, expected: &'static str) -> Result<T, ScanError> {
        Err(ScanError::Broken { at: self.position(), expected })
    }

    /// Passes `byte`, and what is blank before it.
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), ScanError> {
        if self.blank()? != Some(byte) {
            return self.broken(expected);
        }
        self.at += 1;
        Ok(())
    }

    /// Behind an item: whether another follows. What ends the items is passed.
    pub(super) fn more(&mut self, closing: u8) -> Result<bool, ScanError> {
        match self.blank()? {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == closing => {
                self.at += 1;
                Ok(false)
            }
            _ => self.broken("a comma or the end of a list or an object"),
        }
    }

    /// Behind an opening bracket: whether there is an item. If not, the closing one is passed.
    pub(super) fn any(&mut self, closing: u8) -> Result<bool, ScanError> {
        let found = self.blank()? != Some(closing);
        self.at += usize::from(!found);
        Ok(found)
    }

    /// Passes a string and puts it into `text` with its quotation marks. One of more than `limit`
    /// bytes is passed too, but is not in `text`.
    pub(super) fn string(&mut self, text: &mut Vec<u8>, limit: usize) -> Result<(), ScanError> {
        text.clear();
        self.expect(b'"', "a string")?;
        text.push(b'"');
        let mut too_long = false;
        let mut escaped = false;
        loop {
            let rest = self.rest()?;
            if rest.is_empty() {
                return self.broken("the end of a string");
            }
            let (length, ends) = if escaped {
                escaped = false;
                (1, false)
            } else {
                match rest.iter().position(|b| matches!(b, b'"' | b'\\')) {
                    Some(before) => {
                        let ends = rest.get(before) == Some(&b'"');
                        escaped = !ends;
                        (before + 1, ends)
                    }
                    None => (rest.len(), false),
                }
            };
            too_long |= text.len() + length > limit.saturating_add(2);
            if !too_long {
                text.extend_from_slice(rest.get(..length).unwrap_or_default());
            }
            self.at += length;
            if ends {
                if too_long {
                    text.clear();
                }
                return Ok(());
            }
        }
    }

    /// Passes a value of any kind. Of what is inside lists and objects only the brackets count.
    pub(super) fn skip_value(&mut self) -> Result<(), ScanError> {
        let mut depth = 0_u32;
        // Which of the open brackets are those of objects, the innermost in the lowest bit.
        let mut objects = 0_u128;
        let mut text = Vec::new();
        loop {
            match self.blank()? {
                None => return self.broken("a value"),
                Some(b'"') => self.string(&mut text, 0)?,
                Some(bracket @ (b'{' | b'[')) => {
                    if depth == u128::BITS {
                        return self.broken("no more levels of lists and objects");
                    }
                    depth += 1;
                    objects = objects << 1 | u128::from(bracket == b'{');
                    self.at += 1;
                }
                Some(bracket @ (b'}' | b']')) => {
                    if depth == 0 || (objects & 1 == 1) != (bracket == b'}') {
                        return self.broken("another bracket");
                    }
                    depth -= 1;
                    objects >>= 1;
                    self.at += 1;
                }
                Some(b',' | b':') if depth == 0 => return self.broken("a value"),
                Some(b',' | b':') => self.at += 1,
                Some(_) => self.skip_word()?,
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Passes a number, `true`, `false` or `null`, or what stands in the place of one.
    fn skip_word(&mut self) -> io::Result<()> {
        loop {
            let rest = self.rest()?;
            let ends = |b: &u8| {
                is_blank(*b) || matches!(b, b',' | b':' | b']' | b'}' | b'[' | b'{' | b'"')
            };
            match rest.iter().position(ends) {
                Some(length) => {
                    self.at += length;
                    return Ok(());
                }
                None if rest.is_empty() => return Ok(()),
                None => self.at = self.buffer.len(),
            }
        }
    }
}

/// What JSON allows between its parts.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// What a string says that is given with its quotation marks; `None` where it is none.
pub(super) fn unquoted(text: &[u8]) -> Option<Cow<'_, str>> {
    if text.contains(&b'\\') {
        return serde_json::from_slice(text).ok().map(Cow::Owned);
    }
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a text behind its first value; `None` where there is none.
    fn behind(text: &str) -> Option<String> {
        let bytes = text.as_bytes().to_vec();
        let mut scanner = Scanner::new(&bytes, 0, bytes.len() as u64);
        scanner.skip_value().ok()?;
        Some(text[usize::try_from(scanner.position()).unwrap()..].to_owned())
    }

    #[test]
    fn a_value_of_any_kind_is_passed() {
        let left = |text: &str| behind(text).unwrap();
        assert_eq!(left(" 4.5 ,x"), " ,x");
        assert_eq!(left("null"), "");
        assert_eq!(left(r#""a\"]}\\" , 1"#), " , 1");
        assert_eq!(left(r#"{"a": [1, {"b": "]}"}], "c": null}, 2"#), ", 2");
        assert_eq!(left("[]]"), "]");
        assert_eq!(left("\u{c} 1"), " 1", "something is passed always");
        for broken in
            ["", "  ", "[1, 2", "[1}", r#"{"a": [}"#, r#""open"#, r#"{"a": "b}"#, ",", "]"]
        {
            assert_eq!(behind(broken), None, "{broken}");
        }
    }

    #[test]
    fn strings_longer_than_the_limit_are_passed_and_not_held() {
        let bytes = br#""abcdef" "ab\u0063""#.to_vec();
        let mut scanner = Scanner::new(&bytes, 0, bytes.len() as u64);
        let mut text = Vec::new();
        scanner.string(&mut text, 5).unwrap();
        assert!(text.is_empty());
        scanner.string(&mut text, 8).unwrap();
        assert_eq!(unquoted(&text).unwrap(), "abc");
    }

    #[test]
    fn values_may_cross_what_is_read_at_a_time() {
        for before in [CHUNK - 3, CHUNK - 2, CHUNK - 1, CHUNK] {
            let text = format!("{}\"a\\\\b\\\"c\" 7", " ".repeat(before));
            let bytes = text.into_bytes();
            let mut scanner = Scanner::new(&bytes, 0, bytes.len() as u64);
            let mut text = Vec::new();
            scanner.string(&mut text, 100).unwrap();
            assert_eq!(unquoted(&text).unwrap(), "a\\b\"c");
            assert_eq!(scanner.blank().unwrap(), Some(b'7'));
        }
    }
}
