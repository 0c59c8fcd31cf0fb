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
    let file: Arc<dyn ReadAt> = Arc::new(blanks(1 << 20, compression));
    let input = ParquetInput(Arc::clone(&file));
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&input).unwrap();
    let chunk = Chunk::of_any_type(&input, &metadata, 0, 0, limit).unwrap();
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
