//! Masks from what changed: which of several ways gives a pair its mask, and what is told of it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests state what they expect by panicking"
)]

mod support;

use diptych_convert::masks::{MaskBook, MaskLine};
use diptych_convert::{MaskGrid, Request};
use diptych_format::Edit;
use diptych_pixels::run_length::encode;
use diptych_schema::MaskOrigin::{Difference, Release, RunLength};
use diptych_schema::{
    Combine, EditPair, Edited, Grid, Mask, MaskOrigin, MaskPart, Picture, Region,
};
use support::{Bench, Toy, convert, edit, files, pair, picture, png_of};

/// Width and height of the pictures.
const SIZE: u32 = 96;

/// Pixels of a scene with some texture, another where `edited` says so.
fn scene(edited: impl Fn(u32, u32) -> bool) -> Vec<u8> {
    let pixel = |x: u32, y: u32| {
        let texture = (x * 7 + y * 13) % 5;
        let plain = 60 + (x + y) / 2 + texture;
        u8::try_from(if edited(x, y) { 235 - texture } else { plain }).unwrap()
    };
    (0..SIZE).flat_map(|y| (0..SIZE).map(move |x| (x, y))).map(|(x, y)| pixel(x, y)).collect()
}

fn block(x: u32, y: u32) -> bool {
    (20..50).contains(&x) && (30..70).contains(&y)
}

fn drawn(name: &str, edited: impl Fn(u32, u32) -> bool) -> Picture {
    picture(name, png_of(SIZE, SIZE, &scene(edited)))
}

/// A mask that says of a block grown by `by` pixels that it is edited.
fn asked(by: u32) -> Mask {
    let grown = |x: u32, y: u32| (20 - by..50 + by).contains(&x) && (30 - by..70 + by).contains(&y);
    let pixels: Vec<u8> = (0..SIZE)
        .flat_map(|y| (0..SIZE).map(move |x| (x, y)))
        .map(|(x, y)| if grown(x, y) { 255 } else { 0 })
        .collect();
    Mask {
        parts: vec![MaskPart::Picture(picture("m.png", png_of(SIZE, SIZE, &pixels)))],
        combine: Combine::Union,
        edited: Edited::White,
        grid: Grid::Source,
        origin: MaskOrigin::Release,
    }
}

/// An object in the upper left quarter of a grid of half the size.
fn object() -> Region {
    let side = SIZE / 2;
    let pixels: Vec<u8> = (0..side)
        .flat_map(|y| (0..side).map(move |x| u8::from(x < side / 2 && y < side / 2)))
        .collect();
    let counts = encode(&pixels, (side, side)).unwrap();
    Region {
        label: Some("cup".to_owned()),
        edit_box: None,
        mask: Some(MaskPart::RunLength { counts, width: side, height: side }),
        scores: Vec::new(),
        role: Some("edited".to_owned()),
    }
}

fn compared(id: &str, target: Picture) -> EditPair {
    EditPair {
        source: drawn("s.png", |_, _| false),
        target: Some(target),
        mask: Some(asked(10)),
        edit_type: Some("replace".to_owned()),
        ..pair(id)
    }
}

fn pairs() -> Vec<Vec<Edit>> {
    let edited = || drawn("t.png", block);
    let plain = || drawn("t.png", |_, _| false);
    let broken = picture("t.png", edited_bytes().into_iter().take(300).collect());
    vec![vec![
        edit(compared("toy:changed", edited())),
        edit(compared("toy:unchanged", plain())),
        edit(EditPair { mask: None, ..compared("toy:unchanged-and-unmasked", plain()) }),
        edit(compared("toy:broken", broken)),
        edit(compared("toy:wide", picture("t.png", png_of(SIZE, 40, &[9; 96 * 40])))),
        edit(EditPair { mask: None, regions: vec![object()], ..compared("toy:object", plain()) }),
    ]]
}

fn edited_bytes() -> Vec<u8> {
    png_of(SIZE, SIZE, &scene(block))
}

/// What is told of the masks, and of each pair's the number of edited pixels.
fn masks(from: Option<&[MaskOrigin]>) -> (MaskBook, Vec<(String, usize)>) {
    let bench = Bench::new();
    let request = Request {
        mask_from: from.map(<[_]>::to_vec),
        mask_grid: Some(MaskGrid::Source),
        ..bench.request()
    };
    let report = convert(&[&Toy(pairs)], &request).unwrap().report;
    let lines: Vec<MaskLine> = report.masks.clone().into();
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (lines[0].dataset.as_str(), lines[0].edit_type.as_deref()),
        ("toy", Some("replace"))
    );
    let found = files(&bench.out());
    let written = found["train-0"].lines().map(|line| {
        let id = line.split_once(' ').unwrap().0.replace("toy_", "");
        (id, line.matches('#').count())
    });
    (report.masks.total(), written.collect())
}

fn counts(of: &std::collections::BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    of.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}

const BLOCK: usize = 30 * 40;
const ASKED: usize = 50 * 60;
const OBJECT: usize = 48 * 48;

#[test]
fn the_release_s_masks_are_written_where_nothing_else_is_said() {
    let (book, written) = masks(None);
    assert_eq!(counts(&book.written), [("none", 2), ("release", 4)]);
    assert!(book.compared.is_empty() && book.overlap.is_none());
    assert_eq!(written[0], ("changed".to_owned(), ASKED));
}

#[test]
fn what_changed_comes_before_what_was_asked_where_that_is_said() {
    let (book, written) = masks(Some(&[Difference, Release]));
    assert_eq!(counts(&book.written), [("difference", 1), ("none", 2), ("release", 3)]);
    assert_eq!(
        counts(&book.compared),
        [("aspects_differ", 1), ("broken_picture", 1), ("local", 1), ("unchanged", 3)]
    );
    let changed = written[0].1;
    assert!(changed.abs_diff(BLOCK) <= BLOCK / 20, "{changed} pixels, {BLOCK} were edited");
    let asked: Vec<_> = [1, 3, 4].map(|at| written[at].1).to_vec();
    assert_eq!(asked, [ASKED; 3]);
    let overlap = book.overlap.unwrap();
    let expected = BLOCK as f64 / ASKED as f64;
    assert_eq!(overlap.pairs, 1);
    assert!((overlap.mean() - expected).abs() < 0.03, "{} for {expected}", overlap.mean());
}

#[test]
fn no_mask_is_made_up() {
    let (book, written) = masks(Some(&[Difference]));
    assert_eq!(counts(&book.written), [("difference", 1), ("none", 5)]);
    assert!(written[1..].iter().all(|(_, pixels)| *pixels == 0), "{written:?}");
}

#[test]
fn the_run_lengths_of_objects_make_a_mask_on_the_source_s_grid() {
    let (book, written) = masks(Some(&[RunLength, Release]));
    assert_eq!(counts(&book.written), [("none", 1), ("release", 4), ("run_length", 1)]);
    assert_eq!(written[5], ("object".to_owned(), OBJECT));
}
