//! The members of a sample into its pairs.

use diptych_format::Rejection;
use diptych_format::archives::{ArchiveIndex, PictureFault, no_file};
use diptych_format::foreign::{ColumnMap, ForeignRow, RowFault};
use diptych_format::key::pair_id_of;
use diptych_format::record::{
    FoundPictures, RECORD_IN_ROWS, RecordedPicture, Restored, reference_role, restore,
};
use diptych_format::{FormatError, Place};
use diptych_schema::{EditPair, Picture};
use diptych_storage::ReadAt;
use diptych_storage::text::printable;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::groups::{Group, Member};
use crate::layout::Shard;
use crate::names::{Kind, kind_of};
use crate::reader::ShardReader;

/// A sample that is to be read.
pub(crate) struct Sample<'a> {
    reader: &'a ShardReader,
    shard: &'a Shard,
    /// Its key as text, for ids and messages.
    key: String,
    /// How many samples of its key came before.
    again: usize,
}

/// What a sample gave.
pub(crate) struct Found {
    pub(crate) pairs: Vec<EditPair>,
    /// Names of members that nothing is made of.
    pub(crate) unread: Vec<Vec<u8>>,
}

/// An edit that is lost.
pub(crate) struct Loss {
    pub(crate) rejection: Rejection,
    /// Whether it is lost because the archive is damaged.
    pub(crate) is_of_damage: bool,
}

/// The pair that is lost, as far as it is known.
#[derive(Default)]
struct Lost {
    pair_id: Option<String>,
    dataset: Option<String>,
    subset: Option<String>,
    native: Option<String>,
}

/// The archive that a sample is in.
struct Shelf<'a> {
    number: u32,
    file: &'a dyn ReadAt,
    index: &'a ArchiveIndex,
    members: &'a [Member],
}

type Read = Result<Result<Found, Vec<Loss>>, FormatError>;

impl Shelf<'_> {
    fn of_kind(&self, wanted: Kind) -> impl Iterator<Item = (&Member, &str)> {
        let all = self.members.iter().map(|member| (member, kind_of(&member.part)));
        all.filter(move |(_, (kind, _))| *kind == wanted)
            .map(|(member, (_, field))| (member, field))
    }
}

impl<'a> Sample<'a> {
    pub(crate) fn new(reader: &'a ShardReader, shard: &'a Shard, key: &[u8], again: usize) -> Self {
        Self { reader, shard, key: String::from_utf8_lossy(key).into_owned(), again }
    }

    /// Reads the members `members` of the archive `number`.
    pub(crate) fn read(
        &self,
        number: u32,
        file: &dyn ReadAt,
        index: &ArchiveIndex,
        members: &[Member],
    ) -> Read {
        let shelf = Shelf { number, file, index, members };
        match &self.reader.map {
            None => self.recorded(&shelf),
            Some(map) => self.foreign(&shelf, map),
        }
    }

    /// A sample of which a part is there again, and others are not.
    pub(crate) fn repeated(&self, index: &ArchiveIndex, group: &Group, part: &str) -> Loss {
        let again = group.samples.iter().skip(1).flatten().find(|member| member.part == part);
        let at = again.and_then(|member| index.at(member.place)).map(|entry| entry.header_offset);
        let cause = format!(
            "{} is there {} times, and other parts are not: which is meant nobody can say",
            printable(part.as_bytes()),
            group.samples.len()
        );
        self.loss("repeated_member", cause, at, self.unknown())
    }

    /// What is known of a pair before anything was read.
    fn unknown(&self) -> Lost {
        let pair_id = match &self.reader.map {
            None => pair_id_of(&self.key),
            Some(_) => Some(format!("{}:{}", self.reader.dataset(), self.place())),
        };
        Lost { pair_id, ..Lost::default() }
    }

    /// What tells a foreign sample from all others: its shard, its key, and which of that key it
    /// is. Keys begin anew in each shard of many releases.
    fn place(&self) -> String {
        let place = format!("{}:{}", self.shard.stem(), self.key);
        if self.again == 0 { place } else { format!("{place}#{}", self.again + 1) }
    }

    fn loss(&self, kind: &str, cause: String, offset: Option<u64>, lost: Lost) -> Loss {
        let member = Some(self.key.clone());
        let at = Place { member, offset, ..self.reader.place(&self.shard.path) };
        let Lost { pair_id, dataset, subset, native } = lost;
        let dataset = dataset.unwrap_or_else(|| self.reader.dataset().to_owned());
        let (kind, is_of_damage) = (kind.to_owned(), false);
        let rejection = Rejection { kind, cause, at, dataset, subset, pair_id, native };
        Loss { rejection, is_of_damage }
    }

    /// The loss of an edit because of a picture.
    fn without(&self, fault: &PictureFault, lost: Lost) -> Loss {
        let loss = self.loss(fault.kind, fault.cause.clone(), fault.offset, lost);
        let member = Some(fault.member.clone());
        let at = Place { member, ..loss.rejection.at };
        let kinds = ["truncated_member", "damaged_archive", "unusable_member"];
        let is_of_damage = kinds.contains(&fault.kind);
        Loss { rejection: Rejection { at, ..loss.rejection }, is_of_damage }
    }

    /// The text of a member.
    fn text(
        &self,
        shelf: &Shelf<'_>,
        member: &Member,
    ) -> Result<Result<String, Loss>, FormatError> {
        let Some(entry) = shelf.index.at(member.place) else { return Ok(Ok(String::new())) };
        let limit = self.reader.limits.row_bytes.saturating_mul(RECORD_IN_ROWS);
        let loss = |kind: &str, cause: String| {
            let part = printable(member.part.as_bytes());
            let cause = format!("{part}: {cause}");
            Ok(Err(self.loss(kind, cause, Some(entry.header_offset), self.unknown())))
        };
        if let Some(what) = no_file(entry.kind) {
            return loss("unusable_member", what.to_owned());
        }
        let length = match usize::try_from(entry.length) {
            Ok(length) if length <= limit => length,
            _ => {
                let cause = format!("{} bytes, the limit is {limit}", entry.length);
                return loss("row_too_long", cause);
            }
        };
        let mut bytes = vec![0; length];
        let read = shelf.file.read_exact_at(entry.offset, &mut bytes);
        read.map_err(|error| self.reader.archives.read_error(shelf.number, error))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                loss("invalid_text", format!("not UTF-8 from byte {at}"))
            }
        }
    }

    /// The picture that a member is.
    fn picture(&self, shelf: &Shelf<'_>, member: &Member) -> Result<Picture, Box<PictureFault>> {
        let entry = shelf.index.at(member.place).ok_or_else(|| {
            Box::new(PictureFault {
                kind: "missing_member",
                cause: "it is not there any more".to_owned(),
                file: None,
                member: member.part.clone(),
                offset: None,
            })
        })?;
        let name = String::from_utf8_lossy(entry.name);
        Ok(self.reader.archives.member(&name, shelf.number, &entry)?)
    }

    /// A sample of our own: what its record says, with the pictures beside it.
    fn recorded(&self, shelf: &Shelf<'_>) -> Read {
        let Some((record, _)) = shelf.of_kind(Kind::Record).next() else {
            let cause = format!("there is no {}.json", printable(self.key.as_bytes()));
            let mut loss = self.loss("missing_record", cause, None, self.unknown());
            loss.is_of_damage = shelf.index.may_lack_members();
            return Ok(Err(vec![loss]));
        };
        let text = match self.text(shelf, record)? {
            Ok(text) => text,
            Err(loss) => return Ok(Err(vec![loss])),
        };
        let restored = match restore(&text) {
            Ok(restored) => restored,
            Err(error) => {
                let at = shelf.index.at(record.place).map(|entry| entry.header_offset);
                let native = serde_json::from_str::<&RawValue>(&text).is_ok().then_some(text);
                let lost = Lost { native, ..self.unknown() };
                return Ok(Err(vec![self.loss("invalid_record", error.to_string(), at, lost)]));
            }
        };
        let mut read = vec![record.place];
        match self.found(shelf, &restored, &mut read) {
            Ok(found) => {
                let pairs = vec![restored.with(found)];
                Ok(Ok(Found { pairs, unread: unread(shelf, &read) }))
            }
            Err(fault) => {
                let EditPair { pair_id, dataset, subset, native, .. } = restored.pair;
                let (pair_id, dataset) = (Some(pair_id), Some(dataset));
                let lost = Lost { pair_id, dataset, subset, native };
                Ok(Err(vec![self.without(&fault, lost)]))
            }
        }
    }

    /// The pictures that a record tells of. The part that it names need not be there: who brings
    /// pictures to another type calls them after it.
    fn found(
        &self,
        shelf: &Shelf<'_>,
        restored: &Restored,
        read: &mut Vec<usize>,
    ) -> Result<FoundPictures, Box<PictureFault>> {
        let mut picture = |role: &str, said: &RecordedPicture| {
            let mut of_role = shelf.of_kind(Kind::Picture).filter(|(_, field)| *field == role);
            let (first, second) = (of_role.next(), of_role.next());
            if let (Some((one, _)), Some((other, _))) = (first, second) {
                return Err(Box::new(two_pictures(&self.key, one, other)));
            }
            match first {
                Some((member, _)) => {
                    read.push(member.place);
                    self.picture(shelf, member)
                }
                None => {
                    let part = said.part.as_deref().unwrap_or(role);
                    let name = format!("{}.{part}", self.key);
                    let (archives, number) = (&self.reader.archives, shelf.number);
                    Err(Box::new(archives.absent(&name, name.as_bytes(), number, shelf.index)))
                }
            }
        };
        let pictures = &restored.pictures;
        let references = (0..).zip(&pictures.references);
        Ok(FoundPictures {
            source: picture("source", &pictures.source)?,
            references: references
                .map(|(i, said)| picture(&reference_role(i), said))
                .collect::<Result<_, _>>()?,
            target: pictures.target.as_ref().map(|said| picture("target", said)).transpose()?,
            mask: pictures
                .mask
                .as_ref()
                .map(|said| {
                    // A mask that no release had has no name in the record, and gets none here.
                    let found = picture("mask", said)?;
                    Ok::<_, Box<PictureFault>>(Picture { name: String::new(), ..found })
                })
                .transpose()?,
        })
    }

    /// A sample of somebody else: what the map says of its fields.
    fn foreign(&self, shelf: &Shelf<'_>, map: &ColumnMap) -> Read {
        let mut row = ForeignRow {
            dataset: self.reader.dataset().to_owned(),
            place: self.place(),
            split: self.shard.split(),
            ..ForeignRow::default()
        };
        let mut read = Vec::new();
        if let Some(losses) = self.fields(shelf, &mut row, &mut read)? {
            return Ok(Err(losses));
        }
        let lose = |make: &dyn Fn(Lost) -> Loss| {
            let lost = |id| {
                let (pair_id, native) = (Some(id), row.native.clone());
                make(Lost { pair_id, native, ..Lost::default() })
            };
            Ok(Err(map.ids(&row).into_iter().map(lost).collect()))
        };
        let take = |name: &str| {
            let of_name = shelf.of_kind(Kind::Picture).filter(|(_, field)| *field == name);
            of_name.map(|(member, _)| member).collect::<Vec<_>>()
        };
        let roles = match map.roles(take) {
            Ok(roles) => roles,
            Err(RowFault { kind, cause }) => {
                let is_of_damage = shelf.index.may_lack_members();
                return lose(&|lost| Loss {
                    is_of_damage,
                    ..self.loss(kind, cause.clone(), None, lost)
                });
            }
        };
        let pictures = roles.map(|member: &Member| {
            read.push(member.place);
            // A list of pictures is not what two members of one name are.
            let mut alike = shelf.members.iter().filter(|of| same_field(of, member));
            match (alike.next(), alike.next()) {
                (Some(one), Some(other)) => Err(Box::new(two_pictures(&self.key, one, other))),
                _ => self.picture(shelf, member),
            }
        });
        match pictures {
            Ok(pictures) => {
                let pairs = map.pairs(&row, pictures);
                Ok(Ok(Found { pairs, unread: unread(shelf, &read) }))
            }
            Err(fault) => lose(&|lost| self.without(&fault, lost)),
        }
    }

    /// Takes the fields of a foreign sample that are no pictures: those of its JSON, and texts.
    fn fields(
        &self,
        shelf: &Shelf<'_>,
        row: &mut ForeignRow,
        read: &mut Vec<usize>,
    ) -> Result<Option<Vec<Loss>>, FormatError> {
        // Fields of the sample's own object go before members that are called as one of them.
        let mut native: Vec<(String, Box<RawValue>)> = Vec::new();
        for kind in [Kind::Record, Kind::Json, Kind::Text] {
            for (member, field) in shelf.of_kind(kind) {
                let text = match self.text(shelf, member)? {
                    Ok(text) => text,
                    Err(loss) => return Ok(Some(vec![loss])),
                };
                read.push(member.place);
                let parsed = match kind {
                    Kind::Text => Ok((Value::String(text.clone()), raw_text(&text))),
                    _ => parse(&text),
                };
                let (value, raw) = match parsed {
                    Ok(parsed) => parsed,
                    Err(error) => {
                        let part = printable(member.part.as_bytes());
                        let cause = format!("{part}: {error}");
                        let at = shelf.index.at(member.place).map(|entry| entry.header_offset);
                        let loss = self.loss("invalid_json", cause, at, self.unknown());
                        return Ok(Some(vec![loss]));
                    }
                };
                match (kind, value) {
                    (Kind::Record, Value::Object(fields)) => {
                        row.fields = fields;
                        native.extend(raw.map(|raw| ("row".to_owned(), raw)));
                    }
                    (Kind::Record, _) => {
                        let cause = "a JSON value that is no object".to_owned();
                        let at = shelf.index.at(member.place).map(|entry| entry.header_offset);
                        let loss = self.loss("not_an_object", cause, at, self.unknown());
                        return Ok(Some(vec![loss]));
                    }
                    (_, value) => {
                        native.extend(raw.map(|raw| (member.part.clone(), raw)));
                        row.fields.entry(field.to_owned()).or_insert(value);
                    }
                }
            }
        }
        row.native = native_of(&native);
        Ok(None)
    }
}

fn parse(text: &str) -> Result<(Value, Option<Box<RawValue>>), serde_json::Error> {
    Ok((serde_json::from_str(text)?, serde_json::from_str(text)?))
}

fn raw_text(text: &str) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(text).ok()
}

/// The object of what was read, each as it was written.
fn native_of(parts: &[(String, Box<RawValue>)]) -> Option<String> {
    let field = |(name, raw): &(String, Box<RawValue>)| {
        Some(format!("{}:{}", serde_json::to_string(name).ok()?, raw.get()))
    };
    let fields: Vec<_> = parts.iter().filter_map(field).collect();
    (!fields.is_empty()).then(|| format!("{{{}}}", fields.join(",")))
}

fn same_field(a: &Member, b: &Member) -> bool {
    kind_of(&a.part) == kind_of(&b.part)
}

fn two_pictures(key: &str, one: &Member, other: &Member) -> PictureFault {
    let parts = [one, other].map(|member| printable(member.part.as_bytes()));
    PictureFault {
        kind: "several_pictures",
        cause: format!("{} and {}, where one is meant", parts[0], parts[1]),
        file: None,
        member: key.to_owned(),
        offset: None,
    }
}

/// The names of members that were not read.
fn unread(shelf: &Shelf<'_>, read: &[usize]) -> Vec<Vec<u8>> {
    let others = shelf.members.iter().filter(|member| !read.contains(&member.place));
    others.filter_map(|member| Some(shelf.index.at(member.place)?.name.to_vec())).collect()
}
