//! The set as a release: a format whose reader finds its pairs in code.

use std::collections::VecDeque;

use diptych::format::reader::SourceFile;
use diptych::format::{
    About, Edit, Edits, Format, FormatError, MaskMeaning, Notice, Part, Reader, ReaderInput, Tally,
};
use diptych::schema::{
    Address, Caption, Combine, EditBox, EditPair, Edited, Grid, InstructionVariant, Label, Mask,
    MaskOrigin, MaskPart, Picture, Reference, Region, Score, Split,
};
use diptych_pixels::run_length::encode;
use serde_json::Value;

use crate::pictures::{Drawn, DrawnMask};
use crate::set::{Told, set};

pub(crate) struct Toy;

const ABOUT: About = About {
    name: "toy",
    title: "Toy",
    summary: "pairs that are hard to read back",
    reads: true,
    writes: false,
    options: &[],
    losses: &[],
    alters: &[],
    fills: &[],
    edit_types: &[],
    masks: MaskMeaning::None,
    terms: &[],
    citation: None,
    published: &[],
};

impl Format for Toy {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn open_reader(&self, _: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(ToyReader { partitions: vec!["set".to_owned()] }))
    }
}

struct ToyReader {
    partitions: Vec<String>,
}

impl Reader for ToyReader {
    fn files(&self) -> &[SourceFile] {
        &[]
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, _: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        Ok(Box::new(ToyEdits(set().into())))
    }

    fn parts(&self, _: &Tally) -> Result<Vec<Part>, FormatError> {
        Ok(Vec::new())
    }

    fn notices(&self, _: &Tally) -> Vec<Notice> {
        Vec::new()
    }
}

struct ToyEdits(VecDeque<Told>);

impl Edits for ToyEdits {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        Ok(self.0.pop_front().map(|told| Edit::Pair(Box::new(pair(&told)))))
    }
}

fn text(of: &Value, key: &str) -> Option<String> {
    of.get(key)?.as_str().map(str::to_owned)
}

/// A text that is always there. One that is not would be missed by the comparison.
fn word(of: &Value, key: &str) -> String {
    text(of, key).unwrap_or_default()
}

fn whole(of: &Value, key: &str) -> Option<u32> {
    of.get(key)?.as_u64()?.try_into().ok()
}

fn list<T>(of: &Value, key: &str, each: impl Fn(&Value) -> T) -> Vec<T> {
    of.get(key).and_then(Value::as_array).into_iter().flatten().map(each).collect()
}

fn edges(of: &Value) -> Option<EditBox> {
    let edge = |key: &str| of.get(key)?.as_f64();
    Some(EditBox::new(
        [edge("x0")?, edge("y0")?, edge("x1")?, edge("y1")?],
        whole(of, "frame_width")?,
        whole(of, "frame_height")?,
    ))
}

/// Scores, the last first: an output has them by name. What is null there was no number.
fn scores(of: &Value) -> Vec<Score> {
    let value = |score: &Value| score.get("value").and_then(Value::as_f64).unwrap_or(f64::NAN);
    let mut scores =
        list(of, "scores", |score| Score { name: word(score, "name"), value: value(score) });
    scores.reverse();
    scores
}

fn region(of: &Value) -> Region {
    let mask = text(of, "mask").zip(whole(of, "mask_width")).zip(whole(of, "mask_height"));
    let mask = mask.map(|((counts, width), height)| MaskPart::RunLength { counts, width, height });
    let (label, role) = (text(of, "label"), text(of, "role"));
    Region { label, role, edit_box: edges(of), mask, scores: scores(of) }
}

/// A picture under its name in the record. Size and type are left to be found out.
fn picture(of: &Value, drawn: &Drawn) -> Picture {
    Picture {
        name: word(of, "name"),
        address: Address::Inline(drawn.bytes.clone()),
        width: None,
        height: None,
        media_type: None,
    }
}

fn mask(record: &Value, of: &Value, drawn: &DrawnMask) -> Mask {
    let grid = text(record, "mask_grid").and_then(|word| Grid::from_word(&word));
    let origin = text(record, "mask_origin").and_then(|word| MaskOrigin::from_word(&word));
    let part = if origin == Some(MaskOrigin::RunLength) {
        let (width, height) = drawn.drawn.size();
        let counts = encode(&drawn.pixels, (width, height)).unwrap_or_default();
        MaskPart::RunLength { counts, width, height }
    } else {
        MaskPart::Picture(picture(of, &drawn.drawn))
    };
    Mask {
        parts: vec![part],
        combine: Combine::Union,
        edited: if drawn.dark_is_edited { Edited::Black } else { Edited::White },
        grid: grid.unwrap_or(Grid::Other),
        origin: origin.unwrap_or(MaskOrigin::Difference),
    }
}

/// The pair that has this record.
fn pair(told: &Told) -> EditPair {
    let Told { record: r, source, references, target, mask: drawn_mask, .. } = told;
    let pictures = r.get("pictures").unwrap_or(&Value::Null);
    let of = |role: &str| pictures.get(role).unwrap_or(&Value::Null);
    let names = list(pictures, "references", Value::clone);
    let reference = |(of, drawn): (&Value, &Drawn)| Reference {
        picture: picture(of, drawn),
        role: text(of, "role"),
    };
    let mut labels =
        list(r, "labels", |label| Label { name: word(label, "name"), value: word(label, "value") });
    labels.reverse();
    EditPair {
        subset: text(r, "subset"),
        split: text(r, "split").and_then(|word| Split::from_word(&word)),
        session_id: text(r, "session_id"),
        turn: whole(r, "turn").and_then(|turn| turn.try_into().ok()),
        base: text(r, "base"),
        premise: text(r, "premise"),
        group_id: text(r, "group_id"),
        variant: text(r, "variant"),
        inverse_of: text(r, "inverse_of"),
        edit_type: text(r, "edit_type"),
        edit_type_native: list(r, "edit_type_native", |w| w.as_str().unwrap_or("").to_owned()),
        instruction: text(r, "instruction"),
        language: text(r, "language"),
        instructions: list(r, "instructions", |variant| InstructionVariant {
            text: word(variant, "text"),
            language: text(variant, "language"),
            kind: text(variant, "kind"),
        }),
        captions: list(r, "captions", |caption| Caption {
            text: word(caption, "text"),
            language: text(caption, "language"),
            of: text(caption, "of"),
        }),
        editor: text(r, "editor"),
        references: names.iter().zip(references).map(reference).collect(),
        target: Some(picture(of("target"), target)),
        mask: drawn_mask.as_ref().map(|drawn| mask(r, of("mask"), drawn)),
        edit_box: r.get("box").and_then(edges),
        regions: list(r, "regions", region),
        scores: scores(r),
        labels,
        licence: text(r, "licence"),
        native: text(r, "native"),
        ..EditPair::new(word(r, "pair_id"), word(r, "dataset"), picture(of("source"), source))
    }
}
