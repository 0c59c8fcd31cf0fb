//! Readers into a catalog.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use diptych_format::{Edit, Notice, Notices, Place, Probe, Reader, Rejection, Tally};
use diptych_schema::{EditPair, SCHEMA_VERSION};
use diptych_storage::output::{LocalOutput, StagedFile, WriteTree};
use diptych_storage::text::printable;
use diptych_storage::tree::OddityKind;
use diptych_storage::{Limits, ReadTree, RelPath};
use rayon::prelude::*;

use crate::GENERATOR;
use crate::catalog::{
    CATALOG_VERSION, CatalogFile, HEAD, Head, PairsWriter, Partition, Piece, pairs_file,
    rejections_file, write_files,
};
use crate::error::{DamagedBy, EngineError};
use crate::input::{Input, OpenCatalog, all_probed};
use crate::observe::{Event, Observer, go_on};
use crate::plan::id_digest;
use crate::report::Books;
use crate::source::OpenSource;
use crate::work::{self, damaged, put_json};

/// How a catalog is made.
pub(crate) struct IndexJob<'a> {
    pub(crate) inputs: Vec<&'a Input>,
    pub(crate) limits: Limits,
    pub(crate) probe: Probe,
    pub(crate) jobs: NonZeroUsize,
    /// Reads no more partitions than hold so many pairs, in order.
    pub(crate) enough: Option<u64>,
    /// Fails at the first rejection.
    pub(crate) strict: bool,
    pub(crate) observer: &'a dyn Observer,
}

/// A partition to be read.
#[derive(Clone, Copy)]
struct Task<'a> {
    source: &'a Source<'a>,
    /// Its place in the source.
    partition: usize,
    /// Its place in the catalog.
    number: usize,
}

/// What partitions are read from. The files of each are numbered from `first_file` on.
enum Source<'a> {
    Release { open: &'a OpenSource, reader: Box<dyn Reader>, first_file: u32 },
    Catalog { open: &'a OpenCatalog, first_file: u32 },
}

impl Source<'_> {
    fn partitions(&self) -> usize {
        match self {
            Self::Release { reader, .. } => reader.partitions().len(),
            Self::Catalog { open, .. } => open.catalog.head().partitions.len(),
        }
    }
}

/// Writes the catalog of the sources into the folder `at`, its head last.
pub(crate) fn write_catalog(
    job: &IndexJob<'_>,
    out: &LocalOutput,
    at: &str,
) -> Result<(), EngineError> {
    let mut sources = Vec::with_capacity(job.inputs.len());
    let mut files = Vec::new();
    for input in &job.inputs {
        let first_file = u32::try_from(files.len()).unwrap_or(u32::MAX);
        sources.push(match input {
            Input::Release(open) => {
                let reader = open.reader(job.limits, job.probe)?;
                files.extend(file_table(open, reader.as_ref())?);
                Source::Release { open, reader, first_file }
            }
            Input::Catalog(open) => {
                files.extend(open.files());
                Source::Catalog { open, first_file }
            }
        });
        if u32::try_from(files.len()).is_err() {
            let label = input.formats().first().map_or("", |(label, _)| label).to_owned();
            let what = "more files than a catalog can number".to_owned();
            return Err(EngineError::Changed { label, what });
        }
    }
    write_files(out, at, &files)?;
    drop(files);
    let mut tasks = Vec::new();
    for source in &sources {
        for partition in 0..source.partitions() {
            tasks.push(Task { source, partition, number: tasks.len() });
        }
    }
    job.observer.event(Event::Indexing { partitions: tasks.len() });
    let partitions = read_partitions(job, out, at, &tasks)?;
    let notices = notices(&sources, &tasks, &partitions, job.limits.notices);
    notices.iter().for_each(|notice| job.observer.event(Event::Noticed(notice.clone())));
    let head = Head {
        catalog_version: CATALOG_VERSION,
        schema_version: SCHEMA_VERSION,
        generator: GENERATOR.to_owned(),
        probe: all_probed(&job.inputs, job.probe),
        limit: job.enough,
        limits: job.limits.changed(),
        sources: job.inputs.iter().flat_map(|input| input.sources()).collect(),
        partitions,
        notices,
        selected: None,
    };
    for input in &job.inputs {
        if let Input::Release(open) = input {
            open.check_whole(&job.limits)?;
        }
    }
    put_json(out, &format!("{at}/{HEAD}"), &head)
}

fn file_table(open: &OpenSource, reader: &dyn Reader) -> Result<Vec<CatalogFile>, EngineError> {
    let piece = |path: &RelPath| {
        let entry = open.tree.entry(path.as_str()).ok_or_else(|| EngineError::Changed {
            label: open.terms.label.clone(),
            what: format!("{path} is not listed"),
        })?;
        Ok(Piece { path: path.clone(), length: entry.length, modified: entry.modified })
    };
    let file = |file: &diptych_format::SourceFile| {
        let pieces: Result<Vec<_>, EngineError> = file.pieces.iter().map(piece).collect();
        Ok(CatalogFile { source: open.terms.label.clone(), pieces: pieces? })
    };
    reader.files().iter().map(file).collect()
}

fn read_partitions(
    job: &IndexJob<'_>,
    out: &LocalOutput,
    at: &str,
    tasks: &[Task<'_>],
) -> Result<Vec<Partition>, EngineError> {
    let stop = AtomicBool::new(false);
    let Some(enough) = job.enough else {
        let read = |task: &Task<'_>| read_partition(job, out, at, task, &stop, &mut |_| {});
        let pool = crate::run::pool(job.jobs, tasks.len())?;
        return first_error_or_all(pool.install(|| tasks.par_iter().map(read).collect()));
    };
    // One after the other, so that the same is read whatever the number of threads: what lies
    // beyond the partition that is enough is not even looked at. Repeats will be no pairs.
    let mut partitions = Vec::new();
    let mut ids = HashSet::new();
    for task in tasks {
        if ids.len() as u64 >= enough {
            break;
        }
        let mut seen = |pair: &EditPair| {
            ids.insert(id_digest(&pair.pair_id));
        };
        partitions.extend(read_partition(job, out, at, task, &stop, &mut seen)?);
    }
    Ok(partitions)
}

/// All partitions in order, or the error of the first that has one of its own: those after it
/// may only have been told to stop.
fn first_error_or_all(
    read: Vec<Result<Option<Partition>, EngineError>>,
) -> Result<Vec<Partition>, EngineError> {
    let mut partitions = Vec::with_capacity(read.len());
    let mut stopped = false;
    for done in read {
        match done? {
            Some(partition) => partitions.push(partition),
            None => stopped = true,
        }
    }
    debug_assert!(!stopped, "a partition stops only where another has failed");
    Ok(partitions)
}

/// Reads a partition; `None` where another failed meanwhile.
fn read_partition(
    job: &IndexJob<'_>,
    out: &LocalOutput,
    at: &str,
    task: &Task<'_>,
    stop: &AtomicBool,
    seen: &mut dyn FnMut(&EditPair),
) -> Result<Option<Partition>, EngineError> {
    let Task { source, partition, number } = *task;
    let mut books = Books::default();
    let mut pairs =
        PairsWriter::create(out, &work::path(&format!("{at}/{}", pairs_file(number)))?)?;
    let rejections = format!("{at}/{}", rejections_file(number));
    let mut rejections = RejectionLines::new(out, work::path(&rejections)?);
    let (Source::Release { first_file, .. } | Source::Catalog { first_file, .. }) = source;
    let mut take = |edit: Edit| {
        books.count(&edit);
        match edit {
            Edit::Pair(mut pair) => {
                seen(&pair);
                pair.addresses_mut().for_each(|address| address.shift_file(*first_file));
                pairs.push(*pair)
            }
            Edit::Rejected(rejection) if job.strict => Err(EngineError::Strict(rejection)),
            Edit::Rejected(rejection) => rejections.push(&rejection),
        }
    };
    let (whole, label, name) = match source {
        Source::Release { open, reader, .. } => {
            let reader = reader.as_ref();
            let whole = read_edits(job, open, reader, partition, stop, &mut take)?;
            let name = reader.partitions().get(partition).cloned().unwrap_or_default();
            (whole, open.terms.label.clone(), name)
        }
        Source::Catalog { open, .. } => {
            let whole = take_edits(job, open, partition, stop, &mut take)?;
            let of = open.catalog.head().partitions.get(partition);
            let name = of.map(|of| of.name.clone()).unwrap_or_default();
            (whole, of.map(|of| open.label(&of.source)).unwrap_or_default(), name)
        }
    };
    if !whole {
        return Ok(None);
    }
    rejections.close()?;
    Ok(Some(Partition { source: label, name, pairs: pairs.close()?, books }))
}

/// Reads the edits of a partition, and says whether it came to its end: it stops where another
/// has failed.
pub(crate) fn read_edits(
    job: &IndexJob<'_>,
    open: &OpenSource,
    reader: &dyn Reader,
    partition: usize,
    stop: &AtomicBool,
    take: &mut dyn FnMut(Edit) -> Result<(), EngineError>,
) -> Result<bool, EngineError> {
    let within = |error: EngineError| {
        let name = reader.partitions().get(partition).map_or("", String::as_str);
        error.within(format!("cannot index {}/{name}", open.terms.label))
    };
    let mut read = || -> Result<Option<u64>, EngineError> {
        let mut edits = reader.read(partition).map_err(|e| within(e.into()))?;
        let mut count = 0;
        while let Some(edit) = edits.next().map_err(|e| within(e.into()))? {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            go_on(job.observer)?;
            count += 1;
            take(edit)?;
        }
        Ok(Some(count))
    };
    let read = read();
    // What the system failed to read is no damage, whatever the reader has made of it.
    let read = open.check_read().map_err(within).and(read);
    let read = read.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
    if let Some(edits) = read {
        job.observer.event(Event::Indexed { edits });
    }
    Ok(read.is_some())
}

/// Takes the edits of a catalog's partition, under the labels that its sources have here: the pairs,
/// then the rejections. Says whether it came to its end, as [`read_edits`] does.
pub(crate) fn take_edits(
    job: &IndexJob<'_>,
    open: &OpenCatalog,
    partition: usize,
    stop: &AtomicBool,
    take: &mut dyn FnMut(Edit) -> Result<(), EngineError>,
) -> Result<bool, EngineError> {
    let mut books = Books::default();
    let mut take = |edit: Edit| {
        books.count(&edit);
        take(edit)
    };
    let failed = |error| open.failed(error);
    let mut read = || -> Result<bool, EngineError> {
        take_rejections(job, open, partition, &mut take)?;
        for pair in open.catalog.pairs(partition, 0, u64::MAX).map_err(failed)? {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            go_on(job.observer)?;
            let mut pair = pair.map_err(failed)?;
            open.check_addresses(&mut pair).map_err(failed)?;
            take(Edit::Pair(Box::new(pair)))?;
        }
        Ok(true)
    };
    let whole = read().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
    if whole {
        let stated = open.catalog.head().partitions.get(partition).map(|of| &of.books);
        if stated != Some(&books) {
            stop.store(true, Ordering::Relaxed);
            let what = "its pairs and rejections are not those that the catalog states";
            let file = format!("{}/{}", open.path, pairs_file(partition));
            return Err(failed(damaged(&file, DamagedBy::Content(what.to_owned()))));
        }
        job.observer.event(Event::Indexed { edits: books.total().read });
    }
    Ok(whole)
}

/// Takes the rejections of a catalog's partition, under the labels that its sources have here.
pub(crate) fn take_rejections(
    job: &IndexJob<'_>,
    open: &OpenCatalog,
    partition: usize,
    take: &mut dyn FnMut(Edit) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let failed = |error| open.failed(error);
    for rejection in open.catalog.rejections(partition).map_err(failed)? {
        go_on(job.observer)?;
        let mut rejection = rejection.map_err(failed)?;
        rejection.at.source = open.label(&rejection.at.source);
        take(Edit::Rejected(Box::new(rejection)))?;
    }
    Ok(())
}

/// Takes those pairs of a file of chosen ones that are of a source.
pub(crate) fn take_chosen(
    job: &IndexJob<'_>,
    open: &OpenCatalog,
    file: usize,
    label: &str,
    take: &mut dyn FnMut(Edit) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let failed = |error| open.failed(error);
    for pair in open.catalog.pairs(file, 0, u64::MAX).map_err(failed)? {
        go_on(job.observer)?;
        let mut pair = pair.map_err(failed)?;
        open.check_addresses(&mut pair).map_err(failed)?;
        if open.label(open.catalog.label(&pair)) == label {
            take(Edit::Pair(Box::new(pair)))?;
        }
    }
    Ok(())
}

/// A file of rejections, made with the first.
pub(crate) struct RejectionLines<'a> {
    out: &'a LocalOutput,
    path: RelPath,
    file: Option<Box<dyn StagedFile>>,
}

impl<'a> RejectionLines<'a> {
    pub(crate) fn new(out: &'a LocalOutput, path: RelPath) -> Self {
        Self { out, path, file: None }
    }

    pub(crate) fn push(&mut self, rejection: &Rejection) -> Result<(), EngineError> {
        let mut line =
            serde_json::to_vec(rejection).map_err(|error| damaged(self.path.as_str(), error))?;
        line.push(b'\n');
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.out.stage(&self.path)?),
        };
        Ok(file.write(&line)?)
    }

    /// Ends the file, where there is one.
    pub(crate) fn close(self) -> Result<(), EngineError> {
        if let Some(file) = self.file {
            file.close()?;
        }
        Ok(())
    }
}

fn notices(
    sources: &[Source<'_>],
    tasks: &[Task<'_>],
    partitions: &[Partition],
    limit: usize,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    for source in sources {
        match source {
            Source::Catalog { open, .. } => notices.extend(open.notices()),
            Source::Release { open, reader, .. } => {
                let read = tasks.iter().zip(partitions);
                let of_source = read.filter(|(task, _)| std::ptr::eq(task.source, source));
                let mut tally = Tally::default();
                for (_, partition) in of_source {
                    tally.edits.push(partition.books.total().read);
                    tally.pairs.push(partition.pairs);
                }
                notices.extend(release_notices(open, reader.as_ref(), &tally, limit));
            }
        }
    }
    notices
}

/// What was noticed of a release, once it was read.
pub(crate) fn release_notices(
    open: &OpenSource,
    reader: &dyn Reader,
    tally: &Tally,
    limit: usize,
) -> Vec<Notice> {
    let label = &open.terms.label;
    let mut notices = oddities(open, limit).told(label);
    let mut of_reader = Notices::new(limit);
    of_reader.extend(reader.notices(tally));
    notices.extend(of_reader.told(label));
    notices
}

/// What was seen while listing a release that is no file to be read.
fn oddities(source: &OpenSource, limit: usize) -> Notices {
    let notice = |oddity: &diptych_storage::tree::Oddity| {
        let (kind, detail) = match oddity.kind {
            OddityKind::Unfinished => ("unfinished_download", "a download that was not ended"),
            OddityKind::BrokenLink => ("broken_link", "a link to something that is not there"),
            OddityKind::Repeated => ("repeated_folder", "a link to a folder that is read already"),
            OddityKind::Loop => ("folder_loop", "a folder within itself, through a link"),
            OddityKind::UnreadableFolder => ("unreadable_folder", "a folder that cannot be read"),
            OddityKind::TooDeep => ("folder_too_deep", "a folder too far down; not looked into"),
            OddityKind::OutsideLink => ("outside_link", "a link out of the release"),
            OddityKind::NotAFile => ("not_a_file", "a pipe, a socket or a device; not read"),
            _ => ("unreadable_name", "a name that no path here can have; not read"),
        };
        let at = Place { file: Some(oddity.name.clone()), ..source.place() };
        let to = oddity.to.as_ref().map(|to| format!(" to {}", printable(to.as_bytes())));
        let detail = format!("{detail}{}", to.unwrap_or_default());
        Notice { kind: kind.to_owned(), at, detail }
    };
    let mut notices = Notices::new(limit);
    notices.extend(source.tree.oddities().iter().map(notice));
    notices
}
