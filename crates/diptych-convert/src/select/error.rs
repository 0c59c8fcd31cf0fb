//! Why a list of pairs or of splits cannot be used.

/// Why a list of pairs or of splits cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// It is not of a shape that is read.
    #[error("{path} cannot be used as a list: {what}")]
    List {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// A row of it cannot be used.
    #[error("{path}, row {row}: {what}")]
    Row {
        /// The file.
        path: String,
        /// The row, from 1; a header is none.
        row: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Distances that hashes are not searched by.
    #[error(transparent)]
    Distance(#[from] diptych_pixels::near::DistanceError),
}
