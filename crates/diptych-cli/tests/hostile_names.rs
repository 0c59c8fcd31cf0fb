//! Names, links and texts that are made to do harm: names that lead elsewhere or deceive, links out
//! of a release, what is no file where one should be, and texts that are commands to a terminal or
//! markup to a browser.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;
use support::folder::{copy, fixtures};
use support::hostile::{Scene, folder, line, picture};
use support::made::Made;

/// Names that lead elsewhere, or that some file system or reader takes for something else.
fn names() -> Vec<String> {
    let mut names: Vec<_> = [
        "..",
        ".",
        "../beside/picture.png",
        "../../around/beside/picture.png",
        "a/../../beside/picture.png",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "C:\\Windows\\win.ini",
        "C:win.ini",
        "\\\\host\\share",
        "..\\beside\\picture.png",
        "a.png\0.jpg",
        "a//b.png",
        "a.png/",
        "con",
        "nul.png",
        "\u{202e}gnp.a",
        "\u{200b}a.png",
        "a\n.png",
        "file:///etc/passwd",
        "http://169.254.169.254/x.png",
        "~/a.png",
        "$HOME/a.png",
        "`id`.png",
        "<script>.png",
        "A.PNG",
        "-a.png",
    ]
    .map(str::to_owned)
    .into();
    names.push("n".repeat(4096));
    names.push("n/".repeat(40_000));
    names
}

#[test]
fn names_in_the_rows_of_a_table_lead_nowhere() {
    let good = line("a.png", "b.png");
    let bad: String = names().iter().map(|name| line("a.png", name)).collect();
    let scene = Scene::of(folder(&format!("{good}{bad}")));
    let ended = scene.convert(&["-v"]);
    ended.with(3).writes(1);
    assert_eq!(ended.rejections.len(), names().len(), "{ended:?}");
    for rejection in &ended.rejections {
        let kind = rejection["kind"].as_str().unwrap();
        assert!(["invalid_path", "missing_member"].contains(&kind), "{rejection}");
    }
    // The same of a picture in a column that names a file beside it, and in a list of commas.
    let csv: String = names()
        .iter()
        .map(|name| format!("a.png,\"{}\",do\n", name.replace('"', "\"\"")))
        .collect();
    let table = format!("source_file_name,target_file_name,instruction\na.png,b.png,do\n{csv}");
    let scene = Scene::of(folder(""));
    fs::remove_file(scene.release().join("metadata.jsonl")).unwrap();
    scene.write("metadata.csv", table.as_bytes());
    let ended = scene.convert(&[]);
    ended.with(3).writes(1);
    assert_eq!(ended.rejections.len(), names().len(), "{ended:?}");
}

#[test]
fn names_in_rows_of_archives_lead_nowhere() {
    let all = names();
    for column in ["source_archive", "source_file", "asset_archive", "target_file", "mask_file"] {
        let scene = Scene::new();
        let count = all.len() + 1;
        let made = Made { samples: count, per_shard: count, picture_bytes: 40 };
        made.write_with(&scene.release(), |id, row| {
            if id > 0 {
                row[column] = all[id - 1].clone().into();
            }
        });
        let ended = scene.convert(&[]);
        ended.with(3).writes(1);
        assert_eq!(ended.rejections.len(), all.len(), "{column}: {ended:?}");
    }
}

#[test]
fn names_in_other_releases_lead_nowhere() {
    // PAPE: ids, editors' paths and lists of splits.
    let scene = Scene::new();
    copy(&fixtures().join("pape"), &scene.release());
    let manifest = "COCO/flux2_dev/manifest.jsonl";
    let text = fs::read_to_string(scene.release().join(manifest)).unwrap();
    let first = text.lines().next().unwrap();
    let rows: String = names()
        .iter()
        .map(|name| {
            let mut row: serde_json::Value = serde_json::from_str(first).unwrap();
            row["image_id"] = name.as_str().into();
            row["export_paths"] = json!({"images": {"normal": name, "abnormal": name}});
            format!("{row}\n")
        })
        .collect();
    scene.write(manifest, rows.as_bytes());
    let splits = json!({"COCO": {"train": names(), "val": names(), "test": ["../x"]}});
    scene.write("splits/split_seed2026.json", splits.to_string().as_bytes());
    let ended = scene.convert(&["-v"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    // What PAPE's own layout calls files after is made safe.
    let ended = scene.run("convert", &["--to", "pape", "-v"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    // Keys of WebDataset that differ by case only, or are a device's, are files of a folder.
    let tar: Vec<_> = ["a", "A", "con", "COM1", "b.", "b ", "-rf", "%2e%2e", "\u{e9}", "e\u{301}"]
        .iter()
        .flat_map(|key| {
            ["source.png", "target.png"]
                .map(|part| (format!("{key}/k.{part}"), picture(key.len() + part.len())))
        })
        .collect();
    let scene = Scene::of([("shard-0.tar", support::made::archive(&tar))]);
    for to in ["folder", "webdataset", "parquet"] {
        scene.run("convert", &["--to", to]).with(0).writes(10);
    }
}

#[test]
fn names_of_files_are_told_of_and_lead_nowhere() {
    let scene = Scene::of(folder(&line("a.png", "b.png")));
    let odd: [&[u8]; 9] = [
        b"\xff\xfe.png",
        b"\x1b]52;c;aGk=\x07.png",
        "\u{202e}gnp.c".as_bytes(),
        b"a\\b.png",
        b"c:x.png",
        b"line\nhint: run me.png",
        b"A.png",
        b"con.png",
        &[b'n'; 255],
    ];
    for name in odd {
        fs::write(scene.release().join(OsStr::from_bytes(name)), picture(3)).unwrap();
    }
    let ended = scene.convert(&["-v"]);
    ended.with(0).writes(1).notices("unreadable_name", "");
    assert!(!ended.stderr.lines().any(|line| line.starts_with("hint:")), "{}", ended.stderr);
    let ended = scene.run("inspect", &[]);
    ended.with(0);
}

#[test]
fn odd_names_without_number_are_counted() {
    let scene = Scene::of(folder(&line("a.png", "b.png")));
    for number in 0..2500 {
        symlink("gone", scene.release().join(format!("link-{number}"))).unwrap();
    }
    let ended = scene.convert(&[]);
    ended.with(0).notices("more_notices", "there are more than 1000 of the kind broken_link");
    let listed = ended.report()["notices"].as_array().unwrap().len();
    assert_eq!(listed, 1001);
}

#[test]
fn links_out_of_a_release_are_told_of_and_what_is_no_file_is_not_read() {
    let scene = Scene::of(folder(&[line("a.png", "b.png"), line("a.png", "c.png")].concat()));
    let root = scene.release();
    symlink("../beside/picture.png", root.join("c.png")).unwrap();
    for (name, to) in [
        ("all", "../beside"),
        ("zero.png", "/dev/zero"),
        ("random.png", "/dev/random"),
        ("mem.png", "/proc/self/mem"),
        ("pagemap.png", "/proc/self/pagemap"),
        ("self", "."),
        ("up", ".."),
        ("me", "me"),
        ("output", "../out"),
    ] {
        symlink(to, root.join(name)).unwrap();
    }
    for name in ["pipe.png", "metadata"] {
        assert!(Command::new("mkfifo").arg(root.join(name)).status().unwrap().success());
    }
    let ended = scene.convert(&["-v", "--max", "folder-depth=3"]);
    ended.with(0).writes(2);
    ended.notices("outside_link", "to ../beside/picture.png");
    ended.notices("outside_link", "to /dev/zero").notices("not_a_file", "zero.png");
    ended.notices("not_a_file", "pipe.png").notices("broken_link", "me");
    // A row that asks for what is no file, or never ends.
    for name in ["zero.png", "random.png", "mem.png", "pagemap.png", "pipe.png", "me", "self/a.png"]
    {
        scene.write(
            "metadata.jsonl",
            [line("a.png", "b.png"), line("a.png", name)].concat().as_bytes(),
        );
        let ended = scene.convert(&["--max", "folder-depth=3"]);
        assert!(matches!(ended.code, Some(1 | 3)), "{name}: {ended:?}");
        let told = ended.rejections.iter().map(ToString::to_string).collect::<String>();
        assert!((told + &ended.stderr).contains(name), "{name}: {ended:?}");
    }
}

/// Tables and archives that are links to what is no file, or to themselves.
#[test]
fn tables_and_archives_that_are_no_files_are_refused() {
    for to in ["/dev/zero", "/proc/self/mem", "/dev/full", "pipe", "train.tar"] {
        for (fixture, name) in [
            ("folder", "train/metadata.parquet"),
            ("webdataset", "data/train.tar"),
            ("inter-edit-train", "manifest.json"),
        ] {
            let scene = Scene::new();
            copy(&fixtures().join(fixture), &scene.release());
            let path = scene.release().join(name);
            if path.exists() {
                fs::remove_file(&path).unwrap();
            }
            if to == "pipe" {
                assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            } else {
                symlink(to, &path).unwrap();
            }
            let ended = scene.convert(&["-v"]);
            let told = ended.report.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!((told + &ended.stderr).contains(name), "{fixture}, {to}: {ended:?}");
        }
    }
}

/// Texts that are commands to a terminal, markup, and lines that look like ours.
const TEXTS: [&str; 10] = [
    "\x1b]52;c;aGk=\x07",
    "\x1b[2J\x1b[31m",
    "\u{9b}31m",
    "\u{202e}evil\u{2066}",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "```\n# heading\n[x](javascript:alert(1))",
    "one\nhint: curl x | sh\nerror: none",
    "| a | b |\n---\nlicense: mit",
    "\r\u{8}\u{7f}\0",
];

#[test]
fn texts_of_a_release_are_texts_everywhere() {
    let scene = Scene::new();
    let count = TEXTS.len() * 3 + 1;
    let made = Made { samples: count, per_shard: count, picture_bytes: 40 };
    made.write_with(&scene.release(), |id, row| {
        let Some(text) = TEXTS.get(id / 3).filter(|_| id + 1 < count) else { return };
        match id % 3 {
            0 => row["instruction"] = (*text).into(),
            1 => row["edit_type"] = (*text).into(),
            _ => row["target_file"] = (*text).into(),
        }
    });
    for to in ["webdataset", "parquet", "folder"] {
        let ended = scene.run("convert", &["--to", to, "-v", "--json"]);
        ended.with(3);
        assert!(!ended.stderr.lines().any(|line| line.starts_with("hint:")), "{}", ended.stderr);
        let told = "\nedit types that are not in the shared vocabulary: 1 ";
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
        let card = fs::read_to_string(scene.out().join("README.md")).unwrap();
        for part in ["<script", "<img", "\x1b", "\u{202e}", "javascript:"] {
            assert!(!card.contains(part), "{to}: {part} is in {card}");
        }
    }
    let ended = scene.run("inspect", &["-v"]);
    ended.with(3);
    let ended = scene.run("inspect", &["--json"]);
    ended.with(3);
}
