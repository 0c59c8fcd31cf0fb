use std::io::{Error, ErrorKind};

use proptest::prelude::*;

use super::*;

mod files;

use files::{
    SHORTS, Sample, bmp_info, extended, frame, gif, jfif, jpeg, lossless, lossy, png, probed,
    samples, segment, tiff, webp,
};

/// [`probe_at`] on bytes in memory.
fn fetch(bytes: &[u8]) -> Option<Probed> {
    probe_at(bytes.len() as u64, reader(bytes)).unwrap()
}

fn reader(bytes: &[u8]) -> impl FnMut(u64, &mut [u8]) -> io::Result<usize> {
    |offset, buffer| {
        let rest = &bytes[usize::try_from(offset).unwrap().min(bytes.len())..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

fn whole(bytes: &[u8]) -> Head {
    probe_head(bytes, bytes.len() as u64)
}

#[test]
fn every_type_is_known_from_its_header() {
    for Sample { what, bytes, expected, agreed } in samples() {
        assert_eq!(whole(&bytes), Head::Known(expected), "{what}");
        assert_eq!(fetch(&bytes), Some(expected), "{what}");
        let other = imagesize::blob_size(&bytes)
            .ok()
            .map(|size| (u32::try_from(size.width).unwrap(), u32::try_from(size.height).unwrap()));
        assert_eq!(other == Some((expected.width, expected.height)), agreed, "{what}: {other:?}");
    }
}

#[test]
fn a_part_of_a_header_never_gives_another_answer() {
    for Sample { what, bytes, expected, .. } in samples() {
        let length = bytes.len() as u64;
        let mut known = false;
        for cut in 0..=bytes.len() {
            let head = &bytes[..cut];
            // The rest is there, but not at hand.
            let found = probe_head(head, length);
            assert_eq!(found, if known { Head::Known(expected) } else { found });
            known = found == Head::Known(expected);
            assert!(known || found == Head::NeedsMore, "{what} at {cut}: {found:?}");
            // There is no rest.
            let answer = if known { Head::Known(expected) } else { Head::Unknown };
            assert_eq!(whole(head), answer, "{what} at {cut}");
            assert_eq!(fetch(head), known.then_some(expected), "{what} at {cut}");
        }
        assert!(known, "{what}");
    }
}

#[test]
fn few_bytes_are_enough() {
    assert_eq!(probe_head(&png(3, 2)[..24], 1 << 40), Head::Known(probed(MediaType::Png, 3, 2)));
    for bytes in [lossy(3, 2), lossless(3, 2), extended(3, 2), bmp_info(40, 3, 2)] {
        let head = &bytes[..bytes.len().min(30)];
        assert!(matches!(probe_head(head, 1 << 40), Head::Known(_)));
    }
}

#[test]
fn bytes_behind_the_picture_are_not_looked_at() {
    let bytes = [png(3, 2), png(5, 4)].concat();
    assert_eq!(probe_head(&bytes, 23), Head::Unknown);
    let truncated = &jpeg(&jfif(), &frame(0xC0, 640, 480))[..jfif().len() + 2];
    let bytes = [truncated, &frame(0xC0, 5, 4)].concat();
    assert_eq!(probe_head(&bytes, truncated.len() as u64), Head::Unknown);
}

#[test]
fn a_side_of_zero_is_unknown() {
    let sides = [(0, 480), (640, 0), (0, 0)];
    let files = sides.into_iter().flat_map(|(width, height)| {
        let entries = [(256, 3, width.into()), (257, 3, height.into())];
        [
            png(width.into(), height.into()),
            jpeg(&jfif(), &frame(0xC0, width, height)),
            lossy(width, height),
            lossy(0x4000 | width, 0x4000 | height),
            gif(b"GIF89a", width, height),
            bmp_info(40, width.into(), height.into()),
            tiff(false, false, 0, &entries),
            tiff(true, true, 0, &entries),
        ]
    });
    for bytes in files {
        assert_eq!(whole(&bytes), Head::Unknown, "{bytes:?}");
        assert_eq!(fetch(&bytes), None);
    }
}

#[test]
fn what_is_no_picture_is_unknown() {
    let frame = frame(0xC0, 640, 480);
    let mut apple = png(640, 480);
    apple.splice(8..8, *b"\0\0\0\x04CgBI\0\0\0\0\0\0\0\0");
    let mut delta = lossy(640, 480);
    delta[20] |= 1;
    let mut version = lossless(640, 480);
    version[24] |= 0x20;
    let mut components = jpeg(&[], &frame);
    components[11] = 4;
    for (what, bytes) in [
        ("nothing", Vec::new()),
        ("text", b"BMW and Mercedes-Benz make cars, and so do others.".to_vec()),
        ("markup", b"<!DOCTYPE html><html><body>404 not found</body></html>".to_vec()),
        ("RIFF of another kind", b"RIFF\0\0\0\0WAVEfmt \0\0\0\0aaaaaaaaaaaaaa".to_vec()),
        ("WebP without picture", webp(b"ALPH", &[0; 30])),
        ("WebP that begins between pictures", delta),
        ("lossless WebP to come", version),
        ("WebP too large", extended(1 << 24, 1 << 24)),
        ("GIF of another version", gif(b"GIF88a", 640, 480)),
        ("PNG beyond its range", png(0x8000_0000, 1)),
        ("PNG with a chunk before its header", apple),
        ("BMP of negative width", bmp_info(40, -640, 480)),
        ("JPEG with its scan first", jpeg(&segment(0xDA, &[0; 8]), &frame)),
        ("JPEG in JPEG", jpeg(&[0xFF, 0xD8], &frame)),
        ("JPEG with an end first", jpeg(&[0xFF, 0xD9], &frame)),
        ("JPEG of several frames", jpeg(&segment(0xDE, &frame[4..]), &frame)),
        ("JPEG with other bytes between", jpeg(&[0], &frame)),
        ("JPEG with a segment that runs back", jpeg(&[0xFF, 0xE0, 0, 1], &frame)),
        ("JPEG with a frame of another length", components),
        ("TIFF without entries", tiff(false, false, 0, &[])),
        ("TIFF without height", tiff(false, false, 0, &[(256, 3, 640), (258, 3, 8)])),
        ("TIFF with a fraction for width", tiff(false, false, 0, &[(256, 5, 8), (257, 3, 480)])),
        ("TIFF with a long too long", tiff(false, false, 0, &[(256, 16, 8), (257, 3, 480)])),
        ("BigTIFF too wide", tiff(false, true, 0, &[(256, 16, 1 << 32), (257, 3, 480)])),
    ] {
        assert_eq!(whole(&bytes), Head::Unknown, "{what}");
        assert_eq!(fetch(&bytes), None, "{what}");
    }
}

#[test]
fn sizes_far_in_are_fetched() {
    let exif: Vec<u8> = (0..40).flat_map(|_| segment(0xE1, &[0x55; 65_533])).collect();
    let jpeg = jpeg(&exif, &frame(0xC0, 640, 480));
    let far = tiff(true, false, 3_000_000, SHORTS);
    for bytes in [jpeg, far] {
        let length = bytes.len() as u64;
        assert_eq!(probe_head(&bytes[..4096], length), Head::NeedsMore);
        let mut fetched = 0;
        let mut read_at = reader(&bytes);
        let found = probe_at(length, |offset, buffer| {
            fetched += buffer.len();
            read_at(offset, buffer)
        });
        let found = found.unwrap().unwrap();
        assert_eq!((found.width, found.height), (640, 480));
        assert!(fetched <= 42 * WINDOW, "{fetched}");
    }
}

#[test]
fn no_picture_makes_us_fetch_without_end() {
    let mut steps = vec![0xFF, 0xD8];
    steps.extend([0xFF, 0xFE, 0, 2].repeat(1 << 20));
    let mut fill = vec![0xFF; 4 << 20];
    fill[1] = 0xD8;
    // A directory of 2^60 entries, in a file of which the other end is far.
    let entries =
        [&b"II\x2B\0\x08\0\0\0\x10\0\0\0\0\0\0\0"[..], &[0, 0, 0, 0, 0, 0, 0, 0x10]].concat();
    for bytes in [steps, fill, entries] {
        let mut fetched = 0;
        let found = probe_at(1 << 60, |offset, buffer| {
            fetched += buffer.len();
            let from = usize::try_from(offset).unwrap();
            for (at, byte) in (from..).zip(buffer.iter_mut()) {
                *byte = bytes.get(at).copied().unwrap_or_default();
            }
            Ok(buffer.len())
        });
        assert_eq!(found.unwrap(), None);
        assert_eq!(fetched, FETCH_LIMIT);
    }
}

#[test]
fn positions_beyond_all_numbers_are_no_trouble() {
    for directory in [u64::MAX, u64::MAX - 7, u64::MAX - 8, 1 << 63, 0] {
        let mut bytes = tiff(false, true, 0, SHORTS);
        bytes[8..16].copy_from_slice(&directory.to_le_bytes());
        assert_eq!(whole(&bytes), Head::Unknown);
        let anything = |_, buffer: &mut [u8]| {
            buffer.fill(0xFF);
            Ok(buffer.len())
        };
        let mut first = true;
        let found = probe_at(u64::MAX, |offset, buffer: &mut [u8]| {
            if std::mem::take(&mut first) {
                reader(&bytes)(offset, buffer)
            } else {
                anything(offset, buffer)
            }
        });
        assert!(
            matches!(found, Ok(None)) || found.is_err_and(|e| e.kind() == ErrorKind::UnexpectedEof)
        );
    }
}

#[test]
fn reading_in_drops_and_interruptions_gives_the_same() {
    for Sample { what, bytes, expected, .. } in samples() {
        let mut turn = 0;
        let mut read_at = reader(&bytes);
        let found = probe_at(bytes.len() as u64, |offset, buffer| {
            turn += 1;
            if turn % 3 == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
            let some = buffer.len().min(5);
            read_at(offset, &mut buffer[..some])
        });
        assert_eq!(found.unwrap(), Some(expected), "{what}");
    }
}

#[test]
fn errors_of_reading_are_handed_on() {
    let bytes = jpeg(&jfif(), &frame(0xC0, 640, 480));
    let error = probe_at(1000, |_, _| Err(Error::other("gone"))).unwrap_err();
    assert_eq!(error.to_string(), "gone");
    // A file that has become shorter.
    let error = probe_at(1000, reader(&bytes[..50])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    // A reader that claims more than it was asked for.
    let found = probe_at(1000, |_, buffer| Ok(buffer.len() + 1)).unwrap();
    assert_eq!(found, None);
}

/// Bytes that begin as a picture does, for every second.
fn nearly_pictures() -> impl Strategy<Value = Vec<u8>> {
    let whole: Vec<Vec<u8>> = samples().into_iter().map(|sample| sample.bytes).collect();
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let changed = (prop::sample::select(whole), changes).prop_map(|(mut bytes, changes)| {
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes
    });
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..200), changed]
}

proptest! {
    #[test]
    fn both_ways_agree_on_any_bytes(bytes in nearly_pictures(), cut in any::<prop::sample::Index>()) {
        let fetched = fetch(&bytes);
        prop_assert_eq!(whole(&bytes), fetched.map_or(Head::Unknown, Head::Known));
        let cut = cut.index(bytes.len() + 1);
        match probe_head(&bytes[..cut], bytes.len() as u64) {
            Head::Known(found) => prop_assert_eq!(Some(found), fetched),
            Head::Unknown => prop_assert_eq!(None, fetched),
            Head::NeedsMore => {}
        }
    }
}
