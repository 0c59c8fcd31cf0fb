//! `inspect`: what a release is, for people and as JSON.

use std::fmt::Write;

use diptych::EngineError;
use diptych::detect::{DetectError, Unknown};
use diptych::format::reader::Part;
use diptych::inspect::{Counts, Inspection, Pictures, Problem, PublishedPairs};
use diptych::storage::text::visible;
use serde::Serialize;

use super::{JSON_VERSION, counted, print_json, reading, with_recipe};
use crate::args;
use crate::exit::Outcome;
use crate::printer::{Printer, data, grouped, size};

/// Values that are shown of a kind; the others are counted.
const VALUES: usize = 8;
/// Problems and notices that are shown.
const SOME: usize = 10;
/// A length from which on lengths are not told apart.
const LARGEST: u64 = diptych::inspect::LARGEST as u64;

pub(crate) fn inspect(args: args::Inspect, printer: &Printer) -> anyhow::Result<Outcome> {
    let args::Inspect { sources, jobs, json } = args;
    let recipe = sources.recipe.clone();
    let request = reading(sources, jobs, "", std::path::PathBuf::new())?;
    let request = with_recipe(request, recipe.as_deref())?;
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
        let some = if printer.is_verbose() { usize::MAX } else { SOME };
        let told: Vec<_> = releases.iter().map(|release| told(release, some)).collect();
        data(&told.join("\n"))?;
    }
    let edits: u64 = releases.iter().map(|release| release.edits).sum();
    let pairs: u64 = releases.iter().map(|release| release.pairs).sum();
    let unmet: u64 = releases.iter().map(|release| release.unmet).sum();
    Ok(Outcome::Counted { good: pairs, rejected: edits - pairs - unmet })
}

#[derive(Serialize)]
struct Inspected<'a> {
    json_version: u32,
    releases: &'a [Inspection],
    unknown: Option<&'a Unknown>,
}

/// Lines of text for people.
#[derive(Default)]
struct Lines(String);

impl Lines {
    /// A line. What comes from a release is made visible, so that it cannot be more than one.
    fn push(&mut self, line: &str) {
        self.0.push_str(visible(line).trim_end());
        self.0.push('\n');
    }

    /// A line with its name in front; none where there is nothing to say.
    fn named(&mut self, name: &str, line: &str) {
        if !line.is_empty() {
            self.push(&format!("{name:<14}{line}"));
        }
    }
}

fn told(of: &Inspection, some: usize) -> String {
    let mut lines = Lines::default();
    let since = |confidence| format!(": {confidence}, since {}", of.reason);
    let why = of.confidence.as_ref().map_or(String::new(), since);
    lines.push(&format!("{} ({}){why}", of.title, of.format));
    let (files, bytes) = (counted(of.files, "file"), size(of.bytes));
    match &of.catalog {
        None => lines.push(&format!("{}: {files}, {bytes}", of.root.display())),
        Some(catalog) => {
            lines.push(&format!("{}: a catalog of {}", catalog.display(), of.root.display()));
            lines.push(&format!("pictures in {files}, {bytes}"));
        }
    }
    push_parts(&mut lines, &of.parts, some);
    lines.push("");
    completeness(of).iter().for_each(|line| lines.push(line));
    lines.push("");
    push_pairs(&mut lines, of);
    push_problems(&mut lines, of, some);
    push_notices(&mut lines, of, some);
    lines.0
}

/// The table of what a release consists of.
fn push_parts(lines: &mut Lines, parts: &[Part], some: usize) {
    if parts.is_empty() {
        return;
    }
    lines.push("");
    // Of a release in very many parts, those that nobody has downloaded are only counted.
    let absent = |part: &Part| part.here == 0 && part.stated.is_none() && part.missing.is_none();
    let (hidden, shown): (Vec<_>, Vec<_>) =
        parts.iter().partition(|part| parts.len() > some && absent(part));
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), grouped);
    let rows = shown.iter().map(|part| {
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
        lines.push(&format!("{name:<w0$}  {here:>w1$}  {stated:>w2$}  {published:>w3$}"));
    }
    if !hidden.is_empty() {
        let names = hidden.iter().take(some).map(|part| part.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        let more = if hidden.len() > some { ", ..." } else { "" };
        lines.push(&format!("nothing is here of {} more: {names}{more}", hidden.len()));
    }
}

/// Whether a release is complete, in words.
fn completeness(of: &Inspection) -> Vec<String> {
    let mut lines: Vec<_> = of.parts.iter().filter_map(incomplete).collect();
    let lost = of.edits - of.pairs - of.unmet;
    if of.catalog.is_some() {
        lines.push("how complete the release is, `diptych inspect` of the release says".to_owned());
    } else if lines.is_empty() && lost == 0 {
        lines.push(match of.parts.iter().any(|part| part.stated.is_some()) {
            true => "complete: everything is here that it says there is".to_owned(),
            false => "it does not say how much there should be".to_owned(),
        });
    }
    lines.extend(share_of_published(&of.parts));
    match (lost, of.edits) {
        (0, _) => {}
        (1, 1) => lines.push("the one edit cannot be converted".to_owned()),
        (lost, edits) => {
            let (lost, edits) = (grouped(lost), grouped(edits));
            lines.push(format!("{lost} of {edits} edits cannot be converted"));
        }
    }
    lines
}

/// How much of what was published is here.
fn share_of_published(parts: &[Part]) -> Option<String> {
    let published: Vec<_> = parts.iter().filter_map(|part| Some((part, part.published?))).collect();
    let less: Vec<_> = published.iter().filter(|(part, all)| part.here < *all).collect();
    let of_it = "a part of what was published";
    match less.first() {
        None if published.is_empty() => None,
        None => Some("the whole of what was published".to_owned()),
        Some((part, all)) if published.len() <= SOME => {
            Some(format!("{of_it}: {} of {} {}", grouped(part.here), grouped(*all), part.name))
        }
        Some(_) => {
            let none = less.iter().filter(|(part, _)| part.here == 0).count();
            let (all, whole) = (published.len(), published.len() - less.len());
            let some = less.len() - none;
            Some(format!(
                "{of_it}: of {all} things, {whole} are here whole, {some} in part and {none} not at all"
            ))
        }
    }
}

/// What is missing of a part.
fn incomplete(part: &Part) -> Option<String> {
    let missing = part.missing.as_ref().map_or(String::new(), |missing| format!(": {missing}"));
    match part.stated.as_ref().filter(|stated| stated.count > part.here) {
        Some(stated) => Some(format!(
            "not complete: of {} {}, by {}, {} not here{missing}",
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

fn push_pairs(lines: &mut Lines, of: &Inspection) {
    let survey = &of.survey;
    let pairs = counted_grouped(of.pairs, "pair");
    let unmet = match of.unmet {
        0 => String::new(),
        unmet => format!(", {} of which the condition is not true", grouped(unmet)),
    };
    lines.named("edits", &format!("{} read: {pairs}{unmet}", grouped(of.edits)));
    if of.datasets.len() > 1 {
        for line in of.datasets.iter().take(VALUES * 8) {
            let name = line.subset.as_ref().unwrap_or(&line.dataset);
            let (read, pairs) = (grouped(line.edits), counted_grouped(line.pairs, "pair"));
            lines.named("", &format!("{name}: {read} read: {pairs}"));
        }
    }
    if of.pairs == 0 {
        return;
    }
    let published = |column: &str, counts: &Counts| values(counts, of, column);
    lines.named("splits", &published("split", &survey.splits));
    lines.named("edit types", &published("edit_type", &survey.edit_types));
    lines.named("languages", &published("language", &survey.languages));
    lines.named("editors", &published("editor", &survey.editors));
    lines.named("licences", &published("licence", &survey.licences));
    if let Some(spread) = survey.instruction_characters.spread() {
        let characters = |count: u32| match u64::from(count) {
            LARGEST => format!("{} or more", grouped(LARGEST)),
            count => grouped(count),
        };
        let mut line = match (characters(spread.least), characters(spread.most)) {
            (least, most) if least == most => format!("of {least} characters each"),
            (least, most) => format!(
                "of {least} to {most} characters, half of them of at most {}",
                characters(spread.median)
            ),
        };
        if survey.without_instruction > 0 {
            let without = counted_grouped(survey.without_instruction, "pair");
            let _ = write!(line, "; {without} without");
        }
        lines.named("instructions", &line);
    }
    for (name, gathered) in [("sessions", &survey.sessions), ("groups", &survey.groups)] {
        if gathered.count > 0 {
            let line = format!(
                "{} of {}, the largest of {}",
                grouped(gathered.count),
                counted_grouped(gathered.pairs, "pair"),
                grouped(gathered.most_pairs)
            );
            lines.named(name, &line);
        }
    }
    lines.named("pictures", "each as often as pairs use it, sizes by the number of pixels");
    for (name, pictures) in [
        ("source", &survey.source),
        ("references", &survey.references),
        ("target", &survey.target),
        ("mask", &survey.mask),
    ] {
        push_pictures(lines, name, pictures);
    }
    let sizes = survey.sizes_of_source_and_target;
    if sizes.same + sizes.different > 0 {
        let line = format!(
            "source and target have one size in {}, different ones in {}",
            counted_grouped(sizes.same, "pair"),
            grouped(sizes.different)
        );
        lines.named("", &line);
    }
    lines.named("mask grids", &published("mask", &survey.mask_grids));
    lines.named("boxes", &published("box", &survey.boxes));
    lines.named("box frames", &published("box", &survey.box_frames));
    lines.named("labels", &published("label", &survey.labels));
    for (name, score) in survey.scores.iter().take(VALUES * 4) {
        let line = format!(
            "{name}: {} to {}, mean {:.3}, of {}",
            score.least,
            score.most,
            score.mean,
            counted_grouped(score.count, "pair")
        );
        lines.named("score", &line);
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

fn push_pictures(lines: &mut Lines, name: &str, of: &Pictures) {
    if of.count == 0 {
        return;
    }
    let types = of.types.most_first();
    let mut known: Vec<_> =
        types.iter().map(|(name, n)| format!("{name} {}", grouped(*n))).collect();
    if of.types.none > 0 {
        known.push(format!("not looked at {}", grouped(of.types.none)));
    }
    lines.named(name, &format!("{}; {}", known.join(", "), size(of.bytes)));
    let (Some(smallest), Some(largest)) = (of.smallest, of.largest) else { return };
    let sizes = of.sizes.most_first();
    let mut shown: Vec<_> =
        sizes.iter().take(VALUES).map(|(size, n)| format!("{size} {}", grouped(*n))).collect();
    let more = sizes.len().saturating_sub(VALUES);
    if more > 0 {
        shown.push(format!("and {}", counted(more as u64, "other size")));
    }
    let span = format!("from {}x{} to {}x{}", smallest.0, smallest.1, largest.0, largest.1);
    lines.named("", &format!("{span}: {}", shown.join(", ")));
}

fn push_problems(lines: &mut Lines, of: &Inspection, some: usize) {
    if of.problems.is_empty() {
        return;
    }
    lines.push("");
    lines.push("what cannot be converted, and the first of each:");
    for Problem { kind, edits, first, .. } in of.problems.iter().take(some) {
        let id = first.pair_id.as_ref().map_or(String::new(), |id| format!("{id}: "));
        lines.push(&format!("  {} {kind}: {}", counted_grouped(*edits, "edit"), first.at));
        lines.push(&format!("      {id}{}", first.cause));
    }
    let hidden: u64 = of.problems.iter().skip(some).map(|problem| problem.edits).sum();
    let hidden = hidden + of.problems_not_listed;
    if hidden > 0 {
        lines.push(&format!("  and {} more", counted_grouped(hidden, "edit")));
    }
}

fn push_notices(lines: &mut Lines, of: &Inspection, some: usize) {
    if of.notices.is_empty() {
        return;
    }
    lines.push("");
    lines.push("what else is to be known:");
    for notice in of.notices.iter().take(some) {
        lines.push(&format!("  {}: {} ({})", notice.at, notice.detail, notice.kind));
    }
    let more = of.notices.len().saturating_sub(some);
    if more > 0 {
        lines.push(&format!("  and {more} more, which --verbose tells"));
    }
}
