//! What the columns of the schema hold, for documents: meaning, unit and range of each.

use arrow_schema::Field;

use super::column::Record;
use crate::mask::{Mask, MaskPart};
use crate::pair::{Caption, EditBox, EditPair, InstructionVariant, Label, Region, Score};
use crate::picture::{Address, Picture, Reference};

/// A type of the schema: the pair itself, or what its columns are made of.
pub struct RecordAbout {
    /// What it is called in documents: `pair`, `picture`.
    pub name: &'static str,
    /// What it is: one sentence.
    pub about: &'static str,
    /// Its columns, in the order of the schema.
    pub columns: &'static [ColumnAbout],
    fields: fn() -> Vec<Field>,
}

impl RecordAbout {
    /// The columns as Arrow has them, in the order of [`columns`](Self::columns).
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        (self.fields)()
    }
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnAbout {
    /// Its name.
    pub name: &'static str,
    /// What it holds, with unit and range: a fragment without a period.
    pub about: &'static str,
}

const fn column(name: &'static str, about: &'static str) -> ColumnAbout {
    ColumnAbout { name, about }
}

/// Every type of the schema, the pair first.
pub const RECORDS: &[RecordAbout] = &[
    RecordAbout {
        name: "pair",
        about: "One edit: a row of a catalog.",
        fields: EditPair::fields,
        columns: &[
            column(
                "pair_id",
                "unique over an output and stable: the dataset, a colon, then the release's own key",
            ),
            column("dataset", "the name of the dataset"),
            column("subset", "a named part of the release"),
            column("split", "`train`, `val` or `test`, where the release says which"),
            column(
                "session_id",
                "the conversation that the pair is a turn of; pairs of one stand together and in order",
            ),
            column("turn", "place among the edits of its session, from 0"),
            column(
                "base",
                "what a turn edits: `original`, `previous`, or `turn:K` for the target of turn K",
            ),
            column("premise", "what was said before the session's first edit"),
            column("group_id", "shared by pairs of one origin that were made to be compared"),
            column("variant", "which of its group the pair is"),
            column("inverse_of", "the `pair_id` of which this is the inverse"),
            column(
                "edit_type",
                "the kind of edit in the [shared vocabulary](edit-types.md); other words are passed on in lower case",
            ),
            column("edit_type_native", "the words for it as published; empty where there are none"),
            column("instruction", "what was asked for, as published"),
            column("language", "the instruction's language: `en`, `zh`, ..."),
            column("instructions", "every wording, where the release has several"),
            column("captions", "descriptions of the pictures"),
            column("editor", "the model that made the edit, as the release spells it"),
            column("source", "the picture before"),
            column("references", "further input pictures, in order"),
            column("target", "the picture after; null only for items of a benchmark"),
            column("mask", "which pixels the edit is about"),
            column("box", "where the edit is, as published"),
            column("regions", "segmented objects"),
            column("scores", "numbers given to the pair; an open set"),
            column("labels", "words said of the pair; an open set"),
            column("licence", "only what the release states"),
            column(
                "native",
                "a JSON object in a string: under `row` the release's own record whole, and each side file that was read under its name",
            ),
        ],
    },
    RecordAbout {
        name: "picture",
        about: "A picture by where its bytes are; they are in the release and not in the catalog.",
        fields: Picture::fields,
        columns: &[
            column("name", "the path that the release gives it"),
            column("address", "where its bytes are"),
            column(
                "width",
                "pixels, from 1, as its header states; null where the header was not looked at (`--probe none`)",
            ),
            column("height", "pixels, from 1; null as `width` is"),
            column(
                "media_type",
                "told from its first bytes, never from a name: `image/png`, `image/jpeg`, `image/webp`, `image/gif`, `image/bmp` or `image/tiff`; null as `width` is",
            ),
        ],
    },
    RecordAbout {
        name: "reference",
        about: "A further input picture: a picture with a role.",
        fields: Reference::fields,
        columns: &[
            column("name", "as of a picture"),
            column("address", "as of a picture"),
            column("width", "as of a picture"),
            column("height", "as of a picture"),
            column("media_type", "as of a picture"),
            column("role", "what the release uses it for (`object`, ...), where it says so"),
        ],
    },
    RecordAbout {
        name: "address",
        about: "Where bytes are; columns of other kinds than its own are null.",
        fields: Address::fields,
        columns: &[
            column("kind", "`range` of a file, `cell` of a Parquet file, `inline`, or `url`"),
            column("file", "range, cell: number in the catalog's `files.parquet`, from 0"),
            column(
                "offset",
                "range: first byte, from 0; over the joined pieces where the file is in pieces",
            ),
            column("length", "range, cell: bytes"),
            column("row_group", "cell: row group, from 0"),
            column("column", "cell: leaf column in the order of the Parquet schema, from 0"),
            column(
                "row",
                "cell: which of the column's values in the row group, from 0, nulls counted: the row, but where rows are lists of pictures",
            ),
            column("bytes", "inline: the bytes themselves"),
            column("url", "url: as the release gives it"),
            column(
                "sha256",
                "url: digest of the bytes in lower-case hexadecimal, where the release states it",
            ),
        ],
    },
    RecordAbout {
        name: "mask",
        about: "Which pixels an edit is about, and how to read it; nothing of it is decoded or turned round.",
        fields: Mask::fields,
        columns: &[
            column(
                "parts",
                "the pictures or run lengths that it is made of, in the release's order; one for most",
            ),
            column("combine", "how they make one mask: `union`"),
            column(
                "edited",
                "which value means edited: `white` (128 and above of 255), `black` (below 128), `nonzero`, or `painted` (pure white alone)",
            ),
            column("grid", "whose pixels it has: those of `source`, of `target`, or `other`"),
            column(
                "origin",
                "`release` (a picture of it), `run_length` (a string of it) or `difference` (of source and target)",
            ),
        ],
    },
    RecordAbout {
        name: "mask part",
        about: "One part of a mask.",
        fields: MaskPart::fields,
        columns: &[
            column("kind", "`picture` or `run_length`"),
            column("picture", "picture: the picture"),
            column(
                "counts",
                "run_length: COCO's compressed run lengths, column by column, the first run not edited",
            ),
            column("width", "run_length: pixels of the grid"),
            column("height", "run_length: pixels of the grid"),
        ],
    },
    RecordAbout {
        name: "box",
        about: "A box as it was published, in the frame in which it was published, which need be that of no picture: scale x and y each by itself.",
        fields: EditBox::fields,
        columns: &[
            column("x0", "left edge, in pixels of the frame; may lie outside it"),
            column("y0", "upper edge"),
            column("x1", "right edge, exclusive"),
            column("y1", "lower edge, exclusive"),
            column("frame_width", "pixels"),
            column("frame_height", "pixels"),
            column(
                "status",
                "`ok`, `out_of_frame` (some of it is beyond an edge) or `degenerate` (of no area within the frame)",
            ),
        ],
    },
    RecordAbout {
        name: "region",
        about: "A segmented object.",
        fields: Region::fields,
        columns: &[
            column("label", "what it is"),
            column("box", "where it is"),
            column("mask", "its pixels"),
            column("scores", "numbers given to it"),
            column("role", "what it is to the edit: `edited`, `result` or `context`"),
        ],
    },
    RecordAbout {
        name: "score",
        about: "A number given to a pair or a region.",
        fields: Score::fields,
        columns: &[
            column("name", "what it measures, with dots: `gpt.average`"),
            column("value", "as published; finite"),
        ],
    },
    RecordAbout {
        name: "label",
        about: "A word said of a pair.",
        fields: Label::fields,
        columns: &[
            column("name", "what it is about: `object`, `better_data`, ..."),
            column("value", "the word; `true` and `false` for what is or is not so"),
        ],
    },
    RecordAbout {
        name: "instruction",
        about: "One wording of an instruction.",
        fields: InstructionVariant::fields,
        columns: &[
            column("text", "the words"),
            column("language", "their language"),
            column("kind", "what sets it apart, in the release's word"),
        ],
    },
    RecordAbout {
        name: "caption",
        about: "A description of a picture.",
        fields: Caption::fields,
        columns: &[
            column("text", "the words"),
            column("language", "their language"),
            column("of", "which picture: `source` or `target`"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::RECORDS;
    use crate::arrow::catalog_schema;

    #[test]
    fn every_column_is_told_of() {
        for record in RECORDS {
            let fields = record.fields();
            let names: Vec<_> = fields.iter().map(|field| field.name().as_str()).collect();
            let told: Vec<_> = record.columns.iter().map(|column| column.name).collect();
            assert_eq!(told, names, "{}", record.name);
        }
        let schema = catalog_schema();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let told: Vec<_> = RECORDS[0].columns.iter().map(|column| column.name).collect();
        assert_eq!(told, names);
    }
}
