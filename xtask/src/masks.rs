//! How well change masks meet the truth: `difference` and the obvious way beside each other, on
//! pairs whose edited pixels are known.
//!
//! Pairs come from a folder, or are drawn by [`draw`]. `docs/masks.md` says what is measured.

mod draw;
mod obvious;
pub(crate) mod work;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, ensure};
use diptych_pixels::mask::Part;
use diptych_pixels::{
    Bits, DecodeLimits, Difference, DifferenceOptions, decode, difference, overlap,
};
use diptych_schema::Edited;
use serde_json::Value;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with `pairs.jsonl` and for each pair NAME of it `NAME.source.png`,
    /// `NAME.target.png` and `NAME.truth.png` [default: pairs that are drawn].
    dir: Option<PathBuf>,
    /// Sets a parameter of the difference, as KEY=VALUE.
    #[arg(long = "difference", value_name = "KEY=VALUE")]
    options: Vec<String>,
    /// Prints each pair as well.
    #[arg(long)]
    pairs: bool,
}

/// Kinds of edits of which some pixels are edited and most are not.
const LOCAL: [&str; 4] = ["replace", "adjust", "remove", "add"];

/// The kind of edit that changes all of a picture.
const STYLE: &str = "style";

pub(crate) const LIMITS: DecodeLimits = DecodeLimits { pixels: 100_000_000, bytes: 1 << 30 };

/// A pair whose edited pixels are known.
pub(crate) struct Pair {
    name: String,
    kind: String,
    /// What became of pixels that were not to be edited.
    residue: String,
    source: Vec<u8>,
    target: Vec<u8>,
    /// 255 where edited, as a PNG.
    truth: Vec<u8>,
}

/// What both ways made of a pair.
struct Outcome {
    name: String,
    kind: String,
    residue: String,
    /// Overlap with the truth; 0 where there is no mask.
    ours: f64,
    obvious: f64,
    is_global: bool,
    /// What was found, in words.
    found: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<String> {
    let mut options = DifferenceOptions::default();
    for option in &args.options {
        let (name, value) = option.split_once('=').context("--difference takes KEY=VALUE")?;
        options.set(name, value)?;
    }
    let pairs = match &args.dir {
        Some(dir) => read(dir)?,
        None => draw::pairs(&[1, 2, 3], (392, 296))?,
    };
    let outcomes = measure(pairs, &options)?;
    let mut text = String::new();
    if args.pairs {
        for of in &outcomes {
            let line = format!(
                "{} {} {} {} ours {:.3} obvious {:.3}\n",
                of.name, of.kind, of.residue, of.found, of.ours, of.obvious
            );
            text.push_str(&line);
        }
        text.push('\n');
    }
    text.push_str(&table(&outcomes));
    Ok(text)
}

/// The pairs of a folder.
fn read(dir: &Path) -> anyhow::Result<Vec<Pair>> {
    let list = dir.join("pairs.jsonl");
    let list = fs::read_to_string(&list).with_context(|| format!("reading {}", list.display()))?;
    let pair = |line: &str| {
        let row: Value = serde_json::from_str(line)?;
        let text = |key: &str| {
            let text = row
                .get(key)
                .and_then(Value::as_str)
                .with_context(|| format!("{key:?} of {line}"))?;
            anyhow::Ok(text.to_owned())
        };
        let name = text("pair")?;
        let file = |what: &str| {
            let path = dir.join(format!("{name}.{what}.png"));
            fs::read(&path).with_context(|| format!("reading {}", path.display()))
        };
        let (source, target, truth) = (file("source")?, file("target")?, file("truth")?);
        Ok(Pair { kind: text("kind")?, residue: text("residue")?, name, source, target, truth })
    };
    list.lines().map(pair).collect()
}

/// Both ways on all pairs, on all cores; in the order of the pairs.
fn measure(pairs: Vec<Pair>, options: &DifferenceOptions) -> anyhow::Result<Vec<Outcome>> {
    ensure!(!pairs.is_empty(), "no pairs");
    let queue = Mutex::new(pairs.into_iter().enumerate().collect::<VecDeque<_>>());
    let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut outcomes = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            while let Some((at, pair)) = next() {
                done.push((at, outcome(&pair, options)?));
            }
            anyhow::Ok(done)
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().ok().context("a thread panicked")??);
        }
        anyhow::Ok(all)
    })?;
    outcomes.sort_by_key(|(at, _)| *at);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn outcome(pair: &Pair, options: &DifferenceOptions) -> anyhow::Result<Outcome> {
    let Pair { name, kind, residue, source, target, truth } = pair;
    let context = || format!("pair {name}");
    let truth =
        Bits::from_parts(&[Part::Picture(truth)], Edited::White, LIMITS).with_context(context)?;
    let iou =
        |mask: &Bits| anyhow::Ok(overlap(mask, &truth).with_context(context)?.iou().unwrap_or(1.0));
    let (ours, is_global, found) = match difference(source, target, options, LIMITS) {
        Ok(Difference::Local(found)) => {
            let text = format!("{} parts, confidence {:.2},", found.components, found.confidence);
            (iou(&found.mask)?, false, text)
        }
        Ok(Difference::Global { share, uniformity }) => {
            (0.0, true, format!("global, share {share:.2}, uniformity {uniformity:.2},"))
        }
        Ok(Difference::Unchanged) => (0.0, false, "unchanged,".to_owned()),
        Err(error) => (0.0, false, format!("refused ({error}),")),
    };
    let source = decode::decode(source, LIMITS).with_context(context)?;
    let target = decode::decode(target, LIMITS).with_context(context)?;
    let obvious = iou(&obvious::mask(&source, &target))?;
    Ok(Outcome {
        name: name.clone(),
        kind: kind.clone(),
        residue: residue.clone(),
        ours,
        obvious,
        is_global,
        found,
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (Some(upper), 0) => (values.get(middle - 1).unwrap_or(upper) + upper) / 2.0,
        (Some(middle), _) => *middle,
        (None, _) => f64::NAN,
    }
}

/// The names of a column of outcomes, in the order in which they come.
fn names<'a>(outcomes: &'a [Outcome], of: impl Fn(&'a Outcome) -> &'a str) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in outcomes.iter().map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn is_local(outcome: &Outcome) -> bool {
    LOCAL.contains(&outcome.kind.as_str())
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = "| pairs | number | ours | the obvious way | called global |\n\
                    |---|---:|---:|---:|---:|\n"
        .to_owned();
    let mut row = |name: &str, of: &dyn Fn(&Outcome) -> bool| {
        let these: Vec<_> = outcomes.iter().filter(|outcome| of(outcome)).collect();
        if these.is_empty() {
            return;
        }
        let global = these.iter().filter(|of| of.is_global).count();
        // A mask of a picture that changed everywhere says nothing.
        let is_style = these.iter().all(|of| of.kind == STYLE);
        let shown = |value: f64| if is_style { String::new() } else { format!("{value:.3}") };
        let ours = shown(median(these.iter().map(|of| of.ours)));
        let obvious = shown(median(these.iter().map(|of| of.obvious)));
        text.push_str(&format!("| {name} | {} | {ours} | {obvious} | {global} |\n", these.len()));
    };
    for kind in names(outcomes, |of| &of.kind) {
        row(kind, &|of| of.kind == kind);
    }
    row("all local", &is_local);
    for residue in names(outcomes, |of| &of.residue) {
        row(&format!("local, {residue}"), &|of| is_local(of) && of.residue == residue);
    }
    let right = outcomes.iter().filter(|of| of.is_global == (of.kind == STYLE)).count();
    text.push_str(&format!(
        "\nMedian IoU with the truth. Global or not was told right for {right} of {}.",
        outcomes.len()
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promises, on small drawn pairs: never below the obvious way, whatever the edit and
    /// whatever became of the rest; styles are global, and nothing else is.
    #[test]
    fn masks_are_never_below_the_obvious_way() {
        let pairs = draw::pairs(&[1], (168, 136)).unwrap();
        assert!(pairs.len() >= 30, "only {} pairs are drawn", pairs.len());
        let outcomes = measure(pairs, &DifferenceOptions::default()).unwrap();
        let table = table(&outcomes);
        for of in &outcomes {
            assert_eq!(of.is_global, of.kind == STYLE, "{} {} {}", of.kind, of.residue, of.found);
        }
        let medians = |of: &dyn Fn(&&Outcome) -> bool| {
            let these = || outcomes.iter().filter(of);
            (median(these().map(|of| of.ours)), median(these().map(|of| of.obvious)))
        };
        for kind in LOCAL.into_iter().chain(["background"]) {
            let (ours, obvious) = medians(&|of| of.kind == kind);
            assert!(ours >= obvious && ours >= 0.75, "{kind}\n{table}");
        }
        for residue in names(&outcomes, |of| &of.residue) {
            let (ours, obvious) = medians(&|of| is_local(of) && of.residue == residue);
            assert!(ours >= obvious, "{residue}\n{table}");
        }
        let (ours, _) = medians(&|of| is_local(of));
        assert!(ours >= 0.9, "{table}");
    }

    #[test]
    fn medians_are_of_both_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
    }

    #[test]
    fn a_folder_is_read_and_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let pairs = draw::pairs(&[5], (48, 40)).unwrap();
        let mut list = String::new();
        for pair in &pairs[..2] {
            for (what, bytes) in
                [("source", &pair.source), ("target", &pair.target), ("truth", &pair.truth)]
            {
                let path = folder.path().join(format!("{}.{what}.png", pair.name));
                fs::write(path, bytes).unwrap();
            }
            let row = serde_json::json!({
                "pair": pair.name, "kind": pair.kind, "residue": pair.residue,
            });
            list.push_str(&format!("{row}\n"));
        }
        fs::write(folder.path().join("pairs.jsonl"), list).unwrap();
        let dir = Some(folder.path().to_path_buf());
        let said = run(&Args { dir, options: vec!["side=64".to_owned()], pairs: true }).unwrap();
        assert!(said.contains("| all local | 2 |") && said.contains("of 2."), "{said}");
        let dir = Some(folder.path().to_path_buf());
        let error = run(&Args { dir, options: vec!["sides=64".to_owned()], pairs: false });
        assert!(error.unwrap_err().to_string().contains("\"sides\""));
    }
}
