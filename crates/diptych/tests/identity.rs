//! Same release, same request, same bytes: at any number of threads, in one process or in many,
//! wherever the release lies.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use diptych::format::Probe;
use diptych::format::options::Assignment;
use diptych::{MaskGrid, Request, Silent};
use serde_json::json;
use support::folder::{assert_same, copy, fixtures, good_release, tree};
use support::job::{self, convert, run_units, threads};
use support::made::Made;
use support::release::text;
use support::shards::{samples, shard_names};

/// A conversion of the good release into more than five shards.
fn request(out: &Path) -> Request {
    Request { shard_size: 30_000, ..job::request(&good_release(), out) }
}

/// What a request makes of an output in a folder of its own, after `change`.
fn output(change: impl FnOnce(&mut Request)) -> BTreeMap<String, Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let mut request = request(dir.path());
    change(&mut request);
    convert(&request).unwrap();
    tree(dir.path())
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let one = output(|request| request.jobs = threads(1));
    let shards = one.keys().filter(|name| name.ends_with(".tar")).count();
    assert!(shards >= 5, "{shards} shards");
    for jobs in [2, 8] {
        assert_same(&output(|request| request.jobs = threads(jobs)), &one);
    }
    assert_same(&output(|request| request.durable = true), &one);
}

#[test]
fn units_run_alone_in_any_order_make_the_same_output() {
    let whole = output(|_| {});
    for seed in [1, 7, 1234] {
        let dir = tempfile::tempdir().unwrap();
        let request = request(dir.path());
        let plan = diptych::engine().plan(&request, &Silent).unwrap();
        let mut units: Vec<_> = (0..plan.units.len()).collect();
        shuffle(&mut units, seed);
        for unit in units {
            run_units(dir.path(), unit..=unit).unwrap();
        }
        diptych::engine().finish(dir.path(), false, &Silent).unwrap();
        assert_same(&tree(dir.path()), &whole);
    }
}

/// Fisher and Yates, with a generator that is good enough for an order.
fn shuffle(items: &mut [usize], mut seed: usize) {
    for last in (1..items.len()).rev() {
        seed = (seed * 1_103_515_245 + 12_345) % (1 << 31);
        items.swap(last, (seed >> 16) % (last + 1));
    }
}

#[test]
fn where_the_release_lies_changes_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("某处 else.where");
    copy(&good_release(), &elsewhere);
    let moved = output(|request| request.sources[0].path = elsewhere);
    assert_same(&moved, &output(|_| {}));
}

#[test]
fn where_a_further_folder_lies_changes_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("再录 else.where");
    copy(&fixtures().join("imgedit-recap"), &elsewhere);
    let with = |folder: &Path| {
        output(|request| {
            request.sources[0].path = fixtures().join("imgedit");
            let (format, key) = ("imgedit".to_owned(), "recap".to_owned());
            let value = folder.to_str().unwrap().to_owned();
            request.options = vec![Assignment { format, key, value }];
        })
    };
    let here = with(&fixtures().join("imgedit-recap"));
    assert_same(&with(&elsewhere), &here);
    // What is in it is part of what was asked for.
    let record = fs::read_dir(elsewhere.join("jsons")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(record).unwrap();
    let report = |tree: &BTreeMap<String, Vec<u8>>| {
        let report: serde_json::Value = serde_json::from_slice(&tree["report.json"]).unwrap();
        report["sources"][0]["options"]["recap"].clone()
    };
    assert_ne!(report(&with(&elsewhere)), report(&here));
}

#[test]
fn without_probing_only_the_reports_options_differ() {
    let mut probed = output(|_| {});
    let mut unprobed = output(|request| request.probe = Probe::None);
    let report = |tree: &mut BTreeMap<String, Vec<u8>>, probe: bool| {
        let report = tree.remove("report.json").unwrap();
        let mut report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(report["options"]["probe"].take(), json!(probe));
        report
    };
    assert_eq!(report(&mut unprobed, false), report(&mut probed, true));
    assert_same(&unprobed, &probed);
}

/// The grid is a matter of sizes, which are known when a pair is written at the latest.
#[test]
fn without_probing_the_grid_of_an_unusual_mask_is_right_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    // Masks of the source's size, and an edit type whose masks have the target's.
    let made = Made { samples: 2, per_shard: 2, picture_bytes: 100 };
    made.write_with(&release, |_, row| row["edit_type"] = "Add".into());
    for probe in [Probe::Header, Probe::None] {
        let out = dir.path().join(format!("{probe:?}"));
        convert(&Request { probe, ..job::request(&release, &out) }).unwrap();
        for sample in samples(&out) {
            let record = sample.record();
            assert_eq!(record["pictures"]["mask"]["width"], record["pictures"]["source"]["width"]);
            assert_eq!(record["mask_grid"], "source", "{probe:?}");
        }
    }
}

/// Whatever is known when, and on however many threads; and masks that are on it are copied.
#[test]
fn masks_on_the_sources_grid_are_the_same_whoever_brings_them_there() {
    let on_source = |change: fn(&mut Request)| {
        let dir = tempfile::tempdir().unwrap();
        let mut request = Request { mask_grid: Some(MaskGrid::Source), ..request(dir.path()) };
        request.jobs = threads(1);
        change(&mut request);
        convert(&request).unwrap();
        (tree(dir.path()), samples(dir.path()))
    };
    let (mut whole, on_source_grid) = on_source(|_| {});
    assert_same(&on_source(|request| request.jobs = threads(8)).0, &whole);
    let mut unprobed = on_source(|request| request.probe = Probe::None).0;
    for tree in [&mut unprobed, &mut whole] {
        let report: serde_json::Value =
            serde_json::from_slice(&tree.remove("report.json").unwrap()).unwrap();
        assert_eq!(report["options"]["mask_grid"], "source");
    }
    assert_same(&unprobed, &whole);

    let dir = tempfile::tempdir().unwrap();
    convert(&request(dir.path())).unwrap();
    let (mut copied, mut brought) = (0, 0);
    for (released, sample) in samples(dir.path()).iter().zip(&on_source_grid) {
        let (was, is) = (released.record(), sample.record());
        assert_eq!(was["pair_id"], is["pair_id"]);
        assert_eq!((&is["mask_grid"], &is["mask_origin"]), (&json!("source"), &json!("release")));
        let size = |record: &serde_json::Value, role: &str| {
            let picture = &record["pictures"][role];
            (picture["width"].clone(), picture["height"].clone())
        };
        assert_eq!(size(&is, "mask"), size(&is, "source"));
        if size(&was, "mask") == size(&was, "source") {
            copied += 1;
            assert_eq!(released.member("mask.png"), sample.member("mask.png"));
        } else {
            brought += 1;
        }
    }
    assert!(copied > 0 && brought > 0, "{copied} copied, {brought} brought");
}

#[test]
fn a_limit_takes_the_first_pairs_and_counts_the_others_read() {
    // Eight rows a file of metadata, and no more files are read than the limit needs.
    for (limit, read) in [(1, 8), (8, 8), (10, 16), (24, 24), (1000, 24)] {
        let mut trees = Vec::new();
        for jobs in [1, 2, 8] {
            let dir = tempfile::tempdir().unwrap();
            let mut request = request(dir.path());
            request.limit = Some(limit);
            request.jobs = threads(jobs);
            let total = convert(&request).unwrap().total;
            let written = limit.min(24);
            assert_eq!((total.read, total.written), (read, written), "limit {limit}");
            assert_eq!(total.filtered_out(), read - written, "limit {limit}");
            assert_eq!(
                total.filtered.keys().collect::<Vec<_>>(),
                match read - written {
                    0 => vec![],
                    _ => vec!["limit"],
                }
            );
            let ids = samples(dir.path()).into_iter().map(|s| text(&s.record(), "pair_id"));
            let wanted = (0..written).map(|id| format!("inter-edit-train:{id:07}"));
            assert!(ids.eq(wanted), "limit {limit}");
            trees.push(tree(dir.path()));
        }
        for other in &trees[1..] {
            assert_same(other, &trees[0]);
        }
    }
}

/// A repeat is no pair: it does not count towards the limit.
#[test]
fn a_limit_is_filled_although_pairs_are_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    let made = Made { samples: 8, per_shard: 4, picture_bytes: 100 };
    made.write_with(&release, |id, row| {
        if id < 3 {
            row["sample_id"] = 0.into();
        }
    });
    let out = dir.path().join("out");
    let request = Request { limit: Some(4), ..job::request(&release, &out) };
    let total = convert(&request).unwrap().total;
    assert_eq!((total.written, total.rejections()), (4, 2));
}

#[test]
fn a_limit_of_nothing_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let report = convert(&Request { limit: Some(0), ..request(dir.path()) }).unwrap();
    assert_eq!(report.total.written, 0);
    assert!(!dir.path().join("data").exists());
}

/// Threads read ahead; what they meet beyond the limit is not part of what was asked for.
#[test]
fn with_a_limit_notices_do_not_depend_on_threads() {
    let dir = tempfile::tempdir().unwrap();
    let release = dir.path().join("release");
    copy(&good_release(), &release);
    // The archives of the second and third file of metadata lack their ends.
    for shard in [1, 2] {
        let archive = release.join(format!("asset_shards/asset-0000{shard}-of-00003.tar"));
        let bytes = fs::read(&archive).unwrap();
        fs::write(&archive, &bytes[..bytes.len() - 1024]).unwrap();
    }
    let with = |jobs| {
        output(|request| {
            request.sources[0].path.clone_from(&release);
            request.limit = Some(3);
            request.jobs = threads(jobs);
        })
    };
    let one = with(1);
    for jobs in [2, 8] {
        assert_same(&with(jobs), &one);
    }
}

#[test]
fn rejections_are_listed_in_one_order_whatever_the_threads() {
    for case in ["missing_source_shard", "web_page", "missing_metadata_shard"] {
        let release = fixtures().join("bad/inter-edit-train").join(case).join("release");
        let with = |jobs| {
            output(|request| {
                request.sources[0].path.clone_from(&release);
                request.jobs = threads(jobs);
            })
        };
        let one = with(1);
        assert!(!one["rejections.jsonl"].is_empty());
        assert_same(&with(8), &one);
    }
}

#[test]
fn a_release_given_in_two_places_is_refused_with_both_named() {
    let dir = tempfile::tempdir().unwrap();
    let again = dir.path().join("again");
    copy(&good_release(), &again);
    let out = dir.path().join("out");
    let mut request = request(&out);
    request.sources.extend(job::request(&again, &out).sources);
    let error = convert(&request).unwrap_err().to_string();
    for part in ["inter-edit-train:0000000", "inter-edit-train/", "inter-edit-train-2/"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!out.exists());
}

#[test]
fn every_shard_holds_its_share() {
    let dir = tempfile::tempdir().unwrap();
    let request = request(dir.path());
    convert(&request).unwrap();
    let sizes = shard_names(dir.path())
        .into_iter()
        .map(|name| fs::metadata(dir.path().join("data").join(name)).unwrap().len());
    for size in sizes {
        // No scrap, and about what was asked for.
        assert!((10_000..=45_000).contains(&size), "{size}");
    }
}
