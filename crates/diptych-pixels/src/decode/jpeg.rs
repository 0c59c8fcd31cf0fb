//! JPEG, by `zune-jpeg`.

use std::io::Cursor;

use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::colour::Conversion;
use super::{CHANNELS, DecodeError, Stored, admit, broken, room};
use crate::mask::DecodeLimits;
use crate::orientation::Orientation;

/// Bytes that decoding holds for a pixel besides its samples: coefficients of three components,
/// two bytes each, where a picture comes in several scans.
const HELD: u64 = 6;

pub(super) fn decode(
    bytes: &[u8],
    size: (u32, u32),
    limits: DecodeLimits,
) -> Result<Stored, DecodeError> {
    admit(size, CHANNELS as u64 + HELD, limits)?;
    if !has_end(bytes) {
        return Err(DecodeError::Broken { what: "it ends before its end".to_owned() });
    }
    let options = DecoderOptions::default()
        .set_max_width(size.0 as usize)
        .set_max_height(size.1 as usize)
        .set_strict_mode(true)
        .set_use_unsafe(false)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(failed)?;
    let is_grey = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => true,
        Some(ColorSpace::YCbCr | ColorSpace::RGB) => false,
        Some(ColorSpace::CMYK | ColorSpace::YCCK) => {
            return Err(DecodeError::UnsupportedColour { what: "a picture of four inks (CMYK)" });
        }
        _ => return Err(DecodeError::UnsupportedColour { what: "a JPEG of these components" }),
    };
    let conversion = Conversion::of(decoder.icc_profile().as_deref(), is_grey)?;
    let orientation = Orientation::of_exif(decoder.exif().map(Vec::as_slice));
    let mut samples = room(size);
    let fits = decoder.dimensions() == Some((size.0 as usize, size.1 as usize))
        && decoder.output_buffer_size() == Some(samples.len());
    if !fits {
        return Err(DecodeError::Broken { what: "its headers disagree".to_owned() });
    }
    decoder.decode_into(&mut samples).map_err(failed)?;
    conversion.apply(&mut samples);
    Ok(Stored { size, samples, orientation })
}

fn failed(error: DecodeErrors) -> DecodeError {
    match error {
        DecodeErrors::Unsupported(what) => {
            DecodeError::UnsupportedFeature { what: format!("{what:?}") }
        }
        error => broken(&error),
    }
}

/// Whether the marker that ends a picture stands behind its first scan. Decoders fill in what a
/// file that was cut off lacks.
fn has_end(bytes: &[u8]) -> bool {
    first_scan(bytes).is_some_and(|scan| scan.windows(2).any(|two| two == [0xFF, 0xD9]))
}

/// What follows the header of the first scan.
fn first_scan(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = Cursor::new(bytes);
    at.set_position(2);
    loop {
        let rest = bytes.get(usize::try_from(at.position()).ok()?..)?;
        match rest {
            [0xFF, 0xFF, ..] => at.set_position(at.position() + 1),
            [0xFF, 0x01 | 0xD0..=0xD7, ..] => at.set_position(at.position() + 2),
            [0xFF, 0xDA, ..] => return rest.get(2..),
            [0xFF, _, high, low, ..] => {
                let length = u64::from(u16::from_be_bytes([*high, *low]));
                at.set_position(at.position() + 2 + length.max(2));
            }
            _ => return None,
        }
    }
}
