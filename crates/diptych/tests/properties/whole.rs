//! Whole releases: what comes back is what went in, and nothing depends on what it should not.

use std::collections::BTreeMap;
use std::path::Path;

use diptych::format::{Altered, Format};
use diptych::schema::{EditPair, MaskOrigin};
use diptych::{Engine, Request, Silent};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::cases;
use crate::drawn::set;
use crate::support::again::pairs_of;
use crate::support::back::{Destination, Held, compare};
use crate::support::folder::{assert_same, fixtures, tree};
use crate::support::job::{self, threads};
use crate::support::toy::{self, Partitions};

/// Cuts pairs into partitions, never within what belongs together.
fn cut(pairs: &[EditPair], at: &[Index]) -> Vec<Vec<EditPair>> {
    let stays = |first: &EditPair, second: &EditPair| {
        let both =
            |of: fn(&EditPair) -> &Option<String>| of(first).is_some() && of(first) == of(second);
        both(|pair| &pair.session_id) || both(|pair| &pair.group_id)
    };
    let at: Vec<_> = at.iter().map(|index| index.index(pairs.len())).collect();
    let mut parts: Vec<Vec<EditPair>> = vec![Vec::new()];
    for (number, pair) in pairs.iter().enumerate() {
        let last = parts.last().and_then(|part| part.last());
        if at.contains(&number) && !last.is_some_and(|last| stays(last, pair)) {
            parts.push(Vec::new());
        }
        parts.last_mut().unwrap().push(pair.clone());
    }
    parts
}

fn engine(parts: Vec<Vec<EditPair>>) -> Engine {
    toy::engine(Box::leak(Box::new(Partitions(parts))))
}

/// Conversions of a toy.
struct Way<'a> {
    folder: &'a Path,
    to: &'a Destination,
}

impl Way<'_> {
    fn request(&self, out: &str) -> Request {
        // Any folder there is: the toy is code.
        let mut request = job::request(&fixtures(), &self.folder.join(out));
        request.sources[0].from = Some("toy".to_owned());
        request
    }

    fn convert(&self, parts: Vec<Vec<EditPair>>, shard_size: u64, jobs: usize, out: &str) {
        let request = Request {
            to: self.to.about.name.to_owned(),
            shard_size,
            jobs: threads(jobs),
            mask_from: self.to.alters(Altered::MaskMeaning).then(|| vec![MaskOrigin::Release]),
            ..self.request(out)
        };
        let count = parts.iter().map(Vec::len).sum::<usize>() as u64;
        let total = engine(parts).convert(&request, &Silent).unwrap().report.total;
        assert_eq!((total.read, total.written, total.rejections()), (count, count, 0));
    }

    fn held(&self, pairs: &[EditPair], catalog: &str) -> Held {
        let request = self.request(catalog);
        engine(vec![pairs.to_vec()]).index(&request, &Silent).unwrap();
        Held::of(&diptych::catalog::Catalog::open(&request.out).unwrap().unwrap())
    }
}

fn destinations() -> Vec<&'static dyn Format> {
    let formats = diptych::FORMATS.iter().copied();
    formats.filter(|format| format.about().writes && format.about().reads).collect()
}

fn comes_back(
    pairs: &[EditPair],
    format: &'static dyn Format,
    (first, second): (&[Index], &[Index]),
    (shard_size, other_size): (u64, u64),
    order: &[u32],
) {
    let to = Destination::new(format);
    let dir = tempfile::tempdir().unwrap();
    let way = Way { folder: dir.path(), to: &to };
    let out = |name: &str| dir.path().join(name);
    let went_in = way.held(pairs, "went-in");

    way.convert(cut(pairs, first), shard_size, 1, "first");
    let came_back = Held::read(&out("first"), &[]);
    compare(to.about.name, &to, &went_in, &came_back);

    // Neither threads nor where partitions are cut change a byte.
    way.convert(cut(pairs, second), shard_size, 3, "second");
    let [mut one, mut two] = ["first", "second"].map(|name| tree(&out(name)));
    for tree in [&mut one, &mut two] {
        assert!(tree.contains_key("report.json"));
    }
    assert_same(&two, &one);

    // Neither the order of partitions nor the size of shards changes a pair.
    let mut parts: Vec<_> = cut(pairs, second);
    let mut keys = order.iter().cycle();
    parts.sort_by_cached_key(|_| keys.next().copied());
    let moved: Vec<_> = parts.iter().flatten().cloned().collect();
    way.convert(parts, other_size, 2, "third");
    let moved = way.held(&moved, "moved");
    let third = Held::read(&out("third"), &[]);
    compare(to.about.name, &to, &moved, &third);
    let by_id = |held: &Held| {
        let pairs = held.pairs.iter().map(|pair| (pair.pair_id.clone(), to_words(held, pair)));
        pairs.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(by_id(&third), by_id(&came_back));
    assert_eq!(pairs_of_folder(&out("first")), came_back.pairs.len());
}

/// How many pairs an output has, by a catalog of it.
fn pairs_of_folder(out: &Path) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let catalog = crate::support::again::catalog(out, &[], &dir.path().join("catalog"));
    pairs_of(&catalog).len()
}

/// A pair with the bytes of its pictures in place of where they are.
fn to_words(held: &Held, pair: &EditPair) -> String {
    let mut pair = pair.clone();
    for address in pair.addresses_mut() {
        let bytes = held.pictures.bytes(address).unwrap();
        *address = diptych::schema::Address::Inline(bytes.to_vec());
    }
    format!("{pair:?}")
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn pairs_come_back_from_every_format_whatever_they_are(
        pairs in set(),
        format in select(destinations().iter().map(|format| format.about().name).collect::<Vec<_>>()),
        first in prop::collection::vec(any::<Index>(), 0..3),
        second in prop::collection::vec(any::<Index>(), 0..3),
        sizes in (500..9_000_u64, 500..40_000_u64),
        order in prop::collection::vec(any::<u32>(), 1..5),
    ) {
        let format = destinations().into_iter().find(|of| of.about().name == format).unwrap();
        comes_back(&pairs, format, (&first, &second), sizes, &order);
    }
}
