//! Numbers of several runs, and how they are written.

/// The middle and the ends of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// `None` where there are no numbers.
    pub(super) fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<_> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some(Self { median: f64::midpoint(lower, upper), min, max })
    }

    /// Both ends: `1.21 to 1.27`.
    pub(super) fn range(&self) -> String {
        format!("{} to {}", number(self.min), number(self.max))
    }
}

/// A number with about three figures that count.
pub(super) fn number(value: f64) -> String {
    let decimals = match value {
        _ if value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Bytes in millions: `24.9`.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// Bytes with a unit: `3.47 GB`.
pub(super) fn bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    let (scale, unit) = if bytes >= 1e9 { (1e9, "GB") } else { (1e6, "MB") };
    format!("{} {unit}", number(bytes / scale))
}

/// A count with its thousands apart: `1,099,964`.
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(numbers: &[f64]) -> Option<(f64, f64, f64)> {
        Spread::of(numbers.iter().copied()).map(|of| (of.median, of.min, of.max))
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[2.5]), Some((2.5, 2.5, 2.5)));
        assert_eq!(spread(&[9.0, 1.0, 2.0]), Some((2.0, 1.0, 9.0)));
        assert_eq!(spread(&[4.0, 1.0, 9.0, 2.0]), Some((3.0, 1.0, 9.0)));
    }

    #[test]
    fn numbers_are_written_to_be_read() {
        let numbers = [0.0714, 0.9999, 1.276, 12.34, 1234.5].map(number);
        assert_eq!(numbers, ["0.071", "1.000", "1.28", "12.3", "1234"]);
        assert_eq!(megabytes(24_890_000), "24.9");
        assert_eq!(bytes(3_470_000_000), "3.47 GB");
        assert_eq!(bytes(302_000_000), "302 MB");
        assert_eq!([0, 999, 1000, 1_099_964].map(count), ["0", "999", "1,000", "1,099,964"]);
        assert_eq!(Spread::of([2.0, 1.5]).unwrap().range(), "1.50 to 2.00");
    }
}
