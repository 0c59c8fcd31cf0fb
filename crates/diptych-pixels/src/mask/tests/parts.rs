//! Parts that are run lengths, and masks that are brought to another grid.

use super::*;
use crate::run_length;

/// Rows of marks apart by spaces.
fn bits(rows: &str) -> Vec<u8> {
    let pixels = rows.bytes().filter(|byte| *byte != b' ');
    pixels.map(|mark| if mark == b'#' { 255 } else { 0 }).collect()
}

/// The rows of a written mask, as marks.
fn rows(mask: &NormalMask) -> String {
    let (size, pixels) = decode(&mask.png);
    assert_eq!(size, mask.size);
    let row = |row: &[u8]| row.iter().map(|&p| if p == 255 { '#' } else { '.' }).collect();
    let rows: Vec<String> = pixels.chunks(size.0 as usize).map(row).collect();
    rows.join(" ")
}

fn run_length(counts: &str, size: (u32, u32)) -> Part<'_> {
    Part::RunLength { counts: counts.as_bytes(), size }
}

fn made(parts: &[Part<'_>], edited: Edited, grid: Option<(u32, u32)>) -> NormalMask {
    super::super::normalise(parts, edited, grid, LIMITS).unwrap()
}

fn error(parts: &[Part<'_>], grid: Option<(u32, u32)>, limits: DecodeLimits) -> MaskError {
    super::super::normalise(parts, Edited::White, grid, limits).unwrap_err()
}

#[test]
fn run_lengths_are_drawn_column_by_column() {
    for (counts, size, expected) in [
        ("32112", (4, 3), ".##. .##. ..#."),
        ("5211001N4", (6, 4), "..##.. .####. .###.. ......"),
        ("<", (4, 3), ".... .... ...."),
        ("0<", (4, 3), "#### #### ####"),
        ("048", (4, 3), "##.. #... #..."),
        // From within one column to within another, and empty runs.
        ("27", (4, 3), ".##. .##. ###."),
        ("21050", (4, 3), ".##. .##. ###."),
    ] {
        let mask = made(&[run_length(counts, size)], Edited::White, None);
        assert_eq!(rows(&mask), expected, "{counts}");
        assert_eq!((mask.size, mask.size_of_first), (size, size));
        // They say themselves what is edited, whatever pictures beside them mean.
        assert_eq!(made(&[run_length(counts, size)], Edited::Black, None), mask);
    }
}

#[test]
fn a_published_string_is_drawn_inside_its_box() {
    let limits = DecodeLimits { pixels: 2_666_000, bytes: 4 << 20 };
    let part = run_length("hhge0;UY18L2O1N101O001O0001O1N3M5L;CcVPk1", (2000, 1333));
    let mask = super::super::normalise(&[part], Edited::White, None, limits).unwrap();
    let (_, pixels) = decode(&mask.png);
    let edited = (0..).zip(pixels).filter(|(_, pixel)| *pixel == 255);
    let places: Vec<_> = edited.map(|(at, _)| (at % 2000, at / 2000)).collect();
    assert_eq!((places.len(), mask.padded), (301, 0));
    let (columns, rows): (Vec<u32>, Vec<u32>) = places.into_iter().unzip();
    assert_eq!((columns.iter().min(), columns.iter().max()), (Some(&534), Some(&548)));
    assert_eq!((rows.iter().min(), rows.iter().max()), (Some(&643), Some(&667)));
}

#[test]
fn pictures_and_run_lengths_are_united() {
    let picture = png((4, 3), Grayscale, Eight, &bits("#... .... ...#"));
    let parts = [Part::Picture(&picture), run_length("32112", (4, 3)), run_length("", (4, 3))];
    let mask = made(&parts, Edited::White, None);
    assert_eq!((rows(&mask).as_str(), mask.padded), ("###. .##. ..##", 12));
    let turned = [parts[1], parts[0], parts[1]];
    assert_eq!(rows(&made(&turned, Edited::White, None)), "###. .##. ..##");
    // Only pictures are turned round.
    assert_eq!(rows(&made(&parts, Edited::Black, None)), ".### #### ###.");
    // Two strings that overlap.
    let parts = [run_length("32112", (4, 3)), run_length("27", (4, 3))];
    assert_eq!(rows(&made(&parts, Edited::White, None)), ".##. .##. ###.");
}

#[test]
fn run_lengths_of_another_size_are_an_error_as_well() {
    let picture = grey(&[0; 12]);
    for parts in [
        [run_length("<", (4, 3)), run_length("<", (3, 4))],
        [run_length("<", (4, 3)), Part::Picture(&picture)],
        [Part::Picture(&picture), run_length("<", (4, 3))],
    ] {
        let error = error(&parts, None, LIMITS);
        assert!(matches!(error, MaskError::SizesDiffer { part: 1, .. }), "{error}");
    }
}

#[test]
fn broken_run_lengths_are_an_error_with_their_part() {
    for (counts, size, expected) in [
        ("3P", (4, 3), RunLengthError::Truncated { run: 1 }),
        ("3 ", (4, 3), RunLengthError::BadCharacter { at: 1, found: b' ' }),
        ("0=", (4, 3), RunLengthError::TooLong { run: 1, sum: 13, pixels: 12 }),
        ("0", (0, 3), RunLengthError::NoPixels { width: 0, height: 3 }),
    ] {
        let part = run_length(counts, size);
        let found = error(&[run_length("<", (4, 3)), part], Some((4, 3)), LIMITS);
        let MaskError::RunLength { part: 1, source } = found else { panic!("{found}") };
        assert_eq!(source, expected);
        let found = error(&[part], None, LIMITS);
        assert!(matches!(found, MaskError::RunLength { part: 0, .. }), "{found}");
    }
}

/// What `Image.resize(size, Image.NEAREST)` of Pillow 13 makes of the first.
const PILLOW: [((u32, u32), &str); 5] = [
    ((7, 6), "##..#.. #.##... ..#..## .##.... #.##..# .#..#.."),
    ((5, 4), "#..#. .#..# .#... ...#."),
    ((4, 13), "#.#. #.#. ##.. ##.. .#.# .#.# .#.. .#.. .#.. ##.# ##.# ..#. ..#."),
    ((10, 2), "#..###.... #..###...#"),
    (
        (16, 5),
        "#####....##..... ##...####....... ..#####......... ##...####.....## ..###....##.....",
    ),
];

#[test]
fn the_nearest_pixels_make_the_mask_on_another_grid() {
    let pixels = bits(PILLOW[0].1);
    let plain = png((7, 6), Grayscale, Eight, &pixels);
    let woven = interlaced((7, 6), &pixels);
    let counts = run_length::encode(&pixels, (7, 6)).unwrap();
    let parts = [Part::Picture(&plain), Part::Picture(&woven), run_length(&counts, (7, 6))];
    for (size, expected) in PILLOW {
        for part in parts {
            let mask = made(&[part], Edited::White, Some(size));
            assert_eq!(rows(&mask), expected, "{part:?}");
            assert_eq!((mask.size, mask.size_of_first), (size, (7, 6)));
        }
        let turned = rows(&made(&parts[..2], Edited::Black, Some(size)));
        assert_eq!(turned.replace('#', "-").replace('.', "#").replace('-', "."), expected);
    }
}

#[test]
fn each_part_is_brought_to_the_grid_before_they_are_united() {
    let wide = png((8, 1), Grayscale, Eight, &bits("####...."));
    let high = png((1, 4), Grayscale, Eight, &bits("...#"));
    let parts = [Part::Picture(&wide), Part::Picture(&high), run_length("112", (2, 2))];
    let mask = made(&parts, Edited::White, Some((4, 2)));
    assert_eq!(rows(&mask), "##.. ####");
    assert_eq!((mask.size, mask.size_of_first), ((4, 2), (8, 1)));
}

#[test]
fn limits_hold_for_run_lengths_up_to_the_last_pixel() {
    let part = run_length("<", (4, 3));
    let made = |limits| super::super::normalise(&[part], Edited::White, None, limits);
    // A byte a pixel, and one for each column.
    let limits = DecodeLimits { pixels: 12, bytes: 16 };
    made(limits).unwrap();
    let found = made(DecodeLimits { pixels: 11, ..limits }).unwrap_err();
    let expected = "part 0 of the mask has 4x3 pixels, the limit is 11";
    assert_eq!(found.to_string(), expected);
    let found = made(DecodeLimits { bytes: 15, ..limits }).unwrap_err();
    assert!(matches!(found, MaskError::TooManyBytes { part: 0, limit: 15 }));
    let part = run_length("<", (u32::MAX, u32::MAX));
    let found = error(&[part], None, DecodeLimits { pixels: u64::MAX, ..LIMITS });
    assert!(matches!(found, MaskError::TooManyBytes { .. }), "{found}");
    // Runs that nobody needs do not go on for ever.
    let empty = "0".repeat(20);
    let found = error(&[run_length(&empty, (4, 3))], None, limits);
    let MaskError::RunLength { source, .. } = found else { panic!("{found}") };
    assert_eq!(source, RunLengthError::TooManyRuns { limit: 13 });
}

#[test]
fn limits_hold_for_the_grid_that_is_asked_for() {
    let picture = grey(&[255]);
    let run_length = run_length("01", (1, 1));
    for (part, held) in [(Part::Picture(&picture), 2 * ROWS_HELD + 1), (run_length, 20)] {
        let made = |limits| super::super::normalise(&[part], Edited::White, Some((20, 30)), limits);
        // A byte a pixel, and four for each column.
        let limits = DecodeLimits { pixels: 600, bytes: 600 + 4 * 20 + held };
        assert_eq!(rows(&made(limits).unwrap()), ["#".repeat(20).as_str(); 30].join(" "));
        let found = made(DecodeLimits { bytes: limits.bytes - 1, ..limits }).unwrap_err();
        assert!(matches!(found, MaskError::TooManyBytes { part: 0, .. }), "{found}");
        let found = made(DecodeLimits { pixels: 599, ..limits }).unwrap_err();
        assert_eq!(found.to_string(), "the grid asked for has 20x30 pixels, the limit is 599");
    }
    // As the grid is held, so is a part that it takes little of.
    let large = png((30, 20), Grayscale, Eight, &[255; 600]);
    let limits = DecodeLimits { pixels: 599, ..LIMITS };
    let found = error(&[Part::Picture(&large)], Some((1, 1)), limits);
    assert!(matches!(found, MaskError::TooManyPixels { part: 0, limit: 599, .. }), "{found}");
}

#[test]
fn a_grid_without_pixels_is_an_error() {
    for grid in [(0, 0), (0, 3), (3, 0)] {
        let picture = grey(&[0, 255]);
        for part in [Part::Picture(&picture), run_length("02", (2, 1))] {
            let found = error(&[part], Some(grid), LIMITS);
            assert!(matches!(found, MaskError::Encode(_)), "{found}");
        }
    }
}

proptest! {
    /// Whatever says it, and in however many parts, the mask is the same.
    #[test]
    fn pictures_and_run_lengths_say_the_same(
        (size, pixels, shares) in (1..20_u32, 1..20_u32).prop_flat_map(|(width, height)| {
            let count = (width * height) as usize;
            let pixels = proptest::collection::vec(prop::bool::weighted(0.4), count);
            (Just((width, height)), pixels, proptest::collection::vec(0..3_u8, count))
        }),
        grid in prop::option::of((1..40_u32, 1..40_u32)),
    ) {
        let pixels: Vec<_> = pixels.into_iter().map(|edited| u8::from(edited) * 255).collect();
        let picture = png(size, Grayscale, Eight, &pixels);
        let whole = made(&[Part::Picture(&picture)], Edited::White, grid);
        let woven = interlaced(size, &pixels);
        let woven = made(&[Part::Picture(&woven)], Edited::White, grid);
        prop_assert_eq!(&woven, &whole);
        let string = |share: &dyn Fn(u8) -> bool| {
            let of = pixels.iter().zip(&shares);
            let pixels: Vec<_> = of.map(|(&p, &of)| if share(of) { p } else { 0 }).collect();
            run_length::encode(&pixels, size).unwrap()
        };
        let all = string(&|_| true);
        prop_assert_eq!(&made(&[run_length(&all, size)], Edited::White, grid), &whole);
        let (first, second) = (string(&|of| of < 2), string(&|of| of > 0));
        let parts = [run_length(&first, size), run_length(&second, size)];
        prop_assert_eq!(&made(&parts, Edited::White, grid), &whole);
        // Pixel by pixel.
        let mask = grid.unwrap_or(size);
        let (_, found) = decode(&whole.png);
        for (at, found) in (0..).zip(found) {
            let of = |at: u32, part: u32, mask: u32| (2 * at + 1) * part / (2 * mask);
            let (x, y) = (of(at % mask.0, size.0, mask.0), of(at / mask.0, size.1, mask.1));
            prop_assert_eq!(found, pixels[(y * size.0 + x) as usize]);
        }
    }

    #[test]
    fn no_run_lengths_make_it_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
        characters in "[0-o]{0,60}",
        size in (0..50_u32, 0..50_u32),
        grid in prop::option::of((0..50_u32, 0..50_u32)),
    ) {
        for counts in [&bytes[..], characters.as_bytes()] {
            let part = Part::RunLength { counts, size };
            let found = super::super::normalise(&[part, part], Edited::White, grid, LIMITS);
            if let Ok(mask) = found {
                prop_assert_eq!(decode(&mask.png).0, grid.unwrap_or(size));
            }
        }
    }
}

#[test]
fn a_mask_has_only_so_many_parts() {
    let part = run_length("048", (4, 3));
    let all = vec![part; PARTS];
    assert_eq!(made(&all, Edited::White, None).size, (4, 3));
    let error = error(&[all, vec![part]].concat(), None, LIMITS);
    assert!(matches!(error, MaskError::TooManyParts { parts: 257 }), "{error}");
}
