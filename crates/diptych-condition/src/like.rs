//! Patterns of LIKE and ILIKE, as DuckDB has them: `%` is any text, `_` is any character, and there
//! is no escape but the one that is asked for.

use crate::error::Fault;

/// A pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// What stands between the `%`; a pattern without any is one segment.
    segments: Vec<Segment>,
    folded: bool,
}

/// What stands between two `%`.
#[derive(Debug)]
enum Segment {
    /// Without `_`.
    Exact(String),
    /// `None` is any character.
    Loose(Vec<Option<char>>),
}

impl Pattern {
    /// A pattern as it is written; `folded` is ILIKE.
    pub(crate) fn parse(text: &str, escape: Option<char>, folded: bool) -> Result<Self, Fault> {
        let mut segments = Vec::new();
        let mut segment = Vec::new();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            if Some(char) == escape {
                segment.push(Some(chars.next().ok_or(Fault::LastEscape)?));
            } else if char == '%' {
                segments.push(Segment::new(std::mem::take(&mut segment), folded));
            } else {
                segment.push((char != '_').then_some(char));
            }
        }
        segments.push(Segment::new(segment, folded));
        Ok(Self { segments, folded })
    }

    /// Whether case is folded: [`matches`](Self::matches) then takes texts that [`fold`] has made.
    pub(crate) fn is_folded(&self) -> bool {
        self.folded
    }

    /// Whether a text is as the pattern says.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let (first, last, middle) = match self.segments.as_slice() {
            [] => return text.is_empty(),
            [only] => return only.prefix(text) == Some(text.len()),
            [first, middle @ .., last] => (first, last, middle),
        };
        let Some(mut rest) = first.prefix(text).and_then(|length| text.get(length..)) else {
            return false;
        };
        // The first place at which a segment fits leaves the most for those behind it.
        for segment in middle {
            match segment.find(rest).and_then(|end| rest.get(end..)) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        last.is_suffix(rest)
    }
}

impl Segment {
    fn new(chars: Vec<Option<char>>, folded: bool) -> Self {
        let fold = |char: char| if folded { lower(char) } else { char };
        let chars: Vec<_> = chars.into_iter().map(|char| char.map(fold)).collect();
        match chars.iter().copied().collect::<Option<String>>() {
            Some(exact) => Self::Exact(exact),
            None => Self::Loose(chars),
        }
    }

    /// The bytes that it takes at the start of a text.
    fn prefix(&self, text: &str) -> Option<usize> {
        match self {
            Self::Exact(exact) => text.starts_with(exact.as_str()).then_some(exact.len()),
            Self::Loose(chars) => {
                let mut rest = text.chars();
                for wanted in chars {
                    let found = rest.next()?;
                    if wanted.is_some_and(|wanted| wanted != found) {
                        return None;
                    }
                }
                Some(text.len() - rest.as_str().len())
            }
        }
    }

    /// The end of the first place at which it stands.
    fn find(&self, text: &str) -> Option<usize> {
        match self {
            Self::Exact(exact) => text.find(exact.as_str()).map(|start| start + exact.len()),
            Self::Loose(_) => text
                .char_indices()
                .find_map(|(start, _)| Some(start + self.prefix(text.get(start..)?)?)),
        }
    }

    fn is_suffix(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => text.ends_with(exact.as_str()),
            Self::Loose(chars) => {
                let mut rest = text.chars();
                chars.iter().rev().all(|wanted| {
                    rest.next_back().is_some_and(|found| wanted.is_none_or(|w| w == found))
                })
            }
        }
    }
}

/// Writes a text in lower case, character by character, as DuckDB does.
pub(crate) fn fold(text: &str, into: &mut String) {
    into.clear();
    into.extend(text.chars().map(lower));
}

/// One character for one: what Unicode calls simple.
fn lower(char: char) -> char {
    if char.is_ascii() {
        char.to_ascii_lowercase()
    } else {
        char.to_lowercase().next().unwrap_or(char)
    }
}
