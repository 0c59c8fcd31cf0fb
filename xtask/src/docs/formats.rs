//! The table of formats, and the page that tells each one's options and losses.

use std::fmt::Write;

use diptych::format::{About, Altered, Format, OptionKind};

use super::{MADE, cell};

/// The table in the README.
pub(super) fn table(formats: &[&dyn Format]) -> String {
    let mut text = String::from("| format | read | written | what it is |\n|---|---|---|---|\n");
    for about in formats.iter().map(|format| format.about()) {
        let _ = writeln!(
            text,
            "| [`{}`](docs/formats.md#{}) | {} | {} | {} |",
            about.name,
            anchor(about),
            yes(about.reads),
            yes(about.writes),
            cell(about.summary)
        );
    }
    text
}

/// `docs/formats.md`.
pub(super) fn page(formats: &[&dyn Format]) -> String {
    let mut text = format!("# Formats\n\n{MADE}");
    text.push_str(
        "What each format is, what can be chosen of it with `-o FORMAT.KEY=VALUE`, and what is \
         not kept.\n",
    );
    for about in formats.iter().map(|format| format.about()) {
        push_format(&mut text, about);
    }
    push_alterations(&mut text, formats);
    text
}

/// What outputs do not hold as it went in: a row for each thing, a column for each format.
fn push_alterations(text: &mut String, formats: &[&dyn Format]) {
    let written: Vec<_> =
        formats.iter().map(|format| format.about()).filter(|about| about.writes).collect();
    text.push_str(
        "\n## What a destination cannot hold\n\nWhatever a pair says besides is in an output as it \
         went in, and comes back from it; the bytes of pictures too. A test converts every release \
         in `fixtures/` to every format that is read back, and holds it to this table.\n\n| |",
    );
    written.iter().for_each(|about| text.push_str(&format!(" `{}` |", about.name)));
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(written.len()));
    text.push('\n');
    for of in Altered::ALL {
        let says = |about: &&About| {
            let says = about.alters.iter().find(|alteration| alteration.of == of);
            says.map_or("held", |alteration| alteration.says)
        };
        let cells: Vec<_> = written.iter().map(|about| cell(says(about))).collect();
        let _ = writeln!(text, "| {} | {} |", of.title(), cells.join(" | "));
    }
}

fn push_format(text: &mut String, about: &About) {
    let does = match (about.reads, about.writes) {
        (true, true) => "is read and written",
        (true, false) => "is read",
        (false, true) => "is written",
        (false, false) => "is neither read nor written",
    };
    let About { name, title, summary, options, losses, .. } = about;
    let _ = write!(text, "\n## {title}\n\n`{name}` {does}: {summary}.\n\n");
    if options.is_empty() {
        text.push_str("Options: none.\n\n");
    } else {
        text.push_str("| option | takes | default | what it does |\n|---|---|---|---|\n");
        for option in *options {
            let default = match option.default {
                "" => "none".to_owned(),
                default => format!("`{default}`"),
            };
            let _ = writeln!(
                text,
                "| `{name}.{}` | {} | {default} | {} |",
                option.key,
                takes(option.kind),
                cell(option.help)
            );
        }
        text.push('\n');
    }
    if about.reads {
        text.push_str("What it fills of the schema: [schema.md](schema.md#what-fills-it).\n\n");
    }
    if !about.published.is_empty() {
        text.push_str(
            "Pairs in the whole release, by what its authors published or by what was \
                       measured on it:\n\n| column | value | pairs |\n|---|---|---|\n",
        );
        for of in about.published {
            let _ = writeln!(text, "| `{}` | {} | {} |", of.facet.column(), of.value, of.pairs);
        }
        text.push('\n');
    }
    if about.reads {
        text.push_str(match losses.is_empty() {
            true => "Not read: nothing.\n",
            false => "Not read:\n\n",
        });
        for loss in *losses {
            let _ = writeln!(text, "- {loss}");
        }
    }
    if about.writes {
        let blank = if about.reads { "\n" } else { "" };
        let _ = writeln!(
            text,
            "{blank}What an output does not hold as it went in: \
             [below](#what-a-destination-cannot-hold)."
        );
    }
}

fn takes(kind: OptionKind) -> String {
    match kind {
        OptionKind::Flag => "`true` or `false`".to_owned(),
        OptionKind::Choice(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(" or ")
        }
        OptionKind::Size => "a size such as `100MB`".to_owned(),
        OptionKind::Folder => "a folder".to_owned(),
        _ => "text".to_owned(),
    }
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "" }
}

/// The anchor that a heading with the format's title gets.
fn anchor(about: &About) -> String {
    let kept = about.title.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych::format::{Alteration, OptionSpec};

    struct Sample;

    impl Format for Sample {
        fn about(&self) -> &'static About {
            const ABOUT: About = About {
                name: "some-thing",
                title: "Some Thing 2",
                summary: "this | that",
                reads: true,
                writes: true,
                options: &[
                    OptionSpec {
                        key: "rows",
                        kind: OptionKind::Size,
                        default: "100MB",
                        help: "how large a row group is",
                        used: diptych::format::Used::Reading,
                    },
                    OptionSpec {
                        key: "order",
                        kind: OptionKind::Choice(&["given", "shuffled"]),
                        default: "given",
                        help: "which pair comes first",
                        used: diptych::format::Used::Reading,
                    },
                    OptionSpec {
                        key: "recap",
                        kind: OptionKind::Text,
                        default: "",
                        help: "a folder of a | b",
                        used: diptych::format::Used::Reading,
                    },
                ],
                losses: &["colour of the sky"],
                alters: &[Alteration { of: Altered::Split, says: "gone | lost" }],
                fills: &[],
                edit_types: &[],
                masks: diptych::format::MaskMeaning::None,
                terms: &[],
                citation: None,
                published: &[],
            };
            &ABOUT
        }
    }

    #[test]
    fn everything_declared_is_told() {
        let page = page(&[&Sample]);
        for part in [
            "\n## Some Thing 2\n\n`some-thing` is read and written: this | that.\n",
            "| `some-thing.rows` | a size such as `100MB` | `100MB` | how large a row group is |\n",
            "| `some-thing.order` | `given` or `shuffled` | `given` | which pair comes first |\n",
            "| `some-thing.recap` | text | none | a folder of a \\| b |\n",
            "Not read:\n\n- colour of the sky\n\nWhat an output does not hold",
            "| | `some-thing` |\n|---|---|\n| the order of pairs in a split | held |\n",
            "| the splits of one image's pairs | gone \\| lost |\n",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        let row = "| [`some-thing`](docs/formats.md#some-thing-2) | yes | yes | this \\| that |\n";
        assert!(table(&[&Sample]).ends_with(row), "{}", table(&[&Sample]));
    }
}
