//! Groups of hashes that are near each other, found among all of them at once.
//!
//! Hashes are sorted by the bits of some pieces, as [`NearIndex`](super::NearIndex) has tables of
//! them, and only those with the same bits, which then lie beside each other, are compared. How
//! many pieces are chosen at once follows from the hashes: bits that depend on each other, or are
//! nearly always the same, divide less than they could. What is still together in large numbers
//! is divided again by the bits that are left.
//!
//! What is near one hash is in its group and need not be found again from there. So many hashes
//! that are all near each other are looked through a few times, and not each with each.

use super::{DistanceError, MOST_CHOSEN, combinations, place};

/// The groups of hashes that are near each other, or each near the next in some order: for each
/// hash the number of the first in its group. Equal hashes are near.
///
/// The time grows with how many hashes have the same bits in some pieces, which is seldom more
/// than with a multiple of their number. It is the square only where many are further from each
/// other than the distance, and yet differ in few bits all told.
///
/// # Errors
/// [`DistanceError`].
pub fn near_groups(hashes: &[u64], distance: u32) -> Result<Vec<u32>, DistanceError> {
    let distance = DistanceError::check(distance)?;
    // There are 2^32 hashes at the most: their memory ends before.
    let mut entries: Vec<Entry> =
        (0..).zip(hashes).map(|(id, hash)| Entry { hash: *hash, id }).collect();
    let mut groups = Groups { distance, parents: entries.iter().map(|entry| entry.id).collect() };
    groups.search(&mut entries, u64::MAX);
    Ok((0..).zip(hashes).map(|(id, _)| groups.root(id)).collect())
}

/// A hash and its number.
#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    id: u32,
}

/// Union-find over the numbers of hashes.
struct Groups {
    distance: u32,
    parents: Vec<u32>,
}

/// How often each hash may be compared before hashes are divided.
const EFFORT: usize = 64;

/// Comparisons that take as long as to sort one hash into its place.
const SORTING: u64 = 40;

/// Hashes that are looked at to know how others lie together.
const SAMPLE: usize = 1 << 14;

/// Tables that are looked at to know how hashes lie together in others.
const SAMPLE_TABLES: usize = 8;

impl Groups {
    /// Ties all that are near, where the bits that are not free are the same in nearly all.
    fn search(&mut self, entries: &mut [Entry], free: u64) {
        let done = self.compare(entries, EFFORT * entries.len());
        let Some(entries) = entries.get_mut(done..).filter(|rest| rest.len() > 1) else { return };
        let Some(masks) = self.masks(entries, free) else {
            self.compare(entries, usize::MAX);
            return;
        };
        let mut keys: Vec<u64> = Vec::with_capacity(entries.len());
        let mut sorted: Vec<Entry> = Vec::with_capacity(entries.len());
        for mask in masks {
            keys.clear();
            keys.extend((0..).zip(&*entries).map(|(at, entry)| key(entry.hash, mask) | at));
            keys.sort_unstable();
            sorted.clear();
            sorted.extend(keys.iter().filter_map(|key| entries.get(position(*key))));
            let mut rest = sorted.as_mut_slice();
            for together in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
                let (these, others) = rest.split_at_mut(together.len());
                rest = others;
                if these.len() > 1 {
                    self.search(these, free & !mask);
                }
            }
        }
    }

    /// Compares hashes with each other and ties those that are near, until all are or it was done
    /// so many times. Those at the front, as many as it gives, need not be compared again.
    fn compare(&mut self, entries: &mut [Entry], mut most: usize) -> usize {
        // Those before `done` were compared with all after them; those from there to `reached` are
        // tied to one of them.
        let (mut done, mut reached) = (0, 0);
        while let Some(Entry { hash, id }) = entries.get(done).copied() {
            reached = reached.max(done + 1);
            let Some(left) = most.checked_sub(entries.len() - reached) else { break };
            most = left;
            let (first, mut at) = (reached, reached);
            let near = |entry: &Entry| (entry.hash ^ hash).count_ones() <= self.distance;
            while let Some(found) = entries.get(at..).and_then(|rest| rest.iter().position(near)) {
                at += found;
                entries.swap(at, reached);
                reached += 1;
                at += 1;
            }
            done += 1;
            let tied = entries.get(first..reached).unwrap_or_default();
            tied.iter().for_each(|other| self.union(id, other.id));
        }
        done
    }

    /// The bits of each table that makes the least work; `None` where that is to compare all.
    fn masks(&self, entries: &[Entry], free: u64) -> Option<Vec<u64>> {
        let count = entries.len() as u64;
        let step = entries.len().div_ceil(SAMPLE);
        let sample: Vec<u64> = entries.iter().step_by(step).map(|entry| entry.hash).collect();
        let together = |mask: &u64| {
            let mut keys: Vec<u64> = sample.iter().map(|hash| key(*hash, *mask)).collect();
            keys.sort_unstable();
            let sizes = keys.chunk_by(|a, b| a == b).map(|these| these.len() as u64);
            sizes.map(|size| size * (size - 1) / 2).sum::<u64>()
        };
        let work = |masks: &Vec<u64>| {
            let tables = masks.len() as u64;
            let some: Vec<u64> =
                masks.iter().step_by(masks.len().div_ceil(SAMPLE_TABLES)).map(together).collect();
            let pairs = some.iter().sum::<u64>() * (step * step) as u64 / some.len() as u64;
            tables * (count * SORTING + pairs)
        };
        let choices = (1..=MOST_CHOSEN).filter_map(|chosen| masks(free, self.distance, chosen));
        let best = choices.map(|masks| (work(&masks), masks)).min_by_key(|(work, _)| *work);
        best.filter(|(work, _)| *work < count * count / 4).map(|(_, masks)| masks)
    }

    fn root(&mut self, id: u32) -> u32 {
        let mut at = id;
        loop {
            let parent = self.parent(at);
            if parent == at {
                return at;
            }
            // Each is tied to the one after the next, which keeps paths short.
            let next = self.parent(parent);
            if let Some(of) = self.parents.get_mut(at as usize) {
                *of = next;
            }
            at = next;
        }
    }

    fn parent(&self, id: u32) -> u32 {
        self.parents.get(id as usize).copied().unwrap_or(id)
    }

    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        // The first of a group stands for it, in whatever order they are tied.
        if let Some(parent) = self.parents.get_mut(a.max(b) as usize) {
            *parent = a.min(b);
        }
    }
}

/// The bits of a hash under a mask, in the upper half of a number: the same where those are, and
/// seldom where not.
fn key(hash: u64, mask: u64) -> u64 {
    (hash & mask).wrapping_mul(super::SPREAD) & !u64::from(u32::MAX)
}

/// The place in the lower half of a key.
fn position(key: u64) -> usize {
    usize::try_from(key & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}

/// The bits of the tables by which hashes are found that differ in `distance` of the free bits at
/// most; `None` where there are less free bits than pieces.
fn masks(free: u64, distance: u32, chosen: u32) -> Option<Vec<u64>> {
    let number = distance + chosen;
    let bits: Vec<u64> =
        (0..u64::BITS).map(|bit| 1 << place(bit)).filter(|bit| free & bit != 0).collect();
    if bits.len() < number as usize {
        return None;
    }
    let piece = |i: usize| bits.len() * i / number as usize;
    let pieces: Vec<u64> = (0..number as usize)
        .map(|i| bits.get(piece(i)..piece(i + 1)).unwrap_or_default().iter().sum())
        .collect();
    let mask = |set: u32| {
        let of = (0_u32..).zip(&pieces).filter(|(i, _)| set >> i & 1 == 1);
        of.fold(0, |mask, (_, piece)| mask | piece)
    };
    Some(combinations(number, chosen).map(mask).collect())
}

#[cfg(test)]
mod tests;
