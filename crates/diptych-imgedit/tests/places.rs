//! Pictures by the paths that rows give: in the released archives, and in copies that were
//! unpacked, renamed or made by somebody else.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::sync::Arc;

use arrow_array::StringArray;
use support::{Files, bytes, notices, open, png, read, rows, table, tar};

/// Parquet file, archive, the folder inside the archive, and what rows call it.
const STEMS: [[&str; 4]; 37] = [
    ["action_part1", "Singleturn/action_part1", "part1", ""],
    ["action_part2", "Singleturn/action_part2", "part2", ""],
    ["action_part3", "Singleturn/action_part3", "part3", ""],
    ["action_part4", "Singleturn/action_part4", "part4", ""],
    ["add_part0", "Singleturn/results_add_laion_part0", "results_add_laion_part0", "="],
    ["add_part1", "Singleturn/results_add_laion_part1", "results_add_laion_part1", "="],
    ["add_part4", "Singleturn/results_add_laion_part4", "results_add_laion_part4", "="],
    ["add_part5", "Singleturn/results_add_laion_part5", "results_add_laion_part5", "="],
    [
        "adjust_canny_part0",
        "Singleturn/results_adjust_canny_laion_part0",
        "results_adjust_canny_laion_part0",
        "=",
    ],
    [
        "adjust_canny_part2",
        "Singleturn/results_adjust_canny_laion_part2",
        ".",
        "results_adjust_canny_laion_part2",
    ],
    [
        "adjust_canny_part3",
        "Singleturn/results_adjust_canny_laion_part3",
        "results_adjust_canny_laion_part3",
        "=",
    ],
    [
        "adjust_canny_part4",
        "Singleturn/results_adjust_canny_laion_part4",
        "results_adjust_canny_laion_part4",
        "=",
    ],
    [
        "background_part0",
        "Singleturn/results_background_laion_part0",
        "results_background_laion_part0",
        "=",
    ],
    [
        "background_part2",
        "Singleturn/results_background_laion_part2",
        "results_background_laion_part2",
        "=",
    ],
    [
        "background_part3",
        "Singleturn/results_background_laion_part3",
        "results_background_laion_part3",
        "=",
    ],
    [
        "background_part5",
        "Singleturn/results_background_laion_part5",
        "results_background_laion_part5",
        "=",
    ],
    [
        "background_part7",
        "Singleturn/results_background_laion_part7",
        "results_background_laion_part7",
        "=",
    ],
    ["hybrid_part0", "Singleturn/results_hybrid_part0", "results_compose_part0", "="],
    ["hybrid_part2", "Singleturn/results_hybrid_part2", "results_compose_part2", "="],
    ["hybrid_part6", "Singleturn/results_hybrid_part6", "results_compose_part6_fix", "="],
    [
        "reference_extract_part1",
        "Singleturn/results_extract_and_visualedit_part1",
        "results_extract_ref_part1",
        "=",
    ],
    [
        "reference_replace_part1",
        "Singleturn/results_extract_and_visualedit_part1",
        "results_extract_ref_part1",
        "=",
    ],
    [
        "reference_extract_part7",
        "Singleturn/results_extract_and_visualedit_part7",
        "results_extract_ref_part7",
        "=",
    ],
    [
        "reference_replace_part7",
        "Singleturn/results_extract_and_visualedit_part7",
        "results_extract_ref_part7",
        "=",
    ],
    ["remove_part0", "Singleturn/results_remove_part0", "results_remove", "="],
    ["remove_part1", "Singleturn/results_remove_laion_part1", "results_remove_laion_part1", "="],
    ["remove_part4", "Singleturn/results_remove_laion_part4", "results_remove_laion_part4", "="],
    ["remove_part5", "Singleturn/results_remove_laion_part5", "results_remove_laion_part5", "="],
    ["replace_part0", "Singleturn/results_replace_part0", "results", "replace"],
    ["replace_part1", "Singleturn/results_replace_laion_part1", "results_replace_laion_part1", "="],
    ["replace_part4", "Singleturn/results_replace_laion_part4", "results_replace_laion_part4", "="],
    ["replace_part5", "Singleturn/results_replace_laion_part5", "results_replace_laion_part5", "="],
    ["style_transfer", "Singleturn/results_style_transfer", "results_style_transfer", "="],
    [
        "style_transfer_part0",
        "Singleturn/results_style_transfer_part0",
        "results_style_transfer_part0_cap36472",
        "=",
    ],
    [
        "content_memory_part2",
        "Multiturn/results_content_memory_part2",
        "results_content_memory_part2",
        "=",
    ],
    [
        "content_understanding_part2",
        "Multiturn/results_content_understanding_part2",
        "mnt/data/u/codes/t/results_content_understanding_part2",
        "results_content_understanding_part2",
    ],
    [
        "version_backtracking_part0",
        "Multiturn/results_version_backtracking_part0",
        "results_version_backtracking_part0",
        "=",
    ],
];

/// A sample that every group has, so that nothing but the group tells which is meant.
const SAMPLE: &str = "00094_00022_000226548";

/// What is in a group: by its name in the archive, the picture's width telling the group.
fn members(top: &str, width: u32) -> Vec<(String, Vec<u8>)> {
    let flat = top.starts_with("part");
    let names = if flat { ["a_1.jpg", "a_2.jpg"] } else { ["original.png", "result.png"] };
    let path = |name: &str| {
        if flat { format!("{top}/{name}") } else { format!("{top}/{SAMPLE}/{name}") }
    };
    (0..).zip(names).map(|(n, name)| (path(name), png(2 * width + n, 40))).collect()
}

/// What rows say of it.
fn paths(prefix: &str) -> [String; 2] {
    match prefix {
        "" => ["a_1.jpg".to_owned(), "a_2.jpg".to_owned()],
        prefix => ["original.png", "result.png"].map(|name| format!("{prefix}/{SAMPLE}/{name}")),
    }
}

fn parquet(stem: &str, [input, output]: &[String; 2]) -> (String, Vec<u8>) {
    let row = rows(&[(vec![input.as_str()], vec![output.as_str()], "do it")]);
    (format!("Parquet/{stem}.parquet"), row)
}

/// A number for each archive.
fn number(archive: &str) -> u32 {
    let place = STEMS.iter().position(|[_, of, ..]| *of == archive).unwrap();
    u32::try_from(place).unwrap() + 1
}

fn prefix_of(row: &[&'static str; 4]) -> &'static str {
    if row[3] == "=" { row[2] } else { row[3] }
}

/// Every Parquet file, and the files of each archive as `lay` lays them.
fn whole(lay: impl Fn(&str, Vec<(String, Vec<u8>)>) -> Files) -> Files {
    let mut files = Vec::new();
    for row in &STEMS {
        let [stem, archive, top, _] = row;
        files.push(parquet(stem, &paths(prefix_of(row))));
        for (name, bytes) in lay(archive, members(top, number(archive))) {
            if !files.iter().any(|(other, _)| *other == name) {
                files.push((name, bytes));
            }
        }
    }
    files
}

/// Checks that every pair has the pictures of its own group.
fn check(files: &Files) {
    let reader = open(files);
    let (pairs, rejections) = read(reader.as_ref());
    let causes: Vec<_> = rejections.iter().map(|r| format!("{}: {}", r.kind, r.cause)).collect();
    assert_eq!(causes, [""; 0]);
    assert_eq!(pairs.len(), 37);
    for pair in &pairs {
        let stem = pair.subset.as_deref().unwrap();
        let [_, archive, ..] = STEMS.iter().find(|[of, ..]| *of == stem).unwrap();
        let width = 2 * number(archive);
        assert_eq!(pair.source.width, Some(width), "{stem}");
        assert_eq!(pair.target.as_ref().unwrap().width, Some(width + 1), "{stem}");
        assert_eq!(pair.pair_id, format!("imgedit:{stem}:0"));
        assert_eq!(bytes(reader.as_ref(), files, &pair.source).1, png(width, 40));
    }
}

fn one(name: String, bytes: Vec<u8>) -> Files {
    vec![(name, bytes)]
}

#[test]
fn every_parquet_file_leads_into_its_own_archive() {
    let files = whole(|archive, members| one(format!("{archive}.tar.split.000"), tar(&members)));
    check(&files);
    let reader = open(&files);
    let (pairs, _) = read(reader.as_ref());
    for pair in pairs {
        let [_, archive, ..] =
            STEMS.iter().find(|[of, ..]| Some(*of) == pair.subset.as_deref()).unwrap();
        let (file, _) = bytes(reader.as_ref(), &files, &pair.source);
        assert_eq!(file, format!("{archive}.tar.split.000"));
    }
}

#[test]
fn archives_that_were_not_cut_or_lie_elsewhere_are_read() {
    check(&whole(|archive, members| one(format!("{archive}.tar"), tar(&members))));
    let base = |archive: &str| archive.rsplit('/').next().unwrap().to_owned();
    check(&whole(|archive, members| one(format!("{}.tar", base(archive)), tar(&members))));
    check(&whole(|archive, members| {
        one(format!("mine/x/{}.tar.split.0", base(archive)), tar(&members))
    }));
}

#[test]
fn archives_that_were_renamed_are_known_by_their_folders() {
    // All but the one whose folder has no name.
    let files = whole(|archive, members| match archive {
        "Singleturn/results_adjust_canny_laion_part2" => {
            one(format!("{archive}.tar"), tar(&members))
        }
        _ => one(format!("Singleturn/mine-{}.tar", number(archive)), tar(&members)),
    });
    check(&files);
}

#[test]
fn unpacked_archives_are_read() {
    let unpacked = |root: &str, members: Vec<(String, Vec<u8>)>| {
        let path = |name: &str| format!("{root}/{}", name.trim_start_matches("./"));
        members.into_iter().map(|(name, bytes)| (path(&name), bytes)).collect::<Files>()
    };
    let folder = |archive: &str| archive.split('/').next().unwrap().to_owned();
    // Beside the archives, in a folder of the archive's name, and in one of somebody's own.
    check(&whole(|archive, members| unpacked(&folder(archive), members)));
    check(&whole(|archive, members| unpacked(archive, members)));
    check(&whole(|archive, members| {
        let own = format!("data/{}", archive.rsplit('/').next().unwrap());
        unpacked(&own, members)
    }));
    // Some of them.
    check(&whole(|archive, members| match number(archive) % 3 {
        0 => unpacked(&folder(archive), members),
        1 => one(format!("{archive}.tar"), tar(&members)),
        _ => one(format!("{archive}.tar.split.000"), tar(&members)),
    }));
}

#[test]
fn odd_names_in_archives_and_rows_lead_to_the_same_pictures() {
    let rename = |how: fn(String) -> String| {
        whole(move |archive, members| {
            let members: Vec<_> = members.into_iter().map(|(n, b)| (how(n), b)).collect();
            one(format!("{archive}.tar"), tar(&members))
        })
    };
    check(&rename(|name| format!("./{name}")));
    check(&rename(|name| format!("/data/u/{name}")));
    check(&rename(|name| name.replace('/', "\\")));
    check(&rename(|name| name.replacen('/', "//", 1)));
    for how in ["/mnt/data/ImgEdit/", "./", "Singleturn/", "ImgEdit\\Singleturn\\"] {
        let row = &STEMS[27];
        let mut paths = paths(prefix_of(row));
        paths.iter_mut().for_each(|path| path.insert_str(0, how));
        let members = members(row[2], 4);
        let files = vec![parquet(row[0], &paths), (format!("{}.tar", row[1]), tar(&members))];
        let (pairs, rejections) = read(open(&files).as_ref());
        assert_eq!((pairs.len(), rejections.len()), (1, 0), "{how}");
    }
}

#[test]
fn a_group_that_nobody_has_seen_resolves() {
    for (stem, archive, top, prefix) in [
        ("add_part9", "Singleturn/results_add_laion_part9", "results_add_laion_part9", "="),
        ("add_part9", "Singleturn/add_part9", "out/results_9", "results_9"),
        ("add_part9", "Singleturn/results_add_part9", "another", "results_9"),
        ("sketch_part1", "Singleturn/x", "home/u/sketch1", "sketch1"),
        ("sketch_part1", "Singleturn/sketch1", ".", "sketch1"),
    ] {
        let prefix = if prefix == "=" { top } else { prefix };
        let mut files = vec![parquet(stem, &paths(prefix))];
        files.push((format!("{archive}.tar.split.000"), tar(&members(top, 3))));
        // The same sample in a group that is known is not meant.
        files.push((
            "Singleturn/results_add_laion_part5.tar".to_owned(),
            tar(&members("results_add_laion_part5", 9)),
        ));
        let (pairs, rejections) = read(open(&files).as_ref());
        assert_eq!(rejections, [], "{stem}, {archive}");
        assert_eq!(pairs[0].source.width, Some(6), "{stem}, {archive}");
    }
}

#[test]
fn a_picture_is_never_taken_from_another_group() {
    for row in &STEMS {
        let mut files = vec![parquet(row[0], &paths(prefix_of(row)))];
        for [_, archive, top, _] in STEMS.iter().filter(|other| other[1] != row[1]) {
            let name = format!("{archive}.tar");
            if !files.iter().any(|(other, _)| *other == name) {
                files.push((name, tar(&members(top, 1))));
            }
        }
        let (pairs, rejections) = read(open(&files).as_ref());
        assert_eq!((pairs.len(), rejections.len()), (0, 1), "{}", row[0]);
        assert_eq!(rejections[0].kind, "missing_archive");
        assert_eq!(rejections[0].at.file, Some(format!("{}.tar", row[1])));
    }
}

#[test]
fn what_a_path_says_counts_more_than_the_name_of_its_file() {
    let paths = paths("results_remove_laion_part5");
    let archive = |kind: &str, width| {
        let group = format!("results_{kind}_laion_part5");
        (format!("Singleturn/{group}.tar"), tar(&members(&group, width)))
    };
    let both = vec![parquet("add_part5", &paths), archive("add", 1), archive("remove", 2)];
    let (pairs, _) = read(open(&both).as_ref());
    assert_eq!(pairs[0].source.width, Some(4));
    let (pairs, rejections) = read(open(&both[..2]).as_ref());
    assert_eq!((pairs.len(), rejections[0].kind.as_str()), (0, "missing_archive"));
    assert!(rejections[0].cause.contains("Singleturn/results_remove_laion_part5.tar.split.*"));
}

#[test]
fn what_cannot_be_a_picture_says_why() {
    let row = &STEMS[27];
    let archive = format!("{}.tar", row[1]);
    let rejected = |paths: &[String; 2], members: &[(String, Vec<u8>)]| {
        let files = vec![parquet(row[0], paths), (archive.clone(), tar(members))];
        let (pairs, mut rejections) = read(open(&files).as_ref());
        assert_eq!((pairs.len(), rejections.len()), (0, 1));
        let rejection = rejections.pop().unwrap();
        (rejection.kind, rejection.cause)
    };
    let usual = paths(row[2]);
    let own = members(row[2], 1);
    let (kind, cause) = rejected(&["../a/b/c.png".to_owned(), usual[1].clone()], &own);
    assert_eq!((kind.as_str(), cause.contains("leads out")), ("invalid_path", true));
    let (kind, _) = rejected(&[format!("{}/x/original.png", row[2]), usual[1].clone()], &own);
    assert_eq!(kind, "missing_member");
    let mut escaping = own.clone();
    escaping[1].0.insert_str(0, "../");
    let (kind, cause) = rejected(&usual, &escaping);
    assert_eq!(kind, "unusable_member");
    assert!(cause.contains("../results_remove_laion_part5") && cause.contains("leads out"));
    let mut text = own.clone();
    text[1].1 = b"no picture".to_vec();
    assert_eq!(rejected(&usual, &text).0, "unknown_picture_type");
}

#[test]
fn withdrawn_files_are_known_by_their_names() {
    let paths = paths("results_compose_part2");
    let other = |name: &str| (name.to_owned(), png(1, 40));
    let sample = "results_compose_part2/00000_00000_000000000";
    let members = [other(&format!("{sample}/origin_0.png"))];
    let archive = "Singleturn/results_hybrid_part2.tar".to_owned();
    let files = vec![parquet("compose_part2", &paths), (archive, tar(&members))];
    let (_, rejections) = read(open(&files).as_ref());
    assert_eq!(rejections[0].kind, "missing_member");
    assert!(rejections[0].cause.contains("hybrid_part*"), "{}", rejections[0].cause);
}

#[test]
fn a_parquet_file_of_something_else_is_rejected_row_by_row() {
    let names: StringArray = ["a", "b"].into_iter().map(Some).collect();
    let other = table(vec![("caption", Arc::new(names))]);
    let files = vec![("Parquet/add_part5.parquet".to_owned(), other.clone())];
    let (pairs, rejections) = read(open(&files).as_ref());
    assert_eq!((pairs.len(), rejections.len()), (0, 2));
    assert_eq!((rejections[1].kind.as_str(), rejections[1].at.row), ("invalid_row", Some(1)));
    assert_eq!(rejections[1].native.as_deref(), Some(r#"{"row":{"caption":"b"}}"#));
    assert!(rejections[0].cause.contains("the columns caption"), "{}", rejections[0].cause);
    // Cut off, nobody knows how many rows there were.
    let cut = other[..other.len() - 9].to_vec();
    let files = vec![("Parquet/add_part5.parquet".to_owned(), cut)];
    let reader = open(&files);
    let (_, rejections) = read(reader.as_ref());
    assert_eq!(rejections.len(), 1);
    assert_eq!(rejections[0].kind, "damaged_parquet");
    assert_eq!(notices(reader.as_ref()), [""; 0]);
}
