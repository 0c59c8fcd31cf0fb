//! Archives in pieces: cut anywhere, and with pieces missing or short.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeSet;

use support::{Files, bytes, cut, notices, open, png, read, rows, tar};

const GROUP: &str = "results_add_laion_part5";
const PREFIX: &str = "Singleturn/results_add_laion_part5";

/// Three samples, of which the pictures take one to three blocks.
fn members() -> Vec<(String, Vec<u8>)> {
    let mut members = Vec::new();
    for sample in 0..3_u32 {
        for (number, file) in (0..).zip(["original.png", "result.png", "mask.png"]) {
            let length = usize::try_from(200 + 650 * sample).unwrap();
            let name = format!("{GROUP}/00094_00022_00000000{sample}/{file}");
            members.push((name, png(10 * (sample + 1) + number, length)));
        }
    }
    members
}

fn parquet() -> (String, Vec<u8>) {
    let path = |sample: u32, file: &str| format!("{GROUP}/00094_00022_00000000{sample}/{file}");
    let paths: Vec<_> = (0..3).map(|n| (path(n, "original.png"), path(n, "result.png"))).collect();
    let all: Vec<_> =
        paths.iter().map(|(i, o)| (vec![i.as_str()], vec![o.as_str()], "add a dog")).collect();
    ("Parquet/add_part5.parquet".to_owned(), rows(&all))
}

fn copy(pieces: Files) -> Files {
    let mut files = pieces;
    files.push(parquet());
    files
}

/// Where each member begins and ends in the archive.
fn ranges() -> Vec<(String, usize, usize)> {
    let mut at = 0;
    let mut found = Vec::new();
    for (name, bytes) in members() {
        found.push((name, at, at + 512 + bytes.len()));
        at += 512 + bytes.len().next_multiple_of(512);
    }
    found
}

#[test]
fn an_archive_reads_the_same_however_it_is_cut() {
    let archive = tar(&members());
    // Bodies end within blocks; blocks and the zeros at the end are cut at every place.
    let lengths = [300, 511, 512, 513, 700, 1023, 1024, 1025, 2000];
    let ends = (1..=1100).step_by(73).map(|left| archive.len() - left);
    for length in lengths.into_iter().chain(ends) {
        for width in [2, 3, 4] {
            let files = copy(cut(PREFIX, &archive, length, width));
            let reader = open(&files);
            let (pairs, rejections) = read(reader.as_ref());
            assert_eq!((pairs.len(), rejections), (3, vec![]), "{length}");
            // More than a hundred pieces need more digits than two: in order by name no longer.
            assert!(notices(reader.as_ref()).is_empty() || width == 2, "{length}");
            for (sample, pair) in (0..).zip(&pairs) {
                let mask = pair.mask.as_ref().unwrap();
                let diptych_schema::MaskPart::Picture(mask) = &mask.parts[0] else { panic!() };
                let pictures = [&pair.source, pair.target.as_ref().unwrap(), mask];
                for (picture, (_, expected)) in pictures.iter().zip(&members()[3 * sample..]) {
                    let (file, found) = bytes(reader.as_ref(), &files, picture);
                    assert!(file.ends_with(&format!(".tar.split.{:0width$}", 0)));
                    assert_eq!(&found, expected);
                }
            }
        }
    }
}

/// Reads a copy in which the bytes from `from` to `to` of the archive are not there, `piece` being
/// to blame, and checks that exactly what lies there is lost.
fn check_lost(files: &Files, from: usize, to: usize, piece: &str, offset: u64) {
    let is_lost = |name: &str| {
        let (_, start, end) = ranges().into_iter().find(|(of, ..)| of.ends_with(name)).unwrap();
        start < to && from < end
    };
    let reader = open(files);
    let (pairs, rejections) = read(reader.as_ref());
    let mut expected = BTreeSet::new();
    for sample in 0..3 {
        let lost = |file| is_lost(&format!("00000000{sample}/{file}"));
        if !["original.png", "result.png", "mask.png"].into_iter().any(lost) {
            expected.insert(sample);
        }
    }
    let found: BTreeSet<_> = pairs
        .iter()
        .map(|pair| pair.pair_id.rsplit(':').next().unwrap().parse::<i32>().unwrap())
        .collect();
    assert_eq!(found, expected, "{piece}");
    for (pair, sample) in pairs.iter().zip(&expected) {
        assert!(pair.mask.is_some(), "{piece}, {sample}");
        let (_, found) = bytes(reader.as_ref(), files, &pair.source);
        assert_eq!(found, members()[3 * usize::try_from(*sample).unwrap()].1);
    }
    assert_eq!(pairs.len() + rejections.len(), 3);
    for rejection in &rejections {
        assert_eq!(rejection.kind, "missing_piece", "{piece}: {}", rejection.cause);
        assert_eq!(rejection.at.file.as_deref(), Some(piece), "{}", rejection.cause);
        assert_eq!(rejection.at.offset, Some(offset), "{}", rejection.cause);
        assert!(rejection.cause.contains(piece), "{}", rejection.cause);
        assert!(rejection.pair_id.is_some() && rejection.native.is_some());
    }
}

#[test]
fn a_missing_piece_costs_what_lies_in_it_and_nothing_else() {
    let archive = tar(&members());
    for length in [511, 700, 1024, 1500, 3000] {
        let pieces = cut(PREFIX, &archive, length, 3);
        for missing in 0..pieces.len() {
            let name = pieces[missing].0.clone();
            let mut left = pieces.clone();
            left.remove(missing);
            let files = copy(left);
            check_lost(&files, missing * length, (missing + 1) * length, &name, 0);
            // That the last one is missing cannot be told from names.
            let told = notices(open(&files).as_ref()).contains(&"missing_piece".to_owned());
            assert_eq!(told, missing + 1 < pieces.len(), "{name}");
        }
    }
}

#[test]
fn a_short_piece_costs_what_is_not_in_it_any_more() {
    let archive = tar(&members());
    for length in [700, 1024, 1500] {
        let pieces = cut(PREFIX, &archive, length, 3);
        for short in 0..pieces.len() {
            for left in [1, 300, 512, length - 1] {
                let mut files = pieces.clone();
                let (name, bytes) = &mut files[short];
                let (name, had) = (name.clone(), bytes.len());
                if left >= had {
                    continue;
                }
                bytes.truncate(left);
                let from = short * length + left;
                let files = copy(files);
                // What is missing of the end may be nothing but zeros.
                let lost = ranges().iter().any(|(_, _, end)| *end > from);
                if short + 1 < pieces.len() || lost {
                    check_lost(&files, from, short * length + had, &name, left as u64);
                }
            }
        }
    }
}

#[test]
fn of_two_gaps_the_one_is_named_that_cuts_the_member_and_else_both() {
    let archive = tar(&members());
    let mut pieces = cut(PREFIX, &archive, 1500, 3);
    let names: Vec<_> = pieces.iter().map(|(name, _)| name.clone()).collect();
    pieces.remove(4);
    pieces.remove(1);
    let files = copy(pieces);
    let reader = open(&files);
    assert_eq!(reader.files().len(), 3);
    let (_, rejections) = read(reader.as_ref());
    assert!(!rejections.is_empty());
    for rejection in rejections {
        assert_eq!(rejection.kind, "missing_piece");
        let named = [&names[1], &names[4]].into_iter().filter(|n| rejection.cause.contains(*n));
        assert!(named.count() > 0, "{}", rejection.cause);
    }
}

#[test]
fn pieces_in_another_order_by_name_are_read_by_their_numbers() {
    let archive = tar(&members());
    let length = archive.len().div_ceil(12);
    let files = copy(cut(PREFIX, &archive, length, 1));
    let reader = open(&files);
    let (pairs, rejections) = read(reader.as_ref());
    assert_eq!((pairs.len(), rejections), (3, vec![]));
    assert_eq!(notices(reader.as_ref()), ["piece_order"]);
}

#[test]
fn an_archive_of_which_only_the_last_piece_is_there_gives_what_is_in_it() {
    let archive = tar(&members());
    let length = archive.len() / 2 + 77;
    let mut pieces = cut(PREFIX, &archive, length, 3);
    let name = pieces.remove(0).0;
    check_lost(&copy(pieces), 0, length, &name, 0);
}

#[test]
fn an_archive_that_was_not_cut_and_ends_too_early_is_told_of_as_such() {
    let archive = tar(&members());
    let files = copy(vec![(format!("{PREFIX}.tar"), archive[..archive.len() - 2000].to_vec())]);
    let (pairs, rejections) = read(open(&files).as_ref());
    assert_eq!(pairs.len(), 3);
    assert_eq!(rejections, []);
    let files = copy(vec![(format!("{PREFIX}.tar"), archive[..6000].to_vec())]);
    let (_, rejections) = read(open(&files).as_ref());
    assert!(
        rejections
            .iter()
            .any(|r| ["truncated_member", "damaged_archive"].contains(&r.kind.as_str()))
    );
}

/// Of two pieces the length tells nothing: what is read across their border does.
#[test]
fn a_short_first_piece_of_two_gives_no_wrong_picture() {
    let archive = tar(&members());
    let whole = members();
    for (border, lost) in [(4_000, 1), (4_000, 512), (4_000, 1_536), (6_000, 512), (2_500, 700)] {
        let piece = |number: u32| format!("{PREFIX}.tar.split.{number:03}");
        let files = copy(vec![
            (piece(0), archive[..border - lost].to_vec()),
            (piece(1), archive[border..].to_vec()),
        ]);
        let reader = open(&files);
        let (pairs, rejections) = read(reader.as_ref());
        assert_eq!(pairs.len() + rejections.len(), 3, "{border}, {lost}");
        assert!(!rejections.is_empty(), "{border}, {lost}");
        for pair in &pairs {
            let sample: usize = pair.pair_id.rsplit(':').next().unwrap().parse().unwrap();
            let diptych_schema::MaskPart::Picture(mask) = &pair.mask.as_ref().unwrap().parts[0]
            else {
                panic!()
            };
            let pictures = [&pair.source, pair.target.as_ref().unwrap(), mask];
            for (picture, (name, expected)) in pictures.iter().zip(&whole[3 * sample..]) {
                let (_, found) = bytes(reader.as_ref(), &files, picture);
                assert_eq!(found, *expected, "{border}, {lost}: {name}");
            }
        }
    }
}
