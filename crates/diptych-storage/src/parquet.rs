//! Parquet files of a release, read at positions like every other file.
//!
//! - [`footer`]: what says where columns are, before it is believed.
//! - [`bounds`]: how much pages may become.
//! - [`head`]: heads of pages and levels of values, as bytes.
//! - [`chunk`]: values of a column of bytes, page after page.
//! - [`cells`]: values by their places.

pub mod bounds;
pub mod cells;
pub mod chunk;
pub mod footer;
pub mod head;

use std::cell::Cell;
use std::fmt::Display;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;

use crate::read::{Cursor, ReadAt};
use crate::text::printable;

/// A file of a release as the `parquet` crate takes it.
#[derive(Clone)]
pub struct ParquetInput(pub Arc<dyn ReadAt>);

impl Length for ParquetInput {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for ParquetInput {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(Cursor::at(Arc::clone(&self.0), start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // What a file says of itself is held against its length before room is made for it.
        if start.checked_add(length as u64).is_none_or(|end| end > self.0.len()) {
            let all = self.0.len();
            let what = format!("{length} bytes at {start} of a file of {all}");
            return Err(ParquetError::EOF(what));
        }
        let mut buffer = vec![0; length];
        self.0.read_exact_at(start, &mut buffer)?;
        Ok(buffer.into())
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught by [`guarded`] and told of as an error: a program
/// that prints panics need not print it.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Calls the `parquet` crate, which panics at some files that are damaged.
///
/// # Errors
/// What it said: a fragment.
pub fn guarded<T, E: Display>(
    call: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, String> {
    let before = GUARDED.replace(true);
    let called = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(before);
    match called {
        Ok(done) => done.map_err(|error| printable(error.to_string().as_bytes())),
        // Whatever it left half done is thrown away.
        Err(_) => Err("it is damaged, in a way that no reader expects".to_owned()),
    }
}

/// Holds what a file says of its columns against its length: the `parquet` crate takes their
/// places for granted.
///
/// # Errors
/// Which column lies elsewhere: a fragment.
pub fn check_columns(metadata: &ParquetMetaData, length: u64) -> std::result::Result<(), String> {
    let chunks = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    for chunk in chunks {
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let end = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
        let end = end.and_then(|(start, size)| start.checked_add(size));
        if end.is_none_or(|end| end > length) {
            let (column, size) = (chunk.column_path().string(), chunk.compressed_size());
            let column = printable(column.as_bytes());
            return Err(format!(
                "the column {column} lies at {start} with {size} bytes, in a file of {length}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_panic_becomes_an_error_and_is_known_to() {
        let seen = std::cell::Cell::new(false);
        let done = guarded(|| -> std::result::Result<(), String> {
            seen.set(is_guarded());
            guarded(|| Ok::<_, String>(())).unwrap();
            assert!(is_guarded(), "one within another ends its own guard only");
            panic!("damaged");
        });
        assert_eq!(done.unwrap_err(), "it is damaged, in a way that no reader expects");
        assert!(seen.get() && !is_guarded());
    }

    #[test]
    fn bytes_are_given_from_where_they_are_asked_for_and_never_more_than_there_are() {
        let input = ParquetInput(Arc::new(b"0123456789".to_vec()));
        assert_eq!(Length::len(&input), 10);
        assert_eq!(input.get_bytes(3, 4).unwrap(), "3456");
        let mut rest = String::new();
        input.get_read(7).unwrap().read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "789");
        for (start, length) in [(8, 3), (u64::MAX, 1), (0, usize::MAX)] {
            assert!(input.get_bytes(start, length).is_err(), "{start}, {length}");
        }
    }
}
