//! The end of a conversion: names, card, report, and the books that must balance.
//!
//! Everything is put together below the working folder and then moved to its place, entry by
//! entry, the report last: an output that has its report is complete. A process that died here is
//! followed by another that goes on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use diptych_format::writer::{FinishOutput, FinishedUnit, Provenance};
use diptych_format::written::{DUPLICATES, SPLITS};
use diptych_format::{Format, Writer};
use diptych_schema::{SCHEMA_VERSION, Split};
use diptych_storage::output::{LocalOutput, OutputError, StagedFile, WriteTree};
use diptych_storage::read::{LocalFile, WatchedFile};
use diptych_storage::{ReadAt, RelPath};

use crate::GENERATOR;
use crate::catalog::{Catalog, SELECTED_REJECTIONS, copy_lines};
use crate::edit_types::EditTypeBooks;
use crate::error::EngineError;
use crate::masks::MaskBooks;
use crate::plan::Plan;
use crate::replace::{count_files, remove_replaced};
use crate::report::{Books, REPORT_VERSION, Report, ReportOptions, SplitReport};
use crate::run::{Receipt, is_whole, receipt, rejections_of};
use crate::select::write_splits_as_released;
use crate::work::{
    self, CATALOG, FINAL, PLAN_REJECTIONS, PUBLISHING, REJECTIONS, REPLACES, REPORT, WORK, damaged,
    put_json, to_json,
};

/// Ends an output whose units are all done.
pub(crate) fn finish(
    out: &LocalOutput,
    catalog: &Catalog,
    plan: &Plan,
    writer: &dyn Writer,
    formats: &[&'static dyn Format],
) -> Result<Report, EngineError> {
    let mut receipts = Vec::with_capacity(plan.units.len());
    let mut missing = Vec::new();
    for unit in 0..u32::try_from(plan.units.len()).unwrap_or(u32::MAX) {
        match receipt(out, plan, unit)? {
            Some(receipt) if is_whole(out, &receipt)? => receipts.push(receipt),
            _ => missing.push(unit),
        }
    }
    if !missing.is_empty() {
        let path = out.root().display().to_string();
        return Err(EngineError::Unfinished { path, missing, units: plan.units.len() });
    }
    let mut report = report(catalog, plan, &receipts)?;
    if report.total.written > 0 {
        let units: Vec<_> = receipts
            .iter()
            .map(|receipt| FinishedUnit {
                unit: receipt.unit,
                split: receipt.split.map(|split| split.0),
                files: receipt.files.clone(),
            })
            .collect();
        let mut final_output = FinalOutput { out };
        let provenance = provenance(&report, &receipts, formats);
        report.take(writer.finish(&units, &provenance, &mut final_output)?);
    }
    write_rejections(out, catalog, &receipts)?;
    if report.total.written > 0 {
        write_decisions(out, catalog, plan)?;
    }
    // Some of it may have been moved already, unless what lies there is still to be replaced.
    let is_replaced = out.exists(&work::path(REPLACES)?)?;
    for name in names_to_publish(out, FINAL)? {
        let mut places = vec![work::path(&format!("{FINAL}/{name}"))?.under(out.root())];
        if !is_replaced {
            places.push(work::path(&name)?.under(out.root()));
        }
        report.entries.insert(name, count_files(&places)?);
    }
    report.entries.insert(REPORT.to_owned(), 1);
    let name = format!("{FINAL}/{REPORT}");
    out.put(&work::path(&name)?, &to_json(&name, &report)?)?;
    // All that is ready has its name on the disk before anything gives way to it or is moved.
    out.sync()?;
    remove_replaced(out)?;
    publish_all(out, FINAL, REPORT)?;
    out.remove(&work::path(WORK)?)?;
    Ok(report)
}

fn report(catalog: &Catalog, plan: &Plan, receipts: &[Receipt]) -> Result<Report, EngineError> {
    let mut books = plan.books.clone();
    let mut splits: BTreeMap<String, SplitReport> = BTreeMap::new();
    for receipt in receipts {
        books.add(&receipt.books);
        for file in &receipt.files.files {
            // A writer that does not divide splits tells at the end what is in each.
            let split = receipt.split.map_or(Split::Train, |split| split.0);
            let split = splits.entry(split.word().to_owned()).or_default();
            split.pairs = split.pairs.saturating_add(file.samples);
            split.files += 1;
            split.bytes = split.bytes.saturating_add(file.bytes);
        }
    }
    books.check()?;
    let mut masks = MaskBooks::default();
    let mut edit_types = EditTypeBooks::default();
    for receipt in receipts {
        masks.add(&receipt.masks);
        edit_types.add(&receipt.edit_types);
    }
    let terms = &plan.terms;
    Ok(Report {
        report_version: REPORT_VERSION,
        generator: GENERATOR.to_owned(),
        schema_version: SCHEMA_VERSION,
        to: terms.to.clone(),
        options: ReportOptions::of(terms),
        sources: terms.sources.clone(),
        total: books.total(),
        picture_bytes: receipts.iter().map(|receipt| receipt.picture_bytes).sum(),
        output_bytes: splits.values().map(|split| split.bytes).sum(),
        datasets: books,
        splits,
        masks,
        edit_types,
        selection: catalog.head().selected.as_ref().map(|selected| selected.report.clone()),
        entries: BTreeMap::new(),
        notices: catalog.head().notices.clone(),
    })
}

fn provenance(
    report: &Report,
    receipts: &[Receipt],
    formats: &[&'static dyn Format],
) -> Provenance {
    let mut licences: BTreeMap<String, u64> = BTreeMap::new();
    for (licence, pairs) in receipts.iter().flat_map(|receipt| &receipt.licences) {
        *licences.entry(licence.clone()).or_default() += pairs;
    }
    let books: &Books = &report.datasets;
    let datasets = books.written_by_dataset();
    // A dataset is called as the format of its release, whatever it was read from this time.
    let abouts = formats.iter().map(|format| format.about());
    let (mut terms, mut citations) = (BTreeMap::new(), BTreeMap::new());
    for about in abouts.filter(|about| datasets.contains_key(about.name)) {
        if !about.terms.is_empty() {
            terms.insert(about.name.to_owned(), about.terms);
        }
        citations.extend(about.citation.map(|citation| (about.name.to_owned(), citation)));
    }
    Provenance { generator: GENERATOR.to_owned(), datasets, licences, terms, citations }
}

/// The output below the working folder, where nobody takes it for complete.
struct FinalOutput<'a> {
    out: &'a LocalOutput,
}

impl FinalOutput<'_> {
    /// Whether what is to go from one place to another went there before, or on to its last place.
    fn is_placed(&self, from: &RelPath, to: &RelPath, last: &RelPath) -> Result<bool, OutputError> {
        Ok(!self.out.exists(from)? && (self.out.exists(to)? || self.out.exists(last)?))
    }
}

impl FinishOutput for FinalOutput<'_> {
    fn place(&mut self, unit: u32, name: &str, path: &RelPath) -> Result<(), OutputError> {
        let from = work::below(&work::unit(unit), name)?;
        let to = work::below(FINAL, path.as_str())?;
        // A process before this one may have come as far as here, or farther.
        if self.is_placed(&from, &to, path)? {
            return Ok(());
        }
        self.out.publish_small(&from, &to)
    }

    fn place_folder(&mut self, unit: u32, name: &str, path: &RelPath) -> Result<(), OutputError> {
        let from = work::below(&work::unit(unit), name)?;
        let to = work::below(FINAL, path.as_str())?;
        // As above, where the last of it was moved.
        if self.is_placed(&from, &to, path)? {
            return Ok(());
        }
        self.out.merge(&from, &to)
    }

    fn open(&mut self, unit: u32, name: &str) -> Result<Arc<dyn ReadAt>, OutputError> {
        let path = work::below(&work::unit(unit), name)?.under(self.out.root());
        let file = File::open(&path).and_then(LocalFile::new);
        let file = file.map_err(|source| OutputError::Write {
            action: "read",
            path: path.display().to_string(),
            source,
        })?;
        let on_error = move |source: io::Error| {
            let path = path.display().to_string();
            io::Error::new(source.kind(), OutputError::Write { action: "read", path, source })
        };
        Ok(Arc::new(WatchedFile { file: Arc::new(file), on_error }))
    }

    fn stage(&mut self, path: &RelPath) -> Result<Box<dyn StagedFile>, OutputError> {
        self.out.stage(&work::below(FINAL, path.as_str())?)
    }

    fn put(&mut self, path: &RelPath, bytes: &[u8]) -> Result<(), OutputError> {
        self.out.put(&work::below(FINAL, path.as_str())?, bytes)
    }
}

/// The table of splits, and the list of duplicates where they were looked for.
fn write_decisions(out: &LocalOutput, catalog: &Catalog, plan: &Plan) -> Result<(), EngineError> {
    let mut decided = false;
    for name in [SPLITS, DUPLICATES] {
        let from = work::path(&format!("{CATALOG}/{name}"))?;
        if out.exists(&from)? {
            let mut to = out.stage(&work::path(&format!("{FINAL}/{name}"))?)?;
            copy_lines(&from.under(out.root()), to.as_mut())?;
            to.close()?;
            decided |= name == SPLITS;
        }
    }
    if !decided {
        write_splits_as_released(out, &format!("{FINAL}/{SPLITS}"), catalog, plan)?;
    }
    Ok(())
}

/// Every rejection in one list: those of reading in the order of the release, those of planning,
/// those of writing in the order of the output.
fn write_rejections(
    out: &LocalOutput,
    catalog: &Catalog,
    receipts: &[Receipt],
) -> Result<(), EngineError> {
    let mut list = out.stage(&work::path(&format!("{FINAL}/{REJECTIONS}"))?)?;
    for partition in 0..catalog.head().partitions.len() {
        catalog.copy_rejections(partition, list.as_mut())?;
    }
    let mut copy = |name: &str| -> Result<(), EngineError> {
        copy_lines(&work::path(name)?.under(out.root()), list.as_mut())
    };
    if catalog.head().selected.is_some() {
        copy(&format!("{CATALOG}/{SELECTED_REJECTIONS}"))?;
    }
    copy(PLAN_REJECTIONS)?;
    receipts.iter().try_for_each(|receipt| copy(&rejections_of(receipt.unit)))?;
    list.close()?;
    Ok(())
}

/// Moves everything in `folder` to the root of the output, `last` last.
pub(crate) fn publish_all(out: &LocalOutput, folder: &str, last: &str) -> Result<(), EngineError> {
    put_json(out, PUBLISHING, &names_to_publish(out, folder)?)?;
    let mut names = entries(&work::path(folder)?.under(out.root()))?;
    // The one that says that all is there comes after all.
    names.sort_by_key(|name| (name == last, name.clone()));
    names.iter().try_for_each(|name| publish_entry(out, &format!("{folder}/{name}"), name))
}

/// The names of what is in `folder`, and of what an earlier process that came as far as here has
/// moved from there already; sorted.
fn names_to_publish(out: &LocalOutput, folder: &str) -> Result<Vec<String>, EngineError> {
    let mut names: Vec<String> = work::get_json(out, PUBLISHING)?.unwrap_or_default();
    names.extend(entries(&work::path(folder)?.under(out.root()))?);
    names.sort();
    names.dedup();
    Ok(names)
}

/// Moves a file or folder. Into a folder that an earlier process has moved already goes what was
/// made again of it since.
fn publish_entry(out: &LocalOutput, from: &str, to: &str) -> Result<(), EngineError> {
    let (source, target) = (work::path(from)?, work::path(to)?);
    let whole = source.under(out.root());
    if !(out.is_folder(&source)? && out.is_folder(&target)?) {
        return Ok(out.publish(&source, &target)?);
    }
    let names = entries(&whole)?;
    names
        .iter()
        .try_for_each(|name| publish_entry(out, &format!("{from}/{name}"), &format!("{to}/{name}")))
}

fn entries(folder: &Path) -> Result<Vec<String>, EngineError> {
    let name = folder.display().to_string();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| damaged(&name, e))? {
        let entry = entry.map_err(|e| damaged(&name, e))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}
