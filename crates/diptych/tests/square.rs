//! Every release in the fixtures to every format that is written and read back: what comes back is
//! what went in, but for what the format declares ([`Altered`]), and written once more it is the
//! same. Sources and destinations are taken from the list of formats.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diptych::format::options::Assignment;
use diptych::format::{About, Altered, Format, FormatError, OptionKind, Options, Used, Writer};
use diptych::pictures::Pictures;
use diptych::schema::{
    Address, EditPair, Edited, Grid, Mask, MaskOrigin, MaskPart, MediaType, Picture, Split,
};
use diptych::storage::Limits;
use diptych::{EngineError, Request, Silent, SourceRequest};
use diptych_pixels::mask::Part;
use diptych_pixels::{Bits, DecodeLimits};
use serde_json::Value;
use support::again::{catalog, pairs_of};
use support::folder::{assert_same, fixtures, tree};
use support::job::{self, convert, rejections, threads};

/// A release of the fixtures, with the options that it is read with.
struct Source {
    name: String,
    path: PathBuf,
    options: Vec<Assignment>,
}

/// The good release of every format that is read, and again with each further folder that the
/// format takes.
fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for about in diptych::FORMATS.iter().map(|format| format.about()).filter(|about| about.reads) {
        let path = fixtures().join(about.name);
        let is_there = path.is_dir();
        assert!(is_there, "{} is read and has no release in fixtures/{0}", about.name);
        let name = about.name.to_owned();
        sources.push(Source { name, path: path.clone(), options: Vec::new() });
        let folders = about.options.iter().filter(|option| option.kind == OptionKind::Folder);
        for option in folders {
            let name = format!("{}-{}", about.name, option.key);
            let folder = fixtures().join(&name);
            assert!(
                folder.is_dir(),
                "-o {}.{} has no folder fixtures/{name}",
                about.name,
                option.key
            );
            let value = folder.to_str().unwrap().to_owned();
            let (format, key) = (about.name.to_owned(), option.key.to_owned());
            let options = vec![Assignment { format, key, value }];
            sources.push(Source { name, path: path.clone(), options });
        }
    }
    sources
}

fn written() -> impl Iterator<Item = &'static dyn Format> {
    diptych::FORMATS.iter().copied().filter(|format| format.about().writes)
}

fn writer(format: &dyn Format) -> Box<dyn Writer> {
    let About { name, options, .. } = format.about();
    format.open_writer(&Options::new(name, options, &[], Used::Writing).unwrap()).unwrap()
}

/// What a release holds, and its pictures.
struct Held {
    pairs: Vec<EditPair>,
    pictures: Pictures,
}

impl Held {
    fn read(path: &Path, options: &[Assignment]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let catalog = catalog(path, options, &dir.path().join("catalog"));
        let pictures = Pictures::of(&catalog, &[], Limits::DEFAULT).unwrap();
        Self { pairs: pairs_of(&catalog), pictures }
    }

    fn bytes(&self, picture: &Picture) -> Arc<[u8]> {
        self.pictures.bytes(&picture.address).unwrap()
    }

    /// The pixels of a mask.
    fn bits(&self, mask: &Mask) -> Bits {
        let held: Vec<_> = mask
            .parts
            .iter()
            .map(|part| match part {
                MaskPart::Picture(picture) => Some(self.bytes(picture)),
                MaskPart::RunLength { .. } => None,
            })
            .collect();
        let parts: Vec<_> = mask
            .parts
            .iter()
            .zip(&held)
            .map(|(part, bytes)| match (part, bytes) {
                (MaskPart::RunLength { counts, width, height }, _) => {
                    Part::RunLength { counts: counts.as_bytes(), size: (*width, *height) }
                }
                (_, bytes) => Part::Picture(bytes.as_ref().unwrap()),
            })
            .collect();
        let limits = DecodeLimits { pixels: 1 << 24, bytes: 1 << 24 };
        Bits::from_parts(&parts, mask.edited, limits).unwrap()
    }
}

/// What a format makes of pairs, by its own word.
struct Destination {
    about: &'static About,
    writer: Box<dyn Writer>,
    alters: BTreeSet<Altered>,
}

impl Destination {
    fn new(format: &'static dyn Format) -> Self {
        let about = format.about();
        let alters = about.alters.iter().map(|alteration| alteration.of).collect();
        Self { about, writer: writer(format), alters }
    }

    fn alters(&self, what: Altered) -> bool {
        self.alters.contains(&what)
    }

    /// Whether a mask is written in the one form.
    fn makes(&self, pair: &EditPair, mask: &Mask) -> bool {
        self.alters(Altered::MaskForm) && !self.writer.keeps_mask(pair, mask)
    }

    /// The grid that a mask is written on, where it is another than its own.
    fn grid(&self, pair: &EditPair, mask: &Mask) -> Option<(u32, u32)> {
        let brings = self.alters(Altered::MaskGrid) && self.makes(pair, mask);
        pair.source.size().filter(|_| brings)
    }

    /// What is expected to come back of the pairs.
    fn expected(&self, held: &Held) -> BTreeMap<String, EditPair> {
        let mut strictest: BTreeMap<_, Option<Split>> = BTreeMap::new();
        for pair in &held.pairs {
            let split = strictest.entry(image(held, pair)).or_default();
            *split = (*split).max(pair.split);
        }
        let pairs = held.pairs.iter().map(|was| {
            let mut pair = was.clone();
            if let Some(mask) = was.mask.as_ref().filter(|mask| self.makes(was, mask)) {
                pair.mask = Some(made(mask, self.grid(was, mask)));
            }
            let mut expected = without_addresses(pair);
            if self.alters(Altered::RegionPicture) {
                for region in &mut expected.regions {
                    region.mask.take_if(|mask| matches!(mask, MaskPart::Picture(_)));
                }
            }
            if self.alters(Altered::Split) {
                expected.split = strictest[&image(held, was)];
            }
            if self.alters(Altered::NativeSplit) && was.dataset == self.about.name {
                forget_split(&mut expected);
            }
            (was.pair_id.clone(), expected)
        });
        pairs.collect()
    }

    /// The ids of pairs in the order in which they come back; none where that is the layout's own.
    fn order<'a>(&self, pairs: &'a [EditPair]) -> Vec<&'a str> {
        if self.alters(Altered::Order) {
            return Vec::new();
        }
        let mut pairs: Vec<_> = pairs.iter().collect();
        if self.writer.divides_splits() {
            pairs.sort_by_key(|pair| pair.split.unwrap_or(Split::Train));
        }
        pairs.into_iter().map(|pair| pair.pair_id.as_str()).collect()
    }

    /// What came back, as far as it can be expected.
    fn found(&self, held: &Held) -> BTreeMap<String, EditPair> {
        let pairs = held.pairs.iter().map(|is| {
            let mut found = without_addresses(is.clone());
            if self.alters(Altered::NativeSplit) && is.dataset == self.about.name {
                forget_split(&mut found);
            }
            (is.pair_id.clone(), found)
        });
        pairs.collect()
    }
}

/// What stands for the image that a pair was made from: pairs of one share a split.
fn image(held: &Held, pair: &EditPair) -> (String, Option<String>, Vec<u8>) {
    let label = pair.labels.iter().find(|label| label.name == "image_id");
    let id = match label {
        Some(label) => label.value.clone().into_bytes(),
        None => held.bytes(&pair.source).to_vec(),
    };
    (pair.dataset.clone(), pair.subset.clone(), id)
}

fn forget_split(pair: &mut EditPair) {
    let native = pair.native.as_ref().unwrap();
    let mut native: BTreeMap<String, Value> = serde_json::from_str(native).unwrap();
    native.remove("split");
    pair.native = Some(serde_json::to_string(&native).unwrap());
}

fn without_addresses(mut pair: EditPair) -> EditPair {
    pair.addresses_mut().for_each(|address| *address = Address::Inline(Vec::new()));
    pair
}

/// A mask in the one form, on a grid. Run lengths become a picture without a name, and parts
/// become one with that of the first.
fn made(mask: &Mask, grid: Option<(u32, u32)>) -> Mask {
    let size = grid.or(mask.parts.first().and_then(MaskPart::size)).unwrap();
    let name = mask.parts.iter().find_map(|part| match part {
        MaskPart::Picture(picture) => Some(picture.name.clone()),
        MaskPart::RunLength { .. } => None,
    });
    let picture = Picture {
        name: name.unwrap_or_default(),
        address: Address::Inline(Vec::new()),
        width: Some(size.0),
        height: Some(size.1),
        media_type: Some(MediaType::Png),
    };
    let grid = if grid.is_some() { Grid::Source } else { mask.grid };
    let parts = vec![MaskPart::Picture(picture)];
    Mask { parts, edited: Edited::White, grid, ..mask.clone() }
}

/// Holds the pictures of a pair that came back against those that went in.
fn compare_pictures(
    to: &Destination,
    (was, before): (&EditPair, &Held),
    (is, after): (&EditPair, &Held),
) {
    let id = &was.pair_id;
    let mut all = vec![(Some(&was.source), Some(&is.source))];
    all.push((was.target.as_ref(), is.target.as_ref()));
    assert_eq!(was.references.len(), is.references.len(), "{id}");
    for (was, is) in was.references.iter().zip(&is.references) {
        all.push((Some(&was.picture), Some(&is.picture)));
    }
    for (was, is) in all {
        let bytes = [(was, before), (is, after)]
            .map(|(picture, held)| picture.map(|picture| held.bytes(picture)));
        assert!(bytes[0] == bytes[1], "{id}: the bytes of {:?}", was.map(|was| &was.name));
    }
    let (Some(was_mask), Some(is_mask)) = (&was.mask, &is.mask) else {
        assert_eq!(was.mask.is_some(), is.mask.is_some(), "{id}");
        return;
    };
    let (was_bits, is_bits) = (before.bits(was_mask), after.bits(is_mask));
    let wanted = match to.grid(was, was_mask) {
        Some((width, height)) => was_bits.on_grid(width, height),
        None => was_bits,
    };
    assert!(wanted == is_bits, "{id}: the pixels of its mask");
    if let ([MaskPart::Picture(was_picture)], [MaskPart::Picture(is_picture)], false) =
        (was_mask.parts.as_slice(), is_mask.parts.as_slice(), to.makes(was, was_mask))
    {
        assert!(
            before.bytes(was_picture) == after.bytes(is_picture),
            "{id}: the bytes of its mask"
        );
    }
}

fn request(from: &Path, options: &[Assignment], to: &Destination, out: &Path) -> Request {
    let mut request = job::request(from, out);
    request.to = to.about.name.to_owned();
    request.options = options.to_vec();
    request.jobs = threads(2);
    if to.alters(Altered::MaskMeaning) {
        // Those that went in can be expected only where they are asked for.
        request.mask_from = Some(vec![MaskOrigin::Release]);
    }
    request
}

/// Holds what came back against what went in.
fn compare(what: &str, to: &Destination, went_in: &Held, came_back: &Held) {
    let (wanted, found) = (to.expected(went_in), to.found(came_back));
    assert!(wanted.keys().eq(found.keys()), "{what}: {:?}, {:?}", wanted.keys(), found.keys());
    for (id, was) in &wanted {
        assert_eq!(found[id], *was, "{what}");
    }
    assert_eq!(to.order(&came_back.pairs), to.order(&went_in.pairs), "{what}");
    let after: BTreeMap<_, _> = came_back.pairs.iter().map(|is| (&is.pair_id, is)).collect();
    for was in &went_in.pairs {
        compare_pictures(to, (was, went_in), (after[&was.pair_id], came_back));
    }
}

/// Converts a release to a format, reads that, and writes it once more.
fn comes_back(source: &Source, went_in: &Held, to: &Destination) {
    let what = format!("{} to {}", source.name, to.about.name);
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
    let request_first = request(&source.path, &source.options, to, &first);
    let items = went_in.pairs.iter().filter(|pair| pair.target.is_none());
    let items: Vec<_> = items.map(|pair| pair.pair_id.clone()).collect();
    if !items.is_empty() && to.alters(Altered::WithoutTarget) {
        let error = diptych::engine().convert(&request_first, &Silent).unwrap_err();
        let EngineError::Format(FormatError::NoTarget { pair_id, .. }) = error else {
            panic!("{what}: {error}")
        };
        assert!(items.contains(&pair_id) && !first.exists(), "{what}: {pair_id}");
        return;
    }
    convert(&request_first).unwrap();
    assert_eq!(rejections(&first), Vec::<Value>::new(), "{what}");
    if !to.about.reads {
        return;
    }
    let came_back = Held::read(&first, &[]);
    compare(&what, to, went_in, &came_back);
    convert(&request(&first, &[], to, &second)).unwrap();
    let (mut first, mut second) = (tree(&first), tree(&second));
    if to.alters(Altered::Order) {
        // It is the layout's from the second on.
        let third = dir.path().join("third");
        convert(&request(&dir.path().join("second"), &[], to, &third)).unwrap();
        (first, second) = (second, tree(&third));
    }
    // Where the pairs come from is another, and is told.
    for tree in [&mut first, &mut second] {
        assert!(tree.remove("report.json").is_some());
    }
    assert_same(&second, &first);
}

#[test]
fn what_every_format_reads_comes_back_from_every_format() {
    let destinations: Vec<_> = written().map(Destination::new).collect();
    assert!(destinations.len() >= 3 && destinations.iter().any(|to| to.about.reads));
    let sources = sources();
    assert!(sources.len() >= 6);
    for source in &sources {
        let went_in = Held::read(&source.path, &source.options);
        assert!(!went_in.pairs.is_empty(), "{}", source.name);
        destinations.iter().for_each(|to| comes_back(source, &went_in, to));
    }
}

/// The largest release, in a unit for every few of its pairs: what is in many files is what is in
/// one.
#[test]
fn what_lies_in_many_files_comes_back() {
    let size = |source: &Source| Held::read(&source.path, &source.options).pairs.len();
    let source = sources().into_iter().max_by_key(size).unwrap();
    let went_in = Held::read(&source.path, &source.options);
    for to in written().map(Destination::new).filter(|to| to.about.reads) {
        let what = format!("{} to {}", source.name, to.about.name);
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let request =
            Request { shard_size: 20_000, ..request(&source.path, &source.options, &to, &out) };
        let units = diptych::engine().dry_run(&request, &Silent).unwrap().plan.units.len();
        assert!(units > 4, "{what}: {units} units");
        convert(&request).unwrap();
        compare(&what, &to, &went_in, &Held::read(&out, &[]));
    }
}

/// What a card says of where pairs come from, to its end.
fn origins(out: &Path) -> String {
    let card = std::fs::read_to_string(out.join("README.md")).unwrap();
    let at = card.find("## Where the pairs come from").unwrap();
    card[at..].to_owned()
}

#[test]
fn every_card_says_where_pairs_come_from_and_how_to_cite_them_however_often_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let releases = ["imgedit", "inter-edit-train", "pape"].map(|name| fixtures().join(name));
    let convert_to = |to: &Destination, from: &[PathBuf], name: &str| {
        let out = dir.path().join(name);
        let mut request = request(&from[0], &[], to, &out);
        request.sources =
            from.iter().map(|path| SourceRequest { path: path.clone(), from: None }).collect();
        convert(&request).unwrap();
        out
    };
    let destinations: Vec<_> = written().map(Destination::new).collect();
    let mut told = BTreeSet::new();
    for (number, to) in destinations.iter().enumerate() {
        let out = convert_to(to, &releases, &number.to_string());
        told.insert(origins(&out));
        if to.about.reads {
            let next = &destinations[(number + 1) % destinations.len()];
            let again = convert_to(next, &[out], &format!("{number} again"));
            told.insert(origins(&again));
        }
    }
    let told: Vec<_> = told.into_iter().collect();
    let [told] = told.as_slice() else { panic!("cards differ: {told:?}") };
    for part in [
        "https://huggingface.co/datasets/sysuyy/ImgEdit |\n",
        "\nTerms of pape: Its source photographs are those of COCO, ImageNet and Places, and stay \
         under the terms of these.\n",
        "\n- imgedit: Yang Ye, Xianyi He, ",
        "ImgEdit: A Unified Image Editing Dataset and Benchmark. arXiv preprint arXiv:2505.20275, \
         2025.\n",
        "\n- inter-edit-train: Delong Liu, Haotian Hou, ",
        "\n- pape: PAPE, by its name and where it was published, https://",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
}

/// What is declared of a format is what its writer does.
#[test]
fn what_outputs_alter_is_what_their_writers_say() {
    for format in diptych::FORMATS {
        let about = format.about();
        let declared: Vec<_> = about.alters.iter().map(|alteration| alteration.of).collect();
        assert!(declared.is_sorted(), "{}: in the order of the list", about.name);
        if !about.writes {
            assert_eq!(declared, [], "{} is not written", about.name);
            continue;
        }
        let (writer, has) = (writer(*format), |of| declared.contains(&of));
        let (needs, name) = (writer.mask_needs(), about.name);
        assert_eq!(has(Altered::WithoutTarget), !writer.holds_pairs_without_target(), "{name}");
        assert_eq!(has(Altered::MaskGrid), needs.on_source, "{name}");
        assert_eq!(has(Altered::MaskMeaning), needs.of_changes, "{name}");
    }
}
