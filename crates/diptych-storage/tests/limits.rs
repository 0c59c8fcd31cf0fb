//! Limits on texts of rows, in both directions.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests state what they expect by panicking"
)]

use std::io::{self, Write};
use std::sync::Arc;

use diptych_storage::limits::EXPANSION_FLOOR;
use diptych_storage::rows::{Ending, RowEvent, Rows};
use diptych_storage::{Limits, ReadAt};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Rows that were given, and how the text ended.
fn read(file: impl ReadAt + 'static, limits: &Limits) -> (u64, Ending) {
    let mut rows = Rows::open(Arc::new(file), limits).unwrap();
    let mut count = 0;
    while let Some(event) = rows.next_row().unwrap() {
        let (RowEvent::Row(diptych_storage::rows::Row { number, .. })
        | RowEvent::TooLong { number, .. }) = event;
        assert_eq!(number, count);
        count += 1;
    }
    (count, rows.ending().unwrap().clone())
}

/// Bytes of which few are given at a time.
struct InSteps(Vec<u8>);

impl ReadAt for InSteps {
    fn len(&self) -> u64 {
        ReadAt::len(&self.0)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let step = buffer.len().min(999);
        self.0.read_at(offset, &mut buffer[..step])
    }
}

/// Blanks, then a row; gzipped.
fn zipped(bytes: u64) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    io::copy(&mut io::Read::take(io::repeat(b' '), bytes - 4), &mut encoder).unwrap();
    encoder.write_all(b"\n{}\n").unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_text_becomes_so_many_times_its_size_and_no_more() {
    let limits = |expansion| Limits { expansion, ..Limits::DEFAULT };
    // However little is compressed, it may become so much.
    assert_eq!(read(zipped(EXPANSION_FLOOR), &limits(1)), (1, Ending::Clean));
    let (rows, ending) = read(zipped(EXPANSION_FLOOR + 1), &limits(1));
    assert_eq!(rows, 0);
    let Ending::TooMuch { limit, unfinished_row, .. } = ending else { unreachable!() };
    assert_eq!((limit, unfinished_row), (EXPANSION_FLOOR, Some(0)), "its end was not there");
    // Blanks become a thousand times as much.
    let file = zipped(20 << 20);
    let times = (20_u64 << 20).div_ceil(file.len() as u64);
    assert!(times > 500, "{times}");
    assert_eq!(read(file.clone(), &limits(times)), (1, Ending::Clean));
    let (rows, ending) = read(file.clone(), &limits(times - 1));
    assert_eq!(rows, 0);
    let Ending::TooMuch { offset, limit, unfinished_row } = ending else { unreachable!() };
    assert_eq!((limit, unfinished_row), (file.len() as u64 * (times - 1), None));
    assert!(offset <= file.len() as u64);
    // Several members are one text, and what is before the limit counts.
    let twice = [zipped(EXPANSION_FLOOR / 2), zipped(EXPANSION_FLOOR / 2 + 1)].concat();
    assert!(matches!(read(twice, &limits(1)), (1, Ending::TooMuch { .. })));
}

#[test]
fn what_is_not_compressed_is_as_long_as_it_is() {
    let mut text = vec![b' '; usize::try_from(EXPANSION_FLOOR).unwrap() + 1];
    text.extend_from_slice(b"\n{}\n");
    let limits = Limits { expansion: 1, ..Limits::DEFAULT };
    assert_eq!(read(text, &limits), (1, Ending::Clean));
}

#[test]
fn so_many_bytes_are_gone_through_to_the_end_of_a_row() {
    let buffer = 64 << 10;
    for (before, begun) in [("\n", false), ("y", true)] {
        for array in [false, true] {
            let row = |bytes: usize| {
                let (open, close) = if array { ("[1,", "]") } else { ("1\n", "") };
                format!("{open}{}{close}\n", before.repeat(bytes)).into_bytes()
            };
            let limits = Limits { gap_bytes: 5 * buffer, row_bytes: 9, ..Limits::DEFAULT };
            let gap = usize::try_from(limits.gap_bytes).unwrap();
            let (rows, ending) = read(row(gap - 10), &limits);
            let whole = 1 + u64::from(begun);
            match (array, begun) {
                (true, false) => {
                    assert!(matches!(ending, Ending::MissingItem { .. }), "{ending:?}");
                }
                _ => assert_eq!((rows, ending), (whole, Ending::Clean)),
            }
            let (rows, ending) = read(row(gap + 1), &limits);
            assert_eq!(rows, 1);
            // Where it stopped does not depend on how much is read at a time.
            assert_eq!(read(InSteps(row(gap + 1)), &limits), (rows, ending.clone()));
            let Ending::NoRow { limit, unfinished_row, offset } = ending else { unreachable!() };
            assert_eq!((limit, unfinished_row), (limits.gap_bytes, begun.then_some(1)));
            assert!((2..=3).contains(&(offset - limits.gap_bytes)), "{offset}");
        }
    }
}

#[test]
fn so_many_rows_are_given_and_no_more() {
    let limits = Limits { rows: 3, row_bytes: 2, ..Limits::DEFAULT };
    for (text, rows, ending) in [
        ("1\n2\n3\n\n", 3, Ending::Clean),
        ("1\n2\n3\n4\n5\n", 3, Ending::TooManyRows { offset: 6, limit: 3 }),
        ("1\n2\n3\nlong", 3, Ending::TooManyRows { offset: 6, limit: 3 }),
        ("[1, 2, 3]", 3, Ending::Clean),
        ("[1, 2, 3, 4]", 3, Ending::TooManyRows { offset: 10, limit: 3 }),
    ] {
        assert_eq!(read(text.as_bytes().to_vec(), &limits), (rows, ending), "{text:?}");
    }
}
