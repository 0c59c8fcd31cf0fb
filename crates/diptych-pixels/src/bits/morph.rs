//! What shapes of masks are made with: whole words of bits at a time.

use std::ops::Range;

use super::{Bits, WORD};

impl Bits {
    /// The bits behind the last pixel of a row are not set.
    fn clear_padding(&mut self) {
        let used = self.width as usize % WORD;
        if used != 0 {
            let keep = (1_u64 << used) - 1;
            for row in self.rows_mut() {
                if let Some(last) = row.last_mut() {
                    *last &= keep;
                }
            }
        }
    }

    /// Edited where it was not.
    pub(crate) fn invert(&mut self) {
        for word in &mut self.words {
            *word = !*word;
        }
        self.clear_padding();
    }

    /// Edited where this one and the other are.
    pub(crate) fn intersect(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Edited where this one or the other is.
    pub(crate) fn unite(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Each pixel that has an edited one at most so many columns away.
    pub(crate) fn widened(&self, by: usize) -> Self {
        let mut out = self.clone();
        for row in out.rows_mut() {
            let mut reach = 0;
            let mut left = row.to_vec();
            while reach < by {
                let step = (reach + 1).min(by - reach).min(WORD - 1);
                let mut carried = 0;
                for word in row.iter_mut() {
                    let next = *word >> (WORD - step);
                    *word |= *word << step | carried;
                    carried = next;
                }
                carried = 0;
                for word in left.iter_mut().rev() {
                    let next = *word << (WORD - step);
                    *word |= *word >> step | carried;
                    carried = next;
                }
                reach += step;
            }
            for (word, other) in row.iter_mut().zip(&left) {
                *word |= other;
            }
        }
        out.clear_padding();
        out
    }

    /// Adds what the other has so many rows above and below.
    pub(crate) fn unite_shifted(&mut self, other: &Self, rows: usize) {
        let away = self.words_a_row() * rows;
        let below = other.words.get(away..).unwrap_or_default();
        for (word, other) in self.words.iter_mut().zip(below) {
            *word |= other;
        }
        for (word, other) in self.words.iter_mut().skip(away).zip(&other.words) {
            *word |= other;
        }
    }

    /// Says whether pixels of a row are edited.
    pub(crate) fn set_run(&mut self, y: u32, columns: Range<u32>, edited: bool) {
        let start = y as usize * self.words_a_row();
        let end = columns.end.min(self.width) as usize;
        let mut at = columns.start as usize;
        while at < end {
            let (word, bit) = (at / WORD, at % WORD);
            let count = (WORD - bit).min(end - at);
            let bits = (u64::MAX >> (WORD - count)) << bit;
            if let Some(word) = self.words.get_mut(start + word) {
                *word = if edited { *word | bits } else { *word & !bits };
            }
            at += count;
        }
    }

    /// The runs of edited pixels of a row, as ranges of columns.
    pub(crate) fn runs(&self, y: u32) -> impl Iterator<Item = Range<u32>> {
        let words = self.words_a_row();
        let row = self.words.get(y as usize * words..(y as usize + 1) * words).unwrap_or_default();
        let mut at = 0_usize;
        std::iter::from_fn(move || {
            let first = seek(row, at, true)?;
            let end = seek(row, first, false).unwrap_or(self.width as usize);
            at = end;
            let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            Some(narrow(first)..narrow(end).min(self.width))
        })
    }

    /// The mask on a grid that is finer by that factor, of this size.
    pub(crate) fn enlarged(&self, factor: usize, (width, height): (u32, u32)) -> Self {
        let mut out = Self::new(width, height);
        for y in 0..height {
            let from = y / u32::try_from(factor).unwrap_or(u32::MAX);
            for columns in self.runs(from.min(self.height.saturating_sub(1))) {
                let times = |at: u32| u32::try_from(at as usize * factor).unwrap_or(u32::MAX);
                out.set_run(y, times(columns.start)..times(columns.end), true);
            }
        }
        out
    }
}

/// The first bit from `at` on that is set, or not set.
fn seek(row: &[u64], at: usize, set: bool) -> Option<usize> {
    let mut place = at / WORD;
    let mut skip = at % WORD;
    while let Some(word) = row.get(place) {
        let word = if set { *word } else { !*word };
        let word = word & (u64::MAX << skip);
        if word != 0 {
            return Some(place * WORD + word.trailing_zeros() as usize);
        }
        place += 1;
        skip = 0;
    }
    None
}
