//! Pages of a column as bytes: their heads, and the levels that say which rows have a value. No I/O.
//! How they are read is in [`diptych_storage::parquet::head`].
//!
//! The `parquet` crate takes a page as a whole, picture and all. Its head takes some fifty bytes.

// Types of fields, as the compact form of Thrift numbers them.
const INT: u8 = 5;
const STRUCT: u8 = 12;

/// The encoding of values that are as they are.
const PLAIN: i32 = 0;

/// The encoding of levels.
const RLE: i32 = 3;

/// The definition levels of a column of pictures: how much of the path to the bytes is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels {
    /// Of a row without a picture: nothing of a struct, an empty list.
    absent: u8,
    /// Of a picture.
    present: u8,
    /// Whether a row is a list of pictures.
    repeated: bool,
}

impl Levels {
    /// Of a struct of bytes.
    pub(crate) const ONE: Self = Self { absent: 0, present: 2, repeated: false };
    /// Of a list of them.
    pub(crate) const LIST: Self = Self { absent: 1, present: 4, repeated: true };
}

/// The head of a page with its levels: what stands before its values, which have so many `bytes`.
/// It is of the pictures of one row, or of `rows` rows without any. `None` where it is too long: a
/// page says its length in 31 bits.
pub(crate) fn head_of_page(
    levels: Levels,
    rows: usize,
    pictures: usize,
    bytes: u64,
) -> Option<Vec<u8>> {
    let (values, level) =
        if pictures > 0 { (pictures, levels.present) } else { (rows, levels.absent) };
    let mut behind = Vec::new();
    if levels.repeated {
        // The first of a row begins it.
        let runs = if pictures > 0 { vec![(1, 0), (pictures - 1, 1)] } else { vec![(rows, 0)] };
        push_levels(&mut behind, &runs)?;
    }
    push_levels(&mut behind, &[(values, level)])?;
    let size = bytes.checked_add(behind.len() as u64).and_then(|size| i32::try_from(size).ok())?;
    let values = i32::try_from(values).ok()?;
    let mut head = Vec::with_capacity(32 + behind.len());
    // A data page of the first form, its size twice since nothing is compressed, and its own head.
    let own = [(1, values), (1, PLAIN), (1, RLE), (1, RLE)];
    for (step, number) in [(1, 0), (1, size), (1, size)] {
        push_number(&mut head, step, number);
    }
    head.push(2 << 4 | STRUCT);
    own.into_iter().for_each(|(step, number)| push_number(&mut head, step, number));
    head.extend([0, 0]);
    head.extend(behind);
    Some(head)
}

/// Appends levels as runs of one value, behind their length.
fn push_levels(to: &mut Vec<u8>, runs: &[(usize, u8)]) -> Option<()> {
    let mut bytes = Vec::new();
    for (count, level) in runs.iter().filter(|(count, _)| *count > 0) {
        push_varint(&mut bytes, u64::try_from(*count).ok()? << 1);
        bytes.push(*level);
    }
    to.extend(u32::try_from(bytes.len()).ok()?.to_le_bytes());
    to.extend(bytes);
    Some(())
}

/// Appends a field that is a number, so many behind the field before.
fn push_number(to: &mut Vec<u8>, step: u8, number: i32) {
    to.push(step << 4 | INT);
    let number = i64::from(number);
    push_varint(to, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

fn push_varint(to: &mut Vec<u8>, mut number: u64) {
    while let [low, ..] = number.to_le_bytes()
        && number > 0x7F
    {
        to.push(low | 0x80);
        number >>= 7;
    }
    to.push(number.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests;
