use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Numbers without order, the same each time.
pub(super) fn drawn(seed: u64) -> impl Iterator<Item = u64> {
    (1_u64..).map(move |i| {
        let mut x = (seed << 32).wrapping_add(i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    })
}

/// Hashes of which many are near others: each of some with up to ten of its bits turned.
pub(super) fn clustered(seed: u64, centres: usize, each: usize) -> Vec<u64> {
    let mut numbers = drawn(seed);
    let centres: Vec<u64> = numbers.by_ref().take(centres).collect();
    let mut all = Vec::new();
    for centre in centres {
        for _ in 0..each {
            let turned = numbers.next().unwrap() % 11;
            let bits = numbers.by_ref().take(usize::try_from(turned).unwrap());
            all.push(bits.fold(centre, |hash, bit| hash ^ 1 << (bit % 64)));
        }
    }
    all
}

/// Holds the index against looking at each pair of hashes.
fn agrees(hashes: &[u64], distance: u32, expected: usize) -> usize {
    let mut index = NearIndex::new(distance, expected).unwrap();
    let mut before: Vec<u64> = Vec::new();
    let mut found = 0;
    for &hash in hashes {
        let apart = |other: &u64| (other ^ hash).count_ones();
        let wanted: BTreeSet<_> = (0..)
            .zip(&before)
            .filter(|(_, other)| apart(other) <= distance)
            .map(|(id, other)| Near { id, distance: apart(other) })
            .collect();
        let near: Vec<_> = index.near(hash).collect();
        found += near.len();
        assert_eq!(near.len(), wanted.len(), "each once");
        assert_eq!(near.into_iter().collect::<BTreeSet<_>>(), wanted, "at {distance}");
        let known = before.iter().position(|other| *other == hash);
        assert_eq!(index.get(hash).map(|id| id as usize), known);
        let id = index.insert(hash) as usize;
        assert_eq!(id, known.unwrap_or(before.len()));
        if known.is_none() {
            before.push(hash);
        }
    }
    assert_eq!(index.len(), before.len());
    found
}

#[test]
fn all_that_are_near_are_found_and_nothing_else() {
    for distance in 0..=MOST_DISTANCE {
        // Each number of pieces that are chosen at once comes about.
        for expected in [0, 300, 40_000, 1_000_000] {
            let mut hashes = clustered(u64::from(distance), 20, 12);
            hashes.extend(drawn(7).take(60));
            hashes.extend([0, 1, u64::MAX, u64::MAX >> 1, 1 << 63, 0]);
            let found = agrees(&hashes, distance, expected);
            assert!(found > 5, "{found} at {distance}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_hashes_are_found(
        hashes in prop::collection::vec(any::<u64>(), 0..40),
        turned in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), any::<u64>()), 0..40),
        distance in 0..=MOST_DISTANCE,
    ) {
        let mut all = hashes;
        for (of, one, other) in turned {
            let hash = if all.is_empty() { 0 } else { *of.get(&all) };
            all.push(hash ^ (1 << (one % 64)) ^ (1 << (other % 64)));
        }
        agrees(&all, distance, 1000);
    }
}

#[test]
fn distances_without_meaning_are_refused() {
    assert!(NearIndex::new(MOST_DISTANCE, 10).is_ok());
    let error = NearIndex::new(MOST_DISTANCE + 1, 10).map(|_| ()).unwrap_err();
    assert_eq!(error, DistanceError(9));
}

#[test]
fn tables_stay_within_their_memory_and_what_is_compared_stays_little() {
    for distance in 0..=MOST_DISTANCE {
        for expected in [1_000, 100_000, 1_000_000, 4_000_000] {
            let index = NearIndex::new(distance, expected).unwrap();
            let slots: usize = index.tables.iter().map(|table| table.last.len()).sum();
            let bytes = 4 * slots + 16 * index.tables.len() * expected;
            let only = index.tables.len() == distance as usize + 1;
            assert!(only || bytes as u64 <= TABLE_BYTES, "{distance} {expected}: {bytes}");
            let bits: u32 = index.pieces.iter().map(|piece| piece.bits).sum();
            assert_eq!(bits, 64);
        }
    }
}

#[test]
fn a_hash_that_is_there_costs_nothing_more() {
    let mut index = NearIndex::new(4, 100).unwrap();
    assert!(index.is_empty());
    for _ in 0..1000 {
        assert_eq!(index.insert(42), 0);
    }
    assert_eq!((index.len(), index.near(42).count()), (1, 1));
    assert!(index.tables.iter().all(|table| table.entries.len() == 1));
}

#[test]
fn the_bits_of_a_hash_are_only_moved() {
    for bit in 0..64 {
        assert_eq!(mixed(1 << bit).count_ones(), 1);
    }
    assert_eq!(mixed(u64::MAX), u64::MAX);
}
