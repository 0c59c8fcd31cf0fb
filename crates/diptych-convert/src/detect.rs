//! Which format a folder is in, and why; and where it is in none, what is there instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use diptych_format::{Confidence, Detection, Format};
use diptych_storage::ReadTree;
use diptych_storage::text::printable;
use diptych_storage::tree::Subtree;
use serde::Serialize;

/// Folders of an unknown tree that are looked into for a release of their own.
const FOLDERS: usize = 1_000;
/// How far down they are.
const DEPTH: usize = 3;
/// Endings of files that are told of an unknown tree.
const ENDINGS: usize = 5;

/// Things that come near a format, and folders, that a message tells.
const SOME: usize = 5;

/// Why a source's format cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectError {
    /// No format takes it for its own.
    #[error("{0}")]
    None(Box<Unknown>),
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

/// A folder that is in no format: what is there, what was looked for, and what came nearest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// The folder.
    pub path: String,
    /// Files in it, hidden ones left out.
    pub files: u64,
    /// The endings that most files have; most first.
    pub endings: Vec<Ending>,
    /// What is there that is no file to be read: downloads that were not ended, broken links.
    pub odd: u64,
    /// What each format looked for, the one that came nearest first.
    pub tried: Vec<Tried>,
    /// Folders in it that are in a format.
    pub within: Vec<Within>,
    /// Whether there are folders that were not looked into: too many, or too far down.
    pub more_folders: bool,
}

/// Files with one ending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// With its point, in lower case; `without an ending` for those that have none.
    pub ending: String,
    /// How many files have it.
    pub files: u64,
}

/// A folder in a folder that is in no format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Within {
    /// Its path from there.
    pub folder: String,
    /// The format that it is in.
    pub format: &'static str,
}

/// What a format looked for and did not find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Its name.
    pub format: &'static str,
    /// What it looked for.
    pub looked_for: String,
    /// What is there that such a release has too.
    pub near: Vec<String>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is in no format that can be read", self.path)?;
        if self.files == 0 {
            f.write_str(": there is no file in it")?;
        } else {
            match self.files {
                1 => f.write_str(": there is 1 file in it")?,
                files => write!(f, ": there are {files} files in it")?,
            }
            let ending = |Ending { ending, files }: &Ending| format!("{files} {ending}");
            let endings: Vec<_> = self.endings.iter().map(ending).collect();
            write!(f, " ({})", endings.join(", "))?;
        }
        if self.odd > 0 {
            write!(f, ", and {} that cannot be read as files", self.odd)?;
        }
        for Tried { format, looked_for, .. } in &self.tried {
            write!(f, "\n  {format}: {looked_for}")?;
        }
        match self.tried.first().filter(|tried| !tried.near.is_empty()) {
            Some(Tried { format, near, .. }) => {
                let some: Vec<_> = near.iter().take(SOME).map(String::as_str).collect();
                write!(f, "\n  nearest is {format}: there is {}", some.join("; "))?;
            }
            None if self.within.is_empty() => {
                f.write_str("\n  nothing in it comes near any of them")?;
            }
            None => {}
        }
        for Within { folder, format } in self.within.iter().take(SOME) {
            let folder = printable(folder.as_bytes());
            write!(f, "\n  the folder {folder} in it is {format}")?;
        }
        if let Some(more @ 1..) = self.within.len().checked_sub(SOME) {
            write!(f, "\n  and {more} more")?;
        }
        if self.more_folders {
            f.write_str("\n  not all of its folders were looked into")?;
        }
        Ok(())
    }
}

/// The one format that is surest of `tree`, and why.
///
/// # Errors
/// [`DetectError`] where none is, or several are equally.
pub fn detect<'a>(
    formats: &[&'a dyn Format],
    tree: &dyn ReadTree,
    path: &str,
) -> Result<(&'a dyn Format, Detection), DetectError> {
    let said = said(formats, tree);
    let best = said.iter().map(|(_, d)| d.confidence).max().unwrap_or(Confidence::No);
    if best == Confidence::No {
        return Err(DetectError::None(Box::new(unknown(formats, tree, path, said))));
    }
    let mut candidates: Vec<_> =
        said.into_iter().filter(|(_, detection)| detection.confidence == best).collect();
    match (candidates.pop(), candidates.as_slice()) {
        (Some(only), []) => Ok(only),
        (last, _) => {
            let all = candidates.into_iter().chain(last);
            let candidates = all.map(|(format, d)| (format.about().name, d.reason)).collect();
            Err(DetectError::Tie { path: path.to_owned(), candidates })
        }
    }
}

fn said<'a>(formats: &[&'a dyn Format], tree: &dyn ReadTree) -> Vec<(&'a dyn Format, Detection)> {
    let readable = formats.iter().filter(|format| format.about().reads);
    readable.map(|format| (*format, format.detect(tree))).collect()
}

fn unknown(
    formats: &[&dyn Format],
    tree: &dyn ReadTree,
    path: &str,
    said: Vec<(&dyn Format, Detection)>,
) -> Unknown {
    let tried = |(format, detection): (&dyn Format, Detection)| Tried {
        format: format.about().name,
        looked_for: detection.reason,
        near: detection.near,
    };
    let mut tried: Vec<_> = said.into_iter().map(tried).collect();
    tried.sort_by_key(|tried| std::cmp::Reverse(tried.near.len()));
    let (within, more_folders) = within(formats, tree);
    let mut endings: BTreeMap<String, u64> = BTreeMap::new();
    for entry in tree.list() {
        let ending = match entry.path.file_name().rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => {
                format!(".{}", printable(ending.to_lowercase().as_bytes()))
            }
            _ => "without an ending".to_owned(),
        };
        *endings.entry(ending).or_default() += 1;
    }
    let ending = |(ending, files)| Ending { ending, files };
    let mut endings: Vec<_> = endings.into_iter().map(ending).collect();
    endings.sort_by_key(|ending| std::cmp::Reverse(ending.files));
    endings.truncate(ENDINGS);
    Unknown {
        path: path.to_owned(),
        files: tree.list().len() as u64,
        endings,
        odd: tree.oddities().len() as u64,
        tried,
        within,
        more_folders,
    }
}

/// Folders of the tree that are in a format: a release below the folder that was given. And whether
/// there are folders that were not looked into.
fn within(formats: &[&dyn Format], tree: &dyn ReadTree) -> (Vec<Within>, bool) {
    // The shortest paths come first: what lies in a release is part of it.
    let mut folders = BTreeSet::new();
    let mut more = false;
    for entry in tree.list() {
        let path = entry.path.as_str();
        for (depth, (end, _)) in path.match_indices('/').enumerate() {
            if depth >= DEPTH {
                more = true;
                break;
            }
            folders.extend(path.get(..end).map(|folder| (depth, folder)));
        }
        while folders.len() > FOLDERS {
            folders.pop_last();
            more = true;
        }
    }
    let mut found: Vec<Within> = Vec::new();
    for (_, folder) in folders {
        let inside = |of: &Within| {
            folder.strip_prefix(of.folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if found.iter().any(inside) {
            continue;
        }
        let sub = Subtree::new(tree, folder);
        if let Some(format) = sure(formats, &sub) {
            found.push(Within { folder: folder.to_owned(), format });
        }
    }
    (found, more)
}

/// The format that is surest of a tree, where one is surer than that it could be.
fn sure(formats: &[&dyn Format], tree: &dyn ReadTree) -> Option<&'static str> {
    let (format, detection) =
        said(formats, tree).into_iter().max_by_key(|(_, detection)| detection.confidence)?;
    (detection.confidence >= Confidence::Strong).then_some(format.about().name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_format::About;
    use diptych_storage::{MemoryTree, RelPath};

    /// Looks for a file of a name.
    struct Named {
        about: &'static About,
        confidence: Confidence,
    }

    const fn about(name: &'static str) -> About {
        About {
            name,
            title: name,
            summary: "a test",
            reads: true,
            writes: false,
            options: &[],
            losses: &[],
            alters: &[],
            fills: &[],
            edit_types: &[],
            masks: diptych_format::MaskMeaning::None,
            terms: &[],
            citation: None,
            published: &[],
        }
    }

    const A: Named = Named { about: &about("a"), confidence: Confidence::Strong };
    const B: Named = Named { about: &about("b"), confidence: Confidence::Strong };
    const B_WEAK: Named = Named { about: &about("b"), confidence: Confidence::Weak };

    impl Format for Named {
        fn about(&self) -> &'static About {
            self.about
        }

        fn detect(&self, tree: &dyn ReadTree) -> Detection {
            let wanted = format!("{}.txt", self.about.name);
            let folder = format!("{}/", self.about.name);
            if tree.entry(&wanted).is_some() || tree.entry("any.txt").is_some() {
                return Detection::yes(self.confidence, "it is there");
            }
            let near = tree.list().iter().filter(|e| e.path.as_str().starts_with(&folder));
            let near = near.map(|entry| entry.path.to_string()).collect();
            Detection::no(format!("no {wanted}"), near)
        }
    }

    fn told(formats: &[&dyn Format], files: &[&str]) -> Result<String, String> {
        let tree = MemoryTree::new(files.iter().map(|f| (RelPath::new(f).unwrap(), Vec::new())));
        let found = detect(formats, &tree, "DIR");
        found.map(|(format, _)| format.about().name.to_owned()).map_err(|e| e.to_string())
    }

    #[test]
    fn the_surest_is_taken_and_equals_are_a_tie() {
        assert_eq!(told(&[&A, &B], &["b.txt"]).unwrap(), "b");
        assert_eq!(told(&[&A, &B_WEAK], &["any.txt"]).unwrap(), "a");
        let tie = "DIR could be in any of several formats\n  a: it is there\n  b: it is there";
        assert_eq!(told(&[&A, &B], &["any.txt"]).unwrap_err(), tie);
    }

    #[test]
    fn what_is_unknown_is_told_with_what_came_nearest() {
        let none = "DIR is in no format that can be read: ";
        assert_eq!(
            told(&[&A, &B], &[]).unwrap_err(),
            format!(
                "{none}there is no file in it\n  a: no a.txt\n  b: no b.txt\n  nothing in it \
                 comes near any of them"
            )
        );
        assert_eq!(
            told(&[&A, &B], &["b/x", "1.JPG", "2.jpg", "sub/deep/a.txt", "c.png"]).unwrap_err(),
            format!(
                "{none}there are 5 files in it (2 .jpg, 1 .png, 1 .txt, 1 without an ending)\n  \
                 b: no b.txt\n  a: no a.txt\n  nearest is b: there is b/x\n  the folder sub/deep \
                 in it is a"
            )
        );
    }
}
