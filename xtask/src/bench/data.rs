//! A data folder: what is in it, and whether a work can be done with it.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use flate2::bufread::MultiGzDecoder;

use super::works::Work;

/// A folder that contestants read.
pub(super) struct Data {
    /// Absolute, and no link: `cp` would copy a link and not what it leads to.
    pub(super) path: PathBuf,
    /// The last component of the path.
    pub(super) name: String,
    /// Lengths of all files.
    pub(super) bytes: u64,
    /// Rows of the metadata, where there are any.
    pub(super) pairs: Option<u64>,
}

impl Data {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let path = fs::canonicalize(path).with_context(|| format!("opening {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = bytes_below(&path)?;
        let pairs = rows(&path.join("metadata"))?;
        Ok(Self { path, name, bytes, pairs })
    }

    /// What `work` needs and is not there.
    pub(super) fn lacks(&self, work: &Work) -> Option<String> {
        let mut needs = work.needs.iter();
        needs.find(|(folder, ending)| files(&self.path.join(folder), ending).is_empty()).map(
            |(folder, ending)| match *folder {
                "" => format!("it holds no *{ending}"),
                folder => format!("it holds no {folder}/*{ending}"),
            },
        )
    }
}

/// Files in `folder` whose names end so; none where there is no such folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let ends = |path: &PathBuf| path.to_string_lossy().ends_with(ending) && path.is_file();
    entries.map(|entry| entry.path()).filter(ends).collect()
}

fn bytes_below(path: &Path) -> anyhow::Result<u64> {
    let reading = || format!("reading {}", path.display());
    // Of what a link leads to: a download cache is a tree of links.
    let metadata = fs::metadata(path).with_context(reading)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0;
    for entry in fs::read_dir(path).with_context(reading)? {
        bytes += bytes_below(&entry.with_context(reading)?.path())?;
    }
    Ok(bytes)
}

/// Lines of all `*.jsonl.gz` of a folder; `None` where there are no such files.
fn rows(metadata: &Path) -> anyhow::Result<Option<u64>> {
    let files = files(metadata, ".jsonl.gz");
    let mut rows = 0;
    for path in &files {
        let reading = || format!("reading {}", path.display());
        let file = BufReader::new(File::open(path).with_context(reading)?);
        let mut text = BufReader::new(MultiGzDecoder::new(file));
        while text.skip_until(b'\n').with_context(reading)? > 0 {
            rows += 1;
        }
    }
    Ok((!files.is_empty()).then_some(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::works::WORKS;

    fn work(name: &str) -> &'static Work {
        WORKS.iter().find(|work| work.name == name).unwrap()
    }

    #[test]
    fn a_release_serves_what_needs_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let data = Data::open(&root.join("fixtures/inter-edit-train")).unwrap();
        assert_eq!((data.name.as_str(), data.pairs), ("inter-edit-train", Some(24)));
        assert!(data.bytes > 100_000, "{}", data.bytes);
        assert_eq!(data.lacks(work("convert-webdataset")), None);
        assert_eq!(data.lacks(work("tar-index")).as_deref(), Some("it holds no *.tar"));
    }

    #[test]
    fn a_folder_with_a_tar_serves_an_index() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.tar"), [0; 10]).unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(folder.path().join("b/c"), [0; 3]).unwrap();
        let data = Data::open(folder.path()).unwrap();
        assert_eq!((data.bytes, data.pairs), (13, None));
        assert_eq!(data.lacks(work("tar-index")), None);
        let lacks = data.lacks(work("index-none"));
        assert_eq!(lacks.as_deref(), Some("it holds no metadata/*.jsonl.gz"));
        assert!(Data::open(&folder.path().join("none")).is_err());
    }
}
