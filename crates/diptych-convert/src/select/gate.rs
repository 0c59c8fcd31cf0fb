//! Pairs as they are read, and whether conditions hold for them.

use diptych_condition::Condition;
use diptych_schema::EditPair;
use diptych_schema::arrow::encode;

use crate::error::EngineError;
use crate::work::damaged;

/// Pairs that are asked together.
const HELD: usize = 512;

/// Holds pairs until there are enough of them to ask whether conditions hold.
pub(crate) struct Gate<'a> {
    conditions: &'a [&'a Condition],
    held: Vec<EditPair>,
}

impl<'a> Gate<'a> {
    pub(crate) fn new(conditions: &'a [&'a Condition]) -> Self {
        Self { conditions, held: Vec::new() }
    }

    /// Takes a pair, and lets those through that were asked: each with the answer, in their order.
    pub(crate) fn push(
        &mut self,
        pair: EditPair,
        take: &mut dyn FnMut(EditPair, bool),
    ) -> Result<(), EngineError> {
        if self.conditions.is_empty() {
            take(pair, true);
            return Ok(());
        }
        self.held.push(pair);
        if self.held.len() < HELD { Ok(()) } else { self.end(take) }
    }

    /// Lets all through that are left.
    pub(crate) fn end(&mut self, take: &mut dyn FnMut(EditPair, bool)) -> Result<(), EngineError> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return Ok(());
        }
        let batch = encode(&held).map_err(|error| damaged("pairs", error))?;
        let mut holds = vec![true; held.len()];
        for condition in self.conditions {
            let answers = super::holds(condition, &batch)?;
            for (holds, answer) in holds.iter_mut().zip(&answers) {
                *holds &= answer == Some(true);
            }
        }
        held.into_iter().zip(holds).for_each(|(pair, holds)| take(pair, holds));
        Ok(())
    }
}
