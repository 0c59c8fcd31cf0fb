//! Pictures read in the order in which they lie, and hashed.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use diptych_format::Payload;
use diptych_pixels::{DecodeError, DecodeLimits, Fingerprint, fingerprint};
use diptych_schema::Address;
use diptych_storage::{Limits, ReadAt};

use super::cache::Kept;
use super::{Hashed, Hashing, Level, PictureHash};
use crate::error::EngineError;
use crate::observe::{Event, go_on};
use crate::run::pool;
use crate::source::Sources;

/// Bytes of one read: what fits where a core still has it when it hashes it.
const WINDOW: usize = 1 << 20;

/// Bytes between two pictures that are read along with them: less than a further read costs.
const GAP: u64 = 64 << 10;

/// Bytes and pictures that one thread takes at a time.
const SHARE: (u64, usize) = (32 << 20, 4096);

/// Where a picture lies. In this order it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) file: u32,
    /// Row group and column, where it is a cell.
    pub(super) cell: Option<(u32, u32)>,
    /// First byte, or number of the value.
    pub(super) at: u64,
    pub(super) length: u64,
}

impl Spot {
    fn of(address: &Address) -> Option<Self> {
        Some(match *address {
            Address::Range { file, offset, length } => {
                Self { file, cell: None, at: offset, length }
            }
            Address::Cell { file, row_group, column, row, length } => {
                Self { file, cell: Some((row_group, column)), at: row, length }
            }
            Address::Inline(_) | Address::Url { .. } => return None,
        })
    }

    fn address(self) -> Address {
        let Self { file, cell, at, length } = self;
        match cell {
            None => Address::Range { file, offset: at, length },
            Some((row_group, column)) => Address::Cell { file, row_group, column, row: at, length },
        }
    }

    fn end(self) -> u64 {
        self.at.saturating_add(self.length)
    }
}

/// What was found of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) bytes: u128,
    pub(super) seen: Seen,
}

/// What is known of what a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It was not decoded, since nobody asked for it.
    NotAsked,
    /// It cannot be decoded, and why.
    Refused(&'static str),
    Decoded(Fingerprint),
}

impl Found {
    /// Whether it says what is asked for.
    pub(super) fn serves(&self, level: Level) -> bool {
        !level.decodes() || self.seen != Seen::NotAsked
    }

    /// As much of it as is asked for, whatever else is known.
    fn hash(&self, level: Level) -> PictureHash {
        let shown = match self.seen {
            Seen::Decoded(shown) if level.decodes() => Some(shown),
            _ => None,
        };
        let near = shown.filter(|_| matches!(level, Level::Near(_))).and_then(|shown| shown.near);
        PictureHash { bytes: self.bytes, pixels: shown.map(|shown| shown.pixels), near }
    }
}

/// See [`super::hash_pictures`].
pub(super) fn hash(
    sources: &Sources,
    addresses: &[Address],
    hashing: &Hashing<'_>,
) -> Result<Hashed, EngineError> {
    let mut spots: Vec<_> = addresses.iter().filter_map(Spot::of).collect();
    spots.sort_unstable();
    spots.dedup();
    let mut kept = Kept::open(sources.files(), hashing);
    let (known, wanted) = kept.divide(&spots, hashing.level);
    let fresh = Reading { sources, hashing }.read(&wanted, &mut kept)?;
    let read = (wanted.len() as u64, wanted.iter().map(|spot| spot.length).sum());
    drop((spots, wanted));
    let mut found = known;
    found.extend(fresh);
    found.sort_unstable_by_key(|(spot, _)| *spot);
    let mut undecoded = BTreeMap::new();
    let mut count = |found: &Found| {
        if let Seen::Refused(why) = found.seen
            && hashing.level.decodes()
        {
            *undecoded.entry(why).or_default() += 1;
        }
    };
    found.iter().for_each(|(_, found)| count(found));
    let hash = |address: &Address| match (Spot::of(address), address) {
        (Some(spot), _) => {
            let at = found.binary_search_by_key(&spot, |(spot, _)| *spot).ok()?;
            Some(found.get(at)?.1.hash(hashing.level))
        }
        (None, Address::Inline(bytes)) => {
            let found = found_in(bytes, hashing);
            count(&found);
            Some(found.hash(hashing.level))
        }
        (None, _) => None,
    };
    let hashes = addresses.iter().map(hash).collect();
    Ok(Hashed { hashes, undecoded, read, notices: kept.notices })
}

/// What is to be known of a picture whose bytes are in memory.
fn found_in(bytes: &[u8], hashing: &Hashing<'_>) -> Found {
    let Limits { pixels, picture_bytes, .. } = hashing.limits;
    let seen = if hashing.level.decodes() && bytes.len() as u64 > picture_bytes {
        Seen::Refused(too_large(hashing))
    } else if hashing.level.decodes() {
        match fingerprint(bytes, DecodeLimits { pixels, bytes: picture_bytes }) {
            Ok(shown) => Seen::Decoded(shown),
            Err(error) => Seen::Refused(error.word()),
        }
    } else {
        Seen::NotAsked
    };
    Found { bytes: short(&blake3::hash(bytes)), seen }
}

/// Why a picture is not decoded whose file is too large.
fn too_large(hashing: &Hashing<'_>) -> &'static str {
    DecodeError::TooManyBytes { limit: hashing.limits.picture_bytes }.word()
}

/// The first half of a digest: enough that no two pictures of any dataset share it by chance.
pub(super) fn short(digest: &blake3::Hash) -> u128 {
    u128::from_be_bytes(digest.as_bytes().first_chunk().copied().unwrap_or_default())
}

struct Reading<'a> {
    sources: &'a Sources,
    hashing: &'a Hashing<'a>,
}

/// What all threads have read, and the first error of the lowest share.
struct Shared<'a> {
    kept: &'a mut Kept,
    error: Option<(usize, EngineError)>,
}

impl Reading<'_> {
    /// Reads what is at `spots`, which are in order, and keeps it.
    fn read(&self, spots: &[Spot], kept: &mut Kept) -> Result<Vec<(Spot, Found)>, EngineError> {
        self.hashing.observer.event(Event::Hashing {
            pictures: spots.len() as u64,
            bytes: spots.iter().map(|spot| spot.length).sum(),
        });
        let shares = shares(spots);
        let next = AtomicUsize::new(0);
        let shared = Mutex::new(Shared { kept, error: None });
        // Each thread takes the next share when it is done with one, so that all read on in order.
        pool(self.hashing.jobs, shares.len())?.broadcast(|_| {
            let mut buffer = vec![0; WINDOW];
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && let Some(share) = shares.get(number)
                && lock(&shared).error.is_none()
            {
                match self.share(share, &mut buffer) {
                    Ok(found) => lock(&shared).kept.enter(found),
                    Err(error) => {
                        let mut shared = lock(&shared);
                        if shared.error.as_ref().is_none_or(|(of, _)| number < *of) {
                            shared.error = Some((number, error));
                        }
                    }
                }
            }
        });
        let Shared { kept, error } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What was read before it stopped is not to be read again.
        let fresh = kept.close();
        error.map_or(Ok(fresh), |(_, error)| Err(error))
    }

    /// What is at the spots of a share, which are all in one file.
    fn share(
        &self,
        mut spots: &[Spot],
        buffer: &mut [u8],
    ) -> Result<Vec<(Spot, Found)>, EngineError> {
        let mut found = Vec::with_capacity(spots.len());
        let file = spots.first().map(|spot| spot.file);
        while let Some(&first) = spots.first() {
            go_on(self.hashing.observer)?;
            let (run, rest) = spots.split_at(run(spots));
            spots = rest;
            let failed = |error| self.sources.read_error(&first.address(), error);
            self.run(first, run, buffer, &mut found).map_err(failed)?;
            self.hashing.observer.event(Event::Hashed {
                pictures: run.len() as u64,
                bytes: run.iter().map(|spot| spot.length).sum(),
            });
        }
        // What was read of a file that is another by now is not kept as its own.
        self.sources.check_unchanged(file)?;
        Ok(found)
    }

    /// What is at the spots of a run, of which `first` is the first.
    fn run(
        &self,
        first: Spot,
        run: &[Spot],
        buffer: &mut [u8],
        found: &mut Vec<(Spot, Found)>,
    ) -> io::Result<()> {
        let payload = self.sources.payload(&first.address()).map_err(io::Error::other)?;
        // An address of a file is a range of it or of a cell.
        let Some(Payload::Range { file, offset, .. }) = payload else { return Ok(()) };
        let end = run.iter().map(|spot| spot.end()).max().unwrap_or_default();
        let span = if run.len() == 1 { first.length } else { end - first.at };
        let size = usize::try_from(span).unwrap_or(usize::MAX);
        if let Some(bytes) = buffer.get_mut(..size) {
            file.read_exact_at(offset, bytes)?;
            for &spot in run {
                let start = usize::try_from(spot.at - first.at).unwrap_or(usize::MAX);
                let all = bytes.get(start..).unwrap_or_default();
                let length = usize::try_from(spot.length).unwrap_or(usize::MAX);
                let picture = all.get(..length).unwrap_or_default();
                found.push((spot, found_in(picture, self.hashing)));
            }
            return Ok(());
        }
        let level = self.hashing.level;
        let picture = if level.decodes() && span <= self.hashing.limits.picture_bytes {
            let mut bytes = vec![0; size];
            file.read_exact_at(offset, &mut bytes)?;
            found_in(&bytes, self.hashing)
        } else {
            let bytes = digest(file.as_ref(), offset, span, buffer)?;
            let too_large = Seen::Refused(too_large(self.hashing));
            let seen = if level.decodes() { too_large } else { Seen::NotAsked };
            Found { bytes, seen }
        };
        found.push((first, picture));
        Ok(())
    }
}

/// The digest of a range that is not held in memory.
fn digest(file: &dyn ReadAt, mut at: u64, mut left: u64, buffer: &mut [u8]) -> io::Result<u128> {
    let mut digest = blake3::Hasher::new();
    while left > 0 {
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let part = buffer.get_mut(..size).unwrap_or_default();
        file.read_exact_at(at, part)?;
        digest.update(part);
        at += size as u64;
        left -= size as u64;
    }
    Ok(short(&digest.finalize()))
}

/// Spots in order, divided into what a thread takes at a time.
fn shares(spots: &[Spot]) -> Vec<&[Spot]> {
    let (most_bytes, most) = SHARE;
    let mut shares = Vec::new();
    for file in spots.chunk_by(|one, other| one.file == other.file) {
        let mut rest = file;
        while !rest.is_empty() {
            let mut bytes = 0_u64;
            let fits = |spot: &&Spot| {
                let before = bytes;
                bytes = bytes.saturating_add(spot.length);
                before < most_bytes
            };
            let (share, others) = rest.split_at(rest.iter().take(most).take_while(fits).count());
            shares.push(share);
            rest = others;
        }
    }
    shares
}

/// How many of these spots, the first of which is read anyway, are read at once.
fn run(spots: &[Spot]) -> usize {
    let Some(first) = spots.first() else { return 0 };
    let mut end = first.end();
    let joins = |spot: &&Spot| {
        let near = spot.at <= end.saturating_add(GAP);
        let all = spot.end().max(end) - first.at;
        end = end.max(spot.end());
        spot.cell.is_none() && near && all <= WINDOW as u64
    };
    if first.cell.is_some() { 1 } else { 1 + spots.iter().skip(1).take_while(joins).count() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
