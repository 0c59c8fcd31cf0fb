//! The mask that a release has, in its one written form.

use std::sync::Arc;

use diptych_format::Payload;
use diptych_format::writer::WrittenPicture;
use diptych_pixels::mask::{MaskError, NormalMask, Part, is_normal_form, normalise};
use diptych_pixels::run_length::RunLengthError;
use diptych_pixels::{Head, Probed, probe_head};
use diptych_schema::{Edited, Mask, MaskPart, MediaType, Picture};

use super::{Fault, Halt, Stage, fault, with_sources};

/// Masks of at most so many bytes are read once, and looked at and written from memory.
const SMALL_MASK: u64 = 64 << 10;

/// Bytes that tell whether a mask is in its written form.
const MASK_HEAD: usize = 33;

/// A mask about to be written.
pub(super) struct WrittenMask {
    pub(super) picture: WrittenPicture,
    pub(super) told: MaskTold,
    /// Whether it lies on the source's grid because that was asked for.
    pub(super) on_source: bool,
    /// What the pair's mask is, where it is not the one that the release gave it.
    pub(super) instead: Option<Mask>,
}

/// What is told of a mask's parts when they are read.
#[derive(Clone, Copy)]
pub(super) struct MaskTold {
    /// Width and height of the first, as released.
    pub(super) size_of_first: (u32, u32),
    /// Pixels that run lengths ended before. The label `mask_padded` of the pair says how many.
    pub(super) padded: u64,
}

impl Stage<'_> {
    /// The mask in its written form, on a grid of the width and height that are asked for, if any
    /// are: as it is where it is so already, else made anew.
    pub(super) fn mask(&self, mask: &Mask, grid: Option<(u32, u32)>) -> Result<WrittenMask, Halt> {
        if let [MaskPart::Picture(picture)] = mask.parts.as_slice()
            && let Some(written) = self.mask_as_it_is(picture, mask.edited, grid)?
        {
            return Ok(written);
        }
        self.mask_made(mask, grid)
    }

    /// The parts of a mask united and brought to the written form.
    fn mask_made(&self, mask: &Mask, grid: Option<(u32, u32)>) -> Result<WrittenMask, Halt> {
        let held = self.held(mask)?;
        let parts: Vec<_> =
            mask.parts.iter().zip(&held).map(|(part, bytes)| part_of(part, bytes)).collect();
        let made = normalise(&parts, mask.edited, grid, self.decode_limits());
        let made =
            made.map_err(|error| mask_fault(kind_of(&error), &with_sources(&error), mask))?;
        let NormalMask { png, size: (width, height), size_of_first, padded } = made;
        let payload = Payload::Bytes(Arc::from(png));
        let name = pictures_of(mask).next().and_then(name_of);
        let media_type = MediaType::Png;
        let picture = WrittenPicture { name, role: None, media_type, width, height, payload };
        let told = MaskTold { size_of_first, padded };
        Ok(WrittenMask { picture, told, on_source: grid.is_some(), instead: None })
    }

    /// The bytes of a mask's parts.
    pub(super) fn held(&self, mask: &Mask) -> Result<Vec<Arc<[u8]>>, Halt> {
        let mut held: Vec<Arc<[u8]>> = Vec::with_capacity(mask.parts.len());
        for part in &mask.parts {
            held.push(match part {
                MaskPart::Picture(picture) => self.mask_bytes(picture)?,
                MaskPart::RunLength { counts, .. } => Arc::from(counts.as_bytes()),
            });
        }
        Ok(held)
    }

    /// The bytes of a mask that has to be decoded.
    fn mask_bytes(&self, picture: &Picture) -> Result<Arc<[u8]>, Halt> {
        let payload = self.payload(picture)?;
        let limit = self.limits.picture_bytes;
        if payload.length() > limit {
            let cause = format!("{} bytes, the limit is {limit}", payload.length());
            return Err(fault("mask_too_large", &cause, picture));
        }
        Ok(self.bytes(picture, &payload)?)
    }

    /// The mask itself, where it is in the written form and on the grid that is asked for.
    fn mask_as_it_is(
        &self,
        picture: &Picture,
        edited: Edited,
        grid: Option<(u32, u32)>,
    ) -> Result<Option<WrittenMask>, Halt> {
        let payload = self.payload(picture)?;
        let small = payload.length() <= SMALL_MASK;
        let bytes: Arc<[u8]> = match &payload {
            Payload::Range { file, offset, .. } if !small => {
                let mut head = [0; MASK_HEAD];
                let read = file.read_exact_at(*offset, &mut head);
                read.map_err(|source| self.sources.read_error(&picture.address, source))?;
                Arc::from(head.as_slice())
            }
            _ => self.bytes(picture, &payload)?,
        };
        if !is_normal_form(&bytes, edited) {
            return Ok(None);
        }
        let Head::Known(Probed { media_type: MediaType::Png, width, height }) =
            probe_head(&bytes, payload.length())
        else {
            return Ok(None);
        };
        if grid.is_some_and(|grid| grid != (width, height)) {
            return Ok(None);
        }
        let payload = if small { Payload::Bytes(bytes) } else { payload };
        let (name, media_type) = (name_of(picture), MediaType::Png);
        let picture = WrittenPicture { name, role: None, media_type, width, height, payload };
        let told = MaskTold { size_of_first: (width, height), padded: 0 };
        Ok(Some(WrittenMask { picture, told, on_source: grid.is_some(), instead: None }))
    }
}

/// What is wrong with a mask. Its place is that of its first picture, if it has one.
fn mask_fault(kind: &'static str, cause: &str, mask: &Mask) -> Halt {
    match pictures_of(mask).next() {
        Some(picture) => fault(kind, cause, picture),
        None => {
            let (cause, name) = (cause.to_owned(), "mask".to_owned());
            Halt::Fault(Box::new(Fault { kind, cause, file: None, name, offset: None }))
        }
    }
}

/// A part of a mask, with its bytes.
pub(super) fn part_of<'a>(part: &MaskPart, bytes: &'a [u8]) -> Part<'a> {
    match part {
        MaskPart::Picture(_) => Part::Picture(bytes),
        MaskPart::RunLength { width, height, .. } => {
            Part::RunLength { counts: bytes, size: (*width, *height) }
        }
    }
}

/// What the release calls a mask. One that is read from an output may have been in no release.
fn name_of(picture: &Picture) -> Option<String> {
    Some(picture.name.clone()).filter(|name| !name.is_empty())
}

/// The parts of a mask that are pictures.
pub(super) fn pictures_of(mask: &Mask) -> impl Iterator<Item = &Picture> {
    mask.parts.iter().filter_map(|part| match part {
        MaskPart::Picture(picture) => Some(picture),
        MaskPart::RunLength { .. } => None,
    })
}

/// The kind of rejection for a mask that cannot be made.
fn kind_of(error: &MaskError) -> &'static str {
    match error {
        MaskError::TooManyParts { .. }
        | MaskError::TooManyPixels { .. }
        | MaskError::TooManyBytes { .. }
        | MaskError::GridTooLarge { .. }
        | MaskError::RunLength { source: RunLengthError::TooManyRuns { .. }, .. } => {
            "mask_too_large"
        }
        MaskError::NoParts | MaskError::UnsupportedType { .. } | MaskError::Animated { .. } => {
            "unsupported_mask"
        }
        MaskError::NotAPicture { .. } => "unknown_picture_type",
        MaskError::SizesDiffer { .. } => "mask_sizes_differ",
        _ => "broken_mask",
    }
}
