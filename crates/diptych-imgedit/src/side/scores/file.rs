//! `all_dataset_gpt_score.json`: one object of some 200 MB, with what the judge said of each
//! folder.
//!
//! It is walked over once and never held: what stays of an entry is where it is. How deep its
//! keys are and what its values are is written nowhere, so that keys may be whole paths or nested,
//! and a value is anything.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;

use diptych_storage::{Limits, ReadAt};

use super::super::SCORES;
use super::super::scan::{ScanError, Scanner, unquoted};
use super::super::{SideFault, recap};
use crate::groups::Group;

/// Levels of objects that may be parts of a path.
const DEPTH: usize = 4;
/// Entries that are looked at where several have one digest.
const ALIKE: usize = 8;

/// Where an entry is: twenty-four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// A digest of the folder that it is of.
    folder: u64,
    /// Where its key begins.
    offset: u64,
    /// Bytes from there to the end of its value.
    length: u32,
}

/// The large file of scores, ready to look folders up.
pub(crate) struct ScoreFile {
    file: Arc<dyn ReadAt>,
    entries: Vec<Entry>,
    limits: Limits,
    faults: Vec<SideFault>,
}

impl ScoreFile {
    /// Walks over the file. What is wrong with it ends the walk; the entries before that count.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn open(file: Arc<dyn ReadAt>, limits: &Limits) -> io::Result<Self> {
        let mut walk = Walk {
            scanner: Scanner::new(file.as_ref(), 0, file.len().min(limits.gap_bytes)),
            limits,
            path: String::new(),
            entries: Vec::new(),
            left_out: 0,
            text: Vec::new(),
        };
        let mut faults = Vec::new();
        match walk.all() {
            Ok(()) => {}
            Err(ScanError::Read(error)) => return Err(error),
            Err(ScanError::Broken { at, expected }) => {
                let cause = format!("{expected} was expected at byte {at}");
                faults.push(SideFault::new(SCORES, cause));
            }
        }
        if walk.left_out > 0 {
            let cause = format!("{} entries are too long or too many, and left out", walk.left_out);
            faults.push(SideFault::new(SCORES, cause));
        }
        let mut entries = walk.entries;
        entries.sort_unstable();
        entries.shrink_to_fit();
        Ok(Self { file, entries, limits: *limits, faults })
    }

    /// How many folders it speaks of.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What is wrong with it.
    pub(crate) fn faults(&self) -> &[SideFault] {
        &self.faults
    }

    /// What it has for the folder `sample` of the group that is called `prefix` in the rows, in
    /// the archive or by the archive: the value, as JSON.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn find(&self, prefix: &str, sample: &str) -> io::Result<Option<Vec<u8>>> {
        let wanted = (canonical(prefix), sample.to_owned());
        let digest = digest(&wanted);
        let first = self.entries.partition_point(|entry| entry.folder < digest);
        let last = self.entries.partition_point(|entry| entry.folder <= digest);
        let alike = self.entries.get(first..last).unwrap_or_default();
        // Of equal keys the last counts, as for all who read such a file.
        for entry in alike.iter().rev().take(ALIKE) {
            let mut bytes = vec![0; entry.length as usize];
            self.file.read_exact_at(entry.offset, &mut bytes)?;
            if let Some(value) = value_of(&bytes, &wanted, &self.limits) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// The value of an entry, where its key is that of the folder.
fn value_of(bytes: &Vec<u8>, wanted: &(String, String), limits: &Limits) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let behind = {
        let mut scanner = Scanner::new(bytes, 0, bytes.len() as u64);
        scanner.string(&mut text, limits.member_name_bytes).ok()?;
        scanner.expect(b':', "a colon").ok()?;
        scanner.blank().ok()?;
        usize::try_from(scanner.position()).ok()?
    };
    let key = unquoted(&text)?;
    // The levels above a nested key are not at hand; the digest is of them too.
    let fits = match folder(&key) {
        Some(found) => found == *wanted,
        None => components(&key).last().is_some_and(|last| *last == wanted.1),
    };
    fits.then(|| bytes.get(behind..).unwrap_or_default().to_vec())
}

struct Walk<'f> {
    scanner: Scanner<'f>,
    limits: &'f Limits,
    /// The keys above, each with a `/` behind it.
    path: String,
    entries: Vec<Entry>,
    left_out: u64,
    text: Vec<u8>,
}

impl Walk<'_> {
    fn all(&mut self) -> Result<(), ScanError> {
        self.scanner.expect(b'{', "an object")?;
        self.members(DEPTH)?;
        match self.scanner.blank()? {
            None => Ok(()),
            Some(_) => {
                let at = self.scanner.position();
                Err(ScanError::Broken { at, expected: "the end of the file" })
            }
        }
    }

    /// The members of an object whose opening bracket was passed.
    fn members(&mut self, depth: usize) -> Result<(), ScanError> {
        let mut more = self.scanner.any(b'}')?;
        while more {
            if self.scanner.blank()? != Some(b'"') {
                let at = self.scanner.position();
                return Err(ScanError::Broken { at, expected: "a key" });
            }
            let offset = self.scanner.position();
            let mut text = std::mem::take(&mut self.text);
            self.scanner.string(&mut text, self.limits.member_name_bytes)?;
            let above = self.path.len();
            let key = unquoted(&text);
            self.path.push_str(key.as_deref().unwrap_or_default());
            self.text = text;
            self.scanner.expect(b':', "a colon")?;
            self.value(depth)?;
            self.record(offset);
            self.path.truncate(above);
            more = self.scanner.more(b'}')?;
        }
        Ok(())
    }

    /// A value, in which there may be folders too if its key does not name one by itself.
    fn value(&mut self, depth: usize) -> Result<(), ScanError> {
        let is_sample = components(&self.path).last().is_some_and(|key| recap::is_sample(key));
        let is_object = self.scanner.blank()? == Some(b'{');
        let is_short = self.path.len() < self.limits.member_name_bytes;
        match depth.checked_sub(1) {
            Some(depth) if is_object && !is_sample && is_short => {
                self.scanner.expect(b'{', "an object")?;
                let above = self.path.len();
                self.path.push('/');
                self.members(depth)?;
                self.path.truncate(above);
                Ok(())
            }
            _ => self.scanner.skip_value(),
        }
    }

    /// Keeps where the entry is that begins at `offset` and ends here, if it is a folder's.
    fn record(&mut self, offset: u64) {
        let Some(folder) = folder(&self.path) else { return };
        let length = self.scanner.position() - offset;
        let length = u32::try_from(length).ok().filter(|l| *l as usize <= self.limits.row_bytes);
        match length {
            Some(length) if self.entries.len() < self.limits.members => {
                self.entries.push(Entry { folder: digest(&folder), offset, length });
            }
            _ => self.left_out += 1,
        }
    }
}

/// The parts of a path that say something.
fn components(path: &str) -> Vec<&str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect()
}

/// The group and the name of the folder that a path means. A name alone means none: it occurs in
/// several groups.
fn folder(path: &str) -> Option<(String, String)> {
    let mut parts = components(path);
    if parts.contains(&"..") {
        return None;
    }
    let is_file = |name: &str| {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        ending.is_some_and(|ending| ["png", "jpg", "json"].contains(&ending.as_str()))
    };
    if parts.last().is_some_and(|name| is_file(name)) {
        parts.pop();
    }
    let sample = parts.pop()?;
    let is_group = |part: &&str| part.starts_with("results") || Group::of_folder(part).is_some();
    let group = parts.iter().rfind(|part| is_group(part)).or(parts.last())?;
    Some((canonical(group), sample.to_owned()))
}

/// One name for a group that goes by several: by its archive's, by that of the folder in it, by
/// what rows call it, and in this file by two more.
fn canonical(prefix: &str) -> String {
    let renamed = match prefix.strip_prefix("results_extract_laion_") {
        Some(part) => format!("results_extract_ref_{part}"),
        None if prefix == "results_compose_part6" => "results_compose_part6_fix".to_owned(),
        None => prefix.to_owned(),
    };
    Group::of_folder(&renamed).map_or(renamed, |group| group.name.to_owned())
}

fn digest(folder: &(String, String)) -> u64 {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &str = "00094_00030_000304748";

    fn open_with(text: &[u8], limits: &Limits) -> ScoreFile {
        ScoreFile::open(Arc::new(text.to_vec()), limits).unwrap()
    }

    fn open(text: &str) -> ScoreFile {
        open_with(text.as_bytes(), &Limits::DEFAULT)
    }

    fn find(file: &ScoreFile, prefix: &str, sample: &str) -> Option<String> {
        file.find(prefix, sample).unwrap().map(|b| String::from_utf8(b).unwrap().trim().to_owned())
    }

    #[test]
    fn keys_of_any_depth_are_found_and_values_are_as_they_are() {
        let values = ["4.5", r#""Score 1: 4\nScore 2: 5""#, r#"{"score": "x", "folder": "y"}"#];
        for value in values {
            for text in [
                format!(r#"{{"a/1": 1, "results_remove_laion_part5/{SAMPLE}": {value}}}"#),
                format!(r#"{{"/data/x/results_remove_laion_part5/a/{SAMPLE}/": {value} }}"#),
                format!(r#"{{"results_remove_laion_part5": {{"{SAMPLE}": {value}}}, "b": 2}}"#),
                format!(r#"{{"all": {{"results_remove_laion_part5": {{"{SAMPLE}":{value}}}}}}}"#),
                format!(r#"{{".\\results_remove_laion_part5\\{SAMPLE}": {value}}}"#),
                format!("{{\"results_remove_laion_part5\\u002f{SAMPLE}\"\n:\n{value}\n}}\n"),
            ] {
                let file = open(&text);
                assert_eq!(file.faults(), []);
                let found = find(&file, "results_remove_laion_part5", SAMPLE);
                assert_eq!(found.as_deref(), Some(value), "{text}");
                assert_eq!(find(&file, "results_remove_laion_part4", SAMPLE), None, "{text}");
                assert_eq!(find(&file, "results_remove_laion_part5", "00094_1_2"), None);
            }
        }
    }

    #[test]
    fn groups_are_found_under_all_their_names() {
        for (key, row) in [
            ("results", "replace"),
            ("results_extract_laion_part1", "results_extract_ref_part1"),
            ("results_compose_part6", "results_compose_part6_fix"),
            ("results_hybrid_part0", "results_compose_part0"),
            ("results", "results_replace_part0"),
            ("results_remove", "results_remove_part0"),
            ("results_style_transfer_part0_cap36472", "results_style_transfer_part0"),
        ] {
            let file = open(&format!(r#"{{"{key}/{SAMPLE}": 3, "other/{SAMPLE}": 1}}"#));
            assert_eq!(find(&file, row, SAMPLE).as_deref(), Some("3"), "{key}");
            assert_eq!(find(&file, key, SAMPLE).as_deref(), Some("3"), "{key}");
        }
        let file = open(&format!(r#"{{"results_add_laion_part5/{SAMPLE}": 3}}"#));
        assert_eq!(find(&file, "replace", SAMPLE), None);
    }

    #[test]
    fn a_name_without_a_group_means_no_folder() {
        let file = open(&format!(r#"{{"{SAMPLE}": 3}}"#));
        assert_eq!((file.len(), find(&file, "replace", SAMPLE)), (0, None));
    }

    #[test]
    fn samples_of_any_name_are_found() {
        let file = open(r#"{"results_style_transfer/cat": {"score": "Score 1: 4"}}"#);
        let found = find(&file, "results_style_transfer", "cat");
        assert_eq!(found.as_deref(), Some(r#"{"score": "Score 1: 4"}"#));
    }

    #[test]
    fn of_equal_keys_the_last_counts() {
        let file = open(r#"{"results/1_2_3": 1, "replace/1_2_3": 2, "results/1_2_3": 5}"#);
        assert_eq!(find(&file, "replace", "1_2_3").as_deref(), Some("5"));
    }

    #[test]
    fn what_is_whole_of_a_broken_file_counts() {
        let told = |text: &str| {
            let file = open(text);
            let causes: Vec<_> = file.faults().iter().map(|fault| fault.cause.clone()).collect();
            (file.len(), causes.concat())
        };
        let cut = |at: &str| format!("the end of a string was expected at byte {at}");
        assert_eq!(told(r#"{"a/1": 1, "a/2": "op"#), (1, cut("21")));
        assert_eq!(told("[1]"), (0, "an object was expected at byte 0".to_owned()));
        assert_eq!(told(""), (0, "an object was expected at byte 0".to_owned()));
        assert_eq!(
            told(r#"{"a/1": 1} x"#),
            (1, "the end of the file was expected at byte 11".to_owned())
        );
        let comment = told("{\"a/1\": 1, # no JSON\n\"a/2\": 2}");
        assert_eq!(comment, (1, "a key was expected at byte 11".to_owned()));
        assert_eq!(told(r#"{}"#), (0, String::new()));
    }

    #[test]
    fn limits_bound_entries_keys_and_values() {
        let limits = Limits { row_bytes: 64, members: 3, ..Limits::DEFAULT };
        let long = "x".repeat(80);
        let text = format!(r#"{{"a/1": "{long}", "a/2": 2, "a/3": 3, "a/4": 4, "a/5": 5}}"#);
        let file = open_with(text.as_bytes(), &limits);
        assert_eq!(file.len(), 3);
        assert_eq!(file.faults()[0].cause, "2 entries are too long or too many, and left out");
        assert_eq!(find(&file, "a", "1"), None);
        let limits = Limits { member_name_bytes: 16, ..Limits::DEFAULT };
        let text = format!(r#"{{"a/{long}": 1, "b/1": 2}}"#);
        let file = open_with(text.as_bytes(), &limits);
        assert_eq!((file.len(), find(&file, "b", "1").as_deref()), (1, Some("2")));
        let deep = "{\"a\":".repeat(5000);
        assert_eq!(open(&deep).len(), 0);
    }

    #[test]
    fn an_entry_takes_twenty_four_bytes() {
        assert_eq!(size_of::<Entry>(), 24);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(text in "[{}\\[\\]\",:a/.0-9_\\\\ é]{0,80}", cut in 0_usize..80) {
            let bytes = text.as_bytes();
            let bytes = &bytes[..cut.min(bytes.len())];
            let file = open_with(bytes, &Limits::DEFAULT);
            let _ = file.find("a", "1").unwrap();
            let _ = super::super::parse(bytes);
        }
    }
}
