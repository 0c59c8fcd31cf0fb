//! From a pair of the catalog to a sample about to be written: its bytes found, sizes and types
//! told from them, and its mask in the one form that outputs have.

use std::sync::Arc;

use diptych_format::key::key_of;
use diptych_format::writer::WrittenPicture;
use diptych_format::{Payload, Rejection, Sample};
use diptych_pixels::mask::{DecodeLimits, MaskError, NormalMask, Part, is_normal_form, normalise};
use diptych_pixels::run_length::RunLengthError;
use diptych_pixels::{Head, Probed, probe_at, probe_head};
use diptych_schema::{
    Address, EditPair, Edited, Grid, Label, Mask, MaskPart, MediaType, Picture, Reference,
};
use diptych_storage::Limits;
use diptych_storage::text::printable;

use crate::error::EngineError;
use crate::request::MaskGrid;
use crate::source::Sources;

/// Masks of at most so many bytes are read once, and looked at and written from memory.
const SMALL_MASK: u64 = 64 << 10;

/// Bytes that tell whether a mask is in its written form.
const MASK_HEAD: usize = 33;

pub(crate) struct Stage<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) limits: Limits,
    pub(crate) mask_grid: MaskGrid,
}

/// Why a step does not give what it should.
enum Halt {
    /// The pair's data are at fault.
    Fault(Box<Fault>),
    /// The bytes cannot be had; the pair itself is not at fault.
    Failed(EngineError),
}

/// What is wrong with a pair's data, and where.
struct Fault {
    kind: &'static str,
    cause: String,
    file: Option<u32>,
    name: String,
    offset: Option<u64>,
}

impl From<EngineError> for Halt {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

impl Stage<'_> {
    /// A pair as a sample, or why it cannot be one. That depends on the bytes alone.
    ///
    /// # Errors
    /// What keeps the bytes from being read: the pair itself is not at fault.
    pub(crate) fn sample(
        &self,
        pair: EditPair,
    ) -> Result<Result<Sample, Box<Rejection>>, EngineError> {
        match self.pictures(&pair) {
            Ok(Pictures { source, references, target, mask }) => {
                let key = key_of(&pair.pair_id);
                let (mask, told) = mask.map(|mask| (mask.picture, mask.told)).unzip();
                let mut sample =
                    Sample { pair, key, source, references, target, mask, change: None };
                take_sizes(&mut sample, told);
                if let (MaskGrid::Source, Some(mask)) = (self.mask_grid, &mut sample.pair.mask) {
                    mask.grid = Grid::Source;
                }
                Ok(Ok(sample))
            }
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Fault(fault)) => {
                let Fault { kind, cause, file, name, offset } = *fault;
                // A mask of run lengths is in no file of pictures: the pair is where its source is.
                let file = file.or_else(|| pair.source.address.file());
                Ok(Err(Box::new(Rejection {
                    kind: kind.to_owned(),
                    cause,
                    at: self.sources.place(file, &name, offset),
                    dataset: pair.dataset,
                    subset: pair.subset,
                    pair_id: Some(pair.pair_id),
                    native: pair.native,
                })))
            }
        }
    }

    fn pictures(&self, pair: &EditPair) -> Result<Pictures, Halt> {
        let reference = |of: &Reference| self.picture(&of.picture, of.role.clone());
        let references: Result<Vec<_>, _> = pair.references.iter().map(reference).collect();
        let source = self.picture(&pair.source, None)?;
        let grid = match self.mask_grid {
            MaskGrid::AsReleased => None,
            MaskGrid::Source => Some((source.width, source.height)),
        };
        Ok(Pictures {
            source,
            references: references?,
            target: pair.target.as_ref().map(|target| self.picture(target, None)).transpose()?,
            mask: pair.mask.as_ref().map(|mask| self.mask(mask, grid)).transpose()?,
        })
    }

    fn picture(&self, picture: &Picture, role: Option<String>) -> Result<WrittenPicture, Halt> {
        let payload = self.payload(picture)?;
        let known = match (picture.media_type, picture.width, picture.height) {
            (Some(media_type), Some(width), Some(height)) => {
                Some(Probed { media_type, width, height })
            }
            _ => self.probe(picture, &payload)?,
        };
        let Some(Probed { media_type, width, height }) = known else {
            let cause = "its bytes are those of no known picture";
            return Err(fault("unknown_picture_type", cause, picture));
        };
        let name = Some(picture.name.clone());
        Ok(WrittenPicture { name, role, media_type, width, height, payload })
    }

    fn payload(&self, picture: &Picture) -> Result<Payload, Halt> {
        let payload = match &picture.address {
            Address::Range { file, offset, length } => {
                Payload::Range { file: self.sources.file(*file)?, offset: *offset, length: *length }
            }
            Address::Inline(bytes) => Payload::Bytes(Arc::from(bytes.as_slice())),
            Address::Cell { .. } | Address::Url { .. } => {
                let kind = picture.address.kind();
                let cause = format!("its bytes are not on this disk: a {kind} cannot be fetched");
                return Err(fault("unreachable_picture", &cause, picture));
            }
        };
        if payload.length() == 0 {
            return Err(fault("empty_picture", "0 bytes", picture));
        }
        Ok(payload)
    }

    fn probe(&self, picture: &Picture, payload: &Payload) -> Result<Option<Probed>, EngineError> {
        match payload {
            Payload::Bytes(bytes) => Ok(match probe_head(bytes, payload.length()) {
                Head::Known(probed) => Some(probed),
                Head::NeedsMore | Head::Unknown => None,
            }),
            Payload::Range { file, offset, length } => {
                let read = |at: u64, buffer: &mut [u8]| file.read_at(offset + at, buffer);
                probe_at(*length, read).map_err(|source| self.read_error(picture, source))
            }
        }
    }

    fn read_error(&self, picture: &Picture, source: std::io::Error) -> EngineError {
        let place = self.sources.place(picture.address.file(), &picture.name, None);
        let file = place.file.unwrap_or_default();
        EngineError::ReadSource { label: place.source, file, source }
    }

    /// The mask in its written form, on a grid of the width and height that are asked for, if any
    /// are: as it is where it is so already, else made anew.
    fn mask(&self, mask: &Mask, grid: Option<(u32, u32)>) -> Result<WrittenMask, Halt> {
        if let [MaskPart::Picture(picture)] = mask.parts.as_slice()
            && let Some(written) = self.mask_as_it_is(picture, mask.edited, grid)?
        {
            return Ok(written);
        }
        self.mask_made(mask, grid)
    }

    /// The parts of a mask united and brought to the written form.
    fn mask_made(&self, mask: &Mask, grid: Option<(u32, u32)>) -> Result<WrittenMask, Halt> {
        let mut held: Vec<Arc<[u8]>> = Vec::with_capacity(mask.parts.len());
        for part in &mask.parts {
            held.push(match part {
                MaskPart::Picture(picture) => self.mask_bytes(picture)?,
                MaskPart::RunLength { counts, .. } => Arc::from(counts.as_bytes()),
            });
        }
        let parts: Vec<_> =
            mask.parts.iter().zip(&held).map(|(part, bytes)| part_of(part, bytes)).collect();
        let limits = DecodeLimits { pixels: self.limits.pixels, bytes: self.limits.picture_bytes };
        let made = normalise(&parts, mask.edited, grid, limits);
        let made =
            made.map_err(|error| mask_fault(kind_of(&error), &with_sources(&error), mask))?;
        let NormalMask { png, size: (width, height), size_of_first, padded } = made;
        let payload = Payload::Bytes(Arc::from(png));
        let name = pictures_of(mask).next().map(|picture| picture.name.clone());
        let media_type = MediaType::Png;
        let picture = WrittenPicture { name, role: None, media_type, width, height, payload };
        Ok(WrittenMask { picture, told: MaskTold { size_of_first, padded } })
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
                read.map_err(|source| self.read_error(picture, source))?;
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
        let (name, media_type) = (Some(picture.name.clone()), MediaType::Png);
        let picture = WrittenPicture { name, role: None, media_type, width, height, payload };
        let told = MaskTold { size_of_first: (width, height), padded: 0 };
        Ok(Some(WrittenMask { picture, told }))
    }

    fn bytes(&self, picture: &Picture, payload: &Payload) -> Result<Arc<[u8]>, EngineError> {
        match payload {
            Payload::Bytes(bytes) => Ok(Arc::clone(bytes)),
            Payload::Range { file, offset, length } => {
                let mut bytes = vec![0; usize::try_from(*length).unwrap_or(usize::MAX)];
                let read = file.read_exact_at(*offset, &mut bytes);
                read.map_err(|source| self.read_error(picture, source))?;
                Ok(bytes.into())
            }
        }
    }
}

/// Gives the pair the sizes that were not known when it was read, and with them the mask's grid.
fn take_sizes(sample: &mut Sample, mask: Option<MaskTold>) {
    let take = |of: &mut Picture, (width, height): (u32, u32)| {
        if of.size().is_none() {
            (of.width, of.height) = (Some(width), Some(height));
        }
    };
    let Sample { pair, source, target, .. } = sample;
    take(&mut pair.source, (source.width, source.height));
    if let (Some(of), Some(from)) = (&mut pair.target, target) {
        take(of, (from.width, from.height));
    }
    let part = pair.mask.as_mut().and_then(|mask| mask.parts.first_mut());
    if let (Some(MaskPart::Picture(of)), Some(told)) = (part, &mask) {
        take(of, told.size_of_first);
    }
    pair.verify_mask_grid();
    if let Some(MaskTold { padded: padded @ 1.., .. }) = mask {
        let (name, value) = ("mask_padded".to_owned(), padded.to_string());
        pair.labels.push(Label { name, value });
        pair.labels.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

struct Pictures {
    source: WrittenPicture,
    references: Vec<WrittenPicture>,
    target: Option<WrittenPicture>,
    mask: Option<WrittenMask>,
}

/// A mask about to be written.
struct WrittenMask {
    picture: WrittenPicture,
    told: MaskTold,
}

/// What is told of a mask's parts when they are read.
#[derive(Clone, Copy)]
struct MaskTold {
    /// Width and height of the first, as released.
    size_of_first: (u32, u32),
    /// Pixels that run lengths ended before. The label `mask_padded` of the pair says how many.
    padded: u64,
}

fn fault(kind: &'static str, cause: &str, picture: &Picture) -> Halt {
    let offset = match picture.address {
        Address::Range { offset, .. } => Some(offset),
        _ => None,
    };
    let (file, name) = (picture.address.file(), picture.name.clone());
    let cause = format!("{}: {cause}", printable(name.as_bytes()));
    Halt::Fault(Box::new(Fault { kind, cause, file, name, offset }))
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
fn part_of<'a>(part: &MaskPart, bytes: &'a [u8]) -> Part<'a> {
    match part {
        MaskPart::Picture(_) => Part::Picture(bytes),
        MaskPart::RunLength { width, height, .. } => {
            Part::RunLength { counts: bytes, size: (*width, *height) }
        }
    }
}

/// The parts of a mask that are pictures.
fn pictures_of(mask: &Mask) -> impl Iterator<Item = &Picture> {
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

/// An error and what is behind it, in one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
