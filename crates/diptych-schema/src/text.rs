//! The language of an instruction.

/// Whether a character is Han: the ideographs, their extensions and compatibility forms, and the
/// iteration and number marks that are written as one.
fn is_han(c: char) -> bool {
    matches!(u32::from(c),
        0x3005 | 0x3007 | 0x3021..=0x3029 | 0x3038..=0x303B
        | 0x2E80..=0x2FD5
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF
        | 0x20000..=0x2FA1F | 0x30000..=0x323AF)
}

/// The language of `text` where the release does not say it: `zh` for text with any Han
/// character, else `otherwise` (the reader's closed set; `None` where it has none).
#[must_use]
pub fn language_of(text: &str, otherwise: Option<&str>) -> Option<String> {
    if text.chars().any(is_han) { Some("zh".to_owned()) } else { otherwise.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::language_of;

    #[test]
    fn any_han_character_makes_it_chinese() {
        assert_eq!(language_of("移除", Some("en")).as_deref(), Some("zh"));
        assert_eq!(language_of("add a 灯 here", Some("en")).as_deref(), Some("zh"));
        assert_eq!(language_of("𠀀", None).as_deref(), Some("zh"));
        assert_eq!(language_of("make it blue → **blue**", Some("en")).as_deref(), Some("en"));
        assert_eq!(language_of("かな だけ", None), None);
    }
}
