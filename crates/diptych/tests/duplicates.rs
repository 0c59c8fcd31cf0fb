//! Duplicates: what is the same is written once, and the list says what was dropped and for whom.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use diptych::condition::Number;
use diptych::schema::{EditPair, Score};
use diptych::select::{Dedup, DedupOn, Same};
use diptych::{Event, Observer, Request};
use support::again::pairs_of;
use support::folder::json_lines;
use support::job::convert;
use support::photo::{Photo, Stored, inline, pair};
use support::place::Place;

/// How a pair differs from the one of the first dataset with its number.
#[derive(Clone, Copy)]
struct Copied {
    source: Option<Stored>,
    target: Option<Stored>,
    instruction: bool,
}

/// What each pair of the second dataset has of the first's: `None` where it is another picture.
const COPIED: [Copied; 8] = {
    const fn copied(source: Option<Stored>, target: Option<Stored>, instruction: bool) -> Copied {
        Copied { source, target, instruction }
    }
    use Stored::{Plain, Recompressed, WebP, Wide};
    [
        copied(Some(Plain), Some(Plain), true),
        copied(Some(Plain), Some(Plain), false),
        copied(Some(Plain), None, true),
        copied(None, Some(Plain), true),
        copied(Some(Wide), Some(WebP), true),
        copied(Some(Plain), Some(Wide), true),
        copied(Some(Recompressed), Some(Plain), true),
        copied(Some(Recompressed), Some(Recompressed), true),
    ]
};

fn photo(seed: usize) -> Photo {
    Photo::new(u32::try_from(seed).unwrap())
}

fn scored(mut pair: EditPair, score: f64) -> EditPair {
    pair.scores.push(Score { name: "taste".to_owned(), value: score });
    pair
}

/// Two datasets, of which the second copies the first. Scores rise with the number in the second,
/// and are those of the middle in the first.
fn datasets(place: &Place) -> [PathBuf; 2] {
    let picture = |seed: usize, stored| inline("picture", photo(seed).stored(stored));
    let one = |number: usize| {
        let mut pair = pair("one", number, photo(number).stored(Stored::Plain));
        pair.target = Some(picture(100 + number, Stored::Plain));
        pair.instruction = Some(format!("change {number}"));
        scored(pair, 3.5)
    };
    let two = |(number, copied): (usize, &Copied)| {
        let of = |part: Option<Stored>, same: usize, other: usize| match part {
            Some(stored) => picture(same, stored),
            None => picture(other, Stored::Plain),
        };
        let mut pair = one(number);
        pair.pair_id = format!("two:{number}");
        pair.dataset = "two".to_owned();
        pair.source = of(copied.source, number, 200 + number);
        pair.target = Some(of(copied.target, 100 + number, 300 + number));
        if !copied.instruction {
            pair.instruction = Some("something else".to_owned());
        }
        pair.scores.clear();
        scored(pair, number as f64)
    };
    let first = place.release("one", (0..COPIED.len()).map(one).collect());
    [first, place.release("two", COPIED.iter().enumerate().map(two).collect())]
}

/// Whether a picture that is stored so is the same as the plain one.
fn same(stored: Option<Stored>, level: &str) -> bool {
    match stored {
        None => false,
        Some(Stored::Plain) => true,
        Some(Stored::Wide | Stored::WebP) => level != "bytes",
        Some(Stored::Recompressed) => level.starts_with("near"),
    }
}

#[test]
fn the_first_stays_or_the_best_at_every_level_and_on_every_part() {
    let place = Place::new();
    let [one, two] = datasets(&place);
    let all = place.index(&[&one, &two], "all");
    let parts = [DedupOn::Source, DedupOn::Target, DedupOn::Pair];
    for level in ["bytes", "pixels", "near:6"] {
        for on in parts {
            for best in [false, true] {
                let prefer = best.then(|| Number::parse("score('taste')").unwrap());
                let chosen = place.chosen(&[&all], |request| {
                    let level = level.parse().unwrap();
                    request.selection.dedup = Some(Dedup { level, on, prefer });
                });
                let is_copy = |copied: &Copied| {
                    let (source, target) = (same(copied.source, level), same(copied.target, level));
                    match on {
                        DedupOn::Source => source,
                        DedupOn::Target => target,
                        DedupOn::Pair => source && target && copied.instruction,
                    }
                };
                let copies = COPIED.iter().enumerate().filter(|(_, copied)| is_copy(copied));
                let wanted: BTreeMap<String, String> = copies
                    .map(|(number, _)| {
                        let (first, second) = (format!("one:{number}"), format!("two:{number}"));
                        // 3.5 is what the first has.
                        if best && number > 3 { (first, second) } else { (second, first) }
                    })
                    .collect();
                let what = format!("{level} on {on}, the best: {best}");
                let list = json_lines(&place.at("chosen").join("duplicates.jsonl"));
                let text = |line: &serde_json::Value, key: &str| {
                    line[key].as_str().unwrap_or_default().to_owned()
                };
                let listed: BTreeMap<_, _> =
                    list.iter().map(|line| (text(line, "pair_id"), text(line, "kept"))).collect();
                assert_eq!(listed, wanted, "{what}");
                let limit = if level == "near:6" { 12 } else { 0 };
                assert!(list.iter().all(|line| line["distance"].as_u64().unwrap() <= limit));
                let kept: BTreeSet<_> =
                    pairs_of(&chosen).into_iter().map(|pair| pair.pair_id).collect();
                assert_eq!(kept.len(), 2 * COPIED.len() - wanted.len(), "{what}");
                assert!(kept.iter().all(|id| !wanted.contains_key(id)), "{what}");
                let selected = chosen.head().selected.clone().unwrap();
                assert_eq!(selected.report.duplicates, Some(wanted.len() as u64));
                let filtered = selected.books.total().filtered.get("duplicate").copied();
                assert_eq!(filtered.unwrap_or_default(), wanted.len() as u64);
            }
        }
    }
}

/// What splits go by and what duplicates go by are two things.
#[test]
fn duplicates_are_near_though_splits_go_by_less() {
    let place = Place::new();
    let [one, two] = datasets(&place);
    let all = place.index(&[&one, &two], "all");
    let dropped = |same: Option<&str>| {
        let chosen = place.chosen(&[&all], |request| {
            let level = "near:6".parse().unwrap();
            request.selection.dedup = Some(Dedup { level, on: DedupOn::Source, prefer: None });
            request.selection.same = same.map(|same| same.parse::<Same>().unwrap());
            let shares = same.map(|_| "train=0.5,test=0.5".parse().unwrap());
            request.selection.shares = shares;
        });
        chosen.head().selected.clone().unwrap().report.duplicates
    };
    let wanted = dropped(None);
    assert_eq!(wanted, Some(7));
    for same in ["place", "bytes", "pixels", "near:2"] {
        assert_eq!(dropped(Some(same)), wanted, "{same}");
    }
}

/// Counts what is said of hashes.
#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<String>>);

impl Observer for Heard {
    fn event(&self, event: Event) {
        if let Event::Noticed(notice) = event {
            self.0.lock().unwrap().push(notice.kind);
        }
    }
}

#[test]
fn hashes_are_kept_beside_a_catalog_and_used_again() {
    let place = Place::new();
    let [one, two] = datasets(&place);
    let all = place.index(&[&one, &two], "all");
    let dedup = |request: &mut Request| {
        let level = "pixels".parse().unwrap();
        request.selection.dedup = Some(Dedup { level, on: DedupOn::Source, prefer: None });
    };
    assert!(!all.join("hashes.parquet").exists());
    let first = place.converted(&[&all], dedup);
    let kept = fs::read(all.join("hashes.parquet")).unwrap();
    assert_eq!(place.converted(&[&all], dedup), first);
    assert!(fs::read(all.join("hashes.parquet")).unwrap() == kept, "nothing is added");
    // The catalog is what it was to whatever takes it.
    assert_eq!(pairs_of(&diptych::catalog::Catalog::open(&all).unwrap().unwrap()).len(), 16);

    // Where none can be kept, that is told and nothing else is different.
    fs::remove_file(all.join("hashes.parquet")).unwrap();
    fs::create_dir(all.join("hashes.parquet")).unwrap();
    fs::write(all.join("hashes.parquet/in the way"), "").unwrap();
    let mut request = place.request(&[&all], "out");
    dedup(&mut request);
    let heard = Heard::default();
    let report = diptych::engine().convert(&request, &heard).unwrap().report;
    let kinds = heard.0.into_inner().unwrap();
    assert!(!kinds.is_empty(), "it is told");
    assert_eq!(report.total.filtered["duplicate"], 5);
    fs::remove_dir_all(&request.out).unwrap();
    // A damaged one is no reason to stop either.
    fs::remove_dir_all(all.join("hashes.parquet")).unwrap();
    fs::write(all.join("hashes.parquet"), "PAR1 and no more").unwrap();
    assert_eq!(convert(&request).unwrap().total.filtered["duplicate"], 5);
    assert!(fs::read(all.join("hashes.parquet")).unwrap().len() > 100, "it is made anew");
}
