//! Converters for image-edit datasets: from the way they were released to the way they are
//! trained on.
//!
//! The list of formats ([`FORMATS`]) and the engine over it ([`engine`]). A conversion is one
//! call:
//!
//! ```
//! use diptych::{Request, Silent, SourceRequest};
//!
//! # let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/inter-edit-train");
//! # let folder = tempfile::tempdir()?;
//! # let out = folder.path().join("out");
//! // `fixtures` is the folder of a release, `out` one that is not there yet.
//! let source = SourceRequest::new(fixtures);
//! let request = Request::new(vec![source], "webdataset", &out);
//! let outcome = diptych::engine().convert(&request, &Silent)?;
//!
//! // Every edit of the release is accounted for.
//! let book = &outcome.report.total;
//! assert_eq!(book.read, book.written + book.filtered_out() + book.rejections());
//! assert_eq!((book.written, book.rejections()), (24, 0));
//! assert!(out.join("data/train-00000-of-00001.tar").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To look at the pairs without writing anything but a catalog, index the release and read the
//! catalog back:
//!
//! ```
//! use diptych::storage::Limits;
//! use diptych::{Request, Silent, SourceRequest, catalog::Catalog, pictures::Pictures};
//!
//! # let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/inter-edit-train");
//! # let folder = tempfile::tempdir()?;
//! # let out = folder.path().join("catalog");
//! let source = SourceRequest::new(fixtures);
//! let request = Request::new(vec![source], "", &out);
//! diptych::engine().index(&request, &Silent)?;
//! let catalog = Catalog::open(&out)?.ok_or("no catalog")?;
//! let pictures = Pictures::of(&catalog, &[], Limits::DEFAULT)?;
//! for pair in catalog.pairs(0, 0, 3)? {
//!     let pair = pair?;
//!     let source = pictures.bytes(&pair.source.address)?;
//!     println!("{}: {:?}, {} bytes", pair.pair_id, pair.instruction, source.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use diptych_condition as condition;
pub use diptych_convert::{
    DryRun, Engine, EngineError, Event, GENERATOR, MaskGrid, Observer, Outcome, Request, Silent,
    SourceRequest, catalog, detect, edit_types, error, hashes, inspect, masks, observe, pictures,
    plan, recipe, report, request, select,
};
pub use diptych_convert::{Indexed, RunRequest};
pub use diptych_format as format;
pub use diptych_pixels as pixels;
pub use diptych_schema as schema;
pub use diptych_storage as storage;

use diptych_format::Format;

/// Every format, in the order in which they are listed. A new one is one line here.
pub const FORMATS: &[&dyn Format] = &[
    diptych_folder::FORMAT,
    diptych_imgedit::FORMAT,
    diptych_imgedit::BENCHMARK,
    diptych_inter_edit::FORMAT,
    diptych_pape::FORMAT,
    diptych_parquet::FORMAT,
    diptych_webdataset::FORMAT,
];

/// The engine over [`FORMATS`].
#[must_use]
pub fn engine() -> Engine {
    Engine::new(FORMATS)
}
