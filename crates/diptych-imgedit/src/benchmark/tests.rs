//! The benchmark in its archive, unpacked, and in part.

use std::collections::BTreeMap;
use std::sync::Arc;

use diptych_format::{Confidence, Edit, Options, Probe, Reader, ReaderInput, Rejection, Tally};
use diptych_schema::{EditPair, Split};
use diptych_storage::{Limits, MemoryTree, ReadTree, RelPath};
use proptest::prelude::*;

use super::items::items;
use super::{FORMAT, MEMBERS, PUBLISHED};

const JPEG: &[u8] =
    b"\xFF\xD8\xFF\xC0\x00\x11\x08\x00\x03\x00\x04\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00\xFF\xD9";

/// The benchmark as it is released, made small.
fn released() -> Vec<(String, Vec<u8>)> {
    let texts = [
        (
            "singleturn/singleturn.json",
            r#"{"1082": {"id": "animal/000342021.jpg", "prompt": "把狗变成猫", "edit_type": "alter"},
                "9": {"id": "daily object/1.jpg", "prompt": "make it blue", "edit_type": "adjust"},
                "10": {"id": "compose/human/2.jpg", "prompt": "both", "edit_type": "Compose"}}"#,
        ),
        ("singleturn/judge_prompt.json", r#"{"adjust": "Score <edit_prompt>"}"#),
        ("hard/annotation.jsonl", "{\"id\": \"1.jpg\", \"prompt\": \"the third duck\"}\n"),
        (
            "multiturn/content_understand/annotation.json",
            r#"{"1": {"id": "1.jpg", "turn1": "add a hat", "turn2": "make it red", "turn3": null}}"#,
        ),
        (
            "multiturn/version_backtrace/annotation.json",
            r#"{"1": {"id": "1.jpg", "turn1": "a", "turn2": "b", "turn3": "back to the first"}}"#,
        ),
    ];
    let pictures = [
        "singleturn/animal/000342021.jpg",
        "singleturn/daily object/1.jpg",
        "singleturn/compose/human/2.jpg",
        "hard/1.jpg",
        "multiturn/content_understand/1.jpg",
        "multiturn/version_backtrace/1.jpg",
    ];
    let texts = texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    let pictures = pictures.map(|name| (name.to_owned(), JPEG.to_vec()));
    texts.into_iter().chain(pictures).collect()
}

fn under(folder: &str, files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    files.into_iter().map(|(name, bytes)| (format!("{folder}{name}"), bytes)).collect()
}

fn archive(prefix: &str, files: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{prefix}{name}"), bytes.as_slice()).unwrap();
    }
    vec![("Benchmark.tar".to_owned(), builder.into_inner().unwrap())]
}

fn tree(files: Vec<(String, Vec<u8>)>) -> Arc<MemoryTree> {
    let file = |(name, bytes): (String, Vec<u8>)| (RelPath::new(&name).unwrap(), bytes);
    Arc::new(MemoryTree::new(files.into_iter().map(file)))
}

fn open(files: Vec<(String, Vec<u8>)>) -> Box<dyn Reader> {
    let options = Options::default();
    let tree = tree(files) as Arc<dyn ReadTree>;
    let input = ReaderInput {
        tree,
        label: "imgedit-bench",
        options: &options,
        folders: BTreeMap::new(),
        limits: Limits::DEFAULT,
        probe: Probe::Header,
    };
    FORMAT.open_reader(input).unwrap()
}

fn read(files: Vec<(String, Vec<u8>)>) -> (Vec<EditPair>, Vec<Rejection>) {
    let reader = open(files);
    let (mut pairs, mut rejections) = (Vec::new(), Vec::new());
    for partition in 0..reader.partitions().len() {
        let mut edits = reader.read(partition).unwrap();
        while let Some(edit) = edits.next().unwrap() {
            match edit {
                Edit::Pair(pair) => pairs.push(*pair),
                Edit::Rejected(rejection) => rejections.push(*rejection),
            }
        }
    }
    (pairs, rejections)
}

fn labels(pair: &EditPair) -> String {
    let label = |label: &diptych_schema::Label| format!("{}={}", label.name, label.value);
    pair.labels.iter().map(label).collect::<Vec<_>>().join(" ")
}

#[test]
fn items_of_all_parts_are_read_wherever_they_lie() {
    let folder = under("Benchmark/", released());
    let ways = [
        archive("Benchmark/", &released()),
        archive("./Benchmark/", &released()),
        folder,
        released(),
    ];
    for files in ways {
        let (pairs, rejections) = read(files);
        assert_eq!(rejections, []);
        let found: Vec<_> = pairs
            .iter()
            .map(|pair| {
                (pair.pair_id.as_str(), pair.edit_type.as_deref().unwrap_or("-"), labels(pair))
            })
            .collect();
        let (hard, multi) = ("benchmark=hard", "benchmark=multiturn task=");
        let basic = || "benchmark=basic".to_owned();
        let task = |task: &str| format!("{multi}{task}");
        let (understanding, back) = ("content_understanding", "version_backtracking");
        assert_eq!(
            found,
            [
                ("imgedit-bench:basic:1082", "adjust", basic()),
                ("imgedit-bench:basic:9", "adjust", basic()),
                ("imgedit-bench:basic:10", "hybrid", basic()),
                ("imgedit-bench:hard:0", "-", hard.to_owned()),
                (
                    "imgedit-bench:multiturn:content_understand:1:0",
                    understanding,
                    task(understanding)
                ),
                (
                    "imgedit-bench:multiturn:content_understand:1:1",
                    understanding,
                    task(understanding)
                ),
                ("imgedit-bench:multiturn:version_backtrace:1:0", back, task(back)),
                ("imgedit-bench:multiturn:version_backtrace:1:1", back, task(back)),
                ("imgedit-bench:multiturn:version_backtrace:1:2", back, task(back)),
            ]
        );
        for pair in &pairs {
            assert!(pair.target.is_none() && pair.mask.is_none());
            assert_eq!((pair.split, pair.dataset.as_str()), (Some(Split::Test), "imgedit-bench"));
            assert_eq!(pair.source.size(), Some((4, 3)));
        }
        let first = &pairs[0];
        assert_eq!(
            (first.instruction.as_deref(), first.language.as_deref()),
            (Some("把狗变成猫"), Some("zh"))
        );
        assert_eq!(first.edit_type_native, ["alter"]);
        assert_eq!(first.subset.as_deref(), Some("basic"));
        let native: serde_json::Value =
            serde_json::from_str(first.native.as_deref().unwrap()).unwrap();
        assert_eq!(native["row"]["id"], "animal/000342021.jpg");
        assert!(first.source.name.ends_with("singleturn/animal/000342021.jpg"));
        let last = &pairs[8];
        assert_eq!(last.instruction.as_deref(), Some("back to the first"));
        assert_eq!((last.turn, last.base.as_deref()), (Some(2), None));
        assert_eq!((pairs[6].turn, pairs[6].base.as_deref()), (Some(0), Some("original")));
        let session = "imgedit-bench:multiturn:version_backtrace:1";
        assert_eq!(last.session_id.as_deref(), Some(session));
        assert_eq!(last.subset.as_deref(), Some("version_backtrace"));
        assert_eq!(first.session_id, None);
    }
}

#[test]
fn an_item_without_its_picture_is_rejected_turn_by_turn() {
    for packed in [true, false] {
        let files: Vec<_> = released()
            .into_iter()
            .filter(|(name, _)| !name.ends_with("version_backtrace/1.jpg"))
            .collect();
        let files = if packed { archive("Benchmark/", &files) } else { files };
        let (pairs, rejections) = read(files);
        assert_eq!((pairs.len(), rejections.len()), (6, 3));
        let last = &rejections[2];
        assert_eq!(last.kind, "missing_member");
        let id = "imgedit-bench:multiturn:version_backtrace:1:2";
        assert_eq!(last.pair_id.as_deref(), Some(id));
        assert!(last.at.member.as_deref().unwrap().ends_with("version_backtrace/1.jpg"));
        assert_eq!(last.at.row, Some(0));
    }
}

#[test]
fn paths_that_lead_elsewhere_name_no_picture() {
    for id in ["../hard/1.jpg", "/hard/1.jpg", "a/../1.jpg"] {
        let list = format!(r#"{{"1": {{"id": "{id}", "prompt": "x"}}}}"#);
        let files = vec![
            ("hard/annotation.json".to_owned(), list.into_bytes()),
            ("hard/1.jpg".to_owned(), JPEG.to_vec()),
        ];
        for files in [archive("Benchmark/", &files), files] {
            let (pairs, rejections) = read(files);
            assert_eq!((pairs.len(), rejections[0].kind.as_str()), (0, "missing_member"), "{id}");
        }
    }
}

#[test]
fn lists_of_every_shape_are_read() {
    let one = r#"{"id": "a.jpg", "prompt": "x"}"#;
    let ids = |text: &str| {
        let all = items(text.as_bytes()).unwrap();
        let of = |item: Result<super::items::Item, _>| item.map(|item| item.key).unwrap();
        all.into_iter().map(of).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(&format!(r#"{{"7": {one}, "x": {one}, "7": {one}}}"#)), "7 x 7");
    assert_eq!(ids(&format!("[{one}, {one}]")), "0 1");
    assert_eq!(ids(&format!("{one}\n\n{one}\n")), "0 1");
    assert_eq!(ids(&format!("\u{feff}{one}\n")), "0");
    assert_eq!(ids("{}"), "");
    for broken in ["", "no", "[1", "{\"1\": {}", "7", "{\"id\": \"a\" # x\n}"] {
        assert!(items(broken.as_bytes()).is_err(), "{broken}");
    }
    assert!(items(b"\xFF").is_err());
}

#[test]
fn an_item_that_is_none_is_one_rejection_with_its_key() {
    let kind = |text: &str| {
        let found = items(text.as_bytes()).unwrap();
        let fault = found.into_iter().find_map(Result::err).unwrap();
        (fault.key, fault.kind)
    };
    let with = |item: &str| format!(r#"{{"a": {item}, "b": {{"id": "x", "prompt": "y"}}}}"#);
    for (item, wanted) in [
        ("5", "not_an_object"),
        ("[]", "not_an_object"),
        (r#"{"prompt": "x"}"#, "missing_field"),
        (r#"{"id": "", "prompt": "x"}"#, "missing_field"),
        (r#"{"id": "x"}"#, "missing_field"),
        (r#"{"id": "x", "turn1": " "}"#, "missing_field"),
    ] {
        assert_eq!(kind(&with(item)), ("a".to_owned(), wanted), "{item}");
    }
    let lines = "{\"id\": \"a\", \"prompt\": \"b\"}\n{\"id\": \n";
    assert_eq!(kind(lines), ("1".to_owned(), "invalid_json"));
}

#[test]
fn a_list_that_cannot_be_read_counts_as_one_edit() {
    let mut files = released();
    files[0].1 = b"{\"1\": {\"id\": // a comment\n".to_vec();
    let (pairs, rejections) = read(files);
    assert_eq!(pairs.len(), 6);
    let [only] = rejections.as_slice() else { panic!("{rejections:?}") };
    assert_eq!((only.kind.as_str(), &only.pair_id), ("invalid_json", &None));
    assert_eq!(only.at.file.as_deref(), Some("singleturn/singleturn.json"));
}

#[test]
fn turns_are_in_the_order_of_their_numbers() {
    let text = r#"{"1": {"id": "a", "turn10": "j", "turn2": "b", "turn1": "a", "turnx": "n"}}"#;
    let item = items(text.as_bytes()).unwrap().remove(0).unwrap();
    assert_eq!(item.instructions, ["a", "b", "j"]);
}

#[test]
fn it_is_known_only_by_itself() {
    let confidence = |files: Vec<(String, Vec<u8>)>| FORMAT.detect(tree(files).as_ref()).confidence;
    let with = |mut files: Vec<(String, Vec<u8>)>, name: &str| {
        files.push((name.to_owned(), Vec::new()));
        confidence(files)
    };
    let packed = || archive("Benchmark/", &released());
    let folder = || under("Benchmark/", released());
    for files in [packed(), folder(), released(), archive("./Benchmark/", &released())] {
        assert_eq!(confidence(files.clone()), Confidence::Strong);
        assert_eq!(with(files.clone(), "README.md"), Confidence::Strong);
        for beside in [
            "Parquet/add_part0.parquet",
            "Singleturn/results_add_laion_part0.tar.split.000",
            "Multiturn/results_content_memory_part2.tar",
            "all_dataset_gpt_score.json",
            "other.tar",
        ] {
            assert_eq!(with(files.clone(), beside), Confidence::No, "{beside}");
        }
    }
    let inside: Vec<_> = released()
        .into_iter()
        .filter_map(|(name, bytes)| Some((name.strip_prefix("singleturn/")?.to_owned(), bytes)))
        .collect();
    assert_eq!(confidence(inside.clone()), Confidence::Strong);
    assert_eq!(read(inside).0.len(), 3);
    assert_eq!(confidence(vec![("a.jpg".to_owned(), Vec::new())]), Confidence::No);
    let other = archive("photos/", &[("a.jpg".to_owned(), Vec::new())]);
    let found = FORMAT.detect(tree(other).as_ref());
    assert_eq!(found.confidence, Confidence::No);
    assert_eq!(found.near, ["Benchmark.tar, which holds something else"]);
}

#[test]
fn how_complete_a_copy_is_is_told() {
    let reader = open(archive("Benchmark/", &released()));
    let tally = Tally { edits: vec![3, 1, 2, 3], pairs: vec![3, 1, 2, 3] };
    let parts: Vec<_> = reader
        .parts(&tally)
        .unwrap()
        .into_iter()
        .map(|part| (part.name, part.here, part.published))
        .collect();
    let part = |name: &str, here, published| (name.to_owned(), here, published);
    assert_eq!(
        parts,
        [
            part("edits of basic", 3, Some(737)),
            part("edits of hard", 1, Some(47)),
            part("edits of content_understand", 2, None),
            part("edits of version_backtrace", 3, None),
            part("members of Benchmark.tar", 11, Some(MEMBERS)),
        ]
    );
    let kinds = PUBLISHED.iter().filter(|of| of.facet == diptych_format::Facet::EditType);
    assert_eq!(kinds.map(|of| of.pairs).sum::<u64>(), 737);
}

proptest! {
    #[test]
    fn no_list_makes_it_panic(text in "[{}\\[\\]\",:\n idpromt1a]{0,60}") {
        let _ = items(text.as_bytes());
    }
}
