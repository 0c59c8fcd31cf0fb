//! The command told to stop by a signal.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use support::folder::{assert_same, tree};
use support::made::Made;
use support::{convert, diptych, ran};

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success(), "{name}");
}

/// Waits for what must come, for as long as the slowest machine needs.
fn wait_for(mut there: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !there() {
        assert!(Instant::now() < end, "it never came");
        sleep(Duration::from_millis(1));
    }
}

fn command(release: &Path, out: &Path) -> Command {
    let mut command = convert(release, out);
    command.args(["--shard-size", "100KB"]).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn a_signal_ends_the_command_with_what_is_done_and_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    Made { samples: 400, per_shard: 100, picture_bytes: 30_000 }.write(&release);
    let whole = dir.path().join("whole");
    assert_eq!(ran(&mut command(&release, &whole)).code, Some(0));
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let out = dir.path().join(name);
        let mut child = command(&release, &out).spawn().unwrap();
        wait_for(|| out.join(".diptych/units/000003").exists());
        signal(&child, name);
        let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{said}");
        let units = std::fs::read_dir(out.join(".diptych/units")).unwrap().count();
        let told = format!("interrupted: {units} of ");
        assert!(said.contains(&told), "{told}: {said}");
        assert!(said.ends_with("\nhint: the same command goes on from there\n"), "{said}");
        let staging = std::fs::read_dir(out.join(".diptych/staging"));
        assert_eq!(staging.into_iter().flatten().count(), 0, "nothing half written is left");
        let again = ran(&mut command(&release, &out));
        assert_eq!(again.code, Some(0), "{again:?}");
        assert!(again.stderr.contains(&format!("{units} units were done before")), "{again:?}");
        assert_same(&tree(&out), &tree(&whole));
    }
}

/// A command that hangs, here in writing to a pipe that nobody reads, ends at the second signal.
#[test]
#[cfg(target_os = "linux")]
fn a_second_signal_ends_what_does_not_end_by_itself() {
    let (_reader, mut writer) = std::io::pipe().unwrap();
    // All but what the command writes: a pipe holds 64 KiB.
    writer.write_all(&[b' '; 60 << 10]).unwrap();
    let mut command = diptych();
    command.args(["completions", "bash"]).stdout(writer).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    wait_for(|| state().contains("State:\tS") && state().contains("Threads:\t2"));
    signal(&child, "INT");
    wait_for(|| state().contains("Threads:\t3"));
    assert!(child.try_wait().unwrap().is_none(), "nothing asks for the signal here");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
