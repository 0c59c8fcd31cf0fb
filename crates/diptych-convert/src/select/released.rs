//! The table of splits of an output for which none were decided: those of the releases. No picture is
//! looked at for it, and it does not depend on where pictures lie: the same pairs have the same table.

use std::collections::BTreeSet;

use arrow_array::{Array, StringArray};
use diptych_schema::Split;
use diptych_storage::output::LocalOutput;

use super::anchors;
use super::splits::{SplitRow, SplitsWriter};
use crate::catalog::{Catalog, column};
use crate::error::{DamagedBy, EngineError};
use crate::plan::{Plan, Run, id_digest};
use crate::work::damaged;

const COLUMNS: [&str; 5] = ["pair_id", "dataset", "split", "session_id", "group_id"];

/// Writes the table of the pairs of a plan, split by split, each in the order of the catalog.
pub(crate) fn write_splits_as_released(
    out: &LocalOutput,
    path: &str,
    catalog: &Catalog,
    plan: &Plan,
) -> Result<(), EngineError> {
    let mut runs: Vec<_> = plan.units.iter().flat_map(|unit| &unit.runs).copied().collect();
    runs.sort_by_key(|run| (run.partition, run.first));
    let mut table = SplitsWriter::create(out, path)?;
    // A pass for each, so that no pair has to be held.
    for split in Split::ALL {
        write_split(catalog, &runs, *split, &mut table)?;
    }
    table.close()
}

fn write_split(
    catalog: &Catalog,
    runs: &[Run],
    split: Split,
    table: &mut SplitsWriter,
) -> Result<(), EngineError> {
    let columns: BTreeSet<String> = COLUMNS.map(str::to_owned).into();
    let mut runs = runs.iter().copied().peekable();
    for file in 0..catalog.pair_files() {
        let mut number = 0_u64;
        let is_here = |run: &Run| run.partition as usize == file;
        if !runs.peek().is_some_and(is_here) {
            continue;
        }
        for batch in catalog.columns(file, &columns)? {
            let batch = batch?;
            let name = || catalog.root().display().to_string();
            let read = || -> Result<_, DamagedBy> {
                let [ids, datasets, splits, sessions, groups] = COLUMNS;
                let said = (texts(&batch, ids)?, texts(&batch, datasets)?, texts(&batch, splits)?);
                let atoms = (texts(&batch, sessions)?, texts(&batch, groups)?);
                Ok((said, atoms))
            };
            let ((ids, datasets, splits), (sessions, groups)) =
                read().map_err(|error| damaged(&name(), error))?;
            for row in 0..batch.num_rows() {
                while runs.next_if(|run| is_here(run) && run.first + run.count <= number).is_some()
                {
                }
                let taken = runs.peek().is_some_and(|run| is_here(run) && run.first <= number);
                number += 1;
                if !taken {
                    continue;
                }
                let text = |of: &StringArray| of.is_valid(row).then(|| of.value(row).to_owned());
                let own = text(splits).as_deref().and_then(Split::from_word);
                // As it is written.
                if own.unwrap_or(Split::Train) != split {
                    continue;
                }
                let dataset = datasets.value(row);
                let session = text(sessions).map(|name| anchors::session(dataset, &name));
                let group = text(groups).map(|name| anchors::group(dataset, &name));
                let all: Vec<u128> = session.into_iter().chain(group).collect();
                let alone = || anchors::pair(id_digest(ids.value(row)));
                table.push(SplitRow {
                    pair_id: ids.value(row).to_owned(),
                    dataset: dataset.to_owned(),
                    split: own,
                    component: all.iter().copied().min().unwrap_or_else(alone),
                    anchors: all,
                    near: None,
                })?;
            }
        }
        // What is left of the file's runs lies behind its end, which units have told of.
        while runs.next_if(is_here).is_some() {}
    }
    Ok(())
}

fn texts<'a>(
    batch: &'a arrow_array::RecordBatch,
    name: &str,
) -> Result<&'a StringArray, DamagedBy> {
    column(batch, name)
}
