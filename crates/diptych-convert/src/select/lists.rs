//! Lists that other programs make: of pairs, and of their splits. Text, CSV or Parquet, which their
//! content tells.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use diptych_format::csv::{CsvEvent, CsvRows};
use diptych_storage::Limits;
use diptych_storage::parquet::check_columns;
use diptych_storage::read::LocalFile;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use serde_json::Value;

use super::SelectError;
use crate::catalog::{caught, column};
use crate::error::{DamagedBy, EngineError};
use crate::plan::id_digest;
use crate::work::{Failure, damaged};

/// The column of ids.
pub(super) const PAIR_ID: &str = "pair_id";

/// Bytes of a line, or of a header.
const LINE_BYTES: u64 = 1 << 20;

/// Rows that are read at one time.
const BATCH: usize = 8192;

/// Ids of pairs, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PairIds {
    /// Each once.
    pub(super) ids: Vec<String>,
    /// How often one was there again.
    pub(super) repeated: u64,
}

/// What a list is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Parquet,
    Csv,
    Text,
}

/// Tells what a list is written in.
pub(super) fn kind(path: &Path) -> Result<Kind, EngineError> {
    let name = path.display().to_string();
    let read = || {
        let mut file = BufReader::new(File::open(path)?).take(LINE_BYTES);
        let mut line = Vec::new();
        file.read_until(b'\n', &mut line)?;
        Ok(line)
    };
    let line: Vec<u8> = read().map_err(|error: std::io::Error| damaged(&name, error))?;
    if line.starts_with(b"PAR1") {
        return Ok(Kind::Parquet);
    }
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
    let mut cells = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let is_id = |cell: &[u8]| cell == PAIR_ID.as_bytes() || cell == b"\"pair_id\"";
    Ok(if cells.any(is_id) { Kind::Csv } else { Kind::Text })
}

/// The ids that a file lists.
pub(super) fn pair_ids(path: &Path) -> Result<PairIds, EngineError> {
    let mut list = PairIds { ids: Vec::new(), repeated: 0 };
    let mut seen = HashSet::new();
    let mut take = |id: String| {
        if seen.insert(id_digest(&id)) {
            list.ids.push(id);
        } else {
            list.repeated += 1;
        }
    };
    match kind(path)? {
        Kind::Parquet => {
            let mut table = Table::open(path, &[PAIR_ID], true)?;
            while let Some((first, batch)) = table.next()? {
                let ids = table.texts(&batch, PAIR_ID)?;
                for (row, id) in (first..).zip(ids.iter()) {
                    take(id.ok_or_else(|| no_id(path, row))?.to_owned());
                }
            }
        }
        Kind::Csv => csv(path, |row, cells| {
            take(cells(PAIR_ID).ok_or_else(|| no_id(path, row))?);
            Ok(())
        })?,
        Kind::Text => text(path, take)?,
    }
    if list.ids.is_empty() {
        let what = "there is no id in it".to_owned();
        return Err(SelectError::List { path: path.display().to_string(), what }.into());
    }
    Ok(list)
}

/// That a row has no id.
pub(super) fn no_id(path: &Path, row: u64) -> EngineError {
    row_error(path, row, "it has no pair_id".to_owned())
}

/// What is wrong with a row, from 1.
pub(super) fn row_error(path: &Path, row: u64, what: String) -> EngineError {
    SelectError::Row { path: path.display().to_string(), row, what }.into()
}

/// A line an id.
fn text(path: &Path, mut take: impl FnMut(String)) -> Result<(), EngineError> {
    let name = path.display().to_string();
    let mut file = BufReader::new(File::open(path).map_err(|e| damaged(&name, e))?);
    let mut line = Vec::new();
    for row in 1.. {
        line.clear();
        let read = file.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|e| damaged(&name, e))? == 0 {
            break;
        }
        let start = if row == 1 { line.strip_prefix(b"\xEF\xBB\xBF") } else { None };
        let id = std::str::from_utf8(start.unwrap_or(&line)).ok().filter(|id| !id.contains('\0'));
        let id = id.filter(|_| (line.len() as u64) < LINE_BYTES);
        let id = id.ok_or_else(|| row_error(path, row, "it is no text of an id".to_owned()))?;
        if !id.trim().is_empty() {
            take(id.trim().to_owned());
        }
    }
    Ok(())
}

/// Goes through the rows of a CSV file, numbered from 1.
pub(super) fn csv(
    path: &Path,
    mut take: impl FnMut(u64, &dyn Fn(&str) -> Option<String>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let name = path.display().to_string();
    let file = File::open(path).and_then(LocalFile::new).map_err(|e| damaged(&name, e))?;
    let mut rows = CsvRows::open(Arc::new(file), &Limits::DEFAULT);
    while let Some(event) = rows.event().map_err(|e| damaged(&name, e))? {
        match event {
            CsvEvent::Row { number, fields, .. } => {
                let cell = |column: &str| match fields.get(column) {
                    Some(Value::String(text)) => Some(text.clone()),
                    _ => None,
                };
                take(number + 1, &cell)?;
            }
            CsvEvent::Bad { number, cause, .. } => return Err(row_error(path, number + 1, cause)),
        }
    }
    Ok(())
}

/// Some columns of a Parquet file that anybody may have written.
pub(super) struct Table {
    path: std::path::PathBuf,
    batches: ParquetRecordBatchReader,
    failure: Failure,
    /// The number of the next row, from 1.
    row: u64,
    /// What its only column is called, where that is another name.
    only: Option<String>,
}

impl Table {
    /// Opens those of the columns that it has. Where the first is not among them and `or_only`, its
    /// only column is taken for it.
    pub(super) fn open(path: &Path, columns: &[&str], or_only: bool) -> Result<Self, EngineError> {
        let name = path.display().to_string();
        let failure = Failure::default();
        let open = || -> Result<_, DamagedBy> {
            let file = failure.watched(File::open(path)?)?;
            let length = file.0.len();
            // What a program notes of its own types is of no use here: text is text.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)?;
            check_columns(reader.metadata(), length).map_err(DamagedBy::Content)?;
            let fields = reader.schema().fields();
            let has = |column: &&&str| fields.iter().any(|field| field.name() == **column);
            let mut wanted: Vec<String> =
                columns.iter().filter(has).map(|column| (*column).to_owned()).collect();
            let mut only = None;
            if or_only
                && wanted.is_empty()
                && let [field] = fields.as_ref()
            {
                only = Some(field.name().clone());
                wanted.push(field.name().clone());
            }
            let all = wanted.iter().map(String::as_str);
            let mask = ProjectionMask::columns(reader.parquet_schema(), all);
            Ok((reader.with_batch_size(BATCH).with_projection(mask).build()?, only))
        };
        let (batches, only) = caught(open).map_err(|error| damaged(&name, failure.or(error)))?;
        Ok(Self { path: path.to_path_buf(), batches, failure, row: 1, only })
    }

    /// The next rows, and the number of the first of them.
    pub(super) fn next(&mut self) -> Result<Option<(u64, RecordBatch)>, EngineError> {
        let batches = &mut self.batches;
        let next = caught(|| Ok(batches.next().transpose()?));
        let name = self.path.display().to_string();
        let next = next.map_err(|error| damaged(&name, self.failure.or(error)))?;
        Ok(next.map(|batch| {
            let first = self.row;
            self.row += batch.num_rows() as u64;
            (first, batch)
        }))
    }

    /// A column of text.
    pub(super) fn texts<'a>(
        &self,
        batch: &'a RecordBatch,
        name: &str,
    ) -> Result<&'a StringArray, EngineError> {
        let column = column(batch, self.only.as_deref().unwrap_or(name));
        column.map_err(|_| {
            let what = format!("it has no column {name} of text");
            SelectError::List { path: self.path.display().to_string(), what }.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, LargeStringArray, StringViewArray};
    use parquet::arrow::ArrowWriter;

    fn read(content: &[u8]) -> Result<PairIds, EngineError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        std::fs::write(&path, content).unwrap();
        pair_ids(&path)
    }

    fn ids(content: &[u8]) -> Vec<String> {
        read(content).unwrap().ids
    }

    #[test]
    fn text_has_an_id_a_line() {
        assert_eq!(ids(b"a:1\nb:2\n"), ["a:1", "b:2"]);
        assert_eq!(ids(b"\xEF\xBB\xBFa:1\r\n\r\n  b,2  "), ["a:1", "b,2"]);
        let list = read(b"a\nb\na\na\n").unwrap();
        assert_eq!((list.ids, list.repeated), (vec!["a".to_owned(), "b".to_owned()], 2));
        for bad in [&b""[..], b"\n \n", b"a\n\xFF\n", b"a\0b\n"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        let error = read(b"a\n\xFF\n").unwrap_err().to_string();
        assert!(error.ends_with("row 2: it is no text of an id"), "{error}");
        let mut long = vec![b'a'; usize::try_from(LINE_BYTES).unwrap() + 5];
        long.push(b'\n');
        assert!(read(&long).is_err());
    }

    #[test]
    fn tables_have_a_column_of_ids() {
        assert_eq!(ids(b"pair_id\na\nb\n"), ["a", "b"]);
        assert_eq!(ids(b"score,\"pair_id\"\n1,\"a,1\"\n2,b\n"), ["a,1", "b"]);
        let error = read(b"score,pair_id\n1,a\n2,\n").unwrap_err().to_string();
        assert!(error.ends_with("row 2: it has no pair_id"), "{error}");
    }

    fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn parquet_has_them_in_any_kind_of_text() {
        let texts = ["a", "b", "a"];
        let dictionary: DictionaryArray<Int32Type> = texts.into_iter().collect();
        let kinds: [ArrayRef; 4] = [
            Arc::new(StringArray::from(texts.to_vec())),
            Arc::new(LargeStringArray::from(texts.to_vec())),
            Arc::new(StringViewArray::from(texts.to_vec())),
            Arc::new(dictionary),
        ];
        let numbers: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![1, 2, 3]));
        for kind in kinds {
            let named = parquet(vec![("n", Arc::clone(&numbers)), (PAIR_ID, Arc::clone(&kind))]);
            assert_eq!(ids(&named), ["a", "b"]);
            assert_eq!(ids(&parquet(vec![("id", Arc::clone(&kind))])), ["a", "b"], "the only one");
            assert!(read(&parquet(vec![("id", kind), ("n", Arc::clone(&numbers))])).is_err());
        }
        assert!(read(&parquet(vec![(PAIR_ID, numbers)])).is_err());
        assert!(read(b"PAR1 and nothing").is_err());
    }
}
