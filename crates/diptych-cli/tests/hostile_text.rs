//! Rows that are made to do harm: texts that become far more than they are, lines and arrays
//! without end, and JSON that readers disagree about or run out of their stack with.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::fs;

use serde_json::Value;
use support::folder::{copy, fixtures};
use support::hostile::{Ended, Scene, folder, line, zipped};
use support::made::{Made, gzip};

/// Decompressed in the time that a test has, by a program that is not optimized.
const SOME: u64 = 24 << 20;

/// The releases whose rows are text: each with the file that they stand in. Its own first row is
/// whole.
fn releases() -> Vec<(&'static str, Scene, &'static str, Vec<u8>)> {
    let inter_edit = Scene::new();
    Made { samples: 1, per_shard: 1, picture_bytes: 60 }.write(&inter_edit.release());
    let rows = "metadata/train-00000-of-00001.jsonl.gz";
    let mut first = Vec::new();
    let zipped = fs::File::open(inter_edit.release().join(rows)).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(zipped), &mut first).unwrap();

    let pape = Scene::new();
    copy(&fixtures().join("pape"), &pape.release());
    let manifest = "COCO/flux2_dev/manifest.jsonl";
    let all = fs::read_to_string(pape.release().join(manifest)).unwrap();
    let of_pape = format!("{}\n", all.lines().next().unwrap()).into_bytes();

    let ours = line("a.png", "b.png");
    let of_folder = Scene::of(folder(&ours));
    vec![
        ("inter-edit-train", inter_edit, rows, first),
        ("pape", pape, manifest, of_pape),
        ("folder", of_folder, "metadata.jsonl", ours.into_bytes()),
    ]
}

/// What is rejected of a file, with its kind and where.
fn of_file<'e>(ended: &'e Ended, file: &str) -> Vec<&'e Value> {
    ended.rejections.iter().filter(|of| of["where"]["file"] == file).collect()
}

#[test]
fn what_becomes_far_more_than_it_is_ends() {
    for (format, scene, file, first) in releases() {
        // Zeros, blanks, and rows of next to nothing.
        let (zeros, blanks) = (vec![0; 1 << 20], vec![b' '; 1 << 20]);
        let rows = b"{}\n".repeat(1 << 17);
        for (what, filling, few) in
            [("zeros", &zeros, true), ("blanks", &blanks, true), ("rows", &rows, false)]
        {
            let times = SOME / filling.len() as u64;
            let bomb = zipped(&[(&first, 1), (filling, times), (b"\n", 1), (&first, 1)]);
            scene.write(file, &bomb);
            let ended = scene.convert(&["--max", "expansion=10", "--max", "rows=1000"]);
            let lost = of_file(&ended, file);
            let cause = lost.last().unwrap_or_else(|| panic!("{format}, {what}: {ended:?}"));
            let told = cause["cause"].as_str().unwrap();
            assert_eq!(ended.code, Some(3), "{format}, {what}");
            if few {
                assert_eq!(lost.len(), 1, "{format}, {what}: {lost:?}");
                assert!(told.contains("becomes more than 16777216 bytes"), "{told}");
            } else {
                assert_eq!(lost.len(), 1000, "{format}, {what}");
                assert!(told.contains("there are more than 1000 rows"), "{told}");
            }
        }
    }
}

#[test]
fn lines_and_arrays_without_end_end() {
    for (format, scene, file, first) in releases() {
        let begun = [first.trim_ascii(), b"\n"].concat();
        let opened = [b"[", first.trim_ascii(), b","].concat();
        let deep = [b"[", first.trim_ascii(), b",", &b"[".repeat(1 << 16)].concat();
        for (what, before) in [("a line", begun), ("an array", opened), ("depth", deep)] {
            // A terabyte that takes no room.
            fs::remove_file(scene.release().join(file)).unwrap();
            let zeros = scene.zeros(file, 1 << 40);
            std::os::unix::fs::FileExt::write_all_at(&zeros, &before, 0).unwrap();
            let ended = scene.convert(&["--max", "gap-bytes=1MiB"]);
            let lost = of_file(&ended, file);
            assert_eq!((ended.code, lost.len()), (Some(3), 1), "{format}, {what}: {ended:?}");
            let told = lost[0]["cause"].as_str().unwrap();
            assert!(told.contains("no row ends within 1048576 bytes"), "{format}: {told}");
        }
        // One that is longer than a row may be is passed over, and the next one counts.
        let long = zipped(&[(b"\"", 1), (&[b'y'; 1 << 16], 200), (b"\"\n", 1), (&first, 1)]);
        scene.write(file, &long);
        let ended = scene.convert(&[]);
        let lost = of_file(&ended, file);
        assert_eq!(lost.len(), 1, "{format}: {lost:?}");
        assert_eq!((&lost[0]["kind"], ended.code), (&"row_too_long".into(), Some(3)), "{format}");
        assert_eq!(lost[0]["where"]["row"], 0);
        // An array that is never closed, of a row that is.
        scene.write(file, &[b"[", first.trim_ascii()].concat());
        let ended = scene.convert(&[]);
        let lost = of_file(&ended, file);
        assert_eq!(lost.len(), 1, "{format}: {ended:?}");
    }
}

/// Rows that are no rows, each of which is told of by itself; those that are count.
#[test]
fn json_that_is_none_is_told_row_by_row() {
    let deep = |open: &str, close: &str, times: usize| {
        format!("{{\"a\":{}1{}}}", open.repeat(times), close.repeat(times))
    };
    let bad: Vec<Vec<u8>> = vec![
        deep("[", "]", 10_000).into_bytes(),
        deep("{\"a\":", "}", 10_000).into_bytes(),
        "[".repeat(100_000).into_bytes(),
        "{\"a\":".repeat(100_000).into_bytes(),
        b"{\"instruction\": \"\xff\xfe\"}".to_vec(),
        b"{\"instruction\": \"\xed\xa0\x80\"}".to_vec(),
        br#"{"instruction": "\ud800"}"#.to_vec(),
        br#"{"a": NaN}"#.to_vec(),
        br#"{"a": Infinity}"#.to_vec(),
        br#"{"a": -}"#.to_vec(),
        br#"{"a": 01}"#.to_vec(),
        br#"{"a": 0x10}"#.to_vec(),
        b"{\"a\": \"\n".to_vec(),
        b"{\"a\": \"\0\"}".to_vec(),
        b"{'a': 1}".to_vec(),
        b"{\"a\": 1,}".to_vec(),
        b"{} {}".to_vec(),
        b"null".to_vec(),
        b"\x00".to_vec(),
        b"\xef\xbb\xbf\xef\xbb\xbf{}".to_vec(),
    ];
    for (format, scene, file, first) in releases() {
        let mut text = first.clone();
        for row in &bad {
            text.extend_from_slice(row);
            text.push(b'\n');
        }
        scene.write(file, &text);
        let ended = scene.convert(&[]);
        let lost = of_file(&ended, file);
        let mut rows: Vec<_> = lost.iter().map(|of| of["where"]["row"].as_u64().unwrap()).collect();
        rows.dedup();
        // A line break in a text is the end of its row.
        let wanted: Vec<_> = (1..=bad.len() as u64).collect();
        assert_eq!((ended.code, rows), (Some(3), wanted), "{format}");
    }
}

/// Numbers and keys that readers disagree about are in the record as they were written.
#[test]
fn json_that_readers_disagree_about_is_kept_as_it_is() {
    let odd = [
        r#""a":9007199254740993"#,
        r#""a":123456789012345678901234567890"#,
        r#""a":1e400"#,
        r#""a":-0"#,
        r#""a":-0.0"#,
        r#""a":1E-400"#,
        r#""a":1,"a":2"#,
        r#""a":"\u0000""#,
        r#""":0"#,
    ];
    for (format, scene, file, first) in releases() {
        let first = String::from_utf8(first).unwrap();
        let open = first.trim().strip_suffix('}').unwrap();
        let mut text = String::new();
        for (number, odd) in odd.iter().enumerate() {
            // Each is a row of its own: ids are told apart by what is in them.
            let row = open.replace("\"sample_id\":0", &format!("\"sample_id\":{number}"));
            let row = row.replace("\"image_id\": 250", &format!("\"image_id\": {}", 250 + number));
            text.push_str(&format!("{row},{odd}}}\n"));
        }
        scene.write(file, text.as_bytes());
        let ended = scene.run("index", &[]);
        assert!(matches!(ended.code, Some(0 | 3)), "{format}: {ended:?}");
        let ended = scene.run("convert", &["--to", "folder", "-o", "folder.metadata=jsonl"]);
        let lost = of_file(&ended, file);
        assert!(lost.iter().all(|of| !of["native"].is_null()), "{lost:?}");
        // In the table of whatever split, or in a rejection.
        let mut kept: String = ended.rejections.iter().map(Value::to_string).collect();
        for split in ["train", "val", "test"] {
            let table = fs::read_to_string(scene.out().join(split).join("metadata.jsonl"));
            kept.push_str(&table.unwrap_or_default());
        }
        for odd in odd {
            let told = odd.replace('\\', "\\\\").replace('"', "\\\"");
            let again = told.replace('\\', "\\\\").replace('"', "\\\"");
            assert!(
                kept.contains(&told) || kept.contains(&again),
                "{format}: {odd} is not in {kept}"
            );
        }
    }
}

/// What stands beside the rows: lists of splits, what a release says of itself.
#[test]
fn side_files_without_end_are_not_used() {
    for (name, fixture, files) in [
        ("pape", "pape", vec!["splits/split_seed2026.json"]),
        ("inter-edit-train", "inter-edit-train", vec!["manifest.json"]),
        ("imgedit", "imgedit", vec!["all_dataset_gpt_score.json"]),
        ("webdataset", "webdataset", vec!["wids-train.json", "report.json", "catalog.json"]),
        ("folder", "folder", vec!["report.json", "catalog.json"]),
    ] {
        for file in files {
            let scene = Scene::new();
            copy(&fixtures().join(fixture), &scene.release());
            for (what, begin) in
                [("zeros", &b""[..]), ("text", b"{\"a\": \""), ("depth", &b"[".repeat(1 << 16))]
            {
                let path = scene.release().join(file);
                if path.exists() {
                    fs::remove_file(&path).unwrap();
                }
                let zeros = scene.zeros(file, 1 << 40);
                std::os::unix::fs::FileExt::write_all_at(&zeros, begin, 0).unwrap();
                let ended = scene.convert(&["--max", "gap-bytes=1MiB"]);
                assert!(matches!(ended.code, Some(0 | 3)), "{name}, {file}, {what}: {ended:?}");
            }
        }
    }
}

/// Compressed within compressed is a row that is none.
#[test]
fn compression_is_taken_off_once() {
    let (_, scene, file, first) = releases().remove(0);
    let twice = gzip(&gzip(&[first.as_slice(), &vec![0; 1 << 20]].concat()));
    scene.write(file, &twice);
    let ended = scene.convert(&[]);
    assert!(!of_file(&ended, file).is_empty(), "{ended:?}");
    assert_eq!(ended.code, Some(4));
}
