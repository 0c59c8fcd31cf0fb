//! Which image is in which split, as a file of them says.
//!
//! The shape of the published file is not known. Taken are objects of subsets with objects of
//! splits with lists of ids, the same the other way round, and objects of subsets with objects
//! that give each id its split; each also with one object around it. What else is in the file is
//! passed over.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use diptych_format::foreign::split_of;
use diptych_format::{Notice, Place};
use diptych_schema::Split;
use diptych_storage::{Limits, ReadTree, RelPath};
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The folder of such files.
const FOLDER: &str = "splits";

/// The file that was published, and the one that this program writes.
const NAMES: [&str; 2] = ["split_seed2026.json", "split.json"];

/// Bytes of such a file; the published one names 6,500 images.
const BYTES: u64 = 64 << 20;

/// Names of subsets and splits together that one may have.
const WORDS: usize = 1024;

/// Keys around what says it.
const WRAPPERS: [&str; 3] = ["subsets", "splits", "data"];

/// Subsets that are known by name, besides those of the tree.
const SUBSETS: [&str; 3] = ["COCO", "ImageNet", "Places"];

/// What the split file says of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Said<'a> {
    /// The file.
    pub(crate) file: &'a str,
    /// The subset, as it is called there.
    pub(crate) subset: Option<&'a str>,
    /// The split's word there.
    pub(crate) split: &'a str,
    /// The image's id there.
    pub(crate) id: &'a str,
}

/// The splits of a release's images.
#[derive(Default)]
pub(crate) struct Splits {
    file: String,
    /// What the file says of its seed, as JSON.
    seed: Option<Box<RawValue>>,
    /// Words and names: places of them stand for them.
    words: Vec<String>,
    subsets: BTreeMap<Option<usize>, HashMap<Box<str>, Member>>,
    /// Images that are in more than one split.
    conflicts: u64,
    limit: usize,
    ids: usize,
}

struct Member {
    /// Place of the split's word.
    word: usize,
    /// The id as it is written, where that is not what it is compared by.
    written: Option<Box<str>>,
    /// Whether another split has it too.
    is_elsewhere: bool,
}

/// Splits by how much is lost where their images are trained on.
pub(crate) fn strictness(split: Option<Split>) -> u8 {
    match split {
        None => 0,
        Some(Split::Train) => 1,
        Some(Split::Val) => 2,
        Some(Split::Test) => 3,
    }
}

/// What ids are compared by: numbers without leading zeros and without an empty fraction.
fn compared(id: &str) -> &str {
    let whole = id.strip_suffix(".0").unwrap_or(id);
    if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return id;
    }
    match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    }
}

impl Splits {
    /// The splits that a copy tells of, and what there is to notice: a file that cannot be read
    /// costs no edit.
    pub(crate) fn of<'a>(
        tree: &dyn ReadTree,
        label: &str,
        limits: &Limits,
        subsets: impl Iterator<Item = &'a str>,
    ) -> (Self, Vec<Notice>) {
        let subsets: Vec<_> = subsets.chain(SUBSETS).collect();
        let notice = |kind: &str, path: &RelPath, detail: String| Notice {
            kind: kind.to_owned(),
            at: Place::file(label, path.as_str()),
            detail,
        };
        let mut found: Option<Self> = None;
        let mut notices = Vec::new();
        for path in split_files(tree) {
            if let Some(first) = &found {
                let detail = format!("not used, since {} says it", first.file);
                notices.push(notice("other_split_file", path, detail));
                continue;
            }
            match read(tree, path, limits, &subsets) {
                Ok(splits) => {
                    if splits.conflicts > 0 {
                        let detail = format!(
                            "images in more than one split: {}; the one that is farthest from \
                             training counts",
                            splits.conflicts
                        );
                        notices.push(notice("conflicting_splits", path, detail));
                    }
                    found = Some(splits);
                }
                Err(why) => notices.push(notice("unreadable_splits", path, why)),
            }
        }
        (found.unwrap_or_default(), notices)
    }

    /// What the file says of its seed, as JSON.
    pub(crate) fn seed(&self) -> Option<&RawValue> {
        self.seed.as_deref()
    }

    /// What is said of an image.
    pub(crate) fn said(&self, subset: Option<&str>, image_id: &str) -> Option<Said<'_>> {
        let word = |at: usize| self.words.get(at).map(String::as_str);
        let id = compared(image_id);
        let by_name = self.subsets.iter().filter(|(name, _)| {
            name.and_then(word)
                .is_none_or(|name| subset.is_some_and(|subset| subset.eq_ignore_ascii_case(name)))
        });
        // A subset that is named comes behind what is said of all.
        let found = by_name.rev().find_map(|(name, ids)| Some((name, ids.get_key_value(id)?)));
        let (name, (id, member)) = found?;
        Some(Said {
            file: &self.file,
            subset: name.and_then(word),
            split: word(member.word)?,
            id: member.written.as_deref().unwrap_or(id),
        })
    }

    /// How many images are in each split of each subset: the names as they are there.
    pub(crate) fn counts(&self) -> BTreeMap<(Option<&str>, &str), u64> {
        let mut counts = BTreeMap::new();
        for (subset, ids) in &self.subsets {
            let subset = subset.and_then(|at| self.words.get(at)).map(String::as_str);
            for member in ids.values() {
                if let Some(word) = self.words.get(member.word) {
                    *counts.entry((subset, word.as_str())).or_default() += 1;
                }
            }
        }
        counts
    }

    /// The file that is used; empty where there is none.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The place of a word. Beyond the limit all are one, and the file is not used.
    fn place_of(&mut self, word: &str) -> usize {
        let known = self.words.iter().position(|of| of == word);
        known.unwrap_or_else(|| {
            self.words.extend((self.words.len() < WORDS).then(|| word.to_owned()));
            self.words.len() - 1
        })
    }

    /// Puts an image into a split.
    fn put(&mut self, subset: Option<&str>, word: &str, id: &str) {
        let subset = subset.map(|subset| self.place_of(subset));
        let word = self.place_of(word);
        let split = |words: &[String], at: usize| words.get(at).and_then(|word| split_of(word));
        let key = compared(id);
        let ids = self.subsets.entry(subset).or_default();
        if let Some(member) = ids.get_mut(key) {
            if member.word != word {
                self.conflicts += u64::from(!member.is_elsewhere);
                member.is_elsewhere = true;
                let is_stricter = strictness(split(&self.words, word))
                    > strictness(split(&self.words, member.word));
                if is_stricter {
                    member.word = word;
                }
            }
            return;
        }
        self.ids += 1;
        if self.ids <= self.limit {
            let written = (key != id).then(|| id.into());
            ids.insert(key.into(), Member { word, written, is_elsewhere: false });
        }
    }
}

/// The files of splits, the one that counts first.
fn split_files(tree: &dyn ReadTree) -> Vec<&RelPath> {
    let paths = tree.list().iter().map(|entry| &entry.path);
    let is_of_splits = |path: &&RelPath| {
        path.as_str().ends_with(".json")
            && path.parent().is_some_and(|parent| parent.rsplit('/').next() == Some(FOLDER))
    };
    let mut files: Vec<_> = paths.filter(is_of_splits).collect();
    files.sort_by_key(|path| {
        NAMES.iter().position(|name| path.file_name() == *name).unwrap_or(NAMES.len())
    });
    files
}

fn read(
    tree: &dyn ReadTree,
    path: &RelPath,
    limits: &Limits,
    subsets: &[&str],
) -> Result<Splits, String> {
    let file = tree.open(path).map_err(|error| error.to_string())?;
    let length = file.len();
    if length > BYTES {
        return Err(format!("{length} bytes are too many for a file of splits"));
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(0, &mut bytes).map_err(|error| error.to_string())?;
    parse(path.as_str(), &bytes, limits.files, subsets)
}

/// Reads a file of splits. An image needs files, so that more ids than `limit`, the number of
/// files that a release may have, are more than there can be.
fn parse(file: &str, bytes: &[u8], limit: usize, subsets: &[&str]) -> Result<Splits, String> {
    let mut splits = Splits { file: file.to_owned(), limit, ..Splits::default() };
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = Value { splits: &mut splits, subsets, within: Within::default(), key: None };
    value.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| error.to_string())?;
    match splits.ids {
        // Lists that are empty say that no image is in a split.
        0 if has_empty_lists_only(bytes) => Ok(splits),
        0 => Err("no image is in a split there, as far as it can be read".to_owned()),
        _ if splits.words.len() == WORDS => Err("too many splits".to_owned()),
        ids if ids > limit => Err(format!("{ids} images, the limit is {limit}")),
        _ => Ok(splits),
    }
}

/// Whether there are lists in a text of JSON, and nothing in any of them.
fn has_empty_lists_only(json: &[u8]) -> bool {
    let opened = json.iter().enumerate().filter(|(_, byte)| **byte == b'[');
    let mut lists = opened.map(|(at, _)| json.get(at + 1..).unwrap_or_default()).peekable();
    lists.peek().is_some() && lists.all(|rest| rest.trim_ascii_start().starts_with(b"]"))
}

/// The keys that a value stands under, by what they mean.
#[derive(Debug, Clone, Copy, Default)]
struct Within<'k> {
    subset: Option<&'k str>,
    split: Option<&'k str>,
    /// The first key that is neither by itself.
    other: Option<&'k str>,
}

impl<'k> Within<'k> {
    /// What stands under a key of this.
    fn under(mut self, key: &'k str, subsets: &[&str]) -> Self {
        let is_top = self.subset.or(self.split).or(self.other).is_none();
        if self.split.is_none() && split_of(key).is_some() {
            self.split = Some(key);
        } else if self.subset.is_none() && subsets.iter().any(|of| of.eq_ignore_ascii_case(key)) {
            self.subset = Some(key);
        } else if !(is_top && WRAPPERS.contains(&key.to_ascii_lowercase().as_str())) {
            self.other.get_or_insert(key);
        }
        self
    }

    /// The subset and the split of the ids in a list here.
    fn list(self) -> Option<(Option<&'k str>, &'k str)> {
        match (self.subset, self.split, self.other) {
            (Some(_), Some(word), _) | (Some(_), None, Some(word)) => Some((self.subset, word)),
            // A subset that nobody knows.
            (None, Some(word), subset) => Some((subset, word)),
            (_, None, _) => None,
        }
    }
}

/// A value in the file, read without holding it.
struct Value<'s, 'k> {
    splits: &'s mut Splits,
    subsets: &'s [&'s str],
    within: Within<'k>,
    /// Its key, where it has one: otherwise it is an item of a list.
    key: Option<&'k str>,
}

impl<'k> Value<'_, 'k> {
    /// What its own values are under.
    fn inside(&self) -> Within<'k> {
        match self.key {
            Some(key) => self.within.under(key, self.subsets),
            None => self.within,
        }
    }

    /// An item that is an id.
    fn id(self, id: &str) {
        if self.key.is_none()
            && let Some((subset, word)) = self.within.list()
        {
            self.splits.put(subset, word, id);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("splits of images")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let within = self.inside();
        let Self { splits, subsets, key: of, .. } = self;
        while let Some(key) = map.next_key::<String>()? {
            if of.is_none() && within.list().is_none() && key == "seed" {
                splits.seed = Some(map.next_value()?);
                continue;
            }
            let value = Value { splits: &mut *splits, subsets, within, key: Some(key.as_str()) };
            map.next_value_seed(value)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let within = self.inside();
        let Self { splits, subsets, .. } = self;
        loop {
            let value = Value { splits: &mut *splits, subsets, within, key: None };
            if items.next_element_seed(value)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        match (self.key, self.within.subset.or(self.within.other)) {
            // An id that is given its split.
            (Some(id), Some(subset)) if self.within.split.is_none() => {
                self.splits.put(Some(subset), text, id);
            }
            _ => self.id(text),
        }
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.id(&number.to_string());
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.id(&number.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.id(&number.to_string());
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::MemoryTree;

    fn parsed(json: &str) -> Result<Splits, String> {
        parse("splits/x.json", json.as_bytes(), 10, &["COCO", "Places"])
    }

    /// What is said of an image: subset, split and id as they are in the file.
    fn said(json: &str, subset: Option<&str>, id: &str) -> Option<String> {
        let splits = parsed(json).unwrap();
        let of = splits.said(subset, id);
        of.map(|of| format!("{} {} {}", of.subset.unwrap_or("-"), of.split, of.id))
    }

    #[test]
    fn every_shape_says_the_same() {
        for json in [
            r#"{"seed": 2026, "COCO": {"train": ["000000000139"], "val": [], "test": ["7"]}}"#,
            r#"{"train": {"COCO": ["000000000139"]}, "test": {"COCO": ["7"], "Places": []}}"#,
            r#"{"COCO": {"000000000139": "train", "7": "test"}, "counts": {"COCO": {"train": 1}}}"#,
            r#"{"subsets": {"COCO": {"train": ["000000000139"], "test": ["7"]}}, "seed": 1}"#,
            r#"{"splits": {"train": {"COCO": ["000000000139"]}, "test": {"COCO": ["7"]}}}"#,
            r#"{"splits": {"COCO": {"000000000139": "train", "7": "test"}}, "note": "by image"}"#,
            r#"{"counts": {"train": 1}, "COCO": {"n": 2, "train": {"ids": ["000000000139"]},
                "test": ["7"]}}"#,
        ] {
            let of = |id: &str| said(json, Some("COCO"), id);
            assert_eq!(of("139").as_deref(), Some("COCO train 000000000139"), "{json}");
            assert_eq!(of("7").as_deref(), Some("COCO test 7"), "{json}");
            assert_eq!(of("8"), None, "{json}");
            assert_eq!(said(json, Some("Places"), "7"), None, "{json}");
            assert_eq!(said(json, None, "7"), None, "{json}");
        }
    }

    #[test]
    fn subsets_may_be_unknown_or_unsaid() {
        let of = |json: &str| said(json, Some("Mine"), "7");
        assert_eq!(of(r#"{"train": {"mine": ["7"]}}"#).as_deref(), Some("mine train 7"));
        assert_eq!(of(r#"{"Mine": {"7": "val"}}"#).as_deref(), Some("Mine val 7"));
        assert_eq!(of(r#"{"Mine": {"test": [7]}}"#).as_deref(), Some("Mine test 7"));
        let all = r#"{"train": ["7"], "test": {"COCO": ["7"]}}"#;
        assert_eq!(of(all).as_deref(), Some("- train 7"));
        assert_eq!(said(all, Some("coco"), "7").as_deref(), Some("COCO test 7"));
        assert_eq!(said(all, None, "7").as_deref(), Some("- train 7"));
    }

    #[test]
    fn ids_are_compared_without_leading_zeros() {
        let json = r#"{"COCO": {"train": [139, "0012", "n01_0012", 5.0, "0", "007.0"]}}"#;
        for (id, found) in [
            ("000000000139", Some("139")),
            ("139.0", Some("139")),
            ("12", Some("0012")),
            ("n01_0012", Some("n01_0012")),
            ("n01_12", None),
            ("05", Some("5")),
            ("000", Some("0")),
            ("7", Some("007.0")),
            (".0", None),
        ] {
            let found = found.map(|found| format!("COCO train {found}"));
            assert_eq!(said(json, Some("COCO"), id), found, "{id}");
        }
    }

    #[test]
    fn other_words_are_kept() {
        assert_eq!(
            said(r#"{"COCO": {"holdout": ["7"]}}"#, Some("COCO"), "7").as_deref(),
            Some("COCO holdout 7")
        );
        assert_eq!(
            said(r#"{"holdout": {"COCO": ["7"]}}"#, Some("COCO"), "7").as_deref(),
            Some("COCO holdout 7")
        );
        assert_eq!(split_of("holdout"), None);
        for (word, split) in
            [("Train", Split::Train), ("validation", Split::Val), ("TEST", Split::Test)]
        {
            assert_eq!(split_of(word), Some(split));
        }
    }

    #[test]
    fn of_two_splits_the_one_farthest_from_training_counts() {
        let json =
            r#"{"COCO": {"test": ["1"], "train": ["1", "2", "2"], "x": ["2"], "val": ["2"]}}"#;
        assert_eq!(said(json, Some("COCO"), "1").as_deref(), Some("COCO test 1"));
        assert_eq!(said(json, Some("COCO"), "2").as_deref(), Some("COCO val 2"));
        assert_eq!(parsed(json).unwrap().conflicts, 2);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let why = |json: &str| parsed(json).err().unwrap();
        assert!(why("{").contains("EOF"));
        assert!(why("{} x").contains("trailing characters"));
        let nothing = "no image is in a split there, as far as it can be read";
        let empty = r#"{"COCO": {"train": [], "val": [ ], "test": []}}"#;
        assert!(parsed(empty).is_ok(), "nothing is in a split, and that is said");
        for json in ["{}", "7", r#"{"a": {"b": 1}}"#, r#"{"seed": {"train": ["1"]}}"#] {
            assert_eq!(why(json), nothing, "{json}");
        }
        let ids: Vec<_> = (0..12).map(|id| id.to_string()).collect();
        assert_eq!(
            why(&format!("{{\"train\": [{}]}}", ids.join(","))),
            "12 images, the limit is 10"
        );
        let words: Vec<_> = (0..WORDS + 2).map(|n| format!("\"{}\": \"w{n}\"", n % 9)).collect();
        assert_eq!(why(&format!("{{\"COCO\": {{{}}}}}", words.join(","))), "too many splits");
        assert!(why(&"[".repeat(9999)).contains("recursion limit"));
    }

    fn tree(files: &[(&str, &str)]) -> MemoryTree {
        let file =
            |(name, text): &(&str, &str)| (RelPath::new(name).unwrap(), text.as_bytes().into());
        MemoryTree::new(files.iter().map(file))
    }

    #[test]
    fn the_published_file_counts_and_one_that_cannot_be_read_costs_nothing() {
        let of = |files: &[(&str, &str)]| {
            let (splits, notices) =
                Splits::of(&tree(files), "L", &Limits::DEFAULT, std::iter::empty());
            let told: Vec<_> =
                notices.iter().map(|n| format!("{}: {}: {}", n.kind, n.at, n.detail)).collect();
            (splits, told)
        };
        let good = "\u{feff}{\"seed\": 20.26, \"COCO\": {\"val\": [1]}}";
        let (splits, told) = of(&[
            ("other/x.json", "{}"),
            ("splits/a.json", good),
            ("splits/split_seed2026.json", good),
            ("splits/x.txt", ""),
        ]);
        assert_eq!(splits.file(), "splits/split_seed2026.json");
        assert_eq!(splits.seed().map(RawValue::get), Some("20.26"));
        assert_eq!(splits.counts(), [((Some("COCO"), "val"), 1)].into());
        assert_eq!(
            told,
            [
                "other_split_file: L/splits/a.json: not used, since splits/split_seed2026.json says it"
            ]
        );
        let (splits, told) = of(&[("splits/a.json", "{"), ("x/splits/b.json", good)]);
        assert_eq!(splits.file(), "x/splits/b.json");
        assert!(told[0].starts_with("unreadable_splits: L/splits/a.json: EOF"), "{told:?}");
        let (splits, told) = of(&[]);
        assert_eq!((splits.file(), splits.said(Some("COCO"), "1"), told), ("", None, vec![]));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\":,0-3. a-cOtrain]{0,60}") {
            let _ = parsed(&text);
        }
    }
}
