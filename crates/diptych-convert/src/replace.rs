//! `--overwrite`: what an earlier command of this program left in an output folder gives way.
//!
//! A finished output stays as it is until the one that takes its place is ready, and is removed
//! then, its report first: at no moment can a mixture be taken for an output. What is to be removed
//! stands in the working folder from the beginning, so that a later process goes on with it.

use std::collections::BTreeSet;

use diptych_storage::output::{LocalOutput, Lock, WriteTree};

use crate::catalog::{Catalog, FILES, HEAD, pairs_file, rejections_file};
use crate::error::EngineError;
use crate::report::Report;
use crate::work::{
    self, CATALOG, FINAL, PLAN, PLAN_REJECTIONS, PUBLISHING, REJECTIONS, REPLACES, REPORT, STAGING,
    TERMS, UNITS, WORKERS, get_json, put_json,
};

/// What says that an output, or a catalog, is whole.
const SEALS: [&str; 2] = [REPORT, HEAD];

/// The names at the root of what is to be replaced; none where that is nothing.
pub(crate) fn replaced(out: &LocalOutput) -> Result<Vec<String>, EngineError> {
    Ok(get_json(out, REPLACES)?.unwrap_or_default())
}

/// The names at the root of the output or catalog that is there whole; `None` where there is none.
pub(crate) fn whole_output(out: &LocalOutput) -> Result<Option<Vec<String>>, EngineError> {
    let mut names = BTreeSet::new();
    if let Some(report) = get_json::<Report>(out, REPORT)? {
        names.extend(report.entries);
        names.extend([REPORT, REJECTIONS].map(str::to_owned));
    }
    if let Some(catalog) = Catalog::open(out.root())? {
        let partitions = 0..catalog.head().partitions.len();
        names.extend(partitions.flat_map(|number| [pairs_file(number), rejections_file(number)]));
        names.extend([FILES, HEAD].map(str::to_owned));
    }
    Ok((!names.is_empty()).then(|| names.into_iter().collect()))
}

/// Writes down that what is there whole is to be replaced, where there is something and nobody has
/// done so before.
pub(crate) fn mark_replaced(out: &LocalOutput) -> Result<(), EngineError> {
    if !out.exists(&work::path(REPLACES)?)
        && let Some(names) = whole_output(out)?
    {
        put_json(out, REPLACES, &names)?;
    }
    Ok(())
}

/// Removes what is replaced, once all that takes its place is ready.
pub(crate) fn remove_replaced(out: &LocalOutput) -> Result<(), EngineError> {
    let names = replaced(out)?;
    if names.is_empty() {
        return Ok(());
    }
    for seal in SEALS {
        out.remove(&work::path(seal)?)?;
    }
    out.sync()?;
    names.iter().try_for_each(|name| Ok::<_, EngineError>(out.remove(&work::path(name)?)?))?;
    Ok(out.remove(&work::path(REPLACES)?)?)
}

/// Removes what another request, or the same one of another state of its releases, has begun. What
/// says what was begun goes last, so that this can be interrupted as well.
///
/// # Errors
/// [`EngineError::Locked`] while processes write units of it.
pub(crate) fn remove_begun(out: &LocalOutput) -> Result<(), EngineError> {
    let _alone = no_workers(out)?
        .ok_or_else(|| EngineError::Locked { path: out.root().display().to_string() })?;
    // Some of it may lie at its place already.
    let moved: Vec<String> = get_json(out, PUBLISHING)?.unwrap_or_default();
    let replaced = replaced(out)?;
    for name in moved.iter().filter(|name| !replaced.contains(name)) {
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
