//! Text that is made from what the program declares: the table of formats in the README, the
//! layouts of others that are known, the limits, the formats' options, losses and counts, the columns
//! of the schema, the edit types, and the help of each command.

mod commands;
mod edit_types;
mod foreign;
mod formats;
mod limits;
mod schema;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::fixtures::{Tree, write};

/// The command that makes all this, for messages.
const COMMAND: &str = "cargo xtask docs";

/// What a made file says of itself.
const MADE: &str = "<!-- Made by `cargo xtask docs`: change what it is made from. -->\n\n";

/// Writes the documents, or with `check` fails if they are not up to date. Says what was done.
pub(crate) fn run(root: &Path, check: bool) -> anyhow::Result<String> {
    let wanted = make(root)?;
    if check {
        write::check(root, &wanted, &[], COMMAND)?;
        Ok(format!("documents: {} files are up to date", wanted.len()))
    } else {
        let changed = write::write(root, &wanted, &[])?;
        Ok(format!("documents: {} files, {changed} changed", wanted.len()))
    }
}

fn make(root: &Path) -> anyhow::Result<Tree> {
    let block = |file: &str, name: &str, block: &str| {
        let path = root.join(file);
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        between(&text, name, block).with_context(|| format!("in {file}"))
    };
    let readme = block("README.md", "formats", &formats::table(diptych::FORMATS))?;
    let foreign = block("docs/foreign.md", "layouts", &foreign::table())?;
    let limits = block("docs/limits.md", "limits", &limits::table())?;
    Ok(Tree::from([
        ("docs/limits.md".to_owned(), limits.into_bytes()),
        ("README.md".to_owned(), readme.into_bytes()),
        ("docs/foreign.md".to_owned(), foreign.into_bytes()),
        ("docs/formats.md".to_owned(), formats::page(diptych::FORMATS).into_bytes()),
        ("docs/edit-types.md".to_owned(), edit_types::page(diptych::FORMATS).into_bytes()),
        ("docs/schema.md".to_owned(), schema::page(diptych::FORMATS).into_bytes()),
        ("docs/commands.md".to_owned(), commands::page()?.into_bytes()),
    ]))
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// `text` with `block` between the markers `<!-- NAME:begin -->` and `<!-- NAME:end -->`.
fn between(text: &str, name: &str, block: &str) -> anyhow::Result<String> {
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->\n"));
    let parts = text.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        bail!("there are no lines {} and {}", begin.trim_end(), end.trim_end());
    };
    if [before, after].iter().any(|part| part.contains(&begin) || part.contains(&end)) {
        bail!("{} or {} is there twice", begin.trim_end(), end.trim_end());
    }
    Ok(format!("{before}{begin}{block}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_up_to_date() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        run(root, true).unwrap();
    }

    #[test]
    fn a_block_is_replaced_and_nothing_else() {
        let text = "a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n";
        let new = between(text, "x", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb\n");
        assert_eq!(between(&new, "x", "new\n").unwrap(), new);
        for wrong in [
            "a\n<!-- x:end -->\n<!-- x:begin -->\n",
            "<!-- x:begin -->\n",
            &format!("{text}<!-- x:end -->\n"),
            &format!("{text}{text}"),
        ] {
            assert!(between(wrong, "x", "").is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_stale_is_named() {
        let root = tempfile::tempdir().unwrap();
        assert!(run(root.path(), false).is_err(), "there is no README to put the table into");
        fs::create_dir(root.path().join("docs")).unwrap();
        for (file, name) in
            [("README.md", "formats"), ("docs/foreign.md", "layouts"), ("docs/limits.md", "limits")]
        {
            let markers = format!("<!-- {name}:begin -->\n<!-- {name}:end -->\n");
            fs::write(root.path().join(file), markers).unwrap();
        }
        let text = run(root.path(), true).unwrap_err().to_string();
        for part in ["differs: README.md", "missing: docs/formats.md", COMMAND] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert_eq!(run(root.path(), false).unwrap(), "documents: 7 files, 7 changed");
        assert_eq!(run(root.path(), false).unwrap(), "documents: 7 files, 0 changed");
        run(root.path(), true).unwrap();
    }
}
