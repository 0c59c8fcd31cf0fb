//! What pictures have in common: digests of their bytes and pixels, and perceptual hashes.
//!
//! Pictures are read in the order in which they lie in their files, each once, many in one read, by
//! several threads. What was found is kept beside the catalog (`cache`), so that a picture that
//! was read once is not read for this again.

mod cache;
mod level;
mod reading;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use diptych_format::Notice;
use diptych_schema::Address;
use diptych_storage::Limits;

use crate::error::EngineError;
use crate::observe::Observer;
use crate::source::Sources;
pub use cache::CacheFolder;
pub(crate) use cache::{HASHES, is_staged};
pub use level::{Level, LevelError};

/// What a picture is compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureHash {
    /// A digest of its bytes.
    pub bytes: u128,
    /// A digest of its size and samples; `None` where it was not asked for, or the picture is not
    /// decoded.
    pub pixels: Option<u128>,
    /// Its perceptual hash; `None` where there is no digest of its pixels, where it was not asked
    /// for, and where there is too little to be seen on it.
    pub near: Option<u64>,
}

/// How pictures are hashed.
pub struct Hashing<'a> {
    /// What they will be compared by.
    pub level: Level,
    /// What decoding a picture may take.
    pub limits: Limits,
    /// Threads.
    pub jobs: NonZeroUsize,
    /// Is told how far it is.
    pub observer: &'a dyn Observer,
    /// Where hashes are kept.
    pub caches: &'a [CacheFolder],
    /// Whether what is kept is on the disk before it counts.
    pub durable: bool,
}

/// Pictures, hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hashed {
    /// For each address its hashes; `None` where its bytes are not on this disk.
    pub hashes: Vec<Option<PictureHash>>,
    /// Different pictures that were to be decoded and could not be, by why: they are compared by
    /// their bytes.
    pub undecoded: BTreeMap<&'static str, u64>,
    /// Different pictures that were read, and their bytes.
    pub read: (u64, u64),
    /// What went wrong with what is kept of hashes.
    pub notices: Vec<Notice>,
}

/// Hashes the pictures that addresses mean. The same address is read once.
///
/// # Errors
/// [`EngineError::ReadSource`] where a picture cannot be read, [`EngineError::Changed`] where its
/// file is no longer what it was, and [`EngineError::Stopped`].
pub(crate) fn hash_pictures(
    sources: &Sources,
    addresses: &[Address],
    hashing: &Hashing<'_>,
) -> Result<Hashed, EngineError> {
    reading::hash(sources, addresses, hashing)
}

#[cfg(test)]
mod tests;
