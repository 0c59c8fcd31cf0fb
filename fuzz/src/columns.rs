//! Parquet files: heads, values, rows.

use std::sync::Arc;

use diptych::format::table::{Table, TableEvent};
use diptych::storage::ReadAt;
use diptych::storage::parquet::cells::{CellPlace, Cells};
use diptych::storage::parquet::chunk::{Chunk, Rows, Value};
use diptych::storage::parquet::footer::check_footer;
use diptych::storage::parquet::head::{PageKind, levels, page_head};

use crate::LIMITS;
use crate::bytes::Dripping;
use crate::text::printable;

/// Rows that are looked at of one file: there may be more than anyone could wait for.
const ROWS: usize = 1000;

/// The head of a page with its levels, and the end of a file.
pub(crate) fn heads(input: &[u8]) {
    let (choice, bytes) = input.split_first().unwrap_or((&0, &[]));
    match check_footer(&bytes.to_vec(), &LIMITS) {
        Ok(()) => {}
        Err(why) => printable(&why),
    }
    let Ok(head) = page_head(bytes) else { return };
    assert!(head.length <= bytes.len());
    let PageKind::Data(data) = head.kind else { return };
    let (max_repetition, max_definition) = (choice & 1, choice >> 1 & 7);
    let body = &bytes[head.length..];
    let Ok(levels) = levels(&data, body, max_repetition, max_definition) else { return };
    assert!(levels.length <= body.len());
    assert_eq!(levels.begins.len(), data.values as usize);
    assert_eq!(levels.definition.len(), data.values as usize);
    assert!(levels.definition.iter().all(|level| *level <= max_definition));
}

fn bytes_of(value: &Value, file: &[u8]) -> Vec<u8> {
    match value {
        Value::Range { offset, length } => {
            let end = offset.checked_add(*length).expect("it has an end");
            let part = usize::try_from(*offset).unwrap()..usize::try_from(end).unwrap();
            file.get(part).expect("it lies in the file").to_vec()
        }
        Value::Held(bytes) => bytes.data().to_vec(),
    }
}

/// Columns of bytes: a value is the same one after the other and by its place, at once and in
/// steps.
pub(crate) fn values(input: &[u8]) {
    let file: Arc<dyn ReadAt> = Arc::new(input.to_vec());
    let in_steps: Arc<dyn ReadAt> = Arc::new(Dripping(input.to_vec()));
    let table = match Table::open(Arc::clone(&file), &LIMITS) {
        Ok(table) => table,
        Err(why) => return printable(&why),
    };
    let cells = Cells::new(LIMITS);
    let mut left = ROWS;
    for (row_group, group) in table.metadata().row_groups().iter().enumerate().take(8) {
        for column in 0..group.columns().len().min(64) {
            let chunk = Chunk::open(table.input(), table.metadata(), row_group, column, &LIMITS);
            let Ok(chunk) = chunk else { continue };
            let mut rows = Rows::new(chunk);
            let fault = loop {
                let row = match rows.next_row() {
                    Ok(Some(row)) => row,
                    Ok(None) => break None,
                    Err(fault) => break Some(fault.to_string()),
                };
                for cell in row {
                    let place = CellPlace {
                        file: 0,
                        row_group: u32::try_from(row_group).unwrap(),
                        column: u32::try_from(column).unwrap(),
                        number: cell.number,
                    };
                    // Where a later page has no head, no value can be told by its place.
                    if let Ok(found) = cells.value(place, || Ok(Arc::clone(&in_steps))) {
                        let bytes = |value: &Value| bytes_of(value, input);
                        assert_eq!(found.as_ref().map(bytes), cell.value.as_ref().map(bytes));
                    }
                    left = left.saturating_sub(1);
                }
                if left == 0 {
                    return;
                }
            };
            if let Some(fault) = fault {
                printable(&fault);
            }
        }
    }
}

/// Rows as JSON: the same at once and in steps, each a JSON object, numbered without a gap.
pub(crate) fn rows(input: &[u8]) {
    let read = |file: Arc<dyn ReadAt>| {
        let mut table = match Table::open(file, &LIMITS) {
            Ok(table) => table,
            Err(why) => {
                printable(&why);
                return Err(why);
            }
        };
        let (mut said, mut expected) = (Vec::new(), 0_u64);
        while let Some(event) = table.next_event() {
            match event {
                TableEvent::Row { number, json } => {
                    assert_eq!(number, expected);
                    expected += 1;
                    if json.len() <= LIMITS.row_bytes {
                        let object = serde_json::from_str::<serde_json::Map<_, _>>(&json);
                        assert!(object.is_ok(), "a row is no object: {json}");
                    }
                    said.push(json);
                }
                TableEvent::Lost { first, count, cause } => {
                    assert_eq!(first, expected);
                    expected = expected.checked_add(count).expect("it can be counted");
                    printable(&cause);
                    said.push(format!("{count} lost: {cause}"));
                }
            }
            if said.len() >= ROWS {
                break;
            }
        }
        Ok(said)
    };
    assert_eq!(read(Arc::new(input.to_vec())), read(Arc::new(Dripping(input.to_vec()))));
}
