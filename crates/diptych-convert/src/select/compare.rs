//! What pictures have in common: what is excluded, splits, duplicates.
use super::choose::Steps;
use crate::error::EngineError;
impl Steps<'_> {
    pub(super) fn compare_pictures(&mut self) -> Result<(), EngineError> { Ok(()) }
    pub(super) fn write_decisions(&mut self, _at: &str, _ids: &[Vec<String>]) -> Result<(), EngineError> { Ok(()) }
}
