//! Conditions in SQL.

use std::sync::LazyLock;

use diptych::schema::arrow::encode;
use diptych::schema::{Address, EditPair, Label, Picture, Score};
use diptych_condition::{Condition, Number, Word};

/// A few pairs, and none that has everything.
static PAIRS: LazyLock<Vec<EditPair>> = LazyLock::new(|| {
    let pair = |number: u16| {
        let picture = Picture::unprobed("a_b.png", Address::Inline(vec![1]));
        let mut pair = EditPair::new(format!("toy:{number}"), "toy".to_owned(), picture.clone());
        pair.turn = Some(number).filter(|number| *number != 2);
        pair.edit_type = (number != 1).then(|| "add".to_owned());
        pair.target = (number == 0).then_some(picture);
        pair.scores = vec![Score { name: "x".to_owned(), value: f64::from(number) }];
        pair.labels = vec![Label { name: "x".to_owned(), value: "É%".to_owned() }];
        pair.labels.truncate(number.into());
        pair
    };
    (0..3).map(pair).collect()
});

/// Any text is a condition or is told of, in one line; a condition gives each row what it gives
/// where the row is alone.
pub(crate) fn condition(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let batch = encode(&PAIRS).unwrap();
    match Condition::parse(text) {
        Ok(condition) => {
            let all = condition.evaluate(&batch).unwrap();
            assert_eq!(all.iter().flatten().count(), batch.num_rows());
            for row in 0..batch.num_rows() {
                let alone = condition.evaluate(&batch.slice(row, 1)).unwrap();
                assert_eq!(alone.value(0), all.value(row));
            }
            // Its opposite is true of no row of which it is.
            if let Ok(opposite) = Condition::parse(&format!("NOT (\n{text}\n)")) {
                let opposite = opposite.evaluate(&batch).unwrap();
                assert!((opposite.values() & all.values()).count_set_bits() == 0);
            }
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!message.is_empty() && !message.chars().any(char::is_control));
        }
    }
    if let Ok(number) = Number::parse(text) {
        assert_eq!(number.evaluate(&batch).unwrap().values().len(), batch.num_rows());
    }
    if let Ok(word) = Word::parse(text) {
        assert_eq!(word.evaluate(&batch).unwrap().iter().count(), batch.num_rows());
    }
}
