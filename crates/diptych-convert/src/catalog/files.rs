//! The table of the files that a catalog's addresses mean.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    ListBuilder, StringBuilder, StructBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{Array, ListArray, RecordBatch, StringArray, StructArray, UInt64Array};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use diptych_storage::RelPath;
use diptych_storage::output::{LocalOutput, StagedWrite, WriteTree};
use diptych_storage::tree::TreeEntry;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::{column, properties};
use crate::error::{DamagedBy, EngineError};
use crate::work::damaged;

/// Name of the file table.
pub(crate) const FILES: &str = "files.parquet";

/// A file of the file table; its number is its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogFile {
    /// Label of the source that it belongs to.
    pub source: String,
    /// The pieces that are read as one, in order.
    pub pieces: Vec<Piece>,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Path from the source's root.
    pub path: RelPath,
    /// Length in bytes.
    pub length: u64,
    /// Time of the last change, in nanoseconds since 1970; 0 where not known.
    pub modified: u64,
}

impl Piece {
    /// It as it was listed.
    pub(crate) fn entry(&self) -> TreeEntry {
        let Self { path, length, modified } = self;
        TreeEntry { path: path.clone(), length: *length, modified: *modified }
    }
}

fn piece_fields() -> Fields {
    Fields::from(vec![
        Field::new("path", DataType::Utf8, false),
        Field::new("length", DataType::UInt64, false),
        Field::new("modified", DataType::UInt64, false),
    ])
}

fn files_schema() -> SchemaRef {
    let pieces = DataType::List(Arc::new(Field::new_struct("item", piece_fields(), false)));
    Arc::new(Schema::new(vec![
        Field::new("file", DataType::UInt32, false),
        Field::new("source", DataType::Utf8, false),
        Field::new("pieces", pieces, false),
    ]))
}

/// Writes the file table.
pub(crate) fn write_files(
    out: &LocalOutput,
    folder: &str,
    files: &[CatalogFile],
) -> Result<(), EngineError> {
    let path = crate::work::path(&format!("{folder}/{FILES}"))?;
    let name = path.to_string();
    let mut numbers = UInt32Builder::new();
    let mut sources = StringBuilder::new();
    let item = Field::new_struct("item", piece_fields(), false);
    let builder = StructBuilder::from_fields(piece_fields(), files.len());
    let mut pieces = ListBuilder::new(builder).with_field(item);
    for (number, file) in (0_u32..).zip(files) {
        numbers.append_value(number);
        sources.append_value(&file.source);
        for piece in &file.pieces {
            let row = pieces.values();
            if let Some(path) = row.field_builder::<StringBuilder>(0) {
                path.append_value(piece.path.as_str());
            }
            for (field, value) in [(1, piece.length), (2, piece.modified)] {
                if let Some(builder) = row.field_builder::<UInt64Builder>(field) {
                    builder.append_value(value);
                }
            }
            row.append(true);
        }
        pieces.append(true);
    }
    let mut write = |staged| -> Result<StagedWrite, DamagedBy> {
        let batch = RecordBatch::try_new(
            files_schema(),
            vec![Arc::new(numbers.finish()), Arc::new(sources.finish()), Arc::new(pieces.finish())],
        )?;
        let mut writer = ArrowWriter::try_new(staged, files_schema(), Some(properties()))?;
        writer.write(&batch)?;
        Ok(writer.into_inner()?)
    };
    let staged = StagedWrite(out.stage(&path)?);
    let StagedWrite(staged) = write(staged).map_err(|e| damaged(&name, e))?;
    staged.close()?;
    Ok(())
}

/// Reads the file table.
pub(super) fn read_files(path: &Path) -> Result<Vec<CatalogFile>, DamagedBy> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()?;
    let mut files = Vec::new();
    for batch in reader {
        let batch = batch?;
        let sources: &StringArray = column(&batch, "source")?;
        let pieces: &ListArray = column(&batch, "pieces")?;
        for row in 0..batch.num_rows() {
            let rows = pieces.value(row);
            let rows = rows
                .as_any()
                .downcast_ref::<StructArray>()
                .ok_or_else(|| DamagedBy::Content("pieces are no structs".to_owned()))?;
            let rows = RecordBatch::from(rows);
            let paths: &StringArray = column(&rows, "path")?;
            let lengths: &UInt64Array = column(&rows, "length")?;
            let modified: &UInt64Array = column(&rows, "modified")?;
            let piece = |i: usize| {
                let path = RelPath::new(paths.value(i))
                    .map_err(|e| DamagedBy::Content(format!("a path with {e}")))?;
                Ok(Piece { path, length: lengths.value(i), modified: modified.value(i) })
            };
            let pieces: Result<Vec<_>, DamagedBy> = (0..rows.num_rows()).map(piece).collect();
            files.push(CatalogFile { source: sources.value(row).to_owned(), pieces: pieces? });
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_table_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let out = LocalOutput::new(dir.path(), false);
        let piece = |path: &str, length| Piece {
            path: RelPath::new(path).unwrap(),
            length,
            modified: u64::MAX,
        };
        let files = vec![
            CatalogFile { source: "a".to_owned(), pieces: vec![piece("x/中.tar", u64::MAX)] },
            CatalogFile { source: "b".to_owned(), pieces: Vec::new() },
            CatalogFile { source: "b".to_owned(), pieces: vec![piece("1", 0), piece("2", 7)] },
        ];
        write_files(&out, "c", &files).unwrap();
        assert_eq!(read_files(&dir.path().join("c").join(FILES)).unwrap(), files);
        write_files(&out, "d", &[]).unwrap();
        assert_eq!(read_files(&dir.path().join("d").join(FILES)).unwrap(), []);
    }
}
