//! Rust source with its comments, strings and tests told apart: as much of the grammar as that
//! takes.

/// A source file, twice: what is blanked keeps its lines, so that numbers of lines hold.
pub(super) struct Code {
    /// Comments are blank; strings are there.
    spoken: String,
    /// Comments, and what is inside strings and characters, are blank.
    bare: String,
    /// Lines before the module of tests at the end; all lines where there is none.
    pub(super) lines: usize,
    /// Lines in all.
    pub(super) all_lines: usize,
}

impl Code {
    pub(super) fn of(text: &str) -> Self {
        let (spoken, bare) = blank(text);
        let all_lines = text.lines().count();
        let lines = tests_begin(&bare).unwrap_or(all_lines);
        Self { spoken, bare, lines, all_lines }
    }

    /// The lines before the tests, from 1, without comments and what is in strings.
    pub(super) fn bare(&self) -> impl Iterator<Item = (usize, &str)> {
        self.bare_with_tests().take(self.lines)
    }

    /// All lines, from 1, without comments and what is in strings.
    pub(super) fn bare_with_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.bare.lines())
    }

    /// The lines before the tests, from 1, without comments.
    pub(super) fn spoken(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.spoken.lines()).take(self.lines)
    }
}

/// Whether `word` stands in `line` as a word of its own.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The number of lines before `#[cfg(test)] mod NAME {`.
fn tests_begin(bare: &str) -> Option<usize> {
    let lines: Vec<_> = bare.lines().map(str::trim).collect();
    lines.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    })
}

/// `text` without comments, and without comments and what is in strings.
fn blank(text: &str) -> (String, String) {
    let (mut spoken, mut bare) = (String::new(), String::new());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let (length, kind) = piece(rest, before);
        let (now, later) = rest.split_at(length);
        let blanked = || now.chars().map(|c| if c == '\n' { '\n' } else { ' ' });
        match kind {
            Kind::Code => {
                spoken.push_str(now);
                bare.push_str(now);
            }
            Kind::Comment => {
                spoken.extend(blanked());
                bare.extend(blanked());
            }
            Kind::Text => {
                spoken.push_str(now);
                bare.extend(blanked());
            }
        }
        before = c;
        rest = later;
    }
    (spoken, bare)
}

enum Kind {
    Code,
    Comment,
    Text,
}

/// The length of the first piece of `rest`, which is not empty, and what it is.
fn piece(rest: &str, before: char) -> (usize, Kind) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), Kind::Comment);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), Kind::Comment);
    }
    let is_name = before.is_alphanumeric() || before == '_';
    if !is_name && let Some(length) = raw_string(rest) {
        return (length, Kind::Text);
    }
    if rest.starts_with('"') {
        return (quoted(rest, '"'), Kind::Text);
    }
    if let Some(inner) = rest.strip_prefix('\'') {
        let mut chars = inner.chars();
        let is_char = match (chars.next(), chars.next()) {
            (Some('\\'), _) | (Some(_), Some('\'')) => true,
            // A lifetime.
            _ => false,
        };
        if is_char {
            return (quoted(rest, '\''), Kind::Text);
        }
    }
    (rest.chars().next().map_or(1, char::len_utf8), Kind::Code)
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(now) = rest.get(at..).filter(|now| !now.is_empty()) {
        let step = if now.starts_with("/*") {
            depth += 1;
            2
        } else if now.starts_with("*/") {
            depth -= 1;
            2
        } else {
            now.chars().next().map_or(1, char::len_utf8)
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a raw string at the start of `rest`.
fn raw_string(rest: &str) -> Option<usize> {
    let start = ["r", "br", "cr"].into_iter().find(|start| {
        let inner = rest.strip_prefix(start).map(|inner| inner.trim_start_matches('#'));
        inner.is_some_and(|inner| inner.starts_with('"'))
    })?;
    let inner = &rest[start.len()..];
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let body = start.len() + hashes + 1;
    let length = rest[body..].find(&end).map_or(rest.len(), |at| body + at + end.len());
    Some(length)
}

/// The length of what is quoted at the start of `rest`.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[test]
fn comments_and_strings_are_told_apart() {
    let text = "a // b \"c\"\n/* d /* e */ f\n*/ g(\"h \\\" // i\", 'j', '\\'', '\"') as &'k str;\n\
                r#\"l \" // m\"# n br\"o\" for_\"p\" '\u{4e2d}'\n";
    let (spoken, bare) = blank(text);
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
        words.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(words(&spoken), "a g h i j as k str r l m n br o for p \u{4e2d}");
    assert_eq!(words(&bare), "a g as k str n for");
    assert_eq!(spoken.lines().count(), text.lines().count());
    assert_eq!(bare.lines().count(), text.lines().count());
}

#[test]
fn tests_at_the_end_are_left_out() {
    let code = Code::of("//! Head\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n");
    assert_eq!((code.lines, code.all_lines), (3, 7));
    assert_eq!(code.bare().filter(|(_, line)| has_word(line, "b")).count(), 0);
    assert_eq!(code.bare_with_tests().filter(|(_, line)| has_word(line, "b")).count(), 1);
    assert_eq!(Code::of("#[cfg(test)]\nmod tests;\nfn a() {}\n").lines, 3);
}

#[test]
fn words_are_whole() {
    assert!(has_word("std::io::Error", "io"));
    assert!(!has_word("ratio, io_error, bios", "io"));
}
