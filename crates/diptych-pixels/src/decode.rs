//! Whole pictures as colours that can be compared: sRGB, 8 bits a channel, upright.
//!
//! What is read, and how it becomes that:
//!
//! | stored as | becomes |
//! |---|---|
//! | grey, palette, fewer than 8 bits | 8 bits a channel |
//! | 16 bits | the nearest of 8 bits |
//! | alpha, transparent colours | laid on white |
//! | an ICC profile of a matrix and curves, or of grey and a curve | sRGB, out of range cut off |
//! | an EXIF orientation | turned upright |
//!
//! PNG, JPEG and WebP are read. Refused by name are other types, animations, pictures of four inks
//! (CMYK), and profiles of other kinds: what cannot be compared as it is seen is not compared at
//! all. What a PNG says of gamma and of primaries without a profile is not looked at, as by nearly
//! everything else that reads pictures.
//!
//! The samples are the same on every machine: the decoders are used without what depends on the
//! processor, and colours are converted through tables.

mod colour;
mod jpeg;
mod png;
mod webp;

use diptych_schema::MediaType;

use crate::mask::DecodeLimits;
use crate::orientation::Orientation;
use crate::probe::{self, Head};

pub(crate) use colour::srgb_to_linear;

/// A picture: sRGB, upright.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rgb {
    /// Width in pixels, of the picture as it is seen.
    pub width: u32,
    /// Height in pixels, of the picture as it is seen.
    pub height: u32,
    /// Red, green and blue of each pixel, row by row: `3 * width * height` bytes.
    pub samples: Vec<u8>,
    /// How the picture was turned to be upright.
    pub orientation: Orientation,
}

/// Why a picture is not decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not those of a picture, or its header is broken.
    #[error("no picture")]
    NotAPicture,
    /// A picture, of a type that is not decoded.
    #[error("{found} is not decoded, image/png, image/jpeg and image/webp are")]
    UnsupportedType {
        /// What its bytes are.
        found: MediaType,
    },
    /// Colours of a kind that is not converted.
    #[error("{what} is not converted to sRGB")]
    UnsupportedColour {
        /// The kind.
        what: &'static str,
    },
    /// A part of the format that is not decoded.
    #[error("the picture uses what is not decoded: {what}")]
    UnsupportedFeature {
        /// What it is, in the decoder's words.
        what: String,
    },
    /// An animation is no one picture.
    #[error("the picture is an animation")]
    Animated,
    /// More pixels than allowed, as the header states them.
    #[error("the picture has {width}x{height} pixels, the limit is {limit}")]
    TooManyPixels {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// [`DecodeLimits::pixels`].
        limit: u64,
    },
    /// More memory than allowed.
    #[error("the picture takes more memory than the limit of {limit} bytes")]
    TooManyBytes {
        /// [`DecodeLimits::bytes`].
        limit: u64,
    },
    /// The bytes break the format, or end before its end.
    #[error("the picture is broken: {what}")]
    Broken {
        /// What is wrong, in the decoder's words.
        what: String,
    },
}

impl DecodeError {
    /// The words of all of them.
    pub const WORDS: [&str; 8] = [
        "not_a_picture",
        "unsupported_type",
        "unsupported_colour",
        "unsupported_feature",
        "animated",
        "too_many_pixels",
        "too_many_bytes",
        "broken",
    ];

    /// A word for it, to count by.
    #[must_use]
    pub fn word(&self) -> &'static str {
        let [none, kind, colour, feature, animated, pixels, bytes, broken] = Self::WORDS;
        match self {
            Self::NotAPicture => none,
            Self::UnsupportedType { .. } => kind,
            Self::UnsupportedColour { .. } => colour,
            Self::UnsupportedFeature { .. } => feature,
            Self::Animated => animated,
            Self::TooManyPixels { .. } => pixels,
            Self::TooManyBytes { .. } => bytes,
            Self::Broken { .. } => broken,
        }
    }
}

/// Decodes a picture.
///
/// # Errors
/// See [`DecodeError`]. What asks for more than `limits` is refused by its header, before memory
/// for its pixels is taken. A file that ends before its end is refused, even where its format
/// allows to show the rest.
pub fn decode(bytes: &[u8], limits: DecodeLimits) -> Result<Rgb, DecodeError> {
    let (media_type, size) = head(bytes)?;
    let stored = match media_type {
        MediaType::Png => png::decode(bytes, size, limits)?,
        MediaType::Jpeg => jpeg::decode(bytes, size, limits)?,
        MediaType::Webp => webp::decode(bytes, size, limits)?,
        found => return Err(DecodeError::UnsupportedType { found }),
    };
    Ok(stored.upright())
}

/// What a decoder says, in one line: some end theirs.
fn broken(said: &dyn std::fmt::Display) -> DecodeError {
    let said = said.to_string();
    let words = said.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    DecodeError::Broken { what: words.join(" ") }
}

/// Type and stored size of a picture.
fn head(bytes: &[u8]) -> Result<(MediaType, (u32, u32)), DecodeError> {
    match probe::probe_head(bytes, bytes.len() as u64) {
        Head::Known(probed) => Ok((probed.media_type, (probed.width, probed.height))),
        Head::NeedsMore | Head::Unknown => Err(DecodeError::NotAPicture),
    }
}

/// What takes a picture's rows one by one, from the top, each as red, green and blue.
pub(crate) trait Rows {
    /// The samples of the next row.
    fn row(&mut self, samples: &[u8]);
}

/// Decodes a picture row by row, where its format and orientation allow to do without the whole of
/// it, into what `begin` makes of its size as it is seen and of how it was turned.
///
/// # Errors
/// Those of [`decode`], and those of `begin`, behind which nothing is decoded.
pub(crate) fn decode_rows<R: Rows, E: From<DecodeError>>(
    bytes: &[u8],
    limits: DecodeLimits,
    begin: impl FnOnce((u32, u32), Orientation) -> Result<R, E>,
) -> Result<R, E> {
    let (media_type, size) = head(bytes)?;
    if media_type == MediaType::Png {
        let opened = png::open(bytes, size, limits)?;
        if opened.comes_in_rows() {
            let mut rows = begin(size, Orientation::Upright)?;
            opened.rows(size, |samples| rows.row(samples))?;
            return Ok(rows);
        }
    }
    let Rgb { width, height, samples, orientation } = decode(bytes, limits)?;
    let mut rows = begin((width, height), orientation)?;
    samples.chunks(width.max(1) as usize * CHANNELS).for_each(|samples| rows.row(samples));
    Ok(rows)
}

/// A picture on its stored grid.
struct Stored {
    size: (u32, u32),
    samples: Vec<u8>,
    orientation: Orientation,
}

impl Stored {
    fn upright(self) -> Rgb {
        let Self { size, samples, orientation } = self;
        let ((width, height), samples) = orientation.turn_upright(size, samples);
        Rgb { width, height, samples, orientation }
    }
}

/// Holds a picture against the limits: its pixels, and that many bytes for each of them. Gives
/// what is left of the bytes.
fn admit(
    (width, height): (u32, u32),
    bytes_a_pixel: u64,
    limits: DecodeLimits,
) -> Result<u64, DecodeError> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > limits.pixels {
        return Err(DecodeError::TooManyPixels { width, height, limit: limits.pixels });
    }
    let asked = pixels.saturating_mul(bytes_a_pixel);
    limits.bytes.checked_sub(asked).ok_or(DecodeError::TooManyBytes { limit: limits.bytes })
}

/// The samples of a picture that is to be decoded; its size was held against the limits.
fn room((width, height): (u32, u32)) -> Vec<u8> {
    vec![0; width as usize * height as usize * CHANNELS]
}

/// Samples of a pixel.
const CHANNELS: usize = 3;

/// A sample laid on white, by how opaque it is.
fn on_white(sample: u8, alpha: u8) -> u8 {
    let (sample, alpha) = (u32::from(sample), u32::from(alpha));
    let sum = sample * alpha + 255 * (255 - alpha);
    // To the nearest; the sum does not pass 255 times 255.
    u8::try_from((sum + 127) / 255).unwrap_or(u8::MAX)
}

/// Colour and alpha of pixels laid on white.
fn lay_on_white(from: &[u8], to: &mut [u8]) {
    let (from, to) = (from.as_chunks::<4>().0, to.as_chunks_mut::<CHANNELS>().0);
    for ([red, green, blue, alpha], to) in from.iter().zip(to) {
        *to = if *alpha == u8::MAX {
            [*red, *green, *blue]
        } else {
            [red, green, blue].map(|sample| on_white(*sample, *alpha))
        };
    }
}

#[cfg(test)]
pub(crate) mod tests;
