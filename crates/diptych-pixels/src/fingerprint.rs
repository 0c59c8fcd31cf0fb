//! What a picture shows, as numbers to compare: a digest of its pixels, and a perceptual hash.

use image::{GrayImage, ImageBuffer, Luma};
use image_hasher::{FilterType, HashAlg, HasherConfig};

use crate::decode::{DecodeError, Rows, decode_rows};
use crate::mask::DecodeLimits;

/// What a picture shows, as numbers to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// A digest of width, height and samples: the same for all files that show these pixels.
    pub pixels: u128,
    /// A perceptual hash: the fewer bits differ, the more alike are two pictures. `None` where
    /// there is too little to be seen for it.
    pub near: Option<u64>,
}

/// Decodes a picture, and tells what it shows.
///
/// # Errors
/// Those of [`crate::decode::decode`].
pub fn fingerprint(bytes: &[u8], limits: DecodeLimits) -> Result<Fingerprint, DecodeError> {
    let begin = |size, _| Ok::<_, DecodeError>(Reading::new(size));
    decode_rows(bytes, limits, begin).map(Reading::finish)
}

/// Cells along a side of the grid that pictures are reduced to.
const SIDE: usize = 64;

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
        Fingerprint { pixels: short(&self.digest.finalize()), near: perceptual(self.grid.means()) }
    }
}

/// The first half of a digest.
fn short(digest: &blake3::Hash) -> u128 {
    let half = digest.as_bytes().first_chunk().copied().unwrap_or_default();
    u128::from_be_bytes(half)
}

/// The perceptual hash of a grid of means.
fn perceptual(means: Vec<u8>) -> Option<u64> {
    let side = u32::try_from(SIDE).ok()?;
    let image: GrayImage = ImageBuffer::<Luma<u8>, _>::from_raw(side, side, means)?;
    let hasher = HasherConfig::with_bytes_type::<[u8; 8]>()
        .hash_alg(HashAlg::Gradient)
        .resize_filter(FilterType::Triangle)
        .to_hasher();
    hasher.hash_image(&image).as_bytes().first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// A picture reduced to [`SIDE`] by [`SIDE`] cells: the means of what they cover, to the part of a
/// pixel.
///
/// All in whole numbers, so that it is the same everywhere, and in memory that does not grow with
/// the picture.
struct Grid {
    width: u64,
    height: u64,
    /// Rows so far.
    rows: u64,
    /// What each cell of a row has of the row of pixels.
    across: Vec<u64>,
    sums: Vec<u64>,
}

/// Parts of a pixel's brightness: red, green and blue.
const BRIGHTNESS: [u64; 3] = [54, 183, 19];

impl Grid {
    fn new(width: u32, height: u32) -> Self {
        let (width, height) = (u64::from(width), u64::from(height));
        Self { width, height, rows: 0, across: vec![0; SIDE], sums: vec![0; SIDE * SIDE] }
    }

    fn row(&mut self, samples: &[u8]) {
        self.across.fill(0);
        for (x, pixel) in (0..).zip(samples.as_chunks::<3>().0) {
            let parts = pixel.iter().zip(BRIGHTNESS);
            let bright: u64 = parts.map(|(sample, part)| u64::from(*sample) * part).sum();
            for (cell, covered) in cells(x, self.width) {
                if let Some(sum) = self.across.get_mut(cell) {
                    *sum += covered * bright;
                }
            }
        }
        for (cell, covered) in cells(self.rows, self.height) {
            let sums = self.sums.chunks_exact_mut(SIDE).nth(cell).unwrap_or_default();
            for (sum, across) in sums.iter_mut().zip(&self.across) {
                *sum += covered * across;
            }
        }
        self.rows += 1;
    }

    fn means(self) -> Vec<u8> {
        let all = (self.width * self.height * BRIGHTNESS.iter().sum::<u64>()).max(1);
        let mean = |sum: u64| u8::try_from((sum + all / 2) / all).unwrap_or(u8::MAX);
        self.sums.into_iter().map(mean).collect()
    }
}

/// The cells that a pixel lies in, of `length` along a side, and how much of each it covers: a cell
/// is `length` long, and a pixel [`SIDE`].
fn cells(at: u64, length: u64) -> impl Iterator<Item = (usize, u64)> {
    let (start, end) = (at * SIDE as u64, (at + 1) * SIDE as u64);
    let mut from = start;
    std::iter::from_fn(move || {
        (from < end).then(|| {
            let cell = from / length;
            let to = end.min((cell + 1) * length);
            let covered = to - from;
            from = to;
            (usize::try_from(cell).unwrap_or(SIDE), covered)
        })
    })
}
