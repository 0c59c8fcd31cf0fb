//! What the judge said of an edit, as text or as numbers.
//!
//! Beside a sample lies `judge_2scores.json` or `judge.json`; `all_dataset_gpt_score.json` has the
//! same for most folders of the release in one object ([`ScoreFile`]). The judge is a language
//! model that was asked for lines such as `Visual Naturalness: 4` and writes them in its own way
//! at times.

mod file;
mod words;

use diptych_schema::{EditPair, Label, Score};
use serde_json::{Map, Value};

pub(crate) use file::ScoreFile;
use words::Line;

use super::Context;

/// Levels of lists and objects in which scores are looked for.
const DEPTH: usize = 4;
/// Scores of one edit.
const SCORES: usize = 32;
/// The name of the mean.
const AVERAGE: &str = "average";

/// What the judge said.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Judged {
    /// Names without `gpt.`, and the numbers given.
    scores: Vec<(String, f64)>,
    /// What is said in words for an average.
    average: Option<f64>,
    /// Whether the objects of the edit are those that were asked for.
    objects_match: Option<bool>,
}

/// Reads a judge's file; `None` where it says nothing of this kind.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Judged>, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut judged = Judged::default();
    judged.value(&value, DEPTH);
    let says = !judged.scores.is_empty() || judged.average.is_some();
    Ok(says.then_some(judged))
}

/// Adds to a pair what the judge said of it, or of its session.
pub(super) fn add(pair: &mut EditPair, context: &Context<'_>, judged: Judged) {
    let average = judged.average.or_else(|| judged.mean());
    let named = judged.scores.into_iter().chain(average.map(|mean| (AVERAGE.to_owned(), mean)));
    let score = |(name, value)| Score { name: format!("gpt.{name}"), value };
    pair.scores.extend(named.map(score));
    let mut label = |name: &str, value: &str| {
        pair.labels.push(Label { name: name.to_owned(), value: value.to_owned() });
    };
    if let Some(matches) = judged.objects_match {
        label("objects_match", if matches { "true" } else { "false" });
    }
    // A folder is judged as a whole, and holds all turns of its session.
    if context.turn.is_some() {
        label("score_scope", "session");
    }
}

impl Judged {
    fn mean(&self) -> Option<f64> {
        let count = u32::try_from(self.scores.len()).ok().filter(|count| *count > 0)?;
        Some(self.scores.iter().map(|(_, value)| value).sum::<f64>() / f64::from(count))
    }

    fn score(&mut self, name: String, value: f64) {
        if name == AVERAGE {
            self.average.get_or_insert(value);
        } else if self.scores.len() < SCORES && self.scores.iter().all(|(had, _)| *had != name) {
            self.scores.push((name, value));
        }
    }

    /// Takes what a value says, whatever its kind.
    fn value(&mut self, value: &Value, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match value {
            Value::Number(number) => self.average = self.average.or(number.as_f64()),
            Value::String(text) => self.text(text, depth),
            Value::Array(items) => match items.as_slice() {
                [one] => self.value(one, depth),
                several => self.numbers(several),
            },
            Value::Object(fields) => self.fields(fields, depth),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// A list is taken where it holds numbers and nothing else: they are scores in order.
    fn numbers(&mut self, items: &[Value]) {
        let numbers: Option<Vec<f64>> = items.iter().map(Value::as_f64).collect();
        for (number, value) in (1..).zip(numbers.into_iter().flatten()) {
            self.score(format!("score_{number}"), value);
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, depth: usize) {
        if let Some(inner) = fields.get("score").or_else(|| fields.get("scores")) {
            return self.value(inner, depth);
        }
        for (key, value) in fields {
            let stated = match value {
                Value::String(text) => words::alone(text),
                other => super::result::number(other),
            };
            if let (Some(name), Some(value)) = (words::snake(key), stated) {
                self.score(name, value);
            }
        }
    }

    fn text(&mut self, text: &str, depth: usize) {
        if let Some(value) = words::alone(text) {
            self.average.get_or_insert(value);
            return;
        }
        // Some judges answer in JSON, in a fence or bare.
        let trimmed = text.trim().trim_start_matches("```json").trim_matches('`').trim();
        if trimmed.starts_with('{')
            && let Ok(value) = serde_json::from_str(trimmed)
        {
            return self.value(&value, depth);
        }
        for line in text.lines() {
            match words::line(line) {
                Some(Line::Score(name, value)) => self.score(name, value),
                Some(Line::ObjectsMatch(matches)) => {
                    self.objects_match.get_or_insert(matches);
                }
                None => {}
            }
        }
    }
}
