//! Notices of a release, of each kind at most so many: a release may be made to have any number.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Notice, Place};

/// The kind of the notice that says that there are more of a kind.
const MORE: &str = "more_notices";

/// Notices, sorted, of each kind the first. Which they are does not depend on the order in which
/// they come.
#[derive(Debug, Clone)]
pub struct Notices {
    /// By kind; one more than are told of, to know that there are more.
    kinds: BTreeMap<String, BTreeSet<Notice>>,
    limit: usize,
}

impl Notices {
    /// None yet; of each kind at most `limit`
    /// ([`Limits::notices`](diptych_storage::Limits::notices)) are kept.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { kinds: BTreeMap::new(), limit }
    }

    /// Takes one.
    pub fn insert(&mut self, notice: Notice) {
        if !self.kinds.contains_key(&notice.kind) {
            self.kinds.insert(notice.kind.clone(), BTreeSet::new());
        }
        let Some(kept) = self.kinds.get_mut(&notice.kind) else { return };
        if kept.len() > self.limit && kept.last().is_some_and(|last| *last <= notice) {
            return;
        }
        kept.insert(notice);
        if kept.len() > self.limit.saturating_add(1) {
            kept.pop_last();
        }
    }

    /// All that are kept, one more of each kind than are told of.
    pub fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.kinds.values().flatten()
    }

    /// What is to be told: of each kind as many as may be, and where there are more, that there
    /// are. `source` is what places in the release are named by.
    #[must_use]
    pub fn told(self, source: &str) -> Vec<Notice> {
        let mut told = Vec::new();
        for (kind, kept) in self.kinds {
            let more = kept.len() > self.limit;
            told.extend(kept.into_iter().take(self.limit));
            if more {
                told.push(Notice {
                    kind: MORE.to_owned(),
                    at: Place { source: source.to_owned(), ..Place::default() },
                    detail: format!("there are more than {} of the kind {kind}", self.limit),
                });
            }
        }
        told
    }
}

impl Extend<Notice> for Notices {
    fn extend<I: IntoIterator<Item = Notice>>(&mut self, notices: I) {
        notices.into_iter().for_each(|notice| self.insert(notice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_of_each_kind_are_told_and_no_more() {
        let notice = |kind: &str, number: u64| Notice {
            kind: kind.to_owned(),
            at: Place { row: Some(number), ..Place::default() },
            detail: String::new(),
        };
        let told = |numbers: &[u64]| {
            let mut notices = Notices::new(3);
            notices.extend(numbers.iter().map(|number| notice("a", *number)));
            notices.extend([notice("b", 7), notice("b", 7)]);
            assert!(notices.iter().count() <= 5);
            let told = notices.told("L");
            told.iter().map(|of| format!("{} {:?} {}", of.kind, of.at.row, of.detail)).collect()
        };
        let all =
            |wanted: &[&str]| -> Vec<String> { wanted.iter().map(|of| (*of).to_owned()).collect() };
        let three = ["a Some(1) ", "a Some(2) ", "a Some(3) ", "b Some(7) "];
        let found: Vec<String> = told(&[3, 1, 2, 2, 1]);
        assert_eq!(found, all(&three));
        let more = "more_notices None there are more than 3 of the kind a";
        let with_more = all(&[three[0], three[1], three[2], more, three[3]]);
        for order in [[5, 4, 3, 2, 1], [1, 2, 3, 4, 5], [3, 5, 1, 4, 2]] {
            let found: Vec<String> = told(&order);
            assert_eq!(found, with_more, "{order:?}");
        }
    }
}
