//! A row and its pictures into pairs.

use diptych_schema::text::language_of;
use diptych_schema::{
    Caption, Combine, EditPair, Edited, Grid, InstructionVariant, Label, Mask, MaskOrigin,
    MaskPart, Picture, Reference, Split, edit_type,
};
use diptych_storage::text::printable;
use serde_json::{Map, Value};

use super::{Column, ColumnMap, split_of};

/// A row without its pictures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignRow {
    /// The dataset's name where the map does not know it: the format's.
    pub dataset: String,
    /// What tells it from all other rows where no column does: where it stands.
    pub place: String,
    /// A named part of the release.
    pub subset: Option<String>,
    /// The split of the file that it stands in, where that is said.
    pub split: Option<Split>,
    /// Its fields.
    pub fields: Map<String, Value>,
    /// All of it, as a JSON object of `row` and what stands beside it.
    pub native: Option<String>,
}

/// Which of a row's pictures is which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles<T> {
    /// The picture before.
    pub source: T,
    /// Further input pictures.
    pub references: Vec<T>,
    /// The picture after.
    pub target: T,
    /// The mask, and which value of it means "edited".
    pub mask: Option<(T, Edited)>,
}

impl<T> Roles<T> {
    /// The same of what each is made into.
    ///
    /// # Errors
    /// The first of `make`.
    pub fn map<U, E>(self, mut make: impl FnMut(T) -> Result<U, E>) -> Result<Roles<U>, E> {
        Ok(Roles {
            source: make(self.source)?,
            references: self.references.into_iter().map(&mut make).collect::<Result<_, _>>()?,
            target: make(self.target)?,
            mask: self.mask.map(|(mask, edited)| Ok((make(mask)?, edited))).transpose()?,
        })
    }
}

/// Why no pair can be made of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFault {
    /// The kind of the rejection.
    pub kind: &'static str,
    /// What is wrong: a fragment without a period.
    pub cause: String,
}

impl ColumnMap {
    /// Which of a row's pictures is which. `take` gives those of a name: none, one, or those of a
    /// list.
    ///
    /// # Errors
    /// [`RowFault`] where there is no source or no target, or a list where one picture is meant.
    pub fn roles<T>(&self, mut take: impl FnMut(&str) -> Vec<T>) -> Result<Roles<T>, RowFault> {
        let mut first = |column: Column| {
            self.names(column).map(&mut take).find(|found| !found.is_empty()).unwrap_or_default()
        };
        let mut sources = first(Column::Source).into_iter();
        let (target, masks) = (
            first(Column::Target),
            Column::ALL.iter().filter_map(|column| Some((*column, column.edited()?))),
        );
        let source = sources.next().ok_or_else(|| self.absent(Column::Source))?;
        let target =
            self.only(Column::Target, target)?.ok_or_else(|| self.absent(Column::Target))?;
        let mut mask = None;
        for (column, edited) in masks {
            let found = self.only(column, first(column))?;
            mask = mask.or(found.map(|found| (found, edited)));
        }
        let mut references: Vec<T> = sources.collect();
        for name in self.names(Column::Reference) {
            references.extend(take(name));
            // Numbered from 0 or from 1.
            references.extend(take(&format!("{name}0")));
            for number in 1_u32.. {
                let found = take(&format!("{name}{number}"));
                if found.is_empty() {
                    break;
                }
                references.extend(found);
            }
        }
        Ok(Roles { source, references, target, mask })
    }

    fn only<T>(&self, column: Column, mut found: Vec<T>) -> Result<Option<T>, RowFault> {
        match found.len() {
            0 | 1 => Ok(found.pop()),
            count => Err(RowFault {
                kind: "several_pictures",
                cause: format!("{count} pictures for {column}, where one is meant"),
            }),
        }
    }

    fn absent(&self, column: Column) -> RowFault {
        let names: Vec<_> = self.names(column).map(|name| printable(name.as_bytes())).collect();
        RowFault {
            kind: "missing_picture",
            cause: format!("no {column}: there is no picture {}", names.join(" or ")),
        }
    }

    /// The first value of a column that is no null.
    fn value<'r>(&self, row: &'r ForeignRow, column: Column) -> Option<(&str, &'r Value)> {
        let mut values = self.names(column).filter_map(|name| {
            let value = row.fields.get(name).filter(|value| !value.is_null())?;
            Some((name, value))
        });
        values.next()
    }

    /// The first text of a column that is not empty.
    fn text<'r>(&self, row: &'r ForeignRow, column: Column) -> Option<&'r str> {
        let texts = self.names(column).filter_map(|name| row.fields.get(name)?.as_str());
        texts.into_iter().find(|text| !text.is_empty())
    }

    /// The text of a column, or a number in its place.
    fn word(&self, row: &ForeignRow, column: Column) -> Option<String> {
        match self.value(row, column)?.1 {
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn dataset<'a>(&'a self, row: &'a ForeignRow) -> &'a str {
        self.dataset.as_deref().unwrap_or(&row.dataset)
    }

    /// The place of a row in its session, from 0.
    fn turn(&self, row: &ForeignRow) -> Option<u16> {
        // Some software makes numbers of a column with nulls floating: 1.0 is 1.
        let whole = |value: &Value| {
            let float =
                value.as_f64().filter(|of| of.fract() == 0.0 && (0.0..=65535.0).contains(of));
            value.as_u64().or_else(|| Some(u64::from(float?.to_string().parse::<u16>().ok()?)))
        };
        let number = |column| self.value(row, column).and_then(|(_, value)| whole(value));
        let from_1 = || number(Column::TurnFrom1)?.checked_sub(1);
        u16::try_from(number(Column::Turn).or_else(from_1)?).ok()
    }

    /// The ids of the pairs that a row makes, in order: its own, and that of its inverse where it
    /// has one.
    #[must_use]
    pub fn ids(&self, row: &ForeignRow) -> Vec<String> {
        let in_session = || {
            let (session, turn) = (self.word(row, Column::Session)?, self.turn(row)?);
            Some(format!("{session}:{turn}"))
        };
        let own = self.word(row, Column::Id).or_else(in_session);
        let id = format!("{}:{}", self.dataset(row), own.as_ref().unwrap_or(&row.place));
        let inverse = self.text(row, Column::Inverse).map(|_| format!("{id}:inverse"));
        std::iter::once(id).chain(inverse).collect()
    }

    /// The pairs that a row makes with its pictures: one, and its inverse where it has one.
    #[must_use]
    pub fn pairs(&self, row: &ForeignRow, pictures: Roles<Picture>) -> Vec<EditPair> {
        let mut ids = self.ids(row).into_iter();
        let Some(id) = ids.next() else { return Vec::new() };
        let Roles { source, references, target, mask } = pictures;
        let inverse = ids.next().zip(self.text(row, Column::Inverse)).map(|(inverse, text)| {
            let mut pair = self.pair(row, inverse, target.clone());
            pair.target = Some(source.clone());
            pair.inverse_of = Some(id.clone());
            pair.instruction = Some(text.to_owned());
            pair.language = self.language(row, text);
            for caption in &mut pair.captions {
                let other = match caption.of.as_deref() {
                    Some("source") => "target",
                    _ => "source",
                };
                caption.of = Some(other.to_owned());
            }
            // What the edit was called is not what undoes it.
            (pair.edit_type, pair.edit_type_native) = (None, Vec::new());
            pair
        });
        let mut pair = self.pair(row, id, source);
        pair.target = Some(target);
        let reference = |picture| Reference { picture, role: None };
        pair.references = references.into_iter().map(reference).collect();
        pair.mask = mask.map(|(picture, edited)| Mask {
            parts: vec![MaskPart::Picture(picture)],
            combine: Combine::Union,
            edited,
            grid: Grid::Source,
            origin: MaskOrigin::Release,
        });
        self.words(row, &mut pair);
        pair.verify_mask_grid();
        std::iter::once(pair).chain(inverse).collect()
    }

    /// What a row's pairs share.
    fn pair(&self, row: &ForeignRow, pair_id: String, source: Picture) -> EditPair {
        let label = |name: &str, value: String| Label { name: name.to_owned(), value };
        let word = self.word(row, Column::Split);
        let split = word.as_deref().and_then(split_of);
        let unknown = word.filter(|_| split.is_none());
        let turn = self.turn(row);
        let session = self.word(row, Column::Session);
        let edit_type = self.word(row, Column::EditType);
        let mut captions = Vec::new();
        for (column, of) in [(Column::SourceCaption, "source"), (Column::TargetCaption, "target")] {
            let texts = self.value(row, column).map(|(_, value)| texts(value)).unwrap_or_default();
            captions.extend(texts.into_iter().map(|text| Caption {
                text: text.to_owned(),
                language: None,
                of: Some(of.to_owned()),
            }));
        }
        EditPair {
            subset: row.subset.clone().or_else(|| unknown.clone()),
            split: split.or(row.split),
            base: session.as_ref().and(turn).map(|turn| {
                // Else the pictures of a session could not be made one after the other.
                if turn == 0 { "original".to_owned() } else { "previous".to_owned() }
            }),
            session_id: session.map(|session| format!("{}:{session}", self.dataset(row))),
            turn,
            edit_type: edit_type
                .as_deref()
                .and_then(|native| edit_type::shared(native, self.edit_types)),
            edit_type_native: edit_type.into_iter().collect(),
            editor: self.word(row, Column::Editor),
            captions,
            labels: unknown.into_iter().map(|word| label("split_native", word)).collect(),
            native: row.native.clone(),
            ..EditPair::new(pair_id, self.dataset(row).to_owned(), source)
        }
    }

    fn language(&self, row: &ForeignRow, text: &str) -> Option<String> {
        let said = self.text(row, Column::Language).map(str::to_owned);
        said.or_else(|| language_of(text, None))
    }

    /// Gives a pair what was asked for, in all its wordings.
    fn words(&self, row: &ForeignRow, pair: &mut EditPair) {
        let texts_of = |column: Column| {
            let names = self.names(column);
            names.filter_map(|name| Some((name, texts(row.fields.get(name)?))))
        };
        let own: Vec<_> = texts_of(Column::Instruction).collect();
        let is_empty = !own.is_empty() && own.iter().all(|(_, texts)| texts.is_empty());
        let own = own.into_iter().find(|(_, texts)| !texts.is_empty());
        // A list of wordings, and fields of further ones.
        let mut wordings: Vec<(&str, &str)> = Vec::new();
        for (name, texts) in own.into_iter().chain(texts_of(Column::Variant)) {
            wordings.extend(texts.into_iter().map(|text| (name, text)));
        }
        pair.instruction = wordings.first().map(|(_, text)| (*text).to_owned());
        pair.language = wordings.first().and_then(|(_, text)| self.language(row, text));
        if is_empty && wordings.is_empty() {
            let (name, value) = ("instruction_empty".to_owned(), "true".to_owned());
            pair.labels.insert(0, Label { name, value });
        }
        let fields_differ = wordings.windows(2).any(|of| match of {
            [(a, _), (b, _)] => a != b,
            _ => false,
        });
        if wordings.len() > 1 {
            let variant = |(name, text): (&str, &str)| InstructionVariant {
                text: text.to_owned(),
                language: language_of(text, None),
                kind: fields_differ.then(|| name.to_owned()),
            };
            pair.instructions = wordings.into_iter().map(variant).collect();
        }
    }
}

/// The texts of a value that are not empty: its own, or those of a list.
fn texts(value: &Value) -> Vec<&str> {
    let all: Vec<_> = match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    all.into_iter().filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests;
