//! The command killed at any moment, and given again until it is done.
//!
//! `DIPTYCH_KILLS` says how many kills each destination takes; without it there are few.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use support::folder::{assert_same, tree};
use support::kills::{Campaign, Phase, Target};
use support::made::Made;
use support::{diptych, ran};
use tempfile::TempDir;

/// A release, and what an uninterrupted run makes of it.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Made { samples: 120, per_shard: 40, picture_bytes: 12_000 }.write(&dir.path().join("made"));
        Self { dir }
    }

    fn release(&self) -> PathBuf {
        self.dir.path().join("made")
    }

    fn place(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Durable, as users have it, and telling of every unit.
fn verb(verb: &str) -> Command {
    let mut command = diptych();
    command.args([verb, "--verbose"]).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// What makes an output of many small units.
fn making(word: &str, release: &Path, out: &Path, to: &str) -> Command {
    let mut command = verb(word);
    command.arg(release).args(["--to", to, "--out"]).arg(out);
    command.args(["--shard-size", "60KB", "--jobs", "2", "--mask-from", "release"]);
    command
}

#[test]
fn a_conversion_killed_at_any_moment_ends_as_if_it_had_not_been() {
    killed("webdataset", Some(".tar"));
}

#[test]
fn a_conversion_killed_while_it_writes_parquet_ends_as_if_it_had_not_been() {
    killed("parquet", Some(".parquet"));
}

/// The same, where folders are moved as a whole and others put together of several units.
#[test]
fn a_conversion_killed_while_it_writes_pictures_and_tables_ends_as_if_it_had_not_been() {
    killed("folder", Some(".png"));
}

/// The same, where an output is thousands of files that several units share in: of a photograph
/// that two of them have, either may be the one that stays.
#[test]
fn a_conversion_killed_while_it_writes_the_layout_of_pape_ends_as_if_it_had_not_been() {
    killed("pape", None);
}

/// Kills conversions. Files whose names end with `moved` come to their places as units have
/// written them.
fn killed(to: &str, moved: Option<&str>) {
    let scene = Scene::new();
    let command = |out: &Path| making("convert", &scene.release(), out, to);
    campaign(&scene, to, "report.json", &Phase::ALL, moved, command);
}

#[test]
fn an_index_killed_at_any_moment_ends_as_if_it_had_not_been() {
    let scene = Scene::new();
    let command = |out: &Path| {
        let mut command = verb("index");
        command.arg(scene.release()).args(["--jobs", "2", "--out"]).arg(out);
        command
    };
    let phases = [Phase::Reading, Phase::Moving, Phase::Removing];
    campaign(&scene, "index", "catalog.json", &phases, None, command);
}

fn campaign(
    scene: &Scene,
    name: &str,
    last: &'static str,
    phases: &[Phase],
    moved: Option<&str>,
    command: impl Fn(&Path) -> Command,
) {
    let (whole, out) = (scene.place("whole"), scene.place("out"));
    let campaign = Campaign::new(name, last, &whole, command(&whole));
    while campaign.goes_on(phases) {
        let target = Target::new(&out, last);
        while !target.is_done() {
            let ended = campaign.kill(&target, command(&out));
            target.look(&ended, campaign.whole());
        }
        target.ends(campaign.whole(), moved);
        std::fs::remove_dir_all(&out).unwrap();
    }
}

/// Processes at one time that each write all units.
const WORKERS: usize = 3;

#[test]
fn workers_killed_one_by_one_publish_each_unit_once() {
    let scene = Scene::new();
    let (whole, out, last) = (scene.place("whole"), scene.place("out"), "report.json");
    let release = scene.release();
    let command = making("convert", &release, &whole, "webdataset");
    let campaign = Campaign::new("plan, run, finish", last, &whole, command);
    let run = || {
        let mut run = verb("run");
        run.args(["--jobs", "1", "--out"]).arg(&out);
        run
    };
    let finish = || {
        let mut finish = verb("finish");
        finish.arg("--out").arg(&out);
        finish
    };
    while campaign.goes_on(&Phase::ALL) {
        let target = Target::new(&out, last);
        while campaign.kill(&target, making("plan", &release, &out, "webdataset")).killed {}
        std::thread::scope(|scope| {
            let worker = || while campaign.kill(&target, run()).killed {};
            let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                target.look_at_units(&BTreeSet::new());
                sleep(Duration::from_millis(1));
            }
        });
        while !target.is_done() {
            let ended = campaign.kill(&target, finish());
            target.look(&ended, campaign.whole());
        }
        target.ends(campaign.whole(), Some(".tar"));
        std::fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_second_command_on_the_same_output_is_refused_and_spoils_nothing() {
    let scene = Scene::new();
    let (whole, out) = (scene.place("whole"), scene.place("out"));
    let command = |out: &Path| making("convert", &scene.release(), out, "webdataset");
    assert_eq!(ran(&mut command(&whole)).code, Some(0));
    let mut first = command(&out).spawn().unwrap();
    while !out.join(".diptych/plan.parquet").exists() {
        assert!(first.try_wait().unwrap().is_none(), "it is at work");
        sleep(Duration::from_millis(1));
    }
    let second = ran(&mut command(&out));
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains("in use by another process\nhint: "), "{second:?}");
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_same(&tree(&out), &tree(&whole));
}
