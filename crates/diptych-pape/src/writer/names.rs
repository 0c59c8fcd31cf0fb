//! Names of folders and files: safe on every file system, stable, and the published ones where
//! they are so already.

use diptych_format::key::{is_device, key_of};
use diptych_format::written::{DUPLICATES, SPLITS};
use sha2::{Digest, Sha256};

/// Longest name that stays as it is, in bytes.
const NAME_BYTES: usize = 100;

/// The editor folder of pairs that do not say which model made them.
const UNKNOWN_EDITOR: &str = "unknown";

/// What else stands at the root, in lower case.
const ROOT: [&str; 6] =
    ["splits", "readme.md", "report.json", "rejections.jsonl", SPLITS, DUPLICATES];

/// How the names of the tables at the root begin.
const TABLES: &str = "metadata-";

/// Whether a file or folder may have this name on every file system: no separators, no characters
/// that some file system refuses or rewrites, no name that Windows keeps for itself.
pub(crate) fn is_safe(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=NAME_BYTES).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with(['.', '-'])
        && !name.ends_with('.')
        && !is_device(name)
}

/// The subset folder of a pair: its subset, or its dataset where it has none; with the dataset
/// before it where the output holds several.
pub(crate) fn subset_folder(dataset: &str, subset: Option<&str>, several: bool) -> String {
    let subset = subset.filter(|subset| !subset.is_empty());
    let name = match (several, subset) {
        (true, Some(subset)) => format!("{dataset}-{subset}"),
        (_, subset) => subset.unwrap_or(dataset).to_owned(),
    };
    let folded = name.to_ascii_lowercase();
    let is_free = !ROOT.contains(&folded.as_str()) && !folded.starts_with(TABLES);
    // A key has no dot: of those names only `splits` could be one, and tables.
    match is_safe(&name) && is_free {
        true => name,
        false if is_free => key_of(&name),
        false => format!("subset-{}", key_of(&name)),
    }
}

/// The editor folder of a pair.
pub(crate) fn editor_folder(editor: Option<&str>) -> String {
    match editor.filter(|editor| !editor.is_empty()) {
        None => UNKNOWN_EDITOR.to_owned(),
        Some(editor) if is_safe(editor) => editor.to_owned(),
        Some(editor) => key_of(editor),
    }
}

/// The last part of a path that a release gives a picture.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The file of a source photograph: its id, and of its bytes enough that one name is one picture.
pub(crate) fn source_file(image_id: Option<&str>, digest: &[u8], extension: &str) -> String {
    match image_id {
        Some(id) => format!("{}-{}.{extension}", key_of(id), hex(digest, 8)),
        None => format!("{}.{extension}", hex(digest, 16)),
    }
}

/// The first `bytes` of a digest in hexadecimal digits.
pub(crate) fn hex(digest: &[u8], bytes: usize) -> String {
    digest.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

/// A name for a file or folder whose own is taken: `of` tells it from the others.
pub(crate) fn renamed(name: &str, of: &str) -> String {
    let mark = hex(&Sha256::digest(of.as_bytes()), 4);
    // The extension is what follows the last dot of a file; a folder's name has none to keep, but
    // is no worse for it.
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => format!("{stem}-{mark}.{extension}"),
        _ => format!("{name}-{mark}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safe_name_stays_and_another_becomes_a_key() {
        for name in ["COCO", "firered_image_edit_1.1", "000000000139_en.png", "a-b", "compose.png"]
        {
            assert!(is_safe(name), "{name}");
        }
        let long = "a".repeat(101);
        for name in [
            "",
            ".hidden",
            "-rf",
            "a.",
            "a b",
            "a/b",
            "..",
            "CON",
            "nul.png",
            "Com1.txt",
            "lpt9",
            "caf\u{e9}",
            "a:b",
            &long,
        ] {
            assert!(!is_safe(name), "{name}");
        }
        assert_eq!(subset_folder("pape", Some("COCO"), false), "COCO");
        assert_eq!(subset_folder("pape", Some("COCO"), true), "pape-COCO");
        assert_eq!(subset_folder("imgedit", None, false), "imgedit");
        assert_eq!(subset_folder("imgedit", None, true), "imgedit");
        for taken in ["Splits", "README.md", "report.json", "metadata-train.parquet"] {
            let folder = format!("subset-{}", key_of(taken));
            assert_eq!(subset_folder("a", Some(taken), false), folder);
        }
        assert_eq!(subset_folder("a", Some("x/../y"), false), key_of("x/../y"));
        assert_eq!(editor_folder(None), "unknown");
        assert_eq!(editor_folder(Some("firered_image_edit_1.1")), "firered_image_edit_1.1");
        assert_eq!(editor_folder(Some("a b")), key_of("a b"));
    }

    #[test]
    fn sources_are_named_by_id_and_bytes() {
        let digest = Sha256::digest(b"picture");
        let id = Some("00094_00030_000304748");
        assert_eq!(
            source_file(id, &digest, "png"),
            format!("00094__00030__000304748-{}.png", hex(&digest, 8))
        );
        assert_eq!(source_file(None, &digest, "jpg").len(), 32 + 4);
    }

    #[test]
    fn a_taken_name_is_told_apart_before_its_extension() {
        let mark = hex(&Sha256::digest(b"pape:1"), 4);
        assert_eq!(renamed("A.b.png", "pape:1"), format!("A.b-{mark}.png"));
        assert_eq!(renamed("COCO", "pape:1"), format!("COCO-{mark}"));
    }

    #[test]
    fn base_names_end_at_either_slash() {
        assert_eq!(base_name("/data/x\\y/a.png"), "a.png");
        assert_eq!(base_name("/data\\a.png"), "a.png");
        assert_eq!(base_name("a.png"), "a.png");
    }
}
