//! Conditions in SQL over the pairs of a catalog: `edit_type = 'add' AND score('gpt.average') >= 4`.
//!
//! A text is parsed and held against the catalog's schema before any row is read: [`Condition`] for
//! what selects pairs, [`Number`] for what they are ordered by, [`Word`] for what they are told
//! apart by. Each says which columns it needs ([`leaves`] finds them in a file), and is evaluated a
//! record batch at a time. Batches are found columns in by name, so that one with the needed columns
//! alone will do. This crate reads no file and knows no format.

mod error;
mod evaluate;
mod leaves;
mod like;
mod names;
mod parse;
mod resolve;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{BooleanArray, Float64Array, RecordBatch, StringArray};
use sqlparser::ast::Expr;

pub use error::{ConditionError, Fault, Kind, MAX_BYTES, MAX_DEPTH, MAX_OPERATORS};
pub use leaves::leaves;

use resolve::Resolver;
use tree::{Operands, Real, Truth};

/// What is true of some pairs.
#[derive(Debug, Clone)]
pub struct Condition(Arc<Parsed<Truth>>);

/// A number of each pair, such as `score('gpt.average')`.
#[derive(Debug, Clone)]
pub struct Number(Arc<Parsed<Real>>);

/// A word of each pair, such as `dataset`, `turn` or `label('scene')`.
#[derive(Debug, Clone)]
pub struct Word(Arc<Parsed<Operands>>);

#[derive(Debug)]
struct Parsed<T> {
    text: String,
    columns: BTreeSet<String>,
    tree: T,
}

impl<T> Parsed<T> {
    fn parse(
        text: &str,
        resolve: impl FnOnce(&mut Resolver<'_>, &Expr) -> Result<T, ConditionError>,
    ) -> Result<Arc<Self>, ConditionError> {
        let syntax = parse::parse(text)?;
        let mut resolver = Resolver::new(text);
        let tree = resolve(&mut resolver, &syntax)?;
        let columns = resolver.into_used();
        Ok(Arc::new(Self { text: text.to_owned(), columns, tree }))
    }
}

/// What all three have: their text and the columns that they read.
macro_rules! parsed {
    ($($type:ident: $resolve:ident;)+) => { $(
        impl $type {
            /// Parses a text that is one expression from its first to its last character, and tells
            /// all its types.
            ///
            /// # Errors
            ///
            /// [`ConditionError::Text`] says where in the text what is wrong.
            pub fn parse(text: &str) -> Result<Self, ConditionError> {
                let parsed = Parsed::parse(text, |resolver, syntax| resolver.$resolve(syntax))?;
                Ok(Self(parsed))
            }

            /// The text that was parsed.
            #[must_use]
            pub fn text(&self) -> &str {
                &self.0.text
            }

            /// The columns that are read, by their paths in the catalog's schema: `edit_type`,
            /// `source.width`, `scores`. A path leads through lists to their items' fields:
            /// `references.role`.
            #[must_use]
            pub fn columns(&self) -> &BTreeSet<String> {
                &self.0.columns
            }
        }

        /// By their texts.
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.text() == other.text()
            }
        }

        impl Eq for $type {}
    )+ };
}

parsed! {
    Condition: condition;
    Number: number;
    Word: word;
}

impl Condition {
    /// A value for each row of a batch: true where the condition is true. NULL counts as not true.
    ///
    /// # Errors
    ///
    /// Where the batch does not have the [columns](Self::columns) with the types of the catalog's
    /// schema.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray, ConditionError> {
        evaluate::rows_that_are_true(&self.0.tree, batch)
    }
}

impl Number {
    /// The number of each row, or null.
    ///
    /// # Errors
    ///
    /// As [`Condition::evaluate`].
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<Float64Array, ConditionError> {
        evaluate::numbers(&self.0.tree, batch)
    }
}

impl Word {
    /// The word of each row, or null; whole numbers are written in digits.
    ///
    /// # Errors
    ///
    /// As [`Condition::evaluate`].
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<StringArray, ConditionError> {
        evaluate::words(&self.0.tree, batch)
    }
}
