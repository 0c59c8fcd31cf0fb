//! What a row says, from its JSON. No I/O.
//!
//! How the lists are nested and encoded is not published, and differs between copies. So a row
//! becomes JSON first, which is what is kept of it, and is read from that: a path may stand alone
//! or in lists within lists.

use arrow_schema::Fields;
use diptych_format::table::json::is_known;
use serde::Deserialize;

/// Columns of a row of one edit.
const ONE: [&str; 3] = ["input_images", "output_images", "prompt"];
/// The column of a row that is a session.
const SESSION: &str = "data";

/// What the rows of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One edit each.
    Single,
    /// A session each.
    Session,
}

impl Kind {
    /// By the columns that a file has; `None` for a file of something else, also where a column
    /// has the name and a type that is not read.
    pub(crate) fn of(columns: &Fields) -> Option<Self> {
        let has = |name: &&str| columns.find(name).is_some_and(|(_, of)| is_known(of.data_type()));
        if ONE.iter().all(has) {
            Some(Self::Single)
        } else {
            has(&SESSION).then_some(Self::Session)
        }
    }
}

/// One edit as a row has it, or what is said before the first of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) prompt: Option<String>,
}

impl Entry {
    /// Whether it has no pictures.
    pub(crate) fn is_bare(&self) -> bool {
        self.inputs.is_empty() && self.outputs.is_empty()
    }
}

/// The entries of a row, given as JSON.
///
/// # Errors
/// What is wrong with it: a fragment without a period.
pub(crate) fn entries(kind: Kind, row: &str) -> Result<Vec<Entry>, String> {
    match kind {
        Kind::Single => match serde_json::from_str::<Wire>(row) {
            Ok(wire) => Ok(vec![wire.into()]),
            Err(error) => Err(cause(&error)),
        },
        Kind::Session => match serde_json::from_str::<WireSession>(row) {
            Ok(wire) => {
                let mut entries = Vec::new();
                wire.data.into_iter().for_each(|nested| nested.into_with_gaps(&mut entries));
                Ok(entries)
            }
            Err(error) => Err(cause(&error)),
        },
    }
}

/// An error without its place in text that nobody has seen.
fn cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[derive(Deserialize)]
struct WireSession {
    data: Option<Nested<Wire>>,
}

#[derive(Deserialize)]
struct Wire {
    input_images: Option<Nested<String>>,
    output_images: Option<Nested<String>>,
    prompt: Option<String>,
}

/// Something by itself, or lists of it within lists.
#[derive(Deserialize)]
#[serde(untagged, expecting = "neither a value nor a list of such values")]
enum Nested<T> {
    One(T),
    Many(Vec<Option<Nested<T>>>),
}

impl<T> Nested<T> {
    fn into<U: From<T>>(self, into: &mut Vec<U>) {
        match self {
            Self::One(one) => into.push(one.into()),
            Self::Many(many) => many.into_iter().flatten().for_each(|nested| nested.into(into)),
        }
    }
}

impl Nested<Wire> {
    /// As [`into`](Self::into); an entry that is null keeps its place, since turns are counted.
    fn into_with_gaps(self, into: &mut Vec<Entry>) {
        match self {
            Self::One(one) => into.push(one.into()),
            Self::Many(many) => many.into_iter().for_each(|nested| match nested {
                Some(nested) => nested.into_with_gaps(into),
                None => into.push(Entry::default()),
            }),
        }
    }
}

impl From<Wire> for Entry {
    fn from(wire: Wire) -> Self {
        let paths = |nested: Option<Nested<String>>| {
            let mut paths: Vec<String> = Vec::new();
            nested.into_iter().for_each(|nested| nested.into(&mut paths));
            // A list that holds an empty name says as much as an empty list.
            paths.retain(|path| !path.trim().is_empty());
            paths
        };
        Self {
            inputs: paths(wire.input_images),
            outputs: paths(wire.output_images),
            prompt: wire.prompt.filter(|prompt| !prompt.trim().is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    #[test]
    fn an_entry_that_is_null_keeps_its_place() {
        let row = r#"{"data": [{"input_images": ["a"], "output_images": ["b"], "prompt": "c"}, null,
            {"input_images": ["d"], "output_images": ["e"], "prompt": "f"}]}"#;
        let all = entries(Kind::Session, row).unwrap();
        let wanted =
            [entry(&["a"], &["b"], Some("c")), Entry::default(), entry(&["d"], &["e"], Some("f"))];
        assert_eq!(all, wanted);
    }

    fn entry(inputs: &[&str], outputs: &[&str], prompt: Option<&str>) -> Entry {
        let own = |of: &[&str]| of.iter().map(|path| (*path).to_owned()).collect();
        Entry { inputs: own(inputs), outputs: own(outputs), prompt: prompt.map(str::to_owned) }
    }

    #[test]
    fn a_row_is_read_however_its_paths_are_nested() {
        let expected = [entry(&["a"], &["b"], Some(" it"))];
        for row in [
            r#"{"input_images":["a"],"output_images":["b"],"prompt":" it"}"#,
            r#"{"input_images":"a","output_images":"b","prompt":" it","more":[1,{}]}"#,
            r#"{"input_images":[["a"]],"output_images":[[["b",null]]],"prompt":" it"}"#,
            r#"{"input_images":["a",""],"output_images":[null,"b"],"prompt":" it"}"#,
        ] {
            assert_eq!(entries(Kind::Single, row).as_deref(), Ok(expected.as_slice()), "{row}");
        }
        let bare = entries(Kind::Single, r#"{"input_images":[""],"output_images":null}"#).unwrap();
        assert!(bare[0].is_bare() && bare[0].prompt.is_none());
        for (row, cause) in [
            (r#"{"input_images":[1],"output_images":[]}"#, "neither a value nor a list"),
            (r#"{"input_images":[],"output_images":[],"prompt":[]}"#, "invalid type"),
        ] {
            let error = entries(Kind::Single, row).unwrap_err();
            assert!(error.contains(cause) && !error.contains("line"), "{error}");
        }
    }

    #[test]
    fn a_session_is_its_entries_in_order() {
        let row = r#"{"data":[{"input_images":[],"output_images":null,"prompt":"all red"},
            {"input_images":["a"],"output_images":["b"],"prompt":"x"}]}"#;
        let expected = [entry(&[], &[], Some("all red")), entry(&["a"], &["b"], Some("x"))];
        assert_eq!(entries(Kind::Session, row).as_deref(), Ok(expected.as_slice()));
        let one = r#"{"data":{"input_images":"a","output_images":"b","prompt":"x"}}"#;
        assert_eq!(entries(Kind::Session, one).as_deref(), Ok(&expected[1..]));
        assert_eq!(entries(Kind::Session, r#"{"data":null}"#), Ok(vec![]));
        assert!(entries(Kind::Session, r#"{"data":["a"]}"#).is_err());
    }

    #[test]
    fn a_file_is_told_by_its_columns() {
        let of = |names: &[&str]| {
            let field = |name: &&str| arrow_schema::Field::new(*name, DataType::Utf8, true);
            Kind::of(&names.iter().map(field).collect::<Vec<_>>().into())
        };
        assert_eq!(of(&["prompt", "x", "output_images", "input_images"]), Some(Kind::Single));
        assert_eq!(of(&["data"]), Some(Kind::Session));
        assert_eq!(of(&["prompt", "output_images"]), None);
    }
}
