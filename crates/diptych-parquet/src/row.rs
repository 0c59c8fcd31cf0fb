//! A row and its pictures into pairs.

use diptych_format::archives::{NotFound, PictureFault};
use diptych_format::foreign::{ColumnMap, ForeignRow, RowFault};
use diptych_format::record::{FoundPictures, RECORD_IN_ROWS, Restored, restore};
use diptych_format::{Edit, FormatError, Place, Rejection};
use diptych_schema::{Address, EditPair, Picture};
use diptych_storage::parquet::chunk::Value;
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadAt};
use serde_json::{Map, Value as Json};

use crate::files::RowsFile;
use crate::layout::{MASK, REFERENCES, SOURCE, TARGET};
use crate::pictures::PictureRows;
use crate::reader::FileReader;

/// Bytes of a row, as text.
pub(crate) fn longest_row(limits: &Limits) -> usize {
    limits.row_bytes.saturating_mul(RECORD_IN_ROWS)
}

/// A row that is to be read.
pub(crate) struct RowEdits<'a> {
    pub(crate) reader: &'a FileReader,
    pub(crate) file: &'a RowsFile,
    pub(crate) number: u32,
    pub(crate) input: &'a dyn ReadAt,
    pub(crate) group: usize,
    pub(crate) row: u64,
    /// The columns of pictures, which stand at the row.
    pub(crate) pictures: &'a [PictureRows],
}

/// A picture of the row.
#[derive(Clone, Copy)]
struct Found<'f> {
    column: &'f PictureRows,
    /// The path beside it, where that says something.
    path: Option<&'f str>,
    what: What<'f>,
}

/// What is there of a picture.
#[derive(Clone, Copy)]
enum What<'f> {
    /// Its bytes, and which value of the column they are.
    Cell(u64, &'f Value),
    /// Nothing but its path.
    Path(&'f str),
    /// Nothing at all, where a list begins: what comes second would be taken for the first.
    Null,
    /// The column cannot be read: why.
    Fault(&'f str),
}

/// What is known of a pair that is lost.
#[derive(Default)]
struct Lost {
    pair_id: Option<String>,
    dataset: Option<String>,
    subset: Option<String>,
    native: Option<String>,
}

impl<'a> RowEdits<'a> {
    /// The edits of the row, whose other columns are this JSON.
    pub(crate) fn read(&self, json: &str) -> Result<Vec<Edit>, FormatError> {
        let limit = longest_row(&self.reader.limits);
        if json.len() > limit {
            let cause = format!("{} bytes or more, the limit is {limit}", json.len());
            return Ok(vec![self.lost("row_too_long", cause, Lost::default())]);
        }
        match &self.reader.map {
            None => self.recorded(json).map(|edit| vec![edit]),
            Some(map) => self.foreign(map, json),
        }
    }

    fn lost(&self, kind: &str, cause: String, lost: Lost) -> Edit {
        let Lost { pair_id, dataset, subset, native } = lost;
        Edit::Rejected(Box::new(Rejection {
            kind: kind.to_owned(),
            cause,
            at: Place { row: Some(self.row), ..self.reader.place(&self.file.path) },
            dataset: dataset.unwrap_or_else(|| self.reader.dataset().to_owned()),
            subset,
            pair_id,
            native,
        }))
    }

    fn without(&self, fault: PictureFault, lost: Lost) -> Edit {
        let PictureFault { kind, cause, offset, .. } = fault;
        let mut edit = self.lost(kind, cause, lost);
        if let Edit::Rejected(rejection) = &mut edit {
            rejection.at.offset = offset;
        }
        edit
    }

    /// The pictures of a column, beside which `beside` stands. A null is none, but where it has a
    /// path.
    fn found<'f>(&self, name: &str, beside: Option<&'f Json>) -> Vec<Found<'f>>
    where
        'a: 'f,
    {
        let Some(column) = self.pictures.iter().find(|column| column.field.name == name) else {
            return Vec::new();
        };
        if let Some(why) = &column.fault {
            return vec![Found { column, path: None, what: What::Fault(why) }];
        }
        let path = |place: usize| {
            let beside = match beside? {
                Json::Array(items) if column.field.is_list => items.get(place)?,
                of => of,
            };
            beside.get("path")?.as_str().filter(|path| !path.is_empty())
        };
        let found = column.cells.iter().enumerate().filter_map(|(place, cell)| {
            let path = path(place);
            let what = match &cell.value {
                Some(value) => What::Cell(cell.number, value),
                None if path.is_none() && column.field.is_list && place == 0 => What::Null,
                None => What::Path(path?),
            };
            Some(Found { column, path, what })
        });
        found.collect()
    }

    /// The picture that is found, by the name `name`.
    fn picture(&self, name: &str, found: Found<'_>) -> Result<Picture, NotFound> {
        let archives = &self.reader.archives;
        let leaf = found.column.field.leaf;
        let fault =
            |kind, what: String| fault(kind, format!("{}: {what}", printable(name.as_bytes())));
        let (cell, value) = match found.what {
            What::Cell(number, value) => (number, value),
            What::Path(path) => {
                let number = self.loose(path).ok_or_else(|| {
                    let what = "there are no bytes of it, and no such file in the release";
                    fault("missing_picture", what.to_owned())
                })?;
                return archives.loose(name, number);
            }
            What::Null => {
                let what = "the first of a list is null".to_owned();
                return Err(fault("missing_picture", what).into());
            }
            What::Fault(why) => {
                let what = format!("row group {}, column {leaf}: {why}", self.group);
                return Err(fault("damaged_parquet", what).into());
            }
        };
        let bytes = match value {
            Value::Range { offset, length } => {
                return archives.range(name, self.number, self.input, *offset, *length);
            }
            Value::Held(bytes) => bytes.data(),
        };
        let (length, limit) = (bytes.len() as u64, self.reader.limits.picture_bytes);
        if length > limit {
            let what = format!("{length} bytes, the limit is {limit}");
            return Err(fault("picture_too_large", what).into());
        }
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let address = Address::Cell {
            file: self.number,
            row_group: number(self.group),
            column: number(leaf),
            row: cell,
            length,
        };
        Ok(Picture { address, ..archives.held(name, self.number, bytes)? })
    }

    /// The file of a picture that lies loose: from the folder of the rows, or from the root.
    fn loose(&self, path: &str) -> Option<u32> {
        let folder = self.file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let beside = format!("{folder}/{path}");
        let all = &self.reader.loose;
        all.get(beside.as_str()).or_else(|| all.get(path)).copied()
    }

    /// A row of our own: what its record says, with the pictures beside it.
    fn recorded(&self, json: &str) -> Result<Edit, FormatError> {
        let restored = match restore(json) {
            Ok(restored) => restored,
            Err(error) => {
                let native = Some(json.to_owned());
                let lost = Lost { native, ..Lost::default() };
                return Ok(self.lost("invalid_record", error.to_string(), lost));
            }
        };
        match self.found_pictures(&restored) {
            Ok(found) => Ok(Edit::Pair(Box::new(restored.with(found)))),
            Err(NotFound::Failed(error)) => Err(error),
            Err(NotFound::Fault(fault)) => {
                let EditPair { pair_id, dataset, subset, native, .. } = restored.pair;
                let (pair_id, dataset) = (Some(pair_id), Some(dataset));
                Ok(self.without(*fault, Lost { pair_id, dataset, subset, native }))
            }
        }
    }

    /// The pictures that a record tells of.
    fn found_pictures(&self, restored: &Restored) -> Result<FoundPictures, NotFound> {
        let missing = |what: String| fault("missing_picture", what);
        let one = |column: &str| match self.found(column, None).as_slice() {
            [found] => self.picture(column, *found),
            _ => Err(missing(format!("{column}: there are no bytes of it")).into()),
        };
        let pictures = &restored.pictures;
        let references = match pictures.references.len() {
            0 => Vec::new(),
            count => {
                let found = self.found(REFERENCES, None);
                let is_fault = |of: &Found<'_>| matches!(of.what, What::Fault(_));
                if found.len() != count && !found.iter().any(is_fault) {
                    let what = format!("{count} references, and bytes of {}", found.len());
                    return Err(missing(what).into());
                }
                let one = |found: &Found<'_>| self.picture(REFERENCES, *found);
                found.iter().map(one).collect::<Result<_, _>>()?
            }
        };
        Ok(FoundPictures {
            source: one(SOURCE)?,
            references,
            target: pictures.target.as_ref().map(|_| one(TARGET)).transpose()?,
            // A mask that no release had has no name in the record, and gets none here.
            mask: pictures
                .mask
                .as_ref()
                .map(|_| Ok::<_, NotFound>(Picture { name: String::new(), ..one(MASK)? }))
                .transpose()?,
        })
    }

    /// A row of somebody else: what the map says of its columns.
    fn foreign(&self, map: &ColumnMap, json: &str) -> Result<Vec<Edit>, FormatError> {
        let fields: Map<String, Json> = match serde_json::from_str(json) {
            Ok(fields) => fields,
            Err(error) => {
                return Ok(vec![self.lost("invalid_row", error.to_string(), Lost::default())]);
            }
        };
        let row = ForeignRow {
            dataset: self.reader.dataset().to_owned(),
            place: format!("{}:{}", self.file.stem(), self.row),
            split: self.file.split(),
            native: Some(format!("{{\"row\":{json}}}")),
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
        let take = |column: &str| {
            let named = |found: Found<'_>| match found.path {
                Some(path) => path.to_owned(),
                None => format!("{}:{column}", row.place),
            };
            let found = self.found(column, row.fields.get(column)).into_iter();
            found.map(|found| (named(found), found)).collect::<Vec<_>>()
        };
        let roles = match map.roles(take) {
            Ok(roles) => roles,
            Err(RowFault { kind, cause }) => {
                return lose(&|lost| self.lost(kind, cause.clone(), lost));
            }
        };
        let pictures = roles.map(|(name, found)| self.picture(&name, found));
        match pictures {
            Ok(pictures) => {
                let pairs = map.pairs(&row, pictures).into_iter();
                Ok(pairs.map(|pair| Edit::Pair(Box::new(pair))).collect())
            }
            Err(NotFound::Failed(error)) => Err(error),
            Err(NotFound::Fault(fault)) => lose(&|lost| self.without(*fault.clone(), lost)),
        }
    }
}

fn fault(kind: &'static str, cause: String) -> PictureFault {
    PictureFault { kind, cause, file: None, member: String::new(), offset: None }
}
