//! `plan`, `run` and `finish`: a conversion in shares.

use diptych::RunRequest;
use diptych::request::default_jobs;
use serde::Serialize;

use super::convert::finished;
use super::{JSON_VERSION, counted, print_json, request};
use crate::args;
use crate::exit::Outcome;
use crate::printer::{Printer, size};

pub(crate) fn plan(args: args::Plan, printer: &Printer) -> anyhow::Result<Outcome> {
    let json = args.json.json;
    let request = request(args.request)?;
    let plan = diptych::engine().plan(&request, printer)?;
    printer.end_bar();
    let units = plan.units.len();
    if json {
        let (pairs, bytes) = (plan.pairs(), plan.bytes());
        print_json(&PlanMade { json_version: JSON_VERSION, units, pairs, bytes })?;
    }
    printer.say(&format!(
        "{} in {}, numbered from 0, about {}",
        counted(plan.pairs(), "pair"),
        counted(units as u64, "unit"),
        size(plan.bytes())
    ));
    // Rejections are told by `finish`: a plan that has some is still to be run.
    Ok(Outcome::Counted { good: plan.pairs(), rejected: 0 })
}

#[derive(Serialize)]
struct PlanMade {
    json_version: u32,
    units: usize,
    pairs: u64,
    bytes: u64,
}

pub(crate) fn run(args: args::Run, printer: &Printer) -> anyhow::Result<Outcome> {
    let args::Run { out, units, root, work } = args;
    let request = RunRequest {
        out,
        units,
        roots: root,
        jobs: work.jobs.unwrap_or_else(default_jobs),
        durable: !work.no_sync,
    };
    diptych::engine().run(&request, printer)?;
    Ok(Outcome::Done)
}

pub(crate) fn finish(args: &args::Finish, printer: &Printer) -> anyhow::Result<Outcome> {
    let outcome = diptych::engine().finish(&args.out, !args.no_sync, printer)?;
    finished(&args.out, &outcome.report, args.json.json, printer)
}
