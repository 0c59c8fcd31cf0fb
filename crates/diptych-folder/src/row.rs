//! A row of a table into its pairs.

use diptych_format::archives::{NotFound, PictureFault};
use diptych_format::foreign::{ColumnMap, ForeignRow, RowFault};
use diptych_format::record::{FoundPictures, Restored, restore};
use diptych_format::{Edit, FormatError, Place, Rejection};
use diptych_schema::{EditPair, Picture};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::NAME;
use crate::names::{columns_of, picture_column};
use crate::pictures::Pictures;
use crate::tables::TableFile;

/// Where a row is read from.
pub(crate) struct RowReader<'a> {
    pub(crate) table: &'a TableFile,
    pub(crate) pictures: &'a Pictures,
    /// What foreign columns are; `None` where rows have records.
    pub(crate) map: Option<&'a ColumnMap>,
}

/// The pair that is lost, as far as it is known.
#[derive(Default)]
struct Lost {
    pair_id: Option<String>,
    dataset: Option<String>,
    subset: Option<String>,
    native: Option<String>,
}

/// The names of a row's pictures, as this program writes them.
#[derive(Deserialize)]
struct Names {
    source_file_name: Option<String>,
    references_file_names: Option<Vec<Option<String>>>,
    target_file_name: Option<String>,
    mask_file_name: Option<String>,
}

impl RowReader<'_> {
    /// The edits of the row `number`, which is this text.
    ///
    /// # Errors
    /// Where the release cannot be read.
    pub(crate) fn edits(
        &self,
        number: u64,
        at: &Place,
        text: &[u8],
    ) -> Result<Vec<Edit>, FormatError> {
        let Ok(text) = std::str::from_utf8(text) else {
            let cause = "not UTF-8".to_owned();
            return Ok(vec![self.loss("invalid_text", cause, at, self.unknown(number))]);
        };
        match self.map {
            None => self.recorded(at, text),
            Some(map) => self.foreign(map, number, at, text),
        }
    }

    /// An edit that is lost before anything of it is known.
    pub(crate) fn lost(&self, kind: &str, cause: String, at: &Place, row: Option<u64>) -> Edit {
        let lost = row.map(|row| self.unknown(row)).unwrap_or_default();
        self.loss(kind, cause, at, lost)
    }

    /// What is known of a pair before anything was read.
    fn unknown(&self, number: u64) -> Lost {
        let id = |map: &ColumnMap| {
            let dataset = map.dataset.as_deref().unwrap_or(NAME);
            format!("{dataset}:{}", self.place(number))
        };
        Lost { pair_id: self.map.map(id), ..Lost::default() }
    }

    /// What tells a foreign row from all others: its folder and its number.
    fn place(&self, number: u64) -> String {
        match self.table.folder() {
            "" => number.to_string(),
            folder => format!("{folder}:{number}"),
        }
    }

    fn loss(&self, kind: &str, cause: String, at: &Place, lost: Lost) -> Edit {
        let Lost { pair_id, dataset, subset, native } = lost;
        let of_map = || self.map.and_then(|map| map.dataset.clone());
        let dataset = dataset.or_else(of_map).unwrap_or_else(|| NAME.to_owned());
        let (kind, at) = (kind.to_owned(), at.clone());
        Edit::Rejected(Box::new(Rejection { kind, cause, at, dataset, subset, pair_id, native }))
    }

    /// The loss of an edit because of a picture.
    fn without(&self, fault: PictureFault, at: &Place, lost: Lost) -> Edit {
        let at = Place { member: Some(fault.member), ..at.clone() };
        self.loss(fault.kind, fault.cause, &at, lost)
    }

    /// A row of our own: what its record says, with the pictures that it names.
    fn recorded(&self, at: &Place, text: &str) -> Result<Vec<Edit>, FormatError> {
        let read = restore(text).map_err(|error| error.to_string()).and_then(|restored| {
            let names = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Ok((restored, names))
        });
        let (restored, names): (_, Names) = match read {
            Ok(read) => read,
            Err(cause) => {
                let is_json = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
                let kind = if is_json { "invalid_record" } else { "invalid_json" };
                let native = is_json.then(|| text.to_owned());
                let lost = Lost { native, ..Lost::default() };
                return Ok(vec![self.loss(kind, cause, at, lost)]);
            }
        };
        Ok(vec![match self.found(&restored, &names) {
            Ok(found) => Edit::Pair(Box::new(restored.with(found))),
            Err(NotFound::Failed(error)) => return Err(error),
            Err(NotFound::Fault(fault)) => {
                let EditPair { pair_id, dataset, subset, native, .. } = restored.pair;
                let (pair_id, dataset) = (Some(pair_id), Some(dataset));
                self.without(*fault, at, Lost { pair_id, dataset, subset, native })
            }
        }])
    }

    /// The pictures that a record tells of.
    fn found(&self, restored: &Restored, names: &Names) -> Result<FoundPictures, NotFound> {
        let picture = |column: &str, name: Option<&str>| match name {
            Some(name) => self.pictures.named(self.table, name),
            None => Err(self.unnamed(column).into()),
        };
        let pictures = &restored.pictures;
        let listed = names.references_file_names.as_deref().unwrap_or_default();
        let references = pictures.references.iter().enumerate().map(|(number, _)| {
            let name = listed.get(number).and_then(Option::as_deref);
            picture("references_file_names", name)
        });
        let (target, mask) = (names.target_file_name.as_deref(), names.mask_file_name.as_deref());
        Ok(FoundPictures {
            source: picture("source_file_name", names.source_file_name.as_deref())?,
            references: references.collect::<Result<_, _>>()?,
            target: match &pictures.target {
                Some(_) => Some(picture("target_file_name", target)?),
                None => None,
            },
            mask: match &pictures.mask {
                // A mask that no release had has no name in the record, and gets none here.
                Some(_) => {
                    let found = picture("mask_file_name", mask)?;
                    Some(Picture { name: String::new(), ..found })
                }
                None => None,
            },
        })
    }

    fn unnamed(&self, column: &str) -> PictureFault {
        PictureFault {
            kind: "missing_picture",
            cause: format!("{column} names none, and the record says that there is one"),
            file: Some(self.table.path.as_str().to_owned()),
            member: column.to_owned(),
            offset: None,
        }
    }

    /// A row of somebody else: what the map says of its columns.
    fn foreign(
        &self,
        map: &ColumnMap,
        number: u64,
        at: &Place,
        text: &str,
    ) -> Result<Vec<Edit>, FormatError> {
        // A number may be more than any reader can hold, and still be JSON.
        let is_json = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
        let native = is_json.then(|| format!("{{\"row\":{text}}}"));
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                let lost = Lost { native, ..self.unknown(number) };
                return Ok(vec![self.loss("invalid_json", error.to_string(), at, lost)]);
            }
        };
        let Value::Object(fields) = value else {
            let cause = "a JSON value that is no object".to_owned();
            let lost = Lost { native, ..self.unknown(number) };
            return Ok(vec![self.loss("not_an_object", cause, at, lost)]);
        };
        let row = ForeignRow {
            dataset: NAME.to_owned(),
            place: self.place(number),
            split: self.table.split(),
            native,
            fields,
            ..ForeignRow::default()
        };
        let lose = |make: &dyn Fn(Lost) -> Edit| {
            let lost = |id| {
                let (pair_id, native) = (Some(id), row.native.clone());
                make(Lost { pair_id, native, ..Lost::default() })
            };
            Ok(map.ids(&row).into_iter().map(lost).collect())
        };
        let roles = match map.roles(|name| paths(&row.fields, name)) {
            Ok(roles) => roles,
            Err(RowFault { kind, cause }) => {
                return lose(&|lost| self.loss(kind, cause.clone(), at, lost));
            }
        };
        match roles.map(|path: String| self.pictures.named(self.table, &path)) {
            Ok(pictures) => {
                let pairs = map.pairs(&row, pictures);
                Ok(pairs.into_iter().map(|pair| Edit::Pair(Box::new(pair))).collect())
            }
            Err(NotFound::Failed(error)) => Err(error),
            Err(NotFound::Fault(fault)) => lose(&|lost| self.without((*fault).clone(), at, lost)),
        }
    }
}

/// The paths of the pictures of a name: of the first column that has any.
fn paths(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    // A column may be named as it is, too.
    let name = picture_column(name).unwrap_or(name);
    let of = |column: &String| match fields.get(column) {
        Some(Value::String(path)) => vec![path.clone()],
        Some(Value::Array(paths)) => {
            paths.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let given = columns_of(name);
    let mut given = given.iter().map(of).map(|mut paths| {
        paths.retain(|path| !path.is_empty());
        paths
    });
    given.find(|paths| !paths.is_empty()).unwrap_or_default()
}
