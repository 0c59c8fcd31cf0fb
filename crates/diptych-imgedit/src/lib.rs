//! ImgEdit, read as it was released.
//!
//! On disk it is `Parquet/*.parquet` (a row an edit, or a session of edits) and the pictures in
//! `Singleturn/` and `Multiturn/`: archives cut at bytes into pieces `GROUP.tar.split.NNN`, which
//! are read as they lie, without being joined. What rows, archives and the folders in them call one
//! group differs. Beside the pictures lie masks and what was said of the edit.
//!
//! - `groups`: the known groups, as data.
//! - `benchmark`: its benchmark, a format of its own.
//! - `detect`: whether a folder is this release.
//! - `layout`, `pieces`: which files there are; pieces into runs.
//! - `paths`, `tops`, `pictures`, `missing`: pictures by the paths that rows give, or why not.
//! - `rows`: what rows say.
//! - `side`: what stands beside the pictures.
//! - `pair`: a row's edit and its pictures into a pair.
//! - `reader`: all of it into edits.
//! - `parts`: how complete a copy is.

mod benchmark;
mod detect;
mod groups;
mod layout;
mod missing;
mod pair;
mod parts;
mod paths;
mod pictures;
mod pieces;
mod reader;
mod rows;
mod side;
mod tops;

use diptych_format::{
    About, Citation, Detection, Fill, Format, FormatError, MaskMeaning, OptionKind, OptionSpec,
    Reader, ReaderInput, Used,
};
use diptych_storage::ReadTree;

pub use benchmark::FORMAT as BENCHMARK;

/// The format.
pub const FORMAT: &dyn Format = &ImgEdit;

/// The dataset's name in pairs, and the format's.
const NAME: &str = "imgedit";

/// Keys of the options.
const SIDE: &str = "side";
const MASKS: &str = "masks";
const RECAP: &str = "recap";

struct ImgEdit;

/// Dataset and benchmark are of one paper.
const CITATION: Citation = Citation {
    authors: "Yang Ye, Xianyi He, Zongjian Li, Bin Lin, Shenghai Yuan, Zhiyuan Yan, Bohan Hou and \
              Li Yuan",
    title: "ImgEdit: A Unified Image Editing Dataset and Benchmark",
    published: "arXiv preprint arXiv:2505.20275, 2025",
    dataset: "https://huggingface.co/datasets/sysuyy/ImgEdit",
};

const ABOUT: About = About {
    name: NAME,
    title: "ImgEdit",
    summary: "edits of photographs by task, single and in sessions: 35 archives in pieces, 37 Parquet files",
    reads: true,
    writes: false,
    options: &[
        OptionSpec {
            key: MASKS,
            kind: OptionKind::Choice(&["on", "off"]),
            default: "on",
            help: "whether pairs have the masks that lie beside their pictures",
            used: Used::Reading,
        },
        OptionSpec {
            key: RECAP,
            kind: OptionKind::Folder,
            default: "",
            help: "a copy of ImgEdit_recap_mask: captions, tags and objects of the photographs",
            used: Used::Reading,
        },
        OptionSpec {
            key: SIDE,
            kind: OptionKind::Choice(&["on", "off"]),
            default: "on",
            help: "whether result.json, the judges' files and the file of scores are read",
            used: Used::Reading,
        },
    ],
    losses: &[],
    alters: &[],
    fills: FILLS,
    edit_types: groups::EDIT_TYPES,
    masks: MaskMeaning::Asked,
    terms: &[],
    citation: Some(CITATION),
    published: parts::PUBLISHED,
};

const FILLS: &[Fill] = &[
    Fill { column: "pair_id", from: "the Parquet file, the row, and for sessions the turn" },
    Fill { column: "dataset", from: "always `imgedit`" },
    Fill { column: "subset", from: "the Parquet file's name" },
    Fill { column: "session_id", from: "the Parquet file and the row, for rows of several edits" },
    Fill { column: "turn", from: "the place among the row's edits that have pictures" },
    Fill {
        column: "base",
        from: "the task: content memory goes on, version backtracking goes back to the first result, content understanding begins with the photograph each time",
    },
    Fill { column: "premise", from: "the prompt of a row's first entry, where it has no pictures" },
    Fill {
        column: "edit_type",
        from: "the task, as the Parquet file's name says, by the shared word; for a turn its operation in `result.json`",
    },
    Fill { column: "edit_type_native", from: "`edit_type` of `result.json`" },
    Fill { column: "instruction", from: "`prompt`, as it is" },
    Fill { column: "language", from: "`zh` for text with Han characters and `en` for other" },
    Fill { column: "captions", from: "the recaptions, where they are given" },
    Fill { column: "source", from: "the first of `input_images`" },
    Fill { column: "references", from: "further `input_images`: the picture of an object" },
    Fill { column: "target", from: "`output_images`" },
    Fill {
        column: "mask",
        from: "`mask.png` in the sample's folder, `mask_0.png` with `mask_1.png` for a hybrid edit, `mask_K.png` for a turn: black is edited; its grid by the sizes; else the object's in the recaptions",
    },
    Fill { column: "box", from: "the object's in `result.json`" },
    Fill { column: "regions", from: "the objects of `result.json` and of the recaptions" },
    Fill {
        column: "scores",
        from: "`judge_2scores.json`, `judge.json`, or `all_dataset_gpt_score.json`",
    },
    Fill {
        column: "labels",
        from: "`task`; `image_id`, the photograph: its id in LAION, for a frame of a film its name; `base_checked` for turns; what the judges say in words (`objects_match`, `score_scope`)",
    },
    Fill { column: "native", from: "the row, and each file beside the pictures by its name" },
];

impl Format for ImgEdit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        detect::detect(tree)
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(reader::ImgEditReader::open(input)?))
    }
}
