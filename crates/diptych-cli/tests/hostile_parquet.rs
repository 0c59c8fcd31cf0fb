//! Parquet files that are made to do harm: pages that become far more than they are, texts that
//! stand once and in every row, schemas without end, and numbers that are not so.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use support::folder::{copy, fixtures};
use support::hostile::{Ended, Scene, picture};

/// A column: its name, and its values.
type Column<'a> = (&'a str, Vec<ByteArray>);

/// A file of columns that are bytes or text, in one row group.
fn file(columns: &[Column<'_>], compression: Compression, dictionary: bool) -> Vec<u8> {
    let fields = columns.iter().map(|(name, _)| match *name {
        "source" | "target" => format!("required binary {name};"),
        name => format!("required binary {name} (UTF8);"),
    });
    let schema = format!("message m {{ {} }}", fields.collect::<String>());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(dictionary)
        .set_dictionary_page_size_limit(1 << 30)
        .set_data_page_size_limit(1 << 30)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    for (_, values) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.into_inner().unwrap()
}

/// Columns of rows that are whole.
fn good(rows: usize) -> [Column<'static>; 3] {
    let pictures = |seed: usize| (0..rows).map(|row| picture(2 * row + seed).into()).collect();
    let texts = (0..rows).map(|row| format!("do {row}").into_bytes().into()).collect();
    [("source", pictures(0)), ("target", pictures(1)), ("instruction", texts)]
}

fn kinds() -> [Compression; 5] {
    [
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::try_new(1).unwrap()),
    ]
}

/// What is read as somebody else's, whatever shows that it is.
const MAP: &str = "parquet.map=source:source,target:target,instruction:instruction";

fn release(bytes: Vec<u8>) -> Ended {
    let scene = Scene::of([("train.parquet", bytes)]);
    scene.convert(&["--from", "parquet", "-o", MAP])
}

#[test]
fn pages_that_become_far_more_than_they_are_are_not_read() {
    for compression in kinds() {
        for column in ["target", "instruction"] {
            let mut columns = good(2);
            for (name, values) in &mut columns {
                if *name == column {
                    // Behind a value that shows what it is.
                    values[1] = vec![b' '; 80 << 20].into();
                }
            }
            let bytes = file(&columns, compression, false);
            assert!(bytes.len() < 5 << 20, "{compression}: {}", bytes.len());
            let ended = release(bytes);
            let told = ended.rejections.iter().map(ToString::to_string).collect::<String>();
            assert!(matches!(ended.code, Some(3 | 4)), "{compression}, {column}: {ended:?}");
            assert!(told.contains("the limit is"), "{compression}, {column}: {told}");
            assert!(told.contains("train.parquet"), "{told}");
        }
    }
}

/// A text may stand in a file once, and in every row.
#[test]
fn a_text_in_every_row_is_not_read_without_end() {
    let text = |length: usize, rows: usize| {
        let mut columns = good(1);
        for (name, values) in &mut columns {
            let value = match *name {
                "instruction" => vec![b'y'; length].into(),
                _ => values[0].clone(),
            };
            *values = vec![value; rows];
        }
        file(&columns, Compression::SNAPPY, true)
    };
    // As long as a row may be, and longer: neither for ever.
    for (length, each) in [(1 << 20, false), (12 << 20, true)] {
        let bytes = text(length, 40);
        assert!(bytes.len() < 2 << 20, "{}", bytes.len());
        let ended = release(bytes);
        let last = ended.rejections.last().unwrap()["cause"].to_string();
        assert!(last.contains("rows become more than"), "{last}");
        let too_long = ended.rejections.iter().any(|of| of["kind"] == "row_too_long");
        assert_eq!(too_long, each, "{ended:?}");
    }
}

#[test]
fn rows_that_a_file_only_says_it_has_are_one_rejection() {
    let bytes = file(&good(3), Compression::UNCOMPRESSED, false);
    // The number of rows stands twice in the footer: as a number of three, in zigzag form.
    let footer = bytes.len()
        - 8
        - usize::try_from(u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()))
            .unwrap();
    let mut changed = 0;
    for at in footer..bytes.len() - 9 {
        // A field of 64 bits that holds three.
        if bytes[at] & 0x0F == 6 && bytes[at + 1] == 6 {
            let mut lies = bytes.clone();
            lies[at + 1] = 126;
            let ended = release(lies);
            assert!(matches!(ended.code, Some(0 | 1 | 3 | 4)), "{ended:?}");
            changed += 1;
        }
    }
    assert!(changed >= 2, "{changed}");
    let scene = Scene::of([("train.parquet", file(&good(5), Compression::SNAPPY, true))]);
    scene.convert(&["--max", "rows=5"]).with(0).writes(5);
    let ended = scene.convert(&["--max", "rows=4"]);
    ended.with(3).writes(4).rejects(1, "damaged_parquet", "there are more than 4 rows");
}

/// A footer made by hand, of a schema that goes as deep as there are bytes, or of row groups and
/// columns without number.
#[test]
fn footers_without_end_are_refused() {
    let with_footer = |footer: &[u8]| {
        let length = u32::try_from(footer.len()).unwrap();
        [b"PAR1".as_slice(), footer, &length.to_le_bytes(), b"PAR1"].concat()
    };
    let element = [0x48, 0x01, b'a', 0x15, 0x02, 0x00];
    let count = |kind: u8, count: u32| {
        let mut bytes = vec![0xF0 | kind];
        let mut left = count;
        while left > 0x7F {
            bytes.push(u8::try_from(left & 0x7F).unwrap() | 0x80);
            left >>= 7;
        }
        bytes.push(u8::try_from(left).unwrap());
        bytes
    };
    let schema = |elements: u32| {
        let mut footer = vec![0x15, 0x02, 0x19];
        footer.extend(count(0x0C, elements));
        for _ in 0..elements.min(100_000) {
            footer.extend(element);
        }
        footer
    };
    for footer in [schema(100_000), schema(u32::MAX), vec![0x19; 1 << 20], vec![0x1C; 1 << 20]] {
        let ended = release(with_footer(&footer));
        ended.with(4).rejects(1, "damaged_parquet", "train.parquet");
    }
    // More than there is, and a file of nothing.
    let scene = Scene::of([("train.parquet", b"PAR1\xff\xff\xff\x7fPAR1".to_vec())]);
    let as_parquet = ["--from", "parquet", "-o", MAP];
    scene.convert(&as_parquet).with(4).rejects(1, "damaged_parquet", "train.parquet");
    let zeros = scene.zeros("train.parquet", 1 << 40);
    zeros.write_all_at(b"\xff\xff\xff\x03PAR1", (1 << 40) - 8).unwrap();
    let told = "has 67108863 bytes, the limit is 8388608";
    scene.convert(&as_parquet).with(4).rejects(1, "damaged_parquet", told);
    // As much as there may be, of nothing.
    zeros.write_all_at(b"\0\0\x80\0PAR1", (1 << 40) - 8).unwrap();
    scene.convert(&as_parquet).with(4).rejects(1, "damaged_parquet", "train.parquet");
}

/// Rows of other releases are Parquet too.
#[test]
fn tables_of_other_formats_are_held_to_the_same() {
    let mut columns = good(2);
    columns[2].1[1] = vec![b' '; 80 << 20].into();
    let bomb = file(&columns, Compression::ZSTD(ZstdLevel::default()), false);
    for (fixture, table) in
        [("imgedit", "Parquet/add_part5.parquet"), ("folder", "train/metadata.parquet")]
    {
        let scene = Scene::new();
        copy(&fixtures().join(fixture), &scene.release());
        scene.write(table, &bomb);
        let ended = scene.convert(&[]);
        let of_it = ended.rejections.iter().filter(|of| of["where"]["file"] == table);
        assert!(of_it.count() >= 1, "{fixture}: {ended:?}");
        assert_eq!(ended.code, Some(3), "{fixture}");
    }
}
