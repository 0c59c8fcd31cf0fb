//! What a release is: which format and why, how complete, and what is in its pairs. Nothing is
//! written, and what is held in memory does not grow with the release.

mod counts;
mod survey;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use diptych_format::{Edit, Notice, Part, Place, Published, Rejection, Tally};
use diptych_schema::EditPair;
use diptych_storage::ReadTree;
use rayon::prelude::*;
use serde::Serialize;

pub use counts::{Counts, LARGEST, Lengths, Spread};
pub use survey::{Gathered, Pictures, Problem, Scores, Sizes, Survey};

use crate::error::EngineError;
use crate::index::{IndexJob, read_edits, release_notices};
use crate::observe::Event;
use crate::plan::id_digest;
use crate::report::Books;
use crate::source::OpenSource;

/// What was found of a release.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// What places in it are named by.
    pub label: String,
    /// The folder that was read: of a download cache, the revision's.
    pub root: PathBuf,
    /// The format's name.
    pub format: &'static str,
    /// The format's name for people.
    pub title: &'static str,
    /// How sure it is that it is that: `weak`, `strong` or `exact`; `None` where the user said so.
    pub confidence: Option<String>,
    /// Why it is that; empty where the user said so.
    pub reason: String,
    /// Files of the release.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether pictures' headers were looked at.
    pub probed: bool,
    /// How complete the copy is.
    pub parts: Vec<Part>,
    /// Edits read.
    pub edits: u64,
    /// Those that are pairs.
    pub pairs: u64,
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
    /// Those that are pairs.
    pub pairs: u64,
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

    fn add(&mut self, edit: Edit) {
        self.books.count(&edit);
        match edit {
            Edit::Pair(pair) => {
                self.survey.add(&pair);
                self.ids.push(&pair);
            }
            Edit::Rejected(rejection) => self.problems.add(*rejection),
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

/// Reads a whole release and says what it is.
pub(crate) fn inspect(job: &IndexJob<'_>, source: &OpenSource) -> Result<Inspection, EngineError> {
    let reader = source.reader(job.limits, job.probe)?;
    let count = reader.partitions().len();
    job.observer.event(Event::Indexing { partitions: count });
    let stop = AtomicBool::new(false);
    let published = source.about().published;
    let read = |partition: &usize| {
        let mut found = Found::new(published);
        read_edits(job, source, reader.as_ref(), *partition, &stop, &mut |edit| {
            found.add(edit);
            Ok(())
        })?;
        Ok::<_, EngineError>(found)
    };
    let pool = crate::run::pool(job.jobs, count)?;
    let mut tally = Tally::default();
    let mut all = Found::new(published);
    let mut seen = HashSet::new();
    let partitions: Vec<usize> = (0..count).collect();
    for some in partitions.chunks(PARTITIONS * job.jobs.get()) {
        // In the order of the partitions, so that the same is found whatever the number of
        // threads.
        let found: Vec<_> = pool.install(|| some.par_iter().map(read).collect());
        for (partition, found) in some.iter().zip(found) {
            let mut found = found?;
            let book = found.books.total();
            tally.edits.push(book.read);
            tally.pairs.push(book.read - book.rejections());
            let name = reader.partitions().get(*partition);
            found.reject_repeats(&Place { file: name.cloned(), ..source.place() }, &mut seen);
            all.merge(found);
        }
    }
    let Found { survey, problems, books, .. } = all;
    let (problems, problems_not_listed) = problems.most_first();
    let about = source.about();
    let total = books.total();
    let published = published.iter().map(|of| {
        let (column, value, published) = (of.facet.column(), of.value, of.pairs);
        PublishedPairs { column, value, here: survey.facet(of.facet).of(value), published }
    });
    Ok(Inspection {
        label: source.terms.label.clone(),
        root: source.tree.root().to_path_buf(),
        format: about.name,
        title: about.title,
        confidence: source.detection.as_ref().map(|d| d.confidence.to_string()),
        reason: source.detection.as_ref().map(|d| d.reason.clone()).unwrap_or_default(),
        files: source.tree.list().len() as u64,
        bytes: source.tree.list().iter().map(|entry| entry.length).sum(),
        probed: job.probe == diptych_format::Probe::Header,
        parts: pool.install(|| reader.parts(&tally))?,
        edits: total.read,
        pairs: total.read - total.rejections(),
        datasets: books.lines().map(dataset_read).collect(),
        published: published.collect(),
        notices: release_notices(source, reader.as_ref(), &tally),
        survey,
        problems,
        problems_not_listed,
    })
}

fn dataset_read(line: crate::report::BookLine) -> DatasetRead {
    let crate::report::BookLine { dataset, subset, book } = line;
    DatasetRead { dataset, subset, edits: book.read, pairs: book.read - book.rejections() }
}
