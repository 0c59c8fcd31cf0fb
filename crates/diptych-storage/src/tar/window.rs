//! The part of an archive that is in memory.

use std::io;

use super::header::{self, BLOCK};
use crate::read::ReadAt;

/// Bytes read at once where members are small, so that one read serves many headers.
const WINDOW: usize = 64 << 10;
/// Largest mean distance between headers, in bytes, at which reading what lies between them costs
/// less than a read for each.
const SMALL: u64 = 16 << 10;

/// A stretch of an archive, moved on as bytes are asked for.
pub(super) struct Window<'f> {
    file: &'f dyn ReadAt,
    length: u64,
    buffer: Vec<u8>,
    start: u64,
    filled: usize,
    /// Mean distance between the last headers.
    distance: u64,
}

impl<'f> Window<'f> {
    pub(super) fn new(file: &'f dyn ReadAt) -> Self {
        let length = file.len();
        Self { file, length, buffer: Vec::new(), start: 0, filled: 0, distance: 0 }
    }

    /// Length of the archive.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Notes how far apart two headers are.
    pub(super) fn note_distance(&mut self, distance: u64) {
        self.distance = self.distance / 4 * 3 + distance / 4;
    }

    /// The `count` bytes from `offset` on; fewer only where the archive ends. Where they have to
    /// be read, `expect` bytes are, or many more if headers stand close to each other.
    pub(super) fn get(&mut self, offset: u64, count: usize, expect: usize) -> io::Result<&[u8]> {
        let there = self.length.saturating_sub(offset);
        let count = usize::try_from(there).map_or(count, |there| count.min(there));
        let have = |window: &Self| {
            let from = usize::try_from(offset.checked_sub(window.start)?).ok()?;
            (from.checked_add(count)? <= window.filled).then_some(from)
        };
        let from = match have(self) {
            Some(from) => from,
            None => {
                let close = self.distance <= SMALL;
                let size = if close { WINDOW.max(count) } else { expect.max(count) };
                self.fill(offset, usize::try_from(there).map_or(size, |there| size.min(there)))?;
                0
            }
        };
        Ok(self.buffer.get(from..from + count).unwrap_or_default())
    }

    /// What is in memory from `offset` on, or as much as a window holds: at least `least` bytes,
    /// fewer only where the archive ends.
    pub(super) fn stretch(&mut self, offset: u64, least: usize) -> io::Result<&[u8]> {
        let within = offset.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        let have = within.and_then(|from| self.filled.checked_sub(from)).unwrap_or(0);
        // What is there is used up first: reading a window anew for each block looked at would
        // let a bad archive have itself read many times over.
        let count = if have >= least { have } else { WINDOW.max(least) };
        self.get(offset, count, count)
    }

    /// The position of the first header, at whichever byte its block begins.
    pub(super) fn find_header(&mut self, limit: u64) -> io::Result<Option<u64>> {
        let mut at = 0;
        while at <= limit {
            let stretch = self.stretch(at, BLOCK)?;
            let mut blocks = stretch.windows(BLOCK).map(<&[u8; BLOCK]>::try_from);
            if let Some(before) = blocks.position(|block| block.is_ok_and(header::is_ustar)) {
                return Ok(Some(at + before as u64));
            }
            // A block may begin in this stretch and end in the next.
            let Some(passed) = (stretch.len() + 1).checked_sub(BLOCK).filter(|n| *n > 0) else {
                return Ok(None);
            };
            at += passed as u64;
        }
        Ok(None)
    }

    fn fill(&mut self, offset: u64, size: usize) -> io::Result<()> {
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        self.filled = 0;
        self.start = offset;
        self.file.read_exact_at(offset, self.buffer.get_mut(..size).unwrap_or_default())?;
        self.filled = size;
        Ok(())
    }
}
