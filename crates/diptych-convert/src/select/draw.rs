//! What is drawn, and in which order: by chance that follows from a seed and from ids, so that the
//! same pairs are drawn whatever else there is, and by however many threads.

use sha2::{Digest, Sha256};

use super::Sample;

/// A pair to be taken: its number among the rows, and how many times it was taken before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Taken {
    pub(crate) copy: u32,
    pub(crate) row: u32,
}

/// Pairs that are drawn together: rows that follow each other in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lot {
    /// What chance follows from.
    pub(crate) key: u128,
    pub(crate) rows: Vec<u32>,
}

/// A kind, of which so many pairs are to be drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quota {
    pub(crate) lots: Vec<Lot>,
    pub(crate) asked: u64,
}

const AGAIN: &str = ":again-";

/// The id of a pair, or what ties it to others, where it is taken once more.
pub(crate) fn again(id: &str, copy: u32) -> String {
    format!("{id}{AGAIN}{copy}")
}

/// Whether an id is that of a pair which was taken once more.
pub(crate) fn is_again(id: &str) -> bool {
    id.rsplit_once(AGAIN).is_some_and(|(_, copy)| {
        !copy.is_empty() && copy.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// A number by chance for `key`.
fn chance(seed: u64, what: &str, key: u128, copy: u32) -> u64 {
    let mut digest = Sha256::new();
    digest.update(seed.to_be_bytes());
    digest.update(what.as_bytes());
    digest.update(key.to_be_bytes());
    digest.update(copy.to_be_bytes());
    digest.finalize().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// How many of `all` a sample is.
pub(crate) fn sample_size(sample: Sample, all: u64) -> u64 {
    match sample {
        Sample::Count(count) => count.min(all),
        Sample::Percent(percent) => whole(all as f64 * percent / 100.0 + 0.5).min(all),
    }
}

/// What is below the point is cut off. Numbers of pairs are far below what a float holds to the
/// unit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held in its range")]
fn whole(number: f64) -> u64 {
    number.clamp(0.0, 9_007_199_254_740_992.0) as u64
}

/// How many pairs of each kind make `total` by these shares: the sum is `total` wherever it can be.
pub(crate) fn apportion(shares: &[f64], total: u64) -> Vec<u64> {
    let sum: f64 = shares.iter().sum();
    let exact: Vec<f64> = shares.iter().map(|share| total as f64 * share / sum).collect();
    let mut counts: Vec<u64> = exact.iter().map(|exact| whole(*exact)).collect();
    let mut left = total.saturating_sub(counts.iter().sum());
    // Those that lost most by being cut off come first; of equals the first.
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let lost = |kind: &usize| exact.get(*kind).map_or(0.0, |exact| exact.fract());
    order.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    for kind in order {
        if let Some(count) = counts.get_mut(kind).filter(|_| left > 0) {
            *count += 1;
            left -= 1;
        }
    }
    counts
}

/// The most pairs that can be had by these shares without one being taken twice.
pub(crate) fn most(shares: &[f64], available: &[u64]) -> u64 {
    let sum: f64 = shares.iter().sum();
    let can = shares.iter().zip(available).filter(|(share, _)| **share > 0.0);
    let most = can.map(|(share, available)| *available as f64 * sum / share);
    let total = whole(most.fold(f64::INFINITY, f64::min));
    // What is rounded may ask for one more than there is.
    let fits = |total: &u64| {
        let asked = apportion(shares, *total);
        asked.iter().zip(available).all(|(asked, available)| asked <= available)
    };
    (0..=2).map(|less| total.saturating_sub(less)).find(fits).unwrap_or(0)
}

/// Draws so many pairs of a kind, lot by lot: those that still fit, in an order by chance. Where
/// `repeat` is allowed and there are too few, they are gone through again.
pub(crate) fn draw(quota: &Quota, seed: u64, repeat: bool) -> Vec<Taken> {
    let mut taken = Vec::new();
    let mut left = quota.asked;
    let size = |lot: &Lot| lot.rows.len() as u64;
    for copy in 0_u32.. {
        let mut order: Vec<(u64, &Lot)> =
            quota.lots.iter().map(|lot| (chance(seed, "draw", lot.key, copy), lot)).collect();
        order.sort_by_key(|(chance, lot)| (*chance, lot.key));
        let before = left;
        for (_, lot) in order {
            if size(lot) <= left {
                left -= size(lot);
                taken.extend(lot.rows.iter().map(|row| Taken { copy, row: *row }));
            }
        }
        if left == 0 || !repeat || left == before {
            break;
        }
    }
    taken
}

/// Puts lots into an order by chance. The pairs of each stay as they are.
pub(crate) fn shuffle(lots: Vec<(u32, Lot)>, seed: u64) -> Vec<Taken> {
    let mut order: Vec<_> = lots
        .into_iter()
        .map(|(copy, lot)| (chance(seed, "order", lot.key, copy), copy, lot))
        .collect();
    order.sort_by_key(|(chance, copy, lot)| (*chance, lot.key, *copy));
    let taken =
        |(_, copy, lot): (u64, u32, Lot)| lot.rows.into_iter().map(move |row| Taken { copy, row });
    order.into_iter().flat_map(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lots(sizes: &[u32]) -> Vec<Lot> {
        let mut first = 0;
        let lot = |(key, size): (u128, &u32)| {
            first += size;
            Lot { key, rows: (first - size..first).collect() }
        };
        (1..).zip(sizes).map(lot).collect()
    }

    #[test]
    fn shares_are_apportioned_to_the_last_pair() {
        assert_eq!(apportion(&[0.5, 0.3, 0.2], 10), [5, 3, 2]);
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 10), [4, 3, 3]);
        assert_eq!(apportion(&[2.0, 1.0], 1), [1, 0]);
        assert_eq!(apportion(&[0.7, 0.2, 0.1], 3), [2, 1, 0]);
        assert_eq!(apportion(&[0.0, 5.0], 7), [0, 7]);
    }

    #[test]
    fn the_most_is_what_the_scarcest_kind_allows() {
        assert_eq!(most(&[0.5, 0.5], &[10, 3]), 6);
        assert_eq!(most(&[0.5, 0.3, 0.2], &[50, 30, 20]), 100);
        assert_eq!(most(&[3.0, 0.0], &[5, 0]), 5);
        assert_eq!(most(&[1.0, 1.0], &[0, 9]), 0);
        for total in [most(&[0.7, 0.2, 0.1], &[7, 7, 7]), most(&[1.0, 1.0, 1.0], &[3, 4, 5])] {
            assert!(total > 0);
        }
        assert_eq!(most(&[1.0, 1.0, 1.0], &[3, 4, 5]), 9);
    }

    #[test]
    fn what_is_drawn_does_not_depend_on_what_else_there_is() {
        let all = lots(&[1; 1000]);
        let ask = |lots: Vec<Lot>, asked| draw(&Quota { lots, asked }, 7, false);
        let few = ask(all.clone(), 100);
        assert_eq!(few.len(), 100);
        let more = ask(all.clone(), 300);
        assert_eq!(more.get(..100), Some(few.as_slice()), "a larger draw begins with a smaller");
        let mut fewer = all;
        fewer.retain(|lot| lot.key % 2 == 0);
        let even: Vec<_> = more.iter().filter(|taken| taken.row % 2 == 1).copied().collect();
        let half = ask(fewer, even.len() as u64);
        assert_eq!(half, even, "without the others the same come first");
        let other = draw(&Quota { lots: lots(&[1; 1000]), asked: 100 }, 8, false);
        assert_ne!(other, few);
    }

    #[test]
    fn lots_are_drawn_whole_and_as_many_as_fit() {
        let quota = Quota { lots: lots(&[3, 3, 3, 2]), asked: 7 };
        let taken = draw(&quota, 1, false);
        assert!(taken.len() <= 7 && taken.len() >= 5, "{taken:?}");
        for lot in &quota.lots {
            let of = lot.rows.iter().filter(|row| taken.iter().any(|taken| taken.row == **row));
            let of = of.count();
            assert!(of == 0 || of == lot.rows.len());
        }
    }

    #[test]
    fn what_is_short_is_repeated_only_when_asked() {
        let quota = Quota { lots: lots(&[1, 1, 1]), asked: 8 };
        assert_eq!(draw(&quota, 1, false).len(), 3);
        let taken = draw(&quota, 1, true);
        let mut copies: Vec<_> = taken.iter().map(|taken| taken.copy).collect();
        copies.sort_unstable();
        assert_eq!(copies, [0, 0, 0, 1, 1, 1, 2, 2]);
        let nothing = Quota { lots: Vec::new(), asked: 8 };
        assert!(draw(&nothing, 1, true).is_empty());
    }

    #[test]
    fn lots_keep_their_order_when_shuffled() {
        let all: Vec<_> = lots(&[2; 50]).into_iter().map(|lot| (0, lot)).collect();
        let order = shuffle(all.clone(), 3);
        assert_eq!(order.len(), 100);
        let rows: Vec<_> = order.iter().map(|taken| taken.row).collect();
        assert!(rows.chunks(2).all(|pair| pair[0] % 2 == 0 && pair[1] == pair[0] + 1));
        assert_ne!(rows, (0..100).collect::<Vec<_>>());
        assert_eq!(order, shuffle(all.clone(), 3));
        assert_ne!(order, shuffle(all, 4));
    }

    #[test]
    fn a_sample_is_to_the_nearest_pair() {
        assert_eq!(sample_size(Sample::Percent(10.0), 25), 3);
        assert_eq!(sample_size(Sample::Percent(10.0), 24), 2);
        assert_eq!(sample_size(Sample::Percent(100.0), 24), 24);
        assert_eq!(sample_size(Sample::Percent(0.0), 24), 0);
        assert_eq!(sample_size(Sample::Count(30), 24), 24);
    }

    #[test]
    fn ids_of_what_was_taken_again_are_told() {
        assert_eq!(again("a:1", 2), "a:1:again-2");
        assert!(is_again("a:1:again-2") && !is_again("a:1:again-") && !is_again("again-2"));
    }
}
