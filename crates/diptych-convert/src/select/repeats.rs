//! Ids that repeat: within a source a rejection, between two an error.

use diptych_format::{Place, Rejection};

use super::pool::Pool;
use super::survey::Rows;
use crate::error::EngineError;

/// A pair that is rejected while pairs are chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) row: u32,
    pub(super) kind: &'static str,
    pub(super) cause: String,
}

/// Pairs whose id another before them has.
pub(super) fn repeats(pool: &Pool<'_>, rows: &Rows) -> Result<Vec<Refused>, EngineError> {
    let mut found = Vec::new();
    for (row, first) in crate::plan::repeated_ids(&rows.id) {
        let (at, first_at) = (place(pool, rows, row), place(pool, rows, first));
        if at.source != first_at.source {
            let (first, second) = (first_at.to_string(), at.to_string());
            let ids = super::write::ids_of(pool, rows, &[row].into())?;
            let pair_id = ids.into_values().next().unwrap_or_default();
            return Err(EngineError::SameId { pair_id, first, second });
        }
        let cause = format!("a pair before it, in {first_at}, has the same id");
        found.push(Refused { row, kind: "duplicate_pair_id", cause });
    }
    Ok(found)
}

fn place(pool: &Pool<'_>, rows: &Rows, row: u32) -> Place {
    let file = rows.file.get(row as usize).and_then(|number| pool.files.get(*number as usize));
    let Some(file) = file else { return Place::default() };
    let path = file.pieces.first().map(|piece| piece.path.to_string());
    Place { source: file.source.clone(), file: path, ..Place::default() }
}

/// The rejections of some rows, which rise.
pub(super) fn rejections(
    pool: &Pool<'_>,
    rows: &Rows,
    refused: &[Refused],
    take: &mut dyn FnMut(Rejection) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let part_of = |of: &Refused| rows.part.get(of.row as usize).copied().unwrap_or_default();
    for of_part in refused.chunk_by(|a, b| part_of(a) == part_of(b)) {
        let Some(first) = of_part.first() else { continue };
        let Some(part) = pool.parts.get(part_of(first) as usize) else { continue };
        let place = |of: &Refused| rows.row.get(of.row as usize).copied().unwrap_or_default();
        let numbers: Vec<u64> = of_part.iter().map(|of| place(of).into()).collect();
        for (of, pair) in of_part.iter().zip(part.pairs_in(&numbers)?) {
            let pair = pair?;
            take(Rejection {
                kind: of.kind.to_owned(),
                cause: of.cause.clone(),
                at: pool.place(&pair),
                dataset: pair.dataset,
                subset: pair.subset,
                pair_id: Some(pair.pair_id),
                native: pair.native,
            })?;
        }
    }
    Ok(())
}
