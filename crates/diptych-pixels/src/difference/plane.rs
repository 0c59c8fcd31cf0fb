//! Planes of numbers, a row after the other, and sums over windows of them.
//!
//! All sums are taken in one fixed order and without approximations of the platform, so that they
//! are the same everywhere.

/// Numbers on a grid.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) data: Vec<f32>,
}

impl Plane {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, data: vec![0.0; width * height] }
    }

    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.data.chunks_exact(self.width.max(1))
    }

    pub(super) fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, f32> {
        self.data.chunks_exact_mut(self.width.max(1))
    }

    /// A row; beyond the first and the last stand those.
    pub(super) fn row(&self, y: isize) -> &[f32] {
        let last = self.height.saturating_sub(1);
        let y = usize::try_from(y).unwrap_or(0).min(last);
        self.data.get(y * self.width..(y + 1) * self.width).unwrap_or_default()
    }

    /// The plane through a kernel that is its own mirror image: `half` holds its middle and what
    /// lies to one side.
    pub(super) fn through(&self, half: &[f32]) -> Self {
        let Some((middle, side)) = half.split_first() else {
            return self.clone();
        };
        let reach = side.len();
        let mut out = Self::new(self.width, self.height);
        let mut down = vec![0.0; self.width];
        let mut padded = vec![0.0; self.width + 2 * reach];
        for (y, to) in (0_isize..).zip(out.rows_mut()) {
            for (sum, value) in down.iter_mut().zip(self.row(y)) {
                *sum = middle * value;
            }
            for (step, weight) in (1_isize..).zip(side) {
                let pairs = self.row(y - step).iter().zip(self.row(y + step));
                for (sum, (above, below)) in down.iter_mut().zip(pairs) {
                    *sum += weight * (above + below);
                }
            }
            pad(&down, reach, &mut padded);
            let shifted = |by: usize| padded.get(by..).unwrap_or_default().iter();
            for (sum, value) in to.iter_mut().zip(shifted(reach)) {
                *sum = middle * value;
            }
            for (step, weight) in (1..).zip(side) {
                let pairs = shifted(reach - step).zip(shifted(reach + step));
                for (sum, (left, right)) in to.iter_mut().zip(pairs) {
                    *sum += weight * (left + right);
                }
            }
        }
        out
    }

    /// The means of squares of two by two.
    pub(super) fn halved(&self) -> Self {
        let mut out = Self::new(self.width.div_ceil(2), self.height.div_ceil(2));
        for (y, to) in (0_isize..).step_by(2).zip(out.rows_mut()) {
            let pairs = self.row(y).chunks(2).zip(self.row(y + 1).chunks(2));
            for (to, (upper, lower)) in to.iter_mut().zip(pairs) {
                let sum = upper.iter().sum::<f32>() + lower.iter().sum::<f32>();
                *to = sum / (upper.len() + lower.len()) as f32;
            }
        }
        out
    }

    /// The mean over squares that reach that far to each side.
    pub(super) fn mean(&self, reach: usize) -> Self {
        let weight = 1.0 / (2 * reach + 1) as f32;
        self.through(&vec![weight; reach + 1])
    }
}

/// A row with its ends repeated to both sides.
fn pad(row: &[f32], reach: usize, padded: &mut [f32]) {
    let (first, last) = (row.first().copied(), row.last().copied());
    let (left, rest) = padded.split_at_mut(reach);
    let (middle, right) = rest.split_at_mut(row.len());
    left.fill(first.unwrap_or_default());
    middle.copy_from_slice(row);
    right.fill(last.unwrap_or_default());
}

/// For each place, whether more than half of the square around it that reaches that far is marked
/// (1; what is not marked is 0).
pub(super) fn majority(marks: &[u8], width: usize, reach: usize) -> Vec<u8> {
    let height = marks.len() / width.max(1);
    let side = 2 * reach + 1;
    let least = u8::try_from(side * side / 2 + 1).unwrap_or(u8::MAX);
    let row = |y: usize| marks.get(y * width..(y + 1) * width).unwrap_or_default();
    let mut out = vec![0; marks.len()];
    let mut down = vec![0_u8; width];
    let mut padded = vec![0_u8; width + 2 * reach];
    for (y, to) in out.chunks_exact_mut(width.max(1)).enumerate() {
        down.fill(0);
        for step in 0..side {
            let from = (y + step).saturating_sub(reach).min(height.saturating_sub(1));
            for (sum, mark) in down.iter_mut().zip(row(from)) {
                *sum += mark;
            }
        }
        let (first, last) = (down.first().copied(), down.last().copied());
        let (left, rest) = padded.split_at_mut(reach);
        let (middle, right) = rest.split_at_mut(width);
        left.fill(first.unwrap_or_default());
        middle.copy_from_slice(&down);
        right.fill(last.unwrap_or_default());
        for step in 0..side {
            for (sum, value) in to.iter_mut().zip(padded.get(step..).unwrap_or_default()) {
                *sum += value;
            }
        }
        for count in to.iter_mut() {
            *count = u8::from(*count >= least);
        }
    }
    out
}

/// Sums over cells of [`CELL`] by [`CELL`] places, and over squares of cells.
pub(super) struct Cells {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) data: Vec<f32>,
}

/// Places of a side of a cell.
pub(super) const CELL: usize = 4;

impl Cells {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let (width, height) = (width.div_ceil(CELL), height.div_ceil(CELL));
        Self { width, height, data: vec![0.0; width * height] }
    }

    /// The cells of a row of the plane.
    pub(super) fn row_of_mut(&mut self, y: usize) -> &mut [f32] {
        let from = y / CELL * self.width;
        self.data.get_mut(from..from + self.width).unwrap_or_default()
    }

    /// The cells of a row of the plane.
    pub(super) fn row_of(&self, y: usize) -> &[f32] {
        let from = y / CELL * self.width;
        self.data.get(from..from + self.width).unwrap_or_default()
    }

    /// Sums over squares of cells that reach that far to each side.
    pub(super) fn sums(self, reach: usize) -> Self {
        let (width, height) = (self.width, self.height);
        let plane = Plane { width, height, data: self.data }.through(&vec![1.0; reach + 1]);
        Self { width, height, data: plane.data }
    }
}
