//! The working folder of an output, and where things are in it.
//!
//! While an output is being made it holds nothing but this folder. What is published in it is
//! whole: a catalog has its `catalog.json`, a unit its receipt.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::{Arc, OnceLock};

use diptych_storage::RelPath;
use diptych_storage::output::{LocalOutput, OutputError, WriteTree};
use diptych_storage::parquet::ParquetInput;
use diptych_storage::read::{LocalFile, WatchedFile, same_error};
use parquet::errors::ParquetError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::error::{DamagedBy, EngineError};

/// Name of the working folder below the output.
pub const WORK: &str = ".diptych";

/// What was asked for.
pub const TERMS: &str = ".diptych/request.json";

/// Who works on the output.
pub const LOCK: &str = ".diptych/lock";

/// Held, by any number of processes together, while they write units only.
pub const WORKERS: &str = ".diptych/workers";

/// Names at the root of an output that is there whole and gives way to this one.
pub const REPLACES: &str = ".diptych/replaces.json";

/// The units that are done.
pub const UNITS: &str = ".diptych/units";

/// The units that are being written.
pub const STAGING: &str = ".diptych/staging";

/// The catalog.
pub const CATALOG: &str = ".diptych/catalog";

/// The catalog of the releases, while pairs are chosen from it.
pub const READ: &str = ".diptych/read";

/// The catalog of what is excluded, meanwhile.
pub const EXCLUDED: &str = ".diptych/excluded";

/// The plan.
pub const PLAN: &str = ".diptych/plan.parquet";

/// Edits rejected while planning.
pub const PLAN_REJECTIONS: &str = ".diptych/plan-rejections.jsonl";

/// What will be the output, all but moved to its place.
pub const FINAL: &str = ".diptych/final";

/// Names of what is being moved from there to its place.
pub const PUBLISHING: &str = ".diptych/publishing.json";

/// The report: the last thing that an output gets.
pub const REPORT: &str = "report.json";

/// The list of rejections.
pub const REJECTIONS: &str = "rejections.jsonl";

/// Where a unit is published.
#[must_use]
pub fn unit(number: u32) -> String {
    format!("{UNITS}/{number:06}")
}

/// Where a unit is written: a place of its own each time, since the same unit may be written at
/// the same time by another thread, process or machine.
#[must_use]
pub fn staging(number: u32) -> String {
    format!("{STAGING}/{number:06}-{:016x}", chance())
}

/// A number that no other process has.
pub(crate) fn chance() -> u64 {
    // The keys of a hasher are the one source of chance that the standard library has. Nothing
    // that is kept depends on it.
    RandomState::new().build_hasher().finish()
}

/// A path that is one by construction.
pub(crate) fn path(name: &str) -> Result<RelPath, EngineError> {
    RelPath::new(name).map_err(|error| EngineError::Damaged {
        path: name.to_owned(),
        source: DamagedBy::Content(format!("its name has {error}")),
    })
}

/// A name below a folder of ours, for those who write there: whatever the name says, it leads
/// nowhere else.
pub(crate) fn below(folder: &str, name: &str) -> Result<RelPath, OutputError> {
    let path = format!("{folder}/{name}");
    RelPath::new(&path).map_err(|error| OutputError::Write {
        action: "use",
        path,
        source: std::io::Error::new(std::io::ErrorKind::InvalidInput, error),
    })
}

/// Writes a small JSON file and publishes it in one step.
pub(crate) fn put_json(
    out: &LocalOutput,
    name: &str,
    value: &impl Serialize,
) -> Result<(), EngineError> {
    let json = to_json(name, value)?;
    let staged = path(&format!("{name}.part"))?;
    out.put(&staged, &json)?;
    Ok(out.publish(&staged, &path(name)?)?)
}

/// JSON for people as well: indented, with a newline at the end.
pub(crate) fn to_json(name: &str, value: &impl Serialize) -> Result<Vec<u8>, EngineError> {
    let mut json = serde_json::to_vec_pretty(value).map_err(|e| damaged(name, e))?;
    json.push(b'\n');
    Ok(json)
}

/// Reads a small JSON file; `None` where there is none.
pub(crate) fn get_json<T: DeserializeOwned>(
    out: &LocalOutput,
    name: &str,
) -> Result<Option<T>, EngineError> {
    let path = path(name)?;
    let bytes: Result<_, OutputError> = out.read(&path);
    let shown = || path.under(out.root()).display().to_string();
    let parse = |bytes: Vec<u8>| serde_json::from_slice(&bytes).map_err(|e| damaged(&shown(), e));
    bytes?.map(parse).transpose()
}

/// What the system said while a Parquet file of ours was read, which comes out of its reader as
/// text, like damage.
#[derive(Clone, Default)]
pub(crate) struct Failure(Arc<OnceLock<io::Error>>);

impl Failure {
    /// A file whose failure is remembered.
    pub(crate) fn watched(&self, file: File) -> io::Result<ParquetInput> {
        let failure = self.clone();
        let on_error = move |error| {
            failure.0.get_or_init(|| same_error(&error));
            error
        };
        Ok(ParquetInput(Arc::new(WatchedFile { file: Arc::new(LocalFile::new(file)?), on_error })))
    }

    /// The failure, where there is one: then nothing is known of damage.
    pub(crate) fn or(&self, damage: DamagedBy) -> DamagedBy {
        self.0.get().map_or(damage, |error| DamagedBy::Io(same_error(error)))
    }
}

pub(crate) fn damaged(path: &str, source: impl Into<DamagedBy>) -> EngineError {
    let path = path.to_owned();
    match source.into() {
        // The disk's fault, or the system's: what is in the file is not known.
        DamagedBy::Io(source) => EngineError::Work { path, source },
        DamagedBy::Json(error) if error.is_io() => EngineError::Work { path, source: error.into() },
        DamagedBy::Parquet(ParquetError::External(error)) => match error.downcast::<io::Error>() {
            Ok(source) => EngineError::Work { path, source: *source },
            Err(error) => {
                let source = DamagedBy::Parquet(ParquetError::External(error));
                EngineError::Damaged { path, source }
            }
        },
        source => EngineError::Damaged { path, source },
    }
}

/// Writes into a digest.
pub(crate) struct HashWrite<'a>(pub(crate) &'a mut Sha256);

impl std::io::Write for HashWrite<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
