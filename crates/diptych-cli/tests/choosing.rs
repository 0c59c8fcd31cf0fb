//! Choosing pairs by the command: what is refused and how that is said, and what is done.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs;
use std::path::Path;

use support::folder::{assert_same, fixtures, good_release, json, tree};
use support::{Ran, convert, diptych, ran};

fn converted(out: &Path, more: &[&str]) -> Ran {
    ran(convert(&good_release(), out).args(more))
}

#[test]
fn what_cannot_be_asked_for_is_refused_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("empty"), "").unwrap();
    let (empty, nothing) = (at("empty"), at("nothing"));
    let refused: [(&[&str], i32, &[&str]); 23] = [
        (&["--where", "edit_typ = 'add'"], 2, &["edit_typ", "edit_type"]),
        (&["--where", "lenght(instruction) > 3"], 2, &["lenght", "length"]),
        (&["--where", "turn = 'x'"], 2, &["turn"]),
        (&["--where", "SELECT 1"], 2, &["SELECT"]),
        (&["--mix", "imgedit=1"], 2, &["imgedit", "inter-edit-train"]),
        (&["--mix", "imgedit"], 2, &["'imgedit'", "NAME=SHARE"]),
        (&["--mix", "imgedit=some"], 2, &["imgedit=some", "share"]),
        (&["--mix", "inter-edit-train=0"], 2, &["not all are 0"]),
        (&["--mix", "a=1,a=1"], 2, &["each kind once"]),
        (&["--mix", "a=1", "--mix-by", "edit_typ"], 2, &["edit_typ", "edit_type"]),
        (&["--mix", "add=1,ad=1", "--mix-by", "edit_type"], 2, &["no pairs of ad:", "add"]),
        (&["--mix", "a=1", "--total", "100000001"], 2, &["100,000,000"]),
        (&["--mix", "a=1", "--repeat"], 2, &["--total"]),
        (&["--mix", "a=1", "--sample", "3"], 2, &["--sample", "--mix"]),
        (&["--split", "train=0.9,test=0.2"], 2, &["1.1"]),
        (&["--split", "train=0.9,dev=0.1"], 2, &["dev=0.1"]),
        (&["--same", "pixels"], 2, &["--split"]),
        (&["--same", "near:65", "--split", "train=1"], 2, &["65"]),
        (&["--dedup-on", "source"], 2, &["--dedup"]),
        (&["--in-order"], 2, &["--pairs"]),
        (&["--pairs", &nothing], 1, &["nothing"]),
        (&["--pairs", &empty], 1, &["empty", "no id"]),
        (&["--split-file", &empty], 1, &["empty"]),
    ];
    for (args, code, told) in refused {
        let ran = converted(&out, args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        for told in told {
            assert!(ran.stderr.contains(told), "{args:?}, {told}: {}", ran.stderr);
        }
        assert!(!out.exists(), "{args:?}: something is left");
    }
}

#[test]
fn conditions_ask_for_the_length_of_lists_and_may_begin_with_a_sign() {
    let dir = tempfile::tempdir().unwrap();
    for (number, (condition, written)) in [
        ("length(references) = 0 AND length(labels) >= 0", 24),
        ("length(scores) > 0 OR length(regions) > 0 OR length(captions) > 0", 0),
        ("-length(instruction) < 0", 24),
    ]
    .into_iter()
    .enumerate()
    {
        let out = dir.path().join(number.to_string());
        converted(&out, &["--where", condition]);
        let report = json(&out.join("report.json"));
        assert_eq!(report["total"]["written"], written, "{condition}");
    }
}

#[test]
fn nothing_chosen_is_nothing_converted() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    for args in [["--sample", "0%"], ["--where", "edit_type = 'nothing'"]] {
        let ran = converted(&out, &args);
        assert_eq!(ran.code, Some(4), "{args:?}: {ran:?}");
        let report = json(&out.join("report.json"));
        assert_eq!(report["total"]["written"], 0);
        assert_eq!(report["total"]["read"], 24);
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_recipe_is_what_its_flags_are() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = |text: &str| {
        let path = dir.path().join("recipe.toml");
        let imgedit = fixtures().join("imgedit").to_str().unwrap().to_owned();
        fs::write(&path, text.replace("IMGEDIT", &imgedit)).unwrap();
        path
    };
    let out = dir.path().join("out");
    let run = |text: &str, more: &[&str]| {
        let mut command = diptych();
        command.arg("convert").arg("--recipe").arg(recipe(text)).args(["--no-sync", "--out"]);
        ran(command.arg(&out).args(more))
    };
    let good = "\
[[source]]
path = 'IMGEDIT'
where = 'turn IS NULL OR turn < 2'

[select]
shuffle = true
seed = 5
limit = 9

[split]
train = 0.5
test = 0.5
same = 'pixels'

[duplicates]
by = 'bytes'
on = 'pair'

[output]
to = 'webdataset'
";
    let ran_recipe = run(good, &[]);
    assert_eq!(ran_recipe.code, Some(0), "{ran_recipe:?}");
    let by_recipe = tree(&out);
    fs::remove_dir_all(&out).unwrap();
    let flags = [
        "--where",
        "turn IS NULL OR turn < 2",
        "--shuffle",
        "--seed",
        "5",
        "--limit",
        "9",
        "--split",
        "train=0.5,test=0.5",
        "--same",
        "pixels",
        "--dedup",
        "bytes",
        "--dedup-on",
        "pair",
    ];
    let ran_flags = ran(convert(&fixtures().join("imgedit"), &out).args(flags));
    assert_eq!(ran_flags.code, Some(0), "{ran_flags:?}");
    let without_report = |mut tree: std::collections::BTreeMap<String, Vec<u8>>| {
        tree.remove("report.json");
        tree
    };
    assert_same(&without_report(by_recipe), &without_report(tree(&out)));
    fs::remove_dir_all(&out).unwrap();

    // What is given beside it comes first.
    let less = run(good, &["--limit", "3"]);
    assert_eq!(less.code, Some(0), "{less:?}");
    assert_eq!(json(&out.join("report.json"))["total"]["written"], 3);
    fs::remove_dir_all(&out).unwrap();

    let wrong: [(&str, &str, &[&str]); 9] = [
        ("shuffle = true", "shufle = true", &["shufle", "shuffle", "line 6"]),
        ("[split]", "[splits]", &["splits", "split"]),
        ("'turn IS NULL OR turn < 2'", "'turns < 2'", &["turns", "turn"]),
        ("train = 0.5", "train = 0.7", &["1.2"]),
        ("same = 'pixels'", "same = 'pixel'", &["pixel"]),
        ("by = 'bytes'", "by = 'near:x'", &["near", "x"]),
        ("on = 'pair'", "on = 'mask'", &["mask"]),
        ("to = 'webdataset'", "to = 'webdatset'", &["webdatset"]),
        ("path = 'IMGEDIT'", "", &["path"]),
    ];
    for (was, is, told) in wrong {
        assert!(good.contains(was));
        let ran = run(&good.replace(was, is), &[]);
        assert_eq!(ran.code, Some(2), "{is}: {ran:?}");
        for told in told {
            assert!(ran.stderr.contains(told), "{is}, {told}: {}", ran.stderr);
        }
        assert!(!out.exists(), "{is}: something is left");
    }
}

#[test]
fn what_would_bridge_two_splits_ends_with_3() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let release = fixtures().join("imgedit");
    let index = |out: &Path| {
        let mut command = diptych();
        command.arg("index").arg(&release).args(["--no-sync", "--out"]).arg(out);
        assert_eq!(ran(&mut command).code, Some(0));
    };
    index(&at("catalog"));
    // Two turns of one session, pinned apart by hand; the third is of both.
    let mut list = diptych();
    list.arg("convert").arg(at("catalog")).args(["--to", "webdataset", "--no-sync", "--out"]);
    list.arg(at("sessions")).args(["--where", "session_id IS NOT NULL"]);
    assert_eq!(ran(&mut list).code, Some(0));
    let sessions = support::folder::json(&at("sessions/report.json"));
    let turns = sessions["total"]["written"].as_u64().unwrap();
    assert!(turns >= 3, "{sessions}");
    let row = "imgedit:version_backtracking_part0:0";
    let pins = format!("pair_id,split\n{row}:0,train\n{row}:1,test\n");
    fs::write(at("pins.csv"), pins).unwrap();
    let out = at("out");
    let mut command = convert(&release, &out);
    command.arg("--split-file").arg(at("pins.csv")).args(["--split", "train=0.5,val=0.5"]);
    let ran = ran(&mut command);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let rejected = support::folder::json_lines(&out.join("rejections.jsonl"));
    assert!(rejected.iter().all(|of| of["kind"] == "split_conflict"), "{rejected:?}");
    assert!(!rejected.is_empty());
}
