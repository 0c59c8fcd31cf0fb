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
//! Alpha and transparent colours say nothing about the edit here and are not looked at; nor are
//! gamma and colour profiles, which a mask has no use for.

use std::io::Cursor;

use diptych_schema::{Edited, MediaType};
use png::{BitDepth, ColorType, DeflateCompression, Filter};

use crate::probe;

/// The value of an edited pixel in the written form.
const EDITED: u8 = 255;

/// The least brightness, of 255, that counts as bright.
const BRIGHT: u8 = 128;

/// Rows that decoding holds at a time: one here, and in the decoder what it has inflated and not
/// yet dropped, in a buffer that grows by doubling.
const ROWS_HELD: u64 = 16;

/// How much a mask may ask for when it is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Pixels of one part.
    pub pixels: u64,
    /// Memory in bytes, for the mask (one byte a pixel) and for what decoding a part holds
    /// besides (some rows as they are stored, and the chunks of the file that are kept).
    pub bytes: u64,
}

/// Why a mask has no written form. Parts are counted from 0.
#[derive(Debug, thiserror::Error)]
pub enum MaskError {
    /// There is nothing to make a mask of.
    #[error("a mask without parts")]
    NoParts,
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
    /// A part is not on the grid of the first.
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
/// The same parts give the same bytes, whatever the machine.
///
/// # Errors
/// See [`MaskError`]. A part that asks for more than `limits` is refused by its header, before
/// memory for its pixels is taken.
pub fn normalise(
    parts: &[&[u8]],
    edited: Edited,
    limits: DecodeLimits,
) -> Result<Vec<u8>, MaskError> {
    let mut grid: Option<Grid> = None;
    for (part, bytes) in parts.iter().enumerate() {
        let mut decoder = open(bytes, part)?;
        let header = decoder.read_header_info().map_err(|source| broken(part, limits, source))?;
        let size = header.size();
        if let Some(grid) = grid.as_ref().filter(|grid| grid.size() != size) {
            return Err(MaskError::SizesDiffer { part, expected: grid.size(), found: size });
        }
        let row = header.raw_row_length();
        decoder.set_limits(left_for_decoder(size, row, limits, part)?);
        let grid = grid.get_or_insert_with(|| Grid::new(size));
        add(decoder, edited, grid).map_err(|error| match error {
            Fault::Decoding(source) => broken(part, limits, source),
            Fault::Animated => MaskError::Animated { part },
            Fault::PaletteIndex { index, entries } => {
                MaskError::PaletteIndex { part, index, entries }
            }
        })?;
    }
    grid.ok_or(MaskError::NoParts)?.encode().map_err(MaskError::Encode)
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

/// What the limits leave for the decoder's own use, where the grid and the rows of a part of
/// this size fit in them. `row` is in bytes.
fn left_for_decoder(
    (width, height): (u32, u32),
    row: usize,
    limits: DecodeLimits,
    part: usize,
) -> Result<png::Limits, MaskError> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > limits.pixels {
        return Err(MaskError::TooManyPixels { part, width, height, limit: limits.pixels });
    }
    let held = (row as u64).saturating_mul(ROWS_HELD).saturating_add(pixels);
    let left = limits
        .bytes
        .checked_sub(held)
        .ok_or(MaskError::TooManyBytes { part, limit: limits.bytes })?;
    // The decoder counts one row against its limit; that row is counted above already.
    let bytes = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(row);
    Ok(png::Limits { bytes })
}

fn broken(part: usize, limits: DecodeLimits, source: png::DecodingError) -> MaskError {
    match source {
        png::DecodingError::LimitsExceeded => MaskError::TooManyBytes { part, limit: limits.bytes },
        source => MaskError::Broken { part, source },
    }
}

/// Why a part cannot be added to a grid.
enum Fault {
    Decoding(png::DecodingError),
    Animated,
    PaletteIndex { index: u8, entries: usize },
}

impl From<png::DecodingError> for Fault {
    fn from(error: png::DecodingError) -> Self {
        Self::Decoding(error)
    }
}

/// Marks what the part says is edited. The grid has the size of the part.
fn add(decoder: Decoder<'_>, edited: Edited, grid: &mut Grid) -> Result<(), Fault> {
    let mut reader = decoder.read_info()?;
    let info = reader.info();
    if info.animation_control.is_some() {
        return Err(Fault::Animated);
    }
    let reading = Reading::new(info, edited);
    let mut row = vec![0; info.raw_row_length()];
    for pass in if info.interlaced { ADAM7 } else { WHOLE } {
        for y in pass.rows(grid.height) {
            // A pass without columns has no rows in the file.
            let mut pixels = grid.row(y).skip(pass.x).step_by(pass.columns).peekable();
            if pixels.peek().is_none() {
                break;
            }
            reader.read_row(&mut row)?;
            reading.mark(&row, pixels)?;
        }
    }
    // To the end of the file, so that one that was cut off after its pixels is found as well.
    reader.finish()?;
    Ok(())
}

/// Which pixels one pass over a picture holds.
struct Pass {
    /// First column.
    x: usize,
    /// From column to column.
    columns: usize,
    /// First row.
    y: u32,
    /// From row to row.
    rows: usize,
}

impl Pass {
    const fn new(x: usize, columns: usize, y: u32, rows: usize) -> Self {
        Self { x, columns, y, rows }
    }

    /// The rows of a picture of this height that the pass holds.
    fn rows(&self, height: u32) -> impl Iterator<Item = u32> + use<> {
        (self.y..height).step_by(self.rows)
    }
}

/// The one pass of a picture that is not interlaced.
const WHOLE: &[Pass] = &[Pass::new(0, 1, 0, 1)];

/// The passes of an interlaced picture.
const ADAM7: &[Pass] = &[
    Pass::new(0, 8, 0, 8),
    Pass::new(4, 8, 0, 8),
    Pass::new(0, 4, 4, 8),
    Pass::new(2, 4, 0, 4),
    Pass::new(0, 2, 2, 4),
    Pass::new(1, 2, 0, 2),
    Pass::new(0, 1, 1, 2),
];

/// A mask in the making: one byte a pixel, [`EDITED`] or 0.
struct Grid {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Grid {
    /// A grid on which nothing is edited. Its size was held against the limits.
    fn new((width, height): (u32, u32)) -> Self {
        Self { width, height, pixels: vec![0; width as usize * height as usize] }
    }

    fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// The pixels of a row; none below the grid.
    fn row(&mut self, y: u32) -> std::slice::IterMut<'_, u8> {
        let width = self.width as usize;
        let start = width * y as usize;
        self.pixels.get_mut(start..start + width).unwrap_or_default().iter_mut()
    }

    /// The written form. Compression and filter are fixed, and the compressor is one that has no
    /// other implementation to be exchanged for, so that the bytes depend on the pixels alone.
    fn encode(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_deflate_compression(DeflateCompression::FdeflateUltraFast);
        encoder.set_filter(Filter::Up);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(bytes)
    }
}

/// How the bytes of a row say what is edited.
struct Reading {
    edited: Edited,
    samples: Samples,
}

enum Samples {
    /// One number of up to 8 bits a pixel, and what each says.
    Small {
        bits: usize,
        /// `None` for an index that the palette does not have.
        says: Box<[Option<bool>; 256]>,
        /// Colours of the palette.
        entries: usize,
    },
    /// Whole bytes a pixel.
    Whole {
        /// Bytes of a sample, 1 or 2.
        wide: usize,
        /// Bytes of a pixel.
        pixel: usize,
        /// Whether there are three colours and not only grey.
        colours: bool,
    },
}

impl Reading {
    fn new(info: &png::Info<'_>, edited: Edited) -> Self {
        let bits = match info.bit_depth {
            BitDepth::One => 1,
            BitDepth::Two => 2,
            BitDepth::Four => 4,
            BitDepth::Eight => 8,
            BitDepth::Sixteen => 16,
        };
        let samples = match info.color_type {
            ColorType::Indexed => {
                let palette = info.palette.as_deref().unwrap_or_default();
                let (colours, _) = palette.as_chunks::<3>();
                Samples::small(bits, colours.len(), |index| match edited {
                    Edited::Nonzero => Some(index != 0),
                    Edited::White | Edited::Black => {
                        let level = luminance(*colours.get(usize::from(index))?);
                        Some(says(edited, level))
                    }
                })
            }
            ColorType::Grayscale if bits <= 8 => {
                // Ones in every place are white, so this is a whole number: 255, 85, 17 or 1.
                let step = u8::MAX / (u8::MAX >> (8 - bits));
                Samples::small(bits, 0, |value| Some(says(edited, value.saturating_mul(step))))
            }
            color_type => {
                let wide = bits / 8;
                Samples::Whole {
                    wide,
                    pixel: wide * color_type.samples(),
                    colours: matches!(color_type, ColorType::Rgb | ColorType::Rgba),
                }
            }
        };
        Self { edited, samples }
    }

    /// Marks those of `pixels` that the bytes of their row say are edited.
    fn mark<'a>(&self, row: &[u8], pixels: impl Iterator<Item = &'a mut u8>) -> Result<(), Fault> {
        match &self.samples {
            Samples::Small { bits, says, entries } => {
                let values = row.iter().flat_map(|byte| {
                    (0..8).step_by(*bits).map(move |used| byte << used >> (8 - bits))
                });
                for (pixel, value) in pixels.zip(values) {
                    match says.get(usize::from(value)).copied().flatten() {
                        Some(true) => *pixel = EDITED,
                        Some(false) => {}
                        None => {
                            return Err(Fault::PaletteIndex { index: value, entries: *entries });
                        }
                    }
                }
            }
            Samples::Whole { wide, pixel, colours } => {
                for (mark, bytes) in pixels.zip(row.chunks_exact(*pixel)) {
                    if says(self.edited, self.level(bytes, *wide, *colours)) {
                        *mark = EDITED;
                    }
                }
            }
        }
        Ok(())
    }

    /// The brightness of a pixel, or for [`Edited::Nonzero`] a number that is zero where all of
    /// it is.
    fn level(&self, pixel: &[u8], wide: usize, colours: bool) -> u8 {
        let byte = |at: usize| pixel.get(at).copied().unwrap_or_default();
        let nonzero = self.edited == Edited::Nonzero;
        let sample = |index: usize| {
            let high = byte(index * wide);
            if nonzero && wide == 2 { high | byte(index * wide + 1) } else { high }
        };
        match (colours, nonzero) {
            (false, _) => sample(0),
            (true, true) => sample(0) | sample(1) | sample(2),
            (true, false) => luminance([sample(0), sample(1), sample(2)]),
        }
    }
}

impl Samples {
    fn small(bits: usize, entries: usize, says: impl Fn(u8) -> Option<bool>) -> Self {
        let mut table = Box::new([None; 256]);
        for (value, place) in (0..=u8::MAX).zip(table.iter_mut()) {
            *place = says(value);
        }
        Self::Small { bits, says: table, entries }
    }
}

/// Whether a pixel of this brightness (for [`Edited::Nonzero`]: this number) is edited.
fn says(edited: Edited, level: u8) -> bool {
    match edited {
        Edited::White => level >= BRIGHT,
        Edited::Black => level < BRIGHT,
        Edited::Nonzero => level != 0,
    }
}

/// ITU-R 601 in 16 bits behind the point: what `convert("L")` of PIL gives.
fn luminance([red, green, blue]: [u8; 3]) -> u8 {
    let sum = 19_595 * u32::from(red) + 38_470 * u32::from(green) + 7_471 * u32::from(blue);
    // The factors add up to 65536, so the result does not pass 255.
    u8::try_from((sum + 0x8000) >> 16).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;
