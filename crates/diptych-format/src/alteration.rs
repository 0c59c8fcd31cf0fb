//! What outputs do not hold as it went in, as data: the documents tell it, and tests hold every
//! output to it.

/// Something that an output does not hold as it went in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alteration {
    /// What.
    pub of: Altered,
    /// What becomes of it: a fragment without a period.
    pub says: &'static str,
}

/// What of a pair an output may not hold as it went in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Altered {
    /// The order of pairs, within a split where the output is divided by splits.
    Order,
    /// A pair that has no target.
    WithoutTarget,
    /// The form of a mask: what its file is like, and which values mean edited.
    MaskForm,
    /// The grid that a mask is on.
    MaskGrid,
    /// A mask that says which region was asked for, where the output's say what changed.
    MaskMeaning,
    /// A number that is not finite.
    NotFinite,
    /// A picture that shows which pixels a region has.
    RegionPicture,
    /// The splits of pairs whose source is the same image.
    Split,
    /// What the release's list of splits says of the image of a pair that is the layout's own.
    NativeSplit,
}

impl Altered {
    /// All there are, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::Order,
        Self::WithoutTarget,
        Self::MaskForm,
        Self::MaskGrid,
        Self::MaskMeaning,
        Self::NotFinite,
        Self::RegionPicture,
        Self::Split,
        Self::NativeSplit,
    ];

    /// What it is, for documents.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Order => "the order of pairs in a split",
            Self::WithoutTarget => "a pair without a target",
            Self::MaskForm => "the form of a mask",
            Self::MaskGrid => "the grid of a mask",
            Self::MaskMeaning => "a mask of what was asked for",
            Self::NotFinite => "a number that is not finite",
            Self::RegionPicture => "a picture of a region",
            Self::Split => "the splits of one image's pairs",
            Self::NativeSplit => "what a list of splits says of an image",
        }
    }
}

impl Alteration {
    /// Of outputs for training: see [`Writer::holds_pairs_without_target`](crate::Writer).
    pub const WITHOUT_TARGET: Self =
        Self { of: Altered::WithoutTarget, says: "refused, before a byte is written" };

    /// Of outputs whose masks are all in the one form.
    pub const MASK_FORM: Self =
        Self { of: Altered::MaskForm, says: "written as an 8-bit grey PNG, 255 = edited" };

    /// Of outputs that carry the record.
    pub const NOT_FINITE: Self = Self { of: Altered::NotFinite, says: "becomes null" };

    /// Of outputs that carry the record.
    pub const REGION_PICTURE: Self =
        Self { of: Altered::RegionPicture, says: "left out; run lengths are kept" };

    /// What the record does not hold, in outputs for training whose masks are in the one form.
    pub const OF_RECORDS: &'static [Self] =
        &[Self::WITHOUT_TARGET, Self::MASK_FORM, Self::NOT_FINITE, Self::REGION_PICTURE];
}
