//! The catalog of the chosen pairs.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::StringArray;
use diptych_format::Writer;
use diptych_schema::{EditPair, Label, Split};
use diptych_storage::output::LocalOutput;
use rayon::prelude::*;

use super::draw::{Taken, again};
use super::pool::Pool;
use super::survey::Rows;
use crate::catalog::{PairsWriter, column, pairs_file};
use crate::error::EngineError;
use crate::observe::{Observer, go_on};
use crate::plan::{PlanRow, Scan};
use crate::run::pool as threads;
use crate::work::{self, damaged};

/// The most pairs of a file where their order is not that of their sources: all are in memory at
/// one time.
const PAIRS_IN_ORDER: usize = 32_768;

/// About how many bytes they may take there.
const BYTES_IN_ORDER: usize = 96 << 20;

/// The label of a pair that has another split than its release gives it.
const SPLIT_RELEASED: &str = "split_released";

/// Bytes that the parts of a pair take in memory besides their text.
const BYTES_A_PAIR: usize = 2 << 10;

/// What is written.
pub(super) struct Chosen<'a> {
    pub(super) pool: &'a Pool<'a>,
    pub(super) rows: &'a Rows,
    /// The pairs, in their order.
    pub(super) taken: &'a [Taken],
    /// The split of each row, where splits were decided.
    pub(super) splits: Option<&'a [Option<Split>]>,
    pub(super) observer: &'a dyn Observer,
    pub(super) jobs: std::num::NonZeroUsize,
    /// What units will be written by, where they are planned next.
    pub(super) writer: Option<(&'a dyn Writer, &'a str)>,
}

/// A file of chosen pairs.
pub(super) struct Written {
    /// The ids of its pairs.
    pub(super) ids: Vec<String>,
    /// What a plan needs of them.
    pub(super) rows: Option<Vec<PlanRow>>,
}

impl Chosen<'_> {
    /// Writes the pairs below `at`, and says what is in each file.
    pub(super) fn write(&self, out: &LocalOutput, at: &str) -> Result<Vec<Written>, EngineError> {
        let files = self.files()?;
        let write = |(number, taken): (usize, &&[Taken])| {
            let path = work::path(&format!("{at}/{}", pairs_file(number)))?;
            let mut writer = PairsWriter::create(out, &path)?;
            let mut ids = Vec::with_capacity(taken.len());
            let mut scan = self.writer.map(|(writer, to)| Scan::new(writer, to));
            self.pairs(taken, &mut |pair| {
                go_on(self.observer)?;
                if let Some(scan) = &mut scan {
                    scan.add(&pair)?;
                }
                ids.push(pair.pair_id.clone());
                writer.push(pair)
            })?;
            writer.close()?;
            Ok(Written { ids, rows: scan.map(Scan::end) })
        };
        threads(self.jobs, files.len())?
            .install(|| files.par_iter().enumerate().map(write).collect())
    }

    fn part_of(&self, taken: &Taken) -> u32 {
        self.rows.part.get(taken.row as usize).copied().unwrap_or_default()
    }

    /// Whether the pairs come as they were read, none twice.
    fn is_natural(&self) -> bool {
        let rises = |pair: &[Taken]| matches!(pair, [a, b] if a.row < b.row);
        self.taken.iter().all(|taken| taken.copy == 0) && self.taken.windows(2).all(rises)
    }

    /// The pairs of each file: those of one that was read, or so many.
    fn files(&self) -> Result<Vec<&[Taken]>, EngineError> {
        if self.is_natural() {
            return Ok(self.taken.chunk_by(|a, b| self.part_of(a) == self.part_of(b)).collect());
        }
        let parts: BTreeSet<u32> = self.taken.iter().map(|taken| self.part_of(taken)).collect();
        let mut largest = 1;
        for part in parts {
            if let Some(part) = self.pool.parts.get(part as usize) {
                largest = largest.max(part.bytes_of_a_pair()?);
            }
        }
        let most = BYTES_IN_ORDER / (largest + BYTES_A_PAIR);
        Ok(self.taken.chunks(most.clamp(1, PAIRS_IN_ORDER)).collect())
    }

    /// Reads the pairs of a file in their order.
    fn pairs(
        &self,
        taken: &[Taken],
        take: &mut dyn FnMut(EditPair) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut places: BTreeMap<u32, Vec<(u64, usize)>> = BTreeMap::new();
        for (place, of) in taken.iter().enumerate() {
            let row = self.rows.row.get(of.row as usize).copied().unwrap_or_default();
            places.entry(self.part_of(of)).or_default().push((row.into(), place));
        }
        let in_order =
            places.len() == 1 && taken.windows(2).all(|of| matches!(of, [a, b] if a.row < b.row));
        let mut slots: Vec<Option<EditPair>> = Vec::new();
        if !in_order {
            slots.resize_with(taken.len(), || None);
        }
        for (number, mut places) in places {
            let Some(part) = self.pool.parts.get(number as usize) else { continue };
            places.sort_unstable();
            let mut rows: Vec<u64> = places.iter().map(|(row, _)| *row).collect();
            rows.dedup();
            let mut places = places.into_iter().peekable();
            let mut pairs = part.pairs_in(&rows)?;
            for row in &rows {
                let mut pair = Some(pairs.next().ok_or_else(|| part.other_pairs())??);
                while let Some((_, place)) = places.next_if(|(of, _)| of == row) {
                    // Copied only where it is taken once more: few are.
                    let is_last = places.peek().is_none_or(|(of, _)| of != row);
                    let whole = if is_last { pair.take() } else { pair.clone() };
                    let (Some(whole), Some(of)) = (whole, taken.get(place)) else { continue };
                    let pair = self.changed(whole, *of);
                    match slots.get_mut(place) {
                        Some(slot) => *slot = Some(pair),
                        None => take(pair)?,
                    }
                }
            }
        }
        slots.into_iter().flatten().try_for_each(take)
    }

    /// The pair as it is taken: under its split, and under a name of its own where it is taken once
    /// more.
    fn changed(&self, mut pair: EditPair, taken: Taken) -> EditPair {
        let say = |name: &str, value: String, labels: &mut Vec<Label>| {
            labels.push(Label { name: name.to_owned(), value });
            labels.sort_by(|a, b| a.name.cmp(&b.name));
        };
        if let Some(split) = self.splits.and_then(|of| of.get(taken.row as usize)) {
            // What its release said stays, however often it is chosen.
            let is_said = pair.labels.iter().any(|label| label.name == SPLIT_RELEASED);
            let released = pair.split.filter(|released| Some(*released) != *split && !is_said);
            if let Some(released) = released {
                say(SPLIT_RELEASED, released.word().to_owned(), &mut pair.labels);
            }
            pair.split = *split;
        }
        if taken.copy > 0 {
            say("again_of", pair.pair_id.clone(), &mut pair.labels);
            pair.pair_id = again(&pair.pair_id, taken.copy);
            for tie in [&mut pair.session_id, &mut pair.group_id].into_iter().flatten() {
                *tie = again(tie, taken.copy);
            }
        }
        pair
    }
}

/// The ids of some rows.
pub(super) fn ids_of(
    pool: &Pool<'_>,
    rows: &Rows,
    wanted: &BTreeSet<u32>,
) -> Result<BTreeMap<u32, String>, EngineError> {
    let columns = BTreeSet::from(["pair_id".to_owned()]);
    let mut found = BTreeMap::new();
    // Rows rise with their parts.
    let wanted: Vec<u32> = wanted.iter().copied().collect();
    let part_of = |row: &u32| rows.part.get(*row as usize).copied().unwrap_or_default();
    for of_part in wanted.chunk_by(|a, b| part_of(a) == part_of(b)) {
        let Some(first) = of_part.first() else { continue };
        let Some(part) = pool.parts.get(part_of(first) as usize) else { continue };
        let place = |row: &u32| rows.row.get(*row as usize).copied().unwrap_or_default() as usize;
        let mut of_part = of_part.iter().peekable();
        let mut begin = 0_usize;
        for batch in part.columns(&columns)? {
            let batch = batch?;
            let ids: &StringArray = column(&batch, "pair_id")
                .map_err(|e| damaged(&part.folder().display().to_string(), e))?;
            let end = begin + batch.num_rows();
            while let Some(row) = of_part.next_if(|row| place(row) < end) {
                found.insert(*row, ids.value(place(row) - begin).to_owned());
            }
            begin = end;
        }
    }
    Ok(found)
}
