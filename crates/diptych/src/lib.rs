//! Converters for image-edit datasets: from the way they were released to the way they are
//! trained on.
//!
//! The list of formats ([`FORMATS`]) and the engine over it ([`engine`]). A conversion is one
//! call:
//!
//! ```no_run
//! use diptych::{Request, Silent, SourceRequest};
//!
//! let source = SourceRequest { path: "Inter-Edit-Train".into(), from: None };
//! let request = Request::new(vec![source], "webdataset", "out");
//! let outcome = diptych::engine().convert(&request, &Silent)?;
//! let book = outcome.report.total;
//! assert_eq!(book.read, book.written + book.filtered_out() + book.rejections());
//! # Ok::<(), diptych::EngineError>(())
//! ```

pub use diptych_convert::{
    DryRun, Engine, EngineError, Event, GENERATOR, Observer, Outcome, Request, Silent,
    SourceRequest, catalog, detect, error, observe, plan, report, request,
};
pub use diptych_convert::{Indexed, RunRequest};
pub use diptych_format as format;
pub use diptych_schema as schema;
pub use diptych_storage as storage;

use diptych_format::Format;

/// Every format, in the order in which they are listed. A new one is one line here.
pub const FORMATS: &[&dyn Format] = &[diptych_inter_edit::FORMAT, diptych_webdataset::FORMAT];

/// The engine over [`FORMATS`].
#[must_use]
pub fn engine() -> Engine {
    Engine::new(FORMATS)
}
