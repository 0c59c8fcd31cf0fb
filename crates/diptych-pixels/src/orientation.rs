//! How a stored picture has to be turned to be seen upright, as its EXIF data say.

/// The eight ways in which a picture can be stored, as EXIF numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Orientation {
    /// 1: as it is seen.
    #[default]
    Upright,
    /// 2: left and right are exchanged.
    Mirrored,
    /// 3: upside down.
    HalfTurn,
    /// 4: top and bottom are exchanged.
    Flipped,
    /// 5: rows and columns are exchanged.
    Transposed,
    /// 6: seen upright after a quarter turn clockwise.
    QuarterTurn,
    /// 7: rows and columns are exchanged, about the other diagonal.
    Transversed,
    /// 8: seen upright after a quarter turn counter-clockwise.
    ThreeQuarterTurn,
}

/// The tag under which EXIF data hold the orientation.
const TAG: u16 = 0x0112;

impl Orientation {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Upright,
        Self::Mirrored,
        Self::HalfTurn,
        Self::Flipped,
        Self::Transposed,
        Self::QuarterTurn,
        Self::Transversed,
        Self::ThreeQuarterTurn,
    ];

    /// The number that EXIF gives it, from 1 to 8.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::Upright => 1,
            Self::Mirrored => 2,
            Self::HalfTurn => 3,
            Self::Flipped => 4,
            Self::Transposed => 5,
            Self::QuarterTurn => 6,
            Self::Transversed => 7,
            Self::ThreeQuarterTurn => 8,
        }
    }

    /// Whether width and height are exchanged when the picture is turned upright.
    #[must_use]
    pub fn exchanges_sides(self) -> bool {
        self.number() >= 5
    }

    /// A size as it is stored for one that is seen, and the other way round.
    #[must_use]
    pub fn size(self, (width, height): (u32, u32)) -> (u32, u32) {
        if self.exchanges_sides() { (height, width) } else { (width, height) }
    }

    /// What EXIF data say: those that say nothing, or nothing that can be read, say upright.
    pub(crate) fn of_exif(exif: Option<&[u8]>) -> Self {
        let number =
            exif.and_then(|exif| number_in(exif.strip_prefix(b"Exif\0\0").unwrap_or(exif)));
        let found = Self::ALL.into_iter().find(|of| Some(of.number()) == number);
        found.unwrap_or_default()
    }

    /// EXIF data that say this and nothing else.
    pub(crate) fn to_exif(self) -> Vec<u8> {
        let mut exif = b"MM\0\x2A\0\0\0\x08\0\x01".to_vec();
        exif.extend(TAG.to_be_bytes());
        // One short, with two bytes of padding behind it; no further directory.
        exif.extend([0, 3, 0, 0, 0, 1]);
        exif.extend(self.number().to_be_bytes());
        exif.extend([0; 6]);
        exif
    }

    /// The stored place of a pixel of the picture as it is seen, where that has this size.
    pub(crate) fn stored(self, (width, height): (u32, u32), x: u32, y: u32) -> (u32, u32) {
        let (right, below) =
            (width.saturating_sub(1).saturating_sub(x), height.saturating_sub(1).saturating_sub(y));
        match self {
            Self::Upright => (x, y),
            Self::Mirrored => (right, y),
            Self::HalfTurn => (right, below),
            Self::Flipped => (x, below),
            Self::Transposed => (y, x),
            Self::QuarterTurn => (y, right),
            Self::Transversed => (below, right),
            Self::ThreeQuarterTurn => (below, x),
        }
    }

    /// Samples of a stored picture, turned; and the size that the picture then has.
    pub(crate) fn turn_upright(
        self,
        stored: (u32, u32),
        samples: Vec<u8>,
    ) -> ((u32, u32), Vec<u8>) {
        let size = self.size(stored);
        if self == Self::Upright {
            return (size, samples);
        }
        let pixels = samples.as_chunks::<3>().0;
        let mut turned = Vec::with_capacity(samples.len());
        for y in 0..size.1 {
            for x in 0..size.0 {
                let (column, row) = self.stored(size, x, y);
                let at = row as usize * stored.0 as usize + column as usize;
                turned.extend(pixels.get(at).copied().unwrap_or_default());
            }
        }
        (size, turned)
    }
}

/// The orientation in the first directory of EXIF data, which begin as a TIFF does.
fn number_in(exif: &[u8]) -> Option<u16> {
    let is_big = match exif.first_chunk()? {
        b"MM\0\x2A" => true,
        b"II\x2A\0" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let two = *exif.get(at..)?.first_chunk()?;
        Some(if is_big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) })
    };
    let four = *exif.get(4..)?.first_chunk()?;
    let directory = if is_big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) };
    let directory = usize::try_from(directory).ok()?;
    let entries = usize::from(short(directory)?);
    (0..entries)
        .map_while(|entry| directory.checked_add(2 + 12 * entry))
        .take_while(|at| *at < exif.len())
        // A single short, as its kind and count say.
        .find(|at| short(*at) == Some(TAG) && short(*at + 2) == Some(3))
        .and_then(|at| short(at + 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exif_data_say_what_was_written() {
        for of in Orientation::ALL {
            let exif = of.to_exif();
            assert_eq!(Orientation::of_exif(Some(&exif)), of);
            let prefixed = [&b"Exif\0\0"[..], &exif].concat();
            assert_eq!(Orientation::of_exif(Some(&prefixed)), of);
            for cut in 0..19 {
                assert_eq!(Orientation::of_exif(Some(&exif[..cut])), Orientation::Upright);
            }
        }
        let little = b"II\x2A\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        assert_eq!(Orientation::of_exif(Some(little)), Orientation::QuarterTurn);
        assert_eq!(Orientation::of_exif(None), Orientation::Upright);
    }

    /// The letter F, which is unlike itself in all eight ways, in a picture of 2x3.
    #[test]
    fn every_orientation_is_turned_as_exif_says() {
        let seen = [1, 2, 3, 4, 5, 6].map(|of| [of; 3]);
        let stored: [((u32, u32), [u8; 6]); 8] = [
            ((2, 3), [1, 2, 3, 4, 5, 6]),
            ((2, 3), [2, 1, 4, 3, 6, 5]),
            ((2, 3), [6, 5, 4, 3, 2, 1]),
            ((2, 3), [5, 6, 3, 4, 1, 2]),
            ((3, 2), [1, 3, 5, 2, 4, 6]),
            ((3, 2), [2, 4, 6, 1, 3, 5]),
            ((3, 2), [6, 4, 2, 5, 3, 1]),
            ((3, 2), [5, 3, 1, 6, 4, 2]),
        ];
        for (of, (size, stored)) in Orientation::ALL.into_iter().zip(stored) {
            let samples = stored.map(|of| [of; 3]).concat();
            let (size, turned) = of.turn_upright(size, samples);
            assert_eq!((size, turned), ((2, 3), seen.concat()), "{of:?}");
        }
    }
}
