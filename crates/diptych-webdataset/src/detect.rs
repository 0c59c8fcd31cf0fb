//! Whether a tree is WebDataset shards of edits.

use diptych_format::{Confidence, Detection};
use diptych_storage::ReadTree;
use diptych_storage::text::printable;

use crate::layout::{Layout, State, shard_paths};
use crate::look::Look;

/// What is looked for.
const LOOKED_FOR: &str = "no .tar whose members are samples: KEY.json with the record that is \
                          written here, or KEY.source.png, KEY.target.png and others of known names";

/// How sure it is that `tree` is such shards, and why.
pub(crate) fn detect(tree: &dyn ReadTree) -> Detection {
    let look = Look::at(tree);
    if let Some(path) = &look.ours {
        let reason = format!("the samples of {path} have records");
        return Detection::yes(Confidence::Exact, reason);
    }
    if let (Some(path), Some(known)) = (&look.samples, look.known()) {
        let reason = format!("the samples of {path} have the fields of {}", known.title);
        return Detection::yes(Confidence::Strong, reason);
    }
    let (pictures, others) = look.names();
    let told = |names: &[&str]| printable(names.join(", ").as_bytes());
    if let Some(path) = look.samples.as_ref().filter(|_| pictures.len() > 1) {
        let reason = format!("the samples of {path} have the pictures {}", told(&pictures));
        return Detection::yes(Confidence::Weak, reason);
    }
    let mut near = Vec::new();
    if let Some(path) = shard_paths(tree).next() {
        let fields = [pictures, others].concat();
        near.push(match fields.is_empty() {
            true => format!("{path}, of which no member is part of a sample"),
            false => format!("{path}, whose samples have other fields: {}", told(&fields)),
        });
    }
    let compressed = Layout::of(tree).shards.into_iter().find(|of| of.state == State::Compressed);
    near.extend(compressed.map(|of| format!("{}, which is compressed as a whole", of.path)));
    Detection::no(LOOKED_FOR, near)
}
