//! From a pair of the catalog to a sample about to be written: its bytes found, sizes and types
//! told from them, and its mask in the one form that outputs have.

use std::sync::Arc;

mod change;
mod mask;

use diptych_format::key::key_of;
use diptych_format::writer::{Change, WrittenPicture};
use diptych_format::{Payload, Rejection, Sample, Writer};
use diptych_pixels::mask::DecodeLimits;
use diptych_pixels::{DifferenceOptions, Head, Probed, probe_at, probe_head};
use diptych_schema::{Address, EditPair, Grid, Label, MaskOrigin, MaskPart, Picture, Reference};
use diptych_storage::Limits;
use diptych_storage::text::printable;

use crate::error::EngineError;
use crate::request::MaskGrid;
use crate::source::Sources;
use mask::{MaskTold, WrittenMask};

pub(crate) struct Stage<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) limits: Limits,
    pub(crate) writer: &'a dyn Writer,
    pub(crate) mask_grid: MaskGrid,
    /// Whether that was asked for, or is what the writer needs.
    pub(crate) mask_grid_asked: bool,
    pub(crate) difference: DifferenceOptions,
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
    /// The pair of row `row` of the plan as a sample, its mask made from the first of `mask_from`
    /// that gives one; or why it
    /// cannot be a sample. That depends on the bytes alone.
    ///
    /// # Errors
    /// What keeps the bytes from being read: the pair itself is not at fault.
    pub(crate) fn sample(
        &self,
        pair: EditPair,
        row: u64,
        mask_from: &[MaskOrigin],
    ) -> Result<Result<Sample, Box<Rejection>>, EngineError> {
        match self.pictures(&pair, mask_from) {
            Ok(Pictures { source, references, target, mask, change }) => {
                let key = key_of(&pair.pair_id);
                let mut sample =
                    Sample { pair, key, source, references, target, mask: None, change, row };
                take_mask(&mut sample, mask);
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

    fn pictures(&self, pair: &EditPair, mask_from: &[MaskOrigin]) -> Result<Pictures, Halt> {
        let reference = |of: &Reference| self.picture(&of.picture, of.role.clone());
        let references: Result<Vec<_>, _> = pair.references.iter().map(reference).collect();
        let source = self.picture(&pair.source, None)?;
        let target = pair.target.as_ref().map(|target| self.picture(target, None)).transpose()?;
        let change::Chosen { mask, change } =
            self.choose(pair, &source, target.as_ref(), mask_from)?;
        Ok(Pictures { source, references: references?, target, mask, change })
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

    fn decode_limits(&self) -> DecodeLimits {
        DecodeLimits { pixels: self.limits.pixels, bytes: self.limits.picture_bytes }
    }

    fn payload(&self, picture: &Picture) -> Result<Payload, Halt> {
        let Some(payload) = self.sources.payload(&picture.address)? else {
            let kind = picture.address.kind();
            let cause = format!("its bytes are not on this disk: a {kind} cannot be fetched");
            return Err(fault("unreachable_picture", &cause, picture));
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
                probe_at(*length, read)
                    .map_err(|source| self.sources.read_error(&picture.address, source))
            }
        }
    }

    fn bytes(&self, picture: &Picture, payload: &Payload) -> Result<Arc<[u8]>, EngineError> {
        payload.read().map_err(|source| self.sources.read_error(&picture.address, source))
    }
}

/// Gives the pair its mask, and the sizes that were not known when it was read.
fn take_mask(sample: &mut Sample, written: Option<WrittenMask>) {
    let Some(WrittenMask { picture, told, on_source, instead }) = written else {
        sample.pair.mask = None;
        take_sizes(sample, None);
        return;
    };
    if let Some(instead) = instead {
        sample.pair.mask = Some(instead);
    }
    sample.mask = Some(picture);
    take_sizes(sample, Some(told));
    if let (true, Some(mask)) = (on_source, &mut sample.pair.mask) {
        mask.grid = Grid::Source;
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
    change: Option<Change>,
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
