use std::fmt::Write as _;

use png::{BitDepth, ColorType};
use proptest::prelude::*;

use super::*;

mod files;
mod parts;

use files::{by_hand, chunk, grey, header, interlaced, png, with_palette};

const LIMITS: DecodeLimits = DecodeLimits { pixels: 1 << 20, bytes: 4 << 20 };

use BitDepth::{Eight, Four, One, Sixteen, Two};
use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};

/// The written form of pictures on the grid that they have.
fn normalise(parts: &[&[u8]], edited: Edited, limits: DecodeLimits) -> Result<Vec<u8>, MaskError> {
    let parts: Vec<_> = parts.iter().copied().map(Part::Picture).collect();
    super::normalise(&parts, edited, None, limits).map(|mask| mask.png)
}

fn decode(bytes: &[u8]) -> ((u32, u32), Vec<u8>) {
    assert!(is_normal_form(bytes, Edited::White));
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    reader.finish().unwrap();
    assert_eq!((frame.color_type, frame.bit_depth), (Grayscale, Eight));
    ((frame.width, frame.height), pixels)
}

/// The pixels of the written form, as a row of marks: `#` for edited, `.` for not.
fn marks(parts: &[&[u8]], edited: Edited) -> String {
    let (_, pixels) = decode(&normalise(parts, edited, LIMITS).unwrap());
    pixels
        .into_iter()
        .map(|pixel| match pixel {
            255 => '#',
            0 => '.',
            other => panic!("a pixel of {other}"),
        })
        .collect()
}

fn all_ways(part: &[u8]) -> [String; 3] {
    [Edited::White, Edited::Black, Edited::Nonzero].map(|edited| marks(&[part], edited))
}

#[test]
fn grey_of_every_depth_is_scaled() {
    let one = png((10, 1), Grayscale, One, &[0b0110_0001, 0b1011_1111]);
    assert_eq!(all_ways(&one), [".##....##.", "#..####..#", ".##....##."]);
    let two = png((5, 1), Grayscale, Two, &[0b0001_1011, 0b1100_0000]);
    assert_eq!(all_ways(&two), ["..###", "##...", ".####"]);
    let four = png((5, 1), Grayscale, Four, &[0x01, 0x78, 0xF0]);
    assert_eq!(all_ways(&four), ["...##", "###..", ".####"]);
    let eight = grey(&[0, 1, 127, 128, 255]);
    assert_eq!(all_ways(&eight), ["...##", "###..", ".####"]);
    let samples = [0, 1, 0x7FFF, 0x8000, 0xFF00_u16].map(u16::to_be_bytes).concat();
    let sixteen = png((5, 1), Grayscale, Sixteen, &samples);
    assert_eq!(all_ways(&sixteen), ["...##", "###..", ".####"]);
}

#[test]
fn a_palette_is_looked_up_for_brightness_and_not_for_zero() {
    // White first: what is dark and what is zero are two things.
    let palette = [[255, 255, 255], [0, 0, 0], [255, 0, 0], [0, 255, 0], [128, 128, 128]].concat();
    let eight = with_palette((5, 1), Indexed, Eight, &[0, 1, 2, 3, 4], &palette);
    assert_eq!(all_ways(&eight), ["#..##", ".##..", ".####"]);
    let four = with_palette((5, 1), Indexed, Four, &[0x01, 0x23, 0x40], &palette);
    assert_eq!(all_ways(&four), ["#..##", ".##..", ".####"]);
    let two = with_palette((4, 1), Indexed, Two, &[0b0001_1011], &palette[..12]);
    assert_eq!(all_ways(&two), ["#..#", ".##.", ".###"]);
    let one = with_palette((3, 1), Indexed, One, &[0b0100_0000], &palette[..6]);
    assert_eq!(all_ways(&one), ["#.#", ".#.", ".#."]);
}

/// A photograph is nearly white in places, and what is painted over it is white.
#[test]
fn what_is_painted_is_pure_white_alone() {
    let of = |part: &[u8]| marks(&[part], Edited::Painted);
    assert_eq!(of(&grey(&[0, 128, 254, 255])), "...#");
    let colours = [[255, 255, 255], [255, 255, 254], [254, 255, 255], [0, 0, 0]].concat();
    assert_eq!(of(&png((4, 1), Rgb, Eight, &colours)), "#...");
    let samples = [0xFFFF, 0xFFFE, 0xFEFF_u16].map(|v| [v.to_be_bytes(); 3].concat()).concat();
    assert_eq!(of(&png((3, 1), Rgb, Sixteen, &samples)), "#..");
    let palette = [[255, 255, 254], [255, 255, 255]].concat();
    assert_eq!(of(&with_palette((2, 1), Indexed, Eight, &[0, 1], &palette)), ".#");
    assert_eq!(of(&png((8, 1), Grayscale, One, &[0b0110_0001])), ".##....#");
}

#[test]
fn an_index_beyond_the_palette_is_an_error_where_colours_count() {
    let part = with_palette((3, 1), Indexed, Eight, &[0, 2, 255], &[0, 0, 0, 255, 255, 255]);
    for edited in [Edited::White, Edited::Black, Edited::Painted] {
        let error = normalise(&[&grey(&[0, 0, 0]), &part], edited, LIMITS).unwrap_err();
        assert!(matches!(error, MaskError::PaletteIndex { part: 1, index: 2, entries: 2 }));
    }
    assert_eq!(marks(&[&part], Edited::Nonzero), ".##");
}

#[test]
fn colours_count_by_their_luminance() {
    // Black, white, each colour alone, and the greys around the threshold.
    let colours = [
        [0, 0, 0],
        [255, 255, 255],
        [255, 0, 0],
        [0, 255, 0],
        [0, 0, 255],
        [127, 127, 127],
        [128, 128, 128],
    ];
    let expected = [".#.#..#", "#.#.##.", ".######"];
    let rgb = png((7, 1), Rgb, Eight, &colours.concat());
    assert_eq!(all_ways(&rgb), expected);
    let wide = png(
        (7, 1),
        Rgb,
        Sixteen,
        &colours.as_flattened().iter().flat_map(|&c| [c, 0]).collect::<Vec<_>>(),
    );
    assert_eq!(all_ways(&wide), expected);
    // Not zero, though the high bytes are.
    let faint = png((2, 1), Rgb, Sixteen, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(all_ways(&faint), ["..", "##", ".#"]);
}

#[test]
fn alpha_and_transparent_colours_are_not_looked_at() {
    let grey_alpha = png((4, 1), GrayscaleAlpha, Eight, &[0, 255, 0, 0, 255, 255, 255, 0]);
    assert_eq!(all_ways(&grey_alpha), ["..##", "##..", "..##"]);
    let wide = png((2, 1), GrayscaleAlpha, Sixteen, &[0, 0, 255, 255, 0x80, 0, 0, 0]);
    assert_eq!(all_ways(&wide), [".#", "#.", ".#"]);
    let rgba = png((3, 1), Rgba, Eight, &[0, 0, 0, 255, 255, 255, 255, 0, 9, 9, 9, 9]);
    assert_eq!(all_ways(&rgba), [".#.", "#.#", ".##"]);
    let wide = png((2, 1), Rgba, Sixteen, &[[0, 0, 0, 0, 0, 0, 255, 255], [255; 8]].concat());
    assert_eq!(all_ways(&wide), [".#", "#.", ".#"]);
    // White is declared transparent.
    let key = by_hand((2, 1), [8, 0, 0, 0, 0], &chunk(b"tRNS", &[0, 255]), &[0, 0, 255]);
    assert_eq!(all_ways(&key), [".#", "#.", ".#"]);
}

#[test]
fn interlaced_is_read_as_what_is_not() {
    for width in 1..=17 {
        for height in 1..=9 {
            let pixels: Vec<u8> = (0..width * height)
                .map(|at| if (at * at + at / 7) % 3 == 0 { 200 } else { 50 })
                .collect();
            let plain = png((width, height), Grayscale, Eight, &pixels);
            let woven = interlaced((width, height), &pixels);
            assert_eq!(
                normalise(&[&woven], Edited::White, LIMITS).unwrap(),
                normalise(&[&plain], Edited::White, LIMITS).unwrap(),
                "{width}x{height}"
            );
        }
    }
}

#[test]
fn parts_are_united_after_they_are_read() {
    let first = grey(&[255, 0, 0, 255]);
    let second = png((4, 1), Grayscale, One, &[0b0101_0000]);
    assert_eq!(marks(&[&first, &second], Edited::White), "##.#");
    assert_eq!(marks(&[&first, &second], Edited::Black), "###.");
    let third = png((4, 1), Rgb, Eight, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(marks(&[&first, &second, &third], Edited::Nonzero), "####");
    assert_eq!(
        normalise(&[&first, &second], Edited::White, LIMITS).unwrap(),
        normalise(&[&second, &first, &second], Edited::White, LIMITS).unwrap()
    );
}

#[test]
fn parts_of_different_sizes_are_an_error() {
    let wide = grey(&[0; 4]);
    let high = png((1, 4), Grayscale, Eight, &[0; 4]);
    let error = normalise(&[&wide, &wide, &high], Edited::White, LIMITS).unwrap_err();
    assert!(matches!(error, MaskError::SizesDiffer { part: 2, expected: (4, 1), found: (1, 4) }));
    assert_eq!(error.to_string(), "part 2 of the mask has 1x4 pixels, the parts before it 4x1");
}

#[test]
fn what_is_no_png_is_named() {
    let error = normalise(&[], Edited::White, LIMITS).unwrap_err();
    assert!(matches!(error, MaskError::NoParts));
    for (bytes, expected) in [
        (&b"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01"[..], MediaType::Jpeg),
        (b"RIFF\0\0\0\0WEBPVP8 ", MediaType::Webp),
        (b"GIF89a\x01\0\x01\0\0\0\0", MediaType::Gif),
        (b"II*\0\x08\0\0\0\0\0\0\0", MediaType::Tiff),
    ] {
        let error = normalise(&[bytes], Edited::White, LIMITS).unwrap_err();
        assert!(
            matches!(error, MaskError::UnsupportedType { part: 0, found } if found == expected)
        );
    }
    for bytes in [&b""[..], b"\x89PNG", b"{\"mask\": null} "] {
        let error = normalise(&[bytes], Edited::White, LIMITS).unwrap_err();
        assert!(matches!(error, MaskError::NotAPicture { part: 0 }));
    }
}

#[test]
fn an_animation_is_refused() {
    let control = chunk(b"acTL", &[0, 0, 0, 1, 0, 0, 0, 0]);
    let bytes = by_hand((2, 1), [8, 0, 0, 0, 0], &control, &[0, 0, 255]);
    let error = normalise(&[&bytes], Edited::White, LIMITS).unwrap_err();
    assert!(matches!(error, MaskError::Animated { part: 0 }));
}

#[test]
fn what_is_cut_off_or_damaged_is_an_error() {
    let pixels: Vec<u8> = (0..64).map(|at| if at % 5 == 0 { 255 } else { 0 }).collect();
    for bytes in [
        png((8, 8), Grayscale, Eight, &pixels),
        interlaced((8, 8), &pixels),
        with_palette((8, 2), Indexed, Four, &pixels[1..9], &[7; 48]),
    ] {
        normalise(&[&bytes], Edited::White, LIMITS).unwrap();
        for cut in 12..bytes.len() {
            let error = normalise(&[&bytes[..cut]], Edited::White, LIMITS).unwrap_err();
            assert!(matches!(error, MaskError::Broken { part: 0, .. }), "at {cut}: {error}");
        }
        let data = bytes.windows(4).position(|kind| kind == b"IDAT").unwrap();
        let mut damaged = bytes;
        damaged[data + 8] ^= 0x10;
        let error = normalise(&[&damaged], Edited::White, LIMITS).unwrap_err();
        assert!(matches!(error, MaskError::Broken { part: 0, .. }));
    }
}

#[test]
fn the_data_of_a_picture_must_be_all_of_it() {
    let rest = [8, 0, 0, 0, 0];
    for data in [&[][..], &[0], &[0, 255], &[0, 255, 0, 0], &[5, 0, 0, 0, 0, 0]] {
        let error = normalise(&[&by_hand((2, 2), rest, &[], data)], Edited::White, LIMITS);
        assert!(matches!(error, Err(MaskError::Broken { .. })), "{data:?}");
    }
    // More than all of it is let pass, as other readers do, and is not kept.
    let data = [0, 255, 0].repeat(100_000);
    assert_eq!(marks(&[&by_hand((2, 2), rest, &[], &data)], Edited::White), "#.#.");
}

#[test]
fn headers_that_no_png_has_are_errors() {
    for rest in
        [[8, 1, 0, 0, 0], [3, 0, 0, 0, 0], [16, 3, 0, 0, 0], [8, 0, 1, 0, 0], [8, 0, 0, 0, 2]]
    {
        let error = normalise(&[&by_hand((1, 1), rest, &[], &[0, 0])], Edited::White, LIMITS);
        assert!(matches!(error, Err(MaskError::Broken { .. })), "{rest:?}");
    }
    for size in [(0, 1), (1, 0), (1 << 31, 1), (u32::MAX, u32::MAX)] {
        let bytes = by_hand(size, [8, 0, 0, 0, 0], &[], &[0, 0]);
        let error = normalise(&[&bytes], Edited::White, LIMITS).unwrap_err();
        assert!(matches!(error, MaskError::Broken { .. } | MaskError::TooManyPixels { .. }));
    }
    // Chunks in places they do not belong.
    let end = [b"\x89PNG\r\n\x1A\n".to_vec(), chunk(b"IEND", b"")].concat();
    let no_data = [header((1, 1), [8, 0, 0, 0, 0]), chunk(b"IEND", b"")].concat();
    let no_palette = by_hand((1, 1), [8, 3, 0, 0, 0], &[], &[0, 0]);
    for bytes in [end, no_data, no_palette] {
        normalise(&[&bytes], Edited::White, LIMITS).unwrap_err();
    }
}

#[test]
fn limits_hold_up_to_the_last_pixel() {
    let bytes = png((30, 20), Grayscale, Eight, &[255; 600]);
    let limits = DecodeLimits { pixels: 600, ..LIMITS };
    normalise(&[&bytes], Edited::White, limits).unwrap();
    let limits = DecodeLimits { pixels: 599, ..LIMITS };
    let error = normalise(&[&bytes], Edited::White, limits).unwrap_err();
    assert!(matches!(
        error,
        MaskError::TooManyPixels { part: 0, width: 30, height: 20, limit: 599 }
    ));
    // A row is stored in 31 bytes, and its marks in 30.
    let held = 600 + 31 * ROWS_HELD + 30;
    let limits = DecodeLimits { bytes: held, ..LIMITS };
    normalise(&[&bytes], Edited::White, limits).unwrap();
    let limits = DecodeLimits { bytes: held - 1, ..LIMITS };
    let error = normalise(&[&bytes], Edited::White, limits).unwrap_err();
    assert!(matches!(error, MaskError::TooManyBytes { part: 0, limit } if limit == held - 1));
}

#[test]
fn a_header_that_claims_a_lot_fails_by_itself() {
    let claims = header((31_623, 31_623), [16, 6, 0, 0, 0]);
    let error = normalise(&[&claims], Edited::White, LIMITS).unwrap_err();
    assert!(matches!(error, MaskError::TooManyPixels { width: 31_623, .. }));
    // Few enough pixels, in a row that takes too much.
    let limits = DecodeLimits { pixels: 1 << 40, bytes: 1 << 30 };
    let claims = header((1 << 27, 1), [16, 6, 0, 0, 0]);
    let error = normalise(&[&claims], Edited::White, limits).unwrap_err();
    assert!(matches!(error, MaskError::TooManyBytes { limit: 0x4000_0000, .. }));
}

#[test]
fn chunks_that_are_kept_count_against_the_limit() {
    let profile = chunk(b"eXIf", &vec![0; 3 << 20]);
    let bytes = by_hand((1, 1), [8, 0, 0, 0, 0], &profile, &[0, 255]);
    let limits = DecodeLimits { bytes: 2 << 20, ..LIMITS };
    let error = normalise(&[&bytes], Edited::White, limits).unwrap_err();
    assert!(matches!(error, MaskError::TooManyBytes { part: 0, .. }));
    assert_eq!(marks(&[&bytes], Edited::White), "#");
}

#[test]
fn the_written_form_is_told_by_33_bytes() {
    let bytes = normalise(&[&grey(&[0, 255])], Edited::Nonzero, LIMITS).unwrap();
    for cut in 0..=bytes.len() {
        assert_eq!(is_normal_form(&bytes[..cut], Edited::White), cut >= 33, "{cut}");
    }
    assert!(!is_normal_form(&bytes, Edited::Black));
    assert!(!is_normal_form(&bytes, Edited::Nonzero));
    assert!(is_normal_form(&interlaced((2, 1), &[0, 255]), Edited::White));
    for rest in
        [[1, 0, 0, 0, 0], [16, 0, 0, 0, 0], [8, 2, 0, 0, 0], [8, 3, 0, 0, 0], [8, 4, 0, 0, 0]]
    {
        assert!(!is_normal_form(&header((2, 1), rest), Edited::White));
    }
    assert!(!is_normal_form(&header((0, 1), [8, 0, 0, 0, 0]), Edited::White));
    assert!(!is_normal_form(&[0xFF; 33], Edited::White));
}

/// Outputs are the same wherever and whenever they are made: a version of the encoder that writes
/// other bytes must not slip in.
#[test]
fn the_written_bytes_are_these() {
    let pixels: Vec<u8> = (0..32 * 32)
        .map(|at| if (8..20).contains(&(at % 32)) && at > 300 { 255 } else { 0 })
        .collect();
    let part = png((32, 32), Grayscale, Eight, &pixels);
    let written = normalise(&[&part], Edited::White, LIMITS).unwrap();
    let mut hex = String::new();
    for byte in written {
        write!(hex, "{byte:02x}").unwrap();
    }
    let expected = concat!(
        "89504e470d0a1a0a0000000d4948445200000020000000200800000000561125280000009b494441",
        "547801edc003a0245996c6f1ff77ee8dc8cca7724b63ae6ddbb66ddbb66ddbb66d698c9e964aaf9e",
        "323322eef976b76a7aa6873b6bd52f78e1085e3882178ee0852378e1085e3882178ee0852378e108",
        "1ec8b66df36c04cf64dbe67910bc70042f1cc10b47f0c211bc70042f1cc10b47f0c211bc70042f1c",
        "c10b47f0c211bc70042f1cc10b47f0c211bc70042f1cc10b47f0c211bc70fc23acfd0c3541a6cf83",
        "0000000049454e44ae426082",
    );
    assert_eq!(hex, expected);
}

proptest! {
    #[test]
    fn what_was_drawn_is_what_is_written(width in 1..40_u32, height in 1..40_u32, seed: u64) {
        let mut state = seed | 1;
        let pixels: Vec<u8> = (0..width * height)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.to_be_bytes()[0]
            })
            .collect();
        let part = png((width, height), Grayscale, Eight, &pixels);
        let written = normalise(&[&part], Edited::Black, LIMITS).unwrap();
        let expected: Vec<u8> = pixels.iter().map(|&p| if p < 128 { 255 } else { 0 }).collect();
        prop_assert_eq!(decode(&written), ((width, height), expected));
        // What has the written form comes out as it went in.
        prop_assert_eq!(&normalise(&[&written], Edited::White, LIMITS).unwrap(), &written);
    }

    #[test]
    fn no_chunks_make_it_panic(
        size in (0..40_u32, 0..40_u32),
        depth in prop::sample::select(vec![1_u8, 2, 4, 8, 16]),
        colour in 0..7_u8,
        interlaced in 0..2_u8,
        palette in proptest::collection::vec(any::<u8>(), 0..40),
        data in proptest::collection::vec(0..5_u8, 0..3000),
    ) {
        let palette = chunk(b"PLTE", &palette);
        let bytes = by_hand(size, [depth, colour, 0, 0, interlaced], &palette, &data);
        for edited in [Edited::White, Edited::Black, Edited::Nonzero] {
            if let Ok(written) = normalise(&[&bytes], edited, LIMITS) {
                prop_assert_eq!(decode(&written).0, size);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
        signed: bool,
    ) {
        if signed {
            bytes.splice(0..0, *b"\x89PNG\r\n\x1A\n");
        }
        let _ = is_normal_form(&bytes, Edited::White);
        prop_assert!(normalise(&[&bytes], Edited::White, LIMITS).is_err());
    }
}
