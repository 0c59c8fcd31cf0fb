//! The commands: each from its arguments to an outcome.

mod chosen;
mod convert;
mod formats;
mod inspect;
mod papers;
mod units;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use diptych::pixels::DifferenceOptions;
use diptych::recipe::Recipe;
use diptych::request::default_jobs;
use diptych::schema::MaskOrigin;
use diptych::select::{Dedup, Mix, MixBy, Selection};
use diptych::storage::Limits;
use diptych::{Request, SourceRequest};
use serde::Serialize;

use crate::args::{Args, Choice, Command, MaskFrom, MaskGrid, Probe, RequestArgs, Sources, Work};
use crate::exit::Outcome;
use crate::printer::Printer;

pub(crate) fn run(args: Args, printer: &Printer) -> anyhow::Result<Outcome> {
    let outcome = match args.command {
        Command::Inspect(args) => inspect::inspect(args, printer),
        Command::Convert(args) => convert::convert(args, printer),
        Command::Index(args) => convert::index(args, printer),
        Command::Plan(args) => units::plan(args, printer),
        Command::Run(args) => units::run(args, printer),
        Command::Finish(args) => units::finish(&args, printer),
        Command::Formats(args) => formats::formats(&args),
        Command::Completions(args) => papers::completions(&args),
        Command::Man(args) => papers::man(&args),
    };
    printer.end_bar();
    outcome
}

fn request(args: RequestArgs) -> anyhow::Result<Request> {
    let RequestArgs { sources, to, out, choice, overwrite, shard_size, strict, work, .. } = args;
    let Work { jobs, no_sync } = work;
    let mask_grid = args.mask_grid.map(|grid| match grid {
        MaskGrid::Released => diptych::MaskGrid::AsReleased,
        MaskGrid::Source => diptych::MaskGrid::Source,
    });
    let origin = |from| match from {
        MaskFrom::Release => MaskOrigin::Release,
        MaskFrom::RunLength => MaskOrigin::RunLength,
        MaskFrom::Difference => MaskOrigin::Difference,
    };
    let mask_from = args.mask_from.map(|from| from.into_iter().map(origin).collect());
    let mut difference = DifferenceOptions::default();
    for (name, value) in &args.difference {
        difference.set(name, value).map_err(diptych::EngineError::from)?;
    }
    let durable = !no_sync;
    let reading = choosing(sources, choice, jobs, to.as_deref(), out)?;
    if reading.to.is_empty() {
        return Err(not_said("--to", "to"));
    }
    Ok(Request {
        overwrite,
        shard_size: shard_size.unwrap_or(reading.shard_size),
        strict,
        mask_grid,
        mask_from,
        difference,
        durable,
        ..reading
    })
}

/// A request as far as the sources, what is chosen of them and a recipe decide it.
fn choosing(
    sources: Sources,
    choice: Choice,
    jobs: Option<NonZeroUsize>,
    to: Option<&str>,
    out: Option<PathBuf>,
) -> anyhow::Result<Request> {
    let Choice {
        pairs,
        in_order,
        whole,
        exclude,
        split,
        split_file,
        same,
        dedup,
        dedup_on,
        prefer,
        sample,
        mix,
        mix_by,
        total,
        repeat,
        shuffle,
        seed,
        limit,
    } = choice;
    let recipe = sources.recipe.clone();
    let mix = match mix {
        None => None,
        Some(shares) => {
            let by = mix_by.map_or_else(MixBy::dataset, |column| Ok(MixBy::Column(column)))?;
            Some(Mix { by, shares, total, repeat })
        }
    };
    let selection = Selection {
        condition: None,
        pairs,
        in_order,
        whole,
        exclude: exclude.into_iter().map(SourceRequest::new).collect(),
        same,
        shares: split,
        split_file,
        dedup: dedup.map(|level| Dedup { level, on: dedup_on.unwrap_or_default(), prefer }),
        sample,
        mix,
        shuffle,
        seed,
    };
    let request = reading(sources, jobs, to.unwrap_or_default(), out.unwrap_or_default())?;
    let condition = request.selection.condition.clone();
    let request = Request { limit, selection: Selection { condition, ..selection }, ..request };
    let request = with_recipe(request, recipe.as_deref())?;
    if request.out.as_os_str().is_empty() {
        return Err(not_said("--out", "out"));
    }
    Ok(request)
}

/// That neither the command line nor the recipe says something.
fn not_said(option: &str, key: &str) -> anyhow::Error {
    let what = format!("the recipe has no `{key}` below [output]: give {option}");
    diptych::EngineError::Asked { what }.into()
}

/// A request and what a recipe says.
fn with_recipe(request: Request, recipe: Option<&Path>) -> anyhow::Result<Request> {
    match recipe {
        None => Ok(request),
        Some(recipe) => Ok(Recipe::read(recipe)?.request(request)?),
    }
}

/// A request as far as the sources and the way of working decide it.
fn reading(
    args: Sources,
    jobs: Option<NonZeroUsize>,
    to: &str,
    out: PathBuf,
) -> anyhow::Result<Request> {
    let Sources { sources, from, options, probe, max, condition, recipe: _ } = args;
    let mut limits = Limits::DEFAULT;
    for (name, value) in &max {
        limits.set(name, value).map_err(diptych::EngineError::from)?;
    }
    let source = |path| SourceRequest { from: from.clone(), ..SourceRequest::new(path) };
    let sources = sources.into_iter().map(source).collect();
    Ok(Request {
        options,
        jobs: jobs.unwrap_or_else(default_jobs),
        limits,
        probe: match probe {
            Probe::None => diptych::format::Probe::None,
            Probe::Header => diptych::format::Probe::Header,
        },
        selection: Selection { condition, ..Selection::default() },
        ..Request::new(sources, to, out)
    })
}

/// The version of the JSON that the commands print.
const JSON_VERSION: u32 = 1;

/// Prints a value as JSON.
fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(value)? + "\n";
    crate::printer::data(&crate::printer::visible_json(&json))
}

/// `1 shard`, `2 shards`.
fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}
