//! Parquet files read back: the pairs that went in, and those of other makers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use diptych::Request;
use diptych::schema::{Address, EditPair};
use support::again::{option, pairs};
use support::folder::{assert_same, fixtures, tree};
use support::job::{self, convert};
use support::shards::{Sample, samples};

fn parquet(release: &Path, out: &Path, options: &[(&str, &str)]) -> PathBuf {
    let options = options.iter().map(|(key, value)| option("parquet", key, value)).collect();
    let request = Request { to: "parquet".to_owned(), options, ..job::request(release, out) };
    convert(&request).unwrap();
    out.to_path_buf()
}

#[test]
fn shards_made_of_parquet_are_those_made_of_the_release() {
    for release in ["inter-edit-train", "imgedit", "pape"] {
        let dir = tempfile::tempdir().unwrap();
        let release = fixtures().join(release);
        let between = parquet(&release, &dir.path().join("parquet"), &[]);
        let made = [("direct", &release), ("again", &between)].map(|(name, from)| {
            let out = dir.path().join(name);
            let request = job::request(from, &out);
            assert_eq!(convert(&request).unwrap().total.rejections(), 0);
            assert!(!samples(&out).is_empty());
            let mut tree = tree(&out);
            tree.remove("report.json");
            tree
        });
        assert_same(&made[1], &made[0]);
    }
}

#[test]
fn pictures_are_where_they_lie_and_renamed_columns_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let release = fixtures().join("imgedit");
    let plain = pairs(&parquet(&release, &dir.path().join("plain"), &[]), &[]);
    let is_range = |pair: &EditPair| matches!(pair.source.address, Address::Range { .. });
    assert!(plain.iter().all(is_range));
    for (name, options) in [
        ("preset", &[("preset", "ip2p")][..]),
        ("rename", &[("rename", "source=target,target=source,pair_id=id,pictures=image")]),
    ] {
        let renamed = pairs(&parquet(&release, &dir.path().join(name), options), &[]);
        let without = |pairs: &[EditPair]| {
            let mut pairs = pairs.to_vec();
            for pair in &mut pairs {
                let nowhere = |address: &mut Address| *address = Address::Inline(Vec::new());
                pair.addresses_mut().for_each(nowhere);
            }
            pairs
        };
        assert_eq!(without(&renamed), without(&plain), "{name}");
    }
}

fn bad(case: &str) -> PathBuf {
    fixtures().join("bad/parquet").join(case).join("release")
}

/// The pictures of each sample in shards made of a release, by its key.
fn pictures(release: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    convert(&job::request(release, &out)).unwrap();
    let pictures = |of: Sample| of.members.into_iter().skip(1).map(|(_, bytes)| bytes).collect();
    samples(&out).into_iter().map(|of| (of.key.clone(), pictures(of))).collect()
}

#[test]
fn cells_have_the_bytes_that_ranges_have() {
    let is_cell =
        |pair: &EditPair| matches!(pair.source.address, Address::Cell { length, .. } if length > 0);
    let mut ours = pictures(&fixtures().join("parquet"));
    ours.retain(|key, _| ["made-up_002", "made-up_003", "made-up_004"].contains(&key.as_str()));
    assert_eq!(ours.len(), 3);
    let anew = bad("written_anew");
    assert!(pairs(&anew, &[]).iter().all(is_cell));
    assert!(pictures(&anew) == ours);
    let all: Vec<_> = ours.into_values().flatten().collect();
    for (case, count) in [("foreign", 2), ("foreign_bare", 2), ("foreign_list", 3)] {
        let release = bad(case);
        assert!(pairs(&release, &[]).iter().all(is_cell), "{case}");
        // Each is one of ours.
        let found: Vec<_> = pictures(&release).into_values().flatten().collect();
        assert_eq!(found.len(), 3 * count, "{case}");
        assert!(found.iter().all(|picture| all.contains(picture)), "{case}");
    }
}
