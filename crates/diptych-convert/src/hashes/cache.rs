//! What is kept of hashes: a table beside the catalog, so that no picture is read twice for them.
//!
//! A row is a picture: the digest of its file (source, paths, sizes and times of its pieces), its
//! place in it, and what was found. A file of another size or time has another digest, so nothing
//! that was found in it is believed. What cannot be used is a notice, and made anew.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::builder::{
    FixedSizeBinaryBuilder, StringBuilder, UInt8Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{Array, FixedSizeBinaryArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use diptych_format::{Notice, Place};
use diptych_pixels::{DecodeError, Fingerprint};
use diptych_storage::output::{LocalOutput, StagedWrite, WriteTree};
use diptych_storage::parquet::check_columns;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::reading::{Found, Seen, Spot, short};
use super::{Hashing, Level};
use crate::catalog::{CatalogFile, caught, column};
use crate::error::{DamagedBy, EngineError};
use crate::work::{Failure, chance, damaged, path};

/// Name of the table.
pub(crate) const HASHES: &str = "hashes.parquet";

/// The name of a table that is being written, of those by several processes.
fn staged_name(number: u64) -> String {
    format!("{HASHES}-{number:016x}{STAGED}")
}

/// What the name of a table ends with that is being written.
const STAGED: &str = ".part";

/// Whether a name is that of a table that was being written: a process that is killed leaves it.
pub(crate) fn is_staged(name: &str) -> bool {
    let inner = name.strip_prefix(HASHES).and_then(|rest| rest.strip_suffix(STAGED));
    let number = inner.and_then(|inner| inner.strip_prefix('-'));
    number
        .and_then(|number| u64::from_str_radix(number, 16).ok())
        .is_some_and(|number| staged_name(number) == name)
}

/// What its rows mean; another number means something else, and is made anew.
const VERSION: &str = "1";

/// Rows that are read at the most: some hundred bytes of memory each.
const MOST_ROWS: i64 = 1 << 24;

/// How long pictures are read before what was found is written down meanwhile.
const PAUSE: Duration = Duration::from_secs(30);

/// Rows that are in memory as columns at one time.
const BATCH: usize = 8192;

/// A folder that keeps hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheFolder {
    /// The folder: that of a catalog, or any other.
    pub folder: PathBuf,
    /// The sources whose pictures' hashes are kept there: what they are called here, and there.
    pub labels: BTreeMap<String, String>,
}

/// What is kept, and what is to be.
pub(super) struct Kept {
    tables: Vec<Table>,
    /// What was found before and what was found now.
    before: Vec<(Spot, Found)>,
    fresh: Vec<(Spot, Found)>,
    written: Instant,
    durable: bool,
    limits: String,
    pub(super) notices: Vec<Notice>,
}

/// A table of hashes, and the files whose pictures are in it.
struct Table {
    folder: PathBuf,
    /// By number: digest and first path.
    files: BTreeMap<u32, ([u8; 16], String)>,
}

impl Kept {
    /// What is kept for these files. What cannot be used of it is told of.
    pub(super) fn open(files: &[CatalogFile], hashing: &Hashing<'_>) -> Self {
        let limits = &hashing.limits;
        // These decide which pictures are decoded.
        let limits = format!("pixels={} picture-bytes={}", limits.pixels, limits.picture_bytes);
        let mut kept = Self {
            tables: Vec::new(),
            before: Vec::new(),
            fresh: Vec::new(),
            written: Instant::now(),
            durable: hashing.durable,
            limits,
            notices: Vec::new(),
        };
        for CacheFolder { folder, labels } in hashing.caches {
            let numbered = (0..).zip(files);
            let files = numbered.filter_map(|(number, file)| {
                let key = key_of(labels.get(&file.source)?, file)?;
                Some((number, (key, file.pieces.first()?.path.to_string())))
            });
            let table = Table { folder: folder.clone(), files: files.collect() };
            match table.read(&kept.limits) {
                Ok(rows) => kept.before.extend(rows),
                Err(error) => {
                    let what = "hashes that were kept cannot be used and are made anew";
                    kept.notice("hashes_damaged", folder, what, &error);
                }
            }
            kept.tables.push(table);
        }
        kept.before.sort_by_key(|(spot, _)| *spot);
        kept.before.dedup_by_key(|(spot, _)| *spot);
        kept
    }

    fn notice(&mut self, kind: &str, folder: &Path, what: &str, error: &EngineError) {
        let causes = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
        let causes: Vec<_> = causes.map(ToString::to_string).collect();
        let at = Place::file("", &folder.join(HASHES).display().to_string());
        let detail = format!("{what}: {}", causes.join(": "));
        self.notices.push(Notice { kind: kind.to_owned(), at, detail });
    }

    /// Of these spots, in order: those of which all is known, and those to be read.
    pub(super) fn divide(
        &mut self,
        spots: &[Spot],
        level: Level,
    ) -> (Vec<(Spot, Found)>, Vec<Spot>) {
        let mut known = Vec::new();
        let mut wanted = Vec::new();
        let mut before = self.before.iter().peekable();
        for &spot in spots {
            while before.next_if(|(of, _)| *of < spot).is_some() {}
            match before.peek() {
                Some((of, found)) if *of == spot && found.serves(level) => {
                    known.push((spot, *found));
                }
                _ => wanted.push(spot),
            }
        }
        (known, wanted)
    }

    /// Takes what was found, and writes it down now and then.
    pub(super) fn enter(&mut self, found: Vec<(Spot, Found)>) {
        self.fresh.extend(found);
        if self.written.elapsed() >= PAUSE {
            self.write();
            self.written = Instant::now();
        }
    }

    /// Writes down what was found, and gives it.
    pub(super) fn close(&mut self) -> Vec<(Spot, Found)> {
        self.write();
        std::mem::take(&mut self.fresh)
    }

    fn write(&mut self) {
        // What was found now holds, and stands first where both are in order.
        let mut all: Vec<_> = self.fresh.iter().chain(&self.before).copied().collect();
        all.sort_by_key(|(spot, _)| *spot);
        all.dedup_by_key(|(spot, _)| *spot);
        let fresh: std::collections::BTreeSet<u32> =
            self.fresh.iter().map(|(spot, _)| spot.file).collect();
        for table in std::mem::take(&mut self.tables) {
            let has_fresh = table.files.keys().any(|file| fresh.contains(file));
            match if has_fresh { table.write(&all, &self.limits, self.durable) } else { Ok(()) } {
                Ok(()) => self.tables.push(table),
                Err(error) => {
                    let what = "hashes are not kept for another time";
                    self.notice("hashes_not_kept", &table.folder, what, &error);
                }
            }
        }
    }
}

/// What stands for a file as it is now; `None` where it is not known when it was written.
fn key_of(label: &str, file: &CatalogFile) -> Option<[u8; 16]> {
    let mut digest = blake3::Hasher::new();
    let mut text = |text: &str| {
        digest.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
    text(label);
    for piece in &file.pieces {
        text(piece.path.as_str());
    }
    for piece in &file.pieces {
        if piece.modified == 0 {
            return None;
        }
        digest.update(&piece.length.to_le_bytes()).update(&piece.modified.to_le_bytes());
    }
    Some(short(&digest.finalize()).to_be_bytes())
}

fn schema() -> SchemaRef {
    let digest = || DataType::FixedSizeBinary(16);
    Arc::new(Schema::new(vec![
        Field::new("file", digest(), false),
        Field::new("path", DataType::Utf8, false),
        Field::new("row_group", DataType::UInt32, true),
        Field::new("column", DataType::UInt32, true),
        Field::new("at", DataType::UInt64, false),
        Field::new("length", DataType::UInt64, false),
        Field::new("bytes", digest(), false),
        Field::new("decoding", DataType::UInt8, false),
        Field::new("pixels", digest(), true),
        Field::new("near", DataType::UInt64, true),
    ]))
}

/// How a table says whether a picture was decoded: the first word that is behind these says why
/// it was refused.
const NOT_ASKED: u8 = 0;
const DECODED: u8 = 1;
const REFUSED: u8 = 2;

impl Table {
    /// The rows of files that are as they were.
    fn read(&self, limits: &str) -> Result<Vec<(Spot, Found)>, EngineError> {
        let path = self.folder.join(HASHES);
        let name = path.display().to_string();
        let failure = Failure::default();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(damaged(&name, error)),
        };
        let rows = caught(|| self.rows(file, &failure, limits));
        rows.map_err(|error| damaged(&name, failure.or(error)))
    }

    fn rows(
        &self,
        file: File,
        failure: &Failure,
        limits: &str,
    ) -> Result<Vec<(Spot, Found)>, DamagedBy> {
        let file = failure.watched(file)?;
        let length = file.0.len();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
        check_columns(reader.metadata(), length).map_err(DamagedBy::Content)?;
        let metadata = reader.metadata().file_metadata();
        let said = |key: &str| {
            let all = metadata.key_value_metadata()?;
            all.iter().find(|of| of.key == key)?.value.clone()
        };
        if said("hashes_version").as_deref() != Some(VERSION) {
            return Ok(Vec::new());
        }
        if metadata.num_rows() > MOST_ROWS {
            let what = format!("it has {} rows, the limit is {MOST_ROWS}", metadata.num_rows());
            return Err(DamagedBy::Content(what));
        }
        let same_limits = said("limits").as_deref() == Some(limits);
        let numbers: HashMap<_, _> = self.files.iter().map(|(n, (key, _))| (*key, *n)).collect();
        // Texts may be of any length, and are for people only.
        let columns = schema();
        let columns = columns.fields().iter().map(|f| f.name().as_str()).filter(|n| *n != "path");
        let columns = ProjectionMask::columns(metadata.schema_descr(), columns);
        let mut rows = Vec::new();
        for batch in reader.with_projection(columns).with_batch_size(BATCH).build()? {
            let batch = batch?;
            let columns = Columns::of(&batch)?;
            for row in 0..batch.num_rows() {
                let Some(&file) = numbers.get(&columns.file(row)?) else { continue };
                if let Some((spot, mut found)) = columns.row(file, row)? {
                    if !same_limits {
                        found.seen = Seen::NotAsked;
                    }
                    rows.push((spot, found));
                }
            }
        }
        Ok(rows)
    }

    /// Writes the rows of its files, and has them take the place of what was there.
    fn write(&self, all: &[(Spot, Found)], limits: &str, durable: bool) -> Result<(), EngineError> {
        let out = LocalOutput::new(&self.folder, durable);
        let name = self.folder.join(HASHES).display().to_string();
        // Another process may write the same at the same time.
        let staged = path(&staged_name(chance()))?;
        let write = || {
            let file = self.write_rows(StagedWrite(out.stage(&staged)?), all, limits);
            file.map_err(|error| damaged(&name, error))?.0.close()?;
            out.publish(&staged, &path(HASHES)?)?;
            Ok(())
        };
        let written = write();
        if written.is_err() {
            // What is half written is of no use; the first error is the one to tell.
            let _ = out.remove(&staged);
        }
        written
    }

    fn write_rows(
        &self,
        file: StagedWrite,
        all: &[(Spot, Found)],
        limits: &str,
    ) -> Result<StagedWrite, DamagedBy> {
        let said = [("hashes_version", VERSION), ("limits", limits)];
        let said = said.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
        let unique = ["at", "bytes", "pixels", "near"];
        let properties = unique.into_iter().fold(WriterProperties::builder(), |of, column| {
            of.set_column_dictionary_enabled(column.into(), false)
        });
        let properties = properties
            .set_created_by(crate::GENERATOR.to_owned())
            .set_key_value_metadata(Some(said.into()))
            .set_max_row_group_row_count(Some(16 * BATCH))
            .build();
        let mut writer = ArrowWriter::try_new(file, schema(), Some(properties))?;
        // By names and not by numbers, which are others where sources are put together otherwise.
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(_, (key, path))| (path, key));
        for (number, (key, path)) in files {
            let start = all.partition_point(|(spot, _)| spot.file < *number);
            let end = all.partition_point(|(spot, _)| spot.file <= *number);
            for rows in all.get(start..end).unwrap_or_default().chunks(BATCH) {
                writer.write(&batch(key, path, rows)?)?;
            }
        }
        Ok(writer.into_inner()?)
    }
}

/// Rows of one file as columns.
fn batch(key: &[u8; 16], path: &str, rows: &[(Spot, Found)]) -> Result<RecordBatch, DamagedBy> {
    let mut files = FixedSizeBinaryBuilder::new(16);
    let mut paths = StringBuilder::new();
    let [mut row_groups, mut columns] = [(); 2].map(|()| UInt32Builder::new());
    let [mut ats, mut lengths, mut nears] = [(); 3].map(|()| UInt64Builder::new());
    let [mut digests, mut pixels] = [(); 2].map(|()| FixedSizeBinaryBuilder::new(16));
    let mut decodings = UInt8Builder::new();
    for (spot, found) in rows {
        files.append_value(key)?;
        paths.append_value(path);
        row_groups.append_option(spot.cell.map(|(row_group, _)| row_group));
        columns.append_option(spot.cell.map(|(_, column)| column));
        ats.append_value(spot.at);
        lengths.append_value(spot.length);
        digests.append_value(found.bytes.to_be_bytes())?;
        let (decoding, shown) = match found.seen {
            Seen::NotAsked => (NOT_ASKED, None),
            Seen::Decoded(shown) => (DECODED, Some(shown)),
            Seen::Refused(why) => {
                let number = DecodeError::WORDS.iter().position(|word| *word == why);
                let number = u8::try_from(number.unwrap_or_default()).unwrap_or_default();
                (REFUSED.saturating_add(number), None)
            }
        };
        decodings.append_value(decoding);
        match shown {
            Some(shown) => pixels.append_value(shown.pixels.to_be_bytes())?,
            None => pixels.append_null(),
        }
        nears.append_option(shown.and_then(|shown| shown.near));
    }
    let all: [Arc<dyn Array>; 10] = [
        Arc::new(files.finish()),
        Arc::new(paths.finish()),
        Arc::new(row_groups.finish()),
        Arc::new(columns.finish()),
        Arc::new(ats.finish()),
        Arc::new(lengths.finish()),
        Arc::new(digests.finish()),
        Arc::new(decodings.finish()),
        Arc::new(pixels.finish()),
        Arc::new(nears.finish()),
    ];
    Ok(RecordBatch::try_new(schema(), all.into())?)
}

/// Columns of a table.
struct Columns<'a> {
    file: &'a FixedSizeBinaryArray,
    row_group: &'a UInt32Array,
    column: &'a UInt32Array,
    at: &'a UInt64Array,
    length: &'a UInt64Array,
    bytes: &'a FixedSizeBinaryArray,
    decoding: &'a UInt8Array,
    pixels: &'a FixedSizeBinaryArray,
    near: &'a UInt64Array,
}

/// The value of a row; `None` for a null.
macro_rules! value {
    ($column:expr, $row:expr) => {
        $column.is_valid($row).then(|| $column.value($row))
    };
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self, DamagedBy> {
        Ok(Self {
            file: column(batch, "file")?,
            row_group: column(batch, "row_group")?,
            column: column(batch, "column")?,
            at: column(batch, "at")?,
            length: column(batch, "length")?,
            bytes: column(batch, "bytes")?,
            decoding: column(batch, "decoding")?,
            pixels: column(batch, "pixels")?,
            near: column(batch, "near")?,
        })
    }

    fn file(&self, row: usize) -> Result<[u8; 16], DamagedBy> {
        digest(value!(self.file, row))
    }

    /// A row of a file; `None` where it says what this program does not know.
    fn row(&self, file: u32, row: usize) -> Result<Option<(Spot, Found)>, DamagedBy> {
        let null = || DamagedBy::Content("a place is null".to_owned());
        let cell = value!(self.row_group, row).zip(value!(self.column, row));
        let at = value!(self.at, row).ok_or_else(null)?;
        let length = value!(self.length, row).ok_or_else(null)?;
        let spot = Spot { file, cell, at, length };
        let bytes = u128::from_be_bytes(digest(value!(self.bytes, row))?);
        let seen = match value!(self.decoding, row).ok_or_else(null)? {
            NOT_ASKED => Seen::NotAsked,
            DECODED => {
                let pixels = u128::from_be_bytes(digest(value!(self.pixels, row))?);
                Seen::Decoded(Fingerprint { pixels, near: value!(self.near, row) })
            }
            other => match DecodeError::WORDS.get(usize::from(other - REFUSED)) {
                Some(why) => Seen::Refused(why),
                None => return Ok(None),
            },
        };
        Ok(Some((spot, Found { bytes, seen })))
    }
}

fn digest(value: Option<&[u8]>) -> Result<[u8; 16], DamagedBy> {
    let whole = value.and_then(|value| value.try_into().ok());
    whole.ok_or_else(|| DamagedBy::Content("a digest is not of 16 bytes".to_owned()))
}
