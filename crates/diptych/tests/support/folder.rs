//! Folders: what is in them, copies of them, and whether two hold the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The fixtures of the workspace. Nothing may be written there.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The good release of Inter-Edit-Train.
pub(crate) fn good_release() -> PathBuf {
    fixtures().join("inter-edit-train")
}

/// Everything below a folder, hidden or not: files with their bytes, folders with a `/` at the
/// end of the name and no bytes.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{name}/"), found);
                found.insert(format!("{name}/"), Vec::new());
            } else {
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, "", &mut found);
    found
}

/// Fails where two trees differ in a name or a byte, without printing all of both.
pub(crate) fn assert_same(found: &BTreeMap<String, Vec<u8>>, wanted: &BTreeMap<String, Vec<u8>>) {
    let names = |tree: &BTreeMap<String, Vec<u8>>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(wanted));
    for (name, bytes) in wanted {
        assert!(found[name] == *bytes, "{name} differs");
    }
}

/// Copies a folder; links are followed, and the copies have times of their own.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &place);
        } else {
            // Written anew rather than copied: a copy of a read-only file would be read-only.
            fs::write(place, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// A JSON file.
pub(crate) fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A file of JSON lines.
pub(crate) fn json_lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{} has no end", path.display());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
