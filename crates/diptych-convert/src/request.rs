//! What is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use diptych_condition::Condition;
use diptych_format::Probe;
use diptych_format::options::Assignment;
use diptych_pixels::DifferenceOptions;
use diptych_schema::MaskOrigin;
use diptych_storage::Limits;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::select::{Selection, SelectionTerms};

/// A release to read, or a catalog of releases whose pairs are taken.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRequest {
    /// Its folder.
    pub path: PathBuf,
    /// The format that a release is in; told from its files where this is `None`.
    pub from: Option<String>,
    /// Options of its format, besides those of the whole request.
    pub options: Vec<Assignment>,
    /// Which of its pairs are taken.
    pub condition: Option<Condition>,
    /// How much of what is drawn is of it, against the other sources that have a weight.
    pub weight: Option<f64>,
}

impl SourceRequest {
    /// All of what lies in a folder, in whatever format that is.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), from: None, options: Vec::new(), condition: None, weight: None }
    }
}

/// The pixel grid that masks are written on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MaskGrid {
    /// The one that a mask has in its release.
    #[default]
    #[serde(rename = "released")]
    AsReleased,
    /// That of the pair's source picture. A mask with another is brought to it by its nearest
    /// pixels.
    #[serde(rename = "source")]
    Source,
}

impl MaskGrid {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::AsReleased => "released",
            Self::Source => "source",
        }
    }
}

/// A conversion.
#[derive(Debug, Clone)]
pub struct Request {
    /// The releases and catalogs, in the order in which their pairs are taken.
    pub sources: Vec<SourceRequest>,
    /// Releases that lie elsewhere than where their catalog was made: label and folder.
    pub roots: Vec<(String, PathBuf)>,
    /// Name of the format to write.
    pub to: String,
    /// The output folder.
    pub out: PathBuf,
    /// Options of formats.
    pub options: Vec<Assignment>,
    /// Takes only so many pairs, the first.
    pub limit: Option<u64>,
    /// About how many bytes a file of the output holds.
    pub shard_size: u64,
    /// Fails at the first rejection.
    pub strict: bool,
    /// Whether what an earlier command of this program made or began in the output folder gives
    /// way. What the same request began is gone on with all the same.
    pub overwrite: bool,
    /// Threads.
    pub jobs: NonZeroUsize,
    /// Whether files are on the disk before they count.
    pub durable: bool,
    /// How much a release may ask of us.
    pub limits: Limits,
    /// Whether pictures' headers are looked at while reading.
    pub probe: Probe,
    /// The grid that masks are written on; what the writer needs where this is `None`.
    pub mask_grid: Option<MaskGrid>,
    /// What masks are made from, in order of preference: the first that gives one holds. Where
    /// this is `None` the release's own, and before it what changed where the writer needs to
    /// know and the release does not say.
    pub mask_from: Option<Vec<MaskOrigin>>,
    /// How pictures are compared.
    pub difference: DifferenceOptions,
    /// Which pairs are taken, in which order, and what for.
    pub selection: Selection,
}

impl Request {
    /// About how many bytes a file of an output holds, where nothing else is asked for.
    pub const SHARD_SIZE: u64 = 1_000_000_000;

    /// A request with defaults for all but what has none.
    #[must_use]
    pub fn new(sources: Vec<SourceRequest>, to: &str, out: impl Into<PathBuf>) -> Self {
        Self {
            sources,
            roots: Vec::new(),
            to: to.to_owned(),
            out: out.into(),
            options: Vec::new(),
            limit: None,
            shard_size: Self::SHARD_SIZE,
            strict: false,
            overwrite: false,
            jobs: default_jobs(),
            durable: true,
            limits: Limits::DEFAULT,
            probe: Probe::Header,
            mask_grid: None,
            mask_from: None,
            difference: DifferenceOptions::default(),
            selection: Selection::default(),
        }
    }
}

/// The parameters of a comparison that are not as they are by themselves.
pub(crate) fn changed_parameters(options: &DifferenceOptions) -> BTreeMap<String, String> {
    let said = DifferenceOptions::PARAMETERS.iter().filter_map(|parameter| {
        let value = options.get(parameter.name)?;
        (value != parameter.default).then(|| (parameter.name.to_owned(), value.to_string()))
    });
    said.collect()
}

/// As many threads as the machine runs at one time.
#[must_use]
pub fn default_jobs() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Options of a format, by key.
pub type OptionValues = BTreeMap<String, String>;

/// What decides the bytes of an output, besides the releases: what a later process must ask for
/// as well to go on with it. Threads and syncing are not among it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Name and version of the program.
    pub generator: String,
    /// The sources: label, format and options, in order.
    pub sources: Vec<SourceTerms>,
    /// The format to write.
    pub to: String,
    /// Its options.
    pub options: OptionValues,
    /// How many pairs are taken.
    pub limit: Option<u64>,
    /// About how many bytes a file holds.
    pub shard_size: u64,
    /// Whether the first rejection fails.
    pub strict: bool,
    /// Whether headers are looked at while reading.
    pub probe: bool,
    /// The grid that masks are written on. Files from before it could be asked for do not say it.
    #[serde(default)]
    pub mask_grid: MaskGrid,
    /// Whether that was asked for, or is what the writer needs.
    #[serde(default)]
    pub mask_grid_asked: bool,
    /// What the masks of a source are made from, by its label; the release's own where it is not
    /// said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mask_from: BTreeMap<String, Vec<OriginWord>>,
    /// How pictures are compared, where that is not as it is by itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub difference: BTreeMap<String, String>,
    /// How much a release may ask of us, where that is not as it is by itself: it decides what is
    /// rejected.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// Which pairs are taken, in which order, and what for.
    #[serde(default, skip_serializing_if = "SelectionTerms::is_all")]
    pub selection: SelectionTerms,
}

/// Where a mask comes from, as its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OriginWord(pub MaskOrigin);

impl From<OriginWord> for String {
    fn from(OriginWord(origin): OriginWord) -> Self {
        origin.word().to_owned()
    }
}

impl TryFrom<String> for OriginWord {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        MaskOrigin::from_word(&word).map(Self).ok_or_else(|| format!("{word} is no mask's origin"))
    }
}

/// A source, as far as it decides the bytes of an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTerms {
    /// What places in it are named by.
    pub label: String,
    /// Its format.
    pub format: String,
    /// The format's options.
    pub options: OptionValues,
}

impl Terms {
    /// What the masks of a source are made from, in order of preference.
    #[must_use]
    pub fn masks_of(&self, label: &str) -> Vec<MaskOrigin> {
        match self.mask_from.get(label) {
            Some(from) => from.iter().map(|origin| origin.0).collect(),
            None => vec![MaskOrigin::Release],
        }
    }

    /// How pictures are compared.
    ///
    /// # Errors
    /// [`EngineError::Difference`] where a value is not what it was when the terms were written.
    pub(crate) fn difference_options(&self) -> Result<DifferenceOptions, EngineError> {
        let mut options = DifferenceOptions::default();
        for (name, value) in &self.difference {
            options.set(name, value)?;
        }
        Ok(options)
    }

    /// How much a release may ask of us.
    ///
    /// # Errors
    /// [`EngineError::Limit`] where a value is not what it was when the terms were written.
    pub(crate) fn limits(&self) -> Result<Limits, EngineError> {
        Ok(Limits::of_changed(&self.limits)?)
    }

    /// What differs from `earlier`, for a message.
    #[must_use]
    pub fn differences(&self, earlier: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |name: &str, was: String, is: String| {
            if was != is {
                found.push(format!("{name} was {was} and is {is}"));
            }
        };
        let sources = |terms: &Self| {
            let each = |s: &SourceTerms| format!("{} ({:?})", s.label, s.options);
            terms.sources.iter().map(each).collect::<Vec<_>>().join(", ")
        };
        let limit = |terms: &Self| terms.limit.map_or("none".to_owned(), |l| l.to_string());
        compare("the program", earlier.generator.clone(), self.generator.clone());
        compare("the sources", sources(earlier), sources(self));
        compare("the format", earlier.to.clone(), self.to.clone());
        compare("the options", format!("{:?}", earlier.options), format!("{:?}", self.options));
        compare("--limit", limit(earlier), limit(self));
        compare("--shard-size", earlier.shard_size.to_string(), self.shard_size.to_string());
        compare("--strict", earlier.strict.to_string(), self.strict.to_string());
        compare("--probe", earlier.probe.to_string(), self.probe.to_string());
        let grid = |terms: &Self| terms.mask_grid.word().to_owned();
        compare("--mask-grid", grid(earlier), grid(self));
        let from = |terms: &Self| {
            let words = |from: &Vec<OriginWord>| {
                let words: Vec<_> = from.iter().map(|origin| origin.0.word()).collect();
                words.join(",")
            };
            let each = self.mask_from.keys().chain(earlier.mask_from.keys());
            let each: BTreeSet<_> = each.collect();
            let of_source = |label: &&String| {
                let said = terms.mask_from.get(*label).map(words);
                let said = said.unwrap_or(MaskOrigin::Release.word().to_owned());
                format!("{said} ({label})")
            };
            each.iter().map(of_source).collect::<Vec<_>>().join("; ")
        };
        compare("--mask-from", from(earlier), from(self));
        let said = |terms: &Self| format!("{:?}", terms.difference);
        compare("--difference", said(earlier), said(self));
        compare("--max", limits_told(&earlier.limits), limits_told(&self.limits));
        found.extend(self.selection.differences(&earlier.selection));
        found
    }
}

/// Limits that are not as they are by themselves, for a message.
pub(crate) fn limits_told(changed: &BTreeMap<String, u64>) -> String {
    if changed.is_empty() {
        return "none".to_owned();
    }
    let each = changed.iter().map(|(name, value)| format!("{name}={value}"));
    each.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_from_before_masks_had_a_choice_are_read() {
        let terms = |mask_grid| Terms {
            generator: "diptych 0".to_owned(),
            sources: Vec::new(),
            to: "a".to_owned(),
            options: OptionValues::new(),
            limit: None,
            shard_size: 1,
            strict: false,
            probe: true,
            mask_grid,
            mask_grid_asked: false,
            mask_from: BTreeMap::new(),
            difference: BTreeMap::new(),
            limits: BTreeMap::new(),
            selection: SelectionTerms::default(),
        };
        for grid in [MaskGrid::AsReleased, MaskGrid::Source] {
            let mut json = serde_json::to_value(terms(grid)).unwrap();
            assert_eq!(serde_json::from_value::<Terms>(json.clone()).unwrap(), terms(grid));
            let word = json.as_object_mut().unwrap().remove("mask_grid").unwrap();
            assert_eq!(word, grid.word());
            let earlier: Terms = serde_json::from_value(json).unwrap();
            assert_eq!(earlier, terms(MaskGrid::AsReleased));
        }
    }
}
