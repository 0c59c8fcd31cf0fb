use ::png::BitDepth::{Eight, One, Sixteen};
use ::png::ColorType::{Grayscale, Indexed, Rgb as Colours, Rgba};

use super::*;
use crate::decode::decode;
use crate::decode::tests::{LIMITS, bytes, files, png};

fn plain(size: (u32, u32), samples: &[u8]) -> Vec<u8> {
    png(size, Colours, Eight, samples, |_| {})
}

fn found(bytes: &[u8]) -> Fingerprint {
    fingerprint(bytes, LIMITS).unwrap()
}

/// A picture with hills of brightness, the same whatever its size, and noise of so many levels.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
fn hills((width, height): (u32, u32), seed: u32, noise: u32) -> Vec<u8> {
    let mut chance = seed | 1;
    let mut samples = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let (x, y) = (f64::from(x) / f64::from(width), f64::from(y) / f64::from(height));
            let hill = |i: u32| {
                let part = |n: u32| f64::from(((seed * 7 + i) * n) % 101) / 101.0;
                let (across, down) = (x - part(37), y - part(59));
                (part(83) - 0.4) * 220.0 / (1.0 + 40.0 * (across * across + down * down))
            };
            let bright = 110.0 + (0..9).map(hill).sum::<f64>();
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let off = f64::from((chance >> 16) % (2 * noise + 1)) - f64::from(noise);
            let sample = (bright + off).round().clamp(0.0, 255.0) as u8;
            samples.extend([sample, sample, 255 - sample / 2]);
        }
    }
    plain((width, height), &samples)
}

fn apart(one: &[u8], other: &[u8]) -> u32 {
    (found(one).near.unwrap() ^ found(other).near.unwrap()).count_ones()
}

#[test]
fn the_same_pixels_are_the_same_however_they_are_stored() {
    let grey = [0, 255, 255, 0, 255, 0, 0, 255];
    let colours: Vec<u8> = grey.into_iter().flat_map(|of| [of; 3]).collect();
    let opaque: Vec<u8> = grey.into_iter().flat_map(|of| [of, of, of, 255]).collect();
    let wide: Vec<u8> = colours.iter().flat_map(|of| [*of; 2]).collect();
    let size = (4, 2);
    let wanted = found(&plain(size, &colours)).pixels;
    let all = [
        png(size, Grayscale, Eight, &grey, |_| {}),
        png(size, Grayscale, One, &[0b0110_0000, 0b1001_0000], |_| {}),
        png(size, Rgba, Eight, &opaque, |_| {}),
        png(size, Colours, Sixteen, &wide, |_| {}),
        png(size, Indexed, One, &[0b1001_0000, 0b0110_0000], |info| {
            info.palette = Some(vec![255, 255, 255, 0, 0, 0].into());
        }),
    ];
    for other in all {
        assert_eq!(found(&other).pixels, wanted);
    }
    assert_ne!(found(&plain((2, 4), &colours)).pixels, wanted, "of another shape");
    let mut other = colours.clone();
    other[5] ^= 1;
    assert_ne!(found(&plain(size, &other)).pixels, wanted);
}

#[test]
fn webp_and_pictures_that_are_turned_are_as_they_are_seen() {
    for hex in [files::WEBP_LOSSLESS, files::WEBP_LOSSY, files::JPEG] {
        let seen = decode(&bytes(hex), LIMITS).unwrap();
        let again = plain((seen.width, seen.height), &seen.samples);
        assert_eq!(found(&bytes(hex)), found(&again));
        // Stored upside down, with the EXIF field that says so.
        let turned: Vec<_> =
            seen.samples.as_chunks::<3>().0.iter().rev().flatten().copied().collect();
        let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0";
        let turned = png((seen.width, seen.height), Colours, Eight, &turned, |info| {
            info.exif_metadata = Some(exif.to_vec().into());
        });
        assert_eq!(found(&turned), found(&again));
    }
}

#[test]
fn pictures_that_are_smaller_or_noisy_are_near_and_others_are_not() {
    for seed in 1..20 {
        let whole = hills((320, 240), seed, 0);
        for (size, noise) in [((320, 240), 6), ((288, 216), 3), ((201, 151), 2), ((160, 120), 3)] {
            let far = apart(&whole, &hills(size, seed, noise));
            assert!(far <= 4, "{seed} at {size:?}: {far}");
        }
        let far = apart(&whole, &hills((320, 240), seed + 20, 0));
        assert!(far > 8, "{seed}: {far}");
    }
}

#[test]
fn what_has_nothing_to_be_seen_has_no_perceptual_hash() {
    // The left half is brighter by so many levels.
    let halves = |more: u8| {
        let row = |_| [[100 + more; 96], [100; 96]].concat();
        found(&plain((64, 8), &(0..8).flat_map(row).collect::<Vec<_>>()))
    };
    assert_eq!(halves(0).near, None);
    assert_eq!(halves(7).near, None);
    assert!(halves(8).near.is_some());
    assert_ne!(halves(0).pixels, halves(7).pixels, "they are compared by their pixels");
    assert_eq!(found(&plain((1, 1), &[9; 3])).near, None);
}

#[test]
fn the_numbers_are_the_same_on_every_machine() {
    let known = found(&hills((123, 45), 5, 2));
    let wanted = Fingerprint {
        pixels: 0xD6EE_0934_AA15_6667_35DB_43FB_0FBB_60CB,
        near: Some(0x29C3_5616_A70D_CB76),
    };
    assert_eq!(known, wanted);
}

#[test]
fn every_pixel_is_in_the_cells_with_the_whole_of_it() {
    for length in [1, 2, 7, 15, 16, 17, 31, 100, 1000] {
        let cells = cells(length);
        for cell in cells {
            let all: u64 = (0..length as usize).map(|pixel| cell.weight(pixel)).sum();
            assert_eq!(all, u64::from(length), "a cell of {length}");
            let white = vec![[255; 3]; length as usize];
            assert_eq!(cell.sum(&white), all * 255 * 256);
        }
        for pixel in 0..length as usize {
            let all: u64 = cells.iter().map(|cell| cell.weight(pixel)).sum();
            assert_eq!(all, SIDE as u64, "a pixel of {length}");
        }
    }
}

#[test]
fn pictures_of_any_shape_are_hashed_and_those_over_the_limits_refused() {
    for size in [(1, 1), (1, 300), (300, 1), (3, 5), (17, 2)] {
        let samples: Vec<u8> =
            (0_u32..size.0 * size.1 * 3).map(|i| (i * 31).to_le_bytes()[0]).collect();
        found(&plain(size, &samples));
    }
    let picture = hills((32, 32), 1, 0);
    let few = DecodeLimits { pixels: 1023, ..LIMITS };
    let error = fingerprint(&picture, few).unwrap_err();
    assert!(matches!(error, DecodeError::TooManyPixels { .. }));
    assert_eq!(error.word(), "too_many_pixels");
    let error = fingerprint(b"no picture", LIMITS).unwrap_err();
    assert_eq!(error.word(), "not_a_picture");
    let cut = &picture[..picture.len() - 20];
    assert_eq!(fingerprint(cut, LIMITS).unwrap_err().word(), "broken");
}
