//! From a pair of the catalog to a sample about to be written: its bytes found, sizes and types
//! told from them, and its mask in the one form that outputs have.

use std::sync::Arc;

use diptych_format::key::key_of;
use diptych_format::writer::WrittenPicture;
use diptych_format::{Payload, Rejection, Sample};
use diptych_pixels::{
    DecodeLimits, Head, MaskError, Probed, is_normal_form, normalise, probe_at, probe_head,
};
use diptych_schema::{Address, EditPair, Edited, Mask, MaskPart, MediaType, Picture, Reference};
use diptych_storage::Limits;
use diptych_storage::text::printable;

use crate::error::EngineError;
use crate::source::Sources;

/// Masks of at most so many bytes are read once, and looked at and written from memory.
const SMALL_MASK: u64 = 64 << 10;

/// Bytes that tell whether a mask is in its written form.
const MASK_HEAD: usize = 33;

pub(crate) struct Stage<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) limits: Limits,
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
                let mut sample = Sample { pair, key, source, references, target, mask };
                take_sizes(&mut sample);
                Ok(Ok(sample))
            }
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Fault(fault)) => {
                let Fault { kind, cause, file, name, offset } = *fault;
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
        Ok(Pictures {
            source: self.picture(&pair.source, None)?,
            references: references?,
            target: pair.target.as_ref().map(|target| self.picture(target, None)).transpose()?,
            mask: pair.mask.as_ref().map(|mask| self.mask(mask)).transpose()?,
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
        let name = picture.name.clone();
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

    /// The mask in its written form: as it is where it is so already, else made anew.
    fn mask(&self, mask: &Mask) -> Result<WrittenPicture, Halt> {
        let mut parts = Vec::with_capacity(mask.parts.len());
        for part in &mask.parts {
            match part {
                MaskPart::Picture(picture) => parts.push((picture, self.payload(picture)?)),
                MaskPart::RunLength { .. } => {
                    return Err(no_mask("a mask of run lengths cannot be drawn"));
                }
            }
        }
        let (first, payload) = match parts.as_slice() {
            [] => return Err(no_mask("a mask without parts")),
            [(first, payload), ..] => (*first, payload),
        };
        if parts.len() == 1
            && let Some(written) = self.mask_as_it_is(first, payload, mask)?
        {
            return Ok(written);
        }
        let made = self.mask_made(&parts, mask.edited, first)?;
        let Head::Known(Probed { media_type, width, height }) =
            probe_head(&made, made.len() as u64)
        else {
            return Err(fault("broken_mask", "it has no size", first));
        };
        let (name, payload) = (first.name.clone(), Payload::Bytes(made));
        Ok(WrittenPicture { name, role: None, media_type, width, height, payload })
    }

    /// The parts of a mask united and brought to the written form.
    fn mask_made(
        &self,
        parts: &[(&Picture, Payload)],
        edited: Edited,
        first: &Picture,
    ) -> Result<Arc<[u8]>, Halt> {
        let mut bytes = Vec::with_capacity(parts.len());
        for (picture, payload) in parts {
            if payload.length() > self.limits.picture_bytes {
                let limit = self.limits.picture_bytes;
                let cause = format!("{} bytes, the limit is {limit}", payload.length());
                return Err(fault("mask_too_large", &cause, picture));
            }
            bytes.push(self.bytes(picture, payload)?);
        }
        let limits = DecodeLimits { pixels: self.limits.pixels, bytes: self.limits.picture_bytes };
        let slices: Vec<&[u8]> = bytes.iter().map(AsRef::as_ref).collect();
        normalise(&slices, edited, limits).map(Arc::from).map_err(|error| {
            let kind = match error {
                MaskError::TooManyPixels { .. } | MaskError::TooManyBytes { .. } => {
                    "mask_too_large"
                }
                MaskError::UnsupportedType { .. } | MaskError::Animated { .. } => {
                    "unsupported_mask"
                }
                MaskError::NotAPicture { .. } => "unknown_picture_type",
                MaskError::SizesDiffer { .. } => "mask_sizes_differ",
                _ => "broken_mask",
            };
            fault(kind, &with_sources(&error), first)
        })
    }

    /// The mask itself, where it is in the written form.
    fn mask_as_it_is(
        &self,
        picture: &Picture,
        payload: &Payload,
        mask: &Mask,
    ) -> Result<Option<WrittenPicture>, EngineError> {
        let small = payload.length() <= SMALL_MASK;
        let bytes: Arc<[u8]> = match payload {
            Payload::Range { file, offset, .. } if !small => {
                let mut head = [0; MASK_HEAD];
                let read = file.read_exact_at(*offset, &mut head);
                read.map_err(|source| self.read_error(picture, source))?;
                Arc::from(head.as_slice())
            }
            _ => self.bytes(picture, payload)?,
        };
        if !is_normal_form(&bytes, mask.edited) {
            return Ok(None);
        }
        let Head::Known(Probed { media_type: MediaType::Png, width, height }) =
            probe_head(&bytes, payload.length())
        else {
            return Ok(None);
        };
        let payload = if small { Payload::Bytes(bytes) } else { payload.clone() };
        let (name, media_type) = (picture.name.clone(), MediaType::Png);
        Ok(Some(WrittenPicture { name, role: None, media_type, width, height, payload }))
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
fn take_sizes(sample: &mut Sample) {
    let take = |of: &mut Picture, from: &WrittenPicture| {
        if of.size().is_none() {
            (of.width, of.height) = (Some(from.width), Some(from.height));
        }
    };
    let Sample { pair, source, target, mask, .. } = sample;
    take(&mut pair.source, source);
    if let (Some(of), Some(from)) = (&mut pair.target, target) {
        take(of, from);
    }
    let part = pair.mask.as_mut().and_then(|mask| mask.parts.first_mut());
    if let (Some(MaskPart::Picture(of)), Some(from)) = (part, mask) {
        take(of, from);
    }
    pair.verify_mask_grid();
}

struct Pictures {
    source: WrittenPicture,
    references: Vec<WrittenPicture>,
    target: Option<WrittenPicture>,
    mask: Option<WrittenPicture>,
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

/// A mask that is no picture, or nothing.
fn no_mask(cause: &str) -> Halt {
    let (kind, cause, name) = ("unsupported_mask", cause.to_owned(), "mask".to_owned());
    Halt::Fault(Box::new(Fault { kind, cause, file: None, name, offset: None }))
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
