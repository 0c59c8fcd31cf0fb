//! What is wrong with an archive.

use std::fmt;

use crate::text::printable;

/// Defects that are kept of one archive. More are counted only, since a bad archive can have
/// one a block.
const KEPT: usize = 1000;

/// Longest name that a defect holds, in bytes: of a longer one the rest is left out.
const KEPT_NAME: usize = 4096;

/// Something wrong with an archive, at a byte of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Position in the archive, in bytes: of the header it is about where it is about one.
    pub offset: u64,
    /// What is wrong.
    pub kind: DefectKind,
}

/// What is wrong with an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefectKind {
    /// A header that cannot be believed. What it may have stood for is left out.
    BadHeader {
        /// Why not: a fragment.
        why: &'static str,
        /// The position from which on the archive was read again; everything between is left
        /// out. `None`: no header was found behind it.
        resumed: Option<u64>,
    },
    /// The archive ends inside a member or a header.
    Truncated {
        /// The member; empty where it is a header or an extended header that is cut.
        name: Box<[u8]>,
        /// Bytes that are missing.
        missing: u64,
    },
    /// It is the rest of an archive, whose beginning is missing.
    NoBeginning {
        /// The position of the first header; everything before it is left out. `None`: there is
        /// none.
        resumed: Option<u64>,
    },
    /// The zero blocks at the end are missing. Harmless, but a cut archive can look so.
    NoEndBlocks,
    /// A member's extended headers give it two names. It is left out.
    ConflictingNames {
        /// The one.
        first: Box<[u8]>,
        /// The other.
        second: Box<[u8]>,
    },
    /// More members follow the zero blocks, as where archives were concatenated. Harmless: they
    /// are read.
    Concatenated,
    /// Something that is no header follows the zero blocks. Nothing is read from there on.
    TrailingGarbage,
    /// The archive asks for more than is given.
    Limit {
        /// For what: a fragment.
        what: &'static str,
        /// How much is given.
        limit: u64,
    },
    /// A name that an earlier member has; the later one counts, as when unpacking.
    Repeated {
        /// The name.
        name: Box<[u8]>,
        /// Position of the earlier member's header.
        first: u64,
    },
}

impl DefectKind {
    /// Whether members may be missing because of it.
    #[must_use]
    pub fn hides_members(&self) -> bool {
        match self {
            Self::BadHeader { .. }
            | Self::Truncated { .. }
            | Self::NoBeginning { .. }
            | Self::ConflictingNames { .. }
            | Self::Limit { .. } => true,
            Self::NoEndBlocks
            | Self::Concatenated
            | Self::TrailingGarbage
            | Self::Repeated { .. } => false,
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.offset;
        match &self.kind {
            DefectKind::BadHeader { why, resumed: Some(next) } => {
                write!(f, "bad header at byte {at}: {why}; left out up to byte {next}")
            }
            DefectKind::BadHeader { why, resumed: None } => {
                write!(f, "bad header at byte {at}: {why}; no header behind it")
            }
            DefectKind::Truncated { name, missing } if name.is_empty() => {
                write!(f, "ends inside the header at byte {at}: {missing} bytes are missing")
            }
            DefectKind::Truncated { name, missing } => {
                let name = printable(name);
                write!(f, "ends inside {name} (header at byte {at}): {missing} bytes are missing")
            }
            DefectKind::NoBeginning { resumed: Some(next) } => {
                write!(f, "the beginning is missing; read from the header at byte {next} on")
            }
            DefectKind::NoBeginning { resumed: None } => {
                write!(f, "the beginning is missing, and no header is in what is there")
            }
            DefectKind::NoEndBlocks => write!(f, "no zero blocks at the end, byte {at}"),
            DefectKind::ConflictingNames { first, second } => {
                let (first, second) = (printable(first), printable(second));
                write!(f, "the member at byte {at} has two names, {first} and {second}")
            }
            DefectKind::Concatenated => {
                write!(f, "more members behind the end blocks, from byte {at}")
            }
            DefectKind::TrailingGarbage => {
                write!(f, "no tar header behind the end blocks, at byte {at}")
            }
            DefectKind::Limit { what, limit } => {
                write!(f, "{what} at byte {at}: more than {limit}")
            }
            DefectKind::Repeated { name, first } => {
                let name = printable(name);
                write!(f, "{name} at byte {at} is there a second time, first at byte {first}")
            }
        }
    }
}

/// What is wrong with an archive, in the order in which it was found.
#[derive(Debug, Clone, Default)]
pub struct Defects {
    kept: Vec<Defect>,
    dropped: u64,
    hides_members: bool,
}

impl Defects {
    /// The defects; at most a thousand.
    #[must_use]
    pub fn list(&self) -> &[Defect] {
        &self.kept
    }

    /// How many more there were than are listed.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether members may be missing because of any of them, listed or not.
    #[must_use]
    pub fn hide_members(&self) -> bool {
        self.hides_members
    }

    pub(super) fn push(&mut self, offset: u64, kind: DefectKind) {
        self.hides_members |= kind.hides_members();
        if self.kept.len() < KEPT {
            self.kept.push(Defect { offset, kind });
        } else {
            self.dropped += 1;
        }
    }

    /// Bytes that the list takes.
    pub(super) fn memory_bytes(&self) -> usize {
        let names = self.kept.iter().map(|defect| match &defect.kind {
            DefectKind::Truncated { name, .. } | DefectKind::Repeated { name, .. } => name.len(),
            DefectKind::ConflictingNames { first, second } => first.len() + second.len(),
            _ => 0,
        });
        self.kept.capacity() * size_of::<Defect>() + names.sum::<usize>()
    }
}

/// A name as a defect holds it.
pub(super) fn kept_name(name: &[u8]) -> Box<[u8]> {
    name.get(..KEPT_NAME).unwrap_or(name).into()
}
