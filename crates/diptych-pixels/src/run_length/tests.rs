use proptest::prelude::*;

use super::*;

const LIMITS: RunLimits = RunLimits { pixels: 1 << 22, runs: 1 << 12 };

/// Two strings that the authors of a dataset publish, for a picture of 2000x1333 pixels.
const BOW_TIE: &str = "kQie02aY13M2L5N3N1N2O1OO2O0O2O0O2O001N0101N10001N10001O0O2O001N2O0O2O0000\
                       O2O0O1DWgNImX10`PQj1";
const SMALL: &str = "hhge0;UY18L2O1N101O001O0001O1N3M5L;CcVPk1";
const PUBLISHED: (u32, u32) = (2000, 1333);

fn runs(counts: &str, size: (u32, u32)) -> Vec<u64> {
    let found = decode(counts.as_bytes(), size, LIMITS).unwrap();
    assert_eq!(found.padded, 0);
    found.runs
}

fn error(counts: &[u8]) -> RunLengthError {
    decode(counts, (4, 3), LIMITS).unwrap_err()
}

/// Pixels from rows of `0` and `1`.
fn pixels(rows: &str) -> Vec<u8> {
    rows.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect()
}

#[test]
fn small_masks_have_the_strings_worked_out_by_hand() {
    for (rows, size, counts, expected) in [
        ("0110 0110 0010", (4, 3), "32112", &[3, 2, 1, 3, 3][..]),
        ("001100 011110 011100 000000", (6, 4), "5211001N4", &[5, 2, 1, 3, 1, 3, 2, 1, 6]),
        ("0000 0000 0000", (4, 3), "<", &[12]),
        ("1100 1000 1000", (4, 3), "048", &[0, 4, 8]),
    ] {
        assert_eq!(encode(&pixels(rows), size).unwrap(), counts);
        assert_eq!(runs(counts, size), expected);
        assert_eq!(encode_runs(expected.iter().copied()), counts);
    }
}

#[test]
fn published_strings_are_read_as_their_authors_drew_them() {
    // The number of runs and of edited pixels, and the columns and rows these lie in.
    for (counts, number, edited, columns, rows) in
        [(BOW_TIE, 79, 598, (535, 572), (620, 643)), (SMALL, 31, 301, (534, 548), (643, 667))]
    {
        let found = runs(counts, PUBLISHED);
        assert_eq!(found.len(), number);
        assert_eq!(found.iter().sum::<u64>(), 2_666_000);
        assert_eq!(found.iter().skip(1).step_by(2).sum::<u64>(), edited);
        let height = u64::from(PUBLISHED.1);
        let mut end = 0;
        let mut places = Vec::new();
        for (number, run) in found.iter().enumerate() {
            let places_of_run = (end..end + run).filter(|_| number % 2 == 1);
            places.extend(places_of_run.map(|at| (at / height, at % height)));
            end += run;
        }
        let ends = |of: &dyn Fn(&(u64, u64)) -> u64| {
            let places = || places.iter().map(of);
            (places().min().unwrap(), places().max().unwrap())
        };
        assert_eq!((ends(&|at| at.0), ends(&|at| at.1)), (columns, rows));
        assert_eq!(encode_runs(found), counts);
    }
    assert_eq!(runs(BOW_TIE, PUBLISHED)[..5], [713_787, 2, 1329, 5, 1326]);
}

#[test]
fn what_a_string_leaves_out_is_padded_and_told() {
    let found = |counts: &[u8]| decode(counts, (4, 3), LIMITS).unwrap();
    assert_eq!(found(b"<"), RunLengths { runs: vec![12], padded: 0 });
    assert_eq!(found(b"32"), RunLengths { runs: vec![3, 2], padded: 7 });
    assert_eq!(found(b""), RunLengths { runs: vec![], padded: 12 });
}

#[test]
fn what_is_wrong_with_a_string_is_named() {
    assert_eq!(error(b"32P"), RunLengthError::Truncated { run: 2 });
    assert_eq!(error(b"3/"), RunLengthError::BadCharacter { at: 1, found: b'/' });
    assert_eq!(error(b"3Pp"), RunLengthError::BadCharacter { at: 2, found: b'p' });
    assert_eq!(error(b"3\xFF"), RunLengthError::BadCharacter { at: 1, found: 0xFF });
    assert_eq!(error(b"3O"), RunLengthError::Negative { run: 1, length: -1 });
    // The fourth is 2 less than the second.
    assert_eq!(error(b"111N"), RunLengthError::Negative { run: 3, length: -1 });
    assert_eq!(error(b"3:"), RunLengthError::TooLong { run: 1, sum: 13, pixels: 12 });
    let longest = [&b"o".repeat(11)[..], b"?"].concat();
    let sum = (1 << 59) - 1;
    assert_eq!(error(&longest), RunLengthError::TooLong { run: 0, sum, pixels: 12 });
    assert_eq!(error(&b"o".repeat(12)), RunLengthError::Overflow { run: 0 });
    assert_eq!(error(&b"P".repeat(1000)), RunLengthError::Overflow { run: 0 });
    assert_eq!(
        error(b"3p").to_string(),
        "character 112 at 1 of the run lengths is not one of `0` to `o`"
    );
}

#[test]
fn a_grid_must_have_pixels_and_be_the_one_of_the_pixels() {
    for (width, height) in [(0, 0), (0, 3), (4, 0)] {
        let expected = RunLengthError::NoPixels { width, height };
        assert_eq!(decode(b"0", (width, height), LIMITS), Err(expected.clone()));
        assert_eq!(encode(&[], (width, height)), Err(expected));
    }
    let expected = RunLengthError::OtherGrid { expected: 12, found: 11 };
    assert_eq!(encode(&[0; 11], (4, 3)), Err(expected));
}

#[test]
fn limits_hold_up_to_the_last_run() {
    let limits = RunLimits { pixels: 12, runs: 5 };
    assert_eq!(decode(b"32112", (4, 3), limits).unwrap().runs.len(), 5);
    let found = decode(b"32112", (4, 3), RunLimits { runs: 4, ..limits });
    assert_eq!(found, Err(RunLengthError::TooManyRuns { limit: 4 }));
    let found = decode(b"32112", (4, 3), RunLimits { pixels: 11, ..limits });
    assert_eq!(found, Err(RunLengthError::TooManyPixels { width: 4, height: 3, limit: 11 }));
    // Empty runs are runs as well.
    let found = decode(&b"0".repeat(1 << 20), (4, 3), LIMITS);
    assert_eq!(found, Err(RunLengthError::TooManyRuns { limit: LIMITS.runs }));
    let found = decode(b"0", (u32::MAX, u32::MAX), LIMITS).unwrap_err();
    assert!(matches!(found, RunLengthError::TooManyPixels { width: u32::MAX, .. }));
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(
        (width, height, pixels) in (1..30_u32, 1..30_u32).prop_flat_map(|(width, height)| {
            let count = (width * height) as usize;
            (Just(width), Just(height), proptest::collection::vec(0..2_u8, count))
        }),
    ) {
        let counts = encode(&pixels, (width, height)).unwrap();
        let found = decode(counts.as_bytes(), (width, height), LIMITS).unwrap();
        prop_assert_eq!(found.padded, 0);
        prop_assert!(found.runs.iter().skip(1).all(|run| *run > 0));
        let mut drawn = vec![0; pixels.len()];
        let mut end = 0;
        for (number, run) in found.runs.iter().enumerate() {
            for at in end..end + run {
                let (x, y) = (at / u64::from(height), at % u64::from(height));
                let place = usize::try_from(y * u64::from(width) + x).unwrap();
                drawn[place] = u8::from(number % 2 == 1);
            }
            end += run;
        }
        prop_assert_eq!(drawn, pixels);
    }

    #[test]
    fn any_runs_are_encoded_and_decoded(runs in proptest::collection::vec(0..1_u64 << 28, 0..50)) {
        let limits = RunLimits { pixels: u64::MAX, runs: 50 };
        let counts = encode_runs(runs.iter().copied());
        let found = decode(counts.as_bytes(), (u32::MAX, u32::MAX), limits).unwrap();
        prop_assert_eq!(found.runs, runs);
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
        characters in "[0-o]{0,60}",
        width: u32,
        height: u32,
    ) {
        let limits = RunLimits { pixels: u64::MAX, runs: 60 };
        for counts in [&bytes[..], characters.as_bytes()] {
            for size in [(width, height), (width % 50, height % 50)] {
                if let Ok(found) = decode(counts, size, limits) {
                    let sum = found.runs.iter().sum::<u64>() + found.padded;
                    prop_assert_eq!(sum, u64::from(size.0) * u64::from(size.1));
                }
            }
        }
        let _ = encode_runs([u64::from(width), u64::MAX, 0, u64::from(height), u64::MAX, 0]);
    }
}
