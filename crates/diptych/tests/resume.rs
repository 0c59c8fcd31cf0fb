//! Interrupted, refused and gone on with: an output is finished by the same request, and by
//! nothing else.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs;
use std::path::PathBuf;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use diptych::format::Probe;
use diptych::{EngineError, Event, MaskGrid, Observer, Request, RunRequest, Silent};
use support::folder::{assert_same, tree};
use support::job::{self, convert, run_units, threads, whole_message};
use support::made::Made;
use support::scene::{Kept, Scene, set_time};

#[test]
fn units_that_are_done_are_not_done_again() {
    let scene = Scene::new();
    let units = scene.plan();
    assert!(units >= 5, "{units} units");
    run_units(&scene.out(), 0..=0).unwrap();
    run_units(&scene.out(), 2..=3).unwrap();
    assert_eq!(scene.done(), ["000000", "000002", "000003"]);
    let seen = Seen::default();
    diptych::engine().convert(&scene.request(), &seen).unwrap();
    let seen = seen.0.into_inner().unwrap();
    let told = seen.iter().find_map(|event| match event {
        Event::Running { units, done, .. } => Some((*units, *done)),
        _ => None,
    });
    assert_eq!(told, Some((units - 3, 3)));
    assert_same(&tree(&scene.out()), &scene.whole());
}

#[derive(Default)]
struct Seen(Mutex<Vec<Event>>);

impl Observer for Seen {
    fn event(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

#[test]
fn other_threads_and_syncing_may_go_on_with_an_output() {
    let scene = Scene::new();
    scene.plan();
    let request = Request { jobs: threads(8), durable: true, ..scene.request() };
    convert(&request).unwrap();
    assert_same(&tree(&scene.out()), &scene.whole());
}

#[test]
fn planning_and_running_may_be_repeated_and_finishing_not() {
    let scene = Scene::new();
    let units = scene.plan();
    assert_eq!(scene.plan(), units);
    run_units(&scene.out(), 0..=units - 1).unwrap();
    run_units(&scene.out(), 0..=units - 1).unwrap();
    let finish = || diptych::engine().finish(&scene.out(), false, &Silent);
    finish().unwrap();
    assert_same(&tree(&scene.out()), &scene.whole());
    assert!(matches!(finish(), Err(EngineError::NoPlan { .. })));
    assert_same(&tree(&scene.out()), &scene.whole());
}

#[test]
fn a_catalog_or_plan_that_was_not_finished_is_made_anew() {
    for lost in ["catalog/catalog.json", "plan.parquet"] {
        let scene = Scene::new();
        scene.plan();
        let work = scene.out().join(".diptych");
        fs::remove_file(work.join(lost)).unwrap();
        if lost.starts_with("catalog") {
            fs::remove_file(work.join("plan.parquet")).unwrap();
        }
        scene.goes_on();
    }
}

/// A scene whose units are all written, of whose shards `placed` have been moved below `to`: the
/// folder where an output is put together, or the output itself.
fn interrupted_while_finishing(to: &str, placed: usize) -> Scene {
    let scene = Scene::new();
    let units = scene.plan();
    run_units(&scene.out(), 0..=units - 1).unwrap();
    let data = scene.out().join(to).join("data");
    fs::create_dir_all(&data).unwrap();
    for unit in 0..units.min(placed) {
        for ending in ["tar", "tar.idx"] {
            // Of the last of some, only the first of its files.
            if unit + 1 == placed && ending != "tar" {
                continue;
            }
            let from = scene.out().join(format!(".diptych/units/{unit:06}/shard.{ending}"));
            let name = format!("train-{unit:05}-of-{units:05}.{ending}");
            fs::rename(from, data.join(name)).unwrap();
        }
    }
    if to.is_empty() {
        let names = scene.whole().into_keys().filter(|name| !name.contains('/'));
        let names: Vec<_> = names.chain(["data".to_owned(), ".nv-meta".to_owned()]).collect();
        let names = serde_json::to_string(&names).unwrap();
        fs::write(scene.out().join(".diptych/publishing.json"), names).unwrap();
        fs::create_dir_all(scene.out().join(".diptych/final")).unwrap();
    }
    scene
}

#[test]
fn finishing_goes_on_where_it_was_left() {
    interrupted_while_finishing(".diptych/final", 3).goes_on();
    interrupted_while_finishing(".diptych/final", usize::MAX).goes_on();
    let scene = interrupted_while_finishing("", usize::MAX);
    fs::write(scene.out().join("README.md"), "of before").unwrap();
    // A folder of small files, which are made again.
    fs::create_dir(scene.out().join(".nv-meta")).unwrap();
    fs::write(scene.out().join(".nv-meta/split.yaml"), "of before").unwrap();
    scene.goes_on();
}

/// The report is the last thing that an output gets; only the working folder was left to be
/// removed. The output is complete, and the same command must say so.
#[test]
fn an_output_that_only_lacked_its_cleaning_up_is_finished() {
    let scene = interrupted_while_finishing("", usize::MAX);
    for (name, bytes) in scene.whole() {
        if !name.contains('/') || name.starts_with(".nv-meta/") {
            let path = scene.out().join(&name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if !name.ends_with('/') {
                fs::write(path, bytes).unwrap();
            }
        }
    }
    scene.goes_on();
}

#[test]
fn another_request_is_refused_and_told_what_differs() {
    type Change = fn(&mut Request);
    let changes: [(&str, Change); 6] = [
        ("--limit was none and is 3", |request| request.limit = Some(3)),
        ("--shard-size was 30000 and is 30001", |request| request.shard_size = 30_001),
        ("--strict was false and is true", |request| request.strict = true),
        ("--probe was true and is false", |request| request.probe = Probe::None),
        ("--mask-grid was released and is source", |request| {
            request.mask_grid = Some(MaskGrid::Source);
        }),
        ("the sources ", |request| request.sources.push(request.sources[0].clone())),
    ];
    let scene = Scene::new();
    scene.plan();
    run_units(&scene.out(), 1..=1).unwrap();
    let begun = tree(&scene.out());
    for (told, change) in changes {
        let mut request = scene.request();
        change(&mut request);
        let error = diptych::engine().convert(&request, &Silent).unwrap_err();
        let EngineError::OtherRequest { differences, .. } = &error else { panic!("{error}") };
        assert!(differences.len() == 1 && differences[0].starts_with(told), "{differences:?}");
        assert!(error.to_string().contains(told), "{error}");
    }
    assert_same(&tree(&scene.out()), &begun);
    scene.goes_on();
}

#[test]
fn a_release_that_has_changed_is_refused_until_it_is_what_it_was() {
    let scene = Scene::new();
    scene.plan();
    run_units(&scene.out(), 0..=0).unwrap();
    let archive = Kept::new(scene.release().join("asset_shards/asset-00001-of-00003.tar"));
    let added = scene.release().join("metadata/train-00003-of-00003.jsonl");
    let changes: [(&str, &dyn Fn()); 4] = [
        ("a time", &|| set_time(&archive.path, archive.time + Duration::from_secs(1))),
        ("a length", &|| archive.cut(10_000)),
        ("a file more", &|| fs::write(&added, "").unwrap()),
        ("a file less", &|| fs::remove_file(&archive.path).unwrap()),
    ];
    for (what, change) in changes {
        change();
        let error = scene.refuses();
        assert!(matches!(error, EngineError::Changed { .. }), "{what}: {error}");
        let _ = fs::remove_file(&added);
        archive.put_back();
        assert_eq!(scene.done(), ["000000"], "{what}: what is done stays");
    }
    scene.goes_on();
}

#[test]
fn a_release_may_lie_elsewhere_when_its_units_run() {
    let scene = Scene::new();
    let wanted = scene.whole();
    scene.plan();
    let elsewhere = scene.dir.path().join("elsewhere");
    fs::rename(scene.release(), &elsewhere).unwrap();
    let run = |label: &str| {
        let request = RunRequest {
            out: scene.out(),
            units: None,
            roots: vec![(label.to_owned(), elsewhere.clone())],
            jobs: threads(2),
            durable: false,
        };
        diptych::engine().run(&request, &Silent)
    };
    let error = run("other").unwrap_err();
    assert!(matches!(error, EngineError::NoLabel { .. }), "{error}");
    run("inter-edit-train").unwrap();
    diptych::engine().finish(&scene.out(), false, &Silent).unwrap();
    assert_same(&tree(&scene.out()), &wanted);
}

#[test]
fn a_folder_that_holds_something_is_refused_and_left_alone() {
    for name in ["notes.txt", ".hidden", "data/train-00000-of-00001.tar", "report.json"] {
        let scene = Scene::new();
        let path = scene.out().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let before = tree(&scene.out());
        let error = scene.refuses();
        assert!(matches!(error, EngineError::NotEmpty { .. }), "{name}: {error}");
        assert_same(&tree(&scene.out()), &before);
    }
}

#[test]
fn a_finished_output_is_refused_and_left_alone() {
    let scene = Scene::new();
    convert(&scene.request()).unwrap();
    let before = tree(&scene.out());
    assert!(matches!(scene.refuses(), EngineError::NotEmpty { .. }));
    assert_same(&tree(&scene.out()), &before);
}

/// Somebody else's files in an output that is being made: nothing may be written over them.
#[test]
fn what_was_put_beside_the_working_folder_is_not_written_over() {
    let scene = Scene::new();
    scene.plan();
    fs::write(scene.out().join("README.md"), "mine").unwrap();
    let error = diptych::engine().convert(&scene.request(), &Silent);
    assert_eq!(fs::read_to_string(scene.out().join("README.md")).unwrap(), "mine");
    assert!(matches!(error, Err(EngineError::NotEmpty { .. })));
}

fn assert_inside(scene: &Scene, out: PathBuf) {
    let before = tree(&scene.release());
    let error = diptych::engine().convert(&Request { out, ..scene.request() }, &Silent);
    assert_same(&tree(&scene.release()), &before);
    assert!(matches!(error, Err(EngineError::Inside { .. })), "{error:?}");
}

#[test]
fn an_output_inside_a_source_is_refused() {
    let scene = Scene::new();
    for place in [".", "out", "a/b", "metadata/../out"] {
        assert_inside(&scene, scene.release().join(place));
    }
}

#[cfg(unix)]
#[test]
fn an_output_inside_a_source_through_a_link_is_refused() {
    let scene = Scene::new();
    let link = scene.dir.path().join("link");
    std::os::unix::fs::symlink(scene.release(), &link).unwrap();
    assert_inside(&scene, link.join("out"));
    let request = Request { sources: job::request(&link, &link).sources, ..scene.request() };
    let inside = Request { out: scene.release().join("out"), ..request };
    let error = diptych::engine().convert(&inside, &Silent);
    assert!(matches!(error, Err(EngineError::Inside { .. })), "{error:?}");
}

/// Making `not-there/..` makes `not-there`, and then the path leads into the source.
#[test]
fn an_output_inside_a_source_by_way_of_a_folder_to_come_is_refused() {
    let scene = Scene::new();
    assert_inside(&scene, scene.dir.path().join("not-there/../release/out"));
}

/// Begins the same conversion again while the first is at work.
struct Second {
    request: Request,
    refused: Mutex<Vec<EngineError>>,
}

impl Observer for Second {
    fn event(&self, event: Event) {
        if matches!(event, Event::Indexing { .. } | Event::Running { .. } | Event::Finishing) {
            let error = diptych::engine().convert(&self.request, &Silent).unwrap_err();
            self.refused.lock().unwrap().push(error);
        }
    }
}

#[test]
fn of_two_at_one_time_the_second_is_refused() {
    let scene = Scene::new();
    let second = Second { request: scene.request(), refused: Mutex::default() };
    diptych::engine().convert(&scene.request(), &second).unwrap();
    let refused = second.refused.into_inner().unwrap();
    assert_eq!(refused.len(), 3);
    for error in refused {
        assert!(matches!(error, EngineError::Locked { .. }), "{error}");
    }
    assert_same(&tree(&scene.out()), &scene.whole());
}

#[test]
fn a_unit_whose_source_was_cut_is_not_published_and_goes_on_when_it_is_back() {
    let scene = Scene::new();
    let units = scene.plan();
    let name = "source_shards/source-00001-of-00003.tar";
    let archive = Kept::new(scene.release().join(name));
    archive.cut(archive.bytes.len() as u64 / 2);
    let mut failed = Vec::new();
    for unit in 0..units {
        if let Err(error) = run_units(&scene.out(), unit..=unit) {
            let message = whole_message(&error);
            assert!(message.contains(name), "{message}");
            assert!(message.contains(&format!("unit {unit}")), "{message}");
            failed.push(unit);
        }
    }
    assert!(!failed.is_empty() && failed.len() < units, "{failed:?} of {units}");
    let done = (0..units).filter(|unit| !failed.contains(unit));
    assert_eq!(scene.done(), done.map(|unit| format!("{unit:06}")).collect::<Vec<_>>());
    let staging = scene.out().join(".diptych/staging");
    assert!(fs::read_dir(staging).into_iter().flatten().next().is_none(), "nothing half written");
    let error = diptych::engine().finish(&scene.out(), false, &Silent).unwrap_err();
    let EngineError::Unfinished { missing, .. } = &error else { panic!("{error}") };
    assert_eq!(missing.iter().map(|unit| *unit as usize).collect::<Vec<_>>(), failed);
    archive.put_back();
    scene.goes_on();
}

/// Cuts a file when the first bytes have been moved.
struct CutWhileRunning {
    file: Kept,
    is_cut: Mutex<bool>,
}

impl Observer for CutWhileRunning {
    fn event(&self, event: Event) {
        let mut is_cut = self.is_cut.lock().unwrap();
        if matches!(event, Event::Moved { .. }) && !std::mem::replace(&mut *is_cut, true) {
            self.file.cut(4000);
        }
    }
}

#[test]
fn a_source_that_is_cut_while_it_is_read_fails_the_unit_and_names_the_file() {
    for name in ["source_shards/source-00000-of-00001.tar", "asset_shards/asset-00000-of-00001.tar"]
    {
        let dir = tempfile::tempdir().unwrap();
        let release = dir.path().join("release");
        Made { samples: 6, per_shard: 6, picture_bytes: 100_000 }.write(&release);
        let out = dir.path().join("out");
        let request = Request { jobs: threads(1), ..job::request(&release, &out) };
        let file = Kept::new(release.join(name));
        let observer = CutWhileRunning { file, is_cut: Mutex::default() };
        let error = diptych::engine().convert(&request, &observer).unwrap_err();
        let message = whole_message(&error);
        assert!(message.contains(name), "{message}");
        assert!(!out.join(".diptych/units").exists(), "nothing is published");
        observer.file.put_back();
        convert(&request).unwrap();
        let whole = dir.path().join("whole");
        convert(&Request { out: whole.clone(), ..request }).unwrap();
        assert_same(&tree(&out), &tree(&whole));
    }
}

/// Waits until as many others have come as far.
struct Together<'a>(&'a Barrier);

impl Observer for Together<'_> {
    fn event(&self, event: Event) {
        if matches!(event, Event::Running { .. }) {
            self.0.wait();
        }
    }
}

#[test]
fn the_same_units_may_be_run_by_several_at_one_time() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    Made { samples: 32, per_shard: 16, picture_bytes: 50_000 }.write(&release);
    let (out, whole) = (dir.path().join("out"), dir.path().join("whole"));
    let request = Request { shard_size: 400_000, ..job::request(&release, &out) };
    convert(&Request { out: whole.clone(), ..request.clone() }).unwrap();
    diptych::engine().plan(&request, &Silent).unwrap();
    let run = RunRequest {
        out: out.clone(),
        units: None,
        roots: Vec::new(),
        jobs: threads(1),
        durable: false,
    };
    let barrier = Barrier::new(3);
    std::thread::scope(|scope| {
        let begin = || scope.spawn(|| diptych::engine().run(&run, &Together(&barrier)));
        for thread in [(); 3].map(|()| begin()) {
            thread.join().unwrap().unwrap();
        }
    });
    diptych::engine().finish(&out, false, &Silent).unwrap();
    assert_same(&tree(&out), &tree(&whole));
}

#[test]
fn a_unit_that_the_plan_does_not_have_is_refused() {
    let scene = Scene::new();
    let units = scene.plan();
    let error = run_units(&scene.out(), 0..=units).unwrap_err();
    assert!(matches!(error, EngineError::NoUnit { .. }), "{error}");
    assert_eq!(scene.done(), [""; 0]);
}
