//! Everything about bytes: where a release's are, and how an output's get to the disk.
//!
//! - [`read`]: files that are read at positions, whole or in pieces ([`read::ReadAt`]).
//! - [`tree`]: a release as a tree of files ([`tree::ReadTree`]), on a disk or in memory.
//! - [`parquet`]: Parquet files of a release.
//! - [`path`]: the only way by which a name becomes a path below a root.
//! - [`tar`]: what a tar holds, from its headers alone.
//! - [`recent`]: what was made last and may be needed again, within a bound.
//! - [`rows`]: the rows of text files: lines or a JSON array, plain or gzipped.
//! - [`text`]: untrusted bytes in messages.
//! - [`output`]: staged files, published whole or not at all.
//! - [`limits`]: how much a release may ask of us.
//! - [`size`]: numbers of bytes as people write them.
//!
//! No format is known here.

pub mod limits;
pub mod output;
pub mod parquet;
pub mod path;
pub mod read;
pub mod recent;
pub mod rows;
pub mod size;
pub mod tar;
pub mod text;
pub mod tree;

pub use limits::Limits;
pub use path::RelPath;
pub use read::ReadAt;
pub use tree::{LocalTree, MemoryTree, ReadTree};
