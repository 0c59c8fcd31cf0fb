//! A miniature release from elsewhere, made by code that shares nothing with ours, against the
//! right values that lie beside it. Only where `DIPTYCH_RELEASES` names the folder that has both.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;

use diptych::MaskGrid;
use diptych::format::options::Assignment;
use diptych::schema::Edited;
use diptych_pixels::mask::Part;
use diptych_pixels::{Bits, DecodeLimits, overlap};
use serde_json::{Value, json};
use support::folder::json_lines;
use support::job::{convert, rejections, request};
use support::release::{png_size, sha256, text};
use support::shards::{Sample, samples};

#[test]
fn the_miniature_inter_edit_train_comes_out_right() {
    let Some(releases) = std::env::var_os("DIPTYCH_RELEASES").map(PathBuf::from) else {
        println!("not run: DIPTYCH_RELEASES names no folder");
        return;
    };
    let expected = json_lines(&releases.join("Inter-Edit-Train.expected.jsonl"));
    let dir = tempfile::tempdir().unwrap();
    let report = convert(&request(&releases.join("Inter-Edit-Train"), dir.path())).unwrap();
    assert_eq!((report.total.read, report.total.written), (36, 36));
    assert_eq!(report.notices, []);
    let samples = samples(dir.path());
    assert_eq!((expected.len(), samples.len()), (36, 36));
    for (expected, sample) in expected.iter().zip(&samples) {
        assert_eq!(found(sample, expected), *expected);
    }
}

#[test]
fn the_miniature_imgedit_comes_out_right() {
    let Some(releases) = std::env::var_os("DIPTYCH_RELEASES").map(PathBuf::from) else {
        println!("not run: DIPTYCH_RELEASES names no folder");
        return;
    };
    let expected = json_lines(&releases.join("ImgEdit.expected.jsonl"));
    let id = |line: &Value| {
        let turn = line["turn"].as_u64().map(|turn| format!(":{turn}")).unwrap_or_default();
        format!("imgedit:{}:{}{turn}", text(line, "parquet"), line["row"])
    };
    let (missing, there): (Vec<_>, Vec<_>) =
        expected.iter().partition(|line| line["missing"] == true);
    assert_eq!((missing.len(), there.len()), (5, 75));

    let dir = tempfile::tempdir().unwrap();
    let report = convert(&request(&releases.join("ImgEdit"), dir.path())).unwrap();
    assert_eq!((report.total.read, report.total.written), (80, 75));
    assert_eq!(report.notices, []);
    let mut rejected: Vec<_> =
        rejections(dir.path()).iter().map(|of| text(of, "pair_id")).collect();
    rejected.sort();
    let mut lost: Vec<_> = missing.iter().map(|line| id(line)).collect();
    lost.sort();
    assert_eq!(rejected, lost);

    let samples = samples(dir.path());
    let by_id: BTreeMap<_, _> =
        samples.iter().map(|sample| (text(&sample.record(), "pair_id"), sample)).collect();
    assert_eq!(by_id.len(), 75);
    for line in there {
        let sample = by_id[&id(line)];
        let record = sample.record();
        let pictures = &record["pictures"];
        let picture = |said: &Value| {
            let part = text(said, "part");
            let bytes = sample.member(&part);
            // One spelling is written, whatever a type is called elsewhere.
            let format = part.rsplit('.').next().map(|of| if of == "jpg" { "jpeg" } else { of });
            let (width, height) = (&said["width"], &said["height"]);
            json!({"sha256": sha256(bytes), "width": width, "height": height, "format": format})
        };
        let mut inputs = vec![picture(&pictures["source"])];
        inputs.extend(pictures["references"].as_array().unwrap().iter().map(picture));
        let task = record["labels"].as_array().unwrap().iter().find(|l| l["name"] == "task");
        let found = json!({
            "parquet": record["subset"],
            "turn": record["turn"],
            "edit_type": task.unwrap()["value"],
            "instruction": record["instruction"],
            "inputs": inputs,
            "output": picture(&pictures["target"]),
            "premise": record["premise"],
            "has_area": !pictures["mask"].is_null(),
        });
        let wanted = json!({
            "parquet": line["parquet"],
            "turn": line["turn"],
            "edit_type": line["edit_type"],
            "instruction": line["instruction"],
            "inputs": line["inputs"],
            "output": line["output"],
            "premise": line["premise"],
            "has_area": !line["edit_area"].is_null(),
        });
        assert_eq!(found, wanted);
    }

    // Masks say what is edited, as they were released and on the grid of their sources, also with
    // what the photographs' recaptions say.
    let recap = releases.join("ImgEdit_recap_mask");
    let option = Assignment {
        format: "imgedit".to_owned(),
        key: "recap".to_owned(),
        value: recap.to_str().unwrap().to_owned(),
    };
    let on_source = tempfile::tempdir().unwrap();
    let mut again = request(&releases.join("ImgEdit"), on_source.path());
    (again.mask_grid, again.options) = (Some(MaskGrid::Source), vec![option]);
    convert(&again).unwrap();
    let on_source = self::samples(on_source.path());
    let areas: BTreeMap<_, _> =
        expected.iter().map(|line| (id(line), &line["edit_area"])).collect();
    let mut masks = 0;
    for (sample, is_on_source) in
        samples.iter().map(|s| (s, false)).chain(on_source.iter().map(|s| (s, true)))
    {
        let record = sample.record();
        let Some(area) = areas[&text(&record, "pair_id")].as_f64() else { continue };
        let mask = sample.member("mask.png");
        let found = mask_area(mask, area);
        assert!((found - area).abs() <= 0.002, "{record}: {found}, not {area}");
        masks += 1;
        if is_on_source {
            let source = &record["pictures"]["source"];
            let size = [&source["width"], &source["height"]].map(|n| n.as_u64().unwrap());
            let (width, height) = png_size(mask);
            assert_eq!([u64::from(width), u64::from(height)], size);
            assert_eq!(record["mask_grid"], "source");
        }
    }
    assert_eq!(masks, 2 * 63);
    // What a single edit is about has a name, a box and a mask.
    let is_edited = |region: &&Value| region["role"] == "edited";
    let single: Vec<_> = on_source
        .iter()
        .map(Sample::record)
        .filter(|record| record["session_id"].is_null())
        .filter(|record| {
            record["regions"].as_array().unwrap().iter().filter(is_edited).count() == 1
        })
        .collect();
    assert!(single.len() >= 25, "only {}", single.len());
    for record in single {
        let regions = record["regions"].as_array().unwrap();
        let edited = regions.iter().find(is_edited).unwrap();
        assert!(edited["label"].is_string() && edited["mask"].is_string(), "{record}");
        assert!(record["box"].is_object(), "{record}");
        let has_mask = !areas[&text(&record, "pair_id")].is_null();
        assert_eq!(record["pictures"]["mask"].is_object(), has_mask, "{record}");
    }

    // The turns of a session are next to each other and in order.
    let turn = |sample: &Sample| {
        let record = sample.record();
        record["session_id"].as_str().map(|of| (of.to_owned(), record["turn"].as_u64().unwrap()))
    };
    let turns: Vec<_> = samples.iter().filter_map(turn).collect();
    assert_eq!(turns.len(), 32);
    let mut sorted = turns.clone();
    sorted.sort();
    assert_eq!(turns, sorted);
}

#[test]
fn the_miniature_pape_comes_out_right() {
    let Some(releases) = std::env::var_os("DIPTYCH_RELEASES").map(PathBuf::from) else {
        println!("not run: DIPTYCH_RELEASES names no folder");
        return;
    };
    let release = releases.join("PAPE");
    let expected = json_lines(&releases.join("PAPE.expected.jsonl"));
    let dir = tempfile::tempdir().unwrap();
    let report = convert(&request(&release, dir.path())).unwrap();
    assert_eq!((report.total.read, report.total.written), (168, 168));
    assert_eq!(report.notices, []);

    let samples = samples(dir.path());
    let by_id: BTreeMap<_, _> =
        samples.iter().map(|sample| (text(&sample.record(), "pair_id"), sample)).collect();
    assert_eq!((expected.len(), by_id.len()), (84, 168));
    for line in &expected {
        // The manifests of COCO have numbers where the expected ids have twelve digits.
        let image_id = text(line, "image_id");
        let image_id = match line["subset"] == "COCO" {
            true => image_id.trim_start_matches('0').to_owned(),
            false => image_id,
        };
        let group = ["subset", "editor"].map(|key| text(line, key)).join(":");
        let group = format!("pape:{group}:{image_id}:{}", text(line, "language"));
        let masks = ["normal", "abnormal"].map(|variant| {
            let sample = by_id[&format!("{group}:{variant}")];
            let record = sample.record();
            let picture = |role: &str| {
                let said = &record["pictures"][role];
                // A mask is written in another form: what is right is the file that it is made of.
                let bytes = match role {
                    "mask" => std::fs::read(release.join(text(said, "name"))).unwrap(),
                    _ => sample.member(&text(said, "part")).to_vec(),
                };
                let format = text(said, "part");
                let format = format.rsplit('.').next().map(|of| if of == "jpg" { "jpeg" } else { of });
                let (width, height) = (&said["width"], &said["height"]);
                json!({"sha256": sha256(&bytes), "width": width, "height": height, "format": format})
            };
            assert_eq!(picture("source"), line["source"]);
            assert_eq!(picture("target"), line[variant]);
            assert_eq!(picture("mask"), line[&format!("mask_{variant}")]);
            let native: Value = serde_json::from_str(&text(&record, "native")).unwrap();
            assert_eq!(native["split"]["file"], "splits/split_seed2026.json");
            assert_eq!(native["split"]["seed"], 2026);
            assert_eq!(native["split"]["id"], line["image_id"]);
            let found = json!({
                "subset": record["subset"], "editor": record["editor"], "split": record["split"],
                "language": record["language"], "prompt": record["instruction"],
                "group": record["group_id"], "variant": record["variant"],
                "grid": record["mask_grid"], "iou": record["scores"][0]["value"],
            });
            let wanted = json!({
                "subset": line["subset"], "editor": line["editor"], "split": line["split"],
                "language": line["language"], "prompt": line[&format!("{variant}_prompt")],
                "group": group, "variant": variant, "grid": "source", "iou": line["iou"],
            });
            assert_eq!(found, wanted);
            mask_pixels(sample.member("mask.png"))
        });
        let [normal, abnormal] = masks;
        let both = |of: fn(bool, bool) -> bool| {
            normal.iter().zip(&abnormal).filter(|(a, b)| of(**a >= 128, **b >= 128)).count()
        };
        let [shared, all] = [both(|a, b| a && b), both(|a, b| a || b)];
        let wanted = format!("{:.4}", line["iou"].as_f64().unwrap());
        assert_eq!(format!("{:.4}", ratio(shared, all)), wanted);
        // As `inspect` compares the files themselves.
        let [normal, abnormal] = ["normal", "abnormal"].map(|variant| {
            let record = by_id[&format!("{group}:{variant}")].record();
            let name = text(&record["pictures"]["mask"], "name");
            let bytes = std::fs::read(release.join(name)).unwrap();
            let limits = DecodeLimits { pixels: 1 << 20, bytes: 1 << 20 };
            Bits::from_parts(&[Part::Picture(&bytes)], Edited::Nonzero, limits).unwrap()
        });
        let iou = overlap(&normal, &abnormal).unwrap().iou().unwrap();
        assert_eq!(format!("{iou:.4}"), wanted);
    }
    // It is complete, and rows say of their masks what these say.
    let request = request(&release, &dir.path().join("unused"));
    let found = diptych::engine().inspect(&request, &diptych::Silent).unwrap();
    assert_eq!(found[0].notices, []);
    let parts = found[0].parts.iter().rev().take(2);
    let counts: Vec<_> =
        parts.map(|part| (part.here, part.stated.clone().unwrap().count)).collect();
    assert_eq!(counts, [(84, 84), (504, 504)]);
    // The two edits of a row are next to each other.
    let groups: Vec<_> = samples.iter().map(|of| text(&of.record(), "group_id")).collect();
    assert!(groups.chunks(2).all(|two| two[0] == two[1]));
}

fn ratio(some: usize, all: usize) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap());
    count(some) / count(all)
}

/// What a sample says, in the form of the expected line.
fn found(sample: &Sample, expected: &Value) -> Value {
    let record = sample.record();
    let native: Value = serde_json::from_str(&text(&record, "native")).unwrap();
    let better = record["labels"].as_array().unwrap().iter().find(|l| l["name"] == "better_data");
    let edit_box = &record["box"];
    // Published as whole numbers, written as floats.
    let whole = |name: &str| match &expected["bounding_box"] {
        Value::Null => Value::Null,
        _ => {
            let value = edit_box[name].as_f64().unwrap();
            assert!(value.fract() == 0.0, "{name} is {value}");
            format!("{value:.0}").parse::<i64>().unwrap().into()
        }
    };
    let edges = ["x0", "y0", "x1", "y1"].map(whole);
    let id = native["row"]["sample_id"].as_u64().unwrap();
    assert_eq!(record["pair_id"], format!("inter-edit-train:{id:07}"));
    assert_eq!(text(&record, "edit_type"), text(expected, "edit_type").to_lowercase());
    let picture = |role: &str| {
        let said = &record["pictures"][role];
        let part = text(said, "part");
        let bytes = sample.member(&part);
        let (width, height) = png_size(bytes);
        assert_eq!((&said["width"], &said["height"]), (&json!(width), &json!(height)));
        let format = part.rsplit('.').next();
        json!({"sha256": sha256(bytes), "width": width, "height": height, "format": format})
    };
    json!({
        "sample_id": id,
        "source_id": native["row"]["source_id"],
        "edit_type": record["edit_type_native"][0],
        "instruction": record["instruction"],
        "language": record["language"],
        "better_data": better.unwrap()["value"] == "true",
        "bounding_box": edges,
        "reference": [edit_box["frame_width"], edit_box["frame_height"]],
        "source": picture("source"),
        "target": picture("target"),
        "mask": picture("mask"),
        "mask_area": mask_area(sample.member("mask.png"), expected["mask_area"].as_f64().unwrap()),
    })
}

/// The share of the mask's pixels that are edited; `expected`, where it is that to six digits.
fn mask_area(mask: &[u8], expected: f64) -> f64 {
    let pixels = mask_pixels(mask);
    let area = ratio(pixels.iter().filter(|pixel| **pixel >= 128).count(), pixels.len());
    if (area - expected).abs() < 1e-6 { expected } else { area }
}

/// The pixels of a mask in its written form.
fn mask_pixels(mask: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(mask)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let form = (info.color_type, info.bit_depth);
    assert_eq!(form, (png::ColorType::Grayscale, png::BitDepth::Eight));
    pixels.truncate(info.buffer_size());
    pixels
}
