//! Rows in the shapes that a manifest may have, and the pairs that come of them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests state what they expect by panicking"
)]

mod support;

use diptych_schema::{Edited, Grid, MaskOrigin, Split};
use diptych_storage::Limits;
use serde_json::{Value, json};
use support::{
    FOLDER, Files, ids, in_all, label, lost, mask, open_with, pairs, pictures, png, read, release,
};

/// The paths of pictures of this name, by role.
fn by_role(name: &str) -> Value {
    json!({"source": format!("/r/{name}"), "normal": format!("/r/{name}"),
        "abnormal": format!("/r/{name}"), "mask_normal": format!("/r/{name}"),
        "mask_abnormal": format!("/r/{name}")})
}

/// A release of one row, with a picture of the name `name` in each folder.
fn one(row: &Value, name: &str) -> Files {
    with(&row.to_string(), &in_all(name))
}

fn with(manifest: &str, pictures: &[String]) -> Files {
    release(manifest, &pictures.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What both edits of a row have for pictures.
fn found(row: &Value, name: &str) -> [[Option<String>; 3]; 2] {
    let pairs = pairs(&one(row, name));
    [pictures(&pairs[0]), pictures(&pairs[1])]
}

fn all(name: &str) -> [[Option<String>; 3]; 2] {
    let of = |folder: &str| Some(format!("{folder}/{name}"));
    [
        [of("source"), of("normal"), of("masks/normal")],
        [of("source"), of("abnormal"), of("masks/abnormal")],
    ]
}

#[test]
fn a_row_is_two_pairs_in_a_group() {
    let row = r#"{"image_id":139,"language":"en","object":"cup","anomaly_category":"material",
        "normal_prompt":"a glass","abnormal_prompt":"a cup of fire","mask_iou":0.50,
        "export_paths":{"source":"/r/s.jpg","normal":"/r/n.png","abnormal":"/r/a.png",
        "mask_normal":"/r/n.png","mask_abnormal":"/r/a.png"},"bbox":[1.50, 1e3],"x":{"b":1,"b":2}}"#;
    let row = row.replace('\n', " ");
    let pictures_of = ["source/s.jpg", "normal/n.png", "abnormal/a.png"];
    let mut files = release(&row, &pictures_of);
    files.insert(format!("{FOLDER}/masks/normal/n.png"), mask(16));
    files.insert(format!("{FOLDER}/masks/abnormal/a.png"), png((2, 2), &[0, 1, 1, 0]));
    let split = r#"{"seed": 2.50, "COCO": {"val": ["000000000139"]}}"#;
    files.insert("splits/split_seed2026.json".to_owned(), split.into());
    let pairs = pairs(&files);
    let group = "pape:COCO:flux2_dev:139:en";
    assert_eq!(ids(&pairs), [format!("{group}:normal"), format!("{group}:abnormal")]);
    for (pair, (variant, prompt)) in
        pairs.iter().zip([("normal", "a glass"), ("abnormal", "a cup of fire")])
    {
        assert_eq!(pair.dataset, "pape");
        assert_eq!(pair.subset.as_deref(), Some("COCO"));
        assert_eq!(pair.editor.as_deref(), Some("flux2_dev"));
        assert_eq!(pair.group_id.as_deref(), Some(group));
        assert_eq!(pair.variant.as_deref(), Some(variant));
        assert_eq!(pair.instruction.as_deref(), Some(prompt));
        assert_eq!(pair.language.as_deref(), Some("en"));
        assert_eq!((pair.edit_type.as_deref(), pair.edit_type_native.len()), (Some("replace"), 0));
        assert_eq!(pair.split, Some(Split::Val));
        assert_eq!((pair.scores[0].name.as_str(), pair.scores[0].value), ("mask_iou", 0.5));
        assert_eq!(pair.source.size(), Some((8, 4)));
        let native = pair.native.as_deref().unwrap();
        let side = r#""split":{"file":"splits/split_seed2026.json","subset":"COCO","split":"val","id":"000000000139","seed":2.50}"#;
        assert_eq!(native, format!("{{\"row\":{row},{side}}}"));
        let mask = pair.mask.as_ref().unwrap();
        assert_eq!((mask.edited, mask.origin), (Edited::Nonzero, MaskOrigin::Release));
    }
    let labels = |of: usize| {
        let all = pairs[of].labels.iter().map(|label| format!("{}={}", label.name, label.value));
        all.collect::<Vec<_>>()
    };
    let labels_of_row = ["anomaly_category=material", "image_id=139", "object=cup"];
    assert_eq!(labels(0), labels_of_row);
    assert_eq!(pairs[0].mask.as_ref().unwrap().grid, Grid::Source);
    // The mask of the other has a size of its own.
    assert_eq!(pairs[1].mask.as_ref().unwrap().grid, Grid::Other);
    assert_eq!(label(&pairs[1], "mask_grid_expected"), Some("source"));
}

#[test]
fn only_names_of_paths_count_and_endings_may_differ() {
    let named = |asked: &str, there: &str| {
        let row = json!({"image_id": 1, "normal_prompt": "a", "abnormal_prompt": "b",
            "export_paths": by_role(asked)});
        assert_eq!(found(&row, there), all(there), "{asked} {there}");
    };
    named("x/000000000139_en.png", "000000000139_en.png");
    named("a.PNG", "a.png");
    named("a.jpg", "a.JPEG");
    named("a.webp", "a.jpg");
    named("a", "a.webp");
    // Dots are part of names.
    named("firered_image_edit_1.1.png", "firered_image_edit_1.1.jpg");
    named("n.1", "n.1.png");
    named("C:\\build\\out\\x.png", "x.png");
    // Of several the one whose ending is the same but for its case.
    let row = json!({"normal_prompt": "a", "export_paths": by_role("a.png")});
    let mut names = in_all("a.PNG");
    names.extend(in_all("a.JPG"));
    let row = row.to_string();
    let pairs = pairs(&with(&row, &names));
    assert_eq!(pictures(&pairs[0]), all("a.PNG")[0]);
}

#[test]
fn files_below_a_folder_are_found_by_as_much_of_the_path() {
    let place = |place: &str| {
        let row = json!({"image_id": place, "language": "en", "normal_prompt": "a",
            "abnormal_prompt": "b", "export_paths": by_role(&format!("normal/{place}.png"))});
        row.to_string()
    };
    let mut names = in_all("a/airfield/1.png");
    names.extend(in_all("b/bar/1.png"));
    let pairs = pairs(&with(&[place("a/airfield/1"), place("b/bar/1")].join("\n"), &names));
    assert_eq!(pictures(&pairs[0]), all("a/airfield/1.png")[0]);
    assert_eq!(pictures(&pairs[3]), all("b/bar/1.png")[1]);
    // The name alone would be that of another.
    let asked = json!({"normal_prompt": "a", "export_paths": by_role("c/cafe/1.png")}).to_string();
    let read = read(open_with(&with(&asked, &names), Limits::DEFAULT).as_ref());
    assert_eq!((read.pairs.len(), read.rejections.len()), (0, 2));
}

#[test]
fn a_list_and_an_object_in_an_object_say_roles_too() {
    let list = json!([
        "/r/source/a.png",
        "/r/normal/a.png",
        "/r/abnormal/a.png",
        "D:\\r\\masks\\normal\\a.png",
        "/r/masks/abnormal/a.png"
    ]);
    let nested = json!({"source_image": ["a.png"], "masks": {"normal": "a.png", "abnormal": "a.png"},
        "edited": {"abnormal": "/x/a.png", "normal": "/x/a.png"}});
    for paths in [list, nested] {
        let row = json!({"normal_prompt": "a", "export_paths": paths});
        assert_eq!(found(&row, "a.png"), all("a.png"), "{row}");
    }
}

#[test]
fn without_paths_pictures_are_found_by_ids() {
    let row = |id: Value, image_id: Value, language: Value| {
        json!({"id": id, "image_id": image_id, "language": language, "normal_prompt": "a",
            "abnormal_prompt": "b", "export_paths": null})
    };
    for (row, there) in [
        (row("COCO_7".into(), 1.into(), "en".into()), "COCO_7.png"),
        (row(Value::Null, "n01_2".into(), "zh".into()), "n01_2_zh.png"),
        (row(Value::Null, 139.into(), "en".into()), "139_en.jpg"),
        (row(Value::Null, 139.into(), "en".into()), "000000000139_en.png"),
        (row(Value::Null, json!(139.0), "en".into()), "000000000139_en.png"),
        // The language that the prompts are in.
        (row(Value::Null, "a.b".into(), Value::Null), "a.b_en.png"),
    ] {
        assert_eq!(found(&row, there), all(there), "{row}");
    }
    // A source is that of rows of both languages.
    let names = ["source/000000000139.jpg", "normal/139_en.png", "abnormal/139_en.png"];
    let found = pairs(&release(&row(Value::Null, 139.into(), "en".into()).to_string(), &names));
    assert_eq!(pictures(&found[0]), [Some(names[0].into()), Some(names[1].into()), None]);
    // Another language's target is not the row's.
    let names = ["source/139.jpg", "normal/139.png", "abnormal/139_zh.png"];
    let found = release(&row(Value::Null, 139.into(), "en".into()).to_string(), &names);
    assert_eq!(read(open_with(&found, Limits::DEFAULT).as_ref()).rejections.len(), 2);
}

#[test]
fn an_edit_is_there_where_anything_says_so() {
    let of = |row: Value, names: &[&str]| {
        let read = read(open_with(&release(&row.to_string(), names), Limits::DEFAULT).as_ref());
        let pairs: Vec<_> = read.pairs.iter().filter_map(|pair| pair.variant.clone()).collect();
        let lost: Vec<_> = read.rejections.iter().map(|of| of.kind.clone()).collect();
        [pairs.join(" "), lost.join(" ")]
    };
    let told = |pairs: &str, lost: &str| [pairs.to_owned(), lost.to_owned()];
    let there = ["source/1.jpg", "normal/1_en.png"];
    let named = json!({"image_id": 1, "language": "en", "normal_prompt": "a"});
    assert_eq!(of(named, &there), told("normal", ""));
    let by_file = json!({"image_id": 1, "language": "en", "normal_prompt": null});
    assert_eq!(of(by_file, &there), told("normal", ""));
    let by_path = json!({"image_id": 1, "language": "en", "export_paths": {"abnormal": "x.png"}});
    assert_eq!(of(by_path, &there), told("normal", "missing_member"));
    let by_mask = json!({"image_id": 1, "language": "en", "export_paths": {"mask_abnormal": "x"}});
    assert_eq!(of(by_mask, &there), told("normal", "missing_member"));
    let by_prompt = json!({"image_id": 1, "language": "en", "abnormal_prompt": "a"});
    assert_eq!(of(by_prompt, &there), told("normal", "missing_member"));
    let neither = json!({"image_id": 2, "normal_prompt": "", "abnormal_prompt": null});
    assert_eq!(of(neither, &there), told("", "missing_field"));
    // An empty prompt asks for nothing, and the pair says so.
    let empty = json!({"image_id": 1, "language": "en", "normal_prompt": ""});
    let pair = &pairs(&release(&empty.to_string(), &there))[0];
    assert_eq!((&pair.instruction, label(pair, "instruction_empty")), (&None, Some("true")));
}

#[test]
fn ids_are_those_of_the_release_and_repeats_have_their_line() {
    let row = |image_id: Value, language: Value, prompt: &str| {
        json!({"image_id": image_id, "language": language, "normal_prompt": prompt,
            "export_paths": by_role("a.png")})
        .to_string()
    };
    let en = || Value::from("en");
    let rows = [
        row(139.into(), en(), "a"),
        row(139.into(), "zh".into(), "a"),
        row("000000000139".into(), en(), "a"),
        row(139.into(), Value::Null, "a"),
        row(139.into(), Value::Null, "改"),
        row(Value::Null, en(), "a"),
        row(json!(139.5), Value::Null, ""),
        "{\"image_id\": 7".to_owned(),
    ];
    let files = with(&rows.join("\n\n"), &in_all("a.png"));
    let read = read(open_with(&files, Limits::DEFAULT).as_ref());
    let normal = read.pairs.iter().filter(|pair| pair.variant.as_deref() == Some("normal"));
    let ids: Vec<_> = normal.map(|pair| pair.group_id.clone().unwrap()).collect();
    assert_eq!(
        ids,
        [
            "pape:COCO:flux2_dev:139:en#1",
            "pape:COCO:flux2_dev:139:zh#2",
            "pape:COCO:flux2_dev:000000000139:en",
            "pape:COCO:flux2_dev:139:en#4",
            "pape:COCO:flux2_dev:139:zh#5",
            "pape:COCO:flux2_dev::en",
            "pape:COCO:flux2_dev:139.5:",
        ]
    );
    assert_eq!(read.pairs[0].pair_id, "pape:COCO:flux2_dev:139:en#1:normal");
    assert_eq!(read.rejections.len(), 1);
}

#[test]
fn a_language_is_said_or_seen() {
    let of = |fields: Value, normal: &str, abnormal: &str| {
        let mut row = json!({"image_id": 1, "normal_prompt": normal, "abnormal_prompt": abnormal,
            "export_paths": by_role("a.png")});
        row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        pairs(&one(&row, "a.png"))[0].language.clone()
    };
    assert_eq!(of(json!({}), "a", "b").as_deref(), Some("en"));
    assert_eq!(of(json!({}), "a", "改").as_deref(), Some("zh"));
    assert_eq!(of(json!({"language": ""}), "改", "").as_deref(), Some("zh"));
    assert_eq!(of(json!({"lang": "zh-CN"}), "a", "b").as_deref(), Some("zh-CN"));
    assert_eq!(
        of(json!({"language": 3, "prompt_language": "de"}), "a", "b").as_deref(),
        Some("de")
    );
    assert_eq!(of(json!({}), "", ""), None);
}

#[test]
fn a_word_that_is_no_split_is_a_label() {
    let row = json!({"image_id": "x", "normal_prompt": "a", "export_paths": by_role("a.png")});
    let mut files = one(&row, "a.png");
    files.insert("splits/a.json".to_owned(), r#"{"COCO": {"holdout": ["x"]}}"#.into());
    let pair = &pairs(&files)[0];
    assert_eq!((pair.split, label(pair, "split_native")), (None, Some("holdout")));
    let native: Value = serde_json::from_str(pair.native.as_deref().unwrap()).unwrap();
    let said = json!({"file": "splits/a.json", "subset": "COCO", "split": "holdout", "id": "x"});
    assert_eq!(native["split"], said);
}

#[test]
fn lines_end_in_any_way_and_may_be_gzipped() {
    use std::io::Write;
    let row = |id: u32| {
        let row = json!({"image_id": id, "normal_prompt": "a", "export_paths": by_role("a.png")});
        row.to_string()
    };
    let text = format!("\u{feff}{}\r\n\r\n  \n{}", row(1), row(2));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    let mut files = with("", &in_all("a.png"));
    let manifest = format!("{FOLDER}/manifest.jsonl");
    files.insert(manifest.clone(), text.into());
    let plain = pairs(&files);
    assert_eq!(ids(&plain)[2], "pape:COCO:flux2_dev:2:en:normal");
    files.remove(&manifest);
    files.insert(format!("{manifest}.gz"), zipped);
    assert_eq!(pairs(&files), plain);
    // A list of rows is read as such.
    files.insert(manifest, format!("[{},\n{}]", row(1), row(2)).into());
    assert_eq!(pairs(&files), plain);
}

#[test]
fn what_is_lost_says_where() {
    let row = json!({"image_id": 1, "language": "en", "normal_prompt": "a",
        "export_paths": by_role("a.png")});
    let mut files = one(&row, "a.png");
    files.remove(&format!("{FOLDER}/abnormal/a.png"));
    files.insert(format!("{FOLDER}/normal/a.png"), Vec::new());
    let read = read(open_with(&files, Limits { row_bytes: 400, ..Limits::DEFAULT }).as_ref());
    assert_eq!(
        lost(&read.rejections),
        [
            "empty_picture: copy/COCO/flux2_dev/normal/a.png, offset 0: \
             COCO/flux2_dev/normal/a.png: 0 bytes; asked for by COCO/flux2_dev/manifest.jsonl, row 0",
            "missing_member: copy/COCO/flux2_dev/abnormal/a.png: a.png: COCO/flux2_dev/abnormal is \
             not there, or empty; asked for by COCO/flux2_dev/manifest.jsonl, row 0",
        ]
    );
    let lost_pair = &read.rejections[1];
    assert_eq!(lost_pair.pair_id.as_deref(), Some("pape:COCO:flux2_dev:1:en:abnormal"));
    assert_eq!((lost_pair.dataset.as_str(), lost_pair.subset.as_deref()), ("pape", Some("COCO")));
    assert_eq!(lost_pair.native.as_deref(), Some(format!("{{\"row\":{row}}}").as_str()));
    // A row over the limit is passed over.
    let limits = Limits { row_bytes: 20, ..Limits::DEFAULT };
    let read = self::read(open_with(&files, limits).as_ref());
    let length = row.to_string().len();
    assert_eq!(
        lost(&read.rejections),
        [format!(
            "row_too_long: copy/COCO/flux2_dev/manifest.jsonl, row 0, offset 0: {length} bytes, \
             the limit is 20"
        )]
    );
}

proptest::proptest! {
    #[test]
    fn any_bytes_end(
        manifest in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        fields in "[\\[\\]{}\":,0-9a-c./\\\\]{0,60}",
        splits in "[\\[\\]{}\":,0-9a-c]{0,40}",
    ) {
        let row = format!("\n{{\"normal_prompt\": \"a\", \"export_paths\": {fields}}}");
        let mut files = with("", &in_all("a.png"));
        let manifest = [manifest, row.into()].concat();
        files.insert(format!("{FOLDER}/manifest.jsonl"), manifest);
        files.insert("splits/a.json".to_owned(), splits.into());
        let reader = open_with(&files, Limits::DEFAULT);
        let read = read(reader.as_ref());
        reader.parts(&read.tally).unwrap();
    }
}

#[test]
fn the_picture_of_another_row_is_not_taken_for_one_that_is_not_there() {
    let row = |name: &str| {
        let row = json!({"image_id": 139, "language": "en", "normal_prompt": "a",
            "export_paths": by_role(name)});
        row.to_string()
    };
    let manifest = [row("139_en.png"), row("139_en_2.png")].join("\n");
    let mut there = in_all("139_en.png");
    there.extend(in_all("139_en_2.png"));
    assert_eq!(pairs(&with(&manifest, &there)).len(), 4);
    there.retain(|path| path != "normal/139_en_2.png");
    let read = read(open_with(&with(&manifest, &there), Limits::DEFAULT).as_ref());
    let left: Vec<_> = read.pairs.iter().filter_map(|pair| pictures(pair)[1].clone()).collect();
    assert_eq!(left, ["normal/139_en.png", "abnormal/139_en.png", "abnormal/139_en_2.png"]);
    let kinds: Vec<_> = read.rejections.iter().map(|of| of.kind.as_str()).collect();
    assert_eq!(kinds, ["missing_member"]);
}
