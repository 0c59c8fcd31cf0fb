//! Rows into pairs: sessions, references, masks, what stands beside the pictures.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, StructBuilder};
use arrow_schema::{DataType, Field};
use diptych_schema::{EditPair, Edited, Grid, MaskPart};
use support::{Files, notices, open, open_with, png, read, rows, table, tar, tree};

/// An entry of a session: inputs, outputs, prompt.
type Entry<'a> = (Vec<String>, Vec<String>, &'a str);

/// A Parquet file of sessions, as the released ones are.
fn sessions(rows: &[Vec<Entry<'_>>]) -> Vec<u8> {
    let text = || Box::new(ListBuilder::new(StringBuilder::new()));
    let list = |name: &str| {
        let item = Arc::new(Field::new_list_field(DataType::Utf8, true));
        Field::new(name, DataType::List(item), true)
    };
    let prompt = Field::new("prompt", DataType::Utf8, true);
    let fields = vec![list("input_images"), list("output_images"), prompt];
    let entry = StructBuilder::new(fields, vec![text(), text(), Box::new(StringBuilder::new())]);
    let mut data = ListBuilder::new(entry);
    for row in rows {
        for (inputs, outputs, prompt) in row {
            let entry = data.values();
            for (number, paths) in [inputs, outputs].into_iter().enumerate() {
                let list = entry.field_builder::<ListBuilder<StringBuilder>>(number).unwrap();
                list.append_value(paths.iter().map(Some));
            }
            entry.field_builder::<StringBuilder>(2).unwrap().append_value(prompt);
            entry.append(true);
        }
        data.append(true);
    }
    table(vec![("data", Arc::new(data.finish()))])
}

const SAMPLE: &str = "00094_00019_000199413";

fn path(group: &str, file: &str) -> String {
    format!("{group}/{SAMPLE}/{file}")
}

/// A session of three entries; the first of content memory says something and shows nothing.
fn copy(group: &str, has_premise: bool, without: &[&str]) -> Files {
    let turn = |number: u32, prompt| {
        let inputs = vec![path(group, &format!("origin_{number}.png"))];
        (inputs, vec![path(group, &format!("result_{number}.png"))], prompt)
    };
    let mut row = Vec::new();
    if has_premise {
        row.push((vec![String::new()], vec![], "all of it in red"));
    }
    row.extend([turn(0, "a"), turn(1, "b"), turn(2, "c")]);
    let mut members = Vec::new();
    for number in 0..3_u32 {
        for (of, width) in [("origin", 10), ("result", 20), ("mask", 10)] {
            members.push((path(group, &format!("{of}_{number}.png")), png(width + number, 40)));
        }
    }
    let result = r#"{"edit_type": ["add", "replace", "adjust"]}"#;
    members.push((path(group, "result.json"), result.into()));
    members.retain(|(name, _)| !without.iter().any(|file| name.ends_with(file)));
    let stem = group.trim_start_matches("results_");
    vec![
        (format!("Parquet/{stem}.parquet"), sessions(&[row])),
        (format!("Multiturn/{group}.tar.split.000"), tar(&members)),
    ]
}

fn label<'a>(pair: &'a EditPair, name: &str) -> Option<&'a str> {
    pair.labels.iter().find(|label| label.name == name).map(|label| label.value.as_str())
}

#[test]
fn a_session_gives_its_turns_in_order_with_what_each_edits() {
    for (group, has_premise, bases) in [
        ("results_content_memory_part2", true, ["original", "previous", "previous"]),
        ("results_content_understanding_part2", false, ["original"; 3]),
        ("results_version_backtracking_part0", false, ["original", "previous", "turn:0"]),
    ] {
        let (pairs, rejections) = read(open(&copy(group, has_premise, &[])).as_ref());
        assert_eq!((pairs.len(), rejections), (3, vec![]));
        let stem = group.trim_start_matches("results_");
        for (turn, pair) in (0_u16..).zip(&pairs) {
            assert_eq!(pair.pair_id, format!("imgedit:{stem}:0:{turn}"));
            assert_eq!(pair.session_id, Some(format!("imgedit:{stem}:0")));
            assert_eq!((pair.turn, pair.split), (Some(turn), None));
            assert_eq!(pair.base.as_deref(), Some(bases[usize::from(turn)]));
            assert_eq!(pair.premise.as_deref(), has_premise.then_some("all of it in red"));
            assert_eq!(pair.instruction.as_deref(), Some(["a", "b", "c"][usize::from(turn)]));
            assert_eq!(pair.source.width, Some(10 + u32::from(turn)));
            let mask = pair.mask.as_ref().unwrap();
            assert_eq!((mask.edited, mask.grid), (Edited::Black, Grid::Source));
            assert_eq!(mask.parts[0].size(), Some((10 + u32::from(turn), 7)));
            let operation = ["add", "replace", "adjust"][usize::from(turn)];
            assert_eq!(pair.edit_type.as_deref(), Some(operation));
            assert!(stem.starts_with(label(pair, "task").unwrap()));
            assert_eq!(label(pair, "base_checked"), Some("false"));
            let native = pair.native.as_deref().unwrap();
            assert!(native.starts_with(r#"{"row":{"data":[{"input_images":["#), "{native}");
            assert!(
                native.ends_with(r#","result.json":{"edit_type": ["add", "replace", "adjust"]}}"#)
            );
        }
    }
}

#[test]
fn a_turn_without_its_pictures_is_rejected_and_keeps_its_number() {
    let files = copy("results_version_backtracking_part0", false, &["result_1.png"]);
    let (pairs, rejections) = read(open(&files).as_ref());
    let turns: Vec<_> = pairs.iter().map(|pair| (pair.turn, pair.base.as_deref())).collect();
    assert_eq!(turns, [(Some(0), Some("original")), (Some(2), Some("turn:0"))]);
    assert_eq!(rejections.len(), 1);
    let rejected = rejections[0].pair_id.as_deref();
    assert_eq!(rejected, Some("imgedit:version_backtracking_part0:0:1"));
    assert_eq!(rejections[0].kind, "missing_member");
}

#[test]
fn a_session_of_words_alone_is_no_edit() {
    let row = vec![(vec![], vec![], "a"), (vec![String::new()], vec![], "b")];
    let files = vec![("Parquet/content_memory_part2.parquet".to_owned(), sessions(&[row]))];
    let (pairs, rejections) = read(open(&files).as_ref());
    assert_eq!((pairs.len(), rejections.len()), (0, 1));
    assert_eq!(rejections[0].kind, "invalid_row");
}

/// One sample of a group with these files, and a row that names some.
fn single(
    [stem, group, top]: [&str; 3],
    files: &[(&str, Vec<u8>)],
    [inputs, outputs]: [&[&str]; 2],
) -> Files {
    let members: Vec<_> =
        files.iter().map(|(file, bytes)| (path(top, file), bytes.clone())).collect();
    let [inputs, outputs] =
        [inputs, outputs].map(|of| of.iter().map(|file| path(top, file)).collect::<Vec<_>>());
    let inputs = inputs.iter().map(String::as_str).collect();
    let outputs = outputs.iter().map(String::as_str).collect();
    let row = rows(&[(inputs, outputs, "Replace it with the reference image.")]);
    vec![
        (format!("Parquet/{stem}.parquet"), row),
        (format!("Singleturn/{group}.tar"), tar(&members)),
    ]
}

const REFERENCE: [&str; 3] = [
    "reference_replace_part1",
    "results_extract_and_visualedit_part1",
    "results_extract_ref_part1",
];
const HYBRID: [&str; 3] = ["hybrid_part0", "results_hybrid_part0", "results_compose_part0"];
const REMOVE: [&str; 3] =
    ["remove_part4", "results_remove_laion_part4", "results_remove_laion_part4"];

#[test]
fn a_second_input_is_the_picture_of_an_object() {
    let pictures = [
        ("original.png", png(10, 40)),
        ("result_1.png", png(3, 40)),
        ("result_2.png", png(10, 40)),
        ("mask.png", png(13, 40)),
    ];
    let paths: [&[&str]; 2] = [&["original.png", "result_1.png"], &["result_2.png"]];
    let (pairs, _) = read(open(&single(REFERENCE, &pictures, paths)).as_ref());
    let pair = &pairs[0];
    assert_eq!(pair.references.len(), 1);
    assert_eq!(pair.references[0].role.as_deref(), Some("object"));
    assert_eq!(pair.references[0].picture.width, Some(3));
    assert_eq!(pair.mask.as_ref().map(|mask| mask.grid), Some(Grid::Other));
    assert_eq!((pair.turn, pair.session_id.as_deref(), pair.base.as_deref()), (None, None, None));
    // An extracted object has another grid than its mask.
    let extract = ["reference_extract_part1", REFERENCE[1], REFERENCE[2]];
    let paths: [&[&str]; 2] = [&["result_2.png"], &["result_1.png"]];
    let (pairs, _) = read(open(&single(extract, &pictures, paths)).as_ref());
    assert_eq!((&pairs[0].mask, pairs[0].references.len()), (&None, 0));
    // Pictures that are not one to one and a half are no edit.
    for paths in [
        [&["original.png"][..], &[]],
        [&[], &["result_1.png"]],
        [&["original.png"], &["result_1.png", "result_2.png"]],
    ] {
        let (pairs, rejections) = read(open(&single(REFERENCE, &pictures, paths)).as_ref());
        assert_eq!((pairs.len(), rejections[0].kind.as_str()), (0, "invalid_row"));
    }
}

#[test]
fn a_hybrid_edit_has_the_union_of_two_masks_or_none() {
    let mut pictures = vec![
        ("origin_0.png", png(10, 40)),
        ("result_1.png", png(10, 40)),
        ("mask_0.png", png(10, 51)),
        ("mask_1.png", png(10, 52)),
        ("result.json", br#"{"edit_type": "add"}"#.to_vec()),
        ("result_fixed.json", br#"{"edit_type": ["replace", "remove"]}"#.to_vec()),
    ];
    let paths: [&[&str]; 2] = [&["origin_0.png"], &["result_1.png"]];
    let (pairs, _) = read(open(&single(HYBRID, &pictures, paths)).as_ref());
    let mask = pairs[0].mask.as_ref().unwrap();
    let lengths = |part: &MaskPart| match part {
        MaskPart::Picture(picture) => picture.address.length(),
        MaskPart::RunLength { .. } => None,
    };
    assert_eq!(mask.parts.iter().map(lengths).collect::<Vec<_>>(), [Some(51), Some(52)]);
    assert_eq!(mask.combine.word(), "union");
    // What was corrected counts, and both are kept.
    assert_eq!(pairs[0].edit_type_native, ["replace", "remove"]);
    let native = pairs[0].native.as_deref().unwrap();
    assert!(native.contains(r#""result.json":{"#) && native.contains(r#""result_fixed.json":{"#));
    pictures.remove(3);
    let files = single(HYBRID, &pictures, paths);
    let reader = open(&files);
    let (pairs, _) = read(reader.as_ref());
    assert_eq!(pairs[0].mask, None);
    assert_eq!(notices(reader.as_ref()), ["missing_mask"]);
}

#[test]
fn what_stands_beside_is_left_where_it_is_not_wanted() {
    let pictures = [
        ("original.png", png(10, 40)),
        ("result.png", png(10, 40)),
        ("mask.png", png(10, 40)),
        ("result.json", b"{ # no JSON".to_vec()),
        ("judge.json", br#"{"score": "Prompt Compliance: 3"}"#.to_vec()),
    ];
    let paths: [&[&str]; 2] = [&["original.png"], &["result.png"]];
    let mut files = single(REMOVE, &pictures, paths);
    let scores = format!("{{\"{}/{SAMPLE}\": 2}}", REMOVE[2]);
    files.push(("all_dataset_gpt_score.json".to_owned(), scores.into()));
    let reader = open(&files);
    let (pairs, _) = read(reader.as_ref());
    assert_eq!(notices(reader.as_ref()), ["unreadable_side_file"]);
    let score = |name: &str| pairs[0].scores.iter().find(|of| of.name == name).map(|of| of.value);
    assert_eq!(score("gpt.prompt_compliance"), Some(3.0));
    let native = pairs[0].native.as_deref().unwrap();
    let native: serde_json::Value = serde_json::from_str(native).unwrap();
    // What is no JSON is kept as text.
    assert_eq!(native["result.json"], "{ # no JSON");
    assert_eq!(native["all_dataset_gpt_score.json"], 2);
    assert_eq!(native["row"]["prompt"], "Replace it with the reference image.");

    let without = |option: &str| {
        let reader = open_with(&files, &[option], BTreeMap::new());
        let (mut pairs, rejections) = read(reader.as_ref());
        assert_eq!((pairs.len(), rejections), (1, vec![]));
        (pairs.remove(0), notices(reader.as_ref()))
    };
    let (pair, told) = without("imgedit.side=off");
    assert_eq!((pair.scores, told), (vec![], vec![]));
    assert!(pair.mask.is_some() && !pair.native.unwrap().contains("judge"));
    let (pair, _) = without("imgedit.masks=off");
    assert!(pair.mask.is_none() && !pair.scores.is_empty());
}

#[test]
fn recaptions_are_joined_by_the_photograph() {
    let pictures = [("original.png", png(10, 40)), ("result.png", png(10, 40))];
    let paths: [&[&str]; 2] = [&["original.png"], &["result.png"]];
    let files = single(REMOVE, &pictures, paths);
    let record = r#"{"path": "00094/00019/000199413.jpg", "cap": ["A red van."], "aes": 6.0,
        "resolution": {"height": 7, "width": 10}}"#;
    let recap = tar(&[("0009400019000199413_step4_withcount.json".to_owned(), record.into())]);
    let recap = tree(&[("jsons/part0.tar".to_owned(), recap)]);
    let reader = open_with(&files, &[], BTreeMap::from([("recap", recap)]));
    let (pairs, _) = read(reader.as_ref());
    let captions: Vec<_> = pairs[0].captions.iter().map(|of| of.text.as_str()).collect();
    assert_eq!(captions, ["A red van."]);
    let parts = reader.parts(&diptych_format::Tally::default()).unwrap();
    let recap = parts.iter().find(|part| part.name == "photographs with recaptions").unwrap();
    assert_eq!(recap.here, 1);
}

#[test]
fn the_parts_of_a_copy_are_counted() {
    let pictures = [("original.png", png(10, 40)), ("result.png", png(10, 40))];
    let paths: [&[&str]; 2] = [&["original.png"], &["result.png"]];
    let reader = open(&single(REMOVE, &pictures, paths));
    read(reader.as_ref());
    let tally = diptych_format::Tally { edits: vec![1], pairs: vec![1] };
    let parts = reader.parts(&tally).unwrap();
    let line = |name: &str| {
        let part = parts.iter().find(|part| part.name == name).unwrap();
        (part.here, part.published, part.missing.clone())
    };
    assert_eq!(line("rows of remove_part4"), (1, Some(7698), None));
    assert_eq!(line("pieces of results_remove_laion_part4"), (1, Some(1), None));
    assert_eq!(line("rows of add_part0"), (0, Some(32_233), None));
    assert_eq!(line("folders with scores").0, 0);
}
