use super::*;

/// The head of a page as `parquet` and pyarrow write it: of the first form, of 3 values.
const FIRST: &[u8] = &[0x15, 0, 0x15, 40, 0x15, 40, 0x2C, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];

/// And of the second, with 2 bytes of repetition and 3 of definition levels.
const SECOND: &[u8] = &[
    0x15, 6, 0x15, 40, 0x15, 40, 0x5C, 0x15, 6, 0x15, 2, 0x15, 4, 0x15, 0, 0x15, 6, 0x15, 4, 0x12,
    0, 0,
];

fn changed(at: usize, to: u8) -> Vec<u8> {
    let mut bytes = FIRST.to_vec();
    bytes[at] = to;
    bytes
}

#[test]
fn heads_of_both_forms_are_read() {
    let levels = LevelPlaces::Measured;
    let data = DataHead { values: 3, plain: true, compressed: true, levels };
    let kind = PageKind::Data(data);
    let first = PageHead { length: 17, size: 20, uncompressed: 20, kind };
    assert_eq!(page_head(FIRST), Ok(first));
    let levels = LevelPlaces::Said(2, 3);
    let kind = PageKind::Data(DataHead { levels, compressed: false, ..data });
    let second = PageHead { length: SECOND.len(), kind, ..first };
    assert_eq!(page_head(SECOND), Ok(second));
    // The second form says whether it is compressed.
    for (word, compressed) in [(0x11, true), (0x12, false)] {
        let mut said = SECOND[..19].to_vec();
        said.extend([word, 0, 0]);
        let found = page_head(&said).unwrap().kind;
        assert_eq!(found, PageKind::Data(DataHead { levels, compressed, ..data }));
    }
    // What is not known is passed over: statistics with two texts, before the end of the inner head.
    let mut with_more = FIRST[..15].to_vec();
    with_more.extend([0x1C, 0x18, 2, b'a', b'b', 0x18, 0, 0, 0, 0]);
    let found = page_head(&with_more).unwrap();
    assert_eq!(found, PageHead { length: with_more.len(), ..first });
    // Sizes differ where it is compressed, and the encoding is told.
    let compressed = PageHead { size: 19, ..first };
    assert_eq!(page_head(&changed(5, 38)), Ok(compressed));
    let encoded = PageHead { kind: PageKind::Data(DataHead { plain: false, ..data }), ..first };
    assert_eq!(page_head(&changed(10, 16)), Ok(encoded));
    let dictionary = page_head(&[0x15, 4, 0x15, 40, 0x15, 40, 0x4C, 0x15, 6, 0x15, 0, 0, 0]);
    assert_eq!(dictionary.unwrap().kind, PageKind::Dictionary);
}

#[test]
fn what_is_no_page_is_not_taken_for_one() {
    let unknown = |bytes: &[u8], what| assert_eq!(page_head(bytes), Err(PageFault::Unknown(what)));
    unknown(&changed(12, 8), "levels of another form");
    unknown(&changed(8, 1), "a page of too many values");
    unknown(&changed(3, 1), "a page of no size");
    unknown(&[0x15, 0, 0x15, 40, 0x15, 40, 0], "a page without its own head");
    let most = [
        0x15, 0, 0x15, 40, 0x15, 40, 0x2C, 0x15, 0x82, 0x80, 0x80, 1, 0x15, 0, 0x15, 6, 0x15, 6, 0,
        0,
    ];
    unknown(&most, "a page of too many values");
    for end in 0..FIRST.len() {
        assert_eq!(page_head(&FIRST[..end]), Err(PageFault::NeedsMore), "{end}");
    }
}

#[test]
fn levels_are_runs_or_packed_bits() {
    let head =
        |values| DataHead { values, plain: true, compressed: true, levels: LevelPlaces::Measured };
    // A run of three, then eight in packed bits of two each, of which four count.
    let body = [4, 0, 0, 0, 6, 2, 3, 0b11_10_01_00, 9];
    let short = levels(&head(7), &body, 0, 3);
    assert!(matches!(short, Err(PageFault::Unknown(_))), "{short:?}");
    let body = [5, 0, 0, 0, 6, 2, 3, 0b11_10_01_00, 0, 9];
    let found = levels(&head(7), &body, 0, 3).unwrap();
    assert_eq!(found.definition, [2, 2, 2, 0, 1, 2, 3]);
    assert_eq!((found.begins, found.length), (vec![true; 7], 9));
    // Repetition comes first.
    let body = [2, 0, 0, 0, 3, 0b110, 2, 0, 0, 0, 6, 4];
    let found = levels(&head(3), &body, 1, 4).unwrap();
    assert_eq!((found.begins, found.definition), (vec![true, false, false], vec![4, 4, 4]));
    let said = DataHead { levels: LevelPlaces::Said(2, 2), ..head(3) };
    let found = levels(&said, &[3, 0b110, 6, 4], 1, 4).unwrap();
    assert_eq!((found.begins, found.length), (vec![true, false, false], 4));
    // Nothing is reserved for what is only said, and a level that cannot be is none.
    for body in [&[2, 0, 0, 0, 6, 4][..], &[2, 0, 0, 0, 0, 1], &[1, 0, 0, 0, 3]] {
        let wrong = levels(&head(3), body, 0, 3);
        assert!(matches!(wrong, Err(PageFault::Unknown(_))), "{wrong:?}");
    }
    assert_eq!(levels(&head(3), &[9, 0, 0, 0, 1], 0, 3), Err(PageFault::NeedsMore));
}

proptest::proptest! {
    #[test]
    fn no_bytes_of_a_page_make_it_panic(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        start in 0..FIRST.len(),
        (values, repetition, definition) in (0..2000_u32, 0..8_u8, 0..8_u8),
    ) {
        let _ = page_head(&bytes);
        let _ = page_head(&[&FIRST[..start], &bytes].concat());
        let _ = page_head(&[&SECOND[..start], &bytes].concat());
        for places in [LevelPlaces::Measured, LevelPlaces::Said(3, 50)] {
            let head = DataHead { values, plain: true, compressed: true, levels: places };
            if let Ok(levels) = levels(&head, &bytes, repetition, definition) {
                proptest::prop_assert_eq!(levels.definition.len(), values as usize);
            }
        }
    }
}

#[test]
fn a_dictionary_of_more_values_than_it_can_have_is_refused() {
    // Of `size` bytes, with the number of values as it is written; numbers are doubled.
    let of = |size: &[u8], values: &[u8]| {
        let parts = [&[0x15, 4, 0x15][..], size, &[0x15, 40, 0x4C, 0x15], values, &[0x15, 0, 0, 0]];
        page_head(&parts.concat()).map(|head| head.kind)
    };
    let refused = Err(PageFault::Unknown("a dictionary of too many values"));
    assert_eq!(of(&[40], &[40]), Ok(PageKind::Dictionary), "20 values in 20 bytes");
    assert_eq!(of(&[40], &[42]), refused, "21 values in 20 bytes");
    assert_eq!(of(&[40], &[1]), refused, "-1 values");
    let (most, more) = ([0x80, 0x80, 0x80, 1], [0x82, 0x80, 0x80, 1]);
    let bytes = [0x80, 0x80, 0x80, 2];
    assert_eq!(of(&bytes, &most), Ok(PageKind::Dictionary), "as many as are believed");
    assert_eq!(of(&bytes, &more), refused);
    let without = [0x15, 4, 0x15, 40, 0x15, 40, 0];
    assert_eq!(page_head(&without), Err(PageFault::Unknown("a page without its own head")));
}
