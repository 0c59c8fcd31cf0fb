//! Parquet files of edit pairs with their pictures in them, as `datasets` and the Hub's viewer take
//! them: `data/SPLIT-SSSSS-of-NNNNN.parquet` and a card.
//!
//! One schema in every file, whatever the data: the columns of the record, and before the column
//! `pictures` those of the pictures, `source`, `references`, `target` and `mask`. What decides
//! whether a reader shows a picture is in the module `layout`; how the bytes get into the file
//! without being held is in the module `group`.
//!
//! What was written here is read back whole: the columns of the record say all of a pair, and its
//! pictures are ranges of the file. Of files that others made the columns are told by their names
//! and physical types ([`diptych_format::foreign`]).
//!
//! - `columns`: what the columns of a file are.
//! - `files`: which files a copy has, and which it should have.
//! - `look`, `detect`: whether a folder is such files, and of whom.
//! - `reader`, `pictures`, `row`: rows into edits.

mod card;
mod columns;
mod detect;
mod files;
mod group;
mod layout;
mod look;
mod names;
mod path_columns;
mod picture_column;
mod pictures;
mod reader;
mod row;
mod wire;
mod writer;

use diptych_format::foreign::MAP;
use diptych_format::{
    About, Alteration, Detection, Fill, Format, FormatError, MaskMeaning, OptionKind, OptionSpec,
    Options, Reader, ReaderInput, Used, Writer,
};
use diptych_storage::ReadTree;

/// The format.
pub const FORMAT: &dyn Format = &Parquet;

/// Its name.
const NAME: &str = "parquet";

/// The option that says how large row groups are.
const ROW_GROUP: &str = "row-group";

/// The option that names columns as a training script expects them.
const PRESET: &str = "preset";

/// The option that names columns.
const RENAME: &str = "rename";

struct Parquet;

const ABOUT: About = About {
    name: NAME,
    title: "Parquet",
    summary: "Parquet files with the pictures in them, for datasets and the Hub; those of others by the names and types of their columns",
    reads: true,
    writes: true,
    options: &[
        MAP,
        OptionSpec {
            key: ROW_GROUP,
            kind: OptionKind::Size,
            default: "100MB",
            help: "bytes of a row group, at most, where a pair is not larger; it has fewer where \
                   its records, and masks made anew, take 8 MiB",
            used: Used::Writing,
        },
        OptionSpec {
            key: PRESET,
            kind: OptionKind::Choice(names::PRESETS),
            default: names::NO_PRESET,
            help: "name columns as scripts of diffusers expect them: ip2p (train_instruct_pix2pix), \
                   kontext (train_dreambooth_lora_flux_kontext) or control (train_control_flux)",
            used: Used::Writing,
        },
        OptionSpec {
            key: RENAME,
            kind: OptionKind::Text,
            default: "",
            help: "name columns otherwise: source=input_image,target=edited_image",
            used: Used::Writing,
        },
    ],
    losses: &[
        "of foreign rows columns of types that JSON does not have, such as dates",
        "of foreign rows pictures that no column is made of",
    ],
    alters: Alteration::OF_RECORDS,
    fills: FILLS,
    // Whose masks they are is not known of all that is in one.
    edit_types: &[],
    masks: MaskMeaning::Asked,
    terms: &[],
    citation: None,
    published: &[],
};

const FILLS: &[Fill] = &[
    Fill {
        column: "pair_id",
        from: "the record; of a foreign row its file and number, or what the map calls its id",
    },
    Fill {
        column: "dataset",
        from: "the record; of a foreign row that of the known layout, else `parquet`",
    },
    Fill { column: "subset", from: "the record; of a foreign row a split's word that is none" },
    Fill {
        column: "split",
        from: "the record; of a foreign row its `split`, else the name of its file",
    },
    Fill { column: "session_id", from: "the record; of a foreign row its session" },
    Fill { column: "turn", from: "the record; of a foreign row its place in the session" },
    Fill { column: "base", from: "the record; of a foreign row the turn before" },
    Fill { column: "premise", from: "the record" },
    Fill { column: "group_id", from: "the record" },
    Fill { column: "variant", from: "the record" },
    Fill {
        column: "inverse_of",
        from: "the record; of a foreign pair that the inverse instruction makes, the other",
    },
    Fill {
        column: "edit_type",
        from: "the record; of a foreign row its kind of edit, by the shared word where that is known",
    },
    Fill { column: "edit_type_native", from: "the record; of a foreign row its kind of edit" },
    Fill { column: "instruction", from: "the record; of a foreign row its first wording" },
    Fill {
        column: "language",
        from: "the record; of a foreign row its `language`, else `zh` for text with Han characters",
    },
    Fill {
        column: "instructions",
        from: "the record; of a foreign row all wordings where there are several",
    },
    Fill { column: "captions", from: "the record; of a foreign row its descriptions" },
    Fill { column: "editor", from: "the record; of a foreign row its editor" },
    Fill {
        column: "source",
        from: "the column `source`; of a foreign row what the map calls so, as all pictures",
    },
    Fill {
        column: "references",
        from: "the column `references`; of a foreign row the pictures behind the first of a list, and what the map calls so",
    },
    Fill { column: "target", from: "the column `target`" },
    Fill {
        column: "mask",
        from: "the column `mask`, white is edited; of a foreign row as the map says, on the source's grid, held against the sizes",
    },
    Fill { column: "box", from: "the record" },
    Fill { column: "regions", from: "the record" },
    Fill { column: "scores", from: "the record" },
    Fill {
        column: "labels",
        from: "the record; of a foreign row a split's word that is none (`split_native`), and `instruction_empty`",
    },
    Fill { column: "licence", from: "the record" },
    Fill {
        column: "native",
        from: "the record; of a foreign row all of its columns but the bytes of pictures",
    },
];

impl Format for Parquet {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        detect::detect(tree)
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(reader::FileReader::open(&input)?))
    }

    fn open_writer(&self, options: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(writer::ParquetWriter::new(options)?))
    }
}
