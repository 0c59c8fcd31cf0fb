//! The layout of PAPE: its own rows come out as they went in, and pairs of others come back.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use diptych::format::options::Assignment;
use diptych::report::Report;
use diptych::schema::{Address, EditPair, Edited, Grid, MaskOrigin, MaskPart, Reference, Split};
use diptych::{Request, Silent, SourceRequest};
use serde_json::{Value, json};
use support::again;
use support::folder::{assert_same, fixtures, json as json_file, json_lines, tree};
use support::job::{convert, threads};
use support::toy::{self, Toy, columns, grey, label};
use tempfile::TempDir;

fn request(releases: &[PathBuf], out: &Path) -> Request {
    let source = |path: &PathBuf| SourceRequest::new(path.clone());
    let sources = releases.iter().map(source).collect();
    Request {
        durable: false,
        jobs: threads(2),
        shard_size: 20_000,
        ..Request::new(sources, "pape", out)
    }
}

/// The pairs of a release, by their ids.
fn pairs(release: &Path, options: &[Assignment]) -> BTreeMap<String, EditPair> {
    let pairs = again::pairs(release, options);
    pairs.into_iter().map(|pair| (pair.pair_id.clone(), pair)).collect()
}

/// A pair without its mask, and without where its pictures lie.
fn told(pair: &EditPair) -> EditPair {
    let mut told = pair.clone();
    told.mask = None;
    told.addresses_mut().for_each(|address| *address = Address::Inline(Vec::new()));
    told
}

fn name(release: &str) -> PathBuf {
    fixtures().join(release)
}

/// The rows of a manifest as they are, without what is between them: no mark of the encoding, no
/// empty lines, and every line ends in the same way.
fn lines(manifest: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(manifest).unwrap().trim_start_matches('\u{feff}');
    let rows = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    rows.flat_map(|row| [row, "\n"]).collect::<String>().into_bytes()
}

#[test]
fn rows_of_pape_come_out_as_they_went_in() {
    let dir = tempfile::tempdir().unwrap();
    let (release, out) = (name("pape"), dir.path().join("out"));
    let report = convert(&request(std::slice::from_ref(&release), &out)).unwrap();
    assert_eq!(report.total.rejections(), 0);
    assert_eq!(report.total.written, report.total.read);
    let is_theirs = |name: &str| name.contains('/') && !name.starts_with("splits/");
    let (mut found, mut wanted) = (tree(&out), tree(&release));
    found.retain(|name, _| is_theirs(name));
    wanted.retain(|name, _| is_theirs(name));
    for (name, bytes) in wanted.iter_mut().filter(|(name, _)| name.ends_with("manifest.jsonl")) {
        *bytes = lines(bytes);
        assert!(!bytes.is_empty(), "{name}");
    }
    assert_same(&found, &wanted);
    let written: u64 = report.splits.values().map(|split| split.files).sum();
    let pictures = |name: &&String| !name.ends_with('/') && !name.ends_with("manifest.jsonl");
    assert_eq!(written, found.keys().filter(pictures).count() as u64);
    // And once more, from what was written.
    let again = dir.path().join("again");
    convert(&request(std::slice::from_ref(&out), &again)).unwrap();
    let (mut found, mut wanted) = (tree(&again), tree(&out));
    for tree in [&mut found, &mut wanted] {
        tree.retain(|name, _| is_theirs(name) || name.starts_with("metadata-"));
    }
    assert_same(&found, &wanted);
}

/// Converts a release to the layout and reads it back: the pairs are those that went in.
fn comes_back(release: &Path, options: &[Assignment], from: &[MaskOrigin]) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let release_request = request(&[release.to_path_buf()], &out);
    let request =
        Request { options: options.to_vec(), mask_from: Some(from.to_vec()), ..release_request };
    let report = convert(&request).unwrap();
    assert_eq!(report.total.rejections(), 0);
    let (went_in, came_back) = (pairs(release, options), pairs(&out, &[]));
    assert_eq!(
        went_in.keys().collect::<Vec<_>>(),
        came_back.keys().collect::<Vec<_>>(),
        "{}",
        release.display()
    );
    for (id, was) in &went_in {
        let is = &came_back[id];
        assert_eq!(told(is), told(was), "{id}");
        let Some(mask) = &is.mask else {
            assert!(was.mask.is_none() || !from.contains(&MaskOrigin::Release), "{id}");
            continue;
        };
        assert_eq!((mask.edited, mask.grid), (Edited::White, Grid::Source), "{id}");
        assert_eq!(mask.parts.len(), 1, "{id}");
        assert_eq!(mask.parts.first().and_then(MaskPart::size), is.source.size(), "{id}");
    }
}

#[test]
fn pairs_come_back_whatever_their_masks_are_made_from() {
    let recap = Assignment {
        format: "imgedit".to_owned(),
        key: "recap".to_owned(),
        value: name("imgedit-recap").display().to_string(),
    };
    comes_back(&name("imgedit"), &[recap], &[MaskOrigin::RunLength, MaskOrigin::Release]);
    comes_back(&name("imgedit"), &[], &[MaskOrigin::Difference]);
}

#[test]
fn masks_are_those_of_what_changed_where_a_release_has_others() {
    let dir = tempfile::tempdir().unwrap();
    let report = |release: &str| {
        let out = dir.path().join(release);
        convert(&request(&[name(release)], &out)).unwrap()
    };
    let asked = report("imgedit");
    let words: Vec<_> =
        asked.options.mask_from["imgedit"].iter().map(|origin| origin.0.word()).collect();
    assert_eq!(words, ["difference", "release"]);
    assert!(asked.masks.total().compared.values().sum::<u64>() > 0);
    let own = report("pape");
    assert!(own.options.mask_from.is_empty());
    assert!(own.masks.total().compared.is_empty());
}

#[test]
fn an_output_of_several_datasets_keeps_them_apart() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let releases = ["pape", "inter-edit-train", "imgedit"].map(name);
    let from = Some(vec![MaskOrigin::Release]);
    let report = convert(&Request { mask_from: from, ..request(&releases, &out) }).unwrap();
    assert_eq!(report.total.rejections(), 0);
    let folders: BTreeSet<_> =
        tree(&out).into_keys().filter_map(|n| Some(n.split_once('/')?.0.to_owned())).collect();
    assert!(folders.contains("pape-COCO") && folders.contains("inter-edit-train"), "{folders:?}");
    assert!(folders.iter().any(|folder| folder.starts_with("imgedit-")), "{folders:?}");
    let came_back = pairs(&out, &[]);
    for release in &releases {
        for (id, was) in pairs(release, &[]) {
            assert_eq!(told(&came_back[&id]), told(&was), "{id}");
        }
    }
    assert_eq!(came_back.len() as u64, report.total.written);
}

#[test]
fn the_number_of_threads_and_of_units_changes_nothing_that_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let output = |name: &str, jobs, shard_size| {
        let out = dir.path().join(name);
        let request = Request {
            jobs: threads(jobs),
            shard_size,
            ..request(&["pape", "imgedit"].map(self::name), &out)
        };
        convert(&request).unwrap();
        tree(&out)
    };
    let one = output("one", 1, 20_000);
    assert_same(&output("many", 4, 20_000), &one);
    // Units decide nothing but where what was done is kept meanwhile.
    let mut whole = output("whole", 2, 1_000_000_000);
    let mut parts = one;
    let mut reports: Vec<Value> = Vec::new();
    for tree in [&mut whole, &mut parts] {
        let mut report: Value =
            serde_json::from_slice(&tree.remove("report.json").unwrap()).unwrap();
        report["options"]["shard_size"].take();
        reports.push(report);
    }
    assert_same(&whole, &parts);
    assert_eq!(reports[0], reports[1]);
}

/// A scene with a toy release.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("toy")).unwrap();
        Self { dir }
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn convert(&self, toy: &'static Toy, options: &[(&str, &str)]) -> Report {
        let source = SourceRequest {
            from: Some("toy".to_owned()),
            ..SourceRequest::new(self.dir.path().join("toy"))
        };
        let option = |(key, value): &(&str, &str)| Assignment {
            format: "pape".to_owned(),
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        let request = Request {
            sources: vec![source],
            options: options.iter().map(option).collect(),
            // A unit for each pair.
            shard_size: 1,
            ..request(&[], &self.out())
        };
        toy::convert(toy, &request).unwrap()
    }

    /// The rows of a manifest.
    fn rows(&self, folder: &str) -> Vec<Value> {
        json_lines(&self.out().join(folder).join("manifest.jsonl"))
    }
}

fn notices(report: &Report, kind: &str) -> Vec<String> {
    let of_kind = report.notices.iter().filter(|notice| notice.kind == kind);
    of_kind.map(|notice| notice.detail.clone()).collect()
}

fn plain(id: &str) -> EditPair {
    EditPair {
        target: Some(grey("t.png", 90)),
        instruction: Some("do".to_owned()),
        ..EditPair::new(format!("toy:{id}"), "toy".to_owned(), grey("s.png", 9))
    }
}

fn odd_names() -> Vec<EditPair> {
    let subset = |name: &str| Some(name.to_owned());
    vec![
        EditPair { subset: subset("Set"), ..plain("1") },
        EditPair { subset: subset("set"), ..plain("2") },
        EditPair { subset: subset("splits"), editor: subset("CON"), ..plain("3") },
        EditPair { subset: subset("../../etc"), editor: subset("a/b"), ..plain("4") },
        EditPair { subset: subset("\u{65}\u{301}"), ..plain("5") },
        EditPair {
            subset: subset("\u{e9}"),
            labels: vec![label("image_id", "../x")],
            ..plain("6")
        },
        EditPair { subset: subset(&"long".repeat(100)), ..plain("7") },
    ]
}

#[test]
fn names_are_safe_on_every_file_system() {
    let scene = Scene::new();
    let report = scene.convert(&Toy(odd_names), &[]);
    assert_eq!(report.total.written, 7);
    let names: Vec<_> = tree(&scene.out()).into_keys().collect();
    let folded: BTreeSet<_> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    assert_eq!(folded.len(), names.len(), "{names:?}");
    for name in &names {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_=./".contains(c);
        assert!(name.chars().all(allowed), "{name}");
        assert!(name.trim_end_matches('/').split('/').all(|part| part.len() <= 100), "{name}");
    }
    let came_back = pairs(&scene.out(), &[]);
    for was in odd_names() {
        let is = &came_back[&was.pair_id];
        assert_eq!((&is.subset, &is.editor), (&was.subset, &was.editor));
        assert_eq!(is.labels, was.labels);
    }
}

fn shared_sources() -> Vec<EditPair> {
    let with = |id: &str, source: u8| EditPair { source: grey("s.png", source), ..plain(id) };
    let named = |id: &str, source: u8| EditPair {
        labels: vec![label("image_id", "photo")],
        ..with(id, source)
    };
    let editor = Some("other".to_owned());
    vec![
        with("1", 1),
        with("2", 1),
        EditPair { editor, ..with("3", 1) },
        named("4", 2),
        named("5", 2),
        named("6", 3),
    ]
}

#[test]
fn a_photograph_is_stored_once_in_an_editor_folder() {
    let scene = Scene::new();
    let report = scene.convert(&Toy(shared_sources), &[]);
    let names: Vec<_> = tree(&scene.out()).into_keys().collect();
    let sources = |folder: &str| {
        let at = format!("{folder}/source/");
        names.iter().filter(|name| name.starts_with(&at) && name.ends_with(".png")).count()
    };
    // That of 1 and 2, that of 4 and 5, and that of 6, which has the same id and other bytes.
    assert_eq!((sources("toy/unknown"), sources("toy/other")), (3, 1));
    let files = names.iter().filter(|name| name.ends_with(".png")).count() as u64;
    assert_eq!(report.splits["train"].files, files);
    let bytes: u64 = tree(&scene.out())
        .iter()
        .filter(|(name, _)| name.ends_with(".png"))
        .map(|(_, bytes)| bytes.len() as u64)
        .sum();
    assert_eq!((report.splits["train"].bytes, report.output_bytes), (bytes, bytes));
    let rows = scene.rows("toy/unknown");
    assert_eq!(rows[0]["image_id"], rows[1]["image_id"]);
    assert_eq!(rows[0]["image_id"].as_str().unwrap().len(), 32);
    assert_eq!(rows[2]["image_id"], "photo");
    assert_ne!(rows[3]["export_paths"]["source"], rows[4]["export_paths"]["source"]);
}

fn disagreeing() -> Vec<EditPair> {
    let of = |id: &str, image: &str, split| EditPair {
        split,
        labels: vec![label("image_id", image)],
        ..plain(id)
    };
    vec![
        of("1", "a", Some(Split::Train)),
        of("2", "a", Some(Split::Test)),
        of("3", "a", None),
        of("4", "b", Some(Split::Val)),
        of("5", "c", None),
    ]
}

#[test]
fn where_pairs_of_an_image_disagree_the_stricter_split_wins() {
    let scene = Scene::new();
    let report = scene.convert(&Toy(disagreeing), &[]);
    let detail = "2 pairs got the split of a stricter one of the same image";
    assert_eq!(notices(&report, "splits_disagree"), [detail]);
    let splits = json_file(&scene.out().join("splits/split.json"));
    assert_eq!(splits, json!({"toy": {"train": [], "val": ["b"], "test": ["a"]}}));
    let splits: Vec<_> = pairs(&scene.out(), &[]).into_values().map(|pair| pair.split).collect();
    let (val, test) = (Some(Split::Val), Some(Split::Test));
    assert_eq!(splits, [test, test, test, val, None]);
    let names: Vec<_> = tree(&scene.out()).into_keys().collect();
    for split in ["train", "val", "test"] {
        assert!(names.contains(&format!("metadata-{split}.parquet")), "{split}");
    }
}

/// Edits of one photograph: the columns that each changed, its object, and whether it is odd.
fn to_pair() -> Vec<EditPair> {
    let of = |id: &str, changed: usize, object: Option<&str>, odd: bool| {
        let mut labels: Vec<_> = object.map(|object| label("object", object)).into_iter().collect();
        labels.push(label("odd", if odd { "yes" } else { "no" }));
        let mask = (changed > 0).then(|| columns(changed));
        EditPair { mask, labels, ..plain(id) }
    };
    vec![
        of("cup-plain", 4, Some("cup"), false),
        of("cup-odd-far", 3, Some("cup"), true),
        of("cup-odd-near", 4, Some("cup"), true),
        of("hat-plain", 1, Some("hat"), false),
        of("hat-odd", 8, Some("hat"), true),
        of("dog-plain", 2, Some("dog"), false),
        of("none", 2, None, false),
        of("unmasked", 0, Some("cup"), true),
    ]
}

#[test]
fn two_edits_of_one_object_become_a_row_where_that_is_asked_for() {
    let scene = Scene::new();
    let options = [("pair", "true"), ("abnormal-if", "labels.odd=yes")];
    let report = scene.convert(&Toy(to_pair), &options);
    assert_eq!(report.total.written, 8);
    let rows = scene.rows("toy/unknown");
    assert_eq!(rows.len(), 7);
    let paired = &rows[0];
    assert_eq!(paired["extra"]["normal"]["pair_id"], "toy:cup-plain");
    assert_eq!(paired["extra"]["abnormal"]["pair_id"], "toy:cup-odd-near");
    assert_eq!((&paired["object"], &paired["mask_iou"]), (&json!("cup"), &json!(1.0)));
    let target = paired["export_paths"]["abnormal"].as_str().unwrap();
    assert!(target.starts_with("abnormal/"), "{target}");
    assert!(scene.out().join("toy/unknown").join(target).is_file());
    assert_eq!(notices(&report, "paired"), ["rows of two edits: 1"]);
    assert_eq!(
        notices(&report, "unpaired"),
        [
            "masks_overlap_too_little: 2",
            "no_mask: 1",
            "no_object: 1",
            "no_partner: 1",
            "partner_taken: 1",
        ]
    );
    let came_back = pairs(&scene.out(), &[]);
    assert_eq!(came_back.len(), 8);
    let variant = |id: &str| came_back[id].variant.as_deref();
    assert_eq!(variant("toy:cup-plain"), Some("normal"));
    assert_eq!(variant("toy:cup-odd-near"), Some("abnormal"));
    assert_eq!(variant("toy:hat-odd"), None);
    assert_eq!(came_back["toy:cup-plain"].group_id, came_back["toy:cup-odd-near"].group_id);
    // Masks that overlap less are enough where that is said.
    let scene = Scene::new();
    let options = [options[0], options[1], ("min-iou", "0.125")];
    scene.convert(&Toy(to_pair), &options);
    assert_eq!(scene.rows("toy/unknown").len(), 6);
}

#[test]
fn pairing_is_asked_for_in_full_or_refused() {
    let scene = Scene::new();
    let refused = |options: &[(&str, &str)]| {
        let option = |(key, value): &(&str, &str)| Assignment {
            format: "pape".to_owned(),
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        let options = options.iter().map(option).collect();
        let request = Request { options, ..request(&[name("pape")], &scene.out()) };
        diptych::engine().convert(&request, &Silent).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&[("pair", "true")]),
        "pape.pair takes pape.abnormal-if=labels.KEY=VALUE beside it, not `true`"
    );
    assert_eq!(
        refused(&[("pair", "true"), ("abnormal-if", "odd=yes")]),
        "pape.abnormal-if takes labels.KEY=VALUE, not `odd=yes`"
    );
    assert_eq!(
        refused(&[("abnormal-if", "labels.odd=yes")]),
        "pape.abnormal-if takes nothing without pape.pair=true, not `labels.odd=yes`"
    );
    for value in ["1.5", "-0.1", "NaN", "half"] {
        let message = refused(&[("min-iou", value)]);
        assert_eq!(message, format!("pape.min-iou takes a number from 0 to 1, not `{value}`"));
    }
    assert!(!scene.out().exists());
}

fn with_references() -> Vec<EditPair> {
    let reference = |name: &str, value| Reference {
        picture: grey(name, value),
        role: Some("object".to_owned()),
    };
    let references = vec![reference("r0.png", 20), reference("r1.png", 30)];
    let other = Some("preferred".to_owned());
    let group = Some("toy:g".to_owned());
    vec![
        EditPair { references, ..plain("1") },
        EditPair { variant: other, group_id: group.clone(), ..plain("2") },
        EditPair { variant: Some("rejected".to_owned()), group_id: group, ..plain("3") },
    ]
}

#[test]
fn what_the_layout_has_no_place_for_comes_back() {
    let scene = Scene::new();
    scene.convert(&Toy(with_references), &[]);
    assert_eq!(scene.rows("toy/unknown").len(), 3, "preferences are no sides of a row");
    let came_back = pairs(&scene.out(), &[]);
    for was in with_references() {
        let is = &came_back[&was.pair_id];
        assert_eq!((&is.variant, &is.group_id), (&was.variant, &was.group_id));
        let names = |pair: &EditPair| {
            let each = |r: &Reference| (r.picture.name.clone(), r.role.clone());
            pair.references.iter().map(each).collect::<Vec<_>>()
        };
        assert_eq!(names(is), names(&was));
    }
}

/// Rows of PAPE whose files have names that are the same where case is folded, or are the same.
fn same_names() -> Vec<EditPair> {
    let of = |id: &str, source: &str, value: u8, target: &str| {
        let path = |role: &str, name: &str| format!("COCO/e/{role}/{name}");
        let row = json!({"image_id": id, "language": "en", "normal_prompt": "do", "abnormal_prompt": null,
            "export_paths": {"source": path("source", source), "normal": path("normal", target)}});
        let pair_id = format!("pape:COCO:e:{id}:en:normal");
        EditPair {
            subset: Some("COCO".to_owned()),
            editor: Some("e".to_owned()),
            group_id: Some(format!("pape:COCO:e:{id}:en")),
            variant: Some("normal".to_owned()),
            edit_type: Some("replace".to_owned()),
            instruction: Some("do".to_owned()),
            language: Some("en".to_owned()),
            target: Some(grey(&path("normal", target), value + 100)),
            labels: vec![label("image_id", id)],
            native: Some(json!({ "row": row }).to_string()),
            ..EditPair::new(pair_id, "pape".to_owned(), grey(&path("source", source), value))
        }
    };
    vec![
        of("1", "A.png", 1, "x.png"),
        of("2", "a.png", 2, "y.png"),
        of("3", "A.png", 1, "x.PNG"),
        of("4", "A.png", 3, "z.png"),
        of("5", "con.png", 4, "a b.png"),
    ]
}

#[test]
fn names_that_are_taken_are_told_apart_and_said() {
    let scene = Scene::new();
    let report = scene.convert(&Toy(same_names), &[]);
    assert_eq!(
        notices(&report, "renamed_file"),
        ["3 files have another name, since theirs was taken"]
    );
    let names: Vec<_> = tree(&scene.out()).into_keys().collect();
    let folded: BTreeSet<_> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    assert_eq!(folded.len(), names.len(), "{names:?}");
    let sources = names.iter().filter(|name| name.starts_with("COCO/e/source/")).count();
    assert_eq!(sources, 1 + 4, "the folder, A, a, the other A, and con under another name");
    let rows = scene.rows("COCO/e");
    let extra: Vec<_> = rows.iter().map(|row| row.get("extra").is_some()).collect();
    assert_eq!(extra, [false, true, true, true, true]);
    let (came_back, out) = (pairs(&scene.out(), &[]), scene.out());
    for was in same_names() {
        let is = &came_back[&was.pair_id];
        for (was, is) in
            [(Some(&was.source), Some(&is.source)), (was.target.as_ref(), is.target.as_ref())]
        {
            let (Address::Inline(wanted), Address::Range { offset: 0, .. }) =
                (&was.unwrap().address, &is.unwrap().address)
            else {
                panic!("{:?}", is.unwrap().address)
            };
            let is_there = tree(&out).into_values().any(|bytes| bytes == *wanted);
            assert!(is_there, "{}", was.unwrap().name);
            assert_eq!(is.unwrap().address.length(), Some(wanted.len() as u64));
        }
        assert_eq!(
            (&is.labels, &is.group_id, &is.variant),
            (&was.labels, &was.group_id, &was.variant)
        );
    }
}
