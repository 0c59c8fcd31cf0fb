//! Splits of several datasets: a photograph is on one side only, however it was stored, and what
//! was split stays where it is when more is added.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use diptych::catalog::Catalog;
use diptych::schema::Split;
use diptych::select::{Dedup, DedupOn, Same, SplitsReport};
use diptych::{Request, Silent, SourceRequest};
use support::again::{pairs, pairs_of};
use support::folder::json;
use support::job::{convert, rejections};
use support::photo::{Photo, Stored, pair};
use support::place::Place;

/// Photographs that two datasets share.
const SHARED: usize = 16;

fn photo(number: usize) -> Photo {
    Photo::new(u32::try_from(number).unwrap())
}

/// A dataset with these photographs as sources.
fn dataset(place: &Place, name: &str, photos: &[usize], stored: Stored) -> PathBuf {
    let pair = |number: &usize| pair(name, *number, photo(*number).stored(stored));
    place.release(name, photos.iter().map(pair).collect())
}

fn by_shares(shares: &str, same: Option<Same>) -> impl Fn(&mut Request) {
    let shares = shares.parse().unwrap();
    move |request| {
        request.selection.shares = Some(shares);
        request.selection.same = same;
    }
}

type Splits = BTreeMap<String, Option<Split>>;

fn splits_of(catalog: &Catalog) -> Splits {
    pairs_of(catalog).into_iter().map(|pair| (pair.pair_id, pair.split)).collect()
}

fn report_of(catalog: &Catalog) -> SplitsReport {
    catalog.head().selected.clone().unwrap().report.splits.unwrap()
}

/// Photographs whose pairs of both datasets have not the same split.
fn straddling(splits: &Splits) -> usize {
    let differs =
        |number: &usize| splits[&format!("one:{number}")] != splits[&format!("two:{number}")];
    (0..SHARED).filter(differs).count()
}

/// Levels, each of which finds what those before it find.
fn levels() -> [(Same, usize); 4] {
    let level = |level: &str| level.parse().map(Same::Level).unwrap();
    [(Same::Place, 0), (level("bytes"), 1), (level("pixels"), 2), (level("near:6"), 3)]
}

#[test]
fn a_photograph_is_never_on_two_sides_of_a_split() {
    // The photographs as the second dataset has them, and the first level that knows them again.
    let ways =
        [(Stored::Plain, 1), (Stored::Wide, 2), (Stored::WebP, 2), (Stored::Recompressed, 3)];
    for (stored, found_at) in ways {
        let place = Place::new();
        let all: Vec<_> = (0..SHARED).collect();
        let one = place.index(&[&dataset(&place, "one", &all, Stored::Plain)], "first");
        let two = place.index(&[&dataset(&place, "two", &all, stored)], "second");
        for (same, finds) in levels() {
            let mut straddled = 0;
            for first in (1..10).step_by(2) {
                let shares = format!("train=0.{first},test={:.1}", 1.0 - f64::from(first) / 10.0);
                let chosen = place.chosen(&[&one, &two], by_shares(&shares, Some(same)));
                let splits = splits_of(&chosen);
                assert_eq!(splits.len(), 2 * SHARED);
                assert!(splits.values().all(Option::is_some), "each has a split");
                let report = report_of(&chosen);
                let met = if finds >= found_at { SHARED as u64 } else { 0 };
                assert_eq!(report.collisions, met, "{stored:?} by {same}");
                assert_eq!(report.components, 2 * SHARED as u64 - met);
                assert_eq!(report.largest, if met > 0 { 2 } else { 1 });
                let told = report.first_collisions.iter().map(|told| {
                    assert_eq!(told.datasets, ["one", "two"]);
                    assert_eq!(told.count, 2);
                    let word = splits[&told.pairs[0]].unwrap().word();
                    assert_eq!(told.split.as_deref(), Some(word));
                    let number = |id: &String| id.split_once(':').unwrap().1.to_owned();
                    assert_eq!(number(&told.pairs[0]), number(&told.pairs[1]));
                    number(&told.pairs[0])
                });
                assert_eq!(told.collect::<BTreeSet<_>>().len() as u64, met);
                straddled += straddling(&splits);
            }
            let reached = finds >= found_at;
            assert_eq!(straddled == 0, reached, "{stored:?} by {same}: {straddled} straddle");
        }
    }
}

/// What is looked for in pictures for one purpose is not taken for another.
#[test]
fn duplicates_that_are_looked_for_decide_neither_splits_nor_what_is_excluded() {
    let place = Place::new();
    let all: Vec<_> = (0..SHARED).collect();
    let one = dataset(&place, "one", &all, Stored::Plain);
    let sources = place.index(&[&one, &dataset(&place, "two", &all, Stored::Wide)], "all");
    let chosen = |same: Same, dedup: Option<&str>, exclude: &Path| {
        let catalog = place.chosen(&[&sources], |request| {
            by_shares("train=0.5,test=0.5", Some(same))(request);
            request.selection.exclude = vec![SourceRequest::new(exclude)];
            request.selection.dedup = dedup.map(|level| Dedup {
                level: level.parse().unwrap(),
                on: DedupOn::Pair,
                prefer: None,
            });
        });
        splits_of(&catalog)
    };
    for (same, _) in levels() {
        let some = place.release(
            &format!("some by {same}"),
            vec![
                pair("three", 3, photo(3).stored(Stored::Plain)),
                pair("three", 4, photo(4).stored(Stored::WebP)),
            ],
        );
        for exclude in [&some, &one] {
            let wanted = chosen(same, None, exclude);
            for level in ["bytes", "pixels", "near"] {
                assert_eq!(chosen(same, Some(level), exclude), wanted, "{same}, {level}");
            }
        }
    }
}

/// What is split, and the rest of what a test asks of an output.
fn output(place: &Place, sources: &[&Path], to: &str, out: &str, pins: Option<&Path>) -> Request {
    let mut request = place.request(sources, out);
    request.to = to.to_owned();
    by_shares("train=0.6,val=0.2,test=0.2", None)(&mut request);
    request.selection.split_file = pins.map(Path::to_path_buf);
    request
}

/// The splits that an output's records say, as our own reader takes them.
fn splits_in(out: &Path) -> Splits {
    pairs(out, &[]).into_iter().map(|pair| (pair.pair_id, pair.split)).collect()
}

#[test]
fn what_was_split_stays_where_it_is_when_more_is_added() {
    let place = Place::new();
    let one = dataset(&place, "one", &(0..20).collect::<Vec<_>>(), Stored::Plain);
    let two = dataset(&place, "two", &(10..30).collect::<Vec<_>>(), Stored::Plain);
    convert(&output(&place, &[&one, &two], "parquet", "before", None)).unwrap();
    let before = splits_in(&place.at("before"));
    assert_eq!(before.len(), 40);
    let words: BTreeSet<_> = before.values().collect();
    assert_eq!(words.len(), 3, "all splits are there");

    // A third one: sources of the first two, its own, and in front of all.
    let three = dataset(&place, "three", &(5..45).collect::<Vec<_>>(), Stored::Plain);
    let pins = place.at("before/splits.parquet");
    for sources in [[&one, &two, &three], [&three, &two, &one]] {
        let sources = sources.map(PathBuf::as_path);
        // Other shares than before, which move nothing.
        let mut request = output(&place, &sources, "parquet", "after", Some(&pins));
        request.selection.shares = Some("train=0.1,val=0.1,test=0.8".parse().unwrap());
        let report = convert(&request).unwrap();
        let after = splits_in(&request.out);
        assert_eq!(after.len(), 80);
        for (id, split) in &before {
            assert_eq!(after[id], *split, "{id} moved");
        }
        for number in 5..30 {
            let other = if number < 20 { "one" } else { "two" };
            let of = |dataset: &str| after[&format!("{dataset}:{number}")];
            assert_eq!(of("three"), of(other), "{number}");
        }
        let splits = report.selection.unwrap().splits.unwrap();
        assert_eq!((splits.pinned, splits.collisions), (40, 25));
        std::fs::remove_dir_all(&request.out).unwrap();
    }
    // What it wrote pins as much as what came before it: nothing moves when less is asked for.
    let request = output(&place, &[&three], "parquet", "less", Some(&pins));
    convert(&request).unwrap();
    let less = splits_in(&request.out);
    for number in 5..30 {
        let other = if number < 20 { "one" } else { "two" };
        assert_eq!(less[&format!("three:{number}")], before[&format!("{other}:{number}")]);
    }
}

#[test]
fn a_pair_that_would_bridge_two_pinned_splits_is_rejected() {
    let place = Place::new();
    let numbers: Vec<_> = (0..20).collect();
    let one = dataset(&place, "one", &numbers, Stored::Plain);
    convert(&output(&place, &[&one], "parquet", "before", None)).unwrap();
    let before = splits_in(&place.at("before"));
    let in_split = |split: Split| -> Vec<usize> {
        let of = |number: &usize| before[&format!("one:{number}")] == Some(split);
        numbers.iter().copied().filter(of).collect()
    };
    let (train, test) = (in_split(Split::Train), in_split(Split::Test));
    // A session of three turns: one on a photograph of train, one on one of test, one on neither.
    let turns = [train[0], test[0], 50];
    let turn = |(turn, number): (u16, usize)| {
        let mut pair = pair("two", number, photo(number).stored(Stored::Plain));
        pair.session_id = Some("s".to_owned());
        pair.turn = Some(turn);
        pair
    };
    let mut bridging: Vec<_> = (0..).zip(turns).map(turn).collect();
    bridging.push(pair("two", train[1], photo(train[1]).stored(Stored::Plain)));
    let two = place.release("two", bridging);
    let pins = place.at("before/splits.parquet");
    let request = output(&place, &[&one, &two], "parquet", "after", Some(&pins));
    let report = convert(&request).unwrap();
    assert_eq!(report.total.rejections(), 1);
    let rejected = &rejections(&request.out)[0];
    assert_eq!(rejected["kind"], "split_conflict");
    assert_eq!(rejected["pair_id"], format!("two:{}", test[0]));
    let cause = rejected["cause"].as_str().unwrap();
    for told in [&format!("one:{} (train)", train[0]), &format!("one:{} (test)", test[0])] {
        assert!(cause.contains(told.as_str()), "{cause}");
    }
    let after = splits_in(&request.out);
    for (id, split) in &before {
        assert_eq!(after[id], *split, "{id} moved");
    }
    assert_eq!(after[&format!("two:{}", train[0])], Some(Split::Train));
    assert_eq!(after["two:50"], Some(Split::Train), "it is of the session");
    assert!(!after.contains_key(&format!("two:{}", test[0])));
    let written = json(&request.out.join("report.json"));
    assert_eq!(written["total"]["rejected"]["split_conflict"], 1);

    let strict = Request { strict: true, out: place.at("strict"), ..request };
    let error = diptych::engine().convert(&strict, &Silent).unwrap_err();
    assert!(error.to_string().contains("split_conflict"), "{error}");
    assert!(!strict.out.exists());
}
