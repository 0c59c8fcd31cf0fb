//! PNG files of every kind, the common ones by the encoder and the others by hand.

use png::{BitDepth, ColorType};

/// A PNG of rows of packed samples.
pub(super) fn png(size: (u32, u32), colour: ColorType, depth: BitDepth, rows: &[u8]) -> Vec<u8> {
    with_palette(size, colour, depth, rows, &[])
}

pub(super) fn with_palette(
    (width, height): (u32, u32),
    colour: ColorType,
    depth: BitDepth,
    rows: &[u8],
    palette: &[u8],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if !palette.is_empty() {
        encoder.set_palette(palette);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(rows).unwrap();
    writer.finish().unwrap();
    bytes
}

/// An 8-bit grey PNG of one row.
pub(super) fn grey(row: &[u8]) -> Vec<u8> {
    png((u32::try_from(row.len()).unwrap(), 1), ColorType::Grayscale, BitDepth::Eight, row)
}

pub(super) fn chunk(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in kind.iter().chain(body) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
        }
    }
    let length = u32::try_from(body.len()).unwrap();
    [&length.to_be_bytes(), &kind[..], body, &(!crc).to_be_bytes()].concat()
}

/// zlib of bytes as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    for block in bytes.chunks(0xFFFF) {
        let length = u16::try_from(block.len()).unwrap();
        out.push(0);
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend([1, 0, 0, 0xFF, 0xFF]);
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend((b << 16 | a).to_be_bytes());
    out
}

pub(super) fn header((width, height): (u32, u32), rest: [u8; 5]) -> Vec<u8> {
    let body = [&width.to_be_bytes()[..], &height.to_be_bytes(), &rest].concat();
    [b"\x89PNG\r\n\x1A\n", &chunk(b"IHDR", &body)[..]].concat()
}

/// A PNG of these chunks, whatever they are.
pub(super) fn by_hand(size: (u32, u32), rest: [u8; 5], between: &[u8], data: &[u8]) -> Vec<u8> {
    [header(size, rest), between.to_vec(), chunk(b"IDAT", &stored(data)), chunk(b"IEND", b"")]
        .concat()
}

/// An interlaced 8-bit grey PNG of the pixels.
pub(super) fn interlaced((width, height): (u32, u32), pixels: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    // From the specification: first column and row, steps.
    for (x, y, dx, dy) in [
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ] {
        for row in pixels.chunks(width as usize).skip(y).step_by(dy) {
            let row: Vec<u8> = row.iter().copied().skip(x).step_by(dx).collect();
            if !row.is_empty() {
                data.push(0);
                data.extend(row);
            }
        }
    }
    by_hand((width, height), [8, 0, 0, 0, 1], &[], &data)
}
