//! What the bytes of a PNG's rows say is edited, whatever they are stored as.

use diptych_schema::Edited;
use png::{BitDepth, ColorType};

use super::grid::MARK;

/// The least brightness, of 255, that counts as bright.
const BRIGHT: u8 = 128;

/// Which pixels one pass over a picture holds.
pub(super) struct Pass {
    /// First column.
    pub(super) x: usize,
    /// From column to column.
    pub(super) columns: usize,
    /// First row.
    y: u32,
    /// From row to row.
    rows: usize,
}

impl Pass {
    const fn new(x: usize, columns: usize, y: u32, rows: usize) -> Self {
        Self { x, columns, y, rows }
    }

    /// The rows of a picture of this height that the pass holds.
    pub(super) fn rows(&self, height: u32) -> impl Iterator<Item = u32> + use<> {
        (self.y..height).step_by(self.rows)
    }

    /// How many columns of a picture of this width the pass holds.
    pub(super) fn width(&self, width: u32) -> usize {
        (width as usize).saturating_sub(self.x).div_ceil(self.columns)
    }

    pub(super) fn holds_all_columns(&self) -> bool {
        self.columns == 1
    }

    /// Where in its rows the pass holds a column of the picture, if it does.
    pub(super) fn place_of(&self, column: usize) -> Option<usize> {
        let beyond = column.checked_sub(self.x)?;
        (beyond % self.columns == 0).then_some(beyond / self.columns)
    }
}

/// The one pass of a picture that is not interlaced.
pub(super) const WHOLE: &[Pass] = &[Pass::new(0, 1, 0, 1)];

/// The passes of an interlaced picture.
pub(super) const ADAM7: &[Pass] = &[
    Pass::new(0, 8, 0, 8),
    Pass::new(4, 8, 0, 8),
    Pass::new(0, 4, 4, 8),
    Pass::new(2, 4, 0, 4),
    Pass::new(0, 2, 2, 4),
    Pass::new(1, 2, 0, 2),
    Pass::new(0, 1, 1, 2),
];

/// How the bytes of a row say what is edited.
pub(super) struct Reading {
    edited: Edited,
    samples: Samples,
}

enum Samples {
    /// Grey in a byte a pixel, as nearly all masks are.
    Grey,
    /// One number of up to 8 bits a pixel, and what each says.
    Small {
        bits: usize,
        /// `None` for an index that the palette does not have.
        says: Box<[Option<bool>; 256]>,
        /// Colours of the palette.
        entries: usize,
    },
    /// Whole bytes a pixel.
    Whole {
        /// Bytes of a sample, 1 or 2.
        wide: usize,
        /// Bytes of a pixel.
        pixel: usize,
        /// Whether there are three colours and not only grey.
        colours: bool,
    },
}

/// A pixel whose colour the palette does not have.
pub(super) struct NoColour {
    pub(super) index: u8,
    pub(super) entries: usize,
}

impl Reading {
    pub(super) fn new(info: &png::Info<'_>, edited: Edited) -> Self {
        let bits = match info.bit_depth {
            BitDepth::One => 1,
            BitDepth::Two => 2,
            BitDepth::Four => 4,
            BitDepth::Eight => 8,
            BitDepth::Sixteen => 16,
        };
        let samples = match info.color_type {
            ColorType::Indexed => {
                let palette = info.palette.as_deref().unwrap_or_default();
                let (colours, _) = palette.as_chunks::<3>();
                Samples::small(bits, colours.len(), |index| match edited {
                    Edited::Nonzero => Some(index != 0),
                    Edited::White | Edited::Black | Edited::Painted => {
                        let level = shade(edited, *colours.get(usize::from(index))?);
                        Some(says(edited, level))
                    }
                })
            }
            ColorType::Grayscale if bits == 8 => Samples::Grey,
            ColorType::Grayscale if bits < 8 => {
                // Ones in every place are white, so this is a whole number: 255, 85 or 17.
                let step = u8::MAX / (u8::MAX >> (8 - bits));
                Samples::small(bits, 0, |value| Some(says(edited, value.saturating_mul(step))))
            }
            color_type => {
                let wide = bits / 8;
                Samples::Whole {
                    wide,
                    pixel: wide * color_type.samples(),
                    colours: matches!(color_type, ColorType::Rgb | ColorType::Rgba),
                }
            }
        };
        Self { edited, samples }
    }

    /// Sets each of `line` to whether the bytes of its row say that it is edited: to [`MARK`] or
    /// to 0.
    pub(super) fn mark(&self, row: &[u8], line: &mut [u8]) -> Result<(), NoColour> {
        match &self.samples {
            Samples::Grey => mark_grey(line, row, self.edited),
            Samples::Small { bits, says, entries } => {
                let values = row.iter().flat_map(|byte| {
                    (0..8).step_by(*bits).map(move |used| byte << used >> (8 - bits))
                });
                for (mark, index) in line.iter_mut().zip(values) {
                    let edited = says.get(usize::from(index)).copied().flatten();
                    let edited = edited.ok_or(NoColour { index, entries: *entries })?;
                    *mark = if edited { MARK } else { 0 };
                }
            }
            Samples::Whole { wide, pixel, colours } => {
                for (mark, bytes) in line.iter_mut().zip(row.chunks_exact(*pixel)) {
                    let edited = says(self.edited, self.level(bytes, *wide, *colours));
                    *mark = if edited { MARK } else { 0 };
                }
            }
        }
        Ok(())
    }

    /// The brightness of a pixel, for [`Edited::Nonzero`] a number that is zero where all of it is,
    /// and for [`Edited::Painted`] one that is full where all of it is.
    fn level(&self, pixel: &[u8], wide: usize, colours: bool) -> u8 {
        let byte = |at: usize| pixel.get(at).copied().unwrap_or_default();
        let nonzero = self.edited == Edited::Nonzero;
        let sample = |index: usize| {
            let high = byte(index * wide);
            match self.edited {
                Edited::Nonzero if wide == 2 => high | byte(index * wide + 1),
                Edited::Painted if wide == 2 => high & byte(index * wide + 1),
                _ => high,
            }
        };
        match (colours, nonzero) {
            (false, _) => sample(0),
            (true, true) => sample(0) | sample(1) | sample(2),
            (true, false) => shade(self.edited, [sample(0), sample(1), sample(2)]),
        }
    }
}

impl Samples {
    fn small(bits: usize, entries: usize, says: impl Fn(u8) -> Option<bool>) -> Self {
        let mut table = Box::new([None; 256]);
        for (value, place) in (0..=u8::MAX).zip(table.iter_mut()) {
            *place = says(value);
        }
        Self::Small { bits, says: table, entries }
    }
}

/// Whether a pixel of this brightness (for [`Edited::Nonzero`]: this number) is edited.
fn says(edited: Edited, level: u8) -> bool {
    match edited {
        Edited::White => level >= BRIGHT,
        Edited::Black => level < BRIGHT,
        Edited::Nonzero => level != 0,
        Edited::Painted => level == u8::MAX,
    }
}

/// What is asked of a colour: how bright it is, or whether it is full in all of its parts.
fn shade(edited: Edited, colour: [u8; 3]) -> u8 {
    match edited {
        // A very bright colour would be rounded to white.
        Edited::Painted => colour.into_iter().fold(u8::MAX, |all, part| all & part),
        _ => luminance(colour),
    }
}

/// Marks bytes of grey. Which value means "edited" is asked once and not for each pixel: what is
/// left is a loop over bytes that compilers make wide instructions of.
fn mark_grey(line: &mut [u8], row: &[u8], edited: Edited) {
    match edited {
        Edited::White => mark_where(line, row, |level| says(Edited::White, level)),
        Edited::Black => mark_where(line, row, |level| says(Edited::Black, level)),
        Edited::Nonzero => mark_where(line, row, |level| says(Edited::Nonzero, level)),
        Edited::Painted => mark_where(line, row, |level| says(Edited::Painted, level)),
    }
}

fn mark_where(line: &mut [u8], row: &[u8], is_edited: impl Fn(u8) -> bool) {
    for (mark, level) in line.iter_mut().zip(row) {
        *mark = if is_edited(*level) { MARK } else { 0 };
    }
}

/// ITU-R 601 in 16 bits behind the point: what `convert("L")` of PIL gives.
fn luminance([red, green, blue]: [u8; 3]) -> u8 {
    let sum = 19_595 * u32::from(red) + 38_470 * u32::from(green) + 7_471 * u32::from(blue);
    // The factors add up to 65536, so the result does not pass 255.
    u8::try_from((sum + 0x8000) >> 16).unwrap_or(u8::MAX)
}
