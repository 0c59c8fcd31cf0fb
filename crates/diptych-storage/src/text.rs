//! Text for messages: untrusted bytes, and numbers in runs.

use std::fmt::Write;

/// Longest text that [`printable`] gives for a name, in characters before escaping.
const LONGEST: usize = 80;
/// How many of them are the name's end, which tells names of one folder apart.
const END: usize = 32;

/// `bytes` as text for a message: what is no UTF-8, every control character, and what turns the
/// direction of writing or cannot be seen is escaped, and the middle of a long name is left out.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    // A character has at most four bytes, so no more of a long name need be looked at.
    let far = LONGEST * 4;
    if let (true, Some(start), Some(end)) =
        (bytes.len() > 2 * far, bytes.get(..far), bytes.get(bytes.len().saturating_sub(far)..))
    {
        let (start, end) = (escaped(start), escaped(end));
        return join(&start, &end);
    }
    let all = escaped(bytes);
    if all.len() <= LONGEST { all.concat() } else { join(&all, &all) }
}

/// `text` for a terminal: as it is, but for control characters and what turns the direction of
/// writing or cannot be seen, which are escaped. Line ends are control characters too.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// Ascending numbers as runs without gaps: first and last of each.
#[must_use]
pub fn runs(numbers: &[u32]) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

fn join(start: &[String], end: &[String]) -> String {
    let start = start.iter().take(LONGEST - 1 - END);
    let end = end.iter().skip(end.len().saturating_sub(END));
    start.map(String::as_str).chain(["…"]).chain(end.map(String::as_str)).collect()
}

/// One string a character.
fn escaped(bytes: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            all.push(match c {
                '\\' => "\\\\".to_owned(),
                _ if is_hidden(c) => c.escape_unicode().to_string(),
                _ => c.to_string(),
            });
        }
        for byte in chunk.invalid() {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
            all.push(text);
        }
    }
    all
}

/// Whether `c` moves or hides what stands around it.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_messages_cannot_deceive() {
        assert_eq!(printable("图 a/b.png".as_bytes()), "图 a/b.png");
        assert_eq!(printable(b"a\nb\x1b[0m\xff\\"), "a\\u{a}b\\u{1b}[0m\\xff\\\\");
        assert_eq!(printable("a\u{202e}gnp.exe".as_bytes()), "a\\u{202e}gnp.exe");
    }

    #[test]
    fn numbers_that_follow_each_other_are_runs() {
        assert_eq!(runs(&[0, 1, 2, 5, 7, 8]), [(0, 2), (5, 5), (7, 8)]);
        assert_eq!(runs(&[u32::MAX, u32::MAX]), [(u32::MAX, u32::MAX); 2]);
        assert_eq!(runs(&[]), []);
    }

    #[test]
    fn long_names_keep_both_ends() {
        for length in [81, 639, 640, 641, 5000] {
            let mut name = vec![b'x'; length];
            name[0] = b'A';
            name[length - 1] = b'Z';
            let text = printable(&name);
            assert_eq!(text.chars().count(), LONGEST);
            assert!(text.starts_with('A') && text.ends_with('Z') && text.contains('…'));
        }
        assert_eq!(printable(&[b'x'; 80]), "x".repeat(80));
    }
}
