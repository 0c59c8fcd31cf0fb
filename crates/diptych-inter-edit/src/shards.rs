//! Which series of shards counts, and what a shard holds.

use std::collections::BTreeMap;

use diptych_format::shards::{Series, ShardName};

/// Of series that differ in nothing but the number of their shards, the one that counts: that of
/// the `stated` number, else the one of which most is there. Comes first; the others follow.
pub(crate) fn chosen(
    series: Vec<Series>,
    stated: impl Fn(&str) -> Option<u64>,
) -> Vec<Vec<Series>> {
    let mut alike: BTreeMap<(String, String), Vec<Series>> = BTreeMap::new();
    for series in series {
        let ShardName { series: words, ending, .. } = &series.example;
        alike.entry((words.clone(), ending.clone())).or_default().push(series);
    }
    let mut all: Vec<_> = alike.into_values().collect();
    for of in &mut all {
        of.sort_by_key(|series| {
            let name = &series.example;
            let is_stated = name.word().and_then(&stated) == Some(name.count.into());
            std::cmp::Reverse((is_stated, series.present.len(), name.count))
        });
    }
    all
}

/// What shard `index` of `count` holds when all but the last hold `each` of `total`.
pub(crate) fn shard_holds(index: u32, count: u32, each: u64, total: Option<u64>) -> Option<u64> {
    if index + 1 < count {
        return Some(each);
    }
    total?.checked_sub(each.checked_mul(u64::from(index))?).filter(|rest| *rest <= each)
}

#[cfg(test)]
mod tests {
    use diptych_format::shards::series;

    use super::*;

    #[test]
    fn of_series_that_are_alike_one_counts() {
        let names =
            ["a-0-of-3.tar", "a-1-of-3.tar", "a-0-of-2.tar", "a-0-of-2.zip", "b-1-of-9.tar"];
        let counts = |stated: Option<u64>| {
            let of = chosen(series(names.into_iter()), |word| stated.filter(|_| word == "a"));
            let count = |series: &Series| series.example.count;
            of.iter().map(|all| all.iter().map(count).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        assert_eq!(counts(None), [vec![3, 2], vec![2], vec![9]]);
        assert_eq!(counts(Some(2)), [vec![2, 3], vec![2], vec![9]]);
        assert_eq!(counts(Some(5)), [vec![3, 2], vec![2], vec![9]]);
    }

    #[test]
    fn the_last_shard_holds_the_rest() {
        // The numbers of the full release.
        assert_eq!(shard_holds(0, 275, 4000, Some(1_099_964)), Some(4000));
        assert_eq!(shard_holds(274, 275, 4000, Some(1_099_964)), Some(3964));
        assert_eq!(shard_holds(244, 245, 2500, Some(610_186)), Some(186));
        assert_eq!(shard_holds(4, 5, 8, None), None);
        assert_eq!(shard_holds(4, 5, 8, Some(3)), None);
    }
}
