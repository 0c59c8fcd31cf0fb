//! Writing: atoms with their payloads in, whole files and a receipt out.
//!
//! The engine cuts the atoms into units; a writer writes each unit as whole files, in any order
//! and at the same time as others, and learns only in [`Writer::finish`] what else there is.

use std::collections::BTreeMap;
use std::sync::Arc;

use diptych_schema::{EditPair, MediaType, Split};
use diptych_storage::output::{OutputError, StagedFile};
use diptych_storage::{ReadAt, RelPath};
use serde::{Deserialize, Serialize};

use crate::error::FormatError;

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
    /// The mask in its one form: 8-bit grey PNG, 255 = edited.
    pub mask: Option<WrittenPicture>,
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
    /// The split that all its pairs are written under.
    pub split: Split,
    /// What it wrote.
    pub files: UnitFiles,
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
}

/// Files of a unit being written.
pub trait UnitOutput {
    /// Begins a file under a name of the unit's own, of about so many bytes (0: not known).
    ///
    /// # Errors
    /// Those of the output.
    fn stage(&mut self, name: &RelPath, bytes: u64) -> Result<Box<dyn StagedFile>, OutputError>;
}

/// The output as a whole, being finished.
pub trait FinishOutput {
    /// Gives a unit's file its final place.
    ///
    /// # Errors
    /// Those of the output.
    fn place(&mut self, unit: u32, name: &str, path: &RelPath) -> Result<(), OutputError>;

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

    /// Refuses a pair that the output cannot hold for another reason, before a byte is written.
    ///
    /// # Errors
    /// [`FormatError::CannotHold`].
    fn check(&self, pair: &EditPair) -> Result<(), FormatError>;

    /// About how many bytes a pair takes in the output beyond those of its `pictures` pictures:
    /// what units are cut by.
    fn overhead(&self, pair: &EditPair, pictures: u64) -> u64;

    /// Begins a unit that will take about so many bytes.
    ///
    /// # Errors
    /// Those of the output.
    fn begin<'a>(
        &'a self,
        split: Split,
        bytes: u64,
        output: &'a mut dyn UnitOutput,
    ) -> Result<Box<dyn UnitWriter + 'a>, FormatError>;

    /// Names the files of the units, which come in order, and writes what stands beside them.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(
        &self,
        units: &[FinishedUnit],
        provenance: &Provenance,
        output: &mut dyn FinishOutput,
    ) -> Result<(), FormatError>;
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
