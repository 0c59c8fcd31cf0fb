//! Inter-Edit-Train, read as it was released.
//!
//! On disk it is `metadata/train-*.jsonl.gz` (a row a sample), `source_shards/source-*.tar` and
//! `asset_shards/asset-*.tar` (pictures, found by the names that the rows give) and a
//! `manifest.json`, which some copies lack. A download of a part is the normal case.
//!
//! - `layout`: which files there are and which should be; the manifest.
//! - `wire`: a row's bytes into what it says. No I/O.
//! - `text`: what is known of the instructions.
//! - `archives`: pictures by name.
//! - `reader`: rows and pictures into pairs.

mod archives;
mod layout;
mod reader;
mod text;
mod wire;

use diptych_format::{About, Confidence, Detection, Format, FormatError, Reader, ReaderInput};
use diptych_storage::ReadTree;

/// The format.
pub const FORMAT: &dyn Format = &InterEditTrain;

/// The dataset's name in pairs, and the format's.
const NAME: &str = "inter-edit-train";

struct InterEditTrain;

const ABOUT: About = About {
    name: NAME,
    title: "Inter-Edit-Train",
    summary: "edits drawn into photographs by mask: 520 tar shards joined by JSON lines",
    reads: true,
    writes: false,
    options: &[],
    losses: &[],
};

impl Format for InterEditTrain {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        let (confidence, reason) = match layout::evidence(tree) {
            layout::Evidence::Manifest => {
                (Confidence::Exact, "manifest.json says that it is Inter-Edit-Train".to_owned())
            }
            layout::Evidence::Shards { example } => {
                (Confidence::Strong, format!("there is {example}"))
            }
            layout::Evidence::Rows { file } => (
                Confidence::Weak,
                format!("the rows of {file} name a source, a target and an instruction"),
            ),
            layout::Evidence::Nothing => (
                Confidence::No,
                "no metadata/train-NNNNN-of-NNNNN.jsonl.gz, no manifest.json that says so, and \
                 no JSON rows with the names of pictures"
                    .to_owned(),
            ),
        };
        Detection { confidence, reason }
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(reader::InterEditReader::open(input)?))
    }
}
