//! How large splits are.

use std::fmt;
use std::str::FromStr;

use diptych_schema::Split;
use sha2::{Digest, Sha256};

/// Shares of the splits, in the order train, val, test; their sum is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares([f64; 3]);

/// Why a text says no shares.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SharesError {
    /// It does not name a split and its share.
    #[error("`{0}` is not train=, val= or test= and a number from 0 to 1")]
    NoShare(String),
    /// A split is named twice.
    #[error("{0} is there twice")]
    Twice(Split),
    /// They are not the whole.
    #[error("the shares add up to {0}, not to 1")]
    Sum(String),
}

impl FromStr for Shares {
    type Err = SharesError;

    fn from_str(text: &str) -> Result<Self, SharesError> {
        let mut shares = [None; 3];
        for part in text.split(',') {
            let wrong = || SharesError::NoShare(part.trim().to_owned());
            let (name, share) = part.split_once('=').ok_or_else(wrong)?;
            let split = Split::from_word(name.trim()).ok_or_else(wrong)?;
            let share: f64 = share.trim().parse().map_err(|_| wrong())?;
            if !(0.0..=1.0).contains(&share) {
                return Err(wrong());
            }
            if let Some(of) = shares.get_mut(split as usize)
                && of.replace(share).is_some()
            {
                return Err(SharesError::Twice(split));
            }
        }
        let shares = shares.map(|share| share.unwrap_or(0.0));
        let sum: f64 = shares.iter().sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(SharesError::Sum(format!("{sum:.6}")));
        }
        Ok(Self(shares))
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Split::ALL.iter().zip(self.0).filter(|(_, share)| *share > 0.0);
        let each: Vec<_> = named.map(|(split, share)| format!("{split}={share}")).collect();
        f.write_str(&each.join(","))
    }
}

impl Shares {
    /// The split of a component whose smallest anchor this is. SHA-256 of its 16 bytes says where
    /// between 0 and 1 it lies: the first 8 bytes, over 2^64.
    #[must_use]
    pub fn split_of(&self, anchor: u128) -> Split {
        let digest = Sha256::digest(anchor.to_be_bytes());
        let place = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let place = place as f64 / 18_446_744_073_709_551_616.0;
        let mut end = 0.0;
        let mut last = Split::Train;
        for (split, share) in Split::ALL.iter().zip(self.0).filter(|(_, share)| *share > 0.0) {
            end += share;
            last = *split;
            if place < end {
                break;
            }
        }
        last
    }
}
