//! A mask in the making: one byte a pixel, what the parts say drawn into it one after the other,
//! each brought to its size on the way by taking the nearest pixel.
//!
//! The centre of a pixel of the mask lies in one pixel of the part, and that one is taken:
//! column x takes `floor((x + 0.5) * width of the part / width of the mask)`, and rows likewise.
//! Where it lies on the border of two pixels, the one to the right or below is taken. That is the
//! nearest neighbour of Pillow, which adds up rounded steps and takes either at such a border.

use std::ops::Range;

use png::{BitDepth, ColorType, DeflateCompression, Filter};

use super::reading::Pass;
use crate::bits::Bits;
use crate::orientation::Orientation;
use crate::run_length::{RunLengthError, Runs};

/// The value of an edited pixel in the written form.
const EDITED: u8 = 255;

/// The value of an edited pixel while the mask is made.
pub(super) const MARK: u8 = !TURN;

/// Set in a pixel while run lengths are drawn, where edited and not edited take turns.
const TURN: u8 = 1;

/// Bytes that a column of the mask takes while a part of another size is drawn.
pub(super) const BYTES_OF_COLUMN: u64 = size_of::<u32>() as u64;

/// One byte a pixel, row by row: [`MARK`] or 0.
pub(super) struct Grid {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

/// Which pixel of a part each pixel of a mask takes.
pub(super) struct Sampling {
    across: Axis,
    down: Axis,
    /// The part's column for each of the mask's; `None` where they are the same.
    columns: Option<Vec<u32>>,
}

impl Sampling {
    /// From a part of one size to a mask of another, both of which were held against the limits.
    pub(super) fn new(part: (u32, u32), mask: (u32, u32)) -> Self {
        let across = Axis { part: part.0, mask: mask.0 };
        let columns = || (0..mask.0).map(|x| across.taken_by(x)).collect();
        let columns = (part.0 != mask.0).then(columns);
        Self { across, down: Axis { part: part.1, mask: mask.1 }, columns }
    }

    /// The rows of the mask that take this row of the part.
    pub(super) fn rows(&self, y: u32) -> Range<u32> {
        self.down.first_from(y)..self.down.first_from(y.saturating_add(1))
    }
}

/// Columns or rows of a part, of which there is at least one, and of a mask.
struct Axis {
    part: u32,
    mask: u32,
}

impl Axis {
    /// What `place` of the mask takes of the part.
    fn taken_by(&self, place: u32) -> u32 {
        let (place, part, mask) = (u128::from(place), u128::from(self.part), u128::from(self.mask));
        narrow((2 * place + 1) * part / (2 * mask))
    }

    /// The first place of the mask that takes `least` of the part, or what comes after it.
    fn first_from(&self, least: u32) -> u32 {
        let (least, part, mask) = (u128::from(least), u128::from(self.part), u128::from(self.mask));
        narrow((2 * mask * least).div_ceil(part) / 2)
    }
}

/// A place on an axis: never more than there are.
fn narrow(place: u128) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

impl Grid {
    /// A grid on which nothing is edited. Its size was held against the limits.
    pub(super) fn new((width, height): (u32, u32)) -> Self {
        Self { width, height, pixels: vec![0; width as usize * height as usize] }
    }

    pub(super) fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// The pixels of a row; none below the grid.
    fn row(&mut self, y: u32) -> &mut [u8] {
        let width = self.width as usize;
        let start = width * y as usize;
        self.pixels.get_mut(start..start + width).unwrap_or_default()
    }

    /// Marks in a row what `line` marks: a byte for each pixel that a row of a part's `pass`
    /// holds.
    pub(super) fn unite(&mut self, y: u32, line: &[u8], pass: &Pass, sampling: &Sampling) {
        let row = self.row(y).iter_mut();
        // The first and the third are what nearly all masks take, and fast.
        match (&sampling.columns, pass.holds_all_columns()) {
            (None, true) => row.zip(line).for_each(|(pixel, mark)| *pixel |= mark),
            (None, false) => {
                let held = row.skip(pass.x).step_by(pass.columns);
                held.zip(line).for_each(|(pixel, mark)| *pixel |= mark);
            }
            (Some(columns), true) => {
                for (pixel, column) in row.zip(columns) {
                    *pixel |= line.get(*column as usize).copied().unwrap_or_default();
                }
            }
            (Some(columns), false) => {
                for (pixel, column) in row.zip(columns) {
                    let mark = pass.place_of(*column as usize).and_then(|place| line.get(place));
                    *pixel |= mark.copied().unwrap_or_default();
                }
            }
        }
    }

    /// Marks what the runs of a part say, and gives the number of pixels that they say nothing
    /// of.
    ///
    /// Where a column goes from one run to the next a bit is turned. Then each row knows from the
    /// one above what is edited in it: one walk over the grid in its own order, however many
    /// pixels are edited.
    pub(super) fn draw(
        &mut self,
        runs: &mut Runs<'_>,
        height: u32,
        sampling: &Sampling,
    ) -> Result<u64, RunLengthError> {
        let mut start = 0;
        let mut edited = false;
        for run in runs.by_ref() {
            let end = start + run?;
            if edited && start < end {
                self.turn_around(start..end, u64::from(height), sampling);
            }
            (start, edited) = (end, !edited);
        }
        self.settle();
        Ok(runs.left())
    }

    /// Turns the bits at both ends of a run in each column of the grid that takes of it.
    fn turn_around(&mut self, run: Range<u64>, height: u64, sampling: &Sampling) {
        let place = |pixel: u64| (narrow((pixel / height).into()), narrow((pixel % height).into()));
        let ((first, y), (last, last_y)) = (place(run.start), place(run.end - 1));
        let (top, bottom) = (sampling.down.first_from(y), sampling.down.first_from(last_y + 1));
        let across = &sampling.across;
        for x in across.first_from(first)..across.first_from(last.saturating_add(1)) {
            let taken = match &sampling.columns {
                None => x,
                Some(columns) => columns.get(x as usize).copied().unwrap_or_default(),
            };
            self.turn(x, if taken == first { top } else { 0 });
            self.turn(x, if taken == last { bottom } else { self.height });
        }
    }

    /// Turns the bit of a pixel; none below the grid.
    fn turn(&mut self, x: u32, y: u32) {
        let at = self.width as usize * y as usize + x as usize;
        if let Some(pixel) = self.pixels.get_mut(at) {
            *pixel ^= TURN;
        }
    }

    /// Marks what lies between turned bits, and takes them back.
    fn settle(&mut self) {
        let width = self.width as usize;
        // All bits where edited.
        let mut inside = vec![0_u8; width];
        for row in self.pixels.chunks_exact_mut(width.max(1)) {
            for (pixel, inside) in row.iter_mut().zip(&mut inside) {
                *inside ^= (*pixel & TURN).wrapping_neg();
                *pixel = (*pixel | *inside) & MARK;
            }
        }
    }

    /// The written form.
    pub(super) fn encode(mut self) -> Result<Vec<u8>, png::EncodingError> {
        for pixel in &mut self.pixels {
            *pixel = if *pixel == 0 { 0 } else { EDITED };
        }
        encode((self.width, self.height), &self.pixels, Orientation::Upright)
    }

    /// A bit for each pixel.
    pub(super) fn bits(&self) -> Bits {
        Bits::from_bytes((self.width, self.height), &self.pixels)
    }
}

/// The written form of pixels. Compression and filter are fixed, and the compressor is one that has
/// no other implementation to be exchanged for, so that the bytes depend on the pixels alone.
pub(crate) fn encode(
    (width, height): (u32, u32),
    pixels: &[u8],
    orientation: Orientation,
) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_deflate_compression(DeflateCompression::FdeflateUltraFast);
    encoder.set_filter(Filter::Up);
    let mut writer = encoder.write_header()?;
    if orientation != Orientation::Upright {
        writer.write_chunk(png::chunk::eXIf, &orientation.to_exif())?;
    }
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `resize((mask, 1), Image.NEAREST)` of Pillow 13 takes of a row of `part` pixels.
    const PILLOW: [(u32, u32, &[u32]); 10] = [
        (5, 3, &[0, 2, 4]),
        (3, 5, &[0, 0, 1, 2, 2]),
        (7, 4, &[0, 2, 4, 6]),
        (5, 8, &[0, 0, 1, 2, 2, 3, 4, 4]),
        (10, 4, &[1, 3, 6, 8]),
        (13, 10, &[0, 1, 3, 4, 5, 7, 8, 9, 11, 12]),
        (9, 14, &[0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8]),
        (1, 4, &[0; 4]),
        (9, 1, &[4]),
        (6, 6, &[0, 1, 2, 3, 4, 5]),
    ];

    #[test]
    fn the_nearest_pixel_is_the_one_that_pillow_takes() {
        for (part, mask, taken) in PILLOW {
            let axis = Axis { part, mask };
            let found: Vec<_> = (0..mask).map(|place| axis.taken_by(place)).collect();
            assert_eq!(found, taken, "{part} to {mask}");
        }
    }

    #[test]
    fn on_the_border_of_two_pixels_the_second_is_taken() {
        let axis = Axis { part: 4, mask: 2 };
        assert_eq!([0, 1].map(|place| axis.taken_by(place)), [1, 3]);
        let axis = Axis { part: 4, mask: 7 };
        assert_eq!([2, 3, 4].map(|place| axis.taken_by(place)), [1, 2, 2]);
    }

    /// Of sizes that datasets have, with the sum of all that is taken, each times its number.
    #[test]
    fn the_nearest_pixel_is_the_one_that_pillow_takes_over_long_rows() {
        for (part, mask, sum) in [(1333, 1024, 465_996_799), (2000, 1536, 1_573_042_704_u64)] {
            let axis = Axis { part, mask };
            let taken = (0..mask).map(|place| u64::from(axis.taken_by(place)));
            assert_eq!(taken.zip(1..).map(|(taken, number)| taken * number).sum::<u64>(), sum);
        }
    }

    #[test]
    fn what_a_place_takes_is_taken_by_that_place() {
        for part in 1..40 {
            for mask in 1..40 {
                let axis = Axis { part, mask };
                let mut places = Vec::new();
                for taken in 0..part {
                    for place in axis.first_from(taken)..axis.first_from(taken + 1) {
                        assert_eq!(axis.taken_by(place), taken, "{place} of {part} to {mask}");
                        places.push(place);
                    }
                }
                assert_eq!(places, (0..mask).collect::<Vec<_>>());
            }
        }
    }
}
