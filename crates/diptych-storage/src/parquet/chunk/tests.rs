use ::parquet::basic::Repetition;
use ::parquet::schema::types::{ColumnDescriptor, ColumnPath, Type as SchemaType};

use super::*;

/// A page of the first form: levels of these bytes, then these values.
fn page(values: u8, levels: &[u8], texts: &[&str]) -> Vec<u8> {
    let mut body = levels.to_vec();
    for text in texts {
        body.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        body.extend(text.as_bytes());
    }
    // A number of the head has two bytes where it does not fit in one.
    let size = body.len() * 2;
    let size = [u8::try_from(size & 0x7F).unwrap() | 0x80, u8::try_from(size >> 7).unwrap()];
    let mut page = vec![0x15, 0, 0x15, size[0], size[1], 0x15, size[0], size[1]];
    page.extend([0x2C, 0x15, values * 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]);
    page.extend(body);
    page
}

/// A column that is nothing but these pages. With a list its values are items that may be null of
/// structs that may be null.
fn chunk(bytes: &[u8], repetition: i16, definition: i16) -> Chunk {
    let leaf = SchemaType::primitive_type_builder("bytes", Type::BYTE_ARRAY)
        .with_repetition(Repetition::OPTIONAL)
        .build()
        .unwrap();
    let path = ColumnPath::from("bytes");
    let descriptor = ColumnDescriptor::new(Arc::new(leaf), definition, repetition, path);
    let length = i64::try_from(bytes.len()).unwrap();
    let metadata = ColumnChunkMetaData::builder(Arc::new(descriptor))
        .set_total_compressed_size(length)
        .build()
        .unwrap();
    Chunk {
        input: ParquetInput(Arc::new(bytes.to_vec())),
        metadata,
        start: 0,
        end: bytes.len() as u64,
        max_repetition: u8::try_from(repetition).unwrap(),
        max_definition: u8::try_from(definition).unwrap(),
        item: if repetition > 0 { 2 } else { 0 },
        page_bytes: 1 << 20,
        page_expansion: 1,
        dictionary: Mutex::default(),
    }
}

fn rows(bytes: &[u8], repetition: i16, definition: i16) -> Result<Vec<Vec<String>>, String> {
    let mut values = Rows::new(chunk(bytes, repetition, definition));
    let mut rows = Vec::new();
    loop {
        match values.next_row() {
            Ok(None) => return Ok(rows),
            Ok(Some(row)) => {
                let text = |value: &Value| match value {
                    Value::Range { offset, length } => {
                        let start = usize::try_from(*offset).unwrap();
                        let end = start + usize::try_from(*length).unwrap();
                        String::from_utf8(bytes[start..end].to_vec()).unwrap()
                    }
                    Value::Held(bytes) => String::from_utf8(bytes.data().to_vec()).unwrap(),
                };
                rows.push(row.iter().filter_map(|cell| cell.value.as_ref().map(text)).collect());
            }
            Err(ValueFault::Damaged(what)) => return Err(what),
            Err(ValueFault::Read(error)) => return Err(error.to_string()),
        }
    }
}

#[test]
fn values_are_found_over_pages_and_within_them() {
    // Three rows without a picture, then one with, then two in one page.
    let long = "x".repeat(5000);
    let column = [
        page(3, &[2, 0, 0, 0, 6, 0], &[]),
        page(1, &[2, 0, 0, 0, 2, 2], &[&long]),
        page(2, &[2, 0, 0, 0, 4, 2], &["", "b"]),
    ]
    .concat();
    let found = rows(&column, 0, 2).unwrap();
    let row = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    assert_eq!(found, [row(&[]), row(&[]), row(&[]), row(&[&long]), row(&[""]), row(&["b"])]);
    // Lists: one of two, an empty one, and one that goes on in the next page.
    let column = [
        page(4, &[2, 0, 0, 0, 3, 0b0010, 3, 0, 0, 0, 4, 4, 3], &["a"]),
        page(4, &[2, 0, 0, 0, 3, 0b0010, 5, 0, 0, 0, 4, 4, 2, 1, 2], &["a", "b"]),
        page(1, &[2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 2, 4], &["c"]),
    ];
    assert!(rows(&column[0], 1, 4).unwrap_err().starts_with("levels that are not as many"));
    let found = rows(&column[1..].concat(), 1, 4);
    assert!(found.is_err(), "{found:?}");
    let whole = page(4, &[2, 0, 0, 0, 3, 0b0010, 4, 0, 0, 0, 4, 4, 4, 1], &["a", "b"]);
    let found = rows(&[whole, column[2].clone()].concat(), 1, 4).unwrap();
    assert_eq!(found, [row(&["a", "b"]), row(&[]), row(&["c"])]);
}

#[test]
fn a_page_that_lies_about_itself_is_told_of() {
    let message = |column: &[u8]| rows(column, 0, 2).unwrap_err();
    let whole = page(1, &[2, 0, 0, 0, 2, 2], &["picture"]);
    let cut = &whole[..whole.len() - 1];
    assert_eq!(message(cut), "it is longer than its column, in the page at 0");
    let mut longer = whole.clone();
    longer[25] += 1;
    assert_eq!(message(&longer), "a value is longer than it, in the page at 0");
    let more = page(2, &[2, 0, 0, 0, 4, 2], &["picture"]);
    assert_eq!(message(&more), "it has fewer values than it says, in the page at 0");
    assert_eq!(message(&whole[..10]), "it does not end, in the page at 0");
}
