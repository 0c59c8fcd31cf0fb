//! What picture bytes show: size and type from the header, masks in their one written form, and
//! what lies between two pictures.
//!
//! - [`probe`] tells what kind of picture bytes are and how large, from the bytes and never from
//!   a name. Nothing is decoded.
//! - [`run_length`] reads and writes the strings that stand for masks in place of pictures.
//! - [`mask`] decodes masks under limits, unites their parts, brings them to another grid where
//!   one is asked for, and writes them as 8-bit grey PNG with 255 for edited.
//! - [`bits`] holds masks as bits, and tells how much two have in common.
//! - [`decode`] decodes pictures to sRGB, upright, under limits.
//! - [`mod@difference`] tells what an edit changed between a source and a target.
//! - [`mod@fingerprint`] tells whether pictures show the same, and [`near`] finds those that nearly do.
//!
//! They take bytes or a function that reads them; where the bytes lie is not known here. No
//! input, however made, makes them panic or hold more memory than they were allowed.

pub mod bits;
pub mod decode;
pub mod difference;
pub mod fingerprint;
pub mod mask;
pub mod near;
pub mod orientation;
pub mod probe;
pub mod run_length;

pub use bits::{Bits, Overlap, SizesDiffer, overlap};
pub use decode::{DecodeError, Rgb};
pub use difference::{
    ChangeMask, Difference, DifferenceError, DifferenceOptions, Parameter, difference,
};
pub use fingerprint::{Fingerprint, fingerprint};
pub use mask::{DecodeLimits, MaskError, is_normal_form, normalise};
pub use near::NearIndex;
pub use orientation::Orientation;
pub use probe::{Head, Probed, probe_at, probe_head};
