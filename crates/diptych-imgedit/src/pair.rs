//! A row's edit and its pictures into a pair.

use diptych_schema::text::language_of;
use diptych_schema::{
    Combine, EditPair, Edited, Grid, Label, Mask, MaskOrigin, MaskPart, Picture, Reference,
    edit_type,
};
use serde_json::value::RawValue;

use crate::NAME;
use crate::groups::{EDIT_TYPES, Masks, Task};
use crate::layout::Partition;

/// What a reference is to the edit: the picture of the object that is to be put in.
const OBJECT: &str = "object";

/// Which edit of a file it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Id<'a> {
    pub(crate) partition: &'a Partition,
    pub(crate) row: u64,
    /// Its place among the edits of its session.
    pub(crate) turn: Option<u16>,
}

impl Id<'_> {
    /// The id of the row, which is that of a session.
    pub(crate) fn row(&self) -> String {
        format!("{NAME}:{}:{}", self.partition.stem, self.row)
    }

    pub(crate) fn pair(&self) -> String {
        match self.turn {
            Some(turn) => format!("{}:{turn}", self.row()),
            None => self.row(),
        }
    }
}

/// What a pair is made of.
pub(crate) struct Parts {
    pub(crate) prompt: Option<String>,
    pub(crate) premise: Option<String>,
    pub(crate) source: Picture,
    pub(crate) references: Vec<Picture>,
    pub(crate) target: Picture,
    pub(crate) masks: Vec<Picture>,
}

/// A pair, without what stands beside its pictures.
pub(crate) fn pair(id: Id<'_>, parts: Parts) -> EditPair {
    let Parts { prompt, premise, source, references, target, masks } = parts;
    let Id { partition, turn, .. } = id;
    let mut labels = Vec::new();
    let mut label = |name: &str, value: &str| {
        labels.push(Label { name: name.to_owned(), value: value.to_owned() });
    };
    if turn.is_some() {
        // What the task says: nobody has compared the pictures.
        label("base_checked", "false");
    }
    if let Some(id) = partition.task.and_then(|task| image_id(task, &source.name)) {
        label("image_id", id);
    }
    if prompt.is_none() {
        label("instruction_empty", "true");
    }
    if let Some(task) = partition.task {
        label("task", task.word());
    }
    let only = references.len() == 1;
    let reference = |picture| Reference { picture, role: only.then(|| OBJECT.to_owned()) };
    let kind = partition.task.map_or(Masks::None, Task::masks);
    let mask = mask(kind, masks, &source, &target);
    EditPair {
        subset: Some(partition.stem.clone()),
        session_id: turn.map(|_| id.row()),
        turn,
        base: turn.zip(partition.task).map(|(turn, task)| task.base(turn)),
        premise,
        edit_type: partition.task.and_then(|task| edit_type::shared(task.word(), EDIT_TYPES)),
        language: prompt.as_deref().and_then(|text| language_of(text, Some("en"))),
        instruction: prompt,
        references: references.into_iter().map(reference).collect(),
        target: Some(target),
        mask,
        labels,
        ..EditPair::new(id.pair(), NAME.to_owned(), source)
    }
}

/// What tells the photograph from others: a frame of a film by its name, any other by the folder
/// that its pictures lie in, which is its path in LAION with `_` for `/`:
/// `00094_00030_000304748`.
fn image_id(task: Task, name: &str) -> Option<&str> {
    let mut from_end = name.rsplit('/');
    let file = from_end.next()?;
    if task == Task::Action {
        return Some(file.rsplit_once('.').map_or(file, |(stem, _)| stem));
    }
    let folder = from_end.next()?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    (folder.split('_').count() == 3 && folder.split('_').all(digits)).then_some(folder)
}

/// The mask that the pictures make. A single edit's stays at the photograph's size while its
/// pictures were scaled, and may have it by chance; others were brought to the source's.
fn mask(kind: Masks, pictures: Vec<Picture>, source: &Picture, target: &Picture) -> Option<Mask> {
    let grid = match (pictures.first()?.size(), source.size(), target.size()) {
        (Some(size), Some(source), _) if size == source => Grid::Source,
        (Some(size), _, Some(target)) if size == target => Grid::Target,
        (Some(_), Some(_), Some(_)) => Grid::Other,
        // Nobody has looked.
        _ if kind == Masks::One => Grid::Other,
        _ => Grid::Source,
    };
    Some(Mask {
        parts: pictures.into_iter().map(MaskPart::Picture).collect(),
        combine: Combine::Union,
        edited: Edited::Black,
        grid,
        origin: MaskOrigin::Release,
    })
}

/// The names of the masks of an edit.
pub(crate) fn mask_names(masks: Masks, turn: Option<u16>) -> Vec<String> {
    match (masks, turn) {
        (Masks::None, _) => Vec::new(),
        (Masks::One, None) => vec!["mask.png".to_owned()],
        (Masks::Two, None) => vec!["mask_0.png".to_owned(), "mask_1.png".to_owned()],
        (_, Some(turn)) => vec![format!("mask_{turn}.png")],
        (Masks::EachTurn, None) => vec!["mask_0.png".to_owned()],
    }
}

/// The native record: the row, and each file beside the pictures by its name. What is no JSON is
/// kept as text.
pub(crate) fn native(row: &str, beside: &[(&str, Vec<u8>)]) -> String {
    let mut text = format!("{{\"row\":{row}");
    for (name, bytes) in beside {
        let said = match serde_json::from_slice::<&RawValue>(bytes) {
            Ok(value) => value.get().to_owned(),
            Err(_) => serde_json::Value::from(String::from_utf8_lossy(bytes)).to_string(),
        };
        text.push_str(&format!(",{}:{said}", serde_json::Value::from(*name)));
    }
    text.push('}');
    text
}
