//! The text of a file: its bytes, or what its gzip members hold, one after the other.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use flate2::bufread::GzDecoder;

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
}

/// The bytes of a text, decompressed.
pub(super) struct Source {
    reader: Option<Reader>,
    stop: Option<Stop>,
}

enum Reader {
    Plain(Input),
    Gzip(Box<GzDecoder<Input>>),
}

impl Source {
    pub(super) fn open(file: Arc<dyn ReadAt>) -> io::Result<Self> {
        let mut input = Input::new(file);
        // A plain decoder stops at the end of a member, which is what is wanted here: to see what
        // follows. One for many members takes whatever follows for a damaged member.
        let reader = if input.peek(GZIP.len())?.starts_with(&GZIP) {
            Reader::Gzip(Box::new(GzDecoder::new(input)))
        } else {
            Reader::Plain(input)
        };
        Ok(Self { reader: Some(reader), stop: None })
    }

    /// Reads on; 0 where the text goes no further, and then `stop` is set.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let decoder = match &mut self.reader {
                None => return Ok(0),
                Some(Reader::Gzip(decoder)) => decoder,
                Some(Reader::Plain(input)) => {
                    let n = input.read(buffer)?;
                    if n == 0 {
                        self.stop(Stop::Clean);
                    }
                    return Ok(n);
                }
            };
            match decoder.read(buffer) {
                Ok(0) => {}
                Ok(n) => return Ok(n),
                Err(error) => {
                    let input = decoder.get_ref();
                    if input.has_failed {
                        return Err(error);
                    }
                    let offset = input.offset();
                    self.stop(match error.kind() {
                        io::ErrorKind::UnexpectedEof => Stop::Cut { offset },
                        _ => Stop::Corrupt { offset, detail: error.to_string() },
                    });
                    return Ok(0);
                }
            }
            if let Some(Reader::Gzip(decoder)) = self.reader.take() {
                self.next_member(decoder.into_inner())?;
            }
        }
    }

    /// Looks at what follows a member.
    fn next_member(&mut self, mut input: Input) -> io::Result<()> {
        // Zeros fill up to the end of a block, as on tapes.
        while input.skip_zeros()? {}
        let rest = input.peek(MEMBER.len())?;
        if rest.starts_with(&MEMBER) {
            self.reader = Some(Reader::Gzip(Box::new(GzDecoder::new(input))));
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
}

impl Text {
    pub(super) fn new(source: Source) -> Self {
        Self { source, buffer: Buffer::default(), offset: 0 }
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
        matches!(self.source.stop, Some(Stop::Cut { .. } | Stop::Corrupt { .. }))
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
        let Self { source, buffer, .. } = self;
        buffer.peek(1, |rest| source.read(rest))
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
        Self { file, buffer: Buffer::default(), end: 0, has_failed: false }
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
