//! What pictures have in common: what is excluded, splits, and duplicates.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use diptych_format::Notice;
use diptych_format::written::{DUPLICATES, SPLITS};
use diptych_pixels::near::NearIndex;
use diptych_schema::{Address, Split};
use diptych_storage::output::WriteTree;
use serde::Serialize;

use super::choose::{Reason, Steps, read_releases};
use super::duplicates::{Compared, Dropped, Seen, duplicates};
use super::pool::Pool;
use super::repeats::Refused;
use super::report::{Collision, ExcludedReport, SplitsReport};
use super::splits::{Decided, Member, Pin, Rules, SplitRow, SplitsWriter, Told, decide, read_pins};
use super::survey::{Names, Needs, survey};
use super::write::ids_of;
use super::{Same, SelectError, anchors};

use crate::error::EngineError;
use crate::hashes::{CacheFolder, Hashed, Hashing, Level, PictureHash, hash_pictures};
use crate::input::Input;
use crate::observe::Event;
use crate::plan::id_digest;
use crate::work::{self, EXCLUDED, damaged};

/// What was found of pictures, for what is written at the end.
#[derive(Default)]
pub(super) struct Decisions {
    members: Vec<Member>,
    components: Vec<u128>,
    dropped: Vec<Dropped>,
}

/// Hashes of the pictures of rows, by row.
#[derive(Default)]
struct Hashes {
    source: Vec<Option<PictureHash>>,
    target: Vec<Option<PictureHash>>,
}

fn of<T: Copy>(all: &[Option<T>], row: u32) -> Option<T> {
    all.get(row as usize).copied().flatten()
}

/// What the source picture of a row is told by. More may be known of it, where duplicates are looked
/// for as well.
fn seen(hashes: &Hashes, row: u32, same: Same) -> Option<PictureHash> {
    let hash = of(&hashes.source, row)?;
    match same {
        Same::Place => None,
        Same::Level(Level::Bytes) => Some(PictureHash { pixels: None, near: None, ..hash }),
        Same::Level(Level::Pixels) => Some(PictureHash { near: None, ..hash }),
        Same::Level(Level::Near(_)) => Some(hash),
    }
}

impl Steps<'_> {
    /// Drops what is excluded, decides splits, and drops duplicates.
    pub(super) fn compare_pictures(&mut self) -> Result<(), EngineError> {
        let asked = self.asked();
        let (splits, excludes) = (asked.splits(), !self.job.excluded.is_empty());
        let same = asked.same.unwrap_or(Same::Level(Level::Bytes));
        let by_source = match same {
            Same::Level(level) if splits || excludes => Some(level),
            _ => None,
        };
        let dedup = asked.dedup.as_ref().map(|dedup| (dedup.level, dedup.on));
        // One pass over the pictures serves all.
        let level = [by_source, dedup.map(|(level, _)| level)].into_iter().flatten();
        let level = level.max_by_key(|level| match level {
            Level::Bytes => 0,
            Level::Pixels => 1,
            Level::Near(_) => 2,
        });
        let kept: Vec<u32> = self.kept().collect();
        let mut hashes = Hashes::default();
        if let Some(level) = level {
            let source = by_source.is_some() || dedup.is_some_and(|(_, on)| on.uses_source());
            let target = dedup.is_some_and(|(_, on)| on.uses_target());
            hashes = self.hash(&kept, level, source, target)?;
        }
        if excludes {
            self.exclude(same, &hashes)?;
        }
        if splits {
            self.decide_splits(same, &hashes)?;
        }
        if let Some((level, _)) = dedup {
            self.drop_duplicates(level, &hashes)?;
        }
        Ok(())
    }

    fn hash(
        &mut self,
        kept: &[u32],
        level: Level,
        source: bool,
        target: bool,
    ) -> Result<Hashes, EngineError> {
        let mut places: Vec<(u32, bool)> = Vec::new();
        let mut addresses: Vec<Address> = Vec::new();
        for row in kept {
            if let Some(address) = self.rows.source.get(*row as usize).filter(|_| source) {
                places.push((*row, false));
                addresses.push(address.clone());
            }
            if let Some(Some(address)) = self.rows.target.get(*row as usize).filter(|_| target) {
                places.push((*row, true));
                addresses.push(address.clone());
            }
        }
        let Hashed { hashes: found, undecoded, notices, .. } =
            hash_of(self, self.pool, self.job.inputs, work::READ, &addresses, level)?;
        self.tell(notices);
        for (why, count) in undecoded {
            *self.report.by_bytes_only.entry(why.to_owned()).or_default() += count;
        }
        let mut hashes = Hashes {
            source: vec![None; if source { self.rows.len() } else { 0 }],
            target: vec![None; if target { self.rows.len() } else { 0 }],
        };
        for ((row, is_target), hash) in places.into_iter().zip(found) {
            let side = if is_target { &mut hashes.target } else { &mut hashes.source };
            if let Some(of) = side.get_mut(row as usize) {
                *of = hash;
            }
        }
        Ok(hashes)
    }

    /// Tells what became of hashes that are kept. It decides nothing, so the report does not have it.
    fn tell(&self, notices: Vec<Notice>) {
        let told = notices.into_iter().map(Event::Noticed);
        told.for_each(|event| self.job.observer.event(event));
    }

    /// Drops what shares a source picture with what is excluded.
    fn exclude(&mut self, same: Same, hashes: &Hashes) -> Result<(), EngineError> {
        let read = read_releases(self.job, self.job.excluded, self.out, EXCLUDED)?;
        let pool = Pool::new(self.job.excluded, read.as_ref())?;
        let needs = Needs { source: true, ..Needs::default() };
        let rows = survey(&pool, None, needs, self.job.observer, self.job.request.jobs)?;
        for (number, label) in pool.names.iter().enumerate() {
            let parts = pool.parts.iter().filter(|part| part.input == number);
            let pairs = parts.map(|part| part.pairs).sum();
            self.report.excluded.push(ExcludedReport { label: label.clone(), pairs });
        }
        let mut nodes: HashSet<u128> = HashSet::new();
        let mut near: Vec<u64> = Vec::new();
        match same {
            Same::Place => {
                nodes.extend(rows.source.iter().map(|of| anchors::place(&pool.files, of)));
            }
            Same::Level(level) => {
                let Hashed { hashes, notices, .. } =
                    hash_of(self, &pool, self.job.excluded, EXCLUDED, &rows.source, level)?;
                self.tell(notices);
                for hash in hashes.into_iter().flatten() {
                    nodes.extend(nodes_of(hash));
                    near.extend(hash.near.filter(|_| matches!(level, Level::Near(_))));
                }
            }
        }
        let distance = distance_of(same);
        let mut index = NearIndex::new(distance, near.len()).map_err(SelectError::from)?;
        for hash in near {
            index.insert(hash);
        }
        let kept: Vec<u32> = self.kept().collect();
        for row in kept {
            let hash = seen(hashes, row, same);
            let place = || {
                self.rows.source.get(row as usize).map(|of| anchors::place(&self.pool.files, of))
            };
            let is_excluded = match hash {
                Some(hash) => {
                    nodes_of(hash).any(|node| nodes.contains(&node))
                        || hash.near.is_some_and(|hash| index.near(hash).next().is_some())
                }
                None => same == Same::Place && place().is_some_and(|node| nodes.contains(&node)),
            };
            if is_excluded {
                self.drop_row(row, Reason::Excluded);
            }
        }
        drop(pool);
        self.out.remove(&work::path(EXCLUDED)?)?;
        Ok(())
    }

    fn decide_splits(&mut self, same: Same, hashes: &Hashes) -> Result<(), EngineError> {
        let kept: Vec<u32> = self.kept().collect();
        let mut datasets: Names<String> = Names::default();
        let books = self.rows.books.names.iter();
        let of_book: Vec<u32> =
            books.map(|(dataset, _)| datasets.number(dataset.clone())).collect();
        let is_near = matches!(same, Same::Level(Level::Near(_)));
        let members: Vec<Member> =
            kept.iter().map(|row| self.member(*row, seen(hashes, *row, same), &of_book)).collect();
        let asked = self.asked();
        let mut pins = match &asked.split_file {
            Some(file) => read_pins(file)?,
            None => Vec::new(),
        };
        if !is_near {
            pins.iter_mut().for_each(|pin| pin.near = None);
        }
        let rules =
            Rules { shares: asked.shares.as_ref(), pins: &pins, distance: distance_of(same) };
        let Decided {
            splits,
            components,
            conflicts,
            count,
            largest,
            pinned,
            contested,
            disagreements,
            collisions,
        } = decide(&members, &rules).map_err(SelectError::from)?;
        let row_of = |member: u32| kept.get(member as usize).copied().unwrap_or_default();
        for (member, cause) in conflicts {
            self.refuse(Refused { row: row_of(member), kind: "split_conflict", cause });
        }
        let mut by_row = vec![None; self.rows.len()];
        for (row, split) in kept.iter().zip(splits) {
            if let Some(of) = by_row.get_mut(*row as usize) {
                *of = split;
            }
        }
        self.splits = Some(by_row);
        let told: Vec<&Told> = disagreements.1.iter().chain(&collisions.1).collect();
        let wanted: BTreeSet<u32> =
            told.iter().flat_map(|told| &told.members).map(|member| row_of(*member)).collect();
        let ids = ids_of(self.pool, &self.rows, &wanted)?;
        let collision = |told: &Told| Collision {
            datasets: told
                .datasets
                .iter()
                .filter_map(|number| datasets.names.get(*number as usize).cloned())
                .collect(),
            released: told.released.iter().map(|split| split.word().to_owned()).collect(),
            split: told.split.map(|split| split.word().to_owned()),
            pairs: told.members.iter().filter_map(|of| ids.get(&row_of(*of)).cloned()).collect(),
            count: told.count,
        };
        self.report.splits = Some(SplitsReport {
            components: count,
            largest,
            // Counted once it is known what is taken.
            pairs: BTreeMap::new(),
            pinned,
            contested,
            disagreements: disagreements.0,
            first_disagreements: disagreements.1.iter().map(collision).collect(),
            collisions: collisions.0,
            first_collisions: collisions.1.iter().map(collision).collect(),
        });
        // By row, for the table of splits.
        self.decisions.members = vec![Member::default(); self.rows.len()];
        self.decisions.components = vec![anchors::NONE; self.rows.len()];
        for ((row, member), component) in kept.iter().zip(members).zip(components) {
            if let Some(of) = self.decisions.members.get_mut(*row as usize) {
                *of = member;
            }
            if let Some(of) = self.decisions.components.get_mut(*row as usize) {
                *of = component;
            }
        }
        Ok(())
    }

    fn member(&self, row: u32, hash: Option<PictureHash>, datasets: &[u32]) -> Member {
        let rows = &self.rows;
        let digest = |all: &[u128]| all.get(row as usize).copied().unwrap_or_default();
        let place = || {
            rows.source
                .get(row as usize)
                .map_or(anchors::NONE, |of| anchors::place(&self.pool.files, of))
        };
        let (source, pixels) = match hash {
            Some(hash) => {
                let pixels = hash.pixels.map_or(anchors::NONE, anchors::pixels);
                (anchors::bytes(hash.bytes), pixels)
            }
            None => (place(), anchors::NONE),
        };
        let inverse = match digest(&rows.inverse_of) {
            anchors::NONE => anchors::NONE,
            id => anchors::pair(id),
        };
        let book = rows.book.get(row as usize).copied().unwrap_or_default();
        Member {
            anchors: [source, pixels, digest(&rows.session), digest(&rows.group)],
            ties: [anchors::pair(digest(&rows.id)), inverse],
            near: hash.and_then(|hash| hash.near),
            split: of(&rows.split, row),
            dataset: datasets.get(book as usize).copied().unwrap_or_default(),
        }
    }

    fn drop_duplicates(&mut self, level: Level, hashes: &Hashes) -> Result<(), EngineError> {
        let Some(dedup) = &self.asked().dedup else { return Ok(()) };
        let seen = |hash: PictureHash| match (level, hash) {
            (Level::Near(_), PictureHash { near: Some(near), .. }) => Seen::Nearly(near),
            (Level::Pixels | Level::Near(_), PictureHash { pixels: Some(pixels), .. }) => {
                Seen::Exactly(anchors::pixels(pixels))
            }
            (_, PictureHash { bytes, .. }) => Seen::Exactly(anchors::bytes(bytes)),
        };
        let compared = |row: u32| {
            let source = of(&hashes.source, row).map(seen).filter(|_| dedup.on.uses_source());
            let target = of(&hashes.target, row).map(seen).filter(|_| dedup.on.uses_target());
            let both = dedup.on.uses_source() && dedup.on.uses_target();
            let (first, second) = match (source, target) {
                (Some(source), Some(target)) => (source, Some(target)),
                (Some(one), None) | (None, Some(one)) if !both => (one, None),
                // What cannot be read is no duplicate of anything.
                _ => return None,
            };
            let instruction = self.rows.instruction.get(row as usize).copied().unwrap_or_default();
            let prefer = self.rows.prefer.get(row as usize).copied().unwrap_or(f64::NAN);
            Some(Compared { row, first, second, instruction, prefer })
        };
        let pairs: Vec<Compared> = self.kept().filter_map(compared).collect();
        let distance = distance_of(Same::Level(level));
        let dropped = duplicates(&pairs, distance).map_err(SelectError::from)?;
        self.report.duplicates = Some(dropped.len() as u64);
        for of in &dropped {
            self.drop_row(of.row, Reason::Duplicate);
        }
        self.decisions.dropped = dropped;
        Ok(())
    }

    /// Writes the table of splits and the list of duplicates, for pairs with these ids.
    pub(super) fn write_decisions(
        &mut self,
        at: &str,
        ids: &[Vec<String>],
    ) -> Result<(), EngineError> {
        let decisions = std::mem::take(&mut self.decisions);
        self.write_splits(at, ids, &decisions)?;
        if self.asked().dedup.is_some() {
            let wanted = decisions.dropped.iter().flat_map(|of| [of.row, of.kept]).collect();
            let ids = ids_of(self.pool, &self.rows, &wanted)?;
            let name = format!("{at}/{DUPLICATES}");
            let mut list = self.out.stage(&work::path(&name)?)?;
            for Dropped { row, kept, distance } in decisions.dropped {
                let id = |row| ids.get(&row).map_or("", String::as_str);
                let line = Duplicate { pair_id: id(row), kept: id(kept), distance };
                let mut line = serde_json::to_vec(&line).map_err(|e| damaged(&name, e))?;
                line.push(b'\n');
                list.write(&line)?;
            }
            list.close()?;
        }
        Ok(())
    }
}

impl Steps<'_> {
    /// Writes the table of splits, where they were decided, here or for a catalog that is a source.
    fn write_splits(
        &self,
        at: &str,
        ids: &[Vec<String>],
        decisions: &Decisions,
    ) -> Result<(), EngineError> {
        let earlier = match &self.splits {
            Some(_) => BTreeMap::new(),
            None => self.earlier_splits()?,
        };
        let decided = |row: u32| match &self.splits {
            Some(splits) => of(splits, row),
            None => {
                self.rows.id.get(row as usize).and_then(|id| earlier.get(id)).map(|of| of.split)
            }
        };
        if self.splits.is_none() && earlier.is_empty() {
            return Ok(());
        }
        let mut table = SplitsWriter::create(self.out, &format!("{at}/{SPLITS}"))?;
        // Split by split, as outputs are.
        let written = |row: u32| decided(row).unwrap_or(Split::Train);
        let pairs = || self.taken.iter().zip(ids.iter().flatten());
        let pairs = Split::ALL
            .iter()
            .flat_map(|split| pairs().filter(move |(taken, _)| written(taken.row) == *split));
        for (taken, pair_id) in pairs {
            let row = taken.row as usize;
            let book = self.rows.book.get(row).copied().unwrap_or_default();
            let dataset = self.rows.books.names.get(book as usize);
            let id = self.rows.id.get(row).copied().unwrap_or_default();
            let (component, anchors, near) = match earlier.get(&id) {
                Some(pin) => (pin.component, pin.anchors.clone(), pin.near),
                None => {
                    let member = match &self.splits {
                        Some(_) => decisions.members.get(row).copied().unwrap_or_default(),
                        None => self.tied_by_names(row),
                    };
                    let anchors = member.anchors.into_iter().filter(|of| *of != anchors::NONE);
                    let component = decisions.components.get(row).copied();
                    (component, anchors.collect(), member.near)
                }
            };
            table.push(SplitRow {
                pair_id: pair_id.clone(),
                dataset: dataset.map(|(dataset, _)| dataset.clone()).unwrap_or_default(),
                split: decided(taken.row),
                component: component.unwrap_or_else(|| anchors::pair(id)),
                anchors,
                near,
            })?;
        }
        table.close()
    }

    /// What ties a pair to others of which no split was decided.
    fn tied_by_names(&self, row: usize) -> Member {
        let digest = |all: &[u128]| all.get(row).copied().unwrap_or_default();
        let (session, group) = (digest(&self.rows.session), digest(&self.rows.group));
        Member { anchors: [session, group, anchors::NONE, anchors::NONE], ..Member::default() }
    }

    /// What was decided for catalogs that are sources, by the digests of ids.
    fn earlier_splits(&self) -> Result<BTreeMap<u128, Pin>, EngineError> {
        let mut earlier = BTreeMap::new();
        for input in self.job.inputs {
            let Input::Catalog(given) = input else { continue };
            let path = given.catalog.root().join(SPLITS);
            if has_splits(input) {
                let pins = read_pins(&path)?;
                earlier.extend(pins.into_iter().map(|pin| (id_digest(&pin.pair_id), pin)));
            }
        }
        Ok(earlier)
    }
}

/// Whether splits were decided for a catalog that is a source.
pub(super) fn has_splits(input: &Input) -> bool {
    match input {
        Input::Release(_) => false,
        Input::Catalog(of) => {
            of.catalog.head().selected.is_some() && of.catalog.root().join(SPLITS).is_file()
        }
    }
}

/// A line of the list of duplicates.
#[derive(Serialize)]
struct Duplicate<'a> {
    pair_id: &'a str,
    kept: &'a str,
    /// In how many bits perceptual hashes differ.
    distance: u32,
}

fn distance_of(same: Same) -> u32 {
    match same {
        Same::Level(Level::Near(distance)) => distance,
        _ => 0,
    }
}

/// What a picture is told to be the same by, besides what is near it.
fn nodes_of(hash: PictureHash) -> impl Iterator<Item = u128> {
    std::iter::once(anchors::bytes(hash.bytes)).chain(hash.pixels.map(anchors::pixels))
}

/// Hashes pictures of a pool. What was found is kept beside the catalogs that are sources, and beside
/// the one that releases were read into, which is in the working folder.
fn hash_of(
    steps: &Steps<'_>,
    pool: &Pool<'_>,
    inputs: &[Input],
    read: &str,
    addresses: &[Address],
    level: Level,
) -> Result<Hashed, EngineError> {
    let request = steps.job.request;
    let mut caches = Vec::new();
    let mut own: BTreeMap<String, String> = BTreeMap::new();
    for input in inputs {
        match input {
            Input::Release(release) => {
                let label = release.terms.label.clone();
                own.insert(label.clone(), label);
            }
            Input::Catalog(catalog) => caches.push(CacheFolder {
                folder: catalog.catalog.root().to_path_buf(),
                labels: catalog
                    .labels()
                    .clone()
                    .into_iter()
                    .map(|(there, here)| (here, there))
                    .collect(),
            }),
        }
    }
    if !own.is_empty() {
        let folder = work::path(read)?.under(steps.out.root());
        caches.push(CacheFolder { folder, labels: own });
    }
    let hashing = Hashing {
        level,
        limits: request.limits,
        jobs: request.jobs,
        observer: steps.job.observer,
        caches: &caches,
        durable: request.durable,
    };
    let moved = pool.moved(&request.roots);
    hash_pictures(&pool.pictures(&moved, request.limits)?, addresses, &hashing)
}
