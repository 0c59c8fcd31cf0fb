//! What stands at the end of a Parquet file, looked at before the `parquet` crate is: that follows a
//! schema as deep as it goes, and reserves memory for as many row groups as are said.

use super::head::{Input, PageFault};
use crate::limits::Limits;
use crate::read::ReadAt;

/// How deep a column may lie in others.
const DEPTH: usize = 256;

/// How deep a value of the footer may lie in others.
const NESTED: u32 = 16;

/// What a row group, and a column in it, take at least.
const GROUP: u64 = 32;
const COLUMN: u64 = 16;

/// The last bytes of a file: a length and a word.
const END: u64 = 8;

/// Looks at the end of a file.
///
/// # Errors
/// Why it is no Parquet file that can be read: a fragment.
pub fn check_footer(file: &dyn ReadAt, limits: &Limits) -> Result<(), String> {
    let limit = limits.footer_bytes;
    let read = |offset, buffer: &mut [u8]| {
        let read = file.read_exact_at(offset, buffer);
        read.map_err(|error| format!("its end cannot be read: {error}"))
    };
    let end = file.len().checked_sub(END).ok_or("it is too short for a Parquet file")?;
    let mut last = [0; 8];
    read(end, &mut last)?;
    let [a, b, c, d, word @ ..] = last;
    match &word {
        b"PAR1" => {}
        b"PARE" => return Err("its columns are encrypted".to_owned()),
        _ => return Err("it does not end as Parquet files do".to_owned()),
    }
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if length > limit {
        return Err(format!(
            "what says where its columns are has {length} bytes, the limit is {limit}"
        ));
    }
    let start = end.checked_sub(length).ok_or("its end is longer than it")?;
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| "its end is too long")?];
    read(start, &mut bytes)?;
    let told = |fault| match fault {
        PageFault::NeedsMore => "what says where its columns are does not end".to_owned(),
        PageFault::Unknown(what) => what.to_owned(),
    };
    footer(&mut Input::new(&bytes)).map_err(told)
}

fn footer(input: &mut Input<'_>) -> Result<(), PageFault> {
    let mut last = 0;
    while let Some((field, of)) = input.field(&mut last)? {
        match (field, of) {
            (2, Input::LIST) => schema(input)?,
            (4, Input::LIST) => {
                for _ in 0..input.structs(GROUP)? {
                    row_group(input)?;
                }
            }
            (_, of) => input.skip(of, NESTED)?,
        }
    }
    Ok(())
}

/// The elements of a schema, each before those that are in it.
fn schema(input: &mut Input<'_>) -> Result<(), PageFault> {
    let mut open: Vec<u64> = Vec::new();
    for _ in 0..input.structs(1)? {
        let (mut last, mut children) = (0, 0);
        while let Some((field, of)) = input.field(&mut last)? {
            match (field, of) {
                (5, Input::INT) => children = u64::try_from(input.number()?).unwrap_or(0),
                (_, of) => input.skip(of, NESTED)?,
            }
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.len() > DEPTH {
            return Err(PageFault::Unknown("its columns lie too deep in others"));
        }
    }
    Ok(())
}

fn row_group(input: &mut Input<'_>) -> Result<(), PageFault> {
    let mut last = 0;
    while let Some((field, of)) = input.field(&mut last)? {
        match (field, of) {
            (1, Input::LIST) => {
                for _ in 0..input.structs(COLUMN)? {
                    input.skip(Input::STRUCT, NESTED)?;
                }
            }
            (_, of) => input.skip(of, NESTED)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_file_is_held_against_the_limit() {
        // A footer that says nothing, as long as it is.
        let file = |length: u32| {
            let footer = vec![0; length as usize];
            [b"PAR1".as_slice(), &footer, &length.to_le_bytes(), b"PAR1"].concat()
        };
        let limits = Limits { footer_bytes: 1000, ..Limits::DEFAULT };
        assert_eq!(check_footer(&file(1000), &limits), Ok(()));
        let told = check_footer(&file(1001), &limits).unwrap_err();
        assert!(told.ends_with("has 1001 bytes, the limit is 1000"), "{told}");
    }
}
