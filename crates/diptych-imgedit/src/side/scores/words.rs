//! The lines of a judge's answer.
//!
//! The authors take a line that is two parts with `: ` between them, the second all digits. That
//! leaves out `4.`, `4/5` and `**4**`, which are answers too.

/// What a line says.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// A score: its label in snake case, and the number.
    Score(String, f64),
    /// Whether the objects match.
    ObjectsMatch(bool),
}

/// What the judge was asked for; also `score_1`, `score_2` and so on.
const ASKED: [&str; 9] = [
    "prompt_compliance",
    "visual_naturalness",
    "physical_detail_integrity",
    "object_selection_identity",
    "mask_precision_background_purity",
    "object_integrity_visual_quality",
    "instruction_compliance",
    "physical_consistency_fine_detail",
    "average",
];

/// The best score.
const BEST: f64 = 5.0;
/// Characters of a label.
const LABEL: usize = 64;

/// Reads a line.
pub(super) fn line(line: &str) -> Option<Line> {
    let (before, after) = line.rsplit_once(':')?;
    let label = snake(before)?;
    if label == "objects_match" {
        return match plain(after).to_lowercase().as_str() {
            "true" | "yes" => Some(Line::ObjectsMatch(true)),
            "false" | "no" => Some(Line::ObjectsMatch(false)),
            _ => None,
        };
    }
    // Of a line that is known to be a score the first number counts, whatever is said behind it.
    // Any other line, above all the reasoning, must be a number and nothing else.
    if is_asked(&label) {
        return first(after).map(|value| Line::Score(label, value));
    }
    if let Some((before, after)) = line.split_once(':')
        && let Some(label) = snake(before).filter(|label| is_asked(label))
    {
        return first(after).map(|value| Line::Score(label, value));
    }
    let is_reasoning = label.contains("reason");
    let value = alone(after).filter(|_| !is_reasoning)?;
    Some(Line::Score(label, value))
}

fn is_asked(label: &str) -> bool {
    let numbered = label.strip_prefix("score_").is_some_and(|n| n.parse::<u8>().is_ok());
    numbered || label == "score" || ASKED.contains(&label)
}

/// A label in snake case: `Physical & Detail Integrity` is `physical_detail_integrity`. Marks of
/// a list or of emphasis are no part of it. `None` where no letter is left, or far too many.
pub(super) fn snake(label: &str) -> Option<String> {
    let label = label.trim().trim_start_matches(['-', '*', '#', '>', '•', ' ']);
    let unnumbered = label.trim_start_matches(|c: char| c.is_ascii_digit());
    let label = unnumbered.strip_prefix(['.', ')']).unwrap_or(label);
    if label.chars().count() > LABEL {
        return None;
    }
    let words: Vec<_> = label
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let has_letter = words.iter().any(|word| word.chars().any(char::is_alphabetic));
    has_letter.then(|| words.join("_"))
}

/// Text without what is put around it for emphasis.
fn plain(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || "*_`'\"()[]{}.,;".contains(c))
}

/// The number that a text is: `4`, `4.`, `4.5`, `4/5`, `**4**`, `4 out of 5`.
pub(super) fn alone(text: &str) -> Option<f64> {
    let text = plain(text);
    let (number, rest) = number(text)?;
    let rest = plain(rest).trim_start_matches(['/', ' ']);
    let rest = rest.strip_prefix("out of").unwrap_or(rest).trim();
    (rest.is_empty() || rest == "5").then_some(number).filter(|n| is_score(*n))
}

/// The first number of a text that can be a score.
fn first(text: &str) -> Option<f64> {
    let mut rest = text;
    loop {
        let start = rest.find(|c: char| c.is_ascii_digit())?;
        let (value, behind) = number(rest.get(start..)?)?;
        if is_score(value) {
            return Some(value);
        }
        rest = behind;
    }
}

fn is_score(value: f64) -> bool {
    (0.0..=BEST).contains(&value)
}

/// The number that a text begins with, and what follows it.
fn number(text: &str) -> Option<(f64, &str)> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    let fraction = match text.get(whole..)?.strip_prefix('.').map(digits) {
        Some(length) if length > 0 => 1 + length,
        _ => 0,
    };
    let (number, rest) = text.split_at_checked(whole + fraction)?;
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn score(text: &str) -> Option<(String, f64)> {
        match line(text)? {
            Line::Score(name, value) => Some((name, value)),
            Line::ObjectsMatch(_) => None,
        }
    }

    #[test]
    fn every_label_that_was_asked_for_is_read() {
        let labels = [
            ("Prompt Compliance", "prompt_compliance"),
            ("Visual Naturalness", "visual_naturalness"),
            ("Physical & Detail Integrity", "physical_detail_integrity"),
            ("Object Selection & Identity", "object_selection_identity"),
            ("Mask Precision & Background Purity", "mask_precision_background_purity"),
            ("Object Integrity & Visual Quality", "object_integrity_visual_quality"),
            ("Instruction Compliance", "instruction_compliance"),
            ("Physical Consistency & Fine Detail", "physical_consistency_fine_detail"),
            ("Score 1", "score_1"),
            ("Score 2", "score_2"),
        ];
        for (label, name) in labels {
            assert_eq!(score(&format!("{label}: 4")), Some((name.to_owned(), 4.0)));
            assert!(is_asked(name), "{name}");
        }
    }

    #[test]
    fn answers_are_taken_leniently() {
        let forms =
            ["4", "4.", "4/5", "4 / 5", "**4**", "`4`", "4.0", "(4)", "4 out of 5", "[4]", "4,"];
        for form in forms {
            assert_eq!(alone(form), Some(4.0), "{form}");
            for label in ["Visual Naturalness", "- **Visual Naturalness**", "2. Visual naturalness"]
            {
                let found = score(&format!("{label}: {form}"));
                assert_eq!(found, Some(("visual_naturalness".to_owned(), 4.0)), "{label} {form}");
            }
        }
        assert_eq!(score("**Score 2:** 3"), Some(("score_2".to_owned(), 3.0)));
        assert_eq!(score("Score 1: 4 - as it was asked"), Some(("score_1".to_owned(), 4.0)));
        assert_eq!(score("Score 1: 4 (note: 2 of 3)"), Some(("score_1".to_owned(), 4.0)));
        assert_eq!(score("Colour Fidelity: 3"), Some(("colour_fidelity".to_owned(), 3.0)));
        assert_eq!(alone("4.5"), Some(4.5));
    }

    #[test]
    fn what_is_no_score_is_not_taken_for_one() {
        for text in [
            "Brief reasoning: the picture has 2 dogs",
            "Brief reasoning: 4",
            "Brief reasoning: fine.",
            "Score 1: 10",
            "Year: 2023",
            "Time: 12:30",
            "the ratio is 3:4 here",
            "Score 1:",
            ": 4",
            "4",
            "Objects match: True",
        ] {
            assert_eq!(score(text), None, "{text}");
        }
        for text in ["", "6", "-1", "4 dogs", "4 5 5", "five", "4/10", "1e9"] {
            assert_eq!(alone(text), None, "{text}");
        }
        assert_eq!(line("Objects match: True"), Some(Line::ObjectsMatch(true)));
        assert_eq!(line("**Objects match:** False."), Some(Line::ObjectsMatch(false)));
        assert_eq!(line("Objects match: perhaps"), None);
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(text in "\\PC{0,40}[:*0-9./ é]{0,12}") {
            let _ = (line(&text), alone(&text), snake(&text));
        }
    }
}
