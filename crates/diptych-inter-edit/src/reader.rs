//! Rows and pictures into pairs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use diptych_format::archives::{NotFound, PictureFault};
use diptych_format::shards::ShardName;
use diptych_format::{
    Edit, Edits, EndOfRows, FormatError, Notice, Part, Place, Reader, ReaderInput, Rejection,
    SourceFile, Tally,
};
use diptych_schema::text::language_of;
use diptych_schema::{
    Combine, EditBox, EditPair, Edited, Grid, Label, Mask, MaskOrigin, MaskPart, Picture, edit_type,
};
use diptych_storage::rows::{RowEvent, Rows};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadTree};

use crate::layout::{Layout, Metadata, Shards};
use crate::manifest::{MANIFEST, Manifest};
use crate::parts::{Found, parts};
use crate::pictures::Pictures;
use crate::shards::shard_holds;
use crate::wire::{self, BoundingBox, PictureName, Row, RowFault};
use crate::{EDIT_TYPES, NAME};

pub(crate) struct InterEditReader {
    tree: Arc<dyn ReadTree>,
    label: String,
    limits: Limits,
    manifest: Manifest,
    metadata: Vec<Metadata>,
    partitions: Vec<String>,
    shards: Vec<Shards>,
    pictures: Pictures,
    layout_notices: Vec<Notice>,
    row_notices: Mutex<BTreeSet<Notice>>,
    /// Rows read of each file of metadata.
    rows: Vec<AtomicU64>,
}

impl InterEditReader {
    pub(crate) fn open(input: ReaderInput<'_>) -> Result<Self, FormatError> {
        let layout = Layout::of(input.tree.as_ref(), input.label);
        let Layout { manifest, metadata, archives, loose, shards, notices } = layout;
        let pictures = Pictures::new(&input, archives, loose);
        let ReaderInput { tree, label, limits, .. } = input;
        if metadata.is_empty() {
            return Err(FormatError::Malformed {
                at: Box::new(Place { source: label.to_owned(), ..Place::default() }),
                what: no_metadata(tree.as_ref()),
            });
        }
        let rows = metadata.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Self {
            label: label.to_owned(),
            limits,
            partitions: metadata.iter().map(|metadata| metadata.path.clone()).collect(),
            tree,
            manifest,
            metadata,
            shards,
            pictures,
            layout_notices: notices,
            row_notices: Mutex::default(),
            rows,
        })
    }

    /// The edit that stands for those of a metadata shard that is not there.
    fn missing(&self, metadata: &Metadata) -> Edit {
        let stated = metadata.shard.and_then(|shard| self.manifest.rows_of(shard));
        let held = stated.map_or(String::new(), |rows| {
            format!("; by the manifest it holds {rows} rows, which are not known and count as one")
        });
        rejected(Fault {
            kind: "missing_metadata_shard",
            cause: format!("the shard is not there{held}"),
            at: Place::file(&self.label, &metadata.path),
            pair_id: None,
            native: None,
        })
    }

    /// Rows read of all files of metadata.
    fn rows(&self) -> u64 {
        self.rows.iter().map(|rows| rows.load(Ordering::Relaxed)).sum()
    }

    /// How many members the manifest says that an archive holds.
    fn stated_members(&self, name: &ShardName) -> Option<(u64, &'static str)> {
        let Manifest { source_per_shard, samples_per_shard, .. } = self.manifest;
        let Manifest { num_samples, num_unique_source_images, .. } = self.manifest;
        let holds = |each: u64, total| shard_holds(name.index, name.count, each, total);
        match name.word()? {
            "source" => Some((holds(source_per_shard?, num_unique_source_images)?, "sources")),
            "asset" => {
                Some((holds(samples_per_shard?, num_samples)?.checked_mul(2)?, "targets and masks"))
            }
            _ => None,
        }
    }

    /// What the manifest says of the number of rows and of pictures, against those that were read.
    fn counts(&self, tally: &Tally) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut notice = |file: &str, detail: String| {
            let (kind, at) = ("manifest_mismatch".to_owned(), Place::file(&self.label, file));
            notices.push(Notice { kind, at, detail });
        };
        // What lies beyond was not asked for, and says nothing.
        let read = self.metadata.iter().zip(&self.rows).zip(&tally.edits);
        for ((metadata, rows), _) in read {
            let rows = rows.load(Ordering::Relaxed);
            let stated = metadata.shard.and_then(|shard| self.manifest.rows_of(shard));
            if let Some(stated) = stated.filter(|n| metadata.file.is_some() && *n != rows) {
                notice(&metadata.path, format!("{rows} rows, {stated} by the manifest"));
            }
        }
        for (path, members) in self.pictures.members() {
            let stated = ShardName::parse(path).and_then(|name| self.stated_members(&name));
            if let Some((stated, what)) = stated.filter(|(stated, _)| *stated != members) {
                notice(path, format!("{members} {what}, {stated} by the manifest"));
            }
        }
        let whole = tally.edits.len() == self.metadata.len()
            && self.metadata.iter().all(|metadata| metadata.file.is_some());
        let rows = self.rows();
        if let Some(stated) = self.manifest.num_samples.filter(|n| whole && *n != rows) {
            notice(
                MANIFEST,
                format!("it says that there are {stated} samples, and {rows} are there"),
            );
        }
        notices
    }
}

/// Says that there are no rows, and what lies there that is no file to be read.
fn no_metadata(tree: &dyn ReadTree) -> String {
    let mut text = "no metadata: no metadata/*.jsonl.gz, and no .jsonl.gz, .jsonl or .json at \
                    the root"
        .to_owned();
    let odd: Vec<_> = tree.oddities().iter().map(|oddity| oddity.name.as_str()).collect();
    if !odd.is_empty() {
        let some = odd.iter().take(5).map(|name| printable(name.as_bytes()));
        text = format!("{text}; what cannot be read: {}", some.collect::<Vec<_>>().join(", "));
    }
    text
}

impl Reader for InterEditReader {
    fn files(&self) -> &[SourceFile] {
        self.pictures.files()
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        let metadata = self.metadata.get(partition).ok_or_else(|| FormatError::Malformed {
            at: Box::new(Place { source: self.label.clone(), ..Place::default() }),
            what: format!("there is no partition {partition}"),
        })?;
        let Some(path) = &metadata.file else {
            return Ok(Box::new(Once(Some(self.missing(metadata)))));
        };
        let read = |source| FormatError::Read {
            at: Box::new(Place::file(&self.label, &metadata.path)),
            source,
        };
        let file = self.tree.open(path).map_err(read)?;
        if file.is_empty() {
            return Ok(Box::new(Once(Some(empty(Place::file(&self.label, &metadata.path))))));
        }
        let rows = Rows::open(file, &self.limits).map_err(read)?;
        let count = self.rows.get(partition);
        Ok(Box::new(MetadataRows { reader: self, metadata, rows, count, ended: false }))
    }

    fn notices(&self, tally: &Tally) -> Vec<Notice> {
        let rows = self.row_notices.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notices = self.layout_notices.clone();
        notices.extend(rows.iter().cloned());
        notices.extend(self.pictures.notices());
        notices.extend(self.counts(tally));
        notices
    }

    fn parts(&self, _: &Tally) -> Result<Vec<Part>, FormatError> {
        self.pictures.look_into_all()?;
        let mut found = Found { rows: 0, sources: 0, assets: 0 };
        for (path, members) in self.pictures.members() {
            match ShardName::parse(path).as_ref().and_then(ShardName::word) {
                Some("source") => found.sources += members,
                Some("asset") => found.assets += members,
                _ => {}
            }
        }
        found.rows = self.rows();
        Ok(parts(&self.shards, &self.manifest, &found))
    }
}

/// The edits of a file of metadata that has no rows: nobody knows them, and one stands for all.
struct Once(Option<Edit>);

impl Edits for Once {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        Ok(self.0.take())
    }
}

/// A file of metadata without a byte: what a download that failed leaves.
fn empty(at: Place) -> Edit {
    let cause = "the file is empty: its rows are lost".to_owned();
    rejected(Fault { kind: "cut_metadata", cause, at, pair_id: None, native: None })
}

/// The edits of a metadata file.
struct MetadataRows<'a> {
    reader: &'a InterEditReader,
    metadata: &'a Metadata,
    rows: Rows,
    /// Where its rows are counted.
    count: Option<&'a AtomicU64>,
    ended: bool,
}

/// Why no pair comes of a row, before where it was is filled in.
struct Fault {
    kind: &'static str,
    cause: String,
    at: Place,
    pair_id: Option<String>,
    native: Option<String>,
}

impl Edits for MetadataRows<'_> {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        if self.ended {
            return Ok(None);
        }
        let Self { reader, metadata, rows, count, .. } = self;
        let place = Place::file(&reader.label, &metadata.path);
        let read = |source| FormatError::Read { at: Box::new(place.clone()), source };
        let event = rows.next_row().map_err(read)?;
        if let (Some(_), Some(count)) = (&event, count) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        match event {
            Some(RowEvent::Row(row)) => {
                let at = Place { row: Some(row.number), offset: Some(row.offset), ..place.clone() };
                Ok(Some(reader.edit(metadata, row.number, row.bytes, at)?))
            }
            Some(RowEvent::TooLong { number, offset, length }) => {
                let limit = reader.limits.row_bytes;
                Ok(Some(rejected(Fault {
                    kind: "row_too_long",
                    cause: format!("{length} bytes, the limit is {limit}"),
                    at: Place { row: Some(number), offset: Some(offset), ..place },
                    pair_id: None,
                    native: None,
                })))
            }
            None => {
                self.ended = true;
                Ok(self.ending(&place))
            }
        }
    }
}

impl MetadataRows<'_> {
    /// What the end of the file means: rows that are lost are rejected as one edit, since nobody
    /// knows how many they are.
    fn ending(&self, place: &Place) -> Option<Edit> {
        match EndOfRows::of(self.rows.ending()?) {
            EndOfRows::Whole => None,
            EndOfRows::Behind { offset, detail } => {
                let at = Place { offset: Some(offset), ..place.clone() };
                let notices = self.reader.row_notices.lock();
                let mut notices = notices.unwrap_or_else(PoisonError::into_inner);
                notices.insert(Notice { kind: "trailing_garbage".to_owned(), at, detail });
                None
            }
            EndOfRows::Lost { row, offset, cause } => {
                let at = Place { row, offset: Some(offset), ..place.clone() };
                let kind = "cut_metadata";
                Some(rejected(Fault { kind, cause, at, pair_id: None, native: None }))
            }
        }
    }
}

fn rejected(fault: Fault) -> Edit {
    let Fault { kind, cause, at, pair_id, native } = fault;
    Edit::Rejected(Box::new(Rejection {
        kind: kind.to_owned(),
        cause,
        at,
        dataset: NAME.to_owned(),
        subset: None,
        pair_id,
        native,
    }))
}

/// The native record: the row, exactly as it is written.
fn native(row: &str) -> String {
    format!("{{\"row\":{row}}}")
}

fn pair_id(metadata: &Metadata, id: Option<&str>, number: u64) -> String {
    match id {
        Some(id) => format!("{NAME}:{id}"),
        None => format!("{NAME}:{}:{number}", metadata.stem),
    }
}

impl InterEditReader {
    fn edit(
        &self,
        metadata: &Metadata,
        number: u64,
        bytes: &[u8],
        at: Place,
    ) -> Result<Edit, FormatError> {
        let row = match wire::parse(bytes) {
            Ok(row) => row,
            Err(RowFault { kind, cause, id }) => {
                // What is no JSON cannot be kept as a record.
                let native = (kind != "invalid_json")
                    .then(|| std::str::from_utf8(bytes).ok().map(|text| native(text.trim())))
                    .flatten();
                let pair_id = id.map(|id| pair_id(metadata, Some(&id), number));
                return Ok(rejected(Fault { kind, cause, at, pair_id, native }));
            }
        };
        let pair_id = pair_id(metadata, row.id.as_deref(), number);
        // What was parsed as JSON is text.
        let native = native(std::str::from_utf8(bytes).unwrap_or_default().trim());
        match self.pictures(&row) {
            Ok(pictures) => {
                Ok(Edit::Pair(Box::new(pair(metadata, pair_id, row, pictures, native))))
            }
            Err(NotFound::Failed(error)) => Err(error),
            Err(NotFound::Fault(fault)) => {
                let PictureFault { kind, cause, file, member, offset } = *fault;
                // Where the picture should be, rather than where the row is: the row is there in
                // the native record.
                let (at, cause) = match file {
                    Some(file) => {
                        let cause =
                            format!("{cause}; asked for by {}, row {number}", metadata.path);
                        let place = Place::file(&self.label, &file);
                        (Place { member: Some(member), offset, ..place }, cause)
                    }
                    None => (at, cause),
                };
                let (pair_id, native) = (Some(pair_id), Some(native));
                Ok(rejected(Fault { kind, cause, at, pair_id, native }))
            }
        }
    }

    fn pictures(&self, row: &Row) -> Result<PairPictures, NotFound> {
        let Manifest { source_per_shard, samples_per_shard, .. } = self.manifest;
        let Manifest { num_source_shards, num_sample_shards, .. } = self.manifest;
        let source = ("source", row.source_number, source_per_shard, num_source_shards);
        let asset = ("asset", row.sample_number, samples_per_shard, num_sample_shards);
        let find = |name, shard| self.pictures.find(&named(name, shard));
        Ok(PairPictures {
            source: find(&row.source, source)?,
            target: find(&row.target, asset)?,
            mask: row.mask.as_ref().map(|mask| find(mask, asset)).transpose()?,
        })
    }
}

/// A picture's name with the archive that follows from the ids, where the row names none: shard
/// sizes are what the manifest says.
fn named(
    name: &PictureName,
    (word, number, per_shard, shards): (&str, Option<u64>, Option<u64>, Option<u64>),
) -> PictureName {
    let mut name = name.clone();
    // Only names as they were released; a path of somebody's disk says nothing of shards.
    let released = name.file.starts_with("sources/source_")
        || name.file.starts_with("targets/target_")
        || name.file.starts_with("masks/mask_");
    if name.archive.is_none()
        && released
        && let (Some(number), Some(per_shard), Some(shards)) = (number, per_shard, shards)
        && let Some(shard) = number.checked_div(per_shard)
    {
        name.archive = Some(format!("{word}_shards/{word}-{shard:05}-of-{shards:05}.tar"));
    }
    name
}

struct PairPictures {
    source: Picture,
    target: Picture,
    mask: Option<Picture>,
}

fn pair(
    metadata: &Metadata,
    pair_id: String,
    row: Row,
    pictures: PairPictures,
    native: String,
) -> EditPair {
    let PairPictures { source, target, mask } = pictures;
    let edit_type =
        row.edit_type.as_deref().and_then(|native| edit_type::shared(native, EDIT_TYPES));
    let mut labels = Vec::new();
    if let Some(better) = row.better_data {
        labels.push(Label { name: "better_data".to_owned(), value: better.to_string() });
    }
    match &row.instruction {
        Some(instruction) => labels.extend(crate::text::labels(instruction)),
        None => {
            labels.push(Label { name: "instruction_empty".to_owned(), value: "true".to_owned() });
        }
    }
    let edit_box = match row.bounding_box {
        BoundingBox::None => None,
        BoundingBox::Edges(edges, width, height) => Some(EditBox::new(edges, width, height)),
        BoundingBox::Unreadable => {
            labels.push(Label { name: "box_unreadable".to_owned(), value: "true".to_owned() });
            None
        }
    };
    // Measured on the whole release: an Add's mask is on the target's grid, all others are on the
    // source's.
    let grid = if edit_type.as_deref() == Some("add") { Grid::Target } else { Grid::Source };
    let mask = mask.map(|mask| Mask {
        parts: vec![MaskPart::Picture(mask)],
        combine: Combine::Union,
        edited: Edited::White,
        grid,
        origin: MaskOrigin::Release,
    });
    let language = row
        .language
        .or_else(|| row.instruction.as_deref().and_then(|text| language_of(text, Some("en"))));
    labels.sort_by(|a, b| a.name.cmp(&b.name));
    let mut pair = EditPair {
        split: metadata.split,
        edit_type,
        edit_type_native: row.edit_type.into_iter().collect(),
        language,
        instruction: row.instruction,
        target: Some(target),
        mask,
        edit_box,
        labels,
        native: Some(native),
        ..EditPair::new(pair_id, NAME.to_owned(), source)
    };
    pair.verify_mask_grid();
    pair
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_follows_from_the_ids_where_the_row_names_none() {
        let file = |file: &str| PictureName { archive: None, file: file.to_owned() };
        let source = named(
            &file("sources/source_0000609.png"),
            ("source", Some(609_999), Some(2500), Some(245)),
        );
        assert_eq!(source.archive.as_deref(), Some("source_shards/source-00243-of-00245.tar"));
        for (name, number, per_shard) in [
            ("elsewhere/x.png", Some(1), Some(8)),
            ("sources/source_0.png", None, Some(8)),
            ("sources/source_0.png", Some(1), None),
            ("sources/source_0.png", Some(1), Some(0)),
        ] {
            assert_eq!(named(&file(name), ("source", number, per_shard, Some(4))).archive, None);
        }
    }
}
