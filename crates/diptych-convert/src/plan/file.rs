//! The plan's file: runs, with the head in the file's metadata.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use diptych_schema::Split;
use diptych_storage::output::{LocalOutput, StagedWrite, WriteTree};
use diptych_storage::parquet::ParquetInput;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Plan, Run, UnitPlan};
use crate::catalog::{Catalog, column, properties};
use crate::error::{DamagedBy, EngineError};
use crate::report::Books;
use crate::request::Terms;
use crate::source::hex;
use crate::work::{self, Failure, HashWrite, PLAN, damaged};

/// The version of the plan's shape.
const PLAN_VERSION: u32 = 1;

/// The key of the head in the file's metadata.
const HEAD_KEY: &str = "diptych.plan";

#[derive(Serialize, Deserialize)]
struct Head {
    plan_version: u32,
    terms: Terms,
    /// Digests of the files of the releases: the same request of another state of them is another
    /// plan.
    #[serde(default)]
    listings: Vec<String>,
    books: Books,
    /// About how many bytes each unit takes.
    unit_bytes: Vec<u64>,
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("unit", DataType::UInt32, false),
        // Null where units hold pairs of every split.
        Field::new("split", DataType::Utf8, true),
        Field::new("partition", DataType::UInt32, false),
        Field::new("first", DataType::UInt64, false),
        Field::new("count", DataType::UInt64, false),
    ]))
}

/// Writes the plan and gives its digest.
pub(super) fn save(
    out: &LocalOutput,
    catalog: &Catalog,
    terms: &Terms,
    books: &Books,
    units: &[UnitPlan],
) -> Result<String, EngineError> {
    let head = Head {
        plan_version: PLAN_VERSION,
        terms: terms.clone(),
        listings: catalog.head().sources.iter().map(|source| source.listing.clone()).collect(),
        books: books.clone(),
        unit_bytes: units.iter().map(|unit| unit.bytes).collect(),
    };
    let runs = || {
        (0_u32..).zip(units).flat_map(|(number, unit)| {
            unit.runs.iter().map(move |run| (number, unit.split.map(Split::word), run))
        })
    };
    let write = |staged| -> Result<StagedWrite, DamagedBy> {
        let batch = RecordBatch::try_new(
            schema(),
            vec![
                Arc::new(UInt32Array::from_iter_values(runs().map(|(unit, _, _)| unit))),
                Arc::new(StringArray::from_iter(runs().map(|(_, split, _)| split))),
                Arc::new(UInt32Array::from_iter_values(runs().map(|(_, _, run)| run.partition))),
                Arc::new(UInt64Array::from_iter_values(runs().map(|(_, _, run)| run.first))),
                Arc::new(UInt64Array::from_iter_values(runs().map(|(_, _, run)| run.count))),
            ],
        )?;
        let mut writer = ArrowWriter::try_new(staged, schema(), Some(properties()))?;
        writer.write(&batch)?;
        let head = serde_json::to_string(&head)?;
        writer.append_key_value_metadata(KeyValue::new(HEAD_KEY.to_owned(), head));
        Ok(writer.into_inner()?)
    };
    let (staged, path) = (work::path(&format!("{PLAN}.part"))?, work::path(PLAN)?);
    let file = StagedWrite(out.stage(&staged)?);
    let StagedWrite(file) = write(file).map_err(|e| damaged(PLAN, e))?;
    file.close()?;
    out.publish(&staged, &path)?;
    digest(&path.under(out.root())).map_err(|e| damaged(PLAN, e))
}

fn digest(path: &Path) -> Result<String, DamagedBy> {
    let mut digest = Sha256::new();
    std::io::copy(&mut File::open(path)?, &mut HashWrite(&mut digest))?;
    Ok(hex(&digest.finalize()))
}

impl Plan {
    /// Reads the plan of an output; `None` where there is none.
    ///
    /// # Errors
    /// [`EngineError::Damaged`].
    pub fn load(out: &LocalOutput) -> Result<Option<Self>, EngineError> {
        let path = work::path(PLAN)?.under(out.root());
        match Self::read(&path) {
            Ok(plan) => Ok(Some(plan)),
            Err(DamagedBy::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(damaged(&path.display().to_string(), error)),
        }
    }

    /// Whether it still is the plan of the output.
    pub(crate) fn is_current(&self, out: &LocalOutput) -> Result<bool, EngineError> {
        match digest(&work::path(PLAN)?.under(out.root())) {
            Ok(digest) => Ok(digest == self.digest),
            Err(DamagedBy::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(damaged(PLAN, error)),
        }
    }

    fn read(path: &Path) -> Result<Self, DamagedBy> {
        let failure = Failure::default();
        let file = failure.watched(File::open(path)?)?;
        Self::read_from(file, path).map_err(|error| failure.or(error))
    }

    fn read_from(file: ParquetInput, path: &Path) -> Result<Self, DamagedBy> {
        let lacks = |what: &str| DamagedBy::Content(format!("it lacks {what}"));
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
        let metadata = reader.metadata().file_metadata().key_value_metadata();
        let head = metadata
            .and_then(|pairs| pairs.iter().find(|pair| pair.key == HEAD_KEY))
            .and_then(|pair| pair.value.as_deref())
            .ok_or_else(|| lacks("its head"))?;
        let head: Head = serde_json::from_str(head)?;
        if head.plan_version != PLAN_VERSION {
            let what =
                format!("plan version {}, this program reads {PLAN_VERSION}", head.plan_version);
            return Err(DamagedBy::Content(what));
        }
        let mut units: Vec<UnitPlan> = head
            .unit_bytes
            .iter()
            .map(|bytes| UnitPlan { split: None, pairs: 0, bytes: *bytes, runs: Vec::new() })
            .collect();
        for batch in reader.build()? {
            let batch = batch?;
            let unit: &UInt32Array = column(&batch, "unit")?;
            let split: &StringArray = column(&batch, "split")?;
            let partition: &UInt32Array = column(&batch, "partition")?;
            let first: &UInt64Array = column(&batch, "first")?;
            let count: &UInt64Array = column(&batch, "count")?;
            for row in 0..batch.num_rows() {
                let unit = units.get_mut(unit.value(row) as usize);
                let unit = unit.ok_or_else(|| lacks("a unit that it has runs of"))?;
                unit.split = match split.is_null(row) {
                    true => None,
                    false => {
                        let split = Split::from_word(split.value(row));
                        Some(split.ok_or_else(|| lacks("a known split"))?)
                    }
                };
                let (first, count) = (first.value(row), count.value(row));
                unit.pairs += count;
                unit.runs.push(Run { partition: partition.value(row), first, count });
            }
        }
        Ok(Self { terms: head.terms, units, books: head.books, digest: digest(path)? })
    }
}
