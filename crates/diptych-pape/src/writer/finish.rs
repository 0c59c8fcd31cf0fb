//! The end of an output: rows in their manifests, pictures in the folders of their roles, splits,
//! and what lets the folder be loaded.
//!
//! The units' rows are read twice: once to see what there is (folders, splits, edits that may be
//! paired), of which some bytes a row are kept; then folder by folder, to be written.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use diptych_format::record::FileNames;
use diptych_format::record::columns::TableWriter;
use diptych_format::writer::{
    FinishOutput, Finished, FinishedUnit, Provenance, SplitCount, SplitWord,
};
use diptych_format::{FormatError, Notice, Place};
use diptych_schema::Split;
use diptych_storage::ReadAt;
use diptych_storage::output::{OutputError, StagedFile, StagedWrite};
use diptych_storage::read::Cursor;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::card::{self, Counts};
use super::folders::Folders;
use super::names::renamed;
use super::pairing::{Gathered, Pairing, Pairs};
use super::row::{Placed, PlacedSide, line};
use super::splits::Images;
use super::unit::{NOT_FINITE, path};
use super::unit_row::{ROWS, Stored, UnitRow};
use crate::layout::{Role, Side, Sides};
use crate::wire;

/// A manifest's name.
const MANIFEST: &str = "manifest.jsonl";

/// Where a row is among those of the units.
#[derive(Clone, Copy)]
struct At {
    folder: u32,
    unit: u32,
    offset: u64,
}

/// What the first reading sees.
#[derive(Default)]
struct Seen {
    folders: Folders,
    rows: Vec<At>,
    images: Images,
    pairs: Pairs,
}

/// A unit's file of rows.
struct Open {
    unit: u32,
    file: Arc<dyn ReadAt>,
    lines: BufReader<Cursor>,
    /// Where that stands.
    at: u64,
}

/// The rows of the units, in any order.
#[derive(Default)]
struct Rows {
    /// A unit's file, and where it stands.
    open: Option<Open>,
    line: Vec<u8>,
}

impl Rows {
    /// The row at a place, and where the next one is; `None` behind the last of a unit.
    fn at(
        &mut self,
        output: &mut dyn FinishOutput,
        unit: u32,
        offset: u64,
    ) -> Result<Option<(UnitRow, u64)>, FormatError> {
        let failed = |source| {
            let path = format!("the rows of unit {unit}");
            FormatError::Output(OutputError::Write { action: "read", path, source })
        };
        let file = match self.open.take() {
            Some(open) if (open.unit, open.at) == (unit, offset) => Ok(open),
            Some(open) if open.unit == unit => Err(open.file),
            _ => Err(output.open(unit, ROWS)?),
        };
        let mut open = file.unwrap_or_else(|file| {
            let lines = BufReader::new(Cursor::at(Arc::clone(&file), offset));
            Open { unit, file, lines, at: offset }
        });
        self.line.clear();
        open.lines.read_until(b'\n', &mut self.line).map_err(failed)?;
        let next = offset + self.line.len() as u64;
        self.open = Some(Open { at: next, ..open });
        if self.line.is_empty() {
            return Ok(None);
        }
        let row = serde_json::from_slice(&self.line);
        row.map(|row| Some((row, next))).map_err(json)
    }
}

fn json(source: serde_json::Error) -> FormatError {
    FormatError::Json { what: "a row", source }
}

pub(super) fn finish(
    units: &[FinishedUnit],
    provenance: &Provenance,
    pairing: Option<&Pairing>,
    output: &mut dyn FinishOutput,
) -> Result<Finished, FormatError> {
    let seen = see(units, pairing, output)?;
    let mut end = End::of(&seen);
    end.write_rows(output)?;
    end.close(units, provenance, pairing.is_some(), output)
}

/// Reads the rows of all units for the first time.
fn see(
    units: &[FinishedUnit],
    pairing: Option<&Pairing>,
    output: &mut dyn FinishOutput,
) -> Result<Seen, FormatError> {
    let mut seen = Seen::default();
    let mut gathered = Gathered::default();
    let mut rows = Rows::default();
    for unit in units.iter().filter(|unit| !unit.files.files.is_empty()) {
        let mut offset = 0;
        while let Some((row, next)) = rows.at(output, unit.unit, offset)? {
            let folder = seen.folders.number(&row.subset, &row.editor);
            if pairing.is_some() {
                gathered.take(seen.rows.len(), &row);
            }
            seen.images.take(&row);
            seen.rows.push(At { folder, unit: unit.unit, offset });
            offset = next;
        }
    }
    seen.folders.name();
    if let Some(pairing) = pairing {
        seen.pairs = gathered.pairs(pairing);
    }
    Ok(seen)
}

/// The output while its rows are written.
struct End<'a> {
    seen: &'a Seen,
    /// By a digest of folder and folded name: digests of what tells the bytes, and of the unit's
    /// file that they are in.
    names: HashMap<u128, (u64, u64)>,
    tables: BTreeMap<Split, TableWriter<StagedWrite>>,
    counts: Counts,
    splits: BTreeMap<Split, SplitCount>,
    /// Files whose name was taken: how many, and the first.
    renamed: (u64, String),
    /// Pairs that got the split of a stricter one of their image.
    moved: u64,
}

/// A row, and the unit that it is of.
struct Read {
    unit: u32,
    row: UnitRow,
}

impl<'a> End<'a> {
    fn of(seen: &'a Seen) -> Self {
        Self {
            seen,
            names: HashMap::new(),
            tables: BTreeMap::new(),
            counts: Counts::default(),
            splits: BTreeMap::new(),
            renamed: (0, String::new()),
            moved: 0,
        }
    }

    fn write_rows(&mut self, output: &mut dyn FinishOutput) -> Result<(), FormatError> {
        let Seen { rows, pairs, .. } = self.seen;
        let abnormal: HashSet<_> = pairs.abnormal_of.values().map(|(row, _)| *row).collect();
        let mut order: Vec<u32> = (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect();
        let at = |number: usize| rows.get(number).copied();
        order.sort_by_key(|number| at(*number as usize).map(|at| at.folder));
        let (mut plain, mut others) = (Rows::default(), Rows::default());
        let mut manifest: Option<(u32, Box<dyn StagedFile>)> = None;
        let mut number_of_line = 0;
        for number in order.into_iter().map(|number| number as usize) {
            let Some(At { folder, unit, offset }) = at(number) else { continue };
            if abnormal.contains(&number) {
                continue;
            }
            let Some((row, _)) = plain.at(output, unit, offset)? else { continue };
            let other = pairs.abnormal_of.get(&number);
            let other = match other.and_then(|(row, iou)| Some((at(*row)?, *iou))) {
                Some((of, iou)) => others
                    .at(output, of.unit, of.offset)?
                    .map(|(row, _)| (Read { unit: of.unit, row }, iou)),
                None => None,
            };
            let mut file = match manifest.take() {
                Some((of, file)) if of == folder => file,
                before => {
                    before.map(|(_, file)| file.close()).transpose()?;
                    number_of_line = 0;
                    let name = format!("{}/{MANIFEST}", self.seen.folders.path(folder));
                    output.stage(&path(&name)?)?
                }
            };
            number_of_line += 1;
            let at = (folder, number_of_line);
            let text = self.row(at, Read { unit, row }, other, output)?;
            file.write(text.as_bytes())?;
            file.write(b"\n")?;
            manifest = Some((folder, file));
        }
        manifest.map(|(_, file)| file.close()).transpose()?;
        Ok(())
    }

    /// Gives a row's pictures their places, enters its pairs, and gives its line.
    /// It is of a folder, with a number of the line there, from 1.
    fn row(
        &mut self,
        (folder, number): (u32, u64),
        read: Read,
        other: Option<(Read, f64)>,
        output: &mut dyn FinishOutput,
    ) -> Result<String, FormatError> {
        let Read { unit, mut row } = read;
        let (other_unit, mask_iou) = match &other {
            Some((other, iou)) => (other.unit, Some(*iou)),
            None => (unit, None),
        };
        if let Some((other, _)) = other {
            row.abnormal = other.row.normal;
        }
        let split_stays = self.take_splits(&mut row)?;
        let at = self.seen.folders.path(folder);
        let counted = row.sides().next().and_then(|(_, side)| side.split);
        let counted = counted.map_or(Split::Train, |split| split.0);
        let own = row.own.is_some();
        let mut renamed = false;
        let mut place = |unit, role: Role, stored: &Stored, of: &str| {
            let spot = Spot { unit, folder: &at, role, own, counted, of };
            let name = self.place(&spot, stored, output)?;
            renamed |= name != stored.name || !stored.published;
            Ok::<_, FormatError>(name)
        };
        let first = row.sides().next().map(|(_, side)| side.pair_id.clone()).unwrap_or_default();
        let source = place(unit, Role::Source, &row.source, &first)?;
        let mut side = |of: Side, unit| -> Result<Option<PlacedSide>, FormatError> {
            let Some(side) = row.of(of) else { return Ok(None) };
            let id = side.pair_id.as_str();
            let mut of_role = |role, stored: &Stored| place(unit, role, stored, id);
            let target = side.target.as_ref();
            let target = target.map(|stored| of_role(of.target(), stored)).transpose()?;
            let mask = side.mask.as_ref();
            let mask = mask.map(|stored| of_role(of.mask(), stored)).transpose()?;
            let references = side.references.iter();
            let references: Result<Vec<_>, _> =
                references.map(|stored| of_role(Role::Reference, stored)).collect();
            Ok(Some(PlacedSide { target, mask, references: references? }))
        };
        let sides = Sides {
            normal: side(Side::Normal, unit)?,
            abnormal: side(Side::Abnormal, other_unit)?,
        };
        let placed = Placed { source, sides };
        let own_stays = !renamed
            && split_stays
            && row.folders_kept
            && self.seen.folders.is_kept(folder)
            && row.own.as_ref().is_some_and(|own| tells_all(own.get(), &row))
            && row.sides().all(|(_, side)| is_called_so_on(number, &side.pair_id));
        self.enter(&at, &row, &placed, output)?;
        line(&row, &placed, mask_iou, own_stays)
    }

    /// Gives the pairs of a row the split of their image, and says whether it is theirs already.
    fn take_splits(&mut self, row: &mut UnitRow) -> Result<bool, FormatError> {
        let split = self.seen.images.split_of(row).map(SplitWord);
        let mut stays = true;
        for side in [&mut row.normal, &mut row.abnormal].into_iter().flatten() {
            if side.split == split {
                continue;
            }
            // In a text of JSON no other place can look like this: within a string the quotes
            // would be escaped.
            let said = |split: Option<SplitWord>| match split {
                Some(split) => format!(",\"split\":\"{}\",", split.0),
                None => ",\"split\":null,".to_owned(),
            };
            let record = side.record.get().replacen(&said(side.split), &said(split), 1);
            side.record = RawValue::from_string(record).map_err(json)?;
            side.split = split;
            self.moved += 1;
            stays = false;
        }
        Ok(stays)
    }

    /// Gives a picture its place, and says under which name.
    fn place(
        &mut self,
        spot: &Spot<'_>,
        stored: &Stored,
        output: &mut dyn FinishOutput,
    ) -> Result<String, FormatError> {
        let Spot { unit, folder, role, own, counted, of } = *spot;
        let folder = format!("{folder}/{}", role.folder());
        let mut name = stored.name.clone();
        // Names made of a pair's key are the pair's alone; of published ones two may be the same,
        // or become so where case is folded, and a photograph may be in several units.
        if own || role == Role::Source {
            // The name in its own case: a file has one.
            let identity = number_of(&format!("{}/{}", stored.name, stored.identity));
            let file = number_of(&format!("{unit}/{}", stored.file));
            loop {
                let key = digest_of(&format!("{folder}/{}", name.to_ascii_lowercase()));
                match self.names.get(&key).copied() {
                    None => {
                        self.names.insert(key, (identity, file));
                        break;
                    }
                    Some((same, here)) if same == identity => {
                        if here == file {
                            return Ok(name);
                        }
                        // Another unit has written it as well.
                        let path = path(&format!("{folder}/{name}"))?;
                        output.place(unit, &stored.file, &path)?;
                        return Ok(name);
                    }
                    Some(_) => {
                        if self.renamed.0 == 0 {
                            self.renamed.1 = format!("{folder}/{name}");
                        }
                        self.renamed.0 += 1;
                        // The same picture gets the same name again.
                        let told = &stored.identity;
                        name = renamed(&name, if told.is_empty() { of } else { told });
                    }
                }
            }
        }
        output.place(unit, &stored.file, &path(&format!("{folder}/{name}"))?)?;
        let count = self.splits.entry(counted).or_default();
        count.files += 1;
        count.bytes += stored.bytes;
        Ok(name)
    }

    /// Enters the pairs of a row in the tables that let the folder be loaded.
    fn enter(
        &mut self,
        at: &str,
        row: &UnitRow,
        placed: &Placed,
        output: &mut dyn FinishOutput,
    ) -> Result<(), FormatError> {
        self.counts.row(at);
        let below = |role: Role, name: &str| format!("{at}/{}/{name}", role.folder());
        let source = below(Role::Source, &placed.source);
        for (of, side) in row.sides() {
            let Some(files) = placed.sides.of(of) else { continue };
            let target = files.target.as_ref().map(|name| below(of.target(), name));
            let mask = files.mask.as_ref().map(|name| below(of.mask(), name));
            let references: Vec<_> =
                files.references.iter().map(|name| below(Role::Reference, name)).collect();
            let names = FileNames {
                source: &source,
                references: &references,
                target: target.as_deref(),
                mask: mask.as_deref(),
            };
            let split = side.split.map_or(Split::Train, |split| split.0);
            self.counts.pair(split);
            self.splits.entry(split).or_default().pairs += 1;
            let table = match self.tables.entry(split) {
                Entry::Occupied(table) => table.into_mut(),
                Entry::Vacant(place) => {
                    let file = output.stage(&path(&card::table_name(split))?)?;
                    place.insert(TableWriter::new(StagedWrite(file))?)
                }
            };
            table.push(side.record.get().as_bytes(), &names)?;
        }
        Ok(())
    }

    /// Ends the tables, and writes what stands at the root.
    fn close(
        mut self,
        units: &[FinishedUnit],
        provenance: &Provenance,
        paired: bool,
        output: &mut dyn FinishOutput,
    ) -> Result<Finished, FormatError> {
        for (_, table) in std::mem::take(&mut self.tables) {
            let (StagedWrite(file), _) = table.close()?;
            file.close()?;
        }
        let (name, text) = self.seen.images.file(|folder| self.seen.folders.subset(folder));
        output.put(&path(&name)?, text.as_bytes())?;
        let not_finite = units.iter().filter_map(|unit| unit.files.fields.get(NOT_FINITE)).sum();
        let card = card::card(&self.counts, &name, not_finite, provenance);
        output.put(&path("README.md")?, card.as_bytes())?;
        let mut notices = Vec::new();
        let mut notice = |kind: &str, file: &str, detail: String| {
            let at = Place {
                source: "output".to_owned(),
                file: Some(file.to_owned()),
                ..Place::default()
            };
            notices.push(Notice { kind: kind.to_owned(), at, detail });
        };
        if self.moved > 0 {
            let detail =
                format!("{} pairs got the split of a stricter one of the same image", self.moved);
            notice("splits_disagree", &name, detail);
        }
        if let (count @ 1.., first) = &self.renamed {
            let detail = format!("{count} files have another name, since theirs was taken");
            notice("renamed_file", first, detail);
        }
        if paired {
            let rows = self.seen.pairs.abnormal_of.len();
            notice("paired", MANIFEST, format!("rows of two edits: {rows}"));
            for (why, edits) in &self.seen.pairs.unpaired {
                notice("unpaired", MANIFEST, format!("{why}: {edits}"));
            }
        }
        Ok(Finished { notices, splits: Some(self.splits) })
    }
}

/// Where a picture goes.
struct Spot<'a> {
    /// The unit that has it.
    unit: u32,
    /// The editor folder.
    folder: &'a str,
    /// What it is, which says the folder in that.
    role: Role,
    /// Whether it is a picture of PAPE's own, which may have its published name.
    own: bool,
    /// The split that the row is counted in.
    counted: Split,
    /// The pair that it is of.
    of: &'a str,
}

/// Whether the row that PAPE has of the pairs tells all that there is to be told of them.
fn tells_all(own: &str, row: &UnitRow) -> bool {
    let Ok(own) = wire::parse(own.as_bytes()) else { return false };
    let as_read = row.sides().all(|(_, side)| {
        let released = side.mask_origin.as_deref().is_none_or(|origin| origin == "release");
        side.change.is_none() && side.references.is_empty() && released
    });
    let said = |side: Side| {
        *own.prompts.of(side) != wire::Prompt::None || own.paths.of(side.target()).next().is_some()
    };
    as_read && Side::BOTH.into_iter().all(|side| said(side) == row.of(side).is_some())
}

/// Whether reading a row of PAPE on a line of that number gives the id: where several rows are of
/// one image and language, it tells the line (`pape:COCO:flux2_dev:139:en#7:normal`).
fn is_called_so_on(number: u64, pair_id: &str) -> bool {
    let language = pair_id.rsplit(':').nth(1).unwrap_or_default();
    language.split_once('#').is_none_or(|(_, line)| line == number.to_string())
}

fn digest_of(text: &str) -> u128 {
    Sha256::digest(text).iter().take(16).fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

fn number_of(text: &str) -> u64 {
    Sha256::digest(text).iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
