//! PAPE, read as it was released, and written in the same layout.
//!
//! On disk it is a folder for each subset (`COCO`, `ImageNet`, `Places`), in it one for each
//! editor, and in that `manifest.jsonl` with the pictures that its rows are about: `source/`,
//! `normal/`, `abnormal/`, `masks/normal/` and `masks/abnormal/`. `splits/` says of each image
//! which split it is in. The release's card calls a row a pair: here a row is up to two edits of
//! one picture, one to a normal and one to an abnormal result.
//!
//! What the card does not say of a manifest is not known, so rows are read tolerantly. Their paths
//! are those of the machine that built the release, of which only the names mean anything.
//!
//! Rows that this program wrote for pairs of other datasets are read too: they carry the records
//! of their pairs.
//!
//! - `detect`: whether a folder is this release.
//! - `layout`: which manifests and folders there are.
//! - `splits`: which image is in which split.
//! - `wire`: a row's bytes into what it says; `extra`: what a row says that this program wrote.
//!   No I/O.
//! - `pictures`: pictures by name.
//! - `pair`: a row and its pictures into pairs.
//! - `reader`: all of it into edits.
//! - `overlap`: how far the two masks of a row agree.
//! - `parts`: how complete a copy is, and the counts of the whole release.
//! - `writer`: pairs of any dataset in this layout.

mod detect;
mod extra;
mod layout;
mod overlap;
mod pair;
mod parts;
mod pictures;
mod reader;
mod splits;
mod wire;
mod writer;

use diptych_format::{
    About, Alteration, Altered, Citation, Detection, Fill, Format, FormatError, MaskMeaning,
    OptionKind, OptionSpec, Options, Reader, ReaderInput, Used, Writer,
};
use diptych_schema::EditTypes;
use diptych_storage::ReadTree;

/// The format.
pub const FORMAT: &dyn Format = &Pape;

/// The dataset's name in pairs, and the format's.
const NAME: &str = "pape";

struct Pape;

const ABOUT: About = About {
    name: NAME,
    title: "PAPE",
    summary: "two edits of a photograph, one to a normal and one to an abnormal result: folders by subset and editor",
    reads: true,
    writes: true,
    options: &[
        OptionSpec {
            key: writer::ABNORMAL_IF,
            kind: OptionKind::Text,
            default: "",
            help: "labels.KEY=VALUE: which of two paired edits is the anomalous one",
            used: Used::Writing,
        },
        OptionSpec {
            key: writer::MIN_IOU,
            kind: OptionKind::Text,
            default: "0.5",
            help: "how far the masks of two paired edits have to overlap, from 0 to 1",
            used: Used::Writing,
        },
        OptionSpec {
            key: writer::PAIR,
            kind: OptionKind::Flag,
            default: "false",
            help: "whether two edits of one object in one photograph become one row",
            used: Used::Writing,
        },
    ],
    losses: &[],
    alters: &[
        Alteration { of: Altered::Order, says: "kept within an editor folder" },
        Alteration::WITHOUT_TARGET,
        Alteration {
            of: Altered::MaskForm,
            says: "PAPE's own are copied, others are written as an 8-bit grey PNG, 255 = edited",
        },
        Alteration {
            of: Altered::MaskGrid,
            says: "brought to the source's, unless `--mask-grid released` is given",
        },
        Alteration {
            of: Altered::MaskMeaning,
            says: "made anew by comparing the pictures, unless `--mask-from` says otherwise",
        },
        Alteration::NOT_FINITE,
        Alteration::REGION_PICTURE,
        Alteration { of: Altered::Split, says: "all get the strictest one: test, val, train" },
        Alteration {
            of: Altered::NativeSplit,
            says: "PAPE's own rows tell of the list that is written, by its name",
        },
    ],
    fills: FILLS,
    edit_types: EDIT_TYPES,
    masks: MaskMeaning::Changed,
    terms: &[
        "Its source photographs are those of COCO, ImageNet and Places, and stay under the terms of \
         these.",
    ],
    citation: Some(Citation {
        authors: "",
        title: "PAPE",
        published: "",
        dataset: "https://huggingface.co/datasets/PatrickZZZ/PAPE_Dataset",
    }),
    published: parts::PUBLISHED,
};

/// Its rows say no more of an edit than which of the two it is: both put another thing in the
/// place of one.
const EDIT_TYPES: EditTypes = &[("normal", "replace"), ("abnormal", "replace")];

const FILLS: &[Fill] = &[
    Fill {
        column: "pair_id",
        from: "subset, editor, `image_id`, language and variant; with the line where they repeat",
    },
    Fill { column: "dataset", from: "`pape`" },
    Fill { column: "subset", from: "the folder above the editor's" },
    Fill { column: "split", from: "`splits/*.json`, by subset and `image_id`" },
    Fill { column: "group_id", from: "the row: its two edits are a group" },
    Fill { column: "variant", from: "`normal` or `abnormal`" },
    Fill { column: "edit_type", from: "the variant, by the shared word: always `replace`" },
    Fill { column: "instruction", from: "`normal_prompt`, `abnormal_prompt`" },
    Fill {
        column: "language",
        from: "the row, where it says so; else `zh` for prompts with Han characters and `en` for other",
    },
    Fill { column: "editor", from: "the folder that holds the manifest" },
    Fill {
        column: "source",
        from: "`source/`, by the names in `export_paths` and `source_paths`, else by the row's id",
    },
    Fill { column: "target", from: "`normal/`, `abnormal/`, in the same way" },
    Fill {
        column: "mask",
        from: "`masks/normal/`, `masks/abnormal/`, in the same way: what is not zero is edited; on the source's grid, held against the sizes",
    },
    Fill { column: "scores", from: "`mask_iou`" },
    Fill {
        column: "labels",
        from: "`image_id`, `object`, `anomaly_category`; a split's word that is none (`split_native`)",
    },
    Fill { column: "native", from: "the row, and what the split file says of its image" },
];

impl Format for Pape {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        detect::detect(tree)
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(reader::PapeReader::open(input)?))
    }

    fn open_writer(&self, options: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(writer::PapeWriter::new(options)?))
    }
}
