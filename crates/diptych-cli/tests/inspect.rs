//! `inspect` as people and scripts meet it, and the two verbs that print papers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::folder::{copy, fixtures, good_release};
use support::{Ran, diptych, ran, run};

/// A picture of 3 by 2 pixels, as far as its header tells.
const A_GIF: &[u8] = b"GIF89a\x03\0\x02\0\0\0\0;";

fn inspect(folder: &Path, more: &[&str]) -> Ran {
    ran(diptych().arg("inspect").arg(folder).args(more))
}

fn inspect_json(folder: &Path) -> Value {
    let found = inspect(folder, &["--json"]).json();
    assert_eq!(found["json_version"], 1);
    found["releases"][0].clone()
}

/// The count of a value.
fn count(of: &Value, value: &str) -> Value {
    let values = of["values"].as_array().unwrap();
    values.iter().find(|v| v["value"] == value).map_or(json!(0), |v| v["count"].clone())
}

#[test]
fn a_whole_release_is_told_with_all_that_is_in_it() {
    let ran = inspect(&good_release(), &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    for part in [
        "Inter-Edit-Train (inter-edit-train): exact, since manifest.json says that it is ",
        "\nsamples              24               24  1,099,964\n",
        "\ncomplete: everything is here that it says there is\n",
        "\na part of what was published: 3 of 275 metadata shards\n",
        "\nedits         24 read: 24 pairs\n",
    ] {
        assert!(ran.stdout.contains(part), "{part} is not in {}", ran.stdout);
    }
    let found = inspect_json(&good_release());
    let survey = &found["survey"];
    assert_eq!(
        (&found["edits"], &found["pairs"], &found["files"]),
        (&json!(24), &json!(24), &json!(11))
    );
    assert_eq!(found["problems"], json!([]));
    let types = ["add", "local", "remove", "texture"].map(|t| count(&survey["edit_types"], t));
    assert_eq!(types.iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 24);
    for role in ["source", "target", "mask"] {
        assert_eq!(count(&survey[role]["types"], "image/png"), 24, "{role}");
    }
    let statuses = ["ok", "out_of_frame", "degenerate"].map(|s| count(&survey["boxes"], s));
    let boxes: u64 = statuses.iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(boxes + survey["boxes"]["none"].as_u64().unwrap(), 24);
}

#[test]
fn pictures_need_not_be_looked_at() {
    let ran = inspect(&good_release(), &["--probe", "none"]);
    assert!(ran.stdout.contains("source        not looked at 24; "), "{}", ran.stdout);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn what_is_missing_is_told_in_words() {
    let dir = tempfile::tempdir().unwrap();
    copy(&good_release(), dir.path());
    fs::remove_file(dir.path().join("source_shards/source-00001-of-00003.tar")).unwrap();
    let ran = inspect(dir.path(), &[]);
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    for part in [
        "\nnot complete: of 3 source shards, by manifest.json, 1 is not here: \
         source_shards/source-00001-of-00003.tar\n",
        " edits cannot be converted\n",
        " edits missing_shard: inter-edit-train/source_shards/source-00001-of-00003.tar, member ",
    ] {
        assert!(ran.stdout.contains(part), "{part} is not in {}", ran.stdout);
    }
    let found = inspect_json(dir.path());
    let (edits, pairs) = (found["edits"].as_u64().unwrap(), found["pairs"].as_u64().unwrap());
    let problem = &found["problems"][0];
    assert_eq!(problem["edits"], edits - pairs);
    assert_eq!(problem["file"], "source_shards/source-00001-of-00003.tar");
    // Edits of one file are one problem, and the first of them is told whole.
    assert_eq!(found["problems"].as_array().unwrap().len(), 1);
    assert!(problem["first"]["cause"].as_str().unwrap().contains("is not there"));
}

#[cfg(unix)]
#[test]
fn a_download_cache_of_links_is_told_like_a_folder() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let snapshot = root.join("snapshots/31c73d1");
    let files = support::folder::tree(&good_release()).into_keys();
    for (number, name) in files.filter(|name| !name.ends_with('/')).enumerate() {
        let blob = root.join("blobs").join(number.to_string());
        let link = snapshot.join(&name);
        fs::create_dir_all(blob.parent().unwrap()).unwrap();
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::copy(good_release().join(&name), &blob).unwrap();
        symlink(&blob, &link).unwrap();
    }
    fs::write(root.join("blobs/99.incomplete"), "x").unwrap();
    let found = inspect_json(root);
    assert_eq!(found["root"], json!(snapshot));
    let mut plain = inspect_json(&good_release());
    let notice = &found["notices"][0];
    assert_eq!(notice["kind"], "unfinished_download");
    plain["root"] = found["root"].clone();
    plain["notices"] = found["notices"].clone();
    assert_eq!(found, plain);
}

#[test]
fn what_is_no_release_is_told_with_what_was_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    let said = |ran: &Ran| {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        ran.stderr.clone()
    };
    let empty = said(&inspect(dir.path(), &[]));
    for part in ["can be read: there is no file in it\n", "\n  inter-edit-train: no "] {
        assert!(empty.contains(part), "{part} is not in {empty}");
    }
    for name in ["2024/beach/IMG_1.JPG", "2024/beach/IMG_2.jpg", "2024/notes.txt"] {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    let photographs = said(&inspect(dir.path(), &[]));
    for part in [
        "there are 3 files in it (2 .jpg, 1 .txt)\n",
        "\n  nothing in it comes near any",
        "\nhint: ",
    ] {
        assert!(photographs.contains(part), "{part} is not in {photographs}");
    }
    fs::write(dir.path().join("manifest.json"), r#"{"dataset_name": "Holi\u001bday"}"#).unwrap();
    let near = said(&inspect(dir.path(), &[]));
    let nearest = "\n  nearest is inter-edit-train: there is manifest.json, which is that of Holi";
    assert!(near.contains(nearest) && !near.contains('\u{1b}'), "{near}");
    // The release lies a folder further down.
    copy(&good_release(), &dir.path().join("sub/release"));
    let within = said(&inspect(dir.path(), &[]));
    assert!(within.contains("\n  the folder sub/release in it is inter-edit-train\n"), "{within}");
    let hint = format!(
        "\nhint: give the folder of the release itself: {}/sub/release\n",
        dir.path().display()
    );
    assert!(within.contains(&hint), "{within}");
    let ran = inspect(dir.path(), &["--json"]);
    assert!(ran.code == Some(1) && ran.stderr.starts_with("error: "), "{ran:?}");
    let found = ran.json();
    assert_eq!(found["releases"], json!([]));
    let folder = json!([{"folder": "sub/release", "format": "inter-edit-train"}]);
    assert_eq!(found["unknown"]["within"], folder);
}

#[test]
fn every_bad_release_is_told_as_it_is_converted() {
    let mut looked_at = 0;
    for entry in fs::read_dir(fixtures().join("bad/inter-edit-train")).unwrap() {
        let case = entry.unwrap().path();
        let expected = support::folder::json(&case.join("expected.json"));
        let ran = inspect(&case.join("release"), &["--json"]);
        assert_eq!(json!(ran.code), expected["exit"], "{}", case.display());
        if expected["exit"] == 1 {
            continue;
        }
        looked_at += 1;
        let found = ran.json()["releases"][0].clone();
        assert_eq!(found["pairs"], expected["written"], "{}", case.display());
        let mut kinds = BTreeMap::new();
        for rejection in expected["rejections"].as_array().into_iter().flatten() {
            *kinds.entry(rejection["kind"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
        let mut told = BTreeMap::new();
        for problem in found["problems"].as_array().unwrap() {
            let kind = problem["kind"].as_str().unwrap().to_owned();
            *told.entry(kind).or_insert(0) += problem["edits"].as_u64().unwrap();
        }
        assert_eq!(told, kinds, "{}", case.display());
    }
    assert!(looked_at >= 45, "only {looked_at}");
}

#[test]
fn masks_are_compared_with_what_rows_say_of_them() {
    let dir = tempfile::tempdir().unwrap();
    copy(&fixtures().join("pape"), dir.path());
    let whole = inspect(dir.path(), &[]).stdout;
    assert!(whole.contains("\ncomplete: everything is here that it says there is\n"), "{whole}");
    // The masks of two images that are of one size, in one row.
    let masks = dir.path().join("Places/flux2_dev/masks");
    let mask = |of: &str| masks.join(of);
    fs::copy(
        mask("normal/a_airfield_00000004_en.png"),
        mask("abnormal/a_airfield_00000001_zh.png"),
    )
    .unwrap();
    let told = inspect(dir.path(), &["--jobs", "2"]).stdout;
    let other = "pape/Places/flux2_dev/manifest.jsonl: in 1 of its rows mask_iou is not the \
                 overlap of the masks: line 3 (0.6393, not 0.7939) (mask_iou_differs)";
    assert!(told.contains(other), "{told}");
    assert_eq!(told, inspect(dir.path(), &["--jobs", "1"]).stdout);
}

#[test]
fn what_cannot_be_said_of_a_copy_is_not_said() {
    let dir = tempfile::tempdir().unwrap();
    let words = |dir: &Path| inspect(dir, &[]).stdout;
    let whole = "complete: everything is here";
    // No archive at all, and nothing that says how many there should be.
    copy(&good_release(), dir.path());
    fs::remove_file(dir.path().join("manifest.json")).unwrap();
    assert!(words(dir.path()).contains(whole), "its shards say how many they are");
    for folder in ["asset_shards", "source_shards"] {
        fs::remove_dir_all(dir.path().join(folder)).unwrap();
    }
    let told = words(dir.path());
    assert!(!told.contains("complete") && told.contains("24 of 24 edits cannot be"), "{told}");
    // With the manifest it is known which archives they would be.
    fs::copy(good_release().join("manifest.json"), dir.path().join("manifest.json")).unwrap();
    let told = words(dir.path());
    let names = "of 3 asset shards, by manifest.json, 3 are not here: \
                 asset_shards/asset-00000-of-00003.tar to asset_shards/asset-00002-of-00003.tar\n";
    assert!(told.contains(names), "{told}");
}

#[test]
fn repeats_are_no_pairs() {
    let dir = tempfile::tempdir().unwrap();
    copy(&good_release(), dir.path());
    let shard = |n: u32| dir.path().join(format!("metadata/train-0000{n}-of-00003.jsonl.gz"));
    fs::copy(shard(0), shard(1)).unwrap();
    let found = inspect_json(dir.path());
    assert_eq!((&found["edits"], &found["pairs"]), (&json!(24), &json!(16)));
    let problem = &found["problems"][0];
    assert_eq!((&problem["kind"], &problem["edits"]), (&json!("duplicate_pair_id"), &json!(8)));
    assert_eq!(problem["file"], "metadata/train-00001-of-00003.jsonl.gz");
}

#[test]
fn everything_is_told_where_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    copy(&good_release(), dir.path());
    for number in 0..30 {
        fs::write(dir.path().join(format!("{number}.incomplete")), "").unwrap();
    }
    let few = inspect(dir.path(), &[]).stdout;
    assert!(few.contains("\n  and 20 more, which --verbose tells\n"), "{few}");
    let all = inspect(dir.path(), &["--verbose"]).stdout;
    assert_eq!(all.matches("unfinished_download").count(), 30, "{all}");
}

#[test]
fn text_of_a_release_stays_in_its_line() {
    let row = r#"{"image_path": "s.png", "gt_path": "t.png", "edit_prompt": "x",
        "edit_type": "a\ncomplete: \u001b[31mall\u202e", "language": "\u0000"}"#;
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("rows.jsonl"), row.replace('\n', " ") + "\n").unwrap();
    for name in ["s.png", "t.png"] {
        fs::write(dir.path().join(name), A_GIF).unwrap();
    }
    let told = inspect(dir.path(), &[]).stdout;
    let types = "edit types    a\\u{a}complete: \\u{1b}[31mall\\u{202e} 1\n";
    assert!(told.contains(types), "{told}");
    assert!(told.chars().all(|c| c == '\n' || !c.is_control()), "{told}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let bad = fixtures().join("bad/inter-edit-train/missing_shard/release");
    for release in [good_release(), bad] {
        let one = inspect(&release, &["--jobs", "1", "--json"]);
        assert_eq!(one.stdout, inspect(&release, &["--jobs", "7", "--json"]).stdout);
    }
}

/// The paths of the keys in a value, those of list items with `[]`.
fn paths(prefix: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                found.insert(path.clone());
                paths(&path, value, found);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| paths(&format!("{prefix}[]"), item, found));
        }
        _ => {}
    }
}

#[test]
fn the_json_is_as_documented() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/inspect.md");
    let text = fs::read_to_string(document).unwrap();
    let told: BTreeSet<String> = text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    let mut found = BTreeSet::new();
    paths("", &inspect(&good_release(), &["--json"]).json(), &mut found);
    let bad = fixtures().join("bad/inter-edit-train/missing_shard/release");
    paths("", &inspect(&bad, &["--json"]).json(), &mut found);
    let dir = tempfile::tempdir().unwrap();
    copy(&good_release(), &dir.path().join("sub"));
    paths("", &inspect(dir.path(), &["--json"]).json(), &mut found);
    // Counts have one shape wherever they are, and so have pictures, scores and places: the
    // document tells each once.
    let shape = |path: &String| {
        let last = path.rsplit('.').next().unwrap_or(path);
        let in_counts = path.contains(".values") || ["none", "others"].contains(&last);
        let in_pictures = ["references", "target", "mask"]
            .iter()
            .any(|role| path.starts_with(&format!("releases[].survey.{role}.")));
        let in_rejection = path.starts_with("releases[].problems[].first.");
        let in_place = path.starts_with("releases[].notices[].where.");
        !(in_counts || in_pictures || in_rejection || in_place)
    };
    let undocumented: Vec<_> =
        found.iter().filter(|path| shape(path) && !told.contains(*path)).collect();
    assert!(undocumented.is_empty(), "docs/inspect.md does not tell of {undocumented:#?}");
    assert!(told.len() > 40, "only {told:?}");
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        for verb in ["inspect", "convert", "finish"] {
            assert!(ran.stdout.contains(verb), "{shell}: {verb}");
        }
    }
    let page = run(["man"]).stdout;
    assert!(page.contains(".TH diptych 1") && page.contains("Exit codes"), "{page}");
    let page = run(["man", "convert"]).stdout;
    assert!(page.contains(".TH diptych-convert 1") && page.contains("shard\\-size"), "{page}");
    let ran = run(["man", "nosuch"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("there is no verb `nosuch`"), "{ran:?}");
    assert_eq!(run(["completions", "nosuch"]).code, Some(2));
}
