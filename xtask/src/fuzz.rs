//! Runs the fuzz targets with libFuzzer, and makes what they begin with (`fuzz/README.md`).
//!
//! Nothing of it needs nightly: `fuzz/instrument` gives the compiler what libFuzzer wants. Only the
//! crates of this workspace are compiled so; those of others are the ones that everything else here
//! uses.

mod seeds;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::fuzz::{TARGETS, Target};
use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

#[cfg(test)]
use crate::fixtures::Tree;
use crate::fixtures::write;

/// The folders of what is kept, from the workspace's root.
const CORPUS: &str = "fuzz/corpus";
const REGRESSIONS: &str = "fuzz/regressions";

/// From so many seconds on a build that is optimised pays.
const LONG: u64 = 60;

/// Memory of a target, in MiB: that of an input ([`fuzz::memory::MOST`]) beside what the program
/// and the fuzzer take, and C libraries that take memory by themselves.
const MEMORY: u64 = 320;

/// Seconds of an input.
const TIMEOUT: u64 = 10;

/// Bytes of a target's corpus that were found, at most.
const KEPT: u64 = 36 << 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Targets to run; all where none is given.
    targets: Vec<String>,
    /// Seconds for each.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Make the seeds in `fuzz/corpus` anew and run nothing.
    #[arg(long, conflicts_with_all = ["seconds", "keep"])]
    seed: bool,
    /// Keep in `fuzz/corpus` what reaches more of the program than what is there.
    #[arg(long)]
    keep: bool,
}

/// Runs targets. Says what they did, as a table.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<String> {
    if args.seed {
        let wanted = seeds::seeds(root)?;
        let changed = write::write(&root.join(CORPUS), &wanted, &owned())?;
        return Ok(format!("{CORPUS}: {} seeds, {changed} changed", wanted.len()));
    }
    let targets = chosen(&args.targets)?;
    let programs = build(root, &targets, args.seconds >= LONG)?;
    let runs = Runs { root, seconds: args.seconds, keep: args.keep, programs: &programs };
    let done = runs.all()?;
    let mut table = String::from(
        "| target | corpus | executions | a second | edges | features | new | MiB | |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|---|\n",
    );
    for (target, done) in targets.iter().zip(&done) {
        let Done { corpus, executions, rate, edges, features, new, memory, .. } = done;
        let said = if done.found.is_empty() { "" } else { "**found**" };
        table += &format!(
            "| {} | {corpus} | {executions} | {rate} | {edges} | {features} | {new} | {memory} | {said} |\n",
            target.name
        );
    }
    let found: String = done.iter().map(|done| done.found.as_str()).collect();
    ensure!(found.is_empty(), "{table}\n{found}");
    Ok(table)
}

/// What begins the paths of seeds: what else is called so is a leftover.
fn owned() -> Vec<&'static str> {
    let prefix = |target: &Target| &*format!("{}/{}", target.name, seeds::PREFIX).leak();
    TARGETS.iter().map(prefix).collect()
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let named = |name: &String| {
        ::fuzz::target(name).with_context(|| {
            let all: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            format!("there is no target {name}: there are {}", all.join(", "))
        })
    };
    names.iter().map(named).collect()
}

/// Builds the programs of targets, and says where they are.
fn build(root: &Path, targets: &[&Target], optimised: bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // With the features that all crates of the workspace ask for, others need not be built anew.
    command.current_dir(root).args(["build", "--locked", "--workspace"]);
    command.args(["--features", "fuzz/libfuzzer", "--message-format=json-render-diagnostics"]);
    if optimised {
        // Every check of a development build, and the crates of others as they are.
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "2");
    }
    for target in targets {
        command.args(["--bin", target.name]);
    }
    command.env("RUSTC_WORKSPACE_WRAPPER", root.join("fuzz/instrument"));
    let built = command.stderr(Stdio::inherit()).output().context("starting cargo")?;
    ensure!(built.status.success(), "the targets cannot be built");
    let text = String::from_utf8(built.stdout)?;
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs: Vec<_> = messages
        .filter_map(|message| {
            let name = message.pointer("/target/name")?.as_str()?.to_owned();
            Some((name, PathBuf::from(message.get("executable")?.as_str()?)))
        })
        .collect();
    let program = |target: &&Target| {
        let built = programs.iter().find(|(name, _)| name == target.name);
        let (_, path) = built.with_context(|| format!("{} was not built", target.name))?;
        Ok(path.clone())
    };
    targets.iter().map(program).collect()
}

/// What a run of a target did.
#[derive(Default)]
struct Done {
    /// Inputs that it began with.
    corpus: usize,
    executions: u64,
    rate: u64,
    edges: u64,
    features: u64,
    /// Inputs that were found to reach more.
    new: u64,
    memory: u64,
    /// What did harm: where the input is, and what was said.
    found: String,
}

struct Runs<'a> {
    root: &'a Path,
    seconds: u64,
    keep: bool,
    programs: &'a [PathBuf],
}

impl Runs<'_> {
    /// Runs all, as many at a time as there are processors.
    fn all(&self) -> anyhow::Result<Vec<Done>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(program) = self.programs.get(number) else { break };
                        let ran = self.one(program);
                        if let Ok(mut done) = done.lock() {
                            done.push((number, ran));
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().context("a thread has ended early")?;
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, ran)| ran).collect()
    }

    fn one(&self, program: &Path) -> anyhow::Result<Done> {
        let name = program.file_name().context("a program without a name")?;
        let target = name.to_str().and_then(::fuzz::target).context("no target")?;
        // Beside the programs: what was found is there at the next run.
        let work = program.with_file_name("fuzz").join(name);
        let (reached, harm) = (work.join("corpus"), work.join("found"));
        for folder in [&reached, &harm] {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let corpus = self.root.join(CORPUS).join(name);
        let regressions = self.root.join(REGRESSIONS).join(name);
        let given = [&corpus, &regressions].into_iter().filter(|folder| folder.is_dir());
        let given: Vec<_> = given.collect();
        let mut prefix = OsString::from("-artifact_prefix=");
        prefix.push(harm.join(""));
        let mut command = limited(program, target);
        command.arg(format!("-max_total_time={}", self.seconds)).arg(prefix);
        command.args(["-print_final_stats=1", "-reload=0"]).arg(&reached).args(&given);
        let ran = command.output().with_context(|| program.display().to_string())?;
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        let mut done = figures(&said);
        for folder in &given {
            done.corpus += fs::read_dir(folder)?.count();
        }
        if !ran.status.success() {
            done.found = format!("{}:\n{}\n", target.name, what_did_harm(&said));
        } else if self.keep {
            keep(program, target, &corpus, &reached)?;
        }
        Ok(done)
    }
}

/// A program with its limits.
fn limited(program: &Path, target: &Target) -> Command {
    let mut command = Command::new(program);
    command.arg(format!("-rss_limit_mb={MEMORY}")).arg(format!("-timeout={TIMEOUT}"));
    command.arg(format!("-max_len={}", target.most)).stdout(Stdio::null());
    command
}

/// What libFuzzer says of an input that did harm: why, and where it is.
fn what_did_harm(said: &str) -> String {
    let mut lines = Vec::new();
    let mut rest = said.lines();
    while let Some(line) = rest.next() {
        if line.contains(" panicked at ") {
            lines.extend([line, rest.next().unwrap_or_default()]);
        } else if ["ERROR:", "memory allocation of", "Test unit written to"]
            .iter()
            .any(|word| line.contains(word))
        {
            lines.push(line);
        }
    }
    // Lines of a program that never came so far.
    if lines.is_empty() {
        lines = said.lines().rev().take(10).collect();
        lines.reverse();
    }
    lines.join("\n")
}

/// The figures in what libFuzzer says.
fn figures(said: &str) -> Done {
    let number = |text: &str| text.trim().parse().unwrap_or(0);
    let stat = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("stat::{name}:")));
        line.map_or(0, number)
    };
    // `#123 DONE cov: 456 ft: 789 corp: ...`: the last such line counts.
    let last = said.lines().rev().find(|line| line.starts_with('#') && line.contains(" cov: "));
    let behind = |word: &str| {
        let rest = last.and_then(|line| line.split_once(word)).map_or("", |(_, rest)| rest);
        number(rest.trim_start().split(' ').next().unwrap_or_default())
    };
    Done {
        executions: stat("number_of_executed_units"),
        rate: stat("average_exec_per_sec"),
        new: stat("new_units_added"),
        memory: stat("peak_rss_mb"),
        edges: behind(" cov:"),
        features: behind(" ft:"),
        ..Done::default()
    }
}

/// Adds to a corpus what reaches more than it, the smallest inputs first.
fn keep(program: &Path, target: &Target, corpus: &Path, reached: &Path) -> anyhow::Result<()> {
    let mut command = limited(program, target);
    // How often a place is reached is worth no input that everyone has to download.
    command.args(["-merge=1", "-use_counters=0"]).args([corpus, reached]);
    let merged = command.output().with_context(|| program.display().to_string())?;
    if !merged.status.success() {
        bail!("{}: {}", target.name, String::from_utf8_lossy(&merged.stderr));
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(corpus)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(seeds::PREFIX) {
            found.push((entry.metadata()?.len(), entry.path()));
        }
    }
    found.sort();
    let mut bytes = 0;
    for (length, path) in found {
        bytes += length;
        if bytes > KEPT {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The inputs that are kept in a folder of `fuzz/`, by their paths from it.
#[cfg(test)]
fn kept(root: &Path, folder: &str) -> Tree {
    let tree = diptych::storage::LocalTree::open(&root.join(folder), &Default::default()).unwrap();
    let entries = diptych::storage::ReadTree::list(&tree).iter();
    let read = |path: &str| fs::read(root.join(folder).join(path)).unwrap();
    entries.map(|entry| (entry.path.to_string(), read(entry.path.as_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    #[test]
    fn seeds_are_what_their_code_makes() {
        let wanted = seeds::seeds(root()).unwrap();
        write::check(&root().join(CORPUS), &wanted, &owned(), "cargo xtask fuzz --seed").unwrap();
        for target in TARGETS {
            let of_it = wanted.keys().filter(|path| path.split('/').next() == Some(target.name));
            assert!(of_it.count() >= 1, "{} has no seeds", target.name);
        }
    }

    #[test]
    fn what_is_kept_is_small_and_of_a_target() {
        let mut all = 0;
        for folder in [CORPUS, REGRESSIONS] {
            for (path, bytes) in kept(root(), folder) {
                let name = path.split('/').next().unwrap();
                let target = ::fuzz::target(name).unwrap_or_else(|| panic!("{folder}/{path}"));
                assert!(bytes.len() <= target.most, "{path} has {} bytes", bytes.len());
                all += bytes.len();
            }
        }
        assert!(all <= 3 << 19, "{all} bytes are kept");
    }

    #[test]
    fn every_format_that_is_read_has_a_target() {
        let read: Vec<_> = diptych::FORMATS.iter().map(|format| format.about()).collect();
        for about in read.iter().filter(|about| about.reads) {
            let reached = TARGETS.iter().any(|target| target.formats.contains(&about.name));
            assert!(reached, "{} has no fuzz target", about.name);
        }
        let named: Vec<_> = TARGETS.iter().flat_map(|target| target.formats).collect();
        assert!(named.iter().all(|name| read.iter().any(|about| about.name == **name)));
    }

    #[test]
    fn every_target_has_its_program() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        for Target { name, .. } in TARGETS {
            let path = format!("fuzz_targets/{name}.rs");
            let program = fs::read_to_string(root().join("fuzz").join(&path)).unwrap();
            assert!(program.contains(&format!("fuzz::target!(\"{name}\");")), "{name}");
            let entry = format!(
                "[[bin]]\nname = \"{name}\"\npath = \"{path}\"\ntest = false\ndoc = false\nbench = false\n"
            );
            assert!(manifest.contains(&entry), "{name}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
        assert!(TARGETS.is_sorted_by_key(|target| target.name));
    }

    #[test]
    fn what_did_harm_is_told_with_its_place() {
        let said = "#2\tINITED cov: 5\nthread 'x' panicked at a.rs:1:2:\nno such thing\n  0: stack\n\
                    ==1== ERROR: libFuzzer: deadly signal\nartifact_prefix='f/'; Test unit written to f/a\n";
        let told = what_did_harm(said);
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(lines.len(), 4, "{told}");
        assert_eq!(lines[1], "no such thing");
        assert!(lines[3].ends_with("Test unit written to f/a"));
        assert_eq!(what_did_harm("a\nb\n"), "a\nb");
    }

    #[test]
    fn figures_are_those_of_the_last_line() {
        let said = "#2\tINITED cov: 5 ft: 6 corp: 1/1b\n\
                    #99\tDONE   cov: 457 ft: 1234 corp: 7/9b lim: 4 exec/s: 33 rss: 44Mb\n\
                    Done 99 runs in 3 second(s)\nstat::number_of_executed_units: 99\n\
                    stat::average_exec_per_sec:     33\nstat::new_units_added:          7\n\
                    stat::peak_rss_mb:              45\n";
        let done = figures(said);
        assert_eq!((done.executions, done.rate, done.new, done.memory), (99, 33, 7, 45));
        assert_eq!((done.edges, done.features), (457, 1234));
    }
}
