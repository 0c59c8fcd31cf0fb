//! A file of a release, in an otherwise good one: the input is that file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;

use crate::bytes::with_checksums;
use crate::release::{Files, check, format};

/// The files of a folder of the fixtures, by their paths from it.
pub(crate) fn fixture(folder: &str) -> Files {
    fn walk(folder: &Path, prefix: &str, found: &mut Files) {
        for entry in fs::read_dir(folder).expect("the fixtures can be read") {
            let entry = entry.expect("the fixtures can be read");
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{name}/"), found);
            } else {
                found.insert(name, fs::read(entry.path()).expect("the fixtures can be read"));
            }
        }
    }
    let mut found = Files::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(folder), "", &mut found);
    found
}

/// Those files of a folder of the fixtures that lie in one of these places.
fn only(folder: &str, places: &[&str]) -> Files {
    let mut files = fixture(folder);
    files.retain(|name, _| places.iter().any(|place| name.starts_with(place)));
    assert!(!files.is_empty(), "{folder}");
    files
}

/// The members of a tar.
fn members(tar: &[u8]) -> Files {
    let mut archive = tar::Archive::new(tar);
    let entries = archive.entries().expect("the fixtures are whole");
    let mut found = Files::new();
    for entry in entries {
        let mut entry = entry.expect("the fixtures are whole");
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("the fixtures are whole");
        if entry.header().entry_type().is_file() {
            found.insert(name, bytes);
        }
    }
    found
}

/// A tar of these members.
fn archive(members: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes.as_slice()).expect("its name is short");
    }
    builder.into_inner().expect("memory can be written")
}

/// Reads `base` with the input as the file `at`.
fn with(base: &Files, at: &str, input: &[u8], of: &str) {
    let mut files = base.clone();
    files.insert(at.to_owned(), input.to_vec());
    check(format(of), &files, &[]);
}

/// A release that is made once.
macro_rules! base {
    ($make:expr) => {{
        static BASE: OnceLock<Files> = OnceLock::new();
        BASE.get_or_init(|| $make)
    }};
}

fn inter_edit() -> &'static Files {
    let places = ["manifest.json", "asset_shards/asset-00000", "source_shards/source-00000"];
    base!(only("inter-edit-train", &places))
}

/// Rows of Inter-Edit-Train, compressed or not.
pub(crate) fn inter_edit_rows(input: &[u8]) {
    with(inter_edit(), "metadata/train-00000-of-00003.jsonl.gz", input, "inter-edit-train");
}

/// The manifest of Inter-Edit-Train.
pub(crate) fn inter_edit_manifest(input: &[u8]) {
    let base = base!({
        let mut files = inter_edit().clone();
        files.extend(only("inter-edit-train", &["metadata/train-00000"]));
        files
    });
    with(base, "manifest.json", input, "inter-edit-train");
}

/// A folder of PAPE with one editor.
fn pape() -> &'static Files {
    base!(only("pape", &["COCO/flux2_dev/", "splits/"]))
}

/// A manifest of PAPE.
pub(crate) fn pape_manifest(input: &[u8]) {
    with(pape(), "COCO/flux2_dev/manifest.jsonl", input, "pape");
}

/// The file of splits of PAPE.
pub(crate) fn pape_splits(input: &[u8]) {
    with(pape(), "splits/split_seed2026.json", input, "pape");
}

/// Parquet with pictures.
pub(crate) fn parquet(input: &[u8]) {
    with(base!(Files::new()), "data/train-00000-of-00001.parquet", input, "parquet");
}

/// A shard of WebDataset. Of inputs of an even length its checksums are as they should be.
pub(crate) fn webdataset(input: &[u8]) {
    let mended = with_checksums(input);
    let shard = if input.len().is_multiple_of(2) { mended.as_slice() } else { input };
    with(base!(Files::new()), "data/train-00000-of-00001.tar", shard, "webdataset");
}

/// What stands beside the pictures in a shard of WebDataset.
pub(crate) fn webdataset_record(input: &[u8]) {
    let base = base!(members(&fixture("webdataset")["data/val-00000-of-00001.tar"]));
    let mut members = base.clone();
    members.insert("made-up_006.json".to_owned(), input.to_vec());
    webdataset(&archive(&members));
}

/// A table of JSON lines beside pictures.
pub(crate) fn folder_lines(input: &[u8]) {
    let places = ["train/source", "train/target", "train/mask"];
    let base = base!(only("bad/folder/fewer_rows/release", &places));
    with(base, "train/metadata.jsonl", input, "folder");
}

/// A table of Parquet beside pictures.
pub(crate) fn folder_parquet(input: &[u8]) {
    let base = base!(only("folder", &["val/source", "val/target", "val/mask"]));
    with(base, "val/metadata.parquet", input, "folder");
}

/// A table with commas beside pictures.
pub(crate) fn folder_csv(input: &[u8]) {
    let base = base!(only("bad/folder/foreign_csv/release", &["before", "after"]));
    with(base, "metadata.csv", input, "folder");
}

const ROWS: &str = "Parquet/background_part7.parquet";
const PICTURES: &str = "Singleturn/results_background_laion_part7.tar";
const SAMPLE: &str = "results_background_laion_part7/00094_00020_000202822";

/// The members of an archive of ImgEdit.
fn imgedit_members() -> &'static Files {
    base!(members(&fixture("imgedit")[PICTURES]))
}

fn imgedit() -> &'static Files {
    base!(only("imgedit", &[ROWS, PICTURES]))
}

/// ImgEdit with a further file beside the pictures of a sample.
fn imgedit_beside(name: &str, input: &[u8]) -> Files {
    let mut members = imgedit_members().clone();
    members.insert(format!("{SAMPLE}/{name}"), input.to_vec());
    let mut files = imgedit().clone();
    files.insert(PICTURES.to_owned(), archive(&members));
    files
}

/// Rows of ImgEdit.
pub(crate) fn imgedit_rows(input: &[u8]) {
    with(imgedit(), ROWS, input, "imgedit");
}

/// What stands beside the pictures of ImgEdit.
pub(crate) fn imgedit_result(input: &[u8]) {
    check(format("imgedit"), &imgedit_beside("result.json", input), &[]);
}

/// What the judges of ImgEdit said: of one file or the other.
pub(crate) fn imgedit_judge(input: &[u8]) {
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    let name = if first % 2 == 0 { "judge.json" } else { "judge_2scores.json" };
    check(format("imgedit"), &imgedit_beside(name, rest), &[]);
}

/// The one file of scores of ImgEdit.
pub(crate) fn imgedit_scores(input: &[u8]) {
    with(imgedit(), "all_dataset_gpt_score.json", input, "imgedit");
}

/// The recaptions of ImgEdit: a record, or a file of many.
pub(crate) fn imgedit_recap(input: &[u8]) {
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    let (archive_name, name) = match first % 2 {
        0 => ("jsons/part0.tar", "part0/0009400020000202822_step4_withcount.json"),
        _ => ("jsons/part1.tar", "part1/list.json"),
    };
    let members = BTreeMap::from([(name.to_owned(), rest.to_vec())]);
    let recap = Files::from([(archive_name.to_owned(), archive(&members))]);
    check(format("imgedit"), imgedit(), &[("recap", recap)]);
}

/// The names of an archive's pieces, a line each behind its length: the archive of ImgEdit lies in
/// them in the order of the lines.
pub(crate) fn imgedit_names(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut files = imgedit().clone();
    let whole = files.remove(PICTURES).expect("it is there");
    let mut left = whole.as_slice();
    for line in text.lines().take(40) {
        let Some((length, name)) = line.split_once(' ') else { continue };
        let length = length.parse().unwrap_or(usize::MAX).min(left.len());
        let (piece, behind) = left.split_at(length);
        files.insert(name.to_owned(), piece.to_vec());
        left = behind;
    }
    check(format("imgedit"), &files, &[]);
}

/// The lists of the benchmark of ImgEdit.
pub(crate) fn imgedit_bench(input: &[u8]) {
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    let name = match first % 3 {
        0 => "Benchmark/singleturn/singleturn.json",
        1 => "Benchmark/hard/annotation.jsonl",
        _ => "Benchmark/multiturn/content_memory/annotation.json",
    };
    let base = base!(members(&fixture("imgedit-bench")["Benchmark.tar"]));
    let mut members = base.clone();
    members.insert(name.to_owned(), rest.to_vec());
    let files = Files::from([("Benchmark.tar".to_owned(), archive(&members))]);
    check(format("imgedit-bench"), &files, &[]);
}
