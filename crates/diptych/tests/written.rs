//! Outputs of which something is gone, and maps of columns that are not there: what would be lost in
//! silence is told of.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs;
use std::path::Path;

use diptych::Request;
use diptych::report::Report;
use support::again::option;
use support::folder::{fixtures, tree};
use support::job::{self, convert, whole_message};

fn written(to: &str, out: &Path) {
    let request = job::request(&fixtures().join("pape"), out);
    convert(&Request { to: to.to_owned(), ..request }).unwrap();
}

fn details(report: &Report, kind: &str) -> Vec<String> {
    let notices = report.notices.iter().filter(|notice| notice.kind == kind);
    notices.map(|notice| notice.detail.clone()).collect()
}

#[test]
fn fewer_pairs_than_were_written_are_told_of_in_every_format() {
    let formats = diptych::FORMATS.iter().map(|format| format.about());
    for about in formats.filter(|about| about.reads && about.writes) {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        written(about.name, &out);
        let whole = convert(&job::request(&out, &dir.path().join("whole"))).unwrap();
        assert_eq!(details(&whole, "fewer_pairs"), <[String; 0]>::default(), "{}", about.name);
        // The only file that has the pairs of a split, or of an editor: nothing else names it.
        let is_rows = |path: &&String| {
            let ends = ["/manifest.jsonl", "/metadata.parquet", ".tar"];
            path.starts_with("data/") && !path.ends_with(".idx")
                || ends.iter().any(|end| path.ends_with(end))
        };
        let files = tree(&out);
        let gone = files.keys().rfind(is_rows).unwrap();
        assert!(files.keys().filter(is_rows).count() > 1, "{}", about.name);
        fs::remove_file(out.join(gone)).unwrap();
        let report = convert(&job::request(&out, &dir.path().join("less"))).unwrap();
        let (all, here) = (whole.total.read, report.total.read);
        assert!(here < all, "{}: {gone}", about.name);
        let said = format!("it says that {all} pairs were written, and there are {here}");
        assert_eq!(details(&report, "fewer_pairs"), [said], "{}: {gone}", about.name);
    }
}

#[test]
fn names_of_a_map_that_no_row_has_are_told_of_in_every_format() {
    for format in ["parquet", "folder", "webdataset"] {
        let dir = tempfile::tempdir().unwrap();
        let release = fixtures().join("bad").join(format).join("foreign/release");
        let mut request = job::request(&release, dir.path());
        request.options = vec![option(format, "map", "source:source,target:target,instruction:no")];
        let report = convert(&request).unwrap();
        assert!(report.total.written > 0, "{format}");
        let told = details(&report, "unmet_map");
        let said = "the map names `no` for instruction, and no row that was looked at has it; ";
        assert!(told.len() == 1 && told[0].starts_with(said), "{format}: {told:?}");
        let there = told[0].split("there are ").nth(1).unwrap();
        assert!(there.contains("source") && there.contains("target"), "{format}: {told:?}");
    }
}

#[test]
fn shards_whose_records_have_lost_a_key_are_not_read_as_somebody_elses() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    written("webdataset", &out);
    let key = b"\"pair_id\"";
    for (path, mut bytes) in tree(&out) {
        if path.ends_with(".tar") {
            let places: Vec<_> =
                (0..bytes.len() - key.len()).filter(|at| bytes[*at..].starts_with(key)).collect();
            places.iter().for_each(|at| bytes[at + 1] = b'P');
            fs::write(out.join(path), bytes).unwrap();
        }
    }
    let mut request = job::request(&out, &dir.path().join("again"));
    request.sources[0].from = Some("webdataset".to_owned());
    let error = convert(&request).unwrap_err();
    let message = whole_message(&error);
    assert!(message.contains("have no records any more"), "{message}");
    assert!(message.contains("missing field `pair_id`"), "{message}");
}
