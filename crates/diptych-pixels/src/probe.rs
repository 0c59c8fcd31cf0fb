//! Size and type of a picture from its header.
//!
//! Two ways in: [`probe_head`] looks at the first bytes, which a caller that walks an archive has
//! at hand anyway; [`probe_at`] fetches what it needs, for the pictures whose size lies farther
//! in (a JPEG behind a large EXIF block, a TIFF whose directory is at its end). Both give the same
//! answer wherever the first gives one.
//!
//! Width and height are those of the stored grid: an EXIF orientation that turns the picture on
//! its side is not applied. Of a file with several pictures they are those that readers show
//! first: a GIF's screen, a TIFF's first directory, the canvas of an animated WebP.
//!
//! An answer says what the header states. It does not say that the pixels behind it are whole.

use std::io;

use diptych_schema::MediaType;

/// What [`probe_at`] fetches at a time, in bytes: one fetch answers for nearly every picture.
const WINDOW: usize = 1024;

/// What [`probe_at`] fetches of one picture at most, in bytes. It holds the largest directory of
/// a TIFF, and as many steps from segment to segment of a JPEG as there are windows in it.
const FETCH_LIMIT: usize = 1 << 20;

/// Bytes that tell the type, whatever it is.
const SIGNATURE: usize = 12;

/// Bytes of a PNG up to and including its height.
const PNG_HEAD: usize = 24;

/// What a header states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Probed {
    /// What kind of picture it is.
    pub media_type: MediaType,
    /// Width of the stored grid in pixels, at least 1.
    pub width: u32,
    /// Height of the stored grid in pixels, at least 1.
    pub height: u32,
}

/// What the first bytes of a picture tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Head {
    /// Type and size.
    Known(Probed),
    /// The size lies behind the bytes given, or they are too few to tell the type:
    /// [`probe_at`] will know.
    NeedsMore,
    /// No picture of a type that [`MediaType`] lists, or one that is broken before its size.
    Unknown,
}

/// Tells type and size from the first bytes of a picture that is `length` bytes long.
///
/// 24 bytes are enough for PNG and 30 for WebP, GIF and BMP; a JPEG without embedded metadata
/// takes some hundred. Bytes of `head` beyond `length` are not looked at.
#[must_use]
pub fn probe_head(head: &[u8], length: u64) -> Head {
    let head = head.get(..usize::try_from(length).unwrap_or(usize::MAX)).unwrap_or(head);
    // Asked for millions of members of an archive, nearly all of them PNG.
    if let Some((width, height)) = head.first_chunk().and_then(png_size) {
        return Head::Known(Probed { media_type: MediaType::Png, width, height });
    }
    match probe(&mut Start { head, length }) {
        Ok(probed) => Head::Known(probed),
        Err(Stop::NeedsMore) => Head::NeedsMore,
        Err(Stop::Unknown | Stop::Io(_)) => Head::Unknown,
    }
}

/// Tells type and size of a picture that is `length` bytes long, fetching what it needs.
///
/// `read_at` reads up to as many bytes as the buffer holds from a position in the picture and
/// says how many, 0 at the end. It is asked for 1 MiB in all at most, wherever the header points;
/// a picture that takes more is not known. `None` stands for what [`Head::Unknown`] stands for.
///
/// # Errors
/// Those of `read_at`, and [`io::ErrorKind::UnexpectedEof`] where it ends before `length`.
pub fn probe_at(
    length: u64,
    read_at: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<Option<Probed>> {
    let window =
        Windows { read_at, length, window: [0; WINDOW], start: 0, filled: 0, allowed: FETCH_LIMIT };
    match probe(&mut { window }) {
        Ok(probed) => Ok(Some(probed)),
        Err(Stop::Unknown | Stop::NeedsMore) => Ok(None),
        Err(Stop::Io(error)) => Err(error),
    }
}

/// The type that `start`, the first bytes of a file, announces.
pub(crate) fn media_type(start: &[u8; SIGNATURE]) -> Option<MediaType> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(MediaType::Png),
        [0xFF, 0xD8, 0xFF, ..] => Some(MediaType::Jpeg),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => Some(MediaType::Webp),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(MediaType::Gif),
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Some(MediaType::Tiff),
        [b'B', b'M', ..] => Some(MediaType::Bmp),
        _ => None,
    }
}

/// Width and height of a PNG, in pixels; `None` where the bytes are not those of one.
pub(crate) fn png_size(head: &[u8; PNG_HEAD]) -> Option<(u32, u32)> {
    // The header chunk comes first and is 13 bytes long, or it is not a PNG.
    const BEFORE: [u8; 16] = *b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR";
    let [before @ .., w0, w1, w2, w3, h0, h1, h2, h3] = *head;
    let width = u32::from_be_bytes([w0, w1, w2, w3]);
    let height = u32::from_be_bytes([h0, h1, h2, h3]);
    let sound = |side: u32| (1..=i32::MAX.unsigned_abs()).contains(&side);
    (before == BEFORE && sound(width) && sound(height)).then_some((width, height))
}

/// Why a probe ends without an answer.
enum Stop {
    /// The bytes at hand end, those of the picture do not.
    NeedsMore,
    /// Not a picture, or too much to ask for.
    Unknown,
    /// The bytes cannot be read.
    Io(io::Error),
}

/// The bytes of a picture, as far as they are to be had.
trait Bytes {
    /// The `N` bytes from `offset`.
    fn at<const N: usize>(&mut self, offset: u64) -> Result<[u8; N], Stop>;
}

/// Whether a picture of `length` bytes has `count` of them from `offset`.
fn has(length: u64, offset: u64, count: usize) -> bool {
    offset.checked_add(count as u64).is_some_and(|end| end <= length)
}

/// The first bytes and no more.
struct Start<'a> {
    head: &'a [u8],
    length: u64,
}

impl Bytes for Start<'_> {
    fn at<const N: usize>(&mut self, offset: u64) -> Result<[u8; N], Stop> {
        if !has(self.length, offset, N) {
            return Err(Stop::Unknown);
        }
        usize::try_from(offset)
            .ok()
            .and_then(|offset| self.head.get(offset..)?.first_chunk())
            .copied()
            .ok_or(Stop::NeedsMore)
    }
}

/// Bytes fetched a window at a time.
struct Windows<F> {
    read_at: F,
    length: u64,
    window: [u8; WINDOW],
    /// Position of the window in the picture.
    start: u64,
    /// Bytes of the window that were read.
    filled: usize,
    /// Bytes that may still be fetched.
    allowed: usize,
}

impl<F: FnMut(u64, &mut [u8]) -> io::Result<usize>> Windows<F> {
    /// The bytes of the window from `offset` of the picture.
    fn within<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.window.get(from..self.filled)?.first_chunk().copied()
    }

    /// Moves the window to `offset`.
    fn fetch(&mut self, offset: u64) -> Result<(), Stop> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = left.min(WINDOW);
        self.allowed = self.allowed.checked_sub(wanted).ok_or(Stop::Unknown)?;
        self.start = offset;
        self.filled = 0;
        while let Some(rest) = self.window.get_mut(self.filled..wanted).filter(|r| !r.is_empty()) {
            match (self.read_at)(offset + self.filled as u64, rest) {
                Ok(0) => break,
                Ok(count) => self.filled = (self.filled + count).min(wanted),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Io(error)),
            }
        }
        Ok(())
    }
}

impl<F: FnMut(u64, &mut [u8]) -> io::Result<usize>> Bytes for Windows<F> {
    fn at<const N: usize>(&mut self, offset: u64) -> Result<[u8; N], Stop> {
        if !has(self.length, offset, N) {
            return Err(Stop::Unknown);
        }
        if let Some(bytes) = self.within(offset) {
            return Ok(bytes);
        }
        self.fetch(offset)?;
        self.within(offset).ok_or_else(|| Stop::Io(io::ErrorKind::UnexpectedEof.into()))
    }
}

fn probe(bytes: &mut impl Bytes) -> Result<Probed, Stop> {
    let media_type = media_type(&bytes.at(0)?).ok_or(Stop::Unknown)?;
    let (width, height) = match media_type {
        MediaType::Png => png_size(&bytes.at(0)?).ok_or(Stop::Unknown)?,
        MediaType::Jpeg => jpeg_size(bytes)?,
        MediaType::Webp => webp_size(bytes)?,
        MediaType::Gif => gif_size(bytes)?,
        MediaType::Bmp => bmp_size(bytes)?,
        MediaType::Tiff => tiff_size(bytes)?,
    };
    if width == 0 || height == 0 {
        return Err(Stop::Unknown);
    }
    Ok(Probed { media_type, width, height })
}

/// Walks from segment to segment to the frame header.
fn jpeg_size(bytes: &mut impl Bytes) -> Result<(u32, u32), Stop> {
    let mut at = 2;
    loop {
        let [0xFF, marker] = bytes.at(at)? else {
            return Err(Stop::Unknown);
        };
        match marker {
            // Any number of these may stand before a marker.
            0xFF => at += 1,
            // Markers that stand alone.
            0x01 | 0xD0..=0xD7 => at += 2,
            // Tables, restart interval, metadata and comments.
            0xC4 | 0xCC | 0xDB..=0xDD | 0xE0..=0xFE => {
                let length = u16::from_be_bytes(bytes.at(at + 2)?);
                if length < 2 {
                    return Err(Stop::Unknown);
                }
                at += 2 + u64::from(length);
            }
            // Frame headers; 0xC8 is reserved.
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                // Length, bits a sample, height, width, count of components.
                let [l0, l1, _, h0, h1, w0, w1, components] = bytes.at(at + 2)?;
                if u16::from_be_bytes([l0, l1]) != 8 + 3 * u16::from(components) {
                    return Err(Stop::Unknown);
                }
                return Ok((be16([w0, w1]), be16([h0, h1])));
            }
            // A scan or the end before the frame; a second start; a hierarchy of frames, the
            // first of which is not the picture; what no JPEG has.
            _ => return Err(Stop::Unknown),
        }
    }
}

fn webp_size(bytes: &mut impl Bytes) -> Result<(u32, u32), Stop> {
    match &bytes.at(12)? {
        b"VP8 " => {
            let [tag, _, _, start @ .., w0, w1, h0, h1] = bytes.at::<10>(20)?;
            // A key frame, which the start code follows.
            if tag & 1 != 0 || start != [0x9D, 0x01, 0x2A] {
                return Err(Stop::Unknown);
            }
            // The two highest bits ask for scaling and are not of the size.
            Ok((le16([w0, w1]) & 0x3FFF, le16([h0, h1]) & 0x3FFF))
        }
        b"VP8L" => {
            let [0x2F, packed @ ..] = bytes.at::<5>(20)? else {
                return Err(Stop::Unknown);
            };
            let packed = u32::from_le_bytes(packed);
            // The three highest bits are a version, of which there is one.
            if packed >> 29 != 0 {
                return Err(Stop::Unknown);
            }
            Ok(((packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1))
        }
        b"VP8X" => {
            let [w0, w1, w2, h0, h1, h2] = bytes.at(24)?;
            let width = u32::from_le_bytes([w0, w1, w2, 0]) + 1;
            let height = u32::from_le_bytes([h0, h1, h2, 0]) + 1;
            // The format bounds the product.
            width.checked_mul(height).ok_or(Stop::Unknown)?;
            Ok((width, height))
        }
        _ => Err(Stop::Unknown),
    }
}

fn gif_size(bytes: &mut impl Bytes) -> Result<(u32, u32), Stop> {
    let [w0, w1, h0, h1] = bytes.at(6)?;
    Ok((le16([w0, w1]), le16([h0, h1])))
}

fn bmp_size(bytes: &mut impl Bytes) -> Result<(u32, u32), Stop> {
    // Two letters are little to go by, so the length of the header that follows must be one of
    // those there are.
    match u32::from_le_bytes(bytes.at(14)?) {
        12 => {
            let [w0, w1, h0, h1] = bytes.at(18)?;
            Ok((le16([w0, w1]), le16([h0, h1])))
        }
        40 | 52 | 56 | 64 | 108 | 124 => {
            let width = i32::from_le_bytes(bytes.at(18)?);
            // Below zero where the rows are stored from the top.
            let height = i32::from_le_bytes(bytes.at(22)?);
            Ok((u32::try_from(width).map_err(|_| Stop::Unknown)?, height.unsigned_abs()))
        }
        _ => Err(Stop::Unknown),
    }
}

/// Looks through the first directory for the two entries.
fn tiff_size(bytes: &mut impl Bytes) -> Result<(u32, u32), Stop> {
    let [order, _, m0, m1, rest @ ..] = bytes.at::<8>(0)?;
    let order = Order { big: order == b'M' };
    let wide = order.number([m0, m1]) == 43;
    let (directory, count) = if wide {
        // An offset has 8 bytes, and two of padding follow.
        if order.number([rest[0], rest[1]]) != 8 || [rest[2], rest[3]] != [0, 0] {
            return Err(Stop::Unknown);
        }
        let directory = order.number(bytes.at::<8>(8)?);
        (directory, order.number(bytes.at::<8>(directory)?))
    } else {
        let directory = order.number(rest);
        (directory, order.number(bytes.at::<2>(directory)?))
    };
    let (first, step) = if wide { (8, 20) } else { (2, 12) };
    let mut width = None;
    let mut height = None;
    for entry in 0..count {
        let at = entry
            .checked_mul(step)
            .and_then(|skipped| directory.checked_add(first)?.checked_add(skipped))
            .ok_or(Stop::Unknown)?;
        let side = match order.number(bytes.at::<2>(at)?) {
            256 => &mut width,
            257 => &mut height,
            _ => continue,
        };
        let kind = order.number(bytes.at::<2>(at + 2)?);
        let (values, value) = if wide {
            (order.number(bytes.at::<8>(at + 4)?), at + 12)
        } else {
            (order.number(bytes.at::<4>(at + 4)?), at + 8)
        };
        if values != 1 {
            return Err(Stop::Unknown);
        }
        let found = match kind {
            3 => order.number(bytes.at::<2>(value)?),
            4 => order.number(bytes.at::<4>(value)?),
            16 if wide => order.number(bytes.at::<8>(value)?),
            _ => return Err(Stop::Unknown),
        };
        *side = Some(u32::try_from(found).map_err(|_| Stop::Unknown)?);
        if let Some(size) = width.zip(height) {
            return Ok(size);
        }
    }
    Err(Stop::Unknown)
}

/// The order of the bytes in the numbers of a TIFF.
#[derive(Clone, Copy)]
struct Order {
    big: bool,
}

impl Order {
    /// The number that up to 8 bytes stand for.
    fn number<const N: usize>(self, bytes: [u8; N]) -> u64 {
        let add = |sum: u64, byte: u8| sum << 8 | u64::from(byte);
        if self.big { bytes.into_iter().fold(0, add) } else { bytes.into_iter().rev().fold(0, add) }
    }
}

fn be16(bytes: [u8; 2]) -> u32 {
    u16::from_be_bytes(bytes).into()
}

fn le16(bytes: [u8; 2]) -> u32 {
    u16::from_le_bytes(bytes).into()
}

#[cfg(test)]
mod tests;
