//! What became of masks, for the report: where they come from, what comparing the pictures said,
//! and how far that is what the release says.

use std::collections::BTreeMap;

use diptych_format::Sample;
use diptych_format::writer::Change;
use serde::{Deserialize, Serialize};

/// Steps in which overlaps are counted.
const STEPS: usize = 10;

/// In what overlaps are summed, so that the sum does not depend on the order.
const MILLION: f64 = 1_000_000.0;

/// What became of the masks of one dataset and edit type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskBook {
    /// Masks written, by where they come from (`release`, `run_length`, `difference`); under
    /// `none` the pairs without one.
    pub written: BTreeMap<String, u64>,
    /// Pairs whose pictures were compared, by what that said: `local`, `global`, `unchanged`, or
    /// why they could not be.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub compared: BTreeMap<String, u64>,
    /// How far what changed is what the release's masks say, where there are both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapBook>,
}

/// Overlaps (intersection over union) of masks by difference with those of the release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OverlapLine", into = "OverlapLine")]
pub struct OverlapBook {
    /// Pairs that have both.
    pub pairs: u64,
    /// The sum, in millionths.
    pub sum_in_millionths: u64,
    /// Pairs from 0 to below 0.1, from there to below 0.2, and so on; 1 is in the last.
    pub tenths: [u64; STEPS],
}

/// Overlaps as the report shows them.
#[derive(Serialize, Deserialize)]
struct OverlapLine {
    pairs: u64,
    /// From 0 to 1.
    mean: f64,
    sum_in_millionths: u64,
    tenths: [u64; STEPS],
}

impl From<OverlapLine> for OverlapBook {
    fn from(OverlapLine { pairs, sum_in_millionths, tenths, .. }: OverlapLine) -> Self {
        Self { pairs, sum_in_millionths, tenths }
    }
}

impl From<OverlapBook> for OverlapLine {
    fn from(book: OverlapBook) -> Self {
        let OverlapBook { pairs, sum_in_millionths, tenths } = book;
        Self { pairs, mean: book.mean(), sum_in_millionths, tenths }
    }
}

/// One line of the books of masks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskLine {
    /// The dataset.
    pub dataset: String,
    /// The edit type.
    pub edit_type: Option<String>,
    /// What became of the masks of its pairs.
    #[serde(flatten)]
    pub book: MaskBook,
}

/// What became of masks, by dataset and edit type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<MaskLine>", into = "Vec<MaskLine>")]
pub struct MaskBooks(BTreeMap<(String, Option<String>), MaskBook>);

impl From<Vec<MaskLine>> for MaskBooks {
    fn from(lines: Vec<MaskLine>) -> Self {
        Self(lines.into_iter().map(|line| ((line.dataset, line.edit_type), line.book)).collect())
    }
}

impl From<MaskBooks> for Vec<MaskLine> {
    fn from(books: MaskBooks) -> Self {
        let line = |((dataset, edit_type), book)| MaskLine { dataset, edit_type, book };
        books.0.into_iter().map(line).collect()
    }
}

impl MaskBooks {
    /// Enters a pair that was written.
    pub(crate) fn enter(&mut self, sample: &Sample) {
        let pair = &sample.pair;
        let of = (pair.dataset.clone(), pair.edit_type.clone());
        let book = self.0.entry(of).or_default();
        let mask = pair.mask.as_ref().filter(|_| sample.mask.is_some());
        let origin = mask.map_or("none", |mask| mask.origin.word());
        *book.written.entry(origin.to_owned()).or_default() += 1;
        let Some(change) = &sample.change else { return };
        let said = match change {
            Change::Local { .. } => "local",
            Change::Global { .. } => "global",
            Change::Unchanged => "unchanged",
            Change::Unknown { why } => why,
        };
        *book.compared.entry(said.to_owned()).or_default() += 1;
        if let Change::Local { iou_with_release: Some(iou), .. } = change {
            book.overlap.get_or_insert_default().enter(*iou);
        }
    }

    /// Adds other books to these.
    pub(crate) fn add(&mut self, other: &Self) {
        for (of, from) in &other.0 {
            let book = self.0.entry(of.clone()).or_default();
            for (to, from) in
                [(&mut book.written, &from.written), (&mut book.compared, &from.compared)]
            {
                for (key, count) in from {
                    *to.entry(key.clone()).or_default() += count;
                }
            }
            if let Some(from) = &from.overlap {
                book.overlap.get_or_insert_default().add(from);
            }
        }
    }

    /// The sum over all datasets and edit types.
    #[must_use]
    pub fn total(&self) -> MaskBook {
        let mut total = Self::default();
        for book in self.0.values() {
            let of = (String::new(), None);
            total.add(&Self(BTreeMap::from([(of, book.clone())])));
        }
        total.0.into_values().next().unwrap_or_default()
    }
}

impl OverlapBook {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an overlap lies between 0 and 1"
    )]
    fn enter(&mut self, iou: f64) {
        let iou = iou.clamp(0.0, 1.0);
        self.pairs += 1;
        self.sum_in_millionths += (iou * MILLION).round() as u64;
        let step = ((iou * STEPS as f64) as usize).min(STEPS - 1);
        if let Some(count) = self.tenths.get_mut(step) {
            *count += 1;
        }
    }

    fn add(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.sum_in_millionths += other.sum_in_millionths;
        for (to, from) in self.tenths.iter_mut().zip(other.tenths) {
            *to += from;
        }
    }

    /// The mean, from 0 to 1, to four decimals; 0 where there is nothing to compare.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let mean = self.sum_in_millionths as f64 / MILLION / self.pairs.max(1) as f64;
        (mean * 10_000.0).round() / 10_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_add_up_in_any_order() {
        let of = |overlaps: &[f64]| {
            let mut book = OverlapBook::default();
            overlaps.iter().for_each(|iou| book.enter(*iou));
            book
        };
        let mut sum = of(&[0.25, 1.0]);
        sum.add(&of(&[0.0, 0.949]));
        assert_eq!(sum, of(&[0.949, 0.0, 1.0, 0.25]));
        assert_eq!(sum.tenths, [1, 0, 1, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!((sum.pairs, sum.mean()), (4, 0.5498));
        let json = serde_json::to_string(&sum).unwrap();
        assert!(json.contains("\"mean\":0.5498"), "{json}");
        assert_eq!(serde_json::from_str::<OverlapBook>(&json).unwrap(), sum);
        assert_eq!(OverlapBook::default().mean(), 0.0);
    }
}
