//! Random pairs: everything that a pair can have, with pictures that are pictures.

use diptych::schema::{
    Address, Caption, Combine, EditBox, EditPair, Edited, Grid, InstructionVariant, Label, Mask,
    MaskOrigin, MaskPart, MediaType, Picture, Reference, Region, Score, Split,
};
use diptych_pixels::run_length;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::pictures::{self, Drawn};

/// Pairs in their order, as partitions of a release.
pub(crate) fn set() -> impl Strategy<Value = Vec<EditPair>> {
    vec(atom(), 1..6).prop_map(|atoms| {
        let mut pairs = Vec::new();
        for (number, atom) in atoms.into_iter().enumerate() {
            for mut pair in atom {
                // Ids are unique, whatever else they hold.
                pair.pair_id = format!("{}:{}:{}", pair.dataset, pair.pair_id, pairs.len());
                pair.session_id = pair.session_id.map(|id| format!("{id}{number}"));
                pair.group_id = pair.group_id.map(|id| format!("{id}{number}"));
                // As readers do at last.
                pair.verify_mask_grid();
                pairs.push(pair);
            }
        }
        pairs
    })
}

/// A pair, a session of a few, or two that were made to be compared.
fn atom() -> impl Strategy<Value = Vec<EditPair>> {
    let session = (vec(pair(), 1..4), text()).prop_map(|(mut pairs, id)| {
        let first = pairs[0].clone();
        for (turn, pair) in (0..).zip(&mut pairs) {
            (pair.session_id, pair.turn) = (Some(id.clone()), Some(turn));
            pair.base = Some(if turn == 0 { "original" } else { "previous" }.to_owned());
            stay_with(pair, &first);
        }
        pairs
    });
    let group = (pair(), pair(), text()).prop_map(|(mut first, mut second, id)| {
        (first.group_id, first.variant) = (Some(id.clone()), Some("preferred".to_owned()));
        (second.group_id, second.variant) = (Some(id), Some("rejected".to_owned()));
        second.source = first.source.clone();
        stay_with(&mut second, &first);
        vec![first, second]
    });
    prop_oneof![3 => pair().prop_map(|pair| vec![pair]), 1 => session, 1 => group]
}

/// Pairs of an atom are of one dataset and one split.
fn stay_with(pair: &mut EditPair, first: &EditPair) {
    pair.dataset.clone_from(&first.dataset);
    pair.subset.clone_from(&first.subset);
    pair.split = first.split;
}

/// Words, or text of any characters.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}( [a-z]{1,8}){0,3}",
        vec(any::<char>(), 1..8).prop_map(String::from_iter),
    ]
}

fn words() -> impl Strategy<Value = Option<String>> {
    option::of(text())
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), Just(-0.0), Just(0.1 + 0.2)].prop_filter("finite", |n| n.is_finite())
}

/// A picture and what it shows.
fn shown(drawn: &Drawn, name: String) -> Picture {
    let media_type = match drawn.extension {
        "png" => MediaType::Png,
        "jpg" => MediaType::Jpeg,
        "webp" => MediaType::Webp,
        "gif" => MediaType::Gif,
        other => panic!("{other}"),
    };
    Picture {
        name,
        address: Address::Inline(drawn.bytes.clone()),
        width: Some(drawn.width),
        height: Some(drawn.height),
        media_type: Some(media_type),
    }
}

fn picture() -> impl Strategy<Value = Picture> {
    let of = (0..8_usize, any::<u32>(), (1..20_u32, 1..20_u32), text());
    of.prop_map(|(kind, seed, size, name)| {
        let seed = seed.to_string();
        let drawn = match kind {
            5 => pictures::jpeg(&seed),
            6 => pictures::webp(),
            7 => pictures::gif(),
            kind => pictures::png(&seed, kind, size),
        };
        shown(&drawn, name)
    })
}

/// A part of a mask to be drawn: a seed, whether it is run lengths, and a name.
type Part = (u32, bool, String);

/// A mask of the size of a picture or of another.
fn mask() -> impl Strategy<Value = (Vec<Part>, bool, Option<(u32, u32)>)> {
    let part = (any::<u32>(), any::<bool>(), text());
    (vec(part, 1..3), any::<bool>(), option::weighted(0.3, (1..20_u32, 1..20_u32)))
}

fn scores() -> impl Strategy<Value = Vec<Score>> {
    let named = btree_map("[a-z.]{1,6}", number(), 0..3);
    named.prop_map(|of| of.into_iter().map(|(name, value)| Score { name, value }).collect())
}

fn labels() -> impl Strategy<Value = Vec<Label>> {
    let named = btree_map("[a-z.]{1,6}", text(), 0..3);
    named.prop_map(|of| of.into_iter().map(|(name, value)| Label { name, value }).collect())
}

fn edit_box() -> impl Strategy<Value = EditBox> {
    (any::<[i16; 4]>(), 1..5000_u32, 1..5000_u32).prop_map(|(edges, width, height)| {
        EditBox::new(edges.map(|edge| f64::from(edge) / 7.0), width, height)
    })
}

fn region() -> impl Strategy<Value = Region> {
    let mask = option::of((any::<u32>(), 1..9_u32, 1..9_u32));
    (words(), option::of(edit_box()), mask, scores(), words()).prop_map(
        |(label, edit_box, mask, scores, role)| {
            let mask = mask.map(|(seed, width, height)| runs(seed, (width, height)));
            Region { label, edit_box, mask, scores, role }
        },
    )
}

/// Run lengths of a mask.
fn runs(seed: u32, (width, height): (u32, u32)) -> MaskPart {
    let drawn = pictures::mask(&seed.to_string(), false, (width, height));
    let counts = run_length::encode(&drawn.pixels, (width, height)).unwrap();
    MaskPart::RunLength { counts, width, height }
}

fn pair() -> impl Strategy<Value = EditPair> {
    let dataset = select(&["toy", "other.set", "Toy"][..]);
    let named = (dataset, text(), words(), option::of(select(Split::ALL)));
    let asked = (words(), vec(text(), 0..2), words(), words(), words());
    let said = (vec((text(), words(), words()), 0..2), vec((text(), words()), 0..2));
    let shown = (picture(), vec((picture(), words()), 0..3), picture(), option::of(mask()));
    let located = (option::of(edit_box()), vec(region(), 0..2), scores(), labels());
    let rest = (words(), option::of(text()), words());
    (named, asked, said, shown, located, rest).prop_map(
        |(named, asked, said, shown, located, rest)| {
            let (dataset, id, subset, split) = named;
            let (source, references, target, mask) = shown;
            let size = source.size().unwrap();
            let mut pair = EditPair::new(id, dataset.to_owned(), source);
            (pair.subset, pair.split, pair.target) = (subset, split, Some(target));
            (pair.edit_type, pair.edit_type_native, pair.instruction, ..) =
                (asked.0, asked.1, asked.2);
            (pair.language, pair.premise) = (asked.3, asked.4);
            let (instructions, captions) = said;
            pair.instructions = instructions
                .into_iter()
                .map(|(text, language, kind)| InstructionVariant { text, language, kind })
                .collect();
            pair.captions = captions
                .into_iter()
                .map(|(text, language)| Caption { text, language, of: Some("target".to_owned()) })
                .collect();
            pair.references =
                references.into_iter().map(|(picture, role)| Reference { picture, role }).collect();
            pair.mask = mask.map(|(parts, dark, other)| drawn_mask(&parts, dark, other, size));
            (pair.edit_box, pair.regions, pair.scores, pair.labels) = located;
            let (editor, native, licence) = rest;
            (pair.editor, pair.licence) = (editor, licence);
            pair.native = native.map(|text| serde_json::json!({"row": text}).to_string());
            pair
        },
    )
}

/// A mask of pictures or, where the first part says so, of run lengths; on a grid of its own or
/// that of the source.
fn drawn_mask(parts: &[Part], dark: bool, other: Option<(u32, u32)>, size: (u32, u32)) -> Mask {
    let size = other.unwrap_or(size);
    let part = |(seed, is_runs, name): &Part| match is_runs {
        true => runs(*seed, size),
        false => {
            let drawn = pictures::mask(&seed.to_string(), dark, size).drawn;
            MaskPart::Picture(shown(&drawn, name.clone()))
        }
    };
    Mask {
        parts: parts.iter().map(part).collect(),
        combine: Combine::Union,
        edited: if dark { Edited::Black } else { Edited::White },
        grid: Grid::Source,
        origin: MaskOrigin::Release,
    }
}
