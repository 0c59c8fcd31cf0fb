//! What an output of this program says of itself, when it is read again.

use diptych_storage::{ReadTree, RelPath};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::record::columns::{PictureColumns, schema};
use crate::{Notice, Place, Stated, Tally};

/// What tells of a conversion.
pub const REPORT: &str = "report.json";

/// The table of splits, at the root of every output.
pub const SPLITS: &str = "splits.parquet";

/// The list of duplicates, at the root of an output for which they were looked for.
pub const DUPLICATES: &str = "duplicates.jsonl";

/// Whether a file stands beside the data of an output of this program, whatever its ending says: the
/// report is there, or files of rows where this program puts them.
#[must_use]
pub fn is_beside(tree: &dyn ReadTree, path: &RelPath) -> bool {
    let has_data = || {
        let mut paths = tree.list().iter().map(|entry| entry.path.as_str());
        paths.any(|path| path.starts_with("data/") && path.ends_with(".parquet"))
    };
    [SPLITS, DUPLICATES].contains(&path.as_str()) && (tree.entry(REPORT).is_some() || has_data())
}

/// Bytes of the report: a hundred times as many as one of a thousand datasets has.
const REPORT_BYTES: u64 = 64 << 20;

#[derive(Deserialize)]
struct Report {
    total: Total,
}

#[derive(Deserialize)]
struct Total {
    written: u64,
}

/// How many pairs the report says were written; `None` where there is none, or it cannot be read.
#[must_use]
pub fn stated(tree: &dyn ReadTree) -> Option<Stated> {
    let entry = tree.entry(REPORT).filter(|entry| entry.length <= REPORT_BYTES)?;
    let file = tree.open(&entry.path).ok()?;
    let mut bytes = vec![0; usize::try_from(file.len().min(REPORT_BYTES)).ok()?];
    file.read_exact_at(0, &mut bytes).ok()?;
    let report: Report = serde_json::from_slice(&bytes).ok()?;
    Some(Stated { count: report.total.written, by: REPORT.to_owned() })
}

/// That fewer edits are here than were written, once all of the `partitions` were read: a file that
/// is gone leaves no other trace where nothing names it.
#[must_use]
pub fn fewer(
    label: &str,
    stated: Option<&Stated>,
    tally: &Tally,
    partitions: usize,
) -> Option<Notice> {
    let Stated { count, by } = stated.filter(|_| tally.edits.len() == partitions)?;
    let here: u64 = tally.edits.iter().sum();
    (here < *count).then(|| Notice {
        kind: "fewer_pairs".to_owned(),
        at: Place::file(label, by),
        detail: format!("it says that {count} pairs were written, and there are {here}"),
    })
}

/// Whether an object has most keys of a record, so that it was one, whatever became of it.
#[must_use]
pub fn resembles_record(object: &Map<String, Value>) -> bool {
    resembles(|key| object.contains_key(key))
}

/// Whether most columns of a record are there.
pub fn resembles(is_there: impl Fn(&str) -> bool) -> bool {
    let record = schema(PictureColumns::FileNames);
    let keys = record.fields().iter().map(|field| field.name().as_str());
    let keys: Vec<_> = keys.filter(|key| !key.contains("_file_name")).collect();
    2 * keys.iter().filter(|key| is_there(key)).count() > keys.len()
}

#[cfg(test)]
mod tests {
    use diptych_storage::{MemoryTree, RelPath};

    use super::*;

    fn tree(report: &str) -> MemoryTree {
        MemoryTree::new([(RelPath::new(REPORT).unwrap(), report.as_bytes().to_vec())])
    }

    #[test]
    fn what_stands_beside_the_data_is_told_by_the_report() {
        let splits = RelPath::new(SPLITS).unwrap();
        let with = MemoryTree::new([(splits.clone(), Vec::new())]);
        assert!(!is_beside(&with, &splits), "somebody else's file of that name is data");
        let rows = (RelPath::new("data/train.parquet").unwrap(), Vec::new());
        assert!(is_beside(&MemoryTree::new([rows, (splits.clone(), Vec::new())]), &splits));
        let report = (RelPath::new(REPORT).unwrap(), Vec::new());
        let within = RelPath::new("data/splits.parquet").unwrap();
        let with = MemoryTree::new([report, (splits.clone(), Vec::new())]);
        assert!(is_beside(&with, &splits) && !is_beside(&with, &within));
    }

    #[test]
    fn a_report_says_how_many_there_should_be() {
        let stated = stated(&tree(r#"{"total":{"read":9,"written":7}}"#));
        assert_eq!(stated.as_ref().map(|of| of.count), Some(7));
        for none in ["", "[]", r#"{"total":{}}"#, r#"{"total":{"written":-1}}"#] {
            assert_eq!(super::stated(&tree(none)), None, "{none}");
        }
        let told = |edits: &[u64]| {
            let tally = Tally { edits: edits.to_vec(), ..Tally::default() };
            fewer("out", stated.as_ref(), &tally, 2).map(|notice| notice.detail)
        };
        let said = "it says that 7 pairs were written, and there are 6";
        assert_eq!(told(&[3, 3]), Some(said.to_owned()));
        assert_eq!(told(&[4, 3]), None);
        assert_eq!(told(&[4, 4]), None);
        // What was not asked for says nothing.
        assert_eq!(told(&[3]), None);
    }

    #[test]
    fn what_was_a_record_is_told_from_what_was_none() {
        let object = |keys: &str| -> Map<String, Value> {
            keys.split(' ').map(|key| (key.to_owned(), Value::Null)).collect()
        };
        let most = "pair_id dataset subset split session_id turn base premise group_id variant \
                    inverse_of edit_type edit_type_native instruction language instructions";
        assert!(resembles_record(&object(most)));
        assert!(!resembles_record(&object("pair_id split instruction language edit_type turn")));
    }
}
