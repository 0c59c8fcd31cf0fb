//! A column of picture bytes: pages that are made up here, since a page of the `parquet` crate is put
//! together in memory, which costs more than copying what is in it.
//!
//! A page is the pictures of a row; rows without any share one. How long each is, and so where it
//! lies, is known before a byte is read: the column is described first, then its bytes are copied
//! through a buffer.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use diptych_format::record::columns::ColumnsError;
use diptych_format::{FormatError, Payload};
use diptych_storage::output::OutputError;
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescPtr;

use crate::wire::{self, Levels};

/// Bytes that are copied at a time.
const BUFFER: usize = 256 << 10;

/// A picture that waits for its column's turn.
#[derive(Clone)]
pub(crate) struct Waiting {
    /// Which row of the row group it is of.
    pub(crate) row: usize,
    /// Its bytes.
    pub(crate) payload: Payload,
}

/// The pictures of a column of a row group.
pub(crate) struct PictureColumn<'a> {
    levels: Levels,
    /// The pair of each row.
    pairs: &'a [String],
    /// In the order of their rows.
    pictures: &'a [Waiting],
    /// Why its bytes cannot be had.
    failed: Mutex<Option<FormatError>>,
}

/// What is in a page.
#[derive(Clone, Copy)]
struct Page<'a> {
    /// Its first row.
    row: usize,
    /// Its rows.
    rows: usize,
    /// The pictures of its one row; none where it is of rows without any.
    pictures: &'a [Waiting],
}

impl Page<'_> {
    /// What stands before its values; `None` where it is too long for a page.
    fn head(&self, levels: Levels) -> Option<Vec<u8>> {
        let length = |of: &Waiting| of.payload.length().checked_add(4);
        let all = |sum: u64, of: &Waiting| sum.checked_add(length(of)?);
        let bytes = self.pictures.iter().try_fold(0, all)?;
        wire::head_of_page(levels, self.rows, self.pictures.len(), bytes)
    }

    /// Bytes of it, its head among them.
    fn length(&self, head: &[u8]) -> u64 {
        let pictures: u64 = self.pictures.iter().map(|of| 4 + of.payload.length()).sum();
        head.len() as u64 + pictures
    }
}

/// The pages of a column, in order.
struct Pages<'a> {
    row: usize,
    rows: usize,
    pictures: &'a [Waiting],
}

impl<'a> Iterator for Pages<'a> {
    type Item = Page<'a>;

    fn next(&mut self) -> Option<Page<'a>> {
        let row = self.row;
        let next = self.pictures.first().map_or(self.rows, |first| first.row);
        if next > row {
            self.row = next;
            return Some(Page { row, rows: next - row, pictures: &[] });
        }
        let of_row = self.pictures.chunk_by(|a, b| a.row == b.row).next()?;
        self.pictures = self.pictures.get(of_row.len()..).unwrap_or_default();
        self.row += 1;
        Some(Page { row, rows: 1, pictures: of_row })
    }
}

impl<'a> PictureColumn<'a> {
    /// The column of a row group with these pairs. `pictures` are in the order of their rows.
    pub(crate) fn new(levels: Levels, pairs: &'a [String], pictures: &'a [Waiting]) -> Self {
        Self { levels, pairs, pictures, failed: Mutex::new(None) }
    }

    fn pages(&self) -> Pages<'a> {
        Pages { row: 0, rows: self.pairs.len(), pictures: self.pictures }
    }

    fn pair(&self, row: usize) -> String {
        self.pairs.get(row).cloned().unwrap_or_default()
    }

    /// What the file says of the column, whose bytes begin at 0.
    ///
    /// # Errors
    /// Where the pictures of a row are too long for a page.
    pub(crate) fn described(
        &self,
        column: ColumnDescPtr,
    ) -> Result<ColumnCloseResult, FormatError> {
        let mut index = OffsetIndexBuilder::new();
        let (mut bytes, mut values) = (0_u64, 0_usize);
        for page in self.pages() {
            let head = page.head(self.levels).ok_or_else(|| {
                let what = "pictures that are too long for a page".to_owned();
                let pair_id = self.pair(page.row);
                let source = FormatError::CannotHold { pair_id: pair_id.clone(), what };
                FormatError::Pair { pair_id, source: Box::new(source) }
            })?;
            let length = page.length(&head);
            // A page is shorter than that, and there are fewer rows.
            let offset = i64::try_from(bytes).unwrap_or(i64::MAX);
            index.append_offset_and_size(offset, i32::try_from(length).unwrap_or(i32::MAX));
            index.append_row_count(i64::try_from(page.rows).unwrap_or(i64::MAX));
            bytes += length;
            values += page.pictures.len().max(page.rows);
        }
        let size = i64::try_from(bytes).unwrap_or(i64::MAX);
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE])
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(size)
            .set_num_values(i64::try_from(values).unwrap_or(i64::MAX))
            .set_data_page_offset(0)
            .build();
        let metadata = metadata.map_err(ColumnsError::from)?;
        Ok(ColumnCloseResult {
            bytes_written: bytes,
            rows_written: self.pairs.len() as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(index.build()),
        })
    }

    /// Why its bytes could not be had, where that is what failed.
    pub(crate) fn into_failed(self) -> Option<FormatError> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Length for &PictureColumn<'_> {
    fn len(&self) -> u64 {
        let head = |page: &Page<'_>| page.head(self.levels).unwrap_or_default();
        self.pages().map(|page| page.length(&head(&page))).sum()
    }
}

impl<'a> ChunkReader for &'a PictureColumn<'_> {
    type T = PageStream<'a>;

    /// The bytes from the first on: no others are asked for.
    fn get_read(&self, _: u64) -> Result<PageStream<'a>, ParquetError> {
        let (buffer, taken) = (Vec::with_capacity(BUFFER), 0);
        Ok(PageStream { column: self, pages: self.pages(), left: &[], copied: None, buffer, taken })
    }

    fn get_bytes(&self, _: u64, _: usize) -> Result<Bytes, ParquetError> {
        Err(ParquetError::General("pages are read as a stream".to_owned()))
    }
}

/// The bytes of a column.
pub(crate) struct PageStream<'a> {
    column: &'a PictureColumn<'a>,
    pages: Pages<'a>,
    /// Pictures of the page that were not begun.
    left: &'a [Waiting],
    /// The picture that was begun, and how much of it is done.
    copied: Option<(&'a Waiting, u64)>,
    buffer: Vec<u8>,
    /// How much of the buffer was given.
    taken: usize,
}

impl PageStream<'_> {
    /// Puts what comes next into the buffer; nothing at the end.
    fn fill(&mut self) -> Result<(), FormatError> {
        self.buffer.clear();
        self.taken = 0;
        while self.buffer.len() < BUFFER {
            if let Some((picture, done)) = self.copied {
                let failed = |error: OutputError| FormatError::Pair {
                    pair_id: self.column.pair(picture.row),
                    source: Box::new(error.into()),
                };
                let left = picture.payload.length().saturating_sub(done);
                let room = BUFFER - self.buffer.len();
                let part = usize::try_from(left).map_or(room, |left| left.min(room));
                read(&picture.payload, done, part, &mut self.buffer).map_err(failed)?;
                let done = done + part as u64;
                self.copied = (part as u64 != left).then_some((picture, done));
            } else if let Some((picture, left)) = self.left.split_first() {
                // A page is as short as its head says, and so is what is in it.
                let length = u32::try_from(picture.payload.length()).unwrap_or(u32::MAX);
                self.buffer.extend(length.to_le_bytes());
                (self.left, self.copied) = (left, Some((picture, 0)));
            } else if let Some(page) = self.pages.next() {
                self.buffer.extend(page.head(self.column.levels).unwrap_or_default());
                self.left = page.pictures;
            } else {
                break;
            }
        }
        Ok(())
    }
}

/// Appends a part of a picture.
fn read(
    payload: &Payload,
    done: u64,
    part: usize,
    buffer: &mut Vec<u8>,
) -> Result<(), OutputError> {
    match payload {
        Payload::Bytes(bytes) => {
            let start = usize::try_from(done).unwrap_or(usize::MAX);
            buffer.extend_from_slice(bytes.get(start..start + part).unwrap_or_default());
        }
        Payload::Range { file, offset, length } => {
            let before = buffer.len();
            buffer.resize(before + part, 0);
            let place = buffer.get_mut(before..).unwrap_or_default();
            let read = file.read_exact_at(offset.saturating_add(done), place);
            let (offset, length) = (*offset, *length);
            read.map_err(|source| OutputError::Read { offset, length, source })?;
        }
    }
    Ok(())
}

impl Read for PageStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.buffer.len()
            && let Err(failed) = self.fill()
        {
            let column = &self.column.failed;
            *column.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
            return Err(io::Error::other("the bytes of a picture cannot be had"));
        }
        let rest = self.buffer.get(self.taken..).unwrap_or_default();
        let part = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..part), rest.get(..part)) {
            to.copy_from_slice(from);
        }
        self.taken += part;
        Ok(part)
    }
}
