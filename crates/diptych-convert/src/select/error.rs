//! x
/// x
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct SelectError;
