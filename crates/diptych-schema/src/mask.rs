//! Masks: which pixels an edit is about, and how to read the picture that says so.

use crate::picture::Picture;
use crate::vocabulary;

vocabulary! {
    /// Which value of a mask means "edited".
    pub Edited {
        /// Bright pixels (128 and above of 255) are edited.
        White = "white",
        /// Dark pixels (below 128 of 255) are edited.
        Black = "black",
        /// Every value but zero is edited.
        Nonzero = "nonzero",
        /// Pure white is edited, and nothing else: it was painted over a photograph.
        Painted = "painted",
    }
}

vocabulary! {
    /// The picture whose pixel grid a mask shares.
    pub Grid {
        /// The source's.
        Source = "source",
        /// The target's.
        Target = "target",
        /// Neither: the mask has a size of its own.
        Other = "other",
    }
}

vocabulary! {
    /// Where a mask comes from.
    pub MaskOrigin {
        /// A picture of the release.
        Release = "release",
        /// A run-length string of the release.
        RunLength = "run_length",
        /// The difference of source and target.
        Difference = "difference",
    }
}

vocabulary! {
    /// How the parts of a mask make one.
    pub Combine {
        /// A pixel is edited where any part says so.
        Union = "union",
    }
}

/// One part of a mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MaskPart {
    /// A picture.
    Picture(Picture),
    /// COCO run lengths: column-major runs, the first of them not edited.
    RunLength {
        /// The compressed counts string.
        counts: String,
        /// Width of the grid in pixels.
        width: u32,
        /// Height of the grid in pixels.
        height: u32,
    },
}

impl MaskPart {
    /// Width and height of the part's grid, where known.
    #[must_use]
    pub fn size(&self) -> Option<(u32, u32)> {
        match self {
            Self::Picture(picture) => picture.size(),
            Self::RunLength { width, height, .. } => Some((*width, *height)),
        }
    }
}

/// Which pixels an edit is about. How to read it is part of it: nothing here has been decoded
/// or turned round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    /// The parts, in the release's order; one for most.
    pub parts: Vec<MaskPart>,
    /// How the parts make one mask.
    pub combine: Combine,
    /// Which value means "edited" in pictures. Run lengths say themselves what is edited.
    pub edited: Edited,
    /// Whose grid the mask is on.
    pub grid: Grid,
    /// Where it comes from.
    pub origin: MaskOrigin,
}
