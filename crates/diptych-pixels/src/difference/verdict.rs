//! Whether the whole picture changed: told by what became of blocks, and where those lie.

use super::tint::{Block, Tint};

/// Correlation of textures from which a picture whose colours all changed still shows the same.
const SAME_THINGS: f32 = 0.35;
/// Cells along a side of the coarse grid on which uniformity is told.
const COARSE: usize = 8;
/// Levels by which the colours of a block have to move to count as changed.
const MOVED: f32 = 6.0;

/// A picture is drawn anew where nearly all textures changed: that share of them, in that share of
/// the coarse cells that have any, ...
const REDRAWN: f64 = 0.75;
const EVERYWHERE: f64 = 0.9;
/// ... while textures are as strong as before in the same places, which another picture's are
/// not: the correlation of their logarithms, ...
const SAME_PLACES: f64 = 0.55;
/// ... and they are no object, which is small or full: the share of the picture's width and of its
/// height that they reach over, and of the blocks within.
const FAR_APART: f64 = 0.7;
const FULL: f64 = 0.6;
/// Of that reach, what is left out at each end.
const STRAY: f64 = 0.02;

/// Whether textures are alike, or each other's negative, in most blocks that have any.
pub(super) fn shows_the_same(tint: &Tint) -> bool {
    let mut found: Vec<f32> =
        tint.blocks.iter().filter(|block| !block.is_flat).map(|of| of.correlation).collect();
    if found.len() * 50 <= tint.blocks.len() {
        return false;
    }
    let middle = found.len() / 2;
    found.select_nth_unstable_by(middle, f32::total_cmp).1.abs() >= SAME_THINGS
}

/// Whether all that has texture was drawn anew in its place, as styles do: what is smooth may have
/// stayed as it was, and shows nothing of it.
pub(super) fn is_redrawn(tint: &Tint) -> bool {
    let has_texture = |block: &Block| block.has_texture();
    let is_anew = |block: &Block| block.has_texture() && !block.agrees();
    let all = tint.blocks.iter().filter(|block| has_texture(block)).count();
    let anew = tint.blocks.iter().filter(|block| is_anew(block)).count();
    if all == 0 || (anew as f64) < REDRAWN * all as f64 || places(tint) < SAME_PLACES {
        return false;
    }
    let cells = coarse(tint, has_texture, is_anew);
    let with: Vec<_> = cells.iter().filter(|(_, all)| *all >= 2).collect();
    let most = with.iter().filter(|(of, all)| of * 2 >= *all).count();
    if with.is_empty() || (most as f64) < EVERYWHERE * with.len() as f64 {
        return false;
    }
    let places =
        || tint.blocks.iter().enumerate().filter(|(_, block)| is_anew(block)).map(|(at, _)| at);
    let across = tint.across.max(1);
    let down = tint.blocks.len().div_ceil(across);
    let wide = reach(places().map(|at| at % across).collect());
    let high = reach(places().map(|at| at / across).collect());
    wide as f64 >= FAR_APART * across as f64
        && high as f64 >= FAR_APART * down as f64
        && (anew as f64) < FULL * (wide * high) as f64
}

/// From the first to the last, but for strays.
fn reach(mut places: Vec<usize>) -> usize {
    places.sort_unstable();
    let skipped = super::noise::narrow(STRAY * places.len() as f64);
    let first = places.get(skipped).copied().unwrap_or_default();
    let last = places.iter().rev().nth(skipped).copied().unwrap_or_default();
    (last + 1).saturating_sub(first)
}

/// How alike the places are at which source and target have texture: the correlation of the
/// logarithms of its strength.
fn places(tint: &Tint) -> f64 {
    // The bits of a float grow with its logarithm.
    let log = |value: f32| f64::from((value + 1.0).to_bits());
    let pairs = || tint.blocks.iter().map(|block| block.contrast.map(log));
    let count = tint.blocks.len().max(1) as f64;
    let [a, b] = pairs().fold([0.0, 0.0], |[a, b], [x, y]| [a + x / count, b + y / count]);
    let [aa, bb, ab] = pairs().fold([0.0; 3], |[aa, bb, ab], [x, y]| {
        let (x, y) = (x - a, y - b);
        [aa + x * x, bb + y * y, ab + x * y]
    });
    if aa * bb > 0.0 { ab / (aa * bb).sqrt() } else { 0.0 }
}

/// The share of blocks that changed, tint and all, and the share of coarse cells in which most of
/// them did.
pub(super) fn spread(tint: &Tint) -> (f64, f64) {
    let moved = |block: &Block| block.apart() >= MOVED || !block.agrees();
    let changed = tint.blocks.iter().filter(|block| moved(block)).count();
    let cells = coarse(tint, |_| true, moved);
    let there = cells.iter().filter(|(_, all)| *all > 0).count();
    let most = cells.iter().filter(|(of, all)| *all > 0 && of * 2 >= *all).count();
    let share = changed as f64 / tint.blocks.len().max(1) as f64;
    (share, most as f64 / there.max(1) as f64)
}

/// For each coarse cell, how many of the blocks that count are marked.
fn coarse(
    tint: &Tint,
    counts: impl Fn(&Block) -> bool,
    is_marked: impl Fn(&Block) -> bool,
) -> [(usize, usize); COARSE * COARSE] {
    let across = tint.across.max(1);
    let down = tint.blocks.len().div_ceil(across).max(1);
    let mut cells = [(0, 0); COARSE * COARSE];
    for (at, block) in tint.blocks.iter().enumerate().filter(|(_, block)| counts(block)) {
        let place = at / across * COARSE / down * COARSE + at % across * COARSE / across;
        if let Some((of, all)) = cells.get_mut(place) {
            *of += usize::from(is_marked(block));
            *all += 1;
        }
    }
    cells
}
