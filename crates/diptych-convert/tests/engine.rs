//! The engine over a format of the test's own.

mod support;

use std::path::Path;

use diptych_convert::catalog::Catalog;
use diptych_convert::{Engine, EngineError, Request, RunRequest, Silent};
use diptych_format::{Edit, Format, FormatError};
use diptych_schema::{Address, EditPair, Picture, Split};
use support::{
    Bench, Toy, ToyForEvaluation, UNHELD, convert, edit, files, pair, picture, png, rejected,
};

fn in_split(id: &str, split: Split) -> EditPair {
    EditPair { split: Some(split), ..pair(id) }
}

fn turn(id: &str, session: &str) -> EditPair {
    EditPair { session_id: Some(session.to_owned()), ..pair(id) }
}

fn mixed() -> Vec<Vec<Edit>> {
    vec![
        vec![edit(pair("toy:a")), rejected("broken"), edit(in_split("toy:b", Split::Test))],
        vec![],
        vec![edit(in_split("toy:c", Split::Train)), edit(in_split("toy:d", Split::Val))],
    ]
}

const MIXED: &[&dyn Format] = &[&Toy(mixed)];

#[test]
fn splits_are_written_apart_and_the_books_balance() {
    let bench = Bench::new();
    let outcome = convert(MIXED, &bench.request()).unwrap();
    let found = files(&bench.out());
    let line = |key: &str| format!("{key} source:png:4x3 target:png:2x2\n");
    assert_eq!(found["train-0"], line("toy_a") + &line("toy_c"));
    assert_eq!(found["val-1"], line("toy_d"));
    assert_eq!(found["test-2"], line("toy_b"));
    assert!(found.contains_key("splits.parquet"));
    assert_eq!(found.len(), 5, "{found:?}");
    let total = &outcome.report.total;
    assert_eq!((total.read, total.written, total.rejected["broken"]), (5, 4, 1));
    let rejections: Vec<_> = found["rejections.jsonl"].lines().collect();
    assert_eq!(rejections.len(), 1);
    let rejection: serde_json::Value = serde_json::from_str(rejections[0]).unwrap();
    assert_eq!(rejection["where"]["file"], "part-0");
    assert_eq!((&rejection["kind"], &rejection["cause"]), (&"broken".into(), &"because".into()));
}

fn sessions() -> Vec<Vec<Edit>> {
    let of = |session: &str, n: u32| {
        (0..n).map(|i| edit(turn(&format!("toy:{session}:{i}"), session))).collect::<Vec<_>>()
    };
    vec![[of("x", 3), of("y", 3), of("z", 1)].into_iter().flatten().collect()]
}

#[test]
fn a_session_stays_in_one_unit_and_in_order() {
    let bench = Bench::new();
    let request = Request { shard_size: 1, ..bench.request() };
    convert(&[&Toy(sessions)], &request).unwrap();
    let found = files(&bench.out());
    let keys = |name: &str| {
        found[name].lines().map(|l| l.split(' ').next().unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys("train-0"), "toy_x_0 toy_x_1 toy_x_2");
    assert_eq!(keys("train-1"), "toy_y_0 toy_y_1 toy_y_2");
    assert_eq!(keys("train-2"), "toy_z_0");
}

#[test]
fn a_limit_takes_the_first_and_counts_the_rest_that_was_read() {
    for jobs in [1, 4] {
        let bench = Bench::new();
        let jobs = std::num::NonZeroUsize::new(jobs).unwrap();
        let request = Request { limit: Some(1), jobs, ..bench.request() };
        let report = convert(MIXED, &request).unwrap().report;
        assert_eq!(files(&bench.out())["train-0"].lines().count(), 1);
        // The third partition is never read: two pairs of the first are enough.
        let total = report.total;
        assert_eq!((total.read, total.written, total.filtered["limit"]), (3, 1, 1));
        assert_eq!(total.rejected["broken"], 1);
    }
}

fn repeats() -> Vec<Vec<Edit>> {
    let twice = || edit(pair("toy:a"));
    vec![vec![twice(), edit(pair("toy:b")), twice()], vec![twice(), edit(pair("toy:A"))]]
}

const REPEATS: &[&dyn Format] = &[&Toy(repeats)];

#[test]
fn the_first_of_pairs_with_one_id_counts() {
    let bench = Bench::new();
    let report = convert(REPEATS, &bench.request()).unwrap().report;
    assert_eq!((report.total.read, report.total.written), (5, 3));
    assert_eq!(report.total.rejected["duplicate_pair_id"], 2);
    let found = files(&bench.out());
    assert_eq!(found["rejections.jsonl"].lines().count(), 2);
    let keys: Vec<_> = found["train-0"].lines().map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(keys, ["toy_a", "toy_b", "toy_A=k8"]);
}

#[test]
fn two_sources_with_one_id_are_an_error_that_names_both() {
    let bench = Bench::new();
    let request = Request { sources: vec![bench.source(), bench.source()], ..bench.request() };
    let error = convert(MIXED, &request).unwrap_err();
    let EngineError::SameId { pair_id, first, second } = &error else { panic!("{error}") };
    assert_eq!((pair_id.as_str(), first.as_str()), ("toy:a", "toy/part-0"));
    assert_eq!(second, "toy-2/part-0");
    assert!(!bench.out().exists(), "nothing is left of what cannot be gone on with");
}

fn odd_pictures() -> Vec<Vec<Edit>> {
    let with = |id: &str, source: Picture| edit(EditPair { source, ..pair(id) });
    let url = Address::Url { url: "https://example.org/a.png".to_owned(), sha256: None };
    vec![vec![
        with("toy:text", picture("x.png", b"no picture at all".to_vec())),
        with("toy:none", picture("x.png", Vec::new())),
        with("toy:url", Picture { address: url, ..picture("x.png", Vec::new()) }),
        edit(pair("toy:good")),
    ]]
}

const ODD_PICTURES: &[&dyn Format] = &[&Toy(odd_pictures)];

#[test]
fn a_picture_that_cannot_be_written_costs_its_pair_only() {
    let bench = Bench::new();
    let report = convert(ODD_PICTURES, &bench.request()).unwrap().report;
    let kinds: Vec<_> = report.total.rejected.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    assert_eq!(
        kinds,
        [("empty_picture", 1), ("unknown_picture_type", 1), ("unreachable_picture", 1)]
    );
    assert_eq!(files(&bench.out())["train-0"], "toy_good source:png:4x3 target:png:2x2\n");
}

#[test]
fn strict_fails_at_what_only_writing_shows_and_leaves_nothing() {
    let bench = Bench::new();
    let request = Request { strict: true, ..bench.request() };
    let error = convert(ODD_PICTURES, &request).unwrap_err();
    assert!(matches!(strict(&error), Some("unknown_picture_type")), "{error}");
    assert!(!bench.out().exists());
    let error = convert(MIXED, &request).unwrap_err();
    assert_eq!(strict(&error), Some("broken"));
    assert!(!bench.out().exists());
}

/// The kind of the rejection that was not allowed.
fn strict(error: &EngineError) -> Option<&str> {
    match error {
        EngineError::Within { source, .. } => strict(source),
        EngineError::Strict(rejection) => Some(&rejection.kind),
        _ => None,
    }
}

fn nothing() -> Vec<Vec<Edit>> {
    vec![vec![rejected("broken")]]
}

#[test]
fn where_nothing_is_written_there_is_a_report_and_no_files() {
    let bench = Bench::new();
    let report = convert(&[&Toy(nothing)], &bench.request()).unwrap().report;
    assert_eq!((report.total.read, report.total.written), (1, 0));
    let found: Vec<_> = files(&bench.out()).into_keys().collect();
    assert_eq!(found, ["rejections.jsonl"]);
}

fn benchmark() -> Vec<Vec<Edit>> {
    vec![vec![edit(pair("toy:a")), edit(EditPair { target: None, ..pair("toy:b") })]]
}

#[test]
fn a_pair_without_a_target_is_refused_by_what_is_for_training() {
    let bench = Bench::new();
    let error = convert(&[&Toy(benchmark)], &bench.request()).unwrap_err();
    let EngineError::Format(FormatError::NoTarget { pair_id, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!(pair_id, "toy:b");
    let told = "toy:b has no target: it is for evaluation, and toy is for training";
    assert_eq!(error.to_string(), told);
    assert!(!bench.out().exists());
}

#[test]
fn a_pair_without_a_target_is_written_by_what_declares_that_it_holds_it() {
    let bench = Bench::new();
    let report = convert(&[&ToyForEvaluation(benchmark)], &bench.request()).unwrap().report;
    assert_eq!((report.total.read, report.total.written), (2, 2));
    let lines = "toy_a source:png:4x3 target:png:2x2\ntoy_b source:png:4x3\n";
    assert_eq!(files(&bench.out())["train-0"], lines);
}

fn unheld() -> Vec<Vec<Edit>> {
    vec![vec![edit(EditPair { edit_type: Some(UNHELD.to_owned()), ..pair("toy:a") })]]
}

#[test]
fn what_the_output_cannot_hold_is_refused_before_a_byte_is_written() {
    let bench = Bench::new();
    let error = convert(&[&Toy(unheld)], &bench.request()).unwrap_err();
    assert!(matches!(&error, EngineError::Format(_)), "{error}");
    assert_eq!(error.to_string(), "toy:a: an edit of no known kind");
    assert!(!bench.out().exists());
}

fn ranges() -> Vec<Vec<Edit>> {
    let at = |offset: u64| Picture {
        address: Address::Range { file: 0, offset, length: 12 },
        ..picture("p.png", Vec::new())
    };
    vec![vec![edit(EditPair { source: at(0), ..pair("toy:a") })]]
}

const RANGES: &[&dyn Format] = &[&Toy(ranges)];

fn write_old(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("a file");
    let file = std::fs::File::options().write(true).open(path).expect("the file");
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    file.set_modified(old).expect("its time");
}

#[test]
fn a_release_that_changed_since_it_was_indexed_is_refused() {
    let bench = Bench::new();
    let file = bench.source().path.join("file");
    write_old(&file, b"no picture yet, but long enough");
    let engine = Engine::new(RANGES);
    engine.plan(&bench.request(), &Silent).unwrap();
    let run = |roots: Vec<(String, std::path::PathBuf)>| {
        let request = RunRequest {
            out: bench.out(),
            units: None,
            roots,
            jobs: std::num::NonZeroUsize::MIN,
            durable: false,
        };
        engine.run(&request, &Silent).map_err(|error| {
            std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
        })
    };
    std::fs::write(&file, b"other bytes of the same length..").unwrap();
    assert!(run(vec![]).unwrap_err().contains("file had 31 bytes and has 32"));
    std::fs::write(&file, b"other bytes of the same length.").unwrap();
    assert!(run(vec![]).unwrap_err().contains("file was written since"));
    let gone = std::fs::rename(&file, bench.source().path.join("elsewhere"));
    gone.unwrap();
    assert!(run(vec![]).unwrap_err().contains("cannot read file of toy"));
    // It lies elsewhere now: a copy has times of its own.
    let moved = bench.dir.path().join("moved");
    std::fs::create_dir(&moved).unwrap();
    std::fs::write(moved.join("file"), png(4, 3, 0).get(..31).unwrap()).unwrap();
    run(vec![("toy".to_owned(), moved)]).unwrap();
    let error = engine.convert(&bench.request(), &Silent).unwrap_err();
    assert!(matches!(&error, EngineError::Changed { .. }), "{error}");
}

#[test]
fn a_label_nobody_has_is_refused() {
    let bench = Bench::new();
    let engine = Engine::new(MIXED);
    engine.plan(&bench.request(), &Silent).unwrap();
    let request = RunRequest {
        out: bench.out(),
        units: Some((0, 9)),
        roots: vec![("other".to_owned(), "x".into())],
        jobs: std::num::NonZeroUsize::MIN,
        durable: false,
    };
    let error = engine.run(&request, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "no source is called other: there are toy");
    let request = RunRequest { roots: vec![], ..request };
    let error = engine.run(&request, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "the plan has 3 units, numbered from 0; there is no unit 9");
    let error = engine.finish(&bench.out(), false, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "3 of 3 units are not done: 0-2");
}

#[test]
fn a_catalog_holds_the_pairs_and_what_was_rejected() {
    let bench = Bench::new();
    let request = Request { to: String::new(), ..bench.request() };
    let indexed = Engine::new(MIXED).index(&request, &Silent).unwrap();
    assert_eq!((indexed.pairs, indexed.total.read, indexed.partitions), (4, 5, 3));
    let catalog = Catalog::open(&bench.out()).unwrap().unwrap();
    let pairs: Result<Vec<_>, _> = catalog.pairs(0, 0, u64::MAX).unwrap().collect();
    assert_eq!(pairs.unwrap(), [pair("toy:a"), in_split("toy:b", Split::Test)]);
    let pairs: Result<Vec<_>, _> = catalog.pairs(2, 1, 1).unwrap().collect();
    assert_eq!(pairs.unwrap(), [in_split("toy:d", Split::Val)]);
    let rejections = std::fs::read_to_string(bench.out().join("rejections-00000.jsonl")).unwrap();
    assert_eq!(rejections.lines().count(), 1);
    let error = Engine::new(MIXED).index(&request, &Silent).unwrap_err();
    assert!(matches!(error, EngineError::NotEmpty { .. }), "{error}");
}

#[test]
fn an_index_does_not_take_over_a_conversion_that_was_begun() {
    let bench = Bench::new();
    let engine = Engine::new(MIXED);
    engine.plan(&bench.request(), &Silent).unwrap();
    let request = Request { to: String::new(), ..bench.request() };
    assert!(matches!(engine.index(&request, &Silent), Err(EngineError::NotEmpty { .. })));
    engine.convert(&bench.request(), &Silent).unwrap();
}
