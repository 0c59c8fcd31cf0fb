//! Why a condition cannot be taken, or not be asked of a batch.

use arrow_schema::{ArrowError, DataType};

/// Longest text of a condition, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;

/// Most operators, parentheses and words of the language in a condition. Commas and what stands
/// between them in a list are not counted.
pub const MAX_OPERATORS: usize = 256;

/// How deep a condition may be nested.
pub const MAX_DEPTH: usize = 64;

/// Longest part of a condition that a message repeats, in characters.
const SHOWN: usize = 120;

/// Why a text is no condition, or a batch cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// Something in the text.
    #[error("at character {position}: {fault}")]
    Text {
        /// Where in the text, in characters from 1.
        position: usize,
        /// What is wrong there.
        fault: Fault,
    },
    /// It is longer than is read.
    #[error("{bytes} bytes long, of which at most {MAX_BYTES} are read")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// A batch without a column that is asked for.
    #[error("there is no column `{column}` in what was read")]
    Missing {
        /// Its path.
        column: String,
    },
    /// A batch in which a column is of another type than in the catalog's schema.
    #[error("column `{column}` is {found} where the catalog's schema has another type")]
    WrongType {
        /// Its path.
        column: String,
        /// The type that it has.
        found: DataType,
    },
    /// What Arrow refuses to compute.
    #[error("the condition cannot be computed")]
    Arrow(#[from] ArrowError),
}

/// What is wrong with a part of a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is no expression of SQL.
    #[error("{message}")]
    Syntax {
        /// What was expected and what was found.
        message: String,
    },
    /// There is something behind the end of the expression.
    #[error("the condition ends before `{found}`")]
    Trailing {
        /// What comes first there.
        found: String,
    },
    /// Too many operators.
    #[error("more than {MAX_OPERATORS} operators; many values of one column go into one IN (...)")]
    TooMany,
    /// Nested too deep.
    #[error("nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// SQL that is no part of conditions.
    #[error("`{found}` is no part of conditions")]
    Unsupported {
        /// The expression.
        found: String,
    },
    /// No such column.
    #[error("there is no column `{name}`{}{}", names_near(.near), if *.quoted {
        "; text has single quotes, names of columns have double ones"
    } else {
        ""
    })]
    UnknownColumn {
        /// The name as it stands.
        name: String,
        /// Columns with names like it.
        near: Vec<String>,
        /// Whether it stands in double quotes.
        quoted: bool,
    },
    /// No such function.
    #[error("there is no function `{name}`{}", names_near(.near))]
    UnknownFunction {
        /// The name as it stands.
        name: String,
        /// Functions, as they are called, with names like it.
        near: Vec<String>,
    },
    /// A function is given something else than it takes.
    #[error("`{function}` takes {takes}")]
    Arguments {
        /// How it is called.
        function: &'static str,
        /// What it takes.
        takes: &'static str,
    },
    /// Two sides that have nothing to do with each other.
    #[error("left of {operator}, `{left}`, is {left_kind}; right, `{right}`, is {right_kind}")]
    Sides {
        /// The operator.
        operator: String,
        /// The left side as it stands.
        left: String,
        /// What it is.
        left_kind: Kind,
        /// The right side as it stands.
        right: String,
        /// What it is.
        right_kind: Kind,
    },
    /// A part that must be of one kind and is of another.
    #[error("{place} must be {wanted}, and `{found}` is {kind}")]
    WrongKind {
        /// Which part.
        place: String,
        /// What it must be.
        wanted: &'static str,
        /// The part as it stands.
        found: String,
        /// What it is.
        kind: Kind,
    },
    /// Comparisons one behind the other.
    #[error("comparisons cannot follow each other; AND joins two of them")]
    Chained,
    /// A number beyond what can be counted.
    #[error("`{text}` is no number that can be told from others")]
    Number {
        /// The number as it stands.
        text: String,
    },
    /// A pattern that is no text in the condition.
    #[error("the pattern of {operator} must be a text in single quotes")]
    Pattern {
        /// LIKE or ILIKE.
        operator: &'static str,
    },
    /// An escape that is not one character.
    #[error("the escape must be one character in single quotes")]
    Escape,
    /// A pattern that ends with its escape.
    #[error("the pattern ends with its escape, which has nothing to stand before")]
    LastEscape,
}

/// What an expression is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Whole,
    /// A number.
    Real,
    /// A condition.
    Truth,
    /// NULL.
    Null,
    /// A list, such as `labels`.
    List,
    /// What has fields, such as `source`.
    Record,
    /// Bytes.
    Bytes,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Whole => "a whole number",
            Self::Real => "a number",
            Self::Truth => "true or false",
            Self::Null => "NULL",
            Self::List => "a list",
            Self::Record => "a record of fields",
            Self::Bytes => "bytes",
        })
    }
}

fn names_near(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; near it: {}", names.join(", ")),
    }
}

/// A part of a condition for a message: cut where it is long, its control characters escaped.
pub(crate) fn shown_text(text: &str) -> String {
    let mut shown = String::new();
    for (place, char) in text.chars().enumerate() {
        if place == SHOWN {
            shown.push_str("...");
            break;
        }
        if char.is_control() { shown.extend(char.escape_unicode()) } else { shown.push(char) }
    }
    shown
}
