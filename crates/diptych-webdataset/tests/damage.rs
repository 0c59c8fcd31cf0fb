//! Shards that are cut or spoiled anywhere, and records that are too long: what is whole is read as
//! it was, and nothing is made up.

#![expect(clippy::unwrap_used, reason = "tests state what they expect by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use diptych_format::foreign::MAP;
use diptych_format::options::{Assignment, Used};
use diptych_format::{Edit, Options, Probe, ReaderInput, Rejection};
use diptych_schema::EditPair;
use diptych_storage::{Limits, MemoryTree, RelPath};
use diptych_webdataset::FORMAT;

const SHARD: &str = "data/train-00000-of-00002.tar";

fn fixture() -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/webdataset");
    std::fs::read(fixtures.join(SHARD)).unwrap()
}

/// The pairs and rejections of a shard, read with a map or by its records.
fn read(shard: Vec<u8>, map: &str, limits: Limits) -> (Vec<EditPair>, Vec<Rejection>) {
    // Another shard tells whose samples they are.
    let files = [("data/train.tar", fixture()), ("more.tar", shard)];
    let tree = MemoryTree::new(files.map(|(name, bytes)| (RelPath::new(name).unwrap(), bytes)));
    let given = Assignment {
        format: "webdataset".to_owned(),
        key: MAP.key.to_owned(),
        value: map.to_owned(),
    };
    let options =
        Options::new("webdataset", FORMAT.about().options, &[given], Used::Reading).unwrap();
    let reader = FORMAT.open_reader(ReaderInput {
        tree: Arc::new(tree),
        label: "webdataset",
        options: &options,
        folders: BTreeMap::new(),
        limits,
        probe: Probe::Header,
    });
    let reader = reader.unwrap();
    assert_eq!(reader.partitions(), ["data/train.tar", "more.tar"]);
    let mut edits = reader.read(1).unwrap();
    let (mut pairs, mut rejections) = (Vec::new(), Vec::new());
    while let Some(edit) = edits.next().unwrap() {
        match edit {
            Edit::Pair(pair) => pairs.push(*pair),
            Edit::Rejected(rejection) => rejections.push(*rejection),
        }
    }
    (pairs, rejections)
}

fn by_record(shard: Vec<u8>) -> (Vec<EditPair>, Vec<Rejection>) {
    read(shard, "", Limits::DEFAULT)
}

#[test]
fn a_shard_cut_anywhere_gives_no_wrong_pair() {
    let shard = fixture();
    let (whole, none) = by_record(shard.clone());
    assert_eq!((whole.len(), none.len()), (5, 0));
    let end = shard.len() - 1024;
    for cut in (0..shard.len()).step_by(256) {
        let (pairs, rejections) = by_record(shard[..cut].to_vec());
        assert_eq!(pairs, whole[..pairs.len()], "cut at {cut}");
        // One that is cut is told of, or one stands for all that follow; but between two samples
        // nothing shows that there was more.
        assert!(rejections.len() <= 1, "cut at {cut}: {rejections:?}");
        assert!(!rejections.is_empty() || !pairs.is_empty() || cut == 0, "cut at {cut}");
        // The last blanks of a picture are none of it.
        assert_eq!(pairs.len() == whole.len(), cut + 512 > end, "cut at {cut}");
    }
}

#[test]
fn a_spoiled_block_gives_no_wrong_pair() {
    let shard = fixture();
    let (whole, _) = by_record(shard.clone());
    for block in (0..shard.len()).step_by(512) {
        let mut spoiled = shard.clone();
        spoiled[block..block + 512].iter_mut().for_each(|byte| *byte ^= 0x5A);
        for map in ["", "source:source,target:target,reference:reference,instruction:instruction"] {
            let (pairs, _) = read(spoiled.clone(), map, Limits::DEFAULT);
            let (good, _) = read(shard.clone(), map, Limits::DEFAULT);
            let lost = good.iter().filter(|pair| !pairs.contains(pair)).count();
            // A header that is lost may take what stands behind it with it, and no more.
            assert!(lost <= 2, "block at {block}: {lost} pairs are lost");
        }
        let (pairs, _) = by_record(spoiled);
        for pair in pairs {
            let was = whole.iter().find(|was| was.pair_id == pair.pair_id).unwrap();
            assert_eq!(pair.source.address, was.source.address, "block at {block}");
            assert_eq!(pair.target.map(|of| of.address), was.target.clone().map(|of| of.address));
        }
    }
}

#[test]
fn a_record_may_be_so_long_and_no_longer() {
    let (whole, _) = by_record(fixture());
    let longest = |row_bytes| read(fixture(), "", Limits { row_bytes, ..Limits::DEFAULT });
    let (pairs, rejections) = longest(1 << 10);
    assert_eq!((pairs.len(), rejections.len()), (whole.len(), 0));
    let (pairs, rejections) = longest(50);
    assert_eq!(pairs.len(), 0);
    assert_eq!(rejections.len(), whole.len());
    let Rejection { kind, cause, pair_id, .. } = &rejections[0];
    assert_eq!((kind.as_str(), pair_id.as_deref()), ("row_too_long", Some("made-up:000")));
    assert!(cause.ends_with("bytes, the limit is 400"), "{cause}");
}
