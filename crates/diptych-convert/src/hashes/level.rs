//! What pictures are compared by.

use std::fmt;
use std::str::FromStr;

use diptych_pixels::near::{DistanceError, MOST_DISTANCE};
use serde::{Deserialize, Serialize};

/// By what two pictures are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Level {
    /// By the bytes of their files.
    Bytes,
    /// By size and samples, once decoded.
    Pixels,
    /// By perceptual hashes that differ in that many of their 64 bits at most.
    Near(u32),
}

impl Level {
    /// How far two perceptual hashes may be apart where it is not said.
    pub const NEAR: u32 = 4;

    /// Whether pictures have to be decoded for it.
    #[must_use]
    pub fn decodes(self) -> bool {
        self != Self::Bytes
    }
}

/// Why a word is no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// It is another word.
    #[error("pictures are compared by bytes, pixels, near or near:N, not by `{0}`")]
    Unknown(String),
    /// What follows `near:` is no distance.
    #[error("near takes a whole number from 0 to {MOST_DISTANCE}, not `{0}`")]
    NoNumber(String),
    /// The distance is too large.
    #[error(transparent)]
    Distance(#[from] DistanceError),
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(word: &str) -> Result<Self, LevelError> {
        match (word, word.strip_prefix("near:")) {
            ("bytes", _) => Ok(Self::Bytes),
            ("pixels", _) => Ok(Self::Pixels),
            ("near", _) => Ok(Self::Near(Self::NEAR)),
            (_, Some(number)) => {
                let distance =
                    number.parse().map_err(|_| LevelError::NoNumber(number.to_owned()))?;
                Ok(Self::Near(DistanceError::check(distance)?))
            }
            _ => Err(LevelError::Unknown(word.to_owned())),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => f.write_str("bytes"),
            Self::Pixels => f.write_str("pixels"),
            Self::Near(distance) => write!(f, "near:{distance}"),
        }
    }
}

impl TryFrom<String> for Level {
    type Error = LevelError;

    fn try_from(word: String) -> Result<Self, LevelError> {
        word.parse()
    }
}

impl From<Level> for String {
    fn from(level: Level) -> Self {
        level.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_levels_and_come_back() {
        let cases = [
            ("bytes", Level::Bytes, "bytes"),
            ("pixels", Level::Pixels, "pixels"),
            ("near", Level::Near(4), "near:4"),
            ("near:0", Level::Near(0), "near:0"),
            ("near:8", Level::Near(8), "near:8"),
        ];
        for (word, level, told) in cases {
            assert_eq!(word.parse(), Ok(level));
            assert_eq!(level.to_string(), told);
            let json = serde_json::to_string(&level).unwrap();
            assert_eq!(json, format!("\"{told}\""));
            assert_eq!(serde_json::from_str::<Level>(&json).unwrap(), level);
        }
    }

    #[test]
    fn what_is_no_level_is_told_of() {
        let message = |word: &str| word.parse::<Level>().unwrap_err().to_string();
        let unknown = "pictures are compared by bytes, pixels, near or near:N, not by `Bytes`";
        assert_eq!(message("Bytes"), unknown);
        assert_eq!(message("near:"), "near takes a whole number from 0 to 8, not ``");
        assert_eq!(message("near:-1"), "near takes a whole number from 0 to 8, not `-1`");
        let far = "perceptual hashes are compared at a distance from 0 to 8, not 9";
        assert_eq!(message("near:9"), far);
        assert!(serde_json::from_str::<Level>("\"near:64\"").is_err());
    }
}
