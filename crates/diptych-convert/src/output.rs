//! The output folder: what it may hold before a conversion, who works on it, and what is left of
//! it when that fails.

use std::path::{Component, Path, PathBuf};

use diptych_format::FormatError;
use diptych_storage::output::{LocalOutput, Lock, WriteTree};

use crate::catalog::HEAD;
use crate::error::EngineError;
use crate::replace::{SEALS, check_entries, replaced, whole_output};
use crate::report::Report;
use crate::request::Terms;
use crate::work::{
    self, CATALOG, EXCLUDED, FINAL, LOCK, PUBLISHING, READ, REPLACES, REPORT, STAGING, TERMS,
    UNITS, WORK, WORKERS, damaged, get_json,
};

/// An output that this process plans or finishes.
pub(crate) struct Begun<W = ()> {
    _lock: Lock,
    pub(crate) out: LocalOutput,
    pub(crate) writer: W,
    /// Whether the folder is ours: it was not there before.
    made: bool,
}

impl Begun {
    /// Takes the folder, which is made where it is not there.
    pub(crate) fn at(out: LocalOutput) -> Result<Self, EngineError> {
        let made = !out.root().exists();
        out.make_folder(&work::path(WORK)?)?;
        Ok(Self { _lock: lock(&out)?, out, writer: (), made })
    }

    pub(crate) fn with<W>(self, writer: W) -> Begun<W> {
        let Self { _lock, out, made, .. } = self;
        Begun { _lock, out, writer, made }
    }
}

impl<W> Begun<W> {
    /// What cannot be gone on with leaves nothing behind: the same request would fail again, and
    /// another would be refused.
    pub(crate) fn give_up<T>(&self, error: EngineError) -> Result<T, EngineError> {
        if is_final(&error) || is_early(&self.out, &error)? {
            self.leave_nothing()?;
        }
        Err(error)
    }

    /// Leaves the folder as it was before.
    pub(crate) fn leave_nothing(&self) -> Result<(), EngineError> {
        self.out.remove(&work::path(WORK)?)?;
        if self.made {
            // Where somebody put something into it meanwhile it stays, which is right.
            let _ = std::fs::remove_dir(self.out.root());
        }
        Ok(())
    }
}

/// Whether nothing that is done can be gone on with.
fn is_early(out: &LocalOutput, error: &EngineError) -> Result<bool, EngineError> {
    let is_whole = |folder: &str| -> Result<bool, EngineError> {
        Ok(out.exists(&work::path(&format!("{folder}/{HEAD}"))?)?)
    };
    Ok(error.is_stop() && !is_whole(CATALOG)? && !is_whole(READ)?)
}

/// Whether the same request fails again, whatever is mended on this machine.
fn is_final(error: &EngineError) -> bool {
    match error {
        EngineError::Within { source, .. } => is_final(source),
        EngineError::Strict(_)
        | EngineError::SameId { .. }
        | EngineError::DamagedCatalog { .. }
        | EngineError::Condition { .. }
        | EngineError::RepeatedBefore { .. }
        | EngineError::NoKind { .. }
        | EngineError::Select(_) => true,
        // What is wrong with the disk may be mended, and what is done is kept.
        EngineError::Format(error) => {
            !matches!(error, FormatError::Output(_) | FormatError::Read { .. })
        }
        _ => false,
    }
}

pub(crate) fn lock(out: &LocalOutput) -> Result<Lock, EngineError> {
    Lock::take(&work::path(LOCK)?.under(out.root()))?.ok_or_else(|| locked(out))
}

/// That others work on the output.
pub(crate) fn locked(out: &LocalOutput) -> EngineError {
    EngineError::Locked { path: out.root().display().to_string() }
}

/// For as long as it is held nobody makes the output anew; any number of processes may hold it.
pub(crate) fn worker_lock(out: &LocalOutput) -> Result<Lock, EngineError> {
    check_work(out.root())?;
    Lock::share(&work::path(WORKERS)?.under(out.root()))?.ok_or_else(|| locked(out))
}

/// The report of an output that is complete but for its working folder, which is removed here: a
/// process died while it did so. Where `terms` are given the output has to be theirs.
pub(crate) fn finished_but_unclean(
    out: &Path,
    terms: Option<&Terms>,
) -> Result<Option<Report>, EngineError> {
    if out.metadata().is_ok_and(|meta| !meta.is_dir()) {
        return Err(EngineError::NotAFolder { path: out.display().to_string() });
    }
    let out = LocalOutput::new(out, false);
    let work = work::path(WORK)?;
    if !out.exists(&work)? {
        return Ok(None);
    }
    // What is there may be the one that was to be replaced.
    if out.exists(&work::path(REPLACES)?)? {
        return Ok(None);
    }
    let report: Option<Report> = get_json(&out, REPORT)?;
    let Some(report) = report.filter(|report| terms.is_none_or(|terms| report.is_of(terms))) else {
        return Ok(None);
    };
    let _lock = lock(&out)?;
    out.remove(&work)?;
    Ok(Some(report))
}

/// Refuses a working folder, or one in it, that is a link: what is written there would lie elsewhere.
fn check_work(out: &Path) -> Result<(), EngineError> {
    for folder in [WORK, CATALOG, READ, EXCLUDED, UNITS, STAGING, FINAL] {
        let path = out.join(folder);
        if path.is_symlink() {
            return Err(EngineError::NotAFolder { path: path.display().to_string() });
        }
    }
    Ok(())
}

/// Refuses an output folder that holds anything but our own working folder and, where it is to be
/// overwritten, what this program has written; or that lies in a source, or a source in it.
pub(crate) fn check_output(
    out: &Path,
    sources: &[PathBuf],
    overwrite: bool,
) -> Result<(), EngineError> {
    let path = || out.display().to_string();
    let whole = resolve(out);
    for source in sources {
        if whole.starts_with(resolve(source)) {
            let inside = source.display().to_string();
            return Err(EngineError::Inside { path: path(), inside });
        }
        if resolve(source).starts_with(&whole) {
            let source_path = source.display().to_string();
            return Err(EngineError::SourceInside { path: path(), source_path });
        }
    }
    let entries = match std::fs::read_dir(out) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(EngineError::NotAFolder { path: path() });
        }
        Err(error) => return Err(damaged(&path(), error)),
    };
    check_work(out)?;
    // A process that died while it moved the last entries has left some of them here.
    let tree = LocalOutput::new(out, false);
    let moved: Option<Vec<String>> = get_json(&tree, PUBLISHING)?;
    // Where the last of all is here as well, it is whole.
    let is_part = |_: &Vec<String>| !SEALS.iter().any(|seal| out.join(seal).exists());
    let mut ours = moved.filter(is_part).unwrap_or_default();
    let mut is_whole = false;
    if overwrite || tree.exists(&work::path(TERMS)?)? {
        ours.extend(replaced(&tree)?.into_keys());
    }
    if overwrite && let Some(whole) = whole_output(&tree)? {
        is_whole = true;
        check_entries(&tree, &whole)?;
        ours.extend(whole.into_keys());
    }
    for entry in entries {
        let name = entry.map_err(|error| damaged(&path(), error))?.file_name();
        if name != WORK && !ours.iter().any(|our| name == our.as_str()) {
            let name = name.to_string_lossy().into_owned();
            return Err(match is_whole {
                true => EngineError::NotOurs { path: path(), name },
                false => EngineError::NotEmpty { path: path() },
            });
        }
    }
    Ok(())
}

/// A path with its links followed as far as it exists. What does not exist is no link, so that a
/// `..` behind it means the folder named before it.
fn resolve(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            component => resolved.push(component),
        }
        if let Ok(real) = resolved.canonicalize() {
            resolved = real;
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_resolved_whether_it_exists_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        let resolved = |path: &str| resolve(&root.join(path));
        assert_eq!(resolved("a"), root.join("a"));
        assert_eq!(resolved("not/there"), root.join("not/there"));
        assert_eq!(resolved("not/there/../../a/x"), root.join("a/x"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
            assert_eq!(resolved("link/x"), root.join("a/x"));
            // The parent of a link's end, not of the link.
            assert_eq!(resolved("link/../y"), root.join("y"));
        }
    }
}
