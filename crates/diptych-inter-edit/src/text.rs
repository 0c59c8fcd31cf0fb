//! What is known of the instructions. They are kept as they are; what is told here goes into
//! `labels`.

use diptych_schema::Label;

/// Instructions that mean something only with the mask or box, in lower case and without
/// punctuation at the end. In the full release 145,315 rows have one; the first three alone are
/// 145,057 of them.
const GENERIC: [&str; 14] = [
    "移除",
    "remove",
    "remove it",
    "remove this",
    "remove that",
    "remove them",
    "remove object",
    "remove the object",
    "删除",
    "去掉",
    "去除",
    "消除",
    "移除它",
    "移除物体",
];

/// What a language model left behind in 5,596 rows of the full release, and the word for it.
const RESIDUE: [(&str, &str); 5] = [
    ("**", "bold"),
    ("→", "arrow"),
    ("\n", "newline"),
    ("简化为", "simplified_to"),
    ("精简后", "condensed"),
];

/// Labels that an instruction earns.
pub(crate) fn labels(instruction: &str) -> Vec<Label> {
    let mut labels = Vec::new();
    let bare = instruction.trim().trim_end_matches(['.', '!', '。', '！']).to_lowercase();
    if GENERIC.contains(&bare.as_str()) {
        labels.push(Label { name: "generic_instruction".to_owned(), value: "true".to_owned() });
    }
    let residue: Vec<&str> = RESIDUE
        .iter()
        .filter(|(mark, _)| instruction.contains(mark))
        .map(|(_, word)| *word)
        .collect();
    if !residue.is_empty() {
        labels.push(Label { name: "instruction_residue".to_owned(), value: residue.join(",") });
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::labels;

    fn told(instruction: &str) -> String {
        let each = |label: &diptych_schema::Label| format!("{}={}", label.name, label.value);
        labels(instruction).iter().map(each).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn generic_instructions_are_told() {
        for generic in ["移除", "remove", "Remove it.", " remove it ", "移除。"] {
            assert_eq!(told(generic), "generic_instruction=true", "{generic}");
        }
        for telling in ["移除帽子", "remove the hat", "removed", ""] {
            assert_eq!(told(telling), "", "{telling}");
        }
    }

    #[test]
    fn what_a_language_model_left_is_told() {
        assert_eq!(told("移除 → **移除**\n"), "instruction_residue=bold,arrow,newline");
        assert_eq!(told("把帽子换成红色，简化为：换帽子"), "instruction_residue=simplified_to");
        assert_eq!(told("精简后：移除"), "instruction_residue=condensed");
        assert_eq!(told("make it 2 * 3"), "");
    }
}
