//! The steps of choosing, from what was read to the catalog of the chosen pairs.

use std::collections::BTreeMap;
use std::path::Path;

use diptych_format::Writer;
use diptych_schema::{SCHEMA_VERSION, Split};
use diptych_storage::output::{LocalOutput, WriteTree};

use super::compare::{Decisions, has_splits};
use super::draw::Taken;
use super::duplicates::DedupOn;
use super::pool::{Pool, Rejections};
use super::repeats::{Refused, rejections, repeats};
use super::report::{ListReport, SelectionReport};
use super::survey::{Needs, Rows, survey};
use super::write::{Chosen, Written};
use super::{Mix, MixBy, Selection, SelectionTerms, WHERE};
use crate::GENERATOR;
use crate::catalog::{
    CATALOG_VERSION, Catalog, HEAD, Head, SELECTED_REJECTIONS, Selected, rejections_file,
    rejections_in, write_files,
};
use crate::error::EngineError;
use crate::index::{IndexJob, RejectionLines, write_catalog};
use crate::input::{Input, all_probed};
use crate::observe::Observer;
use crate::plan::{LIMIT, PlanRow};
use crate::report::Books;
use crate::request::Request;
use crate::work::{self, READ, put_json};

/// Why a pair that could be taken is not, for the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// No condition holds for it.
    Where,
    /// The list has it not.
    Pairs,
    /// Its source picture is excluded.
    Excluded,
    /// Another pair is the same.
    Duplicate,
    /// Something of its session or group is gone.
    Whole,
    /// Others were drawn.
    NotDrawn,
    /// Enough came before it.
    Limit,
    /// It is a rejection, which the books have.
    Refused,
}

impl Reason {
    fn word(self) -> &'static str {
        match self {
            Self::Where => WHERE,
            Self::Pairs => "not_listed",
            Self::Excluded => "excluded",
            Self::Duplicate => "duplicate",
            Self::Whole => "whole",
            Self::NotDrawn => "not_drawn",
            Self::Limit => LIMIT,
            Self::Refused => "refused",
        }
    }
}

/// What pairs are chosen with.
pub(crate) struct Choosing<'a> {
    pub(crate) request: &'a Request,
    pub(crate) inputs: &'a [Input],
    /// What is excluded, opened.
    pub(crate) excluded: &'a [Input],
    pub(crate) terms: SelectionTerms,
    pub(crate) observer: &'a dyn Observer,
    /// What units will be written by, where they are planned next.
    pub(crate) writer: Option<&'a dyn Writer>,
}

/// Whether not all pairs are taken as they come, or come from where some were chosen before.
pub(crate) fn needs_choosing(terms: &SelectionTerms, inputs: &[Input]) -> bool {
    let chosen = |input: &Input| match input {
        Input::Release(_) => false,
        Input::Catalog(of) => of.catalog.head().selected.is_some(),
    };
    !terms.is_all() || inputs.iter().any(chosen)
}

/// Writes the catalog of the chosen pairs into the folder `at`, its head last, and gives what a plan
/// needs of those of each file, where one is to be made.
pub(crate) fn write_selected(
    job: &Choosing<'_>,
    out: &LocalOutput,
    at: &str,
) -> Result<Option<Vec<Vec<PlanRow>>>, EngineError> {
    let read = read_releases(job, job.inputs, out, READ)?;
    let pool = Pool::new(job.inputs, read.as_ref())?;
    let mut steps = Steps::begin(job, &pool, out)?;
    steps.choose()?;
    let rows = steps.write(at)?;
    drop(steps);
    // What was read is in it, as far as it was chosen.
    out.remove(&work::path(READ)?)?;
    Ok(rows)
}

/// The releases among `inputs` as a catalog in the folder `at`; `None` where there is none. What an
/// earlier process has read is taken.
pub(super) fn read_releases(
    job: &Choosing<'_>,
    inputs: &[Input],
    out: &LocalOutput,
    at: &str,
) -> Result<Option<Catalog>, EngineError> {
    let releases: Vec<&Input> =
        inputs.iter().filter(|input| matches!(input, Input::Release(_))).collect();
    if releases.is_empty() {
        return Ok(None);
    }
    let folder = work::path(at)?.under(out.root());
    if let Some(catalog) = Catalog::open(&folder)? {
        let now: Vec<_> = releases.iter().flat_map(|input| input.sources()).collect();
        if catalog.head().sources == now {
            return Ok(Some(catalog));
        }
    }
    out.remove(&work::path(at)?)?;
    let index = IndexJob {
        inputs: releases,
        limits: job.request.limits,
        probe: job.request.probe,
        jobs: job.request.jobs,
        enough: None,
        strict: job.request.strict,
        observer: job.observer,
    };
    write_catalog(&index, out, at)?;
    Catalog::open(&folder)
}

/// The pairs, and what has become of each so far.
pub(super) struct Steps<'a> {
    pub(super) job: &'a Choosing<'a>,
    pub(super) pool: &'a Pool<'a>,
    pub(super) out: &'a LocalOutput,
    pub(super) rows: Rows,
    fates: Vec<Option<Reason>>,
    refused: Vec<Refused>,
    /// The split of each row, where splits are decided.
    pub(super) splits: Option<Vec<Option<Split>>>,
    /// The place of each row in the list of pairs, where it is in one.
    pub(super) listed: Vec<u32>,
    pub(super) taken: Vec<Taken>,
    pub(super) report: SelectionReport,
    pub(super) decisions: Decisions,
}

impl<'a> Steps<'a> {
    fn begin(
        job: &'a Choosing<'a>,
        pool: &'a Pool<'a>,
        out: &'a LocalOutput,
    ) -> Result<Self, EngineError> {
        let Selection { whole, shuffle, dedup, mix, exclude, sample, .. } = &job.request.selection;
        let splits = job.request.selection.splits();
        let on = dedup.as_ref().map(|dedup| dedup.on);
        let needs = Needs {
            atoms: *whole || *shuffle || mix.is_some() || sample.is_some(),
            ties: splits || job.inputs.iter().any(has_splits),
            source: splits || !exclude.is_empty() || on.is_some_and(DedupOn::uses_source),
            target: on.is_some_and(DedupOn::uses_target),
            instruction: on.is_some_and(DedupOn::uses_instruction),
            repeats: mix.as_ref().is_some_and(|mix| mix.repeat),
            prefer: dedup.as_ref().and_then(|dedup| dedup.prefer.as_ref()),
            kind: mix.as_ref().and_then(|mix| match &mix.by {
                MixBy::Source => None,
                MixBy::Column(column) => Some(column),
            }),
        };
        let (request, observer) = (job.request, job.observer);
        let rows = survey(pool, Some(request), needs, observer, request.jobs)?;
        if let Some(pair_id) = &rows.again {
            return Err(EngineError::RepeatedBefore { pair_id: pair_id.clone() });
        }
        check_kinds(mix.as_ref(), &rows)?;
        let fates = vec![None; rows.len()];
        Ok(Self {
            job,
            pool,
            out,
            rows,
            fates,
            refused: Vec::new(),
            splits: None,
            listed: Vec::new(),
            taken: Vec::new(),
            report: SelectionReport::default(),
            decisions: Decisions::default(),
        })
    }

    pub(super) fn asked(&self) -> &'a Selection {
        &self.job.request.selection
    }

    /// The rows that are still to be taken, in their order.
    pub(super) fn kept(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(&self.fates).filter(|(_, fate)| fate.is_none()).map(|(row, _)| row)
    }

    /// Drops a row, unless it was dropped before.
    pub(super) fn drop_row(&mut self, row: u32, reason: Reason) {
        if let Some(fate @ None) = self.fates.get_mut(row as usize) {
            *fate = Some(reason);
        }
    }

    pub(super) fn refuse(&mut self, refused: Refused) {
        self.drop_row(refused.row, Reason::Refused);
        self.refused.push(refused);
    }

    fn choose(&mut self) -> Result<(), EngineError> {
        for refused in repeats(self.pool, &self.rows)? {
            self.refuse(refused);
        }
        if let Some(pairs) = &self.asked().pairs {
            self.take_listed(pairs)?;
        }
        self.compare_pictures()?;
        if self.asked().whole {
            self.drop_broken();
        }
        self.draw();
        self.order();
        if let Some(limit) = self.job.request.limit {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            for taken in self.taken.split_off(limit.min(self.taken.len())) {
                if taken.copy == 0 {
                    self.drop_row(taken.row, Reason::Limit);
                }
            }
        }
        Ok(())
    }

    /// Drops what the list has not.
    fn take_listed(&mut self, path: &Path) -> Result<(), EngineError> {
        let list = super::lists::pair_ids(path)?;
        let mut places: BTreeMap<u128, u32> = BTreeMap::new();
        for (place, id) in (0_u32..).zip(&list.ids) {
            places.insert(crate::plan::id_digest(id), place);
        }
        let mut found = vec![false; list.ids.len()];
        let kept: Vec<u32> = self.kept().collect();
        self.listed = vec![u32::MAX; self.rows.len()];
        for row in kept {
            let id = self.rows.id.get(row as usize).copied().unwrap_or_default();
            match places.get(&id) {
                Some(place) => {
                    if let Some(found) = found.get_mut(*place as usize) {
                        *found = true;
                    }
                    if let Some(listed) = self.listed.get_mut(row as usize) {
                        *listed = *place;
                    }
                }
                None => self.drop_row(row, Reason::Pairs),
            }
        }
        let missing = || list.ids.iter().zip(&found).filter(|(_, found)| !**found);
        self.report.list = Some(ListReport {
            listed: list.ids.len() as u64,
            repeated: list.repeated,
            not_found: missing().count() as u64,
            first_not_found: missing().take(20).map(|(id, _)| id.clone()).collect(),
        });
        Ok(())
    }

    /// Drops sessions and groups of which something is gone already.
    fn drop_broken(&mut self) {
        let mut broken = std::mem::take(&mut self.rows.broken);
        let ties = |rows: &Rows, row: u32| {
            let of = |digests: &[u128]| digests.get(row as usize).copied().unwrap_or_default();
            [of(&rows.session), of(&rows.group)].into_iter().filter(|digest| *digest != 0)
        };
        // A pair that goes with its session takes its group with it, and so on.
        for (row, fate) in (0_u32..).zip(&self.fates) {
            if fate.is_some_and(|reason| reason != Reason::Refused) {
                broken.extend(ties(&self.rows, row));
            }
        }
        loop {
            let goes = |row: &u32| ties(&self.rows, *row).any(|tie| broken.contains(&tie));
            let gone: Vec<u32> = self.kept().filter(goes).collect();
            if gone.is_empty() {
                return;
            }
            for row in gone {
                broken.extend(ties(&self.rows, row));
                self.drop_row(row, Reason::Whole);
            }
        }
    }

    /// Writes what was chosen.
    fn write(&mut self, at: &str) -> Result<Option<Vec<Vec<PlanRow>>>, EngineError> {
        let (job, pool, out) = (self.job, self.pool, self.out);
        self.refused.sort_by_key(|of| of.row);
        write_files(out, at, &pool.files)?;
        let chosen = Chosen {
            pool,
            rows: &self.rows,
            taken: &self.taken,
            splits: self.splits.as_deref(),
            observer: job.observer,
            jobs: job.request.jobs,
            writer: job.writer.map(|writer| (writer, job.request.to.as_str())),
        };
        let written = chosen.write(out, at)?;
        self.count_splits();
        let (ids, rows): (Vec<_>, Vec<_>) =
            written.into_iter().map(|Written { ids, rows }| (ids, rows)).unzip();
        self.write_decisions(at, &ids)?;
        let mut books = self.books();
        let mut lines =
            RejectionLines::new(out, work::path(&format!("{at}/{SELECTED_REJECTIONS}"))?);
        // Those of an earlier choice first.
        for earlier in Pool::chosen_before(job.inputs) {
            copy_rejections(job, earlier, &mut lines)?;
        }
        rejections(pool, &self.rows, &self.refused, &mut |rejection| {
            if job.request.strict {
                return Err(EngineError::Strict(Box::new(rejection)));
            }
            books.reject(&rejection);
            lines.push(&rejection)
        })?;
        lines.close()?;
        let mut partitions = Vec::with_capacity(pool.partitions.len());
        for (number, (partition, of)) in pool.partitions.iter().enumerate() {
            let path = work::path(&format!("{at}/{}", rejections_file(number)))?;
            let mut lines = RejectionLines::new(out, path);
            let copied = copy_rejections(job, *of, &mut lines)?;
            if copied != partition.books.total().rejections() {
                return Err(of.other_rejections());
            }
            lines.close()?;
            partitions.push(partition.clone());
        }
        books.add(&pool.earlier);
        let head = Head {
            catalog_version: CATALOG_VERSION,
            schema_version: SCHEMA_VERSION,
            generator: GENERATOR.to_owned(),
            probe: all_probed(job.inputs, job.request.probe),
            limit: None,
            limits: job.request.limits.changed(),
            sources: pool.sources.clone(),
            partitions,
            notices: pool.notices.clone(),
            selected: Some(Selected {
                terms: job.terms.clone(),
                files: ids.iter().map(|ids| ids.len() as u64).collect(),
                books: books.without_nothing(),
                report: std::mem::take(&mut self.report),
            }),
        };
        put_json(out, &format!("{at}/{HEAD}"), &head)?;
        Ok(rows.into_iter().collect::<Option<Vec<_>>>().filter(|_| job.writer.is_some()))
    }

    /// How many pairs that are taken each split has.
    fn count_splits(&mut self) {
        let (Some(splits), Some(report)) = (&self.splits, &mut self.report.splits) else { return };
        report.pairs.clear();
        for taken in &self.taken {
            let split = splits.get(taken.row as usize).copied().flatten();
            let word = split.map_or("none", Split::word);
            *report.pairs.entry(word.to_owned()).or_default() += 1;
        }
    }

    /// What was not taken, and what was taken again.
    fn books(&self) -> Books {
        let mut books = Books::default();
        let mut of = |number: u32, count: &mut dyn FnMut(&mut crate::report::Book)| {
            if let Some((dataset, subset)) = self.rows.books.names.get(number as usize) {
                count(books.of(dataset, subset.as_deref()));
            }
        };
        for (number, unmet) in &self.rows.unmet {
            of(*number, &mut |book| {
                *book.filtered.entry(Reason::Where.word().to_owned()).or_default() += unmet;
            });
        }
        for (number, fate) in self.rows.book.iter().zip(&self.fates) {
            let Some(reason) = fate.filter(|reason| *reason != Reason::Refused) else { continue };
            of(*number, &mut |book| {
                *book.filtered.entry(reason.word().to_owned()).or_default() += 1;
            });
        }
        for taken in self.taken.iter().filter(|taken| taken.copy > 0) {
            let number = self.rows.book.get(taken.row as usize).copied().unwrap_or(u32::MAX);
            of(number, &mut |book| book.repeated += 1);
        }
        books
    }
}

/// Refuses to draw by kinds of which there are no pairs at all, before pictures are looked at.
fn check_kinds(mix: Option<&Mix>, rows: &Rows) -> Result<(), EngineError> {
    let Some(Mix { by: MixBy::Column(_), shares, .. }) = mix else { return Ok(()) };
    let there = &rows.kinds.names;
    let missing = shares.iter().filter(|(kind, share)| *share > 0.0 && !there.contains(kind));
    let asked: Vec<String> = missing.map(|(kind, _)| kind.clone()).collect();
    if there.is_empty() || asked.is_empty() {
        return Ok(());
    }
    Err(EngineError::NoKind { asked, there: there.iter().take(SOME).cloned().collect() })
}

/// Kinds that a message tells.
const SOME: usize = 20;

/// Copies the rejections of a partition, under the labels that its sources have here, and says how
/// many there are.
fn copy_rejections(
    job: &Choosing<'_>,
    of: Rejections<'_>,
    to: &mut RejectionLines<'_>,
) -> Result<u64, EngineError> {
    let path = match of.partition {
        Some(partition) => of.catalog.root().join(rejections_file(partition)),
        None => of.catalog.selected_rejections(),
    };
    let failed = |error| match of.given {
        Some(given) => given.failed(error),
        None => error,
    };
    let mut count = 0;
    for rejection in rejections_in(&path).map_err(failed)? {
        let mut rejection = rejection.map_err(failed)?;
        if let Some(given) = of.given {
            rejection.at.source = given.label(&rejection.at.source);
        }
        if job.request.strict {
            return Err(EngineError::Strict(Box::new(rejection)));
        }
        count += 1;
        to.push(&rejection)?;
    }
    Ok(count)
}
