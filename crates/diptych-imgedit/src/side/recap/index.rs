//! The records of a copy of the recaptions, by photograph.
//!
//! They lie in `jsons/partN.tar`, or loose. A file there holds one record, a list of them, an
//! object of them by some key, a list of such objects with one key each, or one of these a line:
//! the programs that wrote them did each of it. A file that is called by a photograph is taken to
//! be of that one and is not looked into before somebody asks; any other is walked over.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;

use diptych_storage::recent::Recent;
use diptych_storage::tar::{MemberKind, TarIndex};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadAt, ReadTree, RelPath};

use super::super::SideFault;
use super::super::scan::{ScanError, Scanner, unquoted};
use super::photograph;

/// Levels of lists and objects in which records are looked for.
const DEPTH: usize = 4;
/// Records that are looked at where several have one digest.
const ALIKE: usize = 8;
/// Files that are open at one time.
const OPEN_FILES: usize = 8;
/// Faults that are told.
const FAULTS: usize = 100;
/// Fields of a record.
const FIELDS: [&str; 8] =
    ["cap", "resolution", "aes", "border", "tags", "segmentation", "bg_count", "obj_count"];

/// Where a record is: twenty-four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// A digest of its photograph.
    photograph: u64,
    offset: u64,
    file: u32,
    length: u32,
}

/// The records of a copy, ready to look photographs up.
pub(crate) struct RecapIndex {
    tree: Arc<dyn ReadTree>,
    files: Vec<RelPath>,
    open: Recent<u32, Arc<dyn ReadAt>>,
    entries: Vec<Entry>,
    limits: Limits,
    faults: Vec<SideFault>,
}

impl RecapIndex {
    /// Goes over the files of a copy. What is wrong with one costs what could not be read of it.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn open(tree: Arc<dyn ReadTree>, limits: &Limits) -> io::Result<Self> {
        let paths = tree.list().iter().map(|entry| &entry.path);
        let files: Vec<_> = paths.filter(|path| holds_records(path)).cloned().collect();
        let mut index = Self {
            tree,
            files: Vec::new(),
            open: Recent::new(OPEN_FILES),
            entries: Vec::new(),
            limits: *limits,
            faults: Vec::new(),
        };
        for (number, path) in (0..).zip(&files) {
            let file = index.tree.open(path)?;
            if path.as_str().ends_with(".tar") {
                index.archive(number, path, file.as_ref())?;
            } else {
                let whole = (0, file.len());
                index.text(number, path.as_str(), path.as_str(), file.as_ref(), whole)?;
            }
        }
        index.files = files;
        index.entries.sort_unstable();
        index.entries.shrink_to_fit();
        Ok(index)
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What is wrong with the files.
    pub(crate) fn faults(&self) -> &[SideFault] {
        &self.faults
    }

    /// The record of a photograph, which is called as a sample's folder is.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn find(&self, wanted: &str) -> io::Result<Option<Vec<u8>>> {
        let digest = digest(wanted);
        let first = self.entries.partition_point(|entry| entry.photograph < digest);
        let alike = self.entries.get(first..).unwrap_or_default();
        for entry in alike.iter().take_while(|e| e.photograph == digest).take(ALIKE) {
            let file = self.open.get(&entry.file, || {
                let path = self.files.get(entry.file as usize).ok_or(io::ErrorKind::NotFound)?;
                Ok::<_, io::Error>((self.tree.open(path)?, 1))
            })?;
            let mut bytes = vec![0; entry.length as usize];
            file.read_exact_at(entry.offset, &mut bytes)?;
            if let Some(record) = record_of(&bytes, wanted, &self.limits) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn fault(&mut self, file: &str, cause: String) {
        if self.faults.len() < FAULTS {
            self.faults.push(SideFault { file: file.to_owned(), cause });
        }
    }

    fn archive(&mut self, number: u32, path: &RelPath, file: &dyn ReadAt) -> io::Result<()> {
        let archive = TarIndex::build(file, &self.limits, &mut |_| Ok(()))?;
        for defect in archive.defects() {
            self.fault(path.as_str(), defect.to_string());
        }
        for member in archive.iter() {
            let Ok(name) = std::str::from_utf8(member.name) else { continue };
            if member.kind == MemberKind::File && is_text(name) {
                let place = format!("{path}, member {}", printable(member.name));
                self.text(number, name, &place, file, (member.offset, member.length))?;
            }
        }
        Ok(())
    }

    /// A text in a file: `range` is its offset and its length.
    fn text(
        &mut self,
        number: u32,
        name: &str,
        place: &str,
        file: &dyn ReadAt,
        range: (u64, u64),
    ) -> io::Result<()> {
        let (offset, length) = range;
        let mut left_out = 0_u64;
        let (longest, members) = (self.limits.row_bytes, self.limits.members);
        let entries = &mut self.entries;
        let mut found = |photograph: &str, offset: u64, length: u64| {
            let length = u32::try_from(length).ok().filter(|length| *length as usize <= longest);
            match length {
                Some(length) if entries.len() < members => {
                    let photograph = digest(photograph);
                    entries.push(Entry { photograph, offset, file: number, length });
                }
                _ => left_out += 1,
            }
        };
        let faults = match photograph(name) {
            Some(photograph) if length <= longest as u64 => {
                found(&photograph, offset, length);
                Vec::new()
            }
            _ => {
                let length = length.min(self.limits.gap_bytes);
                let scanner = Scanner::new(file, offset, length);
                Walk { scanner, limits: &self.limits, found: &mut found }.all()?
            }
        };
        for fault in faults {
            self.fault(place, fault);
        }
        if left_out > 0 {
            self.fault(place, format!("{left_out} records are too long or too many, and left out"));
        }
        Ok(())
    }
}

/// Whether a file may hold records. The photographs' own archives do not: they are called by a
/// number, and are far larger.
fn holds_records(path: &RelPath) -> bool {
    let path = path.as_str();
    if let Some(stem) = path.strip_suffix(".tar") {
        let name = stem.rsplit('/').next().unwrap_or(stem);
        let is_number = name.bytes().all(|b| b.is_ascii_digit());
        return !is_number && !path.split('/').any(|part| part == "laion-aes");
    }
    is_text(path)
}

fn is_text(name: &str) -> bool {
    name.ends_with(".json") || name.ends_with(".jsonl")
}

fn digest(photograph: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    photograph.hash(&mut hasher);
    hasher.finish()
}

/// The record of `wanted` in a text; one that does not name its photograph is taken to be of it.
fn record_of(bytes: &Vec<u8>, wanted: &str, limits: &Limits) -> Option<Vec<u8>> {
    let mut range = None;
    let mut found = |photograph: &str, offset: u64, length: u64| {
        if photograph == wanted && range.is_none() {
            range = Some((offset, length));
        }
    };
    let scanner = Scanner::new(bytes, 0, bytes.len() as u64);
    let mut walk = Walk { scanner, limits, found: &mut found };
    // What is before a break counts, if the record is.
    let _ = walk.value(Some(wanted), DEPTH);
    let (offset, length) = range?;
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(start..end).map(<[u8]>::to_vec)
}

/// Goes over a text and tells of each record: its photograph, where it begins and its length.
struct Walk<'f, F> {
    scanner: Scanner<'f>,
    limits: &'f Limits,
    found: &'f mut F,
}

impl<F: FnMut(&str, u64, u64)> Walk<'_, F> {
    /// Goes over all values of the text, and gives what is wrong with it. Behind a break the next
    /// line is tried: it is only one record where each has a line of its own.
    fn all(&mut self) -> io::Result<Vec<String>> {
        let mut faults = Vec::new();
        while self.scanner.blank()?.is_some() {
            match self.value(None, DEPTH) {
                Ok(()) => {}
                Err(ScanError::Read(error)) => return Err(error),
                Err(ScanError::Broken { at, expected }) => {
                    if faults.len() < FAULTS {
                        faults.push(format!("{expected} was expected at byte {at}"));
                    }
                    if !self.scanner.next_line()? {
                        break;
                    }
                }
            }
        }
        Ok(faults)
    }

    /// A value; `key` is the photograph that it is said to be of.
    fn value(&mut self, key: Option<&str>, depth: usize) -> Result<(), ScanError> {
        match (self.scanner.blank()?, depth.checked_sub(1)) {
            (Some(b'{'), Some(depth)) => self.object(key, depth),
            (Some(b'['), Some(depth)) => {
                self.scanner.expect(b'[', "a list")?;
                let mut more = self.scanner.any(b']')?;
                while more {
                    self.value(None, depth)?;
                    more = self.scanner.more(b']')?;
                }
                Ok(())
            }
            _ => self.scanner.skip_value(),
        }
    }

    /// An object: a record if it has a path or the fields of one, else one of records.
    fn object(&mut self, key: Option<&str>, depth: usize) -> Result<(), ScanError> {
        let start = self.scanner.position();
        self.scanner.expect(b'{', "an object")?;
        let (mut text, mut path, mut is_record) = (Vec::new(), None, false);
        let longest = self.limits.member_name_bytes;
        let mut more = self.scanner.any(b'}')?;
        while more {
            self.scanner.string(&mut text, longest)?;
            let name = unquoted(&text).unwrap_or_default().into_owned();
            self.scanner.expect(b':', "a colon")?;
            let first = self.scanner.blank()?;
            if name == "path" && first == Some(b'"') {
                self.scanner.string(&mut text, longest)?;
                path = unquoted(&text).as_deref().map(photograph);
            } else if FIELDS.contains(&name.as_str()) {
                is_record = true;
                self.scanner.skip_value()?;
            } else {
                self.value(photograph(&name).as_deref(), depth)?;
            }
            more = self.scanner.more(b'}')?;
        }
        let photograph = match &path {
            Some(path) => path.as_deref(),
            None => key.filter(|_| is_record),
        };
        if let Some(photograph) = photograph {
            (self.found)(photograph, start, self.scanner.position() - start);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::MemoryTree;
    use proptest::prelude::*;

    const PHOTOGRAPH: &str = "00095_00019_000197953";

    fn tree(files: &[(&str, Vec<u8>)]) -> Arc<dyn ReadTree> {
        let file = |(name, bytes): &(&str, Vec<u8>)| (RelPath::new(name).unwrap(), bytes.clone());
        Arc::new(MemoryTree::new(files.iter().map(file)))
    }

    fn open(files: &[(&str, Vec<u8>)]) -> RecapIndex {
        RecapIndex::open(tree(files), &Limits::DEFAULT).unwrap()
    }

    fn find(index: &RecapIndex, photograph: &str) -> Option<String> {
        index.find(photograph).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn record(path: &str) -> String {
        format!(r#"{{"cap": ["a {{ b"], "path": "{path}", "tags": {{"object": ["path"]}}}}"#)
    }

    fn tar(members: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, text) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn records_are_found_in_containers_of_every_shape() {
        let (one, other) = (record("00095/00019/000197953.jpg"), record("00001/00002/3.jpg"));
        let texts = [
            one.clone(),
            format!("[{other}, {one}]"),
            format!("[[{other}], [{one}]]"),
            format!(r#"{{"x": {other}, "y": {one}}}"#),
            format!(r#"[{{"x": {other}}}, {{"y": {one}}}]"#),
            format!("{other}\n{one}\n"),
            format!("\u{feff}\n{{\"x\": {other}}}\n\n{{\"y\": {one}}}"),
        ];
        for text in &texts {
            let archive = tar(&[("part0/all.json", text)]);
            for file in [("part0.json", text.clone().into_bytes()), ("jsons/part0.tar", archive)] {
                let index = open(&[file]);
                assert_eq!(index.faults(), []);
                assert_eq!(find(&index, PHOTOGRAPH).as_ref(), Some(&one), "{text}");
                assert_eq!(find(&index, "00095_00019_000197954"), None, "{text}");
            }
        }
    }

    #[test]
    fn a_key_names_a_record_that_does_not_say_its_path() {
        for key in [PHOTOGRAPH, "00095/00019/000197953.jpg", "0009500019000197953"] {
            let index = open(&[("a.json", format!(r#"{{"{key}": {{"aes": 6.1}}}}"#).into_bytes())]);
            assert_eq!(find(&index, PHOTOGRAPH).as_deref(), Some(r#"{"aes": 6.1}"#), "{key}");
        }
        let index = open(&[("a.json", br#"{"x": {"aes": 6.1}}"#.to_vec())]);
        assert_eq!(index.len(), 0);
    }

    #[test]
    fn a_file_called_by_its_photograph_is_believed_and_held_to_it() {
        let name = "part0/0009500019000197953_step4_withcount.json";
        let one = record("00095/00019/000197953.jpg");
        for text in [one.clone(), format!("[{one}]"), format!(r#"{{"x": {one}}}"#)] {
            let index = open(&[("jsons/part0.tar", tar(&[(name, &text)]))]);
            assert_eq!((index.len(), find(&index, PHOTOGRAPH).as_ref()), (1, Some(&one)));
        }
        let of_other = record("00095/00019/000197954.jpg");
        let index = open(&[("jsons/part0.tar", tar(&[(name, &of_other)]))]);
        assert_eq!((index.len(), find(&index, PHOTOGRAPH)), (1, None));
    }

    #[test]
    fn photographs_archives_are_not_looked_into() {
        let bytes = || tar(&[("0009500019000197953.json", r#"{"aes": 1}"#)]);
        let index = open(&[("laion-aes/a.tar", bytes()), ("00095.tar", bytes())]);
        assert_eq!(index.len(), 0);
    }

    #[test]
    fn what_is_broken_is_told_and_costs_no_more_than_itself() {
        let (one, other) = (record("00095/00019/000197953.jpg"), record("00001/00002/3.jpg"));
        let index = open(&[("a.jsonl", format!("{other}\n{{\"cap\": [}}\n{one}\n").into_bytes())]);
        assert_eq!(find(&index, PHOTOGRAPH).as_ref(), Some(&one));
        assert_eq!(find(&index, "00001_00002_3").as_ref(), Some(&other));
        assert_eq!(index.faults().len(), 1, "{:?}", index.faults());
        let index = open(&[("a.json", format!("[{one}, {}", &other[..30]).into_bytes())]);
        assert_eq!((find(&index, PHOTOGRAPH).as_ref(), index.faults().len()), (Some(&one), 1));
        let comment = format!("{{\"a\": {one}, # the rest\n\"b\": {other}}}");
        let index = open(&[("a.json", comment.into_bytes())]);
        assert_eq!(find(&index, PHOTOGRAPH).as_ref(), Some(&one));
        let mut cut = tar(&[("p/0009500019000197953.json", &one), ("p/x.json", &other)]);
        cut.truncate(2048);
        let index = open(&[("jsons/part0.tar", cut)]);
        assert_eq!(find(&index, PHOTOGRAPH).as_ref(), Some(&one));
        assert_ne!(index.faults(), []);
    }

    #[test]
    fn limits_bound_records_and_depth() {
        let limits = Limits { row_bytes: 100, members: 1, ..Limits::DEFAULT };
        let long = format!(r#"{{"path": "1/2/3.jpg", "cap": ["{}"]}}"#, "x".repeat(100));
        let text = format!("[{long}, {0}, {0}]", r#"{"path": "1/2/4.jpg"}"#);
        let index = RecapIndex::open(tree(&[("a.json", text.into_bytes())]), &limits).unwrap();
        assert_eq!(index.len(), 1);
        assert_eq!(index.faults()[0].cause, "2 records are too long or too many, and left out");
        let deep = open(&[("a.json", "[".repeat(100_000).into_bytes())]);
        assert_eq!(deep.len(), 0);
        assert_eq!(size_of::<Entry>(), 24);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..100),
                "[{}\\[\\]\",:\n 1/]{0,60}\"path\": \"1/2/3[\"}{,]{0,9}".prop_map(String::into_bytes),
            ],
        ) {
            for name in ["a.json", "1_2_3.json"] {
                let index = open(&[(name, bytes.clone())]);
                let _ = index.find("1_2_3").unwrap();
            }
            let _ = super::super::parse(&bytes);
        }
    }
}
