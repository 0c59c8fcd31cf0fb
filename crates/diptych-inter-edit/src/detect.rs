//! Whether a tree is this release.

use diptych_format::shards::ShardName;
use diptych_format::{Confidence, Detection};
use diptych_storage::rows::{RowEvent, Rows};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadTree};

use crate::layout::metadata_candidates;
use crate::manifest::{MANIFEST, manifest};

/// Files of rows that are looked into.
const FILES: usize = 16;

/// What is looked for.
const LOOKED_FOR: &str = "no metadata/train-NNNNN-of-NNNNN.jsonl.gz, no manifest.json that says so, \
                          and no JSON rows with the names of pictures";

/// How sure it is that `tree` is this release, and why.
pub(crate) fn detect(tree: &dyn ReadTree) -> Detection {
    let mut near = Vec::new();
    match manifest(tree) {
        Some(Ok(manifest)) => match manifest.dataset_name {
            Some(name) if name.starts_with("Inter-Edit") => {
                let reason = format!("{MANIFEST} says that it is {}", printable(name.as_bytes()));
                return Detection::yes(Confidence::Exact, reason);
            }
            Some(name) => {
                near.push(format!("{MANIFEST}, which is that of {}", printable(name.as_bytes())));
            }
            None => near.push(format!("{MANIFEST}, which does not say what it is of")),
        },
        Some(Err(error)) => near.push(format!("{MANIFEST}, which cannot be read: {error}")),
        None => {}
    }
    let shard = |path: &str| {
        let name = ShardName::parse(path)?;
        let known = ["metadata/", "source_shards/source", "asset_shards/asset"];
        known.iter().any(|start| name.series.starts_with(start)).then(|| path.to_owned())
    };
    if let Some(example) = tree.list().iter().find_map(|entry| shard(entry.path.as_str())) {
        return Detection::yes(Confidence::Strong, format!("there is {example}"));
    }
    for folder in ["metadata", "source_shards", "asset_shards"] {
        let inside = format!("{folder}/");
        if tree.list().iter().any(|entry| entry.path.as_str().starts_with(&inside)) {
            near.push(format!("a folder {folder} without shards that are named so"));
        }
    }
    for path in metadata_candidates(tree).into_iter().take(FILES) {
        let rows = tree.open(path).and_then(|file| Rows::open(file, &Limits::LOOK));
        let Ok(mut rows) = rows else { continue };
        let Ok(Some(RowEvent::Row(row))) = rows.next_row() else { continue };
        match crate::wire::parse(row.bytes) {
            Ok(_) => {
                let reason =
                    format!("the rows of {path} name a source, a target and an instruction");
                return Detection::yes(Confidence::Weak, reason);
            }
            Err(fault) => {
                near.push(format!("{path}, whose rows are of another kind: {}", fault.cause));
            }
        }
    }
    Detection::no(LOOKED_FOR, near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::{MemoryTree, RelPath};

    fn tree(files: &[(&str, &[u8])]) -> MemoryTree {
        MemoryTree::new(files.iter().map(|(name, b)| (RelPath::new(name).unwrap(), b.to_vec())))
    }

    #[test]
    fn a_tree_is_known_by_what_is_in_it() {
        let by = |files: &[(&str, &[u8])]| detect(&tree(files)).confidence;
        assert_eq!(
            by(&[("manifest.json", br#"{"dataset_name": "Inter-Edit-Train"}"#)]),
            Confidence::Exact
        );
        assert_eq!(by(&[("manifest.json", br#"{"dataset_name": "Other"}"#)]), Confidence::No);
        assert_eq!(by(&[("source_shards/source-00000-of-00004.tar", b"")]), Confidence::Strong);
        assert_eq!(by(&[("metadata/train-00000-of-00005.jsonl.gz", b"")]), Confidence::Strong);
        let row = br#"[{"image_path": "a", "gt_path": "b", "edit_prompt": "c"}]"#;
        assert_eq!(by(&[("Inter-Edit-train.json", row)]), Confidence::Weak);
        assert_eq!(by(&[("holiday.jpg", b""), ("x.json", b"{}")]), Confidence::No);
    }

    #[test]
    fn what_comes_near_is_told() {
        let near = |files: &[(&str, &[u8])]| detect(&tree(files)).near;
        assert_eq!(
            near(&[
                ("manifest.json", br#"{"dataset_name": "Other"}"#),
                ("metadata/x.bin", b""),
                ("source_shards/a.tar", b""),
            ]),
            [
                "manifest.json, which is that of Other",
                "a folder metadata without shards that are named so",
                "a folder source_shards without shards that are named so",
            ]
        );
        assert_eq!(
            near(&[("manifest.json", b"{}")]),
            ["manifest.json, which does not say what it is of"]
        );
        let found = near(&[("x.jsonl", b"{}\n")]);
        assert!(found[0].starts_with("x.jsonl, whose rows are of another kind: "), "{found:?}");
        assert_eq!(near(&[("a.jpg", b"")]), [""; 0]);
    }
}
