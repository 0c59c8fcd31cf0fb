//! Rows and pictures into edits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diptych_format::archives::{NotFound, PictureFault};
use diptych_format::table::{Table, TableEvent};
use diptych_format::{
    Edit, Edits, FormatError, Notice, Part, Place, Reader, ReaderInput, Rejection, SourceFile,
    Tally,
};
use diptych_schema::Picture;
use diptych_storage::recent::Recent;
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadTree, RelPath};

use crate::groups::Task;
use crate::layout::{Layout, Partition};
use crate::pair::{Id, Parts, mask_names, native, pair};
use crate::parts::{self, Found};
use crate::paths::last;
use crate::pictures::{Finder, Folder, Pictures};
use crate::rows::{self, Entry};
use crate::side::recap::RecapIndex;
use crate::side::scores::ScoreFile;
use crate::side::{self, Beside, Context, SideFault};
use crate::{MASKS, NAME, RECAP, SIDE};

/// A hybrid sample's own record, where it was corrected.
const RESULT_FIXED: &str = "result_fixed.json";

pub(crate) struct ImgEditReader {
    tree: Arc<dyn ReadTree>,
    label: String,
    limits: Limits,
    layout: Layout,
    partitions: Vec<String>,
    pictures: Pictures,
    has_masks: bool,
    has_side: bool,
    recap_tree: Option<Arc<dyn ReadTree>>,
    scores: Recent<(), ScoreFile>,
    recap: Recent<(), RecapIndex>,
    seen: Mutex<Seen>,
}

/// What was noticed while partitions were read.
#[derive(Default)]
struct Seen {
    notices: BTreeSet<Notice>,
    /// Rows of the partitions, by number.
    rows: BTreeMap<usize, u64>,
}

impl ImgEditReader {
    pub(crate) fn open(input: ReaderInput<'_>) -> Result<Self, FormatError> {
        let mut layout = Layout::of(input.tree.as_ref(), input.label);
        if layout.partitions.is_empty() {
            return Err(FormatError::Malformed {
                at: Box::new(Place { source: input.label.to_owned(), ..Place::default() }),
                what: "no rows: no Parquet/*.parquet, and no .parquet anywhere".to_owned(),
            });
        }
        let archives = std::mem::take(&mut layout.archives);
        let loose = std::mem::take(&mut layout.loose);
        let pictures = Pictures::new(&input, archives, loose);
        let is_on = |key| input.options.get(key) != "off";
        Ok(Self {
            label: input.label.to_owned(),
            limits: input.limits,
            partitions: layout.partitions.iter().map(|of| of.path.to_string()).collect(),
            layout,
            pictures,
            has_masks: is_on(MASKS),
            has_side: is_on(SIDE),
            recap_tree: input.folders.get(RECAP).cloned(),
            scores: Recent::new(usize::MAX),
            recap: Recent::new(usize::MAX),
            seen: Mutex::default(),
            tree: input.tree,
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_error(&self, file: &str, source: std::io::Error) -> FormatError {
        FormatError::Read { at: Box::new(Place::file(&self.label, file)), source }
    }

    fn notice(&self, kind: &str, file: &str, detail: String) {
        let at = Place::file(&self.label, file);
        self.seen().notices.insert(Notice { kind: kind.to_owned(), at, detail });
    }

    fn side_faults(&self, faults: &[SideFault]) {
        for SideFault { file, cause } in faults {
            self.notice("unreadable_side_file", file, printable(cause.as_bytes()));
        }
    }

    /// The large file of scores, where there is one.
    fn score_file(&self) -> Result<Option<Arc<ScoreFile>>, FormatError> {
        let Some(path) = self.layout.scores.as_ref().filter(|_| self.has_side) else {
            return Ok(None);
        };
        let open = || {
            let file = self.tree.open(path);
            let file = file.and_then(|file| ScoreFile::open(file, &self.limits));
            let file = file.map_err(|source| self.read_error(path.as_str(), source))?;
            self.side_faults(file.faults());
            Ok((file, 1))
        };
        self.scores.get(&(), open).map(Some)
    }

    /// The recaptions, where they were given.
    fn recaptions(&self) -> Result<Option<Arc<RecapIndex>>, FormatError> {
        let Some(tree) = &self.recap_tree else { return Ok(None) };
        let open = || {
            let index = RecapIndex::open(Arc::clone(tree), &self.limits);
            let index = index.map_err(|source| self.read_error(RECAP, source))?;
            self.side_faults(index.faults());
            if index.len() == 0 {
                let detail = "there is no record of a photograph in it".to_owned();
                self.notice("empty_recap", RECAP, detail);
            }
            Ok((index, 1))
        };
        self.recap.get(&(), open).map(Some)
    }

    fn open_table(&self, path: &RelPath) -> Result<Result<Table, String>, FormatError> {
        let file = self.tree.open(path);
        let file = file.map_err(|source| self.read_error(path.as_str(), source))?;
        Ok(Table::open(file, &self.limits))
    }
}

impl Reader for ImgEditReader {
    fn files(&self) -> &[SourceFile] {
        self.pictures.archives.files()
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        let number = partition;
        let partition =
            self.layout.partitions.get(number).ok_or_else(|| FormatError::Malformed {
                at: Box::new(Place { source: self.label.clone(), ..Place::default() }),
                what: format!("there is no partition {number}"),
            })?;
        let table = self.open_table(&partition.path)?;
        let rows = table.as_ref().map_or(0, Table::rows);
        self.seen().rows.insert(number, rows);
        let mut queue = VecDeque::new();
        let table = match table {
            Ok(table) => Some(table),
            Err(why) => {
                let at = Place::file(&self.label, partition.path.as_str());
                queue.push_back(reject(partition, "damaged_parquet", why, at));
                None
            }
        };
        Ok(Box::new(PartitionEdits {
            reader: self,
            partition,
            finder: self.pictures.finder(partition),
            table,
            queue,
            faults: BTreeMap::new(),
            without_mask: 0,
        }))
    }

    fn notices(&self, _: &Tally) -> Vec<Notice> {
        let mut notices = self.layout.notices.clone();
        notices.extend(self.seen().notices.iter().cloned());
        notices.extend(self.pictures.archives.notices());
        notices
    }

    fn parts(&self, tally: &Tally) -> Result<Vec<Part>, FormatError> {
        let rows = self.seen().rows.clone();
        let partitions = self.layout.partitions.iter().enumerate();
        let found = partitions.map(|(number, partition)| {
            let count = |of: &[u64]| of.get(number).copied().unwrap_or(0);
            Found {
                partition,
                rows: rows.get(&number).copied().unwrap_or(0),
                edits: count(&tally.edits),
                pairs: count(&tally.pairs),
            }
        });
        let scored = match &self.layout.scores {
            // Read for its number alone, where pairs do without it.
            Some(path) if !self.has_side => {
                let file = self.tree.open(path);
                let file = file.and_then(|file| ScoreFile::open(file, &self.limits));
                let file = file.map_err(|source| self.read_error(path.as_str(), source))?;
                Some(file.len())
            }
            _ => self.score_file()?.map(|file| file.len()),
        };
        let archives = self.pictures.found.iter().map(|place| &place.archive);
        let archives: Vec<_> = archives.collect();
        let mut parts = parts::parts(&found.collect::<Vec<_>>(), &archives, scored);
        if let Some(recap) = self.recaptions()? {
            let (name, here) = ("photographs with recaptions".to_owned(), recap.len() as u64);
            parts.push(Part { name, here, stated: None, published: None, missing: None });
        }
        Ok(parts)
    }
}

fn reject(partition: &Partition, kind: &str, cause: String, at: Place) -> Edit {
    Edit::Rejected(Box::new(Rejection {
        kind: kind.to_owned(),
        cause,
        at,
        dataset: NAME.to_owned(),
        subset: Some(partition.stem.clone()),
        pair_id: None,
        native: None,
    }))
}

/// The edits of a Parquet file.
struct PartitionEdits<'a> {
    reader: &'a ImgEditReader,
    partition: &'a Partition,
    finder: Finder<'a>,
    table: Option<Table>,
    queue: VecDeque<Edit>,
    /// Files beside pictures that cannot be read, by name: how many, and what the first is.
    faults: BTreeMap<String, (u64, String)>,
    /// Pairs whose mask should be beside their pictures and is not.
    without_mask: u64,
}

impl Edits for PartitionEdits<'_> {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        loop {
            if let Some(edit) = self.queue.pop_front() {
                return Ok(Some(edit));
            }
            let Some(table) = &mut self.table else { return Ok(None) };
            match table.next_event() {
                Some(TableEvent::Row { number, json }) => self.row(number, &json)?,
                Some(TableEvent::Lost { first, count, cause }) => {
                    let at = Place { row: Some(first), ..self.place() };
                    let cause = format!("{count} rows from here on cannot be read: {cause}");
                    self.queue.push_back(reject(self.partition, "damaged_parquet", cause, at));
                }
                None => {
                    self.table = None;
                    self.tell();
                }
            }
        }
    }
}

impl PartitionEdits<'_> {
    fn place(&self) -> Place {
        Place::file(&self.reader.label, self.partition.path.as_str())
    }

    /// Says what was counted.
    fn tell(&mut self) {
        let path = self.partition.path.as_str();
        for (file, (count, first)) in std::mem::take(&mut self.faults) {
            let detail = format!("{count} times {file} cannot be read; the first: {first}");
            self.reader.notice("unreadable_side_file", path, detail);
        }
        if self.without_mask > 0 {
            let detail = format!("{} pairs have no mask beside their pictures", self.without_mask);
            self.reader.notice("missing_mask", path, detail);
        }
    }

    fn rejected(&self, id: Id<'_>, kind: &str, cause: String, at: Place, row: &str) -> Edit {
        Edit::Rejected(Box::new(Rejection {
            kind: kind.to_owned(),
            cause,
            at,
            dataset: NAME.to_owned(),
            subset: Some(self.partition.stem.clone()),
            pair_id: Some(id.pair()),
            native: Some(native(row, &[])),
        }))
    }

    fn row(&mut self, number: u64, json: &str) -> Result<(), FormatError> {
        let id = Id { partition: self.partition, row: number, turn: None };
        let at = Place { row: Some(number), ..self.place() };
        let limit = self.reader.limits.row_bytes;
        if json.len() > limit {
            let cause = format!("{} bytes, the limit is {limit}", json.len());
            let mut rejected = reject(self.partition, "row_too_long", cause, at);
            if let Edit::Rejected(rejection) = &mut rejected {
                rejection.pair_id = Some(id.pair());
            }
            self.queue.push_back(rejected);
            return Ok(());
        }
        let kind = self.table.as_ref().and_then(|table| rows::Kind::of(table.fields()));
        let entries = match kind {
            Some(kind) => rows::entries(kind, json),
            None => {
                let columns = self.table.as_ref().map(Table::columns).unwrap_or_default();
                let columns = printable(columns.join(", ").as_bytes());
                Err(format!(
                    "the file has the columns {columns}, and neither input_images, \
                     output_images and prompt nor data"
                ))
            }
        };
        let entries = entries.and_then(|entries| match kind {
            Some(rows::Kind::Session) if entries.iter().all(Entry::is_bare) => {
                Err("a session without pictures".to_owned())
            }
            _ => Ok(entries),
        });
        match (entries, kind) {
            (Err(cause), _) => {
                let edit = self.rejected(id, "invalid_row", cause, at, json);
                self.queue.push_back(edit);
            }
            (Ok(entries), Some(rows::Kind::Session)) => self.session(id, entries, json)?,
            (Ok(entries), _) => {
                for entry in entries {
                    let edit = self.edit(id, entry, None, 1, json)?;
                    self.queue.push_back(edit);
                }
            }
        }
        Ok(())
    }

    fn session(&mut self, id: Id<'_>, entries: Vec<Entry>, json: &str) -> Result<(), FormatError> {
        let first = entries.iter().position(|entry| !entry.is_bare()).unwrap_or(0);
        let turns = u16::try_from(entries.len() - first).unwrap_or(u16::MAX);
        let mut entries = entries.into_iter();
        let said: Vec<_> = entries.by_ref().take(first).filter_map(|entry| entry.prompt).collect();
        let premise = Some(said.join("\n")).filter(|premise| !premise.is_empty());
        for (turn, entry) in (0_u16..turns).zip(entries) {
            let id = Id { turn: Some(turn), ..id };
            let edit = self.edit(id, entry, premise.clone(), turns, json)?;
            self.queue.push_back(edit);
        }
        Ok(())
    }

    fn edit(
        &mut self,
        id: Id<'_>,
        entry: Entry,
        premise: Option<String>,
        turns: u16,
        json: &str,
    ) -> Result<Edit, FormatError> {
        let found = self.pictures(&entry);
        let (pictures, folder) = match found {
            Ok(found) => found,
            Err(NotFound::Failed(error)) => return Err(error),
            Err(NotFound::Fault(fault)) => return Ok(self.faulty(id, *fault, json)),
        };
        let EntryPictures { source, references, target } = pictures;
        let masks = match self.masks(id, &folder) {
            Ok(masks) => masks,
            Err(NotFound::Failed(error)) => return Err(error),
            Err(NotFound::Fault(fault)) => return Ok(self.faulty(id, *fault, json)),
        };
        let prompt = entry.prompt;
        let parts = Parts { prompt, premise, source, references, target, masks };
        let mut pair = pair(id, parts);
        let beside = self.side(id, &folder, turns, &mut pair)?;
        let beside: Vec<_> = beside.iter().map(|(name, bytes)| (*name, bytes.clone())).collect();
        pair.native = Some(native(json, &beside));
        Ok(Edit::Pair(Box::new(pair)))
    }

    /// The rejection of an edit whose picture is not to be had.
    fn faulty(&self, id: Id<'_>, fault: PictureFault, json: &str) -> Edit {
        let PictureFault { kind, cause, file, member, offset } = fault;
        // Where the picture should be, rather than where the row is: the row is there in the
        // native record.
        let (at, cause) = match file {
            Some(file) => {
                let cause =
                    format!("{cause}; asked for by {}, row {}", self.partition.path, id.row);
                let place = Place::file(&self.reader.label, &file);
                (Place { member: Some(member), offset, ..place }, cause)
            }
            None => (Place { row: Some(id.row), ..self.place() }, cause),
        };
        self.rejected(id, kind, cause, at, json)
    }

    fn pictures(&mut self, entry: &Entry) -> Result<(EntryPictures, Folder), NotFound> {
        let invalid = |cause: String| {
            NotFound::from(PictureFault {
                kind: "invalid_row",
                cause,
                file: None,
                member: String::new(),
                offset: None,
            })
        };
        let (source, others) = match entry.inputs.as_slice() {
            [source, others @ ..] => (source, others),
            [] => return Err(invalid("no input picture".to_owned())),
        };
        let [target] = entry.outputs.as_slice() else {
            let count = entry.outputs.len();
            return Err(invalid(format!("{count} output pictures, and one was expected")));
        };
        let (source, folder) = self.finder.find(source)?;
        let references: Result<Vec<_>, NotFound> =
            others.iter().map(|path| Ok(self.finder.find(path)?.0)).collect();
        let (references, target) = (references?, self.finder.find(target)?.0);
        Ok((EntryPictures { source, references, target }, folder))
    }

    /// The masks beside the source. All of them or none: a part of a mask is no mask. One that was
    /// never there costs no pair; one that is damaged, or may be where a piece is missing, does.
    fn masks(&mut self, id: Id<'_>, folder: &Folder) -> Result<Vec<Picture>, NotFound> {
        let Some(task) = self.partition.task.filter(|_| self.reader.has_masks) else {
            return Ok(Vec::new());
        };
        let names = mask_names(task.masks(), id.turn);
        let mut masks = Vec::with_capacity(names.len());
        for name in &names {
            match self.finder.picture_beside(folder, name)? {
                Some(mask) => masks.push(mask),
                None => {
                    if let Some(fault) = self.finder.cut_beside(folder, name)? {
                        return Err(fault.into());
                    }
                    self.without_mask += 1;
                    return Ok(Vec::new());
                }
            }
        }
        Ok(masks)
    }

    /// Adds what stands beside the pictures, and gives what of it is kept.
    fn side(
        &mut self,
        id: Id<'_>,
        folder: &Folder,
        turns: u16,
        pair: &mut diptych_schema::EditPair,
    ) -> Result<Vec<(&'static str, Vec<u8>)>, FormatError> {
        let reader = self.reader;
        // Action has a frame of a video where others have a folder.
        let Some(task) = self.partition.task.filter(|task| *task != Task::Action) else {
            return Ok(Vec::new());
        };
        let sample = folder.name();
        let context = Context { task, turn: id.turn, turns, sample };
        let mut kept = Vec::new();
        if reader.has_side {
            for name in [RESULT_FIXED, side::RESULT, side::JUDGE, side::JUDGE_TWO] {
                if name == RESULT_FIXED && task != Task::Hybrid {
                    continue;
                }
                match self.finder.bytes_beside(folder, name, reader.limits.row_bytes)? {
                    Some(Ok(bytes)) => kept.push((name, bytes)),
                    Some(Err(length)) => {
                        let limit = reader.limits.row_bytes;
                        self.fault(name, sample, &format!("{length} bytes, the limit is {limit}"));
                    }
                    None => {}
                }
            }
            if let Some(scores) = reader.score_file()? {
                let path = reader.layout.scores.as_ref().map_or("", RelPath::as_str);
                let prefix = prefix_of(self.partition, folder, &pair.source.name);
                let found = scores.find(&prefix, sample);
                let found = found.map_err(|source| reader.read_error(path, source))?;
                kept.extend(found.map(|bytes| (side::SCORES, bytes)));
            }
        }
        let of =
            |name: &str| kept.iter().find(|(kept, _)| *kept == name).map(|(_, b)| b.as_slice());
        let result = of(RESULT_FIXED).or_else(|| of(side::RESULT));
        let recap = match reader.recaptions()? {
            None => None,
            Some(index) => match context.photograph(result) {
                Some(photograph) => {
                    index.find(&photograph).map_err(|source| reader.read_error(RECAP, source))?
                }
                None => None,
            },
        };
        let beside = Beside {
            result,
            judge: of(side::JUDGE),
            judge_two: of(side::JUDGE_TWO),
            score: of(side::SCORES),
            recap: recap.as_deref(),
        };
        for SideFault { file, cause } in side::add(pair, &context, &beside) {
            self.fault(&file, sample, &cause);
        }
        Ok(kept)
    }

    fn fault(&mut self, file: &str, sample: &str, cause: &str) {
        let said = || printable(format!("{sample}: {cause}").as_bytes());
        let (count, _) = self.faults.entry(file.to_owned()).or_insert_with(|| (0, said()));
        *count += 1;
    }
}

/// What the rows call the folder of a sample's group.
fn prefix_of(partition: &Partition, folder: &Folder, called: &str) -> String {
    match partition.known.map(|stem| stem.prefix).filter(|prefix| !prefix.is_empty()) {
        Some(prefix) => prefix.to_owned(),
        None => {
            let before = crate::paths::split_last(called, 2).map_or("", |(before, _)| before);
            let group = if before.is_empty() { folder.group() } else { before };
            last(group).to_owned()
        }
    }
}

struct EntryPictures {
    source: Picture,
    references: Vec<Picture>,
    target: Picture,
}
