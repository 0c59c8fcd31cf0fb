//! The lists of the benchmark into items. No I/O.
//!
//! A list is an object of items by their keys, in two of three parts; JSON lines or a list of
//! items are taken too. An item is `{"id", "prompt", "edit_type"}`, or `{"id", "turn1", "turn2"}`
//! and so on for a session.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// An item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// What it is called in the list, or its place there.
    pub(super) key: String,
    /// The picture's path from the list's folder.
    pub(super) id: String,
    pub(super) edit_type: Option<String>,
    /// What is asked for: once, or turn by turn.
    pub(super) instructions: Vec<String>,
    /// The item as it is in the list.
    pub(super) native: String,
}

/// Why an item is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemFault {
    pub(super) key: String,
    pub(super) kind: &'static str,
    pub(super) cause: String,
    /// The item as it is in the list, where it is JSON.
    pub(super) native: Option<String>,
}

/// The members of an object in their order, also those whose keys repeat.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of items")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Take)
    }
}

/// Reads a list.
pub(super) fn items(bytes: &[u8]) -> Result<Vec<Result<Item, ItemFault>>, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 from byte {}", error.valid_up_to()))?
        .trim_start_matches('\u{feff}');
    let numbered = |number: usize| number.to_string();
    let whole = match text.trim_start().as_bytes().first() {
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(text).map(|items| {
            let item = |(number, raw): (usize, &RawValue)| item(numbered(number), raw);
            items.into_iter().enumerate().map(item).collect()
        }),
        _ => serde_json::from_str::<Members<'_>>(text).map(|Members(members)| {
            if members.is_empty() || members.iter().any(|(_, value)| value.get().starts_with('{')) {
                return members.into_iter().map(|(key, raw)| item(key, raw)).collect();
            }
            // An object without objects in it is an item itself: the only line of a file of lines.
            let only = serde_json::from_str::<&RawValue>(text.trim());
            only.map(|raw| vec![item(numbered(0), raw)]).unwrap_or_default()
        }),
    };
    whole.or_else(|error| {
        // Lines, where the first is one.
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let first = lines.first().map(|line| serde_json::from_str::<Map<String, Value>>(line));
        if !matches!(first, Some(Ok(_))) || lines.len() < 2 {
            return Err(error.to_string());
        }
        let line = |(number, line): (usize, &&str)| {
            serde_json::from_str::<&RawValue>(line.trim())
                .map_err(|error| ItemFault {
                    key: numbered(number),
                    kind: "invalid_json",
                    cause: error.to_string(),
                    native: None,
                })
                .and_then(|raw| item(numbered(number), raw))
        };
        Ok(lines.iter().enumerate().map(line).collect())
    })
}

fn item(key: String, raw: &RawValue) -> Result<Item, ItemFault> {
    let native = raw.get().to_owned();
    let fault = |kind, cause: &str| {
        let (key, native) = (key.clone(), Some(native.clone()));
        Err(ItemFault { key, kind, cause: cause.to_owned(), native })
    };
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(raw.get()) else {
        return fault("not_an_object", "a JSON value that is no object");
    };
    let text = |name: &str| {
        let text = fields.get(name).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty()).map(str::to_owned)
    };
    let Some(id) = text("id") else {
        return fault("missing_field", "id, which is the picture, is no text");
    };
    let instructions = match text("prompt") {
        Some(prompt) => vec![prompt],
        None => {
            let number = |name: &String| name.strip_prefix("turn")?.parse::<u16>().ok();
            let mut turns: Vec<_> =
                fields.keys().filter_map(|name| Some((number(name)?, text(name)?))).collect();
            turns.sort();
            turns.into_iter().map(|(_, text)| text).collect()
        }
    };
    if instructions.is_empty() {
        return fault("missing_field", "neither prompt nor turn1 is text");
    }
    Ok(Item { id, edit_type: text("edit_type"), instructions, key, native })
}
