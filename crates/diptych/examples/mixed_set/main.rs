//! Writes a set of edits that is hard to read back, for readers that are not ours.
//!
//! `cargo run -p diptych --example mixed_set -- OUT` makes `OUT/wds`, `OUT/parquet`, `OUT/folder`,
//! `OUT/folder-lines` and `OUT/pape`, through the engine and the writers, and `OUT/truth.jsonl`,
//! which says what a reader must find in all but the last; that says itself what is in it. The truth is written first, as JSON by hand, and the pairs
//! are made from it: what the writer makes of a pair is held against something that shares no code
//! with it.
//!
//! A line of the truth is a pair, in the order of the output:
//!
//! - `split_file`: the split that it is written under;
//! - `record`: the record, with all keys;
//! - `sha256`: of the bytes of `source`, of each of `references` and of `target`; for `mask`, which
//!   may be written anew, of its pixels as bytes of 0 and 255, row by row.

mod pictures;
mod set;
mod toy;

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use diptych::format::Format;
use diptych::format::options::Assignment;
use diptych::schema::Split;
use diptych::{Engine, Request, Silent, SourceRequest};

/// What the engine knows here: a release that is no more than code, and the writers on trial.
const FORMATS: &[&dyn Format] = &[
    &toy::Toy,
    diptych_folder::FORMAT,
    diptych_pape::FORMAT,
    diptych_parquet::FORMAT,
    diptych_webdataset::FORMAT,
];

/// About seven plain pairs, or four of the others: several shards a split.
const SHARD_BYTES: u64 = 28_000;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: mixed_set OUT")?;
    let release = out.join("toy");
    fs::create_dir_all(&release)?;
    fs::write(out.join("truth.jsonl"), truth()?)?;

    // About two pairs with all that a pair can have: several row groups a file.
    let small_groups = Assignment::parse("parquet.row-group=15KB")?;
    let lines = Assignment::parse("folder.metadata=jsonl")?;
    for (format, folder, options) in [
        ("webdataset", "wds", vec![]),
        ("parquet", "parquet", vec![small_groups]),
        ("pape", "pape", vec![]),
        ("folder", "folder", vec![]),
        ("folder", "folder-lines", vec![lines]),
    ] {
        let source =
            SourceRequest { from: Some("toy".to_owned()), ..SourceRequest::new(release.clone()) };
        let request = Request {
            shard_size: SHARD_BYTES,
            durable: false,
            strict: true,
            options,
            ..Request::new(vec![source], format, out.join(folder))
        };
        let total = Engine::new(FORMATS).convert(&request, &Silent)?.report.total;
        if total.written != total.read {
            return Err(format!("{} of {} edits were written", total.written, total.read).into());
        }
    }
    Ok(())
}

/// The lines of the truth: split by split, as the output is.
fn truth() -> Result<String, serde_json::Error> {
    let set = set::set();
    let mut lines = String::new();
    for split in Split::ALL {
        for told in set.iter().filter(|told| told.split_file == split.word()) {
            lines.push_str(&serde_json::to_string(&told.truth())?);
            lines.push('\n');
        }
    }
    Ok(lines)
}
