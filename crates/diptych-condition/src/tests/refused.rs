//! What is no condition, and what is said of it.

use super::{chosen, refused};
use crate::{Condition, ConditionError, Fault, MAX_BYTES, MAX_OPERATORS, Number, Word};

fn all(cases: &[(&str, &str)]) {
    for (condition, message) in cases {
        assert_eq!(refused(condition), *message, "{condition}");
    }
}

#[test]
fn names_that_are_not_there_have_near_ones() {
    all(&[
        ("edit_typ = 'add'", "at character 1: there is no column `edit_typ`; near it: `edit_type`"),
        (
            "width > 1",
            "at character 1: there is no column `width`; near it: `source.width`, `target.width`",
        ),
        (
            "turn = 1\nAND soure.width > 1",
            "at character 14: there is no column `soure.width`; near it: `source.width`",
        ),
        (
            "scores('x') > 1",
            "at character 1: there is no function `scores`; near it: `score('name')`",
        ),
        (
            "score > 1",
            "at character 1: there is no column `score`; near it: `score('name')`, `scores`",
        ),
        ("count(*) > 1", "at character 1: there is no function `count`"),
        (
            "edit_type = \"add\"",
            "at character 13: there is no column `add`; text has single quotes, names of columns have double ones",
        ),
        ("qqq = 1", "at character 1: there is no column `qqq`"),
        (
            "\"a\nb\" = 1",
            "at character 1: there is no column `a\\u{a}b`; text has single quotes, names of columns have double ones",
        ),
    ]);
}

#[test]
fn sides_that_do_not_go_together_say_which_is_what() {
    all(&[
        (
            "edit_type >= 4",
            "at character 14: left of `>=`, `edit_type`, is text; right, `4`, is a whole number",
        ),
        (
            "turn = '1'",
            "at character 8: left of `=`, `turn`, is a whole number; right, `'1'`, is text",
        ),
        (
            "edit_type = 'é' AND 5",
            "at character 21: right of AND must be true or false, and `5` is a whole number",
        ),
        (
            "turn OR TRUE",
            "at character 1: left of OR must be true or false, and `turn` is a whole number",
        ),
        (
            "turn BETWEEN 1 AND 'x'",
            "at character 20: left of BETWEEN, `turn`, is a whole number; right, `'x'`, is text",
        ),
        (
            "turn IN (1, 'x')",
            "at character 13: left of IN, `turn`, is a whole number; right, `'x'`, is text",
        ),
        ("5", "at character 1: a condition must be true or false, and `5` is a whole number"),
        (
            "mask",
            "at character 1: a condition must be true or false, and `mask` is a record of fields",
        ),
        ("labels = 'x'", "at character 1: a side of `=` must be one value, and `labels` is a list"),
        (
            "edit_type + 1 > 2",
            "at character 1: left of + must be a number, and `edit_type` is text",
        ),
        ("-edit_type = 1", "at character 2: right of - must be a number, and `edit_type` is text"),
        (
            "NOT turn",
            "at character 5: right of NOT must be true or false, and `turn` is a whole number",
        ),
        (
            "turn LIKE 'a'",
            "at character 1: left of LIKE must be text, and `turn` is a whole number",
        ),
        (
            "turn IS TRUE",
            "at character 1: left of IS TRUE must be true or false, and `turn` is a whole number",
        ),
    ]);
}

#[test]
fn functions_say_what_they_take() {
    all(&[
        ("score(gpt) > 1", "at character 1: `score('name')` takes one name in single quotes"),
        ("label() = 'x'", "at character 1: `label('name')` takes one name in single quotes"),
        (
            "length(source) > 1",
            "at character 8: `length(column)` takes a text or a list, such as `instruction` or `labels`",
        ),
        (
            "edit_type LIKE turn",
            "at character 16: the pattern of LIKE must be a text in single quotes",
        ),
        (
            "edit_type LIKE 'a' ESCAPE '!!'",
            "at character 27: the escape must be one character in single quotes",
        ),
        (
            "edit_type LIKE 'a!' ESCAPE '!'",
            "at character 16: the pattern ends with its escape, which has nothing to stand before",
        ),
        (
            "1 < turn < 3",
            "at character 12: comparisons cannot follow each other; AND joins two of them",
        ),
        ("turn < 1e999", "at character 8: `1e999` is no number that can be told from others"),
    ]);
}

#[test]
fn only_one_expression_is_taken() {
    all(&[
        ("edit_type = ", "at character 13: expected: an expression, found: the end"),
        ("edit_type 'x'", "at character 11: the condition ends before `'x'`"),
        ("turn = 1; SELECT 1", "at character 9: the condition ends before `;`"),
        ("'abc", "at character 1: unterminated string literal"),
    ]);
    for text in [
        "",
        "turn IN (SELECT 1)",
        "(SELECT 1)",
        "EXISTS (SELECT 1)",
        "CASE WHEN TRUE THEN TRUE END",
        "CAST(turn AS INT) = 1",
        "turn::int = 1",
        "edit_type || 'x' = 'y'",
        "edit_type = x'ff'",
        "edit_type = N'ff'",
        "edit_type SIMILAR TO 'x'",
        "turn = ANY (1)",
        "turn = ?",
        "score('x') OVER () > 1",
        "score(DISTINCT 'x') > 1",
        "edit_type COLLATE x = 'y'",
        "turn[1] = 1",
        "date '2020-01-01' = 'x'",
        "turn = 10L",
        "TRUE XOR FALSE",
    ] {
        let error = Condition::parse(text).unwrap_err();
        assert!(matches!(error, ConditionError::Text { .. }), "{text}: {error}");
    }
}

#[test]
fn what_the_documents_show_is_taken() {
    let document = include_str!("../../../../docs/conditions.md");
    let rows = document.lines().skip_while(|line| !line.starts_with("| construct"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let mut shown = 0;
    for row in rows {
        let examples = row.rsplit('|').nth(1).unwrap();
        for example in examples.split('`').skip(1).step_by(2) {
            let taken = Condition::parse(example).is_ok()
                || Number::parse(example).is_ok()
                || Word::parse(example).is_ok();
            assert!(taken, "{example}");
            shown += 1;
        }
    }
    assert_eq!(shown, 23);
}

#[test]
fn numbers_and_words_are_of_their_kind() {
    let number = Number::parse("edit_type").unwrap_err().to_string();
    assert_eq!(
        number,
        "at character 1: what pairs are ordered by must be a number, and `edit_type` is text"
    );
    let word = Word::parse("box.x0").unwrap_err().to_string();
    assert_eq!(
        word,
        "at character 1: what pairs are told apart by must be text or a whole number, and `box.x0` is a number"
    );
}

#[test]
fn long_and_deep_conditions_end() {
    let long = format!("edit_type = '{}'", "x".repeat(MAX_BYTES));
    assert!(matches!(Condition::parse(&long), Err(ConditionError::TooLong { .. })));
    let fits = format!("edit_type = '{}'", "x".repeat(MAX_BYTES - 14));
    assert_eq!(fits.len(), MAX_BYTES);
    assert!(Condition::parse(&fits).is_ok());

    // `=` is one of the operators, and so is AND.
    let joined = |count: usize| vec!["turn=1"; count].join(" AND ");
    assert!(Condition::parse(&joined(MAX_OPERATORS / 2)).is_ok());
    let fault = |text: &str| match Condition::parse(text) {
        Err(ConditionError::Text { fault, .. }) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(&joined(MAX_OPERATORS / 2 + 1)), Fault::TooMany);

    let nested = |count: usize| format!("{}turn=0{}", "(".repeat(count), ")".repeat(count));
    assert_eq!(chosen(&nested(60)), "a");
    assert_eq!(fault(&nested(80)), Fault::TooDeep);
    let sum = |count: usize| format!("turn{} = 0", "+1".repeat(count));
    assert!(Condition::parse(&sum(60)).is_ok());
    assert_eq!(fault(&sum(80)), Fault::TooDeep);
    // As many of anything as there may be, and many more than that.
    for piece in [
        "(",
        "NOT ",
        "- ",
        "turn+",
        "[",
        "CASE WHEN ",
        "a(",
        "{",
        "(SELECT ",
        "a.",
        "a IN (",
        "a BETWEEN ",
        "CAST(",
        "turn IS NULL AND ",
        "turn::int ",
    ] {
        for count in [MAX_OPERATORS / 4, MAX_OPERATORS, MAX_BYTES / piece.len()] {
            assert!(Condition::parse(&piece.repeat(count)).is_err(), "{piece}");
        }
        let ended = format!("{}turn", piece.repeat(MAX_OPERATORS - 10));
        let _ = Condition::parse(&ended);
    }
    for piece in [" IS NULL", "+1", "<1", "::int", "[1]", " COLLATE x", " AT TIME ZONE 'x'", ".a"] {
        for count in [MAX_OPERATORS / 4, MAX_OPERATORS - 10, MAX_BYTES / piece.len() - 1] {
            let _ = Condition::parse(&format!("turn{}", piece.repeat(count)));
        }
    }
}
