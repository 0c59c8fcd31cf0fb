//! How far the two masks of a row agree.

use diptych_format::FormatError;
use diptych_pixels::mask::Part;
use diptych_pixels::{Bits, DecodeLimits, overlap};
use diptych_schema::Edited;
use diptych_storage::Limits;

use crate::pictures::Pictures;

/// The intersection of two masks as a share of their union, or why there is none.
///
/// # Errors
/// Where a mask cannot be read at all.
pub(crate) fn iou(
    pictures: &Pictures,
    normal: u32,
    abnormal: u32,
    limits: &Limits,
) -> Result<Result<f64, String>, FormatError> {
    let bits = |number: u32| {
        let limit = limits.picture_bytes;
        let bytes = pictures.bytes(number, limit)?;
        let bytes = bytes.ok_or_else(|| format!("larger than {limit} bytes"));
        let allowed = DecodeLimits { pixels: limits.pixels, bytes: limit };
        let read = |bytes: Vec<u8>| {
            let parts = [Part::Picture(&bytes)];
            Bits::from_parts(&parts, Edited::Nonzero, allowed).map_err(|error| error.to_string())
        };
        Ok::<_, FormatError>(bytes.and_then(read))
    };
    let (normal, abnormal) = (bits(normal)?, bits(abnormal)?);
    Ok(normal.and_then(|normal| {
        let both = overlap(&normal, &abnormal?).map_err(|error| error.to_string())?;
        both.iou().ok_or_else(|| "nothing is edited in either".to_owned())
    }))
}
