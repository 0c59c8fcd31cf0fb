//! The names of members: which sample each is of, and what of it. No I/O.
//!
//! A key ends where the `webdataset` library ends it, at the first dot behind the last slash, and
//! what follows, in lower case, is the part. Where that gives a part that means nothing here and a
//! later dot gives one that does, the key has dots in it: see [`crate::groups`].

/// Endings of pictures. What a picture is, its bytes say; these say only that it is one.
const PICTURES: [&str; 12] =
    ["png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "avif", "heic", "jxl", "ppm"];

/// Names of members that are text.
const TEXTS: [&str; 5] = ["txt", "text", "transcript", "caption", "cls"];

/// Endings of JSON.
const JSON: [&str; 2] = ["json", "jsn"];

/// What a member of a sample is by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The record of the sample.
    Record,
    /// A field that is JSON.
    Json,
    /// A field that is text.
    Text,
    Picture,
    Other,
}

/// Where the key of a member's name ends, without the dot; `None` for a name that readers pass
/// over: without a dot, hidden, or between two underscores on either side.
pub(crate) fn key_length(name: &[u8]) -> Option<usize> {
    let start = file_start(name);
    let file = name.get(start..)?;
    if is_meta(name) || file.starts_with(b".") {
        return None;
    }
    file.iter().position(|byte| *byte == b'.').map(|dot| start + dot)
}

/// Where the other keys end that a name may have, if dots belong to it.
pub(crate) fn longer_keys(name: &[u8], key: usize) -> impl Iterator<Item = usize> {
    let behind = name.iter().enumerate().skip(key + 1);
    behind.filter(|(_, byte)| **byte == b'.').map(|(dot, _)| dot)
}

fn file_start(name: &[u8]) -> usize {
    name.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)
}

/// `__meta__` and what is in a folder that is called so.
fn is_meta(name: &[u8]) -> bool {
    let first = name.split(|byte| *byte == b'/').next().unwrap_or_default();
    first.len() >= 4 && first.starts_with(b"__") && first.ends_with(b"__")
}

/// What follows the key and its dot, in lower case.
pub(crate) fn part(name: &[u8], key: usize) -> String {
    let part = name.get(key + 1..).unwrap_or_default();
    String::from_utf8_lossy(part).to_lowercase()
}

/// What a part is, and the name of its field: the part without its ending, and for a part that is
/// nothing but an ending all of it. Dots at its start do not count.
pub(crate) fn kind_of(part: &str) -> (Kind, &str) {
    let part = part.trim_start_matches('.');
    let (stem, ending) = part.rsplit_once('.').unwrap_or(("", part));
    let field = if stem.is_empty() { part } else { stem };
    let kind = match ending {
        _ if JSON.contains(&ending) && stem.is_empty() => Kind::Record,
        _ if JSON.contains(&ending) => Kind::Json,
        _ if TEXTS.contains(&ending) => Kind::Text,
        _ if PICTURES.contains(&ending) => Kind::Picture,
        _ => Kind::Other,
    };
    (kind, field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(name: &str) -> Option<(&str, &str)> {
        key_length(name.as_bytes()).map(|key| (&name[..key], &name[key + 1..]))
    }

    /// The values are those of `base_plus_ext` and its caller in webdataset 1.0.2, but for names
    /// that begin with a dot in a folder, which it takes for parts of the folder.
    #[test]
    fn names_are_taken_apart_as_webdataset_does() {
        for (name, wanted) in [
            ("a.png", Some(("a", "png"))),
            ("a.source.png", Some(("a", "source.png"))),
            ("dir/a.source.png", Some(("dir/a", "source.png"))),
            ("v1.0/a.source.png", Some(("v1.0/a", "source.png"))),
            ("img_v1.0.png", Some(("img_v1", "0.png"))),
            ("a..1.jpg", Some(("a", ".1.jpg"))),
            ("a.", Some(("a", ""))),
            ("a", None),
            ("v1.0/a", None),
            (".hidden.png", None),
            ("dir/._a.png", None),
            ("__meta__", None),
            ("__meta__/a.json", None),
            ("__a.png", Some(("__a", "png"))),
            ("____", None),
            ("___", None),
        ] {
            assert_eq!(split(name), wanted, "{name}");
        }
        assert_eq!(part(b"a.SOURCE.PNG", 1), "source.png");
        assert_eq!(longer_keys(b"d.e/a.b.c.png", 5).collect::<Vec<_>>(), [7, 9]);
    }

    #[test]
    fn parts_are_told_by_their_endings() {
        for (part, wanted) in [
            ("json", (Kind::Record, "json")),
            ("meta.json", (Kind::Json, "meta")),
            ("txt", (Kind::Text, "txt")),
            ("prompt.txt", (Kind::Text, "prompt")),
            ("source.png", (Kind::Picture, "source")),
            ("1.0.jpg", (Kind::Picture, "1.0")),
            (".1.jpg", (Kind::Picture, "1")),
            ("jpg", (Kind::Picture, "jpg")),
            ("clip.npy", (Kind::Other, "clip")),
            ("", (Kind::Other, "")),
        ] {
            assert_eq!(kind_of(part), wanted, "{part}");
        }
    }
}
