//! WebP, by `image-webp`.

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};

use super::colour::Conversion;
use super::{CHANNELS, DecodeError, Stored, admit, broken, lay_on_white, room};
use crate::mask::DecodeLimits;
use crate::orientation::Orientation;

/// Bytes that decoding holds for a pixel besides its samples: colours with alpha twice over.
const HELD: u64 = 8;

pub(super) fn decode(
    bytes: &[u8],
    size: (u32, u32),
    limits: DecodeLimits,
) -> Result<Stored, DecodeError> {
    let limit = limits.bytes;
    let failed = |error: DecodingError| match error {
        DecodingError::MemoryLimitExceeded => DecodeError::TooManyBytes { limit },
        error => broken(&error),
    };
    if !is_whole(bytes) {
        return Err(DecodeError::Broken { what: "it ends before its end".to_owned() });
    }
    let left = admit(size, CHANNELS as u64 + HELD, limits)?;
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(failed)?;
    decoder.set_memory_limit(usize::try_from(left).unwrap_or(usize::MAX));
    if decoder.is_animated() {
        return Err(DecodeError::Animated);
    }
    if decoder.dimensions() != size {
        return Err(DecodeError::Broken { what: "its headers disagree".to_owned() });
    }
    let icc = decoder.icc_profile().map_err(failed)?;
    let conversion = Conversion::of(icc.as_deref(), false)?;
    let exif = decoder.exif_metadata().map_err(failed)?;
    let orientation = Orientation::of_exif(exif.as_deref());
    let mut samples = room(size);
    if decoder.has_alpha() {
        let mut stored = vec![0; size.0 as usize * size.1 as usize * 4];
        decoder.read_image(&mut stored).map_err(failed)?;
        lay_on_white(&stored, &mut samples);
    } else {
        decoder.read_image(&mut samples).map_err(failed)?;
    }
    conversion.apply(&mut samples);
    Ok(Stored { size, samples, orientation })
}

/// Whether the file is as long as it says. The last chunk may lack the byte that pads it.
fn is_whole(bytes: &[u8]) -> bool {
    let stated = bytes.get(4..).and_then(<[u8]>::first_chunk).map(|of| u32::from_le_bytes(*of));
    stated.is_some_and(|stated| u64::from(stated) + 8 <= bytes.len() as u64 + 1)
}
