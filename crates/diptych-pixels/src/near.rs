//! Perceptual hashes that are near each other: an index over numbers of 64 bits that finds all
//! within some bits of one, without looking at each.
//!
//! The bits are divided into pieces, `k` more of them than bits may differ. However those lie, at
//! least `k` pieces of two near hashes are the same. So there is a table for each choice of `k` of
//! the pieces, in which the hashes with the same bits there lie together, and only these are
//! compared. All that are near are found. The more pieces are chosen at once, the fewer hashes
//! lie together, and the more tables there are: `k` follows from how many hashes are expected.

mod groups;

use std::collections::HashMap;

pub use groups::near_groups;

/// The largest distance: of two unrelated pictures' hashes, some differ in little more.
pub const MOST_DISTANCE: u32 = 8;

/// A distance that perceptual hashes are not compared at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("perceptual hashes are compared at a distance from 0 to {MOST_DISTANCE}, not {0}")]
pub struct DistanceError(pub u32);

impl DistanceError {
    /// The distance, where it is one.
    ///
    /// # Errors
    /// It itself, beyond [`MOST_DISTANCE`].
    pub fn check(distance: u32) -> Result<u32, Self> {
        if distance <= MOST_DISTANCE { Ok(distance) } else { Err(Self(distance)) }
    }
}

/// A hash that is near another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near {
    /// What [`NearIndex::insert`] gave for it.
    pub id: u32,
    /// In how many bits they differ.
    pub distance: u32,
}

/// Hashes of 64 bits, found by those that are near them.
pub struct NearIndex {
    distance: u32,
    pieces: Vec<Piece>,
    tables: Vec<Table>,
    /// The number of each hash.
    exact: HashMap<u64, u32>,
}

/// Bits that are compared together.
#[derive(Clone, Copy)]
struct Piece {
    shift: u32,
    bits: u32,
}

impl Piece {
    fn mask(self) -> u64 {
        u64::MAX >> (u64::BITS - self.bits) << self.shift
    }
}

/// Where nothing follows.
const NONE: u32 = u32::MAX;

/// The hashes by the bits of some pieces.
struct Table {
    /// Its pieces, a bit each.
    pieces: u32,
    /// Their bits.
    mask: u64,
    /// The last hash of each slot.
    last: Vec<u32>,
    /// The hashes as they came, each with what was put into its slot before it: beside each other,
    /// since to look at either is to wait for memory.
    entries: Vec<(u64, u32)>,
}

impl Table {
    fn slot(&self, hash: u64) -> usize {
        // The upper bits of a product depend on all bits below them. The length is a power of two.
        let spread = (hash & self.mask).wrapping_mul(SPREAD);
        let slots = self.last.len() as u64;
        usize::try_from(spread >> 32 & (slots - 1)).unwrap_or(0)
    }
}

/// What numbers are multiplied by that shall differ in their upper bits.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Pieces that are the same at the least, at the most.
const MOST_CHOSEN: u32 = 4;

/// Bytes that the tables take at the most, where fewer do.
const TABLE_BYTES: u64 = 1 << 30;

impl NearIndex {
    /// An empty index, for about so many different hashes: where there are more it is slower, and
    /// finds all the same.
    ///
    /// # Errors
    /// [`DistanceError`].
    pub fn new(distance: u32, expected: usize) -> Result<Self, DistanceError> {
        let distance = DistanceError::check(distance)?;
        let pieces = pieces_of(distance + chosen(distance, expected));
        let count = chosen(distance, expected);
        let slots = slots(expected);
        let number = u32::try_from(pieces.len()).unwrap_or(0);
        let tables = combinations(number, count)
            .map(|set| {
                let of = (0..).zip(&pieces).filter(|(i, _)| set >> i & 1 == 1);
                let mask = of.fold(0, |mask, (_, piece)| mask | piece.mask());
                Table { pieces: set, mask, last: vec![NONE; slots], entries: Vec::new() }
            })
            .collect();
        Ok(Self { distance, pieces, tables, exact: HashMap::new() })
    }

    /// How many different hashes are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.exact.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty()
    }

    /// Puts a hash in and gives its number, from 0 in the order in which they came. One that is in
    /// it already keeps its number and costs nothing more.
    pub fn insert(&mut self, hash: u64) -> u32 {
        // There are 2^32 hashes at the most: their memory ends before.
        let id = u32::try_from(self.exact.len()).unwrap_or(NONE);
        let known = *self.exact.entry(hash).or_insert(id);
        if known != id {
            return known;
        }
        let hash = mixed(hash);
        for table in &mut self.tables {
            let slot = table.slot(hash);
            let last = table.last.get_mut(slot);
            let before = last.map_or(NONE, |last| std::mem::replace(last, id));
            table.entries.push((hash, before));
        }
        id
    }

    /// The number of a hash that is in it.
    #[must_use]
    pub fn get(&self, hash: u64) -> Option<u32> {
        self.exact.get(&hash).copied()
    }

    /// All hashes in it that are near one, that itself too, each once and in no order.
    pub fn near(&self, hash: u64) -> impl Iterator<Item = Near> + '_ {
        let hash = mixed(hash);
        // None of these waits for another, as each hash of a slot does for the next.
        let last = |table: &Table| table.last.get(table.slot(hash)).copied().unwrap_or(NONE);
        let last: Vec<u32> = self.tables.iter().map(last).collect();
        self.tables.iter().zip(last).flat_map(move |(table, last)| {
            let entry = |id: u32| table.entries.get(id as usize).map(|entry| (id, *entry));
            let all = std::iter::successors(entry(last), move |(_, (_, before))| entry(*before));
            all.filter_map(move |(id, (other, _))| {
                let differ = other ^ hash;
                let distance = differ.count_ones();
                (distance <= self.distance && self.is_first(table, differ))
                    .then_some(Near { id, distance })
            })
        })
    }

    /// Whether no table before this one has two hashes together that differ in these bits.
    fn is_first(&self, table: &Table, differ: u64) -> bool {
        if differ & table.mask != 0 {
            // They only share a slot.
            return false;
        }
        // Tables stand in the order of their sets as numbers, so the first has the lowest pieces.
        let same = (0_u32..).zip(&self.pieces).filter(|(_, piece)| differ & piece.mask() == 0);
        let count = table.pieces.count_ones() as usize;
        same.take(count).fold(0, |set, (i, _)| set | 1 << i) == table.pieces
    }
}

/// The bits of a hash in another order, in which none is near to its neighbours: those of a picture
/// tell of places beside each other, and are not independent.
fn mixed(hash: u64) -> u64 {
    (0..u64::BITS).fold(0, |mixed, bit| mixed | (hash >> place(bit) & 1) << bit)
}

/// Where a bit stands in a hash, of those in another order.
fn place(bit: u32) -> u32 {
    bit * 37 % u64::BITS
}

/// All choices of so many of a number of pieces, a bit each, in the order of the numbers.
fn combinations(number: u32, chosen: u32) -> impl Iterator<Item = u32> {
    (0..1_u32 << number).filter(move |set| set.count_ones() == chosen)
}

/// All bits in so many pieces, as even as can be.
fn pieces_of(number: u32) -> Vec<Piece> {
    let start = |piece: u32| piece * u64::BITS / number;
    (0..number).map(|i| Piece { shift: start(i), bits: start(i + 1) - start(i) }).collect()
}

/// Slots of a table, a power of two.
fn slots(expected: usize) -> usize {
    expected.clamp(1 << 8, 1 << 24).next_power_of_two()
}

/// How many pieces are chosen: what makes the least work and has room.
fn chosen(distance: u32, expected: usize) -> u32 {
    let work = |chosen: &u32| {
        let pieces = distance + chosen;
        let tables = (0..*chosen).fold(1, |all, i| all * u64::from(pieces - i) / u64::from(i + 1));
        let bits = (chosen * (u64::BITS / pieces)).min(u64::BITS - 1);
        // Bits of pictures are worth less than bits.
        let together = (expected as u64) >> (bits * 3 / 4);
        let bytes = tables * (16 * expected as u64 + 4 * slots(expected) as u64);
        (*chosen > 1 && bytes > TABLE_BYTES, tables.saturating_mul(2 + together))
    };
    (1..=MOST_CHOSEN).min_by_key(work).unwrap_or(1)
}

#[cfg(test)]
mod tests;
