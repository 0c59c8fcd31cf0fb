//! Conditions that are drawn.

use arrow_array::Array;
use proptest::prelude::*;
use proptest::sample::select;

use super::batch;
use crate::{Condition, Number, Word};

const PIECES: &[&str] = &[
    "edit_type",
    "turn",
    "source.width",
    "box.x0",
    "mask",
    "labels",
    "score('x')",
    "label('scene')",
    "length(",
    "score(",
    "'add'",
    "''",
    "'%_'",
    "1",
    "-2",
    "0.5",
    "NULL",
    "TRUE",
    "(",
    ")",
    ",",
    "=",
    "<",
    ">=",
    "<>",
    "AND",
    "OR",
    "NOT",
    "IN (",
    "BETWEEN",
    "LIKE",
    "ILIKE",
    "ESCAPE '!'",
    "IS NULL",
    "IS NOT DISTINCT FROM",
    "IS TRUE",
    "+",
    "-",
    "*",
    "/",
    "%",
    ".",
    "\"",
    "'",
    "--",
    "/*",
    ";",
    "SELECT",
    "CASE",
    "é",
    "\n",
];

fn try_everything(text: &str) {
    let batch = batch();
    if let Ok(condition) = Condition::parse(text) {
        assert_eq!(condition.evaluate(&batch).unwrap().len(), batch.num_rows());
        assert_eq!(condition.evaluate(&batch.slice(2, 0)).unwrap().len(), 0);
    }
    if let Ok(number) = Number::parse(text) {
        assert_eq!(number.evaluate(&batch).unwrap().len(), batch.num_rows());
    }
    if let Ok(word) = Word::parse(text) {
        assert_eq!(word.evaluate(&batch).unwrap().len(), batch.num_rows());
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}") {
        try_everything(&text);
    }

    #[test]
    fn no_pieces_of_conditions_make_it_panic(pieces in prop::collection::vec(select(PIECES), 0..14)) {
        try_everything(&pieces.join(" "));
    }
}
