//! What the tests share: the command, and what the library's tests have of folders and releases.

#![allow(dead_code, reason = "each file of tests uses its part of this")]

#[path = "../../../diptych/tests/support/folder.rs"]
pub(crate) mod folder;
#[cfg(target_os = "linux")]
pub(crate) mod hostile;
#[cfg(unix)]
pub(crate) mod kills;
#[path = "../../../diptych/tests/support/made.rs"]
pub(crate) mod made;
#[path = "../../../diptych/tests/support/release.rs"]
pub(crate) mod release;
#[path = "../../../diptych-storage/tests/tar_support/make.rs"]
pub(crate) mod tars;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The command, with an environment that decides nothing.
pub(crate) fn diptych() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diptych"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// A conversion to WebDataset.
pub(crate) fn convert(release: &Path, out: &Path) -> Command {
    let mut command = diptych();
    command.arg("convert").arg(release);
    command.args(["--to", "webdataset", "--no-sync", "--jobs", "2", "--out"]).arg(out);
    command
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the command with these arguments.
pub(crate) fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    ran(diptych().args(args))
}
