//! Whether what is asked for can be asked for together.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{MixBy, Selection, SelectionTerms};
use crate::error::EngineError;
use crate::input::Input;
use crate::request::Request;
use crate::source::hex;
use crate::work::{HashWrite, damaged};

/// The most pairs that a mix draws: what is drawn is held.
const MOST_DRAWN: u64 = 100_000_000;

/// The terms of a choice.
///
/// # Errors
/// [`EngineError::Asked`] where parts of it contradict each other, and [`EngineError::Work`] where a
/// file that it names cannot be read.
pub(crate) fn check_asked(
    request: &Request,
    inputs: &[Input],
    excluded: &[Input],
) -> Result<SelectionTerms, EngineError> {
    let Selection {
        pairs, in_order, exclude, shares, split_file, same, sample, mix, shuffle, ..
    } = &request.selection;
    let asked = |what: &str| Err(EngineError::Asked { what: what.to_owned() });
    if *in_order && (pairs.is_none() || *shuffle) {
        return asked("--in-order needs --pairs, and cannot be with --shuffle");
    }
    if sample.is_some() && mix.is_some() {
        return asked("--sample and --mix cannot be together: --total says how much is drawn");
    }
    let compares = !exclude.is_empty() || shares.is_some() || split_file.is_some();
    if same.is_some() && !compares {
        return asked(
            "--same says what splits and --exclude go by: give --split, --split-file or --exclude",
        );
    }
    let weights: Vec<f64> = request.sources.iter().filter_map(|source| source.weight).collect();
    let by_weight = mix.as_ref().is_some_and(|mix| mix.by == MixBy::Source);
    if by_weight == weights.is_empty() && (by_weight || !weights.is_empty()) {
        return asked("sources are drawn by their weights: each has one, or none");
    }
    if by_weight && weights.len() != request.sources.len() {
        return asked("sources are drawn by their weights: each has one, or none");
    }
    if let Some(mix) = mix {
        let shares: Vec<f64> = match mix.by {
            MixBy::Source => weights,
            MixBy::Column(_) => mix.shares.iter().map(|(_, share)| *share).collect(),
        };
        let sum: f64 = shares.iter().sum();
        if !(shares.iter().all(|share| *share >= 0.0) && sum > 0.0 && sum.is_finite()) {
            return asked("shares of a mix are numbers from 0 on, and not all are 0");
        }
        let names: BTreeSet<_> = mix.shares.iter().map(|(name, _)| name).collect();
        if names.len() != mix.shares.len() {
            return asked("a mix names each kind once");
        }
        if mix.total.is_some_and(|total| total > MOST_DRAWN) {
            return asked("--total is 100,000,000 at the most");
        }
        if mix.repeat && mix.total.is_none() {
            return asked("--repeat needs --total: what would be repeated up to it");
        }
    }
    let labels: Vec<String> = inputs.iter().map(super::pool::name).collect();
    let state = |input: &Input| {
        let state = |source: &crate::catalog::CatalogSource| {
            format!("{} {}", source.terms.format, source.listing)
        };
        input.sources().iter().map(state).collect::<Vec<_>>().join(", ")
    };
    SelectionTerms::of(request, &labels, excluded.iter().map(state).collect(), digest)
}

/// The digest of a file that a request names: where it lies takes no part.
fn digest(path: &Path) -> Result<String, EngineError> {
    let name = path.display().to_string();
    let mut digest = Sha256::new();
    let read =
        File::open(path).and_then(|mut file| io::copy(&mut file, &mut HashWrite(&mut digest)));
    read.map_err(|error| damaged(&name, error))?;
    Ok(hex(&digest.finalize()))
}
