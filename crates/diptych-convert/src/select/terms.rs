//! What was asked for, as far as it decides the bytes of an output.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MixBy, Selection};
use crate::error::EngineError;
use crate::request::Request;

/// What was asked for, by the name that it has on the command line, as text. Of a file its digest
/// stands here and not its place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectionTerms(BTreeMap<String, String>);

impl SelectionTerms {
    /// Whether all pairs are taken as they come.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn of(
        request: &Request,
        labels: &[String],
        excluded: Vec<String>,
        digest: impl Fn(&std::path::Path) -> Result<String, EngineError>,
    ) -> Result<Self, EngineError> {
        let Selection {
            condition,
            pairs,
            in_order,
            whole,
            exclude: _,
            same,
            shares,
            split_file,
            dedup,
            sample,
            mix,
            shuffle,
            seed,
        } = &request.selection;
        let mut said = BTreeMap::new();
        let mut say = |name: &str, value: String| said.insert(name.to_owned(), value);
        for (source, label) in request.sources.iter().zip(labels) {
            if let Some(condition) = &source.condition {
                say(&format!("where of {label}"), condition.text().to_owned());
            }
            if let Some(weight) = source.weight {
                say(&format!("weight of {label}"), weight.to_string());
            }
        }
        if let Some(condition) = condition {
            say("where", condition.text().to_owned());
        }
        if let Some(pairs) = pairs {
            say("pairs", digest(pairs)?);
        }
        for (name, asked) in [("in-order", *in_order), ("whole", *whole), ("shuffle", *shuffle)] {
            if asked {
                say(name, "yes".to_owned());
            }
        }
        for (number, excluded) in (1..).zip(excluded) {
            say(&format!("exclude {number}"), excluded);
        }
        if let Some(same) = same {
            say("same", same.to_string());
        }
        if let Some(shares) = shares {
            say("split", shares.to_string());
        }
        if let Some(file) = split_file {
            say("split-file", digest(file)?);
        }
        if let Some(dedup) = dedup {
            say("dedup", dedup.level.to_string());
            say("dedup-on", dedup.on.to_string());
            if let Some(prefer) = &dedup.prefer {
                say("prefer", prefer.text().to_owned());
            }
        }
        if let Some(sample) = sample {
            say("sample", sample.to_string());
        }
        if let Some(mix) = mix {
            let shares: Vec<_> =
                mix.shares.iter().map(|(kind, share)| format!("{kind}={share}")).collect();
            say("mix", shares.join(","));
            match &mix.by {
                MixBy::Source => say("mix-by", "source".to_owned()),
                MixBy::Column(column) => say("mix-by", column.text().to_owned()),
            };
            if let Some(total) = mix.total {
                say("total", total.to_string());
            }
            if mix.repeat {
                say("repeat", "yes".to_owned());
            }
        }
        if *shuffle || sample.is_some() || mix.is_some() {
            say("seed", seed.unwrap_or_default().to_string());
        }
        Ok(Self(said))
    }

    /// What differs from `earlier`, for a message.
    pub(crate) fn differences(&self, earlier: &Self) -> Vec<String> {
        let names: std::collections::BTreeSet<_> = self.0.keys().chain(earlier.0.keys()).collect();
        let told = |terms: &Self, name: &str| {
            terms.0.get(name).cloned().unwrap_or_else(|| "not given".to_owned())
        };
        let differs = names.into_iter().filter(|name| self.0.get(*name) != earlier.0.get(*name));
        differs
            .map(|name| format!("--{name} was {} and is {}", told(earlier, name), told(self, name)))
            .collect()
    }
}
