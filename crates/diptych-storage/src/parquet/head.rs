//! Pages of a column as bytes: their heads, and their levels one by one. No I/O.
//!
//! The `parquet` crate takes a page as a whole. To know where a value lies in one that is neither
//! compressed nor encoded takes some fifty bytes of it.

// Types of fields, as the compact form of Thrift numbers them.
const INT: u8 = 5;
const STRUCT: u8 = 12;

/// The encoding of values that are as they are.
const PLAIN: i64 = 0;

/// The encoding of levels.
const RLE: i64 = 3;

/// Values of a page that are believed, at most: what a page holds is counted in memory.
const VALUES: u32 = 1 << 20;

/// How deep a value of a head may lie in others.
const DEPTH: u32 = 8;

/// Why bytes are no page that can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageFault {
    /// There are too few bytes to say.
    NeedsMore,
    /// They are something else: a fragment.
    Unknown(&'static str),
}

/// The head of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageHead {
    /// Bytes of the head itself.
    pub length: usize,
    /// Bytes of the page behind it.
    pub size: u64,
    /// Bytes of the page once it is decompressed.
    pub uncompressed: u64,
    /// What is in it.
    pub kind: PageKind,
}

/// What is in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Values of the column, or numbers of those in its dictionary.
    Data(DataHead),
    /// The values that others mean by number.
    Dictionary,
    /// Nothing that values need.
    Other,
}

/// The head of a page of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataHead {
    /// Values, rows without one among them.
    pub values: u32,
    /// Whether the values stand in it as they are, once it is decompressed.
    pub plain: bool,
    /// Whether it is compressed, where its column is.
    pub compressed: bool,
    /// Where its levels are.
    pub levels: LevelPlaces,
}

/// Where the levels of a page are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelPlaces {
    /// Before the values, each kind behind its length.
    Measured,
    /// Before the values, of lengths that the head says: repetition, then definition.
    Said(usize, usize),
}

/// Reads the head of a page.
///
/// # Errors
/// [`PageFault`].
pub fn page_head(bytes: &[u8]) -> Result<PageHead, PageFault> {
    let mut input = Input::new(bytes);
    let (mut kind, mut uncompressed, mut compressed, mut data) = (None, None, None, None);
    let mut dictionary = None;
    let mut last = 0;
    while let Some((field, of)) = input.field(&mut last)? {
        match (field, of) {
            (1, INT) => kind = Some(input.number()?),
            (2, INT) => uncompressed = Some(input.number()?),
            (3, INT) => compressed = Some(input.number()?),
            (5, STRUCT) => data = Some(input.data_page()?),
            (7, STRUCT) => dictionary = Some(input.dictionary_page()?),
            (8, STRUCT) => data = Some(input.data_page_2()?),
            (_, of) => input.skip(of, DEPTH)?,
        }
    }
    let size = |said: Option<i64>| {
        let size = said.and_then(|size| u32::try_from(size).ok()).map(u64::from);
        size.ok_or(PageFault::Unknown("a page of no size"))
    };
    let uncompressed = size(uncompressed)?;
    let headless = PageFault::Unknown("a page without its own head");
    let kind = match kind {
        Some(0 | 3) => PageKind::Data(data.ok_or(headless)?.head()?),
        Some(2) => {
            // Room is made for as many values as it says; each has a byte at least.
            let values = u64::try_from(dictionary.flatten().ok_or(headless)?).unwrap_or(u64::MAX);
            if values > uncompressed.min(VALUES.into()) {
                return Err(PageFault::Unknown("a dictionary of too many values"));
            }
            PageKind::Dictionary
        }
        _ => PageKind::Other,
    };
    Ok(PageHead { length: input.at, size: size(compressed)?, uncompressed, kind })
}

// Types of fields that are truths, as the compact form of Thrift numbers them.
const TRUE: u8 = 1;
const FALSE: u8 = 2;

/// What the head of a data page says.
#[derive(Default)]
struct DataPage {
    values: Option<i64>,
    encoding: Option<i64>,
    levels: Option<(i64, i64)>,
    /// Whether it is as it is though its column is compressed.
    uncompressed: bool,
}

impl DataPage {
    fn head(self) -> Result<DataHead, PageFault> {
        let values = self.values.and_then(|values| u32::try_from(values).ok());
        let values = values.filter(|values| *values <= VALUES);
        let values = values.ok_or(PageFault::Unknown("a page of too many values"))?;
        let said = |length: i64| {
            usize::try_from(length).map_err(|_| PageFault::Unknown("levels of no length"))
        };
        let levels = match self.levels {
            None => LevelPlaces::Measured,
            Some((repetition, definition)) => {
                LevelPlaces::Said(said(repetition)?, said(definition)?)
            }
        };
        let (plain, compressed) = (self.encoding == Some(PLAIN), !self.uncompressed);
        Ok(DataHead { values, plain, compressed, levels })
    }
}

/// Bytes of the compact form of Thrift, from the first on.
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub(super) const INT: u8 = INT;
    pub(super) const LIST: u8 = 9;
    pub(super) const STRUCT: u8 = STRUCT;

    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many structs a list has, each of which takes at least so many bytes.
    pub(super) fn structs(&mut self, bytes_each: u64) -> Result<u64, PageFault> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        if head & 0x0F != STRUCT && count > 0 {
            return Err(PageFault::Unknown("a list of something else"));
        }
        let left = self.bytes.len().saturating_sub(self.at) as u64;
        match count.checked_mul(bytes_each).filter(|bytes| *bytes <= left) {
            Some(_) => Ok(count),
            None => Err(PageFault::Unknown("a list that is longer than what is left")),
        }
    }

    fn byte(&mut self) -> Result<u8, PageFault> {
        let byte = self.bytes.get(self.at).copied().ok_or(PageFault::NeedsMore)?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, PageFault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(PageFault::Unknown("a number that does not end"))
    }

    pub(super) fn number(&mut self) -> Result<i64, PageFault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The number and type of the next field; `None` where the struct ends.
    pub(super) fn field(&mut self, last: &mut i64) -> Result<Option<(i64, u8)>, PageFault> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        *last = match i64::from(head >> 4) {
            0 => self.number()?,
            step => last.saturating_add(step),
        };
        Ok(Some((*last, head & 0x0F)))
    }

    fn pass(&mut self, bytes: u64) -> Result<(), PageFault> {
        let end = usize::try_from(bytes).ok().and_then(|bytes| self.at.checked_add(bytes));
        self.at = end.filter(|end| *end <= self.bytes.len()).ok_or(PageFault::NeedsMore)?;
        Ok(())
    }

    pub(super) fn skip(&mut self, of: u8, depth: u32) -> Result<(), PageFault> {
        match of {
            TRUE | FALSE => Ok(()),
            3 => self.pass(1),
            4..=6 => self.varint().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.varint()?;
                self.pass(length)
            }
            9 | 10 | STRUCT if depth == 0 => Err(PageFault::Unknown("a head in a head")),
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                // A truth value in a list is a byte, which has no type of its own.
                let of = if matches!(head & 0x0F, TRUE | FALSE) { 3 } else { head & 0x0F };
                (0..count).try_for_each(|_| self.skip(of, depth - 1))
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, of)) = self.field(&mut last)? {
                    self.skip(of, depth - 1)?;
                }
                Ok(())
            }
            _ => Err(PageFault::Unknown("no head of a page")),
        }
    }

    fn data_page(&mut self) -> Result<DataPage, PageFault> {
        let (mut page, mut last) = (DataPage::default(), 0);
        while let Some((field, of)) = self.field(&mut last)? {
            match (field, of) {
                (1, INT) => page.values = Some(self.number()?),
                (2, INT) => page.encoding = Some(self.number()?),
                // Levels of the form that was given up long ago.
                (3 | 4, INT) if self.number()? != RLE => {
                    return Err(PageFault::Unknown("levels of another form"));
                }
                (3 | 4, INT) => {}
                (_, of) => self.skip(of, DEPTH)?,
            }
        }
        Ok(page)
    }

    /// How many values a dictionary says it has.
    fn dictionary_page(&mut self) -> Result<Option<i64>, PageFault> {
        let (mut values, mut last) = (None, 0);
        while let Some((field, of)) = self.field(&mut last)? {
            match (field, of) {
                (1, INT) => values = Some(self.number()?),
                (_, of) => self.skip(of, DEPTH)?,
            }
        }
        Ok(values)
    }

    fn data_page_2(&mut self) -> Result<DataPage, PageFault> {
        let (mut page, mut last) = (DataPage { levels: Some((0, 0)), ..DataPage::default() }, 0);
        while let Some((field, of)) = self.field(&mut last)? {
            let (repetition, definition) = page.levels.unwrap_or_default();
            match (field, of) {
                (1, INT) => page.values = Some(self.number()?),
                (4, INT) => page.encoding = Some(self.number()?),
                (5, INT) => page.levels = Some((repetition, self.number()?)),
                (6, INT) => page.levels = Some((self.number()?, definition)),
                (7, TRUE) => page.uncompressed = false,
                (7, FALSE) => page.uncompressed = true,
                (_, of) => self.skip(of, DEPTH)?,
            }
        }
        Ok(page)
    }
}

/// The levels of a page, one for each value, and how many bytes of the page they take.
#[derive(Debug, PartialEq, Eq)]
pub struct PageLevels {
    /// Whether each begins a row: all of them where no row has several.
    pub begins: Vec<bool>,
    /// How much of the path to each value is there.
    pub definition: Vec<u8>,
    /// Bytes up to the values.
    pub length: usize,
}

/// Reads the levels of a page from what comes behind its head. Highest levels are 0 to 7; where the
/// highest is 0 there are none.
///
/// # Errors
/// [`PageFault`].
pub fn levels(
    head: &DataHead,
    body: &[u8],
    max_repetition: u8,
    max_definition: u8,
) -> Result<PageLevels, PageFault> {
    let mut rest = body;
    let mut take = |max: u8, said: Option<usize>| -> Result<Vec<u8>, PageFault> {
        if max == 0 {
            let passed = rest.get(said.unwrap_or(0)..);
            rest = passed.ok_or(PageFault::NeedsMore)?;
            return Ok(vec![0; head.values as usize]);
        }
        let length = match said {
            Some(said) => said,
            None => {
                let (length, behind) = rest.split_first_chunk().ok_or(PageFault::NeedsMore)?;
                rest = behind;
                usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX)
            }
        };
        let (bytes, behind) = rest.split_at_checked(length).ok_or(PageFault::NeedsMore)?;
        rest = behind;
        runs(bytes, max, head.values as usize)
    };
    let (repetition, definition) = match head.levels {
        LevelPlaces::Measured => (None, None),
        LevelPlaces::Said(repetition, definition) => (Some(repetition), Some(definition)),
    };
    let repetition = take(max_repetition, repetition)?;
    let definition = take(max_definition, definition)?;
    let length = body.len() - rest.len();
    Ok(PageLevels {
        begins: repetition.iter().map(|level| *level == 0).collect(),
        definition,
        length,
    })
}

/// So many levels out of runs of one value and of packed bits.
fn runs(bytes: &[u8], max: u8, count: usize) -> Result<Vec<u8>, PageFault> {
    let wrong = PageFault::Unknown("levels that are not as many as values, or too high");
    let width = 8 - max.leading_zeros();
    let mut levels = Vec::with_capacity(count);
    let mut input = Input { bytes, at: 0 };
    while levels.len() < count {
        let head = input.varint().map_err(|_| wrong.clone())?;
        let left = count - levels.len();
        if head & 1 == 0 {
            let run = usize::try_from(head >> 1).unwrap_or(usize::MAX).min(left);
            let level = input.byte().map_err(|_| wrong.clone())?;
            if run == 0 || level > max {
                return Err(wrong);
            }
            levels.extend(std::iter::repeat_n(level, run));
            continue;
        }
        // Groups of eight levels, each of `width` bytes.
        let packed = (head >> 1).checked_mul(u64::from(width));
        let start = input.at;
        packed
            .ok_or(PageFault::NeedsMore)
            .and_then(|bytes| input.pass(bytes))
            .map_err(|_| wrong.clone())?;
        let packed = bytes.get(start..input.at).unwrap_or_default();
        let all = packed.len() * 8 / width as usize;
        if all == 0 {
            return Err(wrong);
        }
        for i in 0..all.min(left) {
            let bit = |at: usize| packed.get(at / 8).map_or(0, |byte| (byte >> (at % 8)) & 1);
            let first = i * width as usize;
            let level = (0..width as usize).fold(0, |level, k| level | bit(first + k) << k);
            if level > max {
                return Err(wrong);
            }
            levels.push(level);
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests;
