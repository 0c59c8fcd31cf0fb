//! What went in comes out, however the batch was cut or turned meanwhile.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{Schema, SchemaRef};
use proptest::prelude::*;

use super::strategy::pairs;
use crate::arrow::{catalog_schema, decode, encode};

/// The batch as other tools leave it: columns and fields of structs in the order reversed, all
/// of them nullable, one column more and no metadata.
fn rewritten(batch: &RecordBatch) -> RecordBatch {
    fn reversed(table: &StructArray) -> StructArray {
        let columns = table.fields().iter().zip(table.columns()).rev();
        let (fields, columns): (Vec<_>, Vec<ArrayRef>) = columns
            .map(|(field, column)| {
                let inner = column.as_any().downcast_ref::<StructArray>();
                let column: ArrayRef = match inner {
                    Some(table) => Arc::new(reversed(table)),
                    None => Arc::clone(column),
                };
                let field = field.as_ref().clone().with_nullable(true);
                (field.with_data_type(column.data_type().clone()), column)
            })
            .unzip();
        StructArray::try_new(fields.into(), columns, table.nulls().cloned()).unwrap()
    }
    let table = reversed(&StructArray::from(batch.clone()));
    let mut fields = table.fields().to_vec();
    let mut columns = table.columns().to_vec();
    fields.push(Arc::new(fields[0].as_ref().clone().with_name("not of the schema")));
    columns.push(Arc::clone(&columns[0]));
    RecordBatch::try_new(SchemaRef::new(Schema::new(fields)), columns).unwrap()
}

#[test]
fn no_pairs_make_an_empty_batch() {
    let batch = encode(&[]).unwrap();
    assert_eq!((batch.num_rows(), batch.schema()), (0, catalog_schema()));
    assert_eq!(decode(&batch).unwrap(), []);
}

proptest! {
    #[test]
    fn pairs_come_back_the_same(pairs in pairs()) {
        let batch = encode(&pairs).unwrap();
        prop_assert_eq!(batch.schema(), catalog_schema());
        prop_assert_eq!(decode(&batch).unwrap(), pairs);
    }

    #[test]
    fn a_slice_holds_its_own_pairs(
        pairs in pairs(),
        a in any::<prop::sample::Index>(),
        b in any::<prop::sample::Index>(),
    ) {
        let (a, b) = (a.index(pairs.len() + 1), b.index(pairs.len() + 1));
        let (start, end) = (a.min(b), a.max(b));
        let slice = encode(&pairs).unwrap().slice(start, end - start);
        prop_assert_eq!(decode(&slice).unwrap(), &pairs[start..end]);
        // What is rewritten from a slice is a slice still, with columns that begin elsewhere.
        prop_assert_eq!(decode(&rewritten(&slice)).unwrap(), &pairs[start..end]);
    }

    #[test]
    fn the_order_of_columns_does_not_matter(
        pairs in pairs(),
        order in Just((0..catalog_schema().fields().len()).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let batch = encode(&pairs).unwrap().project(&order).unwrap();
        prop_assert_eq!(decode(&batch).unwrap(), pairs);
    }
}
