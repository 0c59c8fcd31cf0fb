//! The steps in one process, begun again where they were left.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use diptych_format::options::Assignment;
use diptych_format::writer::MaskNeeds;
use diptych_format::{About, Format, MaskMeaning, Options, Used, Writer};
use diptych_schema::MaskOrigin;
use diptych_storage::output::{LocalOutput, WriteTree, free_space};

use crate::GENERATOR;
use crate::catalog::{Catalog, CatalogSource, HEAD};
use crate::error::EngineError;
use crate::finish::{finish, publish_all};
use crate::index::{IndexJob, write_catalog};
use crate::input::{
    Input, OTHER_FILES, all_probed, check_limits, check_options, check_releases, open_inputs,
};
use crate::inspect::{Inspection, inspect, inspect_catalog};
use crate::observe::{Event, Observer, go_on};
use crate::output::{Begun, check_output, finished_but_unclean, lock, worker_lock};
use crate::plan::{Plan, PlanRow, write_plan};
use crate::replace::{mark_replaced, remove_begun, remove_replaced, remove_staging};
use crate::report::{Book, Report};
use crate::request::{MaskGrid, OriginWord, Request, Terms, changed_parameters};
use crate::run::{UnitJob, run_units};
use crate::select::{self, Choosing, SelectionReport, SelectionTerms};
use crate::source::{Sources, format_named, values, what_changed};
use crate::work::{self, CATALOG, EXCLUDED, PLAN, READ, REPLACES, TERMS, WORK, get_json, put_json};

/// The engine over a list of formats.
#[derive(Clone, Copy)]
pub struct Engine {
    formats: &'static [&'static dyn Format],
}

/// A finished output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its report.
    pub report: Report,
}

/// What a conversion would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// The plan.
    pub plan: Plan,
    /// How pairs were chosen, where not all are taken as they come.
    pub selection: Option<SelectionReport>,
    /// Bytes that are free where the output would lie; `None` where the system does not say.
    pub free: Option<u64>,
}

/// A catalog that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// What was read.
    pub total: Book,
    /// Its pairs.
    pub pairs: u64,
    /// Its partitions.
    pub partitions: usize,
}

/// A share of a planned output to be run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The output folder.
    pub out: PathBuf,
    /// First and last unit; all where this is `None`.
    pub units: Option<(u32, u32)>,
    /// Releases that lie elsewhere than where they were indexed: label and folder.
    pub roots: Vec<(String, PathBuf)>,
    /// Threads.
    pub jobs: NonZeroUsize,
    /// Whether files are on the disk before they count.
    pub durable: bool,
}

impl Engine {
    /// An engine that knows these formats.
    #[must_use]
    pub fn new(formats: &'static [&'static dyn Format]) -> Self {
        Self { formats }
    }

    /// Converts: plans, runs every unit and finishes. An output that was begun with the same
    /// request and from the same releases is gone on with.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn convert(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Outcome, EngineError> {
        let prepared = self.prepare(request, observer)?;
        if let Some(report) = finished_but_unclean(&request.out, Some(&prepared.terms))? {
            return Ok(Outcome { report });
        }
        check_releases(request, &prepared.opened.inputs)?;
        let (begun, plan) = begin(request, prepared, observer)?;
        let all: Vec<u32> = (0..unit_count(&plan)).collect();
        let catalog = open_catalog(&begun.out)?;
        let sources = Sources::new(&catalog, &request.roots, request.limits)?;
        let job = UnitJob {
            out: &begun.out,
            catalog: &catalog,
            plan: &plan,
            writer: begun.writer.as_ref(),
            datasets: &plan.datasets(),
            sources: &sources,
            limits: request.limits,
            observer,
        };
        remove_staging(&begun.out)?;
        run_units(&job, &all, request.jobs).or_else(|error| begun.give_up(error))?;
        go_on(observer)?;
        observer.event(Event::Finishing);
        let report = finish(&begun.out, &catalog, &plan, begun.writer.as_ref(), self.formats)?;
        Ok(Outcome { report })
    }

    /// Plans only: catalog and plan lie in the output's working folder, for
    /// [`run`](Self::run) and [`finish`](Self::finish).
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn plan(&self, request: &Request, observer: &dyn Observer) -> Result<Plan, EngineError> {
        begin(request, self.prepare(request, observer)?, observer).map(|(_, plan)| plan)
    }

    /// Runs units of a planned output, in any process, also while others run units of it.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn run(&self, request: &RunRequest, observer: &dyn Observer) -> Result<(), EngineError> {
        let out = LocalOutput::new(&request.out, request.durable);
        if !out.exists(&work::path(PLAN)?)? {
            return Err(no_plan(&out));
        }
        let _lock = worker_lock(&out)?;
        // What is there now stays for as long as the lock is held.
        let plan = load_plan(&out)?;
        let writer = self.writer_of(&plan.terms)?;
        let catalog = open_catalog(&out)?;
        let limits = plan.terms.limits()?;
        let sources = Sources::new(&catalog, &request.roots, limits)?;
        let count = unit_count(&plan);
        let (first, last) = request.units.unwrap_or((0, count.saturating_sub(1)));
        if request.units.is_some() && last >= count {
            return Err(EngineError::NoUnit { asked: last, units: plan.units.len() });
        }
        let units: Vec<u32> = (first..=last).filter(|unit| *unit < count).collect();
        let job = UnitJob {
            out: &out,
            catalog: &catalog,
            plan: &plan,
            writer: writer.as_ref(),
            datasets: &plan.datasets(),
            sources: &sources,
            limits,
            observer,
        };
        run_units(&job, &units, request.jobs)
    }

    /// Finishes an output whose units are all done.
    ///
    /// # Errors
    /// [`EngineError::Unfinished`] where units are not done; see [`EngineError`].
    pub fn finish(
        &self,
        out: &Path,
        durable: bool,
        observer: &dyn Observer,
    ) -> Result<Outcome, EngineError> {
        if let Some(report) = finished_but_unclean(out, None)? {
            return Ok(Outcome { report });
        }
        let out = LocalOutput::new(out, durable);
        let plan = load_plan(&out)?;
        check_output(out.root(), &[], false)?;
        let _lock = lock(&out)?;
        let writer = self.writer_of(&plan.terms)?;
        observer.event(Event::Finishing);
        let report = finish(&out, &open_catalog(&out)?, &plan, writer.as_ref(), self.formats)?;
        Ok(Outcome { report })
    }

    /// What a conversion would do. The output folder is not touched.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn dry_run(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<DryRun, EngineError> {
        let prepared = self.prepare(request, observer)?;
        check_output(&request.out, &prepared.opened.places(request), request.overwrite)?;
        check_releases(request, &prepared.opened.inputs)?;
        let scratch = tempfile::tempdir().map_err(|source| {
            let path = std::env::temp_dir().display().to_string();
            let action = "make a folder in";
            EngineError::Output(diptych_storage::output::OutputError::Write {
                action,
                path,
                source,
            })
        })?;
        let free = free_space(&request.out);
        let request =
            Request { durable: false, out: scratch.path().to_path_buf(), ..request.clone() };
        let (begun, plan) = begin(&request, prepared, observer)?;
        let selection = open_catalog(&begun.out)?.head().selected.clone().map(|of| of.report);
        Ok(DryRun { plan, selection, free })
    }

    /// Writes a catalog of the releases, or joins catalogs of some. What the request says of an output's format and files
    /// is not looked at.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn index(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Indexed, EngineError> {
        let opened = self.open(request, observer)?;
        let inputs = &opened.inputs;
        check_options(request, inputs, None)?;
        check_limits(request, inputs)?;
        let out = LocalOutput::new(&request.out, request.durable);
        if let Some(catalog) = unclean_catalog(&out, request, &opened)? {
            out.remove(&work::path(WORK)?)?;
            return Ok(Indexed::of(&catalog));
        }
        check_output(&request.out, &opened.places(request), request.overwrite)?;
        if out.exists(&work::path(TERMS)?)? && !request.overwrite {
            // A conversion was begun here, and may be gone on with.
            return Err(EngineError::NotEmpty { path: request.out.display().to_string() });
        }
        let begun = Begun::at(out)?;
        if request.overwrite {
            mark_replaced(&begun.out)?;
        }
        // All is read anew. What was moved to its place already would be left where this fails.
        remove_begun(&begun.out)?;
        let made = make_catalog(request, &opened, None, observer, &begun.out);
        if let Err(error) = made {
            begun.leave_nothing()?;
            return Err(error);
        }
        remove_replaced(&begun.out)?;
        publish_all(&begun.out, CATALOG, HEAD)?;
        // Where this fails it is ended by the next process.
        let catalog = Catalog::open(begun.out.root())?.ok_or_else(|| no_plan(&begun.out))?;
        begun.out.remove(&work::path(WORK)?)?;
        Ok(Indexed::of(&catalog))
    }

    /// Says what a release is, how complete, and what is in it. Nothing is written; the request
    /// says which release it is, how it is read and with how many threads.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn inspect(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Vec<Inspection>, EngineError> {
        let opened = self.open(request, observer)?;
        let inputs = &opened.inputs;
        check_options(request, inputs, None)?;
        let job = index_job(request, inputs, observer);
        let mut found = Vec::with_capacity(inputs.len());
        for (input, source) in inputs.iter().zip(&request.sources) {
            let conditions: Vec<_> =
                source.condition.iter().chain(&request.selection.condition).collect();
            match input {
                Input::Release(of) => found.push(inspect(&job, of, &conditions)?),
                Input::Catalog(of) => found.extend(inspect_catalog(&job, of, &conditions)?),
            }
        }
        Ok(found)
    }

    fn open(&self, request: &Request, observer: &dyn Observer) -> Result<Opened, EngineError> {
        let Request { sources, selection, .. } = request;
        let inputs = open_inputs(self.formats, request, sources, observer)?;
        let excluded = open_inputs(self.formats, request, &selection.exclude, observer)?;
        let selection = select::check_asked(request, &inputs, &excluded)?;
        Ok(Opened { inputs, excluded, selection })
    }

    fn writer_of(&self, terms: &Terms) -> Result<Box<dyn Writer>, EngineError> {
        let format = format_named(self.formats, &terms.to, "written")?;
        let about = format.about();
        let given: Vec<_> = terms
            .options
            .iter()
            .map(|(key, value)| Assignment {
                format: terms.to.clone(),
                key: key.clone(),
                value: value.clone(),
            })
            .collect();
        let options = Options::new(about.name, about.options, &given, Used::Writing)?;
        Ok(format.open_writer(&options)?)
    }

    /// What a request comes to, before anything is written.
    fn prepare(&self, request: &Request, observer: &dyn Observer) -> Result<Prepared, EngineError> {
        let format = format_named(self.formats, &request.to, "written")?;
        let about = format.about();
        let options = Options::new(about.name, about.options, &request.options, Used::Writing)?;
        let writer = format.open_writer(&options)?;
        let opened = self.open(request, observer)?;
        let inputs = &opened.inputs;
        check_options(request, inputs, Some(about))?;
        check_limits(request, inputs)?;
        let sources: Vec<_> = inputs.iter().flat_map(Input::sources).collect();
        let needs = writer.mask_needs();
        let terms = Terms {
            generator: GENERATOR.to_owned(),
            sources: sources.into_iter().map(|source| source.terms).collect(),
            to: request.to.clone(),
            options: values(&options),
            limit: request.limit,
            shard_size: request.shard_size,
            strict: request.strict,
            probe: all_probed(inputs, request.probe),
            mask_grid_asked: request.mask_grid.is_some(),
            mask_grid: request.mask_grid.unwrap_or(match needs.on_source {
                true => MaskGrid::Source,
                false => MaskGrid::AsReleased,
            }),
            mask_from: inputs
                .iter()
                .flat_map(Input::formats)
                .map(|(label, about)| (label.to_owned(), mask_from(request, about, needs)))
                .filter(|(_, from)| *from != [OriginWord(MaskOrigin::Release)])
                .collect(),
            difference: changed_parameters(&request.difference),
            limits: request.limits.changed(),
            selection: opened.selection.clone(),
        };
        Ok(Prepared { writer, opened, terms })
    }
}

impl Indexed {
    fn of(catalog: &Catalog) -> Self {
        Self {
            total: catalog.books().total(),
            pairs: catalog.pair_count(),
            partitions: catalog.head().partitions.len(),
        }
    }
}

/// What the masks of a source are made from: what the user says, else the release's own; before
/// it what changed, where the writer needs to know and the release does not say.
fn mask_from(request: &Request, about: &About, needs: MaskNeeds) -> Vec<OriginWord> {
    let from = match &request.mask_from {
        Some(from) => from.as_slice(),
        None if needs.of_changes && about.masks == MaskMeaning::Asked => {
            &[MaskOrigin::Difference, MaskOrigin::Release]
        }
        None => &[MaskOrigin::Release],
    };
    from.iter().copied().map(OriginWord).collect()
}

struct Prepared {
    writer: Box<dyn Writer>,
    opened: Opened,
    terms: Terms,
}

/// What is read.
struct Opened {
    inputs: Vec<Input>,
    excluded: Vec<Input>,
    selection: SelectionTerms,
}

impl Opened {
    /// The folders that are read: those that were given, and those that catalogs are of.
    fn places(&self, request: &Request) -> Vec<PathBuf> {
        let given = request.sources.iter().chain(&request.selection.exclude);
        let given = given.map(|source| source.path.clone());
        let of_catalogs = self.inputs.iter().chain(&self.excluded).flat_map(|input| match input {
            Input::Release(_) => Vec::new(),
            Input::Catalog(of) => of.sources.iter().map(|source| source.root.clone()).collect(),
        });
        let moved = request.roots.iter().map(|(_, root)| root.clone());
        given.chain(of_catalogs).chain(moved).collect()
    }
}

/// Everything up to a plan: made, or found as an earlier process left it.
fn begin(
    request: &Request,
    prepared: Prepared,
    observer: &dyn Observer,
) -> Result<(Begun<Box<dyn Writer>>, Plan), EngineError> {
    let Prepared { writer, opened, terms } = prepared;
    check_output(&request.out, &opened.places(request), request.overwrite)?;
    let out = LocalOutput::new(&request.out, request.durable);
    let begun = Begun::at(out)?.with(writer);
    if request.overwrite {
        mark_replaced(&begun.out)?;
        if !is_begun(&begun.out, &terms, &opened.inputs)? {
            remove_begun(&begun.out)?;
        }
    }
    match get_json::<Terms>(&begun.out, TERMS)? {
        None => {
            // Whatever lies here was not begun by a conversion, or not far enough to count.
            for left in [CATALOG, PLAN, READ, EXCLUDED] {
                begun.out.remove(&work::path(left)?)?;
            }
            put_json(&begun.out, TERMS, &terms)?;
        }
        Some(earlier) if earlier != terms => {
            let path = request.out.display().to_string();
            let differences = terms.differences(&earlier);
            return Err(EngineError::OtherRequest { path, differences });
        }
        Some(_) => {}
    }
    let plan = plan_or_load(request, &opened, terms, &begun, observer);
    let plan = plan.or_else(|error| begun.give_up(error))?;
    Ok((begun, plan))
}

/// Whether what is there was begun by this request, from the releases as they are now.
fn is_begun(out: &LocalOutput, terms: &Terms, inputs: &[Input]) -> Result<bool, EngineError> {
    let same_terms = get_json::<Terms>(out, TERMS)?.is_some_and(|earlier| earlier == *terms);
    let catalog = || Catalog::open(&work::path(CATALOG)?.under(out.root()));
    Ok(same_terms && catalog()?.is_none_or(|catalog| unchanged(&catalog, inputs).is_ok()))
}

fn plan_or_load(
    request: &Request,
    opened: &Opened,
    terms: Terms,
    begun: &Begun<Box<dyn Writer>>,
    observer: &dyn Observer,
) -> Result<Plan, EngineError> {
    let out = &begun.out;
    let folder = work::path(CATALOG)?.under(out.root());
    let mut chosen = None;
    let catalog = match Catalog::open(&folder)? {
        Some(catalog) => {
            unchanged(&catalog, &opened.inputs)?;
            catalog
        }
        None => {
            out.remove(&work::path(CATALOG)?)?;
            let writer = Some(begun.writer.as_ref());
            chosen = make_catalog(request, opened, writer, observer, out)?;
            open_catalog(out)?
        }
    };
    match Plan::load(out)? {
        Some(plan) => Ok(plan),
        None => {
            let (writer, jobs) = (begun.writer.as_ref(), request.jobs);
            write_plan(&catalog, chosen, terms, writer, jobs, observer, out)
        }
    }
}

/// Writes the catalog that units are planned from, or that is asked for itself, and gives what a plan
/// needs of its pairs where that is known already.
fn make_catalog(
    request: &Request,
    opened: &Opened,
    writer: Option<&dyn Writer>,
    observer: &dyn Observer,
    out: &LocalOutput,
) -> Result<Option<Vec<Vec<PlanRow>>>, EngineError> {
    let Opened { inputs, excluded, selection } = opened;
    if !select::needs_choosing(selection, inputs) {
        write_catalog(&index_job(request, inputs, observer), out, CATALOG)?;
        return Ok(None);
    }
    let job = Choosing { request, inputs, excluded, terms: selection.clone(), observer, writer };
    select::write_selected(&job, out, CATALOG)
}

/// A catalog of this request that is whole, where the process that made it did not come to
/// removing its working folder.
fn unclean_catalog(
    out: &LocalOutput,
    request: &Request,
    opened: &Opened,
) -> Result<Option<Catalog>, EngineError> {
    let others = [TERMS, REPLACES].map(work::path);
    for other in others {
        if out.exists(&other?)? {
            return Ok(None);
        }
    }
    if !out.exists(&work::path(WORK)?)? {
        return Ok(None);
    }
    let same = |catalog: &Catalog| {
        let head = catalog.head();
        let sources: Vec<_> = opened.inputs.iter().flat_map(Input::sources).collect();
        let selected = head.selected.as_ref().map(|selected| &selected.terms);
        let same = |was: &CatalogSource, is: &CatalogSource| {
            was.terms == is.terms && was.listing == is.listing
        };
        head.sources.len() == sources.len()
            && head.sources.iter().zip(&sources).all(|(was, is)| same(was, is))
            && head.probe == all_probed(&opened.inputs, request.probe)
            && selected.cloned().unwrap_or_default() == opened.selection
            && head.limit == request.limit.filter(|_| selected.is_none())
            && head.limits == request.limits.changed()
    };
    Ok(Catalog::open(out.root())?.filter(same))
}

fn index_job<'a>(
    request: &Request,
    inputs: &'a [Input],
    observer: &'a dyn Observer,
) -> IndexJob<'a> {
    IndexJob {
        inputs: inputs.iter().collect(),
        limits: request.limits,
        probe: request.probe,
        jobs: request.jobs,
        enough: request.limit,
        strict: request.strict,
        observer,
    }
}

fn unit_count(plan: &Plan) -> u32 {
    u32::try_from(plan.units.len()).unwrap_or(u32::MAX)
}

fn no_plan(out: &LocalOutput) -> EngineError {
    EngineError::NoPlan { path: out.root().display().to_string() }
}

fn load_plan(out: &LocalOutput) -> Result<Plan, EngineError> {
    Plan::load(out)?.ok_or_else(|| no_plan(out))
}

fn open_catalog(out: &LocalOutput) -> Result<Catalog, EngineError> {
    Catalog::open(&work::path(CATALOG)?.under(out.root()))?.ok_or_else(|| no_plan(out))
}

/// Refuses to go on with a catalog of releases that are no longer what they were.
fn unchanged(catalog: &Catalog, inputs: &[Input]) -> Result<(), EngineError> {
    let now = inputs.iter().flat_map(|input| {
        let tree = match input {
            Input::Release(of) => Some(of.tree.as_ref()),
            Input::Catalog(_) => None,
        };
        input.sources().into_iter().map(move |source| (source, tree))
    });
    for (was, (is, tree)) in catalog.head().sources.iter().zip(now) {
        if was.listing != is.listing {
            let label = was.terms.label.clone();
            let files = catalog.files().iter().filter(|file| file.source == label);
            let what = match tree {
                Some(tree) => what_changed(files, tree, true),
                None => Some("its catalog was made anew".to_owned()),
            };
            let what = what.unwrap_or_else(|| OTHER_FILES.to_owned());
            return Err(EngineError::Changed { label, what });
        }
    }
    Ok(())
}
