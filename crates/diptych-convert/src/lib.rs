//! The engine: from releases over a catalog and a plan to an output.
//!
//! ```text
//! release ──Reader──▶ catalog ──▶ plan ──run──▶ units ──finish──▶ output + report
//! ```
//!
//! It sees formats only as trait objects and knows none by name.
//!
//! - [`request`]: what is asked for.
//! - [`detect`]: which format a folder is in, and why.
//! - [`index`]: readers into a [`catalog`].
//! - [`inspect`]: what a release is and what is in it.
//! - [`select`]: which pairs are taken, in which order, and what for; [`recipe`]: that as a file.
//! - [`hashes`]: what pictures have in common.
//! - [`plan`]: which pairs go into which unit; decided on the catalog alone.
//! - [`run`]: units, each alone, in any order, by any process.
//! - [`masks`]: what became of masks; [`edit_types`]: which kinds of edit were written.
//! - [`pictures`]: the pictures that a catalog's addresses mean.
//! - [`finish`]: names, card, [`report`] and the books.
//! - [`Engine`]: the steps in one process, begun again where they were left.

pub mod catalog;
pub mod detect;
pub mod edit_types;
mod engine;
pub mod error;
pub mod finish;
pub mod hashes;
pub mod index;
mod input;
pub mod inspect;
pub mod masks;
pub mod observe;
mod output;
pub mod pictures;
pub mod plan;
pub mod recipe;
mod replace;
pub mod report;
pub mod request;
pub mod run;
pub mod select;
mod source;
mod stage;
pub mod work;

pub use engine::{DryRun, Engine, Indexed, Outcome, RunRequest};
pub use error::EngineError;
pub use hashes::{Level, LevelError};
pub use observe::{Event, Observer, Silent};
pub use request::{MaskGrid, Request, SourceRequest};

/// Name and version of this program, as outputs state it.
pub const GENERATOR: &str = concat!("diptych ", env!("CARGO_PKG_VERSION"));
