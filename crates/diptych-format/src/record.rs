//! The record that every output carries for a pair.
//!
//! One schema for every output: every key is there for every pair, scalars and structs are null
//! where a pair has none, lists are never null. [`Record`] is the record; [`fields`] says what is
//! in it, for cards and schemas; [`columns`] makes columns of it, and [`restore`] reads one back.

pub mod columns;
mod file_names;
mod restore;

use diptych_schema::{EditBox, MaskPart, Region, Score};
use serde::Serialize;

use crate::writer::{Sample, WrittenPicture};
pub use file_names::FileNames;
pub use restore::{
    FoundPictures, RecordedPicture, RecordedPictures, RestoreError, Restored, restore,
};

/// How many times as long as a row of a release ([`Limits::row_bytes`](diptych_storage::Limits)) its
/// record may be: it holds the row as text in which every quote is escaped, with the files beside it.
pub const RECORD_IN_ROWS: usize = 8;

/// A kind of value in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    String,
    /// An unsigned number of 16 bits.
    U16,
    /// An unsigned number of 32 bits.
    U32,
    /// A floating-point number of 64 bits.
    F64,
    /// Named values.
    Struct(Vec<Field>),
    /// Any number of values of one kind.
    List(Box<Kind>),
}

/// A named value of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
}

fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind }
}

fn texts(names: &[&'static str]) -> Vec<Field> {
    names.iter().map(|name| field(name, Kind::String)).collect()
}

fn list(of: Vec<Field>) -> Kind {
    Kind::List(Box::new(Kind::Struct(of)))
}

fn named(kind: Kind) -> Kind {
    list(vec![field("name", Kind::String), field("value", kind)])
}

/// The fields of [`Record`], in order. Only where pictures stand beside the record under names of
/// their own (`with_part`) does each picture say its `part`.
#[must_use]
pub fn fields(with_part: bool) -> Vec<Field> {
    let picture = |first: Option<&'static str>| {
        let mut fields = texts(first.as_slice());
        if with_part {
            fields.push(field("part", Kind::String));
        }
        fields.push(field("name", Kind::String));
        fields.extend([field("width", Kind::U32), field("height", Kind::U32)]);
        fields
    };
    let edges = || ["x0", "y0", "x1", "y1"].map(|name| field(name, Kind::F64));
    let frame = || ["frame_width", "frame_height"].map(|name| field(name, Kind::U32));
    let mut edit_box = Vec::from(edges());
    edit_box.extend(frame());
    edit_box.push(field("status", Kind::String));
    let mut region = texts(&["label", "role"]);
    region.extend(edges());
    region.extend(frame());
    region.push(field("mask", Kind::String));
    region.extend([field("mask_width", Kind::U32), field("mask_height", Kind::U32)]);
    region.push(field("scores", named(Kind::F64)));

    let mut fields = texts(&["pair_id", "dataset", "subset", "split", "session_id"]);
    fields.push(field("turn", Kind::U16));
    fields.extend(texts(&["base", "premise", "group_id", "variant", "inverse_of", "edit_type"]));
    fields.push(field("edit_type_native", Kind::List(Box::new(Kind::String))));
    fields.extend(texts(&["instruction", "language"]));
    fields.push(field("instructions", list(texts(&["text", "language", "kind"]))));
    fields.push(field("captions", list(texts(&["text", "language", "of"]))));
    fields.extend(texts(&["editor"]));
    fields.push(field(
        "pictures",
        Kind::Struct(vec![
            field("source", Kind::Struct(picture(None))),
            field("references", list(picture(Some("role")))),
            field("target", Kind::Struct(picture(None))),
            field("mask", Kind::Struct(picture(None))),
        ]),
    ));
    fields.extend(texts(&["mask_grid", "mask_origin"]));
    fields.push(field("box", Kind::Struct(edit_box)));
    fields.push(field("regions", list(region)));
    fields.push(field("scores", named(Kind::F64)));
    fields.push(field("labels", named(Kind::String)));
    fields.extend(texts(&["licence", "native"]));
    fields
}

/// The part names of a sample's pictures, where they stand beside the record: the role, for
/// references with a number, and the extension of the true type.
#[must_use]
pub fn part_of(role: &str, picture: &WrittenPicture) -> String {
    format!("{role}.{}", picture.media_type.extension())
}

/// The record of a pair, to be serialised.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    pair_id: &'a str,
    dataset: &'a str,
    subset: Option<&'a str>,
    split: Option<&'static str>,
    session_id: Option<&'a str>,
    turn: Option<u16>,
    base: Option<&'a str>,
    premise: Option<&'a str>,
    group_id: Option<&'a str>,
    variant: Option<&'a str>,
    inverse_of: Option<&'a str>,
    edit_type: Option<&'a str>,
    edit_type_native: &'a [String],
    instruction: Option<&'a str>,
    language: Option<&'a str>,
    instructions: Vec<InstructionRecord<'a>>,
    captions: Vec<CaptionRecord<'a>>,
    editor: Option<&'a str>,
    #[serde(flatten)]
    file_names: Option<FileNames<'a>>,
    pictures: PicturesRecord<'a>,
    mask_grid: Option<&'static str>,
    mask_origin: Option<&'static str>,
    #[serde(rename = "box")]
    edit_box: Option<BoxRecord>,
    regions: Vec<RegionRecord<'a>>,
    scores: Vec<ScoreRecord<'a>>,
    labels: Vec<LabelRecord<'a>>,
    licence: Option<&'a str>,
    native: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct InstructionRecord<'a> {
    text: &'a str,
    language: Option<&'a str>,
    kind: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct CaptionRecord<'a> {
    text: &'a str,
    language: Option<&'a str>,
    of: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct PicturesRecord<'a> {
    source: PictureRecord<'a>,
    references: Vec<ReferenceRecord<'a>>,
    target: Option<PictureRecord<'a>>,
    mask: Option<PictureRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct PictureRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    name: Option<&'a str>,
    width: u32,
    height: u32,
}

#[derive(Debug, Serialize)]
struct ReferenceRecord<'a> {
    role: Option<&'a str>,
    #[serde(flatten)]
    picture: PictureRecord<'a>,
}

#[derive(Debug, Serialize)]
struct BoxRecord {
    x0: Option<f64>,
    y0: Option<f64>,
    x1: Option<f64>,
    y1: Option<f64>,
    frame_width: Option<u32>,
    frame_height: Option<u32>,
    status: &'static str,
}

#[derive(Debug, Serialize)]
struct RegionRecord<'a> {
    label: Option<&'a str>,
    role: Option<&'a str>,
    x0: Option<f64>,
    y0: Option<f64>,
    x1: Option<f64>,
    y1: Option<f64>,
    frame_width: Option<u32>,
    frame_height: Option<u32>,
    mask: Option<&'a str>,
    mask_width: Option<u32>,
    mask_height: Option<u32>,
    scores: Vec<ScoreRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct ScoreRecord<'a> {
    name: &'a str,
    value: Option<f64>,
}

#[derive(Debug, Serialize)]
struct LabelRecord<'a> {
    name: &'a str,
    value: &'a str,
}

/// Non-finite numbers have no form in JSON and become null, each counted.
#[derive(Default)]
struct Finite {
    lost: u64,
}

impl Finite {
    fn keep(&mut self, value: f64) -> Option<f64> {
        let finite = value.is_finite().then_some(value);
        self.lost += u64::from(finite.is_none());
        finite
    }

    fn scores<'a>(&mut self, scores: &'a [Score]) -> Vec<ScoreRecord<'a>> {
        let mut records: Vec<_> = scores
            .iter()
            .map(|score| ScoreRecord { name: &score.name, value: self.keep(score.value) })
            .collect();
        records.sort_by_key(|score| score.name);
        records
    }

    fn edit_box(&mut self, edit_box: &EditBox) -> BoxRecord {
        BoxRecord {
            x0: self.keep(edit_box.x0),
            y0: self.keep(edit_box.y0),
            x1: self.keep(edit_box.x1),
            y1: self.keep(edit_box.y1),
            frame_width: Some(edit_box.frame_width),
            frame_height: Some(edit_box.frame_height),
            status: edit_box.status.word(),
        }
    }

    fn region<'a>(&mut self, region: &'a Region) -> RegionRecord<'a> {
        let edit_box = region.edit_box.as_ref().map(|edit_box| self.edit_box(edit_box));
        let edit_box = edit_box.as_ref();
        let mask = match &region.mask {
            Some(MaskPart::RunLength { counts, width, height }) => {
                Some((counts.as_str(), *width, *height))
            }
            _ => None,
        };
        RegionRecord {
            label: region.label.as_deref(),
            role: region.role.as_deref(),
            x0: edit_box.and_then(|b| b.x0),
            y0: edit_box.and_then(|b| b.y0),
            x1: edit_box.and_then(|b| b.x1),
            y1: edit_box.and_then(|b| b.y1),
            frame_width: edit_box.and_then(|b| b.frame_width),
            frame_height: edit_box.and_then(|b| b.frame_height),
            mask: mask.map(|(counts, _, _)| counts),
            mask_width: mask.map(|(_, width, _)| width),
            mask_height: mask.map(|(_, _, height)| height),
            scores: self.scores(&region.scores),
        }
    }
}

impl<'a> Record<'a> {
    /// The record of a sample, and how many non-finite numbers became null in it.
    #[must_use]
    pub fn new(sample: &'a Sample, with_part: bool) -> (Self, u64) {
        let pair = &sample.pair;
        let mut finite = Finite::default();
        let picture = |role: &str, picture: &'a WrittenPicture| PictureRecord {
            part: with_part.then(|| part_of(role, picture)),
            name: picture.name.as_deref(),
            width: picture.width,
            height: picture.height,
        };
        let reference = |(i, of): (usize, &'a WrittenPicture)| ReferenceRecord {
            role: of.role.as_deref(),
            picture: picture(&reference_role(i), of),
        };
        let mut labels: Vec<_> = pair
            .labels
            .iter()
            .map(|label| LabelRecord { name: &label.name, value: &label.value })
            .collect();
        labels.sort_by_key(|label| label.name);
        let record = Self {
            pair_id: &pair.pair_id,
            dataset: &pair.dataset,
            subset: pair.subset.as_deref(),
            split: pair.split.map(diptych_schema::Split::word),
            session_id: pair.session_id.as_deref(),
            turn: pair.turn,
            base: pair.base.as_deref(),
            premise: pair.premise.as_deref(),
            group_id: pair.group_id.as_deref(),
            variant: pair.variant.as_deref(),
            inverse_of: pair.inverse_of.as_deref(),
            edit_type: pair.edit_type.as_deref(),
            edit_type_native: &pair.edit_type_native,
            instruction: pair.instruction.as_deref(),
            language: pair.language.as_deref(),
            instructions: pair
                .instructions
                .iter()
                .map(|variant| InstructionRecord {
                    text: &variant.text,
                    language: variant.language.as_deref(),
                    kind: variant.kind.as_deref(),
                })
                .collect(),
            captions: pair
                .captions
                .iter()
                .map(|caption| CaptionRecord {
                    text: &caption.text,
                    language: caption.language.as_deref(),
                    of: caption.of.as_deref(),
                })
                .collect(),
            editor: pair.editor.as_deref(),
            file_names: None,
            pictures: PicturesRecord {
                source: picture("source", &sample.source),
                references: sample.references.iter().enumerate().map(reference).collect(),
                target: sample.target.as_ref().map(|target| picture("target", target)),
                mask: sample.mask.as_ref().map(|mask| picture("mask", mask)),
            },
            mask_grid: pair.mask.as_ref().map(|mask| mask.grid.word()),
            mask_origin: pair.mask.as_ref().map(|mask| mask.origin.word()),
            edit_box: pair.edit_box.as_ref().map(|edit_box| finite.edit_box(edit_box)),
            regions: pair.regions.iter().map(|region| finite.region(region)).collect(),
            scores: finite.scores(&pair.scores),
            labels,
            licence: pair.licence.as_deref(),
            native: pair.native.as_deref(),
        };
        (record, finite.lost)
    }

    /// The record with the names of the pictures' files, before `pictures`.
    #[must_use]
    pub fn with_file_names(self, names: FileNames<'a>) -> Self {
        Self { file_names: Some(names), ..self }
    }
}

/// The role under which reference `index` (from 0) stands.
#[must_use]
pub fn reference_role(index: usize) -> String {
    format!("reference{index}")
}
