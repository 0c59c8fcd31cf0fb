//! The folders that samples are in inside an archive, worked out once from its index.
//!
//! Rows, archives and folders disagree in what they call one thing. What an archive holds is known
//! from its headers, so that a lookup is a question or two rather than a trial of names.

use std::collections::{BTreeSet, HashMap};

use diptych_format::archives::ArchiveIndex;

use crate::paths::{ends_with, last, normal, split_last};

/// Folders that are kept of one archive. A released one has one or two.
const KEPT: usize = 64;

/// What an archive's members lie in.
#[derive(Debug, Default)]
pub(crate) struct Tops {
    /// Folders of the folders that files are in: what stands before `SAMPLE/FILE`.
    pub(crate) of_samples: Vec<String>,
    /// Folders of files: what stands before `FILE`.
    pub(crate) of_files: Vec<String>,
    /// Members whose names are written in another way than rows write them, by the usual one.
    odd: HashMap<String, Box<[u8]>>,
    /// Members whose names lead out of the archive, as they are.
    escaping: Vec<String>,
}

impl Tops {
    /// Adds what an index shows.
    pub(crate) fn add(&mut self, index: &ArchiveIndex) {
        let mut before = String::new();
        for entry in index.iter() {
            let Ok(name) = std::str::from_utf8(entry.name) else { continue };
            let Ok(usual) = normal(name) else {
                if self.escaping.len() < KEPT {
                    self.escaping.push(name.to_owned());
                }
                continue;
            };
            if entry.kind == diptych_storage::tar::MemberKind::Directory {
                continue;
            }
            let name = usual.as_str();
            if name.as_bytes() != entry.name {
                self.odd.insert(usual.clone(), entry.name.into());
            }
            let Some((folder, _)) = split_last(name, 1) else { continue };
            if folder == before && !self.of_files.is_empty() {
                continue;
            }
            folder.clone_into(&mut before);
            keep(&mut self.of_files, folder);
            if let Some((folder, _)) = split_last(name, 2) {
                keep(&mut self.of_samples, folder);
            }
        }
    }

    /// The member's name for a path in the usual form.
    pub(crate) fn member<'a>(&'a self, path: &'a str) -> &'a [u8] {
        self.odd.get(path).map_or(path.as_bytes(), AsRef::as_ref)
    }

    /// A member that would be it, if its name did not lead out of the archive.
    pub(crate) fn escaping(&self, rest: &str) -> Option<&str> {
        let is_it = |name: &&String| ends_with(&name.replace('\\', "/"), rest);
        self.escaping.iter().find(is_it).map(String::as_str)
    }

    /// Whether one of the folders is called by one of these names.
    pub(crate) fn has(&self, names: &BTreeSet<&str>) -> bool {
        let both = self.of_samples.iter().chain(&self.of_files);
        both.into_iter().any(|folder| names.contains(last(folder)))
    }
}

fn keep(folders: &mut Vec<String>, folder: &str) {
    if folders.len() < KEPT && !folders.iter().any(|kept| kept == folder) {
        folders.push(folder.to_owned());
    }
}

/// Those of `folders` that may be what rows call `wanted`, the likeliest first. `names` are what
/// the group's folder is called anywhere. Where none fits, and there is only one, it is that.
pub(crate) fn fitting<'a>(
    folders: &'a [String],
    wanted: &str,
    names: &BTreeSet<&str>,
    only_is_enough: bool,
) -> Vec<&'a str> {
    let rank = |folder: &str| {
        if folder == wanted {
            Some(0)
        } else if ends_with(folder, wanted) {
            Some(1)
        } else if names.contains(last(folder)) {
            Some(2)
        } else if ends_with(wanted, folder) {
            Some(3)
        } else if folder.is_empty() {
            Some(4)
        } else {
            None
        }
    };
    let ranked = folders.iter().filter_map(|folder| Some((rank(folder)?, folder.as_str())));
    let mut found: Vec<_> = ranked.collect();
    found.sort_by_key(|(rank, _)| *rank);
    if let ([], [only], true) = (found.as_slice(), folders, only_is_enough) {
        return vec![only];
    }
    found.into_iter().map(|(_, folder)| folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_meant_is_told_by_its_name_and_else_by_being_the_only_one() {
        let names = BTreeSet::from(["results", "results_replace_part0", "replace"]);
        let of = |folders: &[&str], only| {
            let folders: Vec<_> = folders.iter().map(|f| (*f).to_owned()).collect();
            let found = fitting(&folders, "replace", &names, only);
            found.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of(&["results"], false), ["results"]);
        assert_eq!(of(&["results", "replace"], false), ["replace", "results"]);
        assert_eq!(of(&["mnt/u/results", "x/replace"], false), ["x/replace", "mnt/u/results"]);
        assert_eq!(of(&["", "other"], true), [""]);
        assert_eq!(of(&["other"], false), [""; 0]);
        assert_eq!(of(&["other"], true), ["other"]);
        assert_eq!(of(&["other", "another"], true), [""; 0]);
    }
}
