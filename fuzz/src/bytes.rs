//! Tars, pieces and rows of text.

use std::io;
use std::sync::Arc;

use diptych::storage::read::{Cursor, Pieces};
use diptych::storage::rows::{Ending, RowEvent, Rows};
use diptych::storage::tar::{Member, TarIndex, Walk};
use diptych::storage::{Limits, ReadAt};

use crate::LIMITS;
use crate::text::printable;

/// Bytes that are read in small steps: whoever reads them has to ask again.
pub(crate) struct Dripping(pub(crate) Vec<u8>);

/// Bytes of a step.
const STEP: usize = 61;

impl ReadAt for Dripping {
    fn len(&self) -> u64 {
        ReadAt::len(&self.0)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let step = buffer.len().min(STEP);
        self.0.read_at(offset, &mut buffer[..step])
    }
}

/// What a walk gives, in words that can be compared.
fn walked(mut walk: Walk<'_>, bytes: &[u8], limits: &Limits) -> (Vec<String>, String) {
    let mut said = Vec::new();
    let mut behind = 0;
    while let Some(member) = walk.next_member().expect("memory can be read") {
        let Member { name, header_offset, offset, length, kind, head } = member;
        assert!(header_offset >= behind && offset > header_offset, "it goes on");
        let end = offset.checked_add(length).expect("it has an end");
        assert!(end <= bytes.len() as u64, "a body leaves the archive");
        let body = &bytes[usize::try_from(offset).unwrap()..usize::try_from(end).unwrap()];
        assert!(body.starts_with(head), "the head is that of the body");
        assert!(head.len() == body.len().min(diptych::storage::tar::HEAD_BYTES));
        assert!(!name.is_empty() && !name.contains(&0) && name.len() <= limits.member_name_bytes);
        said.push(format!("{name:?} {header_offset} {offset} {length} {kind:?}"));
        behind = end;
    }
    assert!(said.len() <= limits.members);
    let defects = walk.into_defects();
    for defect in defects.list() {
        printable(&defect.to_string());
    }
    (said, format!("{:?} {}", defects.list(), defects.dropped()))
}

/// A tar whose headers have the checksums that they should have: hardly any change to one would
/// lead farther than to its checksum.
pub(crate) fn with_checksums(tar: &[u8]) -> Vec<u8> {
    let mut tar = tar.to_vec();
    for block in tar.chunks_exact_mut(512).filter(|block| block[257..].starts_with(b"ustar")) {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    tar
}

/// A tar as it is, and with its checksums as they should be.
pub(crate) fn tar(input: &[u8]) {
    any_tar(input);
    let mended = with_checksums(input);
    if mended != input {
        any_tar(&mended);
    }
}

/// A tar: the same whether it is read at once or in steps, and what the index says.
fn any_tar(input: &[u8]) {
    let at_once = input.to_vec();
    let in_steps = Dripping(input.to_vec());
    let whole = walked(Walk::new(&at_once, &LIMITS), input, &LIMITS);
    assert_eq!(walked(Walk::new(&in_steps, &LIMITS), input, &LIMITS), whole);
    let mut count = 0_usize;
    let index = TarIndex::build(&in_steps, &LIMITS, &mut |_| {
        count += 1;
        Ok(count)
    });
    let index = index.expect("memory can be read");
    assert_eq!((index.all().len(), count), (whole.0.len(), whole.0.len()));
    assert_eq!(index.iter().count(), index.len());
    for entry in index.iter() {
        assert_eq!(index.get(entry.name), Some(entry), "a name leads to the last of that name");
    }
    // Its rest, from wherever it is entered.
    let border = input.first().map(|first| u64::from(*first));
    for border in [None, border] {
        let rest = |file| Walk::of_rest(file, &LIMITS, border).expect("memory can be read");
        assert_eq!(walked(rest(&in_steps), input, &LIMITS), walked(rest(&at_once), input, &LIMITS));
    }
}

/// Cuts the rest of an input as its first bytes say.
fn cut(input: &[u8]) -> (&[u8], Vec<Arc<dyn ReadAt>>) {
    let (cuts, rest) = input.split_at(input.len().min(8));
    let mut pieces: Vec<Arc<dyn ReadAt>> = Vec::new();
    let mut left = rest;
    for cut in cuts {
        // Odd and even, small and large, and none at all.
        let length = usize::from(*cut).pow(2) / 9;
        let (piece, behind) = left.split_at(length.min(left.len()));
        pieces.push(Arc::new(piece.to_vec()));
        left = behind;
    }
    pieces.push(Arc::new(left.to_vec()));
    (rest, pieces)
}

/// A file in pieces is the file, wherever it is cut.
pub(crate) fn pieces(input: &[u8]) {
    let (whole, pieces) = cut(input);
    let joined = Pieces::new(pieces);
    assert_eq!(ReadAt::len(&joined), whole.len() as u64);
    let mut read = vec![0; whole.len()];
    joined.read_exact_at(0, &mut read).expect("all of it is there");
    assert_eq!(read, whole);
    let at_once = whole.to_vec();
    assert_eq!(
        walked(Walk::new(&joined, &LIMITS), whole, &LIMITS),
        walked(Walk::new(&at_once, &LIMITS), whole, &LIMITS)
    );
    let joined = Arc::new(joined);
    let mut stream = Vec::new();
    io::Read::read_to_end(&mut Cursor::new(Arc::clone(&joined) as Arc<dyn ReadAt>), &mut stream)
        .expect("memory can be read");
    assert_eq!(stream, whole);
    assert_eq!(all_rows(joined), all_rows(Arc::new(at_once)));
}

/// Rows of a text and how it ended.
fn all_rows(file: Arc<dyn ReadAt>) -> (Vec<String>, Ending) {
    let mut rows = Rows::open(file, &LIMITS).expect("memory can be read");
    let (mut said, mut expected, mut behind) = (Vec::new(), 0, 0);
    while let Some(event) = rows.next_row().expect("memory can be read") {
        let (number, offset, length) = match event {
            RowEvent::Row(row) => {
                assert!(row.bytes.len() <= LIMITS.row_bytes);
                (row.number, row.offset, row.bytes.len() as u64)
            }
            RowEvent::TooLong { number, offset, length } => {
                assert!(length > LIMITS.row_bytes as u64);
                (number, offset, length)
            }
        };
        assert_eq!(number, expected);
        assert!(offset >= behind, "rows follow each other");
        (expected, behind) = (number + 1, offset + length);
        said.push(format!("{event:?}"));
    }
    assert!(rows.next_row().expect("memory can be read").is_none(), "the end stays the end");
    let ending = rows.ending().expect("it has ended").clone();
    printable(&ending.to_string());
    (said, ending)
}

/// Rows of text: the same in steps, and the same compressed.
pub(crate) fn rows(input: &[u8]) {
    let whole = all_rows(Arc::new(input.to_vec()));
    assert_eq!(all_rows(Arc::new(Dripping(input.to_vec()))), whole);
    let is_compressed = input.starts_with(&[0x1F]);
    if !is_compressed {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut encoder, input).expect("memory can be written");
        let compressed = encoder.finish().expect("memory can be written");
        assert_eq!(all_rows(Arc::new(compressed)), whole);
    }
}
