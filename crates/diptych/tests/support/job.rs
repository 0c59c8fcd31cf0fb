//! Conversions through the library.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::Path;

use diptych::report::Report;
use diptych::{EngineError, Request, RunRequest, Silent, SourceRequest};
use serde_json::Value;

use super::folder::{json, json_lines};

/// A conversion to WebDataset.
pub(crate) fn request(release: &Path, out: &Path) -> Request {
    let source = SourceRequest::new(release.to_path_buf());
    let mut request = Request::new(vec![source], "webdataset", out);
    request.durable = false;
    request.jobs = threads(2);
    request
}

pub(crate) fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// Converts, and checks what every finished output owes: its report is the one returned, the
/// books balance, and each rejection that they count is listed.
pub(crate) fn convert(request: &Request) -> Result<Report, EngineError> {
    let report = diptych::engine().convert(request, &Silent)?.report;
    let written = json(&request.out.join("report.json"));
    assert_eq!(written, serde_json::to_value(&report).unwrap());
    let total = &report.total;
    assert_eq!(
        total.read + total.repeated,
        total.written + total.filtered_out() + total.rejections()
    );
    assert_eq!(rejections(&request.out).len() as u64, total.rejections());
    assert!(!request.out.join(".diptych").exists(), "the working folder is left");
    Ok(report)
}

/// The rejections that an output lists.
pub(crate) fn rejections(out: &Path) -> Vec<Value> {
    json_lines(&out.join("rejections.jsonl"))
}

/// An error and everything behind it.
pub(crate) fn whole_message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// Runs units of a planned output as a process of their own would.
pub(crate) fn run_units(out: &Path, units: RangeInclusive<usize>) -> Result<(), EngineError> {
    let unit = |number: &usize| u32::try_from(*number).unwrap();
    let request = RunRequest {
        out: out.to_path_buf(),
        units: Some((unit(units.start()), unit(units.end()))),
        roots: Vec::new(),
        jobs: threads(1),
        durable: false,
    };
    diptych::engine().run(&request, &Silent)
}
