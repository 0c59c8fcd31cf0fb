//! The books, and the report that shows them.

use std::collections::BTreeMap;

use diptych_format::writer::{Finished, SplitCount};
use diptych_format::{Edit, Notice, Rejection};
use diptych_schema::{EditPair, Split};
use diptych_storage::text::printable;
use serde::{Deserialize, Serialize};

use crate::edit_types::EditTypeBooks;
use crate::error::EngineError;
use crate::masks::MaskBooks;
use crate::request::{MaskGrid, OptionValues, OriginWord, SourceTerms, Terms};
use crate::select::{SelectionReport, SelectionTerms};

/// The version of the report's shape. It rises when a key is removed or changes its meaning.
pub const REPORT_VERSION: u32 = 1;

/// What became of the edits of one dataset and subset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Edits read.
    pub read: u64,
    /// Times that a pair was taken again, since more were asked for than there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u64,
    /// Edits written.
    pub written: u64,
    /// Pairs that were not asked for, by reason.
    pub filtered: BTreeMap<String, u64>,
    /// Edits that could not become a pair, by kind.
    pub rejected: BTreeMap<String, u64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Book {
    /// Edits rejected, of all kinds.
    #[must_use]
    pub fn rejections(&self) -> u64 {
        sum(self.rejected.values())
    }

    /// Pairs filtered, for all reasons.
    #[must_use]
    pub fn filtered_out(&self) -> u64 {
        sum(self.filtered.values())
    }

    fn add(&mut self, other: &Self) {
        self.read = self.read.saturating_add(other.read);
        self.repeated = self.repeated.saturating_add(other.repeated);
        self.written = self.written.saturating_add(other.written);
        add_counts(&mut self.filtered, &other.filtered);
        add_counts(&mut self.rejected, &other.rejected);
    }
}

fn add_counts(to: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    for (key, count) in from {
        let of = to.entry(key.clone()).or_default();
        *of = of.saturating_add(*count);
    }
}

/// A sum that stays where it cannot grow: books may be read from files that somebody else made.
fn sum<'a>(counts: impl Iterator<Item = &'a u64>) -> u64 {
    counts.fold(0, |sum, count| sum.saturating_add(*count))
}

/// One line of the books.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookLine {
    /// The dataset.
    pub dataset: String,
    /// Its subset.
    pub subset: Option<String>,
    /// What became of its edits.
    #[serde(flatten)]
    pub book: Book,
}

/// The books: what became of every edit, for each dataset and subset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<BookLine>", into = "Vec<BookLine>")]
pub struct Books(BTreeMap<(String, Option<String>), Book>);

impl From<Vec<BookLine>> for Books {
    fn from(lines: Vec<BookLine>) -> Self {
        Self(lines.into_iter().map(|line| ((line.dataset, line.subset), line.book)).collect())
    }
}

impl From<Books> for Vec<BookLine> {
    fn from(books: Books) -> Self {
        books.lines().collect()
    }
}

impl Books {
    /// The book of a dataset and subset.
    pub fn of(&mut self, dataset: &str, subset: Option<&str>) -> &mut Book {
        self.0.entry((dataset.to_owned(), subset.map(str::to_owned))).or_default()
    }

    /// The books of all, by dataset and subset.
    pub fn lines(self) -> impl Iterator<Item = BookLine> {
        self.0.into_iter().map(|((dataset, subset), book)| BookLine { dataset, subset, book })
    }

    /// Enters an edit that was read.
    pub(crate) fn count(&mut self, edit: &Edit) {
        match edit {
            Edit::Pair(pair) => self.of(&pair.dataset, pair.subset.as_deref()).read += 1,
            Edit::Rejected(rejection) => {
                self.of(&rejection.dataset, rejection.subset.as_deref()).read += 1;
                self.reject(rejection);
            }
        }
    }

    /// Enters a rejection.
    pub fn reject(&mut self, rejection: &Rejection) {
        let book = self.of(&rejection.dataset, rejection.subset.as_deref());
        *book.rejected.entry(rejection.kind.clone()).or_default() += 1;
    }

    /// Enters a pair that was read and is not taken.
    pub(crate) fn filter(&mut self, pair: &EditPair, reason: &str) {
        let book = self.of(&pair.dataset, pair.subset.as_deref());
        *book.filtered.entry(reason.to_owned()).or_default() += 1;
    }

    /// Adds other books to these.
    pub fn add(&mut self, other: &Self) {
        for (key, book) in &other.0 {
            self.0.entry(key.clone()).or_default().add(book);
        }
    }

    /// The sum over all datasets.
    #[must_use]
    pub fn total(&self) -> Book {
        let mut total = Book::default();
        self.0.values().for_each(|book| total.add(book));
        total
    }

    /// Pairs written of each dataset.
    #[must_use]
    pub fn written_by_dataset(&self) -> BTreeMap<String, u64> {
        let mut written: BTreeMap<String, u64> = BTreeMap::new();
        for ((dataset, _), book) in self.0.iter().filter(|(_, book)| book.written > 0) {
            *written.entry(dataset.clone()).or_default() += book.written;
        }
        written
    }

    /// Takes out what is zero throughout.
    pub(crate) fn without_nothing(mut self) -> Self {
        self.0.retain(|_, book| *book != Book::default());
        self
    }

    /// Checks that every edit is accounted for. The sides were counted apart: what was read by
    /// whoever drew from the readers, the rest where it happened.
    ///
    /// # Errors
    /// [`EngineError::Books`] for the first line that does not balance.
    pub fn check(&self) -> Result<(), EngineError> {
        for ((dataset, subset), book) in &self.0 {
            let accounted =
                sum([&book.written, &book.filtered_out(), &book.rejections()].into_iter());
            if accounted != book.read.saturating_add(book.repeated) {
                let of = match subset {
                    Some(subset) => format!("{dataset}/{subset}"),
                    None => dataset.clone(),
                };
                let of = printable(of.as_bytes());
                return Err(EngineError::Books { of, read: book.read, accounted });
            }
        }
        Ok(())
    }
}

/// Pairs and files of a split.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitReport {
    /// Pairs written.
    pub pairs: u64,
    /// Files.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

/// What the report says was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportOptions {
    /// `--limit`.
    pub limit: Option<u64>,
    /// `--shard-size` in bytes.
    pub shard_size: u64,
    /// Whether pictures' headers were looked at while reading.
    pub probe: bool,
    /// `--mask-grid`. Reports from before it could be asked for do not say it.
    #[serde(default)]
    pub mask_grid: MaskGrid,
    /// `--mask-from`, by the source's label: the release's own mask where it is not said.
    #[serde(default)]
    pub mask_from: BTreeMap<String, Vec<OriginWord>>,
    /// `--difference`: what is not as it is by itself.
    #[serde(default)]
    pub difference: BTreeMap<String, String>,
    /// `--max`: what is not as it is by itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// Which pairs were taken, in which order, and what for.
    #[serde(default, skip_serializing_if = "SelectionTerms::is_all")]
    pub selection: SelectionTerms,
    /// Options of the format written.
    pub format: OptionValues,
}

/// The report of a conversion: `report.json`. Nothing in it depends on when, where or by how many
/// threads it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub report_version: u32,
    /// Name and version of the program.
    pub generator: String,
    /// The version of the canonical schema.
    pub schema_version: u32,
    /// The format written.
    pub to: String,
    /// What was asked for.
    pub options: ReportOptions,
    /// The releases read.
    pub sources: Vec<SourceTerms>,
    /// The sum of the books.
    pub total: Book,
    /// The books.
    pub datasets: Books,
    /// For each split that has pairs, by name.
    pub splits: BTreeMap<String, SplitReport>,
    /// Bytes of the pictures written.
    pub picture_bytes: u64,
    /// Bytes of the output's files, without what stands beside them.
    pub output_bytes: u64,
    /// What became of masks, by dataset and edit type.
    #[serde(default)]
    pub masks: MaskBooks,
    /// Which kinds of edit were written, by dataset. Reports from before they were counted do not
    /// say it.
    #[serde(default)]
    pub edit_types: EditTypeBooks,
    /// How pairs were chosen, where not all were taken as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionReport>,
    /// The files and folders at the root of the output, and how many files each is: what
    /// `--overwrite` may remove.
    #[serde(default)]
    pub entries: BTreeMap<String, u64>,
    /// What else is to be known of the releases.
    pub notices: Vec<Notice>,
}

impl Report {
    /// Takes what the writer says once it has finished.
    pub(crate) fn take(&mut self, finished: Finished) {
        self.notices.extend(finished.notices);
        let Some(splits) = finished.splits else { return };
        let split = |(split, SplitCount { pairs, files, bytes }): (Split, SplitCount)| {
            (split.word().to_owned(), SplitReport { pairs, files, bytes })
        };
        self.splits = splits.into_iter().map(split).collect();
        self.output_bytes = self.splits.values().map(|split| split.bytes).sum();
    }

    /// Whether it is the report of these terms, whatever else they say of the way there.
    pub(crate) fn is_of(&self, terms: &Terms) -> bool {
        let options = ReportOptions::of(terms);
        self.generator == terms.generator
            && self.to == terms.to
            && self.sources == terms.sources
            && self.options == options
    }
}

impl ReportOptions {
    pub(crate) fn of(terms: &Terms) -> Self {
        Self {
            limit: terms.limit,
            shard_size: terms.shard_size,
            probe: terms.probe,
            mask_grid: terms.mask_grid,
            mask_from: terms.mask_from.clone(),
            difference: terms.difference.clone(),
            limits: terms.limits.clone(),
            selection: terms.selection.clone(),
            format: terms.options.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_balance_or_say_where_not() {
        let mut books = Books::default();
        let book = books.of("a", Some("s"));
        book.read = 5;
        book.written = 2;
        book.filtered.insert("limit".to_owned(), 1);
        book.rejected.insert("missing_shard".to_owned(), 2);
        assert!(books.check().is_ok());
        books.of("a", None).read = 1;
        let error = books.check().unwrap_err().to_string();
        assert_eq!(error, "the books do not balance for a: 1 edits read, 0 accounted for");
        books.of("a", None).read = 0;
        books.of("a", Some("s")).written = 3;
        assert!(books.check().is_err());
        let lines: Vec<BookLine> = books.clone().into();
        assert_eq!(Books::from(lines), books);
        assert_eq!(books.total().read, 5);
    }
}
