//! How pairs were chosen, in words.

use std::collections::BTreeMap;
use std::fmt::Write;

use diptych::select::{Collision, ListReport, SelectionReport, SplitsReport};
use diptych::storage::text::visible;

use super::counted;

/// What there is to say of a choice: a line each.
pub(super) fn told(report: &SelectionReport) -> String {
    let mut text = String::new();
    if let Some(ListReport { listed, repeated, not_found, first_not_found }) = &report.list {
        let _ = write!(text, "list: {}", counted(*listed, "pair"));
        if *repeated > 0 {
            let _ = write!(text, ", {repeated} of them again");
        }
        if *not_found > 0 {
            let first = first_not_found.first().map(|id| visible(id)).unwrap_or_default();
            let _ = write!(text, ", {not_found} not among those that were read, such as {first}");
        }
        text.push('\n');
    }
    for excluded in &report.excluded {
        let pairs = counted(excluded.pairs, "pair");
        let _ = writeln!(text, "excluded: the source pictures of {} ({pairs})", excluded.label);
    }
    if let Some(splits) = &report.splits {
        tell_splits(splits, &mut text);
    }
    for (why, count) in &report.by_bytes_only {
        let _ = writeln!(text, "compared by bytes only: {} ({why})", counted(*count, "picture"));
    }
    if let Some(duplicates) = report.duplicates {
        let _ = writeln!(text, "duplicates: {duplicates} dropped");
    }
    for drawn in &report.drawn {
        let kind = visible(&drawn.kind);
        let _ = write!(text, "drawn of {kind}: {} of {}", drawn.drawn, drawn.available);
        if drawn.repeated > 0 {
            let _ = write!(text, ", {} of them again", drawn.repeated);
        }
        if drawn.drawn < drawn.asked {
            let _ = write!(text, ", short of {}", drawn.asked);
        }
        text.push('\n');
    }
    text
}

fn tell_splits(splits: &SplitsReport, text: &mut String) {
    let SplitsReport { components, largest, pinned, .. } = splits;
    let told = |counts: &BTreeMap<String, u64>| {
        let each = counts.iter().map(|(split, count)| format!("{count} {split}"));
        each.collect::<Vec<_>>().join(", ")
    };
    let sets = counted(*components, "set");
    let _ = write!(text, "splits: {}; {sets} of pairs that belong together", told(&splits.pairs));
    let _ = write!(text, ", the largest of {largest}");
    if *pinned > 0 {
        let _ = write!(text, ", {pinned} pairs as they were");
    }
    text.push('\n');
    let first = |told: &[Collision]| {
        let pairs = told.first().map(|first| first.pairs.iter().take(2).map(|id| visible(id)));
        pairs.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    };
    if splits.contested > 0 {
        let cut = splits.contested;
        let _ = writeln!(
            text,
            "  the split file cuts what belongs together: {cut} of photographs, sessions and groups"
        );
    }
    if splits.disagreements > 0 {
        let sets = counted(splits.disagreements, "set");
        let first = first(&splits.first_disagreements);
        let _ = writeln!(text, "  {sets} of which releases say different splits, such as {first}");
    }
    if splits.collisions > 0 {
        let sets = counted(splits.collisions, "set");
        let first = first(&splits.first_collisions);
        let _ = writeln!(text, "  {sets} with pairs of several datasets, such as {first}");
    }
}
