use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use diptych_storage::LocalTree;
use diptych_storage::output::LocalOutput;
use diptych_storage::tree::ReadTree;
use serde_json::json;
use tempfile::TempDir;

use super::cache::HASHES;
use super::*;
use crate::catalog::{CATALOG_VERSION, Catalog, CatalogFile, FILES, HEAD, Piece, write_files};
use crate::observe::{Event, Silent};
use crate::pictures::Pictures;

/// A release of files of any bytes, and the catalog of it.
struct Bench {
    dir: TempDir,
    jobs: usize,
    limits: Limits,
}

impl Bench {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("release")).unwrap();
        for (name, bytes) in files {
            fs::write(dir.path().join("release").join(name), bytes).unwrap();
        }
        let bench = Self { dir, jobs: 2, limits: Limits::DEFAULT };
        bench.index();
        bench
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// Makes the catalog of what is there now, a file of it for each of the release in their order.
    fn index(&self) {
        let root = self.at("release");
        let tree = LocalTree::open(&root, &Limits::DEFAULT).unwrap();
        let files: Vec<_> = tree
            .list()
            .iter()
            .map(|entry| {
                let (path, length, modified) = (entry.path.clone(), entry.length, entry.modified);
                let pieces = vec![Piece { path, length, modified }];
                CatalogFile { source: "toy".to_owned(), pieces }
            })
            .collect();
        let _ = fs::remove_file(self.at("catalog").join(FILES));
        write_files(&LocalOutput::new(self.dir.path(), false), "catalog", &files).unwrap();
        let head = json!({
            "catalog_version": CATALOG_VERSION,
            "schema_version": diptych_schema::SCHEMA_VERSION,
            "generator": "toy",
            "probe": true,
            "limit": null,
            "sources": [{
                "label": "toy", "format": "toy", "options": {}, "root": root, "listing": "",
            }],
            "partitions": [],
            "notices": [],
        });
        fs::write(self.at("catalog").join(HEAD), head.to_string()).unwrap();
    }

    fn try_hash(
        &self,
        addresses: &[Address],
        level: Level,
        observer: &dyn Observer,
    ) -> Result<Hashed, EngineError> {
        let catalog = Catalog::open(&self.at("catalog")).unwrap().unwrap();
        let labels = BTreeMap::from([("toy".to_owned(), "toy".to_owned())]);
        let hashing = Hashing {
            level,
            limits: self.limits,
            jobs: NonZeroUsize::new(self.jobs).unwrap(),
            observer,
            caches: &[CacheFolder { folder: self.at("catalog"), labels }],
            durable: false,
        };
        Pictures::of(&catalog, &[], self.limits)?.hashes(addresses, &hashing)
    }

    fn hash(&self, addresses: &[Address], level: Level) -> Hashed {
        self.try_hash(addresses, level, &Silent).unwrap()
    }
}

fn range(file: u32, offset: u64, length: u64) -> Address {
    Address::Range { file, offset, length }
}

/// A picture whose left half is brighter.
fn picture(bright: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 32, 4);
    encoder.set_color(png::ColorType::Grayscale);
    let row = [[bright; 16], [9; 16]].concat();
    encoder.write_header().unwrap().write_image_data(&row.repeat(4)).unwrap();
    bytes
}

fn digest(bytes: &[u8]) -> u128 {
    reading::short(&blake3::hash(bytes))
}

/// Sets the time of a file's last change.
fn touch(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn each_picture_has_the_digest_of_its_bytes_wherever_it_lies() {
    // Larger than a read, with gaps that are read along and gaps that are not.
    let large: Vec<u8> =
        (0..3_000_000_u32).map(|i| (i.wrapping_mul(i) >> 7).to_le_bytes()[0]).collect();
    let bench = Bench::new(&[("a", &large), ("b", b"0123456789")]);
    let places: [(u32, usize, usize); 10] = [
        (1, 2, 3),
        (0, 0, 3_000_000),
        (0, 10, 512),
        (0, 600, 512),
        (0, 500_000, 1_200_000),
        (0, 700_000, 100),
        (0, 10, 512),
        (1, 10, 0),
        (0, 2_999_999, 1),
        (0, 500, 300),
    ];
    let addresses: Vec<_> = places.iter().map(|of| range(of.0, of.1 as u64, of.2 as u64)).collect();
    let hashed = bench.hash(&addresses, Level::Bytes);
    for ((file, offset, length), hash) in places.into_iter().zip(&hashed.hashes) {
        let all: &[u8] = if file == 0 { &large } else { b"0123456789" };
        let wanted = digest(&all[offset..offset + length]);
        assert_eq!(*hash, Some(PictureHash { bytes: wanted, pixels: None, near: None }));
    }
    assert_eq!(hashed.read.0, 9, "the same address is read once");
    assert!(hashed.undecoded.is_empty() && hashed.notices.is_empty());
}

#[test]
fn what_is_inline_is_hashed_and_what_is_elsewhere_is_not() {
    let bench = Bench::new(&[("a", b"x")]);
    let url = Address::Url { url: "https://example.org/a.png".to_owned(), sha256: None };
    let hashed = bench.hash(&[Address::Inline(picture(99)), url], Level::Near(4));
    let [Some(inline), None] = hashed.hashes[..] else { panic!("{hashed:?}") };
    assert_eq!(inline.bytes, digest(&picture(99)));
    assert!(inline.pixels.is_some() && inline.near.is_some());
}

#[test]
fn levels_say_what_they_are_asked_for_and_what_is_not_decoded_is_counted() {
    let (one, other) = (picture(99), picture(200));
    let broken = &one[..40];
    let all = [one.as_slice(), &other, broken, b"GIF89a"].concat();
    let mut bench = Bench::new(&[("a", &all)]);
    let (n, m) = (one.len() as u64, other.len() as u64);
    let addresses = [range(0, 0, n), range(0, n, m), range(0, n + m, 40), range(0, n + m + 40, 6)];
    let near = bench.hash(&addresses, Level::Near(4));
    assert_eq!(near.undecoded, BTreeMap::from([("broken", 1), ("not_a_picture", 1)]));
    let shown: Vec<_> = near.hashes.iter().map(|of| of.unwrap()).collect();
    assert!(shown[..2].iter().all(|of| of.pixels.is_some() && of.near.is_some()));
    assert!(shown[2..].iter().all(|of| of.pixels.is_none() && of.near.is_none()));
    let pixels = bench.hash(&addresses, Level::Pixels);
    assert_eq!(pixels.read.0, 0, "a level that is known already is read from the table");
    assert_eq!(pixels.undecoded, near.undecoded);
    for (pixels, near) in pixels.hashes.iter().zip(&shown) {
        assert_eq!(pixels.unwrap(), PictureHash { near: None, ..*near });
    }
    // Under other limits others are decoded: what is kept changes nothing that comes out.
    bench.limits.pixels = 127;
    let few = bench.hash(&addresses, Level::Pixels);
    assert_eq!(few.undecoded["too_many_pixels"], 3);
    assert_eq!(few.read.0, 4);
    assert_eq!(bench.hash(&addresses, Level::Pixels).read.0, 0);
    assert_eq!(few.hashes[0].unwrap().pixels, None);
    bench.limits = Limits { picture_bytes: 30, ..Limits::DEFAULT };
    let few = bench.hash(&addresses, Level::Pixels);
    assert_eq!(few.undecoded["too_many_bytes"], 3);
}

#[test]
fn what_is_kept_is_not_read_again_and_a_file_of_another_time_is() {
    let bench = Bench::new(&[("a", &picture(50)), ("b", &picture(60))]);
    let length = picture(50).len() as u64;
    let addresses = [range(0, 0, length), range(1, 0, length)];
    for name in ["a", "b"] {
        touch(&bench.at("release").join(name), 1000);
    }
    bench.index();
    let bytes = bench.hash(&addresses, Level::Bytes);
    let first = bench.hash(&addresses, Level::Near(4));
    assert_eq!((bytes.read.0, first.read.0), (2, 2), "bytes alone do not say what they show");
    // Who opens this file notices.
    fs::write(bench.at("release/a"), b"other").unwrap();
    let again = bench.hash(&addresses, Level::Near(2));
    assert_eq!((again.read, &again.hashes), ((0, 0), &first.hashes));
    // The same size, another time.
    fs::write(bench.at("release/a"), picture(70)).unwrap();
    touch(&bench.at("release/a"), 1001);
    let error = bench.try_hash(&[range(0, 0, 1)], Level::Bytes, &Silent).unwrap_err();
    assert!(matches!(error, EngineError::Changed { .. }), "{error}");
    bench.index();
    let anew = bench.hash(&addresses, Level::Near(4));
    assert_eq!(anew.read.0, 1);
    assert_eq!(anew.hashes[0].unwrap().bytes, digest(&picture(70)));
    assert_eq!(anew.hashes[1], first.hashes[1]);
}

#[test]
fn a_file_whose_time_is_not_known_is_not_kept() {
    let bench = Bench::new(&[("a", b"0123")]);
    touch(&bench.at("release/a"), 0);
    bench.index();
    for _ in 0..2 {
        assert_eq!(bench.hash(&[range(0, 0, 4)], Level::Bytes).read, (1, 4));
    }
}

#[test]
fn a_table_that_is_damaged_is_told_of_and_made_anew() {
    let bench = Bench::new(&[("a", b"0123456789")]);
    let addresses = [range(0, 0, 4), range(0, 4, 4)];
    let first = bench.hash(&addresses, Level::Bytes);
    let table = bench.at("catalog").join(HASHES);
    let whole = fs::read(&table).unwrap();
    let mut cases = vec![Vec::new(), b"PAR1".to_vec(), whole[..whole.len() / 2].to_vec()];
    for at in (0..whole.len()).step_by(7) {
        let mut turned = whole.clone();
        turned[at] ^= 0x55;
        cases.push(turned);
    }
    let mut told = 0;
    for case in cases {
        fs::write(&table, &case).unwrap();
        // Of a digest that was changed nobody knows; but nothing ends in an error or a panic.
        let again = bench.hash(&addresses, Level::Bytes);
        if let [notice] = &again.notices[..] {
            assert_eq!(notice.kind, "hashes_damaged");
            assert!(notice.detail.starts_with("hashes that were kept cannot be used"));
            assert_eq!((again.read.0, &again.hashes), (2, &first.hashes));
            assert_eq!(fs::read(&table).unwrap(), whole, "it is made anew");
            told += 1;
        }
    }
    assert!(told > 10, "{told}");
}

#[test]
fn the_table_is_the_same_at_any_number_of_threads() {
    let all: Vec<u8> = (0..200_000_u32).map(|i| ((i * 31) >> 3).to_le_bytes()[0]).collect();
    let files: Vec<_> = (0..9).map(|i| format!("f{i}")).collect();
    let files: Vec<_> = files.iter().map(|name| (name.as_str(), all.as_slice())).collect();
    let mut bench = Bench::new(&files);
    let addresses: Vec<_> = (0..900).map(|i| range(i % 9, u64::from(i) * 200, 150)).collect();
    let mut found = Vec::new();
    for jobs in [1, 2, 7] {
        bench.jobs = jobs;
        let hashed = bench.hash(&addresses, Level::Pixels);
        let table = bench.at("catalog").join(HASHES);
        found.push((fs::read(&table).unwrap(), hashed));
        fs::remove_file(table).unwrap();
    }
    assert!(found.iter().all(|of| *of == found[0]));
    // What was found in two runs is kept together.
    let (first, others) = addresses.split_at(400);
    bench.hash(first, Level::Pixels);
    bench.hash(others, Level::Pixels);
    assert_eq!(fs::read(bench.at("catalog").join(HASHES)).unwrap(), found[0].0);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_told_of() {
    let bench = Bench::new(&[("a", b"0123456789")]);
    fs::create_dir(bench.at("catalog").join(HASHES)).unwrap();
    fs::write(bench.at("catalog").join(HASHES).join("x"), "").unwrap();
    let hashed = bench.hash(&[range(0, 0, 4)], Level::Bytes);
    assert_eq!(hashed.hashes[0].unwrap().bytes, digest(b"0123"));
    let kinds: Vec<_> = hashed.notices.iter().map(|notice| notice.kind.as_str()).collect();
    assert_eq!(kinds, ["hashes_damaged", "hashes_not_kept"]);
    let left: Vec<_> = fs::read_dir(bench.at("catalog")).unwrap().collect();
    assert_eq!(left.len(), 3, "nothing half written stays: {left:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let bench = Bench::new(&[("a", b"0123456789")]);
    let error = bench.try_hash(&[range(0, 5, 6)], Level::Bytes, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "cannot read a of toy");
    fs::remove_file(bench.at("release/a")).unwrap();
    let error = bench.try_hash(&[range(0, 5, 2)], Level::Bytes, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "cannot read a of toy");
}

/// Says to stop after the first pictures, and adds up what it is told.
#[derive(Default)]
struct Stops {
    stopped: AtomicBool,
    told: Mutex<Vec<Event>>,
}

impl Observer for Stops {
    fn event(&self, event: Event) {
        if matches!(event, Event::Hashed { .. }) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.told.lock().unwrap().push(event);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

#[test]
fn it_ends_where_the_observer_says_so_and_goes_on_from_there() {
    let mut bench = Bench::new(&[("a", b"0123456789"), ("b", b"0123456789"), ("c", b"01")]);
    bench.jobs = 1;
    let addresses = [range(0, 0, 4), range(1, 4, 4), range(2, 0, 2)];
    let stops = Stops::default();
    let error = bench.try_hash(&addresses, Level::Bytes, &stops).unwrap_err();
    assert!(error.is_stop());
    let told = stops.told.into_inner().unwrap();
    let begun = Event::Hashing { pictures: 3, bytes: 10 };
    assert_eq!(told, [begun, Event::Hashed { pictures: 1, bytes: 4 }]);
    assert_eq!(bench.hash(&addresses, Level::Bytes).read, (2, 6));
}
