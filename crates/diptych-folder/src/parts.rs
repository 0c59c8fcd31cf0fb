//! How complete a copy is.

use diptych_format::{Part, Stated};
use diptych_storage::ReadTree;
use serde::Deserialize;

use crate::reader::FolderReader;

/// What tells of a conversion.
const REPORT: &str = "report.json";

/// Bytes of it: a hundred times as many as one of a thousand datasets has.
const REPORT_BYTES: u64 = 64 << 20;

#[derive(Deserialize)]
struct Report {
    total: Total,
}

#[derive(Deserialize)]
struct Total {
    written: u64,
}

/// The lines that tell how complete a copy is.
pub(crate) fn parts(reader: &FolderReader) -> Vec<Part> {
    let part = |name: &str, here, stated: Option<u64>| Part {
        name: name.to_owned(),
        here,
        stated: stated.map(|count| Stated { count, by: REPORT.to_owned() }),
        published: None,
        missing: None,
    };
    vec![
        part("rows", reader.rows(), written(reader.tree.as_ref())),
        part("pictures that rows name", reader.pictures.claimed(), None),
    ]
}

/// How many pairs the report says were written; `None` where there is none, or it cannot be read.
fn written(tree: &dyn ReadTree) -> Option<u64> {
    let entry = tree.entry(REPORT).filter(|entry| entry.length <= REPORT_BYTES)?;
    let file = tree.open(&entry.path).ok()?;
    let mut bytes = vec![0; usize::try_from(file.len().min(REPORT_BYTES)).ok()?];
    file.read_exact_at(0, &mut bytes).ok()?;
    let report: Report = serde_json::from_slice(&bytes).ok()?;
    Some(report.total.written)
}
