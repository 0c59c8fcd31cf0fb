//! Copies of the release made in memory.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use diptych_format::options::Assignment;
use diptych_format::{Edit, Options, Probe, Reader, ReaderInput, Rejection, Used};
use diptych_schema::{Address, EditPair, Picture};
use diptych_storage::{Limits, MemoryTree, ReadTree, RelPath};
use parquet::arrow::ArrowWriter;

pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// A picture of `length` bytes, of which a reader looks at the first.
pub(crate) fn png(width: u32, length: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(7_u32.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
    bytes.resize(length.max(45) - 12, b'p');
    bytes.extend(b"\0\0\0\0IEND\xAE\x42\x60\x82");
    bytes
}

/// An archive.
pub(crate) fn tar(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // As bytes, since the `tar` crate writes no name that leads elsewhere.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, bytes.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

/// An archive cut at every `length` bytes.
pub(crate) fn cut(prefix: &str, archive: &[u8], length: usize, width: usize) -> Files {
    let pieces = archive.chunks(length).enumerate();
    pieces
        .map(|(number, piece)| (format!("{prefix}.tar.split.{number:0width$}"), piece.to_vec()))
        .collect()
}

/// Rows of one edit each: inputs, outputs, prompt.
pub(crate) type Row<'a> = (Vec<&'a str>, Vec<&'a str>, &'a str);

pub(crate) fn rows(rows: &[Row<'_>]) -> Vec<u8> {
    let lists = |of: &dyn Fn(&Row<'_>) -> Vec<String>| {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for row in rows {
            builder.append_value(of(row).into_iter().map(Some));
        }
        Arc::new(builder.finish()) as ArrayRef
    };
    let own = |of: &Vec<&str>| of.iter().map(|path| (*path).to_owned()).collect();
    let prompts: StringArray = rows.iter().map(|row| Some(row.2)).collect();
    table(vec![
        ("input_images", lists(&|row| own(&row.0))),
        ("output_images", lists(&|row| own(&row.1))),
        ("prompt", Arc::new(prompts)),
    ])
}

/// A Parquet file of these columns.
pub(crate) fn table(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A tree of these files.
pub(crate) fn tree(files: &[(String, Vec<u8>)]) -> Arc<dyn ReadTree> {
    let files = files.iter().map(|(name, bytes)| (RelPath::new(name).unwrap(), bytes.clone()));
    Arc::new(MemoryTree::new(files))
}

pub(crate) fn open(files: &[(String, Vec<u8>)]) -> Box<dyn Reader> {
    open_with(files, &[], BTreeMap::new())
}

pub(crate) fn open_with(
    files: &[(String, Vec<u8>)],
    options: &[&str],
    folders: BTreeMap<&'static str, Arc<dyn ReadTree>>,
) -> Box<dyn Reader> {
    let about = diptych_imgedit::FORMAT.about();
    let given: Vec<_> = options.iter().map(|given| Assignment::parse(given).unwrap()).collect();
    let input = ReaderInput {
        tree: tree(files),
        label: "copy",
        options: &Options::new(about.name, about.options, &given, Used::Reading).unwrap(),
        folders,
        limits: Limits::DEFAULT,
        probe: Probe::Header,
    };
    diptych_imgedit::FORMAT.open_reader(input).unwrap()
}

/// All pairs and rejections.
pub(crate) fn read(reader: &dyn Reader) -> (Vec<EditPair>, Vec<Rejection>) {
    let (mut pairs, mut rejections) = (Vec::new(), Vec::new());
    for partition in 0..reader.partitions().len() {
        let mut edits = reader.read(partition).unwrap();
        while let Some(edit) = edits.next().unwrap() {
            match edit {
                Edit::Pair(pair) => pairs.push(*pair),
                Edit::Rejected(rejection) => rejections.push(*rejection),
            }
        }
        assert!(edits.next().unwrap().is_none(), "it stays at its end");
    }
    (pairs, rejections)
}

/// The kinds of what was noticed.
pub(crate) fn notices(reader: &dyn Reader) -> Vec<String> {
    let notices = reader.notices(&diptych_format::Tally::default());
    notices.into_iter().map(|notice| notice.kind).collect()
}

/// The bytes of a picture, and the first piece of the file that they are in.
pub(crate) fn bytes(
    reader: &dyn Reader,
    files: &[(String, Vec<u8>)],
    picture: &Picture,
) -> (String, Vec<u8>) {
    let Address::Range { file, offset, length } = &picture.address else {
        panic!("{:?}", picture.address)
    };
    let source = &reader.files()[*file as usize];
    let piece =
        |path: &RelPath| files.iter().find(|(name, _)| name == path.as_str()).unwrap().1.clone();
    let joined: Vec<u8> = source.pieces.iter().flat_map(piece).collect();
    let range = usize::try_from(*offset).unwrap()..usize::try_from(offset + length).unwrap();
    (source.pieces[0].to_string(), joined[range].to_vec())
}
