//! Releases of Inter-Edit-Train made by code: as large as asked for, and as odd.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// A release to be made. The first of each pair of samples has a source of its own, the second
/// shares it.
pub(crate) struct Made {
    pub(crate) samples: usize,
    pub(crate) per_shard: usize,
    /// About the bytes of each source and target.
    pub(crate) picture_bytes: usize,
}

impl Made {
    /// Writes the release, each row of which `change` may change.
    pub(crate) fn write_with(&self, root: &Path, mut change: impl FnMut(usize, &mut Value)) {
        for folder in ["metadata", "source_shards", "asset_shards"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let shards = self.samples.div_ceil(self.per_shard);
        let manifest = json!({
            "dataset_name": "Inter-Edit-Train",
            "num_samples": self.samples,
            "samples_per_shard": self.per_shard,
            "num_sample_shards": shards,
            "num_source_shards": shards,
        });
        fs::write(root.join("manifest.json"), manifest.to_string()).unwrap();
        for shard in 0..shards {
            let ids = shard * self.per_shard..((shard + 1) * self.per_shard).min(self.samples);
            let mut lines = Vec::new();
            let mut sources = Vec::new();
            let mut assets = Vec::new();
            for id in ids {
                let mut row = row(id, shard, shards);
                change(id, &mut row);
                lines.extend_from_slice(format!("{row}\n").as_bytes());
                if id.is_multiple_of(2) {
                    let source = png(8, png::ColorType::Rgb, self.picture_bytes, id * 3);
                    sources.push((source_name(id), source));
                }
                let target = png(6, png::ColorType::Rgb, self.picture_bytes, id * 3 + 1);
                assets.push((format!("targets/target_{id:07}.png"), target));
                let mask = png(8, png::ColorType::Grayscale, 100, id * 3 + 2);
                assets.push((format!("masks/mask_{id:07}.png"), mask));
            }
            let of = format!("{shard:05}-of-{shards:05}");
            fs::write(root.join(format!("metadata/train-{of}.jsonl.gz")), gzip(&lines)).unwrap();
            let archives = [("source", sources), ("asset", assets)];
            for (word, members) in archives {
                let path = format!("{word}_shards/{word}-{of}.tar");
                fs::write(root.join(path), archive(&members)).unwrap();
            }
        }
    }

    pub(crate) fn write(&self, root: &Path) {
        self.write_with(root, |_, _| {});
    }
}

fn source_name(id: usize) -> String {
    format!("sources/source_{:07}.png", id / 2)
}

fn row(id: usize, shard: usize, shards: usize) -> Value {
    json!({
        "sample_id": id,
        "source_id": id / 2,
        "edit_type": "Remove",
        "instruction": format!("remove thing {id}"),
        "better_data": id.is_multiple_of(3),
        "bounding_box": [1, 2, 300, 400],
        "bbox_reference_dimensions": {"width": 960, "height": 960},
        "source_archive": format!("source_shards/source-{shard:05}-of-{shards:05}.tar"),
        "source_file": source_name(id),
        "asset_archive": format!("asset_shards/asset-{shard:05}-of-{shards:05}.tar"),
        "target_file": format!("targets/target_{id:07}.png"),
        "mask_file": format!("masks/mask_{id:07}.png"),
    })
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn archive(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

/// A small picture, made longer by a chunk of noise that readers skip.
pub(crate) fn png(side: u32, color: png::ColorType, bytes: usize, seed: usize) -> Vec<u8> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, side, side);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().unwrap();
    let pixels = vec![255; side as usize * side as usize * color.samples()];
    writer.write_image_data(&pixels).unwrap();
    let mut state = seed as u64 * 2 + 1;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .flatten()
    .take(bytes)
    .collect();
    writer.write_chunk(png::chunk::ChunkType(*b"noIs"), &noise).unwrap();
    drop(writer);
    png
}
