//! The one function that makes a file-name key from a `pair_id`.
//!
//! A key names a pair's files in every output. It holds ASCII letters, digits, `-`, `_` and `=`
//! only, no dots (readers of WebDataset end the key at the first), at most [`KEY_BYTES`] bytes,
//! and two pair ids never share one, even on a file system that folds case:
//!
//! - letters, digits and `-` stay as they are, `:` becomes `_`, and `_` becomes `__`;
//! - every other byte becomes `=` and two lower-case hexadecimal digits, and so does a `:` beside
//!   a `:` or `_`, which could not be told from `__`, and a `_` at the start: `datasets` takes a
//!   member whose name begins with `__` for a hidden one and passes over it in silence;
//! - where there are upper-case letters, `=k` and a hexadecimal number follow whose bit N says
//!   that letter N (of all ASCII letters of the id, from 0) is one;
//! - what Windows would take for a device, such as `con`, has its first letter as `=63`;
//! - what would be longer keeps its first 26 bytes, and `=h` and 32 hexadecimal digits of the
//!   id's SHA-256 follow.
//!
//! All but the hashed ones can be turned back: [`pair_id_of`].

use sha2::{Digest, Sha256};

/// Longest key in bytes.
pub const KEY_BYTES: usize = 60;

/// Bytes of the readable start of a hashed key.
const HASHED_START: usize = KEY_BYTES - 2 - 32;

/// Names that Windows keeps for devices, besides those with a number.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Whether Windows takes a file of this name for a device: with or without an extension, in any
/// case of its letters.
#[must_use]
pub fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let numbered = |word: &str| {
        let number = stem.strip_prefix(word).map(str::as_bytes);
        matches!(number, Some([b'0'..=b'9']))
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// The key of `pair_id`.
#[must_use]
pub fn key_of(pair_id: &str) -> String {
    let mut key = String::with_capacity(KEY_BYTES);
    let bytes = pair_id.as_bytes();
    let mut upper = CaseMarks::default();
    for (i, &byte) in bytes.iter().enumerate() {
        let beside = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied();
        let joint = |other| matches!(other, Some(b':' | b'_'));
        match byte {
            b':' if joint(beside(i.checked_sub(1))) || joint(beside(i.checked_add(1))) => {
                push_escape(&mut key, byte);
            }
            b':' => key.push('_'),
            b'_' if i == 0 => push_escape(&mut key, byte),
            b'_' => key.push_str("__"),
            _ if byte.is_ascii_alphanumeric() || byte == b'-' => {
                upper.see(byte);
                key.push(char::from(byte));
            }
            _ => push_escape(&mut key, byte),
        }
    }
    upper.push_to(&mut key);
    if let Some(first) = bytes.first().filter(|_| is_device(&key)) {
        let mut escaped = String::new();
        push_escape(&mut escaped, *first);
        key.replace_range(..1, &escaped);
    }
    if key.len() <= KEY_BYTES {
        return key;
    }
    // Case is folded by the file system, not by the hash: the hash alone tells two ids apart.
    key.truncate(HASHED_START);
    key.push_str("=h");
    for byte in Sha256::digest(bytes).iter().take(16) {
        push_hex(&mut key, *byte);
    }
    key
}

/// The pair id that has this key; `None` for a hashed key and for what is no key.
#[must_use]
pub fn pair_id_of(key: &str) -> Option<String> {
    let (body, marks) = match key.split_once("=k") {
        Some((body, marks)) => (body, Some(marks)),
        None => (key, None),
    };
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body.as_bytes();
    let mut upper = CaseMarks::default();
    loop {
        rest = match rest {
            [] => break,
            [b'_', b'_', rest @ ..] => {
                bytes.push(b'_');
                rest
            }
            [b'_', rest @ ..] => {
                bytes.push(b':');
                rest
            }
            [b'=', high, low, rest @ ..] => {
                bytes.push(hex_digit(*high)? * 16 + hex_digit(*low)?);
                rest
            }
            [byte, rest @ ..] if byte.is_ascii_alphanumeric() || *byte == b'-' => {
                let byte = match marks {
                    Some(marks) if upper.is_marked(marks) => byte.to_ascii_uppercase(),
                    Some(_) => byte.to_ascii_lowercase(),
                    None => *byte,
                };
                upper.see(byte);
                bytes.push(byte);
                rest
            }
            _ => return None,
        };
    }
    let pair_id = String::from_utf8(bytes).ok()?;
    // Whatever is no key of our making does not come back to itself.
    (key_of(&pair_id).eq_ignore_ascii_case(key)).then_some(pair_id)
}

fn push_escape(key: &mut String, byte: u8) {
    key.push('=');
    push_hex(key, byte);
}

fn push_hex(key: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 15] {
        key.push(char::from_digit(u32::from(digit), 16).unwrap_or_default());
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Which of the letters seen are upper case: a hexadecimal number, its lowest digit first while
/// it grows.
#[derive(Default)]
struct CaseMarks {
    letters: usize,
    digits: Vec<u8>,
}

impl CaseMarks {
    fn see(&mut self, byte: u8) {
        if !byte.is_ascii_alphabetic() {
            return;
        }
        if byte.is_ascii_uppercase() {
            let digit = self.letters / 4;
            if self.digits.len() <= digit {
                self.digits.resize(digit + 1, 0);
            }
            if let Some(digit) = self.digits.get_mut(digit) {
                *digit |= 1 << (self.letters % 4);
            }
        }
        self.letters += 1;
    }

    fn push_to(&self, key: &mut String) {
        if !self.digits.is_empty() {
            key.push_str("=k");
            key.extend(self.digits.iter().rev().filter_map(|d| char::from_digit((*d).into(), 16)));
        }
    }

    /// Whether `marks` says that the next letter is upper case.
    fn is_marked(&self, marks: &str) -> bool {
        let from_end = self.letters / 4 + 1;
        let digit = marks.len().checked_sub(from_end).and_then(|at| marks.as_bytes().get(at));
        let digit = digit.and_then(|digit| hex_digit(*digit)).unwrap_or(0);
        digit >> (self.letters % 4) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_readable_and_as_they_were() {
        // These must never change: outputs made yesterday and today have to agree.
        let cases = [
            ("inter-edit-train:0000123", "inter-edit-train_0000123"),
            ("toy:train:0000013", "toy_train_0000013"),
            ("imgedit:remove_part5:41", "imgedit_remove__part5_41"),
            ("pape:COCO:flux2_dev:139:en:normal", "pape_COCO_flux2__dev_139_en_normal=kf0"),
            ("a.b:c", "a=2eb_c"),
            ("a::b", "a=3a=3ab"),
            ("a:_b", "a=3a__b"),
            ("a_:b", "a__=3ab"),
            ("__meta__", "=5f__meta____"),
            ("con", "=63on"),
            ("lpt1", "=6cpt1"),
            ("CON", "CON=k7"),
            ("console", "console"),
            ("移除", "=e7=a7=bb=e9=99=a4"),
            ("", ""),
        ];
        for (pair_id, key) in cases {
            assert_eq!(key_of(pair_id), key);
            assert_eq!(pair_id_of(key).as_deref(), Some(pair_id));
        }
    }

    #[test]
    fn long_ids_are_hashed_and_stay_apart() {
        let long = format!("imgedit:{}", "x".repeat(53));
        assert_eq!(key_of(&long[..60]).len(), 60);
        let key = key_of(&long);
        assert_eq!(key, "imgedit_xxxxxxxxxxxxxxxxxx=h7757e3e3ad614df9c3d54156eac34982");
        assert_eq!(pair_id_of(&key), None);
        assert_ne!(key, key_of(&long.replacen('x', "X", 1)).to_ascii_lowercase());
    }

    #[test]
    fn what_is_no_key_is_none() {
        for key in ["a.b", "a b", "__a", "=", "=4", "=zz", "=41=k0", "a=kf", "=ff", "a=h00"] {
            assert_eq!(pair_id_of(key), None, "{key}");
        }
    }

    /// Ids that are likely to collide: few characters, all of them special to the function.
    fn ids() -> impl Strategy<Value = String> {
        prop_oneof![
            "[aAbB:_=.-]{0,12}",
            "con|aux|CON|com[0-9]|=63on|lpt1.?",
            "[a-zA-Z0-9:_-]{0,80}",
            ".{0,30}"
        ]
    }

    proptest! {
        #[test]
        fn keys_are_safe_and_turn_back(id in ids()) {
            let key = key_of(&id);
            prop_assert!(key.len() <= KEY_BYTES);
            prop_assert!(key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=".contains(&b)));
            prop_assert!(!key.starts_with("__"));
            prop_assert!(!is_device(&key));
            if !key.contains("=h") {
                prop_assert_eq!(pair_id_of(&key), Some(id.clone()));
                // A file system that folds case loses nothing.
                prop_assert_eq!(pair_id_of(&key.to_ascii_lowercase()), Some(id));
            }
        }

        #[test]
        fn two_ids_never_share_a_key(a in ids(), b in ids()) {
            if a != b {
                prop_assert_ne!(key_of(&a).to_ascii_lowercase(), key_of(&b).to_ascii_lowercase());
            }
        }

        #[test]
        fn any_text_is_taken(text in ".{0,80}") {
            if let Some(id) = pair_id_of(&text) {
                prop_assert!(key_of(&id).eq_ignore_ascii_case(&text));
            }
        }
    }
}
