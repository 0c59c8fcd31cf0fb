//! Outputs that are read again.

use std::path::Path;

use diptych::catalog::Catalog;
use diptych::format::options::Assignment;
use diptych::schema::{Address, EditPair, Edited, Mask, MaskPart};
use diptych::{Request, Silent};

use super::folder::{assert_same, fixtures, tree};
use super::job::{self, convert};
use super::shards::samples;

pub(crate) fn option(format: &str, key: &str, value: &str) -> Assignment {
    let [format, key, value] = [format, key, value].map(str::to_owned);
    Assignment { format, key, value }
}

/// The pairs of a release, in its order.
pub(crate) fn pairs(release: &Path, options: &[Assignment]) -> Vec<EditPair> {
    let dir = tempfile::tempdir().unwrap();
    pairs_of(&catalog(release, options, &dir.path().join("catalog")))
}

/// Indexes a release of which no edit is rejected.
pub(crate) fn catalog(release: &Path, options: &[Assignment], out: &Path) -> Catalog {
    let request = Request { options: options.to_vec(), ..job::request(release, out) };
    let total = diptych::engine().index(&request, &Silent).unwrap().total;
    assert_eq!(total.rejections(), 0, "{}", release.display());
    Catalog::open(out).unwrap().unwrap()
}

/// The pairs of a catalog, in its order.
pub(crate) fn pairs_of(catalog: &Catalog) -> Vec<EditPair> {
    let partitions = 0..catalog.head().partitions.len();
    let all = partitions.flat_map(|partition| catalog.pairs(partition, 0, u64::MAX).unwrap());
    all.map(Result::unwrap).collect()
}

/// What is expected of a pair that was written and read again: its mask is in the written form,
/// and only where the bytes are is another.
pub(crate) fn written(mut pair: EditPair) -> EditPair {
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

/// A size that no unit reaches.
pub(crate) const WHOLE: u64 = 1_000_000_000;

pub(crate) fn by_id(mut pairs: Vec<EditPair>) -> Vec<EditPair> {
    pairs.sort_by(|a, b| a.pair_id.cmp(&b.pair_id));
    pairs
}

/// The names of an output's files of pairs.
pub(crate) fn names(out: &Path) -> Vec<String> {
    let all = tree(out).into_keys();
    all.filter(|name| name.starts_with("data/") && !name.ends_with(".idx")).collect()
}

/// Converts a release, reads what was written, and writes it again: the pairs are the same, and so
/// is the second output where it is cut in the same places. Gives how many files there are.
pub(crate) fn comes_back(
    to: &str,
    release: &str,
    options: &[Assignment],
    shard_size: u64,
) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
    let release = fixtures().join(release);
    let written_to = |from: &Path, out: &Path, options: &[Assignment]| {
        let to = to.to_owned();
        let options = options.to_vec();
        let request = Request { to, options, shard_size, ..job::request(from, out) };
        let report = convert(&request).unwrap();
        assert_eq!(report.total.rejections(), 0);
        report
    };
    written_to(&release, &first, options);
    let went_in = by_id(pairs(&release, options).into_iter().map(written).collect());
    let came_back = by_id(pairs(&first, &[]).into_iter().map(written).collect());
    assert_eq!(came_back.len(), went_in.len());
    for (is, was) in came_back.iter().zip(&went_in) {
        assert_eq!(is, was);
    }
    let report = written_to(&first, &second, &[]);
    assert_eq!(report.notices, []);
    if to == "webdataset" {
        assert!(samples(&second) == samples(&first));
    }
    let files = names(&first).len();
    if files > 1 && shard_size < WHOLE {
        // Files are cut by what masks weigh where they are read from, which may be run lengths.
        return files;
    }
    let [mut first, mut second] = [tree(&first), tree(&second)];
    // Where the pairs come from is another, and is told.
    assert!(first.remove("report.json") != second.remove("report.json"));
    assert_same(&second, &first);
    files
}
