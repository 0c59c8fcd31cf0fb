//! Releases in memory, and what is read of them.

#![allow(dead_code, reason = "each test uses its share")]

use std::collections::BTreeMap;
use std::sync::Arc;

use diptych_format::{Edit, Notice, Options, Probe, Reader, ReaderInput, Rejection, Tally};
use diptych_schema::{EditPair, MaskPart};
use diptych_storage::{Limits, MemoryTree, RelPath};

/// A grey PNG of 8 by 4 pixels, of which the first so many are 1 and the others 0.
pub(crate) fn mask(edited: usize) -> Vec<u8> {
    png((8, 4), &(0..32).map(|pixel| u8::from(pixel < edited)).collect::<Vec<_>>())
}

/// A grey PNG.
pub(crate) fn png(size: (u32, u32), pixels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    bytes
}

/// Files of a release by their paths.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The folder that tests read.
pub(crate) const FOLDER: &str = "COCO/flux2_dev";

pub(crate) const FOLDERS: [&str; 5] =
    ["source", "normal", "abnormal", "masks/normal", "masks/abnormal"];

/// A manifest of these lines in [`FOLDER`], and pictures in its folders.
pub(crate) fn release(manifest: &str, pictures: &[&str]) -> Files {
    let mut files = Files::new();
    files.insert(format!("{FOLDER}/manifest.jsonl"), manifest.into());
    for name in pictures {
        files.insert(format!("{FOLDER}/{name}"), mask(16));
    }
    files
}

/// A picture of this name in each folder.
pub(crate) fn in_all(name: &str) -> Vec<String> {
    FOLDERS.iter().map(|folder| format!("{folder}/{name}")).collect()
}

pub(crate) fn open(files: &Files) -> Box<dyn Reader> {
    open_with(files, Limits::DEFAULT)
}

pub(crate) fn open_with(files: &Files, limits: Limits) -> Box<dyn Reader> {
    let files = files.iter().map(|(name, bytes)| (RelPath::new(name).unwrap(), bytes.clone()));
    let input = ReaderInput {
        tree: Arc::new(MemoryTree::new(files)),
        label: "copy",
        options: &Options::default(),
        folders: BTreeMap::new(),
        limits,
        probe: Probe::Header,
    };
    diptych_pape::FORMAT.open_reader(input).unwrap()
}

/// What is read of a release.
pub(crate) struct Read {
    pub(crate) pairs: Vec<EditPair>,
    pub(crate) rejections: Vec<Rejection>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) tally: Tally,
}

pub(crate) fn read(reader: &dyn Reader) -> Read {
    let mut read = Read {
        pairs: Vec::new(),
        rejections: Vec::new(),
        notices: Vec::new(),
        tally: Tally::default(),
    };
    for partition in 0..reader.partitions().len() {
        let before = (read.pairs.len(), read.rejections.len());
        let mut edits = reader.read(partition).unwrap();
        while let Some(edit) = edits.next().unwrap() {
            match edit {
                Edit::Pair(pair) => read.pairs.push(*pair),
                Edit::Rejected(rejection) => read.rejections.push(*rejection),
            }
        }
        assert!(edits.next().unwrap().is_none(), "it stays at its end");
        let pairs = (read.pairs.len() - before.0) as u64;
        read.tally.pairs.push(pairs);
        read.tally.edits.push(pairs + (read.rejections.len() - before.1) as u64);
    }
    read.notices = reader.notices(&read.tally);
    read
}

/// The pairs of a release of which nothing is rejected.
pub(crate) fn pairs(files: &Files) -> Vec<EditPair> {
    let read = read(open(files).as_ref());
    assert_eq!(read.rejections, []);
    read.pairs
}

/// The paths of a pair's pictures from [`FOLDER`]: source, target and mask.
pub(crate) fn pictures(pair: &EditPair) -> [Option<String>; 3] {
    let name = |name: &str| name.strip_prefix(FOLDER).unwrap_or(name)[1..].to_owned();
    let mask = pair.mask.as_ref().map(|mask| match mask.parts.as_slice() {
        [MaskPart::Picture(picture)] => name(&picture.name),
        parts => format!("{parts:?}"),
    });
    [Some(name(&pair.source.name)), pair.target.as_ref().map(|of| name(&of.name)), mask]
}

pub(crate) fn ids(pairs: &[EditPair]) -> Vec<&str> {
    pairs.iter().map(|pair| pair.pair_id.as_str()).collect()
}

/// Kind, place and text of notices.
pub(crate) fn told(notices: &[Notice]) -> Vec<String> {
    notices.iter().map(|n| format!("{}: {}: {}", n.kind, n.at, n.detail)).collect()
}

/// Kind, place and cause of rejections.
pub(crate) fn lost(rejections: &[Rejection]) -> Vec<String> {
    rejections.iter().map(|r| format!("{}: {}: {}", r.kind, r.at, r.cause)).collect()
}

pub(crate) fn label<'p>(pair: &'p EditPair, name: &str) -> Option<&'p str> {
    let mut labels = pair.labels.iter();
    labels.find(|label| label.name == name).map(|label| label.value.as_str())
}
