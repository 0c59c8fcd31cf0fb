//! The manifest: what a copy says of itself.

use diptych_storage::text::printable;
use diptych_storage::{ReadAt, ReadTree};
use serde_json::Value;

use crate::shards::shard_holds;

/// The manifest's name, at the root.
pub(crate) const MANIFEST: &str = "manifest.json";

/// What the manifest says; what it does not say, or not as a count, is `None`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) dataset_name: Option<String>,
    pub(crate) num_samples: Option<u64>,
    pub(crate) num_unique_source_images: Option<u64>,
    pub(crate) source_per_shard: Option<u64>,
    pub(crate) samples_per_shard: Option<u64>,
    pub(crate) num_source_shards: Option<u64>,
    pub(crate) num_sample_shards: Option<u64>,
    /// What it says that is no count.
    pub(crate) odd: Vec<String>,
}

impl Manifest {
    fn of(json: &serde_json::Map<String, Value>) -> Self {
        let mut odd = Vec::new();
        let mut count = |key: &str| {
            let value = json.get(key).filter(|value| !value.is_null())?;
            let count = as_count(value);
            if count.is_none() {
                odd.push(format!("{key} is no count: {}", printable(value.to_string().as_bytes())));
            }
            count
        };
        Self {
            num_samples: count("num_samples"),
            num_unique_source_images: count("num_unique_source_images"),
            source_per_shard: count("source_per_shard"),
            samples_per_shard: count("samples_per_shard"),
            num_source_shards: count("num_source_shards"),
            num_sample_shards: count("num_sample_shards"),
            dataset_name: json.get("dataset_name").and_then(Value::as_str).map(str::to_owned),
            odd,
        }
    }

    /// How many rows it says that a metadata shard holds: the shard `index` of `count`.
    pub(crate) fn rows_of(&self, (index, count): (u32, u32)) -> Option<u64> {
        let of_it = self.num_sample_shards.is_none_or(|stated| stated == u64::from(count));
        of_it
            .then(|| shard_holds(index, count, self.samples_per_shard?, self.num_samples))
            .flatten()
    }
}

/// A whole number of things, also where it is written `3.0` or `"3"`.
fn as_count(value: &Value) -> Option<u64> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
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
    let parsed = bytes.map_err(|error| error.to_string()).and_then(|bytes| {
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        match serde_json::from_slice(text) {
            Ok(Value::Object(json)) => Ok(Manifest::of(&json)),
            Ok(_) => Err("it is no object".to_owned()),
            Err(error) => Err(format!("it is no JSON: {error}")),
        }
    });
    Some(parsed)
}

fn start_of(file: &dyn ReadAt, most: u64) -> std::io::Result<Vec<u8>> {
    let length = usize::try_from(file.len().min(most)).unwrap_or(0);
    let mut bytes = vec![0; length];
    file.read_exact_at(0, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::{MemoryTree, RelPath};

    fn read(text: &str) -> Result<Manifest, String> {
        let file = (RelPath::new(MANIFEST).unwrap(), text.as_bytes().to_vec());
        manifest(&MemoryTree::new([file])).unwrap()
    }

    #[test]
    fn counts_are_read_as_they_are_written() {
        let text = "\u{feff}{\"num_samples\": 3.0, \"num_source_shards\": \"4\", \
                    \"num_sample_shards\": 5, \"samples_per_shard\": null, \"dataset_name\": 7}";
        let found = read(text).unwrap();
        let counts = [found.num_samples, found.num_source_shards, found.num_sample_shards];
        assert_eq!(counts, [Some(3), Some(4), Some(5)]);
        assert_eq!((found.samples_per_shard, found.dataset_name), (None, None));
        assert_eq!(found.odd, [""; 0]);
    }

    #[test]
    fn what_is_no_count_is_told_and_costs_only_itself() {
        let found =
            read(r#"{"num_samples": -1, "num_source_shards": [2], "num_sample_shards": 5}"#);
        let found = found.unwrap();
        assert_eq!((found.num_samples, found.num_sample_shards), (None, Some(5)));
        let odd = ["num_samples is no count: -1", "num_source_shards is no count: [2]"];
        assert_eq!(found.odd, odd);
        assert_eq!(read("[]").unwrap_err(), "it is no object");
        assert!(read("{").unwrap_err().starts_with("it is no JSON: "));
    }

    #[test]
    fn a_shard_of_another_series_is_not_the_manifests() {
        let found = read(r#"{"num_samples": 20, "samples_per_shard": 8, "num_sample_shards": 3}"#);
        let found = found.unwrap();
        assert_eq!([(0, 3), (2, 3), (2, 4)].map(|of| found.rows_of(of)), [Some(8), Some(4), None]);
    }
}
