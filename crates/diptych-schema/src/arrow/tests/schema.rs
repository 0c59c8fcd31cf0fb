//! The schema, written out: a change of it is a change of every catalog and needs a version.

use std::fmt::Write;

use arrow_schema::{DataType, Field};

use crate::SCHEMA_VERSION;
use crate::arrow::{VERSION_KEY, catalog_schema};

/// One line a column, `?` where it may be null; what lies inside stands indented below.
fn outline(text: &mut String, depth: usize, field: &Field) {
    let nullable = if field.is_nullable() { "?" } else { "" };
    let (word, inner): (String, &[_]) = match field.data_type() {
        DataType::Struct(fields) => ("struct".to_owned(), fields),
        DataType::List(item) => ("list".to_owned(), std::slice::from_ref(item)),
        other => (other.to_string(), &[]),
    };
    writeln!(text, "{:1$}{2}: {word}{nullable}", "", depth * 2, field.name()).unwrap();
    for field in inner {
        outline(text, depth + 1, field);
    }
}

#[test]
fn the_schema_is_as_written_here() {
    let mut found = String::new();
    for field in catalog_schema().fields() {
        outline(&mut found, 0, field);
    }
    assert_eq!(found, SNAPSHOT, "the schema is now:\n{found}");
}

#[test]
fn the_version_stands_in_the_metadata() {
    assert_eq!(VERSION_KEY, "diptych.schema_version");
    assert_eq!(SCHEMA_VERSION, 1);
    assert_eq!(catalog_schema().metadata()[VERSION_KEY], "1");
}

const SNAPSHOT: &str = "\
pair_id: Utf8
dataset: Utf8
subset: Utf8?
split: Utf8?
session_id: Utf8?
turn: UInt16?
base: Utf8?
premise: Utf8?
group_id: Utf8?
variant: Utf8?
inverse_of: Utf8?
edit_type: Utf8?
edit_type_native: list
  item: Utf8?
instruction: Utf8?
language: Utf8?
instructions: list
  item: struct?
    text: Utf8?
    language: Utf8?
    kind: Utf8?
captions: list
  item: struct?
    text: Utf8?
    language: Utf8?
    of: Utf8?
editor: Utf8?
source: struct
  name: Utf8?
  address: struct?
    kind: Utf8?
    file: UInt32?
    offset: UInt64?
    length: UInt64?
    row_group: UInt32?
    column: UInt32?
    row: UInt64?
    bytes: Binary?
    url: Utf8?
    sha256: Utf8?
  width: UInt32?
  height: UInt32?
  media_type: Utf8?
references: list
  item: struct?
    name: Utf8?
    address: struct?
      kind: Utf8?
      file: UInt32?
      offset: UInt64?
      length: UInt64?
      row_group: UInt32?
      column: UInt32?
      row: UInt64?
      bytes: Binary?
      url: Utf8?
      sha256: Utf8?
    width: UInt32?
    height: UInt32?
    media_type: Utf8?
    role: Utf8?
target: struct?
  name: Utf8?
  address: struct?
    kind: Utf8?
    file: UInt32?
    offset: UInt64?
    length: UInt64?
    row_group: UInt32?
    column: UInt32?
    row: UInt64?
    bytes: Binary?
    url: Utf8?
    sha256: Utf8?
  width: UInt32?
  height: UInt32?
  media_type: Utf8?
mask: struct?
  parts: list
    item: struct?
      kind: Utf8?
      picture: struct?
        name: Utf8?
        address: struct?
          kind: Utf8?
          file: UInt32?
          offset: UInt64?
          length: UInt64?
          row_group: UInt32?
          column: UInt32?
          row: UInt64?
          bytes: Binary?
          url: Utf8?
          sha256: Utf8?
        width: UInt32?
        height: UInt32?
        media_type: Utf8?
      counts: Utf8?
      width: UInt32?
      height: UInt32?
  combine: Utf8?
  edited: Utf8?
  grid: Utf8?
  origin: Utf8?
box: struct?
  x0: Float64?
  y0: Float64?
  x1: Float64?
  y1: Float64?
  frame_width: UInt32?
  frame_height: UInt32?
  status: Utf8?
regions: list
  item: struct?
    label: Utf8?
    box: struct?
      x0: Float64?
      y0: Float64?
      x1: Float64?
      y1: Float64?
      frame_width: UInt32?
      frame_height: UInt32?
      status: Utf8?
    mask: struct?
      kind: Utf8?
      picture: struct?
        name: Utf8?
        address: struct?
          kind: Utf8?
          file: UInt32?
          offset: UInt64?
          length: UInt64?
          row_group: UInt32?
          column: UInt32?
          row: UInt64?
          bytes: Binary?
          url: Utf8?
          sha256: Utf8?
        width: UInt32?
        height: UInt32?
        media_type: Utf8?
      counts: Utf8?
      width: UInt32?
      height: UInt32?
    scores: list
      item: struct?
        name: Utf8?
        value: Float64?
    role: Utf8?
scores: list
  item: struct?
    name: Utf8?
    value: Float64?
labels: list
  item: struct?
    name: Utf8?
    value: Utf8?
licence: Utf8?
native: Utf8?
";
