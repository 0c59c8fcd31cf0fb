//! How a Rust type is a column: its Arrow type, and the way there and back.
//!
//! A [`Column`] is a scalar, a word of a vocabulary, an option, a list or a [`Record`]; a record
//! is a struct whose columns [`record!`] lists once for the schema and both ways.

use std::sync::Arc;

use arrow_array::builder::GenericByteBuilder;
use arrow_array::types::{
    BinaryType, ByteArrayType, Float64Type, UInt16Type, UInt32Type, UInt64Type, Utf8Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, ListArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::error::{At, ColumnFault, EncodeFault, ValueFault};

/// A type that can be a column.
pub(super) trait Column: Sized + 'static {
    /// A value as a column is built from it: borrowed, or copied where that is as cheap.
    type Ref<'a>: Copy;
    /// The column of one batch, of which the types have been checked.
    type Reader<'a>;

    /// Whether the schema allows null.
    const NULLABLE: bool = true;

    /// The column's type.
    fn data_type() -> DataType;

    /// The value as [`Column::encode`] takes it.
    fn borrow(&self) -> Self::Ref<'_>;

    /// The column of these values; `None` is null, or lies in a struct that is null.
    fn encode(values: Vec<Option<Self::Ref<'_>>>) -> Result<ArrayRef, At<EncodeFault>>;

    /// The column in an array.
    fn open(array: &dyn Array) -> Result<Self::Reader<'_>, At<ColumnFault>>;

    /// The value in a row; `None` where it is null.
    fn read(reader: &Self::Reader<'_>, row: usize) -> Result<Option<Self>, At<ValueFault>>;
}

/// A struct of columns. Implemented by [`record!`].
pub(super) trait Record: Sized + 'static {
    /// The columns of one batch.
    type Columns<'a>;

    /// The columns' names and types.
    fn fields() -> Vec<Field>;

    /// The columns of these rows, as in [`Record::fields`].
    fn encode_columns(rows: &[Option<&Self>]) -> Result<Vec<ArrayRef>, At<EncodeFault>>;

    /// The columns in a struct, found by their names.
    fn open_columns(table: &StructArray) -> Result<Self::Columns<'_>, At<ColumnFault>>;

    /// A row, of which the struct itself is not null.
    fn read_row(columns: &Self::Columns<'_>, row: usize) -> Result<Self, At<ValueFault>>;
}

/// Lists the columns of a type and implements [`Record`] for it.
///
/// The short form is for structs: columns are fields, `as` gives one another name. The long form
/// is for enums: each column says how it is taken from a value (null with `None`), and `build`
/// makes the value from all columns as they were read.
macro_rules! record {
    ($record:ident { $($field:ident $(as $name:literal)?: $type:ty,)+ }) => {
        record! {
            $record {
                $($field $(as $name)?: $type = |record| Column::borrow(&record.$field),)+
            } build Ok($record { $($field,)+ })
        }
    };
    ($record:ident {
        $($field:ident $(as $name:literal)?: $type:ty = $get:expr,)+
    } build $build:expr) => {
        impl Record for $record {
            type Columns<'a> = ($(<$type as Column>::Reader<'a>,)+);

            fn fields() -> Vec<Field> {
                vec![$(column::field::<$type>(record!(@name $field $($name)?)),)+]
            }

            fn encode_columns(rows: &[Option<&Self>]) -> Result<Vec<ArrayRef>, At<EncodeFault>> {
                Ok(vec![
                    $(column::encode_field::<Self, $type>(
                        record!(@name $field $($name)?), rows, $get,
                    )?,)+
                ])
            }

            fn open_columns(table: &StructArray) -> Result<Self::Columns<'_>, At<ColumnFault>> {
                Ok(($(column::open_field::<$type>(table, record!(@name $field $($name)?))?,)+))
            }

            fn read_row(columns: &Self::Columns<'_>, row: usize) -> Result<Self, At<ValueFault>> {
                let ($($field,)+) = columns;
                $(let $field =
                    column::read_field::<$type>($field, record!(@name $field $($name)?), row)?;)+
                $build
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}
pub(super) use record;

/// The field of this name and of the type's column.
pub(super) fn field<T: Column>(name: &str) -> Field {
    Field::new(name, T::data_type(), T::NULLABLE)
}

/// The column `name` of the rows, of which `get` takes a value.
pub(super) fn encode_field<'a, R, T: Column>(
    name: &str,
    rows: &[Option<&'a R>],
    get: impl Fn(&'a R) -> T::Ref<'a>,
) -> Result<ArrayRef, At<EncodeFault>> {
    let values = rows.iter().map(|row| row.map(&get)).collect();
    T::encode(values).map_err(|at| at.in_field(name))
}

/// The column `name` of a struct.
pub(super) fn open_field<'a, T: Column>(
    table: &'a StructArray,
    name: &str,
) -> Result<T::Reader<'a>, At<ColumnFault>> {
    table
        .column_by_name(name)
        .ok_or_else(|| At::new(ColumnFault::Missing { expected: T::data_type() }))
        .and_then(|array| T::open(array.as_ref()))
        .map_err(|at| at.in_field(name))
}

/// The value in a row of the column `name`, which may be null for options alone.
pub(super) fn read_field<T: Column>(
    reader: &T::Reader<'_>,
    name: &str,
    row: usize,
) -> Result<T, At<ValueFault>> {
    required(T::read(reader, row)).map_err(|at| at.in_field(name))
}

fn required<T>(value: Result<Option<T>, At<ValueFault>>) -> Result<T, At<ValueFault>> {
    value?.ok_or_else(|| At::new(ValueFault::Null))
}

fn downcast<T: Column, A: Array + 'static>(array: &dyn Array) -> Result<&A, At<ColumnFault>> {
    array.as_any().downcast_ref().ok_or_else(|| {
        let found = array.data_type().clone();
        At::new(ColumnFault::WrongType { found, expected: T::data_type() })
    })
}

/// The sum of the lengths, where Arrow's 31-bit offsets can count it: its builders panic beyond.
fn total(lengths: impl Iterator<Item = usize>) -> Result<usize, At<EncodeFault>> {
    let found = lengths.fold(0, usize::saturating_add);
    match i32::try_from(found) {
        Ok(_) => Ok(found),
        Err(_) => Err(At::new(EncodeFault::TooLarge { found })),
    }
}

macro_rules! numbers {
    ($($number:ty: $arrow:ty, $data_type:ident;)+) => { $(
        impl Column for $number {
            type Ref<'a> = Self;
            type Reader<'a> = &'a PrimitiveArray<$arrow>;

            fn data_type() -> DataType {
                DataType::$data_type
            }

            fn borrow(&self) -> Self {
                *self
            }

            fn encode(values: Vec<Option<Self>>) -> Result<ArrayRef, At<EncodeFault>> {
                Ok(Arc::new(PrimitiveArray::<$arrow>::from(values)))
            }

            fn open(array: &dyn Array) -> Result<Self::Reader<'_>, At<ColumnFault>> {
                downcast::<Self, _>(array)
            }

            fn read(
                reader: &Self::Reader<'_>,
                row: usize,
            ) -> Result<Option<Self>, At<ValueFault>> {
                Ok(reader.is_valid(row).then(|| reader.value(row)))
            }
        }
    )+ };
}

numbers! {
    u16: UInt16Type, UInt16;
    u32: UInt32Type, UInt32;
    u64: UInt64Type, UInt64;
    f64: Float64Type, Float64;
}

macro_rules! byte_strings {
    ($($owned:ty: $borrowed:ty, $array:ty, $arrow:ty, $data_type:ident;)+) => { $(
        impl Column for $owned {
            type Ref<'a> = &'a $borrowed;
            type Reader<'a> = &'a $array;

            fn data_type() -> DataType {
                DataType::$data_type
            }

            fn borrow(&self) -> &$borrowed {
                self
            }

            fn encode(values: Vec<Option<&$borrowed>>) -> Result<ArrayRef, At<EncodeFault>> {
                encode_bytes::<$arrow>(&values)
            }

            fn open(array: &dyn Array) -> Result<Self::Reader<'_>, At<ColumnFault>> {
                downcast::<Self, _>(array)
            }

            fn read(
                reader: &Self::Reader<'_>,
                row: usize,
            ) -> Result<Option<Self>, At<ValueFault>> {
                Ok(reader.is_valid(row).then(|| reader.value(row).to_owned()))
            }
        }
    )+ };
}

byte_strings! {
    String: str, StringArray, Utf8Type, Utf8;
    Vec<u8>: [u8], BinaryArray, BinaryType, Binary;
}

fn encode_bytes<T: ByteArrayType<Offset = i32>>(
    values: &[Option<&T::Native>],
) -> Result<ArrayRef, At<EncodeFault>> {
    let bytes = total(values.iter().flatten().map(|value| {
        let bytes: &[u8] = value.as_ref();
        bytes.len()
    }))?;
    let mut builder = GenericByteBuilder::<T>::with_capacity(values.len(), bytes);
    for value in values {
        builder.append_option(*value);
    }
    Ok(Arc::new(builder.finish()))
}

/// Columns of words, from the types' ways to and from their words.
macro_rules! words {
    ($($type:ty: $word:ident, $from_word:ident;)+) => { $(
        impl Column for $type {
            type Ref<'a> = Self;
            type Reader<'a> = &'a StringArray;

            fn data_type() -> DataType {
                String::data_type()
            }

            fn borrow(&self) -> Self {
                *self
            }

            fn encode(values: Vec<Option<Self>>) -> Result<ArrayRef, At<EncodeFault>> {
                String::encode(values.into_iter().map(|value| value.map(Self::$word)).collect())
            }

            fn open(array: &dyn Array) -> Result<Self::Reader<'_>, At<ColumnFault>> {
                String::open(array)
            }

            fn read(
                reader: &Self::Reader<'_>,
                row: usize,
            ) -> Result<Option<Self>, At<ValueFault>> {
                if reader.is_null(row) {
                    return Ok(None);
                }
                let found = reader.value(row);
                Self::$from_word(found).map(Some).ok_or_else(|| {
                    let expected = Self::ALL.iter().map(|word| word.$word()).collect();
                    At::new(ValueFault::UnknownWord { found: found.to_owned(), expected })
                })
            }
        }
    )+ };
}
pub(super) use words;

impl<T: Column> Column for Option<T> {
    type Ref<'a> = Option<T::Ref<'a>>;
    type Reader<'a> = T::Reader<'a>;

    fn data_type() -> DataType {
        T::data_type()
    }

    fn borrow(&self) -> Self::Ref<'_> {
        self.as_ref().map(T::borrow)
    }

    fn encode(values: Vec<Option<Self::Ref<'_>>>) -> Result<ArrayRef, At<EncodeFault>> {
        T::encode(values.into_iter().map(Option::flatten).collect())
    }

    fn open(array: &dyn Array) -> Result<Self::Reader<'_>, At<ColumnFault>> {
        T::open(array)
    }

    fn read(reader: &Self::Reader<'_>, row: usize) -> Result<Option<Self>, At<ValueFault>> {
        T::read(reader, row).map(Some)
    }
}

impl<T: Column> Column for Vec<T> {
    type Ref<'a> = &'a [T];
    type Reader<'a> = (&'a ListArray, T::Reader<'a>);

    const NULLABLE: bool = false;

    fn data_type() -> DataType {
        DataType::List(Arc::new(field::<T>(Field::LIST_FIELD_DEFAULT_NAME)))
    }

    fn borrow(&self) -> &[T] {
        self
    }

    fn encode(values: Vec<Option<&[T]>>) -> Result<ArrayRef, At<EncodeFault>> {
        let lists = || values.iter().map(|list| list.unwrap_or_default());
        total(lists().map(<[T]>::len))?;
        let offsets = OffsetBuffer::from_lengths(lists().map(<[T]>::len));
        let items = T::encode(lists().flatten().map(|item| Some(item.borrow())).collect())
            .map_err(At::in_items)?;
        let item = Arc::new(field::<T>(Field::LIST_FIELD_DEFAULT_NAME));
        match ListArray::try_new(item, offsets, items, None) {
            Ok(array) => Ok(Arc::new(array)),
            Err(error) => Err(At::new(error.into())),
        }
    }

    fn open(array: &dyn Array) -> Result<Self::Reader<'_>, At<ColumnFault>> {
        let list = downcast::<Self, ListArray>(array)?;
        Ok((list, T::open(list.values().as_ref()).map_err(At::in_items)?))
    }

    fn read((list, items): &Self::Reader<'_>, row: usize) -> Result<Option<Self>, At<ValueFault>> {
        if list.is_null(row) {
            return Ok(None);
        }
        let start = list.value_offsets().get(row).map_or(0, |offset| offset.as_usize());
        let length = list.value_length(row).as_usize();
        (0..length)
            .map(|i| required(T::read(items, start + i)).map_err(|at| at.in_item(i)))
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

impl<T: Record> Column for T {
    type Ref<'a> = &'a T;
    type Reader<'a> = (Option<&'a NullBuffer>, T::Columns<'a>);

    fn data_type() -> DataType {
        DataType::Struct(T::fields().into())
    }

    fn borrow(&self) -> &T {
        self
    }

    fn encode(values: Vec<Option<&T>>) -> Result<ArrayRef, At<EncodeFault>> {
        let nulls: NullBuffer = values.iter().map(Option::is_some).collect();
        let columns = T::encode_columns(&values)?;
        match StructArray::try_new(T::fields().into(), columns, Some(nulls)) {
            Ok(array) => Ok(Arc::new(array)),
            Err(error) => Err(At::new(error.into())),
        }
    }

    fn open(array: &dyn Array) -> Result<Self::Reader<'_>, At<ColumnFault>> {
        let table = downcast::<Self, StructArray>(array)?;
        Ok((table.nulls(), T::open_columns(table)?))
    }

    fn read(
        (nulls, columns): &Self::Reader<'_>,
        row: usize,
    ) -> Result<Option<Self>, At<ValueFault>> {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        T::read_row(columns, row).map(Some)
    }
}
