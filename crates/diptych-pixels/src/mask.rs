//! Masks in their one written form: one 8-bit grey PNG, 255 where the edit is, 0 elsewhere.
//!
//! What a pixel of a published mask says:
//!
//! | stored as | brightness, for white and black | zero or not, for nonzero |
//! |---|---|---|
//! | grey, 1 to 8 bits | scaled to 0..=255 | the stored number |
//! | grey, 16 bits | the high byte | both bytes |
//! | palette | the luminance of the entry | the index |
//! | RGB | luminance | zero where all three are |
//!
//! Luminance is that of ITU-R 601 in whole numbers, rounded, of the high bytes where samples have
//! 16 bits. With [`Edited::White`] 128 and above is edited, with [`Edited::Black`] what is below.
//! With [`Edited::Painted`] it is what is full in all that is stored of it, and no brightness.
//! Alpha and transparent colours say nothing about the edit here and are not looked at; nor are
//! gamma and colour profiles, which a mask has no use for.

mod grid;
mod reading;

use std::io::Cursor;

use diptych_schema::{Edited, MediaType};

use crate::bits::Bits;
use crate::probe;
use crate::run_length::{RunLengthError, RunLimits, Runs};
pub(crate) use grid::encode;
use grid::{BYTES_OF_COLUMN, Grid, Sampling};
use reading::{ADAM7, NoColour, Reading, WHOLE};

/// Rows that decoding holds at a time: one here, and in the decoder what it has inflated and not
/// yet dropped, in a buffer that grows by doubling.
const ROWS_HELD: u64 = 16;

/// What says which pixels are edited: all of a mask, or a share of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// The bytes of a picture.
    Picture(&'a [u8]),
    /// COCO run lengths (see [`crate::run_length`]).
    RunLength {
        /// The string.
        counts: &'a [u8],
        /// Width and height of its grid in pixels.
        size: (u32, u32),
    },
}

/// A mask in the written form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalMask {
    /// The bytes of the PNG.
    pub png: Vec<u8>,
    /// Its width and height in pixels.
    pub size: (u32, u32),
    /// Width and height of the first part in pixels.
    pub size_of_first: (u32, u32),
    /// Pixels that run lengths ended before, in all parts together. No such part says that they
    /// are edited.
    pub padded: u64,
}

/// Parts that a mask may have: each costs a walk over the grid, and no release has more than a
/// few.
const PARTS: usize = 256;

/// How much a mask may ask for when it is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Pixels of one part, and of the grid that is asked for.
    pub pixels: u64,
    /// Memory in bytes, for the mask (one byte a pixel) and for what decoding a part holds
    /// besides (some rows as they are stored, a row of marks, the columns of another grid, and the
    /// chunks of the file that are kept).
    pub bytes: u64,
}

/// Why a mask has no written form. Parts are counted from 0.
#[derive(Debug, thiserror::Error)]
pub enum MaskError {
    /// There is nothing to make a mask of.
    #[error("a mask without parts")]
    NoParts,
    /// More parts than a mask may have.
    #[error("a mask of {parts} parts, the limit is {PARTS}")]
    TooManyParts {
        /// How many.
        parts: usize,
    },
    /// A picture, but of a type that masks are not read from.
    #[error("part {part} of the mask is {found}, masks are read from image/png only")]
    UnsupportedType {
        /// The part.
        part: usize,
        /// What its bytes are.
        found: MediaType,
    },
    /// The bytes are not those of a picture.
    #[error("part {part} of the mask is no picture")]
    NotAPicture {
        /// The part.
        part: usize,
    },
    /// An animation says which pixels are edited more than once.
    #[error("part {part} of the mask is an animation")]
    Animated {
        /// The part.
        part: usize,
    },
    /// A PNG that breaks the format, or ends before its end.
    #[error("part {part} of the mask is a broken PNG")]
    Broken {
        /// The part.
        part: usize,
        /// What is wrong with it.
        source: png::DecodingError,
    },
    /// A pixel whose colour the palette does not have.
    #[error("part {part} of the mask has colour {index} of a palette of {entries}")]
    PaletteIndex {
        /// The part.
        part: usize,
        /// The stored index.
        index: u8,
        /// Colours of the palette.
        entries: usize,
    },
    /// More pixels than allowed, as the header states them.
    #[error("part {part} of the mask has {width}x{height} pixels, the limit is {limit}")]
    TooManyPixels {
        /// The part.
        part: usize,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// [`DecodeLimits::pixels`].
        limit: u64,
    },
    /// More memory than allowed.
    #[error("part {part} of the mask takes more memory than the limit of {limit} bytes")]
    TooManyBytes {
        /// The part.
        part: usize,
        /// [`DecodeLimits::bytes`].
        limit: u64,
    },
    /// More pixels than allowed, in the grid that is asked for.
    #[error("the grid asked for has {width}x{height} pixels, the limit is {limit}")]
    GridTooLarge {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// [`DecodeLimits::pixels`].
        limit: u64,
    },
    /// Run lengths that are none of their grid.
    #[error("part {part} of the mask is broken")]
    RunLength {
        /// The part.
        part: usize,
        /// What is wrong with it.
        source: RunLengthError,
    },
    /// A part is not on the grid of the first, and no grid is asked for.
    #[error(
        "part {part} of the mask has {}x{} pixels, the parts before it {}x{}",
        found.0, found.1, expected.0, expected.1
    )]
    SizesDiffer {
        /// The part.
        part: usize,
        /// Width and height of the first part, in pixels.
        expected: (u32, u32),
        /// Width and height of this part, in pixels.
        found: (u32, u32),
    },
    /// The written form cannot be encoded.
    #[error("the mask cannot be encoded")]
    Encode(#[source] png::EncodingError),
}

/// Whether a mask with these first 33 bytes (fewer: no) has the written form already, so that it
/// passes through untouched: an 8-bit grey PNG of which the bright pixels are edited.
///
/// The pixels are not looked at. Where a release drew its masks with soft borders, the values
/// between 0 and 255 are kept as they are.
#[must_use]
pub fn is_normal_form(head: &[u8], edited: Edited) -> bool {
    let Some((size, rest)) = head.split_first_chunk() else {
        return false;
    };
    // Depth 8, grey, the one compression, the one set of filters, either interlacing; and the
    // checksum is there.
    edited == Edited::White
        && probe::png_size(size).is_some()
        && matches!(rest, [8, 0, 0, 0, 0 | 1, _, _, _, _, ..])
}

/// Makes one mask in the written form of the parts of one: edited where any part says so.
///
/// `edited` tells how pictures are read; run lengths say themselves what is edited. Where a
/// `grid` of a width and height is asked for, each part is brought to it, by taking for each pixel
/// the nearest of the part. Else the parts must be of one size, which the mask has then.
///
/// The same parts give the same bytes, whatever the machine.
///
/// # Errors
/// See [`MaskError`]. A part that asks for more than `limits` is refused by its header, before
/// memory for its pixels is taken.
pub fn normalise(
    parts: &[Part<'_>],
    edited: Edited,
    grid: Option<(u32, u32)>,
    limits: DecodeLimits,
) -> Result<NormalMask, MaskError> {
    let (grid, size_of_first, padded) = unite_parts(parts, edited, grid, limits)?;
    let size = grid.size();
    Ok(NormalMask { png: grid.encode().map_err(MaskError::Encode)?, size, size_of_first, padded })
}

/// The bits of the mask that parts of one size make.
pub(crate) fn unite_as_bits(
    parts: &[Part<'_>],
    edited: Edited,
    limits: DecodeLimits,
) -> Result<Bits, MaskError> {
    let (grid, ..) = unite_parts(parts, edited, None, limits)?;
    Ok(grid.bits())
}

/// The mask, the size of its first part, and the pixels that run lengths ended before.
fn unite_parts(
    parts: &[Part<'_>],
    edited: Edited,
    grid: Option<(u32, u32)>,
    limits: DecodeLimits,
) -> Result<(Grid, (u32, u32), u64), MaskError> {
    if parts.len() > PARTS {
        return Err(MaskError::TooManyParts { parts: parts.len() });
    }
    if let Some((width, height)) = grid.filter(|size| pixels(*size) > limits.pixels) {
        return Err(MaskError::GridTooLarge { width, height, limit: limits.pixels });
    }
    let mut making = Making { edited, limits, asked: grid, first: None, padded: 0 };
    for (part, of) in parts.iter().enumerate() {
        match of {
            Part::Picture(bytes) => making.picture(part, bytes)?,
            Part::RunLength { counts, size } => making.run_length(part, counts, *size)?,
        }
    }
    let Making { first, padded, .. } = making;
    let (grid, size_of_first) = first.ok_or(MaskError::NoParts)?;
    Ok((grid, size_of_first, padded))
}

fn pixels((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

/// A mask and how it is made.
struct Making {
    edited: Edited,
    limits: DecodeLimits,
    /// The grid that is asked for.
    asked: Option<(u32, u32)>,
    /// The mask, and the size of its first part, once that is known.
    first: Option<(Grid, (u32, u32))>,
    padded: u64,
}

impl Making {
    /// Adds what a picture says.
    fn picture(&mut self, part: usize, bytes: &[u8]) -> Result<(), MaskError> {
        let mut decoder = open(bytes, part)?;
        let limit = self.limits.bytes;
        let header = decoder.read_header_info().map_err(|source| broken(part, limit, source))?;
        let (size, row) = (header.size(), header.raw_row_length());
        // Marks, a byte a pixel, and the row as it is stored.
        let held = (row as u64).saturating_mul(ROWS_HELD).saturating_add(size.0.into());
        let left = self.left(part, size, held)?;
        // The decoder counts one row against its limit; that row is counted above already.
        let bytes = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(row);
        decoder.set_limits(png::Limits { bytes });
        let edited = self.edited;
        let (grid, sampling) = self.grid(size);
        unite(decoder, edited, size, grid, &sampling).map_err(|fault| match fault {
            Fault::Decoding(source) => broken(part, limit, source),
            Fault::Animated => MaskError::Animated { part },
            Fault::NoColour(NoColour { index, entries }) => {
                MaskError::PaletteIndex { part, index, entries }
            }
        })
    }

    /// Adds what run lengths say.
    fn run_length(
        &mut self,
        part: usize,
        counts: &[u8],
        size: (u32, u32),
    ) -> Result<(), MaskError> {
        let broken = |source| MaskError::RunLength { part, source };
        // A row of bits, a byte each. Runs are not held; as none but the first has a reason to be
        // empty, there is one more than pixels at most.
        self.left(part, size, self.asked.unwrap_or(size).0.into())?;
        let pixels = self.limits.pixels;
        let limits = RunLimits { pixels, runs: pixels.saturating_add(1) };
        let mut runs = Runs::new(counts, size, limits).map_err(broken)?;
        let (grid, sampling) = self.grid(size);
        self.padded += grid.draw(&mut runs, size.1, &sampling).map_err(broken)?;
        Ok(())
    }

    /// Memory that the limits leave, in bytes, beside the mask and what is held of a part of this
    /// size.
    fn left(&self, part: usize, size: (u32, u32), held: u64) -> Result<u64, MaskError> {
        let DecodeLimits { pixels: limit, bytes } = self.limits;
        let (width, height) = size;
        if pixels(size) > limit {
            return Err(MaskError::TooManyPixels { part, width, height, limit });
        }
        let mask = match (&self.first, self.asked) {
            (_, Some(asked)) => asked,
            (None, None) => size,
            (Some((_, first)), None) if *first == size => size,
            (Some((_, first)), None) => {
                return Err(MaskError::SizesDiffer { part, expected: *first, found: size });
            }
        };
        let columns = if mask.0 == width { 0 } else { u64::from(mask.0) * BYTES_OF_COLUMN };
        let held = held.saturating_add(columns).saturating_add(pixels(mask));
        bytes.checked_sub(held).ok_or(MaskError::TooManyBytes { part, limit: bytes })
    }

    /// The mask, and how a part of this size is brought to it.
    fn grid(&mut self, size: (u32, u32)) -> (&mut Grid, Sampling) {
        let asked = self.asked.unwrap_or(size);
        let (grid, _) = self.first.get_or_insert_with(|| (Grid::new(asked), size));
        let sampling = Sampling::new(size, grid.size());
        (grid, sampling)
    }
}

type Decoder<'a> = png::Decoder<Cursor<&'a [u8]>>;

/// A decoder of the part, where it is a PNG.
fn open(bytes: &[u8], part: usize) -> Result<Decoder<'_>, MaskError> {
    match bytes.first_chunk().and_then(probe::media_type) {
        Some(MediaType::Png) => {}
        Some(found) => return Err(MaskError::UnsupportedType { part, found }),
        None => return Err(MaskError::NotAPicture { part }),
    }
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    // Samples as they are stored: expanding would turn indices into colours.
    decoder.set_transformations(png::Transformations::IDENTITY);
    // Text and profiles are of no use here, and would be inflated.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    Ok(decoder)
}

fn broken(part: usize, limit: u64, source: png::DecodingError) -> MaskError {
    match source {
        png::DecodingError::LimitsExceeded => MaskError::TooManyBytes { part, limit },
        source => MaskError::Broken { part, source },
    }
}

/// Why a picture cannot be added to a mask.
enum Fault {
    Decoding(png::DecodingError),
    Animated,
    NoColour(NoColour),
}

impl From<png::DecodingError> for Fault {
    fn from(error: png::DecodingError) -> Self {
        Self::Decoding(error)
    }
}

/// Marks what a picture of this size says is edited.
fn unite(
    decoder: Decoder<'_>,
    edited: Edited,
    (width, height): (u32, u32),
    grid: &mut Grid,
    sampling: &Sampling,
) -> Result<(), Fault> {
    let mut reader = decoder.read_info()?;
    let info = reader.info();
    if info.animation_control.is_some() {
        return Err(Fault::Animated);
    }
    let reading = Reading::new(info, edited);
    let mut row = vec![0; info.raw_row_length()];
    let mut line = vec![0; width as usize];
    for pass in if info.interlaced { ADAM7 } else { WHOLE } {
        let line = line.get_mut(..pass.width(width)).unwrap_or_default();
        // A pass without columns has no rows in the file.
        let rows = pass.rows(if line.is_empty() { 0 } else { height });
        for y in rows {
            reader.read_row(&mut row)?;
            reading.mark(&row, line).map_err(Fault::NoColour)?;
            for to in sampling.rows(y) {
                grid.unite(to, line, pass, sampling);
            }
        }
    }
    // To the end of the file, so that one that was cut off after its pixels is found as well.
    reader.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests;
