//! A release that may be changed, and an output that is made of it in steps.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use diptych::{EngineError, Request, Silent};
use tempfile::TempDir;

use super::folder::{assert_same, copy, good_release, tree};
use super::job::{self, convert};

/// A copy of the good release, which may be changed, and a place for an output.
pub(crate) struct Scene {
    pub(crate) dir: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(&good_release(), &dir.path().join("release"));
        Self { dir }
    }

    pub(crate) fn release(&self) -> PathBuf {
        self.dir.path().join("release")
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    pub(crate) fn request(&self) -> Request {
        Request { shard_size: 30_000, ..job::request(&self.release(), &self.out()) }
    }

    /// Plans the output, and gives the number of units.
    pub(crate) fn plan(&self) -> usize {
        diptych::engine().plan(&self.request(), &Silent).unwrap().units.len()
    }

    /// What the request makes where nothing interrupts it.
    pub(crate) fn whole(&self) -> BTreeMap<String, Vec<u8>> {
        let out = self.dir.path().join("whole");
        if !out.exists() {
            convert(&Request { out: out.clone(), ..self.request() }).unwrap();
        }
        tree(&out)
    }

    /// Goes on with the output, which then is what it would have been.
    pub(crate) fn goes_on(&self) {
        convert(&self.request()).unwrap();
        assert_same(&tree(&self.out()), &self.whole());
    }

    pub(crate) fn refuses(&self) -> EngineError {
        diptych::engine().convert(&self.request(), &Silent).unwrap_err()
    }

    /// The names of the units that are done.
    pub(crate) fn done(&self) -> Vec<String> {
        let entries = fs::read_dir(self.out().join(".diptych/units"));
        let entries = entries.into_iter().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A file as it was, to be put back with its time.
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) time: SystemTime,
}

impl Kept {
    pub(crate) fn new(path: PathBuf) -> Self {
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        Self { bytes: fs::read(&path).unwrap(), path, time }
    }

    pub(crate) fn cut(&self, length: u64) {
        File::options().write(true).open(&self.path).unwrap().set_len(length).unwrap();
    }

    pub(crate) fn put_back(&self) {
        fs::write(&self.path, &self.bytes).unwrap();
        set_time(&self.path, self.time);
    }
}

pub(crate) fn set_time(path: &Path, time: SystemTime) {
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}
