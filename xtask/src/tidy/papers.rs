//! What documents and fixtures must have.

use std::collections::BTreeSet;
use std::path::Path;

use super::graph::workspace_dependencies;
use super::{files, formats, none, read, root, sources};

/// Documents written by hand or made.
fn documents() -> Vec<String> {
    let by_hand =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "fuzz/README.md"];
    let documents: Vec<_> = by_hand.map(str::to_owned).into_iter().chain(files("docs")).collect();
    assert!(documents.len() >= 5, "only {documents:?} were found");
    documents
}

#[test]
fn every_format_that_is_read_has_good_and_bad_fixtures() {
    let mut read_formats = 0;
    for about in formats().iter().filter(|about| about.reads) {
        read_formats += 1;
        let good = files(&format!("fixtures/{}", about.name));
        assert!(good.len() >= 2, "{}: the good release has {} files", about.name, good.len());
        let bad = files(&format!("fixtures/bad/{}", about.name));
        let cases: BTreeSet<_> = bad.iter().filter_map(|path| path.split('/').nth(3)).collect();
        assert!(cases.len() >= 10, "{}: only {} bad releases", about.name, cases.len());
        for case in cases {
            let folder = format!("fixtures/bad/{}/{case}", about.name);
            assert!(bad.contains(&format!("{folder}/expected.json")), "{folder} expects nothing");
            let release = format!("{folder}/release/");
            assert!(bad.iter().any(|path| path.starts_with(&release)), "{release} is empty");
        }
    }
    assert!(read_formats >= 1);
}

#[test]
fn every_format_has_its_row_in_the_documents() {
    let (readme, page) = (read("README.md"), read("docs/formats.md"));
    for about in formats() {
        assert!(readme.contains(&format!("| [`{}`](docs/formats.md#", about.name)));
        assert!(page.contains(&format!("\n## {}\n", about.title)), "{} has no page", about.name);
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let architecture = read("ARCHITECTURE.md");
    let names = workspace_dependencies(&read("Cargo.toml"));
    assert!(names.len() >= 20, "only {} dependencies were found", names.len());
    let wrong: Vec<_> =
        names.into_iter().filter(|name| !architecture.contains(&format!("`{name}`"))).collect();
    none(&wrong, "ARCHITECTURE.md says why each dependency is there");
}

#[test]
fn every_test_that_is_named_exists() {
    let architecture = read("ARCHITECTURE.md");
    let (_, invariants) = architecture.split_once("\n## Invariants\n").unwrap();
    let invariants = invariants.split("\n## ").next().unwrap_or_default();
    let promises = read("docs/promises.md");
    let sources = sources();
    let exists = |name: &str| {
        sources.iter().any(|source| source.text.contains(&format!("fn {name}(")))
            || Path::new(name).extension().is_some_and(|ext| ext == "rs" || ext == "py")
                && root().join(name).exists()
            // What only people and `.ci/run` start.
            || ["cargo xtask ", "bash .ci/run"].iter().any(|command| name.starts_with(command))
    };
    for (document, table, least) in
        [("ARCHITECTURE.md", invariants, 15), ("docs/promises.md", promises.as_str(), 30)]
    {
        let rows = table.lines().filter(|line| line.starts_with("| "));
        let named: Vec<_> = rows
            .map(|row| row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default())
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .collect();
        assert!(named.len() >= least, "only {} tests are named in {document}", named.len());
        let wrong: Vec<_> =
            named.into_iter().filter(|name| !exists(name)).map(str::to_owned).collect();
        none(&wrong, &format!("a test that {document} names exists"));
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut links = 0;
    let mut wrong = Vec::new();
    for document in documents() {
        let text = read(&document);
        let folder = Path::new(&document).parent().unwrap_or(Path::new(""));
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            links += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() {
                Path::new(&document).to_path_buf()
            } else {
                folder.join(path)
            };
            let there = root().join(&path);
            let has_anchor = || {
                let text = std::fs::read_to_string(&there).unwrap_or_default();
                text.lines().any(|line| line.starts_with('#') && anchor_of(line) == anchor)
            };
            if !there.exists() || (!anchor.is_empty() && !has_anchor()) {
                wrong.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(links >= 5, "only {links} links were found");
    none(&wrong, "links lead somewhere");
}

/// The anchor of a heading.
fn anchor_of(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn blocks_that_are_run_are_marked_as_they_must_be() {
    let ci = read(".ci/run");
    let mut found = Vec::new();
    for path in documents() {
        let text = read(&path);
        let lines: Vec<_> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let Some(mark) = line.strip_prefix("<!-- ci: ") else { continue };
            let mark = mark.strip_suffix(" -->").unwrap_or_else(|| panic!("{path}: {line}"));
            assert!(["```sh", "```python"].contains(&lines[i + 1]), "{path}: {}", lines[i + 1]);
            let call = format!("run_document.py {path} . {mark}\n");
            assert!(ci.contains(&call), "CI does not run the blocks of {path} marked {mark}");
            found.push((path.clone(), mark.to_owned()));
        }
    }
    for (path, mark, least) in [
        ("README.md", "setup", 1),
        ("README.md", "run", 2),
        ("docs/reading.md", "run", 3),
        ("docs/reading.md", "torch", 4),
        ("docs/machines.md", "run", 1),
    ] {
        let count = found.iter().filter(|(p, m)| p == path && m == mark).count();
        assert!(count >= least, "{path} has {count} blocks marked {mark}");
    }
}

#[test]
fn nothing_names_somebodys_machine() {
    let mut looked_at = 0;
    let mut wrong = Vec::new();
    let texts = documents().into_iter().chain(sources().into_iter().map(|source| source.path));
    for path in texts.filter(|path| path != "xtask/src/tidy/papers.rs") {
        looked_at += 1;
        let text = read(&path);
        for part in ["/home/", "/root/", "/Users/", "/work/", "/tmp/", "C:\\Users"] {
            if text.contains(part) {
                wrong.push(format!("{path}: {part}"));
            }
        }
    }
    assert!(looked_at >= 80, "only {looked_at} texts were looked at");
    none(&wrong, "no text names a path of somebody's machine");
}

/// Which test trips each limit, and passes just under it.
const LIMITS: [(&str, &str); 17] = [
    ("row-bytes", "rows_over_the_limit_are_passed_over"),
    ("rows", "so_many_rows_are_given_and_no_more"),
    ("expansion", "a_text_becomes_so_many_times_its_size_and_no_more"),
    ("page-expansion", "pages_that_become_many_times_as_much_are_held_against_the_limit"),
    ("page-bytes", "pages_are_held_against_the_limit"),
    ("text-page-bytes", "pages_of_text_are_held_against_their_limit"),
    ("footer-bytes", "the_end_of_a_file_is_held_against_the_limit"),
    ("member-name-bytes", "limits_bound_names_headers_and_members"),
    ("member-header-bytes", "limits_bound_names_headers_and_members"),
    ("members", "limits_bound_names_headers_and_members"),
    ("gap-bytes", "so_many_bytes_are_gone_through_to_find_a_header"),
    ("index-bytes", "what_is_held_is_not_made_anew"),
    ("files", "limits_on_files_and_depth_hold"),
    ("folder-depth", "limits_on_files_and_depth_hold"),
    ("notices", "so_many_of_each_kind_are_told_and_no_more"),
    ("pixels", "limits_hold_up_to_the_last_pixel"),
    ("picture-bytes", "limits_hold_up_to_the_last_pixel"),
];

#[test]
fn every_limit_has_its_test() {
    let all: Vec<_> = diptych::storage::Limits::ALL.iter().map(|limit| limit.name).collect();
    assert_eq!(LIMITS.map(|(name, _)| name).as_slice(), all);
    let sources = sources();
    let exists =
        |test: &&str| sources.iter().any(|source| source.text.contains(&format!("fn {test}(")));
    let tests = LIMITS.map(|(_, test)| test);
    let wrong: Vec<_> =
        tests.iter().filter(|test| !exists(test)).map(|test| (*test).to_owned()).collect();
    none(&wrong, "each limit has a test that trips it");
}
