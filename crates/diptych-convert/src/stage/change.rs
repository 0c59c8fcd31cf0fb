//! Which mask a pair is written with: the release's own, that of its objects, or what comparing
//! the pictures says.

use std::sync::Arc;

use diptych_format::Payload;
use diptych_format::writer::{Change, WrittenPicture};
use diptych_pixels::decode::{DecodeError, Rgb, decode};
use diptych_pixels::{Bits, ChangeMask, Difference, DifferenceError, Overlap, difference, overlap};
use diptych_schema::{
    Address, Combine, EditPair, Edited, Grid, Mask, MaskOrigin, MaskPart, MediaType, Picture,
};

use super::mask::{MaskTold, WrittenMask, part_of, pictures_of};
use super::{Halt, Stage};
use crate::request::MaskGrid;

/// What regions are called that an edit is about: what it takes away, and what it puts there.
const OF_EDIT: [&str; 2] = ["edited", "result"];

/// A pair's mask, and what comparing the pictures said.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) mask: Option<WrittenMask>,
    pub(super) change: Option<Change>,
}

impl Stage<'_> {
    /// The mask from the first of `mask_from` that gives one.
    pub(super) fn choose(
        &self,
        pair: &EditPair,
        source: &WrittenPicture,
        target: Option<&WrittenPicture>,
        mask_from: &[MaskOrigin],
    ) -> Result<Chosen, Halt> {
        let size = (source.width, source.height);
        let mut chosen = Chosen::default();
        for origin in mask_from {
            chosen.mask = match origin {
                MaskOrigin::Release => self.released(pair, source)?,
                MaskOrigin::RunLength => self.of_objects(pair, size)?,
                MaskOrigin::Difference => {
                    let (change, mask) = self.difference(pair, source, target)?;
                    chosen.change = Some(change);
                    mask
                }
            };
            if chosen.mask.is_some() {
                break;
            }
        }
        Ok(chosen)
    }

    /// The mask that the release gives the pair.
    fn released(
        &self,
        pair: &EditPair,
        source: &WrittenPicture,
    ) -> Result<Option<WrittenMask>, Halt> {
        let Some(mask) = &pair.mask else { return Ok(None) };
        let size = (source.width, source.height);
        if let [MaskPart::Picture(picture)] = mask.parts.as_slice()
            && self.writer.keeps_mask(pair, mask)
        {
            let picture = self.picture(picture, None)?;
            let is_on_it = (picture.width, picture.height) == size;
            if self.mask_grid == MaskGrid::Source && self.mask_grid_asked && !is_on_it {
                return self.mask(mask, Some(size)).map(Some);
            }
            let told = MaskTold { size_of_first: (picture.width, picture.height), padded: 0 };
            return Ok(Some(WrittenMask { picture, told, on_source: false, instead: None }));
        }
        if self.mask_grid == MaskGrid::AsReleased {
            return self.mask(mask, None).map(Some);
        }
        match self.turned(pair, mask, source)? {
            Some(turned) => Ok(Some(turned)),
            None => self.mask(mask, Some(size)).map(Some),
        }
    }

    /// A mask of the source as it is seen, on its stored grid: where the source is stored lying on
    /// its side, and the mask has the shape of what is seen. `None` where it is not so.
    fn turned(
        &self,
        pair: &EditPair,
        mask: &Mask,
        source: &WrittenPicture,
    ) -> Result<Option<WrittenMask>, Halt> {
        let (width, height) = (u64::from(source.width), u64::from(source.height));
        let of = match mask.parts.first() {
            Some(MaskPart::RunLength { width, height, .. }) => (*width, *height),
            Some(MaskPart::Picture(picture)) => match self.picture(picture, None) {
                Ok(picture) => (picture.width, picture.height),
                // What is wrong with it is told where it is written.
                Err(Halt::Fault(_)) => return Ok(None),
                Err(failed) => return Err(failed),
            },
            None => return Ok(None),
        };
        let (of_width, of_height) = (u64::from(of.0), u64::from(of.1));
        let as_stored = (of_width * height).abs_diff(of_height * width);
        let as_seen = (of_width * width).abs_diff(of_height * height);
        if as_stored <= as_seen || source.payload.length() > self.limits.picture_bytes {
            return Ok(None);
        }
        let bytes = self.bytes(&pair.source, &source.payload)?;
        let Ok(Rgb { orientation, width, height, .. }) = decode(&bytes, self.decode_limits())
        else {
            return Ok(None);
        };
        if !orientation.exchanges_sides() {
            return Ok(None);
        }
        let held = self.held(mask)?;
        let parts: Vec<_> =
            mask.parts.iter().zip(&held).map(|(part, bytes)| part_of(part, bytes)).collect();
        let Ok(bits) = Bits::from_parts(&parts, mask.edited, self.decode_limits()) else {
            return Ok(None);
        };
        let bits = bits.on_grid(width, height).turn_back(orientation);
        let size = (bits.width(), bits.height());
        let Ok(png) = bits.to_png(Some(orientation)) else { return Ok(None) };
        let mut turned = written(png, size);
        turned.picture.name = pictures_of(mask).next().map(|picture| picture.name.clone());
        let told = MaskTold { size_of_first: of, padded: 0 };
        Ok(Some(WrittenMask { told, instead: None, ..turned }))
    }

    /// The mask that the run lengths of the objects make that the edit is about, where there are
    /// those of each.
    fn of_objects(&self, pair: &EditPair, size: (u32, u32)) -> Result<Option<WrittenMask>, Halt> {
        let of_edit = |role: &str| OF_EDIT.contains(&role);
        let objects =
            pair.regions.iter().filter(|region| region.role.as_deref().is_some_and(of_edit));
        let parts: Option<Vec<_>> = objects.map(|region| region.mask.clone()).collect();
        let Some(parts) = parts.filter(|parts| !parts.is_empty()) else { return Ok(None) };
        let grid = match self.mask_grid {
            MaskGrid::AsReleased => None,
            MaskGrid::Source => Some(size),
        };
        let first = parts.first().and_then(MaskPart::size);
        let target = pair.target.as_ref().and_then(Picture::size);
        let mask = Mask {
            grid: match first {
                Some(first) if first == size => Grid::Source,
                Some(first) if Some(first) == target => Grid::Target,
                _ => Grid::Other,
            },
            parts,
            combine: Combine::Union,
            // Run lengths count from what is not the object: 1 is the object.
            edited: Edited::White,
            origin: MaskOrigin::RunLength,
        };
        let written = self.mask(&mask, grid)?;
        Ok(Some(WrittenMask { instead: Some(mask), ..written }))
    }

    /// What comparing source and target says, and the mask where it says one.
    fn difference(
        &self,
        pair: &EditPair,
        source: &WrittenPicture,
        target: Option<&WrittenPicture>,
    ) -> Result<(Change, Option<WrittenMask>), Halt> {
        let unknown = |why: &str| Ok((Change::Unknown { why: why.to_owned() }, None));
        let (Some(target), Some(of_target)) = (target, &pair.target) else {
            return unknown("no_target");
        };
        let limit = self.limits.picture_bytes;
        if source.payload.length() > limit || target.payload.length() > limit {
            return unknown("picture_too_large");
        }
        let before = self.bytes(&pair.source, &source.payload)?;
        let after = self.bytes(of_target, &target.payload)?;
        match difference(&before, &after, &self.difference, self.decode_limits()) {
            Err(error) => unknown(why(&error)),
            Ok(Difference::Unchanged) => Ok((Change::Unchanged, None)),
            Ok(Difference::Global { share, uniformity }) => {
                Ok((Change::Global { share, uniformity }, None))
            }
            Ok(Difference::Local(ChangeMask { mask, components, confidence, orientation })) => {
                let area = mask.area();
                let iou_with_release = self.overlap_with_release(pair, &mask)?;
                let change = Change::Local { area, components, confidence, iou_with_release };
                let size = (mask.width(), mask.height());
                match mask.to_png(Some(orientation)) {
                    Ok(png) => Ok((change, Some(written(png, size)))),
                    Err(_) => unknown("mask_too_large"),
                }
            }
        }
    }

    /// How far what changed is what the release's mask says, from 0 to 1; `None` where there is
    /// none, or it cannot be read.
    fn overlap_with_release(&self, pair: &EditPair, changed: &Bits) -> Result<Option<f64>, Halt> {
        let Some(mask) = &pair.mask else { return Ok(None) };
        let held = match self.held(mask) {
            Ok(held) => held,
            Err(Halt::Fault(_)) => return Ok(None),
            Err(failed) => return Err(failed),
        };
        let parts: Vec<_> =
            mask.parts.iter().zip(&held).map(|(part, bytes)| part_of(part, bytes)).collect();
        let released = Bits::from_parts(&parts, mask.edited, self.decode_limits());
        let released = released.map(|bits| bits.on_grid(changed.width(), changed.height()));
        Ok(released.ok().and_then(|bits| overlap(&bits, changed).ok()).and_then(Overlap::iou))
    }
}

/// A mask made here, on the source's grid.
fn written(png: Vec<u8>, (width, height): (u32, u32)) -> WrittenMask {
    let bytes: Arc<[u8]> = png.into();
    let picture = Picture {
        name: String::new(),
        address: Address::Inline(Vec::new()),
        width: Some(width),
        height: Some(height),
        media_type: Some(MediaType::Png),
    };
    let payload = Payload::Bytes(bytes);
    let media_type = MediaType::Png;
    WrittenMask {
        picture: WrittenPicture { name: None, role: None, media_type, width, height, payload },
        told: MaskTold { size_of_first: (width, height), padded: 0 },
        on_source: true,
        instead: Some(Mask {
            parts: vec![MaskPart::Picture(picture)],
            combine: Combine::Union,
            edited: Edited::White,
            grid: Grid::Source,
            origin: MaskOrigin::Difference,
        }),
    }
}

/// Why pictures are not compared, in the word that reports count.
fn why(error: &DifferenceError) -> &'static str {
    match error {
        DifferenceError::AspectsDiffer { .. } => "aspects_differ",
        DifferenceError::Decode { source, .. } => match source {
            DecodeError::NotAPicture | DecodeError::Broken { .. } => "broken_picture",
            DecodeError::UnsupportedType { .. }
            | DecodeError::UnsupportedColour { .. }
            | DecodeError::UnsupportedFeature { .. }
            | DecodeError::Animated => "unsupported_picture",
            DecodeError::TooManyPixels { .. } | DecodeError::TooManyBytes { .. } => {
                "picture_too_large"
            }
        },
    }
}
