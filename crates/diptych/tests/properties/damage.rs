//! Damaged releases: whatever is cut, changed, gone or exchanged, the books balance and no picture
//! is written that is not that of its pair.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use diptych::format::Altered;
use diptych::schema::{EditPair, MaskOrigin};
use diptych::{Request, Silent};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::cases;
use crate::support::back::{Destination, Held};
use crate::support::folder::{copy, fixtures, tree};
use crate::support::job::{self, convert, whole_message};
use crate::support::made::Made;

/// Something that is done to a release.
#[derive(Debug, Clone)]
enum Damage {
    /// A file ends earlier.
    Cut(Index, Index),
    /// A bit of a file is another.
    Flipped(Index, Index, u8),
    /// A file is gone.
    Gone(Index),
    /// Two files of one kind have each other's names.
    Exchanged(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<Index>;
    prop_oneof![
        (index(), index()).prop_map(|(file, at)| Damage::Cut(file, at)),
        (index(), index(), 0..8_u8).prop_map(|(file, at, bit)| Damage::Flipped(file, at, bit)),
        index().prop_map(Damage::Gone),
        (index(), index()).prop_map(|(one, other)| Damage::Exchanged(one, other)),
    ]
}

/// The ending of a file's name, which tells its kind.
fn ending(path: &str) -> &str {
    path.rsplit(['.', '/']).next().unwrap_or(path)
}

/// Whether a file is a picture: nothing says what its bytes should be.
fn is_picture(path: &str) -> bool {
    ["png", "jpg", "jpeg", "webp", "gif"].contains(&ending(&path.to_ascii_lowercase()))
}

/// Damages a release, and says whether what is still read of it has to be what it was, and what was
/// done to which file.
fn apply(release: &Path, all: &[Damage]) -> (bool, Vec<String>) {
    let (mut is_certain, mut done) = (true, Vec::new());
    for damage in all {
        let files = tree(release);
        let names: Vec<_> = files.keys().filter(|name| !name.ends_with('/')).collect();
        let Some(last) = names.len().checked_sub(1) else { break };
        let name = |index: &Index| names[index.index(last + 1)];
        match damage {
            Damage::Cut(file, at) => {
                let (name, bytes) = (name(file), &files[name(file)]);
                let left = at.index(bytes.len() + 1);
                fs::write(release.join(name), &bytes[..left]).unwrap();
                done.push(format!("{left} of {} bytes of {name}", bytes.len()));
                is_certain &= !is_picture(name);
            }
            Damage::Flipped(file, at, bit) => {
                let (name, mut bytes) = (name(file), files[name(file)].clone());
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] ^= 1 << bit;
                    fs::write(release.join(name), bytes).unwrap();
                    done.push(format!("bit {bit} of byte {at} of {name}"));
                    is_certain = false;
                }
            }
            Damage::Gone(file) => {
                fs::remove_file(release.join(name(file))).unwrap();
                done.push(format!("no {}", name(file)));
            }
            Damage::Exchanged(one, other) => {
                let one = name(one);
                let alike: Vec<_> =
                    names.iter().filter(|name| ending(name) == ending(one)).collect();
                let other = *alike[other.index(alike.len())];
                fs::write(release.join(one), &files[other]).unwrap();
                fs::write(release.join(other), &files[one]).unwrap();
                done.push(format!("{one} and {other}"));
                // The middle piece of a picture in three tells of nothing, and rows of ImgEdit are
                // called by their file.
                let of_imgedit = one.contains(".tar.split.") || one.starts_with("Parquet/");
                is_certain &= !is_picture(one) && !of_imgedit;
            }
        }
    }
    (is_certain, done)
}

/// A release to be damaged: one of the fixtures, or one that is made.
#[derive(Debug, Clone, Copy)]
enum Base {
    Fixture(&'static str),
    Made { samples: usize, per_shard: usize },
}

impl Base {
    fn write(self, folder: &Path) {
        match self {
            Self::Fixture(name) => copy(&fixtures().join(name), folder),
            Self::Made { samples, per_shard } => {
                fs::create_dir_all(folder).unwrap();
                Made { samples, per_shard, picture_bytes: 300 }.write(folder);
            }
        }
    }
}

fn base() -> impl Strategy<Value = Base> {
    // An item of a benchmark has no target, so that nothing writes it.
    const NAMED: &[&str] =
        &["folder", "imgedit", "pape", "parquet", "webdataset", "inter-edit-train"];
    prop_oneof![
        6 => select(NAMED).prop_map(Base::Fixture),
        // Two samples share a source, which lies in the shard of the first.
        1 => (1..9_usize, 1..3_usize)
            .prop_map(|(samples, pairs)| Base::Made { samples, per_shard: 2 * pairs }),
    ]
}

/// Source, target and references of pairs, by their ids.
fn pictures(held: &Held) -> BTreeMap<String, Vec<Arc<[u8]>>> {
    let of = |pair: &EditPair| {
        let references = pair.references.iter().map(|of| &of.picture);
        let all = std::iter::once(&pair.source).chain(&pair.target).chain(references);
        (pair.pair_id.clone(), all.map(|picture| held.bytes(picture)).collect())
    };
    held.pairs.iter().map(of).collect()
}

fn request(release: &Path, to: &Destination, out: &Path) -> Request {
    let mut request = job::request(release, out);
    request.to = to.about.name.to_owned();
    request.mask_from = to.alters(Altered::MaskMeaning).then(|| vec![MaskOrigin::Release]);
    request
}

fn survives(base: Base, all: &[Damage], to: &str) {
    let format = diptych::FORMATS.iter().find(|format| format.about().name == to).unwrap();
    let to = Destination::new(*format);
    let dir = tempfile::tempdir().unwrap();
    let (release, out) = (dir.path().join("release"), dir.path().join("out"));
    base.write(&release);
    let whole = pictures(&Held::read(&release, &[]));
    let (is_certain, done) = apply(&release, all);
    if let Err(error) = diptych::engine().convert(&request(&release, &to, &out), &Silent) {
        assert!(!whole_message(&error).is_empty());
        assert!(!out.join("report.json").exists(), "an output that failed looks finished");
        return;
    }
    // The books of what was written are checked in any case.
    let again = convert(&request(&release, &to, &dir.path().join("again"))).unwrap();
    if again.total.written == 0 {
        return;
    }
    let written = pictures(&Held::read(&out, &[]));
    assert_eq!(written.len() as u64, again.total.written);
    for (id, found) in written.iter().filter(|_| is_certain) {
        let was = whole.get(id).unwrap_or_else(|| panic!("{id} was made up, of {done:?}"));
        assert!(found == was, "{id}: its pictures are others, of {done:?}");
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn no_damage_brings_books_or_pictures_into_disorder(
        base in base(),
        all in prop::collection::vec(damage(), 1..4),
        to in select(&["parquet", "webdataset", "folder", "pape"][..]),
    ) {
        survives(base, &all, to);
    }
}
