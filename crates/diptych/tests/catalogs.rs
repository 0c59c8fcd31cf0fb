//! A catalog stands for the releases that it was made of: what is converted from it is what is
//! converted from them, byte for byte, and what cannot be had from it is refused.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs;
use std::path::Path;

use diptych::catalog::Catalog;
use diptych::format::options::Assignment;
use diptych::format::{About, Probe};
use diptych::inspect::Inspection;
use diptych::pictures::Pictures;
use diptych::schema::{Address, MaskOrigin};
use diptych::storage::Limits;
use diptych::{EngineError, Request, Silent};
use serde_json::{Value, json};
use support::folder::{assert_same, copy, fixtures, tree};
use support::job::{self, convert, rejections, threads, whole_message};
use support::made::Made;
use support::place::Place;

/// The formats that are written.
fn written() -> impl Iterator<Item = &'static About> {
    diptych::FORMATS.iter().map(|format| format.about()).filter(|about| about.writes)
}

impl Place {
    fn refused(&self, sources: &[&Path], change: impl Fn(&mut Request)) -> EngineError {
        let mut request = self.request(sources, "refused");
        change(&mut request);
        let error = diptych::engine().convert(&request, &Silent).unwrap_err();
        assert!(!request.out.exists(), "something is left of what was refused: {error}");
        error
    }

    fn inspected(&self, source: &Path) -> Vec<Inspection> {
        diptych::engine().inspect(&self.request(&[source], "none"), &Silent).unwrap()
    }
}

fn to(format: &str) -> impl Fn(&mut Request) {
    move |request| request.to = format.to_owned()
}

fn recap(folder: &Path) -> Vec<Assignment> {
    let value = folder.to_str().unwrap().to_owned();
    vec![Assignment { format: "imgedit".to_owned(), key: "recap".to_owned(), value }]
}

#[test]
fn what_a_catalog_gives_is_what_its_release_gives() {
    for fixture in ["inter-edit-train", "imgedit", "pape"] {
        let scene = Place::new();
        let release = fixtures().join(fixture);
        let catalog = scene.index(&[&release], "catalog");
        for About { name: format, .. } in written() {
            let as_released = |request: &mut Request| {
                to(format)(request);
                request.mask_from = Some(vec![MaskOrigin::Release]);
            };
            let direct = scene.converted(&[&release], as_released);
            assert!(direct.len() > 3, "{fixture} to {format}");
            assert_same(&scene.converted(&[&catalog], as_released), &direct);
            // What masks are made from by themselves depends on the release's format.
            let few = |request: &mut Request| {
                to(format)(request);
                request.limit = Some(5);
                request.jobs = threads(1);
            };
            assert_same(&scene.converted(&[&catalog], few), &scene.converted(&[&release], few));
        }
    }
}

/// Members of our own shards are ranges, and every other output that is read comes in by itself.
#[test]
fn what_a_catalog_gives_of_our_own_outputs_is_what_they_give() {
    for About { name: format, .. } in written().filter(|about| about.reads) {
        let scene = Place::new();
        let request = Request {
            to: (*format).to_owned(),
            ..scene.request(&[&fixtures().join("pape")], "own")
        };
        convert(&request).unwrap();
        let catalog = scene.index(&[&scene.at("own")], "catalog");
        let direct = scene.converted(&[&scene.at("own")], to("webdataset"));
        assert_same(&scene.converted(&[&catalog], to("webdataset")), &direct);
    }
}

#[test]
fn options_that_a_catalog_was_made_with_hold() {
    let scene = Place::new();
    let release = fixtures().join("imgedit");
    let with = |request: &mut Request| request.options = recap(&fixtures().join("imgedit-recap"));
    let mut request = scene.request(&[&release], "catalog");
    with(&mut request);
    let catalog = Place::index_with(&request);
    assert_same(&scene.converted(&[&catalog], |_| {}), &scene.converted(&[&release], with));

    let error = scene.refused(&[&catalog], with);
    assert!(matches!(&error, EngineError::Decided { what, .. } if what == "`-o imgedit.recap`"));
    assert!(error.is_usage());
    // For a release beside it they can be.
    let pape = scene.index(&[&fixtures().join("pape")], "pape");
    let direct = scene.converted(&[&fixtures().join("pape"), &release], with);
    assert_same(&scene.converted(&[&pape, &release], with), &direct);
}

/// What releases and catalogs give in any order is what the releases give in that order: files are
/// numbered on, and labels that are taken get a number.
#[test]
fn catalogs_and_releases_are_mixed() {
    let scene = Place::new();
    let inter_edit = fixtures().join("inter-edit-train");
    let (imgedit, pape) = (fixtures().join("imgedit"), fixtures().join("pape"));
    let own = |name: &str, release: &Path| {
        convert(&scene.request(&[release], name)).unwrap();
        scene.at(name)
    };
    let (first_own, second_own) = (own("first", &inter_edit), own("second", &imgedit));
    // Rejections and notices name the labels too.
    let damaged = fixtures()
        .join("bad/pape/")
        .read_dir()
        .unwrap()
        .map(|case| case.unwrap().path().join("release"))
        .min()
        .unwrap();
    let one = scene.index(&[&first_own, &damaged], "one");
    let two = scene.index(&[&second_own], "two");
    let direct = scene.converted(&[&first_own, &damaged, &second_own], |_| {});
    let report: Value = serde_json::from_slice(&direct["report.json"]).unwrap();
    let labels: Vec<_> =
        report["sources"].as_array().unwrap().iter().map(|of| of["label"].clone()).collect();
    assert_eq!(labels, ["webdataset", "pape", "webdataset-2"]);
    let first = scene.index(&[&first_own], "first alone");
    let mixes: [&[&Path]; 3] = [&[&one, &two], &[&one, &second_own], &[&first, &damaged, &two]];
    for mixed in mixes {
        assert_same(&scene.converted(mixed, |_| {}), &direct);
    }
    let one_more = scene.index(&[&one, &two], "joined");
    assert_same(&tree(&one_more), &tree(&scene.index(&[&first_own, &damaged, &second_own], "all")));
    assert_same(&scene.converted(&[&one_more], |_| {}), &direct);

    let error = scene.refused(&[&scene.index(&[&pape], "pape"), &pape], |_| {});
    let EngineError::SameId { first, second, .. } = error else { panic!("{error}") };
    assert!(first.starts_with("pape/") && second.starts_with("pape-2/"), "{first}, {second}");
}

#[test]
fn labels_in_rejections_and_notices_are_those_of_the_output() {
    let scene = Place::new();
    let mut told = 0;
    for case in fs::read_dir(fixtures().join("bad/inter-edit-train")).unwrap() {
        let release = case.unwrap().path().join("release");
        // A source of the same format before it, whose pairs are other ones.
        let before = scene.at("before");
        let made = Made { samples: 1, per_shard: 1, picture_bytes: 1 };
        made.write_with(&before, |_, row| row["sample_id"] = json!(9_999_999));
        let request = scene.request(&[&before, &release], "direct");
        let Ok(_) = diptych::engine().convert(&request, &Silent) else { continue };
        let catalog = scene.index(&[&release], "catalog");
        let both = scene.converted(&[&before, &catalog], |_| {});
        assert_same(&both, &tree(&request.out));
        for rejection in rejections(&request.out) {
            assert_eq!(rejection["where"]["source"], "inter-edit-train-2");
            told += 1;
        }
        for place in [request.out, catalog] {
            fs::remove_dir_all(place).unwrap();
        }
    }
    assert!(told > 10, "{told} rejections");
}

#[test]
fn a_release_that_lies_elsewhere_is_found_there() {
    let scene = Place::new();
    let release = scene.copied("inter-edit-train");
    let catalog = scene.index(&[&release], "catalog");
    let direct = scene.converted(&[&release], |_| {});
    let moved = scene.at("moved");
    copy(&release, &moved);
    fs::remove_dir_all(&release).unwrap();

    let error = scene.refused(&[&catalog], |_| {});
    assert!(matches!(&error, EngineError::Gone { label, .. } if label == "inter-edit-train"));
    let at = |label: &str, root: &Path| vec![(label.to_owned(), root.to_path_buf())];
    let found = |request: &mut Request| request.roots = at("inter-edit-train", &moved);
    assert_same(&scene.converted(&[&catalog], found), &direct);

    let error = scene.refused(&[&catalog], |request| request.roots = at("pape", &moved));
    assert!(matches!(&error, EngineError::NoLabel { known, .. } if *known == ["inter-edit-train"]));
    // A release that is read lies where it is given.
    let error = scene.refused(&[&moved], |request| request.roots = at("inter-edit-train", &moved));
    assert!(matches!(error, EngineError::NoLabel { .. }));

    fs::write(moved.join("source_shards/source-00000-of-00003.tar"), "short").unwrap();
    let error = scene.refused(&[&catalog], found);
    let told = "inter-edit-train has changed since its catalog was made: \
                source_shards/source-00000-of-00003.tar had";
    assert!(error.to_string().starts_with(told), "{error}");
}

#[test]
fn a_release_that_has_changed_is_refused() {
    let scene = Place::new();
    let release = scene.copied("inter-edit-train");
    let catalog = scene.index(&[&release], "catalog");
    let says = |what: &str| {
        let error = scene.refused(&[&catalog], |_| {});
        assert!(matches!(error, EngineError::Changed { .. }), "{error}");
        assert!(error.to_string().ends_with(what), "{error}");
    };
    let rows = release.join("metadata");
    let rows = fs::read_dir(rows).unwrap().next().unwrap().unwrap().path();
    let text = fs::read(&rows).unwrap();
    fs::write(&rows, [text.as_slice(), &text].concat()).unwrap();
    says("there are other files, or files of rows have changed");
    let archive = release.join("asset_shards/asset-00001-of-00003.tar");
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, &bytes).unwrap();
    says("asset_shards/asset-00001-of-00003.tar was written since");
    fs::write(&archive, &bytes[1..]).unwrap();
    let (was, is) = (bytes.len(), bytes.len() - 1);
    says(&format!("asset_shards/asset-00001-of-00003.tar had {was} bytes and has {is}"));
    fs::remove_file(&archive).unwrap();
    says("asset_shards/asset-00001-of-00003.tar is not there any more");
    // What needs no picture is said all the same.
    assert_eq!(scene.inspected(&catalog)[0].pairs, 24);
    let request = scene.request(&[&catalog], "planned");
    diptych::engine().plan(&request, &Silent).unwrap();
    let joined = scene.index(&[&catalog], "joined");
    assert_same(&tree(&joined), &tree(&catalog));
}

#[test]
fn what_was_decided_when_a_catalog_was_made_is_not_asked_for_again() {
    let scene = Place::new();
    let release = fixtures().join("inter-edit-train");
    let catalog = scene.index(&[&release], "catalog");
    let from = |request: &mut Request| request.sources[0].from = Some("pape".to_owned());
    let error = scene.refused(&[&catalog], from);
    assert!(matches!(&error, EngineError::Decided { what, .. } if what == "`--from`"), "{error}");
    assert!(error.is_usage());

    let unprobed = |request: &mut Request| request.probe = Probe::None;
    let error = scene.refused(&[&catalog], unprobed);
    assert!(matches!(&error, EngineError::Decided { what, .. } if what == "`--probe none`"));
    // Pictures that were not looked at are looked at when they are written.
    let mut request = scene.request(&[&release], "unprobed");
    unprobed(&mut request);
    let catalog = Place::index_with(&request);
    let direct = scene.converted(&[&release], unprobed);
    assert_same(&scene.converted(&[&catalog], |_| {}), &direct);
    assert_same(&scene.converted(&[&catalog], unprobed), &direct);
}

#[test]
fn a_catalog_of_the_first_pairs_gives_no_more() {
    let scene = Place::new();
    let release = fixtures().join("inter-edit-train");
    let first = |limit| move |request: &mut Request| request.limit = Some(limit);
    let mut request = scene.request(&[&release], "catalog");
    first(10)(&mut request);
    let catalog = Place::index_with(&request);
    for limit in [1, 8, 10] {
        let direct = scene.converted(&[&release], first(limit));
        assert_same(&scene.converted(&[&catalog], first(limit)), &direct);
    }
    for limit in [None, Some(11)] {
        let error = scene.refused(&[&catalog], |request| request.limit = limit);
        assert!(matches!(error, EngineError::LimitedCatalog { limit: 10, .. }), "{error}");
        assert!(error.is_usage());
    }
    let notice = &scene.inspected(&catalog)[0].notices[0];
    assert_eq!(notice.kind, "limited_catalog");
    // One that was asked for more than there are is whole.
    let mut request = scene.request(&[&release], "whole");
    first(25)(&mut request);
    let catalog = Place::index_with(&request);
    assert_same(&scene.converted(&[&catalog], |_| {}), &scene.converted(&[&release], |_| {}));
    assert!(scene.inspected(&catalog)[0].notices.is_empty());
}

#[test]
fn strict_fails_at_a_rejection_that_a_catalog_lists() {
    let scene = Place::new();
    let release = fixtures().join("bad/inter-edit-train/missing_source_shard/release");
    let catalog = scene.index(&[&release], "catalog");
    let strict = |request: &mut Request| request.strict = true;
    let direct = scene.refused(&[&release], strict).to_string();
    assert_eq!(scene.refused(&[&catalog], strict).to_string(), direct);
}

#[test]
fn a_damaged_catalog_is_told_of() {
    let scene = Place::new();
    let release = fixtures().join("inter-edit-train");
    let whole = scene.index(&[&release], "whole");
    let head: Value =
        serde_json::from_slice(&fs::read(whole.join("catalog.json")).unwrap()).unwrap();
    let with = |change: &dyn Fn(&Path, &mut Value)| {
        let catalog = scene.at("catalog");
        let _ = fs::remove_dir_all(&catalog);
        copy(&whole, &catalog);
        let mut head = head.clone();
        change(&catalog, &mut head);
        fs::write(catalog.join("catalog.json"), head.to_string()).unwrap();
        let error = scene.refused(&[&catalog], |_| {});
        assert!(!error.is_usage(), "{error}");
        whole_message(&error)
    };
    let says = |message: String, what: &str| assert!(message.contains(what), "{message}");

    let other = |key: &'static str| {
        move |_: &Path, head: &mut Value| head[key] = json!(head[key].as_u64().unwrap() + 1)
    };
    says(with(&other("catalog_version")), "is of version 2 of the catalog; this program reads");
    says(with(&other("schema_version")), "is of version 2 of the schema; this program reads");
    says(with(&|_, head| head["sources"] = json!([])), "has no source inter-edit-train");
    says(with(&|_, head| head["partitions"][1]["pairs"] = json!(7)), "do not agree with its pairs");
    says(
        with(&|_, head| {
            let of = &mut head["partitions"][1];
            (of["pairs"], of["books"][0]["read"]) = (json!(7), json!(7));
        }),
        "are not those that the catalog states",
    );
    says(
        with(&|_, head| {
            let source = head["sources"][0].clone();
            head["sources"].as_array_mut().unwrap().push(source);
        }),
        "several of its sources have one label",
    );
    says(with(&|at, _| fs::remove_file(at.join("pairs-00001.parquet")).unwrap()), "pairs-00001");
    says(with(&|at, _| fs::remove_file(at.join("files.parquet")).unwrap()), "files.parquet");
    let files = |at: &Path| at.join("files.parquet");
    says(with(&|at, _| fs::write(files(at), "PAR1").unwrap()), "files.parquet is damaged");

    // Whatever is cut or turned round in it is an answer and never a panic.
    let pairs = fs::read(whole.join("pairs-00000.parquet")).unwrap();
    for at in (0..pairs.len()).step_by(499) {
        for cut in [true, false] {
            let mut bytes = pairs.clone();
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= 0x55;
            }
            let catalog = scene.at("catalog");
            fs::write(catalog.join("pairs-00000.parquet"), bytes).unwrap();
            let _ = diptych::engine().inspect(&scene.request(&[&catalog], "none"), &Silent);
        }
    }
}

/// A folder may hold a file of that name and be no catalog.
#[test]
fn a_release_may_have_a_catalog_of_its_own() {
    let scene = Place::new();
    let release = scene.copied("inter-edit-train");
    let direct = scene.converted(&[&release], |_| {});
    for text in ["[1, 2]", "{\"name\": \"x\"}", "no JSON"] {
        fs::write(release.join("catalog.json"), text).unwrap();
        assert_same(&scene.converted(&[&release], |_| {}), &direct);
    }
}

#[test]
fn what_is_said_of_a_catalog_is_what_is_in_it() {
    for fixture in ["inter-edit-train", "imgedit", "pape"] {
        let scene = Place::new();
        let release = fixtures().join(fixture);
        let catalog = scene.index(&[&release], "catalog");
        let (of_release, of_catalog) = (scene.inspected(&release), scene.inspected(&catalog));
        let (of_release, mut of_catalog) = (of_release[0].clone(), of_catalog[0].clone());
        assert_eq!(of_catalog.catalog.take(), Some(catalog));
        assert!(of_catalog.parts.is_empty());
        assert!((1..=of_release.files).contains(&of_catalog.files));
        let Inspection { parts, confidence, reason, files, bytes, root, .. } = of_release.clone();
        assert_eq!(
            Inspection { parts, confidence, reason, files, bytes, root, ..of_catalog },
            of_release
        );
    }
}

#[test]
fn pictures_are_read_by_their_addresses_where_they_are_on_this_disk() {
    let scene = Place::new();
    let release = scene.copied("inter-edit-train");
    let catalog = Catalog::open(&scene.index(&[&release], "catalog")).unwrap().unwrap();
    let pictures = Pictures::of(&catalog, &[], Limits::DEFAULT).unwrap();
    let pair = catalog.pairs(0, 0, 1).unwrap().next().unwrap().unwrap();
    let bytes = pictures.bytes(&pair.source.address).unwrap();
    assert_eq!(pair.source.address.length(), Some(bytes.len() as u64));
    assert!(bytes.starts_with(b"\x89PNG"));
    let url = Address::Url { url: "https://example.org/a.png".to_owned(), sha256: None };
    let error = pictures.bytes(&url).unwrap_err();
    let told = "cannot read a picture of the catalog: a url is not on this disk";
    assert_eq!(whole_message(&error), told);
    let nowhere = Address::Range { file: 1_000, offset: 0, length: 1 };
    let error = pictures.bytes(&nowhere).unwrap_err();
    assert!(error.to_string().ends_with("it has no file 1000"), "{error}");
}

#[test]
fn a_conversion_of_a_catalog_is_gone_on_with() {
    let scene = Place::new();
    let release = scene.copied("inter-edit-train");
    let catalog = scene.index(&[&release], "catalog");
    let request = scene.request(&[&catalog], "out");
    let plan = diptych::engine().plan(&request, &Silent).unwrap();
    assert!(plan.units.len() > 3);
    job::run_units(&request.out, 1..=1).unwrap();
    convert(&request).unwrap();
    assert_same(&tree(&request.out), &scene.converted(&[&release], |_| {}));

    // Another catalog than the one that it was begun with.
    let request = scene.request(&[&catalog], "again");
    diptych::engine().plan(&request, &Silent).unwrap();
    fs::write(release.join("more.txt"), "more").unwrap();
    fs::remove_dir_all(&catalog).unwrap();
    scene.index(&[&release], "catalog");
    let error = diptych::engine().convert(&request, &Silent).unwrap_err();
    assert!(error.to_string().ends_with("its catalog was made anew"), "{error}");
}

#[test]
fn an_output_does_not_lie_in_what_a_catalog_is_of() {
    let scene = Place::new();
    let release = scene.copied("inter-edit-train");
    let catalog = scene.index(&[&release], "catalog");
    for place in [&release, &catalog] {
        let inside = |request: &mut Request| request.out = place.join("out");
        let error = scene.refused(&[&catalog], inside);
        assert!(matches!(error, EngineError::Inside { .. }), "{error}");
    }
}
