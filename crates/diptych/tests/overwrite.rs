//! `--overwrite`: what was begun or made before gives way, and nothing else does.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;

use diptych::{EngineError, Event, Observer, Request, RunRequest, Silent};
use support::folder::{assert_same, copy, tree};
use support::job::{convert, run_units, threads};
use support::scene::{Kept, Scene};

/// The scene's request for another format, with leave to overwrite.
fn other(scene: &Scene) -> Request {
    Request { to: "parquet".to_owned(), overwrite: true, ..scene.request() }
}

/// What that makes in a folder of its own.
fn whole_other(scene: &Scene) -> BTreeMap<String, Vec<u8>> {
    let out = scene.dir.path().join("other");
    convert(&Request { out: out.clone(), ..other(scene) }).unwrap();
    tree(&out)
}

#[test]
fn another_request_takes_the_place_of_one_that_was_begun() {
    let scene = Scene::new();
    let whole = whole_other(&scene);
    scene.plan();
    run_units(&scene.out(), 0..=1).unwrap();
    let refused = Request { overwrite: false, ..other(&scene) };
    let error = diptych::engine().convert(&refused, &Silent).unwrap_err();
    assert!(matches!(error, EngineError::OtherRequest { .. }), "{error}");
    convert(&other(&scene)).unwrap();
    assert_same(&tree(&scene.out()), &whole);
}

#[test]
fn the_same_request_goes_on_with_what_it_began() {
    let scene = Scene::new();
    scene.plan();
    run_units(&scene.out(), 0..=1).unwrap();
    let receipt = scene.out().join(".diptych/units/000000/receipt.json");
    let before = fs::metadata(&receipt).unwrap().modified().unwrap();
    let request = Request { overwrite: true, ..scene.request() };
    diptych::engine().plan(&request, &Silent).unwrap();
    assert_eq!(fs::metadata(&receipt).unwrap().modified().unwrap(), before);
    scene.goes_on();
}

#[test]
fn a_release_that_has_changed_is_read_anew() {
    let scene = Scene::new();
    scene.plan();
    run_units(&scene.out(), 0..=1).unwrap();
    let gone = Kept::new(scene.release().join("source_shards/source-00001-of-00003.tar"));
    fs::remove_file(&gone.path).unwrap();
    assert!(matches!(scene.refuses(), EngineError::Changed { .. }));
    let request = Request { overwrite: true, ..scene.request() };
    let report = convert(&request).unwrap();
    assert!(report.total.rejected.contains_key("missing_shard"));
    let anew = scene.dir.path().join("anew");
    convert(&Request { out: anew.clone(), ..scene.request() }).unwrap();
    assert_same(&tree(&scene.out()), &tree(&anew));
}

/// Looks at the output while another is made in its place.
struct Watch<'a> {
    scene: &'a Scene,
    old: &'a BTreeMap<String, Vec<u8>>,
    seen: Mutex<usize>,
}

impl Observer for Watch<'_> {
    fn event(&self, event: Event) {
        if matches!(event, Event::Moved { .. } | Event::Finishing) {
            let mut found = tree(&self.scene.out());
            found.retain(|name, _| !name.starts_with(".diptych"));
            assert_same(&found, self.old);
            *self.seen.lock().unwrap() += 1;
        }
    }
}

#[test]
fn a_finished_output_stays_until_the_new_one_is_ready() {
    let scene = Scene::new();
    let (old, new) = (scene.whole(), whole_other(&scene));
    convert(&scene.request()).unwrap();
    let watch = Watch { scene: &scene, old: &old, seen: Mutex::default() };
    // One thread, so that nothing moves while the watch looks.
    let request = Request { jobs: threads(1), ..other(&scene) };
    diptych::engine().convert(&request, &watch).unwrap();
    assert!(watch.seen.into_inner().unwrap() > 5);
    assert_same(&tree(&scene.out()), &new);
    // And back, by the steps, which need no leave but that of the plan.
    let back = Request { overwrite: true, ..scene.request() };
    let units = diptych::engine().plan(&back, &Silent).unwrap().units.len();
    run_units(&scene.out(), 0..=units - 1).unwrap();
    assert!(scene.out().join("report.json").exists());
    diptych::engine().finish(&scene.out(), false, &Silent).unwrap();
    assert_same(&tree(&scene.out()), &old);
}

/// The same request over its own finished output, of a release that has lost a file since: what is
/// there must not be taken for the new one.
#[test]
fn a_finished_output_of_the_same_request_is_made_anew() {
    let scene = Scene::new();
    convert(&scene.request()).unwrap();
    fs::remove_file(scene.release().join("source_shards/source-00001-of-00003.tar")).unwrap();
    let request = Request { overwrite: true, ..scene.request() };
    let units = diptych::engine().plan(&request, &Silent).unwrap().units.len();
    run_units(&scene.out(), 0..=units - 1).unwrap();
    let report = convert(&scene.request()).unwrap();
    assert!(report.total.rejected.contains_key("missing_shard"));
}

/// Killed between any two steps of giving way, it goes on.
#[test]
fn giving_way_may_be_interrupted() {
    let scene = Scene::new();
    let new = whole_other(&scene);
    convert(&scene.request()).unwrap();
    let units = diptych::engine().plan(&other(&scene), &Silent).unwrap().units.len();
    run_units(&scene.out(), 0..=units - 1).unwrap();
    let begun = scene.dir.path().join("begun");
    copy(&scene.out(), &begun);
    for gone in [vec![], vec!["report.json"], vec!["report.json", "README.md", "wids-train.json"]] {
        fs::remove_dir_all(scene.out()).unwrap();
        copy(&begun, &scene.out());
        for name in &gone {
            fs::remove_file(scene.out().join(name)).unwrap();
        }
        // Copies have other times: the release is what it was, and the units are what counts.
        diptych::engine().finish(&scene.out(), false, &Silent).unwrap();
        assert_same(&tree(&scene.out()), &new);
    }
}

#[test]
fn what_is_not_ours_is_never_removed() {
    let scene = Scene::new();
    convert(&scene.request()).unwrap();
    fs::write(scene.out().join("notes.txt"), "mine").unwrap();
    let before = tree(&scene.out());
    let error = diptych::engine().convert(&other(&scene), &Silent).unwrap_err();
    let EngineError::NotOurs { name, .. } = &error else { panic!("{error}") };
    assert_eq!(name, "notes.txt");
    assert_same(&tree(&scene.out()), &before);
    // Nor what no command of ours has made.
    let folder = scene.dir.path().join("photographs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.jpg"), "mine").unwrap();
    let request = Request { out: folder.clone(), ..other(&scene) };
    let error = diptych::engine().convert(&request, &Silent).unwrap_err();
    assert!(matches!(error, EngineError::NotEmpty { .. }), "{error}");
    assert_eq!(fs::read_to_string(folder.join("a.jpg")).unwrap(), "mine");
}

#[test]
fn a_source_inside_the_output_is_not_overwritten() {
    let scene = Scene::new();
    convert(&scene.request()).unwrap();
    let inside = scene.out().join("data");
    let request = Request {
        sources: vec![diptych::SourceRequest {
            from: Some("webdataset".to_owned()),
            ..diptych::SourceRequest::new(inside)
        }],
        ..other(&scene)
    };
    let before = tree(&scene.out());
    let error = diptych::engine().convert(&request, &Silent).unwrap_err();
    assert!(matches!(error, EngineError::SourceInside { .. }), "{error}");
    assert_same(&tree(&scene.out()), &before);
}

#[test]
fn a_catalog_is_made_anew_in_its_place() {
    let scene = Scene::new();
    let index = |overwrite| {
        let request = Request { overwrite, ..scene.request() };
        diptych::engine().index(&request, &Silent)
    };
    index(false).unwrap();
    let before = tree(&scene.out());
    fs::remove_file(scene.release().join("metadata/train-00001-of-00003.jsonl.gz")).unwrap();
    assert!(matches!(index(false), Err(EngineError::NotEmpty { .. })));
    assert_same(&tree(&scene.out()), &before);
    // What is kept beside it is of it, and goes with it.
    fs::write(scene.out().join("hashes.parquet"), "").unwrap();
    // So is what a process left that was killed while it wrote it, and nothing else is.
    let left = scene.out().join("hashes.parquet-00000000075bcd15.part");
    fs::write(&left, "").unwrap();
    let mine = scene.out().join("hashes.parquet-mine.part");
    fs::write(&mine, "").unwrap();
    let error = index(true).unwrap_err();
    let EngineError::NotOurs { name, .. } = &error else { panic!("{error}") };
    assert_eq!(name, "hashes.parquet-mine.part");
    fs::remove_file(mine).unwrap();
    let made = index(true).unwrap();
    assert!(!scene.out().join("hashes.parquet").exists() && !left.exists());
    assert!(made.pairs < 24 && !scene.out().join(".diptych").exists());
    let after = tree(&scene.out());
    assert!(after != before && after.contains_key("catalog.json"));
    // A conversion takes the place of a catalog, and a catalog that of a conversion.
    convert(&Request { overwrite: true, ..scene.request() }).unwrap();
    index(true).unwrap();
    assert_same(&tree(&scene.out()), &after);
}

/// Makes the output anew when the first unit is about to be written.
struct Anew<'a> {
    scene: &'a Scene,
    error: Mutex<Option<EngineError>>,
}

impl Observer for Anew<'_> {
    fn event(&self, event: Event) {
        if matches!(event, Event::Running { .. }) {
            let error = diptych::engine().convert(&other(self.scene), &Silent).unwrap_err();
            *self.error.lock().unwrap() = Some(error);
        }
    }
}

/// Replaces the plan under the hands of a worker, as a disk without locks lets happen.
struct PlanGone<'a>(&'a Scene);

impl Observer for PlanGone<'_> {
    fn event(&self, event: Event) {
        if matches!(event, Event::Running { .. }) {
            let plan = self.0.out().join(".diptych/plan.parquet");
            let mut bytes = fs::read(&plan).unwrap();
            bytes.push(0);
            fs::write(&plan, bytes).unwrap();
        }
    }
}

#[test]
fn an_output_is_not_made_anew_while_its_units_are_written() {
    let scene = Scene::new();
    scene.plan();
    let run = RunRequest {
        out: scene.out(),
        units: None,
        roots: Vec::new(),
        jobs: threads(2),
        durable: false,
    };
    let anew = Anew { scene: &scene, error: Mutex::default() };
    diptych::engine().run(&run, &anew).unwrap();
    let error = anew.error.into_inner().unwrap().unwrap();
    assert!(matches!(error, EngineError::Locked { .. }), "{error}");
    scene.goes_on();

    fs::remove_dir_all(scene.out()).unwrap();
    scene.plan();
    let error = diptych::engine().run(&run, &PlanGone(&scene)).unwrap_err();
    let text = support::job::whole_message(&error);
    assert!(text.contains("was planned anew meanwhile"), "{text}");
    assert!(scene.done().is_empty(), "no unit of another plan is published");
}

#[test]
fn files_that_were_put_into_a_folder_of_an_output_are_not_removed() {
    for folder in ["data", "data/deep", ".nv-meta"] {
        let scene = Scene::new();
        convert(&scene.request()).unwrap();
        let put = || {
            fs::create_dir_all(scene.out().join(folder)).unwrap();
            fs::write(scene.out().join(folder).join("mine.txt"), "mine").unwrap();
        };
        // Meanwhile: the new output is ready, and stays so.
        let units = diptych::engine().plan(&other(&scene), &Silent).unwrap().units.len();
        run_units(&scene.out(), 0..=units - 1).unwrap();
        put();
        let error = diptych::engine().finish(&scene.out(), false, &Silent).unwrap_err();
        assert!(matches!(error, EngineError::NotOurs { .. }), "{folder}: {error}");
        assert!(scene.out().join("report.json").exists(), "nothing is removed");
        // Before: nothing is begun.
        fs::remove_dir_all(scene.out().join(".diptych")).unwrap();
        let before = tree(&scene.out());
        let error = diptych::engine().convert(&other(&scene), &Silent).unwrap_err();
        assert!(matches!(error, EngineError::NotOurs { .. }), "{folder}: {error}");
        assert_same(&tree(&scene.out()), &before);
    }
}

#[test]
fn names_that_no_output_has_at_its_root_are_not_removed() {
    for name in ["../outside", "data/train", ".diptych", "", "/etc", "."] {
        let scene = Scene::new();
        convert(&scene.request()).unwrap();
        fs::write(scene.dir.path().join("outside"), "mine").unwrap();
        let report = scene.out().join("report.json");
        let mut forged = support::folder::json(&report);
        forged["entries"][name] = 1.into();
        fs::write(&report, forged.to_string()).unwrap();
        let before = tree(&scene.out());
        let error = diptych::engine().convert(&other(&scene), &Silent).unwrap_err();
        assert!(matches!(error, EngineError::Damaged { .. }), "{name}: {error}");
        assert_same(&tree(&scene.out()), &before);
        assert!(scene.dir.path().join("outside").exists());
    }
}

#[test]
fn finishing_writes_over_nothing() {
    for name in ["README.md", "data/train-00000-of-00001.tar", "mine.txt"] {
        let scene = Scene::new();
        let units = scene.plan();
        run_units(&scene.out(), 0..=units - 1).unwrap();
        let mine = scene.out().join(name);
        fs::create_dir_all(mine.parent().unwrap()).unwrap();
        fs::write(&mine, "mine").unwrap();
        let error = diptych::engine().finish(&scene.out(), false, &Silent).unwrap_err();
        assert!(matches!(error, EngineError::NotEmpty { .. }), "{name}: {error}");
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    }
}

#[test]
#[cfg(unix)]
fn nothing_is_written_through_a_link() {
    use std::os::unix::fs::symlink;
    for name in [".diptych", ".diptych/units", ".diptych/staging", "data"] {
        let scene = Scene::new();
        let units = scene.plan();
        run_units(&scene.out(), 0..=0).unwrap();
        let (link, elsewhere) = (scene.out().join(name), scene.dir.path().join("elsewhere"));
        if link.exists() {
            fs::rename(&link, &elsewhere).unwrap();
        } else {
            fs::create_dir(&elsewhere).unwrap();
        }
        symlink(&elsewhere, &link).unwrap();
        let before = tree(&elsewhere);
        let run = run_units(&scene.out(), 0..=units - 1);
        assert!(run.is_err() || name == "data");
        diptych::engine().finish(&scene.out(), false, &Silent).unwrap_err();
        diptych::engine().convert(&scene.request(), &Silent).unwrap_err();
        assert_same(&tree(&elsewhere), &before);
    }
    // Nor is a report read that is none.
    let scene = Scene::new();
    convert(&scene.request()).unwrap();
    fs::remove_file(scene.out().join("report.json")).unwrap();
    symlink("/dev/zero", scene.out().join("report.json")).unwrap();
    diptych::engine().convert(&other(&scene), &Silent).unwrap_err();
}

#[test]
fn a_unit_that_was_damaged_is_written_again() {
    let scene = Scene::new();
    let units = scene.plan();
    run_units(&scene.out(), 0..=units - 1).unwrap();
    let shard = |unit: usize| scene.out().join(format!(".diptych/units/{unit:06}/shard.tar"));
    fs::remove_file(shard(1)).unwrap();
    fs::OpenOptions::new().write(true).open(shard(2)).unwrap().set_len(1000).unwrap();
    let error = diptych::engine().finish(&scene.out(), false, &Silent).unwrap_err();
    let EngineError::Unfinished { missing, .. } = &error else { panic!("{error}") };
    assert_eq!(missing, &[1, 2]);
    scene.goes_on();
}
