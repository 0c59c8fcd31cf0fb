//! Photographs, drawn, and the ways in which one of them comes back in other datasets.

use diptych::schema::{Address, EditPair, Picture};
use png::{BitDepth, ColorType};

#[path = "../../../../xtask/src/fixtures/jpeg.rs"]
mod jpeg;

/// A picture with hills of brightness, which its seed decides and its size does not.
pub(crate) struct Photo {
    pub(crate) seed: u32,
    pub(crate) size: (u32, u32),
}

/// How a photograph is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// PNG in RGB.
    Plain,
    /// PNG with samples of 16 bits.
    Wide,
    /// Lossless WebP.
    WebP,
    /// A little smaller, as JPEG.
    Recompressed,
}

impl Photo {
    pub(crate) fn new(seed: u32) -> Self {
        Self { seed, size: (160, 120) }
    }

    /// Its samples, in RGB.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is out of range is cut off"
    )]
    fn samples(&self) -> Vec<u8> {
        let (width, height) = self.size;
        let mut state = self.seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
        let mut part = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 16) / 65_536.0
        };
        let hills: Vec<_> = (0..9).map(|_| (part(), part(), (part() - 0.4) * 220.0)).collect();
        let mut samples = Vec::new();
        for y in 0..height {
            for x in 0..width {
                let (x, y) = (f64::from(x) / f64::from(width), f64::from(y) / f64::from(height));
                let at = |(right, down, high): &(f64, f64, f64)| {
                    high / (1.0 + 40.0 * ((x - right).powi(2) + (y - down).powi(2)))
                };
                let sample = (110.0 + hills.iter().map(at).sum::<f64>()).round() as u8;
                samples.extend([sample, sample, 255 - sample / 2]);
            }
        }
        samples
    }

    pub(crate) fn stored(&self, stored: Stored) -> Vec<u8> {
        let (width, height) = self.size;
        match stored {
            Stored::Plain => png(self.size, BitDepth::Eight, &self.samples()),
            Stored::Wide => {
                let wide: Vec<u8> = self.samples().into_iter().flat_map(|of| [of; 2]).collect();
                png(self.size, BitDepth::Sixteen, &wide)
            }
            Stored::WebP => {
                let mut bytes = Vec::new();
                let encoder = image_webp::WebPEncoder::new(&mut bytes);
                let color = image_webp::ColorType::Rgb8;
                encoder.encode(&self.samples(), width, height, color).unwrap();
                bytes
            }
            Stored::Recompressed => {
                let smaller = Self { seed: self.seed, size: (width * 9 / 10, height * 9 / 10) };
                jpeg::mosaic(smaller.size.0, smaller.size.1, &smaller.samples())
            }
        }
    }
}

fn png((width, height): (u32, u32), depth: BitDepth, samples: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(samples).unwrap();
    bytes
}

/// A picture that is given by its bytes.
pub(crate) fn inline(name: &str, bytes: Vec<u8>) -> Picture {
    let (name, address) = (name.to_owned(), Address::Inline(bytes));
    Picture { name, address, width: None, height: None, media_type: None }
}

/// The pair `DATASET:NUMBER` with this source, and a target and an instruction of its own.
pub(crate) fn pair(dataset: &str, number: usize, source: Vec<u8>) -> EditPair {
    let mut pair = EditPair::new(
        format!("{dataset}:{number}"),
        dataset.to_owned(),
        inline(&format!("source/{number}"), source),
    );
    let target = dataset.bytes().map(u32::from).sum::<u32>() * 1000;
    let target = Photo { seed: target + u32::try_from(number).unwrap(), size: (32, 24) };
    pair.target = Some(inline(&format!("target/{number}"), target.stored(Stored::Plain)));
    pair.instruction = Some(format!("change {number} of {dataset}"));
    pair
}
