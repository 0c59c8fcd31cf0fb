//! Units as files.

use std::collections::BTreeMap;

use diptych_format::options::{OptionError, parse_size};
use diptych_format::record::columns::ColumnsError;
use diptych_format::split_files::{self, path};
use diptych_format::writer::{
    FinishOutput, Finished, FinishedUnit, Provenance, UnitFile, UnitOutput, UnitStart,
};
use diptych_format::{Atom, FormatError, Grain, Options, Sample, UnitFiles, UnitWriter, Writer};
use diptych_schema::{EditPair, Split};
use diptych_storage::output::StagedWrite;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::file::writer::SerializedFileWriter;

use crate::card::{self, NOT_FINITE};
use crate::group::{Group, Row};
use crate::layout::{Layout, MASK, REFERENCES, SOURCE, TARGET, column_names};
use crate::names::Names;
use crate::{NAME, ROW_GROUP};

/// The extension of files.
const EXTENSION: &str = "parquet";

/// The one file of a unit, until it gets its name.
const FILE: &str = "rows.parquet";

/// The pictures of one column of a row have so many bytes at most: a page says its length in 31
/// bits, and levels and lengths are in it too.
const ROW_BYTES: u64 = (1 << 31) - (1 << 20);

/// What a row group may hold in memory until it is written: records, and pictures that are in no
/// file.
const HELD: u64 = 8 << 20;

pub(crate) struct ParquetWriter {
    layout: Layout,
    names: Names,
    /// Bytes of a row group.
    row_group: u64,
}

impl ParquetWriter {
    /// A writer with these options.
    ///
    /// # Errors
    /// [`FormatError::Option`].
    pub(crate) fn new(options: &Options) -> Result<Self, FormatError> {
        let columns = column_names();
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        let names = Names::of(options, &columns)?;
        let layout = Layout::new(&names)?;
        let given = options.get(ROW_GROUP);
        let row_group = parse_size(given).map_err(OptionError::from)?;
        if row_group == 0 {
            return Err(FormatError::Option(OptionError::Value {
                format: NAME,
                key: ROW_GROUP,
                expected: "a size above 0".to_owned(),
                found: given.to_owned(),
            }));
        }
        Ok(Self { layout, names, row_group })
    }
}

impl Writer for ParquetWriter {
    fn grain(&self) -> Grain {
        // The turns of a session are of most use next to each other and in order.
        Grain::Session
    }

    fn check(&self, pair: &EditPair) -> Result<(), FormatError> {
        let lengths = |pictures: &mut dyn Iterator<Item = &diptych_schema::Picture>| {
            pictures.filter_map(|picture| picture.address.length()).fold(0, u64::saturating_add)
        };
        let columns = [
            lengths(&mut std::iter::once(&pair.source)),
            lengths(&mut pair.target.iter()),
            lengths(&mut pair.references.iter().map(|reference| &reference.picture)),
        ];
        if columns.into_iter().all(|bytes| bytes <= ROW_BYTES) {
            return Ok(());
        }
        let what = format!("a column of a row with pictures of more than {ROW_BYTES} bytes");
        Err(FormatError::CannotHold { pair_id: pair.pair_id.clone(), what })
    }

    fn overhead(&self, pair: &EditPair, pictures: u64) -> u64 {
        // For each picture the head of a page, its place in two indexes, and its name; of the
        // record what Snappy leaves of it.
        let native = pair.native.as_ref().map_or(0, String::len);
        let text = pair.instruction.as_ref().map_or(0, String::len);
        250 + 80 * pictures + (native / 2 + text) as u64
    }

    fn begin<'a>(
        &'a self,
        unit: UnitStart<'a>,
        output: &'a mut dyn UnitOutput,
    ) -> Result<Box<dyn UnitWriter + 'a>, FormatError> {
        let fields = BTreeMap::new();
        Ok(Box::new(Rows {
            writer: self,
            output,
            bytes: unit.bytes,
            file: None,
            samples: 0,
            fields,
        }))
    }

    fn finish(
        &self,
        units: &[FinishedUnit],
        provenance: &Provenance,
        output: &mut dyn FinishOutput,
    ) -> Result<Finished, FormatError> {
        for &split in Split::ALL {
            let files = split_files::of_split(units, split);
            for (i, (unit, file)) in files.iter().enumerate() {
                let name = split_files::name(split, i, files.len(), EXTENSION);
                output.place(*unit, &file.name, &path(&name)?)?;
            }
        }
        let card = card::card(units, &self.names, provenance);
        output.put(&path("README.md")?, card.as_bytes())?;
        Ok(Finished::default())
    }
}

/// A file being written.
struct Open {
    file: SerializedFileWriter<StagedWrite>,
    factory: ArrowRowGroupWriterFactory,
    group: Group,
}

impl Open {
    /// Writes the row group, and begins another.
    fn next_group(&mut self, layout: &Layout) -> Result<(), FormatError> {
        let next = self.file.flushed_row_groups().len() + 1;
        let next = Group::new(layout, &self.factory, next)?;
        std::mem::replace(&mut self.group, next).write_to(layout, &mut self.file)
    }
}

struct Rows<'a> {
    writer: &'a ParquetWriter,
    output: &'a mut dyn UnitOutput,
    /// About how many will come.
    bytes: u64,
    /// Begun with the first sample: a file without any is never made.
    file: Option<Open>,
    samples: u64,
    fields: BTreeMap<String, u64>,
}

impl Rows<'_> {
    fn sample(&mut self, sample: &Sample) -> Result<(), FormatError> {
        let Self { writer, output, file, .. } = self;
        let ParquetWriter { layout, row_group, .. } = *writer;
        let row = Row::new(sample)?;
        let open = match file {
            Some(open) => open,
            none => {
                let staged = StagedWrite(output.stage(&path(FILE)?, self.bytes)?);
                let schema = layout.schema.clone();
                let properties = Some(layout.properties.clone());
                let begun = ArrowWriter::try_new(staged, schema, properties)
                    .and_then(ArrowWriter::into_serialized_writer);
                let (file, factory) = begun.map_err(ColumnsError::from)?;
                let group = Group::new(layout, &factory, 0)?;
                none.insert(Open { file, factory, group })
            }
        };
        if open.group.is_full_for(&row, *row_group, HELD) {
            open.next_group(layout)?;
        }
        open.group.push(layout, &row)?;
        self.samples += 1;
        self.count(NOT_FINITE, row.not_finite);
        self.count(SOURCE, 1);
        self.count(REFERENCES, u64::from(!sample.references.is_empty()));
        self.count(TARGET, u64::from(sample.target.is_some()));
        self.count(MASK, u64::from(sample.mask.is_some()));
        Ok(())
    }

    fn count(&mut self, field: &str, by: u64) {
        if by > 0 {
            *self.fields.entry(field.to_owned()).or_default() += by;
        }
    }
}

impl UnitWriter for Rows<'_> {
    fn write(&mut self, atom: &Atom) -> Result<(), FormatError> {
        atom.samples.iter().try_for_each(|sample| self.sample(sample))
    }

    fn close(self: Box<Self>) -> Result<UnitFiles, FormatError> {
        let Some(Open { mut file, group, .. }) = self.file else {
            return Ok(UnitFiles::default());
        };
        group.write_to(&self.writer.layout, &mut file)?;
        let StagedWrite(staged) = file.into_inner().map_err(ColumnsError::from)?;
        let bytes = staged.close()?;
        Ok(UnitFiles {
            files: vec![UnitFile { name: FILE.to_owned(), bytes, samples: self.samples }],
            fields: self.fields,
        })
    }
}
