//! Rows that carry the records of their pairs, as this program writes them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests state what they expect by panicking")]

mod support;

use std::sync::Arc;

use diptych_format::record::Record;
use diptych_format::writer::{Payload, Sample, WrittenPicture};
use diptych_schema::{
    Address, Caption, Combine, EditBox, EditPair, Edited, Grid, Label, Mask, MaskOrigin, MaskPart,
    MediaType, Picture, Reference, Score, Split,
};
use serde_json::{Value, json};
use support::{Files, ids, lost, open, pairs, pictures, read, release};

/// A picture under the name that its own release gave it.
fn picture(name: &str) -> Picture {
    Picture {
        width: Some(8),
        height: Some(4),
        media_type: Some(MediaType::Png),
        ..Picture::unprobed(name, Address::Inline(Vec::new()))
    }
}

/// A pair of another dataset, with something in each column.
fn pair(id: &str) -> EditPair {
    EditPair {
        subset: Some("add_part0".to_owned()),
        split: Some(Split::Train),
        session_id: Some("s".to_owned()),
        turn: Some(3),
        base: Some("turn:1".to_owned()),
        edit_type: Some("add".to_owned()),
        edit_type_native: vec!["Add".to_owned()],
        instruction: Some("给它一顶帽子".to_owned()),
        language: Some("zh".to_owned()),
        captions: vec![Caption { text: "a".to_owned(), language: None, of: None }],
        references: vec![
            Reference { picture: picture("r/0.png"), role: Some("object".to_owned()) },
            Reference { picture: picture("r/1.png"), role: None },
        ],
        target: Some(picture("t.png")),
        mask: Some(Mask {
            parts: vec![MaskPart::Picture(picture("m.png"))],
            combine: Combine::Union,
            edited: Edited::White,
            grid: Grid::Target,
            origin: MaskOrigin::Difference,
        }),
        edit_box: Some(EditBox::new([0.1, 0.25, 3.0, 9.0], 8, 4)),
        scores: vec![Score { name: "clip".to_owned(), value: 0.1 + 0.2 }],
        labels: vec![Label { name: "task".to_owned(), value: "add".to_owned() }],
        licence: Some("cc".to_owned()),
        native: Some("{\"row\":{\"a\":1.50}}".to_owned()),
        ..EditPair::new(id.to_owned(), "imgedit".to_owned(), picture("s.jpg"))
    }
}

fn record(pair: &EditPair) -> Value {
    let written = |of: &Picture, role: Option<String>| WrittenPicture {
        name: Some(of.name.clone()),
        role,
        media_type: MediaType::Png,
        width: 8,
        height: 4,
        payload: Payload::Bytes(Arc::from([].as_slice())),
    };
    let mask = pair.mask.as_ref().map(|mask| match mask.parts.as_slice() {
        [MaskPart::Picture(picture)] => written(picture, None),
        parts => panic!("{parts:?}"),
    });
    let sample = Sample {
        pair: pair.clone(),
        key: String::new(),
        source: written(&pair.source, None),
        references: pair
            .references
            .iter()
            .map(|of| written(&of.picture, of.role.clone()))
            .collect(),
        target: pair.target.as_ref().map(|of| written(of, None)),
        mask,
        change: None,
        row: 0,
    };
    serde_json::to_value(Record::new(&sample, false).0).unwrap()
}

/// What the reader must give: the pair, with its pictures in the files of this release.
fn found(pair: &EditPair, read: &EditPair) -> EditPair {
    let mut pair = pair.clone();
    let addresses: Vec<_> = read.clone().addresses_mut().map(|of| of.clone()).collect();
    assert_eq!(addresses.len(), pair.addresses_mut().count());
    for (of, found) in pair.addresses_mut().zip(addresses) {
        assert!(matches!(found, Address::Range { offset: 0, .. }));
        *of = found;
    }
    pair
}

fn row(normal: Option<&EditPair>, abnormal: Option<&EditPair>) -> Value {
    json!({"id": "k", "image_id": "i", "language": "zh", "object": null, "normal_prompt": "x",
        "abnormal_prompt": null, "mask_iou": null, "source_paths": {},
        "export_paths": {"source": "source/k.jpg", "abnormal": "abnormal/k.png"},
        "extra": {"diptych": 1, "normal": normal.map(record), "abnormal": abnormal.map(record),
            "files": {"source": "k.jpg", "normal": "k.png", "abnormal": "k2.png",
                "mask_normal": "k.png", "mask_abnormal": "k2.png",
                "references_normal": ["k-0.png", "k-1.png"],
                "references_abnormal": ["k2-0.png", "k2-1.png"]}}})
}

const PICTURES: [&str; 9] = [
    "source/k.jpg",
    "normal/k.png",
    "abnormal/k2.png",
    "masks/normal/k.png",
    "masks/abnormal/k2.png",
    "references/k-0.png",
    "references/k-1.png",
    "references/k2-0.png",
    "references/k2-1.png",
];

fn with(row: &Value) -> Files {
    release(&row.to_string(), &PICTURES)
}

#[test]
fn a_recorded_pair_comes_back_whole() {
    let pair = pair("imgedit:add_part0:7");
    let read = pairs(&with(&row(Some(&pair), None)));
    assert_eq!(read, [found(&pair, &read[0])]);
    // The names are those of its own release.
    assert_eq!(read[0].references[1].picture.name, "r/1.png");
    let grouped = EditPair { group_id: Some("g".to_owned()), ..self::pair("a") };
    let other = EditPair { variant: Some("preferred".to_owned()), ..self::pair("b") };
    let read = pairs(&with(&row(Some(&grouped), Some(&other))));
    assert_eq!(read, [found(&grouped, &read[0]), found(&other, &read[1])]);
}

#[test]
fn two_pairs_in_a_row_become_a_group() {
    let [one, other] = ["imgedit:add_part0:7", "imgedit:add_part0:9"].map(pair);
    let read = pairs(&with(&row(Some(&one), Some(&other))));
    let grouped = |pair: &EditPair, variant: &str| EditPair {
        group_id: Some(one.pair_id.clone()),
        variant: Some(variant.to_owned()),
        ..pair.clone()
    };
    assert_eq!(
        read,
        [found(&grouped(&one, "normal"), &read[0]), found(&grouped(&other, "abnormal"), &read[1])]
    );
}

#[test]
fn the_stricter_split_counts() {
    let of = |split: Option<Split>, word: &str| {
        let pair = EditPair { split, ..pair("a") };
        let mut files = with(&row(Some(&pair), None));
        let splits = json!({"COCO": {word: ["i"]}}).to_string();
        files.insert("splits/split.json".to_owned(), splits.into());
        pairs(&files)[0].split
    };
    assert_eq!(of(Some(Split::Train), "test"), Some(Split::Test));
    assert_eq!(of(Some(Split::Train), "val"), Some(Split::Val));
    assert_eq!(of(Some(Split::Test), "train"), Some(Split::Test));
    assert_eq!(of(Some(Split::Val), "holdout"), Some(Split::Val));
    assert_eq!(of(None, "test"), None);
}

#[test]
fn a_side_without_a_record_is_none_whatever_lies_there() {
    let pair = pair("a");
    // The row's prompt and files of the other side are there.
    let read = pairs(&with(&row(None, Some(&pair))));
    assert_eq!((ids(&read), read[0].variant.clone()), (vec!["a"], None));
    let read = self::read(open(&with(&row(None, None))).as_ref());
    assert_eq!(read.pairs, []);
    assert_eq!(read.rejections[0].kind, "missing_field");
}

#[test]
fn a_pair_without_mask_or_references_has_none() {
    let bare = EditPair { mask: None, references: Vec::new(), ..pair("a") };
    let read = pairs(&with(&row(Some(&bare), None)));
    assert_eq!(read, [found(&bare, &read[0])]);
}

#[test]
fn a_record_that_no_output_holds_is_rejected() {
    for (record, what) in [
        (EditPair { target: None, ..pair("a") }, "a record without a target"),
        (pair(""), "a record without a pair_id"),
    ] {
        let read = read(open(&with(&row(Some(&record), None))).as_ref());
        assert_eq!(read.pairs, []);
        let rejection = &read.rejections[0];
        assert_eq!(rejection.kind, "invalid_field");
        assert!(rejection.cause.ends_with(what), "{rejection:?}");
    }
}

#[test]
fn paths_serve_where_names_do_not_and_what_is_lost_is_told() {
    let pair = pair("imgedit:add_part0:7");
    let mut row = row(Some(&pair), None);
    row["extra"]["files"]["source"] = Value::Null;
    let mut files = with(&row);
    assert_eq!(pairs(&files)[0].source, pairs(&files)[0].source);
    assert_eq!(pictures(&pairs(&files)[0]).len(), 3);
    files.remove("COCO/flux2_dev/references/k-1.png");
    let read = read(open(&files).as_ref());
    assert_eq!(read.pairs, []);
    let rejection = &read.rejections[0];
    assert_eq!(rejection.kind, "missing_member");
    assert_eq!(rejection.dataset, "imgedit");
    assert_eq!(rejection.subset.as_deref(), Some("add_part0"));
    assert_eq!(rejection.pair_id.as_deref(), Some("imgedit:add_part0:7"));
    assert_eq!(rejection.native, pair.native);
    assert!(lost(&read.rejections)[0].contains("references"), "{rejection:?}");
}

#[test]
fn recorded_rows_repeat_none() {
    let plain = json!({"image_id": "i", "language": "zh", "normal_prompt": "a",
        "export_paths": {"source": "k.jpg", "normal": "k.png"}});
    let lines = [plain.to_string(), row(Some(&pair("a")), None).to_string()].join("\n");
    let read = pairs(&release(&lines, &PICTURES));
    assert_eq!(ids(&read), ["pape:COCO:flux2_dev:i:zh:normal", "a"]);
}
