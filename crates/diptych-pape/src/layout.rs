//! Which manifests there are, and the folders of pictures that belong to them.

use std::collections::{BTreeMap, BTreeSet};

use diptych_format::{Notice, Place};
use diptych_storage::text::printable;
use diptych_storage::{ReadTree, RelPath};

/// What a picture is to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Source,
    Normal,
    Abnormal,
    MaskNormal,
    MaskAbnormal,
    /// A further input picture; only rows that this program wrote have them.
    Reference,
}

impl Role {
    pub(crate) const ALL: [Self; 6] = [
        Self::Source,
        Self::Normal,
        Self::Abnormal,
        Self::MaskNormal,
        Self::MaskAbnormal,
        Self::Reference,
    ];

    /// The folder of such pictures, from that of the manifest.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Normal => "normal",
            Self::Abnormal => "abnormal",
            Self::MaskNormal => "masks/normal",
            Self::MaskAbnormal => "masks/abnormal",
            Self::Reference => "references",
        }
    }
}

/// One of the two edits of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Normal,
    Abnormal,
}

impl Side {
    /// Both, in the order in which a row's edits come.
    pub(crate) const BOTH: [Self; 2] = [Self::Normal, Self::Abnormal];

    /// The word for it: the variant of its pair.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Abnormal => "abnormal",
        }
    }

    pub(crate) fn target(self) -> Role {
        match self {
            Self::Normal => Role::Normal,
            Self::Abnormal => Role::Abnormal,
        }
    }

    pub(crate) fn mask(self) -> Role {
        match self {
            Self::Normal => Role::MaskNormal,
            Self::Abnormal => Role::MaskAbnormal,
        }
    }
}

/// Something for each side of a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sides<T> {
    pub(crate) normal: T,
    pub(crate) abnormal: T,
}

impl<T> Sides<T> {
    pub(crate) fn of(&self, side: Side) -> &T {
        match side {
            Side::Normal => &self.normal,
            Side::Abnormal => &self.abnormal,
        }
    }
}

/// A folder with a manifest: what one editor made of a subset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Editor {
    /// The folder, from the release's root; empty for the root itself.
    pub(crate) folder: String,
    pub(crate) manifest: RelPath,
    /// The name of the folder above; `None` where the tree begins with the editor's.
    pub(crate) subset: Option<String>,
    /// The folder's name; `None` for the root.
    pub(crate) editor: Option<String>,
}

impl Editor {
    fn new(manifest: &RelPath) -> Self {
        let folder = manifest.parent().unwrap_or("").to_owned();
        let mut names = folder.rsplit('/').filter(|name| !name.is_empty()).map(str::to_owned);
        let (editor, subset) = (names.next(), names.next());
        Self { folder, manifest: manifest.clone(), subset, editor }
    }

    /// The folder of pictures of a role.
    pub(crate) fn of_role(&self, role: Role) -> String {
        join(&self.folder, role.folder())
    }

    /// What it is called where copies are told of.
    pub(crate) fn name(&self) -> &str {
        if self.folder.is_empty() { "the root" } else { &self.folder }
    }
}

pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Endings of pictures.
pub(crate) const ENDINGS: [&str; 4] = ["png", "jpg", "jpeg", "webp"];

/// A name without its ending, where that is one of pictures. Dots are part of names otherwise.
pub(crate) fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((stem, ending)) if ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) => {
            (stem, Some(ending))
        }
        _ => (name, None),
    }
}

/// Names of a manifest; the first that is there counts.
const MANIFESTS: [&str; 2] = ["manifest.jsonl", "manifest.jsonl.gz"];

/// The folders with a manifest, in the order of the manifests' paths, and what else is called one
/// there.
pub(crate) fn editors(tree: &dyn ReadTree) -> (Vec<Editor>, Vec<(RelPath, RelPath)>) {
    let paths = tree.list().iter().map(|entry| &entry.path);
    let manifests = paths.filter(|path| MANIFESTS.contains(&path.file_name()));
    let mut by_folder: BTreeMap<Option<&str>, &RelPath> = BTreeMap::new();
    let mut shadowed = Vec::new();
    for path in manifests {
        // In the order of names, which is that of the list.
        if let Some(first) = by_folder.get(&path.parent()) {
            shadowed.push((path.clone(), (*first).clone()));
        } else {
            by_folder.insert(path.parent(), path);
        }
    }
    let mut editors: Vec<_> = by_folder.into_values().map(Editor::new).collect();
    editors.sort_by(|a, b| a.manifest.cmp(&b.manifest));
    (editors, shadowed)
}

/// What a copy holds.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) editors: Vec<Editor>,
    /// The files in the folders of pictures, sorted.
    pub(crate) pictures: Vec<RelPath>,
    pub(crate) notices: Vec<Notice>,
}

impl Layout {
    pub(crate) fn of(tree: &dyn ReadTree, label: &str) -> Self {
        let (editors, shadowed) = editors(tree);
        let notice = |kind: &str, file: &str, detail: String| Notice {
            kind: kind.to_owned(),
            at: Place::file(label, file),
            detail,
        };
        let mut notices: Vec<_> = shadowed
            .iter()
            .map(|(path, first)| {
                let detail = format!("not read, since {first} holds the same rows");
                notice("shadowed_metadata", path.as_str(), detail)
            })
            .collect();
        let with_manifest: BTreeSet<&str> =
            editors.iter().map(|editor| editor.folder.as_str()).collect();
        let mut pictures: Vec<RelPath> = Vec::new();
        let mut there = BTreeSet::new();
        let mut without: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in tree.list() {
            let path = entry.path.as_str();
            let of_manifest = roles_of(path).find(|(folder, _)| with_manifest.contains(folder));
            match of_manifest.or_else(|| roles_of(path).next()) {
                Some((folder, role)) if with_manifest.contains(folder) => {
                    there.insert((folder, role));
                    pictures.push(entry.path.clone());
                }
                // A folder of sources alone may be anything's.
                Some((folder, role))
                    if !matches!(role, Role::Source | Role::Reference)
                        && split_name(entry.path.file_name()).1.is_some() =>
                {
                    *without.entry(folder).or_default() += 1;
                }
                _ => {}
            }
        }
        for (folder, files) in without {
            let detail = format!("no {}: pictures that are not read: {files}", MANIFESTS[0]);
            notices.push(notice("missing_manifest", folder, detail));
        }
        for editor in &editors {
            let has = |role: Role| there.contains(&(editor.folder.as_str(), role));
            // What nothing speaks for is not missing: rows may have one edit, and no masks. Where a
            // row names what is not there, that is told with the row.
            let is_missed = |role: &Role| match role {
                Role::Source => true,
                Role::Normal => has(Role::MaskNormal),
                Role::Abnormal => has(Role::MaskAbnormal),
                Role::MaskNormal => has(Role::Normal) && has(Role::MaskAbnormal),
                Role::MaskAbnormal => has(Role::Abnormal) && has(Role::MaskNormal),
                Role::Reference => false,
            };
            let is_missing = |role: &Role| !has(*role) && is_missed(role);
            for role in Role::ALL.into_iter().filter(is_missing) {
                let detail = "the folder is not there, or empty".to_owned();
                notices.push(notice("missing_folder", &editor.of_role(role), detail));
            }
        }
        notices.extend(
            case_collisions(&pictures)
                .into_iter()
                .map(|(folder, detail)| notice("case_collision", folder, detail)),
        );
        Self { editors, pictures, notices }
    }
}

/// The folders in which `path` may be a picture, each with the role that it has there.
pub(crate) fn roles_of(path: &str) -> impl Iterator<Item = (&str, Role)> {
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts.filter_map(|start| {
        let rest = path.get(start..)?;
        let inside = |role: &Role| {
            rest.strip_prefix(role.folder()).is_some_and(|rest| rest.starts_with('/'))
        };
        let role = Role::ALL.into_iter().find(inside)?;
        let folder = path.get(..start.saturating_sub(1))?;
        // Both kinds of mask lie in folders that are called as those of targets are.
        let is_of_masks = folder.rsplit('/').next() == Some("masks");
        (!is_of_masks).then_some((folder, role))
    })
}

/// Names in one folder that differ only in case: a file system that folds case holds one of them.
fn case_collisions(pictures: &[RelPath]) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    for folder in pictures.chunk_by(|a, b| a.parent() == b.parent()) {
        let mut names: Vec<_> =
            folder.iter().map(|path| (path.file_name().to_lowercase(), path)).collect();
        names.sort();
        let mut alike = names.chunk_by(|(a, _), (b, _)| a == b).filter(|names| names.len() > 1);
        let Some([(_, first), (_, second), ..]) = alike.next() else { continue };
        let show = |path: &RelPath| printable(path.file_name().as_bytes());
        let more = match alike.count() {
            0 => String::new(),
            more => format!("; so do {more} more"),
        };
        let detail = format!("{} and {} differ only in case{more}", show(first), show(second));
        found.push((first.parent().unwrap_or(""), detail));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::MemoryTree;

    fn layout(names: &[&str]) -> Layout {
        let files = names.iter().map(|name| (RelPath::new(name).unwrap(), Vec::new()));
        Layout::of(&MemoryTree::new(files), "L")
    }

    fn told(layout: &Layout) -> Vec<String> {
        layout.notices.iter().map(|n| format!("{}: {}: {}", n.kind, n.at, n.detail)).collect()
    }

    const FOLDERS: [&str; 5] = [
        "source/a.jpg",
        "normal/a.png",
        "abnormal/a.png",
        "masks/normal/a.png",
        "masks/abnormal/a.png",
    ];

    fn whole(folder: &str) -> Vec<String> {
        FOLDERS.iter().chain(&["manifest.jsonl"]).map(|name| join(folder, name)).collect()
    }

    fn names(all: &[String]) -> Vec<&str> {
        all.iter().map(String::as_str).collect()
    }

    #[test]
    fn subset_and_editor_are_the_names_of_folders() {
        let all = [whole("COCO/firered_image_edit_1.1"), whole("COCO/flux2_dev")].concat();
        let found = layout(&names(&all));
        let of = |editor: &Editor| (editor.subset.clone(), editor.editor.clone());
        let coco = Some("COCO".to_owned());
        assert_eq!(
            found.editors.iter().map(of).collect::<Vec<_>>(),
            [
                (coco.clone(), Some("firered_image_edit_1.1".to_owned())),
                (coco, Some("flux2_dev".to_owned()))
            ]
        );
        assert_eq!((found.pictures.len(), told(&found)), (10, vec![]));
    }

    #[test]
    fn a_part_of_the_tree_tells_less() {
        let one = layout(&names(&whole("flux2_dev")));
        assert_eq!(one.editors[0].subset, None);
        assert_eq!(one.editors[0].editor.as_deref(), Some("flux2_dev"));
        let root = layout(&names(&whole("")));
        assert_eq!((&root.editors[0].subset, &root.editors[0].editor), (&None, &None));
        assert_eq!((root.pictures.len(), told(&root)), (5, vec![]));
        let deep = layout(&names(&whole("x/normal/COCO/flux2_dev")));
        assert_eq!(deep.editors[0].subset.as_deref(), Some("COCO"));
        assert_eq!((deep.pictures.len(), told(&deep)), (5, vec![]));
    }

    #[test]
    fn what_is_not_there_is_told() {
        let found = layout(&[
            "COCO/a/manifest.jsonl",
            "COCO/a/masks/abnormal/x.png",
            "COCO/a/normal/x.png",
            "COCO/b/masks/normal/x.png",
            "COCO/b/normal/x.png",
            "COCO/c/source/x.jpg",
            "COCO/d/manifest.jsonl",
            "COCO/d/source/x.jpg",
            "COCO/d/normal/x.jpg",
        ]);
        assert_eq!(
            told(&found),
            [
                "missing_manifest: L/COCO/b: no manifest.jsonl: pictures that are not read: 2",
                "missing_folder: L/COCO/a/source: the folder is not there, or empty",
                "missing_folder: L/COCO/a/abnormal: the folder is not there, or empty",
                "missing_folder: L/COCO/a/masks/normal: the folder is not there, or empty",
            ]
        );
    }

    #[test]
    fn a_manifest_twice_is_read_once() {
        let mut all = whole("COCO/a");
        all.push("COCO/a/manifest.jsonl.gz".to_owned());
        let found = layout(&names(&all));
        assert_eq!(found.editors[0].manifest.as_str(), "COCO/a/manifest.jsonl");
        assert_eq!(
            told(&found),
            ["shadowed_metadata: L/COCO/a/manifest.jsonl.gz: not read, since \
              COCO/a/manifest.jsonl holds the same rows"]
        );
    }

    #[test]
    fn names_that_differ_only_in_case_are_told() {
        let mut all = whole("COCO/a");
        for name in ["source/A.jpg", "source/B.JPG", "source/b.jpg", "normal/A.jpg"] {
            all.push(join("COCO/a", name));
        }
        assert_eq!(
            told(&layout(&names(&all))),
            ["case_collision: L/COCO/a/source: A.jpg and a.jpg differ only in case; so do 1 more"]
        );
    }
}
