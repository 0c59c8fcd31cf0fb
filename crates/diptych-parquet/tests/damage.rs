//! Files that are cut or spoiled anywhere, and files that lie: what is whole is read as it was, and
//! nothing is made up.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use diptych_format::{Edit, Rejection};
use diptych_schema::EditPair;
use diptych_storage::Limits;
use diptych_storage::parquet::ParquetInput;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use support::reading::{file_of, opened_with, tree};

const FILE: &str = "data/train-00000-of-00002.parquet";

const MAP: &str = "source:source,target:target,reference:references,instruction:instruction";

fn fixture() -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/parquet");
    std::fs::read(fixtures.join(FILE)).unwrap()
}

fn foreign() -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bad/parquet");
    std::fs::read(fixtures.join("foreign_bare/release/validation/0000.parquet")).unwrap()
}

/// The pairs and rejections of a file, read with a map or by its records.
fn read(file: Vec<u8>, map: &str, limits: Limits) -> (Vec<EditPair>, Vec<Rejection>) {
    // Another file tells whose rows they are.
    let tree = tree([("a.parquet", fixture()), ("b.parquet", file)]);
    let reader = opened_with(tree, map, limits).unwrap();
    assert_eq!(reader.partitions(), ["a.parquet", "b.parquet"]);
    let mut edits = reader.read(1).unwrap();
    let (mut pairs, mut rejections) = (Vec::new(), Vec::new());
    while let Some(edit) = edits.next().unwrap() {
        match edit {
            Edit::Pair(pair) => pairs.push(*pair),
            Edit::Rejected(rejection) => rejections.push(*rejection),
        }
    }
    (pairs, rejections)
}

#[test]
fn a_file_cut_anywhere_is_one_rejection() {
    let file = fixture();
    let (whole, none) = read(file.clone(), "", Limits::DEFAULT);
    assert!(whole.len() > 2 && none.is_empty());
    for cut in (0..file.len()).step_by(97) {
        let (pairs, rejections) = read(file[..cut].to_vec(), "", Limits::DEFAULT);
        assert_eq!((pairs.len(), rejections.len()), (0, 1), "cut at {cut}");
        assert_eq!(rejections[0].kind, "damaged_parquet");
    }
}

#[test]
fn a_spoiled_part_gives_no_wrong_pictures() {
    for (file, map) in [(fixture(), ""), (fixture(), MAP), (foreign(), MAP)] {
        let (whole, _) = read(file.clone(), map, Limits::DEFAULT);
        for at in (0..file.len()).step_by(61) {
            let mut spoiled = file.clone();
            spoiled[at..].iter_mut().take(7).for_each(|byte| *byte ^= 0x5A);
            let (pairs, rejections) = read(spoiled, map, Limits::DEFAULT);
            assert!(pairs.len() + rejections.len() <= 2 * whole.len(), "at {at}");
            for pair in pairs {
                let Some(was) = whole.iter().find(|was| was.pair_id == pair.pair_id) else {
                    continue;
                };
                // A picture may have lost its head, or a number of the file be another; but those
                // that are told are of the same length, which nothing else has said.
                let lengths = |pair: &EditPair| {
                    (pair.source.address.length(), pair.target.as_ref()?.address.length()).into()
                };
                let lengths: [Option<(Option<u64>, Option<u64>)>; 2] =
                    [lengths(&pair), lengths(was)];
                assert_eq!(lengths[0], lengths[1], "at {at}: {}", pair.pair_id);
            }
        }
    }
}

/// The footer of a file with so many groups, each within the one before.
fn nested(depth: u32) -> Vec<u8> {
    let varint = |mut number: u32| {
        let mut bytes = Vec::new();
        while number > 0x7F {
            bytes.push(u8::try_from(number & 0x7F).unwrap() | 0x80);
            number >>= 7;
        }
        bytes.push(u8::try_from(number).unwrap());
        bytes
    };
    // The version, and the list of the schema's elements.
    let mut footer = vec![0x15, 2, 0x19, 0xFC];
    footer.extend(varint(depth + 1));
    for _ in 0..depth {
        // Optional, by the name `a`, of one child.
        footer.extend([0x35, 2, 0x18, 1, b'a', 0x15, 2, 0]);
    }
    // Bytes, by the name `b`.
    footer.extend([0x15, 12, 0x25, 2, 0x18, 1, b'b', 0]);
    // No rows, and no row group.
    footer.extend([0x16, 0, 0x19, 0x0C, 0]);
    let mut file = b"PAR1".to_vec();
    let length = u32::try_from(footer.len()).unwrap();
    file.extend(footer);
    file.extend(length.to_le_bytes());
    file.extend(b"PAR1");
    file
}

#[test]
fn a_schema_nested_without_end_is_refused() {
    for depth in [3, 250, 10_000, 1_000_000] {
        let (pairs, rejections) = read(nested(depth), "", Limits::DEFAULT);
        assert_eq!((pairs.len(), rejections.len()), (0, 1), "{depth}");
    }
}

/// A file of so many rows: a text, and two pictures.
fn rows(count: usize) -> Vec<u8> {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\0\0\0\0";
    let pictures = || Arc::new(BinaryArray::from_iter_values(vec![&png[..]; count])) as ArrayRef;
    let texts = Arc::new(StringArray::from(vec!["x"; count]));
    let columns =
        vec![("instruction", texts as ArrayRef), ("source", pictures()), ("target", pictures())];
    file_of(columns, WriterProperties::builder().set_dictionary_enabled(false))
}

/// The first file with a column of the second behind it, in the place of its own.
fn with_column_of(first: &[u8], second: &[u8], column: usize) -> Vec<u8> {
    let metadata = |file: &[u8]| {
        let input = ParquetInput(Arc::new(file.to_vec()));
        ParquetMetaDataReader::new().parse_and_finish(&input).unwrap()
    };
    let mut bytes = first.to_vec();
    let chunk = metadata(second).row_group(0).column(column).clone();
    let (start, length) = chunk.byte_range();
    let [start, length] = [start, length].map(|place| usize::try_from(place).unwrap());
    let moved = chunk.into_builder().set_data_page_offset(i64::try_from(bytes.len()).unwrap());
    bytes.extend(&second[start..start + length]);
    let first = metadata(first);
    let group = first.row_group(0).clone();
    let mut columns = group.columns().to_vec();
    columns[column] = moved.build().unwrap();
    let group = group.into_builder().set_column_metadata(columns).build().unwrap();
    let changed = first.into_builder().set_row_groups(vec![group]).build();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &changed).finish().unwrap();
    bytes.extend(footer);
    bytes
}

#[test]
fn columns_of_different_lengths_are_told_of() {
    let (short, long) = (rows(3), rows(5));
    for (file, count, causes) in [
        (with_column_of(&short, &long, 2), 3, vec!["row group 0: there are more rows in column 2"]),
        (
            with_column_of(&long, &short, 2),
            3,
            vec!["row group 0, column 2: it has fewer rows than its row group"; 2],
        ),
    ] {
        let (pairs, rejections) = read(file, MAP, Limits::DEFAULT);
        assert_eq!(pairs.len(), count);
        assert_eq!(rejections.len(), causes.len(), "{rejections:?}");
        for (rejection, cause) in rejections.iter().zip(causes) {
            assert_eq!(rejection.kind, "damaged_parquet");
            assert!(rejection.cause.contains(cause), "{}", rejection.cause);
        }
    }
    // Of rows that lack their text nothing is known but how many they are.
    let (pairs, rejections) = read(with_column_of(&long, &short, 0), MAP, Limits::DEFAULT);
    assert_eq!((pairs.len(), rejections.len()), (3, 1), "{rejections:?}");
    let cause = "2 rows from here on, in row group 0, cannot be read";
    assert!(rejections[0].cause.starts_with(cause), "{}", rejections[0].cause);
}
