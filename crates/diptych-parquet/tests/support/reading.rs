//! Files in memory, read.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use diptych_format::foreign::MAP;
use diptych_format::options::Assignment;
use diptych_format::{Edit, FormatError, Options, Probe, Reader, ReaderInput, Used};
use diptych_parquet::FORMAT;
use diptych_storage::{Limits, MemoryTree, RelPath};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterPropertiesBuilder;

/// A file of columns.
pub(crate) fn file_of(
    columns: Vec<(&str, ArrayRef)>,
    properties: WriterPropertiesBuilder,
) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, of)| (name, of, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let properties = Some(properties.build());
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), properties).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(crate) fn tree<const N: usize>(files: [(&str, Vec<u8>); N]) -> MemoryTree {
    MemoryTree::new(files.map(|(path, bytes)| (RelPath::new(path).unwrap(), bytes)))
}

/// A reader with a map, or by what the columns tell.
pub(crate) fn opened(tree: MemoryTree, map: &str) -> Result<Box<dyn Reader>, FormatError> {
    opened_with(tree, map, Limits::DEFAULT)
}

pub(crate) fn opened_with(
    tree: MemoryTree,
    map: &str,
    limits: Limits,
) -> Result<Box<dyn Reader>, FormatError> {
    let format = FORMAT.about().name;
    let [key, value] = [MAP.key, map].map(str::to_owned);
    let given = Assignment { format: format.to_owned(), key, value };
    let options = Options::new(format, FORMAT.about().options, &[given], Used::Reading).unwrap();
    FORMAT.open_reader(ReaderInput {
        tree: Arc::new(tree),
        label: format,
        options: &options,
        folders: BTreeMap::new(),
        limits,
        probe: Probe::Header,
    })
}

/// All edits, partition by partition.
pub(crate) fn read_all(reader: &dyn Reader) -> Vec<Edit> {
    let mut all = Vec::new();
    for partition in 0..reader.partitions().len() {
        let mut edits = reader.read(partition).unwrap();
        all.extend(std::iter::from_fn(|| edits.next().unwrap()));
    }
    all
}
