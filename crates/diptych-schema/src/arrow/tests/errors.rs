//! Every way in which a batch or pairs can be wrong, told by where and what.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    UInt32Array, new_null_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};

use crate::arrow::{
    ColumnFault, DecodeError, EncodeFault, VERSION_KEY, ValueFault, catalog_schema, decode, encode,
};
use crate::mask::{Combine, Edited, Grid, Mask, MaskOrigin, MaskPart};
use crate::pair::{Caption, EditPair};
use crate::picture::{Address, Picture, Reference};

fn picture(address: Address) -> Picture {
    Picture { name: "a.png".to_owned(), address, width: None, height: None, media_type: None }
}

fn range() -> Address {
    Address::Range { file: 1, offset: 512, length: 9 }
}

/// Two rows: a bare pair, and one with something in each column that is broken below.
fn batch() -> RecordBatch {
    let bare = EditPair::new("x:0".to_owned(), "x".to_owned(), picture(range()));
    let mut full = EditPair { pair_id: "x:1".to_owned(), ..bare.clone() };
    full.edit_type_native = vec!["Add".to_owned(), "Swap".to_owned()];
    full.captions = vec![Caption { text: "a cat".to_owned(), language: None, of: None }];
    full.references = ["u", "v"]
        .map(|url| Address::Url { url: url.to_owned(), sha256: None })
        .map(|address| Reference { picture: picture(address), role: None })
        .into();
    full.target =
        Some(picture(Address::Cell { file: 0, row_group: 0, column: 2, row: 7, length: 9 }));
    full.mask = Some(Mask {
        parts: vec![
            MaskPart::Picture(picture(Address::Inline(vec![0; 4]))),
            MaskPart::RunLength { counts: "05".to_owned(), width: 5, height: 1 },
        ],
        combine: Combine::Union,
        edited: Edited::White,
        grid: Grid::Source,
        origin: MaskOrigin::Release,
    });
    encode(&[bare, full]).unwrap()
}

/// The batch with the array at `path` put through `change` (`None` drops it); `[]` steps into
/// the items of a list.
fn changed(
    batch: &RecordBatch,
    path: &str,
    change: impl Fn(&ArrayRef) -> Option<ArrayRef>,
) -> RecordBatch {
    fn at(
        array: &ArrayRef,
        path: &[&str],
        change: &dyn Fn(&ArrayRef) -> Option<ArrayRef>,
    ) -> Option<ArrayRef> {
        let Some((step, rest)) = path.split_first() else {
            return change(array);
        };
        if let Some(list) = array.as_any().downcast_ref::<ListArray>() {
            assert_eq!(*step, "[]");
            let items = at(list.values(), rest, change)?;
            let item = Field::new_list_field(items.data_type().clone(), true);
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            return Some(Arc::new(ListArray::new(Arc::new(item), offsets, items, nulls)));
        }
        let table = array.as_any().downcast_ref::<StructArray>().unwrap();
        assert!(table.column_by_name(step).is_some(), "no {step}");
        let (fields, columns): (Vec<_>, Vec<_>) = table
            .column_names()
            .into_iter()
            .zip(table.columns())
            .filter_map(|(name, column)| {
                let column =
                    if name == *step { at(column, rest, change)? } else { Arc::clone(column) };
                Some((Field::new(name, column.data_type().clone(), true), column))
            })
            .unzip();
        Some(Arc::new(StructArray::new(fields.into(), columns, table.nulls().cloned())))
    }
    let path = path.replace("[]", ".[]");
    let path: Vec<_> = path.split('.').collect();
    let table: ArrayRef = Arc::new(StructArray::from(batch.clone()));
    let table = at(&table, &path, &change).unwrap();
    RecordBatch::from(table.as_any().downcast_ref::<StructArray>().unwrap())
}

fn nulls(array: &ArrayRef) -> Option<ArrayRef> {
    Some(new_null_array(array.data_type(), array.len()))
}

/// Text in every row.
fn text(word: &str) -> impl Fn(&ArrayRef) -> Option<ArrayRef> + use<'_> {
    move |array| Some(Arc::new(StringArray::from(vec![word; array.len()])))
}

#[track_caller]
fn check_column(path: &str, change: impl Fn(&ArrayRef) -> Option<ArrayRef>, want: &ColumnFault) {
    match decode(&changed(&batch(), path, change)).unwrap_err() {
        DecodeError::Column { column, fault } => assert_eq!((&*column, &fault), (path, want)),
        other => panic!("{other}"),
    }
}

#[track_caller]
fn check_value(
    path: &str,
    change: impl Fn(&ArrayRef) -> Option<ArrayRef>,
    want: &(&str, usize, ValueFault),
) {
    match decode(&changed(&batch(), path, change)).unwrap_err() {
        DecodeError::Value { column, row, fault } => assert_eq!(&(&*column, row, fault), want),
        other => panic!("{other}"),
    }
}

#[test]
fn a_newer_version_is_refused() {
    let versioned = |version: &str| {
        let metadata = [(VERSION_KEY.to_owned(), version.to_owned())];
        let schema = Schema::clone(&catalog_schema()).with_metadata(metadata);
        decode(&RecordBatch::try_new(Arc::new(schema), batch().columns().to_vec()).unwrap())
    };
    let newer = versioned("2").unwrap_err();
    assert_eq!(newer, DecodeError::NewerVersion { found: 2 });
    assert_eq!(newer.to_string(), "schema version 2 is newer than 1, the newest that can be read");
    let unreadable = DecodeError::UnreadableVersion { found: "one".to_owned() };
    assert_eq!(versioned("one").unwrap_err(), unreadable);
    assert_eq!(unreadable.to_string(), "schema version \"one\" is not a number");
    assert_eq!(versioned("1").unwrap().len(), 2);
}

#[test]
fn a_missing_column_is_named() {
    check_column("turn", |_| None, &ColumnFault::Missing { expected: DataType::UInt16 });
    for path in ["source.address.kind", "captions[].text", "mask.parts[].counts"] {
        check_column(path, |_| None, &ColumnFault::Missing { expected: DataType::Utf8 });
    }
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    assert_eq!(decode(&none).unwrap_err().to_string(), "column pair_id: missing; expected Utf8");
}

#[test]
fn a_column_of_another_type_is_named() {
    let found = DataType::Int64;
    let numbers = |array: &ArrayRef| -> Option<ArrayRef> {
        Some(Arc::new(Int64Array::from(vec![0; array.len()])))
    };
    for (path, expected) in [
        ("pair_id", DataType::Utf8),
        ("split", DataType::Utf8),
        ("turn", DataType::UInt16),
        ("source.address.offset", DataType::UInt64),
        ("references[].address.bytes", DataType::Binary),
        ("box.x0", DataType::Float64),
        ("edit_type_native[]", DataType::Utf8),
    ] {
        check_column(path, numbers, &ColumnFault::WrongType { found: found.clone(), expected });
    }
    for path in ["source", "captions", "mask.parts[]", "regions[].box"] {
        let error = decode(&changed(&batch(), path, numbers)).unwrap_err();
        let DecodeError::Column { column, fault: ColumnFault::WrongType { .. } } = &error else {
            panic!("{error}")
        };
        assert_eq!(column, path);
    }
    assert_eq!(
        decode(&changed(&batch(), "turn", numbers)).unwrap_err().to_string(),
        "column turn: found type Int64, expected UInt16"
    );
}

#[test]
fn null_is_refused_where_the_pair_has_no_place_for_it() {
    for (path, column, row) in [
        ("pair_id", "pair_id", 0),
        ("source", "source", 0),
        ("source.name", "source.name", 0),
        ("source.address", "source.address", 0),
        ("source.address.kind", "source.address.kind", 0),
        ("labels", "labels", 0),
        ("captions[]", "captions[0]", 1),
        ("captions[].text", "captions[0].text", 1),
        ("target.name", "target.name", 1),
        ("mask.parts", "mask.parts", 1),
        ("mask.edited", "mask.edited", 1),
        ("mask.parts[].kind", "mask.parts[0].kind", 1),
    ] {
        check_value(path, nulls, &(column, row, ValueFault::Null));
    }
    let last = |array: &ArrayRef| -> Option<ArrayRef> {
        let texts = array.as_any().downcast_ref::<StringArray>().unwrap();
        let mut texts: Vec<_> = texts.iter().collect();
        texts.pop();
        texts.push(None);
        Some(Arc::new(StringArray::from(texts)))
    };
    check_value("edit_type_native[]", last, &("edit_type_native[1]", 1, ValueFault::Null));
    assert_eq!(
        decode(&changed(&batch(), "captions[].text", nulls)).unwrap_err().to_string(),
        "column captions[0].text, row 1: found null, expected a value"
    );
}

#[test]
fn rows_count_from_the_start_of_the_slice() {
    let broken = changed(&batch(), "target.name", nulls);
    assert_eq!(decode(&broken.slice(0, 1)).unwrap().len(), 1);
    let DecodeError::Value { row, .. } = decode(&broken.slice(1, 1)).unwrap_err() else { panic!() };
    assert_eq!(row, 0);
}

#[test]
fn an_unknown_word_is_shown_with_the_known_ones() {
    for (path, column, row, expected) in [
        ("split", "split", 0, vec!["train", "val", "test"]),
        ("source.address.kind", "source.address.kind", 0, vec!["range", "cell", "inline", "url"]),
        (
            "references[].media_type",
            "references[0].media_type",
            1,
            vec!["image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp", "image/tiff"],
        ),
        ("mask.edited", "mask.edited", 1, vec!["white", "black", "nonzero", "painted"]),
        ("mask.parts[].kind", "mask.parts[0].kind", 1, vec!["picture", "run_length"]),
    ] {
        let found = "Train".to_owned();
        check_value(
            path,
            text("Train"),
            &(column, row, ValueFault::UnknownWord { found, expected }),
        );
    }
    assert_eq!(
        decode(&changed(&batch(), "split", text("Train"))).unwrap_err().to_string(),
        "column split, row 0: found \"Train\", expected one of train, val, test"
    );
}

#[test]
fn a_kind_without_its_fields_is_refused() {
    for (path, column, row, kind, missing) in [
        ("source.address.file", "source.address", 0, "range", "file"),
        ("source.address.offset", "source.address", 0, "range", "offset"),
        ("source.address.length", "source.address", 0, "range", "length"),
        ("target.address.file", "target.address", 1, "cell", "file"),
        ("target.address.row_group", "target.address", 1, "cell", "row_group"),
        ("target.address.column", "target.address", 1, "cell", "column"),
        ("target.address.row", "target.address", 1, "cell", "row"),
        ("references[].address.url", "references[0].address", 1, "url", "url"),
        (
            "mask.parts[].picture.address.bytes",
            "mask.parts[0].picture.address",
            1,
            "inline",
            "bytes",
        ),
        ("mask.parts[].picture", "mask.parts[0]", 1, "picture", "picture"),
        ("mask.parts[].counts", "mask.parts[1]", 1, "run_length", "counts"),
        ("mask.parts[].width", "mask.parts[1]", 1, "run_length", "width"),
        ("mask.parts[].height", "mask.parts[1]", 1, "run_length", "height"),
    ] {
        check_value(path, nulls, &(column, row, ValueFault::Incomplete { kind, missing }));
    }
    assert_eq!(
        decode(&changed(&batch(), "source.address.offset", nulls)).unwrap_err().to_string(),
        "column source.address, row 0: found null in \"offset\", expected a value for kind \"range\""
    );
}

#[test]
fn what_lies_under_a_null_is_not_looked_at() {
    // Arrow lets a null struct cover anything, and writers leave what they like there.
    let hidden = |array: &ArrayRef| -> Option<ArrayRef> {
        let table = array.as_any().downcast_ref::<StructArray>().unwrap();
        let (fields, columns, _) = table.clone().into_parts();
        Some(Arc::new(StructArray::new(fields, columns, Some(NullBuffer::new_null(array.len())))))
    };
    let batch = changed(&batch(), "mask.edited", text("grey"));
    let pairs = decode(&changed(&batch, "mask", hidden)).unwrap();
    assert!(pairs.iter().all(|pair| pair.mask.is_none()));
}

#[test]
fn fields_of_another_kind_are_ignored() {
    let bytes = |array: &ArrayRef| -> Option<ArrayRef> {
        Some(Arc::new(BinaryArray::from(vec![b"x".as_slice(); array.len()])))
    };
    let width = |array: &ArrayRef| -> Option<ArrayRef> {
        Some(Arc::new(UInt32Array::from(vec![5; array.len()])))
    };
    let batch = changed(&batch(), "source.address.bytes", bytes);
    let pairs = decode(&changed(&batch, "mask.parts[].width", width)).unwrap();
    assert_eq!(pairs[0].source.address, range());
}

#[test]
fn more_than_a_column_holds_is_an_error() {
    // Zeroed memory that nobody touches costs nothing, and the sum is taken before any copy.
    let gigabyte = || Address::Inline(vec![0; 1 << 30]);
    let mut pair = EditPair::new("x:0".to_owned(), "x".to_owned(), picture(gigabyte()));
    pair.references =
        vec![gigabyte(), gigabyte()].into_iter().map(picture).map(reference).collect();
    let error = encode(&[pair]).unwrap_err();
    assert_eq!(error.column, "references[].address.bytes");
    assert!(matches!(error.fault, EncodeFault::TooLarge { found } if found == 1 << 31));
    assert_eq!(
        error.to_string(),
        "column references[].address.bytes: 2147483648 bytes or items are more than the \
         2147483647 that one batch holds"
    );
}

fn reference(picture: Picture) -> Reference {
    Reference { picture, role: None }
}
