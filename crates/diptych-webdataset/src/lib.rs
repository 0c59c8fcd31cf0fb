//! WebDataset shards: plain ustar archives in which the members of a sample stand together.
//!
//! What the real readers need, and how they fail in silence, decides the layout that is written:
//!
//! - names fit in the 100-byte field and are raw UTF-8 without extended headers, since the
//!   mmap reader of `wids` knows nothing else;
//! - no dot in a key, since readers end it at the first; lower-case extensions of the true type;
//! - no empty shard, which three readers refuse;
//! - the card declares every field of the whole output, since `datasets` would otherwise infer
//!   them from the first five samples and drop what comes later;
//! - what `wids` and Energon would make in a pass of their own over the finished shards is written
//!   with them.
//!
//! What was written here is read back whole: the record says all of a pair. Of samples that others
//! packed the fields are told by their names ([`diptych_format::foreign`]).
//!
//! - `names`, `groups`: names of members into samples. No I/O.
//! - `layout`: which shards there are, and which there should be.
//! - `look`, `detect`: whether a folder is such shards, and of whom.
//! - `sample`, `reader`: samples into edits.
//! - `parts`: how complete a copy is.
//! - `writer`, `ustar`, `card`, `index`: shards, and what stands beside them.

mod card;
mod detect;
mod groups;
mod index;
mod layout;
mod look;
mod names;
mod parts;
mod reader;
mod sample;
mod ustar;
mod writer;

use diptych_format::foreign::MAP;
use diptych_format::{
    About, Alteration, Detection, Fill, Format, FormatError, MaskMeaning, Options, Reader,
    ReaderInput, Writer,
};
use diptych_storage::ReadTree;

/// The format.
pub const FORMAT: &dyn Format = &WebDataset;

/// The format's name, and the dataset's in pairs of samples that do not say it.
const NAME: &str = "webdataset";

struct WebDataset;

const ABOUT: About = About {
    name: NAME,
    title: "WebDataset",
    summary: "tar shards of samples, for webdataset, datasets and torch; those of others by the names of their fields",
    reads: true,
    writes: true,
    options: &[MAP],
    losses: &[
        "of foreign samples members that are neither pictures nor JSON nor text, such as arrays",
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
        from: "the record; of a foreign sample its shard and key, or what the map calls its id",
    },
    Fill {
        column: "dataset",
        from: "the record; of a foreign sample that of the known layout, else `webdataset`",
    },
    Fill { column: "subset", from: "the record; of a foreign sample a split's word that is none" },
    Fill {
        column: "split",
        from: "the record; of a foreign sample its `split`, else the name of its shard",
    },
    Fill { column: "session_id", from: "the record; of a foreign sample its session" },
    Fill { column: "turn", from: "the record; of a foreign sample its place in the session" },
    Fill { column: "base", from: "the record; of a foreign sample the turn before" },
    Fill { column: "premise", from: "the record" },
    Fill { column: "group_id", from: "the record" },
    Fill { column: "variant", from: "the record" },
    Fill {
        column: "inverse_of",
        from: "the record; of a foreign pair that the inverse instruction makes, the other",
    },
    Fill {
        column: "edit_type",
        from: "the record; of a foreign sample its kind of edit, by the shared word where that is known",
    },
    Fill { column: "edit_type_native", from: "the record; of a foreign sample its kind of edit" },
    Fill { column: "instruction", from: "the record; of a foreign sample its first wording" },
    Fill {
        column: "language",
        from: "the record; of a foreign sample its `language`, else `zh` for text with Han characters",
    },
    Fill {
        column: "instructions",
        from: "the record; of a foreign sample all wordings where there are several",
    },
    Fill { column: "captions", from: "the record; of a foreign sample its descriptions" },
    Fill { column: "editor", from: "the record; of a foreign sample its editor" },
    Fill {
        column: "source",
        from: "the member `source`; of a foreign sample what the map calls so, as all pictures",
    },
    Fill { column: "references", from: "the members `reference0`, `reference1` and so on" },
    Fill { column: "target", from: "the member `target`" },
    Fill {
        column: "mask",
        from: "the member `mask`, white is edited; of a foreign sample as the map says, on the source's grid, held against the sizes",
    },
    Fill { column: "box", from: "the record" },
    Fill { column: "regions", from: "the record" },
    Fill { column: "scores", from: "the record" },
    Fill {
        column: "labels",
        from: "the record; of a foreign sample a split's word that is none (`split_native`), and `instruction_empty`",
    },
    Fill { column: "licence", from: "the record" },
    Fill {
        column: "native",
        from: "the record; of a foreign sample its JSON, and its texts by their parts",
    },
];

impl Format for WebDataset {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        detect::detect(tree)
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(reader::ShardReader::open(&input)?))
    }

    fn open_writer(&self, _: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(writer::ShardWriter))
    }
}
