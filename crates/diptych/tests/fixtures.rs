//! The fixtures converted: what comes out is what the releases say, read independently, and what
//! is wrong with a release is told as its `expected.json` says.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use diptych::edit_types::EditTypeBook;
use diptych::format::{Confidence, Notice};
use diptych::report::Report;
use diptych::storage::{Limits, LocalTree};
use serde_json::{Value, json};
use support::folder::{fixtures, good_release, json as read_json, tree};
use support::job::{convert, rejections, request, whole_message};
use support::release::{Release, sha256, text};
use support::shards::{Sample, picture_record, samples, shard_names};

/// The keys of every record, in order.
const KEYS: [&str; 27] = [
    "pair_id",
    "dataset",
    "subset",
    "split",
    "session_id",
    "turn",
    "base",
    "premise",
    "group_id",
    "variant",
    "inverse_of",
    "edit_type",
    "edit_type_native",
    "instruction",
    "language",
    "instructions",
    "captions",
    "editor",
    "pictures",
    "mask_grid",
    "mask_origin",
    "box",
    "regions",
    "scores",
    "labels",
    "licence",
    "native",
];

#[test]
fn every_sample_is_what_the_release_says() {
    let release = Release::read(&good_release());
    let dir = tempfile::tempdir().unwrap();
    let mut request = request(&good_release(), dir.path());
    request.shard_size = 40_000;
    let report = convert(&request).unwrap();

    let samples = samples(dir.path());
    assert_eq!(samples.len(), release.rows.len());
    for (row, sample) in release.rows.iter().zip(&samples) {
        assert_sample(sample, row, &release);
    }
    assert_report(&report, dir.path(), &samples);
}

fn assert_sample(sample: &Sample, row: &Value, release: &Release) {
    let id = row["sample_id"].as_u64().unwrap();
    assert_eq!(sample.key, format!("inter-edit-train_{id:07}"));
    assert_eq!(sample.parts(), ["json", "source.png", "target.png", "mask.png"]);

    let source = release.picture(row, "source_archive", "source_file");
    let target = release.picture(row, "asset_archive", "target_file");
    let mask = release.picture(row, "asset_archive", "mask_file");
    for (part, bytes) in [("source.png", source), ("target.png", target), ("mask.png", mask)] {
        assert_eq!(sha256(sample.member(part)), sha256(bytes), "{part} of {id}");
    }

    let mut record = sample.record();
    let native = record.as_object_mut().unwrap().remove("native").unwrap();
    let native: Value = serde_json::from_str(native.as_str().unwrap()).unwrap();
    assert_eq!(native, json!({ "row": row }));
    let edit_type = text(row, "edit_type");
    let instruction = text(row, "instruction");
    let wanted = json!({
        "pair_id": format!("inter-edit-train:{id:07}"),
        "dataset": "inter-edit-train",
        "subset": null,
        "split": "train",
        "session_id": null,
        "turn": null,
        "base": null,
        "premise": null,
        "group_id": null,
        "variant": null,
        "inverse_of": null,
        "edit_type": edit_type.to_lowercase(),
        "edit_type_native": [edit_type],
        "instruction": instruction,
        "language": if is_chinese(&instruction) { "zh" } else { "en" },
        "instructions": [],
        "captions": [],
        "editor": null,
        "pictures": {
            "source": picture_record("source.png", &text(row, "source_file"), source),
            "references": [],
            "target": picture_record("target.png", &text(row, "target_file"), target),
            "mask": picture_record("mask.png", &text(row, "mask_file"), mask),
        },
        "mask_grid": if edit_type == "Add" { "target" } else { "source" },
        "mask_origin": "release",
        "box": edit_box(row),
        "regions": [],
        "scores": [],
        "labels": labels(row),
        "licence": null,
    });
    assert_eq!(record, wanted);

    let raw = sample.record_text();
    assert_eq!(top_keys(raw), KEYS);
    assert!(!raw.contains('\n'), "one line");
    // Byte for byte: nothing normalised, nothing escaped that need not be.
    assert!(raw.contains(&format!("\"instruction\":{},", json!(instruction))), "{raw}");
    let [x0, y0, x1, y1] = edges(row);
    let floats = format!("\"box\":{{\"x0\":{x0:?},\"y0\":{y0:?},\"x1\":{x1:?},\"y1\":{y1:?},");
    assert!(raw.contains(&floats), "numbers with a point: {floats} in {raw}");
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

fn edges(row: &Value) -> [f64; 4] {
    [0, 1, 2, 3].map(|edge| row["bounding_box"][edge].as_f64().unwrap())
}

/// The box as published, and how it lies in its frame.
fn edit_box(row: &Value) -> Value {
    let [x0, y0, x1, y1] = edges(row);
    let frame = &row["bbox_reference_dimensions"];
    let (width, height) = (frame["width"].as_f64().unwrap(), frame["height"].as_f64().unwrap());
    let inside = x0 >= 0.0 && y0 >= 0.0 && x1 <= width && y1 <= height;
    let area = x1.min(width) > x0.max(0.0) && y1.min(height) > y0.max(0.0);
    let status = match (area, inside) {
        (false, _) => "degenerate",
        (true, true) => "ok",
        (true, false) => "out_of_frame",
    };
    json!({
        "x0": x0, "y0": y0, "x1": x1, "y1": y1,
        "frame_width": frame["width"], "frame_height": frame["height"], "status": status,
    })
}

/// The labels that a row earns, sorted by name.
fn labels(row: &Value) -> Value {
    let instruction = text(row, "instruction");
    let mut labels = vec![json!({"name": "better_data", "value": row["better_data"].to_string()})];
    if ["移除", "remove", "remove it"].contains(&instruction.as_str()) {
        labels.push(json!({"name": "generic_instruction", "value": "true"}));
    }
    let marks = [
        ("**", "bold"),
        ("→", "arrow"),
        ("\n", "newline"),
        ("简化为", "simplified_to"),
        ("精简后", "condensed"),
    ];
    let left = marks.iter().filter(|(mark, _)| instruction.contains(mark));
    let left: Vec<_> = left.map(|(_, word)| *word).collect();
    if !left.is_empty() {
        labels.push(json!({"name": "instruction_residue", "value": left.join(",")}));
    }
    labels.into()
}

/// The keys of an object in the order in which they are written, from its text.
fn top_keys(object: &str) -> Vec<String> {
    let (mut keys, mut depth, mut start, mut escaped) = (Vec::new(), 0, None, false);
    for (at, c) in object.char_indices() {
        match (start, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(from), '"') => {
                start = None;
                if depth == 1 && object[at + 1..].starts_with(':') {
                    keys.push(object[from..at].to_owned());
                }
            }
            (Some(_), _) => {}
            (None, '"') => start = Some(at + 1),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth -= 1,
            (None, _) => {}
        }
    }
    keys
}

/// What the report tells of masks: each edit type's are the release's, or there is none.
fn masks_by_edit_type(samples: &[Sample]) -> Value {
    let mut told: BTreeMap<String, BTreeMap<&str, u64>> = BTreeMap::new();
    for sample in samples {
        let record = sample.record();
        let origin = if record["mask_origin"].is_null() { "none" } else { "release" };
        let edit_type = record["edit_type"].as_str().unwrap().to_owned();
        *told.entry(edit_type).or_default().entry(origin).or_default() += 1;
    }
    let line = |(edit_type, written)| json!({"dataset": "inter-edit-train", "edit_type": edit_type, "written": written});
    told.into_iter().map(line).collect()
}

/// What the report tells of edit types: all of them are shared words.
fn edit_types(samples: &[Sample]) -> Value {
    let mut shared: BTreeMap<String, u64> = BTreeMap::new();
    for sample in samples {
        let edit_type = sample.record()["edit_type"].as_str().unwrap().to_owned();
        *shared.entry(edit_type).or_default() += 1;
    }
    json!([{"dataset": "inter-edit-train", "shared": shared, "none": 0}])
}

fn assert_report(report: &Report, out: &Path, samples: &[Sample]) {
    let names = shard_names(out);
    let shards = names.len();
    assert!(shards >= 3, "{shards} shards");
    let wanted = (0..shards).map(|shard| format!("train-{shard:05}-of-{shards:05}.tar"));
    assert_eq!(names, wanted.collect::<Vec<_>>());
    let bytes: u64 =
        names.iter().map(|name| fs::metadata(out.join("data").join(name)).unwrap().len()).sum();
    let pictures = samples.iter().flat_map(|sample| &sample.members[1..]);
    let picture_bytes: usize = pictures.map(|(_, bytes)| bytes.len()).sum();

    let count = samples.len();
    let book = json!({"read": count, "written": count, "filtered": {}, "rejected": {}});
    let mut of_dataset = book.clone();
    of_dataset["dataset"] = "inter-edit-train".into();
    of_dataset["subset"] = Value::Null;
    let wanted = json!({
        "report_version": 1,
        "generator": diptych::GENERATOR,
        "schema_version": diptych::schema::SCHEMA_VERSION,
        "to": "webdataset",
        "options": {"limit": null, "shard_size": 40_000, "probe": true,
                    "mask_grid": "released", "mask_from": {}, "difference": {}, "format": {}},
        "sources": [{"label": "inter-edit-train", "format": "inter-edit-train", "options": {}}],
        "total": book,
        "datasets": [of_dataset],
        "splits": {"train": {"pairs": count, "files": shards, "bytes": bytes}},
        "picture_bytes": picture_bytes,
        "output_bytes": bytes,
        "masks": masks_by_edit_type(samples),
        "edit_types": edit_types(samples),
        "entries": {
            ".nv-meta": tree(&out.join(".nv-meta")).len(),
            "README.md": 1,
            "data": 2 * shards,
            "rejections.jsonl": 1,
            "report.json": 1,
            "splits.parquet": 1,
            "wids-train.json": 1,
        },
        "notices": [],
    });
    assert_eq!(serde_json::to_value(report).unwrap(), wanted);
    let beside: Vec<_> = tree(out).into_keys().filter(|name| !name.contains('/')).collect();
    let names =
        ["README.md", "rejections.jsonl", "report.json", "splits.parquet", "wids-train.json"];
    assert_eq!(beside, names);
    let list: Value =
        serde_json::from_slice(&fs::read(out.join("wids-train.json")).unwrap()).unwrap();
    let listed = list["shardlist"].as_array().unwrap();
    let urls: Vec<_> = listed.iter().map(|shard| shard["url"].as_str().unwrap()).collect();
    let names = shard_names(out).into_iter().map(|name| format!("data/{name}"));
    assert_eq!(urls, names.collect::<Vec<_>>());
    let samples: u64 = listed.iter().map(|shard| shard["nsamples"].as_u64().unwrap()).sum();
    assert_eq!(samples, count as u64);
    for name in [".info.json", "dataset.yaml", "split.yaml"] {
        assert!(out.join(".nv-meta").join(name).exists(), "{name}");
    }
}

#[test]
fn reports_from_before_edit_types_were_counted_are_read() {
    let dir = tempfile::tempdir().unwrap();
    convert(&request(&good_release(), dir.path())).unwrap();
    let mut report = read_json(&dir.path().join("report.json"));
    report.as_object_mut().unwrap().remove("edit_types").unwrap();
    let report: Report = serde_json::from_value(report).unwrap();
    assert_eq!(report.edit_types.total(), EditTypeBook::default());
}

#[test]
fn the_card_declares_splits_and_parts() {
    let dir = tempfile::tempdir().unwrap();
    let report = convert(&request(&good_release(), dir.path())).unwrap();
    let card = fs::read_to_string(dir.path().join("README.md")).unwrap();
    let head = card.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
    let split = "  - split: train\n    path:\n    - \"data/train-*.tar\"\n";
    assert!(head.contains(split), "{head}");
    let bytes = report.splits["train"].bytes;
    let sizes = format!("  - name: train\n    num_bytes: {bytes}\n    num_examples: 24");
    assert!(head.ends_with(&sizes), "{head}");
    let features: Vec<_> = head.lines().filter_map(|l| l.strip_prefix("  - name: ")).collect();
    let wanted = ["__key__", "__url__", "source.png", "target.png", "mask.png", "json", "train"];
    assert_eq!(features, wanted);
    let of_json = head.lines().filter_map(|line| line.strip_prefix("    - name: "));
    assert_eq!(of_json.collect::<Vec<_>>(), KEYS);
}

#[test]
fn bad_releases_fail_as_they_should() {
    let mut wrong = BTreeMap::new();
    let mut count = 0;
    for format in fs::read_dir(fixtures().join("bad")).unwrap() {
        for entry in fs::read_dir(format.unwrap().path()).unwrap() {
            let case = entry.unwrap().path();
            count += 1;
            let found = differences(&case);
            if !found.is_empty() {
                wrong.insert(case.display().to_string(), found);
            }
        }
    }
    assert!(count >= 125, "only {count} cases were found");
    let told = wrong.iter().map(|(case, found)| format!("\n{case}:\n  {}", found.join("\n  ")));
    assert!(wrong.is_empty(), "{}", told.collect::<String>());
}

#[test]
fn good_releases_lose_nothing_and_have_nothing_to_notice() {
    for (name, edits) in [
        ("inter-edit-train", 24),
        ("imgedit", 38),
        ("pape", 73),
        ("parquet", 12),
        ("webdataset", 12),
        ("folder", 12),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let report = convert(&request(&fixtures().join(name), dir.path())).unwrap();
        assert_eq!((report.total.read, report.total.written), (edits, edits), "{name}");
        assert_eq!(report.notices, [], "{name}");
    }
    // What is for evaluation only is written by nothing here, and read all the same.
    let dir = tempfile::tempdir().unwrap();
    let request = request(&fixtures().join("imgedit-bench"), &dir.path().join("catalog"));
    let total = diptych::engine().index(&request, &diptych::Silent).unwrap().total;
    assert_eq!((total.read, total.rejections()), (13, 0));
}

#[test]
fn a_release_is_taken_by_its_own_format_alone() {
    let formats = || diptych::FORMATS.iter().filter(|format| format.about().reads);
    for of in formats() {
        let name = of.about().name;
        let tree = LocalTree::open(&fixtures().join(name), &Limits::DEFAULT).unwrap();
        for format in formats() {
            let found = format.detect(&tree);
            let is_own = format.about().name == name;
            assert_eq!(found.confidence != Confidence::No, is_own, "{name}: {found:?}");
        }
    }
}

/// What comes of a case otherwise than its `expected.json` says.
fn differences(case: &Path) -> Vec<String> {
    let expected = read_json(&case.join("expected.json"));
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut found = Vec::new();
    let mut differ = |what: &str, wanted: &Value, is: Value| {
        if *wanted != is {
            found.push(format!("{what} is {is}, not {wanted}"));
        }
    };
    match convert(&request(&case.join("release"), &out)) {
        Err(error) => {
            differ("exit", &expected["exit"], 1.into());
            let message = whole_message(&error);
            let contains = expected["error_contains"].as_str().unwrap_or("\0");
            if !message.contains(contains) {
                found.push(format!("the error is {message}"));
            }
            if out.exists() {
                found.push("a failed conversion leaves something behind".to_owned());
            }
        }
        Ok(report) => {
            differ("exit", &expected["exit"], exit(&report).into());
            differ("written", &expected["written"], report.total.written.into());
            let written = if report.total.written == 0 { 0 } else { samples(&out).len() };
            differ("samples", &expected["written"], written.into());
            found.extend(rejections_differ(&expected["rejections"], rejections(&out)));
            found.extend(notices_missing(&expected["notices"], &report.notices));
        }
    }
    found
}

/// The exit code that the command has for an output.
fn exit(report: &Report) -> u8 {
    match (report.total.written, report.total.rejections()) {
        (0, _) => 4,
        (_, 0) => 0,
        _ => 3,
    }
}

/// Every rejection is expected, and every expected one is there.
fn rejections_differ(expected: &Value, mut found: Vec<Value>) -> Vec<String> {
    let mut differences = Vec::new();
    for wanted in expected.as_array().unwrap_or_else(|| panic!("it should fail")) {
        let cause = text(wanted, "cause_contains");
        let fits = |is: &Value| {
            let place: Vec<_> = ["file", "member"].map(|part| is["where"][part].to_string()).into();
            let told = [is["cause"].as_str().unwrap(), &place.concat()].concat();
            is["kind"] == wanted["kind"]
                && is["pair_id"] == wanted["pair_id"]
                && told.contains(&cause)
        };
        match found.iter().position(fits) {
            Some(at) => drop(found.remove(at)),
            None => differences.push(format!("not rejected: {wanted}")),
        }
    }
    differences.extend(found.iter().map(|extra| format!("rejected: {extra}")));
    differences
}

fn notices_missing(expected: &Value, found: &[Notice]) -> Vec<String> {
    let is_there = |wanted: &&Value| {
        let contains = text(wanted, "contains");
        found.iter().any(|notice| {
            notice.kind == wanted["kind"]
                && [&notice.detail, &notice.at.to_string()].iter().any(|t| t.contains(&contains))
        })
    };
    let missing = expected.as_array().into_iter().flatten().filter(|wanted| !is_there(wanted));
    missing.map(|wanted| format!("not noticed: {wanted}; but {found:?}")).collect()
}

#[test]
fn a_row_that_does_not_tell_its_sample_is_named_by_file_and_row() {
    let dir = tempfile::tempdir().unwrap();
    let release = fixtures().join("bad/inter-edit-train/missing_sample_id/release");
    convert(&request(&release, dir.path())).unwrap();
    let ids: Vec<_> = samples(dir.path()).iter().map(|s| text(&s.record(), "pair_id")).collect();
    let named = "inter-edit-train:train-00000-of-00001:1";
    assert_eq!(ids, ["inter-edit-train:0000000", named, "inter-edit-train:0000002"]);
}
