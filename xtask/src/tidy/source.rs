//! What no source of ours may contain, and what each must.

use super::code::has_word;
use super::graph::format_crates;
use super::{Source, formats, none, sources};

/// Lines of `sources` before their tests for which `is_wrong` holds, without comments and what is
/// in strings.
fn lines<'a>(
    sources: impl IntoIterator<Item = &'a Source>,
    is_wrong: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources {
        let found = source.code.bare().filter(|(_, line)| is_wrong(line));
        wrong.extend(found.map(|(number, line)| format!("{}: {}", source.at(number), line.trim())));
    }
    wrong
}

#[test]
fn the_schema_does_no_io() {
    let sources = sources();
    let schema: Vec<_> =
        sources.iter().filter(|of| of.package() == "diptych-schema" && of.is_shipped()).collect();
    assert!(schema.len() >= 8, "only {} sources of the schema", schema.len());
    let words = ["fs", "net", "io", "env", "process", "thread", "File", "Path", "PathBuf"];
    let wrong = lines(schema, |line| words.iter().any(|word| has_word(line, word)));
    none(&wrong, "the schema does no I/O");
}

#[test]
fn storage_and_engine_name_no_format() {
    let crates = format_crates();
    let sources = sources();
    let mut looked_at = 0;
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|of| of.is_shipped()) {
        if !["diptych-storage", "diptych-convert", "diptych-format", "diptych-pixels"]
            .contains(&source.package())
        {
            continue;
        }
        looked_at += 1;
        for (number, line) in source.code.spoken() {
            let is_named = formats().iter().any(|about| names(line, about.name))
                || crates.iter().any(|name| has_word(line, &name.replace('-', "_")));
            if is_named {
                wrong.push(format!("{}: {}", source.at(number), line.trim()));
            }
        }
    }
    assert!(looked_at >= 40, "only {looked_at} sources were looked at");
    none(&wrong, "only a format's own crate and the facade name it");
}

/// Whether a line of code names a format: as a string of its own, or anywhere where the name is no
/// word that means something else too.
fn names(line: &str, format: &str) -> bool {
    line.contains(&format!("\"{format}\"")) || (format.contains('-') && line.contains(format))
}

#[test]
fn only_the_command_prints() {
    let sources = sources();
    let libraries: Vec<_> =
        sources.iter().filter(|of| of.is_shipped() && of.package() != "diptych-cli").collect();
    assert!(libraries.len() >= 50, "only {} sources of libraries", libraries.len());
    let prints = ["print!", "println!", "eprint!", "eprintln!", "stdout(", "stderr("];
    let is_print = |line: &str| {
        prints.iter().any(|print| {
            let word = print.trim_end_matches(['!', '(']);
            has_word(line, word) && line.contains(print)
        })
    };
    none(&lines(libraries, is_print), "only the command prints");
    let command: Vec<_> = sources.iter().filter(|of| of.package() == "diptych-cli").collect();
    assert!(!lines(command, is_print).is_empty(), "the command prints, and this would see it");
}

#[test]
fn nothing_is_left_to_do() {
    let sources = sources();
    let mut wrong = Vec::new();
    for source in &sources {
        for (number, line) in source.code.bare_with_tests() {
            if ["todo!", "unimplemented!", "dbg!"].iter().any(|left| line.contains(left)) {
                wrong.push(format!("{}: {}", source.at(number), line.trim()));
            }
        }
    }
    none(&wrong, "what is committed is done");
}

#[test]
fn nothing_is_unsafe() {
    let sources = sources();
    let unsafe_lines =
        sources.iter().flat_map(|source| source.code.bare_with_tests().map(move |l| (source, l)));
    let wrong: Vec<_> = unsafe_lines
        .filter(|(_, (_, line))| has_word(line, "unsafe"))
        .map(|(source, (number, _))| source.at(number))
        .collect();
    none(&wrong, "no code is unsafe");
    assert!(super::read("Cargo.toml").contains("\nunsafe_code = \"forbid\"\n"));
}

#[test]
fn exceptions_from_lints_are_expected_and_have_reasons() {
    let sources = sources();
    let mut exceptions = 0;
    let mut wrong = Vec::new();
    for source in &sources {
        let code: Vec<_> = source.code.bare_with_tests().collect();
        for (i, (number, line)) in code.iter().enumerate() {
            let line = line.trim();
            let starts =
                |of: &str| ["#[", "#!["].iter().any(|at| line.starts_with(&format!("{at}{of}(")));
            let (allowed, expected) = (starts("allow"), starts("expect"));
            if !allowed && !expected {
                continue;
            }
            exceptions += 1;
            let attribute: Vec<_> =
                code[i..].iter().take(12).map(|(_, line)| line.trim()).collect();
            let attribute = attribute.join(" ");
            if !attribute.split(")]").next().is_some_and(|of| of.contains("reason =")) {
                wrong.push(format!("{}: no reason", source.at(*number)));
            }
            // An expectation must be met in each place; code that tests share need not be.
            if allowed && !source.is_test() {
                wrong.push(format!("{}: allow", source.at(*number)));
            }
        }
    }
    assert!(exceptions >= 5, "only {exceptions} exceptions were found");
    none(
        &wrong,
        "an exception from a lint is `#[expect(..., reason = \"...\")]`, in tests also `allow`",
    );
}

#[test]
fn every_source_says_what_it_is_for() {
    let sources = sources();
    let shipped = sources.iter().filter(|of| !of.is_test());
    let without = shipped.filter(|of| !of.text.starts_with("//! "));
    let wrong: Vec<_> = without.map(|of| of.path.clone()).collect();
    none(&wrong, "every source that is no test begins with `//!`");
}

#[test]
fn no_source_is_too_long_to_read() {
    let mut wrong = Vec::new();
    for source in sources() {
        let (lines, all) = (source.code.lines, source.code.all_lines);
        if lines > 600 || all > 700 {
            wrong.push(format!("{}: {lines} lines before the tests, {all} in all", source.path));
        }
    }
    none(&wrong, "at most 600 lines before the tests, 700 in all");
}

#[test]
fn no_name_is_that_of_a_format_by_chance() {
    assert!(names("x == \"parquet\"", "parquet"));
    assert!(!names("use parquet::arrow;", "parquet"));
    assert!(names("\"inter-edit-train:0000001\"", "inter-edit-train"));
}
