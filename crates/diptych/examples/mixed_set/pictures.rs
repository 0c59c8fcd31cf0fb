//! Pictures: drawn, or the smallest that there are of a type.

use std::fmt::Write as _;

use png::{BitDepth, ColorType};
use sha2::{Digest, Sha256};

/// The bytes of a picture and what they show.
#[derive(Clone)]
pub(crate) struct Drawn {
    pub(crate) bytes: Vec<u8>,
    pub(crate) extension: &'static str,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Drawn {
    /// Width and height.
    pub(crate) fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }
}

/// A mask as a release has it, and its pixels as they must be written.
#[derive(Clone)]
pub(crate) struct DrawnMask {
    pub(crate) drawn: Drawn,
    /// Whether dark pixels are the edited ones in the release.
    pub(crate) dark_is_edited: bool,
    /// 255 where edited, else 0; row by row.
    pub(crate) pixels: Vec<u8>,
}

/// Grey JPEG of 8 by 8 pixels.
const JPEG: &str = "ffd8ffe000104a46494600010100000100010000ffdb004300281c1e231e19282321232d2b2830\
    3c64413c37373c7b585d4964918099968f808c8aa0b4e6c3a0aadaad8a8cc8ffcbdaeef5ffffff9bc1fffffffaffe6\
    fdfff8ffc0000b080008000801011100ffc40014000100000000000000000000000000000002ffc400171000030100\
    00000000000000000000000000030461ffda0008010100003f0009870fffd9";

/// Lossless WebP of 9 by 7 pixels, all of one colour.
const WEBP: &str = "524946461e000000574542505650384c110000002f0880010007508f2297a7ff8188e87f0000";

/// GIF of 10 by 6 pixels in four colours.
const GIF: &str = "4749463837610a000600810000000000ff000000ff000000ff2c000000000a00060000081b000104\
    103040204181030b263478706142850d0f1a84a8d061c480003b";

/// Bytes that look random and follow from the seed alone.
fn noise(seed: &str, count: usize) -> Vec<u8> {
    let blocks = (0_u32..).flat_map(|block| Sha256::digest(format!("{seed}/{block}")));
    blocks.take(count).collect()
}

fn encode(
    (width, height): (u32, u32),
    colour: ColorType,
    depth: BitDepth,
    data: &[u8],
) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.write_header()?.write_image_data(data)?;
    Ok(bytes)
}

/// Noise as PNG, in the colours and depths that PNG has, one after the other by `kind`.
pub(crate) fn png(seed: &str, kind: usize, size: (u32, u32)) -> Drawn {
    let (colour, depth, sample) = match kind % 5 {
        0 | 1 => (ColorType::Rgb, BitDepth::Eight, 3),
        2 => (ColorType::Rgba, BitDepth::Eight, 4),
        3 => (ColorType::Grayscale, BitDepth::Eight, 1),
        _ => (ColorType::Grayscale, BitDepth::Sixteen, 2),
    };
    let (width, height) = size;
    let data = noise(seed, (width * height) as usize * sample);
    // An encoder into memory fails on wrong arguments only; a reader would stop at no bytes.
    let bytes = encode(size, colour, depth, &data).unwrap_or_default();
    Drawn { bytes, extension: "png", width, height }
}

/// A mask by its seed; every other one the wrong way round, as some releases have them.
pub(crate) fn mask(seed: &str, dark_is_edited: bool, size: (u32, u32)) -> DrawnMask {
    let (width, height) = size;
    let noise = noise(seed, (width * height) as usize);
    let pixels: Vec<u8> = noise.iter().map(|byte| if byte & 1 == 1 { 255 } else { 0 }).collect();
    let stored: Vec<u8> = match dark_is_edited {
        true => pixels.iter().map(|pixel| 255 - pixel).collect(),
        false => pixels.clone(),
    };
    let bytes = encode(size, ColorType::Grayscale, BitDepth::Eight, &stored).unwrap_or_default();
    let drawn = Drawn { bytes, extension: "png", width, height };
    DrawnMask { drawn, dark_is_edited, pixels }
}

/// A JPEG whose bytes are its own: a comment tells it from others.
pub(crate) fn jpeg(seed: &str) -> Drawn {
    let mut bytes = unhex(JPEG);
    let length = u16::try_from(seed.len() + 2).unwrap_or(2).to_be_bytes();
    let comment = [&[0xFF, 0xFE], length.as_slice(), seed.as_bytes()].concat();
    bytes.splice(2..2, comment);
    Drawn { bytes, extension: "jpg", width: 8, height: 8 }
}

pub(crate) fn webp() -> Drawn {
    Drawn { bytes: unhex(WEBP), extension: "webp", width: 9, height: 7 }
}

pub(crate) fn gif() -> Drawn {
    Drawn { bytes: unhex(GIF), extension: "gif", width: 10, height: 6 }
}

fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.chars().filter_map(|c| c.to_digit(16)?.try_into().ok()).collect();
    digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |sum, digit| sum << 4 | digit)).collect()
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
