//! `result.json`, the record that the editing pipeline kept of a sample.
//!
//! It was written by several programs. A single edit has `edit_obj`, two edits in one picture have
//! `edit_obj1` and `edit_obj2`, a session may have either; the result is an object where one was
//! added, else text or nothing; style transfers have `style` and nothing else.

use diptych_schema::{EditBox, EditPair, Label, MaskPart, Region, Score, edit_type};
use serde_json::{Map, Value};

use super::{Context, recap};
use crate::groups::EDIT_TYPES;

/// What the edit is done to.
pub(super) const EDITED: &str = "edited";
/// What the edit gives.
pub(super) const RESULT: &str = "result";
/// What is in the picture too.
pub(super) const CONTEXT: &str = "context";

/// What `result.json` says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Stated {
    /// What recaptions call the photograph.
    pub(super) photograph: Option<String>,
    /// Width and height of the photograph, in whose pixels boxes are.
    pub(super) frame: Option<(u32, u32)>,
    /// Objects that are edited.
    edited: Vec<Numbered<Object>>,
    /// Objects that the edit gives.
    given: Vec<Numbered<Object>>,
    /// What the edit gives, in words.
    words: Vec<Numbered<String>>,
    /// What was done.
    operations: Vec<String>,
    /// The style of a style transfer.
    style: Option<String>,
}

/// The value of a field whose name may end in a number (`edit_obj2`), from 1.
#[derive(Debug, PartialEq)]
struct Numbered<T> {
    number: Option<usize>,
    value: T,
}

/// A segmented object, as `result.json` and recaptions have it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object {
    /// What it is.
    pub(super) class_name: Option<String>,
    /// Edges x0, y0, x1, y1 in pixels of the photograph.
    pub(super) edges: Option<[f64; 4]>,
    /// Its run lengths; blanked in `result.json`.
    pub(super) mask: Option<String>,
    /// The numbers that it was chosen by.
    pub(super) scores: Vec<Score>,
}

/// Reads `result.json`. What it says in an unexpected way is left out.
pub(super) fn parse(bytes: &[u8]) -> Result<Stated, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let Value::Object(fields) = value else {
        return Err("a JSON value that is no object".to_owned());
    };
    let mut stated = Stated {
        photograph: text(fields.get("original_path")).and_then(recap::photograph),
        frame: fields.get("resolution").and_then(resolution),
        style: text(fields.get("style")).map(str::to_owned),
        ..Stated::default()
    };
    stated.operations = match fields.get("edit_type") {
        Some(Value::String(one)) => vec![one.clone()],
        // A turn is told by its place: one that is no text leaves the others where they are.
        Some(Value::Array(all)) => {
            all.iter().map(|one| one.as_str().unwrap_or_default().to_owned()).collect()
        }
        _ => Vec::new(),
    };
    for (number, value) in numbered(&fields, "edit_obj") {
        stated.edited.extend(object(value).map(|value| Numbered { number, value }));
    }
    for (number, value) in numbered(&fields, "edit_result") {
        stated.given.extend(object(value).map(|value| Numbered { number, value }));
        let words = text(Some(value)).map(str::to_owned);
        stated.words.extend(words.map(|value| Numbered { number, value }));
    }
    Ok(stated)
}

/// The fields `NAME`, `NAME1`, `NAME2` and so on, in this order.
fn numbered<'v>(fields: &'v Map<String, Value>, name: &str) -> Vec<(Option<usize>, &'v Value)> {
    let field = |(key, value): (&String, &'v Value)| {
        let rest = key.strip_prefix(name)?;
        let number = if rest.is_empty() { None } else { Some(rest.parse().ok()?) };
        Some((number, value))
    };
    let mut found: Vec<_> = fields.iter().filter_map(field).collect();
    found.sort_by_key(|(number, _)| *number);
    found
}

/// Text that is not blank.
fn text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.trim().is_empty())
}

/// `{"height": 1333, "width": 2000}` as width and height.
pub(super) fn resolution(value: &Value) -> Option<(u32, u32)> {
    let side = |name: &str| {
        let side = value.get(name)?;
        let whole = || side.as_f64().filter(|side| side.fract() == 0.0);
        let side = side.as_u64().or_else(|| format!("{:.0}", whole()?).parse().ok());
        side.and_then(|side| u32::try_from(side).ok()).filter(|side| *side > 0)
    };
    side("width").zip(side("height"))
}

/// A number, which is in a list of its own in some records.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Array(one) => match one.as_slice() {
            [one] => one.as_f64(),
            _ => None,
        },
        one => one.as_f64(),
    }
}

/// The numbers of an object, and what they are. `score` is the one that the segmentation gives.
const OBJECT_SCORES: [(&str, &str); 3] =
    [("aes_score", "aesthetic"), ("clip_score", "clip"), ("score", "segmentation")];

/// An object; `None` for what is none.
pub(super) fn object(value: &Value) -> Option<Object> {
    let fields = value.as_object().filter(|fields| !fields.is_empty())?;
    let edges: Option<Vec<f64>> = fields
        .get("bbox")
        .and_then(Value::as_array)
        .and_then(|edges| edges.iter().map(Value::as_f64).collect());
    let score = |(field, name): (&str, &str)| {
        let value = fields.get(field).and_then(number)?;
        Some(Score { name: name.to_owned(), value })
    };
    Some(Object {
        class_name: text(fields.get("class_name")).map(str::to_owned),
        edges: edges.and_then(|edges| edges.try_into().ok()),
        mask: text(fields.get("mask")).map(str::to_owned),
        scores: OBJECT_SCORES.into_iter().filter_map(score).collect(),
    })
}

impl Object {
    /// The object as a region of a picture of that size.
    pub(super) fn region(self, frame: Option<(u32, u32)>, role: &str) -> Region {
        let mask = self.mask.zip(frame);
        Region {
            edit_box: self.edges.zip(frame).map(|(edges, (w, h))| EditBox::new(edges, w, h)),
            label: self.class_name,
            mask: mask.map(|(counts, (width, height))| MaskPart::RunLength {
                counts,
                width,
                height,
            }),
            scores: self.scores,
            role: Some(role.to_owned()),
        }
    }
}

impl Stated {
    /// What is done in the pair: by a turn, where the record tells the turns apart; all of it in a
    /// pair that is in no session.
    fn operations(&self, context: &Context<'_>) -> &[String] {
        let all = self.operations.as_slice();
        let found = match context.turn {
            Some(turn) if all.len() == usize::from(context.turns) => {
                let turn = usize::from(turn);
                all.get(turn..=turn).unwrap_or_default()
            }
            Some(_) => &[],
            None => all,
        };
        if found.iter().any(|word| word.trim().is_empty()) { &[] } else { found }
    }

    /// What the object with this number is to the pair, if it is `role` to its own edit.
    fn role(
        &self,
        number: Option<usize>,
        role: &'static str,
        context: &Context<'_>,
    ) -> &'static str {
        let of_turn = context.turn.map(|turn| usize::from(turn) + 1);
        if number.is_some() && of_turn.is_some() && number != of_turn {
            return CONTEXT;
        }
        let operations = self.operations(context);
        let operation = match (operations, number) {
            ([one], _) => Some(one),
            // Of several edits in one picture, that of the object.
            (several, Some(number)) => number.checked_sub(1).and_then(|place| several.get(place)),
            (_, None) => None,
        };
        // What is added is in the picture after the edit only, whatever the field is called.
        let word = operation.and_then(|native| edit_type::shared(native, EDIT_TYPES));
        if word.as_deref() == Some("add") { RESULT } else { role }
    }
}

/// Adds to a pair what `result.json` says of it.
pub(super) fn add(pair: &mut EditPair, context: &Context<'_>, stated: &Stated) {
    let operations = stated.operations(context);
    if let (Some(_), [one]) = (context.turn, operations) {
        pair.edit_type = edit_type::shared(one, EDIT_TYPES);
    }
    if !operations.is_empty() {
        pair.edit_type_native = operations.to_vec();
    }
    let edited = stated.edited.iter().map(|object| (object, EDITED));
    for (object, role) in edited.chain(stated.given.iter().map(|object| (object, RESULT))) {
        let role = stated.role(object.number, role, context);
        pair.regions.push(object.value.clone().region(stated.frame, role));
    }
    let of_edit: Vec<_> = pair.regions.iter().filter(|region| is_of_edit(region)).collect();
    for region in &of_edit {
        label(&mut pair.labels, "object", region.label.as_deref());
    }
    if let [only] = of_edit.as_slice() {
        pair.edit_box = only.edit_box;
    }
    let of_turn = context.turn.map(|turn| usize::from(turn) + 1);
    for words in &stated.words {
        if words.number.is_none() || of_turn.is_none() || words.number == of_turn {
            label(&mut pair.labels, "edit_result", Some(&words.value));
        }
    }
    label(&mut pair.labels, "style", stated.style.as_deref());
}

/// Whether the edit is about the region.
pub(super) fn is_of_edit(region: &Region) -> bool {
    region.role.as_deref().is_some_and(|role| role == EDITED || role == RESULT)
}

/// Adds a label, where there is a word for it.
pub(super) fn label(labels: &mut Vec<Label>, name: &str, value: Option<&str>) {
    labels.extend(value.map(|value| Label { name: name.to_owned(), value: value.to_owned() }));
}
