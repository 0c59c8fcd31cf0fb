//! Contestants in turn, round by round.

use std::ffi::OsString;

use super::figures::Spread;
use super::measure::Measured;

/// A contestant's results.
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// One for each round, up to the one in which it failed.
    pub(super) runs: Vec<Measured>,
    pub(super) failure: Option<String>,
}

impl Entry {
    pub(super) fn seconds(&self) -> Option<Spread> {
        Spread::of(self.runs.iter().map(|run| run.seconds))
    }

    pub(super) fn peaks(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().filter_map(|run| run.peak_bytes)
    }

    /// How many times as long as `ours` it took, from the runs of one round each: a machine that
    /// is slow for a while is slow for both.
    pub(super) fn ratio(&self, ours: &Self) -> Option<Spread> {
        let rounds = self.runs.iter().zip(&ours.runs);
        Spread::of(rounds.map(|(theirs, ours)| theirs.seconds / ours.seconds))
    }
}

/// Runs each command once in each round, after a round that is not counted: that one reads every
/// contestant's input, and its program, into the cache. Who fails is not run again. `tell` hears
/// of each run.
pub(super) fn compete(
    contestants: &[(&'static str, Vec<OsString>)],
    rounds: usize,
    run: &mut dyn FnMut(&[OsString]) -> anyhow::Result<Measured>,
    tell: &mut dyn FnMut(usize, &str, &anyhow::Result<Measured>),
) -> Vec<Entry> {
    let mut entries: Vec<_> = contestants
        .iter()
        .map(|(name, _)| Entry { name, runs: Vec::new(), failure: None })
        .collect();
    for round in 0..=rounds {
        for at in order(contestants.len(), round) {
            let (Some((name, command)), Some(entry)) = (contestants.get(at), entries.get_mut(at))
            else {
                continue;
            };
            if entry.failure.is_some() {
                continue;
            }
            let result = run(command);
            tell(round, name, &result);
            match result {
                Ok(measured) if round > 0 => entry.runs.push(measured),
                Ok(_) => {}
                Err(error) => entry.failure = Some(format!("{error:#}")),
            }
        }
    }
    entries
}

/// Whose turn it is: in each round another one begins.
fn order(contestants: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..contestants).map(move |at| (at + round) % contestants)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seconds: &[f64]) -> Entry {
        let run = |seconds: &f64| Measured { seconds: *seconds, peak_bytes: None };
        Entry { name: "x", runs: seconds.iter().map(run).collect(), failure: None }
    }

    #[test]
    fn ratios_are_those_of_one_round() {
        let ratio = |ours: &[f64], theirs: &[f64]| entry(theirs).ratio(&entry(ours));
        // The machine got ten times slower after the first round: the ratios do not see it.
        let found = ratio(&[1.0, 10.0, 10.0], &[2.0, 20.0, 30.0]).unwrap();
        assert_eq!(found, Spread { median: 2.0, min: 2.0, max: 3.0 });
        // One that failed has fewer runs.
        assert_eq!(ratio(&[1.0, 4.0], &[3.0]).unwrap().median, 3.0);
        assert_eq!(ratio(&[1.0, 4.0], &[2.0, 4.0]).unwrap().median, 1.5);
        assert_eq!(ratio(&[], &[2.0]), None);
    }

    #[test]
    fn another_one_begins_each_round() {
        let orders: Vec<Vec<_>> = (0..4).map(|round| order(3, round).collect()).collect();
        assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
        assert_eq!(order(0, 1).count(), 0);
    }

    #[test]
    fn all_are_run_in_turn_and_who_fails_is_left_out() {
        let contestants: Vec<_> = ["a", "b", "c"].map(|n| (n, vec![OsString::from(n)])).into();
        let mut asked = String::new();
        let mut told = Vec::new();
        let mut calls = 0;
        let entries = compete(
            &contestants,
            2,
            &mut |command| {
                calls += 1;
                let name = command.first().and_then(|word| word.to_str()).unwrap();
                asked.push_str(name);
                // In the first round that counts.
                anyhow::ensure!(name != "c" || calls < 4, "c is broken");
                Ok(Measured { seconds: f64::from(calls), peak_bytes: Some(7) })
            },
            &mut |round, name, result| told.push(format!("{round}{name}{}", result.is_ok())),
        );
        assert_eq!(asked, "abcbcaab");
        assert_eq!(told[3..5], ["1btrue", "1cfalse"]);
        let seconds = |entry: &Entry| entry.runs.iter().map(|run| run.seconds).collect::<Vec<_>>();
        assert_eq!(
            entries.iter().map(seconds).collect::<Vec<_>>(),
            [vec![6.0, 7.0], vec![4.0, 8.0], vec![]]
        );
        assert_eq!(entries[2].failure.as_deref(), Some("c is broken"));
        assert!(entries[0].failure.is_none() && entries[0].peaks().eq([7, 7]));
    }
}
