//! How complete a copy is.

use diptych_format::{Part, Stated};
use diptych_storage::ReadTree;
use serde::Deserialize;

use crate::reader::ShardReader;

/// Bytes of a shard list of `wids`: a hundred times as many as one of ten thousand shards has.
const LIST: u64 = 64 << 20;

#[derive(Deserialize)]
struct WidsIndex {
    shardlist: Vec<WidsShard>,
}

#[derive(Deserialize)]
struct WidsShard {
    nsamples: u64,
}

/// The lines that tell how complete a copy is.
pub(crate) fn parts(reader: &ShardReader) -> Vec<Part> {
    let mut parts: Vec<_> = reader.counted.iter().map(|counted| counted.part("shards")).collect();
    parts.push(Part {
        name: "samples".to_owned(),
        here: reader.samples(),
        stated: samples_of_lists(reader.tree.as_ref())
            .map(|count| Stated { count, by: "the shard lists of wids".to_owned() }),
        published: None,
        missing: None,
    });
    parts
}

/// How many samples the lists for `wids` say that there are; `None` where there is none, or one
/// cannot be read.
fn samples_of_lists(tree: &dyn ReadTree) -> Option<u64> {
    let names = tree.list().iter().map(|entry| &entry.path);
    let lists = names.filter(|path| {
        let name = path.as_str().strip_prefix("wids-");
        name.is_some_and(|name| name.ends_with(".json"))
    });
    let mut count = None;
    for path in lists {
        let file = tree.open(path).ok()?;
        let mut bytes = vec![0; usize::try_from(Some(file.len()).filter(|n| *n <= LIST)?).ok()?];
        file.read_exact_at(0, &mut bytes).ok()?;
        let list: WidsIndex = serde_json::from_slice(&bytes).ok()?;
        let samples: u64 = list.shardlist.iter().map(|shard| shard.nsamples).sum();
        count = Some(count.unwrap_or(0) + samples);
    }
    count
}
