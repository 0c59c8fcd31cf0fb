//! The columns of each type of the schema, in their order.

use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_schema::{DataType, Field};

use super::column::{self, Column, Record, record, words};
use super::error::{At, ColumnFault, EncodeFault, ValueFault};
use crate::mask::{Combine, Edited, Grid, Mask, MaskOrigin, MaskPart};
use crate::pair::{
    BoxStatus, Caption, EditBox, EditPair, InstructionVariant, Label, Region, Score, Split,
};
use crate::picture::{Address, AddressKind, MediaType, Picture, Reference};
use crate::vocabulary;

record! {
    EditPair {
        pair_id: String,
        dataset: String,
        subset: Option<String>,
        split: Option<Split>,
        session_id: Option<String>,
        turn: Option<u16>,
        base: Option<String>,
        premise: Option<String>,
        group_id: Option<String>,
        variant: Option<String>,
        inverse_of: Option<String>,
        edit_type: Option<String>,
        edit_type_native: Vec<String>,
        instruction: Option<String>,
        language: Option<String>,
        instructions: Vec<InstructionVariant>,
        captions: Vec<Caption>,
        editor: Option<String>,
        source: Picture,
        references: Vec<Reference>,
        target: Option<Picture>,
        mask: Option<Mask>,
        edit_box as "box": Option<EditBox>,
        regions: Vec<Region>,
        scores: Vec<Score>,
        labels: Vec<Label>,
        licence: Option<String>,
        native: Option<String>,
    }
}

record! {
    InstructionVariant {
        text: String,
        language: Option<String>,
        kind: Option<String>,
    }
}

record! {
    Caption {
        text: String,
        language: Option<String>,
        of: Option<String>,
    }
}

record! {
    Score {
        name: String,
        value: f64,
    }
}

record! {
    Label {
        name: String,
        value: String,
    }
}

record! {
    Region {
        label: Option<String>,
        edit_box as "box": Option<EditBox>,
        mask: Option<MaskPart>,
        scores: Vec<Score>,
        role: Option<String>,
    }
}

record! {
    EditBox {
        x0: f64,
        y0: f64,
        x1: f64,
        y1: f64,
        frame_width: u32,
        frame_height: u32,
        status: BoxStatus,
    }
}

record! {
    Mask {
        parts: Vec<MaskPart>,
        combine: Combine,
        edited: Edited,
        grid: Grid,
        origin: MaskOrigin,
    }
}

record! {
    Picture {
        name: String,
        address: Address,
        width: Option<u32>,
        height: Option<u32>,
        media_type: Option<MediaType>,
    }
}

/// Of a picture only where it is.
pub(super) struct PictureAddress {
    pub(super) address: Address,
}

record! {
    PictureAddress {
        address: Address,
    }
}

/// A reference is a picture with one more column: its role.
impl Record for Reference {
    type Columns<'a> = (<Picture as Record>::Columns<'a>, <Option<String> as Column>::Reader<'a>);

    fn fields() -> Vec<Field> {
        let mut fields = Picture::fields();
        fields.push(column::field::<Option<String>>("role"));
        fields
    }

    fn encode_columns(rows: &[Option<&Self>]) -> Result<Vec<ArrayRef>, At<EncodeFault>> {
        let pictures: Vec<_> = rows.iter().map(|row| row.map(|r| &r.picture)).collect();
        let mut columns = Picture::encode_columns(&pictures)?;
        columns.push(column::encode_field::<Self, Option<String>>("role", rows, |reference| {
            reference.role.as_deref()
        })?);
        Ok(columns)
    }

    fn open_columns(table: &StructArray) -> Result<Self::Columns<'_>, At<ColumnFault>> {
        let role = column::open_field::<Option<String>>(table, "role")?;
        Ok((Picture::open_columns(table)?, role))
    }

    fn read_row((picture, role): &Self::Columns<'_>, row: usize) -> Result<Self, At<ValueFault>> {
        Ok(Self {
            picture: Picture::read_row(picture, row)?,
            role: column::read_field::<Option<String>>(role, "role", row)?,
        })
    }
}

vocabulary! {
    /// The kinds of [`MaskPart`].
    pub(super) MaskPartKind {
        /// [`MaskPart::Picture`].
        Picture = "picture",
        /// [`MaskPart::RunLength`].
        RunLength = "run_length",
    }
}

words! {
    Split: word, from_word;
    BoxStatus: word, from_word;
    Combine: word, from_word;
    Edited: word, from_word;
    Grid: word, from_word;
    MaskOrigin: word, from_word;
    MediaType: name, from_name;
    AddressKind: word, from_word;
    MaskPartKind: word, from_word;
}

/// The value of a column that a kind needs.
macro_rules! need {
    ($kind:ident, $column:ident) => {
        $column.ok_or_else(|| {
            At::new(ValueFault::Incomplete { kind: $kind.word(), missing: stringify!($column) })
        })?
    };
}

/// The value of one field of one kind; `None` for the other kinds.
macro_rules! only {
    ($pattern:pat => $value:expr) => {
        |record| {
            if let $pattern = record { Some($value) } else { None }
        }
    };
}

record! {
    Address {
        kind: AddressKind = Address::tag,
        file: Option<u32> = Address::file,
        offset: Option<u64> = only!(Address::Range { offset, .. } => *offset),
        length: Option<u64> = only!(
            Address::Range { length, .. } | Address::Cell { length, .. } => *length
        ),
        row_group: Option<u32> = only!(Address::Cell { row_group, .. } => *row_group),
        column: Option<u32> = only!(Address::Cell { column, .. } => *column),
        row: Option<u64> = only!(Address::Cell { row, .. } => *row),
        bytes: Option<Vec<u8>> = only!(Address::Inline(bytes) => bytes.as_slice()),
        url: Option<String> = only!(Address::Url { url, .. } => url.as_str()),
        sha256: Option<String> = |address| match address {
            Address::Url { sha256, .. } => sha256.as_deref(),
            _ => None,
        },
    } build Ok(match kind {
        AddressKind::Range => Self::Range {
            file: need!(kind, file),
            offset: need!(kind, offset),
            length: need!(kind, length),
        },
        AddressKind::Cell => Self::Cell {
            file: need!(kind, file),
            row_group: need!(kind, row_group),
            column: need!(kind, column),
            row: need!(kind, row),
            length: need!(kind, length),
        },
        AddressKind::Inline => Self::Inline(need!(kind, bytes)),
        AddressKind::Url => Self::Url { url: need!(kind, url), sha256 },
    })
}

record! {
    MaskPart {
        kind: MaskPartKind = |part| match part {
            MaskPart::Picture(_) => MaskPartKind::Picture,
            MaskPart::RunLength { .. } => MaskPartKind::RunLength,
        },
        picture: Option<Picture> = only!(MaskPart::Picture(picture) => picture),
        counts: Option<String> = only!(MaskPart::RunLength { counts, .. } => counts.as_str()),
        width: Option<u32> = only!(MaskPart::RunLength { width, .. } => *width),
        height: Option<u32> = only!(MaskPart::RunLength { height, .. } => *height),
    } build Ok(match kind {
        MaskPartKind::Picture => Self::Picture(need!(kind, picture)),
        MaskPartKind::RunLength => Self::RunLength {
            counts: need!(kind, counts),
            width: need!(kind, width),
            height: need!(kind, height),
        },
    })
}
