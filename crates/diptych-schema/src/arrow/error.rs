//! What can be wrong with pairs for Arrow, and with a batch for pairs.

use arrow_schema::{ArrowError, DataType};
use thiserror::Error;

use crate::SCHEMA_VERSION;

/// Pairs that do not fit in one batch.
#[derive(Debug, Error)]
#[error("column {column}: {fault}")]
pub struct EncodeError {
    /// The column, with dots and `[]` for what lies inside: `references[].address.bytes`.
    pub column: String,
    /// What is wrong with it.
    pub fault: EncodeFault,
}

/// Why a column cannot be made.
#[derive(Debug, Error)]
pub enum EncodeFault {
    /// Arrow counts bytes of strings and items of lists in 31 bits.
    #[error("{found} bytes or items are more than the {max} that one batch holds", max = i32::MAX)]
    TooLarge {
        /// Bytes (of strings and binary) or items (of lists) over all rows.
        found: usize,
    },
    /// Arrow refused columns that were built for it, which is a mistake in this crate.
    #[error("{0}")]
    Refused(#[from] ArrowError),
}

/// A batch that does not hold pairs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The catalog was written by a later version of the schema.
    #[error("schema version {found} is newer than {SCHEMA_VERSION}, the newest that can be read")]
    NewerVersion {
        /// The version in the metadata.
        found: u32,
    },
    /// The metadata's version is not a number.
    #[error("schema version {found:?} is not a number")]
    UnreadableVersion {
        /// What stands there.
        found: String,
    },
    /// A column is absent or of another type.
    #[error("column {column}: {fault}")]
    Column {
        /// The column, with dots and `[]` for what lies inside: `references[].address.kind`.
        column: String,
        /// What is wrong with it.
        fault: ColumnFault,
    },
    /// A row has a value that cannot stand there.
    #[error("column {column}, row {row}: {fault}")]
    Value {
        /// The column, with dots and the place in a list: `references[2].address.kind`.
        column: String,
        /// The row, from 0 in the batch.
        row: usize,
        /// What is wrong with the value.
        fault: ValueFault,
    },
}

impl DecodeError {
    pub(super) fn at_row(row: usize, at: At<ValueFault>) -> Self {
        Self::Value { column: at.path, row, fault: at.fault }
    }
}

/// Why a column cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ColumnFault {
    /// There is none of this name.
    #[error("missing; expected {expected}")]
    Missing {
        /// The type it would have.
        expected: DataType,
    },
    /// It is of another type.
    #[error("found type {found}, expected {expected}")]
    WrongType {
        /// The type it has.
        found: DataType,
        /// The type it would have.
        expected: DataType,
    },
}

/// Why a value cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueFault {
    /// Null where there must be a value.
    #[error("found null, expected a value")]
    Null,
    /// A word that the schema does not have.
    #[error("found {found:?}, expected one of {}", expected.join(", "))]
    UnknownWord {
        /// The word.
        found: String,
        /// The words that the column may hold.
        expected: Vec<&'static str>,
    },
    /// An address or a part of a mask without a field that its kind has.
    #[error("found null in {missing:?}, expected a value for kind {kind:?}")]
    Incomplete {
        /// The word for its kind.
        kind: &'static str,
        /// The field that is null.
        missing: &'static str,
    },
}

/// A fault and the path of the column that has it. The path is put together from the inside
/// out while the error travels up, so that nothing is spent on it where all is well.
#[derive(Debug)]
pub(super) struct At<F> {
    path: String,
    fault: F,
}

impl<F> At<F> {
    /// A fault of the column at hand.
    pub(super) fn new(fault: F) -> Self {
        Self { path: String::new(), fault }
    }

    /// The same seen from the struct of which the column at hand is the field `name`.
    pub(super) fn in_field(self, name: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        Self { path: format!("{name}{dot}{}", self.path), ..self }
    }

    /// The same seen from the list of which the column at hand holds the items.
    pub(super) fn in_items(self) -> Self {
        self.in_field("[]")
    }

    /// The same seen from the list in which the value at hand has the place `index`, from 0.
    pub(super) fn in_item(self, index: usize) -> Self {
        self.in_field(&format!("[{index}]"))
    }
}

impl From<At<EncodeFault>> for EncodeError {
    fn from(at: At<EncodeFault>) -> Self {
        Self { column: at.path, fault: at.fault }
    }
}

impl From<At<ColumnFault>> for DecodeError {
    fn from(at: At<ColumnFault>) -> Self {
        Self::Column { column: at.path, fault: at.fault }
    }
}
