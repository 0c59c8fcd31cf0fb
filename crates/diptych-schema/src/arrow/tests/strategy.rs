//! Arbitrary pairs: every field, every kind, nothing that a release would have to make sense of.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::mask::{Combine, Edited, Grid, Mask, MaskOrigin, MaskPart};
use crate::pair::{
    BoxStatus, Caption, EditBox, EditPair, InstructionVariant, Label, Region, Score, Split,
};
use crate::picture::{Address, MediaType, Picture, Reference};

/// Few or no pairs.
pub(super) fn pairs() -> impl Strategy<Value = Vec<EditPair>> {
    vec(pair(), 0..6)
}

/// Any text, often empty, of any characters.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        3 => vec(any::<char>(), 0..8).prop_map(String::from_iter),
    ]
}

fn words() -> impl Strategy<Value = Option<String>> {
    option::of(text())
}

/// Any number but NaN, which equals nothing.
fn number() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{INFINITE, NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO | INFINITE
}

fn long() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>()]
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        (any::<u32>(), long(), long()).prop_map(|(file, offset, length)| Address::Range {
            file,
            offset,
            length
        }),
        (any::<u32>(), any::<u32>(), any::<u32>(), long(), long()).prop_map(
            |(file, row_group, column, row, length)| Address::Cell {
                file,
                row_group,
                column,
                row,
                length
            }
        ),
        vec(any::<u8>(), 0..8).prop_map(Address::Inline),
        (text(), words()).prop_map(|(url, sha256)| Address::Url { url, sha256 }),
    ]
}

fn picture() -> impl Strategy<Value = Picture> {
    let size = option::of(any::<u32>());
    let media_type = option::of(select(&MediaType::ALL[..]));
    (text(), address(), size.clone(), size, media_type).prop_map(
        |(name, address, width, height, media_type)| Picture {
            name,
            address,
            width,
            height,
            media_type,
        },
    )
}

fn reference() -> impl Strategy<Value = Reference> {
    (picture(), words()).prop_map(|(picture, role)| Reference { picture, role })
}

fn mask_part() -> impl Strategy<Value = MaskPart> {
    prop_oneof![
        picture().prop_map(MaskPart::Picture),
        (text(), any::<u32>(), any::<u32>())
            .prop_map(|(counts, width, height)| { MaskPart::RunLength { counts, width, height } }),
    ]
}

fn mask() -> impl Strategy<Value = Mask> {
    (
        vec(mask_part(), 0..3),
        select(Combine::ALL),
        select(Edited::ALL),
        select(Grid::ALL),
        select(MaskOrigin::ALL),
    )
        .prop_map(|(parts, combine, edited, grid, origin)| Mask {
            parts,
            combine,
            edited,
            grid,
            origin,
        })
}

fn edit_box() -> impl Strategy<Value = EditBox> {
    let edges = [number(), number(), number(), number()];
    (edges, any::<u32>(), any::<u32>(), select(BoxStatus::ALL)).prop_map(
        |([x0, y0, x1, y1], frame_width, frame_height, status)| EditBox {
            x0,
            y0,
            x1,
            y1,
            frame_width,
            frame_height,
            status,
        },
    )
}

fn scores() -> impl Strategy<Value = Vec<Score>> {
    vec((text(), number()).prop_map(|(name, value)| Score { name, value }), 0..3)
}

fn labels() -> impl Strategy<Value = Vec<Label>> {
    vec((text(), text()).prop_map(|(name, value)| Label { name, value }), 0..3)
}

fn region() -> impl Strategy<Value = Region> {
    (words(), option::of(edit_box()), option::of(mask_part()), scores(), words()).prop_map(
        |(label, edit_box, mask, scores, role)| Region { label, edit_box, mask, scores, role },
    )
}

fn instruction() -> impl Strategy<Value = InstructionVariant> {
    (text(), words(), words()).prop_map(|(text, language, kind)| InstructionVariant {
        text,
        language,
        kind,
    })
}

fn caption() -> impl Strategy<Value = Caption> {
    (text(), words(), words()).prop_map(|(text, language, of)| Caption { text, language, of })
}

/// A pair of which the fields are drawn group by group: tuples of strategies are short.
fn pair() -> impl Strategy<Value = EditPair> {
    let named = (text(), text(), words(), option::of(select(Split::ALL)));
    let placed = (words(), option::of(any::<u16>()), words(), words(), words(), words(), words());
    let asked = (words(), vec(text(), 0..3), words(), words(), vec(instruction(), 0..3));
    let described = (vec(caption(), 0..3), words());
    let pictures = (picture(), vec(reference(), 0..3), option::of(picture()));
    let located = (option::of(mask()), option::of(edit_box()), vec(region(), 0..3));
    let said = (scores(), labels(), words(), words());
    (named, placed, asked, described, pictures, located, said).prop_map(
        |(named, placed, asked, described, pictures, located, said)| {
            let (pair_id, dataset, subset, split) = named;
            let (session_id, turn, base, premise, group_id, variant, inverse_of) = placed;
            let (edit_type, edit_type_native, instruction, language, instructions) = asked;
            let (captions, editor) = described;
            let (source, references, target) = pictures;
            let (mask, edit_box, regions) = located;
            let (scores, labels, licence, native) = said;
            EditPair {
                pair_id,
                dataset,
                subset,
                split,
                session_id,
                turn,
                base,
                premise,
                group_id,
                variant,
                inverse_of,
                edit_type,
                edit_type_native,
                instruction,
                language,
                instructions,
                captions,
                editor,
                source,
                references,
                target,
                mask,
                edit_box,
                regions,
                scores,
                labels,
                licence,
                native,
            }
        },
    )
}
