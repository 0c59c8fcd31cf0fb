//! Member headers: plain ustar, the same bytes for the same member everywhere.

use tar::{EntryType, Header};

/// Bytes of a block.
pub(crate) const BLOCK: u64 = 512;

/// Longest name in bytes: that of the name field.
pub(crate) const NAME_BYTES: usize = 100;

/// Longest member: what 11 octal digits hold.
pub(crate) const MEMBER_BYTES: u64 = (1 << 33) - 1;

/// The end of an archive.
pub(crate) const END: [u8; 1024] = [0; 1024];

/// The header of a member with this name and length; `None` where either does not fit.
pub(crate) fn header(name: &str, length: u64) -> Option<Header> {
    if name.is_empty() || name.len() > NAME_BYTES || length > MEMBER_BYTES {
        return None;
    }
    let mut header = Header::new_ustar();
    header.as_mut_bytes().get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(length);
    header.set_cksum();
    Some(header)
}

/// Zeros that fill a member's last block.
pub(crate) fn padding(length: u64) -> &'static [u8] {
    let fill = length.next_multiple_of(BLOCK) - length;
    // `fill` is less than a block.
    usize::try_from(fill).ok().and_then(|fill| END.get(..fill)).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_plain_and_fixed() {
        let name = "é".repeat(50);
        let header = header(&name, 8_589_934_591).unwrap();
        let bytes = header.as_bytes();
        assert_eq!(&bytes[..100], name.as_bytes());
        assert_eq!(&bytes[100..108], b"0000644\0");
        assert_eq!(&bytes[108..124], b"0000000\x000000000\0");
        assert_eq!(&bytes[124..136], b"77777777777\0");
        assert_eq!(&bytes[136..148], b"00000000000\0");
        assert_eq!(&bytes[156..157], b"0");
        assert_eq!(&bytes[257..265], b"ustar\x0000");
        assert!(bytes[265..329].iter().all(|b| *b == 0), "owner names are empty");
        assert!(bytes[345..].iter().all(|b| *b == 0), "no prefix");
        let sum: u32 = bytes.iter().map(|b| u32::from(*b)).sum();
        let field: u32 = bytes[148..156].iter().map(|b| u32::from(*b)).sum();
        assert_eq!(header.cksum().unwrap(), sum - field + 8 * 32);
    }

    #[test]
    fn what_does_not_fit_is_none() {
        assert!(header(&"x".repeat(101), 0).is_none());
        assert!(header("", 0).is_none());
        assert!(header("x", 1 << 33).is_none());
    }

    #[test]
    fn padding_fills_blocks() {
        for (length, fill) in [(0, 0), (1, 511), (511, 1), (512, 0), (513, 511)] {
            assert_eq!(padding(length).len(), fill);
        }
    }
}
