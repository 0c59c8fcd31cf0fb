//! Folders of pictures with a table beside them, as the loader `imagefolder` of `datasets` takes
//! them.
//!
//! A split is a folder: `SPLIT/metadata.parquet` (or `metadata.jsonl`) has a row for each pair, and
//! `SPLIT/ROLE/BBBBB/KEY.EXT` are its pictures, a thousand rows a folder. The table's columns are
//! those of the record, and before `pictures` `source_file_name`, `references_file_names`,
//! `target_file_name` and `mask_file_name`, from the split's folder: the loader makes a column of
//! pictures of each. What decides that is in `layout` and in the card:
//!
//! - there is no column `file_name`: beside another `X_file_name` the loader puts the picture of
//!   one into the column of the other;
//! - all tables are of one kind, and their columns have their types whatever is in them: a table of
//!   JSON lines has its types from its first rows, where the card does not say them;
//! - a list is never null, which the loader cannot read.
//!
//! What was written here is read back whole: the record says all of a pair. Of tables that others
//! wrote the columns are told by their names ([`diptych_format::foreign`]).
//!
//! - `layout`: names of files that are written; `names`: names of columns that are read.
//! - `tables`: which tables a tree has; `rows`, `csv`: their rows as JSON.
//! - `look`, `detect`: whether a tree is such folders, and of whom.
//! - `pictures`, `row`, `reader`: rows into edits.
//! - `parts`: how complete a copy is.
//! - `writer`, `table`: units as folders with a part of the table, and the end, which joins them.
//! - `card`: the card.

mod card;
mod detect;
mod layout;
mod look;
mod names;
mod parts;
mod pictures;
mod reader;
mod row;
mod rows;
mod table;
mod tables;
mod writer;

use diptych_format::foreign::MAP;
use diptych_format::{
    About, Alteration, Detection, Fill, Format, FormatError, MaskMeaning, OptionKind, OptionSpec,
    Options, Reader, ReaderInput, Used, Writer,
};
use diptych_storage::ReadTree;

/// The format.
pub const FORMAT: &dyn Format = &Folder;

/// The format's name, and the dataset's in pairs of rows that do not say it.
const NAME: &str = "folder";

struct Folder;

const ABOUT: About = About {
    name: NAME,
    title: "Folder",
    summary: "folders of pictures with a table beside them, for datasets (imagefolder); those of others by the names of their columns",
    reads: true,
    writes: true,
    options: &[
        MAP,
        OptionSpec {
            key: table::METADATA,
            kind: OptionKind::Choice(table::KINDS),
            default: table::PARQUET,
            help: "what the tables are: metadata.parquet, or metadata.jsonl for those who read it as text",
            used: Used::Writing,
        },
    ],
    losses: &[],
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
        from: "the record; of a foreign row its folder and number, or what the map calls its id",
    },
    Fill {
        column: "dataset",
        from: "the record; of a foreign row that of the known layout, else `folder`",
    },
    Fill { column: "subset", from: "the record; of a foreign row a split's word that is none" },
    Fill {
        column: "split",
        from: "the record; of a foreign row its `split`, else the name of a folder",
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
        from: "`source_file_name`; of a foreign row what the map calls so, as all pictures",
    },
    Fill { column: "references", from: "`references_file_names`" },
    Fill { column: "target", from: "`target_file_name`" },
    Fill {
        column: "mask",
        from: "`mask_file_name`, white is edited; of a foreign row as the map says, on the source's grid, held against the sizes",
    },
    Fill { column: "box", from: "the record" },
    Fill { column: "regions", from: "the record" },
    Fill { column: "scores", from: "the record" },
    Fill {
        column: "labels",
        from: "the record; of a foreign row a split's word that is none (`split_native`), and `instruction_empty`",
    },
    Fill { column: "licence", from: "the record" },
    Fill { column: "native", from: "the record; of a foreign row the row" },
];

impl Format for Folder {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        detect::detect(tree)
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(reader::FolderReader::open(&input)?))
    }

    fn open_writer(&self, options: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(writer::FolderWriter::new(options)))
    }
}
