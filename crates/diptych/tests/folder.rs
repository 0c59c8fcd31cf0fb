//! Folders of pictures with a table beside them, written and read back; and those of other makers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use diptych::format::options::Assignment;
use diptych::schema::{Address, EditPair, Split};
use diptych::{Request, Silent, SourceRequest};
use serde_json::Value;
use support::again::{option, pairs};
use support::folder::{assert_same, fixtures, json_lines, tree};
use support::job::{self, convert, run_units, threads};
use support::toy::{self, Toy};

fn lines() -> Assignment {
    option("folder", "metadata", "jsonl")
}

/// A conversion of a release to folders.
fn request(release: &Path, out: &Path, options: &[Assignment]) -> Request {
    let options = options.to_vec();
    Request { to: "folder".to_owned(), options, shard_size: 40_000, ..job::request(release, out) }
}

/// Several datasets at once, of all splits.
fn mixed(out: &Path) -> Request {
    let source = |name: &str| SourceRequest::new(fixtures().join(name));
    let sources = ["pape", "inter-edit-train", "imgedit"].map(source).to_vec();
    Request { sources, ..request(&fixtures(), out, &[]) }
}

type Files = BTreeMap<String, Vec<u8>>;

fn output(request: &Request) -> Files {
    convert(request).unwrap();
    tree(&request.out)
}

/// What does not depend on how units are cut: all but tables of columns, whose row groups are the
/// units', and what tells of them.
fn apart_from_units(mut files: Files) -> Files {
    files.retain(|name, _| !name.ends_with(".parquet") && name != "report.json");
    files
}

/// Converts a release to folders with tables of either kind, and folders of these again.
fn both_kinds(release: &str, options: &[Assignment]) {
    let dir = tempfile::tempdir().unwrap();
    let release = fixtures().join(release);
    let mut tables = Vec::new();
    for (name, kind) in [("columns", vec![]), ("lines", vec![lines()])] {
        let [first, second] = ["first", "second"].map(|of| dir.path().join(name).join(of));
        let all = [options, kind.as_slice()].concat();
        let first_files = output(&request(&release, &first, &all));
        let mut pairs = pairs(&first, &[]);
        // Tables of other kinds have other places for what is in the folders beside them.
        pairs.iter_mut().flat_map(EditPair::addresses_mut).for_each(|address| {
            *address = Address::Inline(Vec::new());
        });
        tables.push(pairs);
        let again = output(&request(&first, &second, &kind));
        assert_same(&apart_from_units(again), &apart_from_units(first_files));
    }
    assert_eq!(tables[0], tables[1], "both forms of the table say the same, in one order");
}

/// That they say what went in is the square's to test.
#[test]
fn tables_of_both_kinds_say_the_same_and_are_written_the_same_again() {
    let recap = fixtures().join("imgedit-recap");
    let recap = option("imgedit", "recap", recap.to_str().unwrap());
    both_kinds("inter-edit-train", &[]);
    both_kinds("imgedit", &[recap]);
    both_kinds("pape", &[]);
    both_kinds("webdataset", &[]);
}

#[test]
fn turns_of_a_session_are_rows_that_follow_each_other() {
    let dir = tempfile::tempdir().unwrap();
    convert(&request(&fixtures().join("imgedit"), dir.path(), &[lines()])).unwrap();
    let rows = json_lines(&dir.path().join("train/metadata.jsonl"));
    let of = |row: &Value| (row["session_id"].clone(), row["turn"].as_u64());
    let mut sessions = 0;
    for two in rows.windows(2) {
        let [(session, turn), (next_session, next)] = [of(&two[0]), of(&two[1])];
        match (next_session.is_null(), session == next_session) {
            (false, true) => assert_eq!(next, turn.map(|turn| turn + 1)),
            (false, false) => {
                assert_eq!(next, Some(0));
                sessions += 1;
            }
            _ => {}
        }
    }
    assert!(sessions > 2, "{sessions} sessions");
}

#[test]
fn neither_threads_nor_units_move_a_picture() {
    let dir = tempfile::tempdir().unwrap();
    let of = |name: &str, change: fn(&mut Request)| {
        let mut request = mixed(&dir.path().join(name));
        change(&mut request);
        output(&request)
    };
    let one = of("one", |request| request.jobs = threads(1));
    assert_same(&of("three", |request| request.jobs = threads(3)), &one);
    assert_same(&of("durable", |request| request.durable = true), &one);
    let tables = one.keys().filter(|name| name.ends_with("/metadata.parquet"));
    let tables: Vec<_> = tables.map(String::as_str).collect();
    assert_eq!(tables, ["test/metadata.parquet", "train/metadata.parquet", "val/metadata.parquet"]);
    let other = of("large", |request| request.shard_size = 1 << 30);
    assert_ne!(one["train/metadata.parquet"], other["train/metadata.parquet"]);
    assert_same(&apart_from_units(other), &apart_from_units(one));
    // Of lines not even the tables.
    let of_lines = |name: &str, size| {
        let request = mixed(&dir.path().join(name));
        output(&Request { shard_size: size, options: vec![lines()], ..request })
    };
    let [small, large] = [("small-lines", 20_000), ("large-lines", 1 << 30)]
        .map(|(name, size)| of_lines(name, size));
    assert!(small.contains_key("val/metadata.jsonl"));
    let apart_from_report = |mut files: Files| {
        files.remove("report.json");
        files
    };
    assert_same(&apart_from_report(small), &apart_from_report(large));
}

#[test]
fn units_of_folders_run_alone_in_any_order_make_the_same_output() {
    let dir = tempfile::tempdir().unwrap();
    let whole = output(&mixed(&dir.path().join("whole")));
    let request = mixed(&dir.path().join("apart"));
    let plan = diptych::engine().plan(&request, &Silent).unwrap();
    assert!(plan.units.len() > 6, "{} units", plan.units.len());
    for unit in (0..plan.units.len()).rev() {
        run_units(&request.out, unit..=unit).unwrap();
    }
    diptych::engine().finish(&request.out, false, &Silent).unwrap();
    assert_same(&tree(&request.out), &whole);
}

/// 2,100 pairs, of which some are rejected while they are written: their picture is none.
fn many() -> Vec<EditPair> {
    (0..2100)
        .map(|i| {
            let picture = |role: &str| match i % 700 {
                4 => diptych::schema::Picture::unprobed(role, Address::Inline(b"none".to_vec())),
                _ => toy::grey(role, u8::try_from(i % 251).unwrap()),
            };
            let mut pair = EditPair::new(format!("toy:{i:04}"), "toy".to_owned(), picture("s.png"));
            pair.target = Some(picture("t.png"));
            pair.split = Some(if i % 2 == 0 { Split::Train } else { Split::Val });
            pair
        })
        .collect()
}

#[test]
fn a_picture_is_in_the_folder_of_its_place_in_the_plan_whatever_is_rejected() {
    static MANY: Toy = Toy(many);
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("release")).unwrap();
    let outputs = [60_000, 1 << 30].map(|shard_size| {
        let out = dir.path().join(shard_size.to_string());
        let mut request = request(&dir.path().join("release"), &out, &[lines()]);
        request.sources[0].from = Some("toy".to_owned());
        let report = toy::convert(&MANY, &Request { shard_size, ..request }).unwrap();
        assert_eq!((report.total.written, report.total.rejections()), (2097, 3));
        assert_eq!(report.splits["train"].files, 2 * report.splits["train"].pairs + 1);
        let bytes: u64 = report.splits.values().map(|split| split.bytes).sum();
        assert_eq!(report.output_bytes, bytes);
        tree(&out)
    });
    let [small, large] = outputs.map(apart_from_units);
    assert_same(&small, &large);
    // Half of the pairs are for training, and three of these are rejected: the thousandth keeps
    // its place though fewer come before it.
    let rows: Vec<Value> = std::str::from_utf8(&small["train/metadata.jsonl"])
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 1047);
    let folder = |id: &str| {
        let row = rows.iter().find(|row| row["pair_id"] == id).unwrap();
        let name = row["source_file_name"].as_str().unwrap().to_owned();
        assert!(small.contains_key(&format!("train/{name}")));
        name.rsplit_once('/').unwrap().0.to_owned()
    };
    assert_eq!(folder("toy:1998"), "source/00000");
    assert_eq!(folder("toy:2000"), "source/00001");
}

fn odd_ids() -> Vec<EditPair> {
    let long = "x".repeat(300);
    let other = format!("{}y", "x".repeat(299));
    let ids = [
        "a", "A", "a:b", "a_b", "a.b", "a.", "a ", "con", "CON", "nul", "com1", "e\u{301}", "é",
        "../up", "a/b", "a\\b", "-rf", ".hidden", "移除", "a-0", &long, &other,
    ];
    let made = |id: &&str| {
        let mut pair = EditPair::new((*id).to_owned(), "toy".to_owned(), toy::grey("s", 1));
        pair.target = Some(toy::grey("t", 2));
        pair.mask = Some(toy::columns(3));
        let picture = |value| toy::grey("r", value);
        pair.references = [3, 4]
            .map(|value| diptych::schema::Reference { picture: picture(value), role: None })
            .to_vec();
        pair
    };
    ids.iter().map(made).collect()
}

#[test]
fn names_of_folders_are_safe_on_every_file_system() {
    static ODD: Toy = Toy(odd_ids);
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("release")).unwrap();
    let out = dir.path().join("out");
    let mut request = request(&dir.path().join("release"), &out, &[]);
    request.sources[0].from = Some("toy".to_owned());
    toy::convert(&ODD, &request).unwrap();
    let names: Vec<_> = tree(&out).into_keys().filter(|name| name.ends_with(".png")).collect();
    assert_eq!(names.len(), odd_ids().len() * 5);
    let folded: BTreeSet<_> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    assert_eq!(folded.len(), names.len());
    for name in &names {
        let file = name.rsplit('/').next().unwrap();
        let stem = file.strip_suffix(".png").unwrap();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=".contains(c);
        assert!(stem.chars().all(plain) && stem.len() <= 62 && name.len() < 100, "{name}");
        assert!(!diptych::format::key::is_device(file), "{name}");
    }
    let back = pairs(&out, &[]);
    let ids: Vec<_> = back.iter().map(|pair| pair.pair_id.clone()).collect();
    let wanted: Vec<_> = odd_ids().into_iter().map(|pair| pair.pair_id).collect();
    assert_eq!(ids, wanted);
    assert_eq!(back[0].references.len(), 2);
}

/// What a test looks at of a foreign pair: its id, split, instruction, and the names of pictures.
fn shown(pair: &EditPair) -> (&str, Option<Split>, Option<&str>, Vec<&str>) {
    let mut names = vec![pair.source.name.as_str()];
    names.extend(pair.references.iter().map(|of| of.picture.name.as_str()));
    names.extend(pair.target.iter().map(|of| of.name.as_str()));
    (&pair.pair_id, pair.split, pair.instruction.as_deref(), names)
}

fn bad(case: &str) -> PathBuf {
    fixtures().join("bad/folder").join(case).join("release")
}

#[test]
fn rows_of_others_become_pairs_by_their_columns() {
    let found = pairs(&bad("foreign"), &[]);
    let pictures = vec!["before/1.png", "./after/1.png"];
    assert_eq!(shown(&found[1]), ("folder:1", None, Some("do 1"), pictures));
    assert!(matches!(found[1].source.address, Address::Range { offset: 0, .. }));
    let native: Value = serde_json::from_str(found[1].native.as_deref().unwrap()).unwrap();
    assert_eq!(native["row"]["weight"], 1.5);
    let found = pairs(&bad("foreign_folders"), &[]);
    assert_eq!(
        (found[2].pair_id.as_str(), found[2].split),
        ("folder:data/validation:2", Some(Split::Val))
    );
    let found = pairs(&bad("foreign_csv"), &[]);
    let instructions: Vec<_> = found.iter().map(|pair| pair.instruction.as_deref()).collect();
    assert_eq!(instructions, [Some("make it 0, \"please\""), Some("two\r\nlines"), None]);
}

#[test]
fn a_map_says_what_columns_are() {
    let map = |text: &str| [option("folder", "map", text)];
    let of = |case: &str, text: &str| pairs(&bad(case), &map(text));
    let found = of("foreign_fields_unknown", "source:b,target:a");
    assert_eq!(shown(&found[0]).3, ["after/0.png", "before/0.png"]);
    // By the whole name of a column, and where a path is in a column of another name.
    let found = of("foreign_fields_unknown", "source:b_file_name,target:a");
    assert_eq!(shown(&found[0]).3, ["after/0.png", "before/0.png"]);
    let dir = tempfile::tempdir().unwrap();
    let request = Request {
        options: map("source:b").into(),
        ..job::request(&bad("foreign"), &dir.path().join("out"))
    };
    let error = diptych::engine().index(&request, &Silent).unwrap_err();
    let told = job::whole_message(&error);
    assert!(told.contains("a map of columns (it names no field for target)"), "{told}");
}

/// A picture of one value.
fn grey(value: u8) -> Vec<u8> {
    let Address::Inline(bytes) = toy::grey("a", value).address else { unreachable!() };
    bytes
}

/// NHR-Edit as a folder, and a set whose sources are a list.
#[test]
fn known_sets_are_told_by_their_columns() {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, bytes: &[u8]| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    put("train/images/00/a.png", &grey(1));
    put("train/images/00/b.png", &grey(2));
    put(
        "train/metadata.jsonl",
        br#"{"sample_id": "s1", "source_file_name": "images/00/a.png", "edited_file_name": "images/00/b.png", "edit_instruction": "x", "augmented_instructions": ["y"], "category": "Add"}"#,
    );
    let found = pairs(dir.path(), &[]);
    assert_eq!(found[0].pair_id, "nhr-edit:s1");
    assert_eq!(found[0].split, Some(Split::Train));
    assert_eq!(found[0].instructions.len(), 2);
    put(
        "train/metadata.jsonl",
        br#"{"source_file_names": ["images/00/a.png", "images/00/b.png"], "target_file_name": "images/00/b.png", "instruction": "x"}"#,
    );
    let found = pairs(dir.path(), &[]);
    assert_eq!(shown(&found[0]).3, ["images/00/a.png", "images/00/b.png", "images/00/b.png"]);
    assert_eq!(found[0].pair_id, "folder:train:0");
}
