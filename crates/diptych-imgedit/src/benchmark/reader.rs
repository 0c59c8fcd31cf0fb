//! Items and pictures into pairs.

use std::collections::HashMap;

use diptych_format::archives::{Archives, NotFound, PictureFault};
use diptych_format::{
    Edit, Edits, FormatError, Notice, Part as PartOf, Place, Reader, ReaderInput, Rejection,
    SourceFile, Tally,
};
use diptych_schema::text::language_of;
use diptych_schema::{EditPair, Label, Picture, Split, edit_type};
use diptych_storage::tar::MemberKind;
use diptych_storage::text::printable;

use super::items::{Item, ItemFault, items};
use super::{ARCHIVE, List, MEMBERS, NAME, Part};
use crate::groups::EDIT_TYPES;

/// Bytes of a list: a hundred times as many as the longest has.
const LIST: u64 = 16 << 20;

/// The number of the archive, which comes before what lies loose.
const NUMBER: u32 = 0;

pub(super) struct BenchmarkReader {
    label: String,
    archives: Archives,
    has_archive: bool,
    /// Loose files by their path.
    loose: HashMap<String, u32>,
    lists: Vec<List>,
    partitions: Vec<String>,
}

impl BenchmarkReader {
    pub(super) fn open(input: &ReaderInput<'_>) -> Result<Self, FormatError> {
        let archive = input.tree.entry(ARCHIVE).map(|entry| entry.path.clone());
        let has_archive = archive.is_some();
        let others = input.tree.list().iter().map(|entry| entry.path.clone());
        let others = others.filter(|path| !has_archive && path.as_str() != ARCHIVE);
        let mut loose = HashMap::new();
        let mut files = Vec::new();
        for (number, path) in (0..).zip(archive.into_iter().chain(others)) {
            if path.as_str() != ARCHIVE {
                loose.insert(path.as_str().to_owned(), number);
            }
            files.push(SourceFile::new(vec![path]));
        }
        let archives = Archives::new(input, files);
        let lists = if has_archive {
            let index = archives.index(NUMBER)?;
            let files = index.iter().filter(|entry| entry.kind == MemberKind::File);
            List::all(files.filter_map(|entry| std::str::from_utf8(entry.name).ok()))
        } else {
            List::all(loose.keys().map(String::as_str))
        };
        if lists.is_empty() {
            return Err(FormatError::Malformed {
                at: Box::new(Place { source: input.label.to_owned(), ..Place::default() }),
                what: "no list of items: no singleturn/singleturn.json, and none in hard or \
                       multiturn"
                    .to_owned(),
            });
        }
        let partitions = lists.iter().map(|list| list.path.clone()).collect();
        let label = input.label.to_owned();
        Ok(Self { label, archives, has_archive, loose, lists, partitions })
    }

    /// Where a file of the benchmark is.
    fn place(&self, path: &str) -> Place {
        if self.has_archive {
            Place { member: Some(path.to_owned()), ..Place::file(&self.label, ARCHIVE) }
        } else {
            Place::file(&self.label, path)
        }
    }

    /// The bytes of a list; a fault where it is too long to be one.
    fn bytes(&self, path: &str) -> Result<Result<Vec<u8>, String>, FormatError> {
        let (number, offset, length) = if self.has_archive {
            let index = self.archives.index(NUMBER)?;
            match index.get(path.as_bytes()) {
                Some(entry) => (NUMBER, entry.offset, entry.length),
                None => return Ok(Err("it is not there any more".to_owned())),
            }
        } else {
            let number = self.loose.get(path).copied().unwrap_or_default();
            (number, 0, self.archives.open(number)?.len())
        };
        if length > LIST {
            return Ok(Err(format!("{length} bytes, which is no list of items")));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        let read = self.archives.open(number)?.read_exact_at(offset, &mut bytes);
        read.map_err(|error| self.archives.read_error(number, error))?;
        Ok(Ok(bytes))
    }

    /// A picture, by its path from the folder of the list.
    fn picture(&self, list: &List, id: &str) -> Result<Picture, NotFound> {
        let folder = list.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let id = id.trim_start_matches("./");
        let path = if folder.is_empty() { id.to_owned() } else { format!("{folder}/{id}") };
        if self.has_archive {
            let index = self.archives.index(NUMBER)?;
            return match index.get(path.as_bytes()) {
                Some(entry) => Ok(self.archives.member(&path, NUMBER, &entry)?),
                None => Err(self.archives.absent(&path, path.as_bytes(), NUMBER, &index).into()),
            };
        }
        match self.loose.get(&path) {
            Some(number) => self.archives.loose(&path, *number),
            None => Err(PictureFault {
                kind: "missing_member",
                cause: format!("{}: no such file", printable(path.as_bytes())),
                file: Some(path.clone()),
                member: path,
                offset: None,
            }
            .into()),
        }
    }
}

impl Reader for BenchmarkReader {
    fn files(&self) -> &[SourceFile] {
        self.archives.files()
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        let list = self.lists.get(partition).ok_or_else(|| FormatError::Malformed {
            at: Box::new(Place { source: self.label.clone(), ..Place::default() }),
            what: format!("there is no partition {partition}"),
        })?;
        let read = self.bytes(&list.path)?.and_then(|bytes| items(&bytes));
        let items = read.unwrap_or_else(|cause| {
            // How many items are lost nobody knows: it counts as one.
            let key = String::new();
            vec![Err(ItemFault { key, kind: "invalid_json", cause, native: None })]
        });
        let items = (0..).zip(items).flat_map(turns).collect::<Vec<_>>().into_iter();
        Ok(Box::new(ItemEdits { reader: self, list, items }))
    }

    fn notices(&self, _: &Tally) -> Vec<Notice> {
        self.archives.notices().into_iter().collect()
    }

    fn parts(&self, tally: &Tally) -> Result<Vec<PartOf>, FormatError> {
        let part = |name: String, here, published| PartOf {
            name,
            here,
            stated: None,
            published,
            missing: None,
        };
        let mut parts: Vec<_> = self
            .lists
            .iter()
            .zip(&tally.edits)
            .map(|(list, edits)| {
                let part_of = &list.part;
                part(format!("edits of {}", part_of.subset()), *edits, part_of.published())
            })
            .collect();
        if self.has_archive {
            let members = self.archives.index(NUMBER)?.len() as u64;
            parts.push(part(format!("members of {ARCHIVE}"), members, Some(MEMBERS)));
        }
        Ok(parts)
    }
}

/// An edit that an item asks for: which turn it is, or why there is none.
type Asked = (u64, Result<(Item, u16), ItemFault>);

/// The edits of an item in a row.
fn turns((row, item): (u64, Result<Item, ItemFault>)) -> Vec<Asked> {
    match item {
        Ok(item) => {
            let count = u16::try_from(item.instructions.len()).unwrap_or(u16::MAX);
            (0..count).map(|turn| (row, Ok((item.clone(), turn)))).collect()
        }
        Err(fault) => vec![(row, Err(fault))],
    }
}

struct ItemEdits<'r> {
    reader: &'r BenchmarkReader,
    list: &'r List,
    items: std::vec::IntoIter<Asked>,
}

impl Edits for ItemEdits<'_> {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        let Some((row, asked)) = self.items.next() else { return Ok(None) };
        let at = Place { row: Some(row), ..self.reader.place(&self.list.path) };
        let rejection = |kind: &str, cause, at, pair_id, native: Option<String>| Rejection {
            kind: kind.to_owned(),
            cause,
            at,
            dataset: NAME.to_owned(),
            subset: Some(self.list.part.subset().to_owned()),
            pair_id,
            native,
        };
        let (item, turn) = match asked {
            Ok(asked) => asked,
            Err(ItemFault { key, kind, cause, native }) => {
                let pair_id =
                    (!key.is_empty()).then(|| format!("{}:{key}", self.list.part.prefix()));
                let rejection = rejection(kind, cause, at, pair_id, native);
                return Ok(Some(Edit::Rejected(Box::new(rejection))));
            }
        };
        let pair_id = pair_id(&self.list.part, &item, turn);
        let native = format!("{{\"row\":{}}}", item.native);
        match self.reader.picture(self.list, &item.id) {
            Ok(source) => {
                let pair = pair(&self.list.part, &item, turn, pair_id, native, source);
                Ok(Some(Edit::Pair(Box::new(pair))))
            }
            Err(NotFound::Fault(fault)) => {
                let PictureFault { kind, cause, file, member, offset } = *fault;
                let at = Place { file, member: Some(member), offset, ..at };
                let rejection = rejection(kind, cause, at, Some(pair_id), Some(native));
                Ok(Some(Edit::Rejected(Box::new(rejection))))
            }
            Err(NotFound::Failed(error)) => Err(error),
        }
    }
}

fn pair_id(part: &Part, item: &Item, turn: u16) -> String {
    let id = format!("{}:{}", part.prefix(), item.key);
    if matches!(part, Part::Multiturn(_)) { format!("{id}:{turn}") } else { id }
}

fn pair(
    part: &Part,
    item: &Item,
    turn: u16,
    pair_id: String,
    native: String,
    source: Picture,
) -> EditPair {
    let label = |name: &str, value: &str| Label { name: name.to_owned(), value: value.to_owned() };
    let mut pair = EditPair::new(pair_id, NAME.to_owned(), source);
    pair.subset = Some(part.subset().to_owned());
    pair.split = Some(Split::Test);
    pair.labels = vec![label("benchmark", part.word())];
    pair.instruction = item.instructions.get(usize::from(turn)).cloned();
    pair.language = pair.instruction.as_deref().and_then(|text| language_of(text, Some("en")));
    pair.edit_type =
        item.edit_type.as_deref().and_then(|native| edit_type::shared(native, EDIT_TYPES));
    pair.edit_type_native.extend(item.edit_type.clone());
    if let Some(task) = part.task() {
        pair.session_id = Some(format!("{}:{}", part.prefix(), item.key));
        pair.turn = Some(turn);
        // What a later turn edits is what the evaluated model made before.
        pair.base = (turn == 0).then(|| "original".to_owned());
        pair.edit_type = pair.edit_type.or_else(|| edit_type::shared(task, EDIT_TYPES));
        pair.labels.push(label("task", task));
    }
    pair.native = Some(native);
    pair
}
