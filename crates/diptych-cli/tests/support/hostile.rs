//! Releases that are made to do harm, and the command held to what it promises of them: it ends in
//! so much memory and time, says where what is wrong is, and touches nothing but its output.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::folder::{json, json_lines};
use super::made::png;

/// Bytes that the command may have for its data, all threads together. The system holds it to that:
/// what asks for more fails, and ends the command.
const MEMORY: u64 = 64 << 20;

/// How long it may take.
const TIME: Duration = Duration::from_secs(10);

/// A release, a place for an output, and what lies around both.
pub(crate) struct Scene {
    dir: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["around/release", "around/here", "around/beside"] {
            fs::create_dir_all(scene.dir.path().join(folder)).unwrap();
        }
        scene.put(&scene.around().join("canary"), b"it sings");
        scene.put(&scene.around().join("beside/picture.png"), &picture(99));
        scene
    }

    /// A release of these files.
    pub(crate) fn of<N: AsRef<str>>(files: impl IntoIterator<Item = (N, Vec<u8>)>) -> Self {
        let scene = Self::new();
        for (name, bytes) in files {
            scene.write(name.as_ref(), &bytes);
        }
        scene
    }

    /// What lies around the release and the output.
    pub(crate) fn around(&self) -> PathBuf {
        self.dir.path().join("around")
    }

    pub(crate) fn release(&self) -> PathBuf {
        self.around().join("release")
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.around().join("out")
    }

    /// Writes a file of the release.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        self.put(&self.release().join(name), bytes);
    }

    fn put(&self, path: &Path, bytes: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A file of the release that is nothing but zeros, and takes no room on the disk.
    pub(crate) fn zeros(&self, name: &str, length: u64) -> File {
        let path = self.release().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = File::create(path).unwrap();
        file.set_len(length).unwrap();
        file
    }

    /// Converts to WebDataset with these further arguments.
    pub(crate) fn convert(&self, args: &[&str]) -> Ended {
        let with = [&["--to", "webdataset"], args].concat();
        self.run("convert", &with)
    }

    /// Runs a command that reads the release and writes the output.
    pub(crate) fn run(&self, verb: &str, args: &[&str]) -> Ended {
        let (release, out) = (self.release(), self.out());
        let mut all: Vec<&str> = vec![verb, release.to_str().unwrap()];
        if verb != "inspect" {
            all.extend(["--no-sync", "--out", out.to_str().unwrap()]);
        }
        all.extend(["--jobs", "2"]);
        all.extend(args);
        if out.exists() {
            fs::remove_dir_all(&out).unwrap();
        }
        let before = self.what_is_there();
        let mut ended = self.bounded(&all);
        assert_eq!(self.what_is_there(), before, "what lies around was touched: {ended:?}");
        let [report, listed] = ["report.json", "rejections.jsonl"].map(|name| out.join(name));
        ended.report = report.exists().then(|| json(&report));
        ended.rejections = if listed.exists() { json_lines(&listed) } else { Vec::new() };
        for rejection in &ended.rejections {
            let at = &rejection["where"];
            assert!(["file", "member", "row"].iter().any(|part| !at[part].is_null()), "{at}");
        }
        if out.exists() {
            assert_harmless_files(&out);
        }
        ended
    }

    fn bounded(&self, args: &[&str]) -> Ended {
        let told = |name: &str| self.dir.path().join(name);
        let stream = |name: &str| Stdio::from(File::create(told(name)).unwrap());
        let begun = Instant::now();
        let mut child = Command::new("prlimit")
            .arg(format!("--data={MEMORY}"))
            .arg(env!("CARGO_BIN_EXE_diptych"))
            .args(args)
            .env("RUST_BACKTRACE", "0")
            .current_dir(self.around().join("here"))
            .stdin(Stdio::null())
            .stdout(stream("stdout"))
            .stderr(stream("stderr"))
            .spawn()
            .unwrap();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if begun.elapsed() > TIME {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |name: &str| String::from_utf8(fs::read(told(name)).unwrap()).unwrap();
        let (stdout, stderr) = (text("stdout"), text("stderr"));
        let code = status.and_then(|status| status.code());
        let ended = Ended { code, stdout, stderr, rejections: Vec::new(), report: None };
        assert!(status.is_some(), "it took more than {TIME:?}: {ended:?}");
        assert!(matches!(code, Some(0..=4)), "it was ended, or died: {status:?}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        let hidden = |c: char| c != '\n' && diptych::storage::text::is_hidden(c);
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(hidden), "{text:?}");
        }
        ended
    }

    /// Everything but the output: its kind, length and time. Files that are never to be read are
    /// not read.
    fn what_is_there(&self) -> BTreeMap<PathBuf, (u32, u64, i64, i64)> {
        fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, (u32, u64, i64, i64)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                if meta.is_dir() {
                    walk(&path, found);
                }
                let what = (meta.mode(), meta.len(), meta.mtime(), meta.mtime_nsec());
                found.insert(path, what);
            }
        }
        let mut found = BTreeMap::new();
        for folder in ["release", "here", "beside", "canary"].map(|of| self.around().join(of)) {
            match folder.is_dir() {
                true => walk(&folder, &mut found),
                false => drop(found.insert(folder, (0, 0, 0, 0))),
            }
        }
        let mut names: Vec<_> = fs::read_dir(self.around())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name != "out")
            .collect();
        names.sort();
        assert_eq!(names, ["beside", "canary", "here", "release"]);
        assert_eq!(fs::read(self.around().join("canary")).unwrap(), b"it sings");
        found
    }
}

/// What an output has is files and folders with names that are safe everywhere, and no links.
fn assert_harmless_files(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let is_safe = |c: char| c.is_ascii_alphanumeric() || "._-=".contains(c);
        assert!(name.chars().all(is_safe) && name.len() < 128, "{name:?}");
        let of = entry.file_type().unwrap();
        assert!(of.is_dir() || of.is_file(), "{name}: {of:?}");
        if of.is_dir() {
            assert_harmless_files(&entry.path());
        }
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// What an output lists; each says where it is.
    pub(crate) rejections: Vec<Value>,
    pub(crate) report: Option<Value>,
}

impl Ended {
    /// It ended with this code.
    #[track_caller]
    pub(crate) fn with(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// It failed, and said all of this.
    #[track_caller]
    pub(crate) fn fails(&self, parts: &[&str]) -> &Self {
        self.with(1);
        for part in parts {
            assert!(self.stderr.contains(part), "{part} is not in {}", self.stderr);
        }
        self
    }

    /// Edits of this kind were rejected, so many, and what is said of each has this in it.
    #[track_caller]
    pub(crate) fn rejects(&self, count: usize, kind: &str, contains: &str) -> &Self {
        let all = &self.rejections;
        let of_it = |rejection: &&Value| {
            let said = format!("{} {}", rejection["cause"], rejection["where"]);
            rejection["kind"] == kind && said.contains(contains)
        };
        assert_eq!(all.iter().filter(of_it).count(), count, "{kind}, {contains}: {all:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn report(&self) -> &Value {
        self.report.as_ref().unwrap_or_else(|| panic!("there is no report: {self:?}"))
    }

    /// This was noticed, and told with this.
    #[track_caller]
    pub(crate) fn notices(&self, kind: &str, contains: &str) -> &Self {
        let mut all = self.report()["notices"].as_array().unwrap().iter();
        let is_it =
            |notice: &Value| notice["kind"] == kind && notice.to_string().contains(contains);
        assert!(all.any(is_it), "{kind}, {contains}: {:#}", self.report()["notices"]);
        self
    }

    /// So many pairs were written.
    #[track_caller]
    pub(crate) fn writes(&self, count: u64) -> &Self {
        assert_eq!(self.report()["total"]["written"], count, "{self:?}");
        self
    }
}

/// A small picture.
pub(crate) fn picture(seed: usize) -> Vec<u8> {
    png(8, png::ColorType::Rgb, 64, seed)
}

/// Files that lie in a folder with a table of JSON lines.
pub(crate) fn folder(lines: &str) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("metadata.jsonl", lines.as_bytes().to_vec()),
        ("a.png", picture(1)),
        ("b.png", picture(2)),
    ]
}

/// A line of such a table.
pub(crate) fn line(source: &str, target: &str) -> String {
    let line = serde_json::json!({
        "source_file_name": source, "target_file_name": target, "instruction": "do",
    });
    format!("{line}\n")
}

/// What is so long, gzipped, without ever being in memory: each part so many times.
pub(crate) fn zipped(parts: &[(&[u8], u64)]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for (part, times) in parts {
        for _ in 0..*times {
            encoder.write_all(part).unwrap();
        }
    }
    encoder.finish().unwrap()
}
