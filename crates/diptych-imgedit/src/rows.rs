//! Rows of a Parquet file: Arrow into JSON, and JSON into what a row says. No I/O.
//!
//! How the lists are nested and encoded is not published, and differs between copies. So a row
//! becomes JSON first, which is what is kept of it, and is read from that: a path may stand alone
//! or in lists within lists.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrowPrimitiveType, types};
use arrow_schema::{DataType, Fields};
use serde::Deserialize;

/// Columns of a row of one edit.
const ONE: [&str; 3] = ["input_images", "output_images", "prompt"];
/// The column of a row that is a session.
const SESSION: &str = "data";

/// What the rows of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One edit each.
    Single,
    /// A session each.
    Session,
}

impl Kind {
    /// By the columns that a file has; `None` for a file of something else.
    pub(crate) fn of(columns: &Fields) -> Option<Self> {
        let has = |name: &&str| columns.find(name).is_some();
        if ONE.iter().all(|name| has(name)) {
            Some(Self::Single)
        } else {
            has(&SESSION).then_some(Self::Session)
        }
    }
}

/// One edit as a row has it, or what is said before the first of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) prompt: Option<String>,
}

impl Entry {
    /// Whether it has no pictures.
    pub(crate) fn is_bare(&self) -> bool {
        self.inputs.is_empty() && self.outputs.is_empty()
    }
}

/// The entries of a row, given as JSON.
///
/// # Errors
/// What is wrong with it: a fragment without a period.
pub(crate) fn entries(kind: Kind, row: &str) -> Result<Vec<Entry>, String> {
    match kind {
        Kind::Single => match serde_json::from_str::<Wire>(row) {
            Ok(wire) => Ok(vec![wire.into()]),
            Err(error) => Err(cause(&error)),
        },
        Kind::Session => match serde_json::from_str::<WireSession>(row) {
            Ok(wire) => {
                let mut entries = Vec::new();
                wire.data.into_iter().for_each(|nested| nested.into(&mut entries));
                Ok(entries)
            }
            Err(error) => Err(cause(&error)),
        },
    }
}

/// An error without its place in text that nobody has seen.
fn cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[derive(Deserialize)]
struct WireSession {
    data: Option<Nested<Wire>>,
}

#[derive(Deserialize)]
struct Wire {
    input_images: Option<Nested<String>>,
    output_images: Option<Nested<String>>,
    prompt: Option<String>,
}

/// Something by itself, or lists of it within lists.
#[derive(Deserialize)]
#[serde(untagged, expecting = "neither a value nor a list of such values")]
enum Nested<T> {
    One(T),
    Many(Vec<Option<Nested<T>>>),
}

impl<T> Nested<T> {
    fn into<U: From<T>>(self, into: &mut Vec<U>) {
        match self {
            Self::One(one) => into.push(one.into()),
            Self::Many(many) => many.into_iter().flatten().for_each(|nested| nested.into(into)),
        }
    }
}

impl From<Wire> for Entry {
    fn from(wire: Wire) -> Self {
        let paths = |nested: Option<Nested<String>>| {
            let mut paths: Vec<String> = Vec::new();
            nested.into_iter().for_each(|nested| nested.into(&mut paths));
            // A list that holds an empty name says as much as an empty list.
            paths.retain(|path| !path.trim().is_empty());
            paths
        };
        Self {
            inputs: paths(wire.input_images),
            outputs: paths(wire.output_images),
            prompt: wire.prompt.filter(|prompt| !prompt.trim().is_empty()),
        }
    }
}

/// Whether values of a column can be written as JSON here.
pub(crate) fn is_known(of: &DataType) -> bool {
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
        | DataType::Utf8View => true,
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

/// Writes the value of `array` at `row` as JSON. What [`is_known`] does not know is null.
pub(crate) fn write_json(array: &dyn Array, row: usize, out: &mut String) {
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
        DataType::Utf8 => text(array.as_string_opt::<i32>().map(|a| a.value(row)), out),
        DataType::LargeUtf8 => text(array.as_string_opt::<i64>().map(|a| a.value(row)), out),
        DataType::Utf8View => text(array.as_string_view_opt().map(|a| a.value(row)), out),
        DataType::List(_) => list(array.as_list_opt::<i32>().map(|a| a.value(row)), out),
        DataType::LargeList(_) => list(array.as_list_opt::<i64>().map(|a| a.value(row)), out),
        DataType::ListView(_) => list(array.as_list_view_opt::<i32>().map(|a| a.value(row)), out),
        DataType::LargeListView(_) => {
            list(array.as_list_view_opt::<i64>().map(|a| a.value(row)), out);
        }
        DataType::FixedSizeList(..) => {
            list(array.as_fixed_size_list_opt().map(|a| a.value(row)), out);
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct_opt().map(|array| array.columns()).unwrap_or_default();
            let names = fields.iter().map(|field| field.name().as_str());
            object(names.zip(columns.iter().map(AsRef::as_ref)), row, out);
        }
        DataType::Dictionary(..) => match array.as_any_dictionary_opt() {
            Some(dictionary) => {
                let key = dictionary.normalized_keys().get(row).copied().unwrap_or(usize::MAX);
                write_json(dictionary.values().as_ref(), key, out);
            }
            None => out.push_str("null"),
        },
        _ => out.push_str("null"),
    }
}

/// Writes a row of columns as a JSON object, in the columns' order.
pub(crate) fn object<'a>(
    columns: impl Iterator<Item = (&'a str, &'a dyn Array)>,
    row: usize,
    out: &mut String,
) {
    out.push('{');
    for (place, (name, column)) in columns.enumerate() {
        if place > 0 {
            out.push(',');
        }
        text(Some(name), out);
        out.push(':');
        write_json(column, row, out);
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

fn text(value: Option<&str>, out: &mut String) {
    match value.map(serde_json::to_string) {
        Some(Ok(quoted)) => out.push_str(&quoted),
        _ => out.push_str("null"),
    }
}

fn list(values: Option<arrow_array::ArrayRef>, out: &mut String) {
    let Some(values) = values else { return out.push_str("null") };
    out.push('[');
    for row in 0..values.len() {
        if row > 0 {
            out.push(',');
        }
        write_json(values.as_ref(), row, out);
    }
    out.push(']');
}
