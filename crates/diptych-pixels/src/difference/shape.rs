//! Shapes of masks: gaps closed, thin parts taken away, holes filled, parts found.

use crate::bits::Bits;

/// A part of a mask, or of what is not in it: pixels that touch.
pub(super) struct Part {
    pub(super) pixels: u64,
    /// Whether it reaches the border of the grid.
    pub(super) at_border: bool,
    /// Its pixels, as runs.
    runs: Vec<Run>,
}

/// Pixels of a row beside each other.
#[derive(Debug, Clone, Copy)]
struct Run {
    y: u32,
    first: u32,
    /// Behind the last.
    end: u32,
}

impl Part {
    /// Its pixels, as rows and ranges of columns.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u32, std::ops::Range<u32>)> {
        self.runs.iter().map(|run| (run.y, run.first..run.end))
    }

    /// Says of its pixels whether they are edited.
    pub(super) fn draw(&self, mask: &mut Bits, edited: bool) {
        for (y, columns) in self.runs() {
            mask.set_run(y, columns, edited);
        }
    }
}

/// Half of the width of a disc of that radius, for each row from its middle.
fn disc(radius: usize) -> Vec<usize> {
    // A little more than the radius, which makes small discs round.
    let square = radius * radius + radius;
    (0..=radius).map(|row| (square - row * row).isqrt()).collect()
}

/// Gaps between what is marked, narrower than the disc, are marked as well.
pub(super) fn close(mask: &Bits, radius: usize) -> Bits {
    erode(&dilate(mask, radius), radius)
}

/// What the disc does not fit into is taken away.
pub(super) fn open(mask: &Bits, radius: usize) -> Bits {
    dilate(&erode(mask, radius), radius)
}

/// What a disc around anything marked covers.
pub(super) fn dilate(mask: &Bits, radius: usize) -> Bits {
    let disc = disc(radius);
    let mut out = mask.clone();
    // Rows that lie equally far off, all with one width.
    for (away, half) in disc.iter().enumerate() {
        let wide = mask.widened(*half);
        out.unite_shifted(&wide, away);
    }
    out
}

/// Where a disc lies within what is marked; beyond the grid all is.
pub(super) fn erode(mask: &Bits, radius: usize) -> Bits {
    let mut out = mask.clone();
    out.invert();
    let mut out = dilate(&out, radius);
    out.invert();
    out
}

/// The parts of a mask. Pixels touch at their sides and, where `at_corners` says so, at corners.
pub(super) fn parts(mask: &Bits, at_corners: bool) -> Vec<Part> {
    let reach = u32::from(at_corners);
    let mut runs: Vec<Run> = Vec::new();
    let mut parents: Vec<usize> = Vec::new();
    let mut above = 0..0;
    for y in 0..mask.height() {
        let start = runs.len();
        let mut from = above.start;
        for columns in mask.runs(y) {
            let run = Run { y, first: columns.start, end: columns.end };
            let at = runs.len();
            parents.push(at);
            // Runs of the row above that end before this one touch none behind it either.
            while let Some(other) = runs.get(from).filter(|_| from < above.end) {
                if other.end + reach <= run.first {
                    from += 1;
                } else {
                    break;
                }
            }
            let mut other = from;
            while let Some(found) = runs.get(other).filter(|_| other < above.end) {
                if found.first >= run.end + reach {
                    break;
                }
                join(&mut parents, at, other);
                other += 1;
            }
            runs.push(run);
        }
        above = start..runs.len();
    }
    let mut places = vec![usize::MAX; runs.len()];
    let mut parts: Vec<Part> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let root = root(&mut parents, at);
        let Some(place) = places.get_mut(root) else { continue };
        if *place == usize::MAX {
            *place = parts.len();
            parts.push(Part { pixels: 0, at_border: false, runs: Vec::new() });
        }
        if let Some(part) = parts.get_mut(*place) {
            part.pixels += u64::from(run.end - run.first);
            part.at_border |= run.y == 0
                || run.y + 1 == mask.height()
                || run.first == 0
                || run.end == mask.width();
            part.runs.push(*run);
        }
    }
    parts
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while let Some(parent) = parents.get(at).copied().filter(|parent| *parent != at) {
        let grand = parents.get(parent).copied().unwrap_or(parent);
        if let Some(place) = parents.get_mut(at) {
            *place = grand;
        }
        at = grand;
    }
    at
}

/// Makes two runs one part; the one that comes first stands for it.
fn join(parents: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parents, a), root(parents, b));
    let (first, last) = (a.min(b), a.max(b));
    if let Some(place) = parents.get_mut(last) {
        *place = first;
    }
}
