//! A row as a unit leaves it for the end, when its neighbours are known: one line of JSON.

use diptych_format::writer::{Change, SplitWord};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::layout::Side;

/// The file of a unit in which its rows are.
pub(crate) const ROWS: &str = "rows.jsonl";

/// A row of a manifest to be.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnitRow {
    /// The subset folder.
    pub(crate) subset: String,
    /// The editor folder.
    pub(crate) editor: String,
    /// Whether the pairs are told by these two folders as they were before.
    pub(crate) folders_kept: bool,
    /// The row that PAPE itself has of the pairs.
    pub(crate) own: Option<Box<RawValue>>,
    /// The id of the source photograph.
    pub(crate) image_id: String,
    /// The language of the instructions.
    pub(crate) language: Option<String>,
    /// What is edited.
    pub(crate) object: Option<String>,
    /// What the split file that the pairs came with calls the image.
    pub(crate) split_entry: Option<SplitEntry>,
    /// The source photograph.
    pub(crate) source: Stored,
    /// The plain edit.
    pub(crate) normal: Option<UnitSide>,
    /// The anomalous edit of the same object.
    pub(crate) abnormal: Option<UnitSide>,
}

/// An entry of a split file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SplitEntry {
    /// The file, from the release's root.
    pub(crate) file: String,
    /// The id as it stands there.
    pub(crate) id: String,
    /// The seed that the file names.
    #[serde(default)]
    pub(crate) seed: Option<Box<RawValue>>,
}

/// One of a row's edits.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnitSide {
    /// The pair's id.
    pub(crate) pair_id: String,
    /// The key of its files.
    pub(crate) key: String,
    /// The split that the pair says.
    pub(crate) split: Option<SplitWord>,
    /// The pair's record.
    pub(crate) record: Box<RawValue>,
    /// The instruction.
    pub(crate) prompt: Option<String>,
    /// The picture after.
    pub(crate) target: Option<Stored>,
    /// The mask.
    pub(crate) mask: Option<Stored>,
    /// Where the mask comes from.
    pub(crate) mask_origin: Option<String>,
    /// The mask as run lengths, where rows are to be paired.
    pub(crate) mask_runs: Option<MaskRuns>,
    /// Further input pictures.
    pub(crate) references: Vec<Stored>,
    /// What comparing the pictures said.
    pub(crate) change: Option<Change>,
    /// Whether it is the anomalous one of a pair to be, where rows are to be paired.
    pub(crate) is_abnormal: bool,
}

/// A mask as COCO run lengths.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MaskRuns {
    pub(crate) counts: String,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// A picture that a unit has written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// The unit's file.
    pub(crate) file: String,
    /// The name that it should get.
    pub(crate) name: String,
    /// What tells its bytes from those of another picture of that name; empty where no other has
    /// the name.
    pub(crate) identity: String,
    /// Whether the name is the one that the row already says.
    pub(crate) published: bool,
    /// Length in bytes.
    pub(crate) bytes: u64,
}

impl UnitRow {
    /// A side, where it is there.
    pub(crate) fn of(&self, side: Side) -> Option<&UnitSide> {
        match side {
            Side::Normal => self.normal.as_ref(),
            Side::Abnormal => self.abnormal.as_ref(),
        }
    }

    /// The sides that there are.
    pub(crate) fn sides(&self) -> impl Iterator<Item = (Side, &UnitSide)> {
        Side::BOTH.into_iter().filter_map(|side| Some((side, self.of(side)?)))
    }
}
