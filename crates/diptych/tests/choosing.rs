//! Pairs are chosen: what is asked for is what is written, in every format.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use diptych::catalog::Catalog;
use diptych::condition::Condition;
use diptych::format::About;
use diptych::schema::{EditPair, MaskOrigin, Split};
use diptych::select::{Mix, MixBy, Sample};
use diptych::{Request, Silent};
use support::again::{pairs, pairs_of};
use support::folder::{fixtures, tree};
use support::job::{convert, run_units};
use support::place::Place;

fn condition(text: &str) -> Option<Condition> {
    Some(Condition::parse(text).unwrap())
}

/// The formats that are written and read.
fn written() -> impl Iterator<Item = &'static About> {
    let formats = diptych::FORMATS.iter().map(|format| format.about());
    formats.filter(|about| about.writes && about.reads)
}

/// Catalogs of fixtures.
fn catalogs(place: &Place, fixtures_of: &[&str]) -> Vec<PathBuf> {
    let catalog = |name: &&str| place.index(&[&fixtures().join(name)], &format!("of {name}"));
    fixtures_of.iter().map(catalog).collect()
}

fn paths(all: &[PathBuf]) -> Vec<&Path> {
    all.iter().map(PathBuf::as_path).collect()
}

fn ids(pairs: &[EditPair]) -> Vec<&str> {
    pairs.iter().map(|pair| pair.pair_id.as_str()).collect()
}

fn opened(at: &Path) -> Catalog {
    Catalog::open(at).unwrap().unwrap()
}

const ALL: [&str; 3] = ["imgedit", "inter-edit-train", "pape"];

#[test]
fn splits_are_in_names_records_card_and_table_of_every_format() {
    let place = Place::new();
    let sources = catalogs(&place, &ALL);
    let shares = |request: &mut Request| {
        request.selection.shares = Some("train=0.5,val=0.25,test=0.25".parse().unwrap());
    };
    let chosen = place.chosen(&paths(&sources), shares);
    let splits: BTreeMap<String, Split> =
        pairs_of(&chosen).into_iter().map(|pair| (pair.pair_id, pair.split.unwrap())).collect();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for split in splits.values() {
        *counts.entry(split.word().to_owned()).or_default() += 1;
    }
    assert_eq!(counts.len(), 3, "{counts:?}");
    let table = fs::read(place.at("chosen").join("splits.parquet")).unwrap();
    for About { name: format, .. } in written() {
        let mut request = place.request(&paths(&sources), &format!("to {format}"));
        shares(&mut request);
        request.to = (*format).to_owned();
        request.mask_from = Some(vec![MaskOrigin::Release]);
        let report = convert(&request).unwrap();
        let of_report: BTreeMap<_, _> =
            report.splits.iter().map(|(split, of)| (split.clone(), of.pairs)).collect();
        if *format != "pape" {
            assert_eq!(of_report, counts, "{format}");
        }
        assert_eq!(report.selection.unwrap().splits.unwrap().pairs, counts, "{format}");
        let made = tree(&request.out);
        assert!(made["splits.parquet"] == table, "{format}: the table is that of the catalog");
        let card = String::from_utf8(made["README.md"].clone()).unwrap();
        for split in counts.keys() {
            assert!(card.contains(split.as_str()), "{format}: {split} in the card");
            let named = made.keys().any(|name| {
                let (folder, file) = name.rsplit_once('/').unwrap_or_default();
                folder == split || file.starts_with(&format!("{split}-"))
            });
            assert!(named || *format == "pape", "{format}: {split} in a name");
        }
        let found: BTreeMap<String, Split> = pairs(&request.out, &[])
            .into_iter()
            .map(|pair| (pair.pair_id, pair.split.unwrap()))
            .collect();
        assert_eq!(found, splits, "{format}");
        let inspected =
            diptych::engine().inspect(&place.request(&[&request.out], "none"), &Silent).unwrap();
        assert_eq!(inspected.len(), 1, "{format}");
        assert_eq!(inspected[0].format, *format);
    }
}

#[test]
fn what_is_taken_again_has_a_name_of_its_own_in_every_format() {
    let place = Place::new();
    let sources = catalogs(&place, &["imgedit", "pape"]);
    let there = pairs_of(&opened(&place.index(&paths(&sources), "all")));
    let count = |dataset: &str| there.iter().filter(|pair| pair.dataset == dataset).count() as u64;
    let [imgedit, pape] = ["imgedit", "pape"].map(count);
    let total = 2 * (imgedit + pape) + 6;
    for About { name: format, .. } in written() {
        let mut request = place.request(&paths(&sources), &format!("to {format}"));
        request.to = (*format).to_owned();
        request.mask_from = Some(vec![MaskOrigin::Release]);
        request.selection.mix = Some(Mix {
            by: MixBy::dataset().unwrap(),
            shares: vec![("imgedit".to_owned(), 1.0), ("pape".to_owned(), 1.0)],
            total: Some(total),
            repeat: true,
        });
        let report = convert(&request).unwrap();
        assert_eq!((report.total.written, report.total.rejections()), (total, 0), "{format}");
        let repeated = total - imgedit.min(total / 2) - pape.min(total / 2);
        assert_eq!(report.total.repeated, repeated, "{format}");
        for drawn in report.selection.unwrap().drawn {
            let available = if drawn.kind == "pape" { pape } else { imgedit };
            assert_eq!((drawn.asked, drawn.available), (total / 2, available), "{format}");
            assert_eq!(drawn.drawn, drawn.asked);
            assert_eq!(drawn.repeated, drawn.drawn.saturating_sub(available));
        }
        let found = pairs(&request.out, &[]);
        assert_eq!(found.len() as u64, total, "{format}");
        let unique: BTreeSet<_> = ids(&found).into_iter().collect();
        assert_eq!(unique.len(), found.len(), "{format}");
        let again = found.iter().filter(|pair| pair.pair_id.contains(":again-"));
        for pair in again.clone() {
            let (origin, copy) = pair.pair_id.rsplit_once(":again-").unwrap();
            assert!(there.iter().any(|pair| pair.pair_id == origin), "{format}: {origin}");
            let said = pair.labels.iter().find(|label| label.name == "again_of");
            assert_eq!(said.unwrap().value, origin, "{format}");
            for tie in [&pair.session_id, &pair.group_id].into_iter().flatten() {
                assert!(tie.ends_with(&format!(":again-{copy}")), "{format}: {tie}");
            }
        }
        assert_eq!(again.count() as u64, repeated, "{format}");
    }
}

#[test]
fn what_runs_short_is_told() {
    let place = Place::new();
    let sources = catalogs(&place, &["imgedit", "pape"]);
    let there = pairs_of(&opened(&place.index(&paths(&sources), "all")));
    let pape = there.iter().filter(|pair| pair.dataset == "pape").count() as u64;
    let mix = |total| Mix {
        by: MixBy::dataset().unwrap(),
        shares: vec![("pape".to_owned(), 0.75), ("imgedit".to_owned(), 0.25)],
        total,
        repeat: false,
    };
    let chosen = place.chosen(&paths(&sources), |request| {
        request.selection.mix = Some(mix(Some(4 * pape)));
    });
    let drawn = chosen.head().selected.clone().unwrap().report.drawn;
    assert_eq!(drawn[0].kind, "pape");
    assert_eq!((drawn[0].asked, drawn[0].available, drawn[0].drawn), (3 * pape, pape, pape));
    let chosen = place.chosen(&paths(&sources), |request| {
        request.selection.mix = Some(mix(None));
    });
    for drawn in chosen.head().selected.clone().unwrap().report.drawn {
        assert_eq!(drawn.asked, drawn.drawn, "without a total nothing runs short");
    }
}

#[test]
fn chance_follows_from_the_seed() {
    let place = Place::new();
    let sources = catalogs(&place, &ALL);
    let chosen = |change: &dyn Fn(&mut Request)| {
        let pairs = pairs_of(&place.chosen(&paths(&sources), change));
        pairs.into_iter().map(|pair| pair.pair_id).collect::<Vec<_>>()
    };
    let all = chosen(&|_| {});
    for what in ["sample", "shuffle"] {
        let with = |seed: Option<u64>| {
            chosen(&|request| {
                match what {
                    "sample" => request.selection.sample = Some(Sample::Percent(50.0)),
                    _ => request.selection.shuffle = true,
                }
                request.selection.seed = seed;
            })
        };
        let (none, zero, one) = (with(None), with(Some(0)), with(Some(1)));
        assert_eq!(none, zero, "{what}");
        assert_eq!(zero, with(Some(0)), "{what}");
        assert_ne!(zero, one, "{what}");
        let set: BTreeSet<_> = zero.iter().collect();
        match what {
            "sample" => {
                assert_eq!(zero.len(), all.len().div_ceil(2));
                let kept: Vec<_> = all.iter().filter(|id| set.contains(id)).cloned().collect();
                assert_eq!(zero, kept, "a sample is in order");
            }
            _ => assert_eq!(set, all.iter().collect::<BTreeSet<_>>()),
        }
    }
    let limited = chosen(&|request| {
        request.selection.shuffle = true;
        request.limit = Some(7);
    });
    let shuffled = chosen(&|request| request.selection.shuffle = true);
    assert_eq!(limited, shuffled[..7], "the first after they are put in order");
}

#[test]
fn a_list_may_be_text_or_a_table_and_gives_the_order() {
    let place = Place::new();
    let sources = catalogs(&place, &["inter-edit-train", "pape"]);
    let all = place.index(&paths(&sources), "all");
    let there = pairs_of(&opened(&all));
    let mut wanted: Vec<&str> = ids(&there).into_iter().step_by(3).collect();
    let natural = wanted.clone();
    wanted.reverse();
    let text = format!("{}\nnobody:1\n{}\n", wanted.join("\n"), wanted[0]);
    let quoted: Vec<_> = wanted.iter().map(|id| format!("7,\"{id}\"")).collect();
    let csv = format!("n,pair_id\n{}\n8,nobody:1\n9,{}\n", quoted.join("\n"), wanted[0]);
    fs::write(place.at("list.txt"), text).unwrap();
    fs::write(place.at("list.csv"), csv).unwrap();
    for (file, in_order) in
        [("list.txt", false), ("list.txt", true), ("list.csv", false), ("list.csv", true)]
    {
        let chosen = place.chosen(&paths(&sources), |request| {
            request.selection.pairs = Some(place.at(file));
            request.selection.in_order = in_order;
        });
        let found = pairs_of(&chosen);
        assert_eq!(ids(&found), if in_order { &wanted[..] } else { &natural }, "{file}");
        let list = chosen.head().selected.clone().unwrap().report.list.unwrap();
        assert_eq!((list.listed, list.repeated, list.not_found), (wanted.len() as u64 + 1, 1, 1));
        assert_eq!(list.first_not_found, ["nobody:1"]);
    }
    // Every file of a catalog is such a table, as is what other tools write of it.
    let chosen = place.chosen(&paths(&sources), |request| {
        request.selection.pairs = Some(all.join("pairs-00000.parquet"));
        request.selection.shuffle = true;
    });
    let first: Vec<_> = opened(&all).pairs(0, 0, u64::MAX).unwrap().map(Result::unwrap).collect();
    let found = pairs_of(&chosen);
    assert_eq!(
        ids(&found).into_iter().collect::<BTreeSet<_>>(),
        ids(&first).into_iter().collect::<BTreeSet<_>>()
    );
}

#[test]
fn turns_that_are_dropped_leave_the_rest_in_order_and_whole_drops_all() {
    let place = Place::new();
    let sources = catalogs(&place, &["imgedit", "pape"]);
    let there = pairs_of(&opened(&place.index(&paths(&sources), "all")));
    let text = "(turn IS NULL OR turn <> 1) AND (variant IS NULL OR variant <> 'abnormal')";
    let dropped =
        |pair: &&EditPair| pair.turn == Some(1) || pair.variant.as_deref() == Some("abnormal");
    let [rest, whole] = [false, true].map(|whole| {
        pairs_of(&place.chosen(&paths(&sources), |request| {
            request.selection.condition = condition(text);
            request.selection.whole = whole;
        }))
    });
    let left: Vec<_> = there.iter().filter(|pair| !dropped(pair)).collect();
    assert_eq!(ids(&rest), left.iter().map(|pair| pair.pair_id.as_str()).collect::<Vec<_>>());
    let turns = rest.iter().filter(|pair| pair.session_id.is_some()).count();
    assert!(turns > 1 && rest.len() < there.len());
    let broken = |pair: &&&EditPair| {
        let tied = |other: &&EditPair| {
            let tie = |of: fn(&EditPair) -> &Option<String>| {
                of(pair).is_some() && of(pair) == of(other) && pair.dataset == other.dataset
            };
            tie(|pair| &pair.session_id) || tie(|pair| &pair.group_id)
        };
        there.iter().filter(dropped).any(|other| tied(&other))
    };
    let kept: Vec<_> = left.iter().filter(|pair| !broken(pair)).collect();
    assert_eq!(ids(&whole), kept.iter().map(|pair| pair.pair_id.as_str()).collect::<Vec<_>>());
    assert!(whole.len() < rest.len());
    let reasons = place.chosen(&paths(&sources), |request| {
        request.selection.condition = condition(text);
        request.selection.whole = true;
    });
    let filtered = reasons.head().selected.clone().unwrap().books.total().filtered;
    assert_eq!(filtered["where"], (there.len() - rest.len()) as u64);
    assert_eq!(filtered["whole"], (rest.len() - whole.len()) as u64);
}

#[test]
fn catalogs_of_a_choice_are_sources_like_others() {
    let place = Place::new();
    let shuffled = Place::index_with(&{
        let mut request = place.request(&[&fixtures().join("imgedit")], "shuffled");
        request.selection.shuffle = true;
        request.selection.shares = Some("train=0.5,test=0.5".parse().unwrap());
        request
    });
    let some = Place::index_with(&{
        let mut request = place.request(&[&fixtures().join("pape")], "some");
        request.selection.condition = condition("variant = 'normal'");
        request
    });
    let sources = [shuffled.as_path(), &some, &fixtures().join("inter-edit-train")];
    let mut wanted = pairs_of(&opened(&shuffled));
    wanted.extend(pairs_of(&opened(&some)));
    let in_splits: BTreeSet<_> = wanted.iter().filter_map(|pair| pair.split).collect();
    assert!(in_splits.len() > 1);
    let own = |pairs: Vec<EditPair>| -> Vec<_> {
        let pairs = pairs.into_iter().filter(|pair| pair.dataset != "inter-edit-train");
        pairs.map(|pair| (pair.pair_id, pair.split, pair.instruction)).collect()
    };
    let wanted = own(wanted);
    let joined = place.index(&sources, "joined");
    assert_eq!(own(pairs_of(&opened(&joined))), wanted);
    let once_more = place.index(&[&joined], "once more");
    assert_eq!(own(pairs_of(&opened(&once_more))), wanted);
    for source in [&sources[..], &[&joined], &[&once_more]] {
        let mut request = place.request(source, "out");
        request.to = "parquet".to_owned();
        let report = convert(&request).unwrap();
        assert_eq!(report.total.written, wanted.len() as u64 + 24);
        let split = |split: Option<Split>| split.unwrap_or(Split::Train);
        let mut found = own(pairs(&request.out, &[]));
        let mut wanted = wanted.clone();
        for all in [&mut found, &mut wanted] {
            all.iter_mut().for_each(|pair| pair.1 = Some(split(pair.1)));
            all.sort_by_key(|pair| pair.1);
        }
        assert_eq!(found, wanted);
        fs::remove_dir_all(&request.out).unwrap();
    }
    let mut request = place.request(&[&joined], "none");
    let count = |request: &Request| -> u64 {
        let found = diptych::engine().inspect(request, &Silent).unwrap();
        found.iter().map(|of| of.pairs).sum()
    };
    assert_eq!(count(&request), wanted.len() as u64 + 24);
    request.selection.condition = condition("dataset = 'imgedit'");
    let imgedit = wanted.iter().filter(|(id, ..)| id.starts_with("imgedit:")).count();
    assert_eq!(count(&request), imgedit as u64);
}

#[test]
fn what_shares_a_source_with_what_is_excluded_is_dropped() {
    let place = Place::new();
    let sources = catalogs(&place, &["imgedit", "pape"]);
    let bench = fixtures().join("imgedit-bench");
    let mut request = place.request(&paths(&sources), "out");
    request.to = "parquet".to_owned();
    request.selection.exclude = vec![diptych::SourceRequest::new(bench.clone())];
    // A release excludes its own pairs, and an output of some pairs those.
    let first = place.at("first");
    let mut of_first = place.request(&[&sources[1]], "first");
    of_first.limit = Some(2);
    convert(&of_first).unwrap();
    request.selection.exclude.push(diptych::SourceRequest::new(first));
    let report = convert(&request).unwrap();
    let excluded = report.selection.as_ref().unwrap().excluded.clone();
    assert_eq!(excluded.len(), 2);
    assert_eq!(excluded[1].pairs, 2);
    let held = |path: &Path| support::back::Held::read(path, &[]);
    let (bench, first, all) =
        (held(&bench), held(&of_first.out), place.index(&paths(&sources), "all"));
    let all = support::back::Held::of(&opened(&all));
    let sources_of = |held: &support::back::Held| -> BTreeSet<Vec<u8>> {
        held.pairs.iter().map(|pair| held.bytes(&pair.source).to_vec()).collect()
    };
    let gone: BTreeSet<_> = sources_of(&bench).union(&sources_of(&first)).cloned().collect();
    let kept = all.pairs.iter().filter(|pair| !gone.contains(&*all.bytes(&pair.source)));
    let kept: BTreeSet<_> = kept.map(|pair| pair.pair_id.clone()).collect();
    let found: BTreeSet<_> = pairs(&request.out, &[]).into_iter().map(|of| of.pair_id).collect();
    assert_eq!(found, kept);
    assert_eq!(report.total.filtered["excluded"], (all.pairs.len() - kept.len()) as u64);
    assert!(all.pairs.len() - kept.len() >= 2);
}

#[test]
fn a_choice_is_planned_run_and_finished_apart() {
    let place = Place::new();
    let sources = catalogs(&place, &ALL);
    let change = |request: &mut Request| {
        request.selection.shares = Some("train=0.5,test=0.5".parse().unwrap());
        request.selection.shuffle = true;
        request.selection.sample = Some(Sample::Percent(80.0));
    };
    let wanted = place.converted(&paths(&sources), change);
    let mut request = place.request(&paths(&sources), "apart");
    change(&mut request);
    let plan = diptych::engine().plan(&request, &Silent).unwrap();
    for unit in (0..plan.units.len()).rev() {
        run_units(&request.out, unit..=unit).unwrap();
    }
    diptych::engine().finish(&request.out, false, &Silent).unwrap();
    support::folder::assert_same(&tree(&request.out), &wanted);

    // Another choice replaces it when that is asked for, and this one again.
    let mut other = Request { overwrite: true, ..request.clone() };
    other.selection.shares = None;
    other.selection.seed = Some(3);
    diptych::engine().convert(&Request { overwrite: false, ..other.clone() }, &Silent).unwrap_err();
    convert(&other).unwrap();
    assert!(!request.out.join("splits.parquet").exists() || tree(&request.out) != wanted);
    let back = Request { overwrite: true, ..request.clone() };
    convert(&back).unwrap();
    support::folder::assert_same(&tree(&request.out), &wanted);
}
