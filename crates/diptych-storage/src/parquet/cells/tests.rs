use std::sync::atomic::{AtomicUsize, Ordering};

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

use super::super::chunk::Rows;
use super::*;

/// A struct of bytes and a list of such structs.
const SCHEMA: &str = "message schema {
    optional group a { optional binary bytes; }
    optional group b (LIST) { repeated group list { optional group element {
        optional binary bytes;
    } } }
}";

/// A list of a row: what is in it may be null, and so may all of it.
type List = Option<Vec<Option<Vec<u8>>>>;

fn noise(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| u8::try_from((seed * 131 + i * i * 7 + i / 3) % 251).unwrap()).collect()
}

fn ones() -> Vec<Option<Vec<u8>>> {
    let one = |i: usize| (!i.is_multiple_of(7)).then(|| noise(i % 40, 100 + 37 * (i % 9)));
    (0..300).map(one).collect()
}

fn lists() -> Vec<List> {
    let list = |i: usize| match i % 6 {
        0 => None,
        count => {
            let item = |k: usize| (k != 2).then(|| noise(i + k, 50 + k));
            Some((0..count - 1).map(item).collect())
        }
    };
    (0..300).map(list).collect()
}

/// A file of two row groups with these rows each.
fn written(properties: WriterPropertiesBuilder) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = properties.set_data_page_row_count_limit(10).set_write_batch_size(4);
    let mut file =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build())).unwrap();
    for _ in 0..2 {
        let mut group = file.next_row_group().unwrap();
        let bytes = |of: &Vec<u8>| ByteArray::from(of.clone());
        let values: Vec<_> = ones().iter().flatten().map(bytes).collect();
        let levels: Vec<_> = ones().iter().map(|one| if one.is_some() { 2 } else { 1 }).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
        column.close().unwrap();
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        for list in lists() {
            let Some(list) = list.filter(|list| !list.is_empty()) else {
                definition.push(0);
                repetition.push(0);
                continue;
            };
            for (i, item) in list.iter().enumerate() {
                repetition.push(i16::from(i > 0));
                definition.push(if item.is_some() { 4 } else { 2 });
                values.extend(item.as_ref().map(bytes));
            }
        }
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<ByteArrayType>();
        typed.write_batch(&values, Some(&definition), Some(&repetition)).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    file.into_inner().unwrap()
}

/// All forms in which values may stand in a file.
fn forms() -> Vec<(&'static str, WriterPropertiesBuilder)> {
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let second = |of: WriterPropertiesBuilder| of.set_writer_version(WriterVersion::PARQUET_2_0);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let delta = Encoding::DELTA_LENGTH_BYTE_ARRAY;
    vec![
        ("plain", plain()),
        ("plain of the second form", second(plain()).set_encoding(Encoding::PLAIN)),
        ("snappy", plain().set_compression(Compression::SNAPPY)),
        ("zstd", plain().set_compression(zstd)),
        ("dictionary", WriterProperties::builder()),
        ("dictionary and snappy", WriterProperties::builder().set_compression(Compression::SNAPPY)),
        ("dictionary given up", WriterProperties::builder().set_dictionary_page_size_limit(900)),
        ("second form and zstd", second(plain()).set_compression(zstd)),
        ("lengths apart", second(plain()).set_encoding(delta)),
    ]
}

#[test]
fn values_are_the_same_in_every_form_and_order() {
    for (form, properties) in forms() {
        let file: Arc<dyn ReadAt> = Arc::new(written(properties));
        let opened = AtomicUsize::new(0);
        let open = || {
            opened.fetch_add(1, Ordering::Relaxed);
            Ok(Arc::clone(&file))
        };
        let input = ParquetInput(Arc::clone(&file));
        let metadata = File::open(Arc::clone(&file), &Limits::DEFAULT).unwrap().metadata;
        let cells = Cells::new(Limits::DEFAULT);
        let mut ranges = 0;
        let mut all = Vec::new();
        for (row_group, column) in [(0, 0), (0, 1), (1, 1), (1, 0)] {
            let chunk = Chunk::open(&input, &metadata, row_group, column, &Limits::DEFAULT);
            let mut rows = Rows::new(chunk.unwrap());
            let wanted: Vec<Vec<_>> = match column {
                0 => ones().into_iter().map(|one| vec![one]).collect(),
                _ => lists().into_iter().map(Option::unwrap_or_default).collect(),
            };
            for wanted in wanted {
                let row = rows.next_row().unwrap().unwrap();
                assert_eq!(row.len(), wanted.len(), "{form}");
                for (cell, wanted) in row.into_iter().zip(wanted) {
                    ranges += usize::from(matches!(cell.value, Some(Value::Range { .. })));
                    let lengths = [
                        cell.value.map(|of| of.length()),
                        wanted.as_ref().map(|of| of.len() as u64),
                    ];
                    assert_eq!(lengths[0], lengths[1], "{form}");
                    let [row_group, column] =
                        [row_group, column].map(|n| u32::try_from(n).unwrap());
                    all.push((
                        CellPlace { file: 3, row_group, column, number: cell.number },
                        wanted,
                    ));
                }
            }
            assert!(rows.next_row().unwrap().is_none(), "{form}");
        }
        // A column whose dictionary grew too large goes on without one.
        let has_ranges = form.starts_with("plain") || form == "dictionary given up";
        assert_eq!(ranges > 0, has_ranges, "{form}");
        let half = all.split_off(all.len() / 2);
        for (place, wanted) in half.iter().chain(&all).chain(half.iter().rev()) {
            let Some(wanted) = wanted else {
                assert_eq!(cells.value(*place, open).unwrap(), None);
                continue;
            };
            let mut buffer = vec![0; wanted.len() + 5];
            let n = cells.read_at(*place, open, 0, &mut buffer).unwrap();
            assert_eq!(&buffer[..n], wanted, "{form}, {place:?}");
            let n = cells.read_at(*place, open, 40, &mut buffer[..7]).unwrap();
            assert_eq!(&buffer[..n], &wanted[40..47], "{form}");
            assert_eq!(cells.read_at(*place, open, 1 << 40, &mut buffer).unwrap(), 0);
        }
        if ranges == 0 {
            assert_eq!(opened.load(Ordering::Relaxed), 1, "{form}");
        }
    }
}

#[test]
fn what_is_no_place_says_so() {
    let file: Arc<dyn ReadAt> = Arc::new(written(WriterProperties::builder()));
    let cells = Cells::new(Limits::DEFAULT);
    let message = |row_group, column, number| {
        let place = CellPlace { file: 0, row_group, column, number };
        cells.value(place, || Ok(Arc::clone(&file))).unwrap_err().to_string()
    };
    assert_eq!(message(2, 0, 0), "there is no such row group");
    assert_eq!(message(0, 9, 0), "there is no such column");
    assert_eq!(message(0, 0, 300), "no value 300 of column 0 in row group 0");
    assert_eq!(
        message(0, 0, u64::MAX),
        format!("no value {} of column 0 in row group 0", u64::MAX)
    );
    let null = CellPlace { file: 0, row_group: 0, column: 0, number: 0 };
    let error = cells.read_at(null, || Ok(Arc::clone(&file)), 0, &mut [0]).unwrap_err();
    assert_eq!(error.to_string(), "the value is null");
}

/// A file that counts what is read of it.
struct Counting(Vec<u8>, AtomicUsize);

impl ReadAt for Counting {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read_at(offset, buffer)?;
        self.1.fetch_add(read, Ordering::Relaxed);
        Ok(read)
    }
}

/// However many values a page has, it is read once where they are asked for in their order, from two
/// columns in turn.
#[test]
fn pages_are_read_once() {
    for compression in [Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())] {
        let properties = WriterProperties::builder().set_compression(compression);
        let file = Arc::new(Counting(written(properties), AtomicUsize::new(0)));
        let cells = Cells::new(Limits::DEFAULT);
        for number in 0..300 {
            for column in [0, 1] {
                let place = CellPlace { file: 0, row_group: 1, column, number };
                for _ in 0..3 {
                    cells.value(place, || Ok(Arc::clone(&file) as Arc<dyn ReadAt>)).unwrap();
                }
            }
        }
        // Heads are looked at twice, with what stands behind them: 256 bytes for each of the pages,
        // which are short here.
        let read = file.1.load(Ordering::Relaxed);
        let pages = 2 * 300_usize.div_ceil(10) + 300;
        assert!(read < file.0.len() + 4 * 256 * pages, "{read} of {}", file.0.len());
    }
}

#[test]
fn pages_are_held_against_the_limit() {
    let snappy = || {
        let plain = WriterProperties::builder().set_dictionary_enabled(false);
        written(plain.set_compression(Compression::SNAPPY))
    };
    let file: Arc<dyn ReadAt> = Arc::new(snappy());
    let message = |page_bytes| {
        let cells = Cells::new(Limits { page_bytes, ..Limits::DEFAULT });
        let place = CellPlace { file: 0, row_group: 0, column: 0, number: 1 };
        cells.value(place, || Ok(Arc::clone(&file))).map_err(|fault| fault.to_string())
    };
    assert!(message(1 << 20).is_ok());
    let told = message(500).unwrap_err();
    assert!(told.contains("bytes, the limit is 500, in the page at "), "{told}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn a_damaged_file_never_makes_it_panic(
        form in 0..9_usize,
        damage in proptest::collection::vec((0.0..1.0_f64, proptest::prelude::any::<u8>()), 1..4),
    ) {
        let (_, properties) = forms().swap_remove(form);
        let mut bytes = written(properties);
        for (at, byte) in damage {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        let file: Arc<dyn ReadAt> = Arc::new(bytes);
        let cells = Cells::new(Limits { page_bytes: 1 << 20, ..Limits::DEFAULT });
        for (row_group, column, number) in [(0, 0, 5), (1, 1, 400), (1, 0, 299), (0, 1, 0)] {
            let place = CellPlace { file: 0, row_group, column, number };
            let _ = cells.value(place, || Ok(Arc::clone(&file)));
        }
    }
}
