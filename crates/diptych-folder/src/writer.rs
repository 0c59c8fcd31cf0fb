//! Units as folders, and the end of an output.
//!
//! A unit has the folders of its pictures as the output will have them, and its part of the table.
//! In which folder a picture is follows from the pair's place in the plan, not from what was
//! written before it. So the pictures lie in the same places however units are cut and whatever is
//! rejected, and most folders are moved to their place as a whole.

use std::collections::BTreeMap;

use diptych_format::record::{FileNames, Record};
use diptych_format::split_files;
use diptych_format::writer::{
    FinishOutput, Finished, FinishedUnit, Provenance, SplitCount, UnitFile, UnitOutput, UnitStart,
    WrittenPicture,
};
use diptych_format::{Atom, FormatError, Grain, Options, Sample, UnitFiles, UnitWriter, Writer};
use diptych_schema::{EditPair, Split};
pub(crate) use split_files::path;

use crate::card::{self, Counts, NOT_FINITE, PICTURE_BYTES};
use crate::layout::{self, Role};
use crate::table::{Kind, Part};

pub(crate) struct FolderWriter {
    kind: Kind,
}

impl FolderWriter {
    /// A writer with these options.
    pub(crate) fn new(options: &Options) -> Self {
        Self { kind: Kind::of(options) }
    }
}

impl Writer for FolderWriter {
    fn grain(&self) -> Grain {
        // The turns of a session are of most use next to each other and in order.
        Grain::Session
    }

    fn check(&self, _: &EditPair) -> Result<(), FormatError> {
        Ok(())
    }

    fn overhead(&self, pair: &EditPair, pictures: u64) -> u64 {
        // Of the record what compression leaves of it, and the names of the pictures' files.
        let native = pair.native.as_ref().map_or(0, String::len);
        let text = pair.instruction.as_ref().map_or(0, String::len);
        250 + 60 * pictures + (native / 2 + text) as u64
    }

    fn begin<'a>(
        &'a self,
        _: UnitStart<'a>,
        output: &'a mut dyn UnitOutput,
    ) -> Result<Box<dyn UnitWriter + 'a>, FormatError> {
        let (kind, fields) = (self.kind, BTreeMap::new());
        Ok(Box::new(Unit { kind, output, table: None, samples: 0, fields }))
    }

    fn finish(
        &self,
        units: &[FinishedUnit],
        provenance: &Provenance,
        output: &mut dyn FinishOutput,
    ) -> Result<Finished, FormatError> {
        let mut splits = BTreeMap::new();
        for &split in Split::ALL {
            let of_split = units.iter().filter(|unit| unit.split == Some(split));
            let written: Vec<_> = of_split.filter(|unit| !unit.files.files.is_empty()).collect();
            if written.is_empty() {
                continue;
            }
            for unit in &written {
                let counts = Counts::of(std::iter::once(*unit));
                for role in Role::ALL.iter().filter(|role| counts.pictures(**role) > 0) {
                    let place = path(&format!("{split}/{role}"))?;
                    output.place_folder(unit.unit, role.word(), &place)?;
                }
            }
            let numbers: Vec<_> = written.iter().map(|unit| unit.unit).collect();
            let table = format!("{split}/{}", self.kind.file());
            let table_bytes = self.kind.join(&numbers, &table, output)?;
            let counts = Counts::of(written.into_iter());
            let count = SplitCount {
                pairs: counts.pairs,
                files: counts.all_pictures() + 1,
                bytes: counts.fields(PICTURE_BYTES) + table_bytes,
            };
            splits.insert(split, count);
        }
        let card = card::card(units, self.kind, provenance);
        output.put(&path("README.md")?, card.as_bytes())?;
        Ok(Finished { splits: Some(splits), ..Finished::default() })
    }
}

/// A unit being written.
struct Unit<'a> {
    kind: Kind,
    output: &'a mut dyn UnitOutput,
    /// Begun with the first sample.
    table: Option<Part>,
    samples: u64,
    fields: BTreeMap<String, u64>,
}

impl Unit<'_> {
    fn sample(&mut self, sample: &Sample) -> Result<(), FormatError> {
        let source = self.picture(sample, Role::Source, &sample.source, None)?;
        let references = (0..).zip(&sample.references);
        let references: Vec<_> = references
            .map(|(number, of)| self.picture(sample, Role::Reference, of, Some(number)))
            .collect::<Result<_, _>>()?;
        let target = sample.target.as_ref();
        let target = target.map(|of| self.picture(sample, Role::Target, of, None)).transpose()?;
        let mask = sample.mask.as_ref();
        let mask = mask.map(|of| self.picture(sample, Role::Mask, of, None)).transpose()?;
        let names = FileNames {
            source: &source,
            references: &references,
            target: target.as_deref(),
            mask: mask.as_deref(),
        };
        let (record, not_finite) = Record::new(sample, false);
        let table = match &mut self.table {
            Some(table) => table,
            none => none.insert(self.kind.begin(self.output)?),
        };
        table.push(record, names)?;
        self.samples += 1;
        self.count(NOT_FINITE, not_finite);
        Ok(())
    }

    /// Writes a picture, and gives its path from the folder of the split.
    fn picture(
        &mut self,
        sample: &Sample,
        role: Role,
        picture: &WrittenPicture,
        number: Option<usize>,
    ) -> Result<String, FormatError> {
        let extension = picture.media_type.extension();
        let name = layout::picture(role, sample.row, &sample.key, number, extension);
        let bytes = picture.payload.length();
        let mut file = self.output.stage_small(&path(&name)?, bytes)?;
        picture.payload.write_to(file.as_mut())?;
        file.close()?;
        self.count(role.word(), 1);
        self.count(PICTURE_BYTES, bytes);
        Ok(name)
    }

    fn count(&mut self, field: &str, by: u64) {
        if by > 0 {
            *self.fields.entry(field.to_owned()).or_default() += by;
        }
    }
}

impl UnitWriter for Unit<'_> {
    fn write(&mut self, atom: &Atom) -> Result<(), FormatError> {
        atom.samples.iter().try_for_each(|sample| self.sample(sample))
    }

    fn close(self: Box<Self>) -> Result<UnitFiles, FormatError> {
        let Some(table) = self.table else { return Ok(UnitFiles::default()) };
        let bytes = table.close()?;
        let name = self.kind.file().to_owned();
        let file = UnitFile { name, bytes, samples: self.samples };
        Ok(UnitFiles { files: vec![file], fields: self.fields })
    }
}
