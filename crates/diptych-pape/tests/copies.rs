//! Copies of which not all is there, and how complete they are.

#![expect(clippy::unwrap_used, reason = "tests state what they expect by panicking")]

mod support;

use diptych_format::Part;
use serde_json::json;
use support::{FOLDER, FOLDERS, Files, ids, mask, open, pairs, png, read, told};

/// The row of an image, and its pictures; the masks of so many pixels each.
fn put(files: &mut Files, folder: &str, id: &str, iou: Option<f64>, edited: [usize; 2]) {
    let row = json!({"image_id": id, "language": "en", "normal_prompt": "a",
        "abnormal_prompt": "b", "mask_iou": iou});
    let manifest = files.entry(join(folder, "manifest.jsonl")).or_default();
    manifest.extend(format!("{row}\n").bytes());
    for of in FOLDERS {
        let bytes = match of {
            "masks/normal" => mask(edited[0]),
            "masks/abnormal" => mask(edited[1]),
            _ => mask(32),
        };
        let name = if of == "source" { format!("{id}.png") } else { format!("{id}_en.png") };
        files.insert(join(folder, &format!("{of}/{name}")), bytes);
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The lines of completeness: name, here, stated, published and what is missing.
fn parts(files: &Files) -> (Vec<String>, Vec<String>) {
    let reader = open(files);
    let read = read(reader.as_ref());
    let parts = reader.parts(&read.tally).unwrap();
    let line = |part: &Part| {
        let Part { name, here, stated, published, missing } = part;
        let number = |of: Option<u64>| of.map_or("-".to_owned(), |of| of.to_string());
        let stated = number(stated.as_ref().map(|stated| stated.count));
        let missing = missing.as_ref().map(|of| format!(": {of}")).unwrap_or_default();
        format!("{name}: {here} {stated} {}{missing}", number(*published))
    };
    (parts.iter().map(line).collect(), told(&reader.notices(&read.tally)))
}

#[test]
fn a_part_of_the_tree_is_read_as_far_as_it_says() {
    let of = |folder: &str| {
        let mut files = Files::new();
        put(&mut files, folder, "7", None, [16, 16]);
        pairs(&files)
    };
    let whole = of("COCO/flux2_dev");
    assert_eq!(ids(&whole)[0], "pape:COCO:flux2_dev:7:en:normal");
    let subset = of("flux2_dev");
    assert_eq!(ids(&subset)[0], "pape::flux2_dev:7:en:normal");
    assert_eq!((&subset[0].subset, subset[0].editor.as_deref()), (&None, Some("flux2_dev")));
    let editor = of("");
    assert_eq!(ids(&editor)[1], "pape:::7:en:abnormal");
    assert_eq!((&editor[0].subset, &editor[0].editor), (&None, &None));
    let deep = of("download/PAPE_Dataset/COCO/flux2_dev");
    assert_eq!(ids(&deep), ids(&whole));
}

#[test]
fn manifests_are_partitions_in_order() {
    let mut files = Files::new();
    for folder in ["Places/a", "COCO/b", "COCO/a.1"] {
        put(&mut files, folder, "7", None, [16, 16]);
    }
    let reader = open(&files);
    assert_eq!(
        reader.partitions(),
        ["COCO/a.1/manifest.jsonl", "COCO/b/manifest.jsonl", "Places/a/manifest.jsonl"]
    );
    assert!(reader.read(3).is_err());
}

#[test]
fn what_there_should_be_is_told() {
    let mut files = Files::new();
    put(&mut files, "COCO/flux2_dev", "1", None, [16, 16]);
    put(&mut files, "COCO/flux2_dev", "2", None, [16, 16]);
    put(&mut files, "COCO/longcat", "1", None, [16, 16]);
    put(&mut files, "Mine/flux2_dev", "x", None, [16, 16]);
    files.remove("COCO/longcat/normal/1_en.png");
    files.remove("COCO/flux2_dev/source/2.png");
    let splits = r#"{"COCO": {"train": ["1", "3"], "validation": ["2"], "test": []},
        "Mine": {"holdout": ["x", "y"]}}"#;
    files.insert("splits/split_seed2026.json".to_owned(), splits.into());
    let (parts, notices) = parts(&files);
    assert_eq!(
        parts,
        [
            "rows of COCO: 3 - 14668",
            "rows of ImageNet: 0 - 18488",
            "rows of Places: 0 - 14591",
            "rows of Mine: 1 - -",
            "rows of COCO/flux2_dev: 2 - -",
            "rows of COCO/longcat: 1 - -",
            "rows of Mine/flux2_dev: 1 - -",
            "images of COCO in train: 1 2 1600",
            "images of COCO in validation: 1 1 200",
            "images of COCO in test: 0 - 200",
            "images of ImageNet in test: 0 - 2500",
            "images of Places in test: 0 - 2000",
            "images of Mine in holdout: 1 2 -",
            // A source is asked for by each edit.
            "pictures that rows have: 21 24 -: COCO/flux2_dev line 2 (source), \
             COCO/flux2_dev line 2 (source), COCO/longcat line 1 (normal)",
            "rows whose two masks overlap by 0.5 or more: 4 4 -",
        ]
    );
    // The folder of the one target that is gone is empty.
    let empty = "missing_folder: copy/COCO/longcat/normal: the folder is not there, or empty";
    assert_eq!(notices, [empty]);
}

#[test]
fn masks_are_compared() {
    let mut files = Files::new();
    put(&mut files, FOLDER, "1", Some(0.5), [8, 16]);
    put(&mut files, FOLDER, "2", Some(0.444), [8, 18]);
    put(&mut files, FOLDER, "3", Some(0.9), [32, 32]);
    put(&mut files, FOLDER, "4", None, [0, 0]);
    put(&mut files, FOLDER, "5", None, [4, 4]);
    put(&mut files, FOLDER, "6", None, [4, 4]);
    files.insert(format!("{FOLDER}/masks/normal/5_en.png"), png((2, 1), &[1, 1]));
    files.insert(format!("{FOLDER}/masks/normal/6_en.png"), b"<html>".to_vec());
    let (parts, notices) = parts(&files);
    assert_eq!(
        parts.last().unwrap(),
        "rows whose two masks overlap by 0.5 or more: 2 3 -: COCO/flux2_dev line 2 (0.4444)"
    );
    assert_eq!(
        notices,
        [
            "mask_iou_differs: copy/COCO/flux2_dev/manifest.jsonl: in 1 of its rows mask_iou is not \
             the overlap of the masks: line 3 (1.0000, not 0.9000)",
            "unread_masks: copy/COCO/flux2_dev/manifest.jsonl: in 3 of its rows the masks cannot be \
             compared: line 4 (nothing is edited in either), line 5 (masks of 2x1 and 8x4 \
             pixels), line 6 (part 0 of the mask is no picture)",
        ]
    );
}

#[test]
fn of_very_many_only_some_are_named() {
    let mut files = Files::new();
    for id in 10..25 {
        put(&mut files, FOLDER, &id.to_string(), None, [4, 16]);
    }
    let (parts, _) = parts(&files);
    let last = parts.last().unwrap();
    assert!(last.contains("0 15 -: COCO/flux2_dev line 1 (0.2500), "), "{last}");
    assert!(last.ends_with("line 10 (0.2500), and 5 more"), "{last}");
}

#[test]
fn what_no_row_has_is_told_where_all_was_read() {
    let mut files = Files::new();
    put(&mut files, FOLDER, "1", None, [16, 16]);
    for name in ["normal/x.png", "normal/y.png", "references/z.png", "masks/normal/notes.txt"] {
        files.insert(format!("{FOLDER}/{name}"), mask(1));
    }
    files.insert(format!("{FOLDER}/notes.txt"), Vec::new());
    let reader = open(&files);
    let read = read(reader.as_ref());
    assert_eq!(
        told(&read.notices),
        [
            "unclaimed_files: copy/COCO/flux2_dev/masks/normal: 1 that no row has, notes.txt for one",
            "unclaimed_files: copy/COCO/flux2_dev/normal: 2 that no row has, x.png for one",
            "unclaimed_files: copy/COCO/flux2_dev/references: 1 that no row has, z.png for one",
        ]
    );
    assert_eq!(reader.notices(&diptych_format::Tally::default()), []);
}
