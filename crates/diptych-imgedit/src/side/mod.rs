//! What stands beside the pictures of a sample's folder, and what is said of it elsewhere.
//!
//! - `result`: `result.json`: the objects, what was done to them, and where.
//! - `scores`: the words and numbers of the judges, folder by folder or in the one large file.
//! - `recap`: the captions and segmented objects of the photographs.
//! - `scan`: large JSON walked over without being held.
//!
//! None of it makes or breaks a pair. What cannot be read is told and left out.

pub(crate) mod recap;
mod result;
mod scan;
pub(crate) mod scores;
#[cfg(test)]
mod tests;

use std::fmt;

use diptych_schema::EditPair;

use crate::groups::Task;

/// The sample's own record.
pub(crate) const RESULT: &str = "result.json";
/// The judge's words, where they are older.
pub(crate) const JUDGE: &str = "judge.json";
/// The judge's words.
pub(crate) const JUDGE_TWO: &str = "judge_2scores.json";
/// All of the judge's words in one file.
pub(crate) const SCORES: &str = "all_dataset_gpt_score.json";
/// A record of a photograph.
const RECAP: &str = "the record of the photograph";

/// Which pair things stand beside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// What was asked of the group's editors.
    pub(crate) task: Task,
    /// The pair's place among the edits of its session.
    pub(crate) turn: Option<u16>,
    /// Edits of the session, those without pictures too; 1 for a pair that is in none.
    pub(crate) turns: u16,
    /// The name of the sample's folder.
    pub(crate) sample: &'a str,
}

impl Context<'_> {
    /// What recaptions call the photograph that the sample was made of: what `result.json` says,
    /// or else what the folder's name says.
    pub(crate) fn photograph(&self, result: Option<&[u8]>) -> Option<String> {
        let stated = result.and_then(|bytes| result::parse(bytes).ok()?.photograph);
        stated.or_else(|| recap::photograph(self.sample))
    }
}

/// The bytes of what stands beside a pair, as far as it is there.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// [`RESULT`]; of a hybrid sample `result_fixed.json` where it has one.
    pub(crate) result: Option<&'a [u8]>,
    /// [`JUDGE`].
    pub(crate) judge: Option<&'a [u8]>,
    /// [`JUDGE_TWO`].
    pub(crate) judge_two: Option<&'a [u8]>,
    /// What [`SCORES`] has for the folder.
    pub(crate) score: Option<&'a [u8]>,
    /// The record of the photograph.
    pub(crate) recap: Option<&'a [u8]>,
}

/// Why something that is there is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SideFault {
    /// What it is.
    pub(crate) file: String,
    /// What is wrong: a fragment without a period.
    pub(crate) cause: String,
}

impl SideFault {
    fn new(file: &str, cause: impl fmt::Display) -> Self {
        Self { file: file.to_owned(), cause: cause.to_string() }
    }
}

/// Adds to a pair what stands beside it, and tells what of it cannot be read.
pub(crate) fn add(
    pair: &mut EditPair,
    context: &Context<'_>,
    beside: &Beside<'_>,
) -> Vec<SideFault> {
    let mut faults = Vec::new();
    let stated = beside.result.and_then(|bytes| {
        result::parse(bytes).map_err(|cause| faults.push(SideFault::new(RESULT, cause))).ok()
    });
    if let Some(stated) = &stated {
        result::add(pair, context, stated);
    }
    if let Some(bytes) = beside.recap {
        match recap::parse(bytes) {
            Ok(record) => {
                let frame = stated.as_ref().and_then(|stated| stated.frame);
                recap::add(pair, context, record, frame);
            }
            Err(cause) => faults.push(SideFault::new(RECAP, cause)),
        }
    }
    let said = [(JUDGE_TWO, beside.judge_two), (JUDGE, beside.judge), (SCORES, beside.score)];
    let mut judged = None;
    for (file, bytes) in said {
        let Some(bytes) = bytes else { continue };
        match scores::parse(bytes) {
            // The first that says something counts; the others repeat it, or are older.
            Ok(found) if judged.is_none() => judged = found,
            Ok(_) => {}
            Err(cause) => faults.push(SideFault::new(file, cause)),
        }
    }
    if let Some(judged) = judged {
        scores::add(pair, context, judged);
    }
    pair.scores.sort_by(|a, b| a.name.cmp(&b.name));
    pair.labels.sort_by(|a, b| a.name.cmp(&b.name));
    faults
}
