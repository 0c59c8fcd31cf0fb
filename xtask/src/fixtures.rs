//! The releases in `fixtures/`: good ones, and one bad one for each way in which a release fails.
//!
//! All of it is drawn and written by this code from tables that stand here, so that it is free to
//! use and the same on every machine: no clock, no random source but our own, and in the drawing
//! only arithmetic that is exact everywhere (no sine, no power).

mod archive;
mod case;
pub(crate) mod draw;
mod folder;
mod folder_bad;
mod form;
mod imgedit;
mod imgedit_bad;
mod imgedit_bench;
mod imgedit_samples;
mod inter_edit;
mod inter_edit_bad;
mod inter_edit_samples;
mod jpeg;
pub(crate) mod noise;
mod outputs;
mod pape;
mod pape_bad;
mod parquet;
mod parquet_bad;
mod picture_table;
mod readme;
mod row;
mod run_length;
mod table;
mod webdataset;
mod webdataset_bad;
pub(crate) mod write;

use std::collections::BTreeMap;
use std::path::Path;

/// Files by their path, with `/` between components.
pub(crate) type Tree = BTreeMap<String, Vec<u8>>;

/// The folder of the fixtures, from the workspace's root.
const FOLDER: &str = "fixtures";

/// What lies in [`FOLDER`] and is ours alone: a file there that we do not make is a leftover.
const OWNED: &[&str] = &[
    "folder/",
    "imgedit/",
    "imgedit-bench/",
    "imgedit-recap/",
    "inter-edit-train/",
    "pape/",
    "parquet/",
    "webdataset/",
    "bad/folder/",
    "bad/imgedit/",
    "bad/imgedit-bench/",
    "bad/inter-edit-train/",
    "bad/pape/",
    "bad/parquet/",
    "bad/webdataset/",
];

/// Writes the fixtures, or with `check` fails if they are not up to date. Says what was done.
pub(crate) fn run(root: &Path, check: bool) -> anyhow::Result<String> {
    let wanted = make()?;
    let folder = root.join(FOLDER);
    if check {
        write::check(&folder, &wanted, OWNED, "cargo xtask fixtures")?;
        Ok(format!("{FOLDER}: {} files are up to date", wanted.len()))
    } else {
        let changed = write::write(&folder, &wanted, OWNED)?;
        Ok(format!("{FOLDER}: {} files, {changed} changed", wanted.len()))
    }
}

/// Every file, in memory, by its path from [`FOLDER`].
fn make() -> anyhow::Result<Tree> {
    let mut tree = Tree::new();
    let bad = [
        ("inter-edit-train", inter_edit_bad::cases()?),
        ("imgedit", imgedit_bad::cases()?),
        ("imgedit-bench", imgedit_bench::cases()?),
        ("pape", pape_bad::cases()?),
        ("parquet", parquet_bad::cases()?),
        ("webdataset", webdataset_bad::cases()?),
        ("folder", folder_bad::cases()?),
    ];
    // Git must not change line ends here: the bytes are what is tested.
    tree.insert(".gitattributes".to_owned(), b"* -text\n".to_vec());
    tree.insert("README.md".to_owned(), readme::text(&bad)?.into_bytes());
    put(&mut tree, "inter-edit-train", inter_edit::release()?);
    put(&mut tree, "imgedit", imgedit::release()?);
    put(&mut tree, "imgedit-recap", imgedit::recaptions()?);
    put(&mut tree, "imgedit-bench", imgedit_bench::release()?);
    put(&mut tree, "pape", pape::release()?);
    put(&mut tree, "parquet", parquet::release()?);
    put(&mut tree, "webdataset", webdataset::release()?);
    put(&mut tree, "folder", folder::release()?);
    for (format, cases) in bad {
        for case in cases {
            put(&mut tree, &format!("bad/{format}/{}", case.name), case.files);
        }
    }
    Ok(tree)
}

fn put(tree: &mut Tree, folder: &str, files: Tree) {
    tree.extend(files.into_iter().map(|(path, bytes)| (format!("{folder}/{path}"), bytes)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixtures_are_up_to_date() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        run(root, true).unwrap();
    }
}
