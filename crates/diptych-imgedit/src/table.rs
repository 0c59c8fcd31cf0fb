//! Rows out of a Parquet file, a batch at a time.

use std::sync::Arc;

use arrow_array::RecordBatch;
use diptych_storage::ReadAt;
use diptych_storage::parquet::{ParquetInput, check_columns, guarded};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};

use crate::rows::{self, Kind};

/// Most rows of a batch.
const ROWS: u64 = 1024;
/// About how many bytes a batch may have.
const BYTES: u64 = 4 << 20;

/// What comes next of a file.
pub(crate) enum TableEvent {
    /// A row, as JSON.
    Row { number: u64, json: String },
    /// Rows that cannot be read: the first, how many, and why.
    Lost { first: u64, count: u64, cause: String },
}

/// An open file of rows.
pub(crate) struct Table {
    input: ParquetInput,
    metadata: ArrowReaderMetadata,
    /// The columns that are read, by their place in the file.
    columns: Vec<usize>,
    kind: Option<Kind>,
    group: usize,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<(RecordBatch, usize)>,
    /// Of the next row.
    number: u64,
    /// Of the first row behind the group that is read.
    group_end: u64,
}

impl Table {
    /// Opens a file.
    ///
    /// # Errors
    /// Why it is no file of rows: a fragment.
    pub(crate) fn open(file: Arc<dyn ReadAt>) -> Result<Self, String> {
        let input = ParquetInput(file);
        // What a writer noted of its own types in memory is not needed.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(|| ArrowReaderMetadata::load(&input, options))?;
        check_columns(metadata.metadata(), input.0.len())?;
        let fields = metadata.schema().fields();
        let known = fields.iter().enumerate().filter(|(_, of)| rows::is_known(of.data_type()));
        let columns: Vec<_> = known.map(|(place, _)| place).collect();
        if columns.is_empty() {
            return Err("it has no column that could be read here".to_owned());
        }
        let kind = Kind::of(fields);
        Ok(Self {
            input,
            columns,
            kind,
            metadata,
            group: 0,
            batches: None,
            batch: None,
            number: 0,
            group_end: 0,
        })
    }

    /// What its rows are; `None` where they are something else.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// The names of its columns.
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.metadata.schema().fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// How many rows it says it has.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// The next row, or what is lost instead.
    pub(crate) fn next_event(&mut self) -> Option<TableEvent> {
        loop {
            if let Some((batch, row)) = &mut self.batch {
                if *row < batch.num_rows() {
                    let schema = batch.schema();
                    let names = schema.fields().iter().map(|field| field.name().as_str());
                    let columns = batch.columns().iter().map(AsRef::as_ref);
                    let mut json = String::new();
                    rows::object(names.zip(columns), *row, &mut json);
                    *row += 1;
                    let number = self.number;
                    self.number += 1;
                    return Some(TableEvent::Row { number, json });
                }
                self.batch = None;
            }
            let next = match &mut self.batches {
                None => match self.next_group()? {
                    Ok(batches) => {
                        self.batches = Some(batches);
                        continue;
                    }
                    Err(why) => return Some(self.lose(why)),
                },
                Some(batches) => guarded(|| batches.next().transpose()),
            };
            match next {
                Ok(Some(batch)) => self.batch = Some((batch, 0)),
                Ok(None) if self.number < self.group_end => {
                    return Some(self.lose("there are fewer rows than it says".to_owned()));
                }
                Ok(None) => self.batches = None,
                Err(why) => return Some(self.lose(why)),
            }
        }
    }

    /// Gives the rest of a group up; the next one is read by itself.
    fn lose(&mut self, cause: String) -> TableEvent {
        (self.batches, self.batch) = (None, None);
        let first = self.number;
        self.number = self.group_end.max(first);
        TableEvent::Lost { first, count: self.number - first, cause }
    }

    fn next_group(&mut self) -> Option<Result<ParquetRecordBatchReader, String>> {
        let metadata = self.metadata.metadata();
        let group = metadata.row_groups().get(self.group)?;
        let (rows, bytes) = (group.num_rows(), group.total_byte_size());
        let (rows, bytes) = (u64::try_from(rows).unwrap_or(0), u64::try_from(bytes).unwrap_or(0));
        self.group_end = self.number.saturating_add(rows);
        let each = bytes.checked_div(rows).unwrap_or(0).max(1);
        let batch = usize::try_from((BYTES / each).clamp(1, ROWS)).unwrap_or(1);
        let schema = metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::roots(schema, self.columns.iter().copied());
        let (input, known) = (self.input.clone(), self.metadata.clone());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input, known)
            .with_row_groups(vec![self.group])
            .with_projection(mask)
            .with_batch_size(batch);
        self.group += 1;
        Some(guarded(|| builder.build()))
    }
}
