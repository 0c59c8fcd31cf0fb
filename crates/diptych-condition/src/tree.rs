//! A condition with its names resolved and its types told: what is evaluated.

use std::collections::HashSet;

use crate::like::Pattern;
use crate::names::Column;

/// An expression of any kind.
#[derive(Debug)]
pub(crate) enum Any {
    Null,
    Text(Text),
    Whole(Whole),
    Real(Real),
    Truth(Truth),
    /// A column that can only be asked for its nulls and its length.
    Column(Column),
}

#[derive(Debug)]
pub(crate) enum Text {
    Null,
    Literal(String),
    Column(String),
    Label(String),
}

#[derive(Debug)]
pub(crate) enum Whole {
    Null,
    Literal(i64),
    Column(String),
    Characters(Text),
    Items(String),
    Negative(Box<Whole>),
    Arithmetic(Arithmetic, Box<[Whole; 2]>),
}

#[derive(Debug)]
pub(crate) enum Real {
    Null,
    Literal(f64),
    Column(String),
    Score(String),
    Whole(Whole),
    Negative(Box<Real>),
    Arithmetic(Arithmetic, Box<[Real; 2]>),
}

#[derive(Debug)]
pub(crate) enum Truth {
    Null,
    Literal(bool),
    Not(Box<Truth>),
    All(Vec<Truth>),
    Any(Vec<Truth>),
    /// Two operands.
    Compare(Comparison, Operands),
    /// The value, the lowest and the highest.
    Between(Operands),
    /// The value and those of the list that are no literals; the literals; and whether one is NULL.
    In(Operands, Members, bool),
    Like(Text, Pattern),
    IsNull(Operands),
    /// A column of any type, by its path.
    IsNullColumn(String),
    Is(Box<Truth>, bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Plus,
    Minus,
    Times,
    Divide,
    Remainder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Distinct,
    NotDistinct,
}

/// Expressions of one kind.
#[derive(Debug)]
pub(crate) enum Operands {
    Text(Vec<Text>),
    Whole(Vec<Whole>),
    Real(Vec<Real>),
    Truth(Vec<Truth>),
}

/// The literals of a list.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub(crate) texts: HashSet<String>,
    pub(crate) wholes: HashSet<i64>,
    /// As bits: neither zero has a sign, and there is no NaN.
    pub(crate) reals: HashSet<u64>,
}
