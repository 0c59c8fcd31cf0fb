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

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use diptych::format::options::Assignment;
use diptych::format::{Altered, Format, FormatError, OptionKind};
use diptych::schema::MaskOrigin;
use diptych::{EngineError, Request, Silent, SourceRequest};
use serde_json::Value;
use support::back::{Destination, Held, compare, writer};
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
        request.sources = from.iter().map(|path| SourceRequest::new(path.clone())).collect();
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
