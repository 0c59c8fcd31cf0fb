//! PNG, by the `png` crate.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};

use super::colour::Conversion;
use super::{CHANNELS, DecodeError, Stored, admit, broken, lay_on_white, on_white, room};
use crate::mask::DecodeLimits;
use crate::orientation::Orientation;

/// Rows that decoding holds at a time, in what the decoder has inflated and not yet dropped.
const ROWS_HELD: u64 = 16;

/// Bytes of what a picture holds beside its pixels, once it is decompressed: far more than any colour
/// profile has.
const BESIDE: u64 = 8 << 20;

/// A PNG whose pixels come next.
pub(super) struct Opened<'a> {
    reader: png::Reader<Cursor<&'a [u8]>>,
    layout: Layout,
    conversion: Conversion,
    orientation: Orientation,
    interlaced: bool,
    /// [`DecodeLimits::bytes`].
    limit: u64,
}

pub(super) fn open(
    bytes: &[u8],
    size: (u32, u32),
    limits: DecodeLimits,
) -> Result<Opened<'_>, DecodeError> {
    let limit = limits.bytes;
    let failed = |error| failed(error, limit);
    let left = admit(size, CHANNELS as u64, limits)?;
    let mut decoder = Decoder::new(Cursor::new(bytes));
    decoder.set_ignore_text_chunk(true);
    let header = decoder.read_header_info().map_err(failed)?;
    let (row, interlaced) = (header.raw_row_length() as u64, header.interlaced);
    // Palettes and short samples are widened, to four bytes a pixel at most.
    let wide = row.max(4 * u64::from(size.0));
    let held = wide.saturating_mul(if interlaced { u64::from(size.1) } else { ROWS_HELD });
    let left = left.checked_sub(held).ok_or(DecodeError::TooManyBytes { limit })?;
    let beside = left.min(BESIDE);
    decoder.set_limits(Limits {
        bytes: usize::try_from(beside.saturating_add(wide)).unwrap_or(usize::MAX),
    });
    decoder.set_transformations(Transformations::EXPAND);
    let reader = decoder.read_info().map_err(failed)?;
    let info = reader.info();
    if info.animation_control.is_some() {
        return Err(DecodeError::Animated);
    }
    // The decoder takes it for granted that a palette is of whole colours.
    if info.palette.as_deref().is_some_and(|palette| !palette.len().is_multiple_of(3)) {
        return Err(DecodeError::Broken { what: "its palette ends within a colour".to_owned() });
    }
    let (colour, depth) = reader.output_color_type();
    let is_grey = matches!(colour, ColorType::Grayscale | ColorType::GrayscaleAlpha);
    let conversion = Conversion::of(info.icc_profile.as_deref(), is_grey)?;
    let orientation = Orientation::of_exif(info.exif_metadata.as_deref());
    let layout = Layout { colour, wide: depth == BitDepth::Sixteen };
    Ok(Opened { reader, layout, conversion, orientation, interlaced, limit })
}

pub(super) fn decode(
    bytes: &[u8],
    size: (u32, u32),
    limits: DecodeLimits,
) -> Result<Stored, DecodeError> {
    let mut opened = open(bytes, size, limits)?;
    let mut samples = room(size);
    let orientation = opened.orientation;
    if opened.interlaced {
        opened.whole(&mut samples)?;
    } else {
        let mut rows = samples.chunks_exact_mut(size.0 as usize * CHANNELS);
        opened.rows(size, |row| {
            if let Some(to) = rows.next() {
                to.copy_from_slice(row);
            }
        })?;
    }
    Ok(Stored { size, samples, orientation })
}

fn failed(error: DecodingError, limit: u64) -> DecodeError {
    match error {
        DecodingError::LimitsExceeded => DecodeError::TooManyBytes { limit },
        error => broken(&error),
    }
}

impl Opened<'_> {
    /// Whether its rows come in the order in which they are seen.
    pub(super) fn comes_in_rows(&self) -> bool {
        !self.interlaced && self.orientation == Orientation::Upright
    }

    /// Gives the samples of each row to `take`. To the end of the file, so that one that was cut
    /// off after its pixels is found as well.
    pub(super) fn rows(
        mut self,
        size: (u32, u32),
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), DecodeError> {
        let failed = |error| failed(error, self.limit);
        let as_it_is = self.layout.is_rgb() && matches!(self.conversion, Conversion::None);
        let mut samples = vec![0; size.0 as usize * CHANNELS];
        let mut stored = vec![0; self.reader.output_line_size(size.0).unwrap_or_default()];
        for _ in 0..size.1 {
            if as_it_is {
                self.reader.read_row(&mut samples).map_err(failed)?;
            } else {
                self.reader.read_row(&mut stored).map_err(failed)?;
                self.layout.convert(&stored, &mut samples);
                self.conversion.apply(&mut samples);
            }
            take(&samples);
        }
        self.reader.finish().map_err(failed)
    }

    /// All of an interlaced picture.
    fn whole(&mut self, samples: &mut [u8]) -> Result<(), DecodeError> {
        let limit = self.limit;
        let all = self.reader.output_buffer_size();
        let mut stored = vec![0; all.ok_or(DecodeError::TooManyBytes { limit })?];
        self.reader.next_frame(&mut stored).map_err(|error| failed(error, limit))?;
        self.layout.convert(&stored, samples);
        self.conversion.apply(samples);
        self.reader.finish().map_err(|error| failed(error, limit))
    }
}

/// What the decoder gives: whole bytes, no palette.
struct Layout {
    colour: ColorType,
    /// Whether a sample has two bytes.
    wide: bool,
}

impl Layout {
    fn is_rgb(&self) -> bool {
        self.colour == ColorType::Rgb && !self.wide
    }

    fn convert(&self, from: &[u8], to: &mut [u8]) {
        match (self.colour, self.wide) {
            (ColorType::Rgba, false) => lay_on_white(from, to),
            (ColorType::Grayscale, false) => pixels(from, to, |[grey]| [grey; 3]),
            (ColorType::GrayscaleAlpha, false) => {
                pixels(from, to, |[grey, alpha]| [on_white(grey, alpha); 3]);
            }
            (ColorType::Grayscale, true) => pixels(from, to, |[a, b]| [narrow(a, b); 3]),
            (ColorType::GrayscaleAlpha, true) => {
                pixels(from, to, |[a, b, c, d]| [on_white(narrow(a, b), narrow(c, d)); 3]);
            }
            (ColorType::Rgb, true) => {
                pixels(from, to, |[a, b, c, d, e, f]| [narrow(a, b), narrow(c, d), narrow(e, f)]);
            }
            (ColorType::Rgba, true) => pixels(from, to, |[a, b, c, d, e, f, g, h]| {
                let alpha = narrow(g, h);
                [narrow(a, b), narrow(c, d), narrow(e, f)].map(|sample| on_white(sample, alpha))
            }),
            // Palettes were expanded.
            (ColorType::Rgb | ColorType::Indexed, _) => {
                pixels(from, to, |pixel: [u8; CHANNELS]| pixel);
            }
        }
    }
}

fn pixels<const N: usize>(from: &[u8], to: &mut [u8], convert: impl Fn([u8; N]) -> [u8; CHANNELS]) {
    for (from, to) in from.as_chunks::<N>().0.iter().zip(to.as_chunks_mut::<CHANNELS>().0) {
        *to = convert(*from);
    }
}

/// 16 bits to the nearest of 8.
fn narrow(high: u8, low: u8) -> u8 {
    let value = u32::from(u16::from_be_bytes([high, low]));
    u8::try_from((value * 255 + 32_895) >> 16).unwrap_or(u8::MAX)
}
