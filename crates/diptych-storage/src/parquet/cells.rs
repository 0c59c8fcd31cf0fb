//! Values of Parquet files by their places, for whoever has nothing but the place.
//!
//! Values are asked for mostly in the order in which they stand, column by column and by several
//! threads. So pages are found once for each chunk, by their heads alone, and what was decompressed
//! last is kept, within a bound.

use std::sync::Arc;

use ::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

use super::chunk::{Chunk, ReadPage, Value, ValueFault};
use super::footer::check_footer;
use super::{ParquetInput, check_columns, guarded};
use crate::Limits;
use crate::read::ReadAt;
use crate::recent::Recent;

/// Files whose metadata are kept.
const FILES: usize = 24;

/// Chunks of columns whose pages are known.
const CHUNKS: usize = 256;

/// Pages that are kept, however small they are.
const PAGES: usize = 64;

/// The place of a value: its file by number, row group, leaf column, and which of the values of
/// that chunk it is, nulls among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CellPlace {
    /// The file, by a number that whoever asks gives it.
    pub file: u32,
    /// The row group, from 0.
    pub row_group: u32,
    /// The leaf column, from 0.
    pub column: u32,
    /// The value, from 0.
    pub number: u64,
}

/// Values of any number of files.
pub struct Cells {
    limits: Limits,
    files: Recent<u32, File>,
    chunks: Recent<(u32, u32, u32), Pages>,
    pages: Recent<(u32, u32, u32, usize), ReadPage>,
}

struct File {
    input: ParquetInput,
    metadata: ParquetMetaData,
}

/// The pages of a chunk: where each begins, and the number of its first value.
struct Pages {
    chunk: Chunk,
    places: Vec<(u64, u64)>,
}

impl Cells {
    /// Values of files that are read under these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            files: Recent::new(FILES),
            chunks: Recent::new(CHUNKS),
            pages: Recent::new(usize::try_from(limits.page_bytes).unwrap_or(usize::MAX)),
        }
    }

    /// The value at a place, and what it is read with; `None` where it is null. `open` opens the
    /// file of that number.
    ///
    /// # Errors
    /// [`ValueFault`], also where there is no such place.
    pub fn value(
        &self,
        place: CellPlace,
        open: impl Fn() -> std::io::Result<Arc<dyn ReadAt>>,
    ) -> Result<Option<Value>, ValueFault> {
        let CellPlace { file, row_group, column, number } = place;
        let none = || {
            let what = format!("no value {number} of column {column} in row group {row_group}");
            ValueFault::Damaged(what)
        };
        let pages = self.chunks.get(&(file, row_group, column), || {
            let file = self
                .files
                .get(&file, || Ok::<_, ValueFault>((File::open(open()?, &self.limits)?, 1)))?;
            let pages = file.pages(row_group, column, &self.limits)?;
            // Places of pages take some bytes each.
            let weight = 1 + pages.places.len() / (1 << 16);
            Ok::<_, ValueFault>((pages, weight))
        })?;
        let behind = pages.places.partition_point(|(first, _)| *first <= number);
        let at = behind.checked_sub(1).ok_or_else(none)?;
        let (first, offset) = pages.places.get(at).copied().ok_or_else(none)?;
        let page = self.pages.get(&(file, row_group, column, at), || {
            let found = pages.chunk.page(offset)?.ok_or_else(none)?;
            let page = pages.chunk.read(found)?;
            let least = usize::try_from(self.limits.page_bytes).unwrap_or(usize::MAX) / PAGES;
            let weight = page.bytes.max(least);
            Ok::<_, ValueFault>((page, weight))
        })?;
        if number - first >= page.count() {
            return Err(none());
        }
        Ok(page.value(number - first).cloned())
    }

    /// Reads a part of a value into `buffer`: as many bytes as there are from `offset` on.
    ///
    /// # Errors
    /// Those of [`value`](Self::value), and of reading the file. A null has no bytes to read.
    pub fn read_at(
        &self,
        place: CellPlace,
        open: impl Fn() -> std::io::Result<Arc<dyn ReadAt>>,
        offset: u64,
        buffer: &mut [u8],
    ) -> std::io::Result<usize> {
        match self.value(place, &open)? {
            None => Err(ValueFault::Damaged("the value is null".to_owned()).into()),
            Some(Value::Range { offset: start, length }) => {
                let left = length.saturating_sub(offset);
                let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                let part = buffer.get_mut(..most).unwrap_or_default();
                open()?.read_at(start.saturating_add(offset), part)
            }
            Some(Value::Held(bytes)) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = bytes.data().get(start..).unwrap_or_default();
                let most = rest.len().min(buffer.len());
                if let (Some(to), Some(from)) = (buffer.get_mut(..most), rest.get(..most)) {
                    to.copy_from_slice(from);
                }
                Ok(most)
            }
        }
    }
}

impl File {
    fn open(file: Arc<dyn ReadAt>, limits: &Limits) -> Result<Self, ValueFault> {
        check_footer(file.as_ref(), limits).map_err(ValueFault::Damaged)?;
        let input = ParquetInput(file);
        let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Skip);
        let metadata = guarded(|| reader.parse_and_finish(&input)).map_err(ValueFault::Damaged)?;
        check_columns(&metadata, input.0.len()).map_err(ValueFault::Damaged)?;
        Ok(Self { input, metadata })
    }

    fn pages(&self, row_group: u32, column: u32, limits: &Limits) -> Result<Pages, ValueFault> {
        let (group, column) = (row_group as usize, column as usize);
        let chunk = Chunk::open(&self.input, &self.metadata, group, column, limits);
        let chunk = chunk.map_err(ValueFault::Damaged)?;
        let (mut at, mut first, mut places) = (chunk.start(), 0_u64, Vec::new());
        while let Some(page) = chunk.page(at)? {
            places.push((first, page.at));
            first += u64::from(page.data.values);
            at = Chunk::behind(&page);
        }
        Ok(Pages { chunk, places })
    }
}

#[cfg(test)]
mod tests;
