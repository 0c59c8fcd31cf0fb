//! The split file: which images are for what, by the stricter word where pairs disagree.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use diptych_schema::Split;
use serde_json::Value;

use super::unit_row::UnitRow;

/// The file where the pairs do not come from one.
const FILE: &str = "splits/split.json";

/// The images of an output, by subset folder.
#[derive(Default)]
pub(crate) struct Images {
    /// Subset folders, in the order in which they come.
    subsets: Vec<Subset>,
    /// The split files that rows come from, with the seed that each names.
    files: BTreeSet<Option<(String, Option<String>)>>,
}

struct Subset {
    folder: String,
    /// Ids as they are written, with the split; in the order in which they come.
    images: Vec<(String, Split)>,
    numbers: HashMap<String, usize>,
}

impl Images {
    /// Takes the splits of a row's pairs, as the pairs say them.
    pub(crate) fn take(&mut self, row: &UnitRow) {
        let place = self.subsets.iter().position(|subset| subset.folder == row.subset);
        let place = place.unwrap_or_else(|| {
            let (folder, images) = (row.subset.clone(), Vec::new());
            self.subsets.push(Subset { folder, images, numbers: HashMap::new() });
            self.subsets.len() - 1
        });
        let strictest = row.sides().filter_map(|(_, side)| side.split).map(|split| split.0).max();
        let (Some(subset), Some(split)) = (self.subsets.get_mut(place), strictest) else { return };
        self.files.insert(row.split_entry.as_ref().map(|entry| {
            (entry.file.clone(), entry.seed.as_ref().map(|seed| seed.get().to_owned()))
        }));
        match subset.numbers.get(written_id(row)) {
            Some(number) => {
                if let Some((_, was)) = subset.images.get_mut(*number) {
                    // Splits are in the order of their strictness.
                    *was = (*was).max(split);
                }
            }
            None => {
                let id = written_id(row).to_owned();
                subset.numbers.insert(id.clone(), subset.images.len());
                subset.images.push((id, split));
            }
        }
    }

    /// The split of an image's pairs.
    pub(crate) fn split_of(&self, row: &UnitRow) -> Option<Split> {
        let subset = self.subsets.iter().find(|subset| subset.folder == row.subset)?;
        let number = subset.numbers.get(written_id(row))?;
        subset.images.get(*number).map(|(_, split)| *split)
    }

    /// The split file: its name, and what is in it.
    pub(crate) fn file(&self, final_name: impl Fn(&str) -> String) -> (String, String) {
        let mut files = self.files.iter();
        let (name, seed) = match (files.next(), files.next()) {
            // All come from one file of a name that may stand here.
            (Some(Some((file, seed))), None) => (named(file), seed.clone()),
            _ => (FILE.to_owned(), None),
        };
        let mut text = String::from("{\n");
        if let Some(seed) = seed {
            let _ = write!(text, " \"seed\": {seed}");
            text.push_str(if self.subsets.is_empty() { "\n" } else { ",\n" });
        }
        for (i, subset) in self.subsets.iter().enumerate() {
            let folder = Value::from(final_name(&subset.folder));
            let _ = writeln!(text, " {folder}: {{");
            for (j, split) in Split::ALL.iter().enumerate() {
                let ids = subset.images.iter().filter(|(_, of)| of == split);
                let ids: Vec<_> = ids.map(|(id, _)| Value::from(id.as_str())).collect();
                let comma = if j + 1 < Split::ALL.len() { "," } else { "" };
                let _ = writeln!(text, "  \"{split}\": {}{comma}", Value::from(ids));
            }
            text.push_str(if i + 1 < self.subsets.len() { " },\n" } else { " }\n" });
        }
        text.push_str("}\n");
        (name, text)
    }
}

/// What an image is called in the split file: as in the one that the row came with, else as in
/// the row. Rows may write one id as `139` and as `000000000139`.
fn written_id(row: &UnitRow) -> &str {
    row.split_entry.as_ref().map_or(&row.image_id, |entry| &entry.id)
}

/// The published name of a split file, where it may stand here.
fn named(file: &str) -> String {
    let name = super::names::base_name(file);
    let ends_so = std::path::Path::new(name).extension().is_some_and(|e| e == "json");
    if super::names::is_safe(name) && ends_so { format!("splits/{name}") } else { FILE.to_owned() }
}
