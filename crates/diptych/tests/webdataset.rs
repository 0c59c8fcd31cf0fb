//! WebDataset shards read back: the pairs that went in, and those of other makers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::path::{Path, PathBuf};

use diptych::catalog::Catalog;
use diptych::format::options::Assignment;
use diptych::schema::{Address, EditPair, Edited, Mask, MaskPart};
use diptych::{Request, Silent};
use support::folder::{assert_same, fixtures, tree};
use support::job::{self, convert};

fn option(format: &str, key: &str, value: &str) -> Assignment {
    let [format, key, value] = [format, key, value].map(str::to_owned);
    Assignment { format, key, value }
}

/// The pairs of a release, in its order.
fn pairs(release: &Path, options: &[Assignment]) -> Vec<EditPair> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("catalog");
    let request = Request { options: options.to_vec(), ..job::request(release, &out) };
    let total = diptych::engine().index(&request, &Silent).unwrap().total;
    assert_eq!(total.rejections(), 0, "{}", release.display());
    let catalog = Catalog::open(&out).unwrap().unwrap();
    let partitions = 0..catalog.head().partitions.len();
    let all = partitions.flat_map(|partition| catalog.pairs(partition, 0, u64::MAX).unwrap());
    all.map(Result::unwrap).collect()
}

/// What is expected of a pair that was written and read again: its mask is in the written form,
/// and only where the bytes are is another.
fn written(mut pair: EditPair) -> EditPair {
    pair.addresses_mut().for_each(|address| *address = Address::Inline(Vec::new()));
    if let Some(Mask { parts, edited, .. }) = &mut pair.mask {
        *edited = Edited::White;
        // Run lengths become a picture without a name, and parts become one with that of the first.
        let size = parts.first().and_then(MaskPart::size).unwrap();
        let name = parts.iter().find_map(|part| match part {
            MaskPart::Picture(picture) => Some(picture.name.clone()),
            MaskPart::RunLength { .. } => None,
        });
        *parts = vec![MaskPart::Picture(diptych::schema::Picture {
            name: name.unwrap_or_default(),
            address: Address::Inline(Vec::new()),
            width: Some(size.0),
            height: Some(size.1),
            media_type: Some(diptych::schema::MediaType::Png),
        })];
    }
    pair
}

fn by_id(mut pairs: Vec<EditPair>) -> Vec<EditPair> {
    pairs.sort_by(|a, b| a.pair_id.cmp(&b.pair_id));
    pairs
}

/// Converts a release to shards, reads those, and writes shards of them again: the pairs are the
/// same, and the second shards are the first.
fn comes_back(release: &str, options: &[Assignment], shard_size: u64) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
    let release = fixtures().join(release);
    let to = |from: &PathBuf, out: &Path, options: &[Assignment]| {
        let request =
            Request { options: options.to_vec(), shard_size, ..job::request(from, out) };
        let report = convert(&request).unwrap();
        assert_eq!(report.total.rejections(), 0);
        report
    };
    to(&release, &first, options);
    let went_in = by_id(pairs(&release, options).into_iter().map(written).collect());
    let came_back = by_id(pairs(&first, &[]).into_iter().map(written).collect());
    assert_eq!(came_back.len(), went_in.len());
    for (is, was) in came_back.iter().zip(&went_in) {
        assert_eq!(is, was);
    }
    let report = to(&first, &second, &[]);
    assert_eq!(report.notices, []);
    let [mut first, mut second] = [tree(&first), tree(&second)];
    // Where the pairs come from is another, and is told.
    assert!(first.remove("report.json") != second.remove("report.json"));
    assert_same(&second, &first);
    first.keys().filter(|name| name.ends_with(".tar")).count()
}

#[test]
fn pairs_come_back_whole_and_are_written_the_same_again() {
    let recap = fixtures().join("imgedit-recap");
    let recap = option("imgedit", "recap", recap.to_str().unwrap());
    for size in [1_000_000_000, 40_000] {
        let shards = [
            comes_back("inter-edit-train", &[], size),
            comes_back("imgedit", &[], size),
            comes_back("imgedit", std::slice::from_ref(&recap), size),
            comes_back("pape", &[], size),
        ];
        assert!(size > 40_000 || shards.iter().all(|shards| *shards > 2), "{shards:?}");
    }
}
