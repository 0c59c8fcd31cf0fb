//! `inspect`: what a release is, for people and as JSON.

use std::fmt::Write;

use diptych::EngineError;
use diptych::detect::{DetectError, Unknown};
use diptych::format::reader::Part;
use diptych::inspect::{Counts, Inspection, Pictures, Problem, PublishedPairs};
use diptych::storage::text::visible;
use serde::Serialize;

use super::{JSON_VERSION, counted, print_json, reading};
use crate::args;
use crate::exit::Outcome;
use crate::printer::{Printer, data, grouped, size};

/// Values that are shown of a kind; the others are counted.
const VALUES: usize = 8;
/// Problems and notices that are shown.
const SOME: usize = 10;

pub(crate) fn inspect(args: args::Inspect, printer: &Printer) -> anyhow::Result<Outcome> {
    let args::Inspect { sources, jobs, json } = args;
    let request = reading(sources, jobs, "", std::path::PathBuf::new());
    let found = diptych::engine().inspect(&request, printer);
    printer.end_bar();
    let releases = match found {
        Ok(releases) => releases,
        Err(EngineError::Detect(DetectError::None(unknown))) if json.json => {
            print_json(&Inspected {
                json_version: JSON_VERSION,
                releases: &[],
                unknown: Some(&unknown),
            })?;
            return Err(EngineError::Detect(DetectError::None(unknown)).into());
        }
        Err(error) => return Err(error.into()),
    };
    if json.json {
        print_json(&Inspected { json_version: JSON_VERSION, releases: &releases, unknown: None })?;
    } else {
        let told: Vec<_> = releases.iter().map(told).collect();
        // What comes from a release is made visible, line by line.
        let told = told.join("\n\n");
        let lines: Vec<_> = told.lines().map(visible).collect();
        data(&(lines.join("\n") + "\n"))?;
    }
    let edits: u64 = releases.iter().map(|release| release.edits).sum();
    let pairs: u64 = releases.iter().map(|release| release.pairs).sum();
    Ok(Outcome::Counted { good: pairs, rejected: edits - pairs })
}

#[derive(Serialize)]
struct Inspected<'a> {
    json_version: u32,
    releases: &'a [Inspection],
    unknown: Option<&'a Unknown>,
}

fn told(of: &Inspection) -> String {
    let mut text = format!("{} ({})", of.title, of.format);
    if let Some(confidence) = &of.confidence {
        let _ = write!(text, ": {confidence}, since {}", of.reason);
    }
    let _ = writeln!(
        text,
        "\n{}: {}, {}\n",
        of.root.display(),
        counted(of.files, "file"),
        size(of.bytes)
    );
    push_parts(&mut text, &of.parts);
    let _ = writeln!(text, "{}\n", completeness(of));
    push_pairs(&mut text, of);
    push_problems(&mut text, of);
    text.truncate(text.trim_end().len());
    text
}

/// The table of what a release consists of.
fn push_parts(text: &mut String, parts: &[Part]) {
    if parts.is_empty() {
        return;
    }
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), grouped);
    let rows = parts.iter().map(|part| {
        let stated = part.stated.as_ref().map(|stated| stated.count);
        [part.name.clone(), grouped(part.here), number(stated), number(part.published)]
    });
    let head = ["", "here", "by its own word", "published"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let [w0, w1, w2, w3] = widths;
    for [name, here, stated, published] in &rows {
        let _ = writeln!(text, "{name:<w0$}  {here:>w1$}  {stated:>w2$}  {published:>w3$}");
    }
    text.push('\n');
}

/// Whether a release is complete, in words.
fn completeness(of: &Inspection) -> String {
    let mut lines: Vec<_> = of.parts.iter().filter_map(incomplete).collect();
    if lines.is_empty() {
        lines.push("complete: everything is here that it says there is".to_owned());
    }
    let published = |part: &&Part| part.published.is_some();
    let less = |part: &&Part| part.published.is_some_and(|published| published > part.here);
    if let Some(part) = of.parts.iter().find(less) {
        lines.push(format!(
            "a part of what was published: {} of {} {}",
            grouped(part.here),
            grouped(part.published.unwrap_or_default()),
            part.name
        ));
    } else if of.parts.iter().any(|part| published(&part)) {
        lines.push("the whole of what was published".to_owned());
    }
    if of.edits > of.pairs {
        lines.push(format!(
            "{} of {} cannot be converted",
            grouped(of.edits - of.pairs),
            counted_grouped(of.edits, "edit")
        ));
    }
    lines.join("\n")
}

/// What is missing of a part.
fn incomplete(part: &Part) -> Option<String> {
    let missing = part.missing.as_ref().map_or(String::new(), |missing| format!(": {missing}"));
    match part.stated.as_ref().filter(|stated| stated.count > part.here) {
        Some(stated) => Some(format!(
            "not complete: of {} {} (so says {}), {} not here{missing}",
            grouped(stated.count),
            part.name,
            stated.by,
            match stated.count - part.here {
                1 => "1 is".to_owned(),
                count => format!("{} are", grouped(count)),
            },
        )),
        None => part.missing.is_some().then(|| format!("not complete: {}{missing}", part.name)),
    }
}

fn counted_grouped(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(count))
}

/// A line with its name in front.
fn push_line(text: &mut String, name: &str, line: &str) {
    let _ = writeln!(text, "{name:<14}{line}");
}

fn push_pairs(text: &mut String, of: &Inspection) {
    let survey = &of.survey;
    let pairs = counted_grouped(of.pairs, "pair");
    push_line(text, "edits", &format!("{} read: {pairs}", grouped(of.edits)));
    if of.datasets.len() > 1 {
        for line in of.datasets.iter().take(VALUES * 8) {
            let name = line.subset.as_ref().unwrap_or(&line.dataset);
            push_line(
                text,
                "",
                &format!(
                    "{name}: {}, {}",
                    grouped(line.edits),
                    counted_grouped(line.pairs, "pair")
                ),
            );
        }
    }
    if of.pairs == 0 {
        return;
    }
    let published = |column: &str, counts: &Counts| values(counts, of, column);
    push_counts(text, "splits", &published("split", &survey.splits));
    push_counts(text, "edit types", &published("edit_type", &survey.edit_types));
    push_counts(text, "languages", &published("language", &survey.languages));
    push_counts(text, "editors", &published("editor", &survey.editors));
    push_counts(text, "licences", &published("licence", &survey.licences));
    if let Some(spread) = survey.instruction_characters.spread() {
        let mut line = format!(
            "{} to {} characters, half of them at most {}",
            spread.least, spread.most, spread.median
        );
        if survey.without_instruction > 0 {
            let _ =
                write!(line, "; {} without", counted_grouped(survey.without_instruction, "pair"));
        }
        push_line(text, "instructions", &line);
    }
    for (name, gathered) in [("sessions", &survey.sessions), ("groups", &survey.groups)] {
        if gathered.count > 0 {
            let line = format!(
                "{} of {}, the largest of {}",
                grouped(gathered.count),
                counted_grouped(gathered.pairs, "pair"),
                grouped(gathered.most_pairs)
            );
            push_line(text, name, &line);
        }
    }
    for (name, pictures) in [
        ("source", &survey.source),
        ("references", &survey.references),
        ("target", &survey.target),
        ("mask", &survey.mask),
    ] {
        push_pictures(text, name, pictures);
    }
    let sizes = survey.sizes_of_source_and_target;
    if sizes.same + sizes.different > 0 {
        let line = format!(
            "source and target have one size in {}, different ones in {}",
            counted_grouped(sizes.same, "pair"),
            grouped(sizes.different)
        );
        push_line(text, "", &line);
    }
    push_counts(text, "mask grids", &published("mask", &survey.mask_grids));
    push_counts(text, "boxes", &published("box", &survey.boxes));
    push_counts(text, "box frames", &published("box", &survey.box_frames));
    push_counts(text, "labels", &published("label", &survey.labels));
    for (name, score) in survey.scores.iter().take(VALUES * 4) {
        let line = format!(
            "{name}: {} to {}, mean {:.3}, of {}",
            score.least,
            score.most,
            score.mean,
            counted_grouped(score.count, "pair")
        );
        push_line(text, "score", &line);
    }
    text.push('\n');
}

fn push_counts(text: &mut String, name: &str, line: &str) {
    if !line.is_empty() {
        push_line(text, name, line);
    }
}

/// The values of a kind, most frequent first, with what the authors published of them; nothing
/// where there is no value.
fn values(counts: &Counts, of: &Inspection, column: &str) -> String {
    let all = counts.most_first();
    if all.is_empty() {
        return String::new();
    }
    let published = |value: &str| {
        let is_it = |p: &&PublishedPairs| p.column == column && p.value == value;
        of.published.iter().find(is_it).filter(|p| p.published != p.here)
    };
    let mut shown: Vec<_> = all
        .iter()
        .take(VALUES)
        .map(|(value, count)| match published(value) {
            Some(known) => {
                format!("{value} {} (published {})", grouped(*count), grouped(known.published))
            }
            None => format!("{value} {}", grouped(*count)),
        })
        .collect();
    let more: u64 = all.iter().skip(VALUES).map(|(_, count)| count).sum::<u64>() + counts.others;
    if more > 0 {
        shown.push(format!("others {}", grouped(more)));
    }
    if counts.none > 0 {
        shown.push(format!("none {}", grouped(counts.none)));
    }
    shown.join(", ")
}

fn push_pictures(text: &mut String, name: &str, of: &Pictures) {
    if of.count == 0 {
        return;
    }
    let types = of.types.most_first();
    let mut known: Vec<_> =
        types.iter().map(|(name, n)| format!("{name} {}", grouped(*n))).collect();
    if of.types.none > 0 {
        known.push(format!("not looked at {}", grouped(of.types.none)));
    }
    push_line(text, name, &format!("{}; {}", known.join(", "), size(of.bytes)));
    let (Some(smallest), Some(largest)) = (of.smallest, of.largest) else { return };
    let sizes = of.sizes.most_first();
    let mut shown: Vec<_> =
        sizes.iter().take(VALUES).map(|(size, n)| format!("{size} {}", grouped(*n))).collect();
    let more = sizes.len().saturating_sub(VALUES);
    if more > 0 {
        shown.push(format!("and {}", counted(more as u64, "other size")));
    }
    let span = format!("from {}x{} to {}x{}", smallest.0, smallest.1, largest.0, largest.1);
    push_line(text, "", &format!("{span}: {}", shown.join(", ")));
}

fn push_problems(text: &mut String, of: &Inspection) {
    if !of.problems.is_empty() {
        let _ = writeln!(text, "what cannot be converted, and the first of each:");
        for problem in of.problems.iter().take(SOME) {
            push_problem(text, problem);
        }
        let hidden: u64 = of.problems.iter().skip(SOME).map(|problem| problem.edits).sum();
        let hidden = hidden + of.problems_not_listed;
        if hidden > 0 {
            let _ = writeln!(text, "  and {} more", counted_grouped(hidden, "edit"));
        }
        text.push('\n');
    }
    if !of.notices.is_empty() {
        let _ = writeln!(text, "what else is to be known:");
        for notice in of.notices.iter().take(SOME) {
            let _ = writeln!(text, "  {}: {} ({})", notice.at, notice.detail, notice.kind);
        }
        if of.notices.len() > SOME {
            let _ = writeln!(text, "  and {} more; --json has them all", of.notices.len() - SOME);
        }
    }
}

fn push_problem(text: &mut String, problem: &Problem) {
    let Problem { kind, edits, first, .. } = problem;
    let id = first.pair_id.as_ref().map_or(String::new(), |id| format!("{id}: "));
    let _ = writeln!(text, "  {} {kind}: {}", counted_grouped(*edits, "edit"), first.at);
    let _ = writeln!(text, "      {id}{}", first.cause);
}
