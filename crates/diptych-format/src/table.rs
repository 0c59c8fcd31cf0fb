//! Rows out of a Parquet file, a batch at a time, as JSON.

pub mod json;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Fields, Schema};
use diptych_storage::limits::EXPANSION_FLOOR;
use diptych_storage::parquet::bounds::check_pages;
use diptych_storage::parquet::footer::check_footer;
use diptych_storage::parquet::{ParquetInput, check_columns, guarded};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadAt};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaData;

/// Most rows of a batch.
const ROWS: u64 = 1024;
/// About how many bytes a batch may have.
const BYTES: u64 = 4 << 20;

/// What comes next of a file.
pub enum TableEvent {
    /// A row.
    Row {
        /// Its place in the file, from 0.
        number: u64,
        /// It, as a JSON object of the columns that are read.
        json: String,
    },
    /// Rows that cannot be read.
    Lost {
        /// The first of them.
        first: u64,
        /// How many they are.
        count: u64,
        /// Why: a fragment.
        cause: String,
    },
}

/// An open file of rows.
pub struct Table {
    input: ParquetInput,
    metadata: ArrowReaderMetadata,
    limits: Limits,
    /// The columns that are read.
    columns: ProjectionMask,
    /// What columns are called in rows, where that is not their name.
    names: BTreeMap<String, String>,
    group: usize,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<(RecordBatch, usize)>,
    /// Of the next row.
    number: u64,
    /// Of the first row behind the group that is read.
    group_end: u64,
    /// Whether nothing more is read.
    given_up: bool,
    /// Bytes that rows may still have, and those that they may have in all: a text may stand in a
    /// file once, and in any number of rows.
    left: u64,
    most: u64,
}

impl Table {
    /// Opens a file. All columns are read that have a form in JSON ([`json::is_known`]). A row whose
    /// JSON has more than [`Limits::row_bytes`] may end anywhere behind them.
    ///
    /// # Errors
    /// Why it is no file of rows: a fragment.
    pub fn open(file: Arc<dyn ReadAt>, limits: &Limits) -> Result<Self, String> {
        check_footer(file.as_ref(), limits)?;
        let most = file.len().saturating_mul(limits.expansion).max(EXPANSION_FLOOR);
        let input = ParquetInput(file);
        // What a writer noted of its own types in memory is not needed.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(|| ArrowReaderMetadata::load(&input, options.clone()))?;
        check_columns(metadata.metadata(), input.0.len())?;
        // What the crate has no views for is read as it is.
        let metadata = with_views(&metadata, options).unwrap_or(metadata);
        let fields = metadata.schema().fields().iter().enumerate();
        let known = fields.filter(|(_, of)| json::is_known(of.data_type())).map(|(at, _)| at);
        let known: Vec<_> = known.collect();
        if known.is_empty() {
            return Err("it has no column that could be read here".to_owned());
        }
        let schema = metadata.metadata().file_metadata().schema_descr();
        let columns = ProjectionMask::roots(schema, known);
        Ok(Self {
            input,
            limits: *limits,
            columns,
            names: BTreeMap::new(),
            metadata,
            group: 0,
            batches: None,
            batch: None,
            number: 0,
            group_end: 0,
            given_up: false,
            left: most,
            most,
        })
    }

    /// Reads these leaf columns only, whose values all have a form in JSON.
    #[must_use]
    pub fn of_leaves(self, leaves: impl IntoIterator<Item = usize>) -> Self {
        let schema = self.metadata().file_metadata().schema_descr();
        Self { columns: ProjectionMask::leaves(schema, leaves), ..self }
    }

    /// Calls columns otherwise in rows: by their names in the file.
    #[must_use]
    pub fn renamed(self, names: BTreeMap<String, String>) -> Self {
        Self { names, ..self }
    }

    /// The row group that the last event is of.
    #[must_use]
    pub fn group(&self) -> usize {
        self.group.saturating_sub(1)
    }

    /// The file.
    #[must_use]
    pub fn input(&self) -> &ParquetInput {
        &self.input
    }

    /// What the file says of itself.
    #[must_use]
    pub fn metadata(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// Its columns, read or not.
    #[must_use]
    pub fn fields(&self) -> &Fields {
        self.metadata.schema().fields()
    }

    /// The names of its columns.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        self.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// How many rows it says it has.
    #[must_use]
    pub fn rows(&self) -> u64 {
        u64::try_from(self.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// The next row, or what is lost instead.
    pub fn next_event(&mut self) -> Option<TableEvent> {
        loop {
            if let Some((batch, row)) = &mut self.batch {
                if *row < batch.num_rows() {
                    if self.number >= self.limits.rows {
                        let rows = self.limits.rows;
                        return Some(self.lose_all(format!("there are more than {rows} rows")));
                    }
                    let schema = batch.schema();
                    let fields = schema.fields().iter().map(|field| field.name().as_str());
                    let names =
                        fields.map(|name| self.names.get(name).map_or(name, String::as_str));
                    let columns = batch.columns().iter().map(AsRef::as_ref);
                    let mut json = String::new();
                    json::object(names.zip(columns), *row, self.limits.row_bytes, &mut json);
                    let Some(left) = self.left.checked_sub(json.len() as u64) else {
                        let most = self.most;
                        return Some(self.lose_all(format!("rows become more than {most} bytes")));
                    };
                    self.left = left;
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

    /// Gives everything up that follows.
    fn lose_all(&mut self, cause: String) -> TableEvent {
        let behind = self.metadata().row_groups().iter().skip(self.group);
        let behind = behind.map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
        self.group_end = behind.fold(self.group_end, u64::saturating_add);
        self.given_up = true;
        self.lose(cause)
    }

    /// Gives the rest of a group up; the next one is read by itself.
    fn lose(&mut self, cause: String) -> TableEvent {
        (self.batches, self.batch) = (None, None);
        let first = self.number;
        self.number = self.group_end.max(first);
        TableEvent::Lost { first, count: self.number - first, cause }
    }

    fn next_group(&mut self) -> Option<Result<ParquetRecordBatchReader, String>> {
        if self.given_up {
            return None;
        }
        let group = self.metadata().row_groups().get(self.group)?;
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        self.group_end = self.number.saturating_add(rows);
        self.group += 1;
        Some(self.batches_of(self.group - 1, rows))
    }

    fn batches_of(&self, number: usize, rows: u64) -> Result<ParquetRecordBatchReader, String> {
        let mut bytes = 0_u64;
        let group = self.metadata().row_groups().get(number).ok_or("there is no such row group")?;
        for (leaf, chunk) in group.columns().iter().enumerate() {
            if self.columns.leaf_included(leaf) {
                let checked = check_pages(&self.input, self.metadata(), number, leaf, &self.limits);
                let name = || printable(chunk.column_path().string().as_bytes());
                checked.map_err(|why| format!("{}: {why}", name()))?;
                let size = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
                bytes = bytes.saturating_add(size);
            }
        }
        let each = bytes.checked_div(rows).unwrap_or(0).max(1);
        let batch = usize::try_from((BYTES / each).clamp(1, ROWS)).unwrap_or(1);
        let (input, known) = (self.input.clone(), self.metadata.clone());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input, known)
            .with_row_groups(vec![number])
            .with_projection(self.columns.clone())
            .with_batch_size(batch);
        guarded(|| builder.build())
    }
}

/// The same file with its texts as views into its pages: a long text that many rows share is in
/// memory once.
fn with_views(
    metadata: &ArrowReaderMetadata,
    options: ArrowReaderOptions,
) -> Result<ArrowReaderMetadata, String> {
    let fields: Fields = metadata.schema().fields().iter().map(viewed).collect();
    let options = options.with_schema(Arc::new(Schema::new(fields)));
    guarded(|| ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options))
}

fn viewed(field: &FieldRef) -> FieldRef {
    let of = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        DataType::List(of) => DataType::List(viewed(of)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(viewed).collect()),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(of))
}
