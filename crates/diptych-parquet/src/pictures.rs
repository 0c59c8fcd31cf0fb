//! The pictures of a column, row by row.

use diptych_format::FormatError;
use diptych_format::table::Table;
use diptych_storage::Limits;
use diptych_storage::parquet::chunk::{Cell, Chunk, Rows, ValueFault};

use crate::columns::PictureField;
use crate::reader::FileReader;

/// A column of pictures, gone through.
pub(crate) struct PictureRows {
    pub(crate) field: PictureField,
    /// Those of the row group; `None` before the first, and where it cannot be read.
    rows: Option<Rows>,
    /// Those of the row.
    pub(crate) cells: Vec<Cell>,
    /// Why the rest of the row group cannot be read: a fragment.
    pub(crate) fault: Option<String>,
}

impl PictureRows {
    pub(crate) fn new(field: PictureField) -> Self {
        Self { field, rows: None, cells: Vec::new(), fault: None }
    }

    /// Goes to a row group.
    pub(crate) fn open(&mut self, table: &Table, group: usize, limits: &Limits) {
        let chunk = Chunk::open(table.input(), table.metadata(), group, self.field.leaf, limits);
        (self.rows, self.fault) = match chunk {
            Ok(chunk) => (Some(Rows::new(chunk)), None),
            Err(why) => (None, Some(why)),
        };
    }

    /// Whether there are rows behind the last one that was gone to.
    pub(crate) fn has_more(&mut self) -> bool {
        self.rows.as_mut().is_some_and(|rows| matches!(rows.next_row(), Ok(Some(_))))
    }

    /// Goes to the next row.
    pub(crate) fn advance(&mut self, reader: &FileReader, file: u32) -> Result<(), FormatError> {
        self.cells.clear();
        let Some(rows) = &mut self.rows else { return Ok(()) };
        let why = match rows.next_row() {
            Ok(Some(cells)) => {
                self.cells = cells;
                return Ok(());
            }
            Ok(None) => "it has fewer rows than its row group".to_owned(),
            // A file that ends before its columns do is damaged; one that cannot be read is not.
            Err(ValueFault::Read(error)) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                return Err(reader.archives.read_error(file, error));
            }
            Err(fault) => fault.to_string(),
        };
        (self.rows, self.fault) = (None, Some(why));
        Ok(())
    }
}
