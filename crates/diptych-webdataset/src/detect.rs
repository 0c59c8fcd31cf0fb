//! Whether a tree is WebDataset shards of edits.

use diptych_format::foreign::known::names;
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
    let (pictures, others) = names(&look.shapes);
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

#[cfg(test)]
mod tests {
    use diptych_storage::{MemoryTree, RelPath};

    use super::*;
    use crate::ustar;

    fn shard(members: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, text) in members {
            bytes.extend_from_slice(ustar::header(name, text.len() as u64).unwrap().as_bytes());
            bytes.extend_from_slice(text.as_bytes());
            bytes.extend_from_slice(ustar::padding(text.len() as u64));
        }
        bytes.extend_from_slice(&ustar::END);
        bytes
    }

    fn of(path: &str, members: &[(&str, &str)]) -> Detection {
        detect(&MemoryTree::new([(RelPath::new(path).unwrap(), shard(members))]))
    }

    #[test]
    fn a_tree_is_known_by_its_samples() {
        let by = |members: &[(&str, &str)]| of("a.tar", members).confidence;
        let named = [("0.source.png", ""), ("0.target.png", ""), ("0.json", "{}")];
        assert_eq!(by(&named), Confidence::Strong);
        assert_eq!(by(&named[..2]), Confidence::Strong);
        let dotted = [("v.0.source.png", ""), ("v.0.target.png", "")];
        assert_eq!(by(&dotted), Confidence::Strong);
        assert_eq!(by(&[("0.a.png", ""), ("0.b.png", ""), ("0.json", "{}")]), Confidence::Weak);
        // Captioned pictures are no edits, and pictures alone are no samples.
        assert_eq!(by(&[("0.png", ""), ("0.json", "{}")]), Confidence::No);
        assert_eq!(by(&[("sources/0.png", ""), ("targets/0.png", "")]), Confidence::No);
        assert_eq!(by(&[]), Confidence::No);
    }

    #[test]
    fn what_comes_near_is_told() {
        let found = of("a.tar", &[("0.png", ""), ("0.json", r#"{"caption": "x"}"#)]);
        assert_eq!(found.near, ["a.tar, whose samples have other fields: png, caption"]);
        let found = of("a.tar", &[("x/", "")]);
        assert_eq!(found.near, ["a.tar, of which no member is part of a sample"]);
        let found = of("a.tar.gz", &[]);
        assert_eq!(found.near, ["a.tar.gz, which is compressed as a whole"]);
        assert_eq!(of("a.zip", &[]).near, [""; 0]);
    }
}
