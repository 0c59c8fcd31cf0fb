//! Writing the layout.
//!
//! A unit writes its pictures as numbered files and its rows as lines ([`unit`]). At the end, when
//! all rows are known, folders and files get their names, rows their splits and, where that is
//! asked for, edits their other half ([`finish`]).

mod card;
mod finish;
mod folders;
mod names;
mod pairing;
mod row;
mod splits;
mod unit;
mod unit_row;

use diptych_format::writer::{
    FinishOutput, Finished, FinishedUnit, MaskNeeds, Provenance, UnitOutput, UnitStart,
};
use diptych_format::{FormatError, Grain, Options, UnitWriter, Writer};
use diptych_schema::{EditPair, Edited, Mask, MaskOrigin, MaskPart};

use crate::NAME;
use pairing::Pairing;
pub(crate) use pairing::{ABNORMAL_IF, MIN_IOU, PAIR};
use unit::PapeUnit;

/// A writer of the layout.
pub(crate) struct PapeWriter {
    pairing: Option<Pairing>,
}

impl PapeWriter {
    /// A writer with these options.
    ///
    /// # Errors
    /// [`FormatError::Option`].
    pub(crate) fn new(options: &Options) -> Result<Self, FormatError> {
        Ok(Self { pairing: Pairing::of(options)? })
    }
}

impl Writer for PapeWriter {
    fn grain(&self) -> Grain {
        // Both sides of a row.
        Grain::Group
    }

    fn divides_splits(&self) -> bool {
        // Splits are a list beside the folders: rows keep their order.
        false
    }

    fn mask_needs(&self) -> MaskNeeds {
        MaskNeeds { on_source: true, of_changes: true }
    }

    fn keeps_mask(&self, pair: &EditPair, mask: &Mask) -> bool {
        // PAPE's own are read in this layout as they are.
        pair.dataset == NAME
            && mask.origin == MaskOrigin::Release
            && mask.edited == Edited::Nonzero
            && matches!(mask.parts.as_slice(), [MaskPart::Picture(_)])
    }

    fn check(&self, _: &EditPair) -> Result<(), FormatError> {
        Ok(())
    }

    fn overhead(&self, pair: &EditPair, pictures: u64) -> u64 {
        // Names in three places for each picture, and a record whose keys alone take about 900
        // bytes. Quotes in the native record are escaped.
        let native = pair.native.as_ref().map_or(0, |native| native.len() + native.len() / 8);
        let text = pair.instruction.as_ref().map_or(0, |text| 2 * text.len());
        1500 + 200 * pictures + (native + text) as u64
    }

    fn begin<'a>(
        &'a self,
        unit: UnitStart<'a>,
        output: &'a mut dyn UnitOutput,
    ) -> Result<Box<dyn UnitWriter + 'a>, FormatError> {
        Ok(Box::new(PapeUnit::begin(unit, self.pairing.as_ref(), output)))
    }

    fn finish(
        &self,
        units: &[FinishedUnit],
        provenance: &Provenance,
        output: &mut dyn FinishOutput,
    ) -> Result<Finished, FormatError> {
        finish::finish(units, provenance, self.pairing.as_ref(), output)
    }
}
