//! Pictures of every type, made by hand.

use diptych_schema::MediaType;

use crate::probe::Probed;

/// A picture of which no more than the header is true.
pub(super) struct Sample {
    pub(super) what: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) expected: Probed,
    /// Whether the `imagesize` crate reads it rightly.
    pub(super) agreed: bool,
}

pub(super) const fn probed(media_type: MediaType, width: u32, height: u32) -> Probed {
    Probed { media_type, width, height }
}

pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0, 0xDE, 0xAD, 0xBE, 0xEF]);
    bytes
}

pub(super) fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 2).unwrap();
    [&[0xFF, marker], &length.to_be_bytes()[..], body].concat()
}

pub(super) fn frame(marker: u8, width: u16, height: u16) -> Vec<u8> {
    let mut body = vec![8];
    body.extend(height.to_be_bytes());
    body.extend(width.to_be_bytes());
    body.extend([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
    segment(marker, &body)
}

/// A JPEG with `before` between its start and its frame.
pub(super) fn jpeg(before: &[u8], frame: &[u8]) -> Vec<u8> {
    let scan = segment(0xDA, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]);
    [&[0xFF, 0xD8], before, frame, &scan, &[1, 2, 3, 0xFF, 0xD9]].concat()
}

pub(super) fn jfif() -> Vec<u8> {
    [segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"), segment(0xDB, &[1; 65])].concat()
}

pub(super) fn webp(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap();
    let whole = (length + 12).to_le_bytes();
    [b"RIFF", &whole[..], b"WEBP", kind, &length.to_le_bytes(), body].concat()
}

pub(super) fn lossy(width: u16, height: u16) -> Vec<u8> {
    let mut body = vec![0x10, 0, 0, 0x9D, 0x01, 0x2A];
    body.extend(width.to_le_bytes());
    body.extend(height.to_le_bytes());
    webp(b"VP8 ", &body)
}

pub(super) fn lossless(width: u32, height: u32) -> Vec<u8> {
    let packed = (width - 1) | (height - 1) << 14;
    webp(b"VP8L", &[&[0x2F], &packed.to_le_bytes()[..]].concat())
}

pub(super) fn extended(width: u32, height: u32) -> Vec<u8> {
    let (w, h) = ((width - 1).to_le_bytes(), (height - 1).to_le_bytes());
    webp(b"VP8X", &[&[0x10, 0, 0, 0], &w[..3], &h[..3]].concat())
}

pub(super) fn gif(version: &[u8; 6], width: u16, height: u16) -> Vec<u8> {
    [version, &width.to_le_bytes()[..], &height.to_le_bytes(), &[0, 0, 0, 0x3B]].concat()
}

fn bmp(header: u32, sides: &[u8]) -> Vec<u8> {
    [b"BM", &[0; 12][..], &header.to_le_bytes(), sides, &[1, 0, 24, 0]].concat()
}

pub(super) fn bmp_info(header: u32, width: i32, height: i32) -> Vec<u8> {
    bmp(header, &[width.to_le_bytes(), height.to_le_bytes()].concat())
}

/// One entry of a TIFF's directory: tag, type, value.
pub(super) type Entry = (u16, u16, u64);

/// A TIFF whose directory lies behind `gap` bytes. Its numbers are as wide as the variant wants.
pub(super) fn tiff(big_endian: bool, wide: bool, gap: usize, entries: &[Entry]) -> Vec<u8> {
    let number = |value: u64, width: usize| {
        let bytes = value.to_le_bytes();
        let mut bytes = bytes[..width].to_vec();
        if big_endian {
            bytes.reverse();
        }
        bytes
    };
    let field = if wide { 8 } else { 4 };
    let start = if wide { 16 } else { 8 };
    let mut bytes = if big_endian { b"MM".to_vec() } else { b"II".to_vec() };
    bytes.extend(number(if wide { 43 } else { 42 }, 2));
    if wide {
        bytes.extend([number(8, 2), number(0, 2)].concat());
    }
    bytes.extend(number((start + gap) as u64, field));
    bytes.resize(start + gap, 0xAA);
    bytes.extend(number(entries.len() as u64, if wide { 8 } else { 2 }));
    for (tag, kind, value) in entries {
        bytes.extend([number((*tag).into(), 2), number((*kind).into(), 2)].concat());
        bytes.extend(number(1, field));
        // A value is at the left of its field.
        let mut value = number(*value, if *kind == 3 { 2 } else { field });
        value.resize(field, 0);
        bytes.extend(value);
    }
    bytes.extend(number(0, field));
    bytes
}

pub(super) const SHORTS: &[Entry] = &[(254, 4, 0), (256, 3, 640), (257, 3, 480), (258, 3, 8)];
const LONGS: &[Entry] = &[(256, 4, 70_000), (257, 4, 480), (258, 3, 8)];

pub(super) fn samples() -> Vec<Sample> {
    use MediaType::{Bmp, Gif, Jpeg, Png, Tiff, Webp};
    let sample = |what, bytes, expected, agreed| Sample { what, bytes, expected, agreed };
    let gif = |version| gif(version, 640, 480);
    let jpeg_of = |marker| jpeg(&jfif(), &frame(marker, 640, 480));
    let filled = [&jfif()[..], &[0xFF; 5]].concat();
    let standing = [&[0xFF, 0x01, 0xFF, 0xD3], &jfif()[..]].concat();
    // What a camera puts before its picture: a small one, with a frame of its own.
    let thumbnail = jpeg(&jfif(), &frame(0xC0, 160, 120));
    let exif = segment(0xE1, &[b"Exif\0\0", &thumbnail[..]].concat());
    vec![
        sample("png", png(640, 480), probed(Png, 640, 480), true),
        sample("largest png", png(0x7FFF_FFFF, 1), probed(Png, 0x7FFF_FFFF, 1), true),
        sample("jpeg", jpeg_of(0xC0), probed(Jpeg, 640, 480), true),
        sample("progressive jpeg", jpeg_of(0xC2), probed(Jpeg, 640, 480), true),
        sample("jpeg, fill", jpeg(&filled, &frame(0xC0, 6, 4)), probed(Jpeg, 6, 4), false),
        sample("jpeg, markers", jpeg(&standing, &frame(0xC0, 6, 4)), probed(Jpeg, 6, 4), false),
        sample(
            "jpeg, thumbnail",
            jpeg(&exif, &frame(0xC0, 640, 480)),
            probed(Jpeg, 640, 480),
            true,
        ),
        sample("lossy webp", lossy(640, 480), probed(Webp, 640, 480), true),
        sample("scaled webp", lossy(0x4000 | 640, 0x8000 | 480), probed(Webp, 640, 480), false),
        sample("lossless webp", lossless(16_384, 1), probed(Webp, 16_384, 1), true),
        sample("extended webp", extended(70_000, 480), probed(Webp, 70_000, 480), true),
        sample("gif 87a", gif(b"GIF87a"), probed(Gif, 640, 480), true),
        sample("gif 89a", gif(b"GIF89a"), probed(Gif, 640, 480), true),
        sample("bmp", bmp_info(40, 640, 480), probed(Bmp, 640, 480), true),
        sample("bmp 5", bmp_info(124, 640, 480), probed(Bmp, 640, 480), true),
        sample("bmp from the top", bmp_info(40, 640, -480), probed(Bmp, 640, 480), false),
        sample("old bmp", bmp(12, &[0x80, 2, 0xE0, 1]), probed(Bmp, 640, 480), false),
        sample("tiff", tiff(false, false, 0, SHORTS), probed(Tiff, 640, 480), true),
        sample("big-endian tiff", tiff(true, false, 100, SHORTS), probed(Tiff, 640, 480), true),
        sample("tiff, longs", tiff(true, false, 0, LONGS), probed(Tiff, 70_000, 480), true),
        sample("bigtiff", tiff(false, true, 3, LONGS), probed(Tiff, 70_000, 480), true),
        sample(
            "big-endian bigtiff",
            tiff(true, true, 0, &[(256, 16, 640), (257, 16, 480)]),
            probed(Tiff, 640, 480),
            false,
        ),
    ]
}
