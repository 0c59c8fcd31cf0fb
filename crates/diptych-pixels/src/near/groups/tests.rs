use proptest::prelude::*;

use super::super::tests::{clustered, drawn};
use super::super::{MOST_DISTANCE, NearIndex};
use super::*;

/// Groups by tying each hash to all before it that the index finds.
fn one_by_one(hashes: &[u64], distance: u32) -> Vec<u32> {
    let mut index = NearIndex::new(distance, hashes.len()).unwrap();
    let mut groups = Groups { distance, parents: (0_u32..).take(hashes.len()).collect() };
    let mut first: Vec<u32> = Vec::new();
    for (number, hash) in (0_u32..).zip(hashes) {
        let near: Vec<u32> = index.near(*hash).map(|near| first[near.id as usize]).collect();
        near.into_iter().for_each(|other| groups.union(number, other));
        if index.insert(*hash) as usize == first.len() {
            first.push(number);
        }
    }
    (0_u32..).take(hashes.len()).map(|number| groups.root(number)).collect()
}

/// Hashes of which most bits are the same in all, and some of the others are nearly always.
fn alike(seed: u64, count: usize) -> Vec<u64> {
    let drawn: Vec<u64> = drawn(seed).take(3 * count).collect();
    drawn.chunks_exact(3).map(|of| (of[0] & 0x5555_5555 | of[1] & of[2] & 0xFF00) << 20).collect()
}

#[test]
fn all_groups_of_near_hashes_are_found_and_nothing_else_is_tied() {
    for distance in 0..=MOST_DISTANCE {
        let mut hashes = clustered(u64::from(distance), 300, 12);
        hashes.extend(drawn(7).take(1000));
        hashes.extend([0, 1, u64::MAX, u64::MAX >> 1, 1 << 63, 0]);
        let groups = near_groups(&hashes, distance).unwrap();
        assert_eq!(groups, one_by_one(&hashes, distance), "at {distance}");
        let tied = (0..).zip(&groups).filter(|(number, first)| number != *first).count();
        assert!(tied > 100, "{tied} at {distance}");
        let alike = alike(u64::from(distance), 3000);
        let groups = near_groups(&alike, distance).unwrap();
        assert_eq!(groups, one_by_one(&alike, distance), "at {distance}");
    }
}

#[test]
fn each_choice_of_pieces_finds_what_is_near() {
    // Whatever is chosen for these hashes, another choice would find the same.
    let free = !0xF0F0_u64;
    for distance in 0..=MOST_DISTANCE {
        for chosen in 1..=MOST_CHOSEN {
            let masks = masks(free, distance, chosen).unwrap();
            assert_eq!(masks.iter().fold(0, |all, mask| all | mask), free);
            for differ in drawn(u64::from(distance)).take(500) {
                let bits = (0..distance).map(|i| 1_u64 << (differ >> (6 * i) & 63));
                let differ = bits.fold(0, |all, bit| all | bit & free);
                assert!(masks.iter().any(|mask| mask & differ == 0), "{distance} {chosen}");
            }
        }
    }
    assert_eq!(masks(0b1111, 4, 1), None, "four bits are no five pieces");
}

#[test]
fn comparing_goes_on_where_it_was_ended() {
    let hashes = clustered(3, 10, 20);
    let entries: Vec<Entry> = (0..).zip(&hashes).map(|(id, &hash)| Entry { hash, id }).collect();
    for most in [0, 1, 150, 199, 1000, 5000] {
        let mut entries = entries.clone();
        let parents = (0_u32..).take(hashes.len()).collect();
        let mut groups = Groups { distance: 4, parents };
        let done = groups.compare(&mut entries, most);
        assert!(done < hashes.len(), "{most}");
        groups.compare(&mut entries[done..], usize::MAX);
        let found: Vec<u32> = (0_u32..).take(hashes.len()).map(|id| groups.root(id)).collect();
        assert_eq!(found, one_by_one(&hashes, 4), "{most}");
    }
}

#[test]
fn many_that_are_all_near_each_other_are_looked_through_a_few_times() {
    // Each with each would be 5 * 10^11 comparisons.
    let hashes: Vec<u64> = (0_u64..1 << 20).map(|i| 1 << (i % 64) | 1 << (i / 64 % 64)).collect();
    let groups = near_groups(&hashes, 4).unwrap();
    assert!(groups.iter().all(|first| *first == 0));
}

#[test]
fn few_and_none_are_groups_too() {
    assert_eq!(near_groups(&[], 4).unwrap(), []);
    assert_eq!(near_groups(&[7], 4).unwrap(), [0]);
    assert_eq!(near_groups(&[7, 7, 0], 0).unwrap(), [0, 0, 2]);
    assert_eq!(near_groups(&[0, 0b1111, 0b111_1111], 4).unwrap(), [0, 0, 0], "by way of one");
    assert_eq!(near_groups(&[7], MOST_DISTANCE + 1), Err(DistanceError(MOST_DISTANCE + 1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_hashes_are_tied(
        hashes in prop::collection::vec(0_u64..1 << 12, 0..300),
        distance in 0..=MOST_DISTANCE,
    ) {
        let hashes: Vec<u64> = hashes.into_iter().map(|hash| hash * 0x0010_0401).collect();
        let groups = near_groups(&hashes, distance).unwrap();
        prop_assert_eq!(groups, one_by_one(&hashes, distance));
    }
}
