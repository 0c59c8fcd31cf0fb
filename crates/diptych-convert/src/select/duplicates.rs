//! Duplicates: of pairs that are the same one is kept.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use diptych_pixels::near::{DistanceError, NearIndex, near_groups};

/// What of pairs is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DedupOn {
    /// The source picture.
    Source,
    /// The target picture.
    Target,
    /// Both, and the instruction.
    #[default]
    Pair,
}

impl DedupOn {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Source, "source"), (Self::Target, "target"), (Self::Pair, "pair")];

    pub(crate) fn uses_source(self) -> bool {
        self != Self::Target
    }

    pub(crate) fn uses_target(self) -> bool {
        self != Self::Source
    }

    pub(crate) fn uses_instruction(self) -> bool {
        self == Self::Pair
    }
}

impl fmt::Display for DedupOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(on, _)| on == self);
        f.write_str(word.map_or("", |(_, word)| word))
    }
}

impl FromStr for DedupOn {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, of)| *of == word);
        found
            .map(|(on, _)| *on)
            .ok_or_else(|| format!("pairs are compared on source, target or pair, not on `{word}`"))
    }
}

/// A picture, as it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Seen {
    /// By a digest of bytes or pixels.
    Exactly(u128),
    /// By its perceptual hash.
    Nearly(u64),
}

impl Seen {
    fn hash(self) -> Option<u64> {
        match self {
            Self::Exactly(_) => None,
            Self::Nearly(hash) => Some(hash),
        }
    }

    /// In how many bits two differ; `None` where they are not compared.
    fn distance(self, other: Self) -> Option<u32> {
        match (self, other) {
            (Self::Exactly(a), Self::Exactly(b)) => (a == b).then_some(0),
            (Self::Nearly(a), Self::Nearly(b)) => Some((a ^ b).count_ones()),
            _ => None,
        }
    }
}

/// A pair, as it is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Compared {
    pub(crate) row: u32,
    /// The picture, or the first of two.
    pub(crate) first: Seen,
    /// The other picture, where both are compared.
    pub(crate) second: Option<Seen>,
    /// What was asked for, where that is compared.
    pub(crate) instruction: u128,
    /// The one with most of it is kept; what is no number is less than any.
    pub(crate) prefer: f64,
}

/// A pair that is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) row: u32,
    /// The one that is kept in its place.
    pub(crate) kept: u32,
    /// In how many bits perceptual hashes differ, those of both pictures together.
    pub(crate) distance: u32,
}

/// Finds duplicates: in the order of preference, then of rows, each pair is dropped for the nearest
/// one that is kept. In the order of rows.
///
/// # Errors
/// Where the distance is none that hashes are searched by.
pub(crate) fn duplicates(pairs: &[Compared], distance: u32) -> Result<Vec<Dropped>, DistanceError> {
    let mut order: Vec<&Compared> = pairs.iter().collect();
    let rank = |of: &Compared| if of.prefer.is_nan() { f64::NEG_INFINITY } else { of.prefer };
    order.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.row.cmp(&b.row)));
    let hashes: Vec<u64> = order.iter().filter_map(|of| of.first.hash()).collect();
    let groups = near_groups(&hashes, distance)?;
    let mut sizes = vec![0_usize; groups.len()];
    for group in &groups {
        if let Some(size) = sizes.get_mut(*group as usize) {
            *size += 1;
        }
    }
    let mut groups = groups.into_iter();
    // Those kept, by the first picture.
    let mut kept: HashMap<Seen, Vec<&Compared>> = HashMap::new();
    let mut near: HashMap<u32, Group> = HashMap::new();
    let mut dropped = Vec::new();
    for pair in order {
        let mut best: Option<(u32, u32)> = None;
        let mut look = |first: Seen| {
            for other in kept.get(&first).into_iter().flatten() {
                let Some(of) = apart(pair, other, distance) else { continue };
                if best.is_none_or(|best| (of, other.row) < best) {
                    best = Some((of, other.row));
                }
            }
        };
        // What is alone in its group is not looked up at all.
        let group = pair.first.hash().and_then(|hash| {
            let group = groups.next()?;
            let size = sizes.get(group as usize).copied().filter(|size| *size > 1)?;
            Some((hash, size, near.entry(group).or_default()))
        });
        match &group {
            Some((hash, _, group)) => {
                group.near(*hash, distance).into_iter().map(Seen::Nearly).for_each(&mut look);
            }
            None if pair.first.hash().is_none() => look(pair.first),
            None => {}
        }
        if let Some((distance, kept)) = best {
            dropped.push(Dropped { row: pair.row, kept, distance });
            continue;
        }
        if let Some((hash, size, group)) = group {
            group.insert(hash, distance, size)?;
        }
        kept.entry(pair.first).or_default().push(pair);
    }
    dropped.sort_by_key(|of| of.row);
    Ok(dropped)
}

/// The different hashes that are kept, of a group of those that are near each other.
#[derive(Default)]
struct Group {
    hashes: Vec<u64>,
    /// Where they are many.
    index: Option<NearIndex>,
}

/// Hashes that are compared one by one.
const FEW: usize = 256;

impl Group {
    fn near(&self, hash: u64, distance: u32) -> Vec<u64> {
        if let Some(index) = &self.index {
            let ids = index.near(hash).map(|near| near.id as usize);
            return ids.filter_map(|id| self.hashes.get(id)).copied().collect();
        }
        let is_near = |other: &u64| (other ^ hash).count_ones() <= distance;
        self.hashes.iter().copied().filter(is_near).collect()
    }

    /// Adds a hash to those of a group that has `size` at most.
    fn insert(&mut self, hash: u64, distance: u32, size: usize) -> Result<(), DistanceError> {
        let is_new = match &mut self.index {
            Some(index) => index.insert(hash) as usize == self.hashes.len(),
            None => !self.hashes.contains(&hash),
        };
        if is_new {
            self.hashes.push(hash);
        }
        if self.index.is_none() && self.hashes.len() > FEW {
            let index = self.index.insert(NearIndex::new(distance, size)?);
            self.hashes.iter().for_each(|hash| {
                index.insert(*hash);
            });
        }
        Ok(())
    }
}

/// In how many bits two pairs differ, where they are the same.
fn apart(a: &Compared, b: &Compared, distance: u32) -> Option<u32> {
    let near = |a: Seen, b: Seen| a.distance(b).filter(|of| *of <= distance);
    let first = near(a.first, b.first)?;
    let second = match (a.second, b.second) {
        (Some(a), Some(b)) => near(a, b)?,
        (None, None) => 0,
        _ => return None,
    };
    (a.instruction == b.instruction).then_some(first + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(row: u32, first: Seen) -> Compared {
        Compared { row, first, second: None, instruction: 0, prefer: f64::NAN }
    }

    fn told(pairs: &[Compared], distance: u32) -> Vec<(u32, u32, u32)> {
        let dropped = duplicates(pairs, distance).unwrap();
        dropped.iter().map(|of| (of.row, of.kept, of.distance)).collect()
    }

    #[test]
    fn the_first_of_those_that_are_the_same_is_kept() {
        let pairs = [1, 2, 1, 3, 2, 1].map(Seen::Exactly);
        let pairs: Vec<_> = (0..).zip(pairs).map(|(row, first)| pair(row, first)).collect();
        assert_eq!(told(&pairs, 0), [(2, 0, 0), (4, 1, 0), (5, 0, 0)]);
    }

    #[test]
    fn the_preferred_is_kept_and_what_has_no_number_is_last() {
        let prefer = [f64::NAN, 2.0, 5.0, 5.0, f64::NEG_INFINITY];
        let pairs: Vec<_> = (0..)
            .zip(prefer)
            .map(|(row, prefer)| Compared { prefer, ..pair(row, Seen::Exactly(7)) })
            .collect();
        assert_eq!(told(&pairs, 0), [(0, 2, 0), (1, 2, 0), (3, 2, 0), (4, 2, 0)]);
    }

    #[test]
    fn a_pair_is_only_dropped_for_one_that_is_kept() {
        // Each is near the next, the first and the third are not near each other.
        let chain = [0b0, 0b11, 0b1111];
        let pairs: Vec<_> =
            (0..).zip(chain).map(|(row, hash)| pair(row, Seen::Nearly(hash))).collect();
        assert_eq!(told(&pairs, 2), [(1, 0, 2)]);
        assert_eq!(told(&pairs, 1), []);
        assert_eq!(told(&pairs, 4), [(1, 0, 2), (2, 0, 4)]);
    }

    #[test]
    fn both_pictures_and_the_instruction_must_be_the_same() {
        let of = |row, first, second, instruction| Compared {
            second: Some(Seen::Nearly(second)),
            instruction,
            ..pair(row, Seen::Nearly(first))
        };
        let pairs = [of(0, 0, 0, 1), of(1, 1, 0, 2), of(2, 1, 0xFF, 1), of(3, 1, 1, 1)];
        assert_eq!(told(&pairs, 1), [(3, 0, 2)]);
        let mixed = [pair(0, Seen::Nearly(5)), pair(1, Seen::Exactly(5))];
        assert_eq!(told(&mixed, 8), [], "a hash and a digest are not compared");
    }

    #[test]
    fn words_turn_back() {
        for (on, word) in DedupOn::ALL {
            assert_eq!((on.to_string().as_str(), word.parse()), (word, Ok(on)));
        }
        assert!("pictures".parse::<DedupOn>().is_err());
    }

    fn obvious(pairs: &[Compared], distance: u32) -> Vec<(u32, u32, u32)> {
        let rank = |of: &Compared| if of.prefer.is_nan() { f64::NEG_INFINITY } else { of.prefer };
        let mut order: Vec<_> = pairs.to_vec();
        order.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.row.cmp(&b.row)));
        let mut kept: Vec<Compared> = Vec::new();
        let mut dropped = Vec::new();
        for pair in order {
            let near =
                kept.iter().filter_map(|other| Some((apart(&pair, other, distance)?, other.row)));
            match near.min() {
                Some((distance, of)) => dropped.push((pair.row, of, distance)),
                None => kept.push(pair),
            }
        }
        dropped.sort_unstable();
        dropped
    }

    fn seen() -> impl Strategy<Value = Seen> {
        prop_oneof![
            (0_u128..4).prop_map(Seen::Exactly),
            (0_u64..64).prop_map(|bits| Seen::Nearly(bits * 0x0101_0101)),
        ]
    }

    #[test]
    fn groups_of_more_than_a_few_are_the_same() {
        // Each is near some, and half of them are kept.
        let pairs: Vec<_> = (0..1024_u32)
            .map(|row| Compared {
                instruction: u128::from(row % 3 / 2),
                ..pair(row, Seen::Nearly(u64::from(row.rotate_left(7) % 1021)))
            })
            .collect();
        let dropped = told(&pairs, 1);
        assert!(dropped.len() + FEW < pairs.len());
        assert_eq!(dropped, obvious(&pairs, 1));
    }

    proptest! {
        #[test]
        fn what_is_dropped_is_what_the_obvious_way_drops(
            of in prop::collection::vec((seen(), prop::option::of(seen()), 0_u128..2, 0..4_u8), 0..40),
            distance in 0_u32..=8,
        ) {
            let pairs: Vec<_> = (0..)
                .zip(of)
                .map(|(row, (first, second, instruction, prefer))| {
                    let prefer = if prefer == 0 { f64::NAN } else { f64::from(prefer) };
                    Compared { row, first, second, instruction, prefer }
                })
                .collect();
            prop_assert_eq!(told(&pairs, distance), obvious(&pairs, distance));
        }
    }
}
