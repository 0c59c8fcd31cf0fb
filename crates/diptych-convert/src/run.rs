//! Units: each alone, in any order, by any process that sees the release and the output.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::num::NonZeroUsize;

use diptych_format::writer::{SplitWord, UnitOutput, UnitStart};
use diptych_format::{Atom, FormatError, Sample, UnitFiles, Writer};
use diptych_schema::EditPair;
use diptych_storage::output::{LocalOutput, OutputError, StagedFile, WriteTree};
use diptych_storage::{Limits, RelPath};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::edit_types::EditTypeBooks;
use crate::error::{DamagedBy, EngineError};
use crate::index::RejectionLines;
use crate::masks::MaskBooks;
use crate::observe::{Event, Observer, go_on};
use crate::plan::{Plan, UnitPlan, atom_of};
use crate::report::Books;
use crate::request::Terms;
use crate::source::Sources;
use crate::stage::Stage;
use crate::work::{self, FINAL, damaged, to_json};

/// Name of a unit's receipt.
const RECEIPT: &str = "receipt.json";

/// Name of a unit's rejections.
const REJECTIONS: &str = "rejections.jsonl";

/// More threads than any machine runs at one time.
const MOST_THREADS: usize = 1024;

/// What says that a unit is done, and what became of its edits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The unit's number.
    pub unit: u32,
    /// The digest of the plan that it is of.
    pub plan: String,
    /// The split that its pairs are written under, where it is one.
    pub split: Option<SplitWord>,
    /// What was written and what was rejected.
    pub books: Books,
    /// What the writer wrote.
    pub files: UnitFiles,
    /// Bytes of the pictures.
    pub picture_bytes: u64,
    /// Licences that pairs state, with the number of pairs of each.
    pub licences: BTreeMap<String, u64>,
    /// What became of masks.
    pub masks: MaskBooks,
    /// Which kinds of edit were written. Receipts from before they were counted do not say it.
    #[serde(default)]
    pub edit_types: EditTypeBooks,
}

/// What units are run with.
pub(crate) struct UnitJob<'a> {
    pub(crate) out: &'a LocalOutput,
    pub(crate) catalog: &'a Catalog,
    pub(crate) plan: &'a Plan,
    pub(crate) writer: &'a dyn Writer,
    /// The datasets whose pairs are in the units.
    pub(crate) datasets: &'a BTreeSet<String>,
    pub(crate) sources: &'a Sources,
    pub(crate) limits: Limits,
    pub(crate) observer: &'a dyn Observer,
}

/// So many threads, but no more than there are tasks for.
pub(crate) fn pool(jobs: NonZeroUsize, tasks: usize) -> Result<rayon::ThreadPool, EngineError> {
    let threads = jobs.get().min(tasks).clamp(1, MOST_THREADS);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        let source = std::io::Error::other(error);
        EngineError::Output(OutputError::Write { action: "start", path: "threads".into(), source })
    })
}

/// The receipt of a unit of this plan; `None` where it is not done.
pub(crate) fn receipt(
    out: &LocalOutput,
    plan: &Plan,
    unit: u32,
) -> Result<Option<Receipt>, EngineError> {
    let name = format!("{}/{RECEIPT}", work::unit(unit));
    let receipt: Option<Receipt> = work::get_json(out, &name)?;
    match receipt {
        Some(receipt) if receipt.plan != plan.digest || receipt.unit != unit => {
            Err(damaged(&name, DamagedBy::Content("it is of another plan".to_owned())))
        }
        receipt => Ok(receipt),
    }
}

/// Whether the files of a unit are there as its receipt says. Once they are being moved, they are not
/// looked for.
pub(crate) fn is_whole(out: &LocalOutput, receipt: &Receipt) -> Result<bool, EngineError> {
    if out.exists(&work::path(FINAL)?)? {
        return Ok(true);
    }
    for file in &receipt.files.files {
        let path = work::below(&work::unit(receipt.unit), &file.name)?.under(out.root());
        let is_there = match fs::symlink_metadata(&path) {
            Ok(meta) => meta.is_file() && meta.len() == file.bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(damaged(&path.display().to_string(), error)),
        };
        if !is_there {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where a unit's list of rejections is, if it has any.
pub(crate) fn rejections_of(unit: u32) -> String {
    format!("{}/{REJECTIONS}", work::unit(unit))
}

/// Runs those of `units` that have no receipt yet.
pub(crate) fn run_units(
    job: &UnitJob<'_>,
    units: &[u32],
    jobs: NonZeroUsize,
) -> Result<(), EngineError> {
    let mut left = Vec::with_capacity(units.len());
    for &unit in units {
        let plan = job.plan.units.get(unit as usize);
        let count = job.plan.units.len();
        let plan = plan.ok_or(EngineError::NoUnit { asked: unit, units: count })?;
        match receipt(job.out, job.plan, unit)? {
            Some(receipt) if is_whole(job.out, &receipt)? => continue,
            // What is there of it is not what was published.
            Some(_) => job.out.remove(&work::path(&work::unit(unit))?)?,
            // Another process may publish it at this moment: nothing is removed.
            None => {}
        }
        left.push((unit, plan));
    }
    job.observer.event(Event::Running {
        units: left.len(),
        bytes: left.iter().map(|(_, plan)| plan.bytes).sum(),
        done: units.len() - left.len(),
    });
    pool(jobs, left.len())?.install(|| {
        left.par_iter().with_max_len(1).try_for_each(|(unit, plan)| {
            let within = |e: EngineError| e.within(format!("cannot write unit {unit}"));
            run_unit(job, *unit, plan).map_err(within)
        })
    })
}

/// The files of a unit, in a folder of its own.
struct UnitFolder<'a> {
    out: &'a LocalOutput,
    folder: String,
    /// Whether there are files in it that are not on the disk by themselves.
    small: bool,
}

impl UnitOutput for UnitFolder<'_> {
    fn stage(&mut self, name: &RelPath, bytes: u64) -> Result<Box<dyn StagedFile>, OutputError> {
        let mut file = self.out.stage(&work::below(&self.folder, name.as_str())?)?;
        file.reserve(bytes);
        Ok(file)
    }

    fn stage_small(
        &mut self,
        name: &RelPath,
        bytes: u64,
    ) -> Result<Box<dyn StagedFile>, OutputError> {
        self.small = true;
        self.out.stage_small(&work::below(&self.folder, name.as_str())?, bytes)
    }
}

fn run_unit(job: &UnitJob<'_>, number: u32, plan: &UnitPlan) -> Result<(), EngineError> {
    let folder = work::staging(number);
    let staging = work::path(&folder)?;
    let written = write_unit(job, number, plan, &folder);
    let receipt = match written {
        Ok(receipt) => receipt,
        Err(error) => {
            // What is half written is of no use to anybody; the first error is the one to tell.
            let _ = job.out.remove(&staging);
            return Err(error);
        }
    };
    if !job.plan.is_current(job.out)? {
        job.out.remove(&staging)?;
        return Err(EngineError::OtherPlan { path: job.out.root().display().to_string() });
    }
    let name = format!("{folder}/{RECEIPT}");
    job.out.put(&work::path(&name)?, &to_json(&name, &receipt)?)?;
    let place = work::path(&work::unit(number))?;
    if let Err(error) = job.out.publish(&staging, &place) {
        // Where it was moved, it is only not known to be on the disk.
        let is_moved = !job.out.exists(&staging)?;
        let published = self::receipt(job.out, job.plan, number)?;
        job.out.remove(&staging)?;
        // Another process was faster: a unit is published once.
        if is_moved || published.is_none() {
            return Err(error.into());
        }
    }
    job.observer.event(Event::UnitDone { unit: number });
    Ok(())
}

fn write_unit(
    job: &UnitJob<'_>,
    number: u32,
    plan: &UnitPlan,
    folder: &str,
) -> Result<Receipt, EngineError> {
    let Terms { mask_grid, mask_grid_asked, strict, .. } = job.plan.terms;
    let difference = job.plan.terms.difference_options()?;
    let (sources, limits, writer) = (job.sources, job.limits, job.writer);
    let stage = Stage { sources, limits, writer, mask_grid, mask_grid_asked, difference };
    let rejections = work::path(&format!("{folder}/{REJECTIONS}"))?;
    let mut rejections = RejectionLines::new(job.out, rejections);
    let mut output = UnitFolder { out: job.out, folder: folder.to_owned(), small: false };
    let start = UnitStart { split: plan.split, bytes: plan.bytes, datasets: job.datasets };
    let mut writer = job.writer.begin(start, &mut output)?;
    let mut receipt = Receipt {
        unit: number,
        plan: job.plan.digest.clone(),
        split: plan.split.map(SplitWord),
        books: Books::default(),
        files: UnitFiles::default(),
        picture_bytes: 0,
        licences: BTreeMap::new(),
        masks: MaskBooks::default(),
        edit_types: EditTypeBooks::default(),
    };
    let mut row = job.plan.first_row(number);
    let mut files = BTreeSet::new();
    for run in &plan.runs {
        let mut pairs = job.catalog.pairs(run.partition as usize, run.first, run.count)?.peekable();
        let mut read = 0;
        while let Some(pair) = pairs.next() {
            let pair = pair?;
            let atom = atom_of(&pair, job.writer.grain()).map(str::to_owned);
            let mut samples = Vec::with_capacity(1);
            let mut take = |mut pair: EditPair| -> Result<(), EngineError> {
                files.extend(pair.addresses_mut().filter_map(|address| address.file()));
                let mask_from = job.plan.terms.masks_of(job.catalog.label(&pair));
                read += 1;
                row += 1;
                match stage.sample(pair, row - 1, &mask_from)? {
                    Ok(sample) => samples.push(sample),
                    Err(rejection) if strict => {
                        return Err(EngineError::Strict(rejection));
                    }
                    Err(rejection) => {
                        receipt.books.reject(&rejection);
                        rejections.push(&rejection)?;
                    }
                }
                Ok(())
            };
            go_on(job.observer)?;
            take(pair)?;
            let continues = |next: &Result<EditPair, EngineError>| {
                let of = next.as_ref().ok().and_then(|next| atom_of(next, job.writer.grain()));
                atom.is_some() && of == atom.as_deref()
            };
            while let Some(pair) = pairs.next_if(continues) {
                take(pair?)?;
            }
            let atom = Atom { samples };
            writer.write(&atom).map_err(|error| failed_atom(&atom, error))?;
            let bytes = enter(&mut receipt, &atom);
            job.observer.event(Event::Moved { bytes, pairs: atom.samples.len() as u64 });
        }
        if read != run.count {
            let what = format!("{read} pairs where the plan has {}", run.count);
            let file = crate::catalog::pairs_file(run.partition as usize);
            return Err(damaged(&file, DamagedBy::Content(what)));
        }
    }
    receipt.files = writer.close()?;
    sources.check_unchanged(files)?;
    rejections.close()?;
    if output.small {
        job.out.sync()?;
    }
    Ok(receipt)
}

/// Enters what was written, and gives its bytes.
fn enter(receipt: &mut Receipt, atom: &Atom) -> u64 {
    let mut bytes = 0;
    for sample in &atom.samples {
        let Sample { pair, source, references, target, mask, .. } = sample;
        receipt.books.of(&pair.dataset, pair.subset.as_deref()).written += 1;
        receipt.masks.enter(sample);
        receipt.edit_types.enter(&pair.dataset, pair.edit_type.as_deref());
        if let Some(licence) = &pair.licence {
            *receipt.licences.entry(licence.clone()).or_default() += 1;
        }
        let pictures = std::iter::once(source).chain(references).chain(target).chain(mask);
        bytes += pictures.map(|picture| picture.payload.length()).sum::<u64>();
    }
    receipt.picture_bytes += bytes;
    bytes
}

/// Says which pairs were being written.
fn failed_atom(atom: &Atom, error: FormatError) -> EngineError {
    if matches!(error, FormatError::Pair { .. }) {
        // It is of a pair that came before, and says which.
        return error.into();
    }
    let ids: Vec<_> = atom.samples.iter().map(|sample| sample.pair.pair_id.as_str()).collect();
    EngineError::from(error).within(format!("cannot write {}", ids.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn receipts_from_before_edit_types_were_counted_are_read() {
        let receipt = json!({"unit": 1, "plan": "p", "split": null, "books": [],
            "files": UnitFiles::default(), "picture_bytes": 0, "licences": {}, "masks": []});
        let receipt: Receipt = serde_json::from_value(receipt).unwrap();
        assert_eq!(receipt.edit_types, EditTypeBooks::default());
    }
}
