//! What a picture shows, as numbers to compare: a digest of its pixels, and a perceptual hash.
//!
//! The digest is of the picture as it is seen ([`mod@crate::decode`]), so it is the same for all
//! files without loss that show the same, in whatever format, depth or orientation they store it.
//!
//! The perceptual hash is that of [`image_hasher`] by the median of a cosine transform, of a grid of
//! 16 by 16 means of brightness that are stretched to all that 8 bits hold. That grid is made here,
//! in whole numbers and row by row: it then takes no memory that grows with the picture, and of
//! the transform's own ways only the one is used that does not depend on the processor. On drawn
//! and photographed pictures this was the one that changes least where a picture is made smaller or
//! saved with loss, of those that tell an edit from its source (`docs/same.md` has the figures).

use image::{GrayImage, ImageBuffer, Luma};
use image_hasher::{HashAlg, HasherConfig};

use crate::decode::{DecodeError, Rows, decode_rows};
use crate::mask::DecodeLimits;

/// What a picture shows, as numbers to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// A digest of width, height and samples: the same for all files that show these pixels.
    pub pixels: u128,
    /// A perceptual hash: the fewer bits differ, the more alike are two pictures. `None` where all
    /// parts of the picture are about as bright: its noise would decide, and all such pictures
    /// would be like each other.
    pub near: Option<u64>,
}

/// Decodes a picture, and tells what it shows.
///
/// # Errors
/// Those of [`decode`](crate::decode::decode).
pub fn fingerprint(bytes: &[u8], limits: DecodeLimits) -> Result<Fingerprint, DecodeError> {
    let begin = |size, _| Ok::<_, DecodeError>(Reading::new(size));
    decode_rows(bytes, limits, begin).map(Reading::finish)
}

/// Cells along a side of the grid that pictures are reduced to: as many as the transform takes, so
/// that it reduces nothing itself.
const SIDE: usize = 16;

/// Levels, of 255, between the darkest and the brightest cell of a picture with enough to be seen:
/// saving with loss moves a cell by about one.
const LEAST_CONTRAST: u128 = 8;

/// A picture, a row at a time.
struct Reading {
    digest: blake3::Hasher,
    grid: Grid,
}

impl Rows for Reading {
    fn row(&mut self, samples: &[u8]) {
        self.digest.update(samples);
        self.grid.row(samples);
    }
}

impl Reading {
    fn new((width, height): (u32, u32)) -> Self {
        let mut digest = blake3::Hasher::new();
        digest.update(&width.to_le_bytes()).update(&height.to_le_bytes());
        Self { digest, grid: Grid::new(width, height) }
    }

    fn finish(self) -> Fingerprint {
        let half = self.digest.finalize().as_bytes().first_chunk().copied().unwrap_or_default();
        Fingerprint {
            pixels: u128::from_be_bytes(half),
            near: self.grid.stretched().and_then(hash),
        }
    }
}

/// The perceptual hash of a grid.
fn hash(grid: Vec<u8>) -> Option<u64> {
    let side = u32::try_from(SIDE).ok()?;
    let grid: GrayImage = ImageBuffer::<Luma<u8>, _>::from_raw(side, side, grid)?;
    let hasher = HasherConfig::with_bytes_type::<[u8; 8]>()
        .hash_size(side / 2, side / 2)
        .hash_alg(HashAlg::Median)
        .preproc_dct()
        .to_hasher();
    hasher.hash_image(&grid).as_bytes().first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// Sums of brightness over [`SIDE`] by [`SIDE`] cells, to the part of a pixel that a cell covers.
struct Grid {
    columns: [Covered; SIDE],
    rows: [Covered; SIDE],
    /// Rows so far.
    seen: usize,
    sums: [[u64; SIDE]; SIDE],
    /// What the sum of a cell of the brightest pixels is.
    most: u128,
}

/// Parts of a pixel's brightness that red, green and blue make, of 256.
const BRIGHTNESS: [u32; 3] = [54, 183, 19];

impl Grid {
    fn new(width: u32, height: u32) -> Self {
        let parts: u32 = BRIGHTNESS.iter().sum();
        let most = u128::from(width) * u128::from(height) * u128::from(parts * 255);
        let (columns, rows) = (cells(width), cells(height));
        Self { columns, rows, seen: 0, sums: [[0; SIDE]; SIDE], most }
    }

    fn row(&mut self, samples: &[u8]) {
        let pixels = samples.as_chunks::<3>().0;
        let across = self.columns.map(|cell| cell.sum(pixels));
        for (cell, sums) in self.rows.iter().zip(&mut self.sums) {
            let weight = cell.weight(self.seen);
            if weight > 0 {
                for (sum, across) in sums.iter_mut().zip(across) {
                    *sum += weight * across;
                }
            }
        }
        self.seen += 1;
    }

    /// The cells' brightness, the darkest as 0 and the brightest as 255; `None` where these are
    /// about the same.
    fn stretched(&self) -> Option<Vec<u8>> {
        let all = || self.sums.iter().flatten().copied();
        let (low, high) = (all().min()?, all().max()?);
        let span = u128::from(high - low);
        if span == 0 || span * 255 < self.most * LEAST_CONTRAST {
            return None;
        }
        let level = |sum: u64| (u128::from(sum - low) * 255 + span / 2) / span;
        Some(all().map(|sum| u8::try_from(level(sum)).unwrap_or(u8::MAX)).collect())
    }
}

/// The pixels of a row or column that a cell covers, and how much of the first and the last: a
/// pixel is [`SIDE`] long, and a cell as long as there are pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Covered {
    first: usize,
    last: usize,
    of_first: u64,
    of_last: u64,
}

/// The cells along a side of so many pixels.
fn cells(length: u32) -> [Covered; SIDE] {
    let (length, side) = (u64::from(length), SIDE as u64);
    let mut from = 0;
    [(); SIDE].map(|()| {
        let (start, end) = (from, from + length);
        from = end;
        let (first, last) = (start / side, end.saturating_sub(1) / side);
        let of_first = end.min((first + 1) * side) - start;
        let of_last = if first == last { of_first } else { end - last * side };
        let place = |pixel| usize::try_from(pixel).unwrap_or(usize::MAX);
        Covered { first: place(first), last: place(last), of_first, of_last }
    })
}

impl Covered {
    /// How much of a pixel it covers.
    fn weight(self, pixel: usize) -> u64 {
        if pixel == self.first {
            self.of_first
        } else if pixel == self.last {
            self.of_last
        } else if (self.first..self.last).contains(&pixel) {
            SIDE as u64
        } else {
            0
        }
    }

    /// The brightness of what it covers of a row.
    fn sum(self, pixels: &[[u8; 3]]) -> u64 {
        let bright = |pixel: &[u8; 3]| {
            let [red, green, blue] = pixel.map(u32::from);
            let [of_red, of_green, of_blue] = BRIGHTNESS;
            u64::from(red * of_red + green * of_green + blue * of_blue)
        };
        let at = |pixel: usize| pixels.get(pixel).map_or(0, bright);
        let ends = at(self.first) * self.of_first;
        if self.first == self.last {
            return ends;
        }
        let between = pixels.get(self.first + 1..self.last).unwrap_or_default();
        let all: u64 = between.iter().map(bright).sum();
        ends + all * SIDE as u64 + at(self.last) * self.of_last
    }
}

#[cfg(test)]
mod tests;
