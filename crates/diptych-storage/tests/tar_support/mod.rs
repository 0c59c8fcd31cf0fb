//! Archives made by hand, with whatever is wrong with them, and what a walk gives of them.

mod make;

use diptych_storage::Limits;
use diptych_storage::tar::{Defect, DefectKind, HEAD_BYTES, MemberKind, Walk};

pub(crate) use make::{Tar, header};

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
