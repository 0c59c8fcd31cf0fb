//! A unit: its pictures as files, its rows as lines for the end.

use std::collections::{BTreeMap, HashMap};

use diptych_format::record::Record;
use diptych_format::writer::{SplitWord, UnitFile, UnitOutput, UnitStart, WrittenPicture};
use diptych_format::{Atom, FormatError, Payload, Sample, UnitFiles, UnitWriter};
use diptych_pixels::Bits;
use diptych_pixels::mask::{DecodeLimits, Part};
use diptych_pixels::run_length::encode;
use diptych_schema::{Address, EditPair, Edited, MaskPart, Picture};
use diptych_storage::output::{OutputError, StagedFile};
use diptych_storage::{Limits, RelPath};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::names::{base_name, editor_folder, hex, is_safe, source_file, subset_folder};
use super::pairing::Pairing;
use super::unit_row::{MaskRuns, ROWS, SplitEntry, Stored, UnitRow, UnitSide};
use crate::NAME;

/// Counts, among the fields of a unit, numbers that became null because they are not finite.
pub(super) const NOT_FINITE: &str = "not finite";

/// Files in one folder of a unit: no file system slows down over so many.
const FILES_OF_FOLDER: u64 = 1000;

/// Pictures of at most so many bytes are read once, to be told apart and to be written.
const HELD_BYTES: u64 = 32 << 20;

/// A path that is one by construction.
pub(super) fn path(name: &str) -> Result<RelPath, FormatError> {
    RelPath::new(name).map_err(|error| FormatError::CannotHold {
        pair_id: name.to_owned(),
        what: format!("as a file name: {error}"),
    })
}

pub(super) struct PapeUnit<'a> {
    output: &'a mut dyn UnitOutput,
    /// Whether the output holds pairs of several datasets.
    several: bool,
    pairing: Option<&'a Pairing>,
    /// Begun with the first row.
    rows: Option<Box<dyn StagedFile>>,
    /// Files written.
    files: u64,
    /// Pairs written.
    samples: u64,
    /// Sources that the unit has, by folder, name and what tells their bytes.
    sources: HashMap<[String; 4], Stored>,
    fields: BTreeMap<String, u64>,
}

/// The native record of a pair of this layout.
#[derive(Deserialize)]
struct Native {
    row: Box<RawValue>,
    #[serde(default)]
    split: Option<SplitEntry>,
}

impl<'a> PapeUnit<'a> {
    pub(super) fn begin(
        unit: UnitStart<'a>,
        pairing: Option<&'a Pairing>,
        output: &'a mut dyn UnitOutput,
    ) -> Self {
        Self {
            output,
            several: unit.datasets.len() > 1,
            pairing,
            rows: None,
            files: 0,
            samples: 0,
            sources: HashMap::new(),
            fields: BTreeMap::new(),
        }
    }

    /// Writes a row of one or two samples.
    fn row(
        &mut self,
        normal: Option<&Sample>,
        abnormal: Option<&Sample>,
    ) -> Result<(), FormatError> {
        let Some(first) = normal.or(abnormal) else { return Ok(()) };
        let pair = &first.pair;
        let native = pair.native.as_deref().filter(|_| pair.dataset == NAME);
        let native: Option<Native> = native.and_then(|text| serde_json::from_str(text).ok());
        let is_own = native.as_ref().is_some_and(|native| native.row.get().starts_with('{'));
        let subset = subset_folder(&pair.dataset, pair.subset.as_deref(), self.several);
        let editor = editor_folder(pair.editor.as_deref());
        let folders_kept = is_own
            && pair.subset.as_ref() == Some(&subset)
            && pair.editor.as_ref() == Some(&editor);
        let (source, image_id) = self.source(first, &subset, &editor)?;
        let mut row = UnitRow {
            subset,
            editor,
            folders_kept,
            own: None,
            image_id,
            language: pair.language.clone(),
            object: object_of(pair),
            split_entry: None,
            source,
            normal: normal.map(|sample| self.side(sample)).transpose()?,
            abnormal: abnormal.map(|sample| self.side(sample)).transpose()?,
        };
        if let Some(native) = native.filter(|_| is_own) {
            row.own = Some(native.row);
            row.split_entry = native.split;
        }
        self.samples += row.sides().count() as u64;
        let mut line = serde_json::to_vec(&row)
            .map_err(|source| FormatError::Json { what: "a row", source })?;
        line.push(b'\n');
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => none.insert(self.output.stage(&path(ROWS)?, 0)?),
        };
        Ok(rows.write(&line)?)
    }

    /// The source photograph, stored once for each editor folder and unit, and its id.
    fn source(
        &mut self,
        sample: &Sample,
        subset: &str,
        editor: &str,
    ) -> Result<(Stored, String), FormatError> {
        let picture = &sample.source;
        let label = sample.pair.labels.iter().find(|label| label.name == "image_id");
        let image_id = label.map(|label| label.value.clone());
        let published = published_name(&sample.pair, picture);
        let (name, identity, held, image_id) = match (published, image_id) {
            (Some(name), id) => {
                // A row that does not say the id is in no split.
                let identity = identity(&sample.pair.source);
                (name.to_owned(), identity, None, id.unwrap_or_else(|| name.to_owned()))
            }
            (None, image_id) => {
                let (digest, held) = digest(&picture.payload)?;
                let extension = picture.media_type.extension();
                let name = source_file(image_id.as_deref(), &digest, extension);
                let id = image_id.unwrap_or_else(|| hex(&digest, 16));
                (name, String::new(), held, id)
            }
        };
        let key = [subset, editor, &name, &identity].map(str::to_owned);
        if let Some(stored) = self.sources.get(&key) {
            return Ok((stored.clone(), image_id));
        }
        let payload = held.unwrap_or_else(|| picture.payload.clone());
        let stored = self.store(&payload, name, identity, published.is_some())?;
        self.sources.insert(key, stored.clone());
        Ok((stored, image_id))
    }

    fn side(&mut self, sample: &Sample) -> Result<UnitSide, FormatError> {
        let Sample { pair, key, .. } = sample;
        let (record, lost) = Record::new(sample, false);
        if lost > 0 {
            *self.fields.entry(NOT_FINITE.to_owned()).or_default() += lost;
        }
        let record = serde_json::value::to_raw_value(&record)
            .map_err(|source| FormatError::Json { what: "a record", source })?;
        let mut stored = |picture: &WrittenPicture, of: Option<&Picture>| {
            let published = of.zip(published_name(pair, picture));
            let (name, identity) = match published {
                Some((of, name)) => (name.to_owned(), identity(of)),
                None => (format!("{key}.{}", picture.media_type.extension()), String::new()),
            };
            self.store(&picture.payload, name, identity, published.is_some())
        };
        let target = sample.target.as_ref();
        let target = target.map(|target| stored(target, pair.target.as_ref())).transpose()?;
        let of_mask = pair.mask.as_ref().and_then(|mask| match mask.parts.as_slice() {
            [MaskPart::Picture(picture)] => Some(picture),
            _ => None,
        });
        let mask = sample.mask.as_ref().map(|mask| stored(mask, of_mask)).transpose()?;
        let mut references = Vec::with_capacity(sample.references.len());
        for (i, picture) in sample.references.iter().enumerate() {
            let name = format!("{key}-{i}.{}", picture.media_type.extension());
            references.push(self.store(&picture.payload, name, String::new(), false)?);
        }
        let mask_runs = match (self.pairing, &sample.mask) {
            (Some(_), Some(mask)) => mask_runs(mask)?,
            _ => None,
        };
        Ok(UnitSide {
            pair_id: pair.pair_id.clone(),
            key: key.clone(),
            split: pair.split.map(SplitWord),
            record,
            prompt: pair.instruction.clone(),
            target,
            mask_origin: pair
                .mask
                .as_ref()
                .filter(|_| mask.is_some())
                .map(|mask| mask.origin.word().to_owned()),
            mask,
            mask_runs,
            references,
            change: sample.change.clone(),
            is_abnormal: self.pairing.is_some_and(|pairing| pairing.is_abnormal(pair)),
        })
    }

    /// Writes a picture as a file of the unit.
    fn store(
        &mut self,
        payload: &Payload,
        name: String,
        identity: String,
        published: bool,
    ) -> Result<Stored, FormatError> {
        let number = self.files;
        let file = format!("files/{:05}/{number:08}", number / FILES_OF_FOLDER);
        let bytes = payload.length();
        let mut staged = self.output.stage_small(&path(&file)?, bytes)?;
        payload.write_to(staged.as_mut())?;
        staged.close()?;
        self.files += 1;
        Ok(Stored { file, name, identity, published, bytes })
    }
}

impl UnitWriter for PapeUnit<'_> {
    fn write(&mut self, atom: &Atom) -> Result<(), FormatError> {
        let of = |variant: &str| {
            let mut of = atom.samples.iter().filter(|s| s.pair.variant.as_deref() == Some(variant));
            // Several that say the same are no two halves of a row.
            let first = of.next();
            first.filter(|_| of.next().is_none())
        };
        let (normal, abnormal) = (of("normal"), of("abnormal"));
        let in_row = usize::from(normal.is_some()) + usize::from(abnormal.is_some());
        if in_row == atom.samples.len() {
            return self.row(normal, abnormal);
        }
        atom.samples.iter().try_for_each(|sample| self.row(Some(sample), None))
    }

    fn close(self: Box<Self>) -> Result<UnitFiles, FormatError> {
        let Some(rows) = self.rows else { return Ok(UnitFiles::default()) };
        let (bytes, samples) = (rows.close()?, self.samples);
        // What is in each split, and which files there are, is settled when all units are done.
        let file = UnitFile { name: ROWS.to_owned(), bytes, samples };
        Ok(UnitFiles { files: vec![file], fields: self.fields })
    }
}

/// The name that PAPE gives the file of a picture, where it may stay.
fn published_name<'a>(pair: &EditPair, picture: &'a WrittenPicture) -> Option<&'a str> {
    let name = picture.name.as_deref().filter(|_| pair.dataset == NAME)?;
    Some(base_name(name)).filter(|name| is_safe(name))
}

/// What tells the bytes of a picture from those of another of its name: where they lie.
fn identity(picture: &Picture) -> String {
    match &picture.address {
        Address::Range { file, offset, length } => format!("{file}:{offset}:{length}"),
        Address::Inline(bytes) => hex(&Sha256::digest(bytes), 16),
        // Nothing is written of a picture that lies elsewhere.
        Address::Cell { .. } | Address::Url { .. } => picture.name.clone(),
    }
}

/// What is edited, where the pair says it.
fn object_of(pair: &EditPair) -> Option<String> {
    let label = pair.labels.iter().find(|label| label.name == "object");
    let region = || {
        let edited = pair.regions.iter().find(|region| region.role.as_deref() == Some("edited"));
        edited.and_then(|region| region.label.clone())
    };
    label.map(|label| label.value.clone()).or_else(region)
}

/// A digest of a picture, and its bytes where they were read at once.
fn digest(payload: &Payload) -> Result<([u8; 32], Option<Payload>), FormatError> {
    match payload {
        Payload::Bytes(bytes) => Ok((Sha256::digest(bytes).into(), None)),
        Payload::Range { file, offset, length } => {
            let (offset, length) = (*offset, *length);
            let mut digest = Sha256::new();
            let whole = length <= HELD_BYTES;
            let step = if whole { length } else { HELD_BYTES };
            let mut buffer = vec![0; usize::try_from(step).unwrap_or(usize::MAX)];
            let mut done = 0;
            while done < length {
                let part = usize::try_from((length - done).min(step)).unwrap_or(usize::MAX);
                let place = buffer.get_mut(..part).unwrap_or_default();
                file.read_exact_at(offset + done, place).map_err(|source| OutputError::Read {
                    offset,
                    length,
                    source,
                })?;
                digest.update(place);
                done += part as u64;
            }
            let held = whole.then(|| Payload::Bytes(buffer.into()));
            Ok((digest.finalize().into(), held))
        }
    }
}

/// A mask as run lengths; `None` where it is in no form that can be read.
fn mask_runs(mask: &WrittenPicture) -> Result<Option<MaskRuns>, FormatError> {
    let (offset, length) = match &mask.payload {
        Payload::Range { length, .. } if *length > HELD_BYTES => return Ok(None),
        Payload::Range { offset, length, .. } => (*offset, *length),
        Payload::Bytes(bytes) => (0, bytes.len() as u64),
    };
    let read = |source| OutputError::Read { offset, length, source };
    let bytes = mask.payload.read().map_err(read)?;
    let limits =
        DecodeLimits { pixels: Limits::DEFAULT.pixels, bytes: Limits::DEFAULT.picture_bytes };
    let Ok(bits) = Bits::from_parts(&[Part::Picture(&bytes)], Edited::Nonzero, limits) else {
        return Ok(None);
    };
    let (width, height) = (bits.width(), bits.height());
    let pixels: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .map(|(x, y)| u8::from(bits.get(x, y)))
        .collect();
    let counts = encode(&pixels, (width, height)).ok();
    Ok(counts.map(|counts| MaskRuns { counts, width, height }))
}
