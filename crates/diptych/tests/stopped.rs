//! Told to stop, at any event: nothing is half done, and the same request goes on.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use diptych::select::{Dedup, DedupOn, Mix, MixBy, Selection};
use diptych::{EngineError, Event, Observer, Request, RunRequest};
use support::folder::{assert_same, tree};
use support::job::{convert, threads};
use support::scene::Scene;

/// Says to stop once so many edits were read or atoms written.
struct StopAfter {
    asked: AtomicUsize,
    after: usize,
}

impl StopAfter {
    fn new(after: usize) -> Self {
        Self { asked: AtomicUsize::new(0), after }
    }
}

impl Observer for StopAfter {
    fn event(&self, _: Event) {}

    fn is_stopped(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= self.after
    }
}

/// How often an observer is asked in a whole conversion: for each edit that is read, each pair that
/// is planned, each atom that is written, and once before the end.
const ASKED: usize = 3 * 24 + 1;

#[test]
fn what_was_stopped_goes_on_and_ends_as_if_it_had_not_been() {
    let scene = Scene::new();
    let whole = scene.whole();
    let request = Request { jobs: threads(1), ..scene.request() };
    let mut kept = 0;
    // A step that meets reading, planning and writing at other edits each time.
    for after in (0..ASKED).step_by(5) {
        let stopped = diptych::engine().convert(&request, &StopAfter::new(after));
        let error = stopped.unwrap_err();
        assert!(error.is_stop(), "after {after}: {error}");
        if scene.out().join(".diptych/plan.parquet").exists() {
            kept += 1;
            let staging = fs::read_dir(scene.out().join(".diptych/staging"));
            assert_eq!(staging.into_iter().flatten().count(), 0, "nothing half written");
            assert!(!scene.out().join("report.json").exists());
        } else if !scene.out().join(".diptych/catalog/catalog.json").exists() {
            assert!(!scene.out().exists(), "after {after}: there is nothing to go on with");
        }
        scene.goes_on();
        fs::remove_dir_all(scene.out()).unwrap();
    }
    assert!(kept >= 5, "{kept} stops while units were written");
    let enough = StopAfter::new(ASKED);
    diptych::engine().convert(&request, &enough).unwrap();
    assert_same(&tree(&scene.out()), &whole);
    assert_eq!(enough.asked.load(Ordering::Relaxed), ASKED);
}

#[test]
fn a_choice_that_was_stopped_goes_on_and_ends_as_if_it_had_not_been() {
    let scene = Scene::new();
    let mut request = Request { jobs: threads(1), ..scene.request() };
    let dataset = "inter-edit-train".to_owned();
    request.selection = Selection {
        shares: Some("train=0.5,val=0.25,test=0.25".parse().unwrap()),
        same: Some("near:2".parse().unwrap()),
        dedup: Some(Dedup { level: "pixels".parse().unwrap(), on: DedupOn::Pair, prefer: None }),
        mix: Some(Mix {
            by: MixBy::dataset().unwrap(),
            shares: vec![(dataset, 1.0)],
            total: Some(30),
            repeat: true,
        }),
        shuffle: true,
        ..Selection::default()
    };
    let never = StopAfter::new(usize::MAX);
    diptych::engine().convert(&request, &never).unwrap();
    let whole = tree(&scene.out());
    fs::remove_dir_all(scene.out()).unwrap();
    let asked = never.asked.load(Ordering::Relaxed);
    assert!(asked > ASKED, "{asked}");
    for after in (0..asked).step_by(7) {
        let stopped = diptych::engine().convert(&request, &StopAfter::new(after));
        let error = stopped.unwrap_err();
        assert!(error.is_stop(), "after {after}: {error}");
        assert!(!scene.out().join("report.json").exists());
        convert(&Request { jobs: threads(4), ..request.clone() }).unwrap();
        assert_same(&tree(&scene.out()), &whole);
        fs::remove_dir_all(scene.out()).unwrap();
    }
}

fn run_all(scene: &Scene) -> RunRequest {
    RunRequest {
        out: scene.out(),
        units: None,
        roots: Vec::new(),
        jobs: threads(1),
        durable: false,
    }
}

#[test]
fn units_that_were_done_before_a_stop_stay_done() {
    let scene = Scene::new();
    let units = scene.plan();
    let error = diptych::engine().run(&run_all(&scene), &StopAfter::new(12)).unwrap_err();
    assert!(error.is_stop(), "{error}");
    let done = scene.done().len();
    assert!(done > 0 && done < units, "{done} of {units}");
    scene.goes_on();
}

#[test]
fn an_index_that_was_stopped_leaves_nothing() {
    let scene = Scene::new();
    let request = scene.request();
    let error = diptych::engine().index(&request, &StopAfter::new(5)).unwrap_err();
    assert!(matches!(error, EngineError::Stopped), "{error}");
    assert!(!scene.out().exists());
    let error = diptych::engine().inspect(&request, &StopAfter::new(5)).unwrap_err();
    assert!(matches!(error, EngineError::Stopped), "{error}");
    let error = diptych::engine().dry_run(&request, &StopAfter::new(30)).unwrap_err();
    assert!(error.is_stop(), "{error}");
    assert!(!scene.out().exists());
}

/// Whether something is there when the first pictures were written.
struct Look {
    at: PathBuf,
    found: Mutex<Option<bool>>,
}

impl Look {
    fn at(path: PathBuf) -> Self {
        Self { at: path, found: Mutex::default() }
    }
}

impl Observer for Look {
    fn event(&self, event: Event) {
        if matches!(event, Event::Moved { .. }) {
            self.found.lock().unwrap().get_or_insert(self.at.exists());
        }
    }
}

/// Converts while units are run.
struct Beside<'a>(&'a Scene, &'a Look);

impl Observer for Beside<'_> {
    fn event(&self, event: Event) {
        if matches!(event, Event::Running { .. }) {
            diptych::engine().convert(&self.0.request(), self.1).unwrap();
        }
    }
}

#[test]
fn what_the_dead_were_writing_is_removed_and_what_the_living_write_is_not() {
    let scene = Scene::new();
    let plan = || {
        scene.plan();
        let left = scene.out().join(".diptych/staging/000000-0123456789abcdef");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("shard.tar"), "half").unwrap();
        Look::at(left)
    };
    let look = plan();
    diptych::engine().convert(&scene.request(), &look).unwrap();
    assert_eq!(*look.found.lock().unwrap(), Some(false));
    fs::remove_dir_all(scene.out()).unwrap();

    let look = plan();
    // The output is finished under its hands: it has nothing to write any more, and says so.
    let run = diptych::engine().run(&run_all(&scene), &Beside(&scene, &look));
    assert!(run.is_err());
    assert_eq!(*look.found.lock().unwrap(), Some(true));
    assert_same(&tree(&scene.out()), &scene.whole());
}
