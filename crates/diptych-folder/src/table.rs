//! The table of a split: parts that units write row by row, joined at the end.

use std::sync::Arc;

use diptych_format::record::columns::{TableJoiner, TableWriter};
use diptych_format::record::{FileNames, Record};
use diptych_format::writer::{FinishOutput, UnitOutput};
use diptych_format::{FormatError, Options};
use diptych_storage::ReadAt;
use diptych_storage::output::{StagedFile, StagedWrite};

use crate::writer::path;

/// The option that says what the tables are.
pub(crate) const METADATA: &str = "metadata";

/// Tables of columns.
pub(crate) const PARQUET: &str = "parquet";

/// Tables of JSON lines.
const LINES: &str = "jsonl";

/// What tables may be.
pub(crate) const KINDS: &[&str] = &[PARQUET, LINES];

/// What the tables of an output are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Parquet.
    Parquet,
    /// JSON lines.
    Lines,
}

impl Kind {
    /// The kind that is asked for.
    pub(crate) fn of(options: &Options) -> Self {
        if options.get(METADATA) == LINES { Self::Lines } else { Self::Parquet }
    }

    /// The name of a table: the loader knows no other.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Parquet => "metadata.parquet",
            Self::Lines => "metadata.jsonl",
        }
    }

    /// Begins the part of a unit.
    ///
    /// # Errors
    /// Those of the output.
    pub(crate) fn begin(self, output: &mut dyn UnitOutput) -> Result<Part, FormatError> {
        let file = output.stage_small(&path(self.file())?, 0)?;
        Ok(match self {
            Self::Parquet => Part::Parquet(Box::new(TableWriter::new(StagedWrite(file))?)),
            Self::Lines => Part::Lines(file),
        })
    }

    /// Joins the parts of these units as the table `to`, and gives its length in bytes.
    ///
    /// # Errors
    /// Those of the output.
    pub(crate) fn join(
        self,
        units: &[u32],
        to: &str,
        output: &mut dyn FinishOutput,
    ) -> Result<u64, FormatError> {
        let mut table = output.stage(&path(to)?)?;
        match self {
            Self::Parquet => {
                let mut joined = TableJoiner::new(StagedWrite(table))?;
                for unit in units {
                    joined.append(output.open(*unit, self.file())?)?;
                }
                let (StagedWrite(file), _) = joined.close()?;
                table = file;
            }
            Self::Lines => {
                for unit in units {
                    let part: Arc<dyn ReadAt> = output.open(*unit, self.file())?;
                    table.copy_range(part.as_ref(), 0, part.len())?;
                }
            }
        }
        Ok(table.close()?)
    }
}

/// The part of a unit, being written.
pub(crate) enum Part {
    Parquet(Box<TableWriter<StagedWrite>>),
    Lines(Box<dyn StagedFile>),
}

impl Part {
    /// Appends a row.
    ///
    /// # Errors
    /// Those of the file. After one the part is lost.
    pub(crate) fn push(
        &mut self,
        record: Record<'_>,
        names: FileNames<'_>,
    ) -> Result<(), FormatError> {
        match self {
            Self::Parquet(table) => table.push_record(&record, &names)?,
            Self::Lines(file) => {
                let record = record.with_file_names(names);
                let mut line = serde_json::to_vec(&record)
                    .map_err(|source| FormatError::Json { what: "a record", source })?;
                line.push(b'\n');
                file.write(&line)?;
            }
        }
        Ok(())
    }

    /// Ends the part, and gives its length in bytes.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn close(self) -> Result<u64, FormatError> {
        let file = match self {
            Self::Parquet(table) => {
                let (StagedWrite(file), _) = table.close()?;
                file
            }
            Self::Lines(file) => file,
        };
        Ok(file.close()?)
    }
}
