//! Conditions over a few pairs that are made here.

mod constructs;
mod drawn;
mod refused;

use arrow_array::{Array, RecordBatch};
use diptych_schema::arrow::encode;
use diptych_schema::{
    Address, Combine, EditBox, EditPair, Edited, Grid, Label, Mask, MaskOrigin, MediaType, Picture,
    Reference, Score,
};

use crate::Condition;

fn picture(name: &str, size: Option<(u32, u32)>) -> Picture {
    Picture {
        name: name.to_owned(),
        address: Address::Range { file: 0, offset: 512, length: 5_000_000_000 },
        width: size.map(|(width, _)| width),
        height: size.map(|(_, height)| height),
        media_type: size.map(|_| MediaType::Png),
    }
}

fn score(name: &str, value: f64) -> Score {
    Score { name: name.to_owned(), value }
}

fn label(name: &str, value: &str) -> Label {
    Label { name: name.to_owned(), value: value.to_owned() }
}

/// Four pairs: one with everything, one of another kind, one with little, and one of odd texts.
fn pairs() -> Vec<EditPair> {
    let pair =
        |id: &str, size| EditPair::new(id.to_owned(), "toy".to_owned(), picture("a.png", size));
    let mut full = pair("a", Some((512, 768)));
    full.edit_type = Some("add".to_owned());
    full.instruction = Some("Add a dog".to_owned());
    full.turn = Some(0);
    full.target = Some(picture("b.png", Some((512, 512))));
    full.references = vec![Reference { picture: picture("c.png", None), role: None }];
    full.mask = Some(Mask {
        parts: Vec::new(),
        combine: Combine::Union,
        edited: Edited::White,
        grid: Grid::Source,
        origin: MaskOrigin::Release,
    });
    full.edit_box = Some(EditBox::new([0.0, 1.5, 10.0, 20.0], 512, 768));
    full.scores = vec![score("other", 1.0), score("gpt.average", 4.5), score("gpt.average", 1.0)];
    full.labels = vec![label("scene", "park"), label("scene", "street")];
    let mut other = pair("b", Some((1024, 1024)));
    other.edit_type = Some("remove".to_owned());
    other.instruction = Some("Remove the ÉCLAIR".to_owned());
    other.turn = Some(3);
    other.target = Some(picture("b.png", None));
    other.scores = vec![score("gpt.average", -0.0)];
    let little = pair("c", None);
    let mut odd = pair("d", Some((3, 1)));
    odd.edit_type = Some("it's 100%".to_owned());
    odd.instruction = Some("a_b\\".to_owned());
    odd.turn = Some(1);
    odd.labels = vec![label("größe", ""), label("scene", "Straße")];
    vec![full, other, little, odd]
}

fn batch() -> RecordBatch {
    encode(&pairs()).unwrap()
}

/// The ids of the pairs that are chosen.
fn chosen(condition: &str) -> String {
    let condition =
        Condition::parse(condition).unwrap_or_else(|error| panic!("{condition}: {error}"));
    let chosen = condition.evaluate(&batch()).unwrap();
    assert_eq!(chosen.null_count(), 0);
    "abcd".chars().zip(chosen.values()).filter(|(_, chosen)| *chosen).map(|(id, _)| id).collect()
}

fn refused(condition: &str) -> String {
    match Condition::parse(condition) {
        Ok(_) => panic!("{condition} is taken"),
        Err(error) => error.to_string(),
    }
}
