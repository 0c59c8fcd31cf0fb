//! A row group being put together.
//!
//! In a Parquet file the columns of a row group stand one after the other. What is small, the
//! records and the names of pictures, goes into the encoders of its columns as it comes. Of
//! pictures only the places are kept; their bytes are read when the turn of their column comes, one
//! picture at a time. So what is held does not grow with the pictures of a row group.

use std::io::Write;

use diptych_format::record::columns::{ColumnsError, PictureColumns, Records, beside};
use diptych_format::record::{Record, part_of, reference_role};
use diptych_format::writer::WrittenPicture;
use diptych_format::{FormatError, Payload, Sample};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;

use crate::layout::{Layout, PictureBytes};
use crate::path_columns::PathColumns;
use crate::picture_column::{PictureColumn, Waiting};
use crate::wire::Levels;

/// A row about to be taken in.
pub(crate) struct Row<'a> {
    sample: &'a Sample,
    /// Its record, as text.
    record: Vec<u8>,
    /// Numbers in it that became null because they are not finite.
    pub(crate) not_finite: u64,
}

impl<'a> Row<'a> {
    /// The row of a sample.
    ///
    /// # Errors
    /// [`FormatError::Json`].
    pub(crate) fn new(sample: &'a Sample) -> Result<Self, FormatError> {
        let (record, not_finite) = Record::new(sample, false);
        let record = serde_json::to_vec(&record)
            .map_err(|source| FormatError::Json { what: "a record", source })?;
        Ok(Self { sample, record, not_finite })
    }

    fn pictures(&self) -> impl Iterator<Item = &WrittenPicture> {
        let Sample { source, references, target, mask, .. } = self.sample;
        std::iter::once(source).chain(references).chain(target).chain(mask)
    }

    /// About how many bytes it takes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        let pictures: u64 = self.pictures().map(|picture| picture.payload.length()).sum();
        pictures + self.record.len() as u64
    }

    /// How many of them are held until the row group is written, at most.
    pub(crate) fn held(&self) -> u64 {
        let inline = self.pictures().filter(|of| matches!(of.payload, Payload::Bytes(_)));
        inline.map(|picture| picture.payload.length()).sum::<u64>() + self.record.len() as u64
    }
}

enum Column {
    /// One that is encoded as its rows come.
    Small(Box<ArrowColumnWriter>),
    /// One of picture bytes.
    Pictures(PictureBytes),
}

/// A row group being put together.
pub(crate) struct Group {
    /// The leaf columns, in order.
    columns: Vec<Column>,
    records: Records,
    paths: PathColumns,
    /// The pair of each row.
    pairs: Vec<String>,
    sources: Vec<Waiting>,
    references: Vec<Waiting>,
    targets: Vec<Waiting>,
    masks: Vec<Waiting>,
    bytes: u64,
    held: u64,
}

fn failed(error: ParquetError) -> FormatError {
    ColumnsError::from(error).into()
}

impl Group {
    /// Row group `number` of a file.
    ///
    /// # Errors
    /// Those of Arrow, which knows all types of the layout.
    pub(crate) fn new(
        layout: &Layout,
        factory: &ArrowRowGroupWriterFactory,
        number: usize,
    ) -> Result<Self, FormatError> {
        let writers = factory.create_column_writers(number).map_err(failed)?;
        let columns = layout.leaves.iter().zip(writers).map(|(pictures, writer)| match pictures {
            Some(pictures) => Column::Pictures(*pictures),
            None => Column::Small(Box::new(writer)),
        });
        Ok(Self {
            columns: columns.collect(),
            records: Records::new()?,
            paths: PathColumns::default(),
            pairs: Vec::new(),
            sources: Vec::new(),
            references: Vec::new(),
            targets: Vec::new(),
            masks: Vec::new(),
            bytes: 0,
            held: 0,
        })
    }

    /// Whether it is to be written before this row: of `bytes` in all or `held` in memory it would
    /// have more with it.
    pub(crate) fn is_full_for(&self, row: &Row<'_>, bytes: u64, held: u64) -> bool {
        !self.pairs.is_empty()
            && (self.bytes + row.bytes() > bytes || self.held + row.held() > held)
    }

    /// Takes a row in.
    ///
    /// # Errors
    /// Those of the columns. After one the row group is lost.
    pub(crate) fn push(&mut self, layout: &Layout, row: &Row<'_>) -> Result<(), FormatError> {
        let number = self.pairs.len();
        let Sample { pair, key, source, references, target, mask, .. } = row.sample;
        let path = |role: &str, of: &WrittenPicture| format!("{key}.{}", part_of(role, of));
        let wait = |of: &WrittenPicture| Waiting { row: number, payload: of.payload.clone() };
        self.paths.push(
            path("source", source),
            references.iter().enumerate().map(|(i, of)| path(&reference_role(i), of)),
            target.as_ref().map(|of| path("target", of)),
            mask.as_ref().map(|of| path("mask", of)),
        );
        self.sources.push(wait(source));
        self.references.extend(references.iter().map(wait));
        self.targets.extend(target.as_ref().map(wait));
        self.masks.extend(mask.as_ref().map(wait));
        self.records.push(&row.record)?;
        self.pairs.push(pair.pair_id.clone());
        self.bytes += row.bytes();
        self.held += row.held();
        if self.records.is_full() { self.encode(layout) } else { Ok(()) }
    }

    /// Puts the rows that are text into their columns' encoders.
    fn encode(&mut self, layout: &Layout) -> Result<(), FormatError> {
        let Some(records) = self.records.take()? else { return Ok(()) };
        let paths = self.paths.take()?;
        let rows = beside(&records, PictureColumns::Embedded, &paths)?;
        let mut columns = self.columns.iter_mut();
        for (field, array) in layout.schema.fields().iter().zip(rows.columns()) {
            let leaves = compute_leaves(field, array).map_err(failed)?;
            for (leaf, column) in leaves.iter().zip(&mut columns) {
                if let Column::Small(writer) = column {
                    writer.write(leaf).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of the file, and of reading the pictures: [`FormatError::Pair`] says of which pair.
    pub(crate) fn write_to<W: Write + Send>(
        mut self,
        layout: &Layout,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<(), FormatError> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        self.encode(layout)?;
        let descriptors = file.schema_descr().columns().to_vec();
        let mut group = file.next_row_group().map_err(failed)?;
        for (column, descriptor) in self.columns.into_iter().zip(descriptors) {
            let pictures = match column {
                Column::Small(writer) => {
                    let chunk = writer.close().map_err(failed)?;
                    chunk.append_to_row_group(&mut group).map_err(failed)?;
                    continue;
                }
                Column::Pictures(pictures) => pictures,
            };
            let (levels, waiting) = match pictures {
                PictureBytes::Source => (Levels::ONE, std::mem::take(&mut self.sources)),
                PictureBytes::References => (Levels::LIST, std::mem::take(&mut self.references)),
                PictureBytes::Target => (Levels::ONE, std::mem::take(&mut self.targets)),
                PictureBytes::Mask => (Levels::ONE, std::mem::take(&mut self.masks)),
            };
            let pictures = PictureColumn::new(levels, &self.pairs, &waiting);
            let described = pictures.described(descriptor)?;
            if let Err(error) = group.append_column(&&pictures, described) {
                return Err(pictures.into_failed().unwrap_or_else(|| failed(error)));
            }
        }
        group.close().map(drop).map_err(failed)
    }
}
