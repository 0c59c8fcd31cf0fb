//! Some columns of the pairs of a catalog.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use diptych_condition::leaves;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::{Catalog, Pairs, ROW_GROUP, caught};
use crate::error::EngineError;
use crate::work::{Failure, damaged};

impl Catalog {
    /// Some columns of a file of pairs, many rows at one time.
    pub(crate) fn columns(
        &self,
        file: usize,
        columns: &BTreeSet<String>,
    ) -> Result<Columns, EngineError> {
        let Pairs { name, batches, failure, .. } = self.open_pairs(file, |reader, _| {
            let leaves = leaves(columns, reader.schema());
            let mask = ProjectionMask::leaves(reader.parquet_schema(), leaves);
            reader.with_batch_size(ROW_GROUP).with_projection(mask)
        })?;
        Ok(Columns { name, batches, failure })
    }
}

/// Some columns of a file of pairs, many rows at one time.
pub(crate) struct Columns {
    name: String,
    batches: ParquetRecordBatchReader,
    failure: Failure,
}

impl Iterator for Columns {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = &mut self.batches;
        let next = caught(|| Ok(batches.next().transpose()?)).transpose()?;
        Some(next.map_err(|error| damaged(&self.name, self.failure.or(error))))
    }
}
