//! What the end of a text of rows means for the edits in it.

use diptych_storage::rows::Ending;

/// What becomes of a text's rows by the way it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndOfRows {
    /// All of them were read.
    Whole,
    /// All of them were read, and something follows that is none: a notice.
    Behind {
        /// Where it begins, in bytes.
        offset: u64,
        /// What it is: a fragment without a period.
        detail: String,
    },
    /// Rows are lost. Nobody knows how many: one rejection stands for them.
    Lost {
        /// The row that was begun.
        row: Option<u64>,
        /// Where it was noticed, in bytes.
        offset: u64,
        /// What happened: a fragment without a period.
        cause: String,
    },
}

impl EndOfRows {
    /// What the end of a text means, after the last row that was given.
    #[must_use]
    pub fn of(ending: &Ending) -> Self {
        let lost = |row: Option<u64>, offset: u64, cause: &str| Self::Lost {
            row,
            offset,
            cause: cause.to_owned(),
        };
        match ending {
            Ending::Clean => Self::Whole,
            Ending::TrailingGarbage { offset, bytes } => Self::Behind {
                offset: *offset,
                detail: format!("{bytes} bytes behind the compressed text are no rows"),
            },
            Ending::TextAfterArray { offset } => Self::Behind {
                offset: *offset,
                detail: "there is text behind the list, which was not read".to_owned(),
            },
            Ending::Cut { offset, unfinished_row } => lost(
                *unfinished_row,
                *offset,
                "the file ends inside its compressed text: this row and what follows are lost",
            ),
            Ending::Corrupt { offset, detail, unfinished_row } => lost(
                *unfinished_row,
                *offset,
                &format!("the compressed text is damaged ({detail}): what follows is lost"),
            ),
            Ending::Unclosed { offset, unfinished_row } => {
                lost(*unfinished_row, *offset, "the list has no end: what follows is lost")
            }
            Ending::MissingItem { offset } => lost(
                None,
                *offset,
                "nothing between two commas of the list: what follows was not read",
            ),
            Ending::TooMuch { offset, limit, unfinished_row } => lost(
                *unfinished_row,
                *offset,
                &format!(
                    "the compressed text becomes more than {limit} bytes: what follows was not read"
                ),
            ),
            Ending::NoRow { offset, limit, unfinished_row } => lost(
                *unfinished_row,
                *offset,
                &format!("no row ends within {limit} bytes: what follows was not read"),
            ),
            Ending::TooManyRows { offset, limit } => lost(
                Some(*limit),
                *offset,
                &format!("there are more than {limit} rows: what follows was not read"),
            ),
            other => lost(None, 0, &other.to_string()),
        }
    }
}
