//! Whether a tree is Parquet files of edits with their pictures in them.

use diptych_format::foreign::known::names;
use diptych_format::{Confidence, Detection};
use diptych_storage::ReadTree;
use diptych_storage::text::printable;

use crate::look::Look;

/// What is looked for.
const LOOKED_FOR: &str = "no Parquet file with pictures in it: the columns that are written here, \
                          or two columns of pictures (struct<bytes, path> or binary)";

/// How sure it is that `tree` is such files, and why.
pub(crate) fn detect(tree: &dyn ReadTree) -> Detection {
    let look = Look::at(tree);
    if let Some(path) = &look.ours {
        let reason = format!("the rows of {path} have records and pictures");
        return Detection::yes(Confidence::Exact, reason);
    }
    let Some((path, shapes)) = &look.pictures else {
        return Detection::no(LOOKED_FOR, look.others);
    };
    match look.known() {
        Some(known) => {
            let reason = format!("the rows of {path} have the columns of {}", known.title);
            Detection::yes(Confidence::Strong, reason)
        }
        None => {
            let pictures = printable(names(shapes).0.join(", ").as_bytes());
            let reason = format!("the rows of {path} have the pictures {pictures}");
            Detection::yes(Confidence::Weak, reason)
        }
    }
}
