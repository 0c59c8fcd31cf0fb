//! The columns of pictures without the bytes: what each picture is called.
//!
//! They have the whole type of such a column, so that Arrow says what is there and what is not.
//! The bytes in them are null, and go into the file another way.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StringArray, StructArray, new_null_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Fields};
use diptych_format::record::columns::{ColumnsError, PictureColumns};

/// The names of some rows' pictures.
#[derive(Debug, Default)]
pub(crate) struct PathColumns {
    sources: Vec<Option<String>>,
    references: Vec<Option<String>>,
    /// How many of the references are each row's.
    lengths: Vec<usize>,
    targets: Vec<Option<String>>,
    masks: Vec<Option<String>>,
}

impl PathColumns {
    /// Appends a row.
    pub(crate) fn push(
        &mut self,
        source: String,
        references: impl Iterator<Item = String>,
        target: Option<String>,
        mask: Option<String>,
    ) {
        let before = self.references.len();
        self.references.extend(references.map(Some));
        self.lengths.push(self.references.len() - before);
        self.sources.push(Some(source));
        self.targets.push(target);
        self.masks.push(mask);
    }

    /// The columns, in the order of [`PictureColumns::fields`]. None of the rows is left.
    ///
    /// # Errors
    /// [`ColumnsError::Columns`] where they are not of the types that these say.
    pub(crate) fn take(&mut self) -> Result<Vec<ArrayRef>, ColumnsError> {
        let rows = std::mem::take(self);
        let fields = PictureColumns::Embedded.fields();
        let mut columns = Vec::with_capacity(fields.len());
        let all = [&rows.sources, &rows.references, &rows.targets, &rows.masks];
        for (field, paths) in fields.iter().zip(all) {
            columns.push(match field.data_type() {
                DataType::List(element) => {
                    let DataType::Struct(inner) = element.data_type() else { continue };
                    let values = Arc::new(pictures(inner, paths)?);
                    let offsets = OffsetBuffer::from_lengths(rows.lengths.iter().copied());
                    let list = ListArray::try_new(Arc::clone(element), offsets, values, None);
                    Arc::new(list.map_err(ColumnsError::Columns)?) as ArrayRef
                }
                DataType::Struct(inner) => Arc::new(pictures(inner, paths)?),
                _ => continue,
            });
        }
        Ok(columns)
    }
}

/// A struct for each picture, null where there is none.
fn pictures(fields: &Fields, paths: &[Option<String>]) -> Result<StructArray, ColumnsError> {
    let there: NullBuffer = paths.iter().map(Option::is_some).collect::<Vec<_>>().into();
    let paths = Arc::new(StringArray::from_iter(paths));
    let arrays: Vec<ArrayRef> = vec![new_null_array(&DataType::Binary, paths.len()), paths];
    StructArray::try_new(fields.clone(), arrays, Some(there)).map_err(ColumnsError::Columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_what_they_were_given() {
        let mut paths = PathColumns::default();
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        paths.push("a.source.png".into(), names(&[]).into_iter(), None, Some("a.mask.png".into()));
        paths.push(
            "b.source.png".into(),
            names(&["b.reference0.png", "b.reference1.jpg"]).into_iter(),
            Some("b.target.png".into()),
            None,
        );
        let columns = paths.take().unwrap();
        let types: Vec<_> = columns.iter().map(|column| column.data_type().clone()).collect();
        let fields = PictureColumns::Embedded.fields();
        assert_eq!(types, fields.iter().map(|f| f.data_type().clone()).collect::<Vec<_>>());
        let nulls: Vec<Vec<_>> =
            columns.iter().map(|column| (0..2).map(|row| column.is_null(row)).collect()).collect();
        assert_eq!(nulls, [[false, false], [false, false], [true, false], [false, true]]);
        let list = columns[1].as_any().downcast_ref::<ListArray>().unwrap();
        assert_eq!((list.value_length(0), list.value_length(1)), (0, 2));
        assert!(paths.take().unwrap().iter().all(Array::is_empty));
    }
}
