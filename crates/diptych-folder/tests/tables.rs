//! Tables that are cut or spoiled anywhere, rows that are too long, and Parquet of somebody else:
//! what is whole is read as it was, nothing is made up, and nothing ends the reading.

#![expect(clippy::unwrap_used, reason = "tests state what they expect by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, ListArray, RecordBatch, StringArray, types};
use diptych_folder::FORMAT;
use diptych_format::options::Used;
use diptych_format::{Edit, Options, Probe, ReaderInput, Rejection};
use diptych_schema::{EditPair, Split};
use diptych_storage::{Limits, MemoryTree, RelPath};
use parquet::arrow::ArrowWriter;

type Files = BTreeMap<String, Vec<u8>>;

/// The files of a fixture below one of its folders.
fn fixture(name: &str, folder: &str) -> Files {
    fn walk(root: &Path, prefix: &str, files: &mut Files) {
        for entry in fs::read_dir(root).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{name}/"), files);
            } else {
                files.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    let mut files = Files::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    walk(&root.join(folder), &format!("{folder}/"), &mut files);
    files
}

/// The pairs and rejections of the last table of a tree.
fn read(files: &Files, limits: Limits) -> (Vec<EditPair>, Vec<Rejection>) {
    let files = files.iter().map(|(name, bytes)| (RelPath::new(name).unwrap(), bytes.clone()));
    let options = Options::new("folder", FORMAT.about().options, &[], Used::Reading).unwrap();
    let reader = FORMAT.open_reader(ReaderInput {
        tree: Arc::new(MemoryTree::new(files)),
        label: "folder",
        options: &options,
        folders: BTreeMap::new(),
        limits,
        probe: Probe::Header,
    });
    let reader = reader.unwrap();
    let mut edits = reader.read(reader.partitions().len() - 1).unwrap();
    let (mut pairs, mut rejections) = (Vec::new(), Vec::new());
    while let Some(edit) = edits.next().unwrap() {
        match edit {
            Edit::Pair(pair) => pairs.push(*pair),
            Edit::Rejected(rejection) => rejections.push(*rejection),
        }
    }
    (pairs, rejections)
}

/// A split, with another before it that tells whose the tables are.
fn beside(mut files: Files) -> Files {
    files.extend(fixture("folder", "test"));
    files
}

#[test]
fn a_damaged_table_of_columns_never_ends_the_reading() {
    let mut files = beside(fixture("folder", "val"));
    let table = "val/metadata.parquet";
    let whole = files[table].clone();
    let (pairs, none) = read(&files, Limits::DEFAULT);
    assert_eq!((pairs.len(), none.len()), (2, 0));
    let (mut told, mut unharmed) = (0, 0);
    for at in (0..whole.len()).step_by(11) {
        let mut damaged = whole.clone();
        damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
        files.insert(table.to_owned(), damaged);
        let (found, rejections) = read(&files, Limits::DEFAULT);
        told += usize::from(!rejections.is_empty());
        unharmed += usize::from(found == pairs);
    }
    assert!(told > 300 && unharmed > 100, "{told} were told of, {unharmed} did no harm");
    files.insert(table.to_owned(), whole[..whole.len() / 2].to_vec());
    let (_, rejections) = read(&files, Limits::DEFAULT);
    assert_eq!(rejections[0].kind, "damaged_parquet");
}

#[test]
fn a_table_of_lines_cut_anywhere_gives_no_wrong_pair() {
    let mut files = fixture("bad/folder/several_tables/release", "train");
    files.remove("train/metadata.csv");
    let table = "train/metadata.jsonl";
    let text = files[table].clone();
    let (whole, none) = read(&files, Limits::DEFAULT);
    assert_eq!((whole.len(), none.len()), (3, 0));
    let first = text.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in (first..text.len()).step_by(13) {
        files.insert(table.to_owned(), text[..cut].to_vec());
        let (pairs, rejections) = read(&files, Limits::DEFAULT);
        assert_eq!(pairs, whole[..pairs.len()], "cut at {cut}");
        let ends_in_row = !matches!(text[cut - 1], b'\n' | b'}');
        assert!(!ends_in_row || rejections.len() == 1, "cut at {cut}");
    }
}

#[test]
fn rows_over_eight_times_the_limit_are_passed_over() {
    for (name, folder, count) in
        [("folder", "val", 2), ("bad/folder/several_tables/release", "train", 3)]
    {
        let files = beside(fixture(name, folder));
        let rows = |row_bytes| {
            let (pairs, rejections) = read(&files, Limits { row_bytes, ..Limits::DEFAULT });
            assert!(rejections.iter().all(|of| of.kind == "row_too_long"), "{rejections:?}");
            (pairs.len(), rejections.len())
        };
        assert_eq!(rows(1000), (count, 0));
        assert_eq!(rows(60), (0, count));
    }
}

/// Parquet of somebody else: text, lists, and a type that JSON does not have.
#[test]
fn columns_of_others_are_read() {
    let lists = ListArray::from_iter_primitive::<types::Int32Type, _, _>([Some([Some(1)])]);
    let mut names =
        arrow_array::builder::ListBuilder::new(arrow_array::builder::StringBuilder::new());
    names.append_value([Some("p/0.png"), Some("p/1.png")]);
    let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("source_file_names", Arc::new(names.finish()) as ArrayRef),
        ("target_file_name", text("p/1.png")),
        ("instruction", text("图")),
        ("sizes", Arc::new(lists)),
        ("day", Arc::new(Date32Array::from(vec![1]))),
    ]);
    let batch = batch.unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let pictures = fixture("bad/folder/foreign/release", "before");
    let mut pictures = pictures.into_values();
    let files = Files::from([
        ("validation/metadata.parquet".to_owned(), writer.into_inner().unwrap()),
        ("validation/p/0.png".to_owned(), pictures.next().unwrap()),
        ("validation/p/1.png".to_owned(), pictures.next().unwrap()),
    ]);
    let (pairs, rejections) = read(&files, Limits::DEFAULT);
    assert_eq!(rejections, []);
    assert_eq!(pairs[0].pair_id, "folder:validation:0");
    assert_eq!((pairs[0].split, pairs[0].language.as_deref()), (Some(Split::Val), Some("zh")));
    assert_eq!(pairs[0].references[0].picture.name, "p/1.png");
    let native = pairs[0].native.as_deref().unwrap();
    assert!(native.contains(r#""sizes":[1]"#) && !native.contains("day"), "{native}");
}
