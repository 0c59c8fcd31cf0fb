//! Pictures on the grid that they are compared on.

use super::plane::Plane;
use crate::decode::Rgb;

/// Red, green and blue from 0 to 255, on a grid.
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) height: usize,
    /// A pixel after the other, row by row.
    pub(super) pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Its channels, from 0 to 255.
    pub(super) fn planes(&self) -> [Plane; 3] {
        let mut planes = [0, 1, 2].map(|_| Plane::new(self.width, self.height));
        let [red, green, blue] = &mut planes;
        let to = red.data.iter_mut().zip(&mut green.data).zip(&mut blue.data);
        for (((red, green), blue), [r, g, b]) in to.zip(&self.pixels) {
            (*red, *green, *blue) = (f32::from(*r), f32::from(*g), f32::from(*b));
        }
        planes
    }
}

/// The grid of a source: each of its pixels is a square of pixels of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// Pixels of the source along a side of the square.
    pub(super) factor: usize,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Width and height of the source.
    source: (usize, usize),
}

impl Grid {
    /// The finest grid whose sides are no longer than `side`.
    pub(super) fn of(source: &Rgb, side: f64) -> Self {
        let (width, height) = (source.width as usize, source.height as usize);
        let mut factor = 1;
        while (width.max(height)).div_ceil(factor) as f64 > side {
            factor += 1;
        }
        let source = (width, height);
        Self { factor, width: width.div_ceil(factor), height: height.div_ceil(factor), source }
    }

    /// A picture on this grid: the means of squares where it has the size of the source, else
    /// resampled.
    pub(super) fn bring(self, picture: &Rgb) -> Picture {
        let size = (picture.width as usize, picture.height as usize);
        let pixels =
            if size == self.source { self.means(picture) } else { self.resampled(picture, size) };
        Picture { width: self.width, height: self.height, pixels }
    }

    fn means(self, picture: &Rgb) -> Vec<[u8; 3]> {
        if self.factor == 1 {
            return picture.samples.as_chunks::<3>().0.to_vec();
        }
        let mut out = Vec::with_capacity(self.width * self.height);
        // Down first, which is the most and goes over samples side by side.
        let samples = self.source.0.max(1) * 3;
        let mut down = vec![0_u32; samples];
        let mut sums = vec![[0_u32; 3]; self.width];
        for rows in picture.samples.chunks(samples * self.factor) {
            let count = rows.len() / samples;
            down.fill(0);
            for row in rows.chunks(samples) {
                for (sum, sample) in down.iter_mut().zip(row) {
                    *sum += u32::from(*sample);
                }
            }
            let columns = down.as_chunks::<3>().0.chunks(self.factor);
            for (sum, some) in sums.iter_mut().zip(columns) {
                *sum = [0; 3];
                for pixel in some {
                    for (sum, of) in sum.iter_mut().zip(pixel) {
                        *sum += of;
                    }
                }
            }
            let whole = self.source.0 / self.factor;
            let mean = |sums: &[[u32; 3]], columns: usize, out: &mut Vec<[u8; 3]>| {
                let all = u32::try_from(columns * count).unwrap_or(u32::MAX).max(1);
                // A whole division a sample is slow; this is exact as far as squares go.
                let inverse = (1_u64 << 32).div_ceil(u64::from(all));
                out.extend(sums.iter().map(|sum| {
                    sum.map(|sum| {
                        let mean = (u64::from(sum + all / 2) * inverse) >> 32;
                        u8::try_from(mean).unwrap_or(u8::MAX)
                    })
                }));
            };
            let (squares, rest) = sums.split_at(whole.min(sums.len()));
            mean(squares, self.factor, &mut out);
            mean(rest, self.source.0 % self.factor, &mut out);
        }
        out
    }

    fn resampled(self, picture: &Rgb, size: (usize, usize)) -> Vec<[u8; 3]> {
        let across = taps(self.width, self.factor, self.source.0, size.0);
        let down = taps(self.height, self.factor, self.source.1, size.1);
        let pixels = picture.samples.as_chunks::<3>().0;
        let row = |y: usize| pixels.get(y * size.0..(y + 1) * size.0).unwrap_or_default();
        // Across first, a row of the picture at a time, each kept while it is needed.
        let mut kept: std::collections::VecDeque<(usize, Vec<[f32; 3]>)> = Default::default();
        let mut out = Vec::with_capacity(self.width * self.height);
        for taps in &down {
            kept.retain(|(y, _)| *y >= taps.first);
            let mut next = kept.back().map_or(taps.first, |(y, _)| y + 1);
            while next < taps.first + taps.weights.len() {
                let from = row(next);
                kept.push_back((next, across.iter().map(|taps| taps.of(from)).collect()));
                next += 1;
            }
            let mut sums = vec![[0.0_f32; 3]; self.width];
            for ((_, line), weight) in kept.iter().zip(&taps.weights) {
                for (sum, value) in sums.iter_mut().zip(line) {
                    for (sum, value) in sum.iter_mut().zip(value) {
                        *sum += weight * value;
                    }
                }
            }
            out.extend(sums.into_iter().map(|pixel| pixel.map(rounded)));
        }
        out
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
fn rounded(value: f32) -> u8 {
    (value + 0.5).clamp(0.0, 255.0) as u8
}

/// What a place of the grid takes of a row or column of a picture.
struct Taps {
    first: usize,
    weights: Vec<f32>,
}

impl Taps {
    fn of(&self, row: &[[u8; 3]]) -> [f32; 3] {
        let mut sum = [0.0; 3];
        for (pixel, weight) in row.iter().skip(self.first).zip(&self.weights) {
            for (sum, sample) in sum.iter_mut().zip(pixel) {
                *sum += weight * f32::from(*sample);
            }
        }
        sum
    }
}

/// Weights for each of `places`, which are `factor` pixels of a source of `source` pixels wide,
/// in a picture of `picture` pixels that shows the same. Centres lie upon centres. Where the
/// picture is the finer one, the weights reach over all that a place covers.
fn taps(places: usize, factor: usize, source: usize, picture: usize) -> Vec<Taps> {
    let scale = picture as f64 / source.max(1) as f64;
    let step = scale * factor as f64;
    let stretch = step.max(1.0);
    (0..places)
        .map(|place| {
            let centre = (place as f64 + 0.5) * step;
            let reach = 2.0 * stretch;
            let first = whole(centre - reach);
            let last = whole(centre + reach + 1.0).min(picture);
            let weights: Vec<f64> =
                (first..last).map(|at| cubic((at as f64 + 0.5 - centre) / stretch)).collect();
            let sum: f64 = weights.iter().sum();
            #[expect(clippy::cast_possible_truncation, reason = "the precision of samples")]
            let weights = weights.into_iter().map(|weight| (weight / sum) as f32).collect();
            Taps { first, weights }
        })
        .collect()
}

/// The whole part of what is not below zero; zero for what is.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "such casts saturate")]
fn whole(value: f64) -> usize {
    value as usize
}

/// Catmull and Rom's spline, which reaches two places to each side.
fn cubic(at: f64) -> f64 {
    let at = at.abs();
    if at < 1.0 {
        (1.5 * at - 2.5) * at * at + 1.0
    } else if at < 2.0 {
        ((-0.5 * at + 2.5) * at - 4.0) * at + 2.0
    } else {
        0.0
    }
}
