//! Archives of more than 8 GiB, of which nearly all is a hole: what lies behind is found, and is
//! what it was.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use diptych::Request;
use diptych::schema::Address;
use support::again::{catalog, pairs_of};
use support::folder::{assert_same, copy, fixtures, good_release, tree};
use support::job::{convert, request};

/// More than 11 octal digits can say: the size is in the header's other form.
const HOLE: u64 = (8 << 30) + 512;

/// Puts a member of [`HOLE`] bytes before all that is in an archive.
fn make_huge(archive: &Path) {
    let bytes = fs::read(archive).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_path("0-what-nobody-asked-for.bin").unwrap();
    header.set_mode(0o644);
    header.set_size(HOLE);
    header.set_cksum();
    let file = File::create(archive).unwrap();
    file.write_all_at(header.as_bytes(), 0).unwrap();
    file.write_all_at(&bytes, 512 + HOLE).unwrap();
    assert!(file.metadata().unwrap().len() > 8 << 30);
}

#[test]
fn what_lies_behind_8_gib_is_found_in_archives_that_rows_name() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    copy(&good_release(), &release);
    make_huge(&release.join("source_shards/source-00001-of-00003.tar"));
    make_huge(&release.join("asset_shards/asset-00000-of-00003.tar"));
    let found = pairs_of(&catalog(&release, &[], &dir.path().join("catalog")));
    let behind =
        |address: &Address| matches!(address, Address::Range { offset, .. } if *offset > HOLE);
    let behind = found.iter().filter(|pair| behind(&pair.source.address)).count();
    assert!(behind > 0 && behind < found.len(), "{behind} sources");
    let [whole, out] = [(&good_release(), "whole"), (&release, "out")].map(|(release, name)| {
        let out = dir.path().join(name);
        convert(&request(release, &out)).unwrap();
        tree(&out)
    });
    // The member that no row names is told of.
    let but_report = |mut of: std::collections::BTreeMap<String, Vec<u8>>| {
        of.remove("report.json").unwrap();
        of
    };
    assert_same(&but_report(out), &but_report(whole));
}

#[test]
fn what_lies_behind_8_gib_is_found_in_shards() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    copy(&fixtures().join("webdataset"), &release);
    let data = release.join("data");
    let mut shards: Vec<_> = fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "tar"))
        .collect();
    shards.sort();
    make_huge(&shards[0]);
    let convert_from = |release: &Path, name: &str| {
        let out = dir.path().join(name);
        let request = Request { to: "parquet".to_owned(), ..request(release, &out) };
        convert(&request).unwrap();
        let mut found = tree(&out);
        found.retain(|name, _| name.starts_with("data/"));
        found
    };
    let wanted = convert_from(&fixtures().join("webdataset"), "whole");
    assert!(wanted.len() > 1);
    assert_same(&convert_from(&release, "out"), &wanted);
}
