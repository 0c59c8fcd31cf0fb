//! Subset and editor folders, told apart where case is folded.

use std::collections::{BTreeMap, BTreeSet};

use super::names::renamed;

/// The editor folders of an output, each with its subset folder, numbered as they come.
#[derive(Default)]
pub(crate) struct Folders {
    wanted: Vec<[String; 2]>,
    numbers: BTreeMap<[String; 2], u32>,
    /// The names that subset folders get, by those that they should have.
    subsets: BTreeMap<String, String>,
    /// The name of each editor folder.
    editors: Vec<String>,
}

impl Folders {
    /// The number of a folder.
    pub(crate) fn number(&mut self, subset: &str, editor: &str) -> u32 {
        let of = [subset, editor].map(str::to_owned);
        let next = u32::try_from(self.wanted.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(of).or_insert_with_key(|of| {
            self.wanted.push(of.clone());
            next
        })
    }

    /// Names them: each as it should be, unless one before it has the name, whatever the case of
    /// its letters.
    pub(crate) fn name(&mut self) {
        let mut taken = BTreeSet::new();
        for [subset, _] in &self.wanted {
            if !self.subsets.contains_key(subset) {
                let name = free(subset, "", &mut taken);
                self.subsets.insert(subset.clone(), name);
            }
        }
        for [subset, editor] in &self.wanted {
            self.editors.push(free(editor, subset, &mut taken));
        }
    }

    /// The name of a subset folder.
    pub(crate) fn subset(&self, wanted: &str) -> String {
        self.subsets.get(wanted).cloned().unwrap_or_else(|| wanted.to_owned())
    }

    /// Where a folder is, from the root.
    pub(crate) fn path(&self, number: u32) -> String {
        let number = number as usize;
        let subset = self.wanted.get(number).map(|[subset, _]| self.subset(subset));
        let editor = self.editors.get(number).map_or("", String::as_str);
        format!("{}/{editor}", subset.unwrap_or_default())
    }

    /// Whether a folder is called as it should be.
    pub(crate) fn is_kept(&self, number: u32) -> bool {
        let wanted = self.wanted.get(number as usize);
        wanted.is_some_and(|[subset, editor]| self.path(number) == format!("{subset}/{editor}"))
    }
}

/// A name in the folder `within` that no other there has.
fn free(wanted: &str, within: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = wanted.to_owned();
    while !taken.insert(format!("{within}/{}", name.to_ascii_lowercase())) {
        name = renamed(&name, &format!("{within}/{wanted}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_differ_in_case_alone_are_told_apart() {
        let mut folders = Folders::default();
        let numbers = [("COCO", "a"), ("coco", "a"), ("COCO", "A"), ("COCO", "a")]
            .map(|(subset, editor)| folders.number(subset, editor));
        assert_eq!(numbers, [0, 1, 2, 0]);
        folders.name();
        assert_eq!(folders.path(0), "COCO/a");
        let others = [folders.path(1), folders.path(2)].map(|path| path.to_ascii_lowercase());
        assert!(others[0].starts_with("coco-") && others[0].ends_with("/a"), "{others:?}");
        assert!(others[1].starts_with("coco/a-"), "{others:?}");
        assert!(folders.is_kept(0) && !folders.is_kept(1) && !folders.is_kept(2));
    }
}
