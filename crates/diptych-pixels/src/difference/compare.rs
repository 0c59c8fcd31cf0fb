//! Two pictures on one grid: whether the edit is local, and where it is.

use super::grid::Picture;
use super::lab::Differences;
use super::noise::{self, BINS, Bins, Scores, narrow, single};
use super::options::DifferenceOptions;
use super::plane::{CELL, Cells, Plane, majority};
use super::shape;
use super::sharpness::Sharpness;
use super::tint::Tint;
use super::verdict;
use crate::bits::Bits;

/// What was found.
pub(super) enum Found {
    Local { mask: Bits, components: u32, confidence: f64 },
    Global { share: f64, uniformity: f64 },
    Unchanged,
}

/// Cells in which the local strength of a difference is taken, to each side of a cell.
const AROUND_SMOOTH: usize = 2;
const AROUND_FINE: usize = 2;
/// What the place of an edge is known to, in pixels: coarse marks may lie that far beyond it.
const SLACK: usize = 2;
/// The blur, in pixels, and the noise, in squared differences of colour, from which on the
/// borders of an edit are washed out.
const WASHED_OUT: f32 = 0.8;
const NOISY: f32 = 0.3;
/// The share of the picture that has to change before it is asked whether it shows the same.
const NEARLY_ALL: f64 = 0.8;
/// Octaves above the threshold beyond which a difference counts no more.
const STRONG: f32 = 8.0;

pub(super) fn compare(source: &Picture, target: &Picture, options: &DifferenceOptions) -> Found {
    let tint = Tint::between(source, target);
    let (width, height) = (source.width, source.height);
    let sharpness = Sharpness::of(source, target, &tint);
    let (differences, moved) = differences(source, target, &tint, sharpness);

    // First on half the grid, to know which pixels are edited and do not speak for the noise.
    let half = noise::texture(&differences);
    let others = others(&tint, width, height);
    let (light, chroma) = differences.halved();
    let smoothing = narrow(options.smoothing);
    let rough = Scores::of((&light, &chroma), &half, &others, smoothing.div_ceil(2), true, options);
    let (left_out, left) = without_edits(&rough, &half, &others);
    let left_out = if left > 0.02 { left_out } else { others };
    let texture = noise::doubled(&half, width, height);
    let left_out = noise::doubled(&left_out, width, height);
    let both = (&differences.light, &differences.chroma);
    let scores = Scores::of(both, &texture, &left_out, smoothing, left <= 0.02, options);
    let shape = Shape { scores: &scores, texture: &texture, washed_out: 0.0 };
    let washed_out =
        (sharpness.lost() / WASHED_OUT).max(middle(&scores.noise, &texture) / NOISY).min(1.0);
    let mask = Shape { washed_out, ..shape }.mask(options);
    let (mask, components) = shape.keep(mask, options);

    let (share, uniformity) = verdict::spread(&tint);
    let is_unlike = moved >= options.tint
        || tint.scale >= options.misfit
        || f64::from(middle(&scores.light, &texture)) >= options.unrest
        || sharpness.is_all_lost();
    let is_global = is_unlike && share >= options.broad
        || mask.area() >= options.whole
        || mask.area() >= NEARLY_ALL && verdict::shows_the_same(&tint)
        || verdict::is_redrawn(&tint)
        || components == 0 && moved >= options.least_tint;
    if is_global {
        Found::Global { share, uniformity }
    } else if components == 0 {
        Found::Unchanged
    } else {
        let confidence = shape.confidence(&mask);
        Found::Local { mask, components, confidence }
    }
}

/// How colours differ once the tint is undone and both are equally sharp; and how far samples were
/// moved to undo it, in levels, on average.
fn differences(
    source: &Picture,
    target: &Picture,
    tint: &Tint,
    sharpness: Sharpness,
) -> (Differences, f64) {
    let (width, height) = (source.width, source.height);
    let undoing = tint.undoing();
    let mut moved = 0.0_f64;
    let mut undone = |y: usize, of_source: &mut [[f32; 3]], of_target: &mut [[f32; 3]]| {
        let mut of_row = 0.0;
        let to = of_source.iter_mut().zip(of_target);
        for ((to_source, to_target), (a, b)) in to.zip(source.row(y).iter().zip(target.row(y))) {
            let (pixel, by) = undoing.pixel(*a, *b);
            (*to_source, *to_target) = (a.map(f32::from), pixel);
            of_row += by;
        }
        moved += f64::from(of_row);
    };
    let kernels = sharpness.kernels();
    let differences = if kernels == [None, None] {
        Differences::between(width, height, undone)
    } else {
        let mut planes = [[(); 3]; 2].map(|of| of.map(|()| Plane::new(width, height)));
        let (mut of_source, mut of_target) = (vec![[0.0; 3]; width], vec![[0.0; 3]; width]);
        for y in 0..height {
            undone(y, &mut of_source, &mut of_target);
            for (planes, row) in planes.iter_mut().zip([&of_source, &of_target]) {
                for (channel, plane) in planes.iter_mut().enumerate() {
                    let to = plane.data.iter_mut().skip(y * width);
                    for (to, pixel) in to.zip(row) {
                        *to = pixel.get(channel).copied().unwrap_or_default();
                    }
                }
            }
        }
        for (planes, half) in planes.iter_mut().zip(kernels) {
            if let Some(half) = half {
                *planes = planes.each_ref().map(|plane| plane.through(half));
            }
        }
        Differences::between(width, height, |y, of_source, of_target| {
            for (planes, row) in planes.iter().zip([of_source, of_target]) {
                for (channel, plane) in planes.iter().enumerate() {
                    for (pixel, value) in row.iter_mut().zip(plane.row(y.cast_signed())) {
                        if let Some(to) = pixel.get_mut(channel) {
                            *to = *value;
                        }
                    }
                }
            }
        })
    };
    (differences, moved / (3 * source.pixels.len().max(1)) as f64)
}

/// On half the grid, 1 for pixels of blocks that do not show the same in both; all 0 where none
/// does.
fn others(tint: &Tint, width: usize, height: usize) -> Vec<u8> {
    let none = !tint.blocks.iter().any(|block| tint.is_same(block));
    let (width, height, side) = (width.div_ceil(2), height.div_ceil(2), tint.side / 2);
    let mut out = Vec::with_capacity(width * height);
    for y in 0..height {
        let from = y / side * tint.across;
        let blocks = tint.blocks.get(from..from + tint.across).unwrap_or_default();
        let marks = blocks.iter().map(|block| u8::from(!none && !tint.is_same(block)));
        out.extend(marks.flat_map(|mark| std::iter::repeat_n(mark, side)).take(width));
    }
    out
}

/// What is left out of the noise: the others, and cells of which half stands out, with those
/// around them. And the share of pixels that is left.
fn without_edits(scores: &Scores, texture: &[u8], others: &[u8]) -> (Vec<u8>, f64) {
    let (width, height) = (scores.smooth.width, scores.smooth.height);
    let columns = width.max(1);
    let mut cells = Cells::new(width, height);
    let rows = scores.smooth.rows().zip(texture.chunks(columns));
    for (y, (row, bins)) in rows.enumerate() {
        let pieces = row.chunks(CELL).zip(bins.chunks(CELL));
        for (cell, (row, bins)) in cells.row_of_mut(y).iter_mut().zip(pieces) {
            for (score, bin) in row.iter().zip(bins) {
                *cell += f32::from(*score >= of(&scores.threshold, *bin));
            }
        }
    }
    for cell in &mut cells.data {
        *cell = f32::from(*cell >= (CELL * CELL / 2) as f32);
    }
    let cells = cells.sums(1);
    let mut left_out = Vec::with_capacity(others.len());
    let mut left = 0_u64;
    for (y, row) in others.chunks(columns).enumerate() {
        for (cell, row) in cells.row_of(y).iter().zip(row.chunks(CELL)) {
            for other in row {
                let out = *other | u8::from(*cell > 0.0);
                left += u64::from(out == 0);
                left_out.push(out);
            }
        }
    }
    (left_out, left as f64 / others.len().max(1) as f64)
}

fn of(bins: &Bins, bin: u8) -> f32 {
    bins.get(usize::from(bin)).copied().unwrap_or_default()
}

/// The middle of what the pixels' strengths of texture stand for.
fn middle(bins: &Bins, texture: &[u8]) -> f32 {
    let mut counts = [0_usize; BINS];
    for bin in texture {
        if let Some(count) = counts.get_mut(usize::from(*bin)) {
            *count += 1;
        }
    }
    let mut values: Vec<_> = bins.iter().copied().zip(counts).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0;
    let found = values.into_iter().find(|(_, count)| {
        sum += count;
        sum * 2 >= texture.len()
    });
    found.map_or(0.0, |(value, _)| value)
}

/// How scores become a mask.
#[derive(Clone, Copy)]
struct Shape<'a> {
    scores: &'a Scores,
    texture: &'a [u8],
    /// From 0 to 1: how much the borders of an edit are washed out.
    washed_out: f32,
}

impl Shape<'_> {
    fn width(&self) -> usize {
        self.scores.smooth.width
    }

    fn bits(&self, marks: &[u8]) -> Bits {
        let side = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        Bits::from_bytes((side(self.width()), side(self.scores.smooth.height)), marks)
    }

    /// A radius in pixels, of a share of the longest side.
    fn radius(&self, share: f64) -> usize {
        let longest = self.width().max(self.scores.smooth.height);
        if share == 0.0 { 0 } else { narrow(share * longest as f64).max(1) }
    }

    /// Where the source differs from the target: found on smooth scores, drawn on fine ones.
    fn mask(&self, options: &DifferenceOptions) -> Bits {
        let strong = single(options.strong);
        let strict: Vec<f32> = self
            .scores
            .threshold
            .iter()
            .map(|of| (of / single(options.threshold)).max(1.0))
            .collect();
        let strict = |bin: u8| strict.get(usize::from(bin)).copied().unwrap_or(1.0);
        let fine = &self.scores.fine.data;
        let pairs = || fine.iter().zip(self.texture);
        let marks: Vec<u8> =
            pairs().map(|(score, bin)| u8::from(*score >= strong * strict(*bin))).collect();
        let sure = majority(&marks, self.width(), 1);
        let mut found = self.bits(&self.standing_out(single(options.relative)));
        found.unite(&self.bits(&sure));
        let found = shape::dilate(&found, SLACK);

        let weak = single(options.weak);
        let strength = self.strength(&found, |score, bin| score >= weak * strict(bin));
        let edge = single(options.edge) * self.washed_out;
        let width = self.width().max(1);
        let mut marks = Vec::with_capacity(fine.len());
        let mut surest = Vec::with_capacity(fine.len());
        let rows = fine.chunks(width).zip(self.texture.chunks(width)).zip(sure.chunks(width));
        for (y, ((scores, bins), sure)) in rows.enumerate() {
            let pieces = scores.chunks(CELL).zip(bins.chunks(CELL)).zip(sure.chunks(CELL));
            for (strength, ((scores, bins), sure)) in strength.row_of(y).iter().zip(pieces) {
                for ((score, bin), sure) in scores.iter().zip(bins).zip(sure) {
                    let least = edge * strength;
                    marks.push(u8::from(*score >= least.max(weak * strict(*bin))));
                    surest.push(*sure & u8::from(*score >= least));
                }
            }
        }
        let mut mask = self.bits(&majority(&marks, self.width(), 2));
        mask.intersect(&found);
        mask.unite(&self.bits(&surest));
        let mask = shape::close(&mask, self.radius(options.closing));
        let mut mask = shape::open(&mask, self.radius(options.opening));
        let mut holes = mask.clone();
        holes.invert();
        let pixels = self.texture.len() as f64;
        let largest = (0.15 * mask.count() as f64).min(options.largest_hole * pixels);
        for hole in shape::parts(&holes, false) {
            if (hole.pixels as f64) < largest && !hole.at_border {
                hole.draw(&mut mask, true);
            }
        }
        mask
    }

    /// Smooth scores that stand out from the noise, and are not much weaker than those around them
    /// that do: what a strong difference spills over its border is weaker.
    fn standing_out(&self, relative: f32) -> Vec<u8> {
        let (width, height) = (self.width(), self.scores.smooth.height);
        let (mut sums, mut counts) = (Cells::new(width, height), Cells::new(width, height));
        let columns = width.max(1);
        let rows = || self.scores.smooth.rows().zip(self.texture.chunks(columns));
        for (y, (scores, bins)) in rows().enumerate() {
            let pieces = scores.chunks(CELL).zip(bins.chunks(CELL));
            let cells = sums.row_of_mut(y).iter_mut().zip(counts.row_of_mut(y));
            for ((sum, count), (scores, bins)) in cells.zip(pieces) {
                for (score, bin) in scores.iter().zip(bins) {
                    if *score >= of(&self.scores.threshold, *bin) {
                        *sum += score.sqrt();
                        *count += 1.0;
                    }
                }
            }
        }
        let (sums, counts) = (sums.sums(AROUND_SMOOTH), counts.sums(AROUND_SMOOTH));
        let mut marks = Vec::with_capacity(self.texture.len());
        for (y, (scores, bins)) in rows().enumerate() {
            let pieces = scores.chunks(CELL).zip(bins.chunks(CELL));
            let cells = sums.row_of(y).iter().zip(counts.row_of(y));
            for ((sum, count), (scores, bins)) in cells.zip(pieces) {
                let mean = sum / count.max(1.0);
                let least = relative * mean * mean;
                for (score, bin) in scores.iter().zip(bins) {
                    let stands_out = *score >= of(&self.scores.threshold, *bin);
                    marks.push(u8::from(stands_out && *score >= least));
                }
            }
        }
        marks
    }

    /// How strong differences are around a cell, of the pixels found that are at all.
    fn strength(&self, found: &Bits, is_any: impl Fn(f32, u8) -> bool) -> Cells {
        let (width, height) = (self.width(), self.scores.fine.height);
        let (mut sums, mut counts) = (Cells::new(width, height), Cells::new(width, height));
        for y in 0..height {
            let row = self.scores.fine.row(y.cast_signed());
            let bins = self.texture.get(y * width..(y + 1) * width).unwrap_or_default();
            for columns in found.runs(u32::try_from(y).unwrap_or(u32::MAX)) {
                let (from, to) = (columns.start as usize, columns.end as usize);
                let row = row.get(from..to).unwrap_or_default();
                let bins = bins.get(from..to).unwrap_or_default();
                let (sums, counts) = (sums.row_of_mut(y), counts.row_of_mut(y));
                for ((x, score), bin) in (from..).zip(row).zip(bins) {
                    if is_any(*score, *bin)
                        && let (Some(sum), Some(count)) =
                            (sums.get_mut(x / CELL), counts.get_mut(x / CELL))
                    {
                        *sum += score.sqrt();
                        *count += 1.0;
                    }
                }
            }
        }
        let (mut sums, counts) = (sums.sums(AROUND_FINE), counts.sums(AROUND_FINE));
        for (sum, count) in sums.data.iter_mut().zip(&counts.data) {
            let mean = *sum / count.max(1.0);
            *sum = mean * mean;
        }
        sums
    }

    /// The parts of a mask that are large and strong enough, and their number.
    fn keep(&self, mut mask: Bits, options: &DifferenceOptions) -> (Bits, u32) {
        let parts = shape::parts(&mask, true);
        let weights: Vec<f64> = parts.iter().map(|part| self.weight(part)).collect();
        let heaviest = weights.iter().copied().fold(0.0, f64::max);
        let least = options.smallest_area * self.texture.len() as f64;
        let mut kept = 0;
        for (part, weight) in parts.iter().zip(weights) {
            if (part.pixels as f64) < least || weight < options.smallest_part * heaviest {
                part.draw(&mut mask, false);
            } else {
                kept += 1;
            }
        }
        (mask, kept)
    }

    /// What a part's pixels count together: octaves above the threshold.
    fn weight(&self, part: &shape::Part) -> f64 {
        let runs = part.runs().flat_map(|(y, columns)| self.run(y, columns));
        let octaves = runs.map(|(score, bin)| self.scores.above(score, bin));
        octaves.map(|of| f64::from((of + 0.5).clamp(0.0, STRONG))).sum()
    }

    /// From 0 to 1: how far above the threshold the mask lies, and how little else does.
    fn confidence(&self, mask: &Bits) -> f64 {
        let around = shape::dilate(mask, 2 * SLACK);
        let all = self.texture.len();
        let pairs = self.scores.smooth.data.iter().zip(self.texture);
        let above = pairs.filter(|(score, bin)| self.stands_out(**score, **bin)).count();
        let (mut inside, mut within) = (0.0, 0_usize);
        for y in 0..mask.height() {
            for columns in mask.runs(y) {
                let pairs = self.run(y, columns);
                let octaves = pairs.map(|(score, bin)| self.scores.above(score, bin));
                inside += octaves.map(|of| f64::from(of.clamp(0.0, STRONG))).sum::<f64>();
            }
            for columns in around.runs(y) {
                let pairs = self.run(y, columns);
                within += pairs.filter(|(score, bin)| self.stands_out(*score, *bin)).count();
            }
        }
        let strength = inside / mask.count().max(1) as f64;
        let beyond = all as f64 - around.count() as f64;
        let stray = above.saturating_sub(within) as f64 / beyond.max(1.0);
        strength / (strength + 1.0) * (1.0 - stray)
    }

    fn stands_out(&self, score: f32, bin: u8) -> bool {
        score >= of(&self.scores.threshold, bin)
    }

    /// The smooth scores of a run of pixels, each with its strength of texture.
    fn run(&self, y: u32, columns: std::ops::Range<u32>) -> impl Iterator<Item = (f32, u8)> {
        let from = y as usize * self.width();
        let range = from + columns.start as usize..from + columns.end as usize;
        let scores = self.scores.smooth.data.get(range.clone()).unwrap_or_default();
        let bins = self.texture.get(range).unwrap_or_default();
        scores.iter().copied().zip(bins.iter().copied())
    }
}
