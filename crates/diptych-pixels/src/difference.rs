//! What an edit changed: a mask from a source and a target.
//!
//! Both are decoded to sRGB, upright, and brought to one grid (`grid`). What was done to all of
//! the picture is told from blocks that show the same in both, and undone (`tint`); both are made
//! equally sharp (`sharpness`); then colours are compared as they are seen (`lab`). How much
//! of a difference is noise is learnt from the picture, for each strength of texture (`noise`).
//! What stands out is found on averages and drawn on single pixels (`compare`), and its shape
//! is cleaned (`shape`). Whether the edit is one of the whole picture, blocks tell (`verdict`).
//!
//! The same bytes give the same mask on every machine: sums are taken in one order, powers and
//! roots come from tables and products, and logarithms from the bits of numbers.

mod compare;
mod grid;
mod lab;
mod noise;
mod options;
mod plane;
mod shape;
mod sharpness;
mod tint;
mod verdict;

pub use options::{DifferenceOptions, Parameter, ParameterError};

use crate::bits::Bits;
use crate::decode::{self, DecodeError};
use crate::mask::DecodeLimits;
use crate::orientation::Orientation;
use compare::{Found, compare};
use grid::Grid;

/// What an edit changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// Some of the picture.
    Local(ChangeMask),
    /// All of it, in much the same way.
    Global {
        /// The share of the picture that changed, from 0 to 1.
        share: f64,
        /// How evenly the change lies over the picture, from 0 to 1.
        uniformity: f64,
    },
    /// Nothing that stands out from the noise.
    Unchanged,
}

/// Which pixels an edit changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeMask {
    /// The mask, on the grid of the source as it is stored, before it is turned upright: its size
    /// is the one that the source's header states.
    pub mask: Bits,
    /// How the source is turned when it is seen: the mask has to be turned with it.
    pub orientation: Orientation,
    /// Parts of the mask that do not touch each other.
    pub components: u32,
    /// From 0 to 1: how far the mask stands out from the noise (in octaves above the threshold, n
    /// of them counting n / (n + 1)), less the share of the rest that stands out too. It tells
    /// good masks from doubtful ones, and is no probability.
    pub confidence: f64,
}

/// Which of the two pictures is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The picture before the edit.
    Source,
    /// The picture after it.
    Target,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

/// Why two pictures are not compared.
#[derive(Debug, thiserror::Error)]
pub enum DifferenceError {
    /// One of them is not decoded.
    #[error("the {side} is not decoded")]
    Decode {
        /// Which.
        side: Side,
        /// Why.
        source: DecodeError,
    },
    /// They have not the same shape. Sizes are those of the pictures as they are seen.
    #[error(
        "the source has {}x{} pixels, the target {}x{}: aspects further apart than {limit}",
        source_size.0, source_size.1, target_size.0, target_size.1
    )]
    AspectsDiffer {
        /// Width and height of the source in pixels.
        source_size: (u32, u32),
        /// Width and height of the target in pixels.
        target_size: (u32, u32),
        /// [`DifferenceOptions::aspect`].
        limit: f64,
    },
}

/// What lies between a source and a target that was made of it.
///
/// # Errors
/// See [`DifferenceError`].
pub fn difference(
    source: &[u8],
    target: &[u8],
    options: &DifferenceOptions,
    limits: DecodeLimits,
) -> Result<Difference, DifferenceError> {
    let of = |side| move |source| DifferenceError::Decode { side, source };
    // Only what is on the grid is kept of a picture.
    let mut seen = None;
    let begin = |size, orientation| {
        let grid = Grid::of(size, options.side);
        seen = Some((size, orientation, grid));
        Ok(grid.bring(size))
    };
    let source = decode::decode_rows(source, limits, begin).map_err(of(Side::Source))?.finish();
    let Some((source_size, orientation, grid)) = seen else {
        return Ok(Difference::Unchanged);
    };
    let limit = options.aspect;
    let begin = |target_size, _| {
        if aspects_agree(source_size, target_size, limit) {
            Ok(grid.bring(target_size))
        } else {
            Err(Stop::Aspects(target_size))
        }
    };
    let target = decode::decode_rows(target, limits, begin).map_err(|stop| match stop {
        Stop::Decode(source) => of(Side::Target)(source),
        Stop::Aspects(target_size) => {
            DifferenceError::AspectsDiffer { source_size, target_size, limit }
        }
    })?;
    let target = target.finish();
    Ok(match compare(&source, &target, options) {
        Found::Local { mask, components, confidence } => {
            let mask = mask.enlarged(grid.factor, source_size).turn_back(orientation);
            Difference::Local(ChangeMask { mask, orientation, components, confidence })
        }
        Found::Global { share, uniformity } => Difference::Global { share, uniformity },
        Found::Unchanged => Difference::Unchanged,
    })
}

/// Why a target is not decoded to its end.
enum Stop {
    Decode(DecodeError),
    /// Its width and height are no version of the source's.
    Aspects((u32, u32)),
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

/// Whether two shapes lie no further apart than that share.
fn aspects_agree(source: (u32, u32), target: (u32, u32), limit: f64) -> bool {
    let [a, b] =
        [(source.0, target.1), (target.0, source.1)].map(|(x, y)| f64::from(x) * f64::from(y));
    (a / b).max(b / a) - 1.0 <= limit
}

#[cfg(test)]
mod tests;
