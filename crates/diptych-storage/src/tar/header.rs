//! One header block.

use ::tar::Header;

/// Bytes of a block.
pub(super) const BLOCK: usize = 512;

/// What a block is.
pub(super) enum Block {
    /// Nothing but zeros: the end, or a part of it.
    Zeros,
    /// A header that can be believed.
    Header(Fields),
    /// No header, and why.
    Bad(&'static str),
}

/// What a header says, its name apart.
pub(super) struct Fields {
    pub(super) flag: u8,
    /// Bytes of the body, for members that have one: see [`has_body`].
    pub(super) size: u64,
    /// Whether the name takes all the room there is, and may go on in an extended header.
    pub(super) name_is_full: bool,
    /// Whether a GNU sparse member's map goes on in further blocks.
    pub(super) map_goes_on: bool,
}

/// Whether a body follows a member's header. Links, folders and devices have none, whatever
/// their size says.
pub(super) fn has_body(flag: u8) -> bool {
    !matches!(flag, b'1'..=b'6')
}

/// Reads a block; `name` is set to the name that the block itself gives.
pub(super) fn parse(block: &[u8; BLOCK], name: &mut Vec<u8>) -> Block {
    if block[0] == 0 && block.iter().all(|byte| *byte == 0) {
        return Block::Zeros;
    }
    if !checksum_is_right(block) {
        return Block::Bad("its checksum is wrong");
    }
    let header = Header::from_byte_slice(block);
    let old = header.as_old();
    let Some(size) = number(&old.size) else {
        return Block::Bad("its size is no number of bytes");
    };
    let own = until_nul(&old.name);
    let prefix = header.as_ustar().map(|ustar| until_nul(&ustar.prefix)).unwrap_or_default();
    name.clear();
    if !prefix.is_empty() {
        name.extend_from_slice(prefix);
        name.push(b'/');
    }
    name.extend_from_slice(own);
    let [flag] = old.linkflag;
    Block::Header(Fields {
        flag,
        size,
        name_is_full: prefix.is_empty() && own.len() == old.name.len(),
        map_goes_on: flag == b'S' && header.as_gnu().is_some_and(|gnu| gnu.isextended != [0]),
    })
}

/// Whether a block is a ustar header: what is looked for to find the way again.
pub(super) fn is_ustar(block: &[u8; BLOCK]) -> bool {
    block[257..262] == *b"ustar" && checksum_is_right(block)
}

/// Whether a block that cannot be believed seems to be an extended header, whose loss changes the
/// member behind it.
pub(super) fn seems_extension(block: &[u8; BLOCK]) -> bool {
    let old = Header::from_byte_slice(block).as_old();
    match old.linkflag {
        [b'x' | b'X' | b'L'] => true,
        [b'g'] => false,
        _ => ["PaxHeader", "@LongLink"]
            .iter()
            .any(|mark| old.name.windows(mark.len()).any(|part| part == mark.as_bytes())),
    }
}

/// Old writers took the sum over signed bytes.
fn checksum_is_right(block: &[u8; BLOCK]) -> bool {
    let field = &block[148..156];
    let Some(stated) = number(field) else {
        return false;
    };
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    let unsigned = sum(block) - sum(field) + 8 * u64::from(b' ');
    if stated == unsigned {
        return true;
    }
    let high = |bytes: &[u8]| bytes.iter().filter(|byte| **byte >= 0x80).count() as u64;
    unsigned.checked_sub(256 * (high(block) - high(field))) == Some(stated)
}

/// A number of a header: octal digits between spaces up to a NUL, or base 256. `None` for what is
/// neither, negative, or more than `i64::MAX`, which readers disagree about.
fn number(field: &[u8]) -> Option<u64> {
    let value = match field {
        [0x80, digits @ ..] => digits.iter().try_fold(0_u64, |value, byte| {
            value.checked_mul(256).map(|value| value | u64::from(*byte))
        })?,
        _ => until_nul(field).trim_ascii().iter().try_fold(0_u64, |value, byte| match byte {
            b'0'..=b'7' => value.checked_mul(8).map(|value| value | u64::from(byte - b'0')),
            _ => None,
        })?,
    };
    i64::try_from(value).is_ok().then_some(value)
}

/// What stands before the first NUL.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_octal_or_base_256() {
        assert_eq!(number(b"00000001750\0"), Some(1000));
        assert_eq!(number(b"  1750 \0junk"), Some(1000));
        assert_eq!(number(b"777777777777"), Some((1 << 36) - 1));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0\0\0\0\0"), Some(0));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x03\0\0\0\x01"), Some((3 << 32) + 1));
        assert_eq!(
            number(b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"),
            u64::try_from(i64::MAX).ok()
        );
    }

    #[test]
    fn numbers_that_readers_disagree_about_are_none() {
        for field in [
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x80\0\0\0\x80\0\0\0\0\0\0\0",
            b"\x80\0\0\x01\0\0\0\0\0\0\0\0",
            b"\x81\0\0\0\0\0\0\0\0\0\0\0",
            b"-0000000001\0",
            b"0x000000010\0",
            b"00000000018\0",
            b"0000 000001\0",
        ] {
            assert_eq!(number(field), None, "{field:?}");
        }
    }

    #[test]
    fn checksums_may_be_sums_of_signed_bytes() {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..4].copy_from_slice("图a".as_bytes());
        header.set_cksum();
        assert!(is_ustar(header.as_bytes()));
        let unsigned = header.cksum().unwrap();
        let field = format!("{:06o}\0 ", unsigned - 256 * 3);
        header.as_old_mut().cksum.copy_from_slice(field.as_bytes());
        assert!(is_ustar(header.as_bytes()));
        header.as_old_mut().name[0] ^= 1;
        assert!(!is_ustar(header.as_bytes()));
    }
}
