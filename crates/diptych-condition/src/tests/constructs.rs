//! Each construct, with the rows that it chooses.

use arrow_array::RecordBatch;
use diptych_schema::arrow::encode;

use super::{batch, chosen, pairs};
use crate::{Condition, ConditionError, Number, Word, leaves};

fn all(cases: &[(&str, &str)]) {
    for (condition, ids) in cases {
        assert_eq!(chosen(condition), *ids, "{condition}");
    }
}

#[test]
fn text_is_compared_by_bytes() {
    all(&[
        ("edit_type = 'add'", "a"),
        ("edit_type <> 'add'", "bd"),
        ("edit_type != 'it''s 100%'", "ab"),
        ("edit_type > 'b'", "bd"),
        ("edit_type >= 'remove'", "b"),
        ("edit_type < 'it'", "a"),
        ("'remove' <= \"EDIT_TYPE\"", "b"),
        ("Source.Media_Type = 'image/png'", "abd"),
        ("edit_type = 'Add'", ""),
        ("edit_type = instruction", ""),
    ]);
}

#[test]
fn numbers_are_compared_whatever_their_type() {
    all(&[
        ("turn = 0", "a"),
        ("turn >= 0.5", "bd"),
        ("-1 < turn", "abd"),
        ("source.width > target.height", ""),
        ("source.width = target.height", "a"),
        ("source.address.length = 5000000000", "abcd"),
        ("box.y0 = 1.5 AND box.x0 = -0.0", "a"),
        ("box.status = 'ok'", "a"),
        ("score('gpt.average') = 0", "b"),
        ("source.width < 99999999999999999999", "abd"),
    ]);
}

#[test]
fn logic_has_three_values() {
    let values = [("TRUE", Some(true)), ("FALSE", Some(false)), ("NULL", None)];
    let says = |condition: String, expected: Option<bool>| {
        let (is, not) = match expected {
            Some(true) => ("abcd", ""),
            Some(false) => ("", "abcd"),
            None => ("", ""),
        };
        assert_eq!(chosen(&condition), is, "{condition}");
        assert_eq!(chosen(&format!("NOT ({condition})")), not, "NOT ({condition})");
        let null = if expected.is_none() { "abcd" } else { "" };
        assert_eq!(chosen(&format!("({condition}) IS NULL")), null, "({condition}) IS NULL");
        let not_true = if expected == Some(true) { "" } else { "abcd" };
        assert_eq!(chosen(&format!("({condition}) IS NOT TRUE")), not_true, "{condition}");
        let is_false = if expected == Some(false) { "abcd" } else { "" };
        assert_eq!(chosen(&format!("({condition}) IS FALSE")), is_false, "{condition}");
    };
    for (left, a) in values {
        for (right, b) in values {
            let and = if a == Some(false) || b == Some(false) { Some(false) } else { a.and(b) };
            says(format!("{left} AND {right}"), and);
            let or = if a == Some(true) || b == Some(true) { Some(true) } else { a.and(b) };
            says(format!("{left} OR {right}"), or);
            says(format!("{left} = {right}"), a.zip(b).map(|(a, b)| a == b));
            says(format!("{left} IS DISTINCT FROM {right}"), Some(a != b));
        }
    }
}

#[test]
fn operators_bind_as_in_duckdb() {
    all(&[
        ("TRUE OR TRUE AND FALSE", "abcd"),
        ("NOT FALSE AND FALSE", ""),
        ("NOT turn = 0", "bd"),
        ("NOT turn IS NULL", "abd"),
        ("2 + 3 * 4 = 14", "abcd"),
        ("(2 + 3) * 4 = 20", "abcd"),
        ("7 - 2 - 1 = 4", "abcd"),
        ("-7 % 3 = -1", "abcd"),
        ("TRUE = edit_type LIKE 'a%'", "a"),
        ("turn IS DISTINCT FROM 0 AND FALSE", ""),
        ("turn BETWEEN 0 AND 1 AND edit_type = 'add'", "a"),
        ("1 = 1 IS NULL", ""),
    ]);
}

#[test]
fn lists_and_ranges_know_null() {
    all(&[
        ("edit_type IN ('add', 'remove')", "ab"),
        ("edit_type NOT IN ('add')", "bd"),
        ("edit_type NOT IN ('add', NULL)", ""),
        ("edit_type IN ('add', NULL)", "a"),
        ("(edit_type IN ('add', NULL)) IS NULL", "bcd"),
        ("edit_type IN (instruction, 'add')", "a"),
        ("turn IN (0, 1.0, -3)", "ad"),
        ("score('gpt.average') IN (0, 4.5)", "ab"),
        ("NULL IN (1)", ""),
        ("(turn = 0) IN (TRUE)", "a"),
        ("turn BETWEEN 1 AND 3", "bd"),
        ("turn NOT BETWEEN 1 AND 3", "a"),
        ("turn BETWEEN NULL AND 1", ""),
        ("turn NOT BETWEEN NULL AND 1", "b"),
        ("edit_type BETWEEN 'a' AND 'b'", "a"),
    ]);
    // As many as fit: each is looked up, none is compared in turn.
    let many = (0..10_000).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(chosen(&format!("turn IN ({many})")), "abd");
    let many = (0..5_000).map(|number| format!("-{number}")).collect::<Vec<_>>().join(",");
    assert_eq!(chosen(&format!("turn IN (-1,{many})")), "a");
}

#[test]
fn patterns_have_wildcards_and_the_escape_that_is_asked_for() {
    all(&[
        ("instruction LIKE 'Add%'", "a"),
        ("instruction LIKE '%d%d%'", "a"),
        ("instruction LIKE 'A_d a d_g'", "a"),
        ("instruction LIKE '%_og'", "a"),
        ("instruction LIKE '%____________________%'", ""),
        ("instruction NOT LIKE '%d%'", "bd"),
        ("instruction LIKE 'a_b\\'", "d"),
        ("instruction LIKE 'a!_b%' ESCAPE '!'", "d"),
        ("instruction LIKE 'a!__%' ESCAPE '!'", "d"),
        ("edit_type LIKE '%!%' ESCAPE '!'", "d"),
        ("edit_type LIKE '%!%'", ""),
        ("edit_type LIKE '%!%' ESCAPE '#'", ""),
        ("instruction LIKE '%éclair'", ""),
        ("instruction ILIKE '%éclair'", "b"),
        ("instruction ILIKE 'ADD%'", "a"),
        ("instruction NOT ILIKE '%É%'", "ad"),
        ("edit_type LIKE NULL", ""),
        ("edit_type LIKE '%'", "abd"),
        ("edit_type LIKE ''", ""),
        ("label('scene') ILIKE 'STRA_E'", "d"),
    ]);
}

#[test]
fn what_is_null_can_be_asked_of_anything() {
    all(&[
        ("mask IS NULL", "bcd"),
        ("mask.grid IS NOT NULL", "a"),
        ("target IS NOT NULL", "ab"),
        ("target.width IS NULL", "bcd"),
        ("source IS NULL", ""),
        ("scores IS NOT NULL", "abcd"),
        ("score('gpt.average') IS NULL", "cd"),
        ("label('scene') IS NOT NULL", "ad"),
        ("turn + 1 IS NULL", "c"),
        ("turn IS NULL", "c"),
        ("(turn = 0) IS NULL", "c"),
        ("NULL IS NULL", "abcd"),
        ("turn IS NOT DISTINCT FROM NULL", "c"),
        ("edit_type IS DISTINCT FROM 'add'", "bcd"),
    ]);
}

#[test]
fn what_has_no_number_is_null() {
    all(&[
        ("turn / 2 = 0.5", "d"),
        ("1 / turn > 0", "bd"),
        ("1 / turn IS NULL", "ac"),
        ("1 % turn IS NULL", "ac"),
        ("1.5 % turn = 0.5", "d"),
        ("(1e308 * 10) IS NULL", "abcd"),
        ("(9223372036854775807 + turn) IS NULL", "bcd"),
        ("(-9223372036854775807 - 2) IS NULL", "abcd"),
        ("(9223372036854775807 * 2) IS NULL", "abcd"),
        ("turn - 3 = -3", "a"),
        ("-turn = -3", "b"),
        ("+turn * 2.5 = 7.5", "b"),
    ]);
}

#[test]
fn lengths_are_of_characters_and_items() {
    all(&[
        ("length(instruction) = 17", "b"),
        ("length('日本') = 2", "abcd"),
        ("LENGTH(references) = 1", "a"),
        ("length(labels) = 2", "ad"),
        ("length(edit_type_native) = 0", "abcd"),
        ("length(label('größe')) = 0", "d"),
        ("length(instruction) IS NULL", "c"),
    ]);
}

#[test]
fn of_scores_and_labels_of_one_name_the_first_counts() {
    all(&[
        ("score('gpt.average') >= 4", "a"),
        ("score('GPT.average') > 0", ""),
        ("score('other') = 1", "a"),
        ("label('scene') = 'park'", "a"),
        ("label('scene') = 'street'", ""),
        ("Label('größe') = ''", "d"),
    ]);
}

#[test]
fn numbers_and_words_of_pairs() {
    let number = Number::parse("score('gpt.average') - turn").unwrap();
    let numbers: Vec<_> = number.evaluate(&batch()).unwrap().iter().collect();
    assert_eq!(numbers, [Some(4.5), Some(-3.0), None, None]);
    assert_eq!(Number::parse("2").unwrap().evaluate(&batch()).unwrap().len(), 4);
    let words = |text: &str| -> Vec<Option<String>> {
        let words = Word::parse(text).unwrap().evaluate(&batch()).unwrap();
        words.iter().map(|word| word.map(str::to_owned)).collect()
    };
    let some = |words: [Option<&str>; 4]| words.map(|word| word.map(str::to_owned)).to_vec();
    assert_eq!(words("turn"), some([Some("0"), Some("3"), None, Some("1")]));
    assert_eq!(words("label('scene')"), some([Some("park"), None, None, Some("Straße")]));
    assert_eq!(words("'x'"), some([Some("x"); 4]));
    assert_eq!(words("NULL"), some([None; 4]));
}

#[test]
fn only_what_is_needed_is_read() {
    let needed = |text: &str| -> Vec<String> {
        Condition::parse(text).unwrap().columns().iter().cloned().collect()
    };
    assert_eq!(
        needed("edit_type = 'add' AND score('x') > SOURCE.width"),
        ["edit_type", "scores", "source.width"]
    );
    // A number tells as well as a long text whether there is anything, and so does a short word.
    assert_eq!(needed("target IS NULL OR mask IS NULL"), ["mask.origin", "target.width"]);
    assert_eq!(needed("length(references) > 0"), ["references.width"]);
    assert_eq!(needed("length(edit_type_native) > 0"), ["edit_type_native"]);
    assert!(needed("TRUE").is_empty());

    let schema = batch().schema();
    let columns = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(leaves(&columns(&["dataset", "pair_id", "no.such"]), &schema), [0, 1]);
    let source = leaves(&columns(&["source"]), &schema);
    let width = leaves(&columns(&["source.width"]), &schema);
    assert_eq!((source.len(), width.len()), (14, 1));
    assert!(source.contains(&width[0]));
    assert_eq!(leaves(&columns(&["references.width"]), &schema)[0], width[0] + source.len());
    assert_eq!(leaves(&columns(&["scores"]), &schema).len(), 2);
}

#[test]
fn slices_and_batches_of_the_needed_columns_are_enough() {
    let batch = batch();
    let condition = Condition::parse("score('gpt.average') >= 0 AND length(labels) < 3").unwrap();
    let names = ["scores", "labels"].map(|name| batch.schema().index_of(name).unwrap());
    let few = batch.project(&names).unwrap();
    assert_eq!(condition.evaluate(&few).unwrap(), condition.evaluate(&batch).unwrap());
    let slice = few.slice(1, 2);
    assert_eq!(condition.evaluate(&slice).unwrap(), condition.evaluate(&few).unwrap().slice(1, 2));
    assert_eq!(condition.evaluate(&few.slice(0, 0)).unwrap().len(), 0);
    let missing = Condition::parse("turn = 1").unwrap().evaluate(&few);
    assert!(matches!(missing, Err(ConditionError::Missing { column }) if column == "turn"));
}

#[test]
fn a_column_of_another_type_is_told_of() {
    let batch = batch();
    let (ids, turns) = (batch.column(0).clone(), batch.column(5).clone());
    let wrong = RecordBatch::try_from_iter_with_nullable([
        ("turn", ids.clone(), true),
        ("edit_type", turns, true),
        ("scores", ids.clone(), true),
        ("source", ids, true),
    ])
    .unwrap();
    for (text, path) in [
        ("turn = 1", "turn"),
        ("edit_type = 'a'", "edit_type"),
        ("score('x') = 1", "scores"),
        ("length(scores) = 1", "scores"),
    ] {
        let error = Condition::parse(text).unwrap().evaluate(&wrong);
        assert!(
            matches!(&error, Err(ConditionError::WrongType { column, .. }) if column == path),
            "{text}: {error:?}"
        );
    }
    assert!(Condition::parse("source.width = 1").unwrap().evaluate(&wrong).is_err());
}

#[test]
fn fields_of_what_is_null_are_null() {
    use arrow_array::{StructArray, cast::AsArray};
    use std::sync::Arc;

    // Built so that the field has a value where its struct is null, which files do not.
    let batch = encode(&pairs()).unwrap();
    let source = batch.column_by_name("source").unwrap().as_struct();
    let nulls = vec![true, false, true, true].into();
    let source = StructArray::new(source.fields().clone(), source.columns().to_vec(), Some(nulls));
    let batch = RecordBatch::try_from_iter([("source", Arc::new(source) as _)]).unwrap();
    let condition = Condition::parse("source.width >= 0").unwrap();
    let found: Vec<_> = condition.evaluate(&batch).unwrap().iter().flatten().collect();
    assert_eq!(found, [true, false, false, true]);
}

#[test]
fn conditions_are_shared_and_compared_by_their_text() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug + Eq>(_: &T) {}
    let condition = Condition::parse("turn = 1").unwrap();
    shared(&condition);
    assert_eq!(condition.clone(), condition);
    assert_ne!(condition, Condition::parse("turn=1").unwrap());
    assert_eq!(condition.text(), "turn = 1");
}
