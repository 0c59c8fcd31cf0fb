//! A catalog on the disk: one Parquet file of pairs for each partition, the table of files that
//! their addresses mean, the rejections of reading, and `catalog.json`, which is written last.
//!
//! ```text
//! catalog.json            what is in it: sources, partitions, books, notices
//! files.parquet           the file table
//! pairs-00000.parquet     a row a pair, in the schema of `diptych_schema::arrow`
//! rejections-00000.jsonl  a line a rejection, where the partition has any
//! ```
//!
//! Where not all pairs were taken, or in another order, the files of pairs are not those of the
//! partitions, and there is more: see [`Selected`].

mod columns;
mod files;
mod selected;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use diptych_format::{Notice, Rejection};
use diptych_schema::arrow::{catalog_schema, decode, encode};
use diptych_schema::{Address, EditPair, SCHEMA_VERSION};
use diptych_storage::RelPath;
use diptych_storage::output::{LocalOutput, StagedFile, StagedWrite, WriteTree};
use diptych_storage::parquet::{ParquetInput, check_columns, guarded};
use diptych_storage::text::printable;
use diptych_storage::tree::read_at_most;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use serde::{Deserialize, Serialize};

use crate::error::{DamagedBy, EngineError};
use crate::report::Books;
use crate::request::SourceTerms;
use crate::work::{Failure, damaged};
pub(crate) use files::FILES;
use files::read_files;
pub(crate) use files::write_files;
pub use files::{CatalogFile, Piece};
pub(crate) use selected::SELECTED_REJECTIONS;
pub use selected::Selected;

/// The version of the catalog's shape.
pub const CATALOG_VERSION: u32 = 1;

/// The file that makes a folder a catalog.
pub const HEAD: &str = "catalog.json";

/// Bytes of a head: far more than the partitions and notices of any release take.
const HEAD_BYTES: u64 = 32 << 20;

/// Pairs that are in memory at one time while a catalog is written or read.
const BATCH: usize = 512;

/// About how many bytes of pairs are in memory at one time, however few pairs that are.
const BATCH_BYTES: usize = 1 << 20;

/// Pairs of a row group: what is buffered while writing.
const ROW_GROUP: usize = 16 * BATCH;

/// Bytes that are buffered while writing before a row group is ended for them.
const ROW_GROUP_BYTES: usize = 8 << 20;

/// What a catalog holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// [`CATALOG_VERSION`].
    pub catalog_version: u32,
    /// The version of the canonical schema.
    pub schema_version: u32,
    /// Name and version of the program.
    pub generator: String,
    /// Whether pictures' headers were looked at.
    pub probe: bool,
    /// How many pairs were enough: partitions beyond are not in it.
    pub limit: Option<u64>,
    /// How much a release could ask of us, where that was not as it is by itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// The releases.
    pub sources: Vec<CatalogSource>,
    /// The partitions, in order.
    pub partitions: Vec<Partition>,
    /// What is to be known of the releases.
    pub notices: Vec<Notice>,
    /// What was chosen of what was read, where not all was: the pairs are in files of their own
    /// order then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
}

/// A release in a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogSource {
    /// Label, format and options.
    #[serde(flatten)]
    pub terms: SourceTerms,
    /// Where it lay.
    pub root: PathBuf,
    /// A digest of its files' names, lengths and times.
    pub listing: String,
}

/// A partition of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// The source's label.
    pub source: String,
    /// Its name in the release.
    pub name: String,
    /// The pairs that were read.
    pub pairs: u64,
    /// What was read.
    pub books: Books,
}

/// What a head says of its own shape.
#[derive(Deserialize)]
struct Versions {
    catalog_version: u32,
    schema_version: u32,
}

impl Versions {
    fn check(&self, path: &str) -> Result<(), EngineError> {
        let all = [
            ("catalog", self.catalog_version, CATALOG_VERSION),
            ("schema", self.schema_version, SCHEMA_VERSION),
        ];
        match all.into_iter().find(|(_, found, reads)| found != reads) {
            None => Ok(()),
            Some((of, found, reads)) => {
                Err(EngineError::OtherVersion { path: path.to_owned(), of, found, reads })
            }
        }
    }
}

/// Calls the `parquet` crate, which panics at some files that are damaged.
pub(crate) fn caught<T>(call: impl FnOnce() -> Result<T, DamagedBy>) -> Result<T, DamagedBy> {
    guarded(|| Ok::<_, Infallible>(call())).map_err(DamagedBy::Content)?
}

/// Name of a partition's pairs.
#[must_use]
pub fn pairs_file(partition: usize) -> String {
    format!("pairs-{partition:05}.parquet")
}

/// Name of a partition's rejections.
#[must_use]
pub fn rejections_file(partition: usize) -> String {
    format!("rejections-{partition:05}.jsonl")
}

/// A catalog that is whole.
#[derive(Debug, Clone)]
pub struct Catalog {
    root: PathBuf,
    head: Head,
    files: Arc<[CatalogFile]>,
}

impl Catalog {
    /// Opens the catalog in `root`; `None` where there is none.
    ///
    /// # Errors
    /// [`EngineError::OtherVersion`] where it is of a shape that this program does not read,
    /// [`EngineError::Damaged`] where its parts do not agree with each other.
    pub fn open(root: &Path) -> Result<Option<Self>, EngineError> {
        let path = root.join(HEAD);
        let name = path.display().to_string();
        let bytes = match read_head(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(damaged(&name, error)),
        };
        // What a head of another version holds besides is not known.
        let versions: Versions = serde_json::from_slice(&bytes).map_err(|e| damaged(&name, e))?;
        versions.check(&name)?;
        let head: Head = serde_json::from_slice(&bytes).map_err(|e| damaged(&name, e))?;
        let files = root.join(FILES);
        let files =
            caught(|| read_files(&files)).map_err(|e| damaged(&files.display().to_string(), e))?;
        let catalog = Self { root: root.to_path_buf(), head, files: files.into() };
        catalog.check().map_err(|what| damaged(&name, DamagedBy::Content(what)))?;
        Ok(Some(catalog))
    }

    /// Whether `root` is the folder of a catalog, whole or not. A release may have a file of the
    /// same name.
    pub(crate) fn is_at(root: &Path) -> bool {
        let says_so = || {
            let head = read_head(&root.join(HEAD));
            head.is_ok_and(|head| {
                // A list can be taken for a struct as well.
                head.trim_ascii_start().starts_with(b"{")
                    && serde_json::from_slice::<Versions>(&head).is_ok()
            })
        };
        root.join(HEAD).is_file() && (root.join(FILES).is_file() || says_so())
    }

    /// Holds its parts against each other.
    fn check(&self) -> Result<(), String> {
        let Head { sources, partitions, .. } = &self.head;
        let labels: BTreeSet<_> = sources.iter().map(|source| &source.terms.label).collect();
        if labels.len() != sources.len() {
            return Err("several of its sources have one label".to_owned());
        }
        let files = self.files.iter().map(|file| &file.source);
        let named = partitions.iter().map(|partition| &partition.source).chain(files);
        for label in named {
            if !labels.contains(label) {
                let label = printable(label.as_bytes());
                return Err(format!("it has no source {label}, which parts of it are of"));
            }
        }
        for Partition { name, pairs, books, .. } in partitions {
            let total = books.total();
            if total.read.checked_sub(total.rejections()) != Some(*pairs) {
                let name = printable(name.as_bytes());
                return Err(format!("the books of {name} do not agree with its pairs"));
            }
        }
        match &self.head.selected {
            Some(selected) => selected.check(partitions.iter().map(|partition| partition.pairs)),
            None => Ok(()),
        }
    }

    /// Whether it holds no more than the first pairs of its releases: how many were asked for.
    pub(crate) fn limited_to(&self) -> Option<u64> {
        let pairs: u64 = self.head.partitions.iter().map(|partition| partition.pairs).sum();
        // Where there are fewer than were asked for, there are no more.
        self.head.limit.filter(|limit| pairs >= *limit)
    }

    /// How many files of pairs there are, which [`pairs`](Self::pairs) reads: one for each
    /// partition, but where pairs were chosen.
    #[must_use]
    pub fn pair_files(&self) -> usize {
        let selected = self.head.selected.as_ref();
        selected.map_or(self.head.partitions.len(), |selected| selected.files.len())
    }

    /// How many pairs are in it.
    #[must_use]
    pub fn pair_count(&self) -> u64 {
        match &self.head.selected {
            Some(selected) => selected.files.iter().sum(),
            None => self.head.partitions.iter().map(|partition| partition.pairs).sum(),
        }
    }

    /// The books: of what was read, and of what was chosen.
    #[must_use]
    pub fn books(&self) -> Books {
        let mut books = Books::default();
        self.head.partitions.iter().for_each(|partition| books.add(&partition.books));
        self.head.selected.iter().for_each(|selected| books.add(&selected.books));
        books
    }

    /// The label of the source that a pair is of.
    #[must_use]
    pub fn label(&self, pair: &EditPair) -> &str {
        let number = pair.source.address.file();
        let file = number.and_then(|number| self.files.get(number as usize));
        // A pair whose picture is in no file has no other place.
        let label = file.map(|file| file.source.as_str());
        label.or(self.head.sources.first().map(|of| of.terms.label.as_str())).unwrap_or_default()
    }

    /// What is in it.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The file table.
    #[must_use]
    pub fn files(&self) -> &Arc<[CatalogFile]> {
        &self.files
    }

    /// The pairs of a file from row `first` on, `count` of them at most. The files are those of the
    /// partitions, but where pairs were chosen.
    ///
    /// # Errors
    /// [`EngineError::Damaged`].
    pub fn pairs(&self, file: usize, first: u64, count: u64) -> Result<Pairs, EngineError> {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        self.open_pairs(file, |reader, _| {
            let batch = batch_size(reader.metadata());
            reader.with_batch_size(batch).with_offset(size(first)).with_limit(size(count))
        })
    }

    /// The pairs in these rows of a file, which rise.
    pub(crate) fn pairs_in(&self, file: usize, rows: &[u64]) -> Result<Pairs, EngineError> {
        self.open_pairs(file, |reader, count| {
            let batch = batch_size(reader.metadata());
            // What is not there is missed by who asked.
            let known = rows.iter().filter_map(|row| usize::try_from(*row).ok());
            let ranges = known.filter(|row| *row < count).map(|row| row..row + 1);
            let rows = RowSelection::from_consecutive_ranges(ranges, count);
            reader.with_batch_size(batch).with_row_selection(rows)
        })
    }

    /// About how many bytes a pair of a file takes in memory.
    pub(crate) fn bytes_of_a_pair(&self, file: usize) -> Result<usize, EngineError> {
        Ok(self.open_pairs(file, |reader, _| reader)?.pair_bytes)
    }

    fn open_pairs(
        &self,
        file: usize,
        ask: impl FnOnce(PairsReader, usize) -> PairsReader,
    ) -> Result<Pairs, EngineError> {
        let path = self.root.join(pairs_file(file));
        let name = path.display().to_string();
        let failure = Failure::default();
        let open = || -> Result<_, DamagedBy> {
            let file = failure.watched(File::open(&path)?)?;
            let length = file.0.len();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
            check_columns(reader.metadata(), length).map_err(DamagedBy::Content)?;
            let pair_bytes = bytes_of_largest(reader.metadata());
            let rows = reader.metadata().file_metadata().num_rows();
            Ok((ask(reader, usize::try_from(rows).unwrap_or(0)).build()?, pair_bytes))
        };
        let (batches, pair_bytes) = caught(open).map_err(|e| damaged(&name, failure.or(e)))?;
        Ok(Pairs { name, batches, pair_bytes, failure, held: Vec::new().into_iter() })
    }

    /// The file of rejections that choosing has led to; in none but a catalog of chosen pairs.
    pub(crate) fn selected_rejections(&self) -> PathBuf {
        self.root.join(SELECTED_REJECTIONS)
    }

    /// The folder that it lies in.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The rejections of a partition, in order.
    ///
    /// # Errors
    /// [`EngineError::Damaged`].
    pub fn rejections(
        &self,
        partition: usize,
    ) -> Result<impl Iterator<Item = Result<Rejection, EngineError>>, EngineError> {
        rejections_in(&self.root.join(rejections_file(partition)))
    }

    /// Appends the rejections of a partition, a line each, to `to`.
    ///
    /// # Errors
    /// [`EngineError::Damaged`], and those of the output.
    pub fn copy_rejections(
        &self,
        partition: usize,
        to: &mut dyn StagedFile,
    ) -> Result<(), EngineError> {
        copy_lines(&self.root.join(rejections_file(partition)), to)
    }
}

/// Reads a head. A release may have a file of the same name, of any length.
fn read_head(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, HEAD_BYTES)
}

/// The rejections of a file, a line each; none where there is no file.
pub(crate) fn rejections_in(
    path: &Path,
) -> Result<impl Iterator<Item = Result<Rejection, EngineError>> + use<>, EngineError> {
    let name = path.display().to_string();
    let file = match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(damaged(&name, error)),
    };
    let lines = file
        .into_iter()
        .flat_map(|file| serde_json::Deserializer::from_reader(BufReader::new(file)).into_iter());
    Ok(lines.map(move |line| line.map_err(|error| damaged(&name, error))))
}

/// Pairs to read at one time: fewer where they are large.
fn batch_size(metadata: &ParquetMetaData) -> usize {
    (BATCH_BYTES / bytes_of_largest(metadata)).clamp(1, BATCH)
}

/// About how many bytes a pair takes in the row group where pairs are largest.
fn bytes_of_largest(metadata: &ParquetMetaData) -> usize {
    let pair_bytes = metadata.row_groups().iter().map(|group| {
        let rows = usize::try_from(group.num_rows()).unwrap_or(0).max(1);
        usize::try_from(group.total_byte_size()).unwrap_or(0) / rows
    });
    pair_bytes.max().unwrap_or(0).max(1)
}

/// About how many bytes a pair takes in memory.
fn pair_bytes(pair: &EditPair) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let mut inline = 0;
    let references = pair.references.iter().map(|reference| &reference.picture);
    for picture in std::iter::once(&pair.source).chain(&pair.target).chain(references) {
        if let Address::Inline(bytes) = &picture.address {
            inline += bytes.len();
        }
    }
    text(&pair.native) + text(&pair.instruction) + inline + size_of::<EditPair>()
}

/// Appends a file to a staged one; nothing where there is none.
pub(crate) fn copy_lines(path: &Path, to: &mut dyn StagedFile) -> Result<(), EngineError> {
    let name = path.display().to_string();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(damaged(&name, error)),
    };
    let mut lines = BufReader::with_capacity(1 << 16, file);
    loop {
        let bytes = lines.fill_buf().map_err(|e| damaged(&name, e))?;
        let length = bytes.len();
        if length == 0 {
            return Ok(());
        }
        to.write(bytes)?;
        lines.consume(length);
    }
}

type PairsReader = ParquetRecordBatchReaderBuilder<ParquetInput>;

/// The pairs of a file, one after the other.
pub struct Pairs {
    name: String,
    batches: ParquetRecordBatchReader,
    pair_bytes: usize,
    failure: Failure,
    held: std::vec::IntoIter<EditPair>,
}

impl Iterator for Pairs {
    type Item = Result<EditPair, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(pair) = self.held.next() {
                return Some(Ok(pair));
            }
            let batches = &mut self.batches;
            let next = caught(|| batches.next().map(|batch| Ok(decode(&batch?)?)).transpose());
            match next {
                Ok(pairs) => self.held = pairs?.into_iter(),
                Err(error) => return Some(Err(damaged(&self.name, self.failure.or(error)))),
            }
        }
    }
}

/// Columns whose values are nearly all different: looking each up in a dictionary costs time and
/// memory, and gains nothing.
const UNIQUE: [&str; 11] = [
    "pair_id",
    "native",
    "source.name",
    "source.address.offset",
    "source.address.length",
    "target.name",
    "target.address.offset",
    "target.address.length",
    "mask.parts.list.item.picture.name",
    "mask.parts.list.item.picture.address.offset",
    "mask.parts.list.item.picture.address.length",
];

/// How our own working Parquet is written: small, and the same bytes everywhere.
pub(crate) fn properties() -> WriterProperties {
    let unique =
        UNIQUE.map(|column| ColumnPath::new(column.split('.').map(str::to_owned).collect()));
    let builder = unique.into_iter().fold(WriterProperties::builder(), |builder, column| {
        builder.set_column_dictionary_enabled(column, false)
    });
    builder
        .set_compression(Compression::SNAPPY)
        .set_created_by(crate::GENERATOR.to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .build()
}

/// Writes the pairs of one partition.
pub(crate) struct PairsWriter {
    name: String,
    writer: ArrowWriter<StagedWrite>,
    held: Vec<EditPair>,
    held_bytes: usize,
    count: u64,
}

impl PairsWriter {
    pub(crate) fn create(out: &LocalOutput, path: &RelPath) -> Result<Self, EngineError> {
        let staged = StagedWrite(out.stage(path)?);
        let name = path.to_string();
        let writer = ArrowWriter::try_new(staged, catalog_schema(), Some(properties()))
            .map_err(|e| damaged(&name, e))?;
        Ok(Self { name, writer, held: Vec::new(), held_bytes: 0, count: 0 })
    }

    pub(crate) fn push(&mut self, pair: EditPair) -> Result<(), EngineError> {
        self.held_bytes += pair_bytes(&pair);
        self.held.push(pair);
        self.count += 1;
        let full = self.held.len() >= BATCH || self.held_bytes >= BATCH_BYTES;
        if full { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        let batch = encode(&self.held).map_err(|e| damaged(&self.name, e))?;
        self.held.clear();
        self.held_bytes = 0;
        self.writer.write(&batch).map_err(|e| damaged(&self.name, e))?;
        if self.writer.memory_size() >= ROW_GROUP_BYTES {
            self.writer.flush().map_err(|e| damaged(&self.name, e))?;
        }
        Ok(())
    }

    /// Ends the file and says how many pairs are in it.
    pub(crate) fn close(mut self) -> Result<u64, EngineError> {
        if !self.held.is_empty() {
            self.flush()?;
        }
        let StagedWrite(staged) = self.writer.into_inner().map_err(|e| damaged(&self.name, e))?;
        staged.close()?;
        Ok(self.count)
    }
}

/// A column of the type expected.
pub(crate) fn column<'a, T: 'static>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a T, DamagedBy> {
    batch
        .column_by_name(name)
        .and_then(|column| column.as_any().downcast_ref())
        .ok_or_else(|| DamagedBy::Content(format!("no column {name} of the type expected")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pairs_are_written_and_read_a_few_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let out = LocalOutput::new(dir.path(), false);
        let path = RelPath::new(&pairs_file(0)).unwrap();
        // Bytes that do not compress.
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let mut pair = |i: usize| {
            let picture = diptych_schema::Picture {
                name: "p".to_owned(),
                address: Address::Inline((0..500_000).map(|_| noise()).collect()),
                width: None,
                height: None,
                media_type: None,
            };
            EditPair::new(format!("toy:{i}"), "toy".to_owned(), picture)
        };
        let mut writer = PairsWriter::create(&out, &path).unwrap();
        for i in 0..40 {
            writer.push(pair(i)).unwrap();
            assert!(writer.held.len() < 4, "pairs of half a megabyte are not gathered");
        }
        assert_eq!(writer.close().unwrap(), 40);
        let file = File::open(dir.path().join(pairs_file(0))).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert!(reader.metadata().num_row_groups() > 1);
        assert_eq!(reader.metadata().file_metadata().num_rows(), 40);
        assert!(batch_size(reader.metadata()) <= 2);
    }

    #[test]
    fn columns_without_a_dictionary_are_columns() {
        let schema = parquet::arrow::ArrowSchemaConverter::new().convert(&catalog_schema());
        let schema = schema.unwrap();
        let paths: Vec<_> = schema.columns().iter().map(|column| column.path().string()).collect();
        for column in UNIQUE {
            assert!(paths.iter().any(|path| path == column), "{column} is not in {paths:?}");
        }
    }

    #[test]
    fn a_folder_without_its_head_is_no_catalog() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Catalog::open(dir.path()).unwrap().is_none());
        std::fs::write(dir.path().join(HEAD), "{").unwrap();
        assert!(matches!(Catalog::open(dir.path()), Err(EngineError::Damaged { .. })));
    }
}
