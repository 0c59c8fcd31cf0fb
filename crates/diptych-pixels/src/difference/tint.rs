//! What was done to all of the picture: the colours that a target has for the same things.
//!
//! Source and target are looked at block by block, where noise and blur cancel out. Blocks that
//! show the same texture, or none, vote for the shift between the two. From those near the shift
//! that most agree on, an affine map of colours is fitted; what it does not explain loses its
//! weight, step by step.

use super::grid::Picture;

/// Pixels along a side of a block, and of small pictures.
const SIDE: usize = 8;
const SMALL_SIDE: usize = 4;
/// Pictures with a shorter side than this are small.
const SMALL: usize = 96;

/// Variance of brightness, in squared levels, below which a block has no texture.
const FLAT: f32 = 6.0;
/// Correlation of brightness from which two blocks show the same texture.
const SAME: f32 = 0.7;
/// Blocks that have to agree before the others are left out.
const FEW: usize = 20;

/// Levels of a step of the shifts that are voted for, and how many to each side of none.
const STEP: f32 = 8.0;
const STEPS: i32 = 6;
const VOTES: usize = 13;
/// The shift, in levels, at which a vote counts a quarter: small shifts are likelier.
const LIKELY: f32 = 20.0;

/// Rounds of fitting.
const ROUNDS: usize = 8;
/// How far blocks may lie from the map at first and at last, in levels.
const WIDEST: f64 = 8.0;
const NARROWEST: f64 = 0.7;
/// What holds the map to leaving colours as they are, in squared levels.
const RIDGE: f64 = 20.0;

/// A block of source and target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    source: [f32; 3],
    target: [f32; 3],
    /// Whether neither has texture.
    pub(super) is_flat: bool,
    /// How strong the texture of source and target is: the variance of brightness.
    pub(super) contrast: [f32; 2],
    /// How alike their textures are, from -1 to 1.
    pub(super) correlation: f32,
    /// Distance from the map of colours, in levels; beyond all bounds where textures differ.
    pub(super) distance: f64,
}

impl Block {
    /// Whether both have texture.
    pub(super) fn has_texture(&self) -> bool {
        let [source, target] = self.contrast;
        source.min(target) >= FLAT
    }

    /// Whether the block may show the same in both.
    pub(super) fn agrees(&self) -> bool {
        self.is_flat || self.correlation > SAME
    }

    /// From target to source, in levels.
    fn shift(&self) -> [f32; 3] {
        let [a, b, c] = self.source;
        let [x, y, z] = self.target;
        [a - x, b - y, c - z]
    }

    /// How far the colours of source and target lie apart, in levels.
    pub(super) fn apart(&self) -> f32 {
        self.shift().iter().map(|of| of * of).sum::<f32>().sqrt()
    }
}

/// The blocks of two pictures, and how colours of the target become those of the source.
pub(super) struct Tint {
    /// Pixels along a side of a block.
    pub(super) side: usize,
    /// Blocks in a row.
    pub(super) across: usize,
    pub(super) blocks: Vec<Block>,
    /// For each channel of what is added: shares of the channels, and a constant.
    map: [[f64; 4]; 3],
    /// How far blocks that show the same lie from the map, in levels.
    pub(super) scale: f64,
}

/// What the target's channels are counted from.
const MIDDLE: f64 = 128.0;

impl Tint {
    pub(super) fn between(source: &Picture, target: &Picture) -> Self {
        let small = source.width.min(source.height) < SMALL;
        let side = if small { SMALL_SIDE } else { SIDE };
        let across = source.width.div_ceil(side);
        let mut tint = Self {
            side,
            across,
            blocks: blocks(source, target, side),
            map: [[0.0; 4]; 3],
            scale: WIDEST,
        };
        tint.fit();
        tint
    }

    fn fit(&mut self) {
        let few = self.blocks.iter().filter(|block| block.agrees()).count() < FEW;
        let voters: Vec<Block> =
            self.blocks.iter().filter(|block| few || block.agrees()).copied().collect();
        let start = start(&voters);
        for (row, shift) in self.map.iter_mut().zip(start) {
            *row = [0.0, 0.0, 0.0, shift.into()];
        }
        for _ in 0..ROUNDS {
            let weights: Vec<f64> = voters
                .iter()
                .map(|block| {
                    let of = self.distance(block) / self.scale;
                    if of > 4.0 { 0.0 } else { 1.0 / ((1.0 + of * of) * (1.0 + of * of)) }
                })
                .collect();
            let Some(map) = solve(&voters, &weights) else {
                break;
            };
            self.map = map;
            let mut near: Vec<f64> = voters
                .iter()
                .map(|block| self.distance(block))
                .filter(|distance| *distance < 3.0 * self.scale)
                .collect();
            if let Some(middle) = median(&mut near) {
                self.scale = (1.5 * middle).min(self.scale);
            }
            self.scale = self.scale.max(NARROWEST);
        }
        let mut blocks = std::mem::take(&mut self.blocks);
        for block in &mut blocks {
            block.distance = self.distance(block);
            if !few && !block.agrees() {
                block.distance = f64::INFINITY;
            }
        }
        self.blocks = blocks;
    }

    /// Whether a block shows the same in both, as far as its colours tell.
    pub(super) fn is_same(&self, block: &Block) -> bool {
        block.distance < 3.0 * self.scale
    }

    fn distance(&self, block: &Block) -> f64 {
        let [r, g, b] = block.target.map(|value| f64::from(value) - MIDDLE);
        let shift = block.shift();
        let square: f64 = self
            .map
            .iter()
            .zip(shift)
            .map(|([x, y, z, all], shift)| {
                let off = f64::from(shift) - (x * r + y * g + z * b + all);
                off * off
            })
            .sum();
        square.sqrt()
    }

    /// How the target gets the colours of the source.
    pub(super) fn undoing(&self) -> Undoing {
        #[expect(clippy::cast_possible_truncation, reason = "the precision of samples")]
        let map = self.map.map(|row| row.map(|value| value as f32));
        Undoing { map }
    }
}

/// Gives a target the colours of its source.
#[derive(Clone, Copy)]
pub(super) struct Undoing {
    map: [[f32; 4]; 3],
}

impl Undoing {
    /// A pixel of the target with the colours of the source, and how far that moved its samples
    /// together, in levels.
    ///
    /// What the tint drove to black or white cannot be brought back: there the source's value is
    /// taken where it lies beyond.
    pub(super) fn pixel(self, source: [u8; 3], target: [u8; 3]) -> ([f32; 3], f32) {
        let was = target.map(f32::from);
        let source = source.map(f32::from);
        let [r, g, b] = was.map(|value| value - 128.0);
        let undo = |[x, y, z, all]: [f32; 4], was: f32, source: f32| {
            let is = (was + (x * r + y * g + z * b + all)).clamp(0.0, 255.0);
            let is_lost = (was <= 0.0 && source < is) | (was >= 255.0 && source > is);
            ((is - was).abs(), if is_lost { source } else { is })
        };
        let (of_red, red) = undo(self.map[0], was[0], source[0]);
        let (of_green, green) = undo(self.map[1], was[1], source[1]);
        let (of_blue, blue) = undo(self.map[2], was[2], source[2]);
        ([red, green, blue], of_red + of_green + of_blue)
    }
}

/// What is added up over a block.
#[derive(Clone, Copy, Default)]
struct Sums {
    source: [u32; 3],
    target: [u32; 3],
    /// Of brightness: squares of the source's and the target's, and their product.
    squares: [f32; 3],
    brightness: [f32; 2],
    count: f32,
}

fn brightness(pixel: [u8; 3]) -> f32 {
    let [r, g, b] = pixel.map(f32::from);
    0.299 * r + 0.587 * g + 0.114 * b - 128.0
}

fn blocks(source: &Picture, target: &Picture, side: usize) -> Vec<Block> {
    let width = source.width.max(1);
    let mut blocks = Vec::new();
    let mut sums = Vec::new();
    let bands = source.pixels.chunks(width * side).zip(target.pixels.chunks(width * side));
    for (source, target) in bands {
        sums.clear();
        sums.resize(width.div_ceil(side), Sums::default());
        for (source, target) in source.chunks(width).zip(target.chunks(width)) {
            let pieces = source.chunks(side).zip(target.chunks(side));
            for (sum, (source, target)) in sums.iter_mut().zip(pieces) {
                sum.add(source, target);
            }
        }
        blocks.extend(sums.iter().map(Sums::block));
    }
    blocks
}

impl Sums {
    fn add(&mut self, source: &[[u8; 3]], target: &[[u8; 3]]) {
        for (source, target) in source.iter().zip(target) {
            for (sum, sample) in self.source.iter_mut().zip(source) {
                *sum += u32::from(*sample);
            }
            for (sum, sample) in self.target.iter_mut().zip(target) {
                *sum += u32::from(*sample);
            }
            let (a, b) = (brightness(*source), brightness(*target));
            let [aa, bb, ab] = &mut self.squares;
            (*aa, *bb, *ab) = (*aa + a * a, *bb + b * b, *ab + a * b);
            let [of_source, of_target] = &mut self.brightness;
            (*of_source, *of_target) = (*of_source + a, *of_target + b);
            self.count += 1.0;
        }
    }

    fn block(&self) -> Block {
        let count = self.count.max(1.0);
        let [a, b] = self.brightness.map(|sum| sum / count);
        let [aa, bb, ab] = self.squares.map(|sum| sum / count);
        let (of_source, of_target) = ((aa - a * a).max(0.0), (bb - b * b).max(0.0));
        let both = of_source * of_target;
        Block {
            source: self.source.map(|sum| sum as f32 / count),
            target: self.target.map(|sum| sum as f32 / count),
            contrast: [of_source, of_target],
            is_flat: of_source.max(of_target) < FLAT,
            correlation: (ab - a * b) / both.max(1e-3).sqrt(),
            distance: 0.0,
        }
    }
}

/// The shift that most of the blocks agree on, small ones preferred.
fn start(voters: &[Block]) -> [f32; 3] {
    let place = |shift: f32| {
        #[expect(clippy::cast_possible_truncation, reason = "shifts are below 256")]
        let step = (shift / STEP).floor() as i32 + STEPS;
        usize::try_from(step).ok().filter(|step| *step < VOTES)
    };
    let mut votes = vec![0.0_f32; VOTES * VOTES * VOTES];
    for block in voters {
        let [r, g, b] = block.shift().map(place);
        if let (Some(r), Some(g), Some(b)) = (r, g, b)
            && let Some(vote) = votes.get_mut((r * VOTES + g) * VOTES + b)
        {
            *vote += 1.0;
        }
    }
    // Corners of steps, each with the eight steps around it.
    let mut best = (0.0, [0.0; 3]);
    let two = |at: usize| [at - 1, at];
    for (r, g, b) in
        (1..VOTES).flat_map(|r| (1..VOTES).flat_map(move |g| (1..VOTES).map(move |b| (r, g, b))))
    {
        let around = two(r).into_iter().flat_map(|r| {
            two(g).into_iter().flat_map(move |g| two(b).map(|b| (r * VOTES + g) * VOTES + b))
        });
        let sum: f32 = around.filter_map(|at| votes.get(at)).sum();
        let shift = [r, g, b].map(|at| (at as f32 - STEPS as f32) * STEP);
        let far = shift.iter().map(|of| of * of).sum::<f32>() / (LIKELY * LIKELY);
        let score = sum / ((1.0 + far) * (1.0 + far));
        if score > best.0 {
            best = (score, shift);
        }
    }
    let (_, shift) = best;
    let near: Vec<[f32; 3]> = voters
        .iter()
        .map(Block::shift)
        .filter(|of| of.iter().zip(shift).all(|(of, best)| (of - best).abs() <= 1.5 * STEP))
        .collect();
    [0, 1, 2].map(|channel: usize| {
        let mut values: Vec<f64> =
            near.iter().filter_map(|of| of.get(channel)).map(|of| f64::from(*of)).collect();
        #[expect(clippy::cast_possible_truncation, reason = "it was one before")]
        let middle = median(&mut values).unwrap_or_default() as f32;
        middle
    })
}

fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The map that weighted blocks ask for, by least squares.
fn solve(blocks: &[Block], weights: &[f64]) -> Option<[[f64; 4]; 3]> {
    // Left, and right for each channel.
    let mut rows = [[0.0_f64; 7]; 4];
    let mut all = 0.0;
    for (block, weight) in blocks.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        let [r, g, b] = block.target.map(|value| f64::from(value) - MIDDLE);
        let [x, y, z] = block.shift().map(f64::from);
        let known = [r, g, b, 1.0, x, y, z];
        for (row, of) in rows.iter_mut().zip([r, g, b, 1.0]) {
            for (sum, value) in row.iter_mut().zip(known) {
                *sum += weight * of * value;
            }
        }
        all += weight;
    }
    for (at, row) in rows.iter_mut().enumerate() {
        if let Some(value) = row.get_mut(at) {
            *value += 1e-6 + if at < 3 { RIDGE * all } else { 0.0 };
        }
    }
    for at in 0..4 {
        let pivot = *rows.get(at)?;
        let by = *pivot.get(at)?;
        if by.abs() < 1e-12 {
            return None;
        }
        let pivot = pivot.map(|value| value / by);
        for (other, row) in rows.iter_mut().enumerate() {
            if other == at {
                *row = pivot;
            } else {
                let times = *row.get(at)?;
                for (value, of) in row.iter_mut().zip(pivot) {
                    *value -= times * of;
                }
            }
        }
    }
    let [one, two, three, four] = rows;
    Some([4, 5, 6].map(|channel: usize| {
        [one, two, three, four].map(|row| row.get(channel).copied().unwrap_or_default())
    }))
}
