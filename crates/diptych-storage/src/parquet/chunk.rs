//! Values of a column of bytes, page after page.
//!
//! Where a page is neither compressed nor encoded its values lie in the file as they are: where
//! they lie is told without reading them. Every other page is decompressed by the `parquet` crate,
//! one at a time, after its head was held against the limits.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use ::parquet::basic::{Compression, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use ::parquet::file::serialized_reader::SerializedPageReader;

use super::bounds::check_page;
use super::head::{self, DataHead, PageFault, PageHead, PageKind};
use super::{ParquetInput, guarded};
use crate::limits::Limits;
use crate::read::ReadAt;

/// Bytes of a page that are looked at first: its head, its levels and the length of a value.
const WINDOW: usize = 256;

/// Bytes of a page that are looked at, at most, for its head and its levels.
const MOST: usize = 1 << 20;

/// The highest level that is read.
const LEVELS: i16 = 7;

/// Why values cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValueFault {
    /// The file cannot be read.
    #[error("the file cannot be read")]
    Read(#[from] io::Error),
    /// The bytes are not what they should be: a fragment.
    #[error("{0}")]
    Damaged(String),
}

impl From<ValueFault> for io::Error {
    fn from(fault: ValueFault) -> Self {
        match fault {
            ValueFault::Read(error) => error,
            ValueFault::Damaged(what) => Self::new(io::ErrorKind::InvalidData, what),
        }
    }
}

pub(super) fn damaged<T>(what: &str, at: u64) -> Result<T, ValueFault> {
    Err(ValueFault::Damaged(format!("{what}, in the page at {at}")))
}

/// Where the bytes of a value are.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// In the file as they are.
    Range {
        /// The first byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// In a page that was decompressed or decoded, all of which they keep in memory.
    Held(ByteArray),
}

impl Value {
    /// Bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Range { length, .. } => *length,
            Self::Held(bytes) => bytes.len() as u64,
        }
    }
}

/// A value of a row, or the place of one that is null.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Which of all values of the chunk it is, from 0, nulls among them.
    pub number: u64,
    /// The value.
    pub value: Option<Value>,
}

/// A column of bytes in a row group.
pub struct Chunk {
    input: ParquetInput,
    metadata: ColumnChunkMetaData,
    start: u64,
    end: u64,
    max_repetition: u8,
    max_definition: u8,
    /// The level from which on there is an item of a list; 0 where there is no list.
    item: u8,
    page_bytes: u64,
    page_expansion: u64,
    dictionary: Mutex<Option<Page>>,
}

/// A page that was found and not read.
pub(super) struct FoundPage {
    pub(super) at: u64,
    pub(super) head: PageHead,
    pub(super) data: DataHead,
    /// The first bytes.
    window: Vec<u8>,
}

impl FoundPage {
    fn end(&self) -> u64 {
        self.at.saturating_add(self.head.length as u64).saturating_add(self.head.size)
    }
}

/// A page whose values are known.
pub(super) struct ReadPage {
    values: Vec<Slot>,
    /// About how many bytes of memory it takes.
    pub(super) bytes: usize,
}

struct Slot {
    begins: bool,
    is_item: bool,
    value: Option<Value>,
}

impl ReadPage {
    pub(super) fn count(&self) -> u64 {
        self.values.len() as u64
    }

    pub(super) fn value(&self, number: u64) -> Option<&Value> {
        self.values.get(usize::try_from(number).ok()?)?.value.as_ref()
    }
}

impl Chunk {
    /// The chunk of a leaf column in a row group. The file's metadata have been held against its
    /// length ([`check_columns`](super::check_columns)).
    ///
    /// # Errors
    /// Why it cannot be read as bytes: a fragment.
    pub fn open(
        input: &ParquetInput,
        metadata: &ParquetMetaData,
        row_group: usize,
        column: usize,
        limits: &Limits,
    ) -> Result<Self, String> {
        let chunk = Self::of_any_type(input, metadata, row_group, column, limits)?;
        if chunk.metadata.column_type() != Type::BYTE_ARRAY {
            return Err("it is no column of bytes".to_owned());
        }
        let descriptor = chunk.metadata.column_descr();
        let levels = [
            descriptor.max_rep_level(),
            descriptor.max_def_level(),
            descriptor.repeated_ancestor_def_level(),
        ];
        let level = |level: i16| u8::try_from(level).ok().filter(|_| level <= LEVELS);
        let [Some(max_repetition), Some(max_definition), Some(item)] = levels.map(level) else {
            return Err("it is nested too deeply".to_owned());
        };
        if max_repetition > 1 {
            return Err("it has lists within lists".to_owned());
        }
        Ok(Self { max_repetition, max_definition, item, ..chunk })
    }

    /// The same of values of any type, of which the heads of pages can be read and nothing else.
    pub(super) fn of_any_type(
        input: &ParquetInput,
        metadata: &ParquetMetaData,
        row_group: usize,
        column: usize,
        limits: &Limits,
    ) -> Result<Self, String> {
        let group = metadata.row_groups().get(row_group).ok_or("there is no such row group")?;
        let chunk = group.columns().get(column).ok_or("there is no such column")?;
        if chunk.file_path().is_some() {
            return Err("its values are in another file".to_owned());
        }
        let first = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let start = u64::try_from(first).map_err(|_| "it lies before the file")?;
        let size = u64::try_from(chunk.compressed_size()).map_err(|_| "it has no size")?;
        Ok(Self {
            input: input.clone(),
            start,
            end: start.saturating_add(size),
            max_repetition: 0,
            max_definition: 0,
            item: 0,
            metadata: chunk.clone(),
            page_bytes: limits.page_bytes,
            page_expansion: limits.page_expansion,
            dictionary: Mutex::default(),
        })
    }

    pub(super) fn file(&self) -> &dyn ReadAt {
        self.input.0.as_ref()
    }

    /// The first page of values at `at` or behind it; `None` at the end of the chunk.
    pub(super) fn page(&self, mut at: u64) -> Result<Option<FoundPage>, ValueFault> {
        loop {
            if at >= self.end {
                return Ok(None);
            }
            let (head, window) = self.head(at)?;
            let data = match head.kind {
                PageKind::Data(data) => data,
                PageKind::Dictionary | PageKind::Other => {
                    at = at.saturating_add(head.length as u64).saturating_add(head.size);
                    continue;
                }
            };
            return Ok(Some(FoundPage { at, head, data, window }));
        }
    }

    pub(super) fn input(&self) -> &ParquetInput {
        &self.input
    }

    pub(super) fn compression(&self) -> Compression {
        self.metadata.compression()
    }

    /// Bytes that a page may have.
    pub(super) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// How many times its size a page may become, where that is much.
    pub(super) fn page_expansion(&self) -> u64 {
        self.page_expansion
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Where the chunk begins, and with it its first page.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Where the page behind this one begins.
    pub(super) fn behind(page: &FoundPage) -> u64 {
        page.end()
    }

    /// The head of the page at `at`, and its first bytes.
    pub(super) fn head(&self, at: u64) -> Result<(PageHead, Vec<u8>), ValueFault> {
        let most = usize::try_from(self.end - at).unwrap_or(MOST).min(MOST);
        let mut window = Vec::new();
        let head = loop {
            self.widen(at, &mut window, most)?;
            match head::page_head(&window) {
                Ok(head) => break head,
                Err(PageFault::NeedsMore) if window.len() < most => {}
                Err(PageFault::NeedsMore) => return damaged("it does not end", at),
                Err(PageFault::Unknown(what)) => return damaged(what, at),
            }
        };
        let end = at.saturating_add(head.length as u64).saturating_add(head.size);
        if end > self.end {
            return damaged("it is longer than its column", at);
        }
        Ok((head, window))
    }

    /// Reads more of the page at `at`.
    fn widen(&self, at: u64, window: &mut Vec<u8>, most: usize) -> Result<(), ValueFault> {
        let before = window.len();
        window.resize((before * 16).max(WINDOW).min(most), 0);
        let more = window.get_mut(before..).unwrap_or_default();
        self.file().read_exact_at(at.saturating_add(before as u64), more)?;
        Ok(())
    }

    /// The values of a page.
    pub(super) fn read(&self, page: FoundPage) -> Result<ReadPage, ValueFault> {
        let is_compressed =
            page.data.compressed && self.metadata.compression() != Compression::UNCOMPRESSED;
        if page.data.plain && !is_compressed { self.places(page) } else { self.decode(&page) }
    }

    /// Where the values of a page lie that are in it as they are.
    fn places(&self, page: FoundPage) -> Result<ReadPage, ValueFault> {
        let FoundPage { at, head, data, mut window } = page;
        let length = (head.length as u64).saturating_add(head.size);
        let most = usize::try_from(length).unwrap_or(MOST).min(MOST);
        window.truncate(most);
        let levels = loop {
            let body = window.get(head.length..).unwrap_or_default();
            match head::levels(&data, body, self.max_repetition, self.max_definition) {
                Ok(levels) => break levels,
                Err(PageFault::NeedsMore) if window.len() < most => {
                    self.widen(at, &mut window, most)?;
                }
                Err(PageFault::NeedsMore) => return damaged("it does not end", at),
                Err(PageFault::Unknown(what)) => return damaged(what, at),
            }
        };
        let end = at.saturating_add(length);
        let mut next = at + (head.length + levels.length) as u64;
        let mut values = Vec::with_capacity(levels.definition.len());
        for (begins, definition) in levels.begins.into_iter().zip(levels.definition) {
            let mut value = None;
            if definition == self.max_definition {
                let offset = next.saturating_add(4);
                if offset > end {
                    return damaged("it has fewer values than it says", at);
                }
                let length = u64::from(self.number(at, &window, next)?);
                next = offset.saturating_add(length);
                if next > end {
                    return damaged("a value is longer than it", at);
                }
                value = Some(Value::Range { offset, length });
            }
            values.push(Slot { begins, is_item: definition >= self.item, value });
        }
        let bytes = size_of::<Slot>() * values.len();
        Ok(ReadPage { values, bytes })
    }

    /// The number at `place`, from the first bytes of the page at `at` where it is in them.
    fn number(&self, at: u64, window: &[u8], place: u64) -> Result<u32, ValueFault> {
        let start = usize::try_from(place - at).unwrap_or(usize::MAX);
        let here = start.checked_add(4).and_then(|end| window.get(start..end));
        let mut bytes = [0; 4];
        match here {
            Some(here) => bytes.copy_from_slice(here),
            None => self.file().read_exact_at(place, &mut bytes)?,
        }
        Ok(u32::from_le_bytes(bytes))
    }

    /// The values of a page that is compressed or encoded.
    fn decode(&self, found: &FoundPage) -> Result<ReadPage, ValueFault> {
        let page = self.whole_page(found.at, &found.head)?;
        let bytes = page.buffer().len();
        let pages = [self.dictionary()?, Some(page)].into_iter().flatten().collect();
        let descriptor = self.metadata.column_descr_ptr();
        let (mut definition, mut repetition, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let count = guarded(|| {
            let mut column =
                ColumnReaderImpl::<ByteArrayType>::new(descriptor, Box::new(These(pages)));
            let all = usize::MAX;
            let levels = (Some(&mut definition), Some(&mut repetition));
            let (_, _, count) = column.read_records(all, levels.0, levels.1, &mut values)?;
            Ok::<_, ParquetError>(count)
        });
        let count = count.or_else(|what| damaged(&what, found.at))?;
        if count != found.data.values as usize {
            return damaged("it has fewer values than it says", found.at);
        }
        let mut values = values.into_iter();
        let slot = |place: usize| {
            let level = match self.max_definition {
                0 => 0,
                _ => definition.get(place).copied().unwrap_or(0),
            };
            let is_there = level == i16::from(self.max_definition);
            Slot {
                begins: repetition.get(place).is_none_or(|level| *level == 0),
                is_item: level >= i16::from(self.item),
                value: if is_there { values.next().map(Value::Held) } else { None },
            }
        };
        let values: Vec<_> = (0..count).map(slot).collect();
        Ok(ReadPage { bytes: bytes + size_of::<Slot>() * values.len(), values })
    }

    /// The values that others mean by number, where the chunk has such.
    fn dictionary(&self) -> Result<Option<Page>, ValueFault> {
        let mut kept = self.dictionary.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            let (head, _) = self.head(self.start)?;
            if head.kind == PageKind::Dictionary {
                *kept = Some(self.whole_page(self.start, &head)?);
            }
        }
        Ok(kept.clone())
    }

    /// A page, decompressed.
    fn whole_page(&self, at: u64, head: &PageHead) -> Result<Page, ValueFault> {
        check_page(self, at, head)?;
        let length = (head.length as u64).saturating_add(head.size);
        let page = guarded(|| {
            let offset = i64::try_from(at).unwrap_or(i64::MAX);
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let metadata = self.metadata.clone().into_builder();
            let alone = metadata
                .set_dictionary_page_offset(None)
                .set_data_page_offset(offset)
                .set_total_compressed_size(length)
                .build()?;
            let input = Arc::new(self.input.clone());
            let mut pages = SerializedPageReader::new(input, &alone, 0, None)?;
            pages.get_next_page()?.ok_or(ParquetError::EOF("it is not there".to_owned()))
        });
        page.or_else(|what| damaged(&what, at))
    }
}

/// The rows of a chunk.
pub struct Rows {
    chunk: Chunk,
    /// Where the next page begins.
    at: u64,
    page: Option<std::vec::IntoIter<Slot>>,
    /// The next value.
    next: Option<Slot>,
    /// Its number.
    number: u64,
}

impl Rows {
    /// The rows of `chunk`, from its first.
    #[must_use]
    pub fn new(chunk: Chunk) -> Self {
        Self { at: chunk.start(), chunk, page: None, next: None, number: 0 }
    }

    /// The values of the next row, nulls among them: one, or those of its list. `None` behind the
    /// last row.
    ///
    /// # Errors
    /// [`ValueFault`], after which nothing follows.
    pub fn next_row(&mut self) -> Result<Option<Vec<Cell>>, ValueFault> {
        let mut row = Vec::new();
        if !self.advance()? {
            return Ok(None);
        }
        loop {
            if let Some(Slot { is_item, value, .. }) = self.next.take() {
                if is_item {
                    row.push(Cell { number: self.number, value });
                }
                self.number += 1;
            }
            // What follows is looked at only where a row may go on, also in the next page.
            if self.chunk.max_repetition == 0 {
                return Ok(Some(row));
            }
            if !self.advance()? || self.next.as_ref().is_some_and(|next| next.begins) {
                return Ok(Some(row));
            }
        }
    }

    /// Whether there is a next value.
    fn advance(&mut self) -> Result<bool, ValueFault> {
        while self.next.is_none() {
            self.next = self.page.as_mut().and_then(Iterator::next);
            if self.next.is_some() {
                break;
            }
            // One page at a time is in memory.
            self.page = None;
            let Some(page) = self.chunk.page(self.at)? else { return Ok(false) };
            self.at = Chunk::behind(&page);
            self.page = Some(self.chunk.read(page)?.values.into_iter());
        }
        Ok(true)
    }
}

/// Pages that are read already, as the crate takes them.
struct These(VecDeque<Page>);

impl Iterator for These {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.pop_front().map(Ok)
    }
}

impl PageReader for These {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        Ok(self.0.pop_front())
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        Ok(self.0.front().map(|page| PageMetadata {
            num_rows: None,
            num_levels: usize::try_from(page.num_values()).ok(),
            is_dict: page.is_dictionary_page(),
        }))
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.0.pop_front();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
