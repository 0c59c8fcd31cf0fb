//! Pictures on the grid that they are compared on.

use crate::decode::Rows;

/// Red, green and blue from 0 to 255, on a grid.
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) height: usize,
    /// A pixel after the other, row by row.
    pub(super) pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// The pixels of a row.
    pub(super) fn row(&self, y: usize) -> &[[u8; 3]] {
        self.pixels.get(y * self.width..(y + 1) * self.width).unwrap_or_default()
    }

    /// A pixel; beyond the picture stand those at its border.
    pub(super) fn at(&self, x: isize, y: isize) -> [u8; 3] {
        let within =
            |at: isize, of: usize| usize::try_from(at).unwrap_or(0).min(of.saturating_sub(1));
        let at = within(y, self.height) * self.width + within(x, self.width);
        self.pixels.get(at).copied().unwrap_or_default()
    }
}

/// The coarsest a grid gets: so many samples add up within 16 bits.
const COARSEST: usize = 256;

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
    pub(super) fn of((width, height): (u32, u32), side: f64) -> Self {
        let (width, height) = (width as usize, height as usize);
        let mut factor = 1;
        while (width.max(height)).div_ceil(factor) as f64 > side && factor < COARSEST {
            factor += 1;
        }
        let source = (width, height);
        Self { factor, width: width.div_ceil(factor), height: height.div_ceil(factor), source }
    }

    /// What brings a picture of this size onto the grid: the means of squares where it has the size of the
    /// source, else it is resampled.
    pub(super) fn bring(self, (width, height): (u32, u32)) -> Bringing {
        let size = (width as usize, height as usize);
        if size == self.source {
            Bringing::Means {
                grid: self,
                down: vec![0; size.0 * 3],
                rows: 0,
                pixels: Vec::with_capacity(self.width * self.height),
            }
        } else {
            Bringing::Whole { grid: self, size, samples: Vec::with_capacity(size.0 * size.1 * 3) }
        }
    }

    /// Adds the means of squares, of which the sums of so many rows are given.
    fn means(self, down: &[u16], rows: usize, pixels: &mut Vec<[u8; 3]>) {
        let squares = |columns: &[[u16; 3]], wide: usize, pixels: &mut Vec<[u8; 3]>| {
            let all = u32::try_from(wide * rows).unwrap_or(u32::MAX).max(1);
            // A division for each sample is slow. This is as good where squares are no larger than
            // 60 pixels a side, and off by less than a level where they are.
            let inverse = (1_u64 << 32).div_ceil(u64::from(all));
            let mean = |sum: u32| {
                let mean = (u64::from(sum + all / 2) * inverse) >> 32;
                u8::try_from(mean).unwrap_or(u8::MAX)
            };
            pixels.extend(columns.chunks_exact(wide.max(1)).map(|some| {
                let sums = some.iter().fold([0_u32; 3], |[r, g, b], column| {
                    let [x, y, z] = column.map(u32::from);
                    [r + x, g + y, b + z]
                });
                sums.map(mean)
            }));
        };
        let columns = down.as_chunks::<3>().0;
        let (whole, rest) = columns.split_at(self.source.0 / self.factor * self.factor);
        squares(whole, self.factor, pixels);
        squares(rest, rest.len(), pixels);
    }

    fn resampled(self, samples: &[u8], size: (usize, usize)) -> Vec<[u8; 3]> {
        let across = taps(self.width, self.factor, self.source.0, size.0);
        let down = taps(self.height, self.factor, self.source.1, size.1);
        let pixels = samples.as_chunks::<3>().0;
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

/// A picture that is being brought onto a grid, row by row.
pub(super) enum Bringing {
    Means {
        grid: Grid,
        /// Sums of the rows of a square so far, sample by sample: down first, which is the most.
        down: Vec<u16>,
        /// How many rows that are.
        rows: usize,
        pixels: Vec<[u8; 3]>,
    },
    Whole {
        grid: Grid,
        size: (usize, usize),
        samples: Vec<u8>,
    },
}

impl Rows for Bringing {
    fn row(&mut self, samples: &[u8]) {
        match self {
            Self::Means { grid, pixels, .. } if grid.factor == 1 => {
                pixels.extend_from_slice(samples.as_chunks().0);
            }
            Self::Means { grid, down, rows, pixels } => {
                for (sum, sample) in down.iter_mut().zip(samples) {
                    *sum += u16::from(*sample);
                }
                *rows += 1;
                if *rows == grid.factor {
                    grid.means(down, *rows, pixels);
                    *rows = 0;
                    down.fill(0);
                }
            }
            Self::Whole { samples: all, .. } => all.extend_from_slice(samples),
        }
    }
}

impl Bringing {
    /// The picture, once all rows are there.
    pub(super) fn finish(self) -> Picture {
        match self {
            Self::Means { grid, down, rows, mut pixels } => {
                if rows > 0 {
                    grid.means(&down, rows, &mut pixels);
                }
                Picture { width: grid.width, height: grid.height, pixels }
            }
            Self::Whole { grid, size, samples } => {
                let pixels = grid.resampled(&samples, size);
                Picture { width: grid.width, height: grid.height, pixels }
            }
        }
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
