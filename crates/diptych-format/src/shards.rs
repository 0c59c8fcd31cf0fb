//! Shards that are numbered in their names, of which not all need be there.

use std::collections::BTreeMap;

use diptych_schema::Split;
use diptych_storage::text::runs;

use crate::foreign::split_of;
use crate::{Part, Stated};

/// More shards than any release has: a larger number in a name is no count of shards.
const MOST_SHARDS: u32 = 100_000;

/// A name of the form `train-00007-of-00275.jsonl.gz`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardName {
    /// The folder with a `/` behind it, and the words before the number: `metadata/train`.
    pub series: String,
    /// What follows the numbers: `.jsonl.gz`.
    pub ending: String,
    /// How many shards the series has.
    pub count: u32,
    /// Which of them this is, from 0.
    pub index: u32,
    /// Digits of a number in the name.
    width: usize,
    /// Whether a digest of the file's bytes follows the numbers, so that nobody can know the name of
    /// another: `train-00000-of-00262-504518959982bcec.parquet`.
    hashed: bool,
}

/// Shards whose names count them.
#[derive(Debug, PartialEq, Eq)]
pub struct Counted {
    /// The folder and the words before the number: `data/train`.
    pub series: String,
    /// How many are here.
    pub here: u64,
    /// How many there are by their names.
    pub stated: u64,
    /// Names of those that are not here.
    pub missing: Option<String>,
}

impl Counted {
    /// The line that tells how complete the series is, where `what` is the word for its files in
    /// the plural: `shards`.
    #[must_use]
    pub fn part(&self, what: &str) -> Part {
        Part {
            name: format!("{what} of {}", self.series),
            here: self.here,
            stated: Some(Stated { count: self.stated, by: format!("the names of the {what}") }),
            published: None,
            missing: self.missing.clone(),
        }
    }
}

/// The split that the path of a shard tells: the words before its numbers, or a folder's name.
#[must_use]
pub fn split_of_path(path: &str, ending: &str) -> Option<Split> {
    let series = ShardName::parse(path).map(|name| name.series);
    let stem = path.strip_suffix(ending).unwrap_or(path);
    let mut words = series.as_deref().unwrap_or(stem).rsplit('/');
    let is_mark = |c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    words.find_map(|word| split_of(word.trim_end_matches(is_mark)))
}

impl ShardName {
    /// Takes a path apart; `None` where it is no such name.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let dot = file.find('.')?;
        let (stem, ending) = file.split_at_checked(dot)?;
        let (stem, count_digits) = stem.rsplit_once("-of-")?;
        let (words, index_digits) = stem.rsplit_once('-')?;
        let (count_digits, hashed) = match count_digits.split_once('-') {
            Some((digits, digest)) if is_digest(digest) => (digits, true),
            _ => (count_digits, false),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(count_digits) || !digits(index_digits) || words.is_empty() {
            return None;
        }
        let (count, index) = (count_digits.parse().ok()?, index_digits.parse().ok()?);
        let series = if folder.is_empty() { words.to_owned() } else { format!("{folder}/{words}") };
        let (ending, width) = (ending.to_owned(), index_digits.len());
        (index < count && count <= MOST_SHARDS).then_some(Self {
            series,
            ending,
            count,
            index,
            width,
            hashed,
        })
    }

    /// A shard of a series, where none is there to take its name from.
    #[must_use]
    pub fn released(series: &str, ending: &str, count: u32) -> Self {
        let (series, ending) = (series.to_owned(), ending.to_owned());
        Self { series, ending, count, index: 0, width: 5, hashed: false }
    }

    /// The last words before the number: `train`.
    #[must_use]
    pub fn word(&self) -> Option<&str> {
        self.series.rsplit('/').next()
    }

    /// The name of another shard of the series; with a `*` for a digest that nobody can know.
    #[must_use]
    pub fn sibling(&self, index: u32) -> String {
        let Self { series, ending, count, width, hashed, .. } = self;
        let digest = if *hashed { "-*" } else { "" };
        format!("{series}-{index:0width$}-of-{count:0width$}{digest}{ending}")
    }
}

/// Whether words of a name are a digest, or stand for one.
fn is_digest(text: &str) -> bool {
    text == "*"
        || (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Shards of one series, of which not all need be there.
#[derive(Debug)]
pub struct Series {
    /// The name of one that is there.
    pub example: ShardName,
    /// The numbers of those that are there.
    pub present: Vec<u32>,
}

/// The series among `paths`, sorted by name.
#[must_use]
pub fn series<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<Series> {
    let mut found: BTreeMap<(String, String, u32), Series> = BTreeMap::new();
    for name in paths.filter_map(ShardName::parse) {
        let key = (name.series.clone(), name.ending.clone(), name.count);
        let index = name.index;
        let series = found.entry(key).or_insert(Series { example: name, present: Vec::new() });
        series.present.push(index);
    }
    found.into_values().collect()
}

impl Series {
    /// How many there are, and how many should be.
    #[must_use]
    pub fn counted(&self) -> Counted {
        let missing = self.missing();
        Counted {
            series: self.example.series.clone(),
            here: self.present.len() as u64,
            stated: self.example.count.into(),
            missing: (!missing.is_empty()).then(|| self.missing_names(&missing)),
        }
    }

    /// The numbers of those that are missing.
    #[must_use]
    pub fn missing(&self) -> Vec<u32> {
        let mut present = self.present.clone();
        present.sort_unstable();
        (0..self.example.count).filter(|index| present.binary_search(index).is_err()).collect()
    }

    /// Names of those that are missing: each, or the first and last of many that follow each
    /// other.
    #[must_use]
    pub fn missing_names(&self, missing: &[u32]) -> String {
        let runs = runs(missing);
        let run = |&(first, last): &(u32, u32)| match last - first {
            0 => self.example.sibling(first),
            _ => format!("{} to {}", self.example.sibling(first), self.example.sibling(last)),
        };
        let listed: Vec<_> = runs.iter().take(20).map(run).collect();
        let more = if runs.len() > 20 { ", ..." } else { "" };
        format!("{}{more}", listed.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_in_names_are_not_known_of_others() {
        let name =
            |index| format!("data/train-0000{index}-of-00003-50451895998{index}bcec.parquet");
        let (first, last) = (name(0), name(2));
        let found = series([first.as_str(), last.as_str()].into_iter());
        assert_eq!(found.len(), 1);
        let missing = "data/train-00001-of-00003-*.parquet";
        assert_eq!(found[0].counted().missing.as_deref(), Some(missing));
        assert_eq!((found[0].counted().here, found[0].counted().stated), (2, 3));
        assert_eq!(ShardName::parse("a-0-of-2-later.parquet"), None);
        assert_eq!(split_of_path(&first, ".parquet"), Some(Split::Train));
    }

    #[test]
    fn a_split_is_told_by_a_name() {
        let of = |path: &str| split_of_path(path, ".tar");
        assert_eq!(of("data/val-00000-of-00001.tar"), Some(Split::Val));
        assert_eq!(of("train/00000.tar"), Some(Split::Train));
        assert_eq!(of("x/dev_0001.tar"), Some(Split::Val));
        assert_eq!(of("test.tar"), Some(Split::Test));
        assert_eq!(of("training/a-0.tar"), Some(Split::Train));
        assert_eq!(of("latest-0.tar"), None);
        assert_eq!(of("0.tar"), None);
    }

    #[test]
    fn shard_names_are_taken_apart() {
        let name = ShardName::parse("metadata/train-00007-of-00275.jsonl.gz").unwrap();
        assert_eq!((name.series.as_str(), name.ending.as_str()), ("metadata/train", ".jsonl.gz"));
        assert_eq!((name.index, name.count), (7, 275));
        assert_eq!(name.sibling(12), "metadata/train-00012-of-00275.jsonl.gz");
        assert_eq!(ShardName::parse("a-0-of-1.tar").unwrap().sibling(0), "a-0-of-1.tar");
        for other in [
            "train.jsonl",
            "train-1-of-1",
            "train-5-of-5.tar",
            "-1-of-2.tar",
            "a-x-of-2.tar",
            "a-1-of-999999999.tar",
            "a-1-of-99999999999999999999.tar",
        ] {
            assert_eq!(ShardName::parse(other), None, "{other}");
        }
    }
}
