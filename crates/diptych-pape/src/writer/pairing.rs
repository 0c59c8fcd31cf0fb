//! Two edits of one object in one photograph as the two sides of a row, where that is asked for.

use std::collections::{BTreeMap, HashMap};

use diptych_format::FormatError;
use diptych_format::options::{OptionError, Options};
use diptych_pixels::mask::{DecodeLimits, Part};
use diptych_pixels::{Bits, overlap};
use diptych_schema::{EditPair, Edited};
use diptych_storage::Limits;

use super::unit_row::{MaskRuns, UnitRow};
use crate::NAME;

/// Key of the option that asks for it.
pub(crate) const PAIR: &str = "pair";
/// Key of the option that says how far masks have to overlap.
pub(crate) const MIN_IOU: &str = "min-iou";
/// Key of the option that says which edit of two is the anomalous one.
pub(crate) const ABNORMAL_IF: &str = "abnormal-if";

/// Edits of one object in one photograph that are compared, each with each.
const CANDIDATES: usize = 64;

/// How edits are paired.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pairing {
    /// The least overlap (intersection over union) of their masks, from 0 to 1.
    pub(crate) min_iou: f64,
    /// The label of the anomalous one, and its value.
    pub(crate) label: (String, String),
}

impl Pairing {
    /// What the options ask for; `None` where they do not ask for pairs.
    ///
    /// # Errors
    /// [`OptionError::Value`] where they cannot be followed.
    pub(crate) fn of(options: &Options) -> Result<Option<Self>, FormatError> {
        let refuse = |key, expected: &str, found: &str| {
            let (expected, found) = (expected.to_owned(), found.to_owned());
            FormatError::Option(OptionError::Value { format: NAME, key, expected, found })
        };
        let (given, abnormal) = (options.get(MIN_IOU), options.get(ABNORMAL_IF));
        let min_iou = given.parse::<f64>().ok().filter(|iou| (0.0..=1.0).contains(iou));
        let min_iou = min_iou.ok_or_else(|| refuse(MIN_IOU, "a number from 0 to 1", given))?;
        let label = abnormal
            .strip_prefix("labels.")
            .and_then(|label| label.split_once('='))
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        match (options.get(PAIR) == "true", label) {
            (false, None) if abnormal.is_empty() => Ok(None),
            (false, _) => Err(refuse(ABNORMAL_IF, "nothing without pape.pair=true", abnormal)),
            (true, Some(label)) => Ok(Some(Self { min_iou, label })),
            (true, None) if abnormal.is_empty() => {
                Err(refuse(PAIR, "pape.abnormal-if=labels.KEY=VALUE beside it", "true"))
            }
            (true, None) => Err(refuse(ABNORMAL_IF, "labels.KEY=VALUE", abnormal)),
        }
    }

    /// Whether the pair is the anomalous one of two.
    pub(crate) fn is_abnormal(&self, pair: &EditPair) -> bool {
        let (name, value) = &self.label;
        pair.labels.iter().any(|label| label.name == *name && label.value == *value)
    }
}

/// Rows that may become one.
struct Candidate {
    row: usize,
    is_abnormal: bool,
    mask: MaskRuns,
}

/// The edits of one output, gathered by photograph and object.
#[derive(Default)]
pub(crate) struct Gathered {
    groups: BTreeMap<[String; 4], Vec<Candidate>>,
    unpaired: BTreeMap<&'static str, u64>,
}

/// Which rows become one.
#[derive(Default)]
pub(crate) struct Pairs {
    /// Of a plain edit's row: the row of its anomalous edit, and the overlap of their masks.
    pub(crate) abnormal_of: HashMap<usize, (usize, f64)>,
    /// Edits that stay alone, by reason.
    pub(crate) unpaired: BTreeMap<&'static str, u64>,
}

impl Gathered {
    /// Takes a row, by its number.
    pub(crate) fn take(&mut self, number: usize, row: &UnitRow) {
        let mut alone = |why| *self.unpaired.entry(why).or_default() += 1;
        // A row of two sides is a pair already.
        let (Some(side), None) = (&row.normal, &row.abnormal) else { return };
        let Some(object) = &row.object else { return alone("no_object") };
        let Some(mask) = &side.mask_runs else { return alone("no_mask") };
        let of = [&row.subset, &row.editor, &row.source.name, object].map(Clone::clone);
        let (is_abnormal, mask) = (side.is_abnormal, mask.clone());
        self.groups.entry(of).or_default().push(Candidate { row: number, is_abnormal, mask });
    }

    /// Pairs those whose masks overlap most.
    pub(crate) fn pairs(self, pairing: &Pairing) -> Pairs {
        let mut pairs = Pairs { unpaired: self.unpaired, ..Pairs::default() };
        for group in self.groups.into_values() {
            let (abnormal, normal): (Vec<_>, Vec<_>) =
                group.into_iter().partition(|candidate| candidate.is_abnormal);
            let most = normal.len().min(CANDIDATES) * abnormal.len().min(CANDIDATES);
            let mut near = Vec::with_capacity(most);
            let masks: Vec<_> = abnormal.iter().take(CANDIDATES).map(|a| bits(&a.mask)).collect();
            for plain in normal.iter().take(CANDIDATES) {
                let mask = bits(&plain.mask);
                for (other, of) in abnormal.iter().zip(&masks) {
                    let iou = mask.as_ref().zip(of.as_ref());
                    let iou = iou.and_then(|(a, b)| overlap(a, b).ok()?.iou()).unwrap_or(0.0);
                    near.push((iou, plain.row, other.row));
                }
            }
            // The nearest first; of two as near, those that come first in the output.
            near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
            let mut taken = Vec::new();
            for (iou, plain, other) in near {
                let free = !taken.contains(&plain) && !taken.contains(&other);
                if free && iou >= pairing.min_iou {
                    taken.extend([plain, other]);
                    pairs.abnormal_of.insert(plain, (other, iou));
                }
            }
            let alone = (normal.len() + abnormal.len() - taken.len()) as u64;
            let why = if normal.is_empty() || abnormal.is_empty() {
                "no_partner"
            } else if normal.len().max(abnormal.len()) > CANDIDATES {
                "too_many_of_one_object"
            } else if taken.len() / 2 == normal.len().min(abnormal.len()) {
                "partner_taken"
            } else {
                "masks_overlap_too_little"
            };
            if alone > 0 {
                *pairs.unpaired.entry(why).or_default() += alone;
            }
        }
        pairs
    }
}

fn bits(mask: &MaskRuns) -> Option<Bits> {
    let limits =
        DecodeLimits { pixels: Limits::DEFAULT.pixels, bytes: Limits::DEFAULT.picture_bytes };
    let size = (mask.width, mask.height);
    let part = Part::RunLength { counts: mask.counts.as_bytes(), size };
    Bits::from_parts(&[part], Edited::White, limits).ok()
}
