use ::parquet::basic::{BrotliLevel, GzipLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::file::metadata::ParquetMetaDataReader;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

use super::*;
use crate::read::ReadAt;

/// A file of one value that is nothing but blanks.
fn blanks(length: usize, compression: Compression) -> Vec<u8> {
    let schema = Arc::new(parse_message_type("message m { required binary a; }").unwrap());
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(compression)
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let value = ByteArray::from(vec![b' '; length]);
    column.typed::<ByteArrayType>().write_batch(&[value], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.into_inner().unwrap()
}

/// What is said of the page, whose head says that it has a tenth of its bytes.
fn told(compression: Compression, limit: u64) -> Result<(), String> {
    let limits = Limits { page_bytes: limit, ..Limits::DEFAULT };
    let file: Arc<dyn ReadAt> = Arc::new(blanks(1 << 20, compression));
    let input = ParquetInput(Arc::clone(&file));
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&input).unwrap();
    let chunk = Chunk::of_any_type(&input, &metadata, 0, 0, &limits).unwrap();
    let (head, _) = chunk.head(chunk.start()).unwrap();
    let head = PageHead { uncompressed: head.uncompressed / 10, ..head };
    check_page(&chunk, chunk.start(), &head).map_err(|fault| fault.to_string())
}

#[test]
fn pages_that_become_more_than_they_say_are_found() {
    for compression in
        [Compression::GZIP(GzipLevel::default()), Compression::BROTLI(BrotliLevel::default())]
    {
        assert_eq!(told(compression, 2 << 20), Ok(()));
        let told = told(compression, 1 << 19).unwrap_err();
        assert!(told.contains("it becomes more than 524288 bytes, in the page at "), "{told}");
    }
    // What is decompressed into as much room as the head says cannot become more.
    assert_eq!(told(Compression::SNAPPY, 1 << 19), Ok(()));
    let told = told(Compression::UNCOMPRESSED, 1 << 19).unwrap_err();
    assert!(told.contains("bytes, the limit is 524288"), "{told}");
}

/// What is said of the column of a file, whose one page says the truth.
fn checked(file: Vec<u8>, limits: Limits) -> Result<(), String> {
    let input = ParquetInput(Arc::new(file));
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&input).unwrap();
    check_pages(&input, &metadata, 0, 0, &limits)
}

#[test]
fn pages_of_text_are_held_against_their_limit() {
    // The page has the length of the value before it.
    let of = |bytes: u64| {
        checked(
            blanks(1 << 20, Compression::SNAPPY),
            Limits { text_page_bytes: bytes, page_bytes: 1, ..Limits::DEFAULT },
        )
    };
    let page = (1 << 20) + 4;
    assert_eq!(of(page), Ok(()));
    let told = of(page - 1).unwrap_err();
    assert!(told.contains("it has 1048580 bytes, the limit is 1048579, in the page at "), "{told}");
}

#[test]
fn pages_that_become_many_times_as_much_are_held_against_the_limit() {
    let kinds = [Compression::GZIP(GzipLevel::default()), Compression::SNAPPY];
    for compression in kinds {
        let of = |bytes: u64, page_expansion| {
            let length = usize::try_from(bytes).unwrap() - 4;
            let limits = Limits { page_expansion, ..Limits::DEFAULT };
            checked(blanks(length, compression), limits)
        };
        // So much each may become.
        assert_eq!(of(EXPANSION_FLOOR, 1), Ok(()));
        let told = of(EXPANSION_FLOOR + 1, 10).unwrap_err();
        assert!(told.contains("it becomes 16777217, the limit is 16777216, in the page"), "{told}");
        // Blanks become a thousand times as much by gzip, and twenty by Snappy.
        assert_eq!(of(EXPANSION_FLOOR + 1, 2000), Ok(()));
    }
}
