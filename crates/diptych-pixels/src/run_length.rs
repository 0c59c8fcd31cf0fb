//! COCO compressed run lengths: the pixels of a mask as a short string.
//!
//! The grid is read column by column, each from the top down. Runs of pixels that are not edited
//! and runs of edited ones take turns; the first is not edited, and empty where the first pixel
//! is. Up to the third run its length is stored, from the fourth on the difference to the length
//! of the run two before it. A number is cut into groups of five bits, the lowest first, and each
//! group is a character from `0` (48) to `o` (111): 32 says that another follows, and 16 in the
//! last one that the number is negative.
//!
//! A string does not say its size, and what it says is believed only as far as the size that the
//! caller knows. Runs are taken from the string one by one, so that drawing a mask
//! ([`crate::mask`]) holds no list of them.

/// How much a string may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Pixels of the grid.
    pub pixels: u64,
    /// Runs, empty ones as well.
    pub runs: u64,
}

/// Why a string has no runs, or pixels no string. Places in a string and runs are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunLengthError {
    /// A grid without pixels.
    #[error("run lengths for a grid of {width}x{height} pixels")]
    NoPixels {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// More pixels than allowed, as the size states them.
    #[error("run lengths for a grid of {width}x{height} pixels, the limit is {limit}")]
    TooManyPixels {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// [`RunLimits::pixels`].
        limit: u64,
    },
    /// More runs than allowed.
    #[error("more run lengths than the limit of {limit}")]
    TooManyRuns {
        /// [`RunLimits::runs`].
        limit: u64,
    },
    /// The string ends within a number.
    #[error("run length {run} is cut off")]
    Truncated {
        /// The run.
        run: u64,
    },
    /// A character that stands for no group.
    #[error("character {found} at {at} of the run lengths is not one of `0` to `o`")]
    BadCharacter {
        /// Its place.
        at: usize,
        /// The byte.
        found: u8,
    },
    /// A number that nothing has the size of.
    #[error("run length {run} is beyond all numbers")]
    Overflow {
        /// The run.
        run: u64,
    },
    /// A run of less than nothing.
    #[error("run length {run} is negative: {length}")]
    Negative {
        /// The run.
        run: u64,
        /// Its length.
        length: i64,
    },
    /// The runs leave the grid.
    #[error("the run lengths up to {run} add up to {sum} pixels, the grid has {pixels}")]
    TooLong {
        /// The first run that leaves it.
        run: u64,
        /// Pixels up to the end of that run.
        sum: u64,
        /// Pixels of the grid.
        pixels: u64,
    },
    /// The pixels to encode are not those of a grid of that size.
    #[error("{found} pixels to encode, their grid has {expected}")]
    OtherGrid {
        /// Pixels of the grid.
        expected: u64,
        /// Pixels given.
        found: u64,
    },
}

/// The runs of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLengths {
    /// Their lengths in pixels. The first is not edited, the second is, and so on.
    pub runs: Vec<u64>,
    /// Pixels of the grid behind the last run, which the string says nothing of. They are not
    /// edited.
    pub padded: u64,
}

/// The runs of a string, for a grid of this width and height.
///
/// # Errors
/// See [`RunLengthError`]. Memory is taken for runs that are there and allowed, and for nothing
/// that a string merely claims.
pub fn decode(
    counts: &[u8],
    size: (u32, u32),
    limits: RunLimits,
) -> Result<RunLengths, RunLengthError> {
    let mut read = Runs::new(counts, size, limits)?;
    let runs = read.by_ref().collect::<Result<_, _>>()?;
    Ok(RunLengths { runs, padded: read.left() })
}

/// The string of these runs, of which the first is not edited.
#[must_use]
pub fn encode_runs(runs: impl IntoIterator<Item = u64>) -> String {
    let mut string = Encoder::default();
    runs.into_iter().for_each(|run| string.push(run));
    string.text
}

/// The string of a mask: of its pixels row by row, those edited that are not 0.
///
/// # Errors
/// [`RunLengthError::NoPixels`] and [`RunLengthError::OtherGrid`].
pub fn encode(pixels: &[u8], (width, height): (u32, u32)) -> Result<String, RunLengthError> {
    let expected = pixels_of((width, height))?;
    let found = pixels.len() as u64;
    if found != expected {
        return Err(RunLengthError::OtherGrid { expected, found });
    }
    let width = width as usize;
    let (mut string, mut edited, mut run) = (Encoder::default(), false, 0);
    for pixel in (0..width).flat_map(|x| pixels.iter().skip(x).step_by(width)) {
        if (*pixel != 0) != edited {
            string.push(run);
            (edited, run) = (!edited, 0);
        }
        run += 1;
    }
    string.push(run);
    Ok(string.text)
}

/// A string in the making.
#[derive(Default)]
struct Encoder {
    text: String,
    /// The number of the next run.
    run: u64,
    /// The lengths of the last two runs, the later one last.
    before: [u64; 2],
}

impl Encoder {
    fn push(&mut self, run: u64) {
        let base = if self.run < ABSOLUTE { 0 } else { self.before[0] };
        // Wider than a length, so that every difference has its place.
        let mut number = i128::from(run) - i128::from(base);
        loop {
            let group = u8::try_from(number & i128::from(MORE - 1)).unwrap_or_default();
            number >>= GROUP;
            // What is left at the end of a negative number is -1.
            let is_last = number == if group & SIGN == 0 { 0 } else { -1 };
            self.text.push(char::from(ZERO + group + if is_last { 0 } else { MORE }));
            if is_last {
                break;
            }
        }
        self.before = [self.before[1], run];
        self.run += 1;
    }
}

/// Runs whose lengths are stored as they are.
const ABSOLUTE: u64 = 3;

/// The character of the group 0.
const ZERO: u8 = b'0';

/// Bits of a number that a character holds.
const GROUP: u32 = 5;

/// Set in every character of a number but the last.
const MORE: u8 = 1 << GROUP;

/// Set in the last character of a number that is negative.
const SIGN: u8 = MORE >> 1;

/// Characters of a number: together below 63 bits, and far more than any grid needs.
const CHARACTERS: u32 = 12;

/// Pixels of a grid that has any.
fn pixels_of((width, height): (u32, u32)) -> Result<u64, RunLengthError> {
    match u64::from(width) * u64::from(height) {
        0 => Err(RunLengthError::NoPixels { width, height }),
        pixels => Ok(pixels),
    }
}

/// The runs of a string, one by one. Nothing is to be taken from it behind an error.
pub(crate) struct Runs<'a> {
    counts: &'a [u8],
    /// Where the next number begins.
    at: usize,
    /// The number of the next run.
    run: u64,
    /// The lengths of the last two runs, the later one last.
    before: [i64; 2],
    /// Pixels of the grid behind the runs given.
    left: u64,
    pixels: u64,
    most_runs: u64,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(
        counts: &'a [u8],
        (width, height): (u32, u32),
        limits: RunLimits,
    ) -> Result<Self, RunLengthError> {
        let pixels = pixels_of((width, height))?;
        if pixels > limits.pixels {
            return Err(RunLengthError::TooManyPixels { width, height, limit: limits.pixels });
        }
        let most_runs = limits.runs;
        Ok(Self { counts, at: 0, run: 0, before: [0; 2], left: pixels, pixels, most_runs })
    }

    /// Pixels of the grid behind the runs given.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The number that begins here, which is `run`'s.
    fn number(&mut self) -> Result<i64, RunLengthError> {
        let run = self.run;
        let mut number = 0;
        for shift in (0..CHARACTERS * GROUP).step_by(GROUP as usize) {
            let at = self.at;
            let found = *self.counts.get(at).ok_or(RunLengthError::Truncated { run })?;
            let group = found.checked_sub(ZERO).filter(|group| *group < 2 * MORE);
            let group = group.ok_or(RunLengthError::BadCharacter { at, found })?;
            self.at += 1;
            number |= i64::from(group % MORE) << shift;
            if group & MORE == 0 {
                let below = if group & SIGN == 0 { 0 } else { 1 << (shift + GROUP) };
                return Ok(number - below);
            }
        }
        Err(RunLengthError::Overflow { run })
    }

    fn length(&mut self) -> Result<u64, RunLengthError> {
        let run = self.run;
        if run >= self.most_runs {
            return Err(RunLengthError::TooManyRuns { limit: self.most_runs });
        }
        let base = if run < ABSOLUTE { 0 } else { self.before[0] };
        let stored = self.number()?;
        let length = stored.checked_add(base).ok_or(RunLengthError::Overflow { run })?;
        let pixels = u64::try_from(length).map_err(|_| RunLengthError::Negative { run, length })?;
        self.left = self.left.checked_sub(pixels).ok_or_else(|| {
            let sum = (self.pixels - self.left).saturating_add(pixels);
            RunLengthError::TooLong { run, sum, pixels: self.pixels }
        })?;
        self.before = [self.before[1], length];
        self.run += 1;
        Ok(pixels)
    }
}

impl Iterator for Runs<'_> {
    type Item = Result<u64, RunLengthError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.at < self.counts.len()).then(|| self.length())
    }
}

#[cfg(test)]
mod tests;
