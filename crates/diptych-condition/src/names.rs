//! The columns that a condition may name, and names that are near another.

use arrow_schema::{DataType, Field, Fields};
use diptych_schema::arrow::catalog_schema;

use crate::error::Kind;

/// How functions are called, by their names.
pub(crate) const FUNCTIONS: [(&str, &str); 3] =
    [("score", "score('name')"), ("label", "label('name')"), ("length", "length(column)")];

/// Most names that a message offers.
const OFFERED: usize = 4;

/// A column of the catalog: its fields' names, joined by points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// The path.
    pub(crate) path: String,
    /// The column, or that inside it which tells at the least cost whether it is null and how many
    /// items it has.
    pub(crate) least: String,
    /// What it is.
    pub(crate) kind: Kind,
}

/// Every column and field of the catalog that is no part of a list, in the schema's order.
pub(crate) fn columns() -> Vec<Column> {
    let mut found = Vec::new();
    collect("", catalog_schema().fields(), &mut found);
    found
}

fn collect(above: &str, fields: &Fields, found: &mut Vec<Column>) {
    for field in fields {
        let path = format!("{above}{}", field.name());
        let least = least(field, &path).unwrap_or_else(|| path.clone());
        let below = format!("{path}.");
        let kind = match field.data_type() {
            DataType::Utf8 => Kind::Text,
            DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Kind::Whole,
            DataType::Float64 => Kind::Real,
            DataType::List(_) => Kind::List,
            DataType::Struct(_) => Kind::Record,
            _ => Kind::Bytes,
        };
        found.push(Column { path, least, kind });
        if let DataType::Struct(fields) = field.data_type() {
            collect(&below, fields, found);
        }
    }
}

/// The leaf of a column that is read for its nulls and lengths alone: a number where there is one,
/// else the last word, which is seldom the long one. None inside a list of its own.
fn least(field: &Field, path: &str) -> Option<String> {
    let fields = match field.data_type() {
        DataType::Struct(fields) => fields,
        DataType::List(item) => match item.data_type() {
            DataType::Struct(fields) => fields,
            _ => return None,
        },
        _ => return None,
    };
    let number = fields.iter().find(|field| field.data_type().is_numeric());
    let word = || fields.iter().rev().find(|field| *field.data_type() == DataType::Utf8);
    let leaf = number.or_else(word)?;
    Some(format!("{path}.{}", leaf.name()))
}

/// The paths that someone who wrote `name` may have meant, the nearest first.
pub(crate) fn near_columns(name: &str, columns: &[Column]) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let last = format!(".{name}");
    let paths = columns.iter().map(|column| column.path.as_str());
    let inside: Vec<_> = paths.clone().filter(|path| path.ends_with(&last)).collect();
    let mut near = near(&name, paths);
    near.extend(inside);
    quoted(near)
}

/// The functions that someone who wrote `name` may have meant, as they are called.
pub(crate) fn near_functions(name: &str) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let near = near(&name, FUNCTIONS.iter().map(|(name, _)| *name));
    let called = FUNCTIONS.iter().filter(|(name, _)| near.contains(name));
    quoted(called.map(|(_, called)| *called).collect())
}

fn near<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // A word of three letters is near to half of all words at a distance of two.
    let most = (name.chars().count() / 3).max(1);
    let mut near: Vec<_> = among
        .map(|other| (strsim::osa_distance(name, other), other))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, other)| other).collect()
}

fn quoted(names: Vec<&str>) -> Vec<String> {
    names.into_iter().take(OFFERED).map(|name| format!("`{name}`")).collect()
}
