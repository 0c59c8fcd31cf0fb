//! The text of a file: its bytes, or what its gzip members hold, one after the other.

use std::io::{self, BufRead, Read};
use std::mem::take;
use std::sync::Arc;

use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};

use crate::limits::{EXPANSION_FLOOR, Limits};
use crate::read::ReadAt;

/// Bytes that are read, and decompressed, at once.
const BUFFER: usize = 64 << 10;
/// How a gzip file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How each member begins: the same, and the one method there is.
const MEMBER: [u8; 3] = [0x1f, 0x8b, 8];
/// How a UTF-8 text may begin.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Why a text goes no further.
pub(super) enum Stop {
    /// It is at its end.
    Clean,
    /// Something that is not compressed follows.
    Garbage { offset: u64, bytes: u64 },
    /// The file ends inside a member.
    Cut { offset: u64 },
    /// A member is damaged.
    Corrupt { offset: u64, detail: String },
    /// It becomes more than it may.
    TooMuch { offset: u64, limit: u64 },
    /// No row ends within so many bytes.
    NoRow { limit: u64 },
}

/// The bytes of a text, decompressed.
pub(super) struct Source {
    reader: Option<Reader>,
    stop: Option<Stop>,
    /// Bytes that the text may still have.
    left: u64,
    /// Bytes that it may have in all.
    most: u64,
}

enum Reader {
    Plain(Input),
    Gzip(Box<Member>),
    /// What is left of a damaged member, and where the damage is.
    Rest {
        text: io::Cursor<Vec<u8>>,
        offset: u64,
        detail: String,
    },
}

/// A gzip member being read.
struct Member {
    decoder: GzDecoder<Input>,
    /// Where its compressed data begin in the file, behind its header.
    start: u64,
    /// Bytes of its text that were given.
    given: u64,
}

impl Member {
    fn new(input: Input) -> Box<Self> {
        let decoder = GzDecoder::new(input);
        // The decoder reads the header as soon as it is made.
        let start = decoder.get_ref().offset();
        Box::new(Self { decoder, start, given: 0 })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.decoder.read(buffer)?;
        self.given += n as u64;
        Ok(n)
    }

    /// The text between what was given and damage. A decoder that comes upon damage drops what it
    /// had made out in the same step, which may be many good rows; here it is made out again, and
    /// what is before the damage is kept.
    fn rest(&self) -> io::Result<Vec<u8>> {
        if self.decoder.header().is_none() {
            // The header itself is damaged: nobody knows where the text begins.
            return Ok(Vec::new());
        }
        let file = Arc::clone(&self.decoder.get_ref().file);
        let mut input = Input::at(file, self.start);
        let mut inflate = Decompress::new(false);
        let mut step = vec![0; BUFFER];
        let mut rest = Vec::new();
        loop {
            let (read, made) = (inflate.total_in(), inflate.total_out());
            let compressed = input.fill_buf()?;
            // What was given is passed over, and not a byte more at once.
            let passed = usize::try_from(self.given.saturating_sub(made)).unwrap_or(BUFFER);
            let most = if passed == 0 { BUFFER } else { passed.min(BUFFER) };
            let step = step.get_mut(..most).unwrap_or_default();
            let done = inflate.decompress(compressed, step, FlushDecompress::None);
            let (read, new) = (inflate.total_in() - read, inflate.total_out() - made);
            input.consume(usize::try_from(read).unwrap_or(usize::MAX));
            if passed == 0 {
                let new = usize::try_from(new).ok().and_then(|new| step.get(..new));
                rest.extend_from_slice(new.unwrap_or_default());
            }
            let stuck = read == 0 && new == 0;
            if stuck || !matches!(done, Ok(Status::Ok)) || rest.len() > BUFFER {
                return Ok(rest);
            }
        }
    }
}

impl Source {
    pub(super) fn open(file: Arc<dyn ReadAt>, limits: &Limits) -> io::Result<Self> {
        let most = file.len().saturating_mul(limits.expansion).max(EXPANSION_FLOOR);
        let mut input = Input::new(file);
        // A plain decoder stops at the end of a member, which is what is wanted here: to see what
        // follows. One for many members takes whatever follows for a damaged member.
        let reader = if input.peek(GZIP.len())?.starts_with(&GZIP) {
            Reader::Gzip(Member::new(input))
        } else {
            Reader::Plain(input)
        };
        Ok(Self { reader: Some(reader), stop: None, left: most, most })
    }

    /// Reads on; 0 where the text goes no further, and then `stop` is set.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let member = match &mut self.reader {
                None => return Ok(0),
                Some(Reader::Gzip(member)) => member,
                Some(Reader::Plain(input)) => {
                    let n = input.read(buffer)?;
                    if n == 0 {
                        self.stop(Stop::Clean);
                    }
                    return Ok(n);
                }
                Some(Reader::Rest { text, offset, detail }) => {
                    let n = text.read(buffer)?;
                    if n == 0 {
                        let stop = Stop::Corrupt { offset: *offset, detail: take(detail) };
                        self.stop(stop);
                    }
                    return Ok(n);
                }
            };
            match member.read(buffer) {
                Ok(0) => {}
                Ok(n) => {
                    let offset = member.decoder.get_ref().offset();
                    return Ok(self.within_limit(n, offset));
                }
                Err(error) => {
                    let input = member.decoder.get_ref();
                    if input.has_failed {
                        return Err(error);
                    }
                    let offset = input.offset();
                    if error.kind() == io::ErrorKind::UnexpectedEof {
                        self.stop(Stop::Cut { offset });
                        return Ok(0);
                    }
                    let (text, detail) = (io::Cursor::new(member.rest()?), error.to_string());
                    self.reader = Some(Reader::Rest { text, offset, detail });
                    continue;
                }
            }
            if let Some(Reader::Gzip(member)) = self.reader.take() {
                self.next_member(member.decoder.into_inner())?;
            }
        }
    }

    /// As much of what was decompressed as the text may have.
    fn within_limit(&mut self, bytes: usize, offset: u64) -> usize {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => {
                self.left = left;
                bytes
            }
            None => {
                self.stop(Stop::TooMuch { offset, limit: self.most });
                usize::try_from(self.left).unwrap_or(bytes)
            }
        }
    }

    /// Looks at what follows a member.
    fn next_member(&mut self, mut input: Input) -> io::Result<()> {
        // Zeros fill up to the end of a block, as on tapes.
        while input.skip_zeros()? {}
        let rest = input.peek(MEMBER.len())?;
        if rest.starts_with(&MEMBER) {
            self.reader = Some(Reader::Gzip(Member::new(input)));
            return Ok(());
        }
        let (there, is_begun) = (rest.len() as u64, MEMBER.starts_with(rest));
        let offset = input.offset();
        self.stop(match there {
            0 => Stop::Clean,
            _ if is_begun => Stop::Cut { offset: offset + there },
            _ => Stop::Garbage { offset, bytes: input.file.len().saturating_sub(offset) },
        });
        Ok(())
    }

    fn stop(&mut self, stop: Stop) {
        self.reader = None;
        self.stop = Some(stop);
    }
}

/// A source with a buffer and the position in the text.
pub(super) struct Text {
    source: Source,
    buffer: Buffer,
    offset: u64,
    /// Where the next row has to have ended.
    end_of_row: u64,
    gap: u64,
}

impl Text {
    /// A text in which a row, and what is blank before it, has at most `gap` bytes.
    pub(super) fn new(source: Source, gap: u64) -> Self {
        Self { source, buffer: Buffer::default(), offset: 0, end_of_row: gap, gap }
    }

    /// A row begins here, or what is blank before it.
    pub(super) fn begin_row(&mut self) {
        self.end_of_row = self.offset.saturating_add(self.gap);
    }

    /// Position of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Why the text ended; `None` before it has.
    pub(super) fn stop(&self) -> Option<&Stop> {
        self.source.stop.as_ref()
    }

    /// Whether bytes that should follow are missing. It is known once there are no more bytes.
    pub(super) fn is_broken(&self) -> bool {
        matches!(
            self.source.stop,
            Some(
                Stop::Cut { .. } | Stop::Corrupt { .. } | Stop::TooMuch { .. } | Stop::NoRow { .. }
            )
        )
    }

    /// Passes over a byte order mark.
    pub(super) fn skip_mark(&mut self) -> io::Result<()> {
        let Self { source, buffer, .. } = self;
        if buffer.peek(MARK.len(), |rest| source.read(rest))?.starts_with(&MARK) {
            self.consume(MARK.len());
        }
        Ok(())
    }

    /// Passes over what is blank, and gives the byte behind it.
    pub(super) fn skip_blanks(&mut self) -> io::Result<Option<u8>> {
        loop {
            let chunk = self.fill_buf()?;
            let blanks = chunk.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let (next, is_end) = (chunk.get(blanks).copied(), chunk.is_empty());
            self.consume(blanks);
            if next.is_some() || is_end {
                return Ok(next);
            }
        }
    }
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Text {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let Self { source, buffer, offset, end_of_row, gap } = self;
        // To the byte: where it stops is told, and must not depend on how much is read at a time.
        let left = end_of_row.saturating_sub(*offset);
        if left == 0 && !buffer.peek(1, |rest| source.read(rest))?.is_empty() {
            source.stop(Stop::NoRow { limit: *gap });
            *buffer = Buffer::default();
        }
        let bytes = buffer.peek(1, |rest| source.read(rest))?;
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        Ok(bytes.get(..left).unwrap_or(bytes))
    }

    fn consume(&mut self, amount: usize) {
        self.buffer.consume(amount);
        self.offset += amount as u64;
    }
}

/// The bytes of a file, in order, with the position in it.
struct Input {
    file: Arc<dyn ReadAt>,
    buffer: Buffer,
    /// Position behind the buffer.
    end: u64,
    /// Whether an error is one of reading, and not of the decoder that reads from here.
    has_failed: bool,
}

impl Input {
    fn new(file: Arc<dyn ReadAt>) -> Self {
        Self::at(file, 0)
    }

    /// The bytes from `offset` on.
    fn at(file: Arc<dyn ReadAt>, offset: u64) -> Self {
        Self { file, buffer: Buffer::default(), end: offset, has_failed: false }
    }

    /// Position of the next byte.
    fn offset(&self) -> u64 {
        self.end - self.buffer.rest().len() as u64
    }

    /// The next bytes, at least `count`; fewer only at the end.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        let Self { file, buffer, end, has_failed } = self;
        buffer.peek(count, |rest| {
            loop {
                match file.read_at(*end, rest) {
                    // The file became shorter, which must not pass for its end.
                    Ok(0) if *end < file.len() => {
                        *has_failed = true;
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    Ok(n) => {
                        *end += n as u64;
                        return Ok(n);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        *has_failed = true;
                        return Err(error);
                    }
                }
            }
        })
    }

    /// Passes over zeros, and tells whether there may be more of them.
    fn skip_zeros(&mut self) -> io::Result<bool> {
        let chunk = self.fill_buf()?;
        let zeros = chunk.iter().take_while(|byte| **byte == 0).count();
        let all = zeros > 0 && zeros == chunk.len();
        self.consume(zeros);
        Ok(all)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.peek(1)
    }

    fn consume(&mut self, amount: usize) {
        self.buffer.consume(amount);
    }
}

/// Bytes that were read and not yet used.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    fn consume(&mut self, amount: usize) {
        self.start = self.end.min(self.start.saturating_add(amount));
    }

    /// What is not yet used, at least `count` bytes of it, which are few; fewer only where `read`
    /// gives no more.
    fn peek(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<&[u8]> {
        while self.end - self.start < count {
            if self.bytes.is_empty() {
                self.bytes.resize(BUFFER, 0);
            }
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            match read(self.bytes.get_mut(self.end..).unwrap_or_default())? {
                0 => break,
                n => self.end += n,
            }
        }
        Ok(self.rest())
    }
}
