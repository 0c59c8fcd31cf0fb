//! No room, no permission, too few files or threads, and releases that change: an error that names
//! the file, nothing that looks complete, and the same command goes on when it is mended.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use support::folder::{assert_same, copy, fixtures, good_release, tree};
use support::kills::Phase;
use support::made::Made;
use support::{Ran, convert, diptych, ran};

/// A command run by a shell that does `before` first, and becomes it.
fn after(before: &str, command: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{before}; exec \"$@\""), "bash"]);
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    shell
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The same command as a user to whom permissions mean something.
fn unprivileged(command: &Command) -> Command {
    if !is_root() {
        return after("true", command);
    }
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    other.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    other
}

/// A folder that any user may write in.
fn for_anybody() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    dir
}

/// What every such failure owes: code 1, one error that says all of `words`, and a remedy.
fn assert_fails(failed: &Ran, words: &[&str]) {
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.starts_with("error: "), "{failed:?}");
    assert!(failed.stderr.contains("\nhint: "), "no hint: {failed:?}");
    for word in words {
        assert!(failed.stderr.contains(word), "{word} in {failed:?}");
    }
}

/// Runs a script in which file systems can be mounted. `false` where nobody may do that here.
fn mounting(script: &str, args: &[&Path]) -> bool {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "bash", "-euc", script, "bash"]).args(args);
    let done = command.output().unwrap();
    if done.status.success() {
        return true;
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let may_not = said.contains("unshare failed") || said.contains("permission denied");
    assert!(may_not && std::env::var("CI").as_deref() != Ok("true"), "{said}");
    #[expect(clippy::print_stderr, reason = "a test that is not done says so")]
    {
        eprintln!("not done, since nothing can be mounted here: {said}");
    }
    false
}

/// What a command did in a script.
fn told(dir: &Path, name: &str) -> Ran {
    let read = |end: &str| fs::read_to_string(dir.join(format!("{name}.{end}"))).unwrap();
    let code = read("code").trim().parse().unwrap();
    Ran { code: Some(code), stdout: String::new(), stderr: read("err") }
}

/// Fills a disk of so many bytes, then makes it larger. Gives what was told at first and at last.
const FILL: &str = r#"
room=$1/room
mount -t tmpfs -o size=$2 tmpfs "$room"
code=0; "${@:3}" 2> "$1/first.err" || code=$?
echo $code > "$1/first.code"
rm -rf "$1/first" "$1/second"
if test -e "$room/out"; then cp -r "$room/out" "$1/first"; else mkdir "$1/first"; fi
mount -o remount,size=64M "$room"
code=0; if ! test -e "$room/out/report.json"; then "${@:3}" 2> "$1/second.err" || code=$?; fi
echo $code > "$1/second.code"
cp -r "$room/out" "$1/second"
"#;

#[test]
fn a_disk_that_is_full_at_any_moment_is_told_of_and_gone_on_with() {
    let all = [Phase::Reading, Phase::Planning, Phase::Writing, Phase::Finishing];
    fill("webdataset", PAGE, &all);
}

#[test]
fn a_disk_that_is_full_of_pictures_is_told_of_and_gone_on_with() {
    fill("folder", 5 * PAGE, &[Phase::Reading, Phase::Writing]);
}

const PAGE: u64 = 4096;

/// Converts on disks of growing sizes, `step` by `step`, until one is large enough.
fn fill(to: &str, step: u64, phases: &[Phase]) {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    let (release, room) = (place("release"), place("room"));
    Made { samples: 8, per_shard: 4, picture_bytes: 2_000 }.write(&release);
    fs::create_dir(&room).unwrap();
    let command = |out: &Path| converting(&release, out, to);
    assert_eq!(ran(&mut command(&place("whole"))).code, Some(0));
    let whole = tree(&place("whole"));
    let mut met = BTreeSet::new();
    for pages in 2.. {
        let size = (pages * step).to_string();
        let command = command(&room.join("out"));
        let mut args = vec![dir.path(), Path::new(&size), Path::new(command.get_program())];
        args.extend(command.get_args().map(Path::new));
        if !mounting(FILL, &args) {
            return;
        }
        let (first, last) = (told(dir.path(), "first"), told(dir.path(), "second"));
        assert_eq!(last.code, Some(0), "{size}: {last:?}");
        assert_same(&tree(&place("second")), &whole);
        if first.code == Some(0) {
            break;
        }
        assert_fails(&first, &["No space left on device", "out/.diptych", "make room"]);
        let phase = Phase::of(&place("first"), "report.json");
        assert!(phase < Phase::Removing, "{size}: {phase:?}");
        met.insert(phase);
    }
    for phase in phases {
        assert!(met.contains(phase), "no disk was full in {phase:?}: {met:?}");
    }
}

/// A durable conversion in small units.
fn converting(release: &Path, out: &Path, to: &str) -> Command {
    let mut command = diptych();
    command.arg("convert").arg(release).args(["--to", to, "--shard-size", "10KB"]);
    command.args(["--jobs", "2", "--mask-from", "release", "--out"]).arg(out);
    command
}

/// Makes a file system read-only before, or after it has an output that was begun.
const READ_ONLY: &str = r#"
room=$1/room
mount -t tmpfs tmpfs "$room"
"${@:3}" plan "$2" --to webdataset --quiet --out "$room/begun"
mount -o remount,ro "$room"
for out in new begun; do
    code=0
    "${@:3}" convert "$2" --to webdataset --out "$room/$out" 2> "$1/$out.err" || code=$?
    echo $code > "$1/$out.code"
done
"#;

#[test]
fn a_file_system_that_is_read_only_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("room")).unwrap();
    let command = diptych();
    let args = [dir.path(), &good_release(), Path::new(command.get_program())];
    if mounting(READ_ONLY, &args) {
        for out in ["new", "begun"] {
            let words = ["Read-only file system", &format!("room/{out}"), "--out"];
            assert_fails(&told(dir.path(), out), &words);
        }
    }
}

#[test]
fn a_file_that_may_not_be_so_large_is_told_of_and_the_process_lives() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, out) = (dir.path().join("whole"), dir.path().join("out"));
    assert_eq!(ran(&mut convert(&good_release(), &whole)).code, Some(0));
    let command = convert(&good_release(), &out);
    // In kilobytes: less than a shard, more than a partition of the catalog.
    let failed = ran(&mut after("ulimit -f 160", &command));
    assert_fails(&failed, &["File too large", "out/.diptych/staging/", "ulimit -f"]);
    assert!(!out.join("report.json").exists());
    assert_eq!(ran(&mut convert(&good_release(), &out)).code, Some(0));
    assert_same(&tree(&out), &tree(&whole));
}

#[test]
fn an_output_that_this_user_may_not_write_is_told_of() {
    let dir = for_anybody();
    let parent = dir.path().join("parent");
    fs::create_dir(&parent).unwrap();
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o555)).unwrap();
    let failed = ran(&mut unprivileged(&convert(&good_release(), &parent.join("out"))));
    assert_fails(&failed, &["Permission denied", "parent/out", "may"]);

    let file = dir.path().join("file");
    fs::write(&file, "of somebody").unwrap();
    let failed = ran(&mut convert(&good_release(), &file));
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("file is not a folder"), "{failed:?}");
    let failed = ran(&mut convert(&good_release(), &file.join("out")));
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("file/out"), "{failed:?}");
    assert_eq!(fs::read(&file).unwrap(), b"of somebody");
}

#[test]
fn a_file_of_the_release_that_this_user_may_not_read_is_named() {
    let files = [
        "metadata/train-00001-of-00003.jsonl.gz",
        "asset_shards/asset-00001-of-00003.tar",
        "source_shards/source-00001-of-00003.tar",
    ];
    for name in files {
        let dir = for_anybody();
        let (release, out) = (dir.path().join("release"), dir.path().join("out"));
        copy(&good_release(), &release);
        let file = release.join(name);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
        let failed = ran(&mut unprivileged(&convert(&release, &out)));
        assert_fails(&failed, &["Permission denied", name, "read the release"]);
        assert!(!out.join("report.json").exists());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(ran(&mut unprivileged(&convert(&release, &out))).code, Some(0));
    }
}

/// A folder that is not for us need not be of the release, and costs what it costs by name.
#[test]
fn a_folder_of_the_release_that_this_user_may_not_read_is_named() {
    let dir = for_anybody();
    let (release, out) = (dir.path().join("release"), dir.path().join("out"));
    copy(&good_release(), &release);
    let folder = release.join("asset_shards");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    let failed = ran(&mut unprivileged(&convert(&release, &out)));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(failed.code, Some(4), "{failed:?}");
    assert!(failed.stderr.contains("asset_shards: a folder that cannot be read"), "{failed:?}");
}

#[test]
fn threads_that_cannot_be_started_are_told_of() {
    let dir = for_anybody();
    let command = convert(&good_release(), &dir.path().join("out"));
    let failed = ran(&mut unprivileged(&after("ulimit -u 1", &command)));
    assert_fails(&failed, &["cannot start threads", "temporarily unavailable", "ulimit -u"]);
}

/// Sixty-four open files at most, of which a release and an output have hundreds.
#[test]
fn few_open_files_are_enough_for_hundreds() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    Made { samples: 200, per_shard: 2, picture_bytes: 200 }.write(&place("made"));
    let limited = |release: &Path, to: &str, jobs: &str, out: &Path| {
        let mut command = diptych();
        command.arg("convert").arg(release).args(["--to", to, "--shard-size", "1KB", "--no-sync"]);
        command.args(["--jobs", jobs, "--mask-from", "release", "--quiet", "--out"]).arg(out);
        let done = ran(&mut after("ulimit -n 64", &command));
        assert_eq!(done.code, Some(0), "{} to {to}: {done:?}", release.display());
    };
    for to in ["webdataset", "parquet", "folder", "pape"] {
        for jobs in ["2", "8"] {
            limited(&place("made"), to, jobs, &place(&format!("{to}-{jobs}")));
        }
        let made = tree(&place(&format!("{to}-2")));
        assert!(made.len() > 150, "{to}: {} files", made.len());
        assert_same(&made, &tree(&place(&format!("{to}-8"))));
        // What is made is read as well.
        for jobs in ["2", "8"] {
            limited(
                &place(&format!("{to}-2")),
                "parquet",
                jobs,
                &place(&format!("{to}-{jobs}-again")),
            );
        }
    }
    limited(&fixtures().join("imgedit"), "webdataset", "8", &place("imgedit"));
}
