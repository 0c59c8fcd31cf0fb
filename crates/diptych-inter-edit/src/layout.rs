//! Which files a copy has and which it should have: metadata, shards, the manifest.

use std::collections::BTreeMap;

use diptych_format::shards::{Series, ShardName, series};
use diptych_format::{Notice, Place};
use diptych_schema::Split;
use diptych_storage::{ReadTree, RelPath};

use crate::manifest::{MANIFEST, Manifest, manifest};
use crate::shards::chosen;

/// Endings of metadata, the one to prefer first: the released one.
const METADATA: [&str; 3] = [".jsonl.gz", ".jsonl", ".json"];

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
    pub(crate) shards: Vec<Shards>,
    pub(crate) notices: Vec<Notice>,
}

/// Shards of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shards {
    /// `source shards`.
    pub(crate) what: &'static str,
    /// How many are here.
    pub(crate) here: u64,
    /// How many there are by their names, where there is any.
    pub(crate) by_names: Option<u64>,
    pub(crate) by_manifest: Option<u64>,
    /// Which are not here.
    pub(crate) missing: Option<String>,
}

impl Shards {
    /// Of `series`, or of one that the release has and this copy has nothing of: its shards begin
    /// with `released`.
    fn new(
        what: &'static str,
        by_manifest: Option<u64>,
        series: Option<&Series>,
        released: &str,
    ) -> Self {
        let all_missing = || {
            let count = u32::try_from(by_manifest?).ok().filter(|count| *count > 0)?;
            let example = ShardName::released(released, ".tar", count);
            Some(Series { example, present: Vec::new() })
        };
        let none = if series.is_none() { all_missing() } else { None };
        let missing = series.or(none.as_ref()).map(|series| (series, series.missing()));
        let missing = missing.filter(|(_, missing)| !missing.is_empty());
        Self {
            what,
            here: series.map_or(0, |series| series.present.len() as u64),
            by_names: series.map(|series| u64::from(series.example.count)),
            by_manifest,
            missing: missing.map(|(series, missing)| series.missing_names(&missing)),
        }
    }
}

impl Layout {
    pub(crate) fn of(tree: &dyn ReadTree, label: &str) -> Self {
        let mut notices = Vec::new();
        let manifest = match manifest(tree) {
            None => Manifest::default(),
            Some(Ok(manifest)) => manifest,
            Some(Err(error)) => Manifest { odd: vec![error], ..Manifest::default() },
        };
        for odd in &manifest.odd {
            let (kind, at) = ("manifest_unreadable".to_owned(), Place::file(label, MANIFEST));
            notices.push(Notice { kind, at, detail: format!("not used: {odd}") });
        }
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
        let mut layout =
            Self { manifest, metadata: Vec::new(), archives, loose, shards: Vec::new(), notices };
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
        let missing: Vec<_> = self
            .metadata_series()
            .iter()
            .filter_map(|alike| alike.first())
            .flat_map(|series| series.missing().into_iter().map(|i| series.example.sibling(i)))
            .collect();
        // The rows of one are not known: it stands for them, and is rejected as one edit.
        self.metadata.extend(missing.iter().map(|path| Metadata::new(path, None)));
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
        let Manifest { num_source_shards, num_sample_shards, .. } = self.manifest;
        let archives =
            chosen(series(self.archives.iter().map(RelPath::as_str)), |word| match word {
                "source" => num_source_shards,
                "asset" => num_sample_shards,
                _ => None,
            });
        let metadata = self.metadata_series();
        let mut notice = |kind: &str, file: String, detail: String| {
            self.notices.push(Notice {
                kind: kind.to_owned(),
                at: Place::file(label, &file),
                detail,
            });
        };
        let pattern = |name: &ShardName| format!("{}-*{}", name.series, name.ending);
        for alike in metadata.iter().chain(&archives) {
            let Some((first, others)) = alike.split_first() else { continue };
            for other in others {
                let (some, count) = (other.present.len(), other.example.count);
                let detail = format!(
                    "{some} of them are numbered as of {count}, the others as of {}",
                    first.example.count
                );
                notice("other_series", pattern(&first.example), detail);
            }
        }
        for series in archives.iter().filter_map(|alike| alike.first()) {
            let missing = series.missing();
            if !missing.is_empty() {
                let (names, count) = (series.missing_names(&missing), series.example.count);
                let detail = format!("{} of {count} are not there: {names}", missing.len());
                notice("missing_shard", pattern(&series.example), detail);
            }
        }
        // Rows are called by any name; pictures only by these.
        let named = |word: &str| {
            let ends = |s: &&Series| s.example.word() == Some(word);
            archives.iter().filter_map(|alike| alike.first()).rfind(ends)
        };
        let shards = |what, word: &str, stated: Option<u64>| {
            let released = format!("{word}_shards/{word}");
            Shards::new(what, stated, named(word), &released)
        };
        let mut all = Vec::new();
        // Rows whose files are not numbered are no shards of which some are missing.
        if let Some(first) = metadata.iter().find_map(|alike| alike.first()) {
            all.push(Shards::new("metadata shards", num_sample_shards, Some(first), ""));
        }
        all.push(shards("source shards", "source", num_source_shards));
        all.push(shards("asset shards", "asset", num_sample_shards));
        for Shards { what, by_names, by_manifest, .. } in &all {
            let Some(stated) = by_manifest else { continue };
            let detail = match by_names {
                Some(found) if found == stated => continue,
                Some(found) => {
                    format!("it says that there are {stated} {what}, their names say {found}")
                }
                None => format!("it says that there are {stated} {what}, and none is there"),
            };
            notice("manifest_mismatch", MANIFEST.to_owned(), detail);
        }
        self.shards = all;
    }

    /// The series of metadata shards that are there; of those that are alike, the one that counts
    /// comes first.
    fn metadata_series(&self) -> Vec<Vec<Series>> {
        let there = self.metadata.iter().filter(|metadata| metadata.file.is_some());
        let series = series(there.map(|metadata| metadata.path.as_str()));
        chosen(series, |_| self.manifest.num_sample_shards)
    }
}

const PICTURES: [&str; 8] = [".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"];

impl Metadata {
    fn new(path: &str, file: Option<RelPath>) -> Self {
        let base = path.rsplit('/').next().unwrap_or(path);
        let name = ShardName::parse(path);
        let word = name.as_ref().and_then(ShardName::word);
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
pub(crate) fn metadata_candidates(tree: &dyn ReadTree) -> Vec<&RelPath> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::MemoryTree;

    fn tree(files: &[(&str, &[u8])]) -> MemoryTree {
        MemoryTree::new(files.iter().map(|(name, b)| (RelPath::new(name).unwrap(), b.to_vec())))
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
                "manifest_mismatch: L/manifest.json: it says that there are 4 metadata shards, \
                 their names say 3",
                "manifest_mismatch: L/manifest.json: it says that there are 4 asset shards, and \
                 none is there",
            ]
        );
        let told = |shards: &Shards| format!("{}: {}", shards.what, shards.here);
        let shards: Vec<_> = layout.shards.iter().map(told).collect();
        assert_eq!(shards, ["metadata shards: 2", "source shards: 1", "asset shards: 0"]);
        let of_metadata = layout.shards[0].missing.as_deref();
        assert_eq!(of_metadata, Some("metadata/train-00001-of-00003.jsonl.gz"));
        assert_eq!((layout.shards[2].by_names, layout.shards[2].by_manifest), (None, Some(4)));
    }

    #[test]
    fn a_manifest_may_be_absent_or_unreadable() {
        let layout = Layout::of(&tree(&[("Inter-Edit-train.json", b"[]")]), "L");
        assert!(layout.notices.is_empty());
        assert_eq!(layout.metadata[0].stem, "Inter-Edit-train");
        assert_eq!(layout.metadata[0].split, None);
        let layout = Layout::of(&tree(&[("manifest.json", b"{")]), "L");
        assert_eq!(layout.notices[0].kind, "manifest_unreadable");
        assert!(layout.notices[0].detail.starts_with("not used: it is no JSON: "));
    }
}
