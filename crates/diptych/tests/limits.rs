//! Limits of a request: they are part of what an output and a catalog are made by.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::path::{Path, PathBuf};

use diptych::{EngineError, Request, Silent};
use serde_json::{Value, json};
use support::folder::{self, assert_same, good_release, tree};
use support::job::{self, convert, rejections, run_units};
use tempfile::TempDir;

/// A limit under which some of the good release's rows are too long.
fn short_rows(request: &mut Request) {
    request.limits.row_bytes = ROW_BYTES;
}

const ROW_BYTES: usize = 465;

struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn request(&self, release: &Path, out: &str) -> Request {
        Request { shard_size: 30_000, ..job::request(release, &self.out(out)) }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

#[test]
fn limits_decide_what_is_rejected_and_are_told_of() {
    let scene = Scene::new();
    let mut request = scene.request(&good_release(), "plain");
    let report = convert(&request).unwrap();
    assert_eq!(report.total.rejections(), 0);
    let written = folder::json(&request.out.join("report.json"));
    assert_eq!(written["options"].get("limits"), None, "what is as by itself is not told");
    request = scene.request(&good_release(), "short");
    short_rows(&mut request);
    let report = convert(&request).unwrap();
    let all = rejections(&request.out);
    assert!(!all.is_empty() && report.total.written > 0, "{}", all.len());
    assert!(all.iter().all(|rejection| rejection["kind"] == "row_too_long"));
    let written = folder::json(&request.out.join("report.json"));
    assert_eq!(written["options"]["limits"], json!({"row-bytes": ROW_BYTES}));
}

#[test]
fn an_output_that_was_begun_under_other_limits_is_refused() {
    let scene = Scene::new();
    let mut request = scene.request(&good_release(), "out");
    short_rows(&mut request);
    let whole = convert(&Request { out: scene.out("whole"), ..request.clone() }).unwrap();
    assert!(whole.total.written > 0);
    let units = diptych::engine().plan(&request, &Silent).unwrap().units.len();
    let refused = |request: &Request, told: &str| {
        let error = diptych::engine().convert(request, &Silent).unwrap_err();
        let EngineError::OtherRequest { differences, .. } = error else { panic!("{error}") };
        assert_eq!(differences, [told]);
    };
    let by_itself = scene.request(&good_release(), "out");
    refused(&by_itself, &format!("--max was row-bytes={ROW_BYTES} and is none"));
    let mut other = request.clone();
    other.limits.rows = 7;
    let told = format!("--max was row-bytes={ROW_BYTES} and is row-bytes={ROW_BYTES} rows=7");
    refused(&other, &told);
    // Whoever runs units does not say them again.
    run_units(&scene.out("out"), 0..=units - 1).unwrap();
    diptych::engine().finish(&scene.out("out"), false, &Silent).unwrap();
    assert_same(&tree(&scene.out("out")), &tree(&scene.out("whole")));
}

/// Where masks are decoded, units do it: they have the limits of the plan.
#[test]
fn units_are_run_under_the_limits_of_their_plan() {
    let scene = Scene::new();
    let mut request = scene.request(&good_release(), "out");
    request.mask_grid = Some(diptych::MaskGrid::Source);
    request.limits.pixels = 1;
    let whole = convert(&Request { out: scene.out("whole"), ..request.clone() }).unwrap();
    assert!(whole.total.rejected.contains_key("mask_too_large"), "{:?}", whole.total);
    let units = diptych::engine().plan(&request, &Silent).unwrap().units.len();
    run_units(&scene.out("out"), 0..=units - 1).unwrap();
    diptych::engine().finish(&scene.out("out"), false, &Silent).unwrap();
    assert_same(&tree(&scene.out("out")), &tree(&scene.out("whole")));
}

#[test]
fn a_catalog_says_under_which_limits_it_was_made() {
    let scene = Scene::new();
    let mut request = scene.request(&good_release(), "catalog");
    short_rows(&mut request);
    let indexed = diptych::engine().index(&request, &Silent).unwrap();
    assert!(indexed.total.rejections() > 0);
    let catalog = scene.out("catalog");
    let head = || folder::json(&catalog.join("catalog.json"));
    assert_eq!(head()["limits"], json!({"row-bytes": ROW_BYTES}));
    let by_itself = scene.request(&catalog, "out");
    let error = diptych::engine().convert(&by_itself, &Silent).unwrap_err();
    let EngineError::OtherLimits { was, is, .. } = &error else { panic!("{error}") };
    assert_eq!((was.as_str(), is.as_str()), (&*format!("row-bytes={ROW_BYTES}"), "none"));
    assert!(error.is_usage());
    // With the same it is what its release is.
    let direct = Request { out: scene.out("direct"), ..request.clone() };
    convert(&direct).unwrap();
    let mut of_catalog = by_itself;
    short_rows(&mut of_catalog);
    convert(&of_catalog).unwrap();
    assert_same(&tree(&of_catalog.out), &tree(&direct.out));
    // One from before there were any to choose has the defaults.
    let plain = scene.request(&good_release(), "earlier");
    diptych::engine().index(&plain, &Silent).unwrap();
    assert_eq!(folder::json(&plain.out.join("catalog.json")).get("limits"), None::<&Value>);
    assert_eq!(convert(&scene.request(&plain.out, "of-earlier")).unwrap().total.rejections(), 0);
}

/// A process that was killed before its working folder was removed.
#[test]
fn a_catalog_that_only_lacks_its_cleaning_up_is_of_its_limits() {
    let scene = Scene::new();
    let mut request = scene.request(&good_release(), "catalog");
    short_rows(&mut request);
    diptych::engine().index(&request, &Silent).unwrap();
    std::fs::create_dir(request.out.join(".diptych")).unwrap();
    let by_itself = scene.request(&good_release(), "catalog");
    let error = diptych::engine().index(&by_itself, &Silent).unwrap_err();
    assert!(matches!(error, EngineError::NotEmpty { .. }), "{error}");
    diptych::engine().index(&request, &Silent).unwrap();
    assert!(!request.out.join(".diptych").exists());
}
