//! The way back: a pair from the record that an output carries for it.
//!
//! Everything that a record says comes back as it was. What it does not say is where the pictures
//! are: whoever restores finds them and puts them in ([`Restored::with`]).

use diptych_schema::{
    Address, BoxStatus, Caption, Combine, EditBox, EditPair, Edited, Grid, InstructionVariant,
    Label, Mask, MaskOrigin, MaskPart, Picture, Reference, Region, Score, Split,
};
use diptych_storage::text::printable;
use serde::Deserialize;

/// What a record says of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RecordedPicture {
    /// What it is called beside the record, where it stands there under a name of its own.
    pub part: Option<String>,
    /// The path that the release gave it; `None` for a mask that was made of run lengths alone.
    pub name: Option<String>,
    /// Width in pixels.
    pub width: Option<u32>,
    /// Height in pixels.
    pub height: Option<u32>,
    /// What a reference is used for.
    pub role: Option<String>,
}

/// What a record says of a pair's pictures.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RecordedPictures {
    /// The picture before.
    pub source: RecordedPicture,
    /// Further input pictures.
    pub references: Vec<RecordedPicture>,
    /// The picture after.
    pub target: Option<RecordedPicture>,
    /// The mask in its written form.
    pub mask: Option<RecordedPicture>,
}

/// A pair as its record tells it, before its pictures are found.
#[derive(Debug, Clone, PartialEq)]
pub struct Restored {
    /// All of the pair but its pictures and mask: it has none, and its source stands for nothing.
    pub pair: EditPair,
    /// What the record says of the pictures.
    pub pictures: RecordedPictures,
    /// Whose grid the mask is on and where it came from, where there is one.
    pub mask: Option<(Grid, MaskOrigin)>,
}

/// A pair's pictures, found anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPictures {
    /// The picture before.
    pub source: Picture,
    /// Further input pictures, in order.
    pub references: Vec<Picture>,
    /// The picture after.
    pub target: Option<Picture>,
    /// The mask in its written form.
    pub mask: Option<Picture>,
}

/// Why a record cannot be read back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// It is no JSON, or not that of a record.
    #[error("no record: {0}")]
    Json(#[from] serde_json::Error),
    /// A field that holds a word of the schema holds another.
    #[error("{field} is {}, which is no word of it", printable(found.as_bytes()))]
    Word {
        /// The field.
        field: &'static str,
        /// What it holds.
        found: String,
    },
    /// There is a mask, and the record does not say how it is to be read.
    #[error("there is a mask and no {field}")]
    Mask {
        /// The field that is null.
        field: &'static str,
    },
}

#[derive(Deserialize)]
struct Said {
    pair_id: String,
    dataset: String,
    subset: Option<String>,
    split: Option<String>,
    session_id: Option<String>,
    turn: Option<u16>,
    base: Option<String>,
    premise: Option<String>,
    group_id: Option<String>,
    variant: Option<String>,
    inverse_of: Option<String>,
    edit_type: Option<String>,
    edit_type_native: Vec<String>,
    instruction: Option<String>,
    language: Option<String>,
    instructions: Vec<SaidInstruction>,
    captions: Vec<SaidCaption>,
    editor: Option<String>,
    pictures: RecordedPictures,
    mask_grid: Option<String>,
    mask_origin: Option<String>,
    #[serde(rename = "box")]
    edit_box: Option<SaidBox>,
    regions: Vec<SaidRegion>,
    scores: Vec<SaidScore>,
    labels: Vec<SaidLabel>,
    licence: Option<String>,
    native: Option<String>,
}

#[derive(Deserialize)]
struct SaidInstruction {
    text: String,
    language: Option<String>,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct SaidCaption {
    text: String,
    language: Option<String>,
    of: Option<String>,
}

#[derive(Deserialize)]
struct SaidBox {
    x0: Option<f64>,
    y0: Option<f64>,
    x1: Option<f64>,
    y1: Option<f64>,
    frame_width: u32,
    frame_height: u32,
    status: String,
}

#[derive(Deserialize)]
struct SaidRegion {
    label: Option<String>,
    role: Option<String>,
    x0: Option<f64>,
    y0: Option<f64>,
    x1: Option<f64>,
    y1: Option<f64>,
    frame_width: Option<u32>,
    frame_height: Option<u32>,
    mask: Option<String>,
    mask_width: Option<u32>,
    mask_height: Option<u32>,
    scores: Vec<SaidScore>,
}

#[derive(Deserialize)]
struct SaidScore {
    name: String,
    value: Option<f64>,
}

#[derive(Deserialize)]
struct SaidLabel {
    name: String,
    value: String,
}

/// Reads the record of a pair back: the inverse of [`Record`](super::Record). Further keys are
/// passed over.
///
/// # Errors
/// [`RestoreError`] where it is no record.
pub fn restore(record: &str) -> Result<Restored, RestoreError> {
    let said: Said = serde_json::from_str(record)?;
    let mask = match &said.pictures.mask {
        Some(_) => Some((
            mask_word("mask_grid", said.mask_grid.as_deref(), Grid::from_word)?,
            mask_word("mask_origin", said.mask_origin.as_deref(), MaskOrigin::from_word)?,
        )),
        None => None,
    };
    let split = said.split.as_deref().map(|split| word("split", split, Split::from_word));
    let edit_box = said.edit_box.map(SaidBox::edit_box).transpose()?;
    let nothing = Picture::unprobed("", Address::Inline(Vec::new()));
    let pair = EditPair {
        subset: said.subset,
        split: split.transpose()?,
        session_id: said.session_id,
        turn: said.turn,
        base: said.base,
        premise: said.premise,
        group_id: said.group_id,
        variant: said.variant,
        inverse_of: said.inverse_of,
        edit_type: said.edit_type,
        edit_type_native: said.edit_type_native,
        instruction: said.instruction,
        language: said.language,
        instructions: said
            .instructions
            .into_iter()
            .map(|SaidInstruction { text, language, kind }| InstructionVariant {
                text,
                language,
                kind,
            })
            .collect(),
        captions: said
            .captions
            .into_iter()
            .map(|SaidCaption { text, language, of }| Caption { text, language, of })
            .collect(),
        editor: said.editor,
        edit_box,
        regions: said.regions.into_iter().map(SaidRegion::region).collect(),
        scores: scores(said.scores),
        labels: said
            .labels
            .into_iter()
            .map(|SaidLabel { name, value }| Label { name, value })
            .collect(),
        licence: said.licence,
        native: said.native,
        ..EditPair::new(said.pair_id, said.dataset, nothing)
    };
    Ok(Restored { pair, pictures: said.pictures, mask })
}

impl Restored {
    /// The pair with its pictures, which have the names that the record gives them, and no other; a
    /// mask is in the written form, in which white is edited.
    #[must_use]
    pub fn with(self, found: FoundPictures) -> EditPair {
        let Self { pair, pictures, mask } = self;
        // One that has no name in the release gets none from where it was found.
        let named = |said: RecordedPicture, found: Picture| Picture {
            name: said.name.unwrap_or_default(),
            ..found
        };
        let said_mask = pictures.mask.zip(mask);
        let mask = said_mask.zip(found.mask).map(|((said, (grid, origin)), picture)| Mask {
            parts: vec![MaskPart::Picture(named(said, picture))],
            combine: Combine::Union,
            edited: Edited::White,
            grid,
            origin,
        });
        let references = pictures.references.into_iter().zip(found.references);
        EditPair {
            source: named(pictures.source, found.source),
            references: references
                .map(|(mut said, picture)| {
                    let role = said.role.take();
                    Reference { picture: named(said, picture), role }
                })
                .collect(),
            target: pictures.target.zip(found.target).map(|(said, picture)| named(said, picture)),
            mask,
            ..pair
        }
    }
}

/// A word of the schema.
fn word<T>(
    field: &'static str,
    found: &str,
    of: impl Fn(&str) -> Option<T>,
) -> Result<T, RestoreError> {
    of(found).ok_or_else(|| RestoreError::Word { field, found: found.to_owned() })
}

/// A word that a mask has.
fn mask_word<T>(
    field: &'static str,
    found: Option<&str>,
    of: impl Fn(&str) -> Option<T>,
) -> Result<T, RestoreError> {
    word(field, found.ok_or(RestoreError::Mask { field })?, of)
}

/// A number of which the record says that it was none: it was not finite.
fn number(said: Option<f64>) -> f64 {
    said.unwrap_or(f64::NAN)
}

fn scores(said: Vec<SaidScore>) -> Vec<Score> {
    said.into_iter().map(|SaidScore { name, value }| Score { name, value: number(value) }).collect()
}

impl SaidBox {
    fn edit_box(self) -> Result<EditBox, RestoreError> {
        Ok(EditBox {
            x0: number(self.x0),
            y0: number(self.y0),
            x1: number(self.x1),
            y1: number(self.y1),
            frame_width: self.frame_width,
            frame_height: self.frame_height,
            status: word("box.status", &self.status, BoxStatus::from_word)?,
        })
    }
}

impl SaidRegion {
    fn region(self) -> Region {
        let edges = [self.x0, self.y0, self.x1, self.y1].map(number);
        let frame = self.frame_width.zip(self.frame_height);
        let mask = self.mask.zip(self.mask_width.zip(self.mask_height));
        Region {
            label: self.label,
            // The record does not hold how a region's box lies: that follows from the box.
            edit_box: frame.map(|(width, height)| EditBox::new(edges, width, height)),
            mask: mask.map(|(counts, (width, height))| MaskPart::RunLength {
                counts,
                width,
                height,
            }),
            scores: scores(self.scores),
            role: self.role,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::Record;
    use crate::writer::{Payload, Sample, WrittenPicture};
    use diptych_schema::MediaType;
    use proptest::prelude::*;

    fn picture(name: &str) -> Picture {
        Picture {
            width: Some(12),
            height: Some(8),
            media_type: Some(MediaType::Png),
            ..Picture::unprobed(name, Address::Inline(vec![1]))
        }
    }

    fn written(of: &Picture, role: Option<String>) -> WrittenPicture {
        WrittenPicture {
            name: Some(of.name.clone()),
            role,
            media_type: MediaType::Png,
            width: 12,
            height: 8,
            payload: Payload::Bytes(Arc::from([1_u8].as_slice())),
        }
    }

    /// A pair as it is about to be written.
    fn sample(pair: EditPair) -> Sample {
        let mask = pair.mask.as_ref().and_then(|mask| match mask.parts.first() {
            Some(MaskPart::Picture(picture)) => Some(written(picture, None)),
            _ => None,
        });
        Sample {
            key: String::new(),
            source: written(&pair.source, None),
            references: pair
                .references
                .iter()
                .map(|of| written(&of.picture, of.role.clone()))
                .collect(),
            target: pair.target.as_ref().map(|target| written(target, None)),
            mask,
            pair,
            change: None,
            row: 0,
        }
    }

    fn recorded(pair: EditPair, with_part: bool) -> String {
        serde_json::to_string(&Record::new(&sample(pair), with_part).0).unwrap()
    }

    /// The pair's pictures under names that say nothing.
    fn found(pair: &EditPair) -> FoundPictures {
        FoundPictures {
            source: picture("f0"),
            references: pair.references.iter().map(|_| picture("f1")).collect(),
            target: pair.target.as_ref().map(|_| picture("f2")),
            mask: pair.mask.as_ref().map(|_| picture("f3")),
        }
    }

    fn edges() -> impl Strategy<Value = EditBox> {
        (any::<[f32; 4]>(), 1_u32..9000, 1_u32..9000).prop_map(|(edges, width, height)| {
            EditBox::new(edges.map(|edge| f64::from(edge) / 3.0), width, height)
        })
    }

    fn named_scores() -> impl Strategy<Value = Vec<Score>> {
        let number = prop_oneof![any::<f64>(), Just(0.1 + 0.2), Just(-0.0), Just(5e-324)]
            .prop_filter("finite", |n| n.is_finite());
        let names = proptest::collection::btree_map("[a-z.]{1,6}", number, 0..4);
        names.prop_map(|of| of.into_iter().map(|(name, value)| Score { name, value }).collect())
    }

    fn regions() -> impl Strategy<Value = Vec<Region>> {
        let mask = ("[0-9a-zA-Z]{0,9}", any::<u32>(), any::<u32>())
            .prop_map(|(counts, width, height)| MaskPart::RunLength { counts, width, height });
        let of = (
            proptest::option::of(".{0,5}"),
            proptest::option::of(edges()),
            proptest::option::of(mask),
            named_scores(),
        );
        let of = of.prop_map(|(label, edit_box, mask, scores)| Region {
            role: label.clone(),
            label,
            edit_box,
            mask,
            scores,
        });
        proptest::collection::vec(of, 0..3)
    }

    fn masks() -> impl Strategy<Value = Option<Mask>> {
        let words = (
            proptest::sample::select(Grid::ALL),
            proptest::sample::select(MaskOrigin::ALL),
            ".{0,9}",
        );
        proptest::option::of(words.prop_map(|(grid, origin, name)| Mask {
            parts: vec![MaskPart::Picture(picture(&name))],
            combine: Combine::Union,
            edited: Edited::White,
            grid,
            origin,
        }))
    }

    fn pairs() -> impl Strategy<Value = EditPair> {
        let text = || proptest::option::of(".{0,9}");
        let words = proptest::collection::vec(text(), 11);
        let lists = (
            proptest::collection::vec(".{0,5}", 0..3),
            proptest::collection::vec((".{0,5}", text(), text()), 0..3),
            proptest::collection::btree_map("[a-z_]{1,6}", ".{0,6}", 0..4),
            proptest::collection::vec((".{0,5}", text()), 0..3),
        );
        let more = (
            proptest::option::of(proptest::sample::select(Split::ALL)),
            proptest::option::of(any::<u16>()),
            proptest::option::of(edges()),
            any::<bool>(),
        );
        (".{0,9}", words, lists, more, regions(), named_scores(), masks()).prop_map(
            |(id, mut words, (list, texts, labels, references), more, regions, scores, mask)| {
                let (split, turn, edit_box, has_target) = more;
                let mut word = || words.pop().flatten();
                EditPair {
                    subset: word(),
                    split,
                    session_id: word(),
                    turn,
                    base: word(),
                    premise: word(),
                    group_id: word(),
                    variant: word(),
                    inverse_of: word(),
                    edit_type: word(),
                    edit_type_native: list,
                    instruction: word(),
                    language: word(),
                    instructions: texts
                        .iter()
                        .cloned()
                        .map(|(text, language, kind)| InstructionVariant { text, language, kind })
                        .collect(),
                    captions: texts
                        .into_iter()
                        .map(|(text, language, of)| Caption { text, language, of })
                        .collect(),
                    editor: word(),
                    references: references
                        .into_iter()
                        .map(|(name, role)| Reference { picture: picture(&name), role })
                        .collect(),
                    target: has_target.then(|| picture("t")),
                    mask,
                    edit_box,
                    regions,
                    scores,
                    labels: labels.into_iter().map(|(name, value)| Label { name, value }).collect(),
                    licence: None,
                    native: Some("{\"row\":{\"a\":1.10}}".to_owned()),
                    ..EditPair::new(id.clone(), id, picture("s"))
                }
            },
        )
    }

    proptest! {
        #[test]
        fn a_record_gives_its_pair_back(pair in pairs(), with_part in any::<bool>()) {
            let record = recorded(pair.clone(), with_part);
            let restored = restore(&record).unwrap();
            prop_assert_eq!(restored.pair.native.as_deref(), pair.native.as_deref());
            let back = restored.with(found(&pair));
            prop_assert_eq!(&back, &pair);
            prop_assert_eq!(recorded(back, with_part), record);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,60}") {
            let _ = restore(&text);
        }
    }

    #[test]
    fn numbers_that_were_not_finite_come_back_as_none() {
        let mut pair = EditPair::new("a".to_owned(), "b".to_owned(), picture("s"));
        pair.scores = vec![Score { name: "clip".to_owned(), value: f64::INFINITY }];
        pair.edit_box = Some(EditBox::new([f64::NAN, 0.0, 1.0, 1.0], 4, 4));
        let restored = restore(&recorded(pair, false)).unwrap().pair;
        assert!(restored.scores[0].value.is_nan());
        let edit_box = restored.edit_box.unwrap();
        assert!(edit_box.x0.is_nan());
        assert_eq!((edit_box.x1, edit_box.status), (1.0, BoxStatus::Degenerate));
    }

    #[test]
    fn a_mask_without_a_name_takes_none_from_its_file() {
        let mut pair = EditPair::new("a".to_owned(), "b".to_owned(), picture("s"));
        pair.mask = Some(Mask {
            parts: vec![MaskPart::RunLength { counts: "04".to_owned(), width: 2, height: 2 }],
            combine: Combine::Union,
            edited: Edited::White,
            grid: Grid::Other,
            origin: MaskOrigin::RunLength,
        });
        let mut sample = sample(pair);
        sample.mask = Some(WrittenPicture { name: None, ..written(&picture("m"), None) });
        let record = serde_json::to_string(&Record::new(&sample, false).0).unwrap();
        let restored = restore(&record).unwrap();
        assert_eq!(restored.pictures.mask.as_ref().map(|mask| &mask.name), Some(&None));
        let mask = restored.with(found(&sample.pair)).mask.unwrap();
        let nameless = Picture { name: String::new(), ..picture("f3") };
        assert_eq!(mask.parts, [MaskPart::Picture(nameless)]);
        assert_eq!((mask.grid, mask.origin), (Grid::Other, MaskOrigin::RunLength));
    }

    #[test]
    fn what_is_no_record_says_why() {
        let mut pair = EditPair::new("a".to_owned(), "b".to_owned(), picture("s"));
        pair.split = Some(Split::Train);
        pair.mask = Some(Mask {
            parts: vec![MaskPart::Picture(picture("m"))],
            combine: Combine::Union,
            edited: Edited::White,
            grid: Grid::Source,
            origin: MaskOrigin::Release,
        });
        let record = recorded(pair, false);
        let of = |from: &str, to: &str| {
            assert!(record.contains(from), "{record}");
            restore(&record.replace(from, to)).unwrap_err().to_string()
        };
        assert_eq!(of("\"train\"", "\"dev\""), "split is dev, which is no word of it");
        assert_eq!(
            of("\"mask_grid\":\"source\"", "\"mask_grid\":\"x\""),
            "mask_grid is x, which is no word of it"
        );
        assert_eq!(of("\"release\"", "null"), "there is a mask and no mask_origin");
        assert!(of("\"regions\":[]", "\"regions\":null").starts_with("no record: "));
        assert!(of("\"pair_id\":\"a\",", "").contains("missing field `pair_id`"));
    }
}
