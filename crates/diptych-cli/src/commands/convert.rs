//! `convert` and `index`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use diptych::Request;
use diptych::edit_types::{EditTypeBook, FURTHER};
use diptych::masks::MaskBook;
use diptych::report::{Book, BookLine, Books, Report};
use diptych::schema::Split;
use diptych::select::SelectionReport;
use serde::Serialize;

use super::{JSON_VERSION, choosing, chosen, counted, print_json, request};
use crate::args;
use crate::exit::Outcome;
use crate::printer::{Printer, data, size};

pub(crate) fn convert(args: args::Convert, printer: &Printer) -> anyhow::Result<Outcome> {
    let json = args.json.json;
    let request = Request { roots: args.root, ..request(args.request)? };
    if args.dry_run {
        return dry_run(&request, json, printer);
    }
    let outcome = diptych::engine().convert(&request, printer)?;
    finished(&request.out, &outcome.report, json, printer)
}

/// Says what became of a conversion.
pub(super) fn finished(
    out: &Path,
    report: &Report,
    json: bool,
    printer: &Printer,
) -> anyhow::Result<Outcome> {
    printer.end_bar();
    let Report { total, .. } = report;
    printer.unshown_notices(&out.join("report.json").display().to_string());
    if json {
        print_json(&Finished { json_version: JSON_VERSION, out, report })?;
    }
    for line in summary(out, report).lines() {
        printer.say(line);
    }
    Ok(Outcome::Counted { good: total.written, rejected: total.rejections() })
}

#[derive(Serialize)]
struct Finished<'a> {
    json_version: u32,
    out: &'a Path,
    report: &'a Report,
}

fn summary(out: &Path, report: &Report) -> String {
    let Report { total, splits, output_bytes, to, .. } = report;
    let files: u64 = splits.values().map(|split| split.files).sum();
    let mut text = format!(
        "{} of {} written to {} ({to}): {}, {}\n",
        total.written,
        counted(total.read, "edit"),
        out.display(),
        counted(files, "file"),
        size(*output_bytes)
    );
    let lines: Vec<BookLine> = report.datasets.clone().into();
    for BookLine { dataset, subset, book } in lines {
        let of = subset.map_or_else(|| dataset.clone(), |subset| format!("{dataset}/{subset}"));
        let _ = writeln!(text, "  {of}: {}", told(&book));
    }
    report.selection.iter().for_each(|chosen| text.push_str(&chosen::told(chosen)));
    text.push_str(&masks(&report.masks.total()));
    text.push_str(&unmapped(&report.edit_types.total()));
    if total.rejections() > 0 {
        let _ = writeln!(
            text,
            "each rejection is listed in {}",
            out.join("rejections.jsonl").display()
        );
    }
    if total.written > 0 {
        let (card, report) = (out.join("README.md"), out.join("report.json"));
        let _ = writeln!(text, "look at {} and {}", card.display(), report.display());
    }
    text
}

/// What became of masks, where there is more to say than that they are the release's.
fn masks(book: &MaskBook) -> String {
    let told = |counts: &BTreeMap<String, u64>| {
        let each = counts.iter().map(|(what, count)| format!("{count} {what}"));
        each.collect::<Vec<_>>().join(", ")
    };
    if book.compared.is_empty() && !book.written.contains_key("run_length") {
        return String::new();
    }
    let mut text = format!("masks: {}\n", told(&book.written));
    if !book.compared.is_empty() {
        let _ = writeln!(text, "pictures compared: {}", told(&book.compared));
    }
    if let Some(overlap) = &book.overlap {
        let _ = writeln!(
            text,
            "what changed against the release's masks: overlap (IoU) {:.3} on average over {}",
            overlap.mean(),
            counted(overlap.pairs, "pair")
        );
    }
    text
}

/// The kinds of edit that have no shared word, where there are any: those of most pairs by name.
fn unmapped(book: &EditTypeBook) -> String {
    const SHOWN: usize = 8;
    let words = book.unmapped.iter().filter(|(word, _)| *word != FURTHER);
    let mut words: Vec<_> = words.map(|(word, pairs)| (*pairs, word)).collect();
    words.sort_by_key(|(pairs, word)| (Reverse(*pairs), *word));
    let named = words.iter().take(SHOWN).map(|(pairs, word)| format!("{pairs} {word}"));
    let mut told: Vec<_> = named.collect();
    let others: u64 = words.iter().skip(SHOWN).map(|(pairs, _)| pairs).sum();
    let others = others + book.unmapped.get(FURTHER).copied().unwrap_or_default();
    if others > 0 {
        told.push(format!("{others} of further types"));
    }
    if told.is_empty() {
        return String::new();
    }
    format!(
        "edit types that are not in the shared vocabulary: {} (docs/edit-types.md)\n",
        told.join(", ")
    )
}

/// A book in words.
fn told(book: &Book) -> String {
    let mut text = format!("{} read, {} written", book.read, book.written);
    if book.repeated > 0 {
        let _ = write!(text, ", {} taken again", book.repeated);
    }
    for (reason, count) in &book.filtered {
        let _ = write!(text, ", {count} filtered ({reason})");
    }
    for (kind, count) in &book.rejected {
        let _ = write!(text, ", {count} rejected ({kind})");
    }
    text
}

fn dry_run(request: &Request, json: bool, printer: &Printer) -> anyhow::Result<Outcome> {
    let dry = diptych::engine().dry_run(request, printer)?;
    printer.end_bar();
    let total = dry.plan.books.total();
    let units: Vec<_> = (0_u32..)
        .zip(&dry.plan.units)
        .map(|(unit, of)| PlannedUnit {
            unit,
            split: of.split.map_or("all", Split::word),
            pairs: of.pairs,
            bytes: of.bytes,
        })
        .collect();
    let planned = Planned {
        json_version: JSON_VERSION,
        pairs: dry.plan.pairs(),
        bytes: dry.plan.bytes(),
        free_bytes: dry.free,
        total: &total,
        units: &units,
        datasets: &dry.plan.books,
        selection: dry.selection.as_ref(),
    };
    if json {
        print_json(&planned)?;
    } else {
        data(&planned.table())?;
    }
    if let Some(free) = dry.free.filter(|free| *free < planned.bytes) {
        printer.say(&format!("note: only {} are free where the output would lie", size(free)));
    }
    Ok(Outcome::Counted { good: planned.pairs, rejected: total.rejections() })
}

#[derive(Serialize)]
pub(super) struct Planned<'a> {
    pub(super) json_version: u32,
    pub(super) pairs: u64,
    pub(super) bytes: u64,
    pub(super) free_bytes: Option<u64>,
    pub(super) total: &'a Book,
    pub(super) units: &'a [PlannedUnit],
    /// What is read of each dataset, and what of it is not planned; nothing is written yet.
    pub(super) datasets: &'a Books,
    /// How pairs are chosen, where not all are taken as they come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) selection: Option<&'a SelectionReport>,
}

#[derive(Serialize)]
pub(super) struct PlannedUnit {
    pub(super) unit: u32,
    pub(super) split: &'static str,
    pub(super) pairs: u64,
    pub(super) bytes: u64,
}

impl Planned<'_> {
    fn table(&self) -> String {
        let mut text = String::from("unit  split     pairs      bytes\n");
        for PlannedUnit { unit, split, pairs, bytes } in self.units {
            let _ = writeln!(text, "{unit:>4}  {split:<5} {pairs:>9}  {:>9}", size(*bytes));
        }
        let _ = writeln!(
            text,
            "{} in {}, about {}",
            counted(self.pairs, "pair"),
            counted(self.units.len() as u64, "unit"),
            size(self.bytes)
        );
        let _ = writeln!(text, "edits: {} read{}", self.total.read, losses(self.total));
        for BookLine { dataset, subset, book } in self.datasets.clone().lines() {
            let of = subset.map_or_else(|| dataset.clone(), |subset| format!("{dataset}/{subset}"));
            let gone = book.filtered_out() + book.rejections();
            let planned = (book.read + book.repeated).saturating_sub(gone);
            let _ =
                writeln!(text, "  {of}: {} read, {planned} planned{}", book.read, losses(&book));
        }
        self.selection.iter().for_each(|chosen| text.push_str(&chosen::told(chosen)));
        if let Some(free) = self.free_bytes {
            let _ = writeln!(text, "free on the disk: {}", size(free));
        }
        text
    }
}

fn losses(book: &Book) -> String {
    let repeated = Some(book.repeated).filter(|repeated| *repeated > 0);
    let repeated = repeated.map(|repeated| format!(", {repeated} taken again"));
    let filtered = book.filtered.iter().map(|(reason, n)| format!(", {n} filtered ({reason})"));
    let rejected = book.rejected.iter().map(|(kind, n)| format!(", {n} rejected ({kind})"));
    repeated.into_iter().chain(filtered).chain(rejected).collect()
}

pub(crate) fn index(args: args::Index, printer: &Printer) -> anyhow::Result<Outcome> {
    let args::Index { sources, out, choice, overwrite, work, json } = args;
    // An index has no format to write.
    let durable = !work.no_sync;
    let chosen = choosing(sources, choice, work.jobs, None, out)?;
    let request = Request { overwrite, durable, ..chosen };
    let indexed = diptych::engine().index(&request, printer)?;
    printer.end_bar();
    let listed = request.out.join("catalog.json").display().to_string();
    printer.unshown_notices(&listed);
    let (pairs, partitions, total) = (indexed.pairs, indexed.partitions, &indexed.total);
    if json.json {
        let out = request.out.as_path();
        print_json(&Catalogued { json_version: JSON_VERSION, out, pairs, partitions, total })?;
    }
    printer.say(&format!(
        "{} of {} in {}, from {}{}",
        counted(pairs, "pair"),
        counted(total.read, "edit"),
        request.out.display(),
        counted(partitions as u64, "partition"),
        losses(total)
    ));
    Ok(Outcome::Counted { good: pairs, rejected: total.rejections() })
}

#[derive(Serialize)]
struct Catalogued<'a> {
    json_version: u32,
    out: &'a Path,
    pairs: u64,
    partitions: usize,
    total: &'a Book,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_types_without_a_shared_word_are_told_by_number() {
        let mut book = EditTypeBook::default();
        book.shared.insert("add".to_owned(), 9);
        assert_eq!(unmapped(&book), "");
        for (word, pairs) in [("bar", 3), ("baz", 3), ("foo", 12)] {
            book.unmapped.insert(word.to_owned(), pairs);
        }
        let begin = "edit types that are not in the shared vocabulary: 12 foo, 3 bar, 3 baz";
        assert_eq!(unmapped(&book), format!("{begin} (docs/edit-types.md)\n"));
        book.unmapped.insert(FURTHER.to_owned(), 100);
        book.unmapped.extend((1..=6).map(|n| (format!("x{n}"), 2)));
        let rest = "2 x1, 2 x2, 2 x3, 2 x4, 2 x5, 102 of further types";
        assert_eq!(unmapped(&book), format!("{begin}, {rest} (docs/edit-types.md)\n"));
    }
}
