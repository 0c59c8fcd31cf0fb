//! Outputs of numbered files, each split's by itself: `data/SPLIT-SSSSS-of-NNNNN.EXT`.

use diptych_schema::Split;
use diptych_storage::RelPath;

use crate::card::CardSplit;
use crate::error::FormatError;
use crate::writer::{FinishedUnit, UnitFile};

/// The name of file `index` of `count` with that extension: numbers of one width, five digits or
/// as many as needed.
#[must_use]
pub fn name(split: Split, index: usize, count: usize, extension: &str) -> String {
    let width = count.to_string().len().max(5);
    format!("data/{split}-{index:0width$}-of-{count:0width$}.{extension}")
}

/// A path that is one by construction.
///
/// # Errors
/// [`FormatError::CannotHold`] where it is none.
pub fn path(name: &str) -> Result<RelPath, FormatError> {
    RelPath::new(name).map_err(|error| FormatError::CannotHold {
        pair_id: name.to_owned(),
        what: format!("as a file name: {error}"),
    })
}

/// The files of a split in order, each with the number of its unit.
#[must_use]
pub fn of_split(units: &[FinishedUnit], split: Split) -> Vec<(u32, &UnitFile)> {
    units
        .iter()
        .filter(|unit| unit.split == Some(split))
        .flat_map(|unit| unit.files.files.iter().map(|file| (unit.unit, file)))
        .collect()
}

/// The splits for a card, in order. A split without pairs is not mentioned.
#[must_use]
pub fn card_splits(units: &[FinishedUnit], extension: &str) -> Vec<CardSplit> {
    let of = |split: Split| {
        let files = of_split(units, split);
        let bytes = files.iter().map(|(_, file)| file.bytes).sum();
        let samples = files.iter().map(|(_, file)| file.samples).sum();
        CardSplit { split, paths: vec![format!("data/{split}-*.{extension}")], bytes, samples }
    };
    Split::ALL.iter().map(|split| of(*split)).filter(|split| split.samples > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_width() {
        let tar = |split, index, count| name(split, index, count, "tar");
        assert_eq!(tar(Split::Train, 0, 1), "data/train-00000-of-00001.tar");
        assert_eq!(tar(Split::Val, 7, 12), "data/val-00007-of-00012.tar");
        assert_eq!(tar(Split::Test, 5, 100_000), "data/test-000005-of-100000.tar");
    }
}
