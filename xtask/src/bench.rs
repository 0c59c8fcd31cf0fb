//! Benchmarks: our command against what else people would run, on data of the user's own.
//!
//! What is compared is the table in [`works`]. Contestants are whole processes, run in turn, and
//! ratios are taken within a round. `docs/benchmarks.md` says how to use it.

mod data;
mod figures;
mod machine;
mod measure;
mod rounds;
mod table;
mod works;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::builder::PossibleValuesParser;

use data::Data;
use figures::{bytes, number};
use machine::{Machine, build, free_bytes, mount_of, versions};
use measure::{Measured, Meter};
use table::{Head, Outcome};
use works::{Contestant, Values, WORKS, Work};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folders with data. Each is used for the works that it can serve.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,
    /// A work to do, given once for each [default: all that a folder can serve].
    #[arg(long = "work", value_name = "NAME", value_parser = names())]
    works: Vec<String>,
    /// How many times each contestant is measured.
    #[arg(long, value_name = "N", default_value = "5")]
    rounds: NonZeroUsize,
    /// Threads or processes of those contestants that can be told.
    #[arg(long, value_name = "N", default_value = "2")]
    jobs: NonZeroUsize,
    /// Where contestants write [default: the folder that DATA lies in].
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// The folder with the Python scripts to compare with; without it they are left out.
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
    /// The Python that has the packages which those scripts use.
    #[arg(long, value_name = "PATH", default_value = "python3", requires = "peers")]
    python: PathBuf,
    /// The `diptych` to measure [default: this repository's, built for release].
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Prints the results as JSON, with every run.
    #[arg(long)]
    json: bool,
}

fn names() -> PossibleValuesParser {
    WORKS.iter().map(|work| work.name).collect::<Vec<_>>().into()
}

/// A work that is to be done on a data folder.
struct Task<'a> {
    work: &'static Work,
    data: &'a Data,
    /// Where a folder for outputs is made.
    scratch: PathBuf,
}

/// Measures and prints the results; fails if a contestant did. What it returns is the end of what
/// is to be printed.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<String> {
    let folders = args.data.iter().map(|path| Data::open(path)).collect::<Result<Vec<_>, _>>()?;
    let tasks = choose(&folders, &args.works, args.scratch.as_deref())?;
    let (values, head) = prepare(root, args, &tasks)?;
    if !args.json {
        println!("{}", table::head_text(&head));
    }
    let mut outcomes = Vec::new();
    for task in &tasks {
        let outcome = perform(task, &values, args.rounds.get())?;
        if !args.json {
            println!("{}", table::outcome_text(&outcome));
        }
        outcomes.push(outcome);
    }
    let end = match table::memory_text(&outcomes) {
        _ if args.json => serde_json::to_string_pretty(&table::all_json(&head, &outcomes))?,
        Some(memory) => memory,
        None => format!("Results: {}.", outcomes.len()),
    };
    let failed = failed(&outcomes);
    if !failed.is_empty() {
        println!("{end}");
        bail!("failed: {}", failed.join(", "));
    }
    Ok(end)
}

/// The works of each folder: those that were asked for, or all that it can serve.
fn choose<'a>(
    folders: &'a [Data],
    asked: &[String],
    scratch: Option<&Path>,
) -> anyhow::Result<Vec<Task<'a>>> {
    let mut tasks = Vec::new();
    for data in folders {
        let scratch = scratch_for(data, scratch)?;
        let free = free_bytes(&scratch);
        let before = tasks.len();
        for work in WORKS.iter().filter(|of| asked.is_empty() || asked.iter().any(|a| a == of.name))
        {
            let lacks_room = || {
                let free = free.filter(|free| work.copies && *free < data.bytes)?;
                let needs = bytes(data.bytes);
                Some(format!("its outputs need {needs}, and {} are free", bytes(free)))
            };
            match data.lacks(work).or_else(lacks_room) {
                None => tasks.push(Task { work, data, scratch: scratch.clone() }),
                Some(why) if asked.is_empty() => say(&format!("no {}: {why}", title(work, data))),
                Some(why) => bail!("{} cannot be done: {why}", title(work, data)),
            }
        }
        ensure!(tasks.len() > before, "{} serves no work", data.path.display());
    }
    Ok(tasks)
}

fn title(work: &Work, data: &Data) -> String {
    format!("{} on {}", work.name, data.name)
}

/// The folder that outputs go into: on the data's file system, unless it was said where.
fn scratch_for(data: &Data, asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(asked) = asked {
        return fs::canonicalize(asked).with_context(|| format!("opening {}", asked.display()));
    }
    let parent = data.path.parent().context("a whole disk as data needs --scratch")?;
    ensure!(
        mount_of(parent) == mount_of(&data.path),
        "{} is a file system of its own: say with --scratch where outputs go",
        data.path.display()
    );
    Ok(parent.to_path_buf())
}

/// Builds what is ours, and finds out what is told at the head.
fn prepare(root: &Path, args: &Args, tasks: &[Task<'_>]) -> anyhow::Result<(Values, Head)> {
    let diptych = match &args.binary {
        Some(binary) => binary.clone(),
        None => build(root, &["--package", "diptych-cli", "--bin", "diptych"])?,
    };
    let python = args.peers.as_ref().map(|_| args.python.as_path());
    let head = Head {
        machine: Machine::here(),
        versions: versions(root, &diptych, python),
        rounds: args.rounds.get(),
        jobs: args.jobs.get(),
        measures_memory: measure::has_time(),
    };
    let mut values = Values::from([
        ("diptych", diptych.into()),
        ("jobs", args.jobs.to_string().into()),
        ("python", args.python.clone().into()),
    ]);
    values.extend(args.peers.iter().map(|peers| ("peers", peers.clone().into())));
    let asks = |program| {
        tasks.iter().flat_map(|task| task.work.contestants).any(|of| of.asks_for(program))
    };
    if asks("xtask") {
        let xtask = std::env::current_exe().context("finding this program")?;
        values.insert("xtask", release_of(root, xtask)?.into());
    }
    if asks("tar_index") {
        let what = ["--package", "diptych-storage", "--example", "tar_index"];
        values.insert("tar_index", build(root, &what)?.into());
    }
    Ok((values, head))
}

/// This program, built for release.
fn release_of(root: &Path, this: PathBuf) -> anyhow::Result<PathBuf> {
    // A program that runs cannot be written over everywhere.
    if cfg!(debug_assertions) {
        build(root, &["--package", "xtask", "--bin", "xtask"])
    } else {
        Ok(this)
    }
}

fn perform(task: &Task<'_>, common: &Values, rounds: usize) -> anyhow::Result<Outcome> {
    let Task { work, data, scratch } = task;
    let meter = Meter::new(scratch)?;
    let mut values = common.clone();
    values.extend([("data", data.path.clone().into()), ("out", meter.out().into())]);
    let (mut commands, mut left_out) = (Vec::new(), Vec::new());
    for contestant @ Contestant { name, .. } in work.contestants {
        match contestant.fill(&values) {
            Ok(command) => commands.push((*name, command)),
            Err(lacking) => left_out.push((*name, format!("no --{lacking} was given"))),
        }
    }
    say(&title(work, data));
    let entries = rounds::compete(
        &commands,
        rounds,
        &mut |command| meter.run(command),
        &mut |round, name, result| say(&progress(round, rounds, name, result)),
    );
    let kind = |path: &Path| mount_of(path).map(|mount| mount.kind);
    Ok(Outcome {
        work: work.name,
        about: work.about,
        promises_memory: work.promises_memory,
        data: data.name.clone(),
        bytes: data.bytes,
        pairs: data.pairs,
        file_systems: [kind(&data.path), kind(scratch)],
        entries,
        left_out,
    })
}

fn progress(round: usize, rounds: usize, name: &str, result: &anyhow::Result<Measured>) -> String {
    let round = match round {
        0 => "not counted".to_owned(),
        round => format!("round {round} of {rounds}"),
    };
    match result {
        Ok(measured) => format!("  {round}: {name}: {} s", number(measured.seconds)),
        Err(_) => format!("  {round}: {name}: failed"),
    }
}

/// Progress goes to standard error: the results are what is printed.
fn say(line: &str) {
    eprintln!("{line}");
}

fn failed(outcomes: &[Outcome]) -> Vec<String> {
    let all = outcomes.iter().flat_map(|of| of.entries.iter().map(move |entry| (of, entry)));
    all.filter(|(_, entry)| entry.failure.is_some())
        .map(|(of, entry)| format!("{} ({} on {})", entry.name, of.work, of.data))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Work = Work {
        name: "small",
        about: "Small commands.",
        needs: &[("", ".tar")],
        copies: true,
        promises_memory: false,
        contestants: &[
            Contestant { name: "ours", command: &["true"] },
            Contestant {
                name: "writes",
                command: &["sh", "-c", "cp \"$1\"/* \"$2\"", "sh", "{data}", "{out}"],
            },
            Contestant { name: "fails", command: &["sh", "-c", "echo not today >&2; exit 3"] },
            Contestant { name: "absent", command: &["{python}", "{peers}/x.py"] },
        ],
    };

    fn folder_with_tar() -> (tempfile::TempDir, Data) {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a.tar"), [0; 1024]).unwrap();
        let data = Data::open(&folder).unwrap();
        (parent, data)
    }

    #[test]
    fn a_work_is_done_and_who_fails_is_named() {
        let (parent, data) = folder_with_tar();
        let scratch = scratch_for(&data, None).unwrap();
        assert_eq!(scratch, fs::canonicalize(parent.path()).unwrap());
        let task = Task { work: &SMALL, data: &data, scratch };
        let outcome = perform(&task, &Values::new(), 3).unwrap();
        let runs: Vec<_> = outcome.entries.iter().map(|entry| entry.runs.len()).collect();
        assert_eq!(runs, [3, 3, 0]);
        let failure = outcome.entries[2].failure.as_deref().unwrap();
        assert!(failure.ends_with("not today"), "{failure}");
        assert_eq!(outcome.left_out, [("absent", "no --python was given".to_owned())]);
        assert_eq!(failed(&[outcome]), ["fails (small on data)"]);
        let left: Vec<_> = fs::read_dir(parent.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn works_are_chosen_by_what_is_there() {
        let (_parent, data) = folder_with_tar();
        let folders = [data];
        let chosen = |asked: &[&str]| {
            let asked: Vec<_> = asked.iter().copied().map(str::to_owned).collect();
            let tasks = choose(&folders, &asked, None).map_err(|error| error.to_string())?;
            Ok(tasks.iter().map(|task| task.work.name).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&[]), Ok(vec!["tar-index"]));
        assert_eq!(chosen(&["tar-index"]), Ok(vec!["tar-index"]));
        let error: Result<_, String> = chosen(&["index-none"]);
        assert_eq!(
            error.unwrap_err(),
            "index-none on data cannot be done: it holds no metadata/*.jsonl.gz"
        );
        let empty = tempfile::tempdir().unwrap();
        let empty = [Data::open(empty.path()).unwrap()];
        assert!(choose(&empty, &[], None).is_err());
    }

    #[test]
    fn a_run_without_a_program_of_ours_fails_and_says_so() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let args = Args {
            data: vec![root.join("fixtures/inter-edit-train")],
            works: vec!["index-none".to_owned()],
            rounds: NonZeroUsize::MIN,
            jobs: NonZeroUsize::MIN,
            scratch: Some(scratch.path().to_path_buf()),
            peers: None,
            python: "python3".into(),
            binary: Some("false".into()),
            json: true,
        };
        let error = run(root, &args).unwrap_err().to_string();
        assert_eq!(error, "failed: diptych index --probe none (index-none on inter-edit-train)");
        let done = run(root, &Args { binary: Some("true".into()), ..args }).unwrap();
        let json: serde_json::Value = serde_json::from_str(&done).unwrap();
        assert_eq!(json["results"][0]["pairs"], 24);
        assert_eq!(json["results"][0]["left_out"].as_array().unwrap().len(), 2);
        assert!(fs::read_dir(scratch.path()).unwrap().next().is_none());
    }
}
