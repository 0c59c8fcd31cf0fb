//! What columns hold is what records say, and readers' schemas are as they were tried.

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
const RECORDS: &str = include_str!("../golden/records.jsonl");

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
        (PictureColumns::FileNames, include_str!("../golden/file-names.txt")),
        (PictureColumns::Embedded, include_str!("../golden/embedded.txt")),
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
        let (of, given) = if record == 0 { (&NAMES, &plain_names) } else { (&rich, &rich_names) };
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
        row: 0,
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

#[test]
fn joined_files_have_the_rows_of_all() {
    let records: Vec<_> = RECORDS.lines().collect();
    let parts = [vec![records[0]; 3], vec![], vec![records[1], records[0]], vec![records[0]; 600]];
    let files: Vec<_> = parts.iter().map(|part| write(part, &NAMES).unwrap()).collect();
    let mut joined = TableJoiner::new(Vec::new()).unwrap();
    files.iter().for_each(|file| joined.append(Arc::new(file.clone())).unwrap());
    let (file, rows) = joined.close().unwrap();
    assert_eq!(rows, 605);
    assert_eq!(read(file.clone()), read(write(&parts.concat(), &NAMES).unwrap()));
    // Of what each part says of its columns nothing is lost.
    let groups = |file: &Vec<u8>| {
        let input = bytes::Bytes::from(file.clone());
        let metadata = parquet::file::metadata::ParquetMetaDataReader::new();
        let metadata = metadata.parse_and_finish(&input).unwrap();
        let told = |group: &parquet::file::metadata::RowGroupMetaData| {
            let columns = group.columns().iter();
            columns.map(|of| (of.statistics().cloned(), of.num_values())).collect::<Vec<_>>()
        };
        metadata.row_groups().iter().map(told).collect::<Vec<_>>()
    };
    assert_eq!(groups(&file), files.iter().flat_map(groups).collect::<Vec<_>>());
}

#[test]
fn what_is_no_file_of_such_rows_is_not_joined() {
    let mut joined = TableJoiner::new(Vec::new()).unwrap();
    let error = joined.append(Arc::new(b"PAR1 no rows PAR1".to_vec())).unwrap_err();
    assert!(matches!(error, ColumnsError::Part(_)), "{error:?}");
    let other = Arc::new(Schema::new(vec![Field::new("a", DataType::Utf8, true)]));
    let writer = ArrowWriter::try_new(Vec::new(), other, None).unwrap();
    let error = joined.append(Arc::new(writer.into_inner().unwrap())).unwrap_err();
    assert_eq!(error.to_string(), "a file of rows that is to be joined has other columns");
}
