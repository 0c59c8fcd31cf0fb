//! What columns are called: as in the record, or as a training script expects them.

use std::collections::{BTreeMap, BTreeSet};

use diptych_format::options::OptionError;
use diptych_format::{FormatError, Options};

use crate::{NAME, PRESET, RENAME};

/// No preset.
pub(crate) const NO_PRESET: &str = "none";

/// The presets, by their words.
pub(crate) const PRESETS: &[&str] = &[NO_PRESET, "ip2p", "kontext", "control"];

/// The names that columns have with a preset.
fn preset(word: &str) -> &'static [(&'static str, &'static str)] {
    match word {
        "ip2p" => {
            &[("source", "input_image"), ("target", "edited_image"), ("instruction", "edit_prompt")]
        }
        "kontext" => &[("source", "cond_image"), ("target", "image"), ("instruction", "caption")],
        "control" => {
            &[("source", "conditioning_image"), ("target", "image"), ("instruction", "text")]
        }
        _ => &[],
    }
}

/// The columns that are called otherwise than in the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// Those that the options ask for; `columns` are all there are. What is renamed by hand goes
    /// before what a preset says of the same column.
    ///
    /// # Errors
    /// [`FormatError::Option`] where a column is not there, or two would be called the same.
    pub(crate) fn of(options: &Options, columns: &[&str]) -> Result<Self, FormatError> {
        let preset = preset(options.get(PRESET)).iter().copied();
        let given = options.get(RENAME);
        let wrong = |expected: &str| OptionError::Value {
            format: NAME,
            key: RENAME,
            expected: expected.to_owned(),
            found: given.to_owned(),
        };
        let mut names: BTreeMap<String, String> =
            preset.map(|(column, name)| (column.to_owned(), name.to_owned())).collect();
        for one in given.split(',').filter(|one| !one.trim().is_empty()) {
            let form =
                "columns and their new names, such as source=input_image,target=edited_image";
            let (column, name) = one.split_once('=').ok_or_else(|| wrong(form))?;
            let (column, name) = (column.trim(), name.trim());
            if name.is_empty() || name.contains(char::is_control) {
                return Err(wrong(form).into());
            }
            if !columns.contains(&column) {
                return Err(wrong(&format!("columns of the record, and `{column}` is none")).into());
            }
            names.insert(column.to_owned(), name.to_owned());
        }
        names.retain(|column, name| column != name);
        let names = Self(names);
        let mut taken = BTreeSet::new();
        match columns.iter().map(|column| names.name(column)).find(|name| !taken.insert(*name)) {
            Some(twice) => {
                Err(wrong(&format!("a name for each column, and two would be `{twice}`")).into())
            }
            None => Ok(names),
        }
    }

    /// What a column of the record is called.
    pub(crate) fn name<'a>(&'a self, column: &'a str) -> &'a str {
        self.0.get(column).map_or(column, String::as_str)
    }

    /// Columns of the record and what they are called instead.
    pub(crate) fn renamed(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_format::Used;
    use diptych_format::options::Assignment;

    const COLUMNS: &[&str] = &["instruction", "source", "target", "mask"];

    fn names(given: &[&str]) -> Result<Names, String> {
        let given: Vec<_> = given.iter().map(|given| Assignment::parse(given).unwrap()).collect();
        let options = Options::new(NAME, crate::ABOUT.options, &given, Used::Writing).unwrap();
        Names::of(&options, COLUMNS).map_err(|error| error.to_string())
    }

    #[test]
    fn presets_are_named_as_the_scripts_have_it() {
        let all = |given: &str| {
            let names = names(&[given]).unwrap();
            COLUMNS.iter().map(|column| names.name(column).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(all("parquet.preset=none"), COLUMNS);
        assert_eq!(
            all("parquet.preset=ip2p"),
            ["edit_prompt", "input_image", "edited_image", "mask"]
        );
        assert_eq!(all("parquet.preset=kontext"), ["caption", "cond_image", "image", "mask"]);
        assert_eq!(all("parquet.preset=control"), ["text", "conditioning_image", "image", "mask"]);
        assert!(PRESETS.iter().skip(1).all(|word| preset(word).len() == 3));
    }

    #[test]
    fn a_name_given_goes_before_that_of_a_preset() {
        let given =
            ["parquet.preset=ip2p", "parquet.rename=source=before, mask=region,target=target"];
        let names = names(&given).unwrap();
        let all: Vec<_> = names.renamed().iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(all, [("instruction", "edit_prompt"), ("mask", "region"), ("source", "before")]);
        // Two may change their places.
        assert!(self::names(&["parquet.rename=source=target,target=source"]).is_ok());
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        let message = |given: &str| names(&[&format!("parquet.rename={given}")]).unwrap_err();
        let form = "parquet.rename takes columns and their new names, such as \
                    source=input_image,target=edited_image, not ";
        assert_eq!(message("source"), format!("{form}`source`"));
        assert_eq!(message("source="), format!("{form}`source=`"));
        assert_eq!(
            message("pictures=x"),
            "parquet.rename takes columns of the record, and `pictures` is none, not `pictures=x`"
        );
        for twice in ["source=target", "source=x,target=x"] {
            assert!(message(twice).contains("a name for each column, and two would be"), "{twice}");
        }
    }
}
