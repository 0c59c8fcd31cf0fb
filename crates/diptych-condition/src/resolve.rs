//! From the syntax tree to what is evaluated: names become columns, and every type is told.

use std::collections::BTreeSet;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    InTarget, ObjectNamePart, Spanned, UnaryOperator, Value,
};
use sqlparser::tokenizer::Location;

use crate::error::{ConditionError, Fault, Kind, MAX_DEPTH, shown_text};
use crate::like::Pattern;
use crate::names::{self, Column};
use crate::parse;
use crate::tree::{Any, Arithmetic, Comparison, Members, Operands, Real, Text, Truth, Whole};

type Result<T> = std::result::Result<T, ConditionError>;

/// Resolves one text.
pub(crate) struct Resolver<'a> {
    text: &'a str,
    columns: Vec<Column>,
    used: BTreeSet<String>,
    depth: usize,
}

/// An expression with what messages say of it.
struct Part<'a> {
    any: Any,
    syntax: &'a Expr,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, columns: names::columns(), used: BTreeSet::new(), depth: 0 }
    }

    /// The columns that have been named so far.
    pub(crate) fn into_used(self) -> BTreeSet<String> {
        self.used
    }

    pub(crate) fn condition(&mut self, syntax: &Expr) -> Result<Truth> {
        self.truth(syntax, || "a condition".to_owned())
    }

    pub(crate) fn number(&mut self, syntax: &Expr) -> Result<Real> {
        let part = self.part(syntax)?;
        self.real(part, || "what pairs are ordered by".to_owned())
    }

    pub(crate) fn word(&mut self, syntax: &Expr) -> Result<Operands> {
        let part = self.part(syntax)?;
        match part.any {
            Any::Null => Ok(Operands::Text(vec![Text::Null])),
            Any::Text(text) => Ok(Operands::Text(vec![text])),
            Any::Whole(whole) => Ok(Operands::Whole(vec![whole])),
            _ => Err(self.wrong(&part, "what pairs are told apart by", "text or a whole number")),
        }
    }

    fn fault(&self, syntax: &Expr, fault: Fault) -> ConditionError {
        self.fault_at(syntax.span().start, fault)
    }

    fn fault_at(&self, place: Location, fault: Fault) -> ConditionError {
        parse::at(self.text, place, fault)
    }

    fn wrong(&self, part: &Part<'_>, place: &str, wanted: &'static str) -> ConditionError {
        let (found, kind) = (shown(part.syntax), kind(&part.any));
        self.fault(part.syntax, Fault::WrongKind { place: place.to_owned(), wanted, found, kind })
    }

    fn part<'e>(&mut self, syntax: &'e Expr) -> Result<Part<'e>> {
        Ok(Part { any: self.any(syntax)?, syntax })
    }

    fn any(&mut self, syntax: &Expr) -> Result<Any> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fault(syntax, Fault::TooDeep));
        }
        self.depth += 1;
        let any = self.deeper(syntax);
        self.depth -= 1;
        any
    }

    fn deeper(&mut self, syntax: &Expr) -> Result<Any> {
        let truth = match syntax {
            Expr::Nested(inner) => return self.any(inner),
            Expr::Value(value) => return self.literal(&value.value, syntax),
            Expr::Identifier(name) => return self.column(std::slice::from_ref(name), syntax),
            Expr::CompoundIdentifier(names) => return self.column(names, syntax),
            Expr::Function(function) => return self.function(function, syntax),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                let inner = self.truth(expr, || "right of NOT".to_owned())?;
                Truth::Not(Box::new(inner))
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => return self.negative(expr),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => {
                let part = self.part(expr)?;
                return match part.any {
                    any @ (Any::Whole(_) | Any::Real(_) | Any::Null) => Ok(any),
                    _ => Err(self.wrong(&part, "right of +", "a number")),
                };
            }
            Expr::BinaryOp { left, op, right } => return self.binary(left, op, right, syntax),
            Expr::IsDistinctFrom(left, right) => {
                self.compare(Comparison::Distinct, "IS DISTINCT FROM", left, right)?
            }
            Expr::IsNotDistinctFrom(left, right) => {
                self.compare(Comparison::NotDistinct, "IS NOT DISTINCT FROM", left, right)?
            }
            Expr::IsNull(inner) => self.is_null(inner)?,
            Expr::IsNotNull(inner) => Truth::Not(Box::new(self.is_null(inner)?)),
            Expr::IsTrue(inner) => self.is(inner, true)?,
            Expr::IsNotTrue(inner) => Truth::Not(Box::new(self.is(inner, true)?)),
            Expr::IsFalse(inner) => self.is(inner, false)?,
            Expr::IsNotFalse(inner) => Truth::Not(Box::new(self.is(inner, false)?)),
            Expr::Between { expr, negated, low, high } => {
                let parts = [self.part(expr)?, self.part(low)?, self.part(high)?];
                let operands = self.alike(Vec::from(parts), "BETWEEN")?;
                negate(Truth::Between(operands), *negated)
            }
            Expr::In { expr, target: InTarget::List(list), negated, global: false } => {
                negate(self.list(expr, list)?, *negated)
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                let like = self.like("LIKE", expr, pattern, escape_char.as_deref())?;
                negate(like, *negated)
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                let like = self.like("ILIKE", expr, pattern, escape_char.as_deref())?;
                negate(like, *negated)
            }
            _ => return Err(self.unsupported(syntax)),
        };
        Ok(Any::Truth(truth))
    }

    fn unsupported(&self, syntax: &Expr) -> ConditionError {
        self.fault(syntax, Fault::Unsupported { found: shown(syntax) })
    }

    fn literal(&self, value: &Value, syntax: &Expr) -> Result<Any> {
        Ok(match value {
            Value::Null => Any::Null,
            Value::Boolean(value) => Any::Truth(Truth::Literal(*value)),
            Value::SingleQuotedString(value) => Any::Text(Text::Literal(value.clone())),
            Value::Number(digits, false) => match digits.parse() {
                Ok(whole) => Any::Whole(Whole::Literal(whole)),
                Err(_) => match digits.parse::<f64>() {
                    Ok(real) if real.is_finite() => Any::Real(Real::Literal(real)),
                    _ => return Err(self.fault(syntax, Fault::Number { text: shown_text(digits) })),
                },
            },
            _ => return Err(self.unsupported(syntax)),
        })
    }

    fn column(&mut self, names: &[Ident], syntax: &Expr) -> Result<Any> {
        let path = names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(".");
        let found = self.columns.iter().find(|column| column.path.eq_ignore_ascii_case(&path));
        let Some(Column { path, least, kind }) = found.cloned() else {
            let mut near = names::near_columns(&path, &self.columns);
            // Someone has left out what a function is asked for.
            let called =
                names::FUNCTIONS.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&path));
            near.splice(0..0, called.map(|(_, called)| format!("`{called}`")));
            let quoted = names.iter().any(|name| name.quote_style.is_some());
            return Err(
                self.fault(syntax, Fault::UnknownColumn { name: shown_text(&path), near, quoted })
            );
        };
        let any = match kind {
            Kind::Text => Any::Text(Text::Column(path.clone())),
            Kind::Whole => Any::Whole(Whole::Column(path.clone())),
            Kind::Real => Any::Real(Real::Column(path.clone())),
            // Which of its columns are read, whoever asks it decides.
            _ => return Ok(Any::Column(Column { path, least, kind })),
        };
        self.used.insert(path);
        Ok(any)
    }

    fn function(&mut self, function: &Function, syntax: &Expr) -> Result<Any> {
        let name = function.name.to_string();
        let [ObjectNamePart::Identifier(_)] = function.name.0.as_slice() else {
            return Err(self.unsupported(syntax));
        };
        let known = names::FUNCTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name));
        let Some((known, called)) = known else {
            let near = names::near_functions(&name);
            let name = shown_text(&name);
            return Err(self.fault(syntax, Fault::UnknownFunction { name, near }));
        };
        let plain = function.over.is_none()
            && function.filter.is_none()
            && function.null_treatment.is_none()
            && function.within_group.is_empty()
            && matches!(function.parameters, FunctionArguments::None);
        let arguments = match &function.args {
            FunctionArguments::List(list)
                if plain && list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
            {
                list.args.as_slice()
            }
            _ => return Err(self.unsupported(syntax)),
        };
        if *known == "length" {
            let takes = "a text or a list, such as `instruction` or `labels`";
            let fault = Fault::Arguments { function: called, takes };
            let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = arguments else {
                return Err(self.fault(syntax, fault));
            };
            let whole = match self.any(argument)? {
                Any::Null => Whole::Null,
                Any::Text(text) => Whole::Characters(text),
                Any::Column(Column { path, least, kind: Kind::List }) => {
                    self.used.insert(least);
                    Whole::Items(path)
                }
                _ => return Err(self.fault(argument, fault)),
            };
            return Ok(Any::Whole(whole));
        }
        let name = match arguments {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] => match &value.value
            {
                Value::SingleQuotedString(name) => Some(name.clone()),
                _ => None,
            },
            _ => None,
        };
        let Some(name) = name else {
            let takes = "one name in single quotes";
            return Err(self.fault(syntax, Fault::Arguments { function: called, takes }));
        };
        let is_score = *known == "score";
        self.used.insert(if is_score { "scores" } else { "labels" }.to_owned());
        Ok(if is_score { Any::Real(Real::Score(name)) } else { Any::Text(Text::Label(name)) })
    }

    fn negative(&mut self, syntax: &Expr) -> Result<Any> {
        let part = self.part(syntax)?;
        Ok(match part.any {
            Any::Null => Any::Null,
            // A number below zero is a literal, as it is in a list.
            Any::Whole(Whole::Literal(whole)) => Any::Whole(Whole::Literal(-whole)),
            Any::Real(Real::Literal(real)) => Any::Real(Real::Literal(-real)),
            Any::Whole(whole) => Any::Whole(Whole::Negative(Box::new(whole))),
            Any::Real(real) => Any::Real(Real::Negative(Box::new(real))),
            _ => return Err(self.wrong(&part, "right of -", "a number")),
        })
    }

    fn binary(
        &mut self,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
        syntax: &Expr,
    ) -> Result<Any> {
        if let Some(arithmetic) = arithmetic(operator) {
            return self.arithmetic(arithmetic, operator, left, right);
        }
        let truth = match operator {
            BinaryOperator::And => Truth::All(self.chain(syntax, operator)?),
            BinaryOperator::Or => Truth::Any(self.chain(syntax, operator)?),
            _ => match comparison(operator) {
                Some(comparison) => {
                    for side in [left, right] {
                        if matches!(side, Expr::BinaryOp { op, .. } if self::comparison(op).is_some())
                        {
                            return Err(self.fault(right, Fault::Chained));
                        }
                    }
                    self.compare(comparison, &format!("`{operator}`"), left, right)?
                }
                None => return Err(self.unsupported(syntax)),
            },
        };
        Ok(Any::Truth(truth))
    }

    /// The conditions that one operator joins, however many: not one inside the other.
    fn chain(&mut self, syntax: &Expr, operator: &BinaryOperator) -> Result<Vec<Truth>> {
        let mut sides = Vec::new();
        let mut rest = syntax;
        while let Expr::BinaryOp { left, op, right } = rest
            && op == operator
        {
            sides.push((right.as_ref(), "right"));
            rest = left;
        }
        sides.push((rest, "left"));
        let resolve =
            |(side, place): (&Expr, &str)| self.truth(side, || format!("{place} of {operator}"));
        sides.into_iter().rev().map(resolve).collect()
    }

    fn arithmetic(
        &mut self,
        arithmetic: Arithmetic,
        operator: &BinaryOperator,
        left: &Expr,
        right: &Expr,
    ) -> Result<Any> {
        let (left, right) = (self.part(left)?, self.part(right)?);
        let whole = |any: &Any| matches!(any, Any::Whole(_) | Any::Null);
        if whole(&left.any) && whole(&right.any) && arithmetic != Arithmetic::Divide {
            let whole = |any| if let Any::Whole(whole) = any { whole } else { Whole::Null };
            let sides = [whole(left.any), whole(right.any)];
            return Ok(Any::Whole(Whole::Arithmetic(arithmetic, Box::new(sides))));
        }
        let sides = [
            self.real(left, || format!("left of {operator}"))?,
            self.real(right, || format!("right of {operator}"))?,
        ];
        Ok(Any::Real(Real::Arithmetic(arithmetic, Box::new(sides))))
    }

    fn real(&self, part: Part<'_>, place: impl Fn() -> String) -> Result<Real> {
        match part.any {
            Any::Null => Ok(Real::Null),
            Any::Whole(whole) => Ok(Real::Whole(whole)),
            Any::Real(real) => Ok(real),
            _ => Err(self.wrong(&part, &place(), "a number")),
        }
    }

    fn truth(&mut self, syntax: &Expr, place: impl Fn() -> String) -> Result<Truth> {
        let part = self.part(syntax)?;
        match part.any {
            Any::Null => Ok(Truth::Null),
            Any::Truth(truth) => Ok(truth),
            _ => Err(self.wrong(&part, &place(), "true or false")),
        }
    }

    fn compare(
        &mut self,
        comparison: Comparison,
        operator: &str,
        left: &Expr,
        right: &Expr,
    ) -> Result<Truth> {
        let parts = vec![self.part(left)?, self.part(right)?];
        Ok(Truth::Compare(comparison, self.alike(parts, operator)?))
    }

    /// Brings parts to one kind: that of the first that is not NULL, or a number where others are.
    fn alike(&self, parts: Vec<Part<'_>>, operator: &str) -> Result<Operands> {
        let mut common: Option<&Part<'_>> = None;
        for part in &parts {
            match (common.map(|part| kind(&part.any)), kind(&part.any)) {
                (_, Kind::List | Kind::Record | Kind::Bytes) => {
                    let place = format!("a side of {operator}");
                    return Err(self.wrong(part, &place, "one value"));
                }
                (_, Kind::Null) | (Some(Kind::Real), Kind::Whole) => {}
                (None, _) | (Some(Kind::Whole), Kind::Real) => common = Some(part),
                (Some(left_kind), right_kind) if left_kind == right_kind => {}
                (Some(left_kind), right_kind) => {
                    let left = common.map(|part| shown(part.syntax)).unwrap_or_default();
                    let (operator, right) = (operator.to_owned(), shown(part.syntax));
                    let fault = Fault::Sides { operator, left, left_kind, right, right_kind };
                    return Err(self.fault(part.syntax, fault));
                }
            }
        }
        let common = common.map_or(Kind::Text, |part| kind(&part.any));
        let anys = parts.into_iter().map(|part| part.any);
        Ok(match common {
            Kind::Whole => Operands::Whole(
                anys.map(|any| if let Any::Whole(whole) = any { whole } else { Whole::Null })
                    .collect(),
            ),
            Kind::Real => Operands::Real(
                anys.map(|any| match any {
                    Any::Whole(whole) => Real::Whole(whole),
                    Any::Real(real) => real,
                    _ => Real::Null,
                })
                .collect(),
            ),
            Kind::Truth => Operands::Truth(
                anys.map(|any| if let Any::Truth(truth) = any { truth } else { Truth::Null })
                    .collect(),
            ),
            _ => Operands::Text(
                anys.map(|any| if let Any::Text(text) = any { text } else { Text::Null }).collect(),
            ),
        })
    }

    fn list(&mut self, value: &Expr, list: &[Expr]) -> Result<Truth> {
        let mut parts = vec![self.part(value)?];
        for item in list {
            parts.push(self.part(item)?);
        }
        let mut operands = self.alike(parts, "IN")?;
        let mut members = Members::default();
        let mut has_null = false;
        match &mut operands {
            Operands::Text(list) => keep(list, |item| match item {
                Text::Null => {
                    has_null = true;
                    false
                }
                Text::Literal(text) => {
                    members.texts.insert(std::mem::take(text));
                    false
                }
                _ => true,
            }),
            Operands::Whole(list) => keep(list, |item| match item {
                Whole::Null => {
                    has_null = true;
                    false
                }
                Whole::Literal(whole) => {
                    members.wholes.insert(*whole);
                    false
                }
                _ => true,
            }),
            Operands::Real(list) => keep(list, |item| match item {
                Real::Null => {
                    has_null = true;
                    false
                }
                Real::Literal(real) => {
                    members.reals.insert((*real + 0.0).to_bits());
                    false
                }
                _ => true,
            }),
            Operands::Truth(_) => {}
        }
        Ok(Truth::In(operands, members, has_null))
    }

    fn like(
        &mut self,
        operator: &'static str,
        value: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
    ) -> Result<Truth> {
        let part = self.part(value)?;
        let value = match part.any {
            Any::Null => Text::Null,
            Any::Text(text) => text,
            _ => return Err(self.wrong(&part, &format!("left of {operator}"), "text")),
        };
        let escape = match escape.map(|escape| (escape, literal_text(escape))) {
            None => None,
            Some((escape, text)) => {
                let mut chars = text.unwrap_or_default().chars();
                match (chars.next(), chars.next()) {
                    (Some(char), None) => Some(char),
                    _ => return Err(self.fault(escape, Fault::Escape)),
                }
            }
        };
        match literal_text(pattern) {
            Some(text) => match Pattern::parse(text, escape, operator == "ILIKE") {
                Ok(pattern) => Ok(Truth::Like(value, pattern)),
                Err(fault) => Err(self.fault(pattern, fault)),
            },
            None if matches!(pattern, Expr::Value(value) if value.value == Value::Null) => {
                Ok(Truth::Null)
            }
            None => Err(self.fault(pattern, Fault::Pattern { operator })),
        }
    }

    fn is_null(&mut self, syntax: &Expr) -> Result<Truth> {
        Ok(match self.any(syntax)? {
            Any::Null => Truth::Literal(true),
            Any::Column(Column { path, least, .. }) => {
                self.used.insert(least);
                Truth::IsNullColumn(path)
            }
            // As it stands, and not as the numbers that are computed with.
            Any::Whole(Whole::Column(path)) => Truth::IsNullColumn(path),
            Any::Text(text) => Truth::IsNull(Operands::Text(vec![text])),
            Any::Whole(whole) => Truth::IsNull(Operands::Whole(vec![whole])),
            Any::Real(real) => Truth::IsNull(Operands::Real(vec![real])),
            Any::Truth(truth) => Truth::IsNull(Operands::Truth(vec![truth])),
        })
    }

    fn is(&mut self, syntax: &Expr, truth: bool) -> Result<Truth> {
        let place = || format!("left of IS {}", if truth { "TRUE" } else { "FALSE" });
        Ok(Truth::Is(Box::new(self.truth(syntax, place)?), truth))
    }
}

/// Takes out of a list, behind its first item, what `keeps` says no to.
fn keep<T>(list: &mut Vec<T>, mut keeps: impl FnMut(&mut T) -> bool) {
    let mut first = true;
    list.retain_mut(|item| std::mem::take(&mut first) || keeps(item));
}

fn negate(truth: Truth, negated: bool) -> Truth {
    if negated { Truth::Not(Box::new(truth)) } else { truth }
}

fn literal_text(syntax: &Expr) -> Option<&str> {
    match syntax {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn shown(syntax: &Expr) -> String {
    shown_text(&syntax.to_string())
}

fn kind(any: &Any) -> Kind {
    match any {
        Any::Null => Kind::Null,
        Any::Text(_) => Kind::Text,
        Any::Whole(_) => Kind::Whole,
        Any::Real(_) => Kind::Real,
        Any::Truth(_) => Kind::Truth,
        Any::Column(column) => column.kind,
    }
}

fn arithmetic(operator: &BinaryOperator) -> Option<Arithmetic> {
    Some(match operator {
        BinaryOperator::Plus => Arithmetic::Plus,
        BinaryOperator::Minus => Arithmetic::Minus,
        BinaryOperator::Multiply => Arithmetic::Times,
        BinaryOperator::Divide => Arithmetic::Divide,
        BinaryOperator::Modulo => Arithmetic::Remainder,
        _ => return None,
    })
}

fn comparison(operator: &BinaryOperator) -> Option<Comparison> {
    Some(match operator {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}
