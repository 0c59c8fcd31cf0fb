//! What can be asked for on the command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum, ValueHint};
use diptych::condition::{Condition, Number, Word};
use diptych::format::options::{Assignment, parse_size};
use diptych::pixels::DifferenceOptions;
use diptych::select::{DedupOn, Level, Same, Sample, Shares};
use diptych::storage::Limits;

/// Converts image-edit datasets from the way they were released to the way they are trained on.
#[derive(Debug, Parser)]
#[command(name = "diptych", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 done with rejections, \
                        4 nothing converted, 130 and 143 interrupted.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) talk: Talk,
}

/// How much is said.
#[derive(Debug, ClapArgs)]
pub(crate) struct Talk {
    /// Says nothing but errors.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Says more: why a format was chosen, every notice, every unit.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Inspect(Inspect),
    Convert(Convert),
    Index(Index),
    Plan(Plan),
    Run(Run),
    Finish(Finish),
    Formats(Formats),
    Completions(Completions),
    Man(Man),
}

/// Says what a release is: which format, how complete, and what is in it.
///
/// The whole release is read, but for its pictures, and nothing is written. How complete it is
/// shows against what it says of itself and against what its authors published. Of a catalog it
/// says what is in it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  diptych inspect Inter-Edit-Train
  diptych inspect Inter-Edit-Train --json | jq '.releases[0].parts'
  diptych inspect catalog")]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Threads [default: as many as the machine runs at one time].
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Converts releases into an output: index, plan, run and finish in one.
///
/// An output that was begun with the same request and interrupted is gone on with. A catalog that
/// `diptych index` made stands for the releases that it was made of: their text is not read again,
/// and the output is the same.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  diptych convert Inter-Edit-Train --to webdataset --out shards
  diptych convert Inter-Edit-Train --to webdataset --out shards --shard-size 500MB --jobs 8
  diptych convert Inter-Edit-Train --to webdataset --out shards --dry-run --json
  diptych convert catalog PAPE --to parquet --out mixed --root imgedit=/data/ImgEdit")]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Where a release of a catalog lies now, if not where it was indexed.
    #[arg(long, value_name = "LABEL=DIR", value_parser = root)]
    pub(crate) root: Vec<(String, PathBuf)>,
    /// Shows what would be written, and writes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// What a conversion is made of.
#[derive(Debug, ClapArgs)]
pub(crate) struct RequestArgs {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// The format to write (`diptych formats` lists them).
    #[arg(long, value_name = "FORMAT", required_unless_present = "recipe")]
    pub(crate) to: Option<String>,
    /// The output folder: one that is not there, or is empty.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "recipe")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Replaces what an earlier command made or began in the output folder. A finished output stays
    /// until the new one is ready. What the same command began is gone on with.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// About how large a file of the output is [default: 1GB].
    #[arg(long, value_name = "SIZE", value_parser = shard_size)]
    pub(crate) shard_size: Option<u64>,
    /// Fails at the first edit that cannot be converted.
    #[arg(long)]
    pub(crate) strict: bool,
    /// The pixel grid that masks are written on [default: as the format needs, else as released].
    #[arg(long, value_name = "GRID", value_enum)]
    pub(crate) mask_grid: Option<MaskGrid>,
    /// What masks are made from, in order of preference [default: the release's own; for a format
    /// that needs to know what changed, `difference,release` where a release does not say].
    #[arg(long, value_name = "ORIGIN", value_enum, value_delimiter = ',', action = ArgAction::Set, num_args = 1)]
    pub(crate) mask_from: Option<Vec<MaskFrom>>,
    /// A parameter of the comparison of pictures (see docs/masks.md).
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) difference: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Which pairs are taken, in which order, and what for (see docs/mixing.md).
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Choosing pairs")]
pub(crate) struct Choice {
    /// Takes only pairs whose ids a file lists: text, CSV or Parquet.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pairs: Option<PathBuf>,
    /// Takes pairs in the order of `--pairs`.
    #[arg(long, requires = "pairs", conflicts_with = "shuffle")]
    pub(crate) in_order: bool,
    /// Drops sessions and groups whole where one of their pairs is dropped, and draws them whole.
    #[arg(long)]
    pub(crate) whole: bool,
    /// Drops pairs that share a source picture with this release, catalog or output.
    #[arg(long, value_name = "SRC", value_hint = ValueHint::DirPath)]
    pub(crate) exclude: Vec<PathBuf>,
    /// Gives pairs without a split one: train=0.98,val=0.01,test=0.01.
    #[arg(long, value_name = "SHARES")]
    pub(crate) split: Option<Shares>,
    /// Keeps the splits that an earlier output's splits.parquet lists.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) split_file: Option<PathBuf>,
    /// When source pictures are the same, for splits and `--exclude`: place, bytes, pixels or
    /// near:N (bits that differ) [default: bytes].
    #[arg(long, value_name = "LEVEL")]
    pub(crate) same: Option<Same>,
    /// Drops duplicates: bytes, pixels, near or near:N.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) dedup: Option<Level>,
    /// What of pairs is compared: source, target, or the pair (both pictures and the instruction)
    /// [default: pair].
    #[arg(long, value_name = "PART", requires = "dedup")]
    pub(crate) dedup_on: Option<DedupOn>,
    /// Of duplicates keeps the one with most of this number, not the first.
    #[arg(long, value_name = "NUMBER", requires = "dedup", value_parser = Number::parse, allow_hyphen_values = true)]
    pub(crate) prefer: Option<Number>,
    /// Draws so many pairs, or a share of them (10%).
    #[arg(long, value_name = "N|P%", conflicts_with = "mix")]
    pub(crate) sample: Option<Sample>,
    /// Draws pairs by dataset: imgedit=0.5,pape=0.5. What is not named is not drawn.
    #[arg(long, value_name = "NAME=SHARE", value_parser = mix_share, value_delimiter = ',', action = ArgAction::Set, num_args = 1)]
    pub(crate) mix: Option<Vec<(String, f64)>>,
    /// What `--mix` names in place of the dataset: a column, or label('name').
    #[arg(long, value_name = "COLUMN", requires = "mix", value_parser = Word::parse)]
    pub(crate) mix_by: Option<Word>,
    /// How many pairs `--mix` draws [default: as many as there are for these shares].
    #[arg(long, value_name = "N", requires = "mix")]
    pub(crate) total: Option<u64>,
    /// Takes pairs more than once where `--mix` runs short.
    #[arg(long, requires = "total")]
    pub(crate) repeat: bool,
    /// Puts sessions, groups and single pairs into an order by chance.
    #[arg(long)]
    pub(crate) shuffle: bool,
    /// What chance follows from [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Takes only the first N pairs.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MaskGrid {
    /// The one that a mask has in its release, whatever the sizes of the pictures are.
    Released,
    /// That of the source picture: a mask of another size is brought to it by its nearest pixels.
    Source,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum MaskFrom {
    /// The release's own mask.
    Release,
    /// The run lengths of the objects that the edit is about.
    RunLength,
    /// What changed from source to target, by comparing them.
    Difference,
}

/// Which releases are read, and how.
#[derive(Debug, ClapArgs)]
pub(crate) struct Sources {
    /// Folders of releases, as they were downloaded, and of catalogs (`diptych index`).
    #[arg(required_unless_present = "recipe", value_name = "SRC", value_hint = ValueHint::DirPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// The format of the releases, where it is not to be told from their files.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// An option of a format (`diptych formats NAME` lists them).
    #[arg(short, value_name = "FORMAT.KEY=VALUE", value_parser = Assignment::parse)]
    pub(crate) options: Vec<Assignment>,
    /// Whether the headers of pictures are looked at while reading.
    #[arg(long, value_enum, default_value_t = Probe::Header)]
    pub(crate) probe: Probe,
    /// A limit on what a release may ask for (see docs/limits.md).
    #[arg(long, value_name = "NAME=VALUE", value_parser = limit)]
    pub(crate) max: Vec<(String, String)>,
    /// Takes only pairs for which an SQL condition is true (see docs/conditions.md).
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::parse, allow_hyphen_values = true)]
    pub(crate) condition: Option<Condition>,
    /// Takes sources, conditions, splits and the rest from a recipe (see docs/mixing.md).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["sources", "from"])]
    pub(crate) recipe: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Probe {
    /// Sizes and types stay unknown until a picture is written.
    None,
    /// Size and type of each picture are told from its first bytes.
    Header,
}

/// How the work is done. None of it changes what is written.
#[derive(Debug, ClapArgs)]
pub(crate) struct Work {
    /// Threads [default: as many as the machine runs at one time].
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Does not wait until files are on the disk: faster, and not safe against a power cut.
    #[arg(long)]
    pub(crate) no_sync: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Json {
    /// Prints the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Writes a catalog: one row a pair, its pictures as addresses into the release.
///
/// `convert`, `plan`, `inspect` and `index` take it in place of the releases. Of several catalogs
/// one is made.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  diptych index Inter-Edit-Train --out catalog
  diptych convert catalog --to webdataset --out shards
  duckdb -c \"select edit_type, count(*) from 'catalog/pairs-*.parquet' group by 1\"")]
pub(crate) struct Index {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// The catalog's folder: one that is not there, or is empty.
    #[arg(long, value_name = "CATALOG", value_hint = ValueHint::DirPath, required_unless_present = "recipe")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Replaces the catalog or the output that an earlier command made or began in that folder.
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Plans a conversion, for `run` and `finish`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example, on several machines that share a disk:
  diptych plan Inter-Edit-Train --to webdataset --out shards
  diptych run --out shards --units 0-99      # here
  diptych run --out shards --units 100-199   # there
  diptych finish --out shards

From a catalog, which needs no release to be planned:
  diptych plan catalog --to webdataset --out shards")]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Writes units of a planned output; any number of processes may do so at one time.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  diptych run --out shards --units 0-99")]
pub(crate) struct Run {
    /// The output folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// First and last unit, or one [default: all].
    #[arg(long, value_name = "A-B", value_parser = units)]
    pub(crate) units: Option<(u32, u32)>,
    /// Where a release lies now, if not where it was indexed.
    #[arg(long, value_name = "LABEL=DIR", value_parser = root)]
    pub(crate) root: Vec<(String, PathBuf)>,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Ends a planned output whose units are all written: names, card and report.
#[derive(Debug, ClapArgs)]
pub(crate) struct Finish {
    /// The output folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Does not wait until files are on the disk.
    #[arg(long)]
    pub(crate) no_sync: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Lists the formats, or tells one's options and limits.
#[derive(Debug, ClapArgs)]
pub(crate) struct Formats {
    /// The format to tell about.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Prints what a shell needs to complete the command's words.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  diptych completions bash > ~/.local/share/bash-completion/completions/diptych
  diptych completions zsh > ~/.zfunc/_diptych
  diptych completions fish > ~/.config/fish/completions/diptych.fish")]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,

    Powershell,
    Zsh,
}

/// Prints the manual page of the command, or of one of its verbs.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  diptych man | man -l -
  diptych man convert > diptych-convert.1")]
pub(crate) struct Man {
    /// The verb to tell about.
    pub(crate) verb: Option<String>,
}

fn shard_size(text: &str) -> Result<u64, String> {
    match parse_size(text).map_err(|error| error.to_string())? {
        0 => Err("a file cannot hold 0 bytes".to_owned()),
        size => Ok(size),
    }
}

fn units(text: &str) -> Result<(u32, u32), String> {
    let number =
        |text: &str| text.trim().parse::<u32>().map_err(|_| format!("`{text}` is no unit"));
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last {
        return Err(format!("{first} comes after {last}"));
    }
    Ok((first, last))
}

fn root(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((label, folder)) if !label.is_empty() && !folder.is_empty() => {
            Ok((label.to_owned(), folder.into()))
        }
        _ => Err("it is not LABEL=DIR".to_owned()),
    }
}

fn limit(text: &str) -> Result<(String, String), String> {
    named_value(text, |name, value| Limits::default().set(name, value))
}

fn mix_share(text: &str) -> Result<(String, f64), String> {
    match text.rsplit_once('=') {
        Some((name, share)) if !name.trim().is_empty() => {
            let share = share.trim().parse().map_err(|_| format!("`{share}` is no share"))?;
            Ok((name.trim().to_owned(), share))
        }
        _ => Err("it is not NAME=SHARE".to_owned()),
    }
}

fn parameter(text: &str) -> Result<(String, String), String> {
    named_value(text, |name, value| DifferenceOptions::default().set(name, value))
}

/// A name and a value that `set` takes.
fn named_value<E: std::fmt::Display>(
    text: &str,
    set: impl FnOnce(&str, &str) -> Result<(), E>,
) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it is not NAME=VALUE")?;
    set(name, value).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn units_and_roots_are_read() {
        assert_eq!(units("3-7"), Ok((3, 7)));
        assert_eq!(units("5"), Ok((5, 5)));
        for wrong in ["7-3", "a-b", "", "-1", "1-"] {
            assert!(units(wrong).is_err(), "{wrong}");
        }
        assert_eq!(root("a=b=c"), Ok(("a".to_owned(), PathBuf::from("b=c"))));
        assert!(root("a").is_err() && root("=b").is_err() && root("a=").is_err());
        assert!(shard_size("0").is_err() && shard_size("x").is_err());
        assert_eq!(shard_size("512MB"), Ok(512_000_000));
    }
}
