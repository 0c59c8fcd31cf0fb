//! The pictures that a catalog's addresses mean.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use diptych_schema::Address;
use diptych_storage::Limits;

use crate::catalog::Catalog;
use crate::error::EngineError;
use crate::hashes::{Hashed, Hashing, hash_pictures};
use crate::source::Sources;

/// The pictures that a catalog's addresses mean, to be read from the releases.
pub struct Pictures(Sources);

impl Pictures {
    /// Those of `catalog`. `roots` are releases that lie elsewhere than where they were indexed:
    /// label and folder. `limits` bound what is read to get at a cell of a Parquet file.
    ///
    /// # Errors
    /// [`EngineError::NoLabel`] where the catalog has no source of that label.
    pub fn of(
        catalog: &Catalog,
        roots: &[(String, PathBuf)],
        limits: Limits,
    ) -> Result<Self, EngineError> {
        Ok(Self(Sources::new(catalog, roots, limits)?))
    }

    /// The bytes of a picture.
    ///
    /// # Errors
    /// [`EngineError::Changed`] where its file is no longer what it was, and
    /// [`EngineError::ReadSource`] where it cannot be read.
    pub fn bytes(&self, address: &Address) -> Result<Arc<[u8]>, EngineError> {
        let Some(payload) = self.0.payload(address)? else {
            let what = format!("a {} is not on this disk", address.kind());
            return Err(self.0.read_error(address, io::Error::new(io::ErrorKind::NotFound, what)));
        };
        payload.read().map_err(|source| self.0.read_error(address, source))
    }

    /// The hashes of pictures. The same address is read once, and what is kept is not read at all.
    ///
    /// # Errors
    /// [`EngineError::ReadSource`] where a picture cannot be read, [`EngineError::Changed`] where
    /// its file is no longer what it was, and [`EngineError::Stopped`].
    pub fn hashes(
        &self,
        addresses: &[Address],
        hashing: &Hashing<'_>,
    ) -> Result<Hashed, EngineError> {
        hash_pictures(&self.0, addresses, hashing)
    }
}
