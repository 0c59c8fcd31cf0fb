//! What a tar holds, from its headers alone: one pass, bodies skipped.
//!
//! - [`Walk`] goes from member to member, with the first bytes of each body.
//! - [`TarIndex`] finds a member by its name.
//! - [`Defect`]: what is wrong with an archive, and where.
//!
//! Bad data is never an error and never ends in a wrong answer: a member that cannot be believed
//! is left out and a defect tells why. The loop is our own rather than the `tar` crate's, since
//! that one stops at the first bad header, reads each header by itself and believes what it
//! should not; its header structures are used.

mod defect;
mod extension;
mod header;
mod index;
mod walk;
mod window;

pub use crate::text::printable;
pub use defect::{Defect, DefectKind, Defects};
pub use index::{Entry, TarIndex};
pub use walk::{HEAD_BYTES, Member, MemberKind, Walk};
