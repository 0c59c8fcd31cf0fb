//! Parquet files of a release, read at positions like every other file.

use std::io::BufReader;
use std::sync::Arc;

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;

use crate::read::{Cursor, ReadAt};

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

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
