//! A release of Inter-Edit-Train read by other code than ours: the official way, by the names in
//! its rows.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What a release says.
pub(crate) struct Release {
    /// The rows of all metadata, in order.
    pub(crate) rows: Vec<Value>,
    /// Members by the archive's path and their name.
    members: BTreeMap<(String, String), Vec<u8>>,
}

impl Release {
    pub(crate) fn read(root: &Path) -> Self {
        let mut rows = Vec::new();
        for name in names(&root.join("metadata")) {
            let file = File::open(root.join("metadata").join(name)).unwrap();
            let mut text = String::new();
            MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
            rows.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        }
        let mut members = BTreeMap::new();
        for folder in ["source_shards", "asset_shards"] {
            for name in names(&root.join(folder)) {
                let path = format!("{folder}/{name}");
                let mut archive = tar::Archive::new(File::open(root.join(&path)).unwrap());
                for entry in archive.entries().unwrap() {
                    let mut entry = entry.unwrap();
                    let member = entry.path().unwrap().to_str().unwrap().to_owned();
                    let mut bytes = Vec::new();
                    entry.read_to_end(&mut bytes).unwrap();
                    members.insert((path.clone(), member), bytes);
                }
            }
        }
        Self { rows, members }
    }

    /// The picture that the row names in the field `file`, in the archive of the field `archive`.
    pub(crate) fn picture(&self, row: &Value, archive: &str, file: &str) -> &[u8] {
        &self.members[&(text(row, archive), text(row, file))]
    }
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A field that is text.
pub(crate) fn text(of: &Value, field: &str) -> String {
    of[field].as_str().unwrap_or_else(|| panic!("{field} of {of}")).to_owned()
}

/// Width and height by a PNG's header.
pub(crate) fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(&bytes[12..16], b"IHDR");
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (side(16), side(20))
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
