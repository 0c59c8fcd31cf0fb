//! Whether a tree is this release.

use diptych_format::{Confidence, Detection};
use diptych_storage::rows::{RowEvent, Rows};
use diptych_storage::{Limits, ReadTree, RelPath};

use crate::layout::{Editor, Role, editors, roles_of};
use crate::wire::is_row;

/// Manifests that are looked into.
const FILES: usize = 16;

/// Rows of one that are looked at: the first may be damaged.
const ROWS: usize = 8;

/// Bytes of the card that are looked at.
const CARD: u64 = 1 << 16;

/// What is looked for.
const LOOKED_FOR: &str = "no SUBSET/EDITOR/manifest.jsonl whose rows have normal_prompt or \
                          abnormal_prompt";

/// How sure it is that `tree` is this release, and why.
pub(crate) fn detect(tree: &dyn ReadTree) -> Detection {
    let card = card_that_says_so(tree);
    let (editors, _) = editors(tree);
    let editors = || editors.iter().take(FILES);
    if let Some(editor) = editors().find(|editor| has_row(tree, &editor.manifest)) {
        let prompts = format!("the rows of {} have normal and abnormal prompts", editor.manifest);
        return match card {
            Some(card) => {
                let reason = format!("{card} says that it is PAPE, and {prompts}");
                Detection::yes(Confidence::Exact, reason)
            }
            None => Detection::yes(Confidence::Strong, prompts),
        };
    }
    let is_there = |folder: Option<&str>, role: Role| {
        let is_it = |of: (&str, Role)| of.1 == role && folder.is_none_or(|folder| of.0 == folder);
        tree.list().iter().any(|entry| roles_of(entry.path.as_str()).any(is_it))
    };
    let has_both = |editor: &&Editor| {
        let folder = Some(editor.folder.as_str());
        is_there(folder, Role::Normal) && is_there(folder, Role::Abnormal)
    };
    if let Some(Editor { manifest, .. }) = editors().find(has_both) {
        let reason = format!("beside {manifest} there are folders normal and abnormal");
        return Detection::yes(Confidence::Weak, reason);
    }
    let mut near: Vec<String> = Vec::new();
    near.extend(card.map(|card| format!("{card}, which says that it is PAPE")));
    near.extend(editors().map(|of| format!("{}, whose rows are of another kind", of.manifest)));
    let roles = [Role::Normal, Role::Abnormal, Role::MaskNormal, Role::MaskAbnormal];
    let folders = roles.iter().filter(|role| is_there(None, **role));
    near.extend(folders.map(|role| format!("a folder {}", role.folder())));
    Detection::no(LOOKED_FOR, near)
}

/// The card at the root, where it calls the release by its name.
fn card_that_says_so(tree: &dyn ReadTree) -> Option<&RelPath> {
    let entry = tree.entry("README.md")?;
    let file = tree.open(&entry.path).ok()?;
    let mut bytes = vec![0; usize::try_from(file.len().min(CARD)).ok()?];
    file.read_exact_at(0, &mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word == "PAPE").then_some(&entry.path)
}

/// Whether one of the first rows of a manifest is one of such a release.
fn has_row(tree: &dyn ReadTree, manifest: &RelPath) -> bool {
    let rows = tree.open(manifest).and_then(|file| Rows::open(file, &Limits::LOOK));
    let Ok(mut rows) = rows else { return false };
    for _ in 0..ROWS {
        match rows.next_row() {
            Ok(Some(RowEvent::Row(row))) if is_row(row.bytes) => return true,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::MemoryTree;

    const ROW: &str = "{\"normal_prompt\": \"a\"}\n";

    fn of(files: &[(&str, &str)]) -> Detection {
        let file =
            |(name, text): &(&str, &str)| (RelPath::new(name).unwrap(), text.as_bytes().into());
        detect(&MemoryTree::new(files.iter().map(file)))
    }

    #[test]
    fn a_tree_is_known_by_its_rows_and_its_card() {
        let by = |files: &[(&str, &str)]| of(files).confidence;
        let (manifest, card) = ("COCO/flux2_dev/manifest.jsonl", "# The PAPE Dataset");
        assert_eq!(by(&[(manifest, ROW)]), Confidence::Strong);
        assert_eq!(by(&[(manifest, ROW), ("README.md", card)]), Confidence::Exact);
        assert_eq!(by(&[(manifest, ROW), ("README.md", "# PAPERS")]), Confidence::Strong);
        // A part of the tree.
        assert_eq!(by(&[("flux2_dev/manifest.jsonl", ROW)]), Confidence::Strong);
        assert_eq!(by(&[("manifest.jsonl", ROW)]), Confidence::Strong);
        // A first row that is damaged.
        assert_eq!(by(&[(manifest, &format!("{{\n{ROW}"))]), Confidence::Strong);
        let folders = [("COCO/flux2_dev/normal/a.png", ""), ("COCO/flux2_dev/abnormal/a.png", "")];
        assert_eq!(by(&[folders[0], folders[1], (manifest, "")]), Confidence::Weak);
        assert_eq!(by(&[folders[0], (manifest, "")]), Confidence::No);
        assert_eq!(by(&[("README.md", card), folders[0], folders[1]]), Confidence::No);
        assert_eq!(by(&[("rows.jsonl", ROW)]), Confidence::No);
        let other = r#"{"source_file": "a", "target_file": "b", "instruction": "c"}"#;
        assert_eq!(by(&[("manifest.jsonl", other)]), Confidence::No);
    }

    #[test]
    fn what_comes_near_is_told() {
        let found = of(&[
            ("README.md", "PAPE"),
            ("COCO/a/manifest.jsonl", "{}"),
            ("COCO/a/normal/a.png", ""),
            ("COCO/b/masks/abnormal/a.png", ""),
        ]);
        assert_eq!(
            found.near,
            [
                "README.md, which says that it is PAPE",
                "COCO/a/manifest.jsonl, whose rows are of another kind",
                "a folder normal",
                "a folder masks/abnormal",
            ]
        );
        assert_eq!(of(&[("a.jpg", "")]).near, [""; 0]);
    }
}
