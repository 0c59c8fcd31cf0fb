//! Exit codes.

use diptych::EngineError;

/// Everything asked for was done.
pub(crate) const DONE: u8 = 0;
/// It failed.
pub(crate) const FAILED: u8 = 1;
/// What was asked for cannot be asked for.
pub(crate) const USAGE: u8 = 2;
/// It was done, and some edits were rejected.
pub(crate) const REJECTIONS: u8 = 3;
/// Nothing was converted.
pub(crate) const NOTHING: u8 = 4;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// So many edits came through and so many did not.
    Counted {
        good: u64,
        rejected: u64,
    },
}

impl Outcome {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => DONE,
            Self::Counted { good: 0, .. } => NOTHING,
            Self::Counted { rejected: 0, .. } => DONE,
            Self::Counted { .. } => REJECTIONS,
        }
    }
}

pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    let usage = error.downcast_ref::<EngineError>().is_some_and(EngineError::is_usage)
        || error.is::<Usage>();
    if usage { USAGE } else { FAILED }
}

/// Whether it is that the command was told to stop. Its code is that of the signal.
pub(crate) fn is_stop(error: &anyhow::Error) -> bool {
    error.downcast_ref::<EngineError>().is_some_and(EngineError::is_stop)
}

/// A value on the command line that cannot be.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_says_what_became_of_the_edits() {
        let code = |good, rejected| Outcome::Counted { good, rejected }.code();
        assert_eq!([code(5, 0), code(5, 1), code(0, 1), code(0, 0)], [0, 3, 4, 4]);
        assert_eq!(Outcome::Done.code(), 0);
    }
}
