//! Releases as they lie on people's disks: parts of them, download caches, names meant to harm;
//! and the catalog of one.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs;
use std::path::Path;

use diptych::catalog::Catalog;
use diptych::schema::{Address, EditPair, MaskPart, Picture};
use support::folder::{assert_same, copy, good_release, json, json_lines, tree};
use support::made::{Made, archive, gzip};
use support::release::{Release, text};
use support::{Ran, convert, diptych, ran};

#[test]
fn a_source_shard_that_is_missing_costs_exactly_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    copy(&good_release(), &release);
    let gone = "source_shards/source-00001-of-00003.tar";
    fs::remove_file(release.join(gone)).unwrap();
    let out = dir.path().join("out");
    let ran = ran(&mut convert(&release, &out));
    assert_eq!(ran.code, Some(3), "{ran:?}");

    let of_it = |row: &&serde_json::Value| row["source_archive"] == gone;
    let rows = Release::read(&good_release()).rows;
    let wanted: Vec<_> = rows.iter().filter(of_it).collect();
    assert!(!wanted.is_empty() && wanted.len() < rows.len());
    let rejections = json_lines(&out.join("rejections.jsonl"));
    assert_eq!(rejections.len(), wanted.len());
    for (rejection, row) in rejections.iter().zip(wanted) {
        let id = row["sample_id"].as_u64().unwrap();
        assert_eq!(rejection["kind"], "missing_shard");
        assert_eq!(rejection["pair_id"], format!("inter-edit-train:{id:07}"));
        assert_eq!(rejection["where"]["file"], gone);
        assert_eq!(rejection["where"]["member"], row["source_file"]);
        let native: serde_json::Value = serde_json::from_str(&text(rejection, "native")).unwrap();
        assert_eq!(native["row"], *row, "nothing that the authors wrote is lost");
    }
    let total = &json(&out.join("report.json"))["total"];
    assert_eq!(total["rejected"]["missing_shard"], rejections.len());
    assert_eq!(total["written"], rows.len() - rejections.len());
}

#[test]
fn a_catalog_opens_and_its_addresses_lead_to_the_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let catalogs = ["1", "8"].map(|jobs| {
        let out = dir.path().join(jobs);
        let mut command = diptych();
        command.arg("index").arg(good_release()).arg("--out").arg(&out).args(["--jobs", jobs]);
        let ran = ran(command.arg("--json"));
        assert_eq!((ran.code, &ran.json()["pairs"]), (Some(0), &24.into()), "{ran:?}");
        assert!(!out.join(".diptych").exists());
        Catalog::open(&out).unwrap().unwrap()
    });
    assert_same(&tree(&dir.path().join("1")), &tree(&dir.path().join("8")));

    let [catalog, other] = catalogs;
    let found = pairs(&catalog);
    assert_eq!(found, pairs(&other));
    let release = Release::read(&good_release());
    assert_eq!(found.len(), release.rows.len());
    for (pair, row) in found.iter().zip(&release.rows) {
        let id = row["sample_id"].as_u64().unwrap();
        assert_eq!(pair.pair_id, format!("inter-edit-train:{id:07}"));
        assert_eq!(pair.instruction, Some(text(row, "instruction")));
        let Some(MaskPart::Picture(mask)) = &pair.mask.as_ref().unwrap().parts.first() else {
            panic!("{pair:?}");
        };
        let target = pair.target.as_ref().unwrap();
        for (picture, archive, file) in [
            (&pair.source, "source_archive", "source_file"),
            (target, "asset_archive", "target_file"),
            (mask, "asset_archive", "mask_file"),
        ] {
            assert_eq!(picture.name, text(row, file));
            assert!(bytes_of(picture, &catalog) == release.picture(row, archive, file));
        }
    }
}

fn pairs(catalog: &Catalog) -> Vec<EditPair> {
    let partitions = 0..catalog.head().partitions.len();
    partitions.flat_map(|at| catalog.pairs(at, 0, u64::MAX).unwrap()).map(Result::unwrap).collect()
}

/// The bytes that a picture's address means, read by hand.
fn bytes_of(picture: &Picture, catalog: &Catalog) -> Vec<u8> {
    let Address::Range { file, offset, length } = picture.address else { panic!("{picture:?}") };
    let [piece] = catalog.files()[file as usize].pieces.as_slice() else { panic!("one piece") };
    let bytes = fs::read(good_release().join(piece.path.as_str())).unwrap();
    let start = usize::try_from(offset).unwrap();
    bytes[start..start + usize::try_from(length).unwrap()].to_vec()
}

/// A copy of the good release as the Hub's download cache holds it: a tree of links into `blobs`.
#[cfg(unix)]
fn cache(root: &Path) {
    use std::os::unix::fs::symlink;
    let snapshot = root.join("snapshots/31c73d1");
    fs::create_dir_all(root.join("blobs")).unwrap();
    fs::create_dir_all(root.join("refs")).unwrap();
    fs::write(root.join("refs/main"), "31c73d1").unwrap();
    for (number, (name, bytes)) in tree(&good_release()).into_iter().enumerate() {
        if name.ends_with('/') {
            continue;
        }
        let blob = format!("{number:040x}");
        fs::write(root.join("blobs").join(&blob), bytes).unwrap();
        let link = snapshot.join(&name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let up = "../".repeat(name.matches('/').count() + 2);
        symlink(format!("{up}blobs/{blob}"), link).unwrap();
    }
    fs::write(root.join("blobs/77aa.incomplete"), "half a fi").unwrap();
}

#[cfg(unix)]
#[test]
fn a_download_cache_converts_and_its_unfinished_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("datasets--a--Inter-Edit-Train");
    cache(&root);
    let plain = dir.path().join("plain");
    assert_eq!(ran(&mut convert(&good_release(), &plain)).code, Some(0));
    let mut plain = tree(&plain);
    plain.remove("report.json");
    for (at, given) in [root.clone(), root.join("snapshots/31c73d1")].iter().enumerate() {
        let out = dir.path().join(format!("out-{at}"));
        let ran = ran(&mut convert(given, &out));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("blobs/77aa.incomplete"), "{}", ran.stderr);
        let notices = json(&out.join("report.json"))["notices"].take();
        assert_eq!(notices.as_array().unwrap().len(), 1, "{notices}");
        assert_eq!(notices[0]["kind"], "unfinished_download");
        assert_eq!(notices[0]["where"]["file"], "blobs/77aa.incomplete");
        let mut found = tree(&out);
        found.remove("report.json");
        assert_same(&found, &plain);
    }
}

/// Colours text red, sets the title of a window, begins a sequence in one character, and turns
/// the direction of writing.
const HARM: &str = "\x1b[31mred\x1b]0;title\x07\u{9b}31m\u{202e}";

/// A release that says such things wherever it can.
fn harmful(root: &Path) {
    let made = Made { samples: 7, per_shard: 7, picture_bytes: 50 };
    let member = format!("targets/{HARM}");
    made.write_with(root, |id, row| match id {
        0 => row["sample_id"] = HARM.into(),
        1 => row["asset_archive"] = HARM.into(),
        2 => row["target_file"] = HARM.into(),
        3 => row["instruction"] = HARM.into(),
        4 => row[HARM] = HARM.into(),
        5 => row["mask_file"] = [HARM].into(),
        _ => {
            row["asset_archive"] = "asset_shards/cut.tar".into();
            row["target_file"] = member.as_str().into();
        }
    });
    let mut cut = archive(&[(member.clone(), b"text".to_vec())]);
    cut.truncate(514);
    fs::write(root.join("asset_shards/cut.tar"), cut).unwrap();
    let lines = format!("{HARM}\n{{\"sample_id\": 7, \"instruction\": \"{HARM}\"}}\n");
    fs::write(root.join("metadata/more.jsonl.gz"), gzip(lines.as_bytes())).unwrap();
    fs::write(root.join("manifest.json"), format!("{{\"{HARM}\": {HARM}")).unwrap();
    if cfg!(unix) {
        fs::write(root.join(format!("{HARM}.tar")), "no archive").unwrap();
        fs::create_dir(root.join(format!("metadata/{HARM}"))).unwrap();
    }
}

fn assert_harmless(text: &str, what: &str) {
    let hidden = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(hidden), "{what}: {text:?}");
}

#[test]
fn what_a_release_says_never_reaches_the_terminal_raw() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    harmful(&release);
    let runs: [(&str, &[&str], i32); 4] = [
        ("all of it", &["-v"], 3),
        ("planned", &["--dry-run", "-v"], 3),
        ("the first rejection", &["--strict"], 1),
        ("unprobed", &["--probe", "none", "-v"], 3),
    ];
    for (what, arguments, code) in runs {
        let ran = ran(convert(&release, &dir.path().join(what)).args(arguments));
        assert_eq!(ran.code, Some(code), "{what}: {ran:?}");
        assert_harmless(&ran.stdout, what);
        assert_harmless(&ran.stderr, what);
        assert!(code != 3 || what == "planned" || ran.stderr.contains("red"), "{what}: {ran:?}");
    }
    let mut command = diptych();
    command.arg("index").arg(&release).arg("-v").arg("--out").arg(dir.path().join("catalog"));
    let Ran { stdout, stderr, .. } = ran(&mut command);
    assert_harmless(&(stdout + &stderr), "index");
    // An error that names a pair: two releases bring the same.
    let again = dir.path().join("again");
    harmful(&again);
    let twice = ran(convert(&release, &dir.path().join("twice")).arg(&again));
    assert!(twice.code == Some(1) && twice.stderr.contains("red"), "{twice:?}");
    assert_harmless(&twice.stderr, "twice");
}

/// JSON escapes only some control characters; others begin sequences as well, in one character.
#[test]
fn what_a_release_says_is_escaped_in_json_too() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    harmful(&release);
    let ran = ran(convert(&release, &dir.path().join("out")).arg("--json"));
    let told = ran.json()["report"]["notices"].to_string();
    assert!(told.contains("\\u001b[31mred"), "it is all there: {told}");
    let raw = |c: char| c != '\n' && c.is_control();
    assert!(!ran.stdout.contains(raw), "{:?}", ran.stdout);
}
