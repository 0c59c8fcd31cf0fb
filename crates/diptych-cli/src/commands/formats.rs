//! `formats`: what is declared by each.

use std::fmt::Write;

use diptych::format::{About, Alteration, OptionKind};
use serde::Serialize;

use super::{JSON_VERSION, print_json};
use crate::args;
use crate::exit::{Outcome, Usage};
use crate::printer::data;

pub(crate) fn formats(args: &args::Formats) -> anyhow::Result<Outcome> {
    let all: Vec<&About> = diptych::FORMATS.iter().map(|format| format.about()).collect();
    let chosen: Vec<&About> = match &args.name {
        None => all,
        Some(name) => {
            let known: Vec<_> = all.iter().map(|about| about.name).collect();
            let found = all.iter().find(|about| about.name == name);
            let none =
                || Usage(format!("there is no format `{name}`: there are {}", known.join(", ")));
            vec![*found.ok_or_else(none)?]
        }
    };
    if args.json.json {
        let formats = chosen.iter().map(|about| FormatJson::of(about)).collect();
        print_json(&FormatsJson { json_version: JSON_VERSION, formats })?;
    } else if args.name.is_some() {
        chosen.iter().try_for_each(|about| data(&details(about)))?;
    } else {
        data(&table(&chosen))?;
    }
    Ok(Outcome::Done)
}

fn does(about: &About) -> &'static str {
    match (about.reads, about.writes) {
        (true, true) => "read, written",
        (true, false) => "read",
        (false, true) => "written",
        (false, false) => "-",
    }
}

fn table(formats: &[&About]) -> String {
    let width = formats.iter().map(|about| about.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for about in formats {
        let _ = writeln!(text, "{:<width$}  {:<13}  {}", about.name, does(about), about.summary);
    }
    text
}

fn kind(kind: OptionKind) -> String {
    match kind {
        OptionKind::Flag => "true or false".to_owned(),
        OptionKind::Choice(words) => words.join(" or "),
        OptionKind::Size => "a size".to_owned(),
        OptionKind::Folder => "a folder".to_owned(),
        _ => "text".to_owned(),
    }
}

fn details(about: &About) -> String {
    let mut text = format!("{} ({}): {}\n", about.title, does(about), about.summary);
    if about.options.is_empty() {
        text.push_str("no options\n");
    }
    for option in about.options {
        let _ = writeln!(
            text,
            "  -o {}.{}=VALUE  {} ({}; default: {})",
            about.name,
            option.key,
            option.help,
            kind(option.kind),
            if option.default.is_empty() { "none" } else { option.default }
        );
    }
    for loss in about.losses {
        let _ = writeln!(text, "  not read: {loss}");
    }
    for Alteration { of, says } in about.alters {
        let _ = writeln!(text, "  not written as it was: {}: {says}", of.title());
    }
    text
}

#[derive(Serialize)]
struct FormatsJson {
    json_version: u32,
    formats: Vec<FormatJson>,
}

#[derive(Serialize)]
struct FormatJson {
    name: &'static str,
    title: &'static str,
    summary: &'static str,
    reads: bool,
    writes: bool,
    options: Vec<OptionJson>,
    losses: &'static [&'static str],
    alters: Vec<AlterationJson>,
}

#[derive(Serialize)]
struct AlterationJson {
    what: &'static str,
    becomes: &'static str,
}

#[derive(Serialize)]
struct OptionJson {
    key: &'static str,
    takes: String,
    default: &'static str,
    help: &'static str,
}

impl FormatJson {
    fn of(about: &About) -> Self {
        let option = |option: &diptych::format::OptionSpec| OptionJson {
            key: option.key,
            takes: kind(option.kind),
            default: option.default,
            help: option.help,
        };
        let alteration = |of: &Alteration| AlterationJson { what: of.of.title(), becomes: of.says };
        Self {
            name: about.name,
            title: about.title,
            summary: about.summary,
            reads: about.reads,
            writes: about.writes,
            options: about.options.iter().map(option).collect(),
            losses: about.losses,
            alters: about.alters.iter().map(alteration).collect(),
        }
    }
}
