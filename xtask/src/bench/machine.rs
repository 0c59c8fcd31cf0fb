//! What is told of the machine, and the programs that are run on it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::works::PACKAGES;

/// What a machine has. What cannot be known of it is `None`.
pub(super) struct Machine {
    pub(super) cores: Option<usize>,
    pub(super) processor: Option<String>,
    pub(super) memory_bytes: Option<u64>,
}

impl Machine {
    pub(super) fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().ok().map(std::num::NonZeroUsize::get),
            processor: field(&read("/proc/cpuinfo"), "model name").map(str::to_owned),
            memory_bytes: field(&read("/proc/meminfo"), "MemTotal").and_then(kilobytes),
        }
    }
}

/// The value of the first line `NAME: VALUE`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim())
}

fn kilobytes(value: &str) -> Option<u64> {
    value.strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// A file system that is mounted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    point: PathBuf,
    pub(super) kind: String,
}

/// Where a path, absolute and without links, lies; `None` where the system does not say.
pub(super) fn mount_of(path: &Path) -> Option<Mount> {
    mount_in(&fs::read_to_string("/proc/self/mounts").ok()?, path)
}

fn mount_in(mounts: &str, path: &Path) -> Option<Mount> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some(Mount { point: words.next()?.into(), kind: words.next()?.to_owned() })
    });
    // Of those mounted at one place the last is seen, which is what `max_by_key` gives.
    mounts
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// Bytes that can be written to the file system of a path; `None` where `df` does not say.
pub(super) fn free_bytes(path: &Path) -> Option<u64> {
    let text = said([OsStr::new("df"), OsStr::new("-Pk"), path.as_os_str()])?;
    let blocks = text.lines().nth(1)?.split_whitespace().nth(3)?;
    blocks.parse::<u64>().ok()?.checked_mul(1024)
}

/// The versions of what is run: ours, GNU's, and with `python` of that and its packages.
pub(super) fn versions(root: &Path, diptych: &Path, python: Option<&Path>) -> Vec<String> {
    let version = OsStr::new("--version");
    let first_line = |program: &OsStr| {
        let text = said([program, version])?;
        text.lines().next().map(str::to_owned)
    };
    let ours = first_line(diptych.as_os_str());
    // Without the locks that would get into the way of whoever works in the repository meanwhile.
    let describe = ["--no-optional-locks", "describe", "--always", "--dirty"].map(OsStr::new);
    let git = ["git", "-C"].map(OsStr::new).into_iter().chain([root.as_os_str()]);
    let commit =
        said(git.chain(describe)).map(|text| format!("this repository at {}", text.trim()));
    let gnu = ["tar", "cp"].map(|name| first_line(OsStr::new(name)));
    let packages = python.and_then(|python| {
        let script = "import sys\nfrom importlib import metadata\n\
                      print('Python', sys.version.split()[0])\n\
                      for name in sys.argv[1:]:\n    \
                      try: print(name, metadata.version(name))\n    \
                      except metadata.PackageNotFoundError: pass\n";
        let words = [python.as_os_str(), OsStr::new("-c"), OsStr::new(script)];
        said(words.into_iter().chain(PACKAGES.iter().map(OsStr::new)))
    });
    let packages = packages.iter().flat_map(|text| text.lines()).map(str::to_owned);
    ours.into_iter().chain(commit).chain(gnu.into_iter().flatten()).chain(packages).collect()
}

/// What a command printed, where it is there and did not fail.
fn said<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Option<String> {
    let mut words = words.into_iter();
    let mut command = Command::new(words.next()?);
    let command = command.args(words).stdin(Stdio::null());
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then_some(text)
}

/// Builds a program of this workspace as it is released, and says where it is.
pub(super) fn build(root: &Path, what: &[&str]) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--message-format", "json-render-diagnostics"])
        .args(what)
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "cargo build {} failed", what.join(" "));
    let messages = String::from_utf8(output.stdout).context("what cargo printed is no text")?;
    executable(&messages).with_context(|| format!("cargo build {} made no program", what.join(" ")))
}

/// The program that cargo's messages tell of: the last one.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let text = "MemTotal:       24689764 kB\nMemFree:  1 kB\n";
        assert_eq!(field(text, "MemTotal").and_then(kilobytes), Some(24_689_764 * 1024));
        assert_eq!(field("model name\t: A Processor\n", "model name"), Some("A Processor"));
        assert_eq!(field(text, "Mem"), None);
    }

    #[test]
    fn the_nearest_mount_is_found() {
        let mounts = "a / ext4 rw 0 0\nb /data xfs rw 0 0\nc /data tmpfs rw 0 0\nd /data2 nfs rw\n";
        let kind = |path: &str| mount_in(mounts, Path::new(path)).map(|mount| mount.kind);
        assert_eq!(kind("/data/x").as_deref(), Some("tmpfs"));
        assert_eq!(kind("/data2").as_deref(), Some("nfs"));
        assert_eq!(kind("/dat").as_deref(), Some("ext4"));
        assert_eq!(mount_in("", Path::new("/")), None);
    }

    #[test]
    fn what_a_command_says_is_kept_unless_it_fails() {
        let said = |script| said(["sh", "-c", script].map(OsStr::new));
        assert_eq!(said("echo a").as_deref(), Some("a\n"));
        assert_eq!((said("echo a; exit 1"), said("true")), (None, None));
        assert!(free_bytes(Path::new(".")).is_none_or(|bytes| bytes % 1024 == 0));
    }

    #[test]
    fn the_program_that_was_built_is_found() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"a/b\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("a/b")));
        assert_eq!(executable("no json\n"), None);
    }
}
