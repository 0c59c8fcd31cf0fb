//! Whether a tree is this release.

use diptych_format::{Confidence, Detection};
use diptych_storage::rows::{RowEvent, Rows};
use diptych_storage::{Limits, ReadTree, RelPath};

use crate::layout::{Role, editors, roles_of};
use crate::wire::is_row;

/// Manifests that are looked into.
const FILES: usize = 16;

/// Bytes of the card that are looked at.
const CARD: u64 = 1 << 16;

/// What is looked for.
const LOOKED_FOR: &str = "no SUBSET/EDITOR/manifest.jsonl whose first row has normal_prompt or \
                          abnormal_prompt";

/// How sure it is that `tree` is this release, and why.
pub(crate) fn detect(tree: &dyn ReadTree) -> Detection {
    let card = card_that_says_so(tree);
    let mut near: Vec<String> = Vec::new();
    near.extend(card.map(|card| format!("{card}, which says that it is PAPE")));
    let (editors, _) = editors(tree);
    for editor in editors.iter().take(FILES) {
        let manifest = &editor.manifest;
        if first_row(tree, manifest).is_some_and(|row| is_row(&row)) {
            let prompts = format!("the rows of {manifest} have normal and abnormal prompts");
            return match card {
                Some(card) => Detection::yes(
                    Confidence::Exact,
                    format!("{card} says that it is PAPE, and {prompts}"),
                ),
                None => Detection::yes(Confidence::Strong, prompts),
            };
        }
        near.push(format!("{manifest}, whose first row is of another kind"));
    }
    let is_there = |role: &Role| {
        let of_role = |path: &str| roles_of(path).any(|(_, of)| of == *role);
        tree.list().iter().any(|entry| of_role(entry.path.as_str()))
    };
    let roles = [Role::Normal, Role::Abnormal, Role::MaskNormal, Role::MaskAbnormal];
    let folders = roles.iter().filter(|role| is_there(role));
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

/// The bytes of a manifest's first row.
fn first_row(tree: &dyn ReadTree, manifest: &RelPath) -> Option<Vec<u8>> {
    let file = tree.open(manifest).ok()?;
    let mut rows = Rows::open(file, &Limits::DEFAULT).ok()?;
    match rows.next_row().ok()?? {
        RowEvent::Row(row) => Some(row.bytes.to_vec()),
        RowEvent::TooLong { .. } => None,
    }
}
