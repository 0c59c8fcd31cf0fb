//! Units as shards.

use std::collections::BTreeMap;

use diptych_format::record::{Record, part_of, reference_role};
use diptych_format::split_files::{self, path};
use diptych_format::writer::{
    FinishOutput, Finished, FinishedUnit, Provenance, UnitFile, UnitOutput, UnitStart,
    WrittenPicture,
};
use diptych_format::{Atom, FormatError, Grain, Payload, Sample, UnitFiles, UnitWriter, Writer};
use diptych_schema::{EditPair, Split};
use diptych_storage::output::StagedFile;

use crate::card;
use crate::index::{self, NamedShard};
use crate::ustar;

/// The one file of a unit, until it gets its name.
const SHARD: &str = "shard.tar";

/// Where its samples begin, for Energon.
const OFFSETS: &str = "shard.tar.idx";

pub(crate) struct ShardWriter;

impl Writer for ShardWriter {
    fn grain(&self) -> Grain {
        // The turns of a session are of most use next to each other and in order.
        Grain::Session
    }

    fn check(&self, pair: &EditPair) -> Result<(), FormatError> {
        let refuse =
            |what: String| Err(FormatError::CannotHold { pair_id: pair.pair_id.clone(), what });
        let pictures = std::iter::once(&pair.source).chain(&pair.target);
        for picture in pictures.chain(pair.references.iter().map(|r| &r.picture)) {
            if picture.address.length().is_some_and(|length| length > ustar::MEMBER_BYTES) {
                return refuse(format!("a picture of more than {} bytes", ustar::MEMBER_BYTES));
            }
        }
        Ok(())
    }

    fn overhead(&self, pair: &EditPair, pictures: u64) -> u64 {
        // A header and half a block of padding for each member, and a record whose keys alone
        // take about 900 bytes. Quotes in the native record are escaped.
        let native = pair.native.as_ref().map_or(0, |native| native.len() + native.len() / 8);
        let text = pair.instruction.as_ref().map_or(0, String::len);
        (pictures + 1) * (ustar::BLOCK + ustar::BLOCK / 2) + 900 + (native + text) as u64
    }

    fn begin<'a>(
        &'a self,
        unit: UnitStart<'a>,
        output: &'a mut dyn UnitOutput,
    ) -> Result<Box<dyn UnitWriter + 'a>, FormatError> {
        Ok(Box::new(Shard {
            output,
            bytes: unit.bytes,
            file: None,
            offsets: Vec::new(),
            fields: BTreeMap::new(),
        }))
    }

    fn finish(
        &self,
        units: &[FinishedUnit],
        provenance: &Provenance,
        output: &mut dyn FinishOutput,
    ) -> Result<Finished, FormatError> {
        let mut named = Vec::new();
        for &split in Split::ALL {
            let shards = split_files::of_split(units, split);
            for (i, (unit, file)) in shards.iter().enumerate() {
                let name = split_files::name(split, i, shards.len(), "tar");
                output.place(*unit, &file.name, &path(&name)?)?;
                output.place(*unit, OFFSETS, &path(&format!("{name}.idx"))?)?;
                let UnitFile { bytes, samples, .. } = **file;
                named.push(NamedShard { split, name, samples, bytes });
            }
        }
        output.put(&path("README.md")?, card::card(units, provenance).as_bytes())?;
        for (name, text) in index::files(&named)? {
            output.put(&path(&name)?, text.as_bytes())?;
        }
        Ok(Finished::default())
    }
}

struct Shard<'a> {
    output: &'a mut dyn UnitOutput,
    /// About how many will come.
    bytes: u64,
    /// Begun with the first sample: a shard without any is never made.
    file: Option<Box<dyn StagedFile>>,
    /// Where each sample begins.
    offsets: Vec<u64>,
    fields: BTreeMap<String, u64>,
}

impl Shard<'_> {
    fn sample(&mut self, sample: &Sample) -> Result<(), FormatError> {
        let (record, lost) = Record::new(sample, true);
        let record = serde_json::to_vec(&record)
            .map_err(|source| FormatError::Json { what: "a record", source })?;
        if lost > 0 {
            *self.fields.entry(card::NOT_FINITE.to_owned()).or_default() += lost;
        }
        self.offsets.push(self.file.as_ref().map_or(0, |file| file.position()));
        self.member(sample, "json", &Payload::Bytes(record.into()))?;
        self.picture(sample, "source", &sample.source)?;
        for (i, reference) in sample.references.iter().enumerate() {
            self.picture(sample, &reference_role(i), reference)?;
        }
        if let Some(target) = &sample.target {
            self.picture(sample, "target", target)?;
        }
        if let Some(mask) = &sample.mask {
            self.picture(sample, "mask", mask)?;
        }
        Ok(())
    }

    fn picture(
        &mut self,
        sample: &Sample,
        role: &str,
        picture: &WrittenPicture,
    ) -> Result<(), FormatError> {
        let part = part_of(role, picture);
        self.member(sample, &part, &picture.payload)?;
        *self.fields.entry(part).or_default() += 1;
        Ok(())
    }

    fn member(&mut self, sample: &Sample, part: &str, of: &Payload) -> Result<(), FormatError> {
        let name = format!("{}.{part}", sample.key);
        let length = of.length();
        let header = ustar::header(&name, length).ok_or_else(|| FormatError::CannotHold {
            pair_id: sample.pair.pair_id.clone(),
            what: format!("the member {name} of {length} bytes"),
        })?;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.output.stage(&path(SHARD)?, self.bytes)?),
        };
        file.write(header.as_bytes())?;
        of.write_to(file.as_mut())?;
        file.write(ustar::padding(length))?;
        Ok(())
    }
}

impl UnitWriter for Shard<'_> {
    fn write(&mut self, atom: &Atom) -> Result<(), FormatError> {
        atom.samples.iter().try_for_each(|sample| self.sample(sample))
    }

    fn close(self: Box<Self>) -> Result<UnitFiles, FormatError> {
        let Some(mut file) = self.file else { return Ok(UnitFiles::default()) };
        let samples = self.offsets.len() as u64;
        let mut offsets = self.output.stage(&path(OFFSETS)?, 0)?;
        offsets.write(&index::offsets(&self.offsets, file.position()))?;
        offsets.close()?;
        file.write(&ustar::END)?;
        let bytes = file.close()?;
        let file = UnitFile { name: SHARD.to_owned(), bytes, samples };
        Ok(UnitFiles { files: vec![file], fields: self.fields })
    }
}
