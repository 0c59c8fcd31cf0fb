//! Whether a tree is folders of pictures with tables of edits.

use diptych_format::foreign::known::names;
use diptych_format::{Confidence, Detection};
use diptych_storage::ReadTree;
use diptych_storage::text::printable;

use crate::look::Look;

/// What is looked for.
const LOOKED_FOR: &str = "no metadata.parquet, metadata.jsonl or metadata.csv whose rows name two \
                          pictures, as source_file_name and target_file_name";

/// How sure it is that `tree` is such folders, and why.
pub(crate) fn detect(tree: &dyn ReadTree) -> Detection {
    let look = Look::at(tree);
    if let Some(path) = &look.ours {
        return Detection::yes(Confidence::Exact, format!("the rows of {path} have records"));
    }
    if let (Some(path), Some(known)) = (&look.rows, look.known()) {
        let reason = format!("the rows of {path} have the columns of {}", known.title);
        return Detection::yes(Confidence::Strong, reason);
    }
    let (pictures, others) = names(&look.shapes);
    let told = |names: &[&str]| printable(names.join(", ").as_bytes());
    match (&look.rows, &look.table) {
        (Some(path), _) if pictures.len() > 1 => {
            let reason = format!("the rows of {path} name the pictures {}", told(&pictures));
            Detection::yes(Confidence::Weak, reason)
        }
        (Some(path), _) => {
            let columns = told(&[pictures, others].concat());
            let near = format!("{path}, whose rows have other columns: {columns}");
            Detection::no(LOOKED_FOR, vec![near])
        }
        (None, Some(path)) => {
            Detection::no(LOOKED_FOR, vec![format!("{path}, of which no row could be read")])
        }
        (None, None) => Detection::no(LOOKED_FOR, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use diptych_storage::{MemoryTree, RelPath};

    use super::*;

    fn of(path: &str, text: &str) -> Detection {
        detect(&MemoryTree::new([(RelPath::new(path).unwrap(), text.as_bytes().to_vec())]))
    }

    #[test]
    fn a_tree_is_known_by_the_columns_of_its_tables() {
        let by = |path: &str, text: &str| of(path, text).confidence;
        let named = r#"{"source_file_name": "a.png", "target_file_name": "b.png"}"#;
        assert_eq!(by("train/metadata.jsonl", named), Confidence::Strong);
        assert_eq!(
            by("metadata.csv", "source_file_name,target_file_name\na,b\n"),
            Confidence::Strong
        );
        let other = r#"{"a_file_name": "a.png", "b_file_name": "b.png"}"#;
        assert_eq!(by("metadata.jsonl", other), Confidence::Weak);
        // Pictures with captions are no edits, and what names none is no such table.
        let caption = r#"{"file_name": "a.png", "text": "x"}"#;
        assert_eq!(by("metadata.jsonl", caption), Confidence::No);
        assert_eq!(
            by("metadata.jsonl", r#"{"source": "a.png", "target": "b.png"}"#),
            Confidence::No
        );
        assert_eq!(by("rows.jsonl", named), Confidence::No);
        assert_eq!(by("metadata.parquet", named), Confidence::No);
    }

    #[test]
    fn what_comes_near_is_told() {
        let found = of("metadata.jsonl", r#"{"file_name": "a.png", "text": "x"}"#);
        assert_eq!(found.near, ["metadata.jsonl, whose rows have other columns: image, text"]);
        let found = of("metadata.jsonl", "");
        assert_eq!(found.near, ["metadata.jsonl, of which no row could be read"]);
        assert_eq!(of("a.png", "").near, [""; 0]);
    }
}
