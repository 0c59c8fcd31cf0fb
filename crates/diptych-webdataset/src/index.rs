//! What other readers would make in a pass of their own: the shard lists of `wids`, and Energon's
//! `.nv-meta` with the offsets of each shard's samples.

use std::collections::BTreeMap;
use std::fmt::Write;

use diptych_format::FormatError;
use diptych_schema::Split;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};

/// The version of Energon whose layout this is.
const ENERGON: &str = "7.4.1";

/// A shard with its final name.
pub(crate) struct NamedShard {
    pub(crate) split: Split,
    pub(crate) name: String,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

#[derive(Serialize)]
struct WidsIndex<'a> {
    #[serde(rename = "__kind__")]
    kind: &'static str,
    wids_version: u32,
    name: &'static str,
    shardlist: Vec<WidsShard<'a>>,
}

#[derive(Serialize)]
struct WidsShard<'a> {
    url: &'a str,
    nsamples: u64,
    filesize: u64,
}

#[derive(Serialize)]
struct EnergonInfo<'a> {
    energon_version: &'static str,
    shard_counts: InOrder<'a>,
}

/// Shards and their samples, in the order of the shards.
struct InOrder<'a>(&'a [NamedShard]);

impl Serialize for InOrder<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|shard| (&shard.name, shard.samples)))
    }
}

/// The files that stand beside the shards, by name.
pub(crate) fn files(shards: &[NamedShard]) -> Result<BTreeMap<String, String>, FormatError> {
    let mut files = BTreeMap::new();
    let mut parts = String::new();
    for &split in Split::ALL {
        let of_split: Vec<_> = shards.iter().filter(|shard| shard.split == split).collect();
        if of_split.is_empty() {
            continue;
        }
        let _ = writeln!(parts, "  {split}:");
        for shard in &of_split {
            let _ = writeln!(parts, "  - {}", shard.name);
        }
        let shardlist = of_split
            .into_iter()
            .map(|shard| WidsShard {
                url: &shard.name,
                nsamples: shard.samples,
                filesize: shard.bytes,
            })
            .collect();
        let index = WidsIndex {
            kind: "wids-shard-index-v1",
            wids_version: 1,
            name: split.word(),
            shardlist,
        };
        files.insert(format!("wids-{split}.json"), json(&index)?);
    }
    let info = EnergonInfo { energon_version: ENERGON, shard_counts: InOrder(shards) };
    files.insert(".nv-meta/.info.json".to_owned(), json(&info)?);
    let dataset = "__module__: megatron.energon\n__class__: CrudeWebdataset\n";
    files.insert(".nv-meta/dataset.yaml".to_owned(), dataset.to_owned());
    let split = format!("split_parts:\n{parts}exclude: []\n");
    files.insert(".nv-meta/split.yaml".to_owned(), split);
    Ok(files)
}

/// JSON as those readers write it themselves: indented by one space.
fn json(value: &impl Serialize) -> Result<String, FormatError> {
    let what = "a shard index";
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b" "));
    value.serialize(&mut serializer).map_err(|source| FormatError::Json { what, source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where samples begin and where the last one ends, each as 8 bytes, the low one first.
pub(crate) fn offsets(begins: &[u64], end: u64) -> Vec<u8> {
    begins.iter().chain([&end]).flat_map(|offset| offset.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards() -> Vec<NamedShard> {
        let shard = |split: Split, i: u32, of: u32, samples, bytes| NamedShard {
            split,
            name: format!("data/{split}-{i:05}-of-{of:05}.tar"),
            samples,
            bytes,
        };
        vec![
            shard(Split::Train, 0, 3, 7, 30_720),
            shard(Split::Train, 1, 3, 7, 51_200),
            shard(Split::Train, 2, 3, 6, 40_960),
            shard(Split::Val, 0, 1, 6, 30_720),
            shard(Split::Test, 0, 1, 4, 30_720),
        ]
    }

    #[test]
    fn the_lists_are_as_their_readers_write_them() {
        let files = files(&shards()).unwrap();
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                ".nv-meta/.info.json",
                ".nv-meta/dataset.yaml",
                ".nv-meta/split.yaml",
                "wids-test.json",
                "wids-train.json",
                "wids-val.json",
            ]
        );
        assert_eq!(files["wids-train.json"], include_str!("golden/wids-train.json"));
        assert_eq!(files[".nv-meta/.info.json"], include_str!("golden/nv-meta-info.json"));
        assert_eq!(files[".nv-meta/split.yaml"], include_str!("golden/nv-meta-split.yaml"));
    }

    #[test]
    fn a_split_without_shards_is_not_mentioned() {
        let files = files(&shards()[..1]).unwrap();
        assert!(!files.contains_key("wids-val.json"));
        assert!(!files[".nv-meta/split.yaml"].contains("val:"));
    }

    #[test]
    fn offsets_are_little_endian_with_the_end_behind_them() {
        let expected: Vec<u8> =
            [0_u64, 3072, 6144].iter().flat_map(|offset| offset.to_le_bytes()).collect();
        assert_eq!(offsets(&[0, 3072], 6144), expected);
        assert_eq!(offsets(&[0], 1 << 40)[8..], [0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
