//! The kinds of edit that all datasets share, and how a release's own words become them.

/// Words of a release, in lower case, and the shared word that each is.
pub type EditTypes = &'static [(&'static str, &'static str)];

/// The shared vocabulary: each word, and what an edit of that kind does. A fragment without a
/// period.
pub const VOCABULARY: EditTypes = &[
    ("add", "puts something in that was not there"),
    ("remove", "takes something away and fills in what was behind it"),
    ("replace", "puts another thing in the place of one"),
    ("adjust", "changes a property of a thing that stays, such as its colour, material or state"),
    ("texture", "changes what the surface of a thing looks like"),
    ("action", "changes what somebody or something does: pose, movement, expression"),
    ("local", "changes a part of the picture; more is not said"),
    ("background", "changes what is behind the things that stay"),
    ("environment", "changes the weather, the season, the time of day or the light"),
    ("style", "draws the whole picture in another style"),
    ("extract", "shows one thing of the picture by itself"),
    ("reference_replace", "puts the thing of a further picture in the place of one"),
    ("hybrid", "does several of these in one edit"),
    ("content_memory", "a turn, of whose session a premise holds for every turn; more is not said"),
    ("content_understanding", "a turn that refers to what the turns before said; more is not said"),
    (
        "version_backtracking",
        "a turn of a session that goes back to an earlier picture; more is not said",
    ),
];

/// Whether a word is in the shared vocabulary.
#[must_use]
pub fn is_shared(word: &str) -> bool {
    VOCABULARY.iter().any(|(shared, _)| *shared == word)
}

/// The shared word for a kind of edit, by a release's table; a word that the table does not have
/// is passed on in lower case. `None` where there is no word.
#[must_use]
pub fn shared(native: &str, table: EditTypes) -> Option<String> {
    let native = native.trim().to_lowercase();
    let shared = table.iter().find(|(from, _)| *from == native);
    let word = shared.map_or(native, |(_, to)| (*to).to_owned());
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_shared_by_the_table_and_others_pass_in_lower_case() {
        let table = &[("addition", "add"), ("alter", "adjust")];
        for (native, word) in [
            ("addition", Some("add")),
            (" Alter\n", Some("adjust")),
            ("Remove", Some("remove")),
            ("Something Else", Some("something else")),
            ("additions", Some("additions")),
            (" ", None),
            ("", None),
        ] {
            assert_eq!(shared(native, table).as_deref(), word, "{native:?}");
        }
    }

    #[test]
    fn words_of_the_vocabulary_are_there_once_in_lower_case() {
        let mut words: Vec<_> = VOCABULARY.iter().map(|(word, _)| *word).collect();
        for word in &words {
            assert_eq!(shared(word, &[]).as_deref(), Some(*word));
            assert!(is_shared(word));
        }
        assert!(!is_shared("Add") && !is_shared("foo") && !is_shared(""));
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), VOCABULARY.len());
    }
}
