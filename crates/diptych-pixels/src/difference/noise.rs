//! What a generator does to pixels that it was not asked to change, learnt from the picture: a
//! floor of noise for each strength of texture, and how far differences stand out from it.
//!
//! Numbers are compared by their logarithms, for which the bits of a float serve: they grow with
//! it, an octave for each doubling, and are the same everywhere.

use super::lab::Differences;
use super::options::DifferenceOptions;
use super::plane::Plane;

/// Strengths of texture that are told apart: octaves of the squared gradient.
pub(super) const BINS: usize = 16;
/// The exponent, as a float stores it, of the weakest texture.
const WEAKEST: u32 = 127 - 6;

/// Bits of a float below an octave.
const OCTAVE: u32 = 23;
/// Steps of an octave in counts.
const STEPS: u32 = 32;
/// The least number that is counted, by its bits; what is smaller is counted with it.
const LEAST: f32 = 1.0 / 1024.0;
/// Octaves that are counted above it.
const OCTAVES: u32 = 28;

/// The share of pixels that a strength of texture needs to speak for itself.
const SPEAKS: f32 = 0.004;
/// And how many there have to be, at least.
const SPEAKERS: u32 = 15;

/// Each how many pixels one is looked at, in both directions.
const SAMPLED: usize = 2;

/// What a difference is added to before its logarithm is taken.
const NEAR_ZERO: f32 = 0.05;

/// For each strength of texture a number.
pub(super) type Bins = [f32; BINS];

/// How strong the texture is that both pictures share, for each pixel of a grid of half the width
/// and height.
pub(super) fn texture(differences: &Differences) -> Vec<u8> {
    let smooth = |plane: &Plane| gradient(plane).halved().mean(1);
    let [source, target] = differences.lightness.each_ref().map(smooth);
    source.data.iter().zip(&target.data).map(|(a, b)| bin(a.min(*b))).collect()
}

/// What is known of a grid of half the width and height, for each pixel.
pub(super) fn doubled(half: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(width * height);
    for y in 0..height {
        let columns = width.div_ceil(2);
        let row = half.get(y / 2 * columns..(y / 2 + 1) * columns).unwrap_or_default();
        out.extend(row.iter().flat_map(|value| [*value; 2]).take(width));
    }
    out
}

fn bin(gradient: f32) -> u8 {
    let exponent = (gradient.max(0.0) + 1e-3).to_bits() >> OCTAVE;
    let bin = exponent.saturating_sub(WEAKEST);
    u8::try_from(bin).unwrap_or(u8::MAX).min(15)
}

/// Squared gradients, by Sobel's kernels.
fn gradient(plane: &Plane) -> Plane {
    let mut out = Plane::new(plane.width, plane.height);
    let last = plane.width.saturating_sub(1);
    for (y, to) in (0_isize..).zip(out.rows_mut()) {
        let (above, here, below) = (plane.row(y - 1), plane.row(y), plane.row(y + 1));
        let columns: Vec<(f32, f32)> = above
            .iter()
            .zip(here)
            .zip(below)
            .map(|((a, b), c)| ((a + 2.0 * b + c) / 8.0, (c - a) / 8.0))
            .collect();
        let column = |x: usize| columns.get(x.min(last)).copied().unwrap_or_default();
        let middle = columns.windows(3).map(|three| match three {
            [(a, d), (_, e), (b, f)] => ((b - a), (d + 2.0 * e + f)),
            _ => (0.0, 0.0),
        });
        let ends = |x: usize| {
            let ((a, d), (_, e), (b, f)) = (column(x.saturating_sub(1)), column(x), column(x + 1));
            (b - a, d + 2.0 * e + f)
        };
        let all = std::iter::once(ends(0)).chain(middle).chain(std::iter::once(ends(last)));
        for (to, (across, down)) in to.iter_mut().zip(all) {
            *to = across * across + down * down;
        }
    }
    out
}

/// Counts of numbers for each strength of texture.
struct Counts {
    counts: Vec<u32>,
}

const PLACES: usize = (STEPS * OCTAVES) as usize;

impl Counts {
    fn new() -> Self {
        Self { counts: vec![0; BINS * PLACES] }
    }

    fn add(&mut self, bin: u8, value: f32) {
        let steps = (value.max(LEAST).to_bits() - LEAST.to_bits()) >> (OCTAVE - STEPS.ilog2());
        let place = (steps as usize).min(PLACES - 1);
        if let Some(count) = self.counts.get_mut(usize::from(bin) * PLACES + place) {
            *count += 1;
        }
    }

    /// A quantile for each strength, by its bits, and whether the strength speaks for itself.
    /// Those that do not take that of the nearest that does.
    fn quantiles(&self, shares: &[f32]) -> (Vec<[u32; BINS]>, [bool; BINS]) {
        let totals: Vec<u32> = self.counts.chunks(PLACES).map(|of| of.iter().sum()).collect();
        let all: u32 = totals.iter().sum();
        let least = ((all as f32) * SPEAKS).max(SPEAKERS as f32);
        let mut speaks = [false; BINS];
        for (speaks, total) in speaks.iter_mut().zip(&totals) {
            *speaks = *total as f32 >= least;
        }
        let none = speaks.iter().all(|speaks| !speaks);
        let quantiles = shares.iter().map(|share| {
            let mut row = [LEAST.to_bits(); BINS];
            for (at, to) in row.iter_mut().enumerate() {
                let nearest = (0..BINS)
                    .filter(|bin| none || speaks.get(*bin) == Some(&true))
                    .min_by_key(|bin| (bin.abs_diff(at), *bin));
                *to = self.quantile(nearest.unwrap_or(at), *share);
            }
            row
        });
        (quantiles.collect(), speaks)
    }

    fn quantile(&self, bin: usize, share: f32) -> u32 {
        let counts = self.counts.get(bin * PLACES..(bin + 1) * PLACES).unwrap_or_default();
        let total: u32 = counts.iter().sum();
        let wanted = total as f32 * share;
        let mut sum = 0;
        for (place, count) in (0_u32..).zip(counts) {
            sum += count;
            if sum as f32 > wanted {
                // The middle of the step; nothing at all where it is the first.
                let shift = OCTAVE - STEPS.ilog2();
                let within = if place == 0 { 0 } else { 1 << (shift - 1) };
                return LEAST.to_bits() + (place << shift) + within;
            }
        }
        LEAST.to_bits()
    }
}

/// How far differences stand out.
pub(super) struct Scores {
    /// Squared differences as multiples of the noise.
    pub(super) fine: Plane,
    /// The same, as means over squares.
    pub(super) smooth: Plane,
    /// From which smooth score a difference stands out, for each strength of texture.
    pub(super) threshold: Bins,
    /// The noise of lightness and of the rest together, in squared differences of colour.
    pub(super) noise: Bins,
    /// The noise of lightness alone.
    pub(super) light: Bins,
}

impl Scores {
    /// Of differences, learnt from pixels that are not `left_out`. In the first round many of
    /// those may still be edited, and what is above the middle is not believed.
    pub(super) fn of(
        (of_light, of_chroma): (&Plane, &Plane),
        texture: &[u8],
        left_out: &[u8],
        smoothing: usize,
        is_first: bool,
        options: &DifferenceOptions,
    ) -> Self {
        let light = floor(of_light, texture, left_out, options);
        let chroma = floor(of_chroma, texture, left_out, options);
        let mut weights = [(0.0, 0.0); BINS];
        for (to, (light, chroma)) in weights.iter_mut().zip(light.iter().zip(&chroma)) {
            *to = (0.5 / light, 0.5 / chroma);
        }
        let mut fine = Plane::new(of_light.width, of_light.height);
        let pairs = of_light.data.iter().zip(&of_chroma.data).zip(texture);
        for (to, ((of_light, of_chroma), bin)) in fine.data.iter_mut().zip(pairs) {
            let (light, chroma) = weights.get(usize::from(*bin)).copied().unwrap_or_default();
            *to = of_light * light + of_chroma * chroma;
        }
        let smooth = fine.mean(smoothing);
        let threshold = thresholds(&smooth, texture, left_out, is_first, options);
        let mut noise = [0.0; BINS];
        for (to, (light, chroma)) in noise.iter_mut().zip(light.iter().zip(&chroma)) {
            *to = light + chroma;
        }
        Self { fine, smooth, threshold, noise, light }
    }

    /// Octaves by which a smooth score lies above its threshold; below zero where it lies below.
    pub(super) fn above(&self, score: f32, bin: u8) -> f32 {
        let threshold = self.threshold.get(usize::from(bin)).copied().unwrap_or(1.0);
        let bits = |value: f32| (value + NEAR_ZERO).to_bits() as f32;
        (bits(score) - bits(threshold)) / (1_u32 << OCTAVE) as f32
    }
}

pub(super) fn narrow(value: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "such casts saturate"
    )]
    let value = (value + 0.5) as usize;
    value
}

pub(super) fn single(value: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "the precision of samples")]
    let value = value as f32;
    value
}

/// The middle of squared differences, smoothed, for each strength of texture. Noise does not
/// shrink where texture grows, so that an edit which wipes out texture, and is alone in having so
/// little of it, does not pass for noise.
fn floor(
    differences: &Plane,
    texture: &[u8],
    left_out: &[u8],
    options: &DifferenceOptions,
) -> Bins {
    let mut counts = Counts::new();
    let width = differences.width;
    let mut columns = vec![0.0_f32; width];
    for y in (0..differences.height).step_by(SAMPLED) {
        let at = y.cast_signed();
        columns.fill(0.0);
        for step in [-2, -1, 0, 1, 2] {
            for (sum, value) in columns.iter_mut().zip(differences.row(at + step)) {
                *sum += value;
            }
        }
        let skip = y * width + 2;
        let bins = texture.iter().zip(left_out).skip(skip).step_by(SAMPLED);
        for (five, (bin, out)) in columns.windows(5).step_by(SAMPLED).zip(bins) {
            if *out == 0 {
                counts.add(*bin, five.iter().sum::<f32>() / 25.0);
            }
        }
    }
    let (quantiles, _) = counts.quantiles(&[0.5]);
    let mut floor = [single(options.noise_floor); BINS];
    if let Some(middle) = quantiles.first() {
        let mut least = f32::INFINITY;
        for (to, bits) in floor.iter_mut().zip(middle).rev() {
            let value = f32::from_bits(*bits);
            least = least.min(value);
            *to = to.max(least);
        }
    }
    floor
}

/// From which smooth score a difference stands out.
fn thresholds(
    smooth: &Plane,
    texture: &[u8],
    left_out: &[u8],
    is_first: bool,
    options: &DifferenceOptions,
) -> Bins {
    let mut counts = Counts::new();
    let width = smooth.width.max(1);
    let rows = smooth.rows().zip(texture.chunks(width).zip(left_out.chunks(width)));
    for (scores, (bins, out)) in rows.step_by(SAMPLED) {
        let all = scores.iter().zip(bins.iter().zip(out));
        for (score, (bin, out)) in all.step_by(SAMPLED) {
            if *out == 0 {
                counts.add(*bin, score + NEAR_ZERO);
            }
        }
    }
    let (quantiles, _) = counts.quantiles(&[0.16, 0.5, 0.84]);
    let mut thresholds = [single(options.threshold); BINS];
    let [low, middle, high] = quantiles.as_slice() else {
        return thresholds;
    };
    let octave = f64::from(1_u32 << OCTAVE);
    let spreads = low.iter().zip(middle).zip(high);
    for (to, ((low, middle), high)) in thresholds.iter_mut().zip(spreads) {
        let below = f64::from(middle - low) / octave;
        let above = f64::from(high - middle) / octave;
        let spread = if is_first { above.min(1.3 * below) } else { above };
        let bits = f64::from(*middle) + options.spread * spread.clamp(0.35, 2.0) * octave;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "such casts saturate"
        )]
        let found = f32::from_bits((bits as u32).min(f32::MAX.to_bits())) - NEAR_ZERO;
        *to = to.max(found);
    }
    thresholds
}
