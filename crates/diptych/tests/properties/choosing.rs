//! Whatever is asked for together, every edit is accounted for, and nothing is taken that was not
//! to be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use diptych::condition::Condition;
use diptych::report::Report;
use diptych::schema::EditPair;
use diptych::select::{Dedup, DedupOn, Mix, MixBy, Sample, Selection};
use diptych::{Request, Silent, SourceRequest};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::cases;
use crate::support::again::{pairs, pairs_of};
use crate::support::folder::{assert_same, fixtures, tree};
use crate::support::job::{convert, threads};
use crate::support::place::Place;

/// What is chosen from: catalogs of releases, one of which has rejections, and their pairs in order.
struct Sources {
    _place: Place,
    catalogs: Vec<PathBuf>,
    pairs: Vec<EditPair>,
}

fn sources() -> &'static Sources {
    static MADE: OnceLock<Sources> = OnceLock::new();
    MADE.get_or_init(|| {
        let place = Place::new();
        let releases = ["imgedit", "bad/inter-edit-train/missing_shard/release", "pape"];
        let mut catalogs = Vec::new();
        let mut pairs = Vec::new();
        for (number, release) in releases.into_iter().enumerate() {
            let at = place.index(&[&fixtures().join(release)], &format!("catalog {number}"));
            pairs.extend(pairs_of(&diptych::catalog::Catalog::open(&at).unwrap().unwrap()));
            catalogs.push(at);
        }
        Sources { _place: place, catalogs, pairs }
    })
}

/// What is asked for, in words that can be shown.
#[derive(Debug, Clone)]
struct Asked {
    condition: Option<&'static str>,
    /// Of the ids, those whose number leaves no rest.
    listed: Option<usize>,
    in_order: bool,
    whole: bool,
    exclude: bool,
    split: Option<&'static str>,
    dedup: Option<(&'static str, DedupOn)>,
    draw: Draw,
    shuffle: bool,
    seed: u64,
    limit: Option<u64>,
    own: Option<&'static str>,
}

#[derive(Debug, Clone)]
enum Draw {
    All,
    Sample(Sample),
    Mix { shares: [u8; 3], total: Option<u64>, repeat: bool },
}

const DATASETS: [&str; 3] = ["imgedit", "inter-edit-train", "pape"];

const CONDITIONS: [&str; 4] = [
    "edit_type IN ('remove', 'add')",
    "turn IS NULL OR turn <> 1",
    "dataset <> 'pape' OR variant = 'normal'",
    "length(instruction) > 20",
];

fn drawn() -> impl Strategy<Value = Draw> {
    let mix = (proptest::array::uniform3(0_u8..4), option::of(0_u64..60), any::<bool>());
    let mix = mix.prop_filter("not all are 0", |(shares, _, _)| shares.iter().any(|of| *of > 0));
    prop_oneof![
        2 => Just(Draw::All),
        1 => (0_u64..50).prop_map(|count| Draw::Sample(Sample::Count(count))),
        1 => (0_u32..=100).prop_map(|of| Draw::Sample(Sample::Percent(of.into()))),
        3 => mix.prop_map(|(shares, total, repeat)| {
            Draw::Mix { shares, total, repeat: repeat && total.is_some() }
        }),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let on = select(vec![DedupOn::Source, DedupOn::Target, DedupOn::Pair]);
    let dedup = option::of((select(vec!["bytes", "pixels", "near"]), on));
    let split = option::of(Just("train=0.5,val=0.25,test=0.25"));
    let choice = (
        option::of(select(CONDITIONS.to_vec())),
        option::of(1_usize..4),
        any::<[bool; 3]>(),
        split,
        dedup,
    );
    let order = (any::<[bool; 2]>(), any::<u64>(), option::of(0_u64..40));
    let own = option::of(Just("edit_type <> 'adjust'"));
    (choice, drawn(), order, own).prop_map(|(choice, draw, order, own)| {
        let (condition, listed, [in_order, whole, exclude], split, dedup) = choice;
        let ([shuffle, limited], seed, limit) = order;
        Asked {
            condition,
            listed,
            in_order: in_order && listed.is_some() && !shuffle,
            whole,
            exclude,
            split,
            dedup,
            draw,
            shuffle,
            seed,
            limit: limit.filter(|_| limited),
            own,
        }
    })
}

impl Asked {
    fn request(&self, sources: &Sources, place: &Place) -> Request {
        let catalogs: Vec<_> = sources.catalogs.iter().map(PathBuf::as_path).collect();
        let mut request = place.request(&catalogs, "out");
        let condition = |text: &str| Condition::parse(text).unwrap();
        request.sources[0].condition = self.own.map(condition);
        request.limit = self.limit;
        let (sample, mix) = match &self.draw {
            Draw::All => (None, None),
            Draw::Sample(sample) => (Some(*sample), None),
            Draw::Mix { shares, total, repeat } => {
                let shares = DATASETS.iter().zip(shares);
                let shares = shares.map(|(name, share)| ((*name).to_owned(), f64::from(*share)));
                let (shares, by) = (shares.collect(), MixBy::dataset().unwrap());
                (None, Some(Mix { by, shares, total: *total, repeat: *repeat }))
            }
        };
        let exclude = self.exclude.then(|| SourceRequest::new(fixtures().join("imgedit-bench")));
        request.selection = Selection {
            condition: self.condition.map(condition),
            pairs: self.listed.map(|every| {
                let ids = sources.pairs.iter().step_by(every).map(|pair| pair.pair_id.as_str());
                // Not in the order of the pairs, and with some that there are none of.
                let mut ids: Vec<_> = ids.rev().collect();
                ids.push("nobody:1");
                let path = place.at("list.txt");
                fs::write(&path, ids.join("\n")).unwrap();
                path
            }),
            in_order: self.in_order,
            whole: self.whole,
            exclude: exclude.into_iter().collect(),
            same: None,
            shares: self.split.map(|shares| shares.parse().unwrap()),
            split_file: None,
            dedup: self.dedup.map(|(level, on)| Dedup {
                level: level.parse().unwrap(),
                on,
                prefer: None,
            }),
            sample,
            mix,
            shuffle: self.shuffle,
            seed: Some(self.seed),
        };
        request
    }

    fn check(&self, sources: &Sources, report: &Report, written: &[EditPair]) {
        report.datasets.check().unwrap();
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for pair in written {
            *found.entry(&pair.dataset).or_default() += 1;
        }
        let mut read: BTreeMap<String, u64> = BTreeMap::new();
        for line in report.datasets.clone().lines() {
            *read.entry(line.dataset).or_default() += line.book.read;
        }
        let mut there: BTreeMap<String, u64> = BTreeMap::new();
        for pair in &sources.pairs {
            *there.entry(pair.dataset.clone()).or_default() += 1;
        }
        *there.get_mut("inter-edit-train").unwrap() += report.total.rejections();
        assert_eq!(read, there, "each edit that there is was read");
        for (dataset, count) in report.datasets.written_by_dataset() {
            assert_eq!(found.remove(dataset.as_str()), Some(count), "{dataset}");
        }
        assert!(found.is_empty(), "{found:?}");
        let ids: BTreeSet<_> = written.iter().map(|pair| pair.pair_id.as_str()).collect();
        assert_eq!(ids.len(), written.len(), "ids are unique");
        if let Some(limit) = self.limit {
            assert!(written.len() as u64 <= limit);
        }
        if let Draw::Mix { total: Some(total), .. } | Draw::Sample(Sample::Count(total)) = self.draw
        {
            assert!(written.len() as u64 <= total);
        }
        let repeats = matches!(self.draw, Draw::Mix { repeat: true, .. });
        assert!(repeats || report.total.repeated == 0);
        assert!(self.split.is_none() || written.iter().all(|pair| pair.split.is_some()));
        if self.whole && self.limit.is_none() {
            self.check_whole(sources, written);
        }
    }

    /// Each session and group is there whole or not at all.
    fn check_whole(&self, sources: &Sources, written: &[EditPair]) {
        let sizes = |pairs: &[EditPair]| {
            let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
            for pair in pairs {
                let ties = [&pair.session_id, &pair.group_id].into_iter().flatten();
                for tie in ties {
                    *sizes.entry(format!("{}/{tie}", pair.dataset)).or_default() += 1;
                }
            }
            sizes
        };
        let whole = sizes(&sources.pairs);
        for (tie, count) in sizes(written) {
            let origin = tie.split(":again-").next().unwrap();
            assert_eq!(count, whole[origin], "{tie}");
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn every_edit_is_accounted_for_whatever_is_asked_for(asked in asked()) {
        let sources = sources();
        let place = Place::new();
        let mut request = asked.request(sources, &place);
        let dry = diptych::engine().dry_run(&request, &Silent).unwrap();
        let report = convert(&request).unwrap();
        let some = report.total.written > 0;
        let written = if some { pairs(&request.out, &[]) } else { Vec::new() };
        asked.check(sources, &report, &written);
        let planned: u64 = dry.plan.units.iter().map(|unit| unit.pairs).sum();
        prop_assert_eq!(planned, report.total.written, "what was told before is what was done");
        prop_assert_eq!(&dry.selection, &report.selection);

        // A catalog of the choice is a source like others, and gives the same.
        let index = Request { out: place.at("index"), ..request.clone() };
        diptych::engine().index(&index, &Silent).unwrap();
        let chosen = place.request(&[&index.out], "again");
        let again = convert(&chosen).unwrap();
        prop_assert_eq!(&again.datasets, &report.datasets);
        let without = |out, names: &[&str]| {
            let mut tree = tree(out);
            names.iter().for_each(|name| drop(tree.remove(*name)));
            tree
        };
        // What was compared stands beside the catalog, and not in what is made of it.
        let besides = ["report.json", "splits.parquet", "duplicates.jsonl"];
        assert_same(&without(&chosen.out, &besides), &without(&request.out, &besides));
        let wanted = tree(&request.out);

        // Neither threads nor where it was written change a byte.
        fs::remove_dir_all(&request.out).unwrap();
        request.jobs = threads(4);
        convert(&request).unwrap();
        assert_same(&tree(&request.out), &wanted);
    }
}
