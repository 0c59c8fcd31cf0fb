//! Arrow into JSON: rows as text, whatever their columns are made of. No I/O.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrowPrimitiveType, StructArray, types};
use arrow_schema::DataType;

/// Whether values of a column can be written as JSON here.
#[must_use]
pub fn is_known(of: &DataType) -> bool {
    match of {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => true,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => is_known(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_known(field.data_type())),
        DataType::Dictionary(key, value) => key.is_integer() && is_known(value),
        _ => false,
    }
}

/// Writes the value of `array` at `row` as JSON. What [`is_known`] does not know is null. Where `out`
/// has more than `most` bytes no further items and fields are written, and it is no JSON any more.
pub fn write_json(array: &dyn Array, row: usize, most: usize, out: &mut String) {
    if row >= array.len() || array.is_null(row) {
        out.push_str("null");
        return;
    }
    match array.data_type() {
        DataType::Boolean => {
            let value = array.as_boolean_opt().is_some_and(|array| array.value(row));
            out.push_str(if value { "true" } else { "false" });
        }
        DataType::Int8 => number::<types::Int8Type>(array, row, out),
        DataType::Int16 => number::<types::Int16Type>(array, row, out),
        DataType::Int32 => number::<types::Int32Type>(array, row, out),
        DataType::Int64 => number::<types::Int64Type>(array, row, out),
        DataType::UInt8 => number::<types::UInt8Type>(array, row, out),
        DataType::UInt16 => number::<types::UInt16Type>(array, row, out),
        DataType::UInt32 => number::<types::UInt32Type>(array, row, out),
        DataType::UInt64 => number::<types::UInt64Type>(array, row, out),
        DataType::Float32 => {
            let value = array.as_primitive_opt::<types::Float32Type>().map(|a| a.value(row));
            float(value.map(f64::from), out);
        }
        DataType::Float64 => {
            float(array.as_primitive_opt::<types::Float64Type>().map(|a| a.value(row)), out);
        }
        DataType::Utf8 => text(array.as_string_opt::<i32>().map(|a| a.value(row)), most, out),
        DataType::LargeUtf8 => text(array.as_string_opt::<i64>().map(|a| a.value(row)), most, out),
        DataType::Utf8View => text(array.as_string_view_opt().map(|a| a.value(row)), most, out),
        // Text of writers that do not say so; what is none is kept as far as it is.
        DataType::Binary => bytes(array.as_binary_opt::<i32>().map(|a| a.value(row)), most, out),
        DataType::LargeBinary => {
            bytes(array.as_binary_opt::<i64>().map(|a| a.value(row)), most, out);
        }
        DataType::BinaryView => bytes(array.as_binary_view_opt().map(|a| a.value(row)), most, out),
        DataType::List(_) => list(array.as_list_opt::<i32>().map(|a| a.value(row)), most, out),
        DataType::LargeList(_) => list(array.as_list_opt::<i64>().map(|a| a.value(row)), most, out),
        DataType::ListView(_) => {
            list(array.as_list_view_opt::<i32>().map(|a| a.value(row)), most, out);
        }
        DataType::LargeListView(_) => {
            list(array.as_list_view_opt::<i64>().map(|a| a.value(row)), most, out);
        }
        DataType::FixedSizeList(..) => {
            list(array.as_fixed_size_list_opt().map(|a| a.value(row)), most, out);
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct_opt().map(StructArray::columns).unwrap_or_default();
            let names = fields.iter().map(|field| field.name().as_str());
            object(names.zip(columns.iter().map(AsRef::as_ref)), row, most, out);
        }
        DataType::Dictionary(..) => match array.as_any_dictionary_opt() {
            Some(dictionary) => {
                let key = dictionary.normalized_keys().get(row).copied().unwrap_or(usize::MAX);
                write_json(dictionary.values().as_ref(), key, most, out);
            }
            None => out.push_str("null"),
        },
        _ => out.push_str("null"),
    }
}

/// Writes a row of columns as a JSON object, in the columns' order; up to `most` bytes and one more
/// value.
pub fn object<'a>(
    columns: impl Iterator<Item = (&'a str, &'a dyn Array)>,
    row: usize,
    most: usize,
    out: &mut String,
) {
    out.push('{');
    for (place, (name, column)) in columns.enumerate() {
        if out.len() > most {
            return;
        }
        if place > 0 {
            out.push(',');
        }
        text(Some(name), most, out);
        out.push(':');
        write_json(column, row, most, out);
    }
    out.push('}');
}

fn number<T: ArrowPrimitiveType>(array: &dyn Array, row: usize, out: &mut String)
where
    T::Native: std::fmt::Display,
{
    match array.as_primitive_opt::<T>() {
        // Writing to a string cannot fail.
        Some(array) => drop(write!(out, "{}", array.value(row))),
        None => out.push_str("null"),
    }
}

fn float(value: Option<f64>, out: &mut String) {
    // What is no number has no JSON.
    let value = value.and_then(serde_json::Number::from_f64);
    match value {
        Some(value) => out.push_str(&value.to_string()),
        None => out.push_str("null"),
    }
}

fn bytes(value: Option<&[u8]>, most: usize, out: &mut String) {
    // Of what is longer the rest is not looked at.
    let value = value.map(|value| value.get(..most.saturating_add(1)).unwrap_or(value));
    let value = value.map(String::from_utf8_lossy);
    text(value.as_deref(), most, out);
}

/// Writes a text part by part: with its escapes it may be six times as long.
fn text(value: Option<&str>, most: usize, out: &mut String) {
    /// Bytes of a part.
    const PART: usize = 64 << 10;
    let Some(mut rest) = value else { return out.push_str("null") };
    out.push('"');
    while !rest.is_empty() {
        if out.len() > most {
            return;
        }
        // A character has at most four bytes.
        let parts = (0..4).find_map(|back| rest.split_at_checked(PART - back));
        let (part, behind) = parts.unwrap_or((rest, ""));
        let quoted = serde_json::to_string(part).unwrap_or_default();
        out.push_str(quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default());
        rest = behind;
    }
    out.push('"');
}

fn list(values: Option<arrow_array::ArrayRef>, most: usize, out: &mut String) {
    let Some(values) = values else { return out.push_str("null") };
    out.push('[');
    for row in 0..values.len() {
        if out.len() > most {
            return;
        }
        if row > 0 {
            out.push(',');
        }
        write_json(values.as_ref(), row, most, out);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{
        FixedSizeListBuilder, GenericListBuilder, GenericListViewBuilder, ListBuilder,
        StringBuilder, StringDictionaryBuilder, StringViewBuilder,
    };
    use arrow_array::{
        ArrayRef, BooleanArray, Float64Array, Int32Array, LargeStringArray, NullArray, StringArray,
        StructArray,
    };
    use std::sync::Arc;

    fn json(array: &dyn Array) -> String {
        let mut text = String::new();
        for row in 0..array.len() {
            write_json(array, row, usize::MAX, &mut text);
            text.push(' ');
        }
        // As deep as it goes, it is what is said to be known.
        assert!(is_known(array.data_type()), "{}", array.data_type());
        text
    }

    /// A text in a file may be far longer than a row may be.
    #[test]
    fn no_more_is_written_of_a_text_than_a_row_may_have() {
        for unit in ["y", "图", "\0", "\u{1F5BC}"] {
            let all = unit.repeat(300_000);
            let array = StringArray::from(vec![all.as_str()]);
            assert_eq!(json(&array), format!("{} ", serde_json::to_string(&all).unwrap()));
            let of_bytes = arrow_array::BinaryArray::from(vec![all.as_bytes()]);
            for array in [&array as &dyn Array, &of_bytes] {
                let mut text = String::new();
                write_json(array, 0, 1000, &mut text);
                assert!(text.len() > 1000 && text.len() < 1000 + 6 * 65_536, "{}", text.len());
            }
        }
    }

    #[test]
    fn every_kind_of_list_and_text_is_written() {
        let mut small = GenericListBuilder::<i32, _>::new(StringBuilder::new());
        small.append_value([Some("a"), None]);
        small.append_null();
        assert_eq!(json(&small.finish()), r#"["a",null] null "#);
        let mut large = GenericListBuilder::<i64, _>::new(StringViewBuilder::new());
        large.append_value([Some("a\n\"b\"")]);
        large.append_value([None::<&str>; 0]);
        assert_eq!(json(&large.finish()), r#"["a\n\"b\""] [] "#);
        let mut view = GenericListViewBuilder::<i32, _>::new(StringBuilder::new());
        view.values().append_value("a");
        view.append(true);
        view.append(false);
        assert_eq!(json(&view.finish()), r#"["a"] null "#);
        let mut view = GenericListViewBuilder::<i64, _>::new(StringBuilder::new());
        view.values().append_value("图");
        view.append(true);
        assert_eq!(json(&view.finish()), r#"["图"] "#);
        let mut fixed = FixedSizeListBuilder::new(StringBuilder::new(), 2);
        fixed.values().append_value("a");
        fixed.values().append_value("b");
        fixed.append(true);
        assert_eq!(json(&fixed.finish()), r#"["a","b"] "#);
        let mut nested = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
        nested.values().append_value([Some("a")]);
        nested.append(true);
        assert_eq!(json(&nested.finish()), r#"[["a"]] "#);
        let mut words = StringDictionaryBuilder::<types::Int8Type>::new();
        words.append_value("x");
        words.append_null();
        words.append_value("x");
        assert_eq!(json(&words.finish()), r#""x" null "x" "#);
        assert_eq!(json(&LargeStringArray::from(vec![Some("a")])), "\"a\" ");
    }

    #[test]
    fn what_is_no_text_is_written_too_and_what_is_unknown_is_null() {
        assert_eq!(json(&Int32Array::from(vec![Some(-1), None])), "-1 null ");
        assert_eq!(json(&Float64Array::from(vec![0.5, f64::NAN])), "0.5 null ");
        assert_eq!(json(&BooleanArray::from(vec![true])), "true ");
        assert_eq!(json(&NullArray::new(1)), "null ");
        let fields = StructArray::from(vec![(
            Arc::new(arrow_schema::Field::new("x", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec!["y"])) as ArrayRef,
        )]);
        assert_eq!(json(&fields), r#"{"x":"y"} "#);
        let mut text = String::new();
        let day = arrow_array::Date32Array::from(vec![1]);
        write_json(&day, 0, usize::MAX, &mut text);
        assert_eq!((text.as_str(), is_known(day.data_type())), ("null", false));
        // Text that is not said to be such.
        let bytes = arrow_array::BinaryArray::from_vec(vec!["移\"".as_bytes(), b"\xff"]);
        assert_eq!(json(&bytes), "\"移\\\"\" \"\u{fffd}\" ");
    }

    #[test]
    fn what_is_too_long_is_not_written_to_its_end() {
        let mut lists = ListBuilder::new(StringBuilder::new());
        lists.append_value((0..1000).map(|_| Some("0123456789")));
        let lists = lists.finish();
        let (mut short, mut whole) = (String::new(), String::new());
        write_json(&lists, 0, 100, &mut short);
        write_json(&lists, 0, 100_000, &mut whole);
        assert!(short.len() > 100 && short.len() < 120, "{short}");
        assert!(whole.starts_with(&short) && whole.len() == 13_001);
    }
}
