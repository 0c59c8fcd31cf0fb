//! Answers conditions, one a line of the input, over files of a catalog: for each the ids of its
//! pairs in a line, parted by tabs, or `error` and what is wrong with it. `ci/readers/check_conditions.py` holds
//! the answers against DuckDB's.

#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, stdin};

use diptych_condition::{Condition, Word, leaves};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    let id = Word::parse("pair_id")?;
    for line in stdin().lock().lines() {
        let condition = match Condition::parse(&line?) {
            Ok(condition) => condition,
            Err(error) => {
                println!("error {error}");
                continue;
            }
        };
        let columns = condition.columns().union(id.columns()).cloned().collect();
        let mut ids = Vec::new();
        for file in &files {
            let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?;
            let leaves = leaves(&columns, builder.schema());
            let mask = ProjectionMask::leaves(builder.parquet_schema(), leaves);
            // Small batches, so that lists start in the middle of their items too.
            for batch in builder.with_projection(mask).with_batch_size(50).build()? {
                let batch = batch?;
                let (chosen, names) = (condition.evaluate(&batch)?, id.evaluate(&batch)?);
                let names = names.iter().flatten().zip(chosen.values());
                ids.extend(names.filter(|(_, chosen)| *chosen).map(|(name, _)| name.to_owned()));
            }
        }
        println!("{}", ids.join("\t"));
    }
    Ok(())
}
