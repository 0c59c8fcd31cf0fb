//! The record as columns: one Arrow schema whatever the data, rows of records as batches in it,
//! and Parquet files of them, which can be joined.
//!
//! The columns are those of [`fields`], with the pictures' columns before `pictures`. Every column,
//! every value of a struct and every item of a list may be null, text is plain `Utf8`, and the
//! items of lists are called `element`, as in Parquet itself: readers agree on nothing else.

mod join;

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use diptych_storage::output::OutputError;
pub use join::TableJoiner;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::{FileNames, Kind, Record, fields};

/// The column that pictures' columns stand before.
const PICTURES: &str = "pictures";

/// Rows that are in memory as text at one time.
const BATCH: usize = 512;

/// About how many bytes of rows are in memory as text at one time, however few rows that are.
const BATCH_BYTES: usize = 1 << 20;

/// Rows of a row group. Readers take a row group at a time, and `datasets` makes its batches as
/// long as the first one is.
const ROW_GROUP: usize = 16 * BATCH;

/// Bytes that are buffered while writing before a row group is ended for them.
const ROW_GROUP_BYTES: usize = 8 << 20;

/// Why rows cannot be made columns.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A record is no JSON, or not in the schema.
    #[error("a record is not in the schema of records")]
    Record(#[source] ArrowError),
    /// What was given as a record is not exactly one JSON object.
    #[error("expected one record, found {0}")]
    NotOne(&'static str),
    /// A record has no form in JSON.
    #[error("a record cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// Columns do not go together.
    #[error("columns of different lengths or types")]
    Columns(#[source] ArrowError),
    /// A batch cannot be put into Parquet.
    #[error("rows cannot be put into Parquet")]
    Parquet(#[source] ParquetError),
    /// A file that is to be joined to others is no file of such rows.
    #[error("a file of rows that is to be joined {0}")]
    Part(String),
    /// The file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<ParquetError> for ColumnsError {
    /// What the file's side said comes back as it was: a full disk may be mended, a bad row not.
    fn from(error: ParquetError) -> Self {
        let external = match error {
            ParquetError::External(external) => external,
            other => return Self::Parquet(other),
        };
        let written = match external.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(other) => return Self::Parquet(ParquetError::External(other)),
        };
        match written.downcast::<OutputError>() {
            Ok(error) => Self::Output(error),
            Err(error) => Self::Parquet(ParquetError::External(Box::new(error))),
        }
    }
}

/// How a picture stands in the columns of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureColumns {
    /// By the name of its file, from the folder that readers are told: `source_file_name`,
    /// `references_file_names`, `target_file_name`, `mask_file_name`.
    FileNames,
    /// By its bytes, with a name: `source`, `references`, `target`, `mask`.
    Embedded,
}

impl PictureColumns {
    /// The columns, in order: the source, the list of references, the target, the mask.
    #[must_use]
    pub fn fields(self) -> Fields {
        let (names, cell) = match self {
            Self::FileNames => (
                ["source_file_name", "references_file_names", "target_file_name", "mask_file_name"],
                DataType::Utf8,
            ),
            Self::Embedded => (
                ["source", "references", "target", "mask"],
                // `datasets` takes it for a picture in this order and with these types only.
                DataType::Struct(Fields::from(vec![
                    nullable("bytes", DataType::Binary),
                    nullable("path", DataType::Utf8),
                ])),
            ),
        };
        let [source, references, target, mask] = names;
        Fields::from(vec![
            nullable(source, cell.clone()),
            nullable(references, list(cell.clone())),
            nullable(target, cell.clone()),
            nullable(mask, cell),
        ])
    }
}

fn nullable(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(nullable("element", of)))
}

fn data_type(kind: &Kind) -> DataType {
    match kind {
        Kind::String => DataType::Utf8,
        Kind::U16 => DataType::UInt16,
        Kind::U32 => DataType::UInt32,
        Kind::F64 => DataType::Float64,
        Kind::Struct(fields) => DataType::Struct(record_fields(fields)),
        Kind::List(of) => list(data_type(of)),
    }
}

fn record_fields(fields: &[super::Field]) -> Fields {
    fields.iter().map(|field| nullable(field.name, data_type(&field.kind))).collect()
}

/// The schema of rows: the record's fields, and the pictures' before the field `pictures`.
#[must_use]
pub fn schema(pictures: PictureColumns) -> SchemaRef {
    let mut all = Vec::new();
    for field in &record_fields(&fields(false)) {
        if field.name() == PICTURES {
            all.extend(pictures.fields().iter().cloned());
        }
        all.push(Arc::clone(field));
    }
    Arc::new(Schema::new(all))
}

/// Records of some rows, until they are taken as columns. After an error all that it holds is lost.
#[derive(Debug)]
pub struct Records {
    decoder: Decoder,
    bytes: usize,
}

impl Records {
    /// None yet.
    ///
    /// # Errors
    /// Those of Arrow, which knows all types of the record.
    pub fn new() -> Result<Self, ColumnsError> {
        let schema = Arc::new(Schema::new(record_fields(&fields(false))));
        let builder = ReaderBuilder::new(schema)
            // A key that no column has would be lost in silence.
            .with_strict_mode(true)
            // One more than is ever held: the decoder stops where it has so many.
            .with_batch_size(BATCH + 1);
        let decoder = builder.build_decoder().map_err(ColumnsError::Columns)?;
        Ok(Self { decoder, bytes: 0 })
    }

    /// Appends a record that is text: one JSON object, without `part` in its pictures. Keys that
    /// it lacks are null.
    ///
    /// # Errors
    /// [`ColumnsError::Record`] where it is no JSON; what is not in the schema is told by
    /// [`take`](Self::take). [`ColumnsError::NotOne`] where it is more or less than one object.
    pub fn push(&mut self, json: &[u8]) -> Result<(), ColumnsError> {
        let before = self.decoder.len();
        let read = self.decoder.decode(json).map_err(ColumnsError::Record)?;
        if self.decoder.has_partial_record() {
            return Err(ColumnsError::NotOne("a part of one"));
        }
        match self.decoder.len() - before {
            1 if read == json.len() => {}
            0 => return Err(ColumnsError::NotOne("none")),
            _ => return Err(ColumnsError::NotOne("several")),
        }
        self.bytes += json.len();
        Ok(())
    }

    /// Whether it holds so much that it is to be taken before more is appended.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.decoder.len() >= BATCH || self.bytes >= BATCH_BYTES
    }

    /// The records as columns, in the order of [`fields`]; `None` where there are none.
    ///
    /// # Errors
    /// [`ColumnsError::Record`] where one is not in the schema.
    pub fn take(&mut self) -> Result<Option<RecordBatch>, ColumnsError> {
        self.bytes = 0;
        self.decoder.flush().map_err(ColumnsError::Record)
    }
}

/// Rows of records and pictures: the columns of both together.
///
/// # Errors
/// [`ColumnsError::Columns`] where they are not as many rows, or not of the types that
/// [`PictureColumns::fields`] says.
pub fn beside(
    records: &RecordBatch,
    pictures: PictureColumns,
    columns: &[ArrayRef],
) -> Result<RecordBatch, ColumnsError> {
    let schema = records.schema();
    let at = schema.index_of(PICTURES).map_err(ColumnsError::Columns)?;
    let (before, behind) = records.columns().split_at_checked(at).unwrap_or_default();
    let all = [before, columns, behind].concat();
    RecordBatch::try_new(self::schema(pictures), all).map_err(ColumnsError::Columns)
}

/// How files of rows are written: for every reader, and the same bytes everywhere.
///
/// Compression is Snappy: all readers have it, and text is a small part of any output. Strings have
/// dictionaries, but for those that are nearly all different, where looking each up gains nothing.
/// Chunks have statistics, so that a filter on `split` or `dataset` passes row groups over; pages
/// have no index, since a file holds few.
fn properties() -> WriterProperties {
    let unique = ["pair_id", "native", "target_file_name", "mask_file_name"];
    unique
        .into_iter()
        .fold(WriterProperties::builder(), |builder, column| {
            builder.set_column_dictionary_enabled(ColumnPath::from(column), false)
        })
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .build()
}

/// Writes a Parquet file of records and the names of their pictures' files.
///
/// ```
/// # use diptych_format::record::FileNames;
/// # use diptych_format::record::columns::{ColumnsError, TableWriter};
/// # fn main() -> Result<(), ColumnsError> {
/// let mut table = TableWriter::new(Vec::new())?;
/// let names = FileNames {
///     source: "train/source/1.jpg",
///     references: &[],
///     target: Some("train/target/1.png"),
///     mask: None,
/// };
/// table.push(br#"{"pair_id":"a:1","dataset":"a","scores":[{"name":"clip","value":0.5}]}"#, &names)?;
/// let (file, rows) = table.close()?;
/// assert_eq!((&file[..4], rows), (&b"PAR1"[..], 1));
/// # Ok(())
/// # }
/// ```
pub struct TableWriter<W: Write + Send> {
    records: Records,
    names: Decoder,
    writer: ArrowWriter<W>,
    rows: u64,
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn new(to: W) -> Result<Self, ColumnsError> {
        let pictures = PictureColumns::FileNames;
        let names = ReaderBuilder::new(Arc::new(Schema::new(pictures.fields())));
        Ok(Self {
            records: Records::new()?,
            names: names.build_decoder().map_err(ColumnsError::Columns)?,
            writer: ArrowWriter::try_new(to, schema(pictures), Some(properties()))?,
            rows: 0,
        })
    }

    /// Appends a row: the record as [`Records::push`] takes it.
    ///
    /// # Errors
    /// Those of [`Records`], and of the file. After one the file is lost.
    pub fn push(&mut self, record: &[u8], names: &FileNames<'_>) -> Result<(), ColumnsError> {
        self.records.push(record)?;
        self.names.serialize(std::slice::from_ref(names)).map_err(ColumnsError::Columns)?;
        self.rows += 1;
        if self.records.is_full() { self.flush() } else { Ok(()) }
    }

    /// Appends a row whose record is not text yet.
    ///
    /// # Errors
    /// Those of [`push`](Self::push).
    pub fn push_record(
        &mut self,
        record: &Record<'_>,
        names: &FileNames<'_>,
    ) -> Result<(), ColumnsError> {
        self.push(&serde_json::to_vec(record)?, names)
    }

    fn flush(&mut self) -> Result<(), ColumnsError> {
        let names = self.names.flush().map_err(ColumnsError::Columns)?;
        if let (Some(records), Some(names)) = (self.records.take()?, names) {
            let rows = beside(&records, PictureColumns::FileNames, names.columns())?;
            self.writer.write(&rows)?;
            if self.writer.memory_size() >= ROW_GROUP_BYTES {
                self.writer.flush()?;
            }
        }
        Ok(())
    }

    /// Ends the file: what it was written to, and its rows.
    ///
    /// # Errors
    /// Those of [`push`](Self::push).
    pub fn close(mut self) -> Result<(W, u64), ColumnsError> {
        self.flush()?;
        Ok((self.writer.into_inner()?, self.rows))
    }
}

#[cfg(test)]
mod tests;
