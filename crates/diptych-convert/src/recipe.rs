//! Recipes: what is asked for, as a file, where it outgrows a command line.
//!
//! ```toml
//! [[source]]
//! path = "ImgEdit"
//! where = "score('gpt.average') >= 4"
//! weight = 0.7
//!
//! [[source]]
//! path = "PAPE"
//! weight = 0.3
//!
//! [split]
//! train = 0.98
//! val = 0.02
//!
//! [output]
//! to = "webdataset"
//! out = "mixed"
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use diptych_condition::{Condition, ConditionError, Number, Word};
use diptych_format::options::{Assignment, parse_size};
use diptych_storage::tree::read_at_most;
use serde::Deserialize;

use crate::error::EngineError;
use crate::request::{Request, SourceRequest};
use crate::select::{Dedup, Mix, MixBy, Shares};
use crate::work::damaged;

/// Bytes of a recipe: far more than anybody writes.
const RECIPE_BYTES: u64 = 4 << 20;

/// A file that says what is asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recipe {
    source: Vec<SourceEntry>,
    #[serde(default)]
    select: SelectEntry,
    #[serde(default)]
    mix: Option<MixEntry>,
    #[serde(default)]
    split: SplitEntry,
    #[serde(default)]
    duplicates: Option<DuplicatesEntry>,
    #[serde(default)]
    output: OutputEntry,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SourceEntry {
    path: PathBuf,
    format: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, Scalar>,
    #[serde(rename = "where")]
    condition: Option<String>,
    weight: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SelectEntry {
    #[serde(rename = "where")]
    condition: Option<String>,
    pairs: Option<PathBuf>,
    #[serde(default)]
    in_order: bool,
    #[serde(default)]
    whole: bool,
    #[serde(default)]
    exclude: Vec<PathBuf>,
    sample: Option<Scalar>,
    #[serde(default)]
    shuffle: bool,
    seed: Option<u64>,
    limit: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MixEntry {
    by: Option<String>,
    #[serde(default)]
    shares: BTreeMap<String, f64>,
    total: Option<u64>,
    #[serde(default)]
    repeat: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SplitEntry {
    train: Option<f64>,
    val: Option<f64>,
    test: Option<f64>,
    file: Option<PathBuf>,
    same: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DuplicatesEntry {
    by: String,
    on: Option<String>,
    prefer: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct OutputEntry {
    to: Option<String>,
    out: Option<PathBuf>,
    shard_size: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, Scalar>,
}

/// A value of an option, however it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Whole(i64),
    Float(f64),
    Truth(bool),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Whole(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
        }
    }
}

impl Recipe {
    /// Reads a recipe.
    ///
    /// # Errors
    /// [`EngineError::Recipe`] where it is none, and says where; [`EngineError::Work`] where it cannot
    /// be read.
    pub fn read(path: &Path) -> Result<Self, EngineError> {
        let name = path.display().to_string();
        let bytes = read_at_most(path, RECIPE_BYTES).map_err(|error| damaged(&name, error))?;
        let wrong = |what: String| EngineError::Recipe { path: name.clone(), what };
        let text = std::str::from_utf8(&bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))
    }

    /// The request that it and `given` are together. What is given beside it comes before what it
    /// says, but for its sources, which are its own.
    ///
    /// # Errors
    /// [`EngineError::Condition`] and [`EngineError::Asked`] where a value is not what it may be.
    pub fn request(self, given: Request) -> Result<Request, EngineError> {
        let mut request = given;
        request.sources = self.source.iter().map(SourceEntry::source).collect::<Result<_, _>>()?;
        request.options.extend(assignments(&self.output.options)?);
        let OutputEntry { to, out, shard_size, .. } = self.output;
        if request.to.is_empty() {
            request.to = to.unwrap_or_default();
        }
        if request.out.as_os_str().is_empty() {
            request.out = out.unwrap_or_default();
        }
        if let Some(size) = shard_size {
            request.shard_size = parse_size(&size)
                .ok()
                .filter(|size| *size > 0)
                .ok_or_else(|| asked(format!("shard-size of a recipe: `{size}` is no size")))?;
        }
        let weighted = request.sources.iter().any(|source| source.weight.is_some());
        request.limit = request.limit.or(self.select.limit);
        let selection = &mut request.selection;
        let SelectEntry {
            condition, pairs, in_order, whole, exclude, sample, shuffle, seed, ..
        } = self.select;
        if selection.condition.is_none() {
            selection.condition =
                condition.map(|text| parsed("where", &text, Condition::parse)).transpose()?;
        }
        selection.pairs = selection.pairs.take().or(pairs);
        selection.in_order |= in_order;
        selection.whole |= whole;
        selection.shuffle |= shuffle;
        selection.exclude.extend(exclude.into_iter().map(SourceRequest::new));
        if selection.sample.is_none() {
            selection.sample = sample.map(|sample| value("sample", &sample.text())).transpose()?;
        }
        selection.seed = selection.seed.or(seed);
        if selection.mix.is_none() {
            selection.mix = mix(self.mix, weighted)?;
        }
        let SplitEntry { train, val, test, file, same } = self.split;
        selection.split_file = selection.split_file.take().or(file);
        if selection.same.is_none() {
            selection.same = same.map(|same| value("same", &same)).transpose()?;
        }
        if selection.shares.is_none() && (train.or(val).or(test)).is_some() {
            let named = [("train", train), ("val", val), ("test", test)];
            let shares =
                named.iter().filter_map(|(name, share)| Some(format!("{name}={}", (*share)?)));
            let shares: Vec<_> = shares.collect();
            selection.shares = Some(value::<Shares>("split", &shares.join(","))?);
        }
        if let (None, Some(DuplicatesEntry { by, on, prefer })) =
            (&selection.dedup, self.duplicates)
        {
            selection.dedup = Some(Dedup {
                level: value("by of duplicates", &by)?,
                on: on.map(|on| value("on of duplicates", &on)).transpose()?.unwrap_or_default(),
                prefer: prefer.map(|text| parsed("prefer", &text, Number::parse)).transpose()?,
            });
        }
        Ok(request)
    }
}

impl SourceEntry {
    fn source(&self) -> Result<SourceRequest, EngineError> {
        let condition = self.condition.as_deref();
        Ok(SourceRequest {
            from: self.format.clone(),
            options: assignments(&self.options)?,
            condition: condition.map(|text| parsed("where", text, Condition::parse)).transpose()?,
            weight: self.weight,
            ..SourceRequest::new(&self.path)
        })
    }
}

fn mix(entry: Option<MixEntry>, weighted: bool) -> Result<Option<Mix>, EngineError> {
    let Some(MixEntry { by, shares, total, repeat }) = entry else {
        let mix = Mix { by: MixBy::Source, shares: Vec::new(), total: None, repeat: false };
        return Ok(weighted.then_some(mix));
    };
    if weighted && !(shares.is_empty() && by.is_none()) {
        let what = "a recipe draws by the weights of its sources, or by the shares of its mix";
        return Err(asked(what.to_owned()));
    }
    let by = match by {
        _ if weighted => MixBy::Source,
        Some(by) => MixBy::Column(parsed("by of mix", &by, Word::parse)?),
        None => MixBy::dataset()?,
    };
    Ok(Some(Mix { by, shares: shares.into_iter().collect(), total, repeat }))
}

fn asked(what: String) -> EngineError {
    EngineError::Asked { what }
}

fn parsed<T>(
    option: &'static str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, ConditionError>,
) -> Result<T, EngineError> {
    parse(text).map_err(|source| EngineError::Condition { option, source })
}

fn value<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    text: &str,
) -> Result<T, EngineError> {
    text.parse().map_err(|error| asked(format!("{name} of a recipe: {error}")))
}

fn assignments(options: &BTreeMap<String, Scalar>) -> Result<Vec<Assignment>, EngineError> {
    let assignment = |(key, value): (&String, &Scalar)| {
        let text = format!("{key}={}", value.text());
        Assignment::parse(&text).map_err(|error| asked(format!("options of a recipe: {error}")))
    };
    options.iter().map(assignment).collect()
}
