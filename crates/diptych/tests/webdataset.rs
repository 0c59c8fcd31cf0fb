//! WebDataset shards read back: the pairs that went in, and those of other makers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::path::{Path, PathBuf};

use diptych::schema::{Address, EditPair, Edited};
use diptych::{Request, Silent};
use support::again::{option, pairs};
use support::folder::fixtures;
use support::job::{self, convert};
use support::shards::{samples, shard_names};

/// What is in many shards is what is in one, and stays it; that it comes back whole is the square's
/// to test.
#[test]
fn shards_of_any_size_are_written_the_same_again() {
    for release in ["inter-edit-train", "imgedit", "pape"] {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
        let small = |from: &Path, out: &Path| {
            convert(&Request { shard_size: 40_000, ..job::request(from, out) }).unwrap()
        };
        small(&fixtures().join(release), &first);
        assert!(shard_names(&first).len() > 2, "{release}");
        assert_eq!(small(&first, &second).notices, []);
        assert!(samples(&second) == samples(&first), "{release}");
    }
}

/// What a test looks at of a foreign pair: its id, instruction, and the names of its pictures.
fn shown(pair: &EditPair) -> (&str, Option<&str>, Vec<&str>) {
    let mut names = vec![pair.source.name.as_str()];
    names.extend(pair.references.iter().map(|of| of.picture.name.as_str()));
    names.extend(pair.target.iter().map(|of| of.name.as_str()));
    (&pair.pair_id, pair.instruction.as_deref(), names)
}

fn bad(case: &str) -> PathBuf {
    fixtures().join("bad/webdataset").join(case).join("release")
}

#[test]
fn samples_of_others_become_pairs_by_their_fields() {
    let found = pairs(&bad("foreign"), &[]);
    let pictures = vec!["0001.source.png", "0001.target.png"];
    assert_eq!(found.len(), 3);
    assert_eq!(shown(&found[1]), ("webdataset:shard-000:0001", Some("do 1"), pictures));
    let native = r#"{"row":{"instruction":"do 1","weight":1.5}}"#;
    assert_eq!(found[1].native.as_deref(), Some(native));
    assert_eq!((found[1].split, found[1].scores.len(), found[1].labels.len()), (None, 0, 0));
    assert!(matches!(found[1].source.address, Address::Range { .. }));
    // Wherever its members stand, and whatever stands in front of its name.
    let apart = pairs(&bad("foreign_members_apart"), &[]);
    for (one, other) in found.iter().zip(&apart) {
        assert_eq!(shown(one), shown(other));
        assert_eq!(one.native, other.native);
    }
    let dotted = pairs(&bad("foreign_dots_in_keys"), &[]);
    assert_eq!(dotted[1].pair_id, "webdataset:shard-000:v1.0001");
    assert_eq!(dotted[1].instruction.as_deref(), Some("do 1"));
}

#[test]
fn a_map_says_what_fields_are() {
    let release = bad("foreign_fields_unknown");
    let map = |text: &str| [option("webdataset", "map", text)];
    let found = pairs(&release, &map("source:b,target:a,instruction:text"));
    let pictures = vec!["0002.b.png", "0002.a.png"];
    assert_eq!(shown(&found[2]), ("webdataset:shard-000:0002", Some("x"), pictures));
    // Of samples that are known, too.
    let found = pairs(&bad("foreign"), &map("source:target,target:source,editor:instruction"));
    assert_eq!(found[0].editor.as_deref(), Some("do 0"));
    let dir = tempfile::tempdir().unwrap();
    let request = |text: &str| {
        let options = map(text).into();
        Request { options, ..job::request(&release, &dir.path().join("out")) }
    };
    let error = diptych::engine().index(&request("source:b"), &Silent).unwrap_err();
    let told = job::whole_message(&error);
    assert!(told.contains("a map of columns (it names no field for target)"), "{told}");
}

#[test]
fn x2edit_is_read_as_it_lies() {
    let found = pairs(&bad("x2edit"), &[]);
    let of = |key: &str| format!("x2edit:builder/0/0:{key}");
    let ids: Vec<_> = found.iter().map(|pair| pair.pair_id.clone()).collect();
    assert_eq!(ids, [of("000000000"), of("000000000#2"), of("000000001")]);
    let instructions: Vec<_> = found.iter().map(|pair| pair.instruction.as_deref()).collect();
    assert_eq!(instructions, [Some("a"), Some("c"), None]);
    assert_eq!(found[2].labels[0].name, "instruction_empty");
    assert_eq!(found[2].source.name, "000000001..1.jpg");
    let native = r#"{"row":{"instruction":"a","task":"style"},"txt":"a"}"#;
    assert_eq!(found[0].native.as_deref(), Some(native));
    // They are two pictures of one name.
    assert_eq!(found[0].source.name, found[1].source.name);
    assert_ne!(found[0].source.address, found[1].source.address);
}

/// A shard of one sample.
fn pack(dir: &Path, shard: &str, members: &[(&str, &[u8])]) {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    let path = dir.join(shard);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, builder.into_inner().unwrap()).unwrap();
}

/// Sets that were published as Parquet, as people pack them into shards.
#[test]
fn known_sets_are_told_by_their_fields() {
    let Address::Inline(picture) = support::toy::grey("a", 9).address else { unreachable!() };
    let of = |pictures: [&str; 3], json: &str| {
        let dir = tempfile::tempdir().unwrap();
        let names = pictures.map(|name| format!("000.{name}.png"));
        let mut members: Vec<(&str, &[u8])> = vec![("000.json", json.as_bytes())];
        let there = names.iter().zip(pictures).filter(|(_, name)| !name.is_empty());
        members.extend(there.map(|(name, _)| (name.as_str(), picture.as_slice())));
        pack(dir.path(), "dev/000.tar", &members);
        pairs(dir.path(), &[])
    };
    let found = of(
        ["source_img", "target_img", "mask_img"],
        r#"{"img_id": "9", "turn_index": 2, "instruction": "x"}"#,
    );
    assert_eq!(found[0].pair_id, "magicbrush:9:1");
    assert_eq!(found[0].mask.as_ref().map(|mask| mask.edited), Some(Edited::Painted));
    assert_eq!(found[0].split, Some(diptych::schema::Split::Val));
    let found = of(["input_image", "output_image", ""], r#"{"edit": "x", "inverse_edit": "y"}"#);
    let ids: Vec<_> = found.iter().map(|pair| pair.pair_id.as_str()).collect();
    assert_eq!(ids, ["hq-edit:dev/000:000", "hq-edit:dev/000:000:inverse"]);
    assert_eq!(found[1].source.name, "000.output_image.png");
    let found = of(["src_img", "edited_img", ""], r#"{"edited_prompt_list": ["x", "y"]}"#);
    assert_eq!((found[0].dataset.as_str(), found[0].instructions.len()), ("omniedit", 2));
}
