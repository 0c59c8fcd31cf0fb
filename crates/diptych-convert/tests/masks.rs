//! Masks on their way through the engine: from parts of any kind to their one form.

#![expect(clippy::unwrap_used, reason = "tests state what they expect by panicking")]

mod support;

use std::collections::BTreeMap;

use diptych_convert::{MaskGrid, Request};
use diptych_format::{Edit, Format};
use diptych_pixels::{Bits, Orientation};
use diptych_schema::{
    Address, Combine, EditPair, Edited, Grid, Mask, MaskOrigin, MaskPart, Picture,
};
use support::{Bench, Toy, convert, edit, files, pair, picture, png, png_of};

/// A mask of marks, row by row: `#` is 255, `+` 200, `-` 100 and `.` 0.
fn drawn(width: u32, marks: &str) -> MaskPart {
    let value = |mark| match mark {
        '#' => 255,
        '+' => 200,
        '-' => 100,
        _ => 0,
    };
    let pixels: Vec<u8> = marks.chars().map(value).collect();
    let height = u32::try_from(pixels.len()).unwrap() / width;
    MaskPart::Picture(picture("m.png", png_of(width, height, &pixels)))
}

fn run_length(counts: &str, width: u32, height: u32) -> MaskPart {
    MaskPart::RunLength { counts: counts.to_owned(), width, height }
}

/// A pair whose source has 4x3 pixels and whose target 2x2.
fn masked(id: &str, edited: Edited, grid: Grid, parts: Vec<MaskPart>) -> EditPair {
    let (combine, origin) = (Combine::Union, MaskOrigin::Release);
    EditPair { mask: Some(Mask { parts, combine, edited, grid, origin }), ..pair(id) }
}

fn on_source(id: &str, edited: Edited, parts: Vec<MaskPart>) -> Edit {
    edit(masked(id, edited, Grid::Source, parts))
}

/// By the ids of pairs.
type Told = BTreeMap<String, String>;

/// What is written of each pair's mask, and of what is rejected the kinds and causes.
fn masks(formats: &'static [&'static dyn Format], change: fn(&mut Request)) -> (Told, Told) {
    let bench = Bench::new();
    let mut request = bench.request();
    change(&mut request);
    let total = convert(formats, &request).unwrap().report.total;
    let found = files(&bench.out());
    let mask = |line: &str| {
        let (key, mask) = line.split_once(" source:").unwrap();
        let (_, mask) = mask.split_once(" mask:png:").unwrap();
        (key.replace("toy_", ""), mask.to_owned())
    };
    let rejection = |line: &str| {
        let rejection: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| rejection.get(key).and_then(|of| of.as_str()).unwrap().to_owned();
        (text("pair_id").replace("toy:", ""), format!("{}, {}", text("kind"), text("cause")))
    };
    let lines = |name: &str| found.get(name).map(String::as_str).unwrap_or_default().lines();
    let written: Told = lines("train-0").map(mask).collect();
    let rejected: Told = lines("rejections.jsonl").map(rejection).collect();
    assert_eq!(total.written, written.len() as u64);
    assert_eq!(total.rejections(), rejected.len() as u64);
    (written, rejected)
}

/// What is told of a mask, without how long it is.
fn shown(masks: &Told) -> Vec<(&str, String)> {
    let without_length = |mask: &str| {
        let (before, rows) = mask.rsplit_once(':').unwrap();
        let (before, _length) = before.rsplit_once(' ').unwrap();
        format!("{before} {rows}")
    };
    masks.iter().map(|(id, mask)| (id.as_str(), without_length(mask))).collect()
}

fn pictures() -> Vec<Vec<Edit>> {
    let whole = png(4, 3, 255);
    let cut = whole.iter().copied().take(whole.len() - 20).collect();
    let cut = MaskPart::Picture(picture("cut.png", cut));
    let white = |id, parts| on_source(id, Edited::White, parts);
    let black = |id, parts| on_source(id, Edited::Black, parts);
    vec![vec![
        white("toy:as-it-is", vec![drawn(4, "####+-......")]),
        black("toy:turned", vec![drawn(4, "####+-......")]),
        white("toy:united", vec![drawn(4, "+-.........."), drawn(4, "...........#")]),
        black("toy:united-black", vec![drawn(4, "+-##########"), drawn(4, "###########.")]),
        white("toy:other-sizes", vec![drawn(4, "............"), drawn(3, ".........")]),
        black("toy:broken", vec![cut]),
        white("toy:no-parts", vec![]),
    ]]
}

#[test]
fn pictures_come_in_the_one_form() {
    let (written, rejected) = masks(&[&Toy(pictures)], |_| {});
    let as_it_is = png_of(4, 3, &[255, 255, 255, 255, 200, 100, 0, 0, 0, 0, 0, 0]).len();
    let untouched = format!("4x3 name:m.png on:source {as_it_is}:####/??../....");
    assert_eq!(written["as-it-is"], untouched);
    assert_eq!(
        shown(&written)[1..],
        [
            ("turned", "4x3 name:m.png on:source ..../.###/####".to_owned()),
            ("united", "4x3 name:m.png on:source #.../..../...#".to_owned()),
            ("united-black", "4x3 name:m.png on:source .#../..../...#".to_owned()),
        ]
    );
    let kinds: Vec<_> = rejected.values().filter_map(|told| told.split(',').next()).collect();
    assert_eq!(kinds, ["broken_mask", "unsupported_mask", "mask_sizes_differ"]);
}

fn run_lengths() -> Vec<Vec<Edit>> {
    let white = |id, parts| on_source(id, Edited::White, parts);
    vec![vec![
        white("toy:alone", vec![run_length("32112", 4, 3)]),
        // What is dark in pictures says nothing of run lengths.
        on_source("toy:alone-black", Edited::Black, vec![run_length("32112", 4, 3)]),
        white("toy:beside", vec![run_length("32112", 4, 3), drawn(4, "#..........#")]),
        white("toy:two", vec![run_length("01;", 4, 3), run_length(";1", 4, 3)]),
        white("toy:short", vec![run_length("32", 4, 3), run_length("<", 4, 3)]),
        white("toy:other-sizes", vec![run_length("<", 4, 3), run_length("<", 3, 4)]),
        white("toy:long", vec![run_length("0=", 4, 3)]),
        white("toy:cut", vec![drawn(4, "............"), run_length("3P", 4, 3)]),
        white("toy:empty", vec![run_length("0", 0, 3)]),
    ]]
}

#[test]
fn run_lengths_come_in_the_one_form() {
    let (written, rejected) = masks(&[&Toy(run_lengths)], |_| {});
    assert_eq!(
        shown(&written),
        [
            ("alone", "4x3 name:- on:source .##./.##./..#.".to_owned()),
            ("alone-black", "4x3 name:- on:source .##./.##./..#.".to_owned()),
            ("beside", "4x3 name:m.png on:source ###./.##./..##".to_owned()),
            ("short", "4x3 name:- on:source mask_padded:7 .#../.#../....".to_owned()),
            ("two", "4x3 name:- on:source #.../..../...#".to_owned()),
        ]
    );
    let told: Vec<_> = rejected.iter().map(|(id, told)| (id.as_str(), told.as_str())).collect();
    assert_eq!(
        told,
        [
            ("cut", "broken_mask, m.png: part 1 of the mask is broken: run length 1 is cut off"),
            (
                "empty",
                "broken_mask, part 0 of the mask is broken: \
                 run lengths for a grid of 0x3 pixels"
            ),
            (
                "long",
                "broken_mask, part 0 of the mask is broken: \
                 the run lengths up to 1 add up to 13 pixels, the grid has 12"
            ),
            (
                "other-sizes",
                "mask_sizes_differ, part 1 of the mask has 3x4 pixels, the parts before it 4x3"
            ),
        ]
    );
}

#[test]
fn the_limits_hold_for_run_lengths() {
    let too_large = |change: fn(&mut Request)| {
        let (_, rejected) = masks(&[&Toy(run_lengths)], change);
        rejected.values().filter(|told| told.starts_with("mask_too_large, ")).count()
    };
    assert_eq!(too_large(|request| request.limits.pixels = 12), 0);
    assert_eq!(too_large(|request| request.limits.pixels = 11), 8);
    assert_eq!(too_large(|request| request.limits.picture_bytes = 15), 8);
}

/// The pair with the sizes of its pictures, as a reader tells them that has looked at headers.
fn probed(edits: Edit) -> Edit {
    let Edit::Pair(mut pair) = edits else { return edits };
    let tell = |of: &mut Picture, (width, height): (u32, u32)| {
        (of.width, of.height) = (Some(width), Some(height));
    };
    tell(&mut pair.source, (4, 3));
    tell(pair.target.as_mut().unwrap(), (2, 2));
    for part in pair.mask.iter_mut().flat_map(|mask| &mut mask.parts) {
        if let MaskPart::Picture(picture) = part {
            let Address::Inline(bytes) = &picture.address else { continue };
            let info = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
            let size = info.info().size();
            tell(picture, size);
        }
    }
    pair.verify_mask_grid();
    Edit::Pair(pair)
}

/// Masks on grids of every kind, their sizes left to be found out.
fn grids() -> Vec<Vec<Edit>> {
    let on = |id, edited, grid, parts| edit(masked(id, edited, grid, parts));
    let (white, black) = (Edited::White, Edited::Black);
    vec![vec![
        on("toy:as-it-is", white, Grid::Source, vec![drawn(4, "####+-......")]),
        on("toy:black", black, Grid::Other, vec![drawn(2, "#.-+")]),
        on("toy:expected", white, Grid::Source, vec![drawn(2, "#..+")]),
        on("toy:large", white, Grid::Other, vec![drawn(8, &"########........".repeat(3))]),
        on("toy:run-length", white, Grid::Other, vec![run_length("01102", 3, 2)]),
        on("toy:short", white, Grid::Target, vec![run_length("02", 2, 2)]),
        on("toy:target", white, Grid::Target, vec![drawn(2, "#...")]),
        on("toy:two-sizes", white, Grid::Target, vec![drawn(2, "#..."), drawn(1, "..#")]),
        on("toy:soft", white, Grid::Target, vec![drawn(1, "#+-.")]),
    ]]
}

fn probed_grids() -> Vec<Vec<Edit>> {
    grids().into_iter().map(|edits| edits.into_iter().map(probed).collect()).collect()
}

#[test]
fn masks_stay_on_their_own_grids() {
    let (written, rejected) = masks(&[&Toy(grids)], |_| {});
    let of = |id: &str| shown(&written).into_iter().find(|told| told.0 == id).unwrap().1;
    assert_eq!(of("black"), "2x2 name:m.png on:target mask_grid_expected:other .#/#.");
    assert_eq!(of("expected"), "2x2 name:m.png on:target mask_grid_expected:source #./.?");
    assert_eq!(of("run-length"), "3x2 name:- on:other ##./...");
    assert_eq!(of("soft"), "1x4 name:m.png on:other mask_grid_expected:target #/?/?/.");
    assert_eq!(rejected.into_keys().collect::<Vec<_>>(), ["two-sizes"]);
    let (probed, _) = masks(&[&Toy(probed_grids)], |_| {});
    assert_eq!(probed, written);
}

#[test]
fn masks_are_brought_to_the_sources_grid_where_that_is_asked_for() {
    let (written, rejected) = masks(&[&Toy(grids)], |request| {
        request.mask_grid = Some(MaskGrid::Source);
    });
    let as_it_is = png_of(4, 3, &[255, 255, 255, 255, 200, 100, 0, 0, 0, 0, 0, 0]).len();
    let untouched = format!("4x3 name:m.png on:source {as_it_is}:####/??../....");
    assert_eq!(written["as-it-is"], untouched);
    let told = |id, told: &str| (id, format!("4x3 name:{told}"));
    assert_eq!(
        shown(&written)[1..],
        [
            told("black", "m.png on:source mask_grid_expected:other ..##/##../##.."),
            told("expected", "m.png on:source mask_grid_expected:source ##../..##/..##"),
            told("large", "m.png on:source ..../..../...."),
            told("run-length", "- on:source ###./..../...."),
            told("short", "- on:source mask_padded:2 ##../##../##.."),
            told("soft", "m.png on:source mask_grid_expected:target ####/..../...."),
            told("target", "m.png on:source ##../..../...."),
            told("two-sizes", "m.png on:source ##../..../####"),
        ]
    );
    assert_eq!(rejected, Told::new());
    let (probed, _) = masks(&[&Toy(probed_grids)], |request| {
        request.mask_grid = Some(MaskGrid::Source);
    });
    assert_eq!(probed, written);
}

#[test]
fn the_limits_hold_for_the_grid_of_the_source() {
    // The source has 12 pixels, and no mask but the one of 48 has more.
    let too_large = |change: fn(&mut Request)| {
        let (_, rejected) = masks(&[&Toy(grids)], change);
        let large = rejected.iter().filter(|(_, told)| told.starts_with("mask_too_large, "));
        large.map(|(id, _)| id.clone()).collect::<Vec<_>>()
    };
    let found = too_large(|request| {
        request.mask_grid = Some(MaskGrid::Source);
        request.limits.pixels = 12;
    });
    assert_eq!(found, ["large"]);
    let found = too_large(|request| {
        request.mask_grid = Some(MaskGrid::Source);
        request.limits.pixels = 11;
    });
    // All but the one that is copied.
    assert_eq!(found.len(), 8);
}

#[test]
fn the_report_says_which_grid_was_asked_for() {
    for (mask_grid, word) in [(MaskGrid::AsReleased, "released"), (MaskGrid::Source, "source")] {
        let bench = Bench::new();
        let request = Request { mask_grid: Some(mask_grid), ..bench.request() };
        let report = convert(&[&Toy(grids)], &request).unwrap().report;
        let report = serde_json::to_value(report.options).unwrap();
        assert_eq!(report.get("mask_grid").unwrap(), word);
    }
}

/// A source that is stored lying on its side, 2x6 for 6x2 that are seen; its mask is of what is
/// seen, and its first three columns are edited.
fn turned() -> Vec<Vec<Edit>> {
    let stored = Bits::new(2, 6).to_png(Some(Orientation::QuarterTurn)).unwrap();
    let source = picture("s.png", stored);
    let seen = || vec![drawn(6, "###...###...")];
    let lying = || vec![drawn(2, "##..........")];
    let of = |id, parts| EditPair {
        source: source.clone(),
        ..masked(id, Edited::White, Grid::Other, parts)
    };
    vec![vec![edit(of("toy:seen", seen())), edit(of("toy:stored", lying()))]]
}

#[test]
fn a_mask_of_what_is_seen_is_turned_to_what_is_stored() {
    let (written, rejected) = masks(&[&Toy(turned)], |request| {
        request.mask_grid = Some(MaskGrid::Source);
    });
    assert_eq!(rejected, Told::new());
    let rows = |id: &str| written[id].rsplit_once(':').unwrap().1.to_owned();
    assert_eq!(rows("seen"), "../../../##/##/##");
    assert_eq!(rows("stored"), "##/../../../../..");
    assert!(written["seen"].starts_with("2x6 name:m.png on:source "), "{}", written["seen"]);
}
