//! The Arrow schema of a catalog, and the way between pairs and record batches.
//!
//! A catalog has one row a pair and one column a field of [`EditPair`], in the struct's order
//! and under its name (`edit_box` is the column `box`). Lists are never null, only empty. What
//! has kinds (an address, a part of a mask) is a struct of all kinds' fields with the word for
//! its kind in front and nulls in the fields of the others, because Parquet has no unions.
//!
//! [`encode`] makes exactly [`catalog_schema`]. [`decode`] finds columns by name at every level,
//! so their order does not matter, and neither do columns that it does not know nor what a file
//! says about nullability: other tools that rewrite a catalog keep none of these.

pub mod about;
mod column;
mod error;
mod records;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use arrow_array::{RecordBatch, StructArray};
use arrow_schema::{Schema, SchemaRef};

use crate::SCHEMA_VERSION;
use crate::pair::EditPair;
use crate::picture::Address;
use column::Record;
use error::At;
use records::PictureAddress;

pub use error::{ColumnFault, DecodeError, EncodeError, EncodeFault, ValueFault};

/// The key in the schema's metadata under which [`SCHEMA_VERSION`] stands, in decimal.
pub const VERSION_KEY: &str = "diptych.schema_version";

/// The columns that are never null, besides the lists.
const REQUIRED: [&str; 3] = ["pair_id", "dataset", "source"];

/// The schema of a catalog: one column a field of [`EditPair`].
#[must_use]
pub fn catalog_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let fields = EditPair::fields().into_iter().map(|field| {
            let nullable = field.is_nullable() && !REQUIRED.contains(&field.name().as_str());
            field.with_nullable(nullable)
        });
        let metadata = [(VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string())];
        Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata))
    });
    Arc::clone(&SCHEMA)
}

/// The pairs as one batch of [`catalog_schema`], in their order.
///
/// # Errors
///
/// Where the strings, the inline bytes or the list items of one column come to more than
/// `i32::MAX` bytes or items; fewer pairs at once are the way out.
pub fn encode(pairs: &[EditPair]) -> Result<RecordBatch, EncodeError> {
    let rows: Vec<_> = pairs.iter().map(Some).collect();
    let columns = EditPair::encode_columns(&rows)?;
    RecordBatch::try_new(catalog_schema(), columns).map_err(|e| At::new(e.into()).into())
}

/// The pairs of a batch, in its order: what [`encode`] was given, also from a slice of a batch.
///
/// A batch without a version in its metadata is read as one of ours.
///
/// # Errors
///
/// Where the batch is of a newer version, lacks a column, or has one of another type, and where
/// a value is null or cannot be what its column holds. Rows in errors count from 0 in `batch`.
pub fn decode(batch: &RecordBatch) -> Result<Vec<EditPair>, DecodeError> {
    check_version(batch.schema_ref())?;
    let table = StructArray::from(batch.clone());
    let columns = EditPair::open_columns(&table)?;
    (0..batch.num_rows())
        .map(|row| EditPair::read_row(&columns, row).map_err(|at| DecodeError::at_row(row, at)))
        .collect()
}

/// Where the pictures of a column (`source`, `target`) are, row by row; `None` where there is none.
/// The batch need not have more of them than their addresses.
///
/// # Errors
///
/// As [`decode`].
pub fn addresses(batch: &RecordBatch, name: &str) -> Result<Vec<Option<Address>>, DecodeError> {
    check_version(batch.schema_ref())?;
    let table = StructArray::from(batch.clone());
    let pictures = column::open_field::<PictureAddress>(&table, name)?;
    let read = |row| column::read_field::<Option<PictureAddress>>(&pictures, name, row);
    (0..batch.num_rows())
        .map(|row| match read(row) {
            Ok(picture) => Ok(picture.map(|PictureAddress { address }| address)),
            Err(at) => Err(DecodeError::at_row(row, at)),
        })
        .collect()
}

fn check_version(schema: &Schema) -> Result<(), DecodeError> {
    let Some(word) = schema.metadata().get(VERSION_KEY) else {
        return Ok(());
    };
    match word.parse::<u32>() {
        Ok(found) if found > SCHEMA_VERSION => Err(DecodeError::NewerVersion { found }),
        Ok(_) => Ok(()),
        Err(_) => Err(DecodeError::UnreadableVersion { found: word.clone() }),
    }
}
