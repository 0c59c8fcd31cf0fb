//! Which kinds of edit were written, for the report: by the words of the shared vocabulary, and by
//! others.

use std::collections::BTreeMap;

use diptych_schema::edit_type::is_shared;
use diptych_storage::text::printable;
use serde::{Deserialize, Serialize};

/// So many different words outside the vocabulary are kept for a dataset: a release may have a new
/// one in each row.
const MOST: usize = 1_000;

/// Under this all further ones are counted.
pub const FURTHER: &str = "...";

/// The kinds of edit of one dataset's pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditTypeBook {
    /// Pairs by words of the shared vocabulary.
    pub shared: BTreeMap<String, u64>,
    /// Pairs by other words, as messages show them: 1,000 of them, and the pairs with further ones
    /// under [`FURTHER`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unmapped: BTreeMap<String, u64>,
    /// Pairs without an edit type.
    pub none: u64,
}

/// One line of the books of edit types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditTypeLine {
    /// The dataset.
    pub dataset: String,
    /// The kinds of edit of its pairs.
    #[serde(flatten)]
    pub book: EditTypeBook,
}

/// The kinds of edit of the pairs that were written, by dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<EditTypeLine>", into = "Vec<EditTypeLine>")]
pub struct EditTypeBooks(BTreeMap<String, EditTypeBook>);

impl From<Vec<EditTypeLine>> for EditTypeBooks {
    fn from(lines: Vec<EditTypeLine>) -> Self {
        Self(lines.into_iter().map(|line| (line.dataset, line.book)).collect())
    }
}

impl From<EditTypeBooks> for Vec<EditTypeLine> {
    fn from(books: EditTypeBooks) -> Self {
        let line = |(dataset, book)| EditTypeLine { dataset, book };
        books.0.into_iter().map(line).collect()
    }
}

impl EditTypeBooks {
    /// Enters a pair that was written.
    pub(crate) fn enter(&mut self, dataset: &str, edit_type: Option<&str>) {
        if !self.0.contains_key(dataset) {
            self.0.insert(dataset.to_owned(), EditTypeBook::default());
        }
        let Some(book) = self.0.get_mut(dataset) else { return };
        match edit_type {
            None => book.none += 1,
            Some(word) if is_shared(word) => count(&mut book.shared, word, 1),
            Some(word) => book.enter_unmapped(&printable(word.as_bytes()), 1),
        }
    }

    /// Adds other books to these.
    pub(crate) fn add(&mut self, other: &Self) {
        for (dataset, from) in &other.0 {
            self.0.entry(dataset.clone()).or_default().add(from);
        }
    }

    /// The sum over all datasets.
    #[must_use]
    pub fn total(&self) -> EditTypeBook {
        let mut total = EditTypeBook::default();
        self.0.values().for_each(|book| total.add(book));
        total
    }
}

impl EditTypeBook {
    fn enter_unmapped(&mut self, word: &str, pairs: u64) {
        let words = self.unmapped.len() - usize::from(self.unmapped.contains_key(FURTHER));
        let is_kept = self.unmapped.contains_key(word) || words < MOST;
        count(&mut self.unmapped, if is_kept { word } else { FURTHER }, pairs);
    }

    fn add(&mut self, other: &Self) {
        for (word, pairs) in &other.shared {
            count(&mut self.shared, word, *pairs);
        }
        for (word, pairs) in &other.unmapped {
            self.enter_unmapped(word, *pairs);
        }
        self.none += other.none;
    }
}

/// Adds to the count of a word; one that is there needs no memory.
fn count(words: &mut BTreeMap<String, u64>, word: &str, pairs: u64) {
    match words.get_mut(word) {
        Some(count) => *count += pairs,
        None => {
            words.insert(word.to_owned(), pairs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_types_are_counted_by_dataset() {
        let mut books = EditTypeBooks::default();
        for (dataset, edit_type) in [
            ("a", Some("add")),
            ("a", Some("foo\u{1b}")),
            ("b", None),
            ("a", Some("add")),
            ("b", Some("foo\u{1b}")),
        ] {
            books.enter(dataset, edit_type);
        }
        let mut twice = books.clone();
        twice.add(&books);
        let json = serde_json::to_string(&twice).unwrap();
        assert_eq!(
            json,
            r#"[{"dataset":"a","shared":{"add":4},"unmapped":{"foo\\u{1b}":2},"none":0},"#
                .to_owned()
                + r#"{"dataset":"b","shared":{},"unmapped":{"foo\\u{1b}":2},"none":2}]"#
        );
        assert_eq!(serde_json::from_str::<EditTypeBooks>(&json).unwrap(), twice);
        let total = twice.total();
        assert_eq!((total.shared["add"], total.unmapped["foo\\u{1b}"], total.none), (4, 4, 2));
    }

    #[test]
    fn a_new_word_in_each_row_costs_no_memory_without_end() {
        let of = |from: usize, to: usize| {
            let mut books = EditTypeBooks::default();
            (from..to).for_each(|number| books.enter("a", Some(&format!("w{number:06}"))));
            books
        };
        let mut books = of(0, MOST);
        assert!(!books.0["a"].unmapped.contains_key(FURTHER));
        books.enter("a", Some("w000000"));
        books.enter("a", Some(&"x".repeat(100_000)));
        books.add(&of(MOST - 1, 5 * MOST));
        let book = &books.0["a"];
        assert_eq!(book.unmapped.len(), MOST + 1);
        assert_eq!((book.unmapped["w000000"], book.unmapped["w000999"]), (2, 2));
        assert_eq!(book.unmapped[FURTHER], 1 + 4 * MOST as u64);
        // What was kept of a word is short, however long it is.
        let mut books = EditTypeBooks::default();
        books.enter("a", Some(&"x".repeat(100_000)));
        assert!(books.0["a"].unmapped.keys().all(|word| word.len() < 400));
    }
}
