//! Automation of this repository, run as `cargo xtask COMMAND`.
//!
//! Nothing here is needed to build or use Diptych: it makes files that are committed, and its
//! tests hold the repository to its rules.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for the people who work on this repository"
)]

mod bench;
mod docs;
mod fixtures;
mod fuzz;
mod masks;
#[cfg(test)]
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Automation of this repository")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the releases in `fixtures/`, good and bad.
    Fixtures {
        /// Write nothing; fail if a committed file is not what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Make the documents that tell of formats and commands: `docs/`, and a table in `README.md`.
    Docs {
        /// Write nothing; fail if a committed file is not what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Try all kinds of bytes on what reads them (`fuzz/README.md`).
    Fuzz(fuzz::Args),
    /// Measure the command against others, on data of your own (`docs/benchmarks.md`).
    Bench(bench::Args),
    /// Compare change masks with the truth, and with the obvious way to them (`docs/masks.md`).
    Masks(masks::Args),
    /// What `bench` runs for works on masks.
    #[command(hide = true)]
    MaskWork(masks::work::Args),
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<String> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in no workspace")?;
    match &cli.command {
        Command::Fixtures { check } => fixtures::run(root, *check),
        Command::Docs { check } => docs::run(root, *check),
        Command::Fuzz(args) => fuzz::run(root, args),
        Command::Bench(args) => bench::run(root, args),
        Command::Masks(args) => masks::run(args),
        Command::MaskWork(args) => masks::work::run(args),
    }
}
