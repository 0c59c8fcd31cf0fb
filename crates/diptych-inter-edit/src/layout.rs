//! Which files a copy has and which it should have: metadata, shards, the manifest.

use std::collections::BTreeMap;

use diptych_format::{Notice, Place};
use diptych_schema::Split;
use diptych_storage::{ReadAt, ReadTree, RelPath};
use serde::Deserialize;

/// The manifest's name, at the root.
pub(crate) const MANIFEST: &str = "manifest.json";

/// More shards than any release has: a larger number in a name is no count of shards.
const MOST_SHARDS: u32 = 100_000;

/// Endings of metadata, the one to prefer first: the released one.
const METADATA: [&str; 3] = [".jsonl.gz", ".jsonl", ".json"];

/// A name of the form `train-00007-of-00275.jsonl.gz`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShardName {
    /// The folder with a `/` behind it, and the words before the number: `metadata/train`.
    pub(crate) series: String,
    /// What follows the numbers: `.jsonl.gz`.
    pub(crate) ending: String,
    pub(crate) count: u32,
    pub(crate) index: u32,
    /// Digits of a number in the name.
    width: usize,
}

impl ShardName {
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let dot = file.find('.')?;
        let (stem, ending) = file.split_at_checked(dot)?;
        let (stem, count_digits) = stem.rsplit_once("-of-")?;
        let (words, index_digits) = stem.rsplit_once('-')?;
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
        })
    }

    /// The name of another shard of the series.
    pub(crate) fn sibling(&self, index: u32) -> String {
        let Self { series, ending, count, width, .. } = self;
        format!("{series}-{index:0width$}-of-{count:0width$}{ending}")
    }
}

/// Shards of one series, of which not all need be there.
#[derive(Debug)]
struct Series {
    example: ShardName,
    present: Vec<u32>,
}

/// The series among `paths`, sorted by name.
fn series<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<Series> {
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
    fn missing(&self) -> Vec<u32> {
        let mut present = self.present.clone();
        present.sort_unstable();
        (0..self.example.count).filter(|index| present.binary_search(index).is_err()).collect()
    }

    /// What is missing, as text: each name, or the first and last of many that follow each other.
    fn missing_text(&self, missing: &[u32]) -> String {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for &index in missing {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == index => *last = index,
                _ => runs.push((index, index)),
            }
        }
        let run = |&(first, last): &(u32, u32)| match last - first {
            0 => self.example.sibling(first),
            _ => format!("{} to {}", self.example.sibling(first), self.example.sibling(last)),
        };
        let listed: Vec<_> = runs.iter().take(20).map(run).collect();
        let more = if runs.len() > 20 { ", ..." } else { "" };
        format!(
            "{} of {} are not there: {}{more}",
            missing.len(),
            self.example.count,
            listed.join(", ")
        )
    }
}

/// One file of rows, or the place where one should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) path: String,
    /// The file; `None` where it is not there.
    pub(crate) file: Option<RelPath>,
    /// What the rows' ids start with where they have none: unique among the files.
    pub(crate) stem: String,
    pub(crate) split: Option<Split>,
    /// Place among the shards and their number, where the name says so.
    pub(crate) shard: Option<(u32, u32)>,
}

/// What a copy holds.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) manifest: Manifest,
    pub(crate) metadata: Vec<Metadata>,
    pub(crate) archives: Vec<RelPath>,
    /// Files that are neither: pictures of a copy that was unpacked.
    pub(crate) loose: Vec<RelPath>,
    pub(crate) notices: Vec<Notice>,
}

impl Layout {
    pub(crate) fn of(tree: &dyn ReadTree, label: &str) -> Self {
        let mut notices = Vec::new();
        let manifest = match manifest(tree) {
            None => Manifest::default(),
            Some(Ok(manifest)) => manifest,
            Some(Err(detail)) => {
                let kind = "manifest_unreadable".to_owned();
                notices.push(Notice { kind, at: Place::file(label, MANIFEST), detail });
                Manifest::default()
            }
        };
        let mut archives = Vec::new();
        let mut loose = Vec::new();
        for entry in tree.list() {
            let name = entry.path.as_str().to_ascii_lowercase();
            if name.ends_with(".tar") {
                archives.push(entry.path.clone());
            } else if PICTURES.iter().any(|ending| name.ends_with(ending)) {
                loose.push(entry.path.clone());
            }
        }
        let mut layout = Self { manifest, metadata: Vec::new(), archives, loose, notices };
        layout.find_metadata(tree, label);
        layout.find_missing(label);
        layout
    }

    fn find_metadata(&mut self, tree: &dyn ReadTree, label: &str) {
        let candidates: Vec<&RelPath> = metadata_candidates(tree);
        // The same shard twice, in two wrappings, is one: its rows would all be repeats.
        let mut by_stem: BTreeMap<&str, Vec<&RelPath>> = BTreeMap::new();
        for path in candidates {
            by_stem.entry(stem(path.as_str())).or_default().push(path);
        }
        for paths in by_stem.values_mut() {
            paths.sort_by_key(|path| METADATA.iter().position(|e| path.as_str().ends_with(e)));
            let Some((first, others)) = paths.split_first() else { continue };
            for other in others {
                self.notices.push(Notice {
                    kind: "shadowed_metadata".to_owned(),
                    at: Place::file(label, other.as_str()),
                    detail: format!("not read, since {first} holds the same rows"),
                });
            }
            self.metadata.push(Metadata::new(first.as_str(), Some((*first).clone())));
        }
        for series in
            series(self.metadata.iter().map(|m| m.path.as_str()).collect::<Vec<_>>().into_iter())
        {
            for index in series.missing() {
                // Its rows are not known: it stands for them, and is rejected as one edit.
                self.metadata.push(Metadata::new(&series.example.sibling(index), None));
            }
        }
        self.metadata.sort_by(|a, b| a.path.cmp(&b.path));
        // Ids made of file and row need files of different names.
        let mut files = BTreeMap::new();
        for metadata in &self.metadata {
            *files.entry(metadata.stem.clone()).or_insert(0) += 1;
        }
        for metadata in &mut self.metadata {
            if files.get(&metadata.stem).is_some_and(|n| *n > 1) {
                stem(&metadata.path).clone_into(&mut metadata.stem);
            }
        }
    }

    /// Says which shards of the pictures are not there, and where names and manifest disagree.
    fn find_missing(&mut self, label: &str) {
        let mut notice = |kind: &str, file: String, detail: String| {
            self.notices.push(Notice {
                kind: kind.to_owned(),
                at: Place::file(label, &file),
                detail,
            });
        };
        let archives = series(self.archives.iter().map(RelPath::as_str));
        for series in &archives {
            let missing = series.missing();
            if !missing.is_empty() {
                let file = format!("{}-*{}", series.example.series, series.example.ending);
                notice("missing_shard", file, series.missing_text(&missing));
            }
        }
        let named = |of: &[Series], word: &str| {
            let ends = |s: &&Series| s.example.series.rsplit('/').next() == Some(word);
            of.iter().filter(ends).map(|s| s.example.count).next_back()
        };
        let metadata = series(self.metadata.iter().map(|m| m.path.as_str()));
        let counts = [
            ("source shards", self.manifest.num_source_shards, named(&archives, "source")),
            ("asset shards", self.manifest.num_sample_shards, named(&archives, "asset")),
            (
                "metadata shards",
                self.manifest.num_sample_shards,
                metadata.first().map(|s| s.example.count),
            ),
        ];
        for (what, stated, found) in counts {
            let Some(stated) = stated else { continue };
            let detail = match found {
                Some(found) if u64::from(found) == stated => continue,
                Some(found) => {
                    format!("it says that there are {stated} {what}, their names say {found}")
                }
                None => format!("it says that there are {stated} {what}, and none is there"),
            };
            notice("manifest_mismatch", MANIFEST.to_owned(), detail);
        }
    }
}

const PICTURES: [&str; 8] = [".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"];

impl Metadata {
    fn new(path: &str, file: Option<RelPath>) -> Self {
        let base = path.rsplit('/').next().unwrap_or(path);
        let name = ShardName::parse(path);
        let word = name.as_ref().and_then(|name| name.series.rsplit('/').next());
        Self {
            split: word.and_then(split),
            shard: name.as_ref().map(|name| (name.index, name.count)),
            stem: stem(base).to_owned(),
            path: path.to_owned(),
            file,
        }
    }
}

/// The split that a series of shards is named for.
fn split(word: &str) -> Option<Split> {
    match word {
        "validation" => Some(Split::Val),
        word => Split::from_word(word),
    }
}

fn stem(path: &str) -> &str {
    METADATA.iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path)
}

/// Files that may hold rows: those in `metadata/`, and where there are none those at the root.
fn metadata_candidates(tree: &dyn ReadTree) -> Vec<&RelPath> {
    let is_metadata = |path: &&RelPath| METADATA.iter().any(|e| path.as_str().ends_with(e));
    let within = |folder: Option<&str>| {
        let paths = tree.list().iter().map(|entry| &entry.path);
        paths.filter(|path| path.parent() == folder).filter(is_metadata).collect::<Vec<_>>()
    };
    let inside = within(Some("metadata"));
    if !inside.is_empty() {
        return inside;
    }
    let mut at_root = within(None);
    at_root.retain(|path| path.as_str() != MANIFEST);
    at_root
}

/// What the manifest says; what it does not say is `None`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Manifest {
    pub(crate) dataset_name: Option<String>,
    pub(crate) num_samples: Option<u64>,
    pub(crate) num_unique_source_images: Option<u64>,
    pub(crate) source_per_shard: Option<u64>,
    pub(crate) samples_per_shard: Option<u64>,
    pub(crate) num_source_shards: Option<u64>,
    pub(crate) num_sample_shards: Option<u64>,
}

/// What shard `index` of `count` holds when all but the last hold `each` of `total`.
pub(crate) fn shard_holds(index: u32, count: u32, each: u64, total: Option<u64>) -> Option<u64> {
    if index + 1 < count {
        return Some(each);
    }
    total?.checked_sub(each.checked_mul(u64::from(index))?).filter(|rest| *rest <= each)
}

/// Bytes of a manifest that are looked at; the released one has 571.
const MANIFEST_BYTES: u64 = 1 << 20;

/// The manifest, or why it cannot be read; `None` where there is none.
fn manifest(tree: &dyn ReadTree) -> Option<Result<Manifest, String>> {
    let entry = tree.entry(MANIFEST)?;
    if entry.length > MANIFEST_BYTES {
        return Some(Err(format!("{} bytes are too many for a manifest", entry.length)));
    }
    let bytes = tree.open(&entry.path).and_then(|file| start_of(file.as_ref(), MANIFEST_BYTES));
    let parsed = bytes
        .map_err(|error| error.to_string())
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    Some(parsed)
}

fn start_of(file: &dyn ReadAt, most: u64) -> std::io::Result<Vec<u8>> {
    let length = usize::try_from(file.len().min(most)).unwrap_or(0);
    let mut bytes = vec![0; length];
    file.read_exact_at(0, &mut bytes)?;
    Ok(bytes)
}

/// What speaks for a tree being this release.
pub(crate) enum Evidence {
    Manifest,
    Shards { example: String },
    Rows { file: String },
    Nothing,
}

pub(crate) fn evidence(tree: &dyn ReadTree) -> Evidence {
    let stated = manifest(tree).and_then(Result::ok).and_then(|manifest| manifest.dataset_name);
    if stated.is_some_and(|name| name.starts_with("Inter-Edit")) {
        return Evidence::Manifest;
    }
    let shard = |path: &str| {
        let name = ShardName::parse(path)?;
        let known = ["metadata/", "source_shards/source", "asset_shards/asset"];
        known.iter().any(|start| name.series.starts_with(start)).then(|| path.to_owned())
    };
    if let Some(example) = tree.list().iter().find_map(|entry| shard(entry.path.as_str())) {
        return Evidence::Shards { example };
    }
    let limits = diptych_storage::Limits { row_bytes: 1 << 20, ..diptych_storage::Limits::DEFAULT };
    for path in metadata_candidates(tree).into_iter().take(16) {
        let rows =
            tree.open(path).and_then(|file| diptych_storage::rows::Rows::open(file, &limits));
        if let Ok(mut rows) = rows
            && let Ok(Some(diptych_storage::rows::RowEvent::Row(row))) = rows.next_row()
            && crate::wire::parse(row.bytes).is_ok()
        {
            return Evidence::Rows { file: path.to_string() };
        }
    }
    Evidence::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::MemoryTree;

    fn tree(files: &[(&str, &[u8])]) -> MemoryTree {
        MemoryTree::new(files.iter().map(|(name, b)| (RelPath::new(name).unwrap(), b.to_vec())))
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

    #[test]
    fn the_last_shard_holds_the_rest() {
        // The numbers of the full release.
        assert_eq!(shard_holds(0, 275, 4000, Some(1_099_964)), Some(4000));
        assert_eq!(shard_holds(274, 275, 4000, Some(1_099_964)), Some(3964));
        assert_eq!(shard_holds(244, 245, 2500, Some(610_186)), Some(186));
        assert_eq!(shard_holds(4, 5, 8, None), None);
        assert_eq!(shard_holds(4, 5, 8, Some(3)), None);
    }

    #[test]
    fn metadata_is_found_with_what_is_missing() {
        let files: &[(&str, &[u8])] = &[
            ("metadata/train-00000-of-00003.jsonl.gz", b""),
            ("metadata/train-00002-of-00003.jsonl", b""),
            ("metadata/train-00002-of-00003.jsonl.gz", b""),
            ("other.jsonl", b""),
            ("source_shards/source-00001-of-00003.tar", b""),
            ("manifest.json", br#"{"num_sample_shards": 4, "num_source_shards": 3}"#),
        ];
        let layout = Layout::of(&tree(files), "L");
        let found: Vec<_> = layout.metadata.iter().map(|m| (m.path.as_str(), m.shard)).collect();
        assert_eq!(
            found,
            [
                ("metadata/train-00000-of-00003.jsonl.gz", Some((0, 3))),
                ("metadata/train-00001-of-00003.jsonl.gz", Some((1, 3))),
                ("metadata/train-00002-of-00003.jsonl.gz", Some((2, 3))),
            ]
        );
        assert!(layout.metadata[1].file.is_none());
        assert_eq!(layout.metadata[0].split, Some(Split::Train));
        let notices: Vec<_> =
            layout.notices.iter().map(|n| format!("{}: {}: {}", n.kind, n.at, n.detail)).collect();
        assert_eq!(
            notices,
            [
                "shadowed_metadata: L/metadata/train-00002-of-00003.jsonl: not read, since \
                 metadata/train-00002-of-00003.jsonl.gz holds the same rows",
                "missing_shard: L/source_shards/source-*.tar: 2 of 3 are not there: \
                 source_shards/source-00000-of-00003.tar, source_shards/source-00002-of-00003.tar",
                "manifest_mismatch: L/manifest.json: it says that there are 4 asset shards, and \
                 none is there",
                "manifest_mismatch: L/manifest.json: it says that there are 4 metadata shards, \
                 their names say 3",
            ]
        );
    }

    #[test]
    fn a_manifest_may_be_absent_or_unreadable() {
        let layout = Layout::of(&tree(&[("Inter-Edit-train.json", b"[]")]), "L");
        assert!(layout.notices.is_empty());
        assert_eq!(layout.metadata[0].stem, "Inter-Edit-train");
        assert_eq!(layout.metadata[0].split, None);
        let layout = Layout::of(&tree(&[("manifest.json", b"{")]), "L");
        assert_eq!(layout.notices[0].kind, "manifest_unreadable");
        assert_eq!(layout.manifest, Manifest::default());
    }

    #[test]
    fn a_tree_is_known_by_what_is_in_it() {
        let by = |files: &[(&str, &[u8])]| match evidence(&tree(files)) {
            Evidence::Manifest => "manifest",
            Evidence::Shards { .. } => "shards",
            Evidence::Rows { .. } => "rows",
            Evidence::Nothing => "nothing",
        };
        assert_eq!(
            by(&[("manifest.json", br#"{"dataset_name": "Inter-Edit-Train"}"#)]),
            "manifest"
        );
        assert_eq!(by(&[("manifest.json", br#"{"dataset_name": "Other"}"#)]), "nothing");
        assert_eq!(by(&[("source_shards/source-00000-of-00004.tar", b"")]), "shards");
        assert_eq!(by(&[("metadata/train-00000-of-00005.jsonl.gz", b"")]), "shards");
        let row = br#"[{"image_path": "a", "gt_path": "b", "edit_prompt": "c"}]"#;
        assert_eq!(by(&[("Inter-Edit-train.json", row)]), "rows");
        assert_eq!(by(&[("holiday.jpg", b""), ("x.json", b"{}")]), "nothing");
    }
}
