//! Masks held as bits, one a pixel: how much two have in common, and what is edited in one.

mod morph;

use diptych_schema::Edited;

use crate::mask::{self, DecodeLimits, MaskError, Part};
use crate::orientation::Orientation;

/// Pixels of a word.
const WORD: usize = u64::BITS as usize;

/// A mask: a bit a pixel, set where it is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    width: u32,
    height: u32,
    /// Rows from the top, each of whole words, the first pixel in the lowest bit. Bits behind the
    /// last pixel of a row are not set.
    words: Vec<u64>,
}

/// Two masks are not on one grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("masks of {}x{} and {}x{} pixels", first.0, first.1, second.0, second.1)]
pub struct SizesDiffer {
    /// Width and height of the first in pixels.
    pub first: (u32, u32),
    /// Width and height of the second in pixels.
    pub second: (u32, u32),
}

/// What two masks have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// Pixels that are edited in both.
    pub intersection: u64,
    /// Pixels that are edited in one at least.
    pub union: u64,
}

impl Overlap {
    /// The intersection as a share of the union; `None` where nothing is edited in either.
    #[must_use]
    pub fn iou(self) -> Option<f64> {
        (self.union != 0).then(|| self.intersection as f64 / self.union as f64)
    }
}

/// How much two masks on one grid have in common.
///
/// # Errors
/// [`SizesDiffer`].
pub fn overlap(first: &Bits, second: &Bits) -> Result<Overlap, SizesDiffer> {
    if first.size() != second.size() {
        return Err(SizesDiffer { first: first.size(), second: second.size() });
    }
    let mut overlap = Overlap { intersection: 0, union: 0 };
    for (one, other) in first.words.iter().zip(&second.words) {
        overlap.intersection += u64::from((one & other).count_ones());
        overlap.union += u64::from((one | other).count_ones());
    }
    Ok(overlap)
}

impl Bits {
    /// A mask of this size on which nothing is edited.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        let words = (width as usize).div_ceil(WORD) * height as usize;
        Self { width, height, words: vec![0; words] }
    }

    /// The mask that parts of one size make: edited where any of them says so. They may be all
    /// that a mask can be, as [`mask::normalise`] reads them.
    ///
    /// # Errors
    /// See [`MaskError`].
    pub fn from_parts(
        parts: &[Part<'_>],
        edited: Edited,
        limits: DecodeLimits,
    ) -> Result<Self, MaskError> {
        mask::unite_as_bits(parts, edited, limits)
    }

    /// The mask of bytes, one a pixel, row by row, that are 0 where nothing is edited. What is
    /// missing is not edited.
    pub(crate) fn from_bytes((width, height): (u32, u32), bytes: &[u8]) -> Self {
        let mut bits = Self::new(width, height);
        let columns = (width as usize).max(1);
        for (words, row) in bits.rows_mut().zip(bytes.chunks(columns)) {
            for (word, pixels) in words.iter_mut().zip(row.chunks(WORD)) {
                *word = pack(pixels);
            }
        }
        bits
    }

    /// Width in pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// Whether a pixel is edited; none outside the grid is.
    #[must_use]
    pub fn get(&self, x: u32, y: u32) -> bool {
        let at = y as usize * self.words_a_row() + x as usize / WORD;
        let word = self.words.get(at).copied().unwrap_or_default();
        x < self.width && y < self.height && word >> (x as usize % WORD) & 1 == 1
    }

    /// Says whether a pixel is edited; outside the grid nothing is said.
    pub fn set(&mut self, x: u32, y: u32, edited: bool) {
        let at = y as usize * self.words_a_row() + x as usize / WORD;
        if x >= self.width || y >= self.height {
            return;
        }
        if let Some(word) = self.words.get_mut(at) {
            let bit = 1 << (x as usize % WORD);
            *word = if edited { *word | bit } else { *word & !bit };
        }
    }

    /// How many pixels are edited.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The share of pixels that are edited, from 0 to 1; 0 for a mask without pixels.
    #[must_use]
    pub fn area(&self) -> f64 {
        let pixels = u64::from(self.width) * u64::from(self.height);
        if pixels == 0 { 0.0 } else { self.count() as f64 / pixels as f64 }
    }

    /// The mask on a grid of another size, by its nearest pixels: each pixel of the new grid says
    /// what the pixel under its centre does.
    #[must_use]
    pub fn on_grid(&self, width: u32, height: u32) -> Self {
        if self.size() == (width, height) {
            return self.clone();
        }
        let under = |at: u32, of: u32, here: u32| {
            let place = (2 * u64::from(at) + 1) * u64::from(here) / (2 * u64::from(of.max(1)));
            u32::try_from(place).unwrap_or(u32::MAX)
        };
        let columns: Vec<u32> = (0..width).map(|x| under(x, width, self.width)).collect();
        let mut on = Self::new(width, height);
        for y in 0..height {
            let from = under(y, height, self.height);
            for (x, column) in (0..).zip(&columns) {
                if self.get(*column, from) {
                    on.set(x, y, true);
                }
            }
        }
        on
    }

    /// The mask in the written form: an 8-bit grey PNG, 255 where it is edited, 0 elsewhere.
    ///
    /// An orientation other than upright is written into it as EXIF data, so that what turns the
    /// source by those that it has turns the mask in the same way. The bits stay where they are.
    ///
    /// The same mask gives the same bytes, whatever the machine.
    ///
    /// # Errors
    /// Those of the encoder, which a mask without pixels meets.
    pub fn to_png(&self, orientation: Option<Orientation>) -> Result<Vec<u8>, png::EncodingError> {
        let width = self.width as usize;
        let mut pixels = Vec::with_capacity(width * self.height as usize + WORD);
        for (row, words) in (1..).zip(self.words.chunks_exact(self.words_a_row().max(1))) {
            for word in words {
                // All or nothing of a word is what most words are.
                match *word {
                    0 => pixels.extend([0; WORD]),
                    u64::MAX => pixels.extend([u8::MAX; WORD]),
                    word => {
                        let bytes = word.to_le_bytes().map(|byte| spread(byte).to_le_bytes());
                        pixels.extend_from_slice(bytes.as_flattened());
                    }
                }
            }
            pixels.truncate(row * width);
        }
        mask::encode(self.size(), &pixels, orientation.unwrap_or_default())
    }

    /// The mask of the stored picture, of one of the picture as it is seen.
    #[must_use]
    pub fn turn_back(self, orientation: Orientation) -> Self {
        if orientation == Orientation::Upright {
            return self;
        }
        let seen = self.size();
        let (width, height) = orientation.size(seen);
        let mut turned = Self::new(width, height);
        for y in 0..seen.1 {
            for x in 0..seen.0 {
                if self.get(x, y) {
                    let (column, row) = orientation.stored(seen, x, y);
                    turned.set(column, row, true);
                }
            }
        }
        turned
    }

    fn words_a_row(&self) -> usize {
        (self.width as usize).div_ceil(WORD)
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let words = self.words_a_row().max(1);
        self.words.chunks_exact_mut(words)
    }
}

/// The bits of up to 64 bytes, set where they are not 0.
fn pack(pixels: &[u8]) -> u64 {
    let (eights, rest) = pixels.as_chunks::<8>();
    let mut word = 0;
    let mut place = 0;
    for eight in eights {
        word |= gather(*eight) << place;
        place += 8;
    }
    for pixel in rest {
        word |= u64::from(*pixel != 0) << place;
        place += 1;
    }
    word
}

/// A bit for each of eight bytes, set where it is not 0.
fn gather(bytes: [u8; 8]) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let bytes = u64::from_le_bytes(bytes);
    // The highest bit of each byte that is not 0, and then all of them side by side.
    let marks = (((bytes & LOW) + LOW) | bytes) & !LOW;
    (marks >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// A byte of 255 for each bit that is set.
fn spread(bits: u8) -> u64 {
    let copies = u64::from(bits) * 0x0101_0101_0101_0101;
    let marks = copies & 0x8040_2010_0804_0201;
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let high = (((marks & LOW) + LOW) | marks) & !LOW;
    (high >> 7) * 0xFF
}

#[cfg(test)]
mod tests;
