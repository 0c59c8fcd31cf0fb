//! Which format a folder is in, and why.

use diptych_format::{Confidence, Detection, Format};
use diptych_storage::ReadTree;

/// Why a source's format cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectError {
    /// No format takes it for its own.
    #[error("{path} is in no format that can be read{}", reasons(.tried))]
    None {
        /// The folder.
        path: String,
        /// What each format said.
        tried: Vec<(&'static str, String)>,
    },
    /// More than one format is equally sure.
    #[error("{path} could be in any of several formats{}", reasons(.candidates))]
    Tie {
        /// The folder.
        path: String,
        /// They, and what each said.
        candidates: Vec<(&'static str, String)>,
    },
}

fn reasons(of: &[(&'static str, String)]) -> String {
    of.iter().map(|(format, reason)| format!("\n  {format}: {reason}")).collect()
}

/// The one format that is surest of `tree`, and why.
///
/// # Errors
/// [`DetectError`] where none is, or several are equally.
pub fn detect<'a>(
    formats: &[&'a dyn Format],
    tree: &dyn ReadTree,
    path: &str,
) -> Result<(&'a dyn Format, String), DetectError> {
    let readable = formats.iter().filter(|format| format.about().reads);
    let said: Vec<(&dyn Format, Detection)> =
        readable.map(|format| (*format, format.detect(tree))).collect();
    let best = said.iter().map(|(_, d)| d.confidence).max().unwrap_or(Confidence::No);
    let told = |of: &[&(&'a dyn Format, Detection)]| {
        of.iter().map(|(format, d)| (format.about().name, d.reason.clone())).collect()
    };
    let path = path.to_owned();
    if best == Confidence::No {
        let tried = told(&said.iter().collect::<Vec<_>>());
        return Err(DetectError::None { path, tried });
    }
    let candidates: Vec<_> = said.iter().filter(|(_, d)| d.confidence == best).collect();
    match candidates.as_slice() {
        [(format, detection)] => Ok((*format, detection.reason.clone())),
        _ => Err(DetectError::Tie { path, candidates: told(&candidates) }),
    }
}
