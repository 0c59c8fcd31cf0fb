//! The steps in one process, begun again where they were left.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use diptych_format::options::Assignment;
use diptych_format::{Format, FormatError, Options, Probe, Writer};
use diptych_storage::Limits;
use diptych_storage::output::{LocalOutput, Lock, WriteTree, free_space};

use crate::GENERATOR;
use crate::catalog::{Catalog, HEAD};
use crate::error::EngineError;
use crate::finish::{finish, publish_all};
use crate::index::{IndexJob, write_catalog};
use crate::observe::{Event, Observer};
use crate::plan::{Plan, write_plan};
use crate::report::{Book, Report};
use crate::request::{Request, SourceRequest, Terms};
use crate::run::{UnitJob, pool, run_units};
use crate::source::{OpenSource, Sources, format_named, open_sources, values};
use crate::work::{self, CATALOG, LOCK, PLAN, PUBLISHING, REPORT, TERMS, WORK, get_json, put_json};

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

    /// The formats that it knows.
    #[must_use]
    pub fn formats(&self) -> &'static [&'static dyn Format] {
        self.formats
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
        let (begun, plan) = self.begin(request, observer)?;
        let all: Vec<u32> = (0..unit_count(&plan)).collect();
        let catalog = open_catalog(&begun.out)?;
        let sources = Sources::new(&catalog, &[])?;
        let job = UnitJob {
            out: &begun.out,
            catalog: &catalog,
            plan: &plan,
            writer: begun.writer.as_ref(),
            sources: &sources,
            limits: request.limits,
            observer,
        };
        run_units(&job, &all, &pool(request.jobs)?).or_else(|e| give_up(e, &begun.out))?;
        observer.event(Event::Finishing);
        let report = finish(&begun.out, &catalog, &plan, begun.writer.as_ref())?;
        Ok(Outcome { report })
    }

    /// Plans only: catalog and plan lie in the output's working folder, for
    /// [`run`](Self::run) and [`finish`](Self::finish).
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn plan(&self, request: &Request, observer: &dyn Observer) -> Result<Plan, EngineError> {
        self.begin(request, observer).map(|(_, plan)| plan)
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
        let sources = Sources::new(&catalog, &request.roots)?;
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
            sources: &sources,
            limits: request.limits,
            observer,
        };
        run_units(&job, &units, &pool(request.jobs)?)
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
        let out = LocalOutput::new(out, durable);
        let plan = load_plan(&out)?;
        let _lock = lock(&out)?;
        let writer = self.writer_of(&plan.terms)?;
        observer.event(Event::Finishing);
        let report = finish(&out, &open_catalog(&out)?, &plan, writer.as_ref())?;
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
        let (_, plan) = self.begin(&request, observer)?;
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
        self.check_options(&request.options, &[])?;
        let sources = self.open(request, observer)?;
        check_output(&request.out, &request.sources)?;
        let out = LocalOutput::new(&request.out, request.durable);
        if out.exists(&work::path(TERMS)?) {
            // A conversion was begun here, and may be gone on with.
            return Err(EngineError::NotEmpty { path: request.out.display().to_string() });
        }
        let _lock = lock(&out)?;
        out.remove(&work::path(CATALOG)?)?;
        let made = write_catalog(&index_job(request, &sources, observer), &out, CATALOG);
        if let Err(error) = made {
            out.remove(&work::path(WORK)?)?;
            return Err(error);
        }
        publish_all(&out, CATALOG, HEAD)?;
        out.remove(&work::path(WORK)?)?;
        let catalog = Catalog::open(out.root())?;
        let catalog =
            catalog.ok_or(EngineError::NoPlan { path: request.out.display().to_string() })?;
        let partitions = &catalog.head().partitions;
        let mut total = crate::report::Books::default();
        partitions.iter().for_each(|partition| total.add(&partition.books));
        Ok(Indexed {
            total: total.total(),
            pairs: partitions.iter().map(|partition| partition.pairs).sum(),
            partitions: partitions.len(),
        })
    }

    fn open(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<Vec<OpenSource>, EngineError> {
        let Request { sources, options, limits, .. } = request;
        open_sources(self.formats, sources, options, limits, observer)
    }

    /// Refuses options of formats that take no part, which would be ignored in silence.
    fn check_options(&self, options: &[Assignment], also: &[&str]) -> Result<(), EngineError> {
        let readable =
            |name: &str| self.formats.iter().any(|f| f.about().name == name && f.about().reads);
        let known = |name: &str| also.contains(&name) || readable(name);
        match options.iter().find(|option| !known(&option.format)) {
            None => Ok(()),
            Some(Assignment { format, key, .. }) => {
                Err(EngineError::StrayOption { format: format.clone(), key: key.clone() })
            }
        }
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
        Ok(format.open_writer(&Options::new(about.name, about.options, &given)?)?)
    }

    /// Everything up to a plan: made, or found as an earlier process left it.
    fn begin(
        &self,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<(Begun, Plan), EngineError> {
        let format = format_named(self.formats, &request.to, "written")?;
        let about = format.about();
        let options = Options::new(about.name, about.options, &request.options)?;
        let writer = format.open_writer(&options)?;
        self.check_options(&request.options, &[about.name])?;
        let sources = self.open(request, observer)?;
        let terms = Terms {
            generator: GENERATOR.to_owned(),
            sources: sources.iter().map(|source| source.terms.clone()).collect(),
            to: request.to.clone(),
            options: values(&options),
            limit: request.limit,
            shard_size: request.shard_size,
            strict: request.strict,
            probe: request.probe == Probe::Header,
        };
        check_output(&request.out, &request.sources)?;
        let out = LocalOutput::new(&request.out, request.durable);
        let begun = Begun { _lock: lock(&out)?, out, writer };
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
        let plan = self.plan_or_load(request, &sources, terms, &begun, observer);
        let plan = plan.or_else(|error| give_up(error, &begun.out))?;
        Ok((begun, plan))
    }

    fn plan_or_load(
        &self,
        request: &Request,
        sources: &[OpenSource],
        terms: Terms,
        begun: &Begun,
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
            None => write_plan(&catalog, terms, begun.writer.as_ref(), &pool(request.jobs)?, out),
        }
    }
}

/// An output that this process plans or finishes.
struct Begun {
    _lock: Lock,
    out: LocalOutput,
    writer: Box<dyn Writer>,
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

fn lock(out: &LocalOutput) -> Result<Lock, EngineError> {
    let taken = Lock::take(&work::path(LOCK)?.under(out.root()))?;
    taken.ok_or_else(|| EngineError::Locked { path: out.root().display().to_string() })
}

fn load_plan(out: &LocalOutput) -> Result<Plan, EngineError> {
    let none = || EngineError::NoPlan { path: out.root().display().to_string() };
    Plan::load(out)?.ok_or_else(none)
}

fn open_catalog(out: &LocalOutput) -> Result<Catalog, EngineError> {
    let none = || EngineError::NoPlan { path: out.root().display().to_string() };
    Catalog::open(&work::path(CATALOG)?.under(out.root()))?.ok_or_else(none)
}

/// What cannot be gone on with leaves nothing behind: the same request would fail again, and
/// another would be refused.
fn give_up<T>(error: EngineError, out: &LocalOutput) -> Result<T, EngineError> {
    fn is_final(error: &EngineError) -> bool {
        match error {
            EngineError::Within { source, .. } => is_final(source),
            EngineError::Strict(_) | EngineError::SameId { .. } => true,
            // What is wrong with the disk may be mended, and what is done is kept.
            EngineError::Format(error) => {
                !matches!(error, FormatError::Output(_) | FormatError::Read { .. })
            }
            _ => false,
        }
    }
    if is_final(&error) {
        out.remove(&work::path(WORK)?)?;
        // The folder itself goes where it is ours and empty; where not, it is no matter.
        let _ = std::fs::remove_dir(out.root());
    }
    Err(error)
}

/// Refuses to go on with a catalog of releases that are no longer what they were.
fn unchanged(catalog: &Catalog, sources: &[OpenSource]) -> Result<(), EngineError> {
    for (was, is) in catalog.head().sources.iter().zip(sources) {
        if was.listing != is.listing() {
            return Err(EngineError::Changed {
                label: was.terms.label.clone(),
                what: "its files are not those that were listed".to_owned(),
            });
        }
    }
    Ok(())
}

/// Refuses an output folder that holds anything but our own working folder, or lies in a source.
fn check_output(out: &Path, sources: &[SourceRequest]) -> Result<(), EngineError> {
    let path = || out.display().to_string();
    let whole = resolve(out);
    for source in sources {
        let inside = resolve(&source.path);
        if whole.starts_with(&inside) {
            let inside = source.path.display().to_string();
            return Err(EngineError::Inside { path: path(), inside });
        }
    }
    let entries = match std::fs::read_dir(out) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(work::damaged(&path(), error)),
    };
    // A process that died while it moved the last entries has left some of them here.
    let moved: Option<Vec<String>> = get_json(&LocalOutput::new(out, false), PUBLISHING)?;
    let moved = moved.filter(|_| !out.join(REPORT).exists()).unwrap_or_default();
    for entry in entries {
        let name = entry.map_err(|error| work::damaged(&path(), error))?.file_name();
        if name != WORK && !moved.iter().any(|moved| name == moved.as_str()) {
            return Err(EngineError::NotEmpty { path: path() });
        }
    }
    Ok(())
}

/// A path with its links followed as far as it exists.
fn resolve(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return real.join(rest);
        }
    }
    path
}
