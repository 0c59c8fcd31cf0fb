use proptest::prelude::*;

use super::*;

pub(crate) mod files;

pub(crate) const LIMITS: DecodeLimits = DecodeLimits { pixels: 1 << 20, bytes: 16 << 20 };

pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().map(|of| of.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|two| u8::try_from(two[0] * 16 + two[1]).unwrap()).collect()
}

fn pixel(picture: &Rgb, x: u32, y: u32) -> [u8; 3] {
    let at = (y * picture.width + x) as usize * 3;
    picture.samples[at..at + 3].try_into().unwrap()
}

fn near(found: [u8; 3], expected: [u8; 3]) -> bool {
    found.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 3)
}

pub(crate) fn png(
    size: (u32, u32),
    colour: ::png::ColorType,
    depth: ::png::BitDepth,
    data: &[u8],
    change: impl FnOnce(&mut ::png::Info<'_>),
) -> Vec<u8> {
    let mut info = ::png::Info::with_size(size.0, size.1);
    (info.color_type, info.bit_depth) = (colour, depth);
    change(&mut info);
    let mut bytes = Vec::new();
    let mut writer = ::png::Encoder::with_info(&mut bytes, info).unwrap().write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    bytes
}

use ::png::BitDepth::{Eight, Four, One, Sixteen};
use ::png::ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb as Colours, Rgba};

const RED: [u8; 3] = [200, 40, 40];
const GREEN: [u8; 3] = [40, 160, 60];
const BLUE: [u8; 3] = [30, 60, 180];

#[test]
fn what_others_wrote_is_read() {
    for hex in [files::JPEG, files::JPEG_PROGRESSIVE, files::WEBP_LOSSLESS, files::WEBP_LOSSY] {
        let found = decode(&bytes(hex), LIMITS).unwrap();
        assert_eq!((found.width, found.height, found.orientation), (16, 8, Orientation::Upright));
        for (x, y, expected) in [(2, 1, RED), (2, 6, GREEN), (13, 1, BLUE)] {
            assert!(near(pixel(&found, x, y), expected), "{:?}", pixel(&found, x, y));
        }
    }
    let grey = decode(&bytes(files::JPEG_GREY), LIMITS).unwrap();
    assert!(near(pixel(&grey, 2, 1), [88; 3]) && near(pixel(&grey, 2, 6), [113; 3]));
    let alpha = decode(&bytes(files::WEBP_ALPHA), LIMITS).unwrap();
    assert_eq!(pixel(&alpha, 2, 1), RED);
    assert_eq!(pixel(&alpha, 13, 1), BLUE.map(|of| on_white(of, 102)));
}

#[test]
fn what_is_stored_turned_is_turned_upright() {
    for hex in [files::JPEG_TURNED, files::WEBP_TURNED] {
        let found = decode(&bytes(hex), LIMITS).unwrap();
        assert_eq!((found.width, found.height), (8, 16));
        assert_eq!(found.orientation, Orientation::QuarterTurn);
        // What was at the left is at the top, and what was above to the right.
        for (x, y, expected) in [(6, 2, RED), (1, 2, GREEN), (6, 13, BLUE)] {
            assert!(near(pixel(&found, x, y), expected), "{:?}", pixel(&found, x, y));
        }
    }
}

#[test]
fn every_png_becomes_colours() {
    let one = |colour, depth, data: &[u8]| {
        let found = decode(&png((1, 1), colour, depth, data, |_| ()), LIMITS).unwrap();
        pixel(&found, 0, 0)
    };
    assert_eq!(one(Grayscale, One, &[0x80]), [255; 3]);
    assert_eq!(one(Grayscale, Four, &[0x50]), [85; 3]);
    assert_eq!(one(Grayscale, Eight, &[7]), [7; 3]);
    assert_eq!(one(Grayscale, Sixteen, &[0x80, 0xFF]), [128; 3]);
    assert_eq!(one(Grayscale, Sixteen, &[0x81, 0x01]), [129; 3]);
    assert_eq!(one(Grayscale, Sixteen, &[0xFF, 0xFF]), [255; 3]);
    assert_eq!(one(GrayscaleAlpha, Eight, &[0, 51]), [204; 3]);
    assert_eq!(one(GrayscaleAlpha, Sixteen, &[0, 0, 0, 0]), [255; 3]);
    assert_eq!(one(Colours, Eight, &[1, 2, 3]), [1, 2, 3]);
    assert_eq!(one(Colours, Sixteen, &[1, 0, 2, 0, 0xFF, 0xFF]), [1, 2, 255]);
    assert_eq!(one(Rgba, Eight, &[1, 2, 3, 255]), [1, 2, 3]);
    assert_eq!(one(Rgba, Eight, &[1, 2, 3, 0]), [255; 3]);
    assert_eq!(one(Rgba, Sixteen, &[1, 0, 2, 0, 3, 0, 255, 255]), [1, 2, 3]);
    let palette = png((2, 1), Indexed, One, &[0x40], |info| {
        info.palette = Some(vec![9, 8, 7, 100, 50, 0].into());
        info.trns = Some(vec![255, 0].into());
    });
    let found = decode(&palette, LIMITS).unwrap();
    assert_eq!((pixel(&found, 0, 0), pixel(&found, 1, 0)), ([9, 8, 7], [255; 3]));
}

/// A profile of a matrix and curves as short as they come.
fn profile(colorants: [[f64; 3]; 3], gamma: u16) -> Vec<u8> {
    let mut tags: Vec<(&[u8; 4], Vec<u8>)> = Vec::new();
    for (name, xyz) in [b"rXYZ", b"gXYZ", b"bXYZ"].into_iter().zip(colorants) {
        let mut data = b"XYZ \0\0\0\0".to_vec();
        for value in xyz {
            #[allow(clippy::cast_possible_truncation, reason = "numbers around one")]
            data.extend(((value * 65_536.0).round() as i32).to_be_bytes());
        }
        tags.push((name, data));
    }
    for name in [b"rTRC", b"gTRC", b"bTRC"] {
        let mut data = b"curv\0\0\0\0\0\0\0\x01".to_vec();
        data.extend(gamma.to_be_bytes());
        data.extend([0, 0]);
        tags.push((name, data));
    }
    let start = 128 + 4 + 12 * tags.len();
    let (mut table, mut body) = (Vec::new(), Vec::new());
    for (name, data) in &tags {
        table.extend(*name);
        table.extend(u32::try_from(start + body.len()).unwrap().to_be_bytes());
        table.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        body.extend(data);
    }
    let mut head = vec![0; 128];
    head[..4].copy_from_slice(&u32::try_from(start + body.len()).unwrap().to_be_bytes());
    head[8] = 2;
    head[12..16].copy_from_slice(b"mntr");
    head[16..20].copy_from_slice(b"RGB ");
    head[20..24].copy_from_slice(b"XYZ ");
    head[36..40].copy_from_slice(b"acsp");
    head[68..80].copy_from_slice(&[0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D]);
    [head, u32::try_from(tags.len()).unwrap().to_be_bytes().to_vec(), table, body].concat()
}

/// Primaries of sRGB under D50, as profiles hold them.
const PRIMARIES: [[f64; 3]; 3] =
    [[0.436_07, 0.222_49, 0.013_92], [0.385_15, 0.716_87, 0.097_08], [0.143_07, 0.060_61, 0.714_1]];

#[test]
fn profiles_are_converted_or_refused_by_name() {
    let with = |profile: Vec<u8>| {
        let bytes = png((1, 1), Colours, Eight, &[128, 64, 200], |info| {
            info.icc_profile = Some(profile.into());
        });
        decode(&bytes, LIMITS).map(|found| pixel(&found, 0, 0))
    };
    // Gamma of 1: light itself. Half of the light is 188.
    assert!(near(with(profile(PRIMARIES, 0x100)).unwrap(), [188, 137, 229]));
    // Green and blue exchanged.
    let [red, green, blue] = PRIMARIES;
    assert!(near(with(profile([red, blue, green], 0x100)).unwrap(), [188, 229, 137]));
    // Gamma of 2.2 is near to sRGB.
    assert!(near(with(profile(PRIMARIES, 0x233)).unwrap(), [128, 63, 200]));
    // What is no profile says nothing.
    assert_eq!(with(vec![1, 2, 3]).unwrap(), [128, 64, 200]);
    let mut inks = profile(PRIMARIES, 0x233);
    inks[16..20].copy_from_slice(b"CMYK");
    assert!(matches!(with(inks), Err(DecodeError::UnsupportedColour { .. })));
    assert!(matches!(
        with(profile([[0.0; 3]; 3], 0x233)),
        Err(DecodeError::UnsupportedColour { .. })
    ));
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let refused = |bytes: &[u8]| decode(bytes, LIMITS).unwrap_err().to_string();
    assert_eq!(refused(b"no picture, but as long as one"), "no picture");
    assert_eq!(refused(&[]), "no picture");
    assert_eq!(
        refused(b"GIF89a\x10\0\x08\0\0\0\0\0\0\0"),
        "image/gif is not decoded, image/png, image/jpeg and image/webp are"
    );
    assert_eq!(
        refused(&bytes(files::JPEG_CMYK)),
        "a picture of four inks (CMYK) is not converted to sRGB"
    );
    assert_eq!(refused(&bytes(files::WEBP_ANIMATED)), "the picture is an animation");
}

#[test]
fn limits_hold_by_the_header() {
    for hex in [files::JPEG, files::WEBP_LOSSY] {
        let few = DecodeLimits { pixels: 127, ..LIMITS };
        let error = decode(&bytes(hex), few).unwrap_err();
        assert!(matches!(error, DecodeError::TooManyPixels { width: 16, height: 8, limit: 127 }));
        let little = DecodeLimits { bytes: 600, ..LIMITS };
        let error = decode(&bytes(hex), little).unwrap_err();
        assert!(matches!(error, DecodeError::TooManyBytes { limit: 600 }));
    }
    // Nothing but a header, which claims a lot.
    let mut huge = png((1, 1), Colours, Eight, &[0; 3], |_| ());
    huge[16..24].copy_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]);
    assert!(matches!(decode(&huge, LIMITS), Err(DecodeError::TooManyPixels { .. })));
    let wide = DecodeLimits { pixels: u64::MAX, bytes: 1 << 20 };
    assert!(matches!(decode(&huge, wide), Err(DecodeError::TooManyBytes { .. })));
}

#[test]
fn what_was_cut_off_is_refused() {
    let whole = png((5, 4), Rgba, Eight, &[77; 80], |_| ());
    for bytes in [files::JPEG, files::JPEG_PROGRESSIVE, files::WEBP_LOSSLESS, files::WEBP_LOSSY]
        .map(bytes)
        .into_iter()
        .chain([whole])
    {
        for cut in 0..bytes.len() {
            // A chunk of WebP may be padded by a byte that nobody needs.
            let found = decode(&bytes[..cut], LIMITS);
            assert!(found.is_err() || cut + 1 == bytes.len(), "{cut} of {}", bytes.len());
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_decoding_panic(
        which in 0..6_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = match which {
            0 => png((5, 4), Indexed, Eight, &[1; 20], |info| {
                info.palette = Some(vec![1; 6].into());
            }),
            1 => bytes(files::JPEG),
            2 => bytes(files::JPEG_PROGRESSIVE),
            3 => bytes(files::WEBP_LOSSY),
            4 => bytes(files::WEBP_ALPHA),
            _ => bytes(files::JPEG_TURNED),
        };
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        if let Ok(found) = decode(&bytes, LIMITS) {
            let pixels = found.width as usize * found.height as usize;
            prop_assert_eq!(found.samples.len(), 3 * pixels);
        }
    }
}

#[test]
fn what_a_decoder_says_is_one_line() {
    let said = broken(&"Not enough bytes,\n\texpected 6\u{1b} but found 5\n");
    let DecodeError::Broken { what } = said else { panic!("{said:?}") };
    assert_eq!(what, "Not enough bytes, expected 6 but found 5");
}

#[test]
fn a_palette_that_is_not_of_whole_colours_is_refused() {
    let of = |bytes: usize| {
        png((4, 1), Indexed, Eight, &[0; 4], |info| info.palette = Some(vec![7; bytes].into()))
    };
    for bytes in [4, 5, 767] {
        let said = decode(&of(bytes), LIMITS).unwrap_err().to_string();
        assert_eq!(said, "the picture is broken: its palette ends within a colour", "{bytes}");
    }
    for bytes in [1, 2, 3 * 257] {
        assert!(decode(&of(bytes), LIMITS).is_err(), "{bytes}");
    }
    for bytes in [3, 6, 3 * 256] {
        assert_eq!(decode(&of(bytes), LIMITS).unwrap().samples, [7; 12], "{bytes} bytes");
    }
}
