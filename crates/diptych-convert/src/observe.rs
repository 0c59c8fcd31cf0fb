//! What the engine tells while it works: numbers, never text for people.

use diptych_format::Notice;

use crate::error::EngineError;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A source's format is known.
    Source {
        /// The source's label.
        label: String,
        /// The format's name.
        format: &'static str,
        /// Why it is that; empty where the user said so.
        reason: String,
    },
    /// Partitions are about to be read.
    Indexing {
        /// How many.
        partitions: usize,
    },
    /// A partition was read.
    Indexed {
        /// Edits in it.
        edits: u64,
    },
    /// Something to know about a release.
    Noticed(Notice),
    /// Pictures are about to be hashed.
    Hashing {
        /// How many, those whose hashes are known left out.
        pictures: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// Pictures were hashed.
    Hashed {
        /// How many.
        pictures: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// Units are about to be written.
    Running {
        /// How many, those that are done already left out.
        units: usize,
        /// Bytes to move.
        bytes: u64,
        /// Units done by an earlier process.
        done: usize,
    },
    /// Bytes were moved.
    Moved {
        /// How many.
        bytes: u64,
        /// Pairs written.
        pairs: u64,
    },
    /// A unit has its receipt.
    UnitDone {
        /// Its number.
        unit: u32,
    },
    /// The output gets its names, card and report.
    Finishing,
}

/// Is told what happens, by any thread, and says when to stop.
pub trait Observer: Send + Sync {
    /// Takes an event.
    fn event(&self, event: Event);

    /// Whether the work is to end where it is. It is asked before each edit that is read, each
    /// read of pictures to hash, and each atom that is written; what comes of it is
    /// [`EngineError::Stopped`], and what was done can be gone on with.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Ends the work where the observer says so.
pub(crate) fn go_on(observer: &dyn Observer) -> Result<(), EngineError> {
    if observer.is_stopped() { Err(EngineError::Stopped) } else { Ok(()) }
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: Event) {}
}
