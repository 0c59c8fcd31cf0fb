//! Pictures that are made to do harm: headers that claim far more than there is, blocks chained
//! without end, and what is packed in them.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::io::Read;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use support::hostile::{Ended, Scene, picture};
use support::made::{archive, png};

/// A PNG of these chunks.
fn chunks(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, body) in chunks {
        let mut sum = flate2::Crc::new();
        sum.update(kind.as_slice());
        sum.update(body);
        bytes.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        bytes.extend(kind.as_slice());
        bytes.extend(body);
        bytes.extend(sum.sum().to_be_bytes());
    }
    bytes
}

fn ihdr(width: u32, height: u32, depth: u8, colour: u8) -> (&'static [u8; 4], Vec<u8>) {
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    (b"IHDR", [size, vec![depth, colour, 0, 0, 0]].concat())
}

/// So many zeros, compressed.
fn zeros(count: u64) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    std::io::copy(&mut std::io::repeat(0).take(count), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

fn claiming(width: u32, height: u32, depth: u8, colour: u8, data: Vec<u8>) -> Vec<u8> {
    chunks(&[ihdr(width, height, depth, colour), (b"IDAT", data), (b"IEND", Vec::new())])
}

fn jpeg(width: u16, height: u16, segments: usize) -> Vec<u8> {
    let mut bytes = vec![0xFF, 0xD8];
    for _ in 0..segments {
        bytes.extend([0xFF, 0xE1, 0, 2]);
    }
    bytes.extend([0xFF, 0xC0, 0, 17, 8]);
    bytes.extend([height.to_be_bytes(), width.to_be_bytes()].concat());
    bytes.extend([3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 0xFF, 0xD9]);
    bytes
}

fn webp(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap();
    let whole = (length + 12).to_le_bytes();
    [b"RIFF", &whole[..], b"WEBP", kind, &length.to_le_bytes(), body].concat()
}

/// What claims a thousand million pixels or more, or nothing, in each type.
fn claims() -> Vec<(&'static str, Vec<u8>)> {
    let extended = |side: u32| {
        let side = (side - 1).to_le_bytes();
        [&[0; 4][..], &side[..3], &side[..3]].concat()
    };
    let tiff = |entries: &[[u8; 12]]| {
        let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
        [b"II*\0\x08\0\0\0", &count[..], &entries.concat(), &[0; 4]].concat()
    };
    let side = |tag: u8| [tag, 1, 4, 0, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x7F];
    vec![
        ("png", claiming(40_000, 40_000, 8, 2, zeros(1 << 20))),
        ("png", claiming(40_000, 40_000, 16, 6, zeros(8 << 20))),
        ("png", claiming(0x7FFF_FFFF, 0x7FFF_FFFF, 1, 0, zeros(10))),
        ("png", claiming(u32::MAX, u32::MAX, 8, 0, zeros(10))),
        ("png", claiming(0, 0, 8, 0, zeros(10))),
        ("png", claiming(8, 8, 8, 3, zeros(1 << 20))),
        ("png", claiming(1, 1_000_000_000, 8, 0, zeros(10))),
        ("jpg", jpeg(65_535, 65_535, 0)),
        ("jpg", jpeg(0, 0, 0)),
        ("jpg", jpeg(8, 8, 400_000)),
        ("webp", webp(b"VP8X", &extended(1 << 24))),
        ("webp", webp(b"VP8X", &extended(1))),
        ("webp", webp(b"VP8L", &[0x2F, 0xFF, 0xFF, 0xFF, 0x0F])),
        ("webp", webp(b"VP8 ", &[0; 10])),
        ("gif", [&b"GIF89a"[..], &[0xFF; 4], &[0, 0, 0, 0x3B]].concat()),
        ("gif", [&b"GIF89a"[..], &[0; 4], &[0, 0, 0, 0x3B]].concat()),
        ("tif", tiff(&[side(0), side(1)])),
        ("tif", b"II*\0\x08\0\0\0\xff\xff".to_vec()),
        ("tif", b"MM\0*\0\0\0\x08".to_vec()),
    ]
}

/// Samples each of which has one of the pictures in this role, and one without.
fn samples(role: &str, pictures: &[(&str, Vec<u8>)]) -> Scene {
    let mask = || png(8, png::ColorType::Grayscale, 40, 1);
    let mut members = Vec::new();
    for number in 0..=pictures.len() {
        let key = format!("{number:04}");
        for (of, bytes) in [("source", picture(1)), ("target", picture(2)), ("mask", mask())] {
            let odd = pictures.get(number).filter(|_| of == role);
            let (ending, bytes) = match odd {
                Some((ending, odd)) => (*ending, odd.clone()),
                None => ("png", bytes),
            };
            members.push((format!("{key}.{of}.{ending}"), bytes));
        }
    }
    Scene::of([("shard-0.tar", archive(&members))])
}

/// All were read, and each of them was written or rejected.
#[track_caller]
fn balanced(ended: &Ended, count: usize) {
    let total = &ended.report()["total"];
    assert_eq!(total["read"], count + 1, "{ended:?}");
    let written = total["written"].as_u64().unwrap();
    assert!(written >= 1, "{ended:?}");
    assert_eq!(written + ended.rejections.len() as u64, count as u64 + 1);
}

#[test]
fn headers_that_claim_too_much_cost_no_memory() {
    let claims = claims();
    for role in ["source", "target", "mask"] {
        let scene = samples(role, &claims);
        for args in [
            &[][..],
            &["--mask-grid", "source"],
            &["--mask-from", "difference,release"],
            &["--probe", "none", "--mask-from", "difference", "--mask-grid", "source"],
        ] {
            let ended = scene.convert(args);
            balanced(&ended, claims.len());
            if role == "source" && args == ["--mask-grid", "source"] {
                let told = ended.rejections.iter().filter(|of| of["kind"] == "mask_too_large");
                assert!(told.count() >= 3, "{ended:?}");
            }
            if role != "mask" && args == ["--mask-from", "difference,release"] {
                let masks = ended.report()["masks"].to_string();
                assert!(masks.contains("picture_too_large"), "{masks}");
            }
        }
    }
}

#[test]
fn masks_are_decoded_up_to_the_limit() {
    let mask = |height: u32| claiming(1000, height, 1, 0, zeros(126 * u64::from(height)));
    let scene = samples("mask", &[("png", mask(1000)), ("png", mask(1001))]);
    let ended = scene.convert(&["--max", "pixels=1000000"]);
    ended.with(3).rejects(1, "mask_too_large", "").writes(2);
}

/// A text of PNG's own, a colour profile, and data that become far more than the picture has.
#[test]
fn what_is_packed_in_a_picture_is_bounded() {
    let bomb = zeros(96 << 20);
    let text = [b"k\0\0".as_slice(), &bomb].concat();
    let with = |kind: &'static [u8; 4], body: Vec<u8>| {
        chunks(&[ihdr(8, 8, 1, 0), (kind, body), (b"IDAT", zeros(16)), (b"IEND", Vec::new())])
    };
    let pictures = [
        ("png", with(b"zTXt", text.clone())),
        ("png", with(b"iCCP", text)),
        ("png", with(b"iTXt", [b"k\0\x01\0\0\0".as_slice(), &bomb].concat())),
        ("png", claiming(8, 8, 1, 0, bomb.clone())),
        ("png", claiming(8, 8, 8, 2, bomb)),
    ];
    for role in ["mask", "source"] {
        let scene = samples(role, &pictures);
        let args = ["--mask-from", "difference,release", "--mask-grid", "source"];
        balanced(&scene.convert(&args), pictures.len());
        balanced(&scene.convert(&["--mask-grid", "source"]), pictures.len());
    }
}
