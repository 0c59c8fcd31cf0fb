//! What pairs are told to belong together by: digests of texts, so that anybody can make them again.
//!
//! | anchor | text |
//! |---|---|
//! | the bytes of the source picture | `bytes:` and their digest, 32 hexadecimal digits |
//! | its pixels | `pixels:` and their digest |
//! | where it is, where nothing is hashed | `place:`, the source's label, `/`, the file's path, `@`, offset, `+`, length; of a cell `#`, row group, `/`, column, `/`, row |
//! | the session | `session:`, dataset, `:`, `session_id` |
//! | the group | `group:`, dataset, `:`, `group_id` |
//!
//! An anchor is the first 16 bytes of the SHA-256 of its text.

use diptych_schema::Address;
use sha2::{Digest, Sha256};

use crate::catalog::CatalogFile;
use crate::plan::id_digest;

/// What stands for no anchor.
pub(crate) const NONE: u128 = 0;

pub(crate) fn session(dataset: &str, session: &str) -> u128 {
    id_digest(&format!("session:{dataset}:{session}"))
}

pub(crate) fn group(dataset: &str, group: &str) -> u128 {
    id_digest(&format!("group:{dataset}:{group}"))
}

pub(crate) fn bytes(digest: u128) -> u128 {
    id_digest(&format!("bytes:{digest:032x}"))
}

pub(crate) fn pixels(digest: u128) -> u128 {
    id_digest(&format!("pixels:{digest:032x}"))
}

/// Not an anchor, which is the same for the same data: what is near changes with what else there is.
pub(crate) fn near(hash: u64) -> u128 {
    id_digest(&format!("near:{hash:016x}"))
}

/// Not an anchor, since it is of one pair alone.
pub(crate) fn pair(id: u128) -> u128 {
    id_digest(&format!("pair:{id:032x}"))
}

pub(crate) fn place(files: &[CatalogFile], address: &Address) -> u128 {
    let file = address.file().and_then(|number| files.get(number as usize));
    let path = file.and_then(|file| file.pieces.first()).map_or("", |piece| piece.path.as_str());
    let label = file.map_or("", |file| file.source.as_str());
    id_digest(&match address {
        Address::Range { offset, length, .. } => {
            format!("place:{label}/{path}@{offset}+{length}")
        }
        Address::Cell { row_group, column, row, .. } => {
            format!("place:{label}/{path}#{row_group}/{column}/{row}")
        }
        Address::Inline(bytes) => format!("place:{:x?}", Sha256::digest(bytes)),
        Address::Url { url, .. } => format!("place:{url}"),
    })
}

/// An anchor as it is written.
pub(crate) fn hex(anchor: u128) -> String {
    format!("{anchor:032x}")
}

/// An anchor as it was written.
pub(crate) fn from_hex(text: &str) -> Option<u128> {
    let digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    digits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Piece;
    use diptych_storage::RelPath;

    #[test]
    fn anchors_are_what_the_documents_say() {
        let pieces = vec![Piece { path: RelPath::new("a/b.tar").unwrap(), length: 9, modified: 0 }];
        let files = [CatalogFile { source: "imgedit".to_owned(), pieces }];
        let range = Address::Range { file: 0, offset: 512, length: 7 };
        let cell = Address::Cell { file: 0, row_group: 1, column: 2, row: 3, length: 7 };
        // Worked out with another program.
        for (anchor, expected) in [
            (session("imgedit", "part0:7"), "e4c797093af90c8aedfc1f4320206334"),
            (group("pape", "COCO:1"), "ff188c6d304b70f8595c98a0c267cc0a"),
            (bytes(0xabc), "6313d523cb4e2c06fb4d31948faa1091"),
            (pixels(1), "c678ff332bb67e0d6059561bc19a539e"),
            (near(255), "117d025106b5f9396c12239c548d71a6"),
            (place(&files, &range), "d3bebe996e0e6d4d0cdfac7da65321ff"),
            (place(&files, &cell), "04d86f59857dbae6f1f0f58cd90c460e"),
        ] {
            assert_eq!(hex(anchor), expected);
            assert_eq!(from_hex(expected), Some(anchor));
        }
        assert_eq!(from_hex("0x"), None);
        assert_eq!(from_hex(&"g".repeat(32)), None);
    }
}
