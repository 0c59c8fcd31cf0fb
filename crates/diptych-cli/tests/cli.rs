//! The command as scripts and people meet it: exit codes, what is said where, and what is refused.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use support::folder::{assert_same, copy, fixtures, good_release, tree};
use support::{Ran, convert, diptych, ran, run};
use tempfile::TempDir;

fn bad_release(case: &str) -> PathBuf {
    fixtures().join("bad/inter-edit-train").join(case).join("release")
}

/// A folder for an output that is not there yet.
fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    (dir, out)
}

/// Runs a line whose words are separated by spaces; `OUT` and `GOOD` stand for folders.
fn line(line: &str, out: &Path) -> Ran {
    let words = line.split(' ').filter(|word| !word.is_empty()).map(|word| match word {
        "OUT" => out.as_os_str().to_owned(),
        "GOOD" => good_release().into_os_string(),
        word => word.into(),
    });
    run(words)
}

#[test]
fn the_exit_code_says_how_it_ended() {
    let releases = [
        (good_release(), 0),
        (bad_release("no_manifest"), 0),
        (bad_release("no_metadata"), 1),
        (fixtures().join("nothing-here"), 1),
        (bad_release("missing_shard"), 3),
        (bad_release("garbage_metadata"), 4),
    ];
    for (release, code) in releases {
        let (_dir, out) = place();
        let ran = ran(&mut convert(&release, &out));
        assert_eq!(ran.code, Some(code), "{}: {ran:?}", release.display());
        assert_eq!(out.join("report.json").exists(), code != 1, "{}", release.display());
        assert_eq!(out.exists(), code != 1, "a failure leaves nothing: {}", release.display());
        assert_eq!(ran.stderr.starts_with("error: "), code == 1, "{ran:?}");
    }
}

#[test]
fn a_catalog_is_taken_for_its_releases() {
    let (dir, out) = place();
    let catalog = dir.path().join("catalog");
    let index = run([
        "index".as_ref(),
        good_release().as_os_str(),
        "--no-sync".as_ref(),
        "--out".as_ref(),
        catalog.as_os_str(),
    ]);
    assert_eq!(index.code, Some(0), "{index:?}");
    let with = |more: &[&str]| {
        let mut command = convert(&catalog, &out);
        ran(command.args(more))
    };
    let refused = [
        ("--from pape", "--from", 2),
        ("--probe none", "--probe none", 2),
        ("--root pape=/nowhere", "no source is called pape: there are inter-edit-train", 2),
        ("--root inter-edit-train=/nowhere", "inter-edit-train is not where its catalog says", 1),
    ];
    for (words, said, code) in refused {
        let ran = with(&words.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.code, out.exists()), (Some(code), false), "{words}: {ran:?}");
        assert!(ran.stderr.contains(said), "{words}: {ran:?}");
        assert_eq!(ran.stderr.contains("hint: "), !said.starts_with("no source"), "{ran:?}");
    }
    let moved = dir.path().join("moved");
    copy(&good_release(), &moved);
    let root = format!("inter-edit-train={}", moved.display());
    let done = with(&["--root", &root]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let direct = dir.path().join("direct");
    assert_eq!(ran(&mut convert(&good_release(), &direct)).code, Some(0));
    assert_same(&tree(&out), &tree(&direct));

    let inspected = run(["inspect".as_ref(), catalog.as_os_str()]);
    assert_eq!(inspected.code, Some(0), "{inspected:?}");
    let line = format!("{}: a catalog of ", catalog.display());
    assert!(inspected.stdout.contains(&line), "{inspected:?}");
}

#[test]
fn talk_goes_to_standard_error_and_data_to_standard_output() {
    let (_dir, out) = place();
    let talk = |line_: &str| {
        let ran = line(line_, &out);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{line_}: {ran:?}");
        ran.stderr
    };
    let said = talk("plan GOOD --to webdataset --out OUT --shard-size 100KB --no-sync");
    assert!(said.contains("24 pairs in 4 units, numbered from 0"), "{said}");
    talk("run --out OUT --no-sync --units 0-1");
    talk("run --out OUT --no-sync");
    let said = talk("finish --out OUT --no-sync");
    assert!(said.contains("24 of 24 edits written to "), "{said}");
    assert!(said.contains("inter-edit-train: 24 read, 24 written\n"), "{said}");
    fs::remove_dir_all(&out).unwrap();
    assert!(talk("convert GOOD --to webdataset --out OUT").contains("24 of 24 edits written"));
    fs::remove_dir_all(&out).unwrap();
    assert!(talk("index GOOD --out OUT").contains("24 pairs of 24 edits"));
    fs::remove_dir_all(&out).unwrap();
    let said = talk("convert -v GOOD --to webdataset --out OUT --no-sync");
    assert!(said.contains("inter-edit-train is read as inter-edit-train: manifest.json"), "{said}");
    assert!(said.contains("unit 0 is written\n"), "{said}");

    let ran = line("formats", &out);
    assert!(ran.stdout.contains("inter-edit-train  read ") && ran.stderr.is_empty(), "{ran:?}");
    let ran = line("--version", &out);
    assert_eq!((ran.stdout.as_str(), ran.code), ("diptych 0.1.0\n", Some(0)));
}

#[test]
fn rejections_are_told_with_where_they_are_listed() {
    let (_dir, out) = place();
    let ran = ran(&mut convert(&bad_release("missing_shard"), &out));
    assert_eq!(ran.stdout, "");
    for part in ["2 of 4 edits written", "2 rejected (missing_shard)", "note: ", "not there"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let list = out.join("rejections.jsonl").display().to_string();
    assert!(ran.stderr.contains(&format!("each rejection is listed in {list}\n")), "{ran:?}");
}

#[test]
fn quiet_says_nothing_but_errors() {
    for (case, code) in [("no_manifest", 0), ("missing_shard", 3), ("garbage_metadata", 4)] {
        let (_dir, out) = place();
        let ran = ran(convert(&bad_release(case), &out).arg("-q"));
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(code), "", ""));
    }
    let (_dir, out) = place();
    let ran = ran(convert(&bad_release("no_metadata"), &out).arg("--quiet"));
    assert!(ran.code == Some(1) && ran.stderr.starts_with("error: "), "{ran:?}");
}

#[test]
fn json_says_its_version() {
    let (_dir, out) = place();
    let lines = [
        "convert GOOD --to webdataset --out OUT --dry-run --json",
        "index GOOD --out OUT --json --no-sync",
        "plan GOOD --to webdataset --out OUT --json --no-sync",
        "finish --out OUT --json --no-sync",
        "convert GOOD --to webdataset --out OUT --json --no-sync",
        "formats --json",
        "formats webdataset --json",
        "inspect GOOD --json",
    ];
    let mut without = Vec::new();
    for command in lines {
        if command.starts_with("finish") {
            assert_eq!(line("run --out OUT --no-sync", &out).code, Some(0));
        }
        let ran = line(command, &out);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
        if ran.json()["json_version"] != 1 {
            without.push(command);
        }
        if !command.starts_with("plan") && out.exists() {
            fs::remove_dir_all(&out).unwrap();
        }
    }
    assert!(without.is_empty(), "no json_version: {without:?}");
}

#[test]
fn json_holds_the_report_and_nothing_else_is_on_standard_output() {
    let (_dir, out) = place();
    let ran = ran(convert(&bad_release("missing_shard"), &out).arg("--json"));
    assert_eq!(ran.code, Some(3));
    let found = ran.json();
    let report: Value =
        serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(found, json!({"json_version": 1, "out": out, "report": report}));
    assert!(ran.stderr.contains("2 of 4 edits written"), "people are told as well: {ran:?}");
}

#[test]
fn a_dry_run_shows_units_and_space_and_writes_nothing() {
    let (dir, out) = place();
    let scratch = dir.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let dry = |more: &[&str]| {
        let mut command = convert(&good_release(), &out);
        command.env("TMPDIR", &scratch).args(["--dry-run", "--shard-size", "100KB"]).args(more);
        let ran = ran(&mut command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!out.exists() && tree(&scratch).is_empty(), "it writes nothing");
        ran
    };
    let text = dry(&[]).stdout;
    let unit = text.lines().filter(|line| line.contains(" train ")).count();
    assert_eq!(unit, 4, "{text}");
    for part in ["24 pairs in 4 units, about ", "edits: 24 read\n", "free on the disk: "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let found = dry(&["--json"]).json();
    let units = found["units"].as_array().unwrap();
    let sum = |key: &str| units.iter().map(|unit| unit[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(
        (units.len(), sum("pairs"), sum("bytes")),
        (4, 24, found["bytes"].as_u64().unwrap())
    );
    assert!(found["free_bytes"].is_u64() || !cfg!(target_os = "linux"));
    // What it says of an output that cannot be is what the conversion would say.
    fs::create_dir(&out).unwrap();
    fs::write(out.join("mine"), "").unwrap();
    let ran = ran(convert(&good_release(), &out).arg("--dry-run"));
    assert!(ran.code == Some(1) && ran.stderr.contains("is not empty\nhint: "), "{ran:?}");
}

/// The space that counts is where the output would lie, not where scratch files do.
#[cfg(target_os = "linux")]
#[test]
fn a_dry_run_tells_the_free_space_of_the_outputs_disk() {
    use diptych::storage::output::free_space;
    let (_dir, out) = place();
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    let mut command = convert(&good_release(), &out);
    command.args(["--dry-run", "--json"]).env("TMPDIR", elsewhere.path());
    let told = ran(&mut command).json()["free_bytes"].as_u64().unwrap();
    let (here, there) = (free_space(&out).unwrap(), free_space(elsewhere.path()).unwrap());
    // Others write to the disk meanwhile: it need only be nearer.
    assert!(told.abs_diff(here) <= told.abs_diff(there), "{told}: {here} here, {there} there");
}

#[test]
fn the_grid_of_masks_is_part_of_what_was_asked_for() {
    let (_dir, out) = place();
    let plan = "plan GOOD --to webdataset --out OUT --no-sync";
    let convert = "convert GOOD --to webdataset --out OUT --no-sync";
    assert_eq!(line(&format!("{plan} --mask-grid source"), &out).code, Some(0));
    let refused = line(&format!("{convert} --mask-grid released"), &out);
    assert_eq!(refused.code, Some(1));
    let said = "--mask-grid was source and is released";
    assert!(refused.stderr.contains(said), "{refused:?}");
    assert_eq!(line(&format!("{convert} --mask-grid source"), &out).code, Some(0));
    let asked_for = |out: &Path| {
        let report = fs::read(out.join("report.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        (report["options"]["mask_grid"].clone(), report["total"]["written"].clone())
    };
    assert_eq!(asked_for(&out), (json!("source"), json!(24)));
    let (_dir, out) = place();
    assert_eq!(line(convert, &out).code, Some(0));
    assert_eq!(asked_for(&out), (json!("released"), json!(24)));
}

#[test]
fn what_masks_are_made_from_is_asked_for_in_words_and_told() {
    let (_dir, out) = place();
    let convert = "convert GOOD --to webdataset --out OUT --no-sync";
    for (wrong, said) in [
        ("--mask-from released", "[possible values: release, run_length, difference]"),
        ("--difference softness=1", "no parameter of a difference is called \"softness\""),
        ("--difference aspect=wide", "aspect takes a number, not \"wide\""),
        ("--difference aspect", "it is not NAME=VALUE"),
    ] {
        let ran = line(&format!("{convert} {wrong}"), &out);
        assert_eq!(ran.code, Some(2), "{wrong}");
        assert!(ran.stderr.contains(said), "{wrong}: {}", ran.stderr);
    }
    let asked = "--mask-from difference,release --difference aspect=0.03";
    let ran = line(&format!("{convert} {asked}"), &out);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("\nmasks: "), "{ran:?}");
    assert!(ran.stderr.contains("\npictures compared: "), "{ran:?}");
    let report: Value =
        serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    let options = &report["options"];
    assert_eq!(options["mask_from"], json!({"inter-edit-train": ["difference", "release"]}));
    assert_eq!(options["difference"], json!({"aspect": "0.03"}));
    // A released mask alone is nothing to talk about, nor are edit types that are shared words.
    let (_dir, out) = place();
    let ran = line(convert, &out);
    assert!(!ran.stderr.contains("masks: "), "{ran:?}");
    assert!(!ran.stderr.contains("edit types"), "{ran:?}");
}

#[test]
fn help_has_examples() {
    for verb in ["inspect", "convert", "index", "plan", "run", "completions", "man"] {
        for help in ["--help", "-h"] {
            let ran = run([verb, help]);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{verb}");
            let (_, examples) =
                ran.stdout.split_once("\nExample").unwrap_or_else(|| panic!("{verb}"));
            assert!(examples.contains(&format!("\n  diptych {verb} ")), "{verb}: {examples}");
        }
    }
    let ran = run(["--help"]);
    assert!(ran.stdout.contains("Exit codes: 0 done, 1 failed, 2 usage, 3 "), "{}", ran.stdout);
    let ran = run([""; 0]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: diptych"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_asked_for_ends_with_2_and_touches_nothing() {
    // The line, what is said, and the hint where there is one.
    let convert = "convert GOOD --to webdataset --out OUT";
    let formats = "`diptych formats` lists them";
    let options = "`diptych formats NAME` lists the options";
    let cases = [
        ("convert GOOD --to nosuch --out OUT", "no format `nosuch` that can be written", formats),
        ("convert GOOD --to inter-edit-train --out OUT", "that can be written: there are", formats),
        ("convert GOOD --from nosuch --to webdataset --out OUT", "that can be read", formats),
        (&format!("{convert} -o webdataset.nosuch=1"), "no option `nosuch`", options),
        (&format!("{convert} -o inter-edit-train.nosuch=1"), "no option `nosuch`", options),
        (&format!("{convert} -o nosuch.key=1"), "`-o nosuch.key` is for a format that", options),
        ("index GOOD --out OUT -o webdataset.key=1", "is for a format that takes no", options),
        (&format!("{convert} -o nonsense"), "`nonsense` is not FORMAT.KEY=VALUE", ""),
        (&format!("{convert} --shard-size 12QB"), "`12QB` is no size", ""),
        (&format!("{convert} --shard-size 0"), "cannot hold 0 bytes", ""),
        (&format!("{convert} --limit -1"), "-1", ""),
        (&format!("{convert} --jobs 0"), "--jobs", ""),
        (&format!("{convert} --probe some"), "none, header", ""),
        (&format!("{convert} --mask-grid target"), "released, source", ""),
        ("index GOOD --out OUT --mask-grid source", "--mask-grid", ""),
        (&format!("{convert} --quiet --verbose"), "cannot be used with", ""),
        (&format!("{convert} --nosuch"), "--nosuch", ""),
        ("convert GOOD --out OUT", "--to", ""),
        ("convert --to webdataset --out OUT", "SRC", ""),
        ("run --out OUT --units 7-3", "7 comes after 3", ""),
        ("run --out OUT --units a-b", "`a` is no unit", ""),
        ("run --out OUT --root nonsense", "not LABEL=DIR", ""),
        ("formats nosuch", "no format `nosuch`", ""),
        ("inspect", "SRC", ""),
        ("inspect GOOD --from nosuch", "that can be read", formats),
        ("inspect GOOD -o webdataset.key=1", "is for a format that takes no", options),
        ("nosuch", "unrecognized subcommand", ""),
    ];
    for (command, said, hint) in cases {
        let (_dir, out) = place();
        let ran = line(command, &out);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{command}: {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{command}: {}", ran.stderr);
        let hinted = ran.stderr.lines().find_map(|line| line.strip_prefix("hint: "));
        assert!(hinted.unwrap_or_default().starts_with(hint), "{command}: {}", ran.stderr);
        assert!(!out.exists(), "{command}");
    }
}

#[test]
fn units_and_labels_that_the_plan_does_not_have_are_usage_errors() {
    let (_dir, out) = place();
    assert_eq!(line("plan GOOD --to webdataset --out OUT --shard-size 100KB", &out).code, Some(0));
    let mut planned = tree(&out);
    // What workers lock together stays.
    planned.insert(".diptych/workers".to_owned(), Vec::new());
    for (command, said) in [
        ("run --out OUT --units 3-4", "the plan has 4 units, numbered from 0; there is no unit 4"),
        ("run --out OUT --root nosuch=GOOD", "no source is called nosuch: there are inter-edit-"),
    ] {
        let ran = line(command, &out);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
        assert_same(&tree(&out), &planned);
    }
}

#[test]
fn an_unfinished_output_is_told_with_the_command_that_goes_on() {
    let (_dir, out) = place();
    let ran = line("finish --out OUT", &out);
    assert!(ran.code == Some(1) && ran.stderr.contains("holds no plan\nhint: "), "{ran:?}");
    line("plan GOOD --to webdataset --out OUT --shard-size 100KB --no-sync", &out);
    line("run --out OUT --units 1 --no-sync", &out);
    let ran = line("finish --out OUT", &out);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("3 of 4 units are not done: 0, 2-3\n"), "{ran:?}");
    let goes_on = format!("hint: `diptych run --out {} --units 0-3` writes them", out.display());
    assert!(ran.stderr.contains(&goes_on), "{ran:?}");
    let ran = line("convert GOOD --to webdataset --out OUT --shard-size 1MB", &out);
    assert!(ran.stderr.contains("--shard-size was 100000 and is 1000000\nhint: "), "{ran:?}");
    line("run --out OUT --no-sync", &out);
    assert_eq!(line("finish --out OUT --no-sync", &out).code, Some(0));
    let whole = out.with_file_name("whole");
    line("convert GOOD --to webdataset --out OUT --shard-size 100KB", &whole);
    assert_same(&tree(&out), &tree(&whole));
}

#[test]
fn strict_fails_at_the_first_rejection_and_leaves_nothing() {
    for case in ["missing_shard", "invalid_json", "duplicate_pair_id", "unknown_picture_type"] {
        // Without probing, the last of them is found only when it is about to be written.
        for probe in ["header", "none"] {
            let (_dir, out) = place();
            let mut command = convert(&bad_release(case), &out);
            let ran = ran(command.args(["--strict", "--probe", probe]));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{case}: {ran:?}");
            let told = format!("rejected ({case}): inter-edit-train/");
            assert!(ran.stderr.contains(&told), "{case}, {probe}: {}", ran.stderr);
            assert!(ran.stderr.contains("\nhint: without --strict "), "{}", ran.stderr);
            assert!(!out.exists(), "{case}, {probe}");
        }
    }
    let (_dir, out) = place();
    assert_eq!(ran(convert(&good_release(), &out).arg("--strict")).code, Some(0));
}

#[test]
fn a_failure_leaves_an_empty_folder_as_it_was() {
    for (case, option) in [("missing_shard", "--strict"), ("no_metadata", "--quiet")] {
        let (_dir, out) = place();
        fs::create_dir(&out).unwrap();
        assert_eq!(ran(convert(&bad_release(case), &out).arg(option)).code, Some(1));
        assert!(out.exists() && tree(&out).is_empty(), "{case}");
    }
}

#[test]
fn a_reader_that_stops_reading_is_a_quiet_end() {
    let (_dir, out) = place();
    let of = |arguments: &[&str]| {
        let mut command = diptych();
        command.args(arguments);
        command
    };
    let mut dry_run = convert(&good_release(), &out);
    dry_run.args(["--dry-run", "--json"]);
    let mut inspect = of(&["inspect"]);
    inspect.arg(good_release());
    let verbs = [&["formats"][..], &["formats", "--json"], &["--help"], &["man"]];
    for mut command in
        verbs.map(of).into_iter().chain([dry_run, inspect, of(&["completions", "zsh"])])
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn();
        let output = child.unwrap().wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{command:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn data_that_cannot_be_printed_is_an_error() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child = diptych().arg("formats").stdout(full).stderr(Stdio::piped()).spawn();
    let output = child.unwrap().wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: "), "{said}");
}

#[test]
fn no_color_is_heeded() {
    for arguments in [&["--help"][..], &["convert", "--help"], &["convert", "--nosuch"]] {
        let mut command = diptych();
        let said = ran(command.args(arguments).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"));
        assert!(![said.stdout, said.stderr].concat().contains('\x1b'), "{arguments:?}");
    }
}

#[test]
fn an_output_that_is_not_empty_is_left_alone() {
    let (dir, out) = place();
    copy(&bad_release("no_manifest"), &out);
    let before = tree(&out);
    for command in ["convert GOOD --to webdataset --out OUT", "index GOOD --out OUT"] {
        let ran = line(command, &out);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("is not empty\nhint: give another folder"), "{ran:?}");
        assert_same(&tree(&out), &before);
    }
    let release = dir.path().join("out");
    let ran = ran(&mut convert(&release, &release.join("inside")));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("lies inside the source"), "{ran:?}");
    assert_same(&tree(&out), &before);
}
