//! Counting with an end: a release may hold any number of different values.

use std::collections::BTreeMap;

use diptych_storage::text::printable;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::plan::id_digest;

/// Different values that are counted apart.
const MOST: usize = 1_000;
/// Bytes of a value that is kept as it is; a longer one is shortened, and told apart by a digest.
const LONGEST: usize = 120;

/// How often each value was met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    values: BTreeMap<String, u64>,
    /// Values for which there is room in any case.
    expected: Vec<&'static str>,
    /// Where there was no value.
    pub none: u64,
    /// Values beyond the first thousand different ones.
    pub others: u64,
}

impl Counts {
    /// Counts a value.
    pub(crate) fn add(&mut self, value: Option<&str>) {
        match value {
            None => self.none += 1,
            Some(value) => self.add_times(value, 1),
        }
    }

    fn add_times(&mut self, value: &str, times: u64) {
        let short;
        let value = if value.len() <= LONGEST {
            value
        } else {
            let digest = id_digest(value) >> 96;
            short =
                format!("{} [{} bytes, {digest:08x}]", printable(value.as_bytes()), value.len());
            &short
        };
        let room = self.values.len() < MOST || self.expected.contains(&value);
        match self.values.get_mut(value) {
            Some(count) => *count += times,
            None if room => {
                self.values.insert(value.to_owned(), times);
            }
            None => self.others += times,
        }
    }

    /// Counts these values apart, however many others come before them.
    pub(crate) fn expect(&mut self, values: impl Iterator<Item = &'static str>) {
        self.expected.extend(values);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (value, count) in &other.values {
            self.add_times(value, *count);
        }
        self.none += other.none;
        self.others += other.others;
    }

    /// The values, the most frequent first, then by name.
    #[must_use]
    pub fn most_first(&self) -> Vec<(&str, u64)> {
        let mut values: Vec<_> = self.values.iter().map(|(v, n)| (v.as_str(), *n)).collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        values
    }

    /// How often this value was met.
    #[must_use]
    pub fn of(&self, value: &str) -> u64 {
        self.values.get(value).copied().unwrap_or(0)
    }

    /// Whether no value was ever met.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

#[derive(Serialize)]
struct Counted<'a> {
    value: &'a str,
    count: u64,
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let most_first = self.most_first();
        let values: Vec<_> =
            most_first.into_iter().map(|(value, count)| Counted { value, count }).collect();
        let mut counts = serializer.serialize_struct("Counts", 3)?;
        counts.serialize_field("values", &values)?;
        counts.serialize_field("none", &self.none)?;
        counts.serialize_field("others", &self.others)?;
        counts.end()
    }
}

/// Whole numbers: how many, and how they lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lengths(BTreeMap<u32, u64>);

/// A number that is larger counts as this.
pub const LARGEST: u32 = 10_000;

/// How numbers lie; [`LARGEST`] stands for what is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The smallest.
    pub least: u32,
    /// Half of them are no larger.
    pub median: u32,
    /// The largest.
    pub most: u32,
}

impl Lengths {
    pub(crate) fn add(&mut self, length: usize) {
        let length = u32::try_from(length).unwrap_or(LARGEST).min(LARGEST);
        *self.0.entry(length).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (length, count) in &other.0 {
            *self.0.entry(*length).or_default() += count;
        }
    }

    /// How they lie; `None` where there are none.
    #[must_use]
    pub fn spread(&self) -> Option<Spread> {
        let half = self.0.values().sum::<u64>().div_ceil(2);
        let mut below = 0;
        let median = self.0.iter().find(|(_, count)| {
            below += **count;
            below >= half
        });
        let (least, most) = (self.0.first_key_value()?.0, self.0.last_key_value()?.0);
        Some(Spread { least: *least, median: *median?.0, most: *most })
    }
}

impl Serialize for Lengths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.spread() {
            Some(spread) => spread.serialize(serializer),
            None => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_up_to_a_number_of_them() {
        let mut counts = Counts::default();
        for value in ["b", "a", "b"] {
            counts.add(Some(value));
        }
        counts.add(None);
        assert_eq!(counts.most_first(), [("b", 2), ("a", 1)]);
        // Long values are shortened, and stay different ones.
        for end in ["a", "b"] {
            counts.add(Some(&format!("{0}{end}{0}", "x".repeat(LONGEST))));
        }
        let long: Vec<_> = counts.most_first().split_off(2);
        assert_eq!(long.len(), 2);
        assert!(
            long.iter().all(|(value, _)| value.contains("x… [241 bytes, ") || value.contains("…x"))
        );
        let mut many = Counts::default();
        (0..MOST + 5).for_each(|i| many.add(Some(&format!("{i:05}"))));
        assert_eq!((many.most_first().len(), many.others), (MOST, 5));
        counts.merge(&many);
        assert_eq!((counts.most_first().len(), counts.others), (MOST, 9));
        assert_eq!((counts.none, counts.of("b"), counts.of("00000")), (1, 2, 1));
    }

    #[test]
    fn values_that_are_expected_are_counted_in_any_case() {
        let mut counts = Counts::default();
        counts.expect(["add"].into_iter());
        (0..MOST).for_each(|i| counts.add(Some(&format!("{i:05}"))));
        for value in ["add", "rare", "add"] {
            counts.add(Some(value));
        }
        assert_eq!((counts.of("add"), counts.others), (2, 1));
        let mut all = Counts::default();
        all.expect(["add"].into_iter());
        all.merge(&counts);
        assert_eq!((all.of("add"), all.others), (2, 1));
    }

    #[test]
    fn the_median_is_the_smaller_middle_one() {
        let of = |lengths: &[usize]| {
            let mut all = Lengths::default();
            lengths.iter().for_each(|length| all.add(*length));
            all.spread().map(|Spread { least, median, most }| (least, median, most))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some((7, 7, 7)));
        assert_eq!(of(&[1, 9, 3, 5]), Some((1, 3, 9)));
        assert_eq!(of(&[1, 1, 1, 50_000]), Some((1, 1, LARGEST)));
    }
}
