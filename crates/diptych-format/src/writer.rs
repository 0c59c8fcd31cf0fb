//! Writing: atoms with their payloads in, whole files and a receipt out.
//!
//! The engine cuts the atoms into units; a writer writes each unit as whole files, in any order
//! and at the same time as others, and learns only in [`Writer::finish`] what else there is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use diptych_schema::{EditPair, Mask, MediaType, Split};
use diptych_storage::output::{OutputError, StagedFile};
use diptych_storage::{ReadAt, RelPath};
use serde::{Deserialize, Serialize};

use crate::Citation;
use crate::error::FormatError;
use crate::rejection::Notice;

/// What must stay together and in order in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// A pair.
    Pair,
    /// The pairs of a group.
    Group,
    /// The pairs of a session.
    Session,
}

/// Where the bytes of a picture come from when they are written.
#[derive(Clone)]
pub enum Payload {
    /// A range to copy.
    Range {
        /// The file.
        file: Arc<dyn ReadAt>,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// The bytes.
    Bytes(Arc<[u8]>),
}

impl Payload {
    /// Bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Range { length, .. } => *length,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// The bytes, in memory.
    ///
    /// # Errors
    /// Those of reading the range.
    pub fn read(&self) -> io::Result<Arc<[u8]>> {
        match self {
            Self::Bytes(bytes) => Ok(Arc::clone(bytes)),
            Self::Range { file, offset, length } => {
                let mut bytes = vec![0; usize::try_from(*length).unwrap_or(usize::MAX)];
                file.read_exact_at(*offset, &mut bytes)?;
                Ok(bytes.into())
            }
        }
    }

    /// Appends the bytes to a file.
    ///
    /// # Errors
    /// Those of the file, and of reading the range.
    pub fn write_to(&self, file: &mut dyn StagedFile) -> Result<(), OutputError> {
        match self {
            Self::Range { file: from, offset, length } => {
                file.copy_range(from.as_ref(), *offset, *length)
            }
            Self::Bytes(bytes) => file.write(bytes),
        }
    }
}

/// A picture about to be written: type and size are known, from its bytes.
#[derive(Clone)]
pub struct WrittenPicture {
    /// The path that the release gives it; `None` for a mask made of run lengths alone.
    pub name: Option<String>,
    /// What a reference is used for.
    pub role: Option<String>,
    /// The type.
    pub media_type: MediaType,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The bytes.
    pub payload: Payload,
}

/// A pair with its pictures about to be written.
pub struct Sample {
    /// The pair. Its pictures' sizes and types may still be unknown there; what holds is below.
    pub pair: EditPair,
    /// The file-name key: unique over the output, even when case is folded.
    pub key: String,
    /// The picture before.
    pub source: WrittenPicture,
    /// Further input pictures.
    pub references: Vec<WrittenPicture>,
    /// The picture after.
    pub target: Option<WrittenPicture>,
    /// The mask in its one form: 8-bit grey PNG, 255 = edited. As published where the writer
    /// keeps it so ([`Writer::keeps_mask`]).
    pub mask: Option<WrittenPicture>,
    /// What comparing the pictures said, where they were compared.
    pub change: Option<Change>,
    /// The pair's place in the plan, from 0: among those of its split where the writer divides
    /// splits, else among all. It is the same however units are cut. A pair that is rejected while
    /// it is written has one too, so that numbers may be missing.
    pub row: u64,
}

/// What comparing source and target said of an edit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Change {
    /// A part of the picture changed.
    Local {
        /// Share of the pixels that changed, 0 to 1.
        area: f64,
        /// Parts that hang together.
        components: u32,
        /// How sure that is, 0 to 1.
        confidence: f64,
        /// Overlap with the mask of the release, 0 to 1, where there is one.
        iou_with_release: Option<f64>,
    },
    /// The whole picture changed in a uniform way.
    Global {
        /// Share of the pixels that changed, 0 to 1.
        share: f64,
        /// How evenly the change lies over the picture, 0 to 1.
        uniformity: f64,
    },
    /// Nothing changed by more than the noise.
    Unchanged,
    /// The pictures cannot be compared.
    Unknown {
        /// Why: one word, as reports count it.
        why: String,
    },
}

/// Pairs that stay together.
pub struct Atom {
    /// Them, in order.
    pub samples: Vec<Sample>,
}

/// A file that a unit wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitFile {
    /// Its name among the unit's files.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Samples in it.
    pub samples: u64,
}

/// A split as its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SplitWord(pub Split);

impl From<SplitWord> for String {
    fn from(SplitWord(split): SplitWord) -> Self {
        split.word().to_owned()
    }
}

impl TryFrom<String> for SplitWord {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        Split::from_word(&word).map(Self).ok_or_else(|| format!("{word} is no split"))
    }
}

/// What a unit wrote, in the writer's terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitFiles {
    /// The files; none where the unit held no sample.
    pub files: Vec<UnitFile>,
    /// Which fields occur, and in how many samples: what a card declares is the union of these.
    pub fields: BTreeMap<String, u64>,
}

/// What [`Writer::finish`] is told of a unit.
#[derive(Debug, Clone)]
pub struct FinishedUnit {
    /// Its number.
    pub unit: u32,
    /// The split that all its pairs are written under; `None` where the writer takes pairs of
    /// every split into a unit ([`Writer::divides_splits`]).
    pub split: Option<Split>,
    /// What it wrote.
    pub files: UnitFiles,
}

/// A unit about to be written.
#[derive(Debug, Clone, Copy)]
pub struct UnitStart<'a> {
    /// The split that all its pairs are written under; `None` where the writer takes pairs of
    /// every split into a unit.
    pub split: Option<Split>,
    /// About how many bytes it will take.
    pub bytes: u64,
    /// The datasets whose pairs are in the output, in this unit or another.
    pub datasets: &'a BTreeSet<String>,
}

/// What a writer needs of masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaskNeeds {
    /// They lie on the grid of the source picture, where the user does not say otherwise.
    pub on_source: bool,
    /// They say what changed, not what was asked for: where a release says the other, the
    /// pictures are compared, if the user does not say otherwise.
    pub of_changes: bool,
}

/// What goes into the card that only the engine knows.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    /// Name and version of this program.
    pub generator: String,
    /// For each dataset: pairs written.
    pub datasets: BTreeMap<String, u64>,
    /// Licences that the releases state, with the number of pairs of each.
    pub licences: BTreeMap<String, u64>,
    /// What the authors of these datasets state of rights besides, a sentence each.
    pub terms: BTreeMap<String, &'static [&'static str]>,
    /// How those of the datasets are cited of which that is known.
    pub citations: BTreeMap<String, Citation>,
}

/// Files of a unit being written.
pub trait UnitOutput {
    /// Begins a file under a name of the unit's own, of about so many bytes (0: not known).
    ///
    /// # Errors
    /// Those of the output.
    fn stage(&mut self, name: &RelPath, bytes: u64) -> Result<Box<dyn StagedFile>, OutputError>;

    /// Begins one of very many small files, of so many bytes: it is on the disk only when the
    /// unit as a whole is.
    ///
    /// # Errors
    /// Those of the output.
    fn stage_small(
        &mut self,
        name: &RelPath,
        bytes: u64,
    ) -> Result<Box<dyn StagedFile>, OutputError>;
}

/// What a writer says once an output is finished.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finished {
    /// What is to be known of the output as a whole, in an order of the writer's own.
    pub notices: Vec<Notice>,
    /// What the output holds, where that is settled only now: splits that pairs have by others,
    /// files that several units wrote and the output holds once. Else the sum of the receipts.
    pub splits: Option<BTreeMap<Split, SplitCount>>,
}

/// What an output holds of a split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SplitCount {
    /// Pairs.
    pub pairs: u64,
    /// Files that hold them.
    pub files: u64,
    /// The length of the files in bytes.
    pub bytes: u64,
}

/// The output as a whole, being finished.
pub trait FinishOutput {
    /// Gives a unit's file its final place.
    ///
    /// # Errors
    /// Those of the output.
    fn place(&mut self, unit: u32, name: &str, path: &RelPath) -> Result<(), OutputError>;

    /// Gives a folder of a unit, with all that is in it, its final place. What is in it goes
    /// beside what another unit's folder has brought there before.
    ///
    /// # Errors
    /// Those of the output.
    fn place_folder(&mut self, unit: u32, name: &str, path: &RelPath) -> Result<(), OutputError>;

    /// Opens a unit's file that has not been given a place, to be read.
    ///
    /// # Errors
    /// Those of the output.
    fn open(&mut self, unit: u32, name: &str) -> Result<Arc<dyn ReadAt>, OutputError>;

    /// Begins a file of the output.
    ///
    /// # Errors
    /// Those of the output.
    fn stage(&mut self, path: &RelPath) -> Result<Box<dyn StagedFile>, OutputError>;

    /// Writes a small file of the output.
    ///
    /// # Errors
    /// Those of the output.
    fn put(&mut self, path: &RelPath, bytes: &[u8]) -> Result<(), OutputError>;
}

/// A writer of one output.
pub trait Writer: Send + Sync {
    /// What must stay together in a unit.
    fn grain(&self) -> Grain;

    /// Whether the output can hold pairs that have no target. They are items of benchmarks: what
    /// is trained on holds none, and is not given any (see [`FormatError::NoTarget`]).
    fn holds_pairs_without_target(&self) -> bool {
        false
    }

    /// Whether a unit holds pairs of one split only. Where not, the pairs keep their order.
    fn divides_splits(&self) -> bool {
        true
    }

    /// What is needed of masks.
    fn mask_needs(&self) -> MaskNeeds {
        MaskNeeds::default()
    }

    /// Whether this mask of the pair may be written as it was published, though it is not in the
    /// one form.
    fn keeps_mask(&self, pair: &EditPair, mask: &Mask) -> bool {
        let _ = (pair, mask);
        false
    }

    /// Refuses a pair that the output cannot hold for another reason, before a byte is written.
    ///
    /// # Errors
    /// [`FormatError::CannotHold`].
    fn check(&self, pair: &EditPair) -> Result<(), FormatError>;

    /// About how many bytes a pair takes in the output beyond those of its `pictures` pictures:
    /// what units are cut by.
    fn overhead(&self, pair: &EditPair, pictures: u64) -> u64;

    /// Begins a unit.
    ///
    /// # Errors
    /// Those of the output.
    fn begin<'a>(
        &'a self,
        unit: UnitStart<'a>,
        output: &'a mut dyn UnitOutput,
    ) -> Result<Box<dyn UnitWriter + 'a>, FormatError>;

    /// Names the files of the units, which come in order, and writes what stands beside them.
    ///
    /// A process before this one may have come as far as any point of it: a place that is given
    /// again is no error.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(
        &self,
        units: &[FinishedUnit],
        provenance: &Provenance,
        output: &mut dyn FinishOutput,
    ) -> Result<Finished, FormatError>;
}

/// A unit being written. One that is dropped before [`close`](UnitWriter::close) has written
/// nothing that counts.
pub trait UnitWriter {
    /// Appends an atom.
    ///
    /// # Errors
    /// Those of the output, and of reading the payloads. After one the unit is lost.
    fn write(&mut self, atom: &Atom) -> Result<(), FormatError>;

    /// Ends the unit's files.
    ///
    /// # Errors
    /// Those of the output.
    fn close(self: Box<Self>) -> Result<UnitFiles, FormatError>;
}
