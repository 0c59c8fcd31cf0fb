//! The canonical edit pair: what every reader produces and every writer is given.
//!
//! A pair is one edit: a source picture, optional references, a target picture and the
//! instruction that asked for it, optionally with a mask and a box. Pictures are *addresses*
//! into the files of a release; this crate never opens one. It does no I/O and knows no format.
//!
//! - [`EditPair`] and the types it is made of: [`pair`], [`picture`], [`mask`].
//! - [`arrow`]: the Arrow schema of the catalog and the way between pairs and record batches.
//! - [`edit_type`]: the kinds of edit that all datasets share.
//! - [`text`]: the rule by which an instruction's language is told.
//!
//! A field that a release does not have is `None` (a list: empty), never `""`, `0` or a value
//! that nobody published.

pub mod arrow;
pub mod edit_type;
pub mod mask;
pub mod pair;
pub mod picture;
pub mod text;

pub use edit_type::EditTypes;
pub use mask::{Combine, Edited, Grid, Mask, MaskOrigin, MaskPart};
pub use pair::{
    BoxStatus, Caption, EditBox, EditPair, InstructionVariant, Label, Region, Score, Split,
};
pub use picture::{Address, MediaType, Picture, Reference};

/// The version of the canonical schema. It rises when a column is added, removed or changes its
/// meaning, and stands in the metadata of every catalog file.
pub const SCHEMA_VERSION: u32 = 1;
