//! The files by themselves, read with the `parquet` crate.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StructArray};
use bytes::Bytes;
use diptych_format::{Edit, FormatError, Options, Payload, Probe, ReaderInput, Sample, Used};
use diptych_parquet::FORMAT;
use diptych_schema::{Address, Picture};
use diptych_storage::output::OutputError;
use diptych_storage::parquet::ParquetInput;
use diptych_storage::{Limits, LocalTree, ReadAt};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{
    PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use support::reading::read_all;
use support::{Written, file, inline, noise, of, range, sample, write_to};

/// Pairs with all that a pair can have or lack.
fn mixed() -> Vec<Sample> {
    let picture = |seed, length| range(&noise(seed, length));
    (0..40)
        .map(|i| {
            let references = (0..i % 4).map(|k| picture(100 * i + k, 700)).collect();
            let target = (i % 5 != 3).then(|| picture(i + 5000, 2000));
            let mask = (i % 7 > 3).then(|| inline(&noise(i + 6000, 90)));
            sample(&format!("toy:{i}"), picture(i + 4000, 3000), references, target, mask)
        })
        .collect()
}

fn bytes_of(payload: &Payload) -> Vec<u8> {
    match payload {
        Payload::Bytes(bytes) => bytes.to_vec(),
        Payload::Range { file, offset, length } => {
            let mut bytes = vec![0; usize::try_from(*length).unwrap()];
            file.read_exact_at(*offset, &mut bytes).unwrap();
            bytes
        }
    }
}

/// The bytes and names of pictures, null where there is none.
fn pictures(column: &StructArray) -> Vec<Option<(Vec<u8>, String)>> {
    let bytes = column.column_by_name("bytes").unwrap().as_binary::<i32>();
    let paths = column.column_by_name("path").unwrap().as_string::<i32>();
    (0..column.len())
        .map(|i| {
            assert_eq!(
                (column.is_null(i), column.is_null(i)),
                (bytes.is_null(i), paths.is_null(i))
            );
            column.is_valid(i).then(|| (bytes.value(i).to_vec(), paths.value(i).to_owned()))
        })
        .collect()
}

fn rows(file: Vec<u8>) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
    reader.with_batch_size(7).build().unwrap().map(Result::unwrap).collect()
}

fn metadata(file: &dyn Fn() -> ParquetInput) -> ParquetMetaData {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    reader.parse_and_finish(&file()).unwrap()
}

#[test]
fn every_picture_comes_back_in_its_row() {
    let samples = mixed();
    let mut at = 0;
    for batch in rows(file(&["parquet.row-group=30KB"], mixed())) {
        let column = |name: &str| pictures(batch.column_by_name(name).unwrap().as_struct());
        let (sources, targets, masks) = (column("source"), column("target"), column("mask"));
        let references = batch.column_by_name("references").unwrap().as_list::<i32>();
        let ids = batch.column_by_name("pair_id").unwrap().as_string::<i32>();
        for i in 0..batch.num_rows() {
            let sample = &samples[at];
            let wanted = |role: &str, of: &Option<diptych_format::writer::WrittenPicture>| {
                let path = format!("{}.{role}.png", sample.key);
                of.as_ref().map(|of| (bytes_of(&of.payload), path))
            };
            assert_eq!(ids.value(i), sample.pair.pair_id);
            assert_eq!(sources[i], wanted("source", &Some(sample.source.clone())));
            assert_eq!(targets[i], wanted("target", &sample.target));
            assert_eq!(masks[i], wanted("mask", &sample.mask));
            assert!(references.is_valid(i), "a list is never null");
            let found = pictures(references.value(i).as_struct());
            let of = sample.references.iter().enumerate();
            let all: Vec<_> =
                of.map(|(k, of)| wanted(&format!("reference{k}"), &Some(of.clone()))).collect();
            assert_eq!(found, all);
            at += 1;
        }
    }
    assert_eq!(at, samples.len());
}

#[test]
fn a_picture_is_a_page_by_itself_and_the_index_says_where() {
    let samples = mixed();
    let file = Bytes::from(file(&[], mixed()));
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let input = || ParquetInput(Arc::new(file.to_vec()));
    let metadata = metadata(&input);
    let columns = metadata.file_metadata().schema_descr().columns();
    let index = |name: &str| columns.iter().position(|c| c.path().string() == name).unwrap();
    let group = reader.get_row_group(0).unwrap();
    let pages_of = metadata.page_index_for_row_group(0);

    let target = index("target.bytes");
    let mut pages = group.get_column_page_reader(target).unwrap();
    let mut sizes = Vec::new();
    while let Some(page) = pages.get_next_page().unwrap() {
        sizes.push((page.num_values(), page.buffer().len()));
    }
    // Two bytes of levels after their length, the length of the picture, and the picture.
    let plain = |of: &Sample| of.target.as_ref().map_or((1, 6), |_| (1, 4 + 2 + 4 + 2000));
    assert_eq!(sizes, samples.iter().map(plain).collect::<Vec<_>>());
    let places = pages_of.offset_index(target).unwrap().page_locations();
    assert_eq!(places.len(), samples.len());
    for (row, place) in places.iter().enumerate() {
        assert_eq!(place.first_row_index, i64::try_from(row).unwrap());
        if let Some(target) = &samples[row].target {
            let end = usize::try_from(place.offset).unwrap()
                + usize::try_from(place.compressed_page_size).unwrap();
            assert_eq!(&file[end - 2000..end], bytes_of(&target.payload), "{row}");
        }
    }

    // Pages of a list end where a row ends; rows without a picture share one.
    let places =
        pages_of.offset_index(index("references.list.element.bytes")).unwrap().page_locations();
    let rows: Vec<_> = places.iter().map(|place| place.first_row_index).collect();
    assert_eq!(rows, (0..40).collect::<Vec<_>>());
    let places = pages_of.offset_index(index("mask.bytes")).unwrap().page_locations();
    let rows: Vec<_> = places.iter().map(|place| place.first_row_index).collect();
    assert_eq!(rows[..8], [0, 4, 5, 6, 7, 11, 12, 13]);

    // The record can be asked without them: its pages say what is in them.
    assert!(pages_of.column_index(target).is_none());
    assert_eq!(pages_of.column_index(index("pair_id")).unwrap().num_pages(), 1);
}

#[test]
fn row_groups_are_cut_by_bytes_and_by_what_is_held() {
    let groups = |options: &[&str], samples: Vec<Sample>| -> Vec<i64> {
        let file = file(options, samples);
        let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
        reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect()
    };
    let plain = |n: u64, length: usize| -> Vec<Sample> {
        let one = |i| sample(&format!("toy:{i}"), range(&noise(i, length)), vec![], None, None);
        (0..n).map(one).collect()
    };
    // A record of these has less than 1,000 bytes.
    assert_eq!(groups(&["parquet.row-group=42KB"], plain(9, 9_500)), [4, 4, 1]);
    assert_eq!(groups(&[], plain(9, 9_500)), [9]);
    // A pair that is larger is a row group by itself.
    assert_eq!(groups(&["parquet.row-group=1KB"], plain(3, 9_500)), [1, 1, 1]);
    // Pictures that are in no file count against the memory.
    let mask = vec![0; 5 << 19];
    let held =
        |i| sample(&format!("toy:{i}"), range(&noise(i, 10)), vec![], None, Some(inline(&mask)));
    assert_eq!(groups(&["parquet.row-group=1GB"], (0..7).map(held).collect()), [3, 3, 1]);
}

/// A file of so many bytes that are never all there.
struct Endless;

impl ReadAt for Endless {
    fn len(&self) -> u64 {
        u64::MAX
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        buffer.fill(offset.to_le_bytes()[3]);
        Ok(buffer.len())
    }
}

#[test]
fn a_row_group_over_2_gib_has_every_page_where_it_says() {
    const LENGTH: u64 = 64 << 20;
    let picture = |i: u64| {
        let (file, offset) = (Arc::new(Endless), i * LENGTH);
        of(Payload::Range { file, offset, length: LENGTH })
    };
    // Two columns of 2.1 GB and 1.1 GB. What is long is not kept, so pictures read as zeros.
    let samples = (0..34).map(|i| {
        let target = (i % 2 == 0).then(|| picture(i + 40));
        sample(&format!("toy:{i}"), picture(i), vec![], target, None)
    });
    let written = Written::keeping(1 << 20);
    write_to(&written, &["parquet.row-group=100GB"], samples).unwrap();
    assert!(ReadAt::len(&written) > 51 * LENGTH);
    let input = || ParquetInput(Arc::new(written.clone()));
    let metadata = metadata(&input);
    assert_eq!(metadata.num_row_groups(), 1);
    let pages_of = metadata.page_index_for_row_group(0);
    let columns = metadata.file_metadata().schema_descr().columns();
    for (name, pages) in [("source.bytes", 34), ("target.bytes", 34)] {
        let column = columns.iter().position(|c| c.path().string() == name).unwrap();
        let chunk = metadata.row_group(0).column(column);
        let places = pages_of.offset_index(column).unwrap().page_locations();
        assert_eq!(places.len(), pages);
        let mut next = chunk.data_page_offset();
        for place in places {
            assert_eq!(place.offset, next);
            next += i64::from(place.compressed_page_size);
        }
        assert_eq!(next - chunk.data_page_offset(), chunk.compressed_size());
        assert!(name != "source.bytes" || chunk.compressed_size() > 1 << 31);
        assert!(name != "target.bytes" || chunk.data_page_offset() > 1 << 31);
    }
    // Behind all of it rows are read as ever.
    let reader = ParquetRecordBatchReaderBuilder::try_new(input()).unwrap();
    let mask =
        parquet::arrow::ProjectionMask::columns(reader.parquet_schema(), ["native", "pair_id"]);
    let batches: Vec<_> =
        reader.with_projection(mask).build().unwrap().map(Result::unwrap).collect();
    assert_eq!(batches[0].column(0).as_string::<i32>().value(33), "toy:33");
    // And the reader finds each picture where its page is.
    let dir = tempfile::tempdir().unwrap();
    written.save(&dir.path().join("train-00000-of-00001.parquet"));
    let tree = LocalTree::open(dir.path(), &Limits::DEFAULT).unwrap();
    let options = Options::new("parquet", FORMAT.about().options, &[], Used::Reading).unwrap();
    let reader = FORMAT.open_reader(ReaderInput {
        tree: Arc::new(tree),
        label: "parquet",
        options: &options,
        folders: BTreeMap::new(),
        limits: Limits::DEFAULT,
        probe: Probe::None,
    });
    let reader = reader.unwrap();
    let edits = read_all(reader.as_ref());
    assert_eq!(edits.len(), 34);
    for (i, edit) in edits.iter().enumerate() {
        let Edit::Pair(pair) = edit else { panic!("{edit:?}") };
        let of = |name: &str, picture: &Picture| {
            let column = columns.iter().position(|c| c.path().string() == name).unwrap();
            let places = pages_of.offset_index(column).unwrap().page_locations();
            let page = &places[i];
            let end = u64::try_from(page.offset + i64::from(page.compressed_page_size)).unwrap();
            let Address::Range { offset, length, .. } = picture.address else { panic!("{pair:?}") };
            assert_eq!((offset + length, length), (end, LENGTH), "{name} of {i}");
        };
        of("source.bytes", &pair.source);
        assert_eq!(pair.target.is_some(), i % 2 == 0);
        pair.target.iter().for_each(|target| of("target.bytes", target));
    }
}

#[test]
fn what_cannot_be_read_is_told_of_the_pair_that_it_is_of() {
    let short = || {
        let file = Arc::new(vec![1; 100]);
        of(Payload::Range { file, offset: 90, length: 11 })
    };
    let samples = (0..5).map(|i| {
        let target = if i == 3 { short() } else { range(&noise(i, 50)) };
        sample(&format!("toy:{i}"), range(&noise(i, 50)), vec![], Some(target), None)
    });
    let error = write_to(&Written::keeping(0), &[], samples).unwrap_err();
    let FormatError::Pair { pair_id, source } = error else { panic!("{error}") };
    assert_eq!(pair_id, "toy:3");
    let FormatError::Output(OutputError::Read { offset: 90, length: 11, .. }) = *source else {
        panic!("{source}")
    };
}

/// The chunks of a file by what is in it, about 64 KiB long.
fn chunks(file: &[u8]) -> Vec<&[u8]> {
    let (mut chunks, mut begun, mut hash) = (Vec::new(), 0, 0_u64);
    for (i, byte) in file.iter().enumerate() {
        let gear = u64::from(*byte).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash = (hash << 1).wrapping_add(gear ^ (gear >> 29));
        let length = i + 1 - begun;
        if (length >= 8 << 10 && hash >> 48 == 0) || length == 128 << 10 {
            chunks.push(&file[begun..=i]);
            (begun, hash) = (i + 1, 0);
        }
    }
    chunks.push(&file[begun..]);
    chunks
}

#[test]
fn a_change_in_the_middle_moves_little() {
    let write = |changed: bool| {
        let one = |i| {
            let length = if changed && i == 60 { 90_000 } else { 120_000 };
            let target = Some(range(&noise(1000 + i, 110_000)));
            let mask = Some(inline(&noise(2000 + i, 900)));
            sample(&format!("toy:{i}"), range(&noise(i, length)), vec![], target, mask)
        };
        file(&["parquet.row-group=5MB"], (0..120).map(one).collect())
    };
    let (before, after) = (write(false), write(true));
    let known: HashSet<_> = chunks(&before).into_iter().collect();
    let new = chunks(&after).into_iter().filter(|chunk| !known.contains(chunk));
    let moved: usize = new.map(<[u8]>::len).sum();
    assert!(after.len() > 27_000_000 && moved * 20 < after.len(), "{moved} of {}", after.len());
}

#[test]
fn columns_are_called_as_a_script_expects_them() {
    let schema = |options: &[&str]| {
        let file = Bytes::from(file(options, mixed()));
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().schema().clone()
    };
    let (plain, renamed) = (schema(&[]), schema(&["parquet.preset=ip2p"]));
    let names = |of: &arrow_schema::SchemaRef| -> Vec<String> {
        of.fields().iter().map(|field| field.name().clone()).collect()
    };
    let instead = |name: String| match name.as_str() {
        "source" => "input_image".to_owned(),
        "target" => "edited_image".to_owned(),
        "instruction" => "edit_prompt".to_owned(),
        _ => name,
    };
    assert_eq!(names(&renamed), names(&plain).into_iter().map(instead).collect::<Vec<_>>());
    let features = &renamed.metadata()["huggingface"];
    for feature in [r#""input_image":{"_type":"Image"}"#, r#""edited_image":{"_type":"Image"}"#] {
        assert!(features.contains(feature), "{features}");
    }
    assert_eq!(
        renamed.metadata()["diptych"],
        r#"{"layout":1,"renamed":{"instruction":"edit_prompt","source":"input_image","target":"edited_image"}}"#
    );
}
