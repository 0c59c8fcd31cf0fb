//! Inter-Edit-Train, read as it was released.
//!
//! On disk it is `metadata/train-*.jsonl.gz` (a row a sample), `source_shards/source-*.tar` and
//! `asset_shards/asset-*.tar` (pictures, found by the names that the rows give) and a
//! `manifest.json`, which some copies lack. A download of a part is the normal case.
//!
//! - `detect`: whether a folder is this release.
//! - `manifest`, `shards`: what a copy says of itself, in its manifest and in names.
//! - `layout`: which files there are and which should be.
//! - `wire`: a row's bytes into what it says. No I/O.
//! - `text`: what is known of the instructions.
//! - `pictures`: pictures by name.
//! - `reader`: rows and pictures into pairs.
//! - `parts`: how complete a copy is, and the counts of the whole release.

mod detect;
mod layout;
mod manifest;
mod parts;
mod pictures;
mod reader;
mod shards;
mod text;
mod wire;

use diptych_format::{
    About, Citation, Detection, Fill, Format, FormatError, MaskMeaning, Reader, ReaderInput,
};
use diptych_schema::EditTypes;
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
    alters: &[],
    fills: FILLS,
    edit_types: EDIT_TYPES,
    masks: MaskMeaning::Asked,
    terms: &[],
    citation: Some(Citation {
        authors: "Delong Liu, Haotian Hou, Zhaohui Hou, Zhiyuan Huang, Shihao Han, Mingjie Zhan, \
                  Zhicheng Zhao and Fei Su",
        title: "Inter-Edit: First Benchmark for Interactive Instruction-Based Image Editing",
        published: "Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern \
                    Recognition, 2026",
        dataset: "https://huggingface.co/datasets/a1557811266/Inter-Edit-Train",
    }),
    published: parts::PUBLISHED,
};

/// All that the whole release has.
const EDIT_TYPES: EditTypes =
    &[("add", "add"), ("local", "local"), ("remove", "remove"), ("texture", "texture")];

const FILLS: &[Fill] = &[
    Fill { column: "pair_id", from: "`sample_id`, to at least seven digits; else file and row" },
    Fill { column: "dataset", from: "always `inter-edit-train`" },
    Fill { column: "split", from: "the name of the metadata shard (`train-...`)" },
    Fill { column: "edit_type", from: "`edit_type`, by the shared word" },
    Fill { column: "edit_type_native", from: "`edit_type`" },
    Fill { column: "instruction", from: "`instruction`, as it is" },
    Fill {
        column: "language",
        from: "the row, where it says so; else `zh` for text with Han characters and `en` for other",
    },
    Fill { column: "source", from: "`source_archive`, `source_file`" },
    Fill { column: "target", from: "`asset_archive`, `target_file`" },
    Fill {
        column: "mask",
        from: "`asset_archive`, `mask_file`: white is edited; on the target's grid for Add, else on the source's, held against the sizes",
    },
    Fill {
        column: "box",
        from: "`bounding_box` in `bbox_reference_dimensions`, a frame of its own",
    },
    Fill {
        column: "labels",
        from: "`better_data`, and what is known of the instruction (`generic_instruction`, `instruction_residue`, `instruction_empty`)",
    },
    Fill { column: "native", from: "the row" },
];

impl Format for InterEditTrain {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        detect::detect(tree)
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(reader::InterEditReader::open(input)?))
    }
}
