//! What a user can do about an error.

use diptych::EngineError;
use diptych::detect::DetectError;
use diptych::storage::text::visible;

/// A remedy for `error`, where there is one to name.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        // One within another is boxed, and stands in the chain as its box.
        let boxed = cause.downcast_ref::<Box<EngineError>>().map(AsRef::as_ref);
        cause.downcast_ref().or(boxed).and_then(of_engine)
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
        EngineError::SameId { .. } => {
            "give each release once; the same pair cannot be in an output twice. Where they are \
             different ones whose files have the same names, put them into one folder, each in a \
             folder of its own, and give that"
                .to_owned()
        }
        _ => return None,
    })
}
