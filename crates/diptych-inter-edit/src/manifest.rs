//! The manifest: what a copy says of itself.

use diptych_storage::{ReadAt, ReadTree};
use serde::Deserialize;

/// The manifest's name, at the root.
pub(crate) const MANIFEST: &str = "manifest.json";

/// What the manifest says; what it does not say is `None`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Manifest {
    pub(crate) dataset_name: Option<String>,
    pub(crate) num_samples: Option<u64>,
    pub(crate) num_unique_source_images: Option<u64>,
    pub(crate) source_per_shard: Option<u64>,
    pub(crate) samples_per_shard: Option<u64>,
    pub(crate) num_source_shards: Option<u64>,
    pub(crate) num_sample_shards: Option<u64>,
}

/// Bytes of a manifest that are looked at; the released one has 571.
const MANIFEST_BYTES: u64 = 1 << 20;

/// The manifest, or why it cannot be read; `None` where there is none.
pub(crate) fn manifest(tree: &dyn ReadTree) -> Option<Result<Manifest, String>> {
    let entry = tree.entry(MANIFEST)?;
    if entry.length > MANIFEST_BYTES {
        return Some(Err(format!("{} bytes are too many for a manifest", entry.length)));
    }
    let bytes = tree.open(&entry.path).and_then(|file| start_of(file.as_ref(), MANIFEST_BYTES));
    let parsed = bytes
        .map_err(|error| error.to_string())
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    Some(parsed)
}

fn start_of(file: &dyn ReadAt, most: u64) -> std::io::Result<Vec<u8>> {
    let length = usize::try_from(file.len().min(most)).unwrap_or(0);
    let mut bytes = vec![0; length];
    file.read_exact_at(0, &mut bytes)?;
    Ok(bytes)
}
