//! The edit pair and the small types in it.

use crate::mask::{Grid, Mask};
use crate::picture::{Address, Picture, Reference};

/// Declares an enum whose members are words of the schema: the word is what catalogs and
/// outputs hold.
#[macro_export]
#[doc(hidden)]
macro_rules! vocabulary {
    ($(#[$meta:meta])* $vis:vis $name:ident { $($(#[$member_meta:meta])* $member:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name { $($(#[$member_meta])* $member,)+ }

        impl $name {
            /// Every member, in order.
            $vis const ALL: &'static [Self] = &[$(Self::$member,)+];

            /// The word for it.
            #[must_use]
            $vis fn word(self) -> &'static str {
                match self { $(Self::$member => $word,)+ }
            }

            /// The member with this word.
            #[must_use]
            $vis fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$member),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

vocabulary! {
    /// What a pair is for. Another word that a release uses goes to `subset`.
    pub Split {
        /// Training.
        Train = "train",
        /// Validation.
        Val = "val",
        /// Testing.
        Test = "test",
    }
}

vocabulary! {
    /// How a box lies in its frame.
    pub BoxStatus {
        /// Inside, and of some area.
        Ok = "ok",
        /// Beyond an edge, with some area left after clamping.
        OutOfFrame = "out_of_frame",
        /// Of no area after clamping.
        Degenerate = "degenerate",
    }
}

/// One edit.
///
/// `pair_id` is unique over an output and stable: the dataset, then the release's own key.
#[derive(Debug, Clone, PartialEq)]
pub struct EditPair {
    /// Unique and stable, for instance `inter-edit-train:0000123`.
    pub pair_id: String,
    /// The dataset's name.
    pub dataset: String,
    /// A named part of the release.
    pub subset: Option<String>,
    /// What the release says the pair is for.
    pub split: Option<Split>,
    /// The conversation the pair belongs to.
    pub session_id: Option<String>,
    /// Place among the session's edits, from 0.
    pub turn: Option<u16>,
    /// What a turn edits: `original`, `previous` or `turn:K` (the target of turn K).
    pub base: Option<String>,
    /// What was said before the session's first edit.
    pub premise: Option<String>,
    /// Pairs of one origin made to be compared share this.
    pub group_id: Option<String>,
    /// Which of its group the pair is.
    pub variant: Option<String>,
    /// The `pair_id` of which this is the inverse.
    pub inverse_of: Option<String>,
    /// The shared vocabulary: add, remove, replace, ...; unknown ones lower-cased.
    pub edit_type: Option<String>,
    /// The edit type's words as published.
    pub edit_type_native: Vec<String>,
    /// What was asked for.
    pub instruction: Option<String>,
    /// The instruction's language (see [`crate::text::language_of`]).
    pub language: Option<String>,
    /// Every variant, where a release has several.
    pub instructions: Vec<InstructionVariant>,
    /// Descriptions of the pictures.
    pub captions: Vec<Caption>,
    /// The model that made the edit, as the release spells it.
    pub editor: Option<String>,
    /// The picture before.
    pub source: Picture,
    /// Further input pictures.
    pub references: Vec<Reference>,
    /// The picture after; `None` only for benchmark items.
    pub target: Option<Picture>,
    /// Which pixels the edit is about.
    pub mask: Option<Mask>,
    /// Where the edit is, as published.
    pub edit_box: Option<EditBox>,
    /// Segmented objects.
    pub regions: Vec<Region>,
    /// Numbers given to the pair; an open set. Names have dots (`gpt.average`).
    pub scores: Vec<Score>,
    /// Words said of the pair; an open set.
    pub labels: Vec<Label>,
    /// Only what the release states.
    pub licence: Option<String>,
    /// A JSON object: `row`, the release's own record whole, and each side file by name.
    pub native: Option<String>,
}

impl EditPair {
    /// A pair with these fields and nothing else.
    #[must_use]
    pub fn new(pair_id: String, dataset: String, source: Picture) -> Self {
        Self {
            pair_id,
            dataset,
            subset: None,
            split: None,
            session_id: None,
            turn: None,
            base: None,
            premise: None,
            group_id: None,
            variant: None,
            inverse_of: None,
            edit_type: None,
            edit_type_native: Vec::new(),
            instruction: None,
            language: None,
            instructions: Vec::new(),
            captions: Vec::new(),
            editor: None,
            source,
            references: Vec::new(),
            target: None,
            mask: None,
            edit_box: None,
            regions: Vec::new(),
            scores: Vec::new(),
            labels: Vec::new(),
            licence: None,
            native: None,
        }
    }

    /// Holds the mask's grid against the sizes of the pictures, where all of them are known: the
    /// grid becomes what the sizes say, and where that is not what the release says a label
    /// `mask_grid_expected` keeps its word.
    pub fn verify_mask_grid(&mut self) {
        let Some(mask) = &mut self.mask else { return };
        let part = mask.parts.first().and_then(crate::mask::MaskPart::size);
        let target = self.target.as_ref().and_then(Picture::size);
        let (Some(part), Some(source), Some(target)) = (part, self.source.size(), target) else {
            return;
        };
        let stated = mask.grid;
        let fits = |grid| match grid {
            Grid::Source => part == source,
            Grid::Target => part == target,
            Grid::Other => part != source && part != target,
        };
        if !fits(stated) {
            let found = Grid::ALL.iter().copied().find(|grid| fits(*grid));
            mask.grid = found.unwrap_or(Grid::Other);
            let name = "mask_grid_expected".to_owned();
            self.labels.push(Label { name, value: stated.word().to_owned() });
            self.labels.sort_by(|a, b| a.name.cmp(&b.name));
        }
    }

    /// Every picture of the pair, mask parts and region masks included, for one change to each
    /// address.
    pub fn addresses_mut(&mut self) -> impl Iterator<Item = &mut Address> {
        std::iter::once(&mut self.source.address)
            .chain(self.references.iter_mut().map(|r| &mut r.picture.address))
            .chain(self.target.iter_mut().map(|t| &mut t.address))
            .chain(self.mask.iter_mut().flat_map(|m| &mut m.parts).filter_map(part_address))
            .chain(self.regions.iter_mut().filter_map(|r| r.mask.as_mut()).filter_map(part_address))
    }
}

fn part_address(part: &mut crate::mask::MaskPart) -> Option<&mut Address> {
    match part {
        crate::mask::MaskPart::Picture(picture) => Some(&mut picture.address),
        crate::mask::MaskPart::RunLength { .. } => None,
    }
}

/// One wording of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionVariant {
    /// The words.
    pub text: String,
    /// Their language.
    pub language: Option<String>,
    /// What sets this variant apart (`concise`, ...), in the release's word.
    pub kind: Option<String>,
}

/// A description of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caption {
    /// The words.
    pub text: String,
    /// Their language.
    pub language: Option<String>,
    /// Which picture: `source` or `target`.
    pub of: Option<String>,
}

/// A number given to a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// What it measures, with dots: `gpt.prompt_compliance`.
    pub name: String,
    /// The value as published; finite.
    pub value: f64,
}

/// A word said of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// What it is about: `better_data`, `object`, ...
    pub name: String,
    /// The word.
    pub value: String,
}

/// A segmented object.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// What it is.
    pub label: Option<String>,
    /// Where it is.
    pub edit_box: Option<EditBox>,
    /// Its pixels.
    pub mask: Option<crate::mask::MaskPart>,
    /// Numbers given to it.
    pub scores: Vec<Score>,
    /// What it is to the edit: `edited`, `result` or `context`.
    pub role: Option<String>,
}

/// A box, always as published, in the frame it was published in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EditBox {
    /// Left edge, in pixels of the frame.
    pub x0: f64,
    /// Upper edge, in pixels of the frame.
    pub y0: f64,
    /// Right edge, exclusive, in pixels of the frame.
    pub x1: f64,
    /// Lower edge, exclusive, in pixels of the frame.
    pub y1: f64,
    /// Width of the frame in pixels.
    pub frame_width: u32,
    /// Height of the frame in pixels.
    pub frame_height: u32,
    /// How it lies in the frame.
    pub status: BoxStatus,
}

impl EditBox {
    /// A box with its status worked out.
    #[must_use]
    pub fn new(edges: [f64; 4], frame_width: u32, frame_height: u32) -> Self {
        let [x0, y0, x1, y1] = edges;
        let mut found = Self { x0, y0, x1, y1, frame_width, frame_height, status: BoxStatus::Ok };
        let clamped = found.clamped_edges();
        found.status = if !(clamped[2] > clamped[0] && clamped[3] > clamped[1]) {
            BoxStatus::Degenerate
        } else if clamped != edges {
            BoxStatus::OutOfFrame
        } else {
            BoxStatus::Ok
        };
        found
    }

    fn clamped_edges(&self) -> [f64; 4] {
        let (w, h) = (f64::from(self.frame_width), f64::from(self.frame_height));
        [self.x0.clamp(0.0, w), self.y0.clamp(0.0, h), self.x1.clamp(0.0, w), self.y1.clamp(0.0, h)]
    }

    /// The part of the box inside its frame; `None` where nothing is left of it.
    #[must_use]
    pub fn clamped(&self) -> Option<Self> {
        let [x0, y0, x1, y1] = self.clamped_edges();
        (x1 > x0 && y1 > y0).then_some(Self { x0, y0, x1, y1, status: BoxStatus::Ok, ..*self })
    }

    /// The box in a picture of `width` by `height` pixels.
    ///
    /// x and y are scaled apart: a frame's aspect is seldom exactly a picture's (726x960 for a
    /// source of 1104x1472 is a factor of 1.5207 across and 1.5333 down). `None` where the frame
    /// has no area.
    #[must_use]
    pub fn scaled_to(&self, width: u32, height: u32) -> Option<Self> {
        if self.frame_width == 0 || self.frame_height == 0 {
            return None;
        }
        let sx = f64::from(width) / f64::from(self.frame_width);
        let sy = f64::from(height) / f64::from(self.frame_height);
        Some(Self {
            x0: self.x0 * sx,
            y0: self.y0 * sy,
            x1: self.x1 * sx,
            y1: self.y1 * sy,
            frame_width: width,
            frame_height: height,
            status: self.status,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(edges: [f64; 4], frame: (u32, u32)) -> BoxStatus {
        EditBox::new(edges, frame.0, frame.1).status
    }

    #[test]
    fn a_box_is_told_by_how_it_lies_in_its_frame() {
        assert_eq!(status([92.0, 104.0, 526.0, 572.0], (960, 960)), BoxStatus::Ok);
        assert_eq!(status([0.0, 0.0, 960.0, 640.0], (960, 640)), BoxStatus::Ok);
        assert_eq!(status([174.0, 218.0, 969.0, 547.0], (960, 640)), BoxStatus::OutOfFrame);
        assert_eq!(status([-1.0, 5.0, 10.0, 20.0], (960, 640)), BoxStatus::OutOfFrame);
        assert_eq!(status([40.0, 50.0, 40.0, 90.0], (960, 960)), BoxStatus::Degenerate);
        // Degenerate only after clamping: all of it lies beyond the edge.
        assert_eq!(status([961.0, 0.0, 970.0, 90.0], (960, 960)), BoxStatus::Degenerate);
        assert_eq!(status([60.0, 50.0, 40.0, 90.0], (960, 960)), BoxStatus::Degenerate);
        assert_eq!(status([f64::NAN, 0.0, 1.0, 1.0], (960, 960)), BoxStatus::Degenerate);
    }

    #[test]
    fn every_picture_has_its_address_changed() {
        use crate::mask::{Combine, Edited, Grid, MaskOrigin, MaskPart};
        let picture = || Picture {
            name: String::new(),
            address: Address::Range { file: 0, offset: 0, length: 0 },
            width: None,
            height: None,
            media_type: None,
        };
        let run_length = MaskPart::RunLength { counts: String::new(), width: 0, height: 0 };
        let region = |mask| Region {
            label: None,
            edit_box: None,
            mask: Some(mask),
            scores: Vec::new(),
            role: None,
        };
        let mut pair = EditPair::new(String::new(), String::new(), picture());
        pair.references = vec![Reference { picture: picture(), role: None }];
        pair.target = Some(picture());
        pair.mask = Some(Mask {
            parts: vec![MaskPart::Picture(picture()), run_length.clone()],
            combine: Combine::Union,
            edited: Edited::White,
            grid: Grid::Source,
            origin: MaskOrigin::Release,
        });
        pair.regions = vec![region(run_length), region(MaskPart::Picture(picture()))];
        for (count, address) in (1..).zip(pair.addresses_mut()) {
            address.shift_file(count);
        }
        let files: Vec<_> = pair.addresses_mut().filter_map(|address| address.file()).collect();
        assert_eq!(files, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn clamping_keeps_the_part_inside() {
        let clamped = EditBox::new([174.0, 218.0, 969.0, 547.0], 960, 640).clamped().unwrap();
        assert_eq!([clamped.x0, clamped.y0, clamped.x1, clamped.y1], [174.0, 218.0, 960.0, 547.0]);
        assert_eq!(clamped.status, BoxStatus::Ok);
        assert_eq!(EditBox::new([40.0, 50.0, 40.0, 90.0], 960, 960).clamped(), None);
    }

    #[test]
    fn the_masks_grid_is_verified_where_sizes_are_known() {
        let picture = |size: Option<(u32, u32)>| Picture {
            name: String::new(),
            address: Address::Inline(Vec::new()),
            width: size.map(|size| size.0),
            height: size.map(|size| size.1),
            media_type: None,
        };
        let found = |grid, size| {
            let source = picture(Some((166, 166)));
            let mut pair = EditPair::new("a".to_owned(), "b".to_owned(), source);
            pair.target = Some(picture(Some((128, 128))));
            pair.mask = Some(Mask {
                parts: vec![crate::MaskPart::Picture(picture(size))],
                combine: crate::Combine::Union,
                edited: crate::Edited::White,
                grid,
                origin: crate::MaskOrigin::Release,
            });
            pair.verify_mask_grid();
            let labels: Vec<_> = pair.labels.iter().map(|label| label.value.clone()).collect();
            (pair.mask.map(|mask| mask.grid).unwrap(), labels.concat())
        };
        let (source, target, other) = (Grid::Source, Grid::Target, Grid::Other);
        assert_eq!(found(target, Some((128, 128))), (target, String::new()));
        assert_eq!(found(source, Some((166, 166))), (source, String::new()));
        assert_eq!(found(source, Some((128, 128))), (target, "source".to_owned()));
        assert_eq!(found(source, Some((64, 64))), (other, "source".to_owned()));
        assert_eq!(found(other, Some((166, 166))), (source, "other".to_owned()));
        assert_eq!(found(source, None), (source, String::new()));
    }

    #[test]
    fn x_and_y_are_scaled_apart() {
        let scaled = EditBox::new([0.0, 0.0, 726.0, 960.0], 726, 960).scaled_to(1104, 1472);
        let scaled = scaled.unwrap();
        assert_eq!((scaled.x1.round(), scaled.y1.round()), (1104.0, 1472.0));
        let one = EditBox::new([0.0, 0.0, 1.0, 1.0], 726, 960).scaled_to(1104, 1472).unwrap();
        assert_eq!(format!("{:.4} {:.4}", one.x1, one.y1), "1.5207 1.5333");
        assert_eq!(EditBox::new([0.0, 0.0, 1.0, 1.0], 0, 960).scaled_to(10, 10), None);
    }
}
