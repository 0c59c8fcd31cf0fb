//! Rows of text files as they come: plain, gzipped, damaged.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests state what they expect by panicking"
)]

use std::io::{self, Write};
use std::sync::Arc;

use diptych_storage::Limits;
use diptych_storage::read::{Pieces, ReadAt};
use diptych_storage::rows::{Ending, Layout, Row, RowEvent, Rows};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

/// Rows as number, offset and text; over-long ones with their length in place of the text.
type Found = Vec<(u64, u64, Result<Vec<u8>, u64>)>;

fn read(file: Arc<dyn ReadAt>, limit: usize) -> (Found, Ending, Layout) {
    let limits = Limits { row_bytes: limit, ..Limits::DEFAULT };
    let mut rows = Rows::open(file, &limits).unwrap();
    let mut found = Vec::new();
    assert_eq!(rows.ending(), None);
    while let Some(event) = rows.next_row().unwrap() {
        found.push(match event {
            RowEvent::Row(Row { number, offset, bytes }) => (number, offset, Ok(bytes.to_vec())),
            RowEvent::TooLong { number, offset, length } => (number, offset, Err(length)),
        });
    }
    assert!(rows.next_row().unwrap().is_none());
    let ending = rows.ending().unwrap().clone();
    (found, ending, rows.layout())
}

fn rows(bytes: &[u8]) -> (Vec<String>, Ending) {
    let (found, ending, _) = read(Arc::new(bytes.to_vec()), 1000);
    let rows = found.into_iter().enumerate().map(|(i, (number, _, row))| {
        assert_eq!(number, i as u64);
        String::from_utf8(row.unwrap()).unwrap()
    });
    (rows.collect(), ending)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn ok(row: &str) -> Result<Vec<u8>, u64> {
    Ok(row.as_bytes().to_vec())
}

#[test]
fn lines_are_rows_and_blank_ones_are_none() {
    let text = b"\xef\xbb\xbf{\"a\":1}\r\n\n  \t\r\n{\"b\":2}\n\r\nlast";
    for file in [text.to_vec(), gzip(text)] {
        let (found, ending, layout) = read(Arc::new(file), 100);
        let expected = vec![(0, 3, ok("{\"a\":1}")), (1, 18, ok("{\"b\":2}")), (2, 28, ok("last"))];
        assert_eq!(found, expected);
        assert_eq!((ending, layout), (Ending::Clean, Layout::Lines));
    }
}

#[test]
fn what_is_no_byte_order_mark_is_text() {
    assert_eq!(rows("\u{ff08}a\n".as_bytes()).0, ["\u{ff08}a"]);
    assert_eq!(rows("a\u{feff}b".as_bytes()).0, ["a\u{feff}b"]);
    for text in [&b"\xef\xbb\xbf"[..], b"\xef\xbb\xbf\n\n", b"", b" \n"] {
        assert_eq!(rows(text), (vec![], Ending::Clean));
        assert_eq!(rows(&gzip(text)), (vec![], Ending::Clean));
    }
    let (found, ..) = read(Arc::new(b"\xef\xbb".to_vec()), 9);
    assert_eq!(found, [(0, 0, Ok(b"\xef\xbb".to_vec()))]);
}

#[test]
fn members_follow_each_other_as_one_text() {
    // The second member goes on in the middle of a row.
    let parts = ["one\ntwo\nth", "", "ree\n", "four"];
    let file: Vec<u8> = parts.iter().flat_map(|part| gzip(part.as_bytes())).collect();
    let expected = vec!["one", "two", "three", "four"];
    assert_eq!(rows(&file), (expected.iter().map(ToString::to_string).collect(), Ending::Clean));

    // The same in pieces of one byte, so that no header comes whole.
    let pieces = file.iter().map(|byte| Arc::new(vec![*byte]) as Arc<dyn ReadAt>).collect();
    let (found, ending, _) = read(Arc::new(Pieces::new(pieces)), 100);
    let found: Vec<_> = found.into_iter().map(|(_, _, row)| row).collect();
    assert_eq!((found, ending), (expected.into_iter().map(ok).collect::<Vec<_>>(), Ending::Clean));
}

#[test]
fn large_members_are_read_whole() {
    let line = |i: u32| format!("{{\"row\":{i},\"noise\":{}}}", i.wrapping_mul(2_654_435_761));
    let text = |range: std::ops::Range<u32>| range.map(|i| line(i) + "\n").collect::<String>();
    let mut file = gzip(text(0..30_000).as_bytes());
    file.extend(gzip(text(30_000..50_000).as_bytes()));
    let (found, ending) = rows(&file);
    assert_eq!(ending, Ending::Clean);
    assert!(found.into_iter().eq((0..50_000).map(line)));
}

#[test]
fn what_follows_the_members_is_told_apart() {
    let member = gzip(b"one\ntwo\n");
    let end = member.len() as u64;
    let expected: Vec<String> = vec!["one".into(), "two".into()];
    let with = |tail: &[u8]| rows(&[&member, tail].concat());
    assert_eq!(with(b""), (expected.clone(), Ending::Clean));
    assert_eq!(with(&[0; 700]), (expected.clone(), Ending::Clean));
    assert_eq!(with(&[0; 200_000]), (expected.clone(), Ending::Clean));
    for tail in [&b"three\n"[..], b"x", b"\x1f\x8b\x07rest", b"\x1fx"] {
        let ending = Ending::TrailingGarbage { offset: end, bytes: tail.len() as u64 };
        assert_eq!(with(tail), (expected.clone(), ending));
    }
    let ending = Ending::TrailingGarbage { offset: end + 2, bytes: 3 };
    assert_eq!(with(b"\0\0abc"), (expected.clone(), ending));
    for tail in [&b"\x1f"[..], b"\x1f\x8b", b"\x1f\x8b\x08", b"\x1f\x8b\x08\0\0"] {
        let ending = Ending::Cut { offset: end + tail.len() as u64, unfinished_row: None };
        assert_eq!(with(tail), (expected.clone(), ending));
    }
    let more = [&[0; 9], gzip(b"three").as_slice()].concat();
    assert_eq!(with(&more).0, ["one", "two", "three"]);
}

#[test]
fn a_file_cut_anywhere_gives_no_wrong_row() {
    let texts = ["first row\nsecond row\nthird", " row\nfourth row\n"];
    let expected = ["first row", "second row", "third row", "fourth row"];
    let members: Vec<_> = texts.iter().map(|text| gzip(text.as_bytes())).collect();
    let file = members.concat();
    for length in 2..file.len() {
        let (found, ending) = rows(&file[..length]);
        if length == members[0].len() {
            // Nothing tells that a second member is missing.
            assert_eq!(ending, Ending::Clean);
            continue;
        }
        assert_eq!(found, expected[..found.len()], "{length}");
        match ending {
            Ending::Cut { offset, unfinished_row } => {
                assert_eq!(offset, length as u64);
                assert!(
                    unfinished_row.is_none_or(|number| number == found.len() as u64),
                    "{length}"
                );
                if length > members[0].len() && found.len() == 2 {
                    assert_eq!(unfinished_row, Some(2));
                }
            }
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn damage_inside_a_member_is_told() {
    let file = gzip(b"one\ntwo\nthr");
    // The checksum at the end.
    let mut bad = file.clone();
    let at = bad.len() - 8;
    bad[at] ^= 1;
    let (found, ending) = rows(&bad);
    assert_eq!(found, ["one", "two"]);
    assert!(
        matches!(&ending, Ending::Corrupt { unfinished_row: Some(2), detail, .. } if detail.contains("checksum")),
        "{ending:?}"
    );
    // The header.
    let (found, ending) = rows(b"\x1f\x8b\x09\0\0\0\0\0\0\0rest");
    assert!(found.is_empty());
    assert!(matches!(ending, Ending::Corrupt { unfinished_row: None, .. }));
    // Only the first two bytes.
    assert!(matches!(rows(b"\x1f\x8b").1, Ending::Cut { offset: 2, .. }));
    assert_eq!(rows(b"\x1f").1, Ending::Clean);
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut bad = file.clone();
            bad[at] ^= 1 << bit;
            let limits = Limits::DEFAULT;
            let mut rows = Rows::open(Arc::new(bad), &limits).unwrap();
            while rows.next_row().unwrap().is_some() {}
            assert!(rows.ending().is_some());
        }
    }
}

#[test]
fn rows_over_the_limit_are_passed_over() {
    let long = "x".repeat(200_000);
    let text =
        format!("12345\r\n123456\n{long}\r\n\n12345\n{}\n1234567\r\n123456", " ".repeat(300));
    for file in [text.clone().into_bytes(), gzip(text.as_bytes())] {
        let (found, ending, _) = read(Arc::new(file), 5);
        let expected = vec![
            (0, 0, ok("12345")),
            (1, 7, Err(6)),
            (2, 14, Err(200_000)),
            (3, 200_017, ok("12345")),
            (4, 200_324, Err(7)),
            (5, 200_333, Err(6)),
        ];
        assert_eq!((found, ending), (expected, Ending::Clean));
    }
    // One that is cut is not whole, however long.
    let file = gzip(text.as_bytes());
    let (found, ending, _) = read(Arc::new(file[..file.len() - 1].to_vec()), 5);
    assert_eq!(found.len(), 5);
    assert!(matches!(ending, Ending::Cut { unfinished_row: Some(5), .. }));
}

#[test]
fn items_of_an_array_are_rows() {
    let text = r#"
    [
      {"a": "x, ]}\" [{", "b": [1, [2, {}]]},
      {
        "c": {}
      } , "s,\\", 12 ,null,
      [3]
    ]
    "#;
    let expected = vec![
        r#"{"a": "x, ]}\" [{", "b": [1, [2, {}]]}"#.to_owned(),
        "{\n        \"c\": {}\n      }".to_owned(),
        r#""s,\\""#.to_owned(),
        "12".to_owned(),
        "null".to_owned(),
        "[3]".to_owned(),
    ];
    assert_eq!(rows(text.as_bytes()), (expected.clone(), Ending::Clean));
    assert_eq!(rows(&gzip(text.as_bytes())), (expected.clone(), Ending::Clean));
    let marked = ["\u{feff}", text].concat();
    assert_eq!(rows(marked.as_bytes()), (expected, Ending::Clean));
    let (found, _, layout) = read(Arc::new(b" [ 1,22 ]".to_vec()), 9);
    assert_eq!(found, [(0, 3, ok("1")), (1, 5, ok("22"))]);
    assert_eq!(layout, Layout::Array);
    assert_eq!(rows(b"[]"), (vec![], Ending::Clean));
    assert_eq!(rows(b" [ \n] \n"), (vec![], Ending::Clean));
}

#[test]
fn arrays_that_do_not_end_well_are_told_apart() {
    let unclosed = |offset, unfinished_row| Ending::Unclosed { offset, unfinished_row };
    for (text, count, ending) in [
        ("[", 0, unclosed(1, None)),
        ("[{},", 1, unclosed(4, None)),
        // Such an item cannot go on.
        ("[{},{}", 2, unclosed(6, None)),
        ("[{},\"a\"", 2, unclosed(7, None)),
        // These may.
        ("[{},{\"a\":1", 1, unclosed(10, Some(1))),
        ("[{},12", 1, unclosed(6, Some(1))),
        ("[{},\"a", 1, unclosed(6, Some(1))),
        ("[{},\"a\\\"", 1, unclosed(8, Some(1))),
        ("[{}] x", 1, Ending::TextAfterArray { offset: 5 }),
        ("[{}][{}]", 1, Ending::TextAfterArray { offset: 4 }),
        ("[{},,{}]", 1, Ending::MissingItem { offset: 4 }),
        ("[{}, ]", 1, Ending::MissingItem { offset: 5 }),
        ("[,]", 0, Ending::MissingItem { offset: 1 }),
    ] {
        let (found, found_ending) = rows(text.as_bytes());
        assert_eq!((found.len(), found_ending), (count, ending), "{text}");
    }
    let file = gzip(b"[{\"a\":1}, {\"b\":2}]");
    for length in 2..file.len() {
        let (found, ending) = rows(&file[..length]);
        assert_eq!(found, ["{\"a\":1}", "{\"b\":2}"][..found.len()]);
        assert!(matches!(ending, Ending::Cut { .. }));
    }
}

#[test]
fn items_over_the_limit_are_passed_over() {
    let text = format!("[12345 , {{{}}},\"12\"{}, 123456]", " ".repeat(200_000), " ".repeat(99));
    let (found, ending, _) = read(Arc::new(text.into_bytes()), 5);
    let expected = vec![
        (0, 1, ok("12345")),
        (1, 9, Err(200_002)),
        (2, 200_012, ok("\"12\"")),
        (3, 200_117, Err(6)),
    ];
    assert_eq!((found, ending), (expected, Ending::Clean));
}

/// A file that cannot be read on from some place.
struct Broken(Vec<u8>, usize);

impl ReadAt for Broken {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let offset = usize::try_from(offset).unwrap();
        if offset >= self.1 {
            return Err(io::Error::other("broken"));
        }
        let n = buffer.len().min(self.1 - offset);
        buffer[..n].copy_from_slice(&self.0[offset..offset + n]);
        Ok(n)
    }
}

#[test]
fn errors_of_reading_are_errors() {
    for text in [gzip(b"one\ntwo\n"), b"one\ntwo\n".to_vec(), b"[1,2]".to_vec()] {
        for good in 0..text.len() {
            let file = Arc::new(Broken(text.clone(), good));
            let error = Rows::open(file, &Limits::DEFAULT)
                .and_then(|mut rows| {
                    while rows.next_row()?.is_some() {}
                    Ok(())
                })
                .unwrap_err();
            assert_eq!(error.to_string(), "broken");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_come_back(
        lines in prop::collection::vec("[a-z{}\\[,\"\u{4e00}-\u{4e10} ]{0,40}", 0..40),
        cuts in prop::collection::vec(0..1000_usize, 0..4),
        crlf: bool,
        last: bool,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        // A first row that begins with a bracket would make it an array.
        let mut text = format!("first{end}{}", lines.join(end));
        if last {
            text.push_str(end);
        }
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut % (text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let members: Vec<_> = cuts.windows(2).map(|w| gzip(&text.as_bytes()[w[0]..w[1]])).collect();
        let (found, ending) = rows(&members.concat());
        let expected: Vec<_> = std::iter::once("first")
            .chain(lines.iter().map(String::as_str))
            .filter(|line| !line.trim().is_empty())
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(ending, Ending::Clean);
    }

    #[test]
    fn any_bytes_end(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        head in prop::sample::select(vec![&b""[..], b"[", b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\xef\xbb\xbf"]),
        limit in 0..20_usize,
    ) {
        let text = [head, &bytes].concat();
        let length = text.len() as u64;
        let (found, ..) = read(Arc::new(text), limit);
        for (_, offset, row) in found {
            if let Ok(row) = row {
                prop_assert!(row.len() <= limit);
                prop_assert!(!row.trim_ascii().is_empty());
                prop_assert!(!head.starts_with(b"\x1f") && offset < length || head.starts_with(b"\x1f"));
            }
        }
    }
}
