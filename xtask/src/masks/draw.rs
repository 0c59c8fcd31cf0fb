//! Pairs that are drawn: scenes with texture, an edit of a known region, and what a generator does
//! to the rest.
//!
//! All of it is arithmetic that is exact everywhere, so that the pairs are the same on every
//! machine.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "colours are rounded within 0 to 255"
)]

use super::Pair;
use crate::fixtures::draw::encode;
use crate::fixtures::noise::{cell, smooth, wave};

const KINDS: [&str; 6] = ["replace", "adjust", "remove", "add", "background", "style"];
const RESIDUES: [&str; 5] = ["none", "noise", "tint", "blur", "resample"];

type Colour = [f64; 3];

/// A picture in the making.
#[derive(Clone)]
struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Colour>,
}

/// A pair of each kind and residue for each seed.
pub(super) fn pairs(seeds: &[u64], (width, height): (usize, usize)) -> anyhow::Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for seed in seeds {
        for kind in KINDS {
            for residue in RESIDUES {
                let own = *seed * 1000 + pairs.len() as u64;
                let (source, target, truth) = edit(kind, own, width, height);
                let target = left_behind(residue, target, own);
                pairs.push(Pair {
                    name: format!("{:03}", pairs.len()),
                    kind: kind.to_owned(),
                    residue: residue.to_owned(),
                    source: source.png()?,
                    target: target.png()?,
                    truth: Canvas { pixels: truth, ..source }.grey_png()?,
                });
            }
        }
    }
    Ok(pairs)
}

const NONE: Colour = [0.0; 3];
const ALL: Colour = [255.0; 3];

/// Source, target and truth.
fn edit(kind: &str, seed: u64, width: usize, height: usize) -> (Canvas, Canvas, Vec<Colour>) {
    let canvas = |seed| Canvas::scene(seed, width, height);
    let source = canvas(seed);
    let inside = region(seed, width, height);
    let mix = |first: &Canvas, second: &Canvas, inside: &[bool]| {
        let pairs = first.pixels.iter().zip(&second.pixels).zip(inside);
        let pixels = pairs.map(|((a, b), inside)| if *inside { *b } else { *a }).collect();
        Canvas { pixels, width, height }
    };
    let truth = |inside: &[bool]| inside.iter().map(|of| if *of { ALL } else { NONE }).collect();
    let target = match kind {
        "replace" => mix(&source, &canvas(seed + 500_001), &inside),
        "adjust" => {
            let turned = source.map(|[r, g, b]| [0.4 * r + 20.0, 0.5 * b + 60.0, 0.6 * g + 40.0]);
            mix(&source, &turned, &inside)
        }
        "remove" => source.filled_in(&inside),
        "add" => {
            let before = source.filled_in(&inside);
            return (before, source, truth(&inside));
        }
        "background" => {
            let outside: Vec<_> = inside.iter().map(|of| !of).collect();
            return (
                source.clone(),
                mix(&source, &canvas(seed + 500_002), &outside),
                truth(&outside),
            );
        }
        _ => {
            let target = source.map(|pixel| match seed % 3 {
                0 => {
                    let [r, g, b] = pixel;
                    let grey = 0.3 * r + 0.6 * g + 0.1 * b;
                    [grey * 1.1 + 20.0, grey * 0.95, grey * 0.7]
                }
                1 => pixel.map(|of| (of / 64.0).round() * 64.0 * 0.8 + 30.0),
                _ => pixel.map(|of| 255.0 - of),
            });
            return (source, target, vec![ALL; width * height]);
        }
    };
    (source, target, truth(&inside))
}

/// A region with a rough outline, a tenth of the picture or so.
fn region(seed: u64, width: usize, height: usize) -> Vec<bool> {
    let chance = |of: u64| cell(seed ^ 77, of as f64, 0.5);
    let unit = width.min(height) as f64;
    let (x, y) = ((0.3 + 0.4 * chance(1)) * width as f64, (0.3 + 0.4 * chance(2)) * height as f64);
    let radius = (0.17 + 0.07 * chance(3)) * unit;
    let places = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)));
    places
        .map(|(column, row)| {
            let (dx, dy) = ((column as f64 - x) / radius, (row as f64 - y) / radius);
            let rough = 0.8 + 0.4 * smooth(seed ^ 78, 2.0 * dx + 50.0, 2.0 * dy + 50.0);
            dx * dx + dy * dy < rough * rough
        })
        .collect()
}

/// What a generator does to a target.
fn left_behind(residue: &str, target: Canvas, seed: u64) -> Canvas {
    match residue {
        "noise" => target.noisy(seed),
        "tint" => target.map(|[r, g, b]| [1.04 * r - 5.0, 0.98 * g + 2.0, 0.95 * b + 5.0]),
        "blur" => target.blurred(),
        "resample" => target.resampled(),
        _ => target,
    }
}

impl Canvas {
    /// A scene: slopes of colour, coarse and fine texture, bricks and stripes.
    fn scene(seed: u64, width: usize, height: usize) -> Self {
        let chance = |of: u64| cell(seed ^ 99, of as f64, 1.5);
        let base = [0, 1, 2].map(|of| 60.0 + 130.0 * chance(of));
        let slope = [3, 4, 5].map(|of| 80.0 * (chance(of) - 0.5));
        let patches = [6, 7, 8].map(|of| 150.0 * (chance(of) - 0.5));
        let (grain, lines) = (6.0 + 30.0 * chance(9), if chance(10) < 0.5 { 0.0 } else { 26.0 });
        let mut pixels = Vec::new();
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let (x, y) = (x as f64, y as f64);
            let down = y / height as f64 - 0.5;
            let patch = smooth(seed ^ 1, x / 31.0, y / 27.0) - 0.5;
            let fine = smooth(seed ^ 2, x / 2.6, y / 2.6) - 0.5;
            let coarse = smooth(seed ^ 3, x / 7.0, y / 6.0) - 0.5;
            let line = if wave(y / 17.0 + 0.2 * patch) > 0.85 { lines } else { 0.0 };
            let mut pixel = NONE;
            for (to, ((base, slope), patches)) in
                pixel.iter_mut().zip(base.iter().zip(slope).zip(patches))
            {
                let all = base + slope * down + patches * patch + grain * (fine + coarse) - line;
                *to = all.clamp(0.0, 255.0).round();
            }
            pixels.push(pixel);
        }
        Self { width, height, pixels }
    }

    fn map(&self, of: impl Fn(Colour) -> Colour) -> Self {
        let pixels = self.pixels.iter().map(|pixel| of(*pixel).map(level)).collect();
        Self { pixels, ..*self }
    }

    fn at(&self, x: usize, y: usize) -> Colour {
        let at = y.min(self.height - 1) * self.width + x.min(self.width - 1);
        self.pixels.get(at).copied().unwrap_or_default()
    }

    /// What is inside, made of what lies around: each pixel takes from the nearest four outside,
    /// along its row and its column, the nearer the more.
    fn filled_in(&self, inside: &[bool]) -> Self {
        let mut out = self.clone();
        let is_inside = |x: usize, y: usize| inside.get(y * self.width + x) == Some(&true);
        for y in 0..self.height {
            for x in (0..self.width).filter(|x| is_inside(*x, y)) {
                let left = (0..x).rev().find(|x| !is_inside(*x, y)).map(|to| (to, y));
                let right = (x..self.width).find(|x| !is_inside(*x, y)).map(|to| (to, y));
                let above = (0..y).rev().find(|y| !is_inside(x, *y)).map(|to| (x, to));
                let below = (y..self.height).find(|y| !is_inside(x, *y)).map(|to| (x, to));
                let (mut sum, mut weights) = (NONE, 0.0);
                for (column, row) in [left, right, above, below].into_iter().flatten() {
                    let weight = 1.0 / (column.abs_diff(x) + row.abs_diff(y)) as f64;
                    weights += weight;
                    for (sum, of) in sum.iter_mut().zip(self.at(column, row)) {
                        *sum += weight * of;
                    }
                }
                if let Some(to) = out.pixels.get_mut(y * self.width + x) {
                    *to = sum.map(|of| level(of / weights));
                }
            }
        }
        out
    }

    /// Noise of pixels, and of blocks as a strong compression leaves them.
    fn noisy(&self, seed: u64) -> Self {
        let mut out = self.clone();
        for (at, pixel) in out.pixels.iter_mut().enumerate() {
            let (x, y) = ((at % self.width) as f64, (at / self.width) as f64);
            let block = 3.0 * (cell(seed ^ 4, x / 8.0, y / 8.0) - 0.5);
            for (channel, value) in (5_u64..).zip(pixel) {
                // Two of them together are near to a bell.
                let noise = cell(seed ^ channel, x, y) + cell(seed ^ channel << 8, x, y) - 1.0;
                *value = level(*value + 5.0 * noise + block);
            }
        }
        out
    }

    /// Through 1 2 1, both ways.
    fn blurred(&self) -> Self {
        let step = |of: &Self, dx: usize, dy: usize| {
            let mut out = of.clone();
            for (at, pixel) in out.pixels.iter_mut().enumerate() {
                let (x, y) = (at % of.width, at / of.width);
                let (a, c) =
                    (of.at(x.saturating_sub(dx), y.saturating_sub(dy)), of.at(x + dx, y + dy));
                for (value, (a, c)) in pixel.iter_mut().zip(a.into_iter().zip(c)) {
                    *value = (a + 2.0 * *value + c) / 4.0;
                }
            }
            out
        };
        step(&step(self, 1, 0), 0, 1).map(|pixel| pixel)
    }

    /// To sides that are multiples of 16, by straight lines.
    fn resampled(&self) -> Self {
        let (width, height) = (self.width / 16 * 16, self.height / 16 * 16);
        let place = |at: usize, of: usize, all: usize| {
            let centre = ((at as f64 + 0.5) * all as f64 / of as f64 - 0.5).max(0.0);
            (centre.floor() as usize, centre - centre.floor())
        };
        let mut pixels = Vec::new();
        for y in 0..height {
            let (row, down) = place(y, height, self.height);
            for x in 0..width {
                let (column, across) = place(x, width, self.width);
                let mut pixel = NONE;
                for (dx, dy, weight) in [
                    (0, 0, (1.0 - across) * (1.0 - down)),
                    (1, 0, across * (1.0 - down)),
                    (0, 1, (1.0 - across) * down),
                    (1, 1, across * down),
                ] {
                    for (to, of) in pixel.iter_mut().zip(self.at(column + dx, row + dy)) {
                        *to += weight * of;
                    }
                }
                pixels.push(pixel.map(level));
            }
        }
        Self { width, height, pixels }
    }

    fn size(&self) -> (u32, u32) {
        let side = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        (side(self.width), side(self.height))
    }

    fn png(&self) -> anyhow::Result<Vec<u8>> {
        let samples: Vec<_> = self.pixels.iter().flatten().map(|of| *of as u8).collect();
        encode(self.size(), png::ColorType::Rgb, &samples)
    }

    /// The first channel.
    fn grey_png(&self) -> anyhow::Result<Vec<u8>> {
        let samples: Vec<_> = self.pixels.iter().map(|[of, ..]| *of as u8).collect();
        encode(self.size(), png::ColorType::Grayscale, &samples)
    }
}

fn level(value: f64) -> f64 {
    value.round().clamp(0.0, 255.0)
}
