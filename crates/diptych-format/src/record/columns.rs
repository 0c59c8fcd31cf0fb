//! The record as columns: one Arrow schema whatever the data, rows of records as batches in it,
//! and Parquet files of them.
//!
//! The columns are those of [`fields`], with the pictures' columns before `pictures`. Every column,
//! every value of a struct and every item of a list may be null, text is plain `Utf8`, and the
//! items of lists are called `element`, as in Parquet itself: readers agree on nothing else.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use diptych_storage::output::OutputError;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use serde::Serialize;

use super::{Kind, Record, fields};

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

/// The names of a row's picture files, with `/` between folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FileNames<'a> {
    /// The picture before.
    #[serde(rename = "source_file_name")]
    pub source: &'a str,
    /// Further input pictures, in order.
    #[serde(rename = "references_file_names")]
    pub references: &'a [String],
    /// The picture after.
    #[serde(rename = "target_file_name")]
    pub target: Option<&'a str>,
    /// The mask.
    #[serde(rename = "mask_file_name")]
    pub mask: Option<&'a str>,
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
/// # use diptych_format::record::columns::{ColumnsError, FileNames, TableWriter};
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
mod tests {
    use super::*;
    use crate::record::part_of;
    use crate::writer::{Payload, Sample, WrittenPicture};
    use arrow_array::{Array, BinaryArray, ListArray, StringArray, StructArray};
    use arrow_json::WriterBuilder;
    use arrow_json::writer::LineDelimited;
    use diptych_schema::{Address, EditPair, MediaType, Picture, Score};
    use diptych_storage::RelPath;
    use diptych_storage::output::{LocalOutput, StagedWrite, WriteTree};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::metadata::RowGroupMetaData;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A record that has little and one that has all, as WebDataset outputs hold them.
    const RECORDS: &str = include_str!("golden/records.jsonl");

    const NAMES: FileNames<'_> =
        FileNames { source: "source/a.jpg", references: &[], target: None, mask: None };

    /// A type as `pyarrow` prints it.
    fn type_text(of: &DataType) -> String {
        let named = |field: &Field| format!("{}: {}", field.name(), type_text(field.data_type()));
        match of {
            DataType::Utf8 => "string".to_owned(),
            DataType::Binary => "binary".to_owned(),
            DataType::UInt16 => "uint16".to_owned(),
            DataType::UInt32 => "uint32".to_owned(),
            DataType::Float64 => "double".to_owned(),
            DataType::List(item) => format!("list<{}>", named(item)),
            DataType::Struct(fields) => {
                let fields: Vec<_> = fields.iter().map(|field| named(field)).collect();
                format!("struct<{}>", fields.join(", "))
            }
            other => panic!("no column has the type {other}"),
        }
    }

    /// A field as `pyarrow` prints it: types are cut at 100 characters, children stand below.
    fn push_field(text: &mut String, indent: usize, head: &str, field: &Field) {
        assert!(field.is_nullable(), "{field}");
        let of = type_text(field.data_type());
        let of = match of.split_at_checked(100) {
            Some((kept, cut)) if !cut.is_empty() => {
                format!("{kept} (... {} chars omitted)", cut.len())
            }
            _ => of,
        };
        text.push_str(&format!("{:indent$}{head}{}: {of}\n", "", field.name()));
        let children = match field.data_type() {
            DataType::List(item) => std::slice::from_ref(item),
            DataType::Struct(fields) => fields,
            _ => &[],
        };
        let deeper = if indent == 0 { 2 } else { indent + 4 };
        for (i, child) in children.iter().enumerate() {
            push_field(text, deeper, &format!("child {i}, "), child);
        }
    }

    #[test]
    fn the_columns_are_as_readers_were_tried_with() {
        for (pictures, expected) in [
            (PictureColumns::FileNames, include_str!("golden/file-names.txt")),
            (PictureColumns::Embedded, include_str!("golden/embedded.txt")),
        ] {
            let mut text = String::new();
            for field in schema(pictures).fields() {
                push_field(&mut text, 0, "", field);
            }
            assert_eq!(text, expected);
        }
    }

    fn open(file: Vec<u8>) -> ParquetRecordBatchReaderBuilder<bytes::Bytes> {
        ParquetRecordBatchReaderBuilder::try_new(file.into()).unwrap()
    }

    /// The rows of a file, as JSON with every key.
    fn read(file: Vec<u8>) -> Vec<Value> {
        let mut text = Vec::new();
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        let mut lines = builder.build::<_, LineDelimited>(&mut text);
        for batch in open(file).build().unwrap() {
            lines.write(&batch.unwrap()).unwrap();
        }
        lines.finish().unwrap();
        drop(lines);
        let rows = serde_json::Deserializer::from_slice(&text).into_iter();
        rows.collect::<Result<_, _>>().unwrap()
    }

    fn write(records: &[&str], names: &FileNames<'_>) -> Result<Vec<u8>, ColumnsError> {
        let mut table = TableWriter::new(Vec::new())?;
        records.iter().try_for_each(|record| table.push(record.as_bytes(), names))?;
        table.close().map(|(file, _)| file)
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let references = ["references/a-0.png".to_owned(), "references/a-1.png".to_owned()];
        let rich = FileNames {
            references: &references,
            target: Some("abnormal/a.png"),
            mask: Some("masks/abnormal/a.png"),
            ..NAMES
        };
        let records: Vec<_> = RECORDS.lines().collect();
        assert_eq!(records.len(), 2);
        let names = |mut row: Value, names: Value| -> Value {
            let all = names.as_object().unwrap();
            row.as_object_mut().unwrap().extend(all.clone());
            row
        };
        let plain_names = json!({
            "source_file_name": "source/a.jpg",
            "references_file_names": [],
            "target_file_name": null,
            "mask_file_name": null,
        });
        let rich_names = json!({
            "source_file_name": "source/a.jpg",
            "references_file_names": references,
            "target_file_name": "abnormal/a.png",
            "mask_file_name": "masks/abnormal/a.png",
        });
        let mut table = TableWriter::new(Vec::new()).unwrap();
        let mut expected = Vec::new();
        // The first batch has plain rows only, as a file may.
        for (i, record) in std::iter::repeat_n(0, 700).chain([1, 0, 1]).enumerate() {
            let (of, given) =
                if record == 0 { (&NAMES, &plain_names) } else { (&rich, &rich_names) };
            let mut row: Value = serde_json::from_str(records[record]).unwrap();
            row["pair_id"] = format!("a:{i}").into();
            table.push(row.to_string().as_bytes(), of).unwrap();
            expected.push(names(row, given.clone()));
        }
        let (file, rows) = table.close().unwrap();
        assert_eq!(rows, 703);
        assert_eq!(**open(file.clone()).schema(), *schema(PictureColumns::FileNames));
        assert_eq!(read(file), expected);
    }

    #[test]
    fn a_record_that_is_no_text_yet_is_the_same_row() {
        let picture = |name: &str| WrittenPicture {
            name: Some(name.to_owned()),
            role: None,
            media_type: MediaType::Png,
            width: u32::MAX,
            height: 1,
            payload: Payload::Bytes(Arc::from([0_u8; 4])),
        };
        let source = Picture::unprobed("s", Address::Inline(vec![0]));
        let mut pair = EditPair::new("a:1".to_owned(), "a".to_owned(), source);
        pair.turn = Some(u16::MAX);
        pair.scores = [0.1 + 0.2, -0.0, 1.0, f64::MIN_POSITIVE, f64::MAX, f64::NAN]
            .map(|value| Score { name: "x".to_owned(), value })
            .into();
        pair.native = Some(r#"{"big":18446744073709551615,"sky":"🌅 \u0000"}"#.to_owned());
        let sample = Sample {
            pair,
            key: "a_1".to_owned(),
            source: picture("s"),
            references: vec![picture("r")],
            target: Some(picture("t")),
            mask: None,
            change: None,
        };
        let (record, lost) = Record::new(&sample, false);
        assert_eq!(lost, 1);
        let mut table = TableWriter::new(Vec::new()).unwrap();
        table.push_record(&record, &NAMES).unwrap();
        let rows = read(table.close().unwrap().0);
        let text = serde_json::to_string(&record).unwrap();
        let text: Value = serde_json::from_str(&text).unwrap();
        for (key, value) in text.as_object().unwrap() {
            // As text: numbers that are equal may still be different.
            assert_eq!(rows[0][key].to_string(), value.to_string(), "{key}");
        }

        let (with_part, _) = Record::new(&sample, true);
        assert_eq!(part_of("source", &sample.source), "source.png");
        let mut table = TableWriter::new(Vec::new()).unwrap();
        table.push_record(&with_part, &NAMES).unwrap();
        let error = table.close().map(|(_, rows)| rows).unwrap_err();
        assert!(matches!(error, ColumnsError::Record(_)), "{error:?}");
    }

    proptest! {
        #[test]
        fn values_are_exact(
            score in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL,
            width: u32,
            turn: u16,
            text: String,
        ) {
            let row = json!({
                "pair_id": text,
                "turn": turn,
                "pictures": {"source": {"name": text, "width": width, "height": 1}},
                "scores": [{"name": text, "value": score}],
            });
            let rows = read(write(&[&row.to_string()], &NAMES).unwrap());
            prop_assert_eq!(&rows[0]["pair_id"], &row["pair_id"]);
            prop_assert_eq!(&rows[0]["turn"], &row["turn"]);
            prop_assert_eq!(&rows[0]["scores"], &row["scores"]);
            let value = rows[0]["scores"][0]["value"].as_f64().unwrap();
            prop_assert_eq!(value.to_bits(), score.to_bits());
            prop_assert_eq!(&rows[0]["pictures"]["source"], &row["pictures"]["source"]);
        }
    }

    #[test]
    fn what_is_not_exactly_a_record_is_refused() {
        for (text, expected) in [
            ("", "none"),
            (" \n", "none"),
            ("{\"pair_id\":\"a\"", "a part of one"),
            ("{}{}", "several"),
            ("{}{", "a part of one"),
        ] {
            match Records::new().unwrap().push(text.as_bytes()) {
                Err(ColumnsError::NotOne(found)) => assert_eq!(found, expected, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        for text in [
            r#"{"unknown":1}"#,
            r#"{"pair_id":1}"#,
            r#"{"turn":70000}"#,
            r#"{"turn":-1}"#,
            r#"{"labels":{}}"#,
            r#"{"pictures":{"source":{"part":"source.png"}}}"#,
            "[]",
            "}",
        ] {
            let error = write(&[text], &NAMES).unwrap_err();
            assert!(matches!(error, ColumnsError::Record(_)), "{text}: {error:?}");
        }
    }

    #[test]
    fn what_is_held_is_bounded_and_the_bytes_are_the_same() {
        let long = json!({"pair_id": "a", "native": "x".repeat(BATCH_BYTES / 3)}).to_string();
        let mut records = Records::new().unwrap();
        let pushed = std::iter::repeat_with(|| records.push(long.as_bytes()).unwrap());
        assert_eq!(pushed.take(3).count(), 3);
        assert!(records.is_full());
        assert_eq!(records.take().unwrap().unwrap().num_rows(), 3);
        assert!(!records.is_full() && records.take().unwrap().is_none());

        let one = |i: usize| json!({"pair_id": format!("a:{i}"), "split": "train"}).to_string();
        let many: Vec<_> = (0..ROW_GROUP + BATCH + 1).map(one).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let file = write(&many, &NAMES).unwrap();
        assert_eq!(file, write(&many, &NAMES).unwrap());
        let rows = |file: Vec<u8>| -> Vec<_> {
            let groups = open(file).metadata().row_groups().to_vec();
            groups.iter().map(RowGroupMetaData::num_rows).collect()
        };
        assert_eq!(rows(file), [ROW_GROUP as i64, BATCH as i64 + 1]);
        // Text that does not compress, since it is counted as it is written.
        let mut state = 1_u64;
        let mut digit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (state >> 58) as u8)
        };
        let noise: String = std::iter::repeat_with(&mut digit).take(BATCH_BYTES / 3).collect();
        let noise = json!({"native": noise}).to_string();
        let groups = rows(write(&[noise.as_str(); 60], &NAMES).unwrap());
        assert!(groups.len() > 1 && groups.iter().sum::<i64>() == 60, "{groups:?}");
    }

    #[test]
    fn a_file_without_rows_has_the_columns() {
        let file = write(&[], &NAMES).unwrap();
        assert_eq!(**open(file.clone()).schema(), *schema(PictureColumns::FileNames));
        assert_eq!(read(file), [Value::Null; 0]);
    }

    #[test]
    fn pictures_may_be_embedded() {
        let cell = |bytes: &[u8]| -> StructArray {
            let DataType::Struct(fields) = PictureColumns::Embedded.fields()[0].data_type().clone()
            else {
                panic!("pictures are structs");
            };
            let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![bytes]));
            let path: ArrayRef = Arc::new(StringArray::from(vec!["a.source.png"]));
            StructArray::new(fields, vec![bytes, path], None)
        };
        let fields = PictureColumns::Embedded.fields();
        let DataType::List(item) = fields[1].data_type() else { panic!("references are a list") };
        let none = ListArray::new_null(Arc::clone(item), 1);
        let absent = StructArray::new_null(cell(b"").fields().clone(), 1);
        let columns: [ArrayRef; 4] =
            [Arc::new(cell(b"bytes")), Arc::new(none), Arc::new(absent.clone()), Arc::new(absent)];
        let mut records = Records::new().unwrap();
        records.push(RECORDS.lines().next().unwrap().as_bytes()).unwrap();
        let records = records.take().unwrap().unwrap();
        let rows = beside(&records, PictureColumns::Embedded, &columns).unwrap();
        assert_eq!(rows.schema(), schema(PictureColumns::Embedded));
        assert_eq!(rows["source"].len(), 1);
        for wrong in [PictureColumns::FileNames, PictureColumns::Embedded] {
            let columns = if wrong == PictureColumns::Embedded { &columns[..3] } else { &columns };
            let error = beside(&records, wrong, columns).unwrap_err();
            assert!(matches!(error, ColumnsError::Columns(_)), "{error:?}");
        }
    }

    /// A disk that is full.
    struct Full;

    impl diptych_storage::output::StagedFile for Full {
        fn reserve(&mut self, _: u64) {}

        fn write(&mut self, _: &[u8]) -> Result<(), OutputError> {
            let source = std::io::ErrorKind::StorageFull.into();
            Err(OutputError::Write { action: "write", path: "x".to_owned(), source })
        }

        fn copy_range(
            &mut self,
            _: &dyn diptych_storage::ReadAt,
            _: u64,
            _: u64,
        ) -> Result<(), OutputError> {
            self.write(b"")
        }

        fn position(&self) -> u64 {
            0
        }

        fn close(self: Box<Self>) -> Result<u64, OutputError> {
            Ok(0)
        }
    }

    #[test]
    fn files_are_staged_and_a_full_disk_is_told_as_such() {
        let dir = tempfile::tempdir().unwrap();
        let out = LocalOutput::new(dir.path(), false);
        let path = RelPath::new("metadata-train.parquet").unwrap();
        let mut table = TableWriter::new(StagedWrite(out.stage(&path).unwrap())).unwrap();
        RECORDS.lines().for_each(|record| table.push(record.as_bytes(), &NAMES).unwrap());
        let (StagedWrite(file), rows) = table.close().unwrap();
        assert_eq!(rows, 2);
        let written = file.close().unwrap();
        let read_back = out.read(&path).unwrap().unwrap();
        assert_eq!(written, read_back.len() as u64);
        assert_eq!(read(read_back).len(), 2);

        let full = || -> Result<u64, crate::FormatError> {
            let mut table = TableWriter::new(StagedWrite(Box::new(Full)))?;
            table.push(b"{}", &NAMES)?;
            Ok(table.close()?.1)
        };
        let error = full().unwrap_err();
        assert!(matches!(error, crate::FormatError::Output(_)), "{error:?}");
    }
}
