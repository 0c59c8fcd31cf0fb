//! Files of rows joined without a row being decoded: the column chunks of each are copied.

use std::io::Write;
use std::sync::Arc;

use diptych_storage::ReadAt;
use diptych_storage::parquet::{ParquetInput, check_columns, guarded};
use parquet::arrow::ArrowWriter;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::writer::SerializedFileWriter;

use super::{ColumnsError, PictureColumns, properties, schema};

/// Joins files that [`TableWriter`](super::TableWriter) wrote. Of each row group some kilobytes are
/// held, which are its part of the joined file's end; the rows go through a buffer.
pub struct TableJoiner<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: u64,
}

impl<W: Write + Send> TableJoiner<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn new(to: W) -> Result<Self, ColumnsError> {
        let schema = schema(PictureColumns::FileNames);
        let (file, _) =
            ArrowWriter::try_new(to, schema, Some(properties()))?.into_serialized_writer()?;
        Ok(Self { file, rows: 0 })
    }

    /// Appends the rows of a file.
    ///
    /// # Errors
    /// [`ColumnsError::Part`] where it is no file of such rows, and those of the joined file. After
    /// one the file is lost.
    pub fn append(&mut self, part: Arc<dyn ReadAt>) -> Result<(), ColumnsError> {
        let part = ParquetInput(part);
        let mut failed = None;
        let metadata = guarded(|| {
            let parsed = ParquetMetaDataReader::new().parse_and_finish(&part);
            parsed.map_err(|error| {
                let what = error.to_string();
                failed = Some(error);
                what
            })
        });
        let metadata = match (metadata, failed) {
            // The system's: what is in the file is not known.
            (Err(_), Some(error @ ParquetError::External(_))) => return Err(error.into()),
            (metadata, _) => metadata.map_err(ColumnsError::Part)?,
        };
        check_columns(&metadata, part.0.len()).map_err(ColumnsError::Part)?;
        if metadata.file_metadata().schema_descr() != self.file.schema_descr() {
            return Err(ColumnsError::Part("has other columns".to_owned()));
        }
        for group in metadata.row_groups() {
            let mut joined = self.file.next_row_group()?;
            let rows_written = u64::try_from(group.num_rows()).unwrap_or(0);
            for chunk in group.columns() {
                let chunk = ColumnCloseResult {
                    bytes_written: u64::try_from(chunk.compressed_size()).unwrap_or(0),
                    rows_written,
                    metadata: chunk.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                joined.append_column(&part, chunk)?;
            }
            joined.close()?;
            self.rows += rows_written;
        }
        Ok(())
    }

    /// Ends the file: what it was written to, and its rows.
    ///
    /// # Errors
    /// Those of the file.
    pub fn close(self) -> Result<(W, u64), ColumnsError> {
        Ok((self.file.into_inner()?, self.rows))
    }
}
