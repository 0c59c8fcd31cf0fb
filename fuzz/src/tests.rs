//! Every target, over what is kept.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The files of a folder, sorted.
fn inputs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn no_input_that_is_kept_does_harm() {
    begin();
    let mut tried = 0;
    for target in TARGETS {
        release::PAIRS.set(0);
        for kept in ["corpus", "regressions"] {
            for path in inputs(&folder(kept).join(target.name)) {
                let input = fs::read(&path).unwrap();
                let done = std::panic::catch_unwind(|| run(target.name, &input));
                assert!(done.is_ok(), "{}", path.display());
                tried += 1;
            }
        }
        // A target that reads releases has inputs that are good ones.
        let pairs = release::PAIRS.get();
        assert!(target.formats.is_empty() || pairs > 0, "{} reads no pair", target.name);
        // Nothing at all is an input too.
        run(target.name, &[]);
    }
    assert!(tried >= 3 * TARGETS.len(), "only {tried} inputs are kept");
}

#[test]
fn more_memory_than_an_input_may_take_is_told_apart() {
    let mut taken = 0;
    memory::bounded(|| taken = vec![1_u8; memory::MOST / 2].len());
    assert_eq!(taken, memory::MOST / 2);
}
