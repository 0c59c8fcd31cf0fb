//! The rules of this repository that no compiler checks: which crate may know which, what no
//! source may contain, what the documents must name. Each is a test, and each says how much it
//! looked at, so that none can pass by looking at nothing.

mod code;
mod graph;
mod papers;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use code::Code;

/// Folders with source of ours.
const SOURCES: &[&str] = &["crates", "fuzz", "xtask"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below `folder`, by path from the root, sorted. Hidden ones and what is built are left
/// out.
fn files(folder: &str) -> Vec<String> {
    fn walk(path: &Path, name: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let file = entry.file_name().into_string().unwrap();
            if file.starts_with('.') || ["target", "out"].contains(&file.as_str()) {
                continue;
            }
            let name = if name.is_empty() { file } else { format!("{name}/{file}") };
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &name, found);
            } else {
                found.push(name);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), folder, &mut found);
    found.sort();
    found
}

/// A source file of ours.
struct Source {
    /// Path from the root.
    path: String,
    text: String,
    code: Code,
}

impl Source {
    /// Name of the crate that it belongs to: its folder.
    fn package(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or(path)
    }

    /// Whether all of it is for tests: integration tests, and modules called `tests`.
    fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
            || self.path == "xtask/src/tidy.rs"
            || self.path.starts_with("xtask/src/tidy/")
    }

    fn is_example(&self) -> bool {
        self.path.contains("/examples/")
    }

    /// Whether it is part of a library or of the command.
    fn is_shipped(&self) -> bool {
        self.path.starts_with("crates/") && !self.is_test() && !self.is_example()
    }

    /// `PATH:LINE`, for messages.
    fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }
}

/// Every source file of ours.
fn sources() -> Vec<Source> {
    let paths = SOURCES.iter().flat_map(|folder| files(folder));
    let rust = paths.filter(|path| Path::new(path).extension().is_some_and(|ext| ext == "rs"));
    let all: Vec<_> = rust
        .map(|path| {
            let text = read(&path);
            let code = Code::of(&text);
            Source { path, text, code }
        })
        .collect();
    assert!(all.len() >= 80, "only {} sources were found", all.len());
    all
}

/// Names of the formats that the facade lists.
fn formats() -> Vec<&'static diptych::format::About> {
    let all: Vec<_> = diptych::FORMATS.iter().map(|format| format.about()).collect();
    assert!(all.len() >= 2 && all.iter().any(|about| about.reads), "{} formats", all.len());
    all
}

/// Fails with every line of `wrong`, under what the rule is.
#[track_caller]
fn none(wrong: &[String], rule: &str) {
    assert!(wrong.is_empty(), "{rule}:\n  {}", wrong.join("\n  "));
}

/// How often each key occurs.
fn counts<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}
