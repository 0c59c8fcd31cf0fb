//! The table of splits: written with every output, and read back to keep them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{Array, ListArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use diptych_schema::Split;
use diptych_storage::output::{LocalOutput, StagedWrite, WriteTree};
use parquet::arrow::ArrowWriter;

use super::Pin;
use crate::catalog::{column, properties};
use crate::error::EngineError;
use crate::select::anchors;
use crate::select::lists::{Kind, PAIR_ID, Table, csv, kind, no_id, row_error};
use crate::work::damaged;

/// Rows that are held while the table is written.
const BATCH: usize = 8192;

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SplitRow {
    pub(crate) pair_id: String,
    pub(crate) dataset: String,
    pub(crate) split: Option<Split>,
    /// The smallest anchor of its component.
    pub(crate) component: u128,
    pub(crate) anchors: Vec<u128>,
    pub(crate) near: Option<u64>,
}

fn schema() -> SchemaRef {
    let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
    Arc::new(Schema::new(vec![
        text(PAIR_ID, false),
        text("dataset", false),
        text("split", true),
        text("component", false),
        Field::new("anchors", DataType::List(Arc::new(text("item", true))), false),
        Field::new("near", DataType::UInt64, true),
    ]))
}

/// Writes the table.
pub(crate) struct SplitsWriter {
    name: String,
    writer: ArrowWriter<StagedWrite>,
    held: Vec<SplitRow>,
}

impl SplitsWriter {
    pub(crate) fn create(out: &LocalOutput, path: &str) -> Result<Self, EngineError> {
        let staged = StagedWrite(out.stage(&crate::work::path(path)?)?);
        let writer = ArrowWriter::try_new(staged, schema(), Some(properties()));
        let writer = writer.map_err(|error| damaged(path, error))?;
        Ok(Self { name: path.to_owned(), writer, held: Vec::new() })
    }

    pub(crate) fn push(&mut self, row: SplitRow) -> Result<(), EngineError> {
        self.held.push(row);
        if self.held.len() < BATCH { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        let held = std::mem::take(&mut self.held);
        let texts = |of: fn(&SplitRow) -> &str| {
            Arc::new(StringArray::from_iter_values(held.iter().map(of)))
        };
        let components = held.iter().map(|row| anchors::hex(row.component));
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in &held {
            row.anchors.iter().for_each(|of| lists.values().append_value(anchors::hex(*of)));
            lists.append(true);
        }
        let batch = RecordBatch::try_new(
            schema(),
            vec![
                texts(|row| &row.pair_id),
                texts(|row| &row.dataset),
                Arc::new(StringArray::from_iter(held.iter().map(|row| row.split.map(Split::word)))),
                Arc::new(StringArray::from_iter_values(components)),
                Arc::new(lists.finish()),
                Arc::new(UInt64Array::from_iter(held.iter().map(|row| row.near))),
            ],
        );
        let batch = batch.map_err(|error| damaged(&self.name, error))?;
        self.writer.write(&batch).map_err(|error| damaged(&self.name, error))
    }

    pub(crate) fn close(mut self) -> Result<(), EngineError> {
        self.flush()?;
        let StagedWrite(staged) =
            self.writer.into_inner().map_err(|error| damaged(&self.name, error))?;
        staged.close()?;
        Ok(())
    }
}

/// Reads what splits are pinned: a table of ours, or any that has ids and splits. Pairs without a
/// split are not pinned.
pub(crate) fn read_pins(path: &Path) -> Result<Vec<Pin>, EngineError> {
    let mut pins = Pins { path, found: BTreeMap::new(), pins: Vec::new() };
    match kind(path)? {
        Kind::Parquet => {
            let mut table =
                Table::open(path, &[PAIR_ID, "split", "component", "anchors", "near"], false)?;
            while let Some((first, batch)) = table.next()? {
                let (ids, splits) = (table.texts(&batch, PAIR_ID)?, table.texts(&batch, "split")?);
                let lists: Option<&ListArray> = column(&batch, "anchors").ok();
                let near: Option<&UInt64Array> = column(&batch, "near").ok();
                let components: Option<&StringArray> = column(&batch, "component").ok();
                for (row, number) in (0..batch.num_rows()).zip(first..) {
                    let id = ids.is_valid(row).then(|| ids.value(row));
                    let split = splits.is_valid(row).then(|| splits.value(row));
                    let anchors =
                        lists.filter(|lists| lists.is_valid(row)).map(|lists| lists.value(row));
                    let anchors = anchors.as_ref().and_then(|list| list.as_any().downcast_ref());
                    let anchors = anchors.map(|list: &StringArray| {
                        list.iter().flatten().filter_map(anchors::from_hex).collect()
                    });
                    let near = near.filter(|near| near.is_valid(row)).map(|near| near.value(row));
                    let component = components.filter(|all| all.is_valid(row));
                    let component = component.and_then(|all| anchors::from_hex(all.value(row)));
                    let anchors = anchors.unwrap_or_default();
                    pins.add(number, id, split, Ties { component, anchors, near })?;
                }
            }
        }
        Kind::Csv => csv(path, |row, cell| {
            pins.add(row, cell(PAIR_ID).as_deref(), cell("split").as_deref(), Ties::default())
        })?,
        Kind::Text => {
            let what = "it has no columns pair_id and split".to_owned();
            let path = path.display().to_string();
            return Err(super::super::SelectError::List { path, what }.into());
        }
    }
    Ok(pins.pins)
}

/// What a table says of a pair besides its split.
#[derive(Default)]
struct Ties {
    component: Option<u128>,
    anchors: Vec<u128>,
    near: Option<u64>,
}

struct Pins<'a> {
    path: &'a Path,
    found: BTreeMap<u128, Split>,
    pins: Vec<Pin>,
}

impl Pins<'_> {
    fn add(
        &mut self,
        row: u64,
        id: Option<&str>,
        split: Option<&str>,
        ties: Ties,
    ) -> Result<(), EngineError> {
        let pair_id = id.ok_or_else(|| no_id(self.path, row))?.to_owned();
        let Some(word) = split.filter(|split| !split.is_empty()) else { return Ok(()) };
        let split = Split::from_word(word).ok_or_else(|| {
            let word = diptych_storage::text::printable(word.as_bytes());
            row_error(self.path, row, format!("{word} is no split: train, val and test are"))
        })?;
        match self.found.insert(crate::plan::id_digest(&pair_id), split) {
            None => {
                let Ties { component, anchors, near } = ties;
                self.pins.push(Pin { pair_id, split, component, anchors, near });
            }
            Some(other) if other == split => {}
            Some(other) => {
                let id = diptych_storage::text::printable(pair_id.as_bytes());
                let what = format!("{id} was {other} before it and is {split} here");
                return Err(row_error(self.path, row, what));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let out = LocalOutput::new(dir.path(), false);
        let mut writer = SplitsWriter::create(&out, "splits.parquet").unwrap();
        let row = |number: u32, split| SplitRow {
            pair_id: format!("toy:{number}"),
            dataset: "toy".to_owned(),
            split,
            component: u128::from(number),
            anchors: vec![u128::from(number), u128::MAX],
            near: number.is_multiple_of(2).then_some(u64::MAX - u64::from(number)),
        };
        let splits = [Some(Split::Train), None, Some(Split::Test), Some(Split::Val)];
        let rows: Vec<_> =
            (0..20_000).zip(splits.into_iter().cycle()).map(|(n, s)| row(n, s)).collect();
        for row in rows.clone() {
            writer.push(row).unwrap();
        }
        writer.close().unwrap();
        let pins = read_pins(&dir.path().join("splits.parquet")).unwrap();
        let expected: Vec<_> = rows
            .into_iter()
            .filter_map(|SplitRow { pair_id, split, component, anchors, near, .. }| {
                Some(Pin { pair_id, split: split?, component: Some(component), anchors, near })
            })
            .collect();
        assert_eq!(pins, expected);
    }

    fn read(content: &str) -> Result<Vec<Pin>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        std::fs::write(&path, content).unwrap();
        read_pins(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn tables_of_others_need_ids_and_splits() {
        let pins = read("n,pair_id,split\n1,a,test\n2,b,\n3,a,test\n").unwrap();
        assert_eq!(pins.len(), 1);
        assert_eq!((pins[0].pair_id.as_str(), pins[0].split), ("a", Split::Test));
        let wrong = [
            ("pair_id,split\na,dev\n", "row 1: dev is no split: train, val and test are"),
            ("pair_id,split\na,val\na,test\n", "row 2: a was val before it and is test here"),
            ("pair_id,split\n,val\n", "row 1: it has no pair_id"),
            ("a\nb\n", "it has no columns pair_id and split"),
        ];
        for (content, end) in wrong {
            let error = read(content).unwrap_err();
            assert!(error.ends_with(end), "{error}");
        }
    }
}
