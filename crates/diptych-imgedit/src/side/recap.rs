//! Recaptions: what a second release says of the photographs that the edits were made of, above
//! all the run-length masks of their objects.
//!
//! - [`RecapIndex`]: the records of a copy, by photograph.
//! - [`parse`], [`add`]: a record, and what of it goes into a pair.

mod index;

use diptych_pixels::run_length::{RunLimits, decode};
use diptych_schema::text::language_of;
use diptych_schema::{
    Caption, Combine, EditBox, EditPair, Edited, Grid, Mask, MaskOrigin, MaskPart, Picture, Region,
    Score,
};
use diptych_storage::Limits;
use serde_json::Value;

pub(crate) use index::RecapIndex;

use super::Context;
use super::result::{self, CONTEXT, Object, label};
use crate::groups::{Masks, Task};

/// How far the edges of one box may lie apart in two files, in pixels.
const NEAR: f64 = 1.0;

/// What a record says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Record {
    captions: Vec<String>,
    background_tags: Vec<String>,
    object_tags: Vec<String>,
    aesthetic: Option<f64>,
    /// Width and height of the photograph.
    frame: Option<(u32, u32)>,
    /// Segmented parts of the background, then objects.
    segments: Vec<Object>,
}

/// What recaptions, results and folders call a photograph, brought to one form: the folder's name
/// (`00095_00019_000197953`). `None` for what is no path of one.
///
/// Paths count from the photographs' own folder (`00095/00019/000197953.jpg`); files of records
/// are called by the same path without anything between its parts.
pub(crate) fn photograph(path: &str) -> Option<String> {
    let parts: Vec<_> =
        path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    let name = parts.last()?;
    let stem = name.split_once('.').map_or(*name, |(stem, _)| stem);
    if is_sample(stem) {
        return Some(stem.to_owned());
    }
    let digits = stem.split_once('_').map_or(stem, |(digits, _)| digits);
    if digits.len() == 19 && digits.bytes().all(|b| b.is_ascii_digit()) {
        let (first, rest) = digits.split_at_checked(5)?;
        let (second, third) = rest.split_at_checked(5)?;
        return Some(format!("{first}_{second}_{third}"));
    }
    let [.., first, second, _] = parts.as_slice() else { return None };
    let found = format!("{first}_{second}_{stem}");
    is_sample(&found).then_some(found)
}

/// Whether a name is that of a sample's folder: three numbers.
pub(super) fn is_sample(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    name.split('_').count() == 3 && name.split('_').all(is_number)
}

/// Reads a record. What it says in an unexpected way is left out.
pub(super) fn parse(bytes: &[u8]) -> Result<Record, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if !value.is_object() {
        return Err("a JSON value that is no object".to_owned());
    }
    let tags = |name: &str| value.get("tags").map(|tags| texts(tags.get(name))).unwrap_or_default();
    let mut captions = texts(value.get("cap"));
    captions.extend(tags("summary"));
    let mut segments = Vec::new();
    for name in ["background", "object"] {
        let of = value.get("segmentation").and_then(|all| all.get(name)?.as_array());
        segments.extend(of.into_iter().flatten().filter_map(result::object));
    }
    Ok(Record {
        captions,
        background_tags: tags("background"),
        object_tags: tags("object"),
        aesthetic: value.get("aes").and_then(result::number),
        frame: value.get("resolution").and_then(result::resolution),
        segments,
    })
}

/// A text or a list of them; blank ones are left out.
fn texts(value: Option<&Value>) -> Vec<String> {
    let items = match value {
        Some(Value::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let texts = items.iter().filter_map(Value::as_str).filter(|text| !text.trim().is_empty());
    texts.map(str::to_owned).collect()
}

/// Adds to a pair what a record says of its photograph. The regions that `result.json` gave are
/// there already; `frame` is the photograph's size by it.
pub(super) fn add(
    pair: &mut EditPair,
    context: &Context<'_>,
    record: Record,
    frame: Option<(u32, u32)>,
) {
    let of = shown_in(context, &pair.source).map(str::to_owned);
    for text in record.captions {
        let language = language_of(&text, Some("en"));
        pair.captions.push(Caption { text, language, of: of.clone() });
    }
    for (name, tags) in
        [("tag_background", &record.background_tags), ("tag_object", &record.object_tags)]
    {
        tags.iter().for_each(|tag| label(&mut pair.labels, name, Some(tag)));
    }
    let aesthetic = record.aesthetic.map(|value| Score { name: "aesthetic".to_owned(), value });
    pair.scores.extend(aesthetic);
    let frame = record.frame.or(frame);
    let mut segments: Vec<_> =
        record.segments.into_iter().map(|segment| segment.region(frame, CONTEXT)).collect();
    for region in &mut pair.regions {
        if let Some(place) = same(region, &segments) {
            let segment = segments.remove(place);
            region.mask = region.mask.take().or(segment.mask);
        }
    }
    pair.regions.append(&mut segments);
    if pair.mask.is_none() && context.task.masks() != Masks::None {
        pair.mask = mask(pair);
    }
}

/// Which picture of the pair is the photograph, where one is.
fn shown_in(context: &Context<'_>, source: &Picture) -> Option<&'static str> {
    match (context.task, context.turn) {
        // The photograph is what the edit gives: what was taken out of it is added.
        (Task::Add, _) | (Task::VersionBacktracking, Some(0)) => Some("target"),
        // Later turns start from what the first gave.
        (Task::ContentMemory, Some(1..)) => None,
        // What is extracted may be taken from another picture than the photograph.
        (Task::Extract, _) if !source.name.ends_with("/original.png") => None,
        _ => Some("source"),
    }
}

/// The segment that a region of `result.json` is: of the same class, with the same box.
fn same(region: &Region, segments: &[Region]) -> Option<usize> {
    let distance = |segment: &Region| match (&region.edit_box, &segment.edit_box) {
        (Some(a), Some(b)) => {
            let edges = |b: &EditBox| [b.x0, b.y0, b.x1, b.y1];
            let apart = edges(a).into_iter().zip(edges(b)).map(|(a, b)| (a - b).abs());
            apart.fold(0.0, f64::max)
        }
        // Without a box the class has to do, where only one is of it.
        _ => NEAR,
    };
    let mut alike: Vec<_> = segments
        .iter()
        .enumerate()
        .filter(|(_, segment)| region.label.is_some() && segment.label == region.label)
        .map(|(place, segment)| (distance(segment), place))
        .filter(|(distance, _)| *distance <= NEAR)
        .collect();
    alike.sort_by(|a, b| a.0.total_cmp(&b.0));
    match alike.as_slice() {
        [(first, _), (second, _), ..] if first == second && region.edit_box.is_none() => None,
        [(_, place), ..] => Some(*place),
        [] => None,
    }
}

/// Whether run lengths are such of their grid: what is damaged here is no mask, and costs no pair.
fn can_be_drawn(part: &MaskPart) -> bool {
    let MaskPart::RunLength { counts, width, height } = part else { return true };
    let limits = RunLimits { pixels: Limits::DEFAULT.pixels, runs: Limits::DEFAULT.pixels };
    decode(counts.as_bytes(), (*width, *height), limits).is_ok()
}

/// The mask that the run lengths of the edited objects make, where there are those of each.
fn mask(pair: &EditPair) -> Option<Mask> {
    let edited = pair.regions.iter().filter(|region| result::is_of_edit(region));
    let parts: Option<Vec<_>> = edited.map(|region| region.mask.clone()).collect();
    let parts = parts.filter(|parts| !parts.is_empty() && parts.iter().all(can_be_drawn))?;
    let size = parts.first().and_then(MaskPart::size);
    let is_size_of = |picture: &Picture| size.is_some() && picture.size() == size;
    let grid = if is_size_of(&pair.source) {
        Grid::Source
    } else if pair.target.as_ref().is_some_and(is_size_of) {
        Grid::Target
    } else {
        Grid::Other
    };
    Some(Mask {
        parts,
        combine: Combine::Union,
        // Run lengths count from what is not the object: 1 is the object.
        edited: Edited::White,
        grid,
        origin: MaskOrigin::RunLength,
    })
}
