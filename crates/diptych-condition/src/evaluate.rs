//! Evaluates a condition over a batch, column by column.

use std::sync::Arc;

use arrow_arith::boolean;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type};
use arrow_array::types::{UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Datum, Float64Array, Int64Array, ListArray, PrimitiveArray,
    RecordBatch, Scalar, StringArray,
};
use arrow_buffer::NullBuffer;
use arrow_ord::cmp;
use arrow_schema::DataType;
use arrow_select::nullif::nullif;

use crate::error::ConditionError;
use crate::like::{self, Pattern};
use crate::tree::{Arithmetic, Comparison, Members, Operands, Real, Text, Truth, Whole};

type Result<T> = std::result::Result<T, ConditionError>;

/// A column, or one value for all rows.
#[derive(Clone)]
pub(crate) struct Values<A> {
    array: A,
    single: bool,
}

impl<A: Array> Datum for Values<A> {
    fn get(&self) -> (&dyn Array, bool) {
        (&self.array, self.single)
    }
}

impl<A: Array> Values<A> {
    fn column(array: A) -> Self {
        Self { array, single: false }
    }

    fn single(array: A) -> Self {
        Self { array, single: true }
    }
}

impl<A: Array + FromIterator<Option<T>>, T: Copy> Values<A>
where
    for<'a> &'a A: IntoIterator<Item = Option<T>>,
{
    /// A value for each of so many rows.
    fn into_rows(self, rows: usize) -> A {
        if self.single {
            let value = self.array.into_iter().next().flatten();
            std::iter::repeat_n(value, rows).collect()
        } else {
            self.array
        }
    }
}

/// Where the condition is true; NULL counts as not true.
pub(crate) fn rows_that_are_true(truth: &Truth, batch: &RecordBatch) -> Result<BooleanArray> {
    let array = truth.rows(batch)?;
    Ok(match array.nulls() {
        Some(nulls) => BooleanArray::new(array.values() & nulls.inner(), None),
        None => array,
    })
}

/// Numbers, a row each.
pub(crate) fn numbers(real: &Real, batch: &RecordBatch) -> Result<Float64Array> {
    Ok(real.evaluate(batch)?.into_rows(batch.num_rows()))
}

/// Words, a row each.
pub(crate) fn words(operands: &Operands, batch: &RecordBatch) -> Result<StringArray> {
    let rows = batch.num_rows();
    match operands {
        Operands::Text(list) => match list.first() {
            Some(text) => {
                let Values { array, single } = text.evaluate(batch)?;
                if !single {
                    return Ok(array);
                }
                let value = array.iter().next().flatten();
                Ok(std::iter::repeat_n(value, rows).collect())
            }
            None => Ok(StringArray::new_null(rows)),
        },
        Operands::Whole(list) => match list.first() {
            Some(whole) => {
                let numbers = whole.evaluate(batch)?.into_rows(rows);
                Ok(numbers.iter().map(|number| number.map(|number| number.to_string())).collect())
            }
            None => Ok(StringArray::new_null(rows)),
        },
        Operands::Real(_) | Operands::Truth(_) => Ok(StringArray::new_null(rows)),
    }
}

/// The column at a path, null where what it is a field of is null.
fn column(batch: &RecordBatch, path: &str) -> Result<ArrayRef> {
    let missing = || ConditionError::Missing { column: path.to_owned() };
    let mut names = path.split('.');
    let root = names.next().and_then(|name| batch.column_by_name(name));
    let mut array = Arc::clone(root.ok_or_else(missing)?);
    for name in names {
        let table = array.as_struct_opt().ok_or_else(missing)?;
        let field = Arc::clone(table.column_by_name(name).ok_or_else(missing)?);
        // Null structs have null fields in every file; batches that were built need not.
        array = match table.nulls() {
            Some(nulls) if !field.nulls().is_some_and(|own| own.contains(nulls)) => {
                nullif(&field, &BooleanArray::new(!nulls.inner(), None))?
            }
            _ => field,
        };
    }
    Ok(array)
}

fn wrong_type(path: &str, array: &dyn Array) -> ConditionError {
    ConditionError::WrongType { column: path.to_owned(), found: array.data_type().clone() }
}

fn text_column(batch: &RecordBatch, path: &str) -> Result<StringArray> {
    let array = column(batch, path)?;
    array.as_string_opt().cloned().ok_or_else(|| wrong_type(path, &array))
}

fn list_column(batch: &RecordBatch, path: &str) -> Result<ListArray> {
    let array = column(batch, path)?;
    array.as_list_opt().cloned().ok_or_else(|| wrong_type(path, &array))
}

/// The items of a list of names and values, and for each row the place of the first with a name.
struct Named {
    values: ArrayRef,
    places: Vec<Option<usize>>,
}

impl Named {
    fn find(batch: &RecordBatch, path: &str, name: &str) -> Result<Self> {
        let list = list_column(batch, path)?;
        let wrong = || wrong_type(path, &list);
        let items = list.values().as_struct_opt().ok_or_else(wrong)?;
        let names = items.column_by_name("name").and_then(|names| names.as_string_opt::<i32>());
        let names = names.ok_or_else(wrong)?;
        let values = Arc::clone(items.column_by_name("value").ok_or_else(wrong)?);
        // Bytes are compared where they lie: no text is made of them.
        let same = cmp::eq(names, &Scalar::new(StringArray::from_iter_values([name])))?;
        let mut same = match NullBuffer::union(same.nulls(), items.nulls()) {
            Some(nulls) => (same.values() & nulls.inner()).set_indices().collect::<Vec<_>>(),
            None => same.values().set_indices().collect(),
        }
        .into_iter()
        .peekable();
        let mut places = Vec::with_capacity(list.len());
        let mut ends = list.value_offsets().iter().map(|end| usize::try_from(*end).unwrap_or(0));
        let mut start = ends.next().unwrap_or(0);
        for (row, end) in ends.enumerate() {
            while same.next_if(|&item| item < start).is_some() {}
            let found = same.next_if(|&item| item < end);
            places.push(found.filter(|_| list.is_valid(row)));
            start = end;
        }
        Ok(Self { values, places })
    }
}

impl Text {
    fn evaluate(&self, batch: &RecordBatch) -> Result<Values<StringArray>> {
        Ok(match self {
            Self::Null => Values::single(StringArray::new_null(1)),
            Self::Literal(text) => Values::single(StringArray::from_iter_values([text])),
            Self::Column(path) => Values::column(text_column(batch, path)?),
            Self::Label(name) => {
                let named = Named::find(batch, "labels", name)?;
                let wrong = || wrong_type("labels", &named.values);
                let values = named.values.as_string_opt::<i32>().ok_or_else(wrong)?;
                let mut builder = StringBuilder::new();
                for place in named.places {
                    let place = place.filter(|&place| values.is_valid(place));
                    builder.append_option(place.map(|place| values.value(place)));
                }
                Values::column(builder.finish())
            }
        })
    }
}

impl Whole {
    fn evaluate(&self, batch: &RecordBatch) -> Result<Values<Int64Array>> {
        Ok(match self {
            Self::Null => Values::single(Int64Array::new_null(1)),
            Self::Literal(whole) => Values::single(Int64Array::from_value(*whole, 1)),
            Self::Column(path) => {
                let array = column(batch, path)?;
                Values::column(match array.data_type() {
                    DataType::UInt16 => array.as_primitive::<UInt16Type>().unary(i64::from),
                    DataType::UInt32 => array.as_primitive::<UInt32Type>().unary(i64::from),
                    DataType::UInt64 => {
                        let whole = |number| i64::try_from(number).ok();
                        array.as_primitive::<UInt64Type>().unary_opt(whole)
                    }
                    _ => return Err(wrong_type(path, &array)),
                })
            }
            Self::Characters(text) => {
                let Values { array, single } = text.evaluate(batch)?;
                let count = |text: &str| i64::try_from(text.chars().count()).ok();
                let array = array.iter().map(|text| text.and_then(count)).collect();
                Values { array, single }
            }
            Self::Items(path) => {
                let list = list_column(batch, path)?;
                let lengths = list.offsets().lengths().map(|length| i64::try_from(length).ok());
                let rows = lengths.enumerate();
                let known = rows.map(|(row, length)| length.filter(|_| list.is_valid(row)));
                Values::column(known.collect())
            }
            Self::Negative(whole) => {
                let Values { array, single } = whole.evaluate(batch)?;
                Values { array: array.unary_opt(i64::checked_neg), single }
            }
            Self::Arithmetic(arithmetic, sides) => {
                let [left, right] = sides.as_ref();
                let (left, right) = (left.evaluate(batch)?, right.evaluate(batch)?);
                let compute = match arithmetic {
                    Arithmetic::Plus => i64::checked_add,
                    Arithmetic::Minus => i64::checked_sub,
                    Arithmetic::Times => i64::checked_mul,
                    Arithmetic::Divide => i64::checked_div,
                    Arithmetic::Remainder => i64::checked_rem,
                };
                computed::<Int64Type>(&left, &right, compute)
            }
        })
    }
}

impl Real {
    fn evaluate(&self, batch: &RecordBatch) -> Result<Values<Float64Array>> {
        Ok(match self {
            Self::Null => Values::single(Float64Array::new_null(1)),
            Self::Literal(real) => Values::single(Float64Array::from_value(comparable(*real), 1)),
            Self::Column(path) => {
                let array = column(batch, path)?;
                let wrong = || wrong_type(path, &array);
                let array = array.as_primitive_opt::<Float64Type>().ok_or_else(wrong)?;
                Values::column(array.unary(comparable))
            }
            Self::Score(name) => {
                let named = Named::find(batch, "scores", name)?;
                let wrong = || wrong_type("scores", &named.values);
                let values = named.values.as_primitive_opt::<Float64Type>().ok_or_else(wrong)?;
                let value =
                    |place: usize| values.is_valid(place).then(|| comparable(values.value(place)));
                let places = named.places.into_iter();
                Values::column(places.map(|place| place.and_then(value)).collect())
            }
            Self::Whole(whole) => {
                let Values { array, single } = whole.evaluate(batch)?;
                Values { array: array.unary(|whole| whole as f64), single }
            }
            Self::Negative(real) => {
                let Values { array, single } = real.evaluate(batch)?;
                Values { array: array.unary(|real| comparable(-real)), single }
            }
            Self::Arithmetic(arithmetic, sides) => {
                let [left, right] = sides.as_ref();
                let (left, right) = (left.evaluate(batch)?, right.evaluate(batch)?);
                computed::<Float64Type>(&left, &right, |left, right| {
                    let result = match arithmetic {
                        Arithmetic::Plus => left + right,
                        Arithmetic::Minus => left - right,
                        Arithmetic::Times => left * right,
                        Arithmetic::Divide => left / right,
                        Arithmetic::Remainder => left % right,
                    };
                    // What is divided by zero, or too large, is no number.
                    result.is_finite().then(|| comparable(result))
                })
            }
        })
    }
}

/// The number as Arrow's total order has it where DuckDB puts it: one zero, and one NaN, above all.
fn comparable(real: f64) -> f64 {
    if real.is_nan() { f64::NAN } else { real + 0.0 }
}

/// Computes with two sides, where neither is NULL; `None` is NULL.
fn computed<T: ArrowPrimitiveType>(
    left: &Values<PrimitiveArray<T>>,
    right: &Values<PrimitiveArray<T>>,
    compute: impl Fn(T::Native, T::Native) -> Option<T::Native>,
) -> Values<PrimitiveArray<T>> {
    let first = |values: &Values<PrimitiveArray<T>>| values.array.iter().next().flatten();
    match (left.single, right.single) {
        (true, true) => {
            let (left, right) = (first(left), first(right));
            let value = left.zip(right).and_then(|(left, right)| compute(left, right));
            Values::single(std::iter::once(value).collect())
        }
        (true, false) => Values::column(match first(left) {
            Some(left) => right.array.unary_opt(|right| compute(left, right)),
            None => PrimitiveArray::new_null(right.array.len()),
        }),
        (false, true) => Values::column(match first(right) {
            Some(right) => left.array.unary_opt(|left| compute(left, right)),
            None => PrimitiveArray::new_null(left.array.len()),
        }),
        (false, false) => {
            let rows = left.array.iter().zip(&right.array);
            let rows = rows.map(|(left, right)| left.zip(right));
            Values::column(
                rows.map(|sides| sides.and_then(|(left, right)| compute(left, right))).collect(),
            )
        }
    }
}

impl Operands {
    fn evaluate(&self, batch: &RecordBatch) -> Result<Vec<Box<dyn Datum>>> {
        fn boxed<A: Array + 'static>(values: Values<A>) -> Box<dyn Datum> {
            Box::new(values)
        }
        match self {
            Self::Text(list) => list.iter().map(|text| text.evaluate(batch).map(boxed)).collect(),
            Self::Whole(list) => {
                list.iter().map(|whole| whole.evaluate(batch).map(boxed)).collect()
            }
            Self::Real(list) => list.iter().map(|real| real.evaluate(batch).map(boxed)).collect(),
            Self::Truth(list) => {
                list.iter().map(|truth| truth.evaluate(batch).map(boxed)).collect()
            }
        }
    }
}

fn is_single(operand: &dyn Datum) -> bool {
    operand.get().1
}

fn compared(
    comparison: Comparison,
    left: &dyn Datum,
    right: &dyn Datum,
) -> Result<Values<BooleanArray>> {
    let array = match comparison {
        Comparison::Equal => cmp::eq(left, right),
        Comparison::NotEqual => cmp::neq(left, right),
        Comparison::Less => cmp::lt(left, right),
        Comparison::LessOrEqual => cmp::lt_eq(left, right),
        Comparison::Greater => cmp::gt(left, right),
        Comparison::GreaterOrEqual => cmp::gt_eq(left, right),
        Comparison::Distinct => cmp::distinct(left, right),
        Comparison::NotDistinct => cmp::not_distinct(left, right),
    }?;
    Ok(Values { array, single: is_single(left) && is_single(right) })
}

impl Truth {
    fn rows(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        Ok(self.evaluate(batch)?.into_rows(batch.num_rows()))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<Values<BooleanArray>> {
        Ok(match self {
            Self::Null => Values::single(BooleanArray::new_null(1)),
            Self::Literal(value) => Values::single(BooleanArray::from(vec![*value])),
            Self::Not(inner) => {
                let Values { array, single } = inner.evaluate(batch)?;
                Values { array: boolean::not(&array)?, single }
            }
            Self::All(list) => Values::column(joined(list, batch, true)?),
            Self::Any(list) => Values::column(joined(list, batch, false)?),
            Self::Compare(comparison, operands) => match operands.evaluate(batch)?.as_slice() {
                [left, right] => compared(*comparison, left.as_ref(), right.as_ref())?,
                _ => Values::single(BooleanArray::new_null(1)),
            },
            Self::Between(operands) => match operands.evaluate(batch)?.as_slice() {
                [value, low, high] => {
                    let rows = batch.num_rows();
                    let low = compared(Comparison::GreaterOrEqual, value.as_ref(), low.as_ref())?;
                    let high = compared(Comparison::LessOrEqual, value.as_ref(), high.as_ref())?;
                    let (low, high) = (low.into_rows(rows), high.into_rows(rows));
                    Values::column(boolean::and_kleene(&low, &high)?)
                }
                _ => Values::single(BooleanArray::new_null(1)),
            },
            Self::In(operands, members, has_null) => {
                Values::column(is_in(operands, members, *has_null, batch)?)
            }
            Self::Like(text, pattern) => {
                let Values { array, single } = text.evaluate(batch)?;
                Values { array: like_rows(&array, pattern), single }
            }
            Self::IsNull(operands) => match operands.evaluate(batch)?.as_slice() {
                [operand] => {
                    let (array, single) = operand.get();
                    Values { array: boolean::is_null(array)?, single }
                }
                _ => Values::single(BooleanArray::new_null(1)),
            },
            Self::IsNullColumn(path) => {
                Values::column(boolean::is_null(column(batch, path)?.as_ref())?)
            }
            Self::Is(inner, wanted) => {
                let Values { array, single } = inner.evaluate(batch)?;
                let wanted = Values::single(BooleanArray::from(vec![*wanted]));
                let array = Values { array, single };
                compared(Comparison::NotDistinct, &array, &wanted)?
            }
        })
    }
}

/// All or any of several conditions. What is left is not looked at once no row depends on it.
fn joined(list: &[Truth], batch: &RecordBatch, all: bool) -> Result<BooleanArray> {
    let rows = batch.num_rows();
    let mut result = BooleanArray::from(vec![all; rows]);
    for truth in list {
        let next = truth.rows(batch)?;
        result = if all {
            boolean::and_kleene(&result, &next)?
        } else {
            boolean::or_kleene(&result, &next)?
        };
        let decided = if all { result.false_count() } else { result.true_count() };
        if decided == rows {
            break;
        }
    }
    Ok(result)
}

fn is_in(
    operands: &Operands,
    members: &Members,
    has_null: bool,
    batch: &RecordBatch,
) -> Result<BooleanArray> {
    let rows = batch.num_rows();
    let evaluated = operands.evaluate(batch)?;
    let [value, others @ ..] = evaluated.as_slice() else {
        return Ok(BooleanArray::new_null(rows));
    };
    let (array, single) = value.get();
    let null_or = |found: bool| if found || !has_null { Some(found) } else { None };
    let array: BooleanArray = match operands {
        Operands::Text(_) => array
            .as_string::<i32>()
            .iter()
            .map(|text| text.and_then(|text| null_or(members.texts.contains(text))))
            .collect(),
        Operands::Whole(_) => array
            .as_primitive::<Int64Type>()
            .iter()
            .map(|whole| whole.and_then(|whole| null_or(members.wholes.contains(&whole))))
            .collect(),
        Operands::Real(_) => array
            .as_primitive::<Float64Type>()
            .iter()
            .map(|real| real.and_then(|real| null_or(members.reals.contains(&real.to_bits()))))
            .collect(),
        Operands::Truth(_) => {
            array.as_boolean().iter().map(|value| value.and(Some(false))).collect()
        }
    };
    let mut result = Values { array, single }.into_rows(rows);
    for other in others {
        let equal = compared(Comparison::Equal, value.as_ref(), other.as_ref())?;
        result = boolean::or_kleene(&result, &equal.into_rows(rows))?;
    }
    Ok(result)
}

fn like_rows(array: &StringArray, pattern: &Pattern) -> BooleanArray {
    if !pattern.is_folded() {
        return BooleanArray::from_unary(array, |text| pattern.matches(text));
    }
    let mut folded = String::new();
    BooleanArray::from_unary(array, |text| {
        like::fold(text, &mut folded);
        pattern.matches(&folded)
    })
}
