//! Which files a copy has: rows, archives, pictures of a copy that was unpacked, scores.

use std::collections::BTreeMap;

use diptych_format::Notice;
use diptych_storage::{ReadTree, RelPath};

use crate::groups::{Stem, Task};
use crate::paths::{join, last};
use crate::pieces::{self, Archive};

/// The folder of the rows.
const ROWS: &str = "Parquet";
/// The benchmark, which is a release of its own.
const BENCHMARK: &str = "Benchmark";
/// Weights of a model.
const JUDGE: &str = "ImgEdit_Judge";

/// A file of rows.
#[derive(Debug, Clone)]
pub(crate) struct Partition {
    pub(crate) path: RelPath,
    /// What ids and the subset are called by: the file's name without `.parquet`; with its folder
    /// where two files have one name.
    pub(crate) stem: String,
    pub(crate) known: Option<&'static Stem>,
    pub(crate) task: Option<Task>,
}

impl Partition {
    /// Whether it is one of the files that named pictures which are in no archive, and were
    /// replaced by `hybrid_part*`.
    pub(crate) fn is_withdrawn(&self) -> bool {
        last(&self.stem).starts_with("compose_part")
    }
}

/// What a copy holds.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) partitions: Vec<Partition>,
    pub(crate) archives: Vec<Archive>,
    /// Pictures that lie loose, sorted.
    pub(crate) loose: Vec<RelPath>,
    /// The large file of scores.
    pub(crate) scores: Option<RelPath>,
    pub(crate) notices: Vec<Notice>,
}

impl Layout {
    pub(crate) fn of(tree: &dyn ReadTree, label: &str) -> Self {
        let (archives, notices) = pieces::archives(tree, label, is_of_release);
        let paths = || tree.list().iter().map(|entry| &entry.path);
        let is_loose = |path: &&RelPath| is_picture(path.as_str()) && is_of_release(path.as_str());
        let scores = paths().find(|path| path.file_name() == crate::side::SCORES).cloned();
        let loose = paths().filter(is_loose).cloned().collect();
        Self { partitions: partitions(tree), archives, loose, scores, notices }
    }
}

/// The files of rows: those in `Parquet/`, and where there are none all.
pub(crate) fn rows_files(tree: &dyn ReadTree) -> Vec<&RelPath> {
    let paths = tree.list().iter().map(|entry| &entry.path);
    let mut found: Vec<_> = paths.filter(|path| path.as_str().ends_with(".parquet")).collect();
    let in_folder = |path: &RelPath| path.parent().is_some_and(|parent| last(parent) == ROWS);
    if found.iter().any(|path| in_folder(path)) {
        found.retain(|path| in_folder(path));
    }
    found
}

fn partitions(tree: &dyn ReadTree) -> Vec<Partition> {
    let files = rows_files(tree);
    let name = |path: &RelPath| path.file_name().trim_end_matches(".parquet").to_owned();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for path in &files {
        *names.entry(name(path)).or_default() += 1;
    }
    let partition = |path: &RelPath| {
        let name = name(path);
        let known = Stem::named(&name);
        let task = known.map(|stem| stem.task).or_else(|| Task::of_stem(&name));
        let repeats = names.get(&name).is_some_and(|count| *count > 1);
        let stem = if repeats { join(path.parent().unwrap_or(""), &name) } else { name };
        Partition { path: path.clone(), stem, known, task }
    };
    files.into_iter().map(partition).collect()
}

/// Whether a file may be one of the release's archives or pictures.
fn is_of_release(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or(path);
    let name = first.split('.').next().unwrap_or(first);
    ![BENCHMARK, JUDGE].contains(&name)
}

/// Whether a file's name is that of a picture.
fn is_picture(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    ["png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff"].contains(&ending.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::MemoryTree;

    #[test]
    fn files_are_told_apart_by_where_they_lie_and_what_they_are_called() {
        let names = [
            "Benchmark.tar",
            "Benchmark/singleturn/a/1.jpg",
            "ImgEdit_Judge/model.tar",
            "Parquet/add_part0.parquet",
            "Parquet/compose_part0.parquet",
            "Parquet/new_part3.parquet",
            "Singleturn/a.tar.split.000",
            "Singleturn/results/1/original.png",
            "Singleturn/results/1/result.json",
            "all_dataset_gpt_score.json",
            "other.parquet",
        ];
        let files = names.map(|name| (RelPath::new(name).unwrap(), Vec::new()));
        let layout = Layout::of(&MemoryTree::new(files), "L");
        let partitions = layout.partitions.iter();
        let found: Vec<_> =
            partitions.map(|p| (p.stem.as_str(), p.task, p.known.is_some())).collect();
        assert_eq!(
            found,
            [
                ("add_part0", Some(Task::Add), true),
                ("compose_part0", Some(Task::Hybrid), false),
                ("new_part3", None, false),
            ]
        );
        assert!(layout.partitions[1].is_withdrawn() && !layout.partitions[0].is_withdrawn());
        let archives: Vec<_> = layout.archives.iter().map(|a| a.path.as_str()).collect();
        assert_eq!(archives, ["Singleturn/a"]);
        assert_eq!(layout.loose.len(), 1);
        assert_eq!(layout.scores.as_ref().map(RelPath::as_str), Some("all_dataset_gpt_score.json"));
    }

    #[test]
    fn files_of_one_name_are_told_apart_by_their_folders() {
        let names = ["a/Parquet/add_part0.parquet", "b/Parquet/add_part0.parquet"];
        let files = names.map(|name| (RelPath::new(name).unwrap(), Vec::new()));
        let found = partitions(&MemoryTree::new(files));
        let stems: Vec<_> = found.iter().map(|p| (p.stem.as_str(), p.known.is_some())).collect();
        assert_eq!(stems, [("a/Parquet/add_part0", true), ("b/Parquet/add_part0", true)]);
    }
}
