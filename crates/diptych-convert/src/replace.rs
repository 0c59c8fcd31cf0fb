//! `--overwrite`: what an earlier command of this program left in an output folder gives way.
//!
//! A finished output stays as it is until the one that takes its place is ready, and is removed
//! then, its report first: at no moment can a mixture be taken for an output. What is to be removed
//! stands in the working folder from the beginning, so that a later process goes on with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use diptych_format::written::{DUPLICATES, SPLITS};
use diptych_storage::output::{LocalOutput, Lock, WriteTree};

use crate::catalog::{Catalog, FILES, HEAD, SELECTED_REJECTIONS, pairs_file, rejections_file};
use crate::error::{DamagedBy, EngineError};
use crate::hashes::{HASHES, is_staged};
use crate::output::locked;
use crate::report::Report;
use crate::work::{
    self, CATALOG, FINAL, PLAN, PLAN_REJECTIONS, PUBLISHING, REJECTIONS, REPLACES, REPORT, STAGING,
    TERMS, UNITS, WORK, WORKERS, damaged, get_json, put_json,
};

/// What says that an output, or a catalog, is whole.
pub(crate) const SEALS: [&str; 2] = [REPORT, HEAD];

/// What is to be replaced: names at the root, and how many files each is at most.
pub(crate) type Entries = BTreeMap<String, u64>;

/// What is to be replaced; nothing where that is not so.
pub(crate) fn replaced(out: &LocalOutput) -> Result<Entries, EngineError> {
    checked(REPLACES, get_json(out, REPLACES)?.unwrap_or_default())
}

/// The output or catalog that is there whole; `None` where there is none.
pub(crate) fn whole_output(out: &LocalOutput) -> Result<Option<Entries>, EngineError> {
    let mut entries = Entries::new();
    if let Some(report) = get_json::<Report>(out, REPORT)? {
        entries.extend(checked(REPORT, report.entries)?);
        entries.extend([REPORT, REJECTIONS].map(|name| (name.to_owned(), 1)));
    }
    if let Some(catalog) = Catalog::open(out.root())? {
        let partitions = 0..catalog.head().partitions.len().max(catalog.pair_files());
        let names = partitions.flat_map(|number| [pairs_file(number), rejections_file(number)]);
        let others = [FILES, HEAD, SELECTED_REJECTIONS, SPLITS, DUPLICATES, HASHES];
        let staged = staged_hashes(out)?;
        let names = names.chain(others.map(str::to_owned)).chain(staged);
        entries.extend(names.map(|name| (name, 1)));
    }
    Ok((!entries.is_empty()).then_some(entries))
}

/// What killed processes have left beside a catalog.
fn staged_hashes(out: &LocalOutput) -> Result<Vec<String>, EngineError> {
    let failed = |error| damaged(&out.root().display().to_string(), error);
    let mut names = Vec::new();
    for entry in fs::read_dir(out.root()).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        names.extend(name.to_str().filter(|name| is_staged(name)).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

/// Refuses names that are not those of files and folders at the root, whoever wrote them down.
fn checked(file: &str, entries: Entries) -> Result<Entries, EngineError> {
    let is_ours = |name: &String| name != WORK && !name.contains('/') && work::path(name).is_ok();
    match entries.keys().find(|name| !is_ours(name)) {
        None => Ok(entries),
        Some(name) => {
            let what = format!("it lists {name:?}, which is no name at the root of an output");
            Err(damaged(file, DamagedBy::Content(what)))
        }
    }
}

/// Refuses to remove more than this program wrote: a folder that has more files than it had.
pub(crate) fn check_entries(out: &LocalOutput, entries: &Entries) -> Result<(), EngineError> {
    for (name, files) in entries {
        let found = count_files(&[work::path(name)?.under(out.root())])?;
        if found > *files {
            let path = out.root().display().to_string();
            let name = format!("{name} with {found} files in place of {files}");
            return Err(EngineError::NotOurs { path, name });
        }
    }
    Ok(())
}

/// How many files paths are together: where they are folders, those below them, one where several
/// have it.
pub(crate) fn count_files(paths: &[PathBuf]) -> Result<u64, EngineError> {
    let mut is_file = false;
    let mut below: BTreeMap<OsString, Vec<PathBuf>> = BTreeMap::new();
    for path in paths {
        let failed = |error| damaged(&path.display().to_string(), error);
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_dir() => {
                for entry in fs::read_dir(path).map_err(failed)? {
                    let entry = entry.map_err(failed)?;
                    below.entry(entry.file_name()).or_default().push(entry.path());
                }
            }
            Ok(_) => is_file = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let mut files = u64::from(is_file);
    for paths in below.values() {
        files += count_files(paths)?;
    }
    Ok(files)
}

/// Writes down that what is there whole is to be replaced, where there is something and nobody has
/// done so before.
pub(crate) fn mark_replaced(out: &LocalOutput) -> Result<(), EngineError> {
    if !out.exists(&work::path(REPLACES)?)?
        && let Some(entries) = whole_output(out)?
    {
        put_json(out, REPLACES, &entries)?;
    }
    Ok(())
}

/// Removes what is replaced, once all that takes its place is ready.
///
/// # Errors
/// [`EngineError::NotOurs`] where something was put into it meanwhile; nothing is removed then.
pub(crate) fn remove_replaced(out: &LocalOutput) -> Result<(), EngineError> {
    let entries = replaced(out)?;
    if entries.is_empty() {
        return Ok(());
    }
    // Once the first was removed, the rest has to follow.
    if SEALS.iter().any(|seal| out.root().join(seal).exists()) {
        check_entries(out, &entries)?;
    }
    for seal in SEALS {
        out.remove(&work::path(seal)?)?;
    }
    out.sync()?;
    entries.keys().try_for_each(|name| Ok::<_, EngineError>(out.remove(&work::path(name)?)?))?;
    Ok(out.remove(&work::path(REPLACES)?)?)
}

/// Removes what another request, or the same one of another state of its releases, has begun. What
/// says what was begun goes last, so that this can be interrupted as well.
///
/// # Errors
/// [`EngineError::Locked`] while processes write units of it.
pub(crate) fn remove_begun(out: &LocalOutput) -> Result<(), EngineError> {
    let _alone = no_workers(out)?.ok_or_else(|| locked(out))?;
    // Some of it may lie at its place already.
    let moved: Vec<String> = get_json(out, PUBLISHING)?.unwrap_or_default();
    let replaced = replaced(out)?;
    for name in moved.iter().filter(|name| !replaced.contains_key(*name)) {
        out.remove(&work::path(name)?)?;
    }
    for left in [UNITS, STAGING, FINAL, PUBLISHING, PLAN, PLAN_REJECTIONS, CATALOG, TERMS] {
        out.remove(&work::path(left)?)?;
    }
    Ok(())
}

/// Removes what processes that died were writing: room that nobody can use.
pub(crate) fn remove_staging(out: &LocalOutput) -> Result<(), EngineError> {
    match no_workers(out)? {
        Some(_alone) => Ok(out.remove(&work::path(STAGING)?)?),
        None => Ok(()),
    }
}

/// Keeps processes that only write units away; `None` where there are some.
fn no_workers(out: &LocalOutput) -> Result<Option<Lock>, EngineError> {
    Ok(Lock::take(&work::path(WORKERS)?.under(out.root()))?)
}
