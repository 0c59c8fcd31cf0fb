//! What choosing needs of each pair, held in columns: a few bytes a pair, and never the pairs.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Array, BooleanArray, Float64Array, RecordBatch, StringArray};
use diptych_condition::{Condition, Number, Word};
use diptych_schema::arrow::addresses;
use diptych_schema::{Address, Split};
use rayon::prelude::*;

use super::anchors;
use super::pool::{Part, Pool};
use crate::catalog::column;
use crate::error::{DamagedBy, EngineError};
use crate::observe::{Observer, go_on};
use crate::plan::id_digest;
use crate::request::Request;
use crate::run::pool as threads;
use crate::work::damaged;

/// What is in no file.
pub(crate) const NO_FILE: u32 = u32::MAX;

/// What is to be known of pairs besides which they are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs<'a> {
    /// Sessions and groups.
    pub(crate) atoms: bool,
    /// What ties pairs together, and their splits.
    pub(crate) ties: bool,
    /// Where the source pictures are.
    pub(crate) source: bool,
    /// Where the target pictures are.
    pub(crate) target: bool,
    /// What was asked for.
    pub(crate) instruction: bool,
    /// Whether ids are to be such that a pair can be taken again.
    pub(crate) repeats: bool,
    /// What most of is best.
    pub(crate) prefer: Option<&'a Number>,
    /// What tells kinds apart.
    pub(crate) kind: Option<&'a Word>,
}

/// The pairs for which the conditions hold, in their order. Columns that are not needed are empty;
/// 0 stands for nothing in those of digests.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) part: Vec<u32>,
    pub(crate) row: Vec<u32>,
    /// Number of dataset and subset.
    pub(crate) book: Vec<u32>,
    /// The file of the source picture.
    pub(crate) file: Vec<u32>,
    pub(crate) id: Vec<u128>,
    pub(crate) session: Vec<u128>,
    pub(crate) group: Vec<u128>,
    pub(crate) inverse_of: Vec<u128>,
    pub(crate) split: Vec<Option<Split>>,
    pub(crate) source: Vec<Address>,
    pub(crate) target: Vec<Option<Address>>,
    pub(crate) instruction: Vec<u128>,
    pub(crate) prefer: Vec<f64>,
    /// Number of the kind; that of no kind is the largest.
    pub(crate) kind: Vec<u32>,
    /// Datasets and subsets.
    pub(crate) books: Names<(String, Option<String>)>,
    /// Kinds.
    pub(crate) kinds: Names<String>,
    /// Pairs for which a condition does not hold, by dataset and subset.
    pub(crate) unmet: BTreeMap<u32, u64>,
    /// The sessions and groups of these.
    pub(crate) broken: BTreeSet<u128>,
    /// A pair that was taken again before.
    pub(crate) again: Option<String>,
}

/// Things that are numbered as they come.
#[derive(Debug)]
pub(crate) struct Names<T> {
    numbers: BTreeMap<T, u32>,
    pub(crate) names: Vec<T>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { numbers: BTreeMap::new(), names: Vec::new() }
    }
}

impl<T: Ord + Clone> Names<T> {
    pub(crate) fn number(&mut self, name: T) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }
}

impl Rows {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.id.len()
    }

    /// Puts others behind these.
    fn append(&mut self, other: Self) {
        let books: Vec<u32> =
            other.books.names.into_iter().map(|name| self.books.number(name)).collect();
        let kinds: Vec<u32> =
            other.kinds.names.into_iter().map(|name| self.kinds.number(name)).collect();
        let of = |numbers: &[u32], number: u32| numbers.get(number as usize).copied();
        let book = |number| of(&books, number).unwrap_or(u32::MAX);
        self.part.extend(other.part);
        self.row.extend(other.row);
        self.book.extend(other.book.into_iter().map(book));
        self.file.extend(other.file);
        self.id.extend(other.id);
        self.session.extend(other.session);
        self.group.extend(other.group);
        self.inverse_of.extend(other.inverse_of);
        self.split.extend(other.split);
        self.source.extend(other.source);
        self.target.extend(other.target);
        self.instruction.extend(other.instruction);
        self.prefer.extend(other.prefer);
        let kind = |number| of(&kinds, number).unwrap_or(u32::MAX);
        self.kind.extend(other.kind.into_iter().map(kind));
        for (number, count) in other.unmet {
            *self.unmet.entry(book(number)).or_default() += count;
        }
        self.broken.extend(other.broken);
        self.again = self.again.take().or(other.again);
    }
}

/// Reads what is needed of all pairs of the pool, and which of them meet the conditions.
pub(crate) fn survey(
    pool: &Pool<'_>,
    request: Option<&Request>,
    needs: Needs<'_>,
    observer: &dyn Observer,
    jobs: std::num::NonZeroUsize,
) -> Result<Rows, EngineError> {
    let surveyed: Result<Vec<_>, EngineError> = threads(jobs, pool.parts.len())?.install(|| {
        let of_part = |(number, part): (usize, &Part<'_>)| {
            let conditions = request.map_or_else(Vec::new, |request| {
                let own = request.sources.get(part.input);
                let own = own.and_then(|source| source.condition.as_ref());
                own.into_iter().chain(&request.selection.condition).collect()
            });
            survey_part(part, number, &conditions, needs, observer)
        };
        pool.parts.par_iter().enumerate().map(of_part).collect()
    });
    let mut rows = Rows::default();
    surveyed?.into_iter().for_each(|part| rows.append(part));
    if u32::try_from(rows.len()).is_err() {
        let what = "more pairs than can be chosen from".to_owned();
        return Err(EngineError::Changed { label: "the catalog".to_owned(), what });
    }
    Ok(rows)
}

fn wanted(conditions: &[&Condition], needs: Needs<'_>) -> BTreeSet<String> {
    let mut wanted: BTreeSet<String> =
        ["pair_id", "dataset", "subset", "source.address.file"].map(str::to_owned).into();
    let mut want = |asked: bool, columns: &[&str]| {
        if asked {
            wanted.extend(columns.iter().map(|column| (*column).to_owned()));
        }
    };
    want(needs.atoms || needs.ties, &["session_id", "group_id"]);
    want(needs.ties, &["split", "inverse_of"]);
    want(needs.source, &["source.address"]);
    want(needs.target, &["target.address"]);
    want(needs.instruction, &["instruction"]);
    conditions.iter().for_each(|condition| wanted.extend(condition.columns().iter().cloned()));
    wanted.extend(needs.prefer.iter().flat_map(|of| of.columns().iter().cloned()));
    wanted.extend(needs.kind.iter().flat_map(|of| of.columns().iter().cloned()));
    wanted
}

fn survey_part(
    part: &Part<'_>,
    number: usize,
    conditions: &[&Condition],
    needs: Needs<'_>,
    observer: &dyn Observer,
) -> Result<Rows, EngineError> {
    let mut rows = Rows::default();
    let part_number = u32::try_from(number).unwrap_or(u32::MAX);
    let mut first = 0_u64;
    for batch in part.columns(&wanted(conditions, needs))? {
        go_on(observer)?;
        let batch = batch?;
        let mut met: Option<BooleanArray> = None;
        for condition in conditions {
            let holds = super::holds(condition, &batch)?;
            met = Some(match met {
                None => holds,
                Some(met) => met.iter().zip(&holds).map(|(a, b)| Some(a? && b?)).collect(),
            });
        }
        let failed = |option| move |source| EngineError::Condition { option, source };
        let prefer = needs.prefer.map(|of| of.evaluate(&batch)).transpose();
        let prefer = prefer.map_err(failed("--prefer"))?;
        let kinds = needs.kind.map(|of| of.evaluate(&batch)).transpose();
        let kinds = kinds.map_err(failed("--mix-by"))?;
        let of_batch = Batch { batch: &batch, part, number: part_number, first, prefer, kinds };
        of_batch
            .take(&mut rows, met.as_ref(), needs)
            .map_err(|error| damaged(&part.folder().display().to_string(), error))?;
        first += batch.num_rows() as u64;
    }
    if first != part.pairs {
        return Err(part.other_pairs());
    }
    Ok(rows)
}

struct Batch<'a> {
    batch: &'a RecordBatch,
    part: &'a Part<'a>,
    number: u32,
    first: u64,
    prefer: Option<Float64Array>,
    kinds: Option<StringArray>,
}

/// A text of a row.
fn text(of: &StringArray, row: usize) -> Option<&str> {
    of.is_valid(row).then(|| of.value(row))
}

impl Batch<'_> {
    fn texts(&self, name: &str, wanted: bool) -> Result<Option<&StringArray>, DamagedBy> {
        wanted.then(|| column(self.batch, name)).transpose()
    }

    fn take(
        &self,
        rows: &mut Rows,
        met: Option<&BooleanArray>,
        needs: Needs<'_>,
    ) -> Result<(), DamagedBy> {
        let atoms = needs.atoms || needs.ties;
        let ids: &StringArray = column(self.batch, "pair_id")?;
        let datasets: &StringArray = column(self.batch, "dataset")?;
        let subsets: &StringArray = column(self.batch, "subset")?;
        let sessions = self.texts("session_id", atoms)?;
        let groups = self.texts("group_id", atoms)?;
        let splits = self.texts("split", needs.ties)?;
        let inverses = self.texts("inverse_of", needs.ties)?;
        let instructions = self.texts("instruction", needs.instruction)?;
        let files = files(self.batch)?;
        let sources = needs.source.then(|| addresses(self.batch, "source")).transpose()?;
        let targets = needs.target.then(|| addresses(self.batch, "target")).transpose()?;
        let mut sources = sources.into_iter().flatten();
        let mut targets = targets.into_iter().flatten();
        let mut last: Option<((&str, Option<&str>), u32)> = None;
        for row in 0..self.batch.num_rows() {
            let of = (datasets.value(row), text(subsets, row));
            let book = match last {
                Some((name, number)) if name == of => number,
                _ => rows.books.number((of.0.to_owned(), of.1.map(str::to_owned))),
            };
            last = Some((of, book));
            let dataset = of.0;
            let atom = |of: Option<&StringArray>, digest: fn(&str, &str) -> u128| {
                of.and_then(|of| text(of, row)).map_or(0, |name| digest(dataset, name))
            };
            let (source, target) = (sources.next(), targets.next());
            // Kinds are known whether their pairs are chosen or not: others are mistaken for names.
            let kind = self.kinds.as_ref().map(|kinds| {
                let kind = text(kinds, row).map(|kind| rows.kinds.number(kind.to_owned()));
                kind.unwrap_or(u32::MAX)
            });
            let is_met = met.is_none_or(|met| met.is_valid(row) && met.value(row));
            if !is_met {
                *rows.unmet.entry(book).or_default() += 1;
                if atoms {
                    let broken = [atom(sessions, anchors::session), atom(groups, anchors::group)];
                    rows.broken.extend(broken.into_iter().filter(|digest| *digest != 0));
                }
                continue;
            }
            rows.part.push(self.number);
            rows.row.push(u32::try_from(self.first + row as u64).unwrap_or(u32::MAX));
            rows.book.push(book);
            let file = files.get(row).copied().flatten();
            rows.file.push(file.map_or(NO_FILE, |file| self.part.file_here(file)));
            rows.id.push(id_digest(ids.value(row)));
            if atoms {
                rows.session.push(atom(sessions, anchors::session));
                rows.group.push(atom(groups, anchors::group));
            }
            if let (Some(splits), Some(inverses)) = (splits, inverses) {
                rows.split.push(text(splits, row).and_then(Split::from_word));
                rows.inverse_of.push(text(inverses, row).map_or(0, id_digest));
            }
            if let Some(source) = source {
                let missing = || DamagedBy::Content("a pair without a source".to_owned());
                let mut source = source.ok_or_else(missing)?;
                source.shift_file(self.part.file_here(0));
                rows.source.push(source);
            }
            if let Some(mut target) = target {
                target.iter_mut().for_each(|of| of.shift_file(self.part.file_here(0)));
                rows.target.push(target);
            }
            if let Some(instructions) = instructions {
                rows.instruction.push(text(instructions, row).map_or(0, id_digest));
            }
            if let Some(prefer) = &self.prefer {
                let value = prefer.is_valid(row).then(|| prefer.value(row));
                rows.prefer.push(value.unwrap_or(f64::NAN));
            }
            rows.kind.extend(kind);
            if needs.repeats && rows.again.is_none() && super::draw::is_again(ids.value(row)) {
                rows.again = Some(ids.value(row).to_owned());
            }
        }
        Ok(())
    }
}

/// The files that the source pictures of a batch are in.
fn files(batch: &RecordBatch) -> Result<Vec<Option<u32>>, DamagedBy> {
    let structs = |batch: &RecordBatch, name: &str| -> Result<RecordBatch, DamagedBy> {
        let of: &arrow_array::StructArray = column(batch, name)?;
        Ok(RecordBatch::from(of))
    };
    let address = structs(&structs(batch, "source")?, "address")?;
    let files: &arrow_array::UInt32Array = column(&address, "file")?;
    Ok(files.iter().collect())
}
