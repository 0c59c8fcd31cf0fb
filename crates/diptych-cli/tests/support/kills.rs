//! Kills: when they come, what they find, and what must be so after each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::folder::{assert_same, tree};

type Tree = BTreeMap<String, Vec<u8>>;

/// Kills of each destination where nobody says how many.
const FEW: usize = 5;

/// Kills of one output: then it may end.
const MOST: usize = 6;

/// How far an output is, told from what lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Starting,
    Reading,
    Planning,
    Writing,
    Finishing,
    Moving,
    Removing,
    Done,
}

impl Phase {
    /// Those that every campaign of conversions must have met.
    pub(crate) const ALL: [Self; 6] = [
        Self::Reading,
        Self::Planning,
        Self::Writing,
        Self::Finishing,
        Self::Moving,
        Self::Removing,
    ];

    /// That of `out`, whose file `last` says that it is complete.
    pub(crate) fn of(out: &Path, last: &str) -> Self {
        let work = out.join(".diptych");
        let is_last = out.join(last).exists();
        match work.exists() {
            true if is_last => Self::Removing,
            false if is_last => Self::Done,
            true if work.join("publishing.json").exists() => Self::Moving,
            true if work.join("final").exists() => Self::Finishing,
            true if work.join("plan.parquet").exists() => Self::Writing,
            true if work.join("catalog/catalog.json").exists() => Self::Planning,
            true if work.join("catalog").exists() => Self::Reading,
            _ => Self::Starting,
        }
    }
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Whether it was killed before it had done everything.
    pub(crate) killed: bool,
    /// The units that it says it has written.
    units: BTreeSet<u32>,
}

/// Kills of one kind of command.
pub(crate) struct Campaign {
    name: String,
    /// What says that an output is complete.
    last: &'static str,
    /// What an uninterrupted run makes.
    whole: Tree,
    time: Duration,
    phases: BTreeMap<Phase, Duration>,
    wanted: usize,
    state: Mutex<State>,
}

struct State {
    random: u64,
    hits: BTreeMap<Phase, usize>,
    /// A phase that no kill has met, when all kills are done.
    missed: Option<Phase>,
}

impl State {
    /// Less than `below`.
    fn chance(&mut self, below: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        u32::try_from((self.random >> 8) % u64::from(below)).unwrap()
    }
}

impl Campaign {
    /// Measures an uninterrupted run into `whole`.
    pub(crate) fn new(name: &str, last: &'static str, whole: &Path, mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let begun = Instant::now();
        let mut begins = vec![(Phase::Starting, begun)];
        while child.try_wait().unwrap().is_none() {
            let phase = Phase::of(whole, last);
            if begins.last().is_some_and(|(before, _)| *before < phase) {
                begins.push((phase, Instant::now()));
            }
            sleep(Duration::from_micros(50));
        }
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let time = begun.elapsed();
        begins.push((Phase::Done, begun + time));
        let phases = begins.windows(2).map(|of| (of[0].0, of[1].1 - of[0].1)).collect();
        let wanted = std::env::var("DIPTYCH_KILLS").map_or(FEW, |kills| kills.parse().unwrap());
        let hits = BTreeMap::new();
        let state = State { random: 88_172_645_463_325_252, hits, missed: None };
        let whole = tree(whole);
        let state = Mutex::new(state);
        Self { name: name.to_owned(), last, whole, time, phases, wanted, state }
    }

    pub(crate) fn whole(&self) -> &Tree {
        &self.whole
    }

    /// Whether there are kills to come: as many as are wanted, and until each of `phases` was met.
    pub(crate) fn goes_on(&self, phases: &[Phase]) -> bool {
        let mut state = self.state.lock().unwrap();
        let kills: usize = state.hits.values().sum();
        state.missed = phases.iter().copied().find(|phase| !state.hits.contains_key(phase));
        if kills < self.wanted {
            state.missed = None;
            return true;
        }
        if let Some(phase) = state.missed {
            assert!(kills < self.wanted + 200, "{}: no kill met {phase:?}", self.name);
            return true;
        }
        #[expect(clippy::print_stdout, reason = "the figures of a long campaign are to be seen")]
        {
            println!("{}: {kills} kills: {:?}", self.name, state.hits);
        }
        false
    }

    /// Runs a command on `of`, and kills it at some instant from where it stands on.
    pub(crate) fn kill(&self, of: &Target, mut command: Command) -> Ended {
        let (aim, wait) = self.aim(of);
        let mut child = command.spawn().unwrap();
        while of.phase() < aim && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(50));
        }
        let end = Instant::now() + wait;
        while child.try_wait().unwrap().is_none() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            sleep(left.min(Duration::from_millis(1)));
        }
        self.end(of, child)
    }

    /// A phase, not before the one that the output is in, and how long after its beginning the
    /// kill comes. Half of all come at any time of the whole, half in a phase, however short it is.
    fn aim(&self, of: &Target) -> (Phase, Duration) {
        let mut state = self.state.lock().unwrap();
        let now = of.phase();
        if state.missed.is_some_and(|missed| missed < now) || of.kills.load(Relaxed) >= MOST {
            return (Phase::Done, self.time * 100);
        }
        let lasts = |phase| self.phases.get(&phase).copied().unwrap_or_default();
        let to_come: Vec<_> = self.phases.keys().copied().filter(|phase| *phase >= now).collect();
        let missed = state.missed;
        let (phase, time) = match missed {
            Some(missed) => (missed, lasts(missed)),
            None if to_come.is_empty() || state.chance(2) == 0 => (Phase::Starting, self.time),
            None => {
                let at = state.chance(u32::try_from(to_come.len()).unwrap());
                (to_come[at as usize], lasts(to_come[at as usize]))
            }
        };
        // One that is begun is gone on with when the process has started.
        let start = if phase > now { Duration::ZERO } else { lasts(Phase::Starting) };
        (phase, (start + time) * state.chance(1000) / 1000)
    }

    fn end(&self, of: &Target, mut child: Child) -> Ended {
        child.kill().unwrap();
        let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        let status = child.wait().unwrap();
        let killed = match status.signal() {
            Some(_) => true,
            None if status.code() == Some(0) => false,
            None => {
                let there: Vec<_> = tree(&of.out).into_keys().take(20).collect();
                panic!("{}: it must go on, not {status}: {said}{there:?}", self.name);
            }
        };
        if killed {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            *state.hits.entry(of.phase()).or_default() += 1;
            of.kills.fetch_add(1, Relaxed);
        }
        let unit =
            |line: &str| line.strip_prefix("unit ")?.strip_suffix(" is written")?.parse().ok();
        Ended { killed, units: said.lines().filter_map(unit).collect() }
    }
}

/// What tells a file from one that was written anew: inode and time of the last change.
type Identity = (u64, i64, i64);

/// An output that is begun again and again.
pub(crate) struct Target {
    out: PathBuf,
    last: &'static str,
    kills: AtomicUsize,
    /// The files of each unit that had a receipt when it was last looked.
    done: Mutex<BTreeMap<u32, BTreeMap<String, Identity>>>,
}

impl Target {
    pub(crate) fn new(out: &Path, last: &'static str) -> Self {
        Self { out: out.to_path_buf(), last, kills: AtomicUsize::new(0), done: Mutex::default() }
    }

    fn phase(&self) -> Phase {
        Phase::of(&self.out, self.last)
    }

    /// Whether it is complete, and nothing else is left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.phase() == Phase::Done
    }

    /// What must be so after every kill: what looks complete is complete, and a unit that had a
    /// receipt was not written again.
    pub(crate) fn look(&self, ended: &Ended, whole: &Tree) {
        self.look_at_units(&ended.units);
        if self.out.join(self.last).exists() {
            let beside = |name: &String| !name.starts_with(".diptych");
            let found = tree(&self.out).into_iter().filter(|(name, _)| beside(name)).collect();
            assert_same(&found, whole);
        }
    }

    /// Also while others write: a unit stays as it was first seen, and none of `written` was seen
    /// before.
    pub(crate) fn look_at_units(&self, written: &BTreeSet<u32>) {
        let mut done = self.done.lock().unwrap();
        for unit in written {
            assert!(!done.contains_key(unit), "unit {unit} had a receipt and is written again");
        }
        for entry in fs::read_dir(self.out.join(".diptych/units")).into_iter().flatten() {
            let folder = entry.unwrap().path();
            if !folder.join("receipt.json").exists() {
                // The end of it: the working folder is being removed.
                continue;
            }
            let unit = folder.file_name().unwrap().to_str().unwrap().parse().unwrap();
            let now = identities(&folder);
            match done.get(&unit) {
                None => drop(done.insert(unit, now)),
                Some(before) => {
                    for (name, identity) in now {
                        assert_eq!(before.get(&name), Some(&identity), "unit {unit}: {name}");
                    }
                }
            }
        }
    }

    /// What must be so in the end: it is the same as if nothing had been killed, and files of units
    /// that end with `moved` are those that units had when their receipts were first seen.
    pub(crate) fn ends(&self, whole: &Tree, moved: Option<&str>) {
        assert_same(&tree(&self.out), whole);
        let Some(moved) = moved else { return };
        let there: BTreeSet<_> = identities(&self.out).into_values().collect();
        for (unit, files) in self.done.lock().unwrap().iter() {
            for (name, identity) in files.iter().filter(|(name, _)| name.ends_with(moved)) {
                assert!(there.contains(identity), "{name} of unit {unit} was written again");
            }
        }
    }
}

/// Every file below a folder.
fn identities(root: &Path) -> BTreeMap<String, Identity> {
    fn walk(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Identity>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                walk(&entry.path(), &format!("{name}/"), found);
            } else {
                found.insert(name, (meta.ino(), meta.mtime(), meta.mtime_nsec()));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, "", &mut found);
    found
}
