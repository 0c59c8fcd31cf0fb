//! Releases and outputs as their pairs.

use std::path::Path;

use diptych::catalog::Catalog;
use diptych::format::options::Assignment;
use diptych::schema::EditPair;
use diptych::{Request, Silent};

use super::job;

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
    let files = 0..catalog.pair_files();
    let all = files.flat_map(|file| catalog.pairs(file, 0, u64::MAX).unwrap());
    all.map(Result::unwrap).collect()
}
