//! Headers of pictures, pictures, masks and run lengths.

use diptych::pixels::mask::Part;
use diptych::pixels::run_length::{self, RunLimits};
use diptych::pixels::{
    DecodeLimits, Head, decode, is_normal_form, normalise, probe_at, probe_head,
};
use diptych::schema::{Edited, MediaType};
use diptych::storage::ReadAt;
use flate2::Crc;

use crate::LIMITS;
use crate::bytes::Dripping;
use crate::text::told;

const DECODE: DecodeLimits = DecodeLimits { pixels: LIMITS.pixels, bytes: LIMITS.picture_bytes };

/// A header: the same from first bytes and from reads at positions.
pub(crate) fn probe(input: &[u8]) {
    let (first, bytes) = input.split_first().unwrap_or((&0, &[]));
    let length = bytes.len() as u64;
    let whole = probe_head(bytes, length);
    let at_once = bytes.to_vec();
    let fetched = probe_at(length, |offset, buffer| at_once.read_at(offset, buffer));
    let fetched = fetched.expect("memory can be read");
    assert_eq!(whole, fetched.map_or(Head::Unknown, Head::Known));
    let in_steps = Dripping(at_once);
    let again = probe_at(length, |offset, buffer| in_steps.read_at(offset, buffer));
    assert_eq!(again.expect("memory can be read"), fetched);
    // A beginning may not know, and never knows better.
    match probe_head(&bytes[..bytes.len().min(usize::from(*first))], length) {
        Head::Known(found) => assert_eq!(Some(found), fetched),
        Head::Unknown => assert_eq!(None, fetched),
        Head::NeedsMore => {}
    }
    if let Some(found) = fetched {
        assert!(found.width > 0 && found.height > 0);
    }
}

/// A PNG whose chunks have the checksums that they should have: hardly any change to one would lead
/// farther than to its checksum.
fn with_checksums(png: &[u8]) -> Vec<u8> {
    let mut png = png.to_vec();
    let mut at = 8;
    while let Some(length) = png.get(at..).and_then(<[u8]>::first_chunk) {
        let end = usize::try_from(u32::from_be_bytes(*length)).unwrap().saturating_add(at + 8);
        let Some(body) = png.get(at + 4..end) else { break };
        let mut checksum = Crc::new();
        checksum.update(body);
        let Some(stored) = png.get_mut(end..end + 4) else { break };
        stored.copy_from_slice(&checksum.sum().to_be_bytes());
        at = end + 4;
    }
    png
}

/// A picture as it is, and with its checksums as they should be.
pub(crate) fn picture(input: &[u8]) {
    any_picture(input);
    if input.starts_with(b"\x89PNG") {
        any_picture(&with_checksums(input));
    }
}

/// A picture: as large as its header says, and not larger than allowed.
fn any_picture(input: &[u8]) {
    let probed = probe_head(input, input.len() as u64);
    match decode::decode(input, DECODE) {
        Ok(rgb) => {
            let Head::Known(probed) = probed else { unreachable!("its header is not known") };
            let turned = rgb.orientation.exchanges_sides();
            let seen = if turned { (rgb.height, rgb.width) } else { (rgb.width, rgb.height) };
            assert_eq!((probed.width, probed.height), seen);
            let pixels = u64::from(rgb.width) * u64::from(rgb.height);
            assert!(pixels <= DECODE.pixels);
            assert_eq!(rgb.samples.len() as u64, 3 * pixels);
        }
        Err(error) => drop(told(&error)),
    }
}

/// A mask: what is made of it is the one written form, and stays as it is when it is read again.
pub(crate) fn mask(input: &[u8]) {
    let (choice, bytes) = input.split_first().unwrap_or((&0, &[]));
    let edited = Edited::ALL[usize::from(choice % 4)];
    let grid = (choice & 4 != 0).then_some((u32::from(choice >> 3) + 1, 17));
    let mended = with_checksums(bytes);
    let bytes = if choice & 0x80 == 0 { mended.as_slice() } else { bytes };
    // One part, or two that a byte of the first says the border of.
    let parts: Vec<_> = match choice & 0xC0 {
        0xC0 if !bytes.is_empty() => {
            let (cut, rest) = bytes.split_first().unwrap();
            let (counts, picture) = rest.split_at(rest.len().min(usize::from(*cut)));
            vec![Part::RunLength { counts, size: (24, 16) }, Part::Picture(picture)]
        }
        _ => vec![Part::Picture(bytes)],
    };
    let made = match normalise(&parts, edited, grid, DECODE) {
        Ok(made) => made,
        Err(error) => return drop(told(&error)),
    };
    let (png, (width, height)) = (&made.png, made.size);
    assert!(is_normal_form(png, Edited::White));
    assert!(u64::from(width) * u64::from(height) <= DECODE.pixels);
    assert_eq!(grid.unwrap_or(made.size_of_first), made.size);
    match probe_head(png, png.len() as u64) {
        Head::Known(found) => assert_eq!(
            (found.media_type, found.width, found.height),
            (MediaType::Png, width, height)
        ),
        other => unreachable!("{other:?}"),
    }
    // What was allowed may be more than is left for the mask once it is a picture.
    let ample = DecodeLimits { bytes: 2 * DECODE.bytes, ..DECODE };
    let again = normalise(&[Part::Picture(png)], Edited::White, None, ample);
    assert_eq!(again.expect("what was made can be read").png, made.png);
}

/// Run lengths: what comes out goes back in, and drawn they are as many pixels as they say.
pub(crate) fn run_length(input: &[u8]) {
    let (size, counts) = input.split_at(input.len().min(3));
    let part = |at: usize| u32::from(size.get(at).copied().unwrap_or(3));
    // Grids up to the limit and beyond.
    let size = (part(0) * (1 + part(2) % 32), part(1) * (1 + part(2) / 32));
    let limits = RunLimits { pixels: LIMITS.pixels, runs: 1000 };
    let read = match run_length::decode(counts, size, limits) {
        Ok(read) => read,
        Err(error) => return drop(told(&error)),
    };
    let pixels = u64::from(size.0) * u64::from(size.1);
    assert!(pixels <= limits.pixels && read.runs.len() as u64 <= limits.runs);
    assert_eq!(read.runs.iter().sum::<u64>() + read.padded, pixels);
    let text = run_length::encode_runs(read.runs.iter().copied());
    assert_eq!(run_length::decode(text.as_bytes(), size, limits).as_ref(), Ok(&read));
    let edited: u64 = read.runs.iter().skip(1).step_by(2).sum();
    let made = normalise(&[Part::RunLength { counts, size }], Edited::White, None, DECODE);
    let Ok(made) = made else { return };
    assert_eq!((made.size, made.padded), (size, read.padded));
    let drawn = decode::decode(&made.png, DecodeLimits { bytes: 1 << 30, ..DECODE });
    let drawn = drawn.expect("what was made can be read");
    let white = drawn.samples.iter().step_by(3).filter(|sample| **sample == 255).count();
    assert_eq!(white as u64, edited);
}
