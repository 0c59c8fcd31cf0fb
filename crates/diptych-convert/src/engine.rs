//! The steps in one process, begun again where they were left.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use diptych_format::options::Assignment;
use diptych_format::writer::MaskNeeds;
use diptych_format::{About, Format, MaskMeaning, Options, Probe, Used, Writer};
use diptych_schema::MaskOrigin;
use diptych_storage::Limits;
use diptych_storage::output::{LocalOutput, WriteTree, free_space};

use crate::GENERATOR;
use crate::catalog::{Catalog, HEAD};
use crate::error::EngineError;
use crate::finish::{finish, publish_all};
use crate::index::{IndexJob, write_catalog};
use crate::inspect::{Inspection, inspect};
use crate::observe::{Event, Observer};
use crate::output::{Begun, check_output, finished_but_unclean, lock};
use crate::plan::{Plan, write_plan};
use crate::report::{Book, Books, Report};
use crate::request::{MaskGrid, OriginWord, Request, Terms, changed_parameters};
use crate::run::{UnitJob, run_units};
use crate::source::{OpenSource, Sources, format_named, open_sources, values, what_changed};
use crate::work::{self, CATALOG, PLAN, TERMS, WORK, get_json, put_json};

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
    /// How much a release may ask of us.
    pub limits: Limits,
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
        let (begun, plan) = begin(request, prepared, observer)?;
        let all: Vec<u32> = (0..unit_count(&plan)).collect();
        let catalog = open_catalog(&begun.out)?;
        let sources = Sources::new(&catalog, &[], request.limits)?;
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
        run_units(&job, &all, request.jobs).or_else(|error| begun.give_up(error))?;
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
        let plan = load_plan(&out)?;
        let writer = self.writer_of(&plan.terms)?;
        let catalog = open_catalog(&out)?;
        let sources = Sources::new(&catalog, &request.roots, request.limits)?;
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
            limits: request.limits,
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
        check_output(&request.out, &request.sources)?;
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
        let (_, plan) = begin(&request, self.prepare(&request, observer)?, observer)?;
        Ok(DryRun { plan, free })
    }

    /// Writes a catalog of the releases. What the request says of an output's format and files
    /// is not looked at.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn index(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Indexed, EngineError> {
        let sources = self.open(request, observer)?;
        check_options(&request.options, &sources, None)?;
        let out = LocalOutput::new(&request.out, request.durable);
        if let Some(catalog) = unclean_catalog(&out, request, &sources)? {
            out.remove(&work::path(WORK)?)?;
            return Ok(Indexed::of(&catalog));
        }
        check_output(&request.out, &request.sources)?;
        if out.exists(&work::path(TERMS)?) {
            // A conversion was begun here, and may be gone on with.
            return Err(EngineError::NotEmpty { path: request.out.display().to_string() });
        }
        let begun = Begun::at(out)?;
        begun.out.remove(&work::path(CATALOG)?)?;
        let made = write_catalog(&index_job(request, &sources, observer), &begun.out, CATALOG);
        if let Err(error) = made {
            begun.leave_nothing()?;
            return Err(error);
        }
        publish_all(&begun.out, CATALOG, HEAD)?;
        begun.out.remove(&work::path(WORK)?)?;
        let none = || EngineError::NoPlan { path: request.out.display().to_string() };
        Ok(Indexed::of(&Catalog::open(begun.out.root())?.ok_or_else(none)?))
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
        let sources = self.open(request, observer)?;
        check_options(&request.options, &sources, None)?;
        let job = index_job(request, &sources, observer);
        sources.iter().map(|source| inspect(&job, source)).collect()
    }

    fn open(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Vec<OpenSource>, EngineError> {
        let Request { sources, options, limits, .. } = request;
        open_sources(self.formats, sources, options, limits, observer)
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
        let sources = self.open(request, observer)?;
        check_options(&request.options, &sources, Some(about))?;
        let needs = writer.mask_needs();
        let terms = Terms {
            generator: GENERATOR.to_owned(),
            sources: sources.iter().map(|source| source.terms.clone()).collect(),
            to: request.to.clone(),
            options: values(&options),
            limit: request.limit,
            shard_size: request.shard_size,
            strict: request.strict,
            probe: request.probe == Probe::Header,
            mask_grid_asked: request.mask_grid.is_some(),
            mask_grid: request.mask_grid.unwrap_or(match needs.on_source {
                true => MaskGrid::Source,
                false => MaskGrid::AsReleased,
            }),
            mask_from: sources
                .iter()
                .map(|source| (source.terms.label.clone(), mask_from(request, source, needs)))
                .filter(|(_, from)| *from != [OriginWord(MaskOrigin::Release)])
                .collect(),
            difference: changed_parameters(&request.difference),
        };
        Ok(Prepared { writer, sources, terms })
    }
}

impl Indexed {
    fn of(catalog: &Catalog) -> Self {
        let partitions = &catalog.head().partitions;
        let mut total = Books::default();
        partitions.iter().for_each(|partition| total.add(&partition.books));
        Self {
            total: total.total(),
            pairs: partitions.iter().map(|partition| partition.pairs).sum(),
            partitions: partitions.len(),
        }
    }
}

/// What the masks of a source are made from: what the user says, else the release's own; before
/// it what changed, where the writer needs to know and the release does not say.
fn mask_from(request: &Request, source: &OpenSource, needs: MaskNeeds) -> Vec<OriginWord> {
    let from = match &request.mask_from {
        Some(from) => from.as_slice(),
        None if needs.of_changes && source.about().masks == MaskMeaning::Asked => {
            &[MaskOrigin::Difference, MaskOrigin::Release]
        }
        None => &[MaskOrigin::Release],
    };
    from.iter().copied().map(OriginWord).collect()
}

struct Prepared {
    writer: Box<dyn Writer>,
    sources: Vec<OpenSource>,
    terms: Terms,
}

/// Refuses options that take no part, which would be ignored in silence.
fn check_options(
    options: &[Assignment],
    sources: &[OpenSource],
    to: Option<&About>,
) -> Result<(), EngineError> {
    let has = |about: &About, option: &Assignment, used| {
        about.name == option.format
            && about.options.iter().any(|spec| spec.key == option.key && spec.used == used)
    };
    let takes_part = |option: &Assignment| {
        to.is_some_and(|to| has(to, option, Used::Writing))
            || sources.iter().any(|source| has(source.about(), option, Used::Reading))
    };
    match options.iter().find(|option| !takes_part(option)) {
        None => Ok(()),
        Some(Assignment { format, key, .. }) => {
            Err(EngineError::StrayOption { format: format.clone(), key: key.clone() })
        }
    }
}

/// Everything up to a plan: made, or found as an earlier process left it.
fn begin(
    request: &Request,
    prepared: Prepared,
    observer: &dyn Observer,
) -> Result<(Begun<Box<dyn Writer>>, Plan), EngineError> {
    let Prepared { writer, sources, terms } = prepared;
    check_output(&request.out, &request.sources)?;
    let out = LocalOutput::new(&request.out, request.durable);
    let begun = Begun::at(out)?.with(writer);
    match get_json::<Terms>(&begun.out, TERMS)? {
        None => {
            // Whatever lies here was not begun by a conversion, or not far enough to count.
            for left in [CATALOG, PLAN] {
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
    let plan = plan_or_load(request, &sources, terms, &begun, observer);
    let plan = plan.or_else(|error| begun.give_up(error))?;
    Ok((begun, plan))
}

fn plan_or_load(
    request: &Request,
    sources: &[OpenSource],
    terms: Terms,
    begun: &Begun<Box<dyn Writer>>,
    observer: &dyn Observer,
) -> Result<Plan, EngineError> {
    let out = &begun.out;
    let folder = work::path(CATALOG)?.under(out.root());
    let catalog = match Catalog::open(&folder)? {
        Some(catalog) => {
            unchanged(&catalog, sources)?;
            catalog
        }
        None => {
            out.remove(&work::path(CATALOG)?)?;
            write_catalog(&index_job(request, sources, observer), out, CATALOG)?;
            open_catalog(out)?
        }
    };
    match Plan::load(out)? {
        Some(plan) => Ok(plan),
        None => write_plan(&catalog, terms, begun.writer.as_ref(), request.jobs, out),
    }
}

/// A catalog of this request that is whole, where the process that made it did not come to
/// removing its working folder.
fn unclean_catalog(
    out: &LocalOutput,
    request: &Request,
    sources: &[OpenSource],
) -> Result<Option<Catalog>, EngineError> {
    if !out.exists(&work::path(WORK)?) || out.exists(&work::path(TERMS)?) {
        return Ok(None);
    }
    let same = |catalog: &Catalog| {
        let head = catalog.head();
        let same_sources = head.sources.len() == sources.len()
            && head
                .sources
                .iter()
                .zip(sources)
                .all(|(was, is)| was.terms == is.terms && was.listing == is.listing());
        same_sources
            && head.probe == (request.probe == Probe::Header)
            && head.limit == request.limit
    };
    Ok(Catalog::open(out.root())?.filter(same))
}

fn index_job<'a>(
    request: &Request,
    sources: &'a [OpenSource],
    observer: &'a dyn Observer,
) -> IndexJob<'a> {
    IndexJob {
        sources,
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

fn load_plan(out: &LocalOutput) -> Result<Plan, EngineError> {
    let none = || EngineError::NoPlan { path: out.root().display().to_string() };
    Plan::load(out)?.ok_or_else(none)
}

fn open_catalog(out: &LocalOutput) -> Result<Catalog, EngineError> {
    let none = || EngineError::NoPlan { path: out.root().display().to_string() };
    Catalog::open(&work::path(CATALOG)?.under(out.root()))?.ok_or_else(none)
}

/// Refuses to go on with a catalog of releases that are no longer what they were.
fn unchanged(catalog: &Catalog, sources: &[OpenSource]) -> Result<(), EngineError> {
    for (was, is) in catalog.head().sources.iter().zip(sources) {
        if was.listing != is.listing() {
            return Err(EngineError::Changed {
                label: was.terms.label.clone(),
                what: what_changed(catalog.files(), is),
            });
        }
    }
    Ok(())
}
