//! Parquet outputs as a whole: names, card, and that nothing but the release decides their bytes.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::path::Path;

use diptych::{Request, SourceRequest};
use support::folder::{assert_same, fixtures, tree};
use support::job::{convert, threads};

fn request(out: &Path, jobs: usize) -> Request {
    let source = |name: &str| SourceRequest::new(fixtures().join(name));
    let sources = ["pape", "inter-edit-train", "imgedit"].map(source).to_vec();
    Request {
        durable: false,
        jobs: threads(jobs),
        shard_size: 60_000,
        ..Request::new(sources, "parquet", out)
    }
}

#[test]
fn the_number_of_threads_changes_no_byte_of_a_parquet_output() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = [1, 3].map(|jobs| {
        let out = dir.path().join(jobs.to_string());
        convert(&request(&out, jobs)).unwrap();
        tree(&out)
    });
    assert_same(&outputs[0], &outputs[1]);
    let files = |split: &str| {
        let begin = format!("data/{split}-");
        outputs[0].keys().filter(|name| name.starts_with(&begin)).count()
    };
    assert!(files("train") > 3 && files("val") == 1 && files("test") > 1);
    assert!(outputs[0].contains_key("data/val-00000-of-00001.parquet"));
}

#[test]
fn the_card_counts_the_pairs_and_tells_the_terms_of_their_datasets() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let report = convert(&request(&out, 2)).unwrap();
    let card = std::fs::read_to_string(out.join("README.md")).unwrap();
    let pairs = &report.splits["train"];
    let row = format!("| train | {} | {} | {} |\n", pairs.pairs, pairs.files, pairs.bytes);
    assert!(card.contains(&row), "{card}");
    assert!(card.contains(&format!("    num_examples: {}\n", pairs.pairs)), "{card}");
    assert!(card.contains("    - \"data/train-*.parquet\"\n"), "{card}");
    assert!(card.contains("\nTerms of pape: Its source photographs are those of COCO"), "{card}");
}
