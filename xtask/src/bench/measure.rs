//! One run of one command: how long the whole process took, and the most memory it had.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

/// GNU time. The most memory of a child has to be asked of the kernel by whoever waits for it, and
/// the standard library does not; this small program does, and the memory of the program that
/// starts a contestant counts as the contestant's until that is running.
const TIME: &str = "/usr/bin/time";

/// Lines of a contestant's standard error that are shown when it fails: the last ones.
const SHOWN_LINES: usize = 20;

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) seconds: f64,
    /// Of the largest of the processes that took part. `None` where [`TIME`] is not there.
    pub(super) peak_bytes: Option<u64>,
}

/// Whether [`TIME`] is there, and is GNU's: memory is not measured otherwise.
pub(super) fn has_time() -> bool {
    let mut command = Command::new(TIME);
    let command = command.args(["-q", "-f", "%M", "true"]).stdin(Stdio::null());
    let output = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    output.is_ok_and(|status| status.success())
}

/// Runs commands, each with a fresh folder to write into.
pub(super) struct Meter {
    /// Ours alone; removed in the end.
    scratch: PathBuf,
    has_time: bool,
}

impl Meter {
    /// A meter whose commands write below a new folder in `parent`.
    pub(super) fn new(parent: &Path) -> anyhow::Result<Self> {
        let scratch = parent.join(format!("diptych-bench-{}", std::process::id()));
        fs::create_dir(&scratch).with_context(|| format!("making {}", scratch.display()))?;
        // What others wrote before must not be written to the disk at a contestant's cost. Once is
        // enough, since outputs are removed; and waiting for it before each run would give the
        // host of a virtual machine the time to take freed memory back, for which the next to
        // write waits page by page.
        Command::new("sync").status().context("running sync")?;
        Ok(Self { scratch, has_time: has_time() })
    }

    /// Where a command may write: nothing is there when it starts, and what is there when it has
    /// ended is removed.
    pub(super) fn out(&self) -> PathBuf {
        self.folder().join("out")
    }

    fn folder(&self) -> PathBuf {
        self.scratch.join("run")
    }

    /// Runs a command once. What it prints is not kept; where it fails, the error says what it
    /// printed to standard error.
    pub(super) fn run(&self, command: &[OsString]) -> anyhow::Result<Measured> {
        let folder = self.folder();
        fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
        let measured = self.run_in(&folder, command);
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
        measured
    }

    fn run_in(&self, folder: &Path, command: &[OsString]) -> anyhow::Result<Measured> {
        let (peak_file, stderr_file) = (folder.join("peak"), folder.join("stderr"));
        let mut words: Vec<&OsStr> = Vec::new();
        if self.has_time {
            words.extend([TIME, "-q", "-f", "%M", "-o"].map(OsStr::new));
            words.extend([peak_file.as_os_str(), OsStr::new("--")]);
        }
        words.extend(command.iter().map(OsString::as_os_str));
        let (program, arguments) = words.split_first().context("a command without words")?;
        let stderr = File::create(&stderr_file).context("making a file for standard error")?;
        let start = Instant::now();
        let status = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .status()
            .with_context(|| format!("starting {}", program.display()))?;
        let seconds = start.elapsed().as_secs_f64();
        if !status.success() {
            bail!("{status}\n{}", last_lines(&fs::read(&stderr_file).unwrap_or_default()));
        }
        let peak_bytes = self.has_time.then(|| peak(&peak_file)).transpose()?;
        Ok(Measured { seconds, peak_bytes })
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // Whatever hinders it shows in the folder that is left.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// What [`TIME`] wrote: a number of KiB.
fn peak(file: &Path) -> anyhow::Result<u64> {
    let text = fs::read_to_string(file).with_context(|| format!("reading what {TIME} wrote"))?;
    let kib: u64 = text.trim().parse().with_context(|| format!("{TIME} wrote {text:?}"))?;
    Ok(kib * 1024)
}

fn last_lines(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<_> = text.lines().collect();
    let shown = lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default();
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, out: &Path) -> Vec<OsString> {
        ["sh", "-c", script, "sh"].map(OsString::from).into_iter().chain([out.into()]).collect()
    }

    fn is_empty(folder: &Path) -> bool {
        fs::read_dir(folder).unwrap().next().is_none()
    }

    #[test]
    fn a_run_is_timed_and_its_output_removed() {
        let parent = tempfile::tempdir().unwrap();
        let meter = Meter::new(parent.path()).unwrap();
        for _ in 0..2 {
            let script = "test ! -e \"$1\" && mkdir \"$1\" && echo x > \"$1/y\" && sleep 0.02";
            let measured = meter.run(&sh(script, &meter.out())).unwrap();
            assert!(measured.seconds >= 0.02, "{measured:?}");
            assert_eq!(measured.peak_bytes.is_some(), has_time());
            assert!(measured.peak_bytes.is_none_or(|peak| peak > 100_000), "{measured:?}");
            assert!(is_empty(&meter.scratch));
        }
        drop(meter);
        assert!(is_empty(parent.path()));
    }

    #[test]
    fn a_failure_says_what_was_said() {
        let parent = tempfile::tempdir().unwrap();
        let meter = Meter::new(parent.path()).unwrap();
        let script = "mkdir \"$1\"; seq 100 >&2; echo it is broken >&2; exit 7";
        let error = meter.run(&sh(script, &meter.out())).unwrap_err().to_string();
        let lines: Vec<_> = error.lines().collect();
        assert_eq!(lines.len(), 1 + SHOWN_LINES, "{error}");
        assert!(lines[0].contains('7') && lines.last() == Some(&"it is broken"), "{error}");
        assert!(is_empty(&meter.scratch));
        assert!(meter.run(&["no-such-program-as-this".into()]).is_err());
        assert!(is_empty(&meter.scratch));
    }
}
