//! What the columns of a file are: pictures by their physical types, and the rest.
//!
//! A picture is a struct with a field `bytes` of binary type, or binary by itself, or a list of
//! either. What is binary by itself may as well be text that does not say so: then its first value
//! tells, which begins as pictures do or not. Names say nothing.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Fields};
use diptych_format::foreign::known::{Shape, Shapes};
use diptych_format::table::{Table, json};
use diptych_format::written::resembles;
use diptych_pixels::{Head, probe_head};
use diptych_storage::Limits;
use diptych_storage::parquet::chunk::{Chunk, Rows, Value};
use diptych_storage::parquet::guarded;
use parquet::arrow::parquet_to_arrow_schema;
use serde::Deserialize;

use crate::layout::{DIPTYCH, PICTURES, column_names};

/// Rows that are looked at for the first value of a column.
const ROWS: usize = 64;

/// A column of pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PictureField {
    pub(crate) name: String,
    /// The leaf column of the bytes.
    pub(crate) leaf: usize,
    /// Whether rows are lists of pictures.
    pub(crate) is_list: bool,
    /// Whether the bytes are a column by themselves, without a path beside them.
    is_bare: bool,
}

/// The columns of a file.
pub(crate) struct Columns {
    pub(crate) pictures: Vec<PictureField>,
    /// The leaf columns that rows are read from.
    pub(crate) others: Vec<usize>,
    /// Those that are not read: their types have no form in JSON.
    pub(crate) unread: Vec<String>,
    /// All of them, and what they hold.
    pub(crate) shapes: Shapes,
    /// Where it is a file of our own: what its columns are in the record, by their names, where
    /// that is another name.
    pub(crate) ours: Option<BTreeMap<String, String>>,
    /// Where it was one, and some of its columns are gone since: which.
    pub(crate) lost: Vec<String>,
}

/// What a file of our own says of itself.
#[derive(Deserialize)]
struct Mark {
    renamed: BTreeMap<String, String>,
}

impl Columns {
    /// Those of a file. What is binary by itself is pictures where `takes` knows its name.
    pub(crate) fn of(table: &Table, limits: &Limits, takes: &dyn Fn(&str) -> bool) -> Self {
        let mut columns = Self {
            pictures: Vec::new(),
            others: Vec::new(),
            unread: Vec::new(),
            shapes: Shapes::new(),
            ours: None,
            lost: Vec::new(),
        };
        let mut leaf = 0;
        for field in table.fields() {
            let (name, of) = (field.name(), field.data_type());
            let count = leaves(of);
            let found = picture(name, of, leaf);
            let found = found
                .filter(|of| !of.is_bare || takes(name) || looks_like_pictures(table, of, limits));
            let others =
                (leaf..leaf + count).filter(|of| found.as_ref().is_none_or(|p| p.leaf != *of));
            if json::is_known(of) {
                columns.others.extend(others);
            } else if found.is_none() {
                columns.unread.push(name.clone());
            }
            let shape = if found.is_some() { Shape::Picture } else { shape(of) };
            columns.shapes.insert(name.clone(), shape);
            columns.pictures.extend(found);
            leaf += count;
        }
        match columns.own_names(table) {
            Ok(names) => columns.ours = Some(names),
            Err(lost) => columns.lost = lost,
        }
        columns
    }

    /// The columns that are called otherwise than in the record, where the file has a record.
    ///
    /// # Errors
    /// The columns that are not there; none where it never was a file of our own.
    fn own_names(&self, table: &Table) -> Result<BTreeMap<String, String>, Vec<String>> {
        let schema = table.metadata().file_metadata();
        let of_file =
            guarded(|| parquet_to_arrow_schema(schema.schema_descr(), schema.key_value_metadata()));
        let mark = of_file
            .ok()
            .and_then(|schema| serde_json::from_str::<Mark>(schema.metadata().get(DIPTYCH)?).ok());
        let is_marked = mark.is_some();
        let renamed = mark.map(|mark| mark.renamed).unwrap_or_default();
        let is_here = |column: &String| {
            let shape = self.shapes.get(renamed.get(column).unwrap_or(column));
            match PICTURES.contains(&column.as_str()) {
                true => shape == Some(&Shape::Picture),
                false => shape.is_some(),
            }
        };
        let lost: Vec<_> = column_names().into_iter().filter(|of| !is_here(of)).collect();
        if lost.is_empty() {
            return Ok(renamed.into_iter().map(|(column, name)| (name, column)).collect());
        }
        let was_ours = is_marked || resembles(|column| is_here(&column.to_owned()));
        Err(if was_ours { lost } else { Vec::new() })
    }
}

/// How many leaf columns a type has.
fn leaves(of: &DataType) -> usize {
    match of {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => leaves(item.data_type()),
        _ => 1,
    }
}

fn is_binary(of: &DataType) -> bool {
    matches!(of, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

/// The pictures of a column, the first leaf of which is `first`.
fn picture(name: &str, of: &DataType, first: usize) -> Option<PictureField> {
    let (of, is_list) = match of {
        DataType::List(item) | DataType::LargeList(item) => (item.data_type(), true),
        of => (of, false),
    };
    let (leaf, is_bare) = match of {
        DataType::Struct(fields) => (first + bytes_of(fields)?, false),
        of => is_binary(of).then_some((first, true))?,
    };
    Some(PictureField { name: name.to_owned(), leaf, is_list, is_bare })
}

/// The leaf of a struct that holds the bytes of a picture.
fn bytes_of(fields: &Fields) -> Option<usize> {
    let at = fields.iter().position(|of| of.name() == "bytes" && is_binary(of.data_type()))?;
    Some(fields.iter().take(at).map(|field| leaves(field.data_type())).sum())
}

/// Whether the first value of a column begins as pictures do.
fn looks_like_pictures(table: &Table, of: &PictureField, limits: &Limits) -> bool {
    let groups = 0..table.metadata().num_row_groups().min(2);
    groups.into_iter().any(|group| {
        let chunk = Chunk::open(table.input(), table.metadata(), group, of.leaf, limits);
        let Ok(mut rows) = chunk.map(Rows::new) else { return false };
        for _ in 0..ROWS {
            let Ok(Some(row)) = rows.next_row() else { return false };
            if let Some(value) = row.into_iter().find_map(|cell| cell.value) {
                return begins_as_picture(table, &value);
            }
        }
        false
    })
}

fn begins_as_picture(table: &Table, value: &Value) -> bool {
    match value {
        Value::Held(bytes) => {
            let head = probe_head(bytes.data(), bytes.data().len() as u64);
            head != Head::Unknown
        }
        Value::Range { offset, length } => {
            let mut head = [0; 64];
            let most = usize::try_from(*length).unwrap_or(usize::MAX).min(head.len());
            let head = head.get_mut(..most).unwrap_or_default();
            let read = table.input().0.read_exact_at(*offset, head);
            read.is_ok() && probe_head(head, *length) != Head::Unknown
        }
    }
}

/// What a column holds that is no picture.
fn shape(of: &DataType) -> Shape {
    let is_text = |of: &DataType| {
        matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) || is_binary(of)
    };
    match of {
        of if is_text(of) => Shape::Text,
        of if of.is_numeric() => Shape::Number,
        DataType::Null => Shape::Nothing,
        DataType::List(item) | DataType::LargeList(item) if is_text(item.data_type()) => {
            Shape::Texts
        }
        _ => Shape::Other,
    }
}
