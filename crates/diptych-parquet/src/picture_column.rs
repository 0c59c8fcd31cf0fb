//! A column of picture bytes: one page for the pictures of a row, read from where they lie when
//! their turn comes.

use bytes::Bytes;
use diptych_format::record::columns::ColumnsError;
use diptych_format::{FormatError, Payload};
use diptych_storage::output::OutputError;
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;

/// A picture that waits for its column's turn.
#[derive(Clone)]
pub(crate) struct Waiting {
    /// Which row of the row group it is of.
    pub(crate) row: usize,
    /// Its bytes.
    pub(crate) payload: Payload,
}

/// The definition levels of a column: how much of the path to the bytes is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels {
    /// Of a row without a picture: nothing of a struct, an empty list.
    absent: i16,
    /// Of a picture.
    present: i16,
    /// Whether a row is a list of pictures.
    repeated: bool,
}

impl Levels {
    /// Of a struct of bytes.
    pub(crate) const ONE: Self = Self { absent: 0, present: 2, repeated: false };
    /// Of a list of them.
    pub(crate) const LIST: Self = Self { absent: 1, present: 4, repeated: true };
}

/// Why a picture cannot be written, and of which row it is.
pub(crate) struct Failed {
    /// The row of the row group.
    pub(crate) row: usize,
    /// Why.
    pub(crate) error: FormatError,
}

/// Writes the column for `rows` rows. `pictures` are in the order of their rows.
pub(crate) fn write(
    column: &mut ColumnWriterImpl<'_, ByteArrayType>,
    levels: Levels,
    rows: usize,
    pictures: &[Waiting],
) -> Result<(), Failed> {
    let mut done = 0;
    for of_row in pictures.chunk_by(|a, b| a.row == b.row) {
        let row = of_row.first().map_or(done, |first| first.row);
        let failed = |error| Failed { row, error };
        write_absent(column, levels, row - done).map_err(failed)?;
        let values: Result<Vec<_>, _> = of_row.iter().map(|of| bytes(&of.payload)).collect();
        let values: Vec<_> = values.map_err(failed)?.into_iter().map(ByteArray::from).collect();
        let definition = vec![levels.present; values.len()];
        let repetition: Option<Vec<i16>> =
            levels.repeated.then(|| (0..values.len()).map(|i| i16::from(i > 0)).collect());
        let written = column.write_batch(&values, Some(&definition), repetition.as_deref());
        written.map_err(|error| failed(ColumnsError::from(error).into()))?;
        done = row + 1;
    }
    write_absent(column, levels, rows - done).map_err(|error| Failed { row: done, error })
}

/// Rows without a picture, in a page of their own.
fn write_absent(
    column: &mut ColumnWriterImpl<'_, ByteArrayType>,
    levels: Levels,
    rows: usize,
) -> Result<(), FormatError> {
    if rows == 0 {
        return Ok(());
    }
    let definition = vec![levels.absent; rows];
    let repetition = levels.repeated.then(|| vec![0; rows]);
    let written = column.write_batch(&[], Some(&definition), repetition.as_deref());
    written.map(drop).map_err(|error: ParquetError| ColumnsError::from(error).into())
}

/// The bytes of a picture.
fn bytes(payload: &Payload) -> Result<Bytes, FormatError> {
    match payload {
        Payload::Bytes(bytes) => Ok(Bytes::from_owner(bytes.clone())),
        Payload::Range { file, offset, length } => {
            let (offset, length) = (*offset, *length);
            let failed = |source| OutputError::Read { offset, length, source };
            // What a release says of a picture's length is held against its file's before room is
            // made for it.
            if offset.checked_add(length).is_none_or(|end| end > file.len()) {
                return Err(failed(std::io::ErrorKind::UnexpectedEof.into()).into());
            }
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
            file.read_exact_at(offset, &mut bytes).map_err(failed)?;
            Ok(bytes.into())
        }
    }
}
