//! Pairs from rows that somebody else laid out: fields by a small map from columns to names.
//!
//! A row is fields of text and numbers (a JSON object) and pictures that have names. A
//! [`ColumnMap`] says which name is which column of a pair. It comes from an option's text
//! ([`ColumnMap::parse`]), or it is one of the layouts that are known ([`known`]), which are told
//! by the names of the fields together with what the fields hold: `edited_prompt` is text in one
//! set and a picture in another, so a name alone says nothing.
//!
//! What no column is made of is lost all the same: it stays in `native`, as it was.

pub mod known;
mod row;

use diptych_schema::{EditTypes, Edited, Split, vocabulary};
use diptych_storage::text::printable;

use self::known::{Known, Shapes};
use crate::options::{OptionError, OptionKind, OptionSpec, Options, Used};
use crate::{Notice, Place};
pub use row::{ForeignRow, Roles, RowFault};

vocabulary! {
    /// What a field is taken for. Several fields may be given for one column: of those the first
    /// that is there counts, but for references and variants, of which all do.
    pub Column {
        /// What tells the row from all others of the dataset.
        Id = "id",
        /// The picture before. Of a list of pictures the first; the others are references.
        Source = "source",
        /// A further input picture: by this name, and by this name with a number behind it.
        Reference = "reference",
        /// The picture after.
        Target = "target",
        /// The mask: bright is edited.
        Mask = "mask",
        /// The mask: dark is edited.
        BlackMask = "mask_black",
        /// The mask: what is not zero is edited.
        NonzeroMask = "mask_nonzero",
        /// The mask: painted in pure white over a photograph.
        PaintedMask = "mask_painted",
        /// What was asked for. Of a list of texts the first; the others are variants.
        Instruction = "instruction",
        /// Further wordings of it.
        Variant = "variant",
        /// What leads from the picture after to the one before: makes a pair of its own.
        Inverse = "inverse",
        /// The language of the instruction.
        Language = "language",
        /// A description of the picture before.
        SourceCaption = "source_caption",
        /// A description of the picture after.
        TargetCaption = "target_caption",
        /// The kind of edit.
        EditType = "edit_type",
        /// The model that made the edit.
        Editor = "editor",
        /// What the pair is for.
        Split = "split",
        /// The conversation that the pair belongs to.
        Session = "session",
        /// The pair's place in it, from 0.
        Turn = "turn",
        /// The pair's place in it, from 1.
        TurnFrom1 = "turn_from_1",
    }
}

impl Column {
    /// Which value of a mask in this column means "edited"; `None` where it holds no mask.
    #[must_use]
    pub fn edited(self) -> Option<Edited> {
        match self {
            Self::Mask => Some(Edited::White),
            Self::BlackMask => Some(Edited::Black),
            Self::NonzeroMask => Some(Edited::Nonzero),
            Self::PaintedMask => Some(Edited::Painted),
            _ => None,
        }
    }

    /// Whether it is made of a picture.
    #[must_use]
    pub fn is_picture(self) -> bool {
        matches!(self, Self::Source | Self::Reference | Self::Target) || self.edited().is_some()
    }
}

/// The option of a format that reads foreign rows.
pub const MAP: OptionSpec = OptionSpec {
    key: "map",
    kind: OptionKind::Text,
    default: "",
    help: "what the fields of a foreign release are, as `COLUMN:NAME,...`, or the name of a \
           known layout; told by the fields where it is not given",
    used: Used::Reading,
};

/// Which fields of a row are which columns of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMap {
    /// The dataset's name in pairs and their ids, where it is known; else it is the format's.
    pub dataset: Option<String>,
    /// Columns and the fields that are taken for them.
    pub fields: Vec<(Column, String)>,
    /// The words that the set has for kinds of edit, and the shared word for each.
    pub edit_types: EditTypes,
}

/// Why a map cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// A part of it is no assignment, and the whole no name of a known layout.
    #[error("`{}` is neither COLUMN:NAME nor a known layout ({known})", printable(found.as_bytes()))]
    Form {
        /// The part.
        found: String,
        /// The names of layouts that are known.
        known: String,
    },
    /// There is no such column.
    #[error("there is no column `{}` to map to: there are {known}", printable(found.as_bytes()))]
    Column {
        /// What was given for one.
        found: String,
        /// The columns that there are.
        known: String,
    },
    /// A field is the picture before and the picture after.
    #[error("it names `{}` for source and for target", printable(field.as_bytes()))]
    SourceIsTarget {
        /// The field.
        field: String,
    },
    /// A picture without which there is no pair is not named.
    #[error("it names no field for {missing}")]
    Missing {
        /// The column.
        missing: Column,
    },
}

/// What a first look at a release found of whose rows it has.
#[derive(Debug)]
pub struct Seen {
    /// Whether they have the record that this program writes.
    pub is_ours: bool,
    /// Where they had it once: what became of it, and what to do.
    pub lost: Option<String>,
    /// The layout that is known to have such rows.
    pub known: Option<&'static Known>,
}

impl ColumnMap {
    /// The map by which rows are read: the one that was given, else that of the layout they are
    /// known to be of; `None` where they have records, which need none.
    ///
    /// # Errors
    /// What is wrong with a release of which nothing says what its fields are. Of rows that had
    /// records nothing is guessed, and `unknown` tells of others.
    pub fn of_release(
        given: Option<Self>,
        seen: Seen,
        unknown: impl FnOnce() -> String,
    ) -> Result<Option<Self>, String> {
        match (given, seen) {
            (Some(given), _) => Ok(Some(given)),
            (None, Seen { is_ours: true, .. }) => Ok(None),
            (None, Seen { lost: Some(lost), .. }) => Err(lost),
            (None, Seen { known: Some(known), .. }) => Ok(Some(known.map())),
            (None, _) => Err(unknown()),
        }
    }

    /// The map that a format's user gave ([`MAP`]); `None` where the fields are to tell it.
    ///
    /// # Errors
    /// [`OptionError::Value`] where it is none.
    pub fn given(format: &'static str, options: &Options) -> Result<Option<Self>, OptionError> {
        let text = options.get(MAP.key);
        if text.is_empty() {
            return Ok(None);
        }
        let map = Self::parse(text).map_err(|error| OptionError::Value {
            format,
            key: MAP.key,
            expected: format!("a map of columns ({error})"),
            found: text.to_owned(),
        });
        map.map(Some)
    }

    /// Reads `COLUMN:NAME,COLUMN:NAME,...`, or the name of a known layout.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn parse(text: &str) -> Result<Self, MapError> {
        let words = |words: Vec<&str>| words.join(", ");
        if let Some(known) = known::ALL.iter().find(|known| known.dataset == Some(text)) {
            return Ok(known.map());
        }
        let mut fields = Vec::new();
        for part in text.split(',').map(str::trim) {
            let assigned = part.split_once(':');
            let (column, name) = assigned
                .map(|(column, name)| (column.trim(), name.trim()))
                .filter(|(column, name)| !column.is_empty() && !name.is_empty())
                .ok_or_else(|| MapError::Form {
                    found: part.to_owned(),
                    known: words(known::ALL.iter().filter_map(|known| known.dataset).collect()),
                })?;
            let column = Column::from_word(column).ok_or_else(|| MapError::Column {
                found: column.to_owned(),
                known: words(Column::ALL.iter().map(|column| column.word()).collect()),
            })?;
            fields.push((column, name.to_owned()));
        }
        let map = Self { dataset: None, fields, edit_types: &[] };
        for needed in [Column::Source, Column::Target] {
            if map.names(needed).next().is_none() {
                return Err(MapError::Missing { missing: needed });
            }
        }
        let is_target = |of: &&str| map.names(Column::Target).any(|name| name == *of);
        if let Some(field) = map.names(Column::Source).find(is_target) {
            return Err(MapError::SourceIsTarget { field: field.to_owned() });
        }
        Ok(map)
    }

    /// The fields that are taken for a column.
    pub fn names(&self, column: Column) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(of, _)| *of == column).map(|(_, name)| name.as_str())
    }

    /// What is to be known of a map that was given, where the rows that were looked at have other
    /// fields: a name that is not there would cost the values of a column in silence.
    #[must_use]
    pub fn unmet(&self, shapes: &Shapes, label: &str) -> Option<Notice> {
        let is_there = |column: Column, name: &str| {
            let is_numbered = |of: &String| {
                let rest = of.strip_prefix(name);
                rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
            };
            match column {
                Column::Reference => shapes.keys().any(is_numbered),
                _ => shapes.contains_key(name),
            }
        };
        let unmet = |column: &Column| {
            let mut names = self.names(*column).peekable();
            names.peek().is_some() && !names.any(|name| is_there(*column, name))
        };
        let named = |column: Column| {
            let names: Vec<_> = self.names(column).collect();
            format!("`{}` for {column}", names.join("` or `"))
        };
        let unmet: Vec<_> = Column::ALL.iter().copied().filter(unmet).map(named).collect();
        if unmet.is_empty() || shapes.is_empty() {
            return None;
        }
        let there: Vec<_> = shapes.keys().map(String::as_str).collect();
        let detail = format!(
            "the map names {}, and no row that was looked at has it; there are {}",
            printable(unmet.join(", ").as_bytes()),
            printable(there.join(", ").as_bytes())
        );
        let at = Place { source: label.to_owned(), ..Place::default() };
        Some(Notice { kind: "unmet_map".to_owned(), at, detail })
    }

    /// Whether a picture of this name is taken for something.
    #[must_use]
    pub fn takes_picture(&self, name: &str) -> bool {
        self.fields.iter().any(|(column, of)| {
            let rest = name.strip_prefix(of.as_str());
            match column {
                Column::Reference => {
                    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
                }
                column => column.is_picture() && rest == Some(""),
            }
        })
    }
}

/// The split that a release's word for one means.
#[must_use]
pub fn split_of(word: &str) -> Option<Split> {
    match word.to_ascii_lowercase().as_str() {
        "training" => Some(Split::Train),
        "valid" | "validation" | "dev" => Some(Split::Val),
        "testing" => Some(Split::Test),
        word => Split::from_word(word),
    }
}

#[cfg(test)]
mod tests {
    use super::known::Shape;
    use super::*;

    #[test]
    fn a_map_is_read_from_text() {
        let text = "source:input_image, target:edited_image,instruction:edit_prompt,mask_black:m";
        let map = ColumnMap::parse(text).unwrap();
        let fields: Vec<_> = map.fields.iter().map(|(c, name)| (*c, name.as_str())).collect();
        assert_eq!(
            fields,
            [
                (Column::Source, "input_image"),
                (Column::Target, "edited_image"),
                (Column::Instruction, "edit_prompt"),
                (Column::BlackMask, "m"),
            ]
        );
        assert_eq!(map.dataset, None);
        // Only the first colon divides.
        let map = ColumnMap::parse("source:a:b,target:c").unwrap();
        assert_eq!(map.names(Column::Source).collect::<Vec<_>>(), ["a:b"]);
        let known = ColumnMap::parse("magicbrush").unwrap();
        assert_eq!(known.dataset.as_deref(), Some("magicbrush"));
    }

    #[test]
    fn what_is_no_map_says_why() {
        let message = |text| ColumnMap::parse(text).unwrap_err().to_string();
        assert!(message("magicbrsh").starts_with("`magicbrsh` is neither COLUMN:NAME nor a known"));
        assert!(message("source:a,,target:b").starts_with("`` is neither"));
        assert!(message("source:").starts_with("`source:` is neither"));
        let wrong = message("sources:a");
        assert!(wrong.starts_with("there is no column `sources` to map to: there are id, source"));
        assert_eq!(message("source:a,instruction:b"), "it names no field for target");
        assert_eq!(message("target:a"), "it names no field for source");
        assert_eq!(message("source:a,target:a"), "it names `a` for source and for target");
    }

    #[test]
    fn what_was_given_goes_first_and_nothing_is_guessed_of_lost_records() {
        let given = || ColumnMap::parse("source:a,target:b").ok();
        let known = known::ALL.first();
        let seen = |is_ours, lost: bool, known| {
            let lost = lost.then(|| "lost".to_owned());
            Seen { is_ours, lost, known }
        };
        let map = |given, seen| ColumnMap::of_release(given, seen, || "unknown".to_owned());
        assert_eq!(map(given(), seen(true, true, known)), Ok(given()));
        assert_eq!(map(None, seen(true, true, known)), Ok(None));
        assert_eq!(map(None, seen(false, true, known)), Err("lost".to_owned()));
        assert_eq!(map(None, seen(false, false, known)), Ok(known.map(Known::map)));
        assert_eq!(map(None, seen(false, false, None)), Err("unknown".to_owned()));
    }

    #[test]
    fn names_that_no_row_has_are_told_of() {
        let text = "source:a,target:b,instruction:t,instruction:u,reference:r,language:Lang";
        let map = ColumnMap::parse(text).unwrap();
        let unmet = |names: &[&str]| {
            let shapes = names.iter().map(|name| ((*name).to_owned(), Shape::Text)).collect();
            map.unmet(&shapes, "x").map(|notice| notice.detail)
        };
        assert_eq!(unmet(&["a", "b", "u", "r1", "Lang"]), None);
        assert_eq!(unmet(&[]), None);
        let said = "the map names `t` or `u` for instruction, `Lang` for language, and no row \
                    that was looked at has it; there are a, b, lang, r";
        assert_eq!(unmet(&["a", "b", "r", "lang"]), Some(said.to_owned()));
    }

    #[test]
    fn pictures_are_taken_by_their_names() {
        let map = ColumnMap::parse("source:a,target:b,reference:r,mask:m,instruction:t").unwrap();
        for name in ["a", "b", "m", "r", "r0", "r12"] {
            assert!(map.takes_picture(name), "{name}");
        }
        for name in ["t", "a0", "rx", "", "r1x"] {
            assert!(!map.takes_picture(name), "{name}");
        }
    }

    #[test]
    fn splits_go_by_many_words() {
        assert_eq!(split_of("dev"), Some(Split::Val));
        assert_eq!(split_of("Validation"), Some(Split::Val));
        assert_eq!(split_of("TRAIN"), Some(Split::Train));
        assert_eq!(split_of("testing"), Some(Split::Test));
        assert_eq!(split_of("RegionBase"), None);
    }
}
