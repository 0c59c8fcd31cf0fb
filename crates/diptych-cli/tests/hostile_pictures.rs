//! Pictures that are made to do harm: headers that claim far more than there is, blocks chained
//! without end, and run lengths of grids that no picture has.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests state what they expect by panicking")]

mod support;

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use support::folder::{copy, fixtures};
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
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    std::io::copy(&mut std::io::repeat(0).take(count), &mut encoder).unwrap();
    encoder.flush().unwrap();
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

/// What claims far more than a thousand million pixels, or next to nothing, in each type.
fn claims() -> Vec<(&'static str, Vec<u8>)> {
    let extended = |side: u32| {
        let side = (side - 1).to_le_bytes();
        [&[0; 4][..], &side[..3], &side[..3]].concat()
    };
    let lossless = 0x2F_u8;
    let all = [lossless, 0xFF, 0xFF, 0xFF, 0x0F];
    let tiff = |entries: &[[u8; 12]]| {
        let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
        [b"II*\0\x08\0\0\0", &count[..], &entries.concat(), &[0; 4]].concat()
    };
    let side = |tag: u8| [tag, 1, 4, 0, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x7F];
    vec![
        ("png", claiming(40_000, 40_000, 8, 2, zeros(1 << 20))),
        ("png", claiming(40_000, 40_000, 16, 6, zeros(64 << 20))),
        ("png", claiming(i32::MAX.cast_unsigned(), i32::MAX.cast_unsigned(), 1, 0, zeros(10))),
        ("png", claiming(u32::MAX, u32::MAX, 8, 0, zeros(10))),
        ("png", claiming(0, 0, 8, 0, zeros(10))),
        ("png", claiming(8, 8, 8, 3, zeros(1 << 20))),
        ("png", claiming(1, 1_000_000_000, 8, 0, zeros(10))),
        ("jpg", jpeg(65_535, 65_535, 0)),
        ("jpg", jpeg(0, 0, 0)),
        ("jpg", jpeg(8, 8, 400_000)),
        ("webp", webp(b"VP8X", &extended(1 << 24))),
        ("webp", webp(b"VP8X", &extended(1))),
        ("webp", webp(b"VP8L", &all)),
        ("webp", webp(b"VP8 ", &[0; 10])),
        ("gif", [&b"GIF89a"[..], &[0xFF; 4], &[0, 0, 0, 0x3B]].concat()),
        ("gif", [&b"GIF89a"[..], &[0; 4], &[0, 0, 0, 0x3B]].concat()),
        ("tif", tiff(&[side(0), side(1)])),
        ("tif", b"II*\0\x08\0\0\0\xff\xff".to_vec()),
        ("tif", b"MM\0*\0\0\0\x08".to_vec()),
        ("bmp", [&b"BM"[..], &[0; 12], &40_u32.to_le_bytes(), &[0xFF; 8]].concat()),
    ]
}

/// Samples each of which has one of the pictures in this role, behind one without.
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
    let count = claims.len();
    for role in ["source", "target", "mask"] {
        let scene = samples(role, &claims);
        for args in [
            &[][..],
            &["--mask-grid", "source"],
            &["--mask-from", "difference,release"],
            &["--probe", "none", "--mask-from", "difference", "--mask-grid", "source"],
        ] {
            let ended = scene.convert(args);
            balanced(&ended, count);
            if role != "target" && args == ["--mask-grid", "source"] {
                // At least that which is known to be too large, and not a picture that is cut.
                let told = ended.rejections.iter().filter(|of| of["kind"] == "mask_too_large");
                assert!(told.count() >= 1, "{role}: {ended:?}");
            }
        }
    }
    // In another layout masks are what changed.
    let scene = samples("target", &claims);
    let ended = scene.run("convert", &["--to", "pape"]);
    balanced(&ended, count);
    let compared = ended.report()["masks"].to_string();
    assert!(compared.contains("picture_too_large"), "{compared}");
}

/// Of a mask that is all there the header is believed up to the limit, and no farther.
#[test]
fn masks_are_decoded_up_to_the_limit() {
    // 99 and 101 million pixels of one bit that are nothing: some kilobytes.
    let mask = |height: u32| claiming(10_000, height, 1, 0, zeros((1251) * u64::from(height)));
    let scene = samples("mask", &[("png", mask(9_900)), ("png", mask(10_100))]);
    let ended = scene.convert(&["--max", "pixels=4000000"]);
    ended.rejects(2, "mask_too_large", "");
    let small = |height: u32| claiming(1000, height, 1, 0, zeros(126 * u64::from(height)));
    let scene = samples("mask", &[("png", small(1000)), ("png", small(1001))]);
    scene.convert(&["--max", "pixels=1000000"]).rejects(1, "mask_too_large", "");
}

/// A text of PNG's own, a colour profile, and data that become far more than the picture has.
#[test]
fn what_is_packed_in_a_picture_is_bounded() {
    let bomb = zeros(64 << 20);
    let text = [b"k\0\0".as_slice(), &bomb].concat();
    let with = |kind: &'static [u8; 4], body: Vec<u8>| {
        chunks(&[ihdr(8, 8, 1, 0), (kind, body), (b"IDAT", zeros(16)), (b"IEND", Vec::new())])
    };
    let pictures = [
        ("png", with(b"zTXt", text.clone())),
        ("png", with(b"iCCP", text.clone())),
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

/// Run lengths of a side file: too many, too long, of no number, of a grid without bounds.
#[test]
fn run_lengths_are_held_to_their_grid() {
    let scene = Scene::new();
    copy(&fixtures().join("imgedit"), &scene.release());
    let recap = scene.around().join("beside/recap");
    copy(&fixtures().join("imgedit-recap"), &recap);
    let parts = ["jsons/part0.tar", "jsons/part1.tar"].map(|part| recap.join(part));
    let option = format!("imgedit.recap={}", recap.display());
    let masks = ["-o", &option, "--mask-from", "run_length,release"];
    let whole: Vec<_> = parts.iter().map(|part| std::fs::read(part).unwrap()).collect();
    for (size, counts) in [
        ("[4294967295, 4294967295]", None),
        ("[0, 0]", None),
        ("[-1, 5]", None),
        ("[1e400, 3]", None),
        ("[65536, 65536]", None),
        ("[4, 4]", Some("oooooooooooooooooooooooooooooo")),
        ("[4, 4]", Some("-1-1-1")),
        ("[4, 4]", Some("\u{fffd}\u{fffd}")),
    ] {
        for (part, whole) in parts.iter().zip(&whole) {
            let mut members = Vec::new();
            for entry in tar::Archive::new(whole.as_slice()).entries().unwrap() {
                let mut entry = entry.unwrap();
                let name = entry.path().unwrap().display().to_string();
                let mut text = String::new();
                if entry.read_to_string(&mut text).is_err() {
                    continue;
                }
                members.push((name, changed(&text, size, counts).into_bytes()));
            }
            std::fs::write(part, archive(&members)).unwrap();
        }
        let ended = scene.convert(&masks);
        assert!(matches!(ended.code, Some(0 | 3)), "{size}: {ended:?}");
        assert_eq!(ended.report()["total"]["read"], 38);
    }
}

/// The text with other sizes and counts of its run lengths.
fn changed(text: &str, size: &str, counts: Option<&str>) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"size\"") {
        let (before, behind) = rest.split_at(at);
        made.push_str(before);
        let end = behind.find(']').map_or(behind.len(), |end| end + 1);
        made.push_str(&format!("\"size\": {size}"));
        rest = behind.get(end..).unwrap_or_default();
    }
    made.push_str(rest);
    let Some(counts) = counts else { return made };
    let mut all = String::new();
    let mut rest = made.as_str();
    while let Some(at) = rest.find("\"counts\"") {
        let (before, behind) = rest.split_at(at);
        all.push_str(before);
        all.push_str(&format!("\"counts\": \"{counts}\""));
        // Behind the value, which is a text.
        let value = behind.match_indices('"').nth(3).map_or(behind.len(), |(at, _)| at + 1);
        rest = behind.get(value..).unwrap_or_default();
    }
    all + rest
}
