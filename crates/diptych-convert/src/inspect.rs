//! What a release is: which format and why, how complete, and what is in its pairs. Nothing is
//! written, and what is held in memory does not grow with the release.

mod counts;
mod survey;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use diptych_condition::Condition;
use diptych_format::{About, Confidence, Edit, Notice, Part, Place, Published, Rejection, Tally};
use diptych_schema::EditPair;
use diptych_storage::ReadTree;
use rayon::prelude::*;
use serde::Serialize;

pub use counts::{Counts, LARGEST, Lengths, Spread};
pub use survey::{Gathered, Pictures, Problem, Scores, Sizes, Survey};

use crate::catalog::HEAD;
use crate::error::EngineError;
use crate::index::{
    IndexJob, read_edits, release_notices, take_chosen, take_edits, take_rejections,
};
use crate::input::OpenCatalog;
use crate::observe::Event;
use crate::plan::id_digest;
use crate::report::Books;
use crate::request::SourceTerms;
use crate::select::{Gate, WHERE};
use crate::source::OpenSource;

/// What was found of a release.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// What places in it are named by.
    pub label: String,
    /// The folder that was read: of a download cache, the revision's; of a catalog, where its
    /// release lay.
    pub root: PathBuf,
    /// The catalog that it was read from; `None` for a release.
    pub catalog: Option<PathBuf>,
    /// The format's name.
    pub format: &'static str,
    /// The format's name for people.
    pub title: &'static str,
    /// How sure it is that it is that: `weak`, `strong` or `exact`; `None` where the user said so.
    pub confidence: Option<String>,
    /// Why it is that; empty where the user said so.
    pub reason: String,
    /// Files of the release; of a catalog, those that pictures may be in.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether pictures' headers were looked at.
    pub probed: bool,
    /// How complete the copy is; of a catalog nothing is known of that.
    pub parts: Vec<Part>,
    /// Edits read.
    pub edits: u64,
    /// Those that are pairs, and for which the condition holds where there is one.
    pub pairs: u64,
    /// Pairs for which it does not hold.
    pub unmet: u64,
    /// The same for each dataset and subset.
    pub datasets: Vec<DatasetRead>,
    /// How many pairs of a kind the authors published.
    pub published: Vec<PublishedPairs>,
    /// What is in the pairs; of those that repeat an id as well.
    pub survey: Survey,
    /// What is wrong with the edits that are no pairs; what most have first.
    pub problems: Vec<Problem>,
    /// Edits with problems of so many kinds and files that they are not listed.
    pub problems_not_listed: u64,
    /// What else is to be known.
    pub notices: Vec<Notice>,
}

/// What was read of a dataset and subset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatasetRead {
    /// The dataset.
    pub dataset: String,
    /// Its subset.
    pub subset: Option<String>,
    /// Edits read.
    pub edits: u64,
    /// Those that are pairs, and for which the condition holds where there is one.
    pub pairs: u64,
    /// Pairs for which it does not hold.
    pub unmet: u64,
}

/// How many pairs of a kind the authors published, and how many are here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublishedPairs {
    /// The column of the schema by which they are counted.
    pub column: &'static str,
    /// Its value.
    pub value: &'static str,
    /// Pairs here.
    pub here: u64,
    /// Pairs in the whole release.
    pub published: u64,
}

/// What was found in a partition, or in several.
struct Found {
    survey: Survey,
    problems: survey::Problems,
    books: Books,
    ids: Ids,
}

/// The ids of a partition's pairs: their text one behind the other, since there are very many.
#[derive(Default)]
struct Ids {
    text: String,
    ends: Vec<usize>,
    /// Dataset and subset of the pairs from a number on, until the next.
    of: Vec<(usize, String, Option<String>)>,
}

impl Ids {
    fn push(&mut self, pair: &EditPair) {
        let last = self.of.last().map(|(_, dataset, subset)| (dataset, subset));
        if last != Some((&pair.dataset, &pair.subset)) {
            self.of.push((self.ends.len(), pair.dataset.clone(), pair.subset.clone()));
        }
        self.text.push_str(&pair.pair_id);
        self.ends.push(self.text.len());
    }

    /// Each id, with dataset and subset.
    fn iter(&self) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).enumerate().filter_map(|(number, (start, end))| {
            let of = self.of.partition_point(|(first, ..)| *first <= number).checked_sub(1)?;
            let (_, dataset, subset) = self.of.get(of)?;
            Some((self.text.get(start..*end)?, dataset.as_str(), subset.as_deref()))
        })
    }
}

impl Found {
    fn new(published: &'static [Published]) -> Self {
        let (problems, books) = (survey::Problems::default(), Books::default());
        Self { survey: Survey::of(published), problems, books, ids: Ids::default() }
    }

    /// Adds an edit. Pairs wait where it is to be asked whether conditions hold for them.
    fn add(&mut self, edit: Edit, gate: &mut Gate<'_>) -> Result<(), EngineError> {
        self.books.count(&edit);
        match edit {
            Edit::Pair(pair) => gate.push(*pair, &mut |pair, holds| self.add_pair(&pair, holds))?,
            Edit::Rejected(rejection) => self.problems.add(*rejection),
        }
        Ok(())
    }

    fn add_pair(&mut self, pair: &EditPair, holds: bool) {
        if holds {
            self.survey.add(pair);
            self.ids.push(pair);
        } else {
            self.books.filter(pair, WHERE);
        }
    }

    /// Rejects pairs whose id was there before, as a plan would. `seen` holds what stands for the
    /// ids, which come in the order of the release.
    fn reject_repeats(&mut self, at: &Place, seen: &mut HashSet<u64>) {
        let ids = std::mem::take(&mut self.ids);
        for (pair_id, dataset, subset) in ids.iter() {
            // Half of what a plan compares, to hold half as much: of a million ids, two agree by
            // chance in one of thirty million releases.
            if seen.insert((id_digest(pair_id) >> 64) as u64) {
                continue;
            }
            let rejection = Rejection {
                kind: "duplicate_pair_id".to_owned(),
                cause: "a pair with this id was read before; the first one stays".to_owned(),
                at: at.clone(),
                dataset: dataset.to_owned(),
                subset: subset.map(str::to_owned),
                pair_id: Some(pair_id.to_owned()),
                native: None,
            };
            self.books.reject(&rejection);
            self.problems.add(rejection);
        }
    }

    fn merge(&mut self, next: Self) {
        self.survey.merge(&next.survey);
        self.problems.merge(next.problems);
        self.books.add(&next.books);
    }
}

/// Partitions for each thread that are read before what was found in them is put together.
const PARTITIONS: usize = 8;

/// What is found in partitions, which `read` enters.
fn gather(
    job: &IndexJob<'_>,
    published: &'static [Published],
    label: &str,
    partitions: &[(usize, &str)],
    read: impl Fn(usize, &mut Found) -> Result<(), EngineError> + Sync,
) -> Result<(Found, Tally), EngineError> {
    job.observer.event(Event::Indexing { partitions: partitions.len() });
    let read = |(partition, _): &(usize, &str)| {
        let mut found = Found::new(published);
        read(*partition, &mut found)?;
        Ok::<_, EngineError>(found)
    };
    let pool = crate::run::pool(job.jobs, partitions.len())?;
    let mut tally = Tally::default();
    let mut all = Found::new(published);
    let mut seen = HashSet::new();
    for some in partitions.chunks(PARTITIONS * job.jobs.get()) {
        // In the order of the partitions, so that the same is found whatever the number of
        // threads.
        let found: Vec<_> = pool.install(|| some.par_iter().map(read).collect());
        for ((_, name), found) in some.iter().zip(found) {
            let mut found = found?;
            let book = found.books.total();
            tally.edits.push(book.read);
            // How much a release has says nothing of what is asked for.
            tally.pairs.push(book.read - book.rejections());
            found.reject_repeats(&Place::file(label, name), &mut seen);
            all.merge(found);
        }
    }
    Ok((all, tally))
}

/// What an inspection says of the pairs.
fn inspection(about: &'static About, terms: &SourceTerms, root: PathBuf, all: Found) -> Inspection {
    let Found { survey, problems, books, .. } = all;
    let (problems, problems_not_listed) = problems.most_first();
    let total = books.total();
    let published = about.published.iter().map(|of| {
        let (column, value, published) = (of.facet.column(), of.value, of.pairs);
        PublishedPairs { column, value, here: survey.facet(of.facet).of(value), published }
    });
    Inspection {
        label: terms.label.clone(),
        root,
        catalog: None,
        format: about.name,
        title: about.title,
        confidence: None,
        reason: String::new(),
        files: 0,
        bytes: 0,
        probed: false,
        parts: Vec::new(),
        edits: total.read,
        pairs: total.read - total.rejections() - total.filtered_out(),
        unmet: total.filtered_out(),
        datasets: books.lines().map(dataset_read).collect(),
        published: published.collect(),
        notices: Vec::new(),
        survey,
        problems,
        problems_not_listed,
    }
}

/// Reads a whole release and says what it is.
pub(crate) fn inspect(
    job: &IndexJob<'_>,
    source: &OpenSource,
    conditions: &[&Condition],
) -> Result<Inspection, EngineError> {
    let reader = source.reader(job.limits, job.probe)?;
    let (about, label) = (source.about(), &source.terms.label);
    let names = reader.partitions().iter().map(String::as_str);
    let partitions: Vec<_> = names.enumerate().collect();
    let stop = AtomicBool::new(false);
    let read = |partition, found: &mut Found| {
        let mut gate = Gate::new(conditions);
        let mut take = |edit| found.add(edit, &mut gate);
        read_edits(job, source, reader.as_ref(), partition, &stop, &mut take)?;
        gate.end(&mut |pair, holds| found.add_pair(&pair, holds))
    };
    let (all, tally) = gather(job, about.published, label, &partitions, read)?;
    let pool = crate::run::pool(job.jobs, partitions.len())?;
    let inspection = Inspection {
        confidence: source.detection.as_ref().map(|d| d.confidence.to_string()),
        reason: source.detection.as_ref().map(|d| d.reason.clone()).unwrap_or_default(),
        files: source.tree.list().len() as u64,
        bytes: source.tree.list().iter().map(|entry| entry.length).sum(),
        probed: job.probe == diptych_format::Probe::Header,
        parts: pool.install(|| reader.parts(&tally))?,
        notices: release_notices(source, reader.as_ref(), &tally, job.limits.notices),
        ..inspection(about, &source.terms, source.tree.root().to_path_buf(), all)
    };
    source.check_read()?;
    Ok(inspection)
}

/// Says what is in a catalog, for each release that it was made of.
pub(crate) fn inspect_catalog(
    job: &IndexJob<'_>,
    of: &OpenCatalog,
    conditions: &[&Condition],
) -> Result<Vec<Inspection>, EngineError> {
    let stop = AtomicBool::new(false);
    let head = of.catalog.head();
    // Pairs that were chosen are in files of their own, behind the partitions.
    let chosen_files = head.selected.as_ref().map_or(0, |_| of.catalog.pair_files());
    let count = head.partitions.len();
    let mut inspections = Vec::with_capacity(of.sources.len());
    for (source, about) in of.sources.iter().zip(&of.abouts) {
        let label = &source.terms.label;
        let partitions = head.partitions.iter().enumerate();
        let mut partitions: Vec<_> = partitions
            .filter(|(_, partition)| of.label(&partition.source) == *label)
            .map(|(number, partition)| (number, partition.name.as_str()))
            .collect();
        partitions
            .extend((0..chosen_files).map(|file| (count + file, "the pairs that were chosen")));
        let read = |number: usize, found: &mut Found| {
            let mut gate = Gate::new(conditions);
            let mut take = |edit| found.add(edit, &mut gate);
            match number.checked_sub(count) {
                Some(file) => take_chosen(job, of, file, label, &mut take)?,
                None if head.selected.is_some() => take_rejections(job, of, number, &mut take)?,
                None => take_edits(job, of, number, &stop, &mut take).map(|_| ())?,
            }
            gate.end(&mut |pair, holds| found.add_pair(&pair, holds))
        };
        let (all, _) = gather(job, about.published, label, &partitions, read)?;
        let files = of.files().filter(|file| file.source == *label);
        let pieces: BTreeMap<_, _> =
            files.flat_map(|file| file.pieces).map(|piece| (piece.path, piece.length)).collect();
        let mut notices: Vec<_> =
            of.notices().filter(|notice| notice.at.source == *label).collect();
        if let Some(limit) = of.catalog.limited_to() {
            notices.push(Notice {
                kind: "limited_catalog".to_owned(),
                at: Place { source: label.clone(), ..Place::default() },
                detail: format!(
                    "the catalog was made with a limit of {limit} pairs: others are not in it"
                ),
            });
        }
        inspections.push(Inspection {
            catalog: Some(PathBuf::from(&of.path)),
            confidence: Some(Confidence::Exact.to_string()),
            reason: format!("{HEAD} says so"),
            files: pieces.len() as u64,
            bytes: pieces.values().sum(),
            probed: head.probe,
            notices,
            ..inspection(about, &source.terms, source.root.clone(), all)
        });
    }
    Ok(inspections)
}

fn dataset_read(line: crate::report::BookLine) -> DatasetRead {
    let crate::report::BookLine { dataset, subset, book } = line;
    let pairs = book.read - book.rejections() - book.filtered_out();
    DatasetRead { dataset, subset, edits: book.read, pairs, unmet: book.filtered_out() }
}
