//! What a user can do about an error.

use std::io;

use diptych::EngineError;
use diptych::detect::DetectError;
use diptych::storage::text::visible;

/// A remedy for `error`, where there is one to name: for what the system said, where it says so,
/// whatever was being done.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    let of_system = error.chain().find_map(|cause| cause.downcast_ref().and_then(of_io));
    of_system.map(str::to_owned).or_else(|| {
        error.chain().find_map(|cause| {
            // One within another is boxed, and stands in the chain as its box.
            let boxed = cause.downcast_ref::<Box<EngineError>>().map(AsRef::as_ref);
            cause.downcast_ref().or(boxed).and_then(of_engine)
        })
    })
}

fn of_io(error: &io::Error) -> Option<&'static str> {
    // What the standard library has no words for has one number on all Unixes.
    let number = error.raw_os_error().filter(|_| cfg!(unix));
    Some(match (error.kind(), number) {
        (io::ErrorKind::StorageFull, _) => {
            "make room on that disk, then give the same command again"
        }
        (io::ErrorKind::QuotaExceeded, _) => {
            "make room within the quota, then give the same command again"
        }
        (io::ErrorKind::FileTooLarge, _) => {
            "allow larger files (`ulimit -f`, or another file system), or have smaller ones with \
             --shard-size"
        }
        (io::ErrorKind::ReadOnlyFilesystem, _) => {
            "mount it so that it can be written to, or give another folder with --out"
        }
        (io::ErrorKind::PermissionDenied, _) => {
            "see to it that this user may read the release and write in the output's folder"
        }
        (io::ErrorKind::WouldBlock, _) => {
            "allow more processes (`ulimit -u`), or take fewer threads with --jobs"
        }
        (_, Some(23 | 24)) => {
            "allow more open files (`ulimit -n`), or take fewer threads with --jobs"
        }
        (_, Some(5)) => {
            "the disk may be failing: see what the system says of it, then give the same command \
             again"
        }
        _ => return None,
    })
}

fn of_engine(error: &EngineError) -> Option<String> {
    Some(match error {
        EngineError::Detect(DetectError::None(unknown)) => match unknown.within.first() {
            Some(within) => {
                let folder = visible(&within.folder);
                format!("give the folder of the release itself: {}/{folder}", unknown.path)
            }
            None => {
                "give the folder of the release itself, or name the format with --from".to_owned()
            }
        },
        EngineError::Detect(DetectError::Tie { .. }) => "name the format with --from".to_owned(),
        EngineError::Tree(diptych::storage::tree::TreeError::Revisions { .. }) => {
            "give the folder of one revision, below snapshots/".to_owned()
        }
        EngineError::NotEmpty { path } => format!(
            "give another folder with --out, or --overwrite where {path} holds what an earlier \
             command made"
        ),
        EngineError::NotOurs { .. } => {
            "move it elsewhere first, or give another folder with --out".to_owned()
        }
        EngineError::SourceInside { .. } => {
            "give a folder with --out that the source is not in".to_owned()
        }
        EngineError::OtherPlan { .. } => "run its units anew".to_owned(),
        EngineError::Inside { .. } => "give a folder outside the source with --out".to_owned(),
        EngineError::OtherRequest { .. } => {
            "repeat the earlier request to go on with it, or give --overwrite to begin anew"
                .to_owned()
        }
        EngineError::Locked { .. } => "wait for the other process, or end it".to_owned(),
        EngineError::NoPlan { path } => {
            format!("`diptych plan ... --out {path}` makes one; a finished output has none")
        }
        EngineError::Unfinished { path, missing, .. } => {
            let first = missing.first().copied().unwrap_or_default();
            let last = missing.last().copied().unwrap_or_default();
            format!("`diptych run --out {path} --units {first}-{last}` writes them")
        }
        EngineError::Changed { .. } => {
            "bring the release back to what it was, or begin anew with --overwrite; a catalog of \
             it has to be made anew first"
                .to_owned()
        }
        EngineError::ChangedMeanwhile { .. } => {
            "wait until nothing writes there any more, then give the same command again".to_owned()
        }
        EngineError::Gone { label, .. } => {
            format!("`--root {label}=DIR` of `convert` and `run` says where it lies now")
        }
        EngineError::DamagedCatalog { .. } => "index the release anew".to_owned(),
        EngineError::OtherVersion { .. } => {
            "index the release anew with this program, or use the program that made it".to_owned()
        }
        EngineError::Decided { .. } => {
            "leave it out, or give the release in place of the catalog, or index it anew with it"
                .to_owned()
        }
        EngineError::LimitedCatalog { limit, .. } => {
            format!("give --limit {limit} or less, or index the release without a limit")
        }
        EngineError::OtherLimits { .. } => {
            "give the same with --max, or index the release anew".to_owned()
        }
        EngineError::NoFormat { .. } => "`diptych formats` lists them".to_owned(),
        EngineError::Option(_) | EngineError::StrayOption { .. } => {
            "`diptych formats NAME` lists the options of a format".to_owned()
        }
        EngineError::Strict(_) => {
            "without --strict such edits are listed and the others converted".to_owned()
        }
        EngineError::RepeatedBefore { .. } => {
            "choose from what it was made of; a pair can be taken again in one choice only"
                .to_owned()
        }
        EngineError::SameId { .. } => {
            "give each release once; the same pair cannot be in an output twice. Where they are \
             different ones whose files have the same names, put them into one folder, each in a \
             folder of its own, and give that"
                .to_owned()
        }
        _ => return None,
    })
}
