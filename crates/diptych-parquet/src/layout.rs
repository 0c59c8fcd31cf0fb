//! What is in every file: the schema with what readers are told of it, and how each column is
//! written.
//!
//! `datasets` takes a column for a picture only where it is a struct of `bytes` (`Binary`) and
//! `path` (`Utf8`), in this order, all of which may be null, and where the **Arrow** schema has the
//! key `huggingface` that says so: as metadata of the Parquet file alone it is passed over. Lists
//! in it are bare, since versions 2 and 3 know no other form.
//!
//! The columns of picture bytes are neither compressed nor looked at: pictures are compressed
//! already, and a picture is a page by itself, so that where pages end follows what is in them. A
//! file that was changed in one row then differs from what it was in few places. These pages are made
//! up in [`picture_column`](crate::picture_column); the properties are those of all other columns.

use std::fmt::Write;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use diptych_format::record::columns::{self, ColumnsError, PictureColumns};
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::names::Names;

/// The key by which `datasets` finds what columns are.
const HUGGINGFACE: &str = "huggingface";

/// The key by which a file is told to be one of ours.
pub(crate) const DIPTYCH: &str = "diptych";

/// The version of the layout, in the file's own head.
const LAYOUT_VERSION: u32 = 1;

/// The columns of pictures, in order.
pub(crate) const SOURCE: &str = "source";
pub(crate) const REFERENCES: &str = "references";
pub(crate) const TARGET: &str = "target";
pub(crate) const MASK: &str = "mask";

/// All of them.
pub(crate) const PICTURES: [&str; 4] = [SOURCE, REFERENCES, TARGET, MASK];

/// Strings that are nearly all different: looking each up in a dictionary gains nothing.
const UNIQUE: &[&str] = &["pair_id", "native"];

/// A column of picture bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PictureBytes {
    Source,
    References,
    Target,
    Mask,
}

/// What every file of an output has.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// The columns, with what readers are told.
    pub(crate) schema: SchemaRef,
    /// How they are written.
    pub(crate) properties: WriterProperties,
    /// For each leaf column, in order: which picture bytes it has, if any.
    pub(crate) leaves: Vec<Option<PictureBytes>>,
}

/// The names of all columns, in order.
pub(crate) fn column_names() -> Vec<String> {
    let schema = columns::schema(PictureColumns::Embedded);
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

impl PictureBytes {
    const ALL: [Self; 4] = [Self::Source, Self::References, Self::Target, Self::Mask];

    /// The column that has them.
    fn column(self) -> &'static str {
        match self {
            Self::Source => SOURCE,
            Self::References => REFERENCES,
            Self::Target => TARGET,
            Self::Mask => MASK,
        }
    }
}

impl Layout {
    /// The layout with columns called so.
    ///
    /// # Errors
    /// Those of Parquet, which knows all types of the layout.
    pub(crate) fn new(names: &Names) -> Result<Self, ColumnsError> {
        let plain = columns::schema(PictureColumns::Embedded);
        let renamed = |field: &Arc<Field>| {
            Arc::new(field.as_ref().clone().with_name(names.name(field.name())))
        };
        let schema = Schema::new(plain.fields().iter().map(renamed).collect::<Vec<_>>());
        let metadata =
            [(HUGGINGFACE.to_owned(), features(&schema)), (DIPTYCH.to_owned(), head(names))];
        let schema = Arc::new(schema.with_metadata(metadata));
        let leaves = ArrowSchemaConverter::new().convert(&schema)?;
        let bytes = PictureBytes::ALL.map(|of| (of, leaf(names, of, "bytes")));
        let pictures =
            |path: &ColumnPath| bytes.iter().find(|(_, bytes)| bytes == path).map(|(of, _)| *of);
        let leaves = leaves.columns().iter().map(|leaf| pictures(leaf.path())).collect();
        Ok(Self { schema, properties: properties(names), leaves })
    }
}

/// What a file says of itself: the version of its layout, and which columns are renamed.
fn head(names: &Names) -> String {
    serde_json::json!({ "layout": LAYOUT_VERSION, "renamed": names.renamed() }).to_string()
}

/// The features of all columns, as `datasets` reads them.
fn features(schema: &Schema) -> String {
    let mut json = String::from(r#"{"info":{"features":"#);
    push_fields(&mut json, schema.fields().iter().map(AsRef::as_ref));
    json.push_str("}}");
    json
}

fn push_fields<'a>(json: &mut String, fields: impl Iterator<Item = &'a Field>) {
    json.push('{');
    for (i, field) in fields.enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(json, "{comma}{}:", serde_json::Value::from(field.name().as_str()));
        push_type(json, field.data_type());
    }
    json.push('}');
}

fn push_type(json: &mut String, data_type: &DataType) {
    match data_type {
        DataType::Struct(fields) if fields.iter().any(|f| *f.data_type() == DataType::Binary) => {
            json.push_str(r#"{"_type":"Image"}"#);
        }
        DataType::Struct(fields) => push_fields(json, fields.iter().map(AsRef::as_ref)),
        DataType::List(of) => {
            json.push('[');
            push_type(json, of.data_type());
            json.push(']');
        }
        of => {
            let word = match of {
                DataType::UInt16 => "uint16",
                DataType::UInt32 => "uint32",
                DataType::Float64 => "float64",
                // The record has no further kinds.
                _ => "string",
            };
            let _ = write!(json, r#"{{"dtype":"{word}","_type":"Value"}}"#);
        }
    }
}

/// The path of a leaf of a picture's column.
fn leaf(names: &Names, of: PictureBytes, leaf: &str) -> ColumnPath {
    let inner: &[&str] = match of {
        PictureBytes::References => &["list", "element", leaf],
        _ => &[leaf],
    };
    let parts = std::iter::once(names.name(of.column())).chain(inner.iter().copied());
    ColumnPath::from(parts.map(str::to_owned).collect::<Vec<_>>())
}

/// How columns are written. Compression is Snappy: all readers have it. Pages have their places in
/// the file's index, and those of the record their statistics, so that a filter on `split` or
/// `dataset` passes over what it need not read.
fn properties(names: &Names) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Page);
    for column in UNIQUE {
        let path = ColumnPath::from(vec![names.name(column).to_owned()]);
        builder = builder.set_column_dictionary_enabled(path, false);
    }
    for of in PictureBytes::ALL {
        builder = builder.set_column_dictionary_enabled(leaf(names, of, "path"), false);
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_features_are_as_readers_were_tried_with() {
        let layout = Layout::new(&Names::default()).unwrap();
        let golden = include_str!("golden/huggingface.json");
        assert_eq!(layout.schema.metadata()[HUGGINGFACE], golden.trim_end());
        assert_eq!(layout.schema.metadata()[DIPTYCH], r#"{"layout":1,"renamed":{}}"#);
    }

    #[test]
    fn the_leaves_of_picture_bytes_are_known() {
        let layout = Layout::new(&Names::default()).unwrap();
        let schema = ArrowSchemaConverter::new().convert(&layout.schema).unwrap();
        let paths: Vec<_> = schema.columns().iter().map(|column| column.path().clone()).collect();
        for (of, bytes) in [
            (PictureBytes::Source, "source.bytes"),
            (PictureBytes::References, "references.list.element.bytes"),
            (PictureBytes::Target, "target.bytes"),
            (PictureBytes::Mask, "mask.bytes"),
        ] {
            let path = leaf(&Names::default(), of, "bytes");
            assert_eq!(path.string(), bytes);
            let at = paths.iter().position(|known| *known == path).unwrap();
            assert_eq!(layout.leaves[at], Some(of));
        }
        assert_eq!(layout.leaves.iter().flatten().count(), 4);
    }
}
