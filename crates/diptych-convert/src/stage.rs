//! From a pair of the catalog to a sample about to be written: its bytes found, sizes and types
//! told from them, and its mask in the one form that outputs have.

use std::sync::Arc;

use diptych_format::key::key_of;
use diptych_format::writer::WrittenPicture;
use diptych_format::{Payload, Rejection, Sample};
use diptych_pixels::{
    DecodeLimits, Head, MaskError, Probed, is_normal_form, normalise, probe_at, probe_head,
};
use diptych_schema::{Address, EditPair, Mask, MaskPart, MediaType, Picture};
use diptych_storage::Limits;

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

/// Why a pair cannot be written.
struct Fault {
    kind: &'static str,
    cause: String,
    file: Option<u32>,
    name: String,
    offset: Option<u64>,
}

/// A step that may find the pair's data at fault, or fail.
type Step<T> = Result<Result<T, Fault>, EngineError>;

impl Stage<'_> {
    /// A pair as a sample, or why it cannot be one. That depends on the bytes alone.
    ///
    /// # Errors
    /// What keeps the bytes from being read: the pair itself is not at fault.
    pub(crate) fn sample(&self, pair: EditPair) -> Result<Result<Sample, Rejection>, EngineError> {
        Ok(match self.pictures(&pair)? {
            Ok(Pictures { source, references, target, mask }) => {
                let key = key_of(&pair.pair_id);
                Ok(Sample { pair, key, source, references, target, mask })
            }
            Err(Fault { kind, cause, file, name, offset }) => Err(Rejection {
                kind: kind.to_owned(),
                cause,
                at: self.sources.place(file, &name, offset),
                dataset: pair.dataset,
                subset: pair.subset,
                pair_id: Some(pair.pair_id),
                native: pair.native,
            }),
        })
    }

    fn pictures(&self, pair: &EditPair) -> Step<Pictures> {
        let source = match self.picture(&pair.source, None)? {
            Ok(source) => source,
            Err(fault) => return Ok(Err(fault)),
        };
        let mut references = Vec::with_capacity(pair.references.len());
        for reference in &pair.references {
            match self.picture(&reference.picture, reference.role.clone())? {
                Ok(picture) => references.push(picture),
                Err(fault) => return Ok(Err(fault)),
            }
        }
        let target = match &pair.target {
            None => None,
            Some(target) => match self.picture(target, None)? {
                Ok(target) => Some(target),
                Err(fault) => return Ok(Err(fault)),
            },
        };
        let mask = match &pair.mask {
            None => None,
            Some(mask) => match self.mask(mask)? {
                Ok(mask) => Some(mask),
                Err(fault) => return Ok(Err(fault)),
            },
        };
        Ok(Ok(Pictures { source, references, target, mask }))
    }

    fn picture(&self, picture: &Picture, role: Option<String>) -> Step<WrittenPicture> {
        let payload = match self.payload(picture)? {
            Ok(payload) => payload,
            Err(fault) => return Ok(Err(fault)),
        };
        let known = match (picture.media_type, picture.width, picture.height) {
            (Some(media_type), Some(width), Some(height)) => {
                Some(Probed { media_type, width, height })
            }
            _ => self.probe(picture, &payload)?,
        };
        let Some(Probed { media_type, width, height }) = known else {
            let cause = "its bytes are those of no known picture".to_owned();
            return Ok(Err(fault("unknown_picture_type", cause, picture)));
        };
        let name = picture.name.clone();
        Ok(Ok(WrittenPicture { name, role, media_type, width, height, payload }))
    }

    fn payload(&self, picture: &Picture) -> Step<Payload> {
        let payload = match &picture.address {
            Address::Range { file, offset, length } => {
                Payload::Range { file: self.sources.file(*file)?, offset: *offset, length: *length }
            }
            Address::Inline(bytes) => Payload::Bytes(Arc::from(bytes.as_slice())),
            Address::Cell { .. } | Address::Url { .. } => {
                let kind = picture.address.kind();
                let cause = format!("its bytes are not on this disk: a {kind} cannot be fetched");
                return Ok(Err(fault("unreachable_picture", cause, picture)));
            }
        };
        if payload.length() == 0 {
            return Ok(Err(fault("empty_picture", "0 bytes".to_owned(), picture)));
        }
        Ok(Ok(payload))
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
    fn mask(&self, mask: &Mask) -> Step<WrittenPicture> {
        let mut parts = Vec::with_capacity(mask.parts.len());
        let mut name = None;
        for part in &mask.parts {
            let MaskPart::Picture(picture) = part else {
                let fault = Fault {
                    kind: "unsupported_mask",
                    cause: "a mask of run lengths cannot be drawn".to_owned(),
                    file: None,
                    name: "mask".to_owned(),
                    offset: None,
                };
                return Ok(Err(fault));
            };
            let payload = match self.payload(picture)? {
                Ok(payload) => payload,
                Err(fault) => return Ok(Err(fault)),
            };
            name.get_or_insert(picture);
            parts.push((picture, payload));
        }
        let Some(first) = name else {
            let fault = Fault {
                kind: "unsupported_mask",
                cause: MaskError::NoParts.to_string(),
                file: None,
                name: "mask".to_owned(),
                offset: None,
            };
            return Ok(Err(fault));
        };
        if let [(picture, payload)] = parts.as_slice()
            && let Some(written) = self.mask_as_it_is(picture, payload, mask)?
        {
            return Ok(Ok(written));
        }
        let mut bytes = Vec::with_capacity(parts.len());
        for (picture, payload) in &parts {
            if payload.length() > self.limits.picture_bytes {
                let limit = self.limits.picture_bytes;
                let cause = format!("{} bytes, the limit is {limit}", payload.length());
                return Ok(Err(fault("mask_too_large", cause, picture)));
            }
            bytes.push(self.bytes(picture, payload)?);
        }
        let limits = DecodeLimits { pixels: self.limits.pixels, bytes: self.limits.picture_bytes };
        let slices: Vec<&[u8]> = bytes.iter().map(AsRef::as_ref).collect();
        let made: Arc<[u8]> = match normalise(&slices, mask.edited, limits) {
            Ok(made) => made.into(),
            Err(error) => {
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
                return Ok(Err(fault(kind, with_sources(&error), first)));
            }
        };
        Ok(match probe_head(&made, made.len() as u64) {
            Head::Known(Probed { media_type, width, height }) => Ok(WrittenPicture {
                name: first.name.clone(),
                role: None,
                media_type,
                width,
                height,
                payload: Payload::Bytes(made),
            }),
            Head::NeedsMore | Head::Unknown => {
                Err(fault("broken_mask", "it has no size".to_owned(), first))
            }
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
            Payload::Range { file, offset, length } if !small => {
                let mut head = [0; MASK_HEAD];
                let n = MASK_HEAD.min(usize::try_from(*length).unwrap_or(MASK_HEAD));
                let read = file.read_exact_at(*offset, head.get_mut(..n).unwrap_or_default());
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

struct Pictures {
    source: WrittenPicture,
    references: Vec<WrittenPicture>,
    target: Option<WrittenPicture>,
    mask: Option<WrittenPicture>,
}

fn fault(kind: &'static str, cause: String, picture: &Picture) -> Fault {
    let offset = match picture.address {
        Address::Range { offset, .. } => Some(offset),
        _ => None,
    };
    let (file, name) = (picture.address.file(), picture.name.clone());
    Fault { kind, cause: format!("{name}: {cause}"), file, name, offset }
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
