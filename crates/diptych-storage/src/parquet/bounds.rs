//! How much a page may become, before the `parquet` crate is given it: for some kinds of compression
//! it believes neither what the head of a page says nor a limit.

use std::io::{self, Read};
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::file::metadata::ParquetMetaData;
use flate2::read::MultiGzDecoder;

use super::ParquetInput;
use super::chunk::{Chunk, ValueFault, damaged};
use super::head::{LevelPlaces, PageHead, PageKind};
use crate::limits::{EXPANSION_FLOOR, Limits};
use crate::read::Cursor;

/// Values of a column in a row group, nulls and items of lists counted.
const VALUES: u64 = 1 << 24;

/// How many times as long as before a page can be once it is decompressed, by kind.
const GZIP: u64 = 1032;
const LZ4: u64 = 255;

/// What a compressed page of LZ4's own form begins with.
const LZ4_FRAME: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];

/// Holds the pages of a column of rows against what can be.
///
/// # Errors
/// What is too much, or damaged: a fragment.
pub fn check_pages(
    input: &ParquetInput,
    metadata: &ParquetMetaData,
    row_group: usize,
    column: usize,
    limits: &Limits,
) -> Result<(), String> {
    let limits = Limits { page_bytes: limits.text_page_bytes, ..*limits };
    let chunk = Chunk::of_any_type(input, metadata, row_group, column, &limits)?;
    check(&chunk).map_err(|fault| fault.to_string())
}

fn check(chunk: &Chunk) -> Result<(), ValueFault> {
    let (mut at, mut values) = (chunk.start(), 0_u64);
    while at < chunk.end() {
        let (head, _) = chunk.head(at)?;
        check_page(chunk, at, &head)?;
        if let PageKind::Data(data) = head.kind {
            values = values.saturating_add(data.values.into());
        }
        if values > VALUES {
            return damaged("it is of more values than a row group has", at);
        }
        at = at.saturating_add(head.length as u64).saturating_add(head.size);
    }
    Ok(())
}

/// Holds a page against the limit of its chunk.
pub(super) fn check_page(chunk: &Chunk, at: u64, head: &PageHead) -> Result<(), ValueFault> {
    let limit = chunk.page_bytes();
    let most = head.uncompressed.max(head.size);
    if most > limit {
        return damaged(&format!("it has {most} bytes, the limit is {limit}"), at);
    }
    // What is compressed to next to nothing was made to be decompressed.
    let limit = limit.min(head.size.saturating_mul(chunk.page_expansion()).max(EXPANSION_FLOOR));
    if most > limit {
        let size = head.size;
        return damaged(&format!("of {size} bytes it becomes {most}, the limit is {limit}"), at);
    }
    let (levels, compressed) = match head.kind {
        PageKind::Data(data) => match data.levels {
            LevelPlaces::Said(repetition, definition) => {
                (repetition.saturating_add(definition) as u64, data.compressed)
            }
            LevelPlaces::Measured => (0, true),
        },
        PageKind::Dictionary | PageKind::Other => (0, true),
    };
    if !compressed {
        return Ok(());
    }
    let body = at.saturating_add(head.length as u64).saturating_add(levels);
    let size = head.size.saturating_sub(levels);
    let stream = || Cursor::at(Arc::clone(&chunk.input().0), body).take(size);
    let measured = match chunk.compression() {
        Compression::GZIP(_) if size.saturating_mul(GZIP) > limit => {
            length_of(MultiGzDecoder::new(stream()), limit)
        }
        Compression::BROTLI(_) => length_of(brotli::Decompressor::new(stream(), 4096), limit),
        Compression::LZ4 if size.saturating_mul(LZ4) > limit => {
            let mut begin = [0; 4];
            chunk.input().0.read_exact_at(body, &mut begin)?;
            if begin == LZ4_FRAME { limit.saturating_add(1) } else { 0 }
        }
        _ => 0,
    };
    if measured > limit {
        return damaged(&format!("it becomes more than {limit} bytes"), at);
    }
    Ok(())
}

/// How many bytes a stream has, as far as it goes, up to one more than a limit.
fn length_of(stream: impl Read, limit: u64) -> u64 {
    // What cannot be decompressed is told by whoever reads it.
    io::copy(&mut stream.take(limit.saturating_add(1)), &mut io::sink()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
