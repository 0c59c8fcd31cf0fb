//! Archives made by hand, with whatever is wrong with them.

use diptych_storage::Limits;
use diptych_storage::tar::{Defect, DefectKind, HEAD_BYTES, MemberKind, Walk};
use tar::{EntryType, Header};

/// An archive in the making.
#[derive(Default, Clone)]
pub(crate) struct Tar(pub(crate) Vec<u8>);

impl Tar {
    /// Adds a header as it is, the body that follows it, and what fills the last block.
    pub(crate) fn entry(mut self, header: &Header, body: &[u8]) -> Self {
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(body);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// Adds a file.
    pub(crate) fn file(self, name: &str, body: &[u8]) -> Self {
        self.entry(&header(name.as_bytes(), b'0', body.len() as u64), body)
    }

    /// Adds a PAX header: `x` for the next member, `g` for all.
    pub(crate) fn pax(self, flag: u8, records: &[(&str, &[u8])]) -> Self {
        let mut body = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let digits =
                (1..).find(|digits| (rest + digits).to_string().len() == *digits).unwrap_or(0);
            body.extend(format!("{} {key}=", rest + digits).into_bytes());
            body.extend_from_slice(value);
            body.push(b'\n');
        }
        self.entry(&header(b"PaxHeaders/x", flag, body.len() as u64), &body)
    }

    /// Adds a GNU long name (`L`) or long link (`K`).
    pub(crate) fn long(self, flag: u8, name: &str) -> Self {
        let body = [name.as_bytes(), b"\0"].concat();
        let header = header(b"././@LongLink", flag, body.len() as u64);
        self.entry(&header, &body)
    }

    /// Adds the two blocks at the end.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }

    /// The length so far.
    pub(crate) fn at(&self) -> u64 {
        self.0.len() as u64
    }
}

/// A ustar header with a right checksum.
pub(crate) fn header(name: &[u8], flag: u8, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(EntryType::new(flag));
    header.set_mode(0o644);
    header.set_size(size);
    header.set_cksum();
    header
}

/// A member with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) name: Vec<u8>,
    pub(crate) header_offset: u64,
    pub(crate) kind: MemberKind,
    pub(crate) body: Vec<u8>,
}

/// Everything that a walk gives, checked for what always holds.
pub(crate) fn walk_within(bytes: &[u8], limits: &Limits) -> (Vec<Seen>, Vec<Defect>) {
    let file = bytes.to_vec();
    let mut walk = Walk::new(&file, limits);
    let mut seen: Vec<Seen> = Vec::new();
    while let Some(member) = walk.next_member().unwrap() {
        let start = usize::try_from(member.offset).unwrap();
        let end = start + usize::try_from(member.length).unwrap();
        let body = bytes[start..end].to_vec();
        assert_eq!(member.head, &body[..body.len().min(HEAD_BYTES)]);
        assert_eq!(member.header_offset + 512, member.offset);
        assert!(!member.name.is_empty());
        assert!(seen.last().is_none_or(|last| last.header_offset < member.header_offset));
        let (name, header_offset, kind) = (member.name.to_vec(), member.header_offset, member.kind);
        seen.push(Seen { name, header_offset, kind, body });
    }
    assert!(walk.next_member().unwrap().is_none());
    for defect in walk.defects().list() {
        let text = defect.to_string();
        assert!(!text.ends_with('.') && !text.contains(|c: char| c.is_control()));
    }
    let defects = walk.into_defects();
    (seen, defects.list().to_vec())
}

/// The same with the usual limits.
pub(crate) fn walk(bytes: &[u8]) -> (Vec<Seen>, Vec<Defect>) {
    walk_within(bytes, &Limits::DEFAULT)
}

/// Names and bodies.
pub(crate) type Bodies = Vec<(String, String)>;

/// Names and bodies, and what is wrong where.
pub(crate) fn read(bytes: &[u8]) -> (Bodies, Vec<(u64, DefectKind)>) {
    let (seen, defects) = walk(bytes);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        seen.iter().map(|seen| (text(&seen.name), text(&seen.body))).collect(),
        defects.into_iter().map(|defect| (defect.offset, defect.kind)).collect(),
    )
}
