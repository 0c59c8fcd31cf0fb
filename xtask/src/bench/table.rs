//! Results as text, which is Markdown with its columns aligned, and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::figures::{Spread, bytes, count, megabytes, number};
use super::machine::Machine;
use super::rounds::Entry;
use super::works::{PROMISED_BYTES, PROMISED_BYTES_A_PAIR};

/// What all results have in common.
pub(super) struct Head {
    pub(super) machine: Machine,
    pub(super) versions: Vec<String>,
    pub(super) rounds: usize,
    pub(super) jobs: usize,
    pub(super) measures_memory: bool,
}

/// A work, done on a data folder.
pub(super) struct Outcome {
    pub(super) work: &'static str,
    pub(super) about: &'static str,
    pub(super) promises_memory: bool,
    pub(super) data: String,
    pub(super) bytes: u64,
    pub(super) pairs: Option<u64>,
    /// Kinds of the file systems of the data and of the outputs.
    pub(super) file_systems: [Option<String>; 2],
    /// Ours first.
    pub(super) entries: Vec<Entry>,
    /// Contestants that were left out, and why.
    pub(super) left_out: Vec<(&'static str, String)>,
}

/// What ours may use, and what it used at most.
struct Memory {
    pairs: u64,
    peak: u64,
    promised: u64,
}

impl Outcome {
    fn ours(&self) -> Option<&Entry> {
        self.entries.first()
    }

    fn memory(&self) -> Option<Memory> {
        let pairs = self.pairs.filter(|_| self.promises_memory)?;
        let peak = self.ours()?.peaks().max()?;
        let promised = PROMISED_BYTES.saturating_add(PROMISED_BYTES_A_PAIR.saturating_mul(pairs));
        Some(Memory { pairs, peak, promised })
    }
}

pub(super) fn head_text(head: &Head) -> String {
    let Head { machine, versions, rounds, jobs, measures_memory } = head;
    let parts = [
        machine.cores.map(|cores| format!("{cores} cores")),
        machine.processor.clone(),
        machine.memory_bytes.map(|of| format!("{} of memory", bytes(of))),
    ];
    let machine: Vec<_> = parts.into_iter().flatten().collect();
    let mut text = format!("Machine: {}.\n", machine.join(", "));
    let _ = writeln!(text, "Versions: {}.", versions.join(", "));
    let _ = writeln!(text, "Rounds: {rounds}, after one that is not counted. Jobs: {jobs}.");
    if !measures_memory {
        text.push_str("Memory is not measured: there is no GNU time.\n");
    }
    text
}

pub(super) fn outcome_text(outcome: &Outcome) -> String {
    let Outcome { work, about, data, entries, left_out, .. } = outcome;
    let mut text = format!("## {work}: {data}\n\n{about}\n");
    let pairs = outcome.pairs.map(|pairs| format!(", {} pairs", count(pairs))).unwrap_or_default();
    let [from, to] = &outcome.file_systems;
    let place = |kind: &Option<String>| kind.clone().unwrap_or_else(|| "?".to_owned());
    let _ = writeln!(
        text,
        "In: {}{pairs}, on {}. Out: on {}.\n",
        bytes(outcome.bytes),
        place(from),
        place(to)
    );
    let mut rows =
        vec![["contestant", "seconds", "range", "peak MB", "ratio", "range"].map(String::from)];
    rows.extend(entries.iter().enumerate().map(|(at, entry)| {
        let ours = outcome.ours().filter(|ours| at > 0 && ours.failure.is_none());
        let ratio = ours.and_then(|ours| entry.ratio(ours));
        row(entry, ratio, at == 0)
    }));
    text.push_str(&aligned(&rows));
    let left_out = left_out.iter().map(|(name, why)| format!("Left out: {name}: {why}.\n"));
    let failed = entries.iter().filter_map(|entry| {
        let failure: Vec<_> =
            entry.failure.as_ref()?.lines().filter(|line| !line.trim().is_empty()).collect();
        Some(format!("Failed: {}: {}\n", entry.name, failure.join("\n    ")))
    });
    let notes: String = left_out.chain(failed).collect();
    if !notes.is_empty() {
        let _ = write!(text, "\n{notes}");
    }
    text
}

/// `ratio` is `None` for ours, to which the others are compared.
fn row(entry: &Entry, ratio: Option<Spread>, is_ours: bool) -> [String; 6] {
    let none = || "-".to_owned();
    let name = entry.name.to_owned();
    let Some(seconds) = entry.seconds().filter(|_| entry.failure.is_none()) else {
        return [name, "failed".to_owned(), none(), none(), none(), none()];
    };
    let peak = median_peak(entry).map_or_else(none, megabytes);
    let [ratio, ratios] = match ratio {
        Some(ratio) => [number(ratio.median), ratio.range()],
        None => [if is_ours { "1".to_owned() } else { none() }, none()],
    };
    [name, number(seconds.median), seconds.range(), peak, ratio, ratios]
}

/// The lower of the middle two, where there are two.
fn median_peak(entry: &Entry) -> Option<u64> {
    let mut peaks: Vec<_> = entry.peaks().collect();
    peaks.sort_unstable();
    peaks.get(peaks.len().checked_sub(1)? / 2).copied()
}

/// The memory of ours against what is promised, for all results with such a promise; `None` where
/// there are none.
pub(super) fn memory_text(outcomes: &[Outcome]) -> Option<String> {
    let mut rows =
        vec![["work", "data", "pairs", "peak MB", "promised MB", "kept"].map(String::from)];
    rows.extend(outcomes.iter().filter_map(|outcome| {
        let Memory { pairs, peak, promised } = outcome.memory()?;
        let kept = if peak <= promised { "yes" } else { "no" };
        Some([
            outcome.work.to_owned(),
            outcome.data.clone(),
            count(pairs),
            megabytes(peak),
            megabytes(promised),
            kept.to_owned(),
        ])
    }));
    (rows.len() > 1).then(|| {
        let base = PROMISED_BYTES / 1_000_000;
        format!(
            "## Memory of ours\n\nPromised: {base} MB and {PROMISED_BYTES_A_PAIR} bytes for each \
             pair. Peak: the largest of all rounds.\n\n{}",
            aligned(&rows)
        )
    })
}

/// A Markdown table. The first row is its head; the first column is text, the others are figures.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = match at {
                0 => write!(text, "| {cell:<width$} "),
                _ => write!(text, "| {cell:>width$} "),
            };
        }
        text.push_str("|\n");
        if number == 0 {
            for (at, width) in widths.into_iter().enumerate() {
                let _ = match at {
                    0 => write!(text, "|{:-<1$}", "", width + 2),
                    _ => write!(text, "|{:-<1$}:", "", width + 1),
                };
            }
            text.push_str("|\n");
        }
    }
    text
}

/// Everything, with the figures of each round.
pub(super) fn all_json(head: &Head, outcomes: &[Outcome]) -> Value {
    let Head { machine, versions, rounds, jobs, .. } = head;
    json!({
        "machine": {
            "cores": machine.cores,
            "processor": machine.processor,
            "memory_bytes": machine.memory_bytes,
        },
        "versions": versions,
        "rounds": rounds,
        "jobs": jobs,
        "results": outcomes.iter().map(outcome_json).collect::<Vec<_>>(),
    })
}

fn outcome_json(outcome: &Outcome) -> Value {
    let [from, to] = &outcome.file_systems;
    let left_out = outcome.left_out.iter();
    json!({
        "work": outcome.work,
        "data": outcome.data,
        "bytes": outcome.bytes,
        "pairs": outcome.pairs,
        "file_system": from,
        "scratch_file_system": to,
        "promised_peak_bytes": outcome.memory().map(|memory| memory.promised),
        "contestants": outcome.entries.iter().map(|entry| json!({
            "name": entry.name,
            "seconds": entry.seconds().map(spread_json),
            "peak_bytes": median_peak(entry),
            "ratio": outcome.ours().and_then(|ours| entry.ratio(ours)).map(spread_json),
            "runs": entry.runs.iter().map(|run| json!({
                "seconds": run.seconds,
                "peak_bytes": run.peak_bytes,
            })).collect::<Vec<_>>(),
            "failure": entry.failure,
        })).collect::<Vec<_>>(),
        "left_out": left_out
            .map(|(name, why)| json!({"name": name, "why": why}))
            .collect::<Vec<_>>(),
    })
}

fn spread_json(spread: Spread) -> Value {
    json!({"median": spread.median, "min": spread.min, "max": spread.max})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measure::Measured;

    fn entry(name: &'static str, runs: &[(f64, u64)]) -> Entry {
        let run = |(seconds, peak): &(f64, u64)| Measured {
            seconds: *seconds,
            peak_bytes: Some(*peak).filter(|peak| *peak > 0),
        };
        Entry { name, runs: runs.iter().map(run).collect(), failure: None }
    }

    fn outcome() -> Outcome {
        let failed = Entry {
            failure: Some("exit status: 7\nno such module\n\nx".to_owned()),
            ..entry("broken", &[(1.0, 3_000_000)])
        };
        Outcome {
            work: "some-work",
            about: "A thing is done.",
            promises_memory: true,
            data: "release".to_owned(),
            bytes: 3_470_000_000,
            pairs: Some(10_000),
            file_systems: [Some("ext4".to_owned()), None],
            entries: vec![
                entry("ours", &[(1.0, 24_000_000), (2.0, 65_000_000), (1.5, 25_000_000)]),
                entry("another one", &[(8.0, 0), (10.0, 0), (9.0, 0)]),
                failed,
            ],
            left_out: vec![("absent", "no --peers".to_owned())],
        }
    }

    #[test]
    fn a_result_is_written_so() {
        let expected = "\
## some-work: release

A thing is done.
In: 3.47 GB, 10,000 pairs, on ext4. Out: on ?.

| contestant  | seconds |        range | peak MB | ratio |        range |
|-------------|--------:|-------------:|--------:|------:|-------------:|
| ours        |    1.50 | 1.00 to 2.00 |    25.0 |     1 |            - |
| another one |    9.00 | 8.00 to 10.0 |       - |  6.00 | 5.00 to 8.00 |
| broken      |  failed |            - |       - |     - |            - |

Left out: absent: no --peers.
Failed: broken: exit status: 7
    no such module
    x
";
        assert_eq!(outcome_text(&outcome()), expected);
    }

    #[test]
    fn memory_is_held_against_the_promise() {
        let small = Outcome { pairs: Some(100), ..outcome() };
        let unknown = Outcome { pairs: None, ..outcome() };
        let unpromised = Outcome { promises_memory: false, ..outcome() };
        let fast = Outcome { entries: vec![entry("ours", &[(1.0, 64_640_000)])], ..outcome() };
        let expected = "\
## Memory of ours

Promised: 64 MB and 64 bytes for each pair. Peak: the largest of all rounds.

| work      |    data |  pairs | peak MB | promised MB | kept |
|-----------|--------:|-------:|--------:|------------:|-----:|
| some-work | release |    100 |    65.0 |        64.0 |   no |
| some-work | release | 10,000 |    64.6 |        64.6 |  yes |
";
        let text = memory_text(&[small, unknown, unpromised, fast]).unwrap();
        assert_eq!(text, expected);
        assert_eq!(memory_text(&[]), None);
        assert_eq!(memory_text(&[Outcome { entries: Vec::new(), ..outcome() }]), None);
    }

    fn head() -> Head {
        let machine =
            Machine { cores: Some(2), processor: None, memory_bytes: Some(24_000_000_000) };
        let versions = ["diptych 0.1.0", "tar (GNU tar) 1.34"].map(String::from).into();
        Head { machine, versions, rounds: 5, jobs: 2, measures_memory: true }
    }

    #[test]
    fn the_head_is_written_so() {
        let expected = "\
Machine: 2 cores, 24.0 GB of memory.
Versions: diptych 0.1.0, tar (GNU tar) 1.34.
Rounds: 5, after one that is not counted. Jobs: 2.
";
        assert_eq!(head_text(&head()), expected);
        let without = head_text(&Head { measures_memory: false, ..head() });
        assert!(without.ends_with("Memory is not measured: there is no GNU time.\n"));
    }

    #[test]
    fn json_has_every_run() {
        let json = all_json(&head(), &[outcome()]);
        let result = &json["results"][0];
        assert_eq!(json["machine"]["cores"], 2);
        assert_eq!(result["promised_peak_bytes"], 64_640_000);
        assert_eq!(
            result["contestants"][1]["ratio"],
            json!({"median": 6.0, "min": 5.0, "max": 8.0})
        );
        assert_eq!(
            result["contestants"][0]["runs"][1],
            json!({"seconds": 2.0, "peak_bytes": 65_000_000})
        );
        assert_eq!(result["contestants"][1]["peak_bytes"], Value::Null);
        assert!(result["contestants"][2]["failure"].as_str().unwrap().contains("no such module"));
        assert_eq!(result["left_out"][0]["why"], "no --peers");
    }
}
