//! Which pairs go into which unit: decided on the catalog alone, and kept as one file.
//!
//! The plan is a Parquet file of runs (`unit`, `split`, `partition`, `first`, `count`: so many
//! rows of a partition from that row on), with its head as JSON in the file's metadata. While it
//! is made some forty bytes a pair are held, and never the pairs themselves.

mod file;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use diptych_format::{FormatError, Grain, Place, Rejection, Writer};
use diptych_schema::{EditPair, MaskPart, Split};
use diptych_storage::output::LocalOutput;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::catalog::Catalog;
use crate::error::EngineError;
use crate::index::RejectionLines;
use crate::observe::{Observer, go_on};
use crate::report::Books;
use crate::request::Terms;
use crate::run::pool;
use crate::work::{self, PLAN_REJECTIONS};

/// Why a pair that was read is not written, for the books.
pub(crate) const LIMIT: &str = "limit";

/// Rows of a partition that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The partition.
    pub partition: u32,
    /// The first row.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// What one unit holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitPlan {
    /// The split that its pairs are written under; `None` where the writer takes pairs of every
    /// split into a unit.
    pub split: Option<Split>,
    /// Its pairs.
    pub pairs: u64,
    /// About how many bytes they take in the output.
    pub bytes: u64,
    /// Them, in order.
    pub runs: Vec<Run>,
}

/// Which pairs go into which unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What was asked for.
    pub terms: Terms,
    /// The units; a unit's number is its place.
    pub units: Vec<UnitPlan>,
    /// What was read, and what of it is not in any unit.
    pub books: Books,
    /// A digest of the plan's file.
    pub digest: String,
}

/// What is held of a pair while planning.
pub(crate) struct PlanRow {
    /// About its bytes in the output.
    weight: u64,
    split: Split,
    /// Whether it belongs to the atom of the pair before it.
    continues: bool,
    /// Whether it is in no unit.
    dropped: bool,
}

/// Plans an output and writes the plan into its working folder. What is known of pairs that were
/// just `chosen`, file by file, is not read again.
pub(crate) fn write_plan(
    catalog: &Catalog,
    chosen: Option<Vec<Vec<PlanRow>>>,
    terms: Terms,
    writer: &dyn Writer,
    jobs: NonZeroUsize,
    observer: &dyn Observer,
    out: &LocalOutput,
) -> Result<Plan, EngineError> {
    let mut books = catalog.books();
    // Of pairs that were chosen none repeats, and none is beyond the limit.
    let is_chosen = catalog.head().selected.is_some();
    let mut ids = Vec::new();
    let mut partitions = match chosen {
        Some(chosen) => chosen,
        None => {
            let files = catalog.pair_files();
            let scanned: Result<Vec<_>, _> = pool(jobs, files)?.install(|| {
                let scan = |file| scan(catalog, file, &terms, writer, observer);
                (0..files).into_par_iter().map(scan).collect()
            });
            let mut partitions = Vec::with_capacity(files);
            for (rows, of_file) in scanned? {
                partitions.push(rows);
                ids.extend(of_file);
            }
            partitions
        }
    };
    if !is_chosen {
        drop_repeats(catalog, &mut partitions, ids, terms.strict, &mut books, out)?;
        drop_beyond(catalog, &mut partitions, terms.limit, &mut books)?;
    }
    let units = cut(&partitions, terms.shard_size, writer.divides_splits());
    let digest = file::save(out, catalog, &terms, &books, &units)?;
    Ok(Plan { terms, units, books, digest })
}

/// What the plan needs of the pairs of a partition, and a digest of each pair's id.
fn scan(
    catalog: &Catalog,
    partition: usize,
    terms: &Terms,
    writer: &dyn Writer,
    observer: &dyn Observer,
) -> Result<(Vec<PlanRow>, Vec<u128>), EngineError> {
    let mut scan = Scan::new(writer, &terms.to);
    let mut ids = Vec::new();
    for pair in catalog.pairs(partition, 0, u64::MAX)? {
        go_on(observer)?;
        let pair = pair?;
        scan.add(&pair)?;
        ids.push(id_digest(&pair.pair_id));
    }
    Ok((scan.end(), ids))
}

/// Takes what the plan needs of pairs that follow each other.
pub(crate) struct Scan<'a> {
    writer: &'a dyn Writer,
    to: &'a str,
    rows: Vec<PlanRow>,
    atom: Option<String>,
}

impl<'a> Scan<'a> {
    /// For an output in the format `to`.
    pub(crate) fn new(writer: &'a dyn Writer, to: &'a str) -> Self {
        Self { writer, to, rows: Vec::new(), atom: None }
    }

    /// Takes a pair, or refuses one that the output cannot hold.
    pub(crate) fn add(&mut self, pair: &EditPair) -> Result<(), EngineError> {
        let Self { writer, to, .. } = self;
        if pair.target.is_none() && !writer.holds_pairs_without_target() {
            let (pair_id, format) = (pair.pair_id.clone(), (*to).to_owned());
            return Err(FormatError::NoTarget { pair_id, format }.into());
        }
        writer.check(pair)?;
        let of = atom_of(pair, writer.grain()).map(str::to_owned);
        let continues = of.is_some() && of == self.atom;
        self.atom = of;
        self.rows.push(PlanRow {
            weight: weight(pair, *writer),
            // A pair that has no split is written for training; its record keeps none.
            split: pair.split.unwrap_or(Split::Train),
            continues,
            dropped: false,
        });
        Ok(())
    }

    /// What was taken.
    pub(crate) fn end(mut self) -> Vec<PlanRow> {
        self.rows.shrink_to_fit();
        self.rows
    }
}

/// What a pair's atom is called; `None` for a pair that is one by itself.
pub(crate) fn atom_of(pair: &EditPair, grain: Grain) -> Option<&str> {
    match grain {
        Grain::Pair => None,
        Grain::Group => pair.group_id.as_deref(),
        Grain::Session => pair.session_id.as_deref(),
    }
}

/// What stands for an id where very many are held.
pub(crate) fn id_digest(pair_id: &str) -> u128 {
    let digest = Sha256::digest(pair_id.as_bytes());
    digest.iter().take(16).fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

/// About how many bytes a pair takes in the output.
fn weight(pair: &EditPair, writer: &dyn Writer) -> u64 {
    let references = pair.references.iter().map(|reference| &reference.picture);
    let pictures = std::iter::once(&pair.source).chain(&pair.target).chain(references);
    let parts = pair.mask.iter().flat_map(|mask| &mask.parts).filter_map(|part| match part {
        MaskPart::Picture(picture) => Some(picture),
        MaskPart::RunLength { .. } => None,
    });
    let lengths = pictures.chain(parts).map(|picture| picture.address.length().unwrap_or(0));
    let (count, bytes) =
        lengths.fold((0, 0_u64), |(n, bytes), length| (n + 1, bytes.saturating_add(length)));
    bytes.saturating_add(writer.overhead(pair, count))
}

/// Takes out every pair whose id an earlier pair has. Within a source it is rejected; between
/// two sources it is an error that names both.
fn drop_repeats(
    catalog: &Catalog,
    partitions: &mut [Vec<PlanRow>],
    ids: Vec<u128>,
    strict: bool,
    books: &mut Books,
    out: &LocalOutput,
) -> Result<(), EngineError> {
    let repeats = repeated_ids(&ids);
    drop(ids);
    let starts: Vec<u64> = partitions
        .iter()
        .scan(0, |start, rows| Some(std::mem::replace(start, *start + rows.len() as u64)))
        .collect();
    let place = |partition: usize| {
        let of = catalog.head().partitions.get(partition);
        of.map_or_else(Place::default, |of| Place::file(&of.source, &of.name))
    };
    let mut lines = RejectionLines::new(out, work::path(PLAN_REJECTIONS)?);
    for of_partition in
        repeats.chunk_by(|a, b| locate(&starts, a.0.into()).0 == locate(&starts, b.0.into()).0)
    {
        let Some((number, _)) = of_partition.first() else { continue };
        let (partition, first_row) = locate(&starts, (*number).into());
        let at = place(partition);
        // One pass over the partition, however many there are in it.
        let mut repeats = of_partition.iter().peekable();
        let rows = catalog.pairs(partition, first_row as u64, u64::MAX)?;
        for (row, pair) in (first_row..).zip(rows) {
            let Some((number, first)) = repeats.peek() else { break };
            let pair = pair?;
            if locate(&starts, (*number).into()).1 != row {
                continue;
            }
            let first_at = place(locate(&starts, (*first).into()).0);
            repeats.next();
            let rejection = repeated(pair, &at, &first_at)?;
            if strict {
                return Err(EngineError::Strict(Box::new(rejection)));
            }
            books.reject(&rejection);
            lines.push(&rejection)?;
            if let Some(row) = partitions.get_mut(partition).and_then(|rows| rows.get_mut(row)) {
                row.dropped = true;
            }
        }
    }
    lines.close()?;
    Ok(())
}

/// The numbers of pairs whose id another before them has, and of the first that has it; in order.
pub(crate) fn repeated_ids(ids: &[u128]) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..u32::try_from(ids.len()).unwrap_or(u32::MAX)).collect();
    let id = |number: &u32| ids.get(*number as usize).copied();
    // Stable, so that of pairs with one id the first stays first.
    order.sort_by_key(id);
    let mut repeats: Vec<(u32, u32)> = Vec::new();
    for same in order.chunk_by(|a, b| id(a) == id(b)) {
        if let [first, others @ ..] = same {
            repeats.extend(others.iter().map(|other| (*other, *first)));
        }
    }
    repeats.sort_unstable();
    repeats
}

/// A pair whose id another has: rejected within a source, an error between two.
fn repeated(pair: EditPair, at: &Place, first: &Place) -> Result<Rejection, EngineError> {
    if at.source != first.source {
        let (first, second) = (first.to_string(), at.to_string());
        return Err(EngineError::SameId { pair_id: pair.pair_id, first, second });
    }
    Ok(Rejection {
        kind: "duplicate_pair_id".to_owned(),
        cause: format!("a pair before it, in {first}, has the same id"),
        at: at.clone(),
        dataset: pair.dataset,
        subset: pair.subset,
        pair_id: Some(pair.pair_id),
        native: pair.native,
    })
}

/// Partition and row of a pair, from its number among all pairs.
fn locate(starts: &[u64], number: u64) -> (usize, usize) {
    let partition = starts.partition_point(|start| *start <= number).saturating_sub(1);
    let start = starts.get(partition).copied().unwrap_or(0);
    (partition, usize::try_from(number - start).unwrap_or(usize::MAX))
}

/// Takes out what lies beyond the limit.
fn drop_beyond(
    catalog: &Catalog,
    partitions: &mut [Vec<PlanRow>],
    limit: Option<u64>,
    books: &mut Books,
) -> Result<(), EngineError> {
    let Some(limit) = limit else { return Ok(()) };
    let mut taken = 0;
    for (partition, rows) in partitions.iter_mut().enumerate() {
        let mut dropped = Vec::new();
        for (number, row) in rows.iter_mut().enumerate().filter(|(_, row)| !row.dropped) {
            if taken < limit {
                taken += 1;
            } else {
                row.dropped = true;
                dropped.push(number);
            }
        }
        let Some(first) = dropped.first().copied() else { continue };
        // The books are by dataset and subset, which the pairs know.
        let mut dropped = dropped.into_iter().peekable();
        for (number, pair) in (first..).zip(catalog.pairs(partition, first as u64, u64::MAX)?) {
            let pair = pair?;
            if dropped.next_if_eq(&number).is_some() {
                books.filter(&pair, LIMIT);
            }
        }
    }
    Ok(())
}

/// Cuts the atoms into units, split by split where splits are `divided`. Units of one split are
/// about the same size, so that threads end together and no shard is a scrap.
fn cut(partitions: &[Vec<PlanRow>], shard_size: u64, divided: bool) -> Vec<UnitPlan> {
    let mut units = Vec::new();
    let each: Vec<_> = Split::ALL.iter().copied().map(Some).collect();
    for split in if divided { each } else { vec![None] } {
        let rows = || {
            partitions.iter().enumerate().flat_map(|(partition, rows)| {
                let numbered = (0_u64..).zip(rows);
                let of_split = move |row: &PlanRow| split.is_none_or(|split| row.split == split);
                numbered.filter(move |(_, row)| !row.dropped && of_split(row)).map(
                    move |(number, row)| {
                        (u32::try_from(partition).unwrap_or(u32::MAX), number, row)
                    },
                )
            })
        };
        let total: u64 = rows().fold(0, |sum, (_, _, row)| sum.saturating_add(row.weight));
        let count = total.div_ceil(shard_size.max(1)).max(1);
        let share = total.div_ceil(count);
        let mut unit = UnitPlan { split, pairs: 0, bytes: 0, runs: Vec::new() };
        let mut atom = Atom::default();
        for (partition, number, row) in rows() {
            if !(row.continues && atom.is_continued_by(partition, number)) {
                unit.take(&mut atom, share, &mut units);
            }
            atom.push(partition, number, row.weight);
        }
        unit.take(&mut atom, share, &mut units);
        if unit.pairs > 0 {
            units.push(unit);
        }
    }
    units
}

/// Rows of one partition that stay together.
#[derive(Default)]
struct Atom {
    rows: Option<Run>,
    weight: u64,
}

impl Atom {
    fn is_continued_by(&self, partition: u32, number: u64) -> bool {
        let next = |run: Run| run.partition == partition && run.first + run.count == number;
        self.rows.is_some_and(next)
    }

    fn push(&mut self, partition: u32, number: u64, weight: u64) {
        let run = self.rows.get_or_insert(Run { partition, first: number, count: 0 });
        run.count += 1;
        self.weight = self.weight.saturating_add(weight);
    }
}

impl UnitPlan {
    /// Takes an atom, and begins the next unit first where this one has its share.
    fn take(&mut self, atom: &mut Atom, share: u64, done: &mut Vec<Self>) {
        let Atom { rows: Some(run), weight } = std::mem::take(atom) else { return };
        // Half an atom too much is as good as half an atom too little.
        if self.pairs > 0 && self.bytes.saturating_add(weight / 2) > share {
            let next = Self { split: self.split, pairs: 0, bytes: 0, runs: Vec::new() };
            done.push(std::mem::replace(self, next));
        }
        match self.runs.last_mut() {
            Some(last)
                if last.partition == run.partition && last.first + last.count == run.first =>
            {
                last.count += run.count;
            }
            _ => self.runs.push(run),
        }
        self.pairs += run.count;
        self.bytes = self.bytes.saturating_add(weight);
    }
}

impl Plan {
    /// Bytes that the output takes, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.units.iter().map(|unit| unit.bytes).sum()
    }

    /// The datasets whose pairs are in the units.
    #[must_use]
    pub fn datasets(&self) -> BTreeSet<String> {
        let lines = self.books.clone().lines();
        let planned =
            lines.filter(|line| line.book.read > line.book.filtered_out() + line.book.rejections());
        planned.map(|line| line.dataset).collect()
    }

    /// The place of a unit's first pair among those of its split, from 0; among all where units
    /// hold pairs of every split.
    #[must_use]
    pub fn first_row(&self, unit: u32) -> u64 {
        let before = self.units.get(..unit as usize).unwrap_or(&self.units);
        let split = self.units.get(unit as usize).and_then(|unit| unit.split);
        before.iter().filter(|unit| unit.split == split).map(|unit| unit.pairs).sum()
    }

    /// Pairs in the units.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.units.iter().map(|unit| unit.pairs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(weight: u64, split: Split, continues: bool) -> PlanRow {
        PlanRow { weight, split, continues, dropped: false }
    }

    fn told(units: &[UnitPlan]) -> Vec<String> {
        let run = |run: &Run| format!("{}:{}+{}", run.partition, run.first, run.count);
        units
            .iter()
            .map(|unit| {
                let runs: Vec<_> = unit.runs.iter().map(run).collect();
                let split = unit.split.map_or("all", Split::word);
                format!("{split} {} {}", unit.bytes, runs.join(" "))
            })
            .collect()
    }

    #[test]
    fn units_are_even_and_follow_the_splits() {
        let train = |weight| row(weight, Split::Train, false);
        let partitions = vec![
            vec![train(10), row(7, Split::Test, false), train(10)],
            vec![],
            vec![train(10), train(10), row(7, Split::Val, false)],
        ];
        assert_eq!(
            told(&cut(&partitions, 25, true)),
            ["train 20 0:0+1 0:2+1", "train 20 2:0+2", "val 7 2:2+1", "test 7 0:1+1"]
        );
        assert_eq!(told(&cut(&partitions, 1, true)).len(), 6);
        assert_eq!(told(&cut(&partitions, 1000, true))[0], "train 40 0:0+1 0:2+1 2:0+2");
        assert!(cut(&[vec![]], 5, true).is_empty());
        assert_eq!(
            told(&cut(&partitions, 30, false)),
            ["all 27 0:0+3", "all 27 2:0+3"],
            "pairs of every split, in their order"
        );
    }

    #[test]
    fn atoms_are_never_cut_but_by_what_is_dropped() {
        let mut rows: Vec<_> = (0..6).map(|i| row(10, Split::Train, i % 3 != 0)).collect();
        assert_eq!(told(&cut(&[rows], 10, true)), ["train 30 0:0+3", "train 30 0:3+3"]);
        rows = (0..6).map(|i| row(10, Split::Train, i % 3 != 0)).collect();
        rows[1].dropped = true;
        let units = told(&cut(&[rows], 10, true));
        assert_eq!(units, ["train 10 0:0+1", "train 10 0:2+1", "train 30 0:3+3"]);
    }

    #[test]
    fn a_pair_is_found_by_its_number() {
        let starts = [0, 3, 3, 5];
        let found: Vec<_> = (0..7).map(|number| locate(&starts, number)).collect();
        assert_eq!(found, [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (3, 0), (3, 1)]);
    }
}
