//! A folder for what a test makes of several sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use diptych::catalog::Catalog;
use diptych::schema::EditPair;
use diptych::{Request, Silent, SourceRequest};
use tempfile::TempDir;

use super::folder::{copy, fixtures, tree};
use super::job::{self, convert};
use super::toy::{self, Partitions};

/// A folder for what a test makes.
pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A copy of a fixture, which may be changed.
    pub(crate) fn copied(&self, fixture: &str) -> PathBuf {
        let place = self.at(&format!("copy of {fixture}"));
        copy(&fixtures().join(fixture), &place);
        place
    }

    pub(crate) fn request(&self, sources: &[&Path], out: &str) -> Request {
        let source = |path: &&Path| SourceRequest::new(path.to_path_buf());
        let mut request = job::request(sources[0], &self.at(out));
        request.sources = sources.iter().map(source).collect();
        request.shard_size = 30_000;
        request
    }

    /// Makes a catalog.
    pub(crate) fn index(&self, sources: &[&Path], out: &str) -> PathBuf {
        Self::index_with(&self.request(sources, out))
    }

    pub(crate) fn index_with(request: &Request) -> PathBuf {
        diptych::engine().index(request, &Silent).unwrap();
        request.out.clone()
    }

    /// What a conversion of the sources makes.
    pub(crate) fn converted(
        &self,
        sources: &[&Path],
        change: impl Fn(&mut Request),
    ) -> BTreeMap<String, Vec<u8>> {
        let mut request = self.request(sources, "converted");
        change(&mut request);
        convert(&request).unwrap();
        let made = tree(&request.out);
        fs::remove_dir_all(&request.out).unwrap();
        made
    }

    /// A release that has these pairs: they are written as one of our own outputs.
    pub(crate) fn release(&self, name: &str, pairs: Vec<EditPair>) -> PathBuf {
        let count = pairs.len() as u64;
        // Any folder there is: the toy is code.
        let mut request = self.request(&[&fixtures()], name);
        request.to = "parquet".to_owned();
        request.sources[0].from = Some("toy".to_owned());
        let engine = toy::engine(Box::leak(Box::new(Partitions(vec![pairs]))));
        let total = engine.convert(&request, &Silent).unwrap().report.total;
        assert_eq!((total.read, total.written), (count, count));
        request.out
    }

    /// The catalog of the pairs that are chosen of some sources, which is made anew.
    pub(crate) fn chosen(&self, sources: &[&Path], change: impl FnOnce(&mut Request)) -> Catalog {
        let mut request = self.request(sources, "chosen");
        change(&mut request);
        if request.out.exists() {
            fs::remove_dir_all(&request.out).unwrap();
        }
        Catalog::open(&Self::index_with(&request)).unwrap().unwrap()
    }
}
