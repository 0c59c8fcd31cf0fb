//! The page with the help of each command.

use std::fmt::Write;

use anyhow::{bail, ensure};
use clap::CommandFactory;
use clap::error::ErrorKind;

use super::MADE;

/// What the command takes, as it is declared there: that file stands alone for this.
#[path = "../../../crates/diptych-cli/src/args.rs"]
mod args;

/// Characters of a line of help, whatever the terminal.
const WIDTH: usize = 100;

/// `docs/commands.md`.
pub(super) fn page() -> anyhow::Result<String> {
    let mut text = format!("# Commands\n\n{MADE}");
    text.push_str("What `diptych --help` and `diptych COMMAND --help` say.\n");
    push_help(&mut text, &["diptych"])?;
    for of in args::Args::command().get_subcommands() {
        push_help(&mut text, &["diptych", of.get_name()])?;
    }
    Ok(text)
}

fn push_help(text: &mut String, words: &[&str]) -> anyhow::Result<()> {
    let command = args::Args::command().term_width(WIDTH);
    let asked = words.iter().copied().chain(["--help"]);
    // Help comes as an error, as it does for the command itself.
    let Err(help) = command.try_get_matches_from(asked) else { bail!("--help was not taken") };
    ensure!(help.kind() == ErrorKind::DisplayHelp, "{help}");
    let _ = write!(text, "\n## {}\n\n```text\n", words.join(" "));
    for line in help.render().to_string().trim_end().lines() {
        // Some of its empty lines are indented.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str("```\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_told() {
        let page = page().unwrap();
        let found: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert!(found.len() >= 7, "{found:?}");
        assert_eq!(found.first(), Some(&"diptych"));
        for name in args::Args::command().get_subcommands().map(clap::Command::get_name) {
            assert!(found.contains(&format!("diptych {name}").as_str()), "{name} of {found:?}");
        }
        assert!(page.contains("Usage: diptych convert [OPTIONS] [SRC]..."));
        assert!(page.lines().all(|line| line.chars().count() <= WIDTH), "a line is too long");
    }
}
