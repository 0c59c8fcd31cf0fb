//! Copies that are not laid out as the release was: rows in other containers and by other names,
//! pictures found without the archive that holds them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests state what they expect by panicking")]

use std::io::Write;
use std::sync::Arc;

use diptych_format::{Edit, Options, Probe, Reader, ReaderInput, Tally};
use diptych_schema::{Address, EditPair, Split};
use diptych_storage::{Limits, MemoryTree, RelPath};

/// The first bytes of a PNG of this size: all that a reader looks at.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn tar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn open(files: &[(&str, Vec<u8>)]) -> Box<dyn Reader> {
    let files = files.iter().map(|(name, bytes)| (RelPath::new(name).unwrap(), bytes.clone()));
    let input = ReaderInput {
        tree: Arc::new(MemoryTree::new(files)),
        label: "copy",
        options: &Options::default(),
        limits: Limits::DEFAULT,
        probe: Probe::Header,
    };
    diptych_inter_edit::FORMAT.open_reader(input).unwrap()
}

fn pairs(reader: &dyn Reader) -> Vec<EditPair> {
    let mut all = Vec::new();
    for partition in 0..reader.partitions().len() {
        let mut edits = reader.read(partition).unwrap();
        while let Some(edit) = edits.next().unwrap() {
            match edit {
                Edit::Pair(pair) => all.push(*pair),
                Edit::Rejected(rejection) => panic!("{rejection:?}"),
            }
        }
        assert!(edits.next().unwrap().is_none(), "it stays at its end");
    }
    all
}

/// Path of the file that a picture's bytes are in, and their length.
fn place(reader: &dyn Reader, address: &Address) -> (String, u64) {
    let Address::Range { file, length, .. } = address else { panic!("{address:?}") };
    let file = reader.files().get(*file as usize).unwrap();
    (file.pieces.first().unwrap().to_string(), *length)
}

fn source_sizes(reader: &dyn Reader) -> Vec<Option<(u32, u32)>> {
    pairs(reader).iter().map(|pair| pair.source.size()).collect()
}

#[test]
fn a_json_list_of_loose_pictures_by_the_official_loaders_names() {
    let rows = r#"[
        {"original_image_path": "/data/somewhere/images/a.png",
         "edited_image_path": "./images/b.png", "mask_image_path": "images/m.png",
         "edit_instruction": "make it blue", "edit_type": "Local"},
        {"image_path": "images/a.png", "gt_path": "images/b.png", "edit_prompt": "移除"}
    ]"#;
    let reader = open(&[
        ("Inter-Edit-train.json", rows.as_bytes().to_vec()),
        ("images/a.png", png(40, 30)),
        ("images/b.png", png(32, 24)),
        ("images/m.png", png(40, 30)),
    ]);
    let found = pairs(reader.as_ref());
    let ids: Vec<_> = found.iter().map(|pair| pair.pair_id.as_str()).collect();
    // Without a sample_id, the id is the row's file and number.
    let wanted = ["inter-edit-train:Inter-Edit-train:0", "inter-edit-train:Inter-Edit-train:1"];
    assert_eq!(ids, wanted);
    let [first, second] = found.as_slice() else { panic!("{ids:?}") };
    assert_eq!(first.source.name, "/data/somewhere/images/a.png");
    assert_eq!(place(reader.as_ref(), &first.source.address), ("images/a.png".to_owned(), 33));
    assert_eq!((first.source.size(), first.split), (Some((40, 30)), None));
    assert_eq!(first.instruction.as_deref(), Some("make it blue"));
    assert_eq!(first.mask.as_ref().map(|mask| mask.grid.word()), Some("source"));
    assert_eq!((&second.mask, second.language.as_deref()), (&None, Some("zh")));
}

#[test]
fn pictures_are_found_in_whichever_archive_has_them() {
    let row = r#"{"sample_id": 3, "source_path": "sources/x.png", "target_image": "t.png",
                  "instruction": "x"}"#
        .replace('\n', " ");
    let reader = open(&[
        ("metadata/val-00000-of-00001.jsonl", (row + "\r\n").into_bytes()),
        ("a.tar", tar(&[("other.png", png(1, 1))])),
        ("b.tar", tar(&[("./sources/x.png", png(40, 30)), ("t.png", png(8, 8))])),
    ]);
    let found = pairs(reader.as_ref());
    let [pair] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((pair.pair_id.as_str(), pair.split), ("inter-edit-train:0000003", Some(Split::Val)));
    assert_eq!(place(reader.as_ref(), &pair.source.address).0, "b.tar");
    assert_eq!(pair.target.as_ref().unwrap().size(), Some((8, 8)));
}

/// Two sources and one sample a shard, in rows that name no archives.
fn without_archives(manifest: Option<&str>) -> Vec<(&'static str, Vec<u8>)> {
    let row = |sample: u32, source: u32| {
        format!(
            "{{\"sample_id\": {sample}, \"source_id\": {source}, \"instruction\": \"x\", \
             \"source_file\": \"sources/source_{source:07}.png\", \
             \"target_file\": \"targets/target_{sample:07}.png\"}}\n"
        )
    };
    let source = |number: u32, side| (format!("sources/source_{number:07}.png"), png(side, side));
    let target = |number: u32| (format!("targets/target_{number:07}.png"), png(9, 9));
    let shard = |members: Vec<(String, Vec<u8>)>| {
        let members: Vec<_> = members.iter().map(|(n, b)| (n.as_str(), b.clone())).collect();
        tar(&members)
    };
    let mut files = vec![
        ("metadata/train-00000-of-00001.jsonl.gz", gzip(&(row(0, 0) + &row(1, 2)))),
        // The first has a name that belongs into the second.
        ("source_shards/source-00000-of-00002.tar", shard(vec![source(0, 9), source(2, 5)])),
        ("source_shards/source-00001-of-00002.tar", shard(vec![source(2, 7)])),
        ("asset_shards/asset-00000-of-00002.tar", shard(vec![target(0)])),
        ("asset_shards/asset-00001-of-00002.tar", shard(vec![target(1)])),
    ];
    files.extend(manifest.map(|text| ("manifest.json", text.as_bytes().to_vec())));
    files
}

#[test]
fn the_manifest_says_which_archive_a_row_means_and_is_held_against_what_is_there() {
    let manifest = r#"{"dataset_name": "Inter-Edit-Train", "num_samples": 2,
        "num_unique_source_images": 3, "source_per_shard": 2, "samples_per_shard": 1,
        "num_source_shards": 2, "num_sample_shards": 2}"#;
    let reader = open(&without_archives(Some(manifest)));
    assert_eq!(source_sizes(reader.as_ref()), [Some((9, 9)), Some((7, 7))]);
    let tally = Tally { edits: vec![2], pairs: vec![2] };
    let told: Vec<_> =
        reader.notices(&tally).iter().map(|n| format!("{}: {}", n.at, n.detail)).collect();
    assert_eq!(
        told,
        [
            "copy/manifest.json: it says that there are 2 metadata shards, their names say 1",
            "copy/asset_shards/asset-00000-of-00002.tar: 1 targets and masks, 2 by the manifest",
            "copy/asset_shards/asset-00001-of-00002.tar: 1 targets and masks, 2 by the manifest",
        ]
    );
    // Some copies have no manifest: then a name is looked for everywhere, the first archive first.
    let reader = open(&without_archives(None));
    assert_eq!(source_sizes(reader.as_ref()), [Some((9, 9)), Some((5, 5))]);
    assert!(reader.notices(&tally).is_empty());
}

#[test]
fn an_archive_that_lies_elsewhere_is_known_by_its_name() {
    let row = r#"{"sample_id": 0, "instruction": "x", "source_file": "s.png",
        "source_archive": "source_shards/source-00000-of-00001.tar", "target_file": "t.png",
        "asset_archive": "asset_shards/asset-00000-of-00001.tar"}"#
        .replace('\n', " ");
    let reader = open(&[
        ("rows.jsonl", row.into_bytes()),
        ("source-00000-of-00001.tar", tar(&[("s.png", png(3, 2))])),
        ("flat/asset-00000-of-00001.tar", tar(&[("t.png", png(2, 3))])),
    ]);
    let found = pairs(reader.as_ref());
    let [pair] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(place(reader.as_ref(), &pair.source.address).0, "source-00000-of-00001.tar");
    assert_eq!(pair.target.as_ref().unwrap().size(), Some((2, 3)));
}

#[test]
fn a_picture_on_the_network_keeps_its_address() {
    let row = r#"{"original_image_url": "https://example.org/s.png",
        "edited_image_url": "http://example.org/t.png", "instruction": "x"}"#
        .replace('\n', " ");
    let reader = open(&[("rows.jsonl", row.into_bytes())]);
    let addresses: Vec<_> =
        pairs(reader.as_ref()).into_iter().map(|pair| pair.source.address).collect();
    let url = "https://example.org/s.png".to_owned();
    assert_eq!(addresses, [Address::Url { url, sha256: None }]);
}
