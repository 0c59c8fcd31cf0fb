//! The command killed at any moment, and given again until it is done.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use support::folder::{assert_same, tree};
use support::made::Made;
use support::{convert, ran};

/// Kills that must have met a process at work, for each format.
const KILLS: usize = 24;

/// Durable, as users have it, in many small units.
fn command(release: &Path, out: &Path, to: &str) -> Command {
    let mut command = support::diptych();
    command.arg("convert").arg(release).args(["--to", to, "--quiet", "--out"]).arg(out);
    command.args(["--shard-size", "150KB", "--jobs", "2", "--mask-from", "release"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn a_command_killed_at_any_moment_ends_as_if_it_had_not_been() {
    killed("webdataset", ".tar");
}

/// The same, where an output is thousands of files that several units share in.
#[test]
fn a_command_killed_while_it_writes_folders_ends_as_if_it_had_not_been() {
    killed("pape", ".png");
}

/// The same, where folders are moved as a whole and others put together of several units.
#[test]
fn a_command_killed_while_it_writes_pictures_and_tables_ends_as_if_it_had_not_been() {
    killed("folder", ".png");
}

fn killed(to: &str, files: &str) {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    Made { samples: 400, per_shard: 100, picture_bytes: 30_000 }.write(&release);
    let whole = dir.path().join("whole");
    let begun = Instant::now();
    assert_eq!(ran(&mut command(&release, &whole, to)).code, Some(0));
    let time = begun.elapsed();
    let whole = tree(&whole);
    let count = whole.keys().filter(|name| name.ends_with(files)).count();
    assert!(count > 100, "{count} files");

    let mut random = 88_172_645_463_325_252_u64;
    let mut kills = 0;
    for round in 0.. {
        if kills >= KILLS {
            break;
        }
        let out = dir.path().join(format!("out-{round}"));
        loop {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Up to half of the time that all of it takes, in steps of a thousandth of that.
            let wait = time / 2 * u32::try_from(random % 1000).unwrap() / 1000;
            match kill_after(command(&release, &out, to).spawn().unwrap(), wait) {
                None => kills += 1,
                Some((0, _)) => break,
                Some((code, said)) => {
                    let there: Vec<_> = tree(&out).into_keys().take(20).collect();
                    panic!("it must go on and end well, not with {code}: {said}{there:?}");
                }
            }
            // What looks complete is complete.
            if out.join("report.json").exists() {
                let beside = |name: &String| !name.starts_with(".diptych");
                let found = tree(&out).into_iter().filter(|(name, _)| beside(name)).collect();
                assert_same(&found, &whole);
            }
            // It was killed when it had done everything: there is nothing to go on with.
            if out.join("report.json").exists() && !out.join(".diptych").exists() {
                break;
            }
        }
        assert_same(&tree(&out), &whole);
        std::fs::remove_dir_all(&out).unwrap();
    }
}

/// Kills a process after a while. Where it was done before, gives its code and what it said.
fn kill_after(mut child: Child, wait: Duration) -> Option<(i32, String)> {
    let end = Instant::now() + wait;
    while Instant::now() < end && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    // None for one that was killed.
    child.wait().unwrap().code().map(|code| (code, said))
}

#[test]
fn a_second_command_on_the_same_output_is_refused_and_spoils_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    Made { samples: 200, per_shard: 100, picture_bytes: 30_000 }.write(&release);
    let whole = dir.path().join("whole");
    assert_eq!(ran(convert(&release, &whole).args(["--shard-size", "150KB"])).code, Some(0));
    let out = dir.path().join("out");
    let mut first = command(&release, &out, "webdataset").spawn().unwrap();
    while !out.join(".diptych/plan.parquet").exists() {
        assert!(first.try_wait().unwrap().is_none(), "it is at work");
        sleep(Duration::from_millis(1));
    }
    let second = ran(&mut command(&release, &out, "webdataset"));
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains("in use by another process\nhint: "), "{second:?}");
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_same(&tree(&out), &tree(&whole));
}
