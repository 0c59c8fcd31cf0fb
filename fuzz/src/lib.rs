//! What is tried on any bytes, as plain functions: [`TARGETS`].
//!
//! Each program in `fuzz_targets/` gives libFuzzer one of them (`cargo xtask fuzz`, or `cargo fuzz
//! run NAME`), and the test here gives all of them what is kept: the corpora, and the inputs that
//! once did harm. A target panics where something does not hold. It asks for more than that nothing
//! panics: where there are two ways to an answer it takes both.
//!
//! - `memory`: how much one input may take.
//! - `release`: releases in memory, read through their format and held against what readers owe.
//! - `bytes`: tars, pieces, rows of text.
//! - `pictures`: headers, pictures, masks, run lengths.
//! - `columns`: Parquet files.
//! - `conditions`: conditions in SQL.
//! - `records`: records, and rows that others laid out.
//! - `formats`: a file of a release, in an otherwise good one.
//! - `whole`: small trees, and catalogs.
//! - `text`: what messages owe.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a target panics where something does not hold"
)]

mod bytes;
mod columns;
mod conditions;
mod formats;
pub mod memory;
mod pictures;
mod records;
pub mod release;
mod text;
pub mod whole;

use diptych::storage::Limits;

/// Something that is tried on any bytes.
pub struct Target {
    /// Its name: that of its program, its corpus and its regressions.
    pub name: &'static str,
    /// The formats whose readers it reaches; none where it is about what all of them share.
    pub formats: &'static [&'static str],
    /// Bytes of an input, at most.
    pub most: usize,
    /// The function.
    pub run: fn(&[u8]),
}

const fn shared(name: &'static str, most: usize, run: fn(&[u8])) -> Target {
    Target { name, formats: &[], most, run }
}

const fn of(format: &'static [&'static str], name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, formats: format, most: 32 << 10, run }
}

/// All targets, by name.
pub const TARGETS: &[Target] = &[
    shared("catalog", 32 << 10, whole::catalog),
    shared("condition", 4 << 10, conditions::condition),
    shared("convert", 32 << 10, whole::convert),
    of(&["folder"], "folder_csv", formats::folder_csv),
    of(&["folder"], "folder_lines", formats::folder_lines),
    of(&["folder"], "folder_parquet", formats::folder_parquet),
    shared("foreign", 4 << 10, records::foreign),
    of(&["imgedit-bench"], "imgedit_bench", formats::imgedit_bench),
    of(&["imgedit"], "imgedit_judge", formats::imgedit_judge),
    of(&["imgedit"], "imgedit_names", formats::imgedit_names),
    of(&["imgedit"], "imgedit_recap", formats::imgedit_recap),
    of(&["imgedit"], "imgedit_result", formats::imgedit_result),
    of(&["imgedit"], "imgedit_rows", formats::imgedit_rows),
    of(&["imgedit"], "imgedit_scores", formats::imgedit_scores),
    of(&["inter-edit-train"], "inter_edit_manifest", formats::inter_edit_manifest),
    of(&["inter-edit-train"], "inter_edit_rows", formats::inter_edit_rows),
    shared("mask", 8 << 10, pictures::mask),
    of(&["pape"], "pape_manifest", formats::pape_manifest),
    of(&["pape"], "pape_splits", formats::pape_splits),
    of(&["parquet"], "parquet", formats::parquet),
    shared("parquet_heads", 16 << 10, columns::heads),
    shared("parquet_rows", 32 << 10, columns::rows),
    shared("parquet_values", 32 << 10, columns::values),
    shared("picture", 16 << 10, pictures::picture),
    shared("pieces", 16 << 10, bytes::pieces),
    shared("probe", 8 << 10, pictures::probe),
    shared("record", 8 << 10, records::record),
    shared("rows", 16 << 10, bytes::rows),
    shared("run_length", 4 << 10, pictures::run_length),
    shared("tar", 16 << 10, bytes::tar),
    of(&["webdataset"], "webdataset", formats::webdataset),
    of(&["webdataset"], "webdataset_record", formats::webdataset_record),
];

/// The target of that name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// How much an input may ask for: so little that limits are met by small inputs.
pub const LIMITS: Limits = Limits {
    row_bytes: 8 << 10,
    member_name_bytes: 300,
    member_header_bytes: 4 << 10,
    members: 100,
    index_bytes: 1 << 20,
    files: 100,
    folder_depth: 8,
    pixels: 1 << 20,
    picture_bytes: 4 << 20,
    page_bytes: 1 << 20,
    text_page_bytes: 256 << 10,
    rows: 1000,
    gap_bytes: 64 << 10,
    notices: 20,
    ..Limits::DEFAULT
};

/// Readies a program of libFuzzer: panics that are caught and told of as errors are none.
pub fn begin() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !diptych::storage::parquet::is_guarded() {
            hook(panic);
        }
    }));
}

/// Runs a target on an input, with as much memory as one may take.
pub fn run(name: &str, input: &[u8]) {
    let target = target(name).expect("there is such a target");
    memory::bounded(|| (target.run)(input));
}

/// A program of libFuzzer that tries a target. Where it is built for nothing of the kind it is
/// empty.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        #[cfg(any(fuzzing, feature = "libfuzzer"))]
        libfuzzer_sys::fuzz_target!(init: $crate::begin(), |input: &[u8]| $crate::run($name, input));

        #[cfg(not(any(fuzzing, feature = "libfuzzer")))]
        fn main() {}
    };
}

#[cfg(test)]
mod tests;
