//! x
use crate::plan::id_digest;
pub(crate) fn session(dataset: &str, session: &str) -> u128 { id_digest(&format!("session:{dataset}:{session}")) }
pub(crate) fn group(dataset: &str, group: &str) -> u128 { id_digest(&format!("group:{dataset}:{group}")) }
