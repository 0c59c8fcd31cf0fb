use diptych_schema::{Address, MediaType};
use serde_json::json;

use super::*;
use crate::foreign::known;

fn picture(name: &str) -> Picture {
    Picture {
        width: Some(4),
        height: Some(4),
        media_type: Some(MediaType::Png),
        ..Picture::unprobed(name, Address::Inline(name.as_bytes().to_vec()))
    }
}

fn row(fields: Value) -> ForeignRow {
    let native = Some(json!({ "row": fields }).to_string());
    let Value::Object(fields) = fields else { panic!("no object") };
    let (dataset, place) = ("webdataset".to_owned(), "a:7".to_owned());
    ForeignRow { dataset, place, fields, native, ..ForeignRow::default() }
}

/// The pairs of a row that has a picture of each of these names.
fn pairs(map: &ColumnMap, row: &ForeignRow, pictures: &[&str]) -> Vec<EditPair> {
    let take = |name: &str| {
        pictures.iter().filter(|of| **of == name).map(|of| picture(of)).collect::<Vec<_>>()
    };
    map.pairs(row, map.roles(take).unwrap())
}

fn of_set(dataset: &str, fields: Value, pictures: &[&str]) -> Vec<EditPair> {
    pairs(&ColumnMap::parse(dataset).unwrap(), &row(fields), pictures)
}

/// What `change` makes of a pair that has only what every pair has.
fn wanted(
    id: &str,
    dataset: &str,
    names: [&str; 2],
    change: impl FnOnce(&mut EditPair),
) -> EditPair {
    let mut pair = EditPair::new(id.to_owned(), dataset.to_owned(), picture(names[0]));
    pair.target = Some(picture(names[1]));
    change(&mut pair);
    pair
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn caption(words: &str, of: &str) -> Caption {
    Caption { text: words.to_owned(), language: None, of: text(of) }
}

#[test]
fn instructpix2pix_has_captions_of_both_pictures() {
    let fields = json!({"original_prompt": "a hill", "edit_prompt": "make it snow",
        "edited_prompt": "a hill in snow"});
    let names = ["original_image", "edited_image"];
    let found = of_set("instructpix2pix", fields.clone(), &names);
    let pair = wanted("instructpix2pix:a:7", "instructpix2pix", names, |pair| {
        pair.instruction = text("make it snow");
        pair.captions = vec![caption("a hill", "source"), caption("a hill in snow", "target")];
        pair.native = Some(json!({ "row": fields }).to_string());
    });
    assert_eq!(found, [pair]);
}

#[test]
fn magicbrush_has_sessions_and_painted_masks() {
    let names = ["source_img", "target_img", "mask_img"];
    let of = |turn: u64| {
        let fields = json!({"img_id": "0242", "turn_index": turn, "instruction": "add a hat"});
        let native = json!({ "row": fields }).to_string();
        (of_set("magicbrush", fields, &names), native)
    };
    for (number, base) in [(1, "original"), (2, "previous")] {
        let (found, native) = of(number);
        let turn = u16::try_from(number).unwrap() - 1;
        let id = format!("magicbrush:0242:{turn}");
        let pair = wanted(&id, "magicbrush", ["source_img", "target_img"], |pair| {
            pair.instruction = text("add a hat");
            pair.session_id = text("magicbrush:0242");
            pair.turn = Some(turn);
            pair.base = text(base);
            pair.mask = Some(Mask {
                parts: vec![MaskPart::Picture(picture("mask_img"))],
                combine: Combine::Union,
                edited: Edited::Painted,
                grid: Grid::Source,
                origin: MaskOrigin::Release,
            });
            pair.native = Some(native);
        });
        assert_eq!(found, [pair]);
    }
    // Of turn 0 there is none where turns begin with 1: the row stands for itself.
    assert_eq!(of(0).0[0].pair_id, "magicbrush:a:7");
    assert_eq!(of(0).0[0].turn, None);
}

#[test]
fn ultraedit_has_a_mask_in_one_of_its_forms() {
    let fields = json!({"source_caption": "a", "target_caption": "b", "edit_prompt": "c",
        "idx": 3, "clip_sim_dir": 0.25});
    let pictures = ["source_image", "edited_image"];
    let found = of_set("ultraedit", fields.clone(), &pictures);
    assert_eq!((found[0].mask.is_none(), found[0].pair_id.as_str()), (true, "ultraedit:a:7"));
    assert!(found[0].native.as_ref().unwrap().contains("\"clip_sim_dir\":0.25"));
    assert_eq!(found[0].scores, []);
    let found = of_set("ultraedit", fields, &[&pictures[..], &["mask_image"]].concat());
    assert_eq!(found[0].mask.as_ref().unwrap().edited, Edited::White);
    assert_eq!(found[0].captions, [caption("a", "source"), caption("b", "target")]);
}

#[test]
fn omniedit_keeps_every_wording() {
    let fields = json!({"omni_edit_id": "x_1", "task": "removal",
        "edited_prompt_list": ["remove the cup", "take the cup away"]});
    let found = of_set("omniedit", fields, &["src_img", "edited_img"]);
    let [pair] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(pair.pair_id, "omniedit:x_1");
    assert_eq!(pair.instruction, text("remove the cup"));
    let variant = |of: &str| InstructionVariant { text: of.to_owned(), language: None, kind: None };
    assert_eq!(pair.instructions, ["remove the cup", "take the cup away"].map(variant));
    assert_eq!(pair.edit_type, text("remove"));
    assert_eq!(pair.edit_type_native, ["removal"]);
    let swap = json!({"task": "Swap", "edited_prompt_list": ["one"]});
    let pair = &of_set("omniedit", swap, &["src_img", "edited_img"])[0];
    assert_eq!((pair.edit_type.as_deref(), pair.instructions.len()), (Some("swap"), 0));
}

#[test]
fn hq_edit_makes_two_pairs_of_a_row() {
    let fields = json!({"input": "day", "output": "night", "edit": "make it night",
        "inverse_edit": "make it day"});
    let names = ["input_image", "output_image"];
    let found = of_set("hq-edit", fields.clone(), &names);
    let native = json!({ "row": fields }).to_string();
    let pair = wanted("hq-edit:a:7", "hq-edit", names, |pair| {
        pair.instruction = text("make it night");
        pair.captions = vec![caption("day", "source"), caption("night", "target")];
        pair.native = Some(native.clone());
    });
    let inverse = wanted("hq-edit:a:7:inverse", "hq-edit", [names[1], names[0]], |pair| {
        pair.instruction = text("make it day");
        pair.inverse_of = text("hq-edit:a:7");
        pair.captions = vec![caption("day", "target"), caption("night", "source")];
        pair.native = Some(native);
    });
    assert_eq!(found, [pair, inverse]);
    let one = of_set("hq-edit", json!({"edit": "a", "inverse_edit": ""}), &names);
    assert_eq!(one.len(), 1);
}

#[test]
fn nhr_edit_tells_its_wordings_apart() {
    let fields = json!({"sample_id": "s1", "edit_instruction": "add a 灯",
        "augmented_instructions": ["put a lamp there"], "category": "Add object"});
    for pictures in [["source_image", "edited_image"], ["source", "edited"]] {
        let pair = &of_set("nhr-edit", fields.clone(), &pictures)[0];
        assert_eq!((pair.pair_id.as_str(), pair.language.as_deref()), ("nhr-edit:s1", Some("zh")));
        let kinds: Vec<_> = pair.instructions.iter().map(|of| of.kind.as_deref()).collect();
        assert_eq!(kinds, [Some("edit_instruction"), Some("augmented_instructions")]);
        assert_eq!(pair.edit_type, text("add"));
        assert_eq!(pair.edit_type_native, ["Add object"]);
    }
}

#[test]
fn crispedit_has_kinds_with_spaces() {
    let fields = json!({"instruction": "go", "type": "background change"});
    let pair = &of_set("crispedit", fields, &["input_img", "output_img"])[0];
    assert_eq!(pair.edit_type, text("background"));
    assert_eq!(pair.edit_type_native, ["background change"]);
}

#[test]
fn x2edit_has_numbered_pictures_and_empty_instructions() {
    let of = |fields: Value| of_set("x2edit", fields, &["1.0", "1.1", "2"]).remove(0);
    let pair = of(json!({"instruction": "a", "instruction_zh": "换", "task": "style"}));
    let references: Vec<_> = pair.references.iter().map(|of| of.picture.name.as_str()).collect();
    assert_eq!((pair.source.name.as_str(), references.as_slice()), ("1.0", &["1.1"][..]));
    assert_eq!(pair.instructions[1].language.as_deref(), Some("zh"));
    let pair = of(json!({"instruction": "", "txt": ""}));
    assert_eq!((pair.instruction, pair.labels[0].name.as_str()), (None, "instruction_empty"));
    let pair = of(json!({"instruction": "", "txt": "b"}));
    assert_eq!((pair.instruction, pair.labels.len()), (text("b"), 0));
}

#[test]
fn common_names_say_all_that_they_can() {
    let map = known::ALL.last().unwrap().map();
    let fields = json!({"instruction": "x", "language": "fr", "edit_type": "Add", "editor": "e",
        "split": "holdout", "other": 1});
    let found = pairs(&map, &row(fields), &["source", "target", "reference0", "reference1"]);
    let [pair] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((pair.dataset.as_str(), pair.pair_id.as_str()), ("webdataset", "webdataset:a:7"));
    assert_eq!(pair.references.len(), 2);
    assert_eq!((pair.language.as_deref(), pair.editor.as_deref()), (Some("fr"), Some("e")));
    assert_eq!((pair.split, pair.subset.as_deref()), (None, Some("holdout")));
    assert_eq!(pair.labels[0].value, "holdout");
    let of_split = |word: &str, file| {
        let row = ForeignRow { split: file, ..row(json!({ "split": word })) };
        pairs(&map, &row, &["source", "target"])[0].split
    };
    assert_eq!(of_split("dev", Some(Split::Train)), Some(Split::Val));
    assert_eq!(of_split("", Some(Split::Train)), Some(Split::Train));
}

#[test]
fn fields_that_hold_something_else_stay_in_the_native_row() {
    let map = known::ALL.last().unwrap().map();
    let fields = json!({"instruction": {"en": "x"}, "edit_type": ["a"], "split": null});
    let pair = &pairs(&map, &row(fields), &["source", "target"])[0];
    assert_eq!((&pair.instruction, &pair.edit_type, pair.split), (&None, &None, None));
    assert!(pair.native.as_ref().unwrap().contains("{\"en\":\"x\"}"));
}

#[test]
fn a_list_of_pictures_is_a_source_and_references() {
    let map = ColumnMap::parse("source:in,target:out,reference:more").unwrap();
    let take = |name: &str| match name {
        "in" => vec!["a", "b"],
        "out" => vec!["c"],
        "more2" => vec!["never: 1 is not there"],
        "more" => vec!["d"],
        _ => Vec::new(),
    };
    let roles = map.roles(take).unwrap();
    assert_eq!((roles.source, roles.target, roles.mask), ("a", "c", None));
    assert_eq!(roles.references, ["b", "d"]);
}

#[test]
fn what_is_missing_is_named() {
    let map = ColumnMap::parse("source:a,source:b,target:c,mask:m").unwrap();
    let roles = |names: &[&str]| {
        let take = |name: &str| names.iter().filter(|of| **of == name).map(|_| ()).collect();
        map.roles(take).unwrap_err()
    };
    let absent = |cause: &str| RowFault { kind: "missing_picture", cause: cause.to_owned() };
    assert_eq!(roles(&["c"]), absent("no source: there is no picture a or b"));
    assert_eq!(roles(&["b"]), absent("no target: there is no picture c"));
    let two = |of: &str| RowFault {
        kind: "several_pictures",
        cause: format!("2 pictures for {of}, where one is meant"),
    };
    assert_eq!(roles(&["b", "c", "c"]), two("target"));
    assert_eq!(roles(&["b", "c", "m", "m"]), two("mask"));
}

#[test]
fn every_set_goes_by_its_table_of_edit_types() {
    let mut words = 0;
    for known in known::ALL {
        let field = |wanted: Column| {
            let mut fields = known.fields.iter().filter(|(column, _)| *column == wanted);
            fields.next().map(|(_, name)| *name)
        };
        let pictures = [field(Column::Source).unwrap(), field(Column::Target).unwrap()];
        for (native, word) in known.edit_types {
            let native = format!(" {}", native.to_uppercase());
            let fields = json!({ field(Column::EditType).unwrap(): &native });
            let pair = &pairs(&known.map(), &row(fields), &pictures)[0];
            assert_eq!(pair.edit_type, text(word), "{}: {native}", known.title);
            assert_eq!(pair.edit_type_native, [native]);
            words += 1;
        }
    }
    assert!(words > 10, "{words}");
}
