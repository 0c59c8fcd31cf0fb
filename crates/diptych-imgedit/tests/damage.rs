//! Damaged Parquet files: rows before the damage, and never a panic.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use support::{open, read, rows};

#[test]
fn a_damaged_file_of_rows_never_ends_the_reading() {
    let paths: Vec<_> =
        (0..40).map(|n| format!("results_x/{n:05}_00000_000000000/a.png")).collect();
    let all: Vec<_> =
        paths.iter().map(|path| (vec![path.as_str()], vec![path.as_str()], "do it")).collect();
    let whole = rows(&all);
    let mut seen = 0;
    for at in 0..whole.len() {
        for with in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= with;
            let files = vec![("Parquet/add_part5.parquet".to_owned(), damaged)];
            let (pairs, rejections) = read(open(&files).as_ref());
            assert!(pairs.is_empty() && !rejections.is_empty());
            seen += usize::from(rejections.iter().any(|r| r.kind == "damaged_parquet"));
        }
    }
    assert!(seen > 100, "only {seen} were seen to be damaged");
}
