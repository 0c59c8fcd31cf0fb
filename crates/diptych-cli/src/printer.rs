//! What is said, and where: talk on standard error, progress on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

use diptych::storage::text::{is_hidden, visible};
use diptych::{Event, Observer};
use indicatif::{ProgressBar, ProgressStyle};

use crate::signals::Signals;

/// Notices that are shown where not all are asked for.
const SOME: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Quiet,
    Normal,
    Verbose,
}

/// Says things.
pub(crate) struct Printer {
    level: Level,
    signals: Signals,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bar: Option<ProgressBar>,
    notices: usize,
    /// Units that are done and all of them, where units are being written.
    units: Option<(usize, usize)>,
}

impl Printer {
    pub(crate) fn new(quiet: bool, verbose: bool, signals: Signals) -> Self {
        let level = match (quiet, verbose) {
            (true, _) => Level::Quiet,
            (_, true) => Level::Verbose,
            _ => Level::Normal,
        };
        Self { level, signals, state: Mutex::default() }
    }

    /// Whether everything is to be told.
    pub(crate) fn is_verbose(&self) -> bool {
        self.level == Level::Verbose
    }

    /// A line of talk.
    pub(crate) fn say(&self, line: &str) {
        if self.level >= Level::Normal {
            self.line(line);
        }
    }

    /// An error with what is behind it and what can be done about it.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        self.end_bar();
        let mut lines = error.to_string();
        for cause in error.chain().skip(1) {
            let cause = cause.to_string();
            // Some errors say what is behind them themselves.
            if !lines.ends_with(&cause) {
                lines = format!("{lines}: {cause}");
            }
        }
        for (i, line) in lines.lines().enumerate() {
            let start = if i == 0 { "error: " } else { "" };
            self.line(&format!("{start}{line}"));
        }
        if let Some(hint) = crate::hint::hint(error) {
            self.line(&format!("hint: {hint}"));
        }
    }

    /// Says how far it came, and how to go on.
    pub(crate) fn stopped(&self) {
        self.end_bar();
        let units = self.state.lock().ok().and_then(|state| state.units);
        self.line(&match units {
            Some((done, all)) => format!("interrupted: {done} of {all} units are written"),
            None => "interrupted: nothing is written yet".to_owned(),
        });
        let what = if units.is_some() { "goes on from there" } else { "begins anew" };
        self.line(&format!("hint: the same command {what}"));
    }

    /// A line on standard error. What comes from a release is made visible; nobody can do
    /// anything about standard error being closed.
    fn line(&self, line: &str) {
        let line = visible(line);
        let bar = self.bar();
        let print = || {
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        match bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn bar(&self) -> Option<ProgressBar> {
        self.state.lock().ok().and_then(|state| state.bar.clone())
    }

    fn begin_bar(&self, length: u64, template: &str) {
        self.end_bar();
        if self.level == Level::Quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = ProgressBar::new(length);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        if let Ok(mut state) = self.state.lock() {
            state.bar = Some(bar);
        }
    }

    /// Takes the progress bar away.
    pub(crate) fn end_bar(&self) {
        if let Some(bar) = self.state.lock().ok().and_then(|mut state| state.bar.take()) {
            bar.finish_and_clear();
        }
    }

    fn notice(&self, notice: &diptych::format::Notice) {
        let seen = self.state.lock().map_or(0, |mut state| {
            state.notices += 1;
            state.notices
        });
        if self.level == Level::Verbose || seen <= SOME {
            self.say(&format!("note: {}: {} ({})", notice.at, notice.detail, notice.kind));
        }
    }

    /// Says how many notices were not shown, and where they are.
    pub(crate) fn unshown_notices(&self, listed: &str) {
        let seen = self.state.lock().map_or(0, |state| state.notices);
        if seen > SOME && self.level != Level::Verbose {
            self.say(&format!("note: {} more of these, listed in {listed}", seen - SOME));
        }
    }
}

impl Observer for Printer {
    fn event(&self, event: Event) {
        match event {
            Event::Source { label, format, reason }
                if self.level == Level::Verbose && !reason.is_empty() =>
            {
                self.say(&format!("{label} is read as {format}: {reason}"));
            }
            Event::Indexing { partitions } => {
                self.begin_bar(
                    partitions as u64,
                    "reading  {wide_bar} {pos}/{len} partitions  {eta} left",
                );
            }
            Event::Indexed { .. } => {
                if let Some(bar) = self.bar() {
                    bar.inc(1);
                }
            }
            Event::Noticed(notice) => self.notice(&notice),
            Event::Running { units, bytes, done } => {
                if let Ok(mut state) = self.state.lock() {
                    state.units = Some((done, done + units));
                }
                if done > 0 {
                    self.say(&format!("{done} units were done before, {units} are left"));
                }
                self.begin_bar(
                    bytes,
                    "writing  {wide_bar} {decimal_bytes}/{decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left",
                );
            }
            Event::Moved { bytes, .. } => {
                if let Some(bar) = self.bar() {
                    bar.inc(bytes);
                }
            }
            Event::UnitDone { unit } => {
                if let Ok(mut state) = self.state.lock()
                    && let Some((done, _)) = &mut state.units
                {
                    *done += 1;
                }
                if self.level == Level::Verbose {
                    self.say(&format!("unit {unit} is written"));
                }
            }
            Event::Finishing => self.end_bar(),
            _ => {}
        }
    }

    fn is_stopped(&self) -> bool {
        self.signals.came()
    }
}

/// Prints data. Whoever has stopped reading has what was wanted: a quiet end.
///
/// # Errors
/// Those of standard output.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    data_bytes(text.as_bytes())
}

/// Prints data that are ready as bytes.
///
/// # Errors
/// Those of standard output.
pub(crate) fn data_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(anyhow::anyhow!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// JSON in which nothing moves or hides what stands around it on a terminal: such characters are
/// escaped. They can only be in its strings.
pub(crate) fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A number of bytes for people, in the units that `--shard-size` takes.
pub(crate) fn size(bytes: u64) -> String {
    let units =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    for (unit, name) in units {
        if bytes >= unit {
            let tenths = bytes / (unit / 10);
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} bytes")
}

/// A number with its thousands apart: `1,099,964`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_stand_apart() {
        let all = [0, 999, 1_000, 1_099_964].map(super::grouped);
        assert_eq!(all, ["0", "999", "1,000", "1,099,964"]);
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"a": "x\u{9b}31m\u{202e}\u{e0041}\u{1b}\n", "b": ["移"]});
        let shown = super::visible_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!shown.contains(['\u{9b}', '\u{202e}', '\u{e0041}']), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(super::size(999), "999 bytes");
        assert_eq!(super::size(1_000), "1.0 KB");
        assert_eq!(super::size(3_470_000_000), "3.4 GB");
        assert_eq!(super::size(u64::MAX), "18446744.0 TB");
    }
}
