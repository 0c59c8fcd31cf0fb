//! Pictures by name: in the archives, or loose in a copy that was unpacked.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use diptych_format::{FormatError, Notice, Place, Probe, SourceFile};
use diptych_pixels::{Head, Probed, probe_at, probe_head};
use diptych_schema::{Address, Picture};
use diptych_storage::recent::Recent;
use diptych_storage::tar::{DefectKind, Entry, Member, MemberKind, TarIndex};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadAt, ReadTree, RelPath};

use crate::layout::{Manifest, ShardName, shard_holds};
use crate::wire::PictureName;

/// What a picture's first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// They were not looked at.
    Unprobed,
    /// No picture known here.
    Unknown,
    Known(Probed),
}

/// Why a picture that a row names is not to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PictureFault {
    pub(crate) kind: &'static str,
    pub(crate) cause: String,
    pub(crate) file: Option<String>,
    pub(crate) member: String,
    pub(crate) offset: Option<u64>,
}

/// Why a picture is not found.
#[derive(Debug)]
pub(crate) enum NotFound {
    /// The release does not have it, or not so that it can be used.
    Fault(Box<PictureFault>),
    /// The release cannot be read.
    Failed(FormatError),
}

impl From<FormatError> for NotFound {
    fn from(error: FormatError) -> Self {
        Self::Failed(error)
    }
}

impl From<PictureFault> for NotFound {
    fn from(fault: PictureFault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

pub(crate) struct Archives {
    tree: Arc<dyn ReadTree>,
    label: String,
    limits: Limits,
    probe: Probe,
    manifest: Manifest,
    /// Archives, then loose pictures; a file's number is its place.
    files: Vec<SourceFile>,
    archive_count: usize,
    by_path: HashMap<String, u32>,
    /// Archives by their last component, where only one has it.
    by_base: HashMap<String, Option<u32>>,
    indexes: Recent<u32, TarIndex<Note>>,
    notices: Mutex<BTreeSet<Notice>>,
    /// Which archive holds a member, by its name's hash: only where rows name no archives.
    everywhere: OnceLock<HashMap<u64, Vec<u32>>>,
}

impl Archives {
    pub(crate) fn new(
        tree: Arc<dyn ReadTree>,
        label: &str,
        (limits, probe): (Limits, Probe),
        manifest: Manifest,
        (archives, loose): (Vec<RelPath>, Vec<RelPath>),
    ) -> Self {
        let archive_count = archives.len();
        let mut by_path = HashMap::new();
        let mut by_base: HashMap<String, Option<u32>> = HashMap::new();
        let mut files = Vec::with_capacity(archive_count + loose.len());
        for (number, path) in (0_u32..).zip(archives.into_iter().chain(loose)) {
            if files.len() < archive_count {
                by_base
                    .entry(path.file_name().to_owned())
                    .and_modify(|only| *only = None)
                    .or_insert(Some(number));
            }
            by_path.insert(path.as_str().to_owned(), number);
            files.push(SourceFile { pieces: vec![path] });
        }
        Self {
            tree,
            label: label.to_owned(),
            limits,
            probe,
            manifest,
            files,
            archive_count,
            by_path,
            by_base,
            indexes: Recent::new(limits.index_bytes),
            notices: Mutex::default(),
            everywhere: OnceLock::new(),
        }
    }

    pub(crate) fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// What was noticed of the archives looked into, sorted.
    pub(crate) fn notices(&self) -> BTreeSet<Notice> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The picture that a row names.
    pub(crate) fn find(&self, name: &PictureName) -> Result<Picture, NotFound> {
        if ["http://", "https://"].iter().any(|scheme| name.file.starts_with(scheme)) {
            let address = Address::Url { url: name.file.clone(), sha256: None };
            return Ok(unprobed(&name.file, address));
        }
        let Some(archive) = &name.archive else { return self.find_anywhere(&name.file) };
        let Some(number) = self.archive(archive) else {
            // A copy whose archives were unpacked still has the picture.
            let missing = || PictureFault {
                kind: "missing_shard",
                cause: format!("{} is not there", printable(archive.as_bytes())),
                file: Some(archive.clone()),
                member: name.file.clone(),
                offset: None,
            };
            return self.find_loose(&name.file)?.ok_or_else(|| missing().into());
        };
        let index = self.index(number)?;
        match index.get(member_name(&name.file)) {
            Some(entry) => Ok(self.picture(&name.file, number, &entry)?),
            None => Err(self.not_found(&name.file, number, &index).into()),
        }
    }

    /// An archive by the path that rows give, or by its name alone in a copy that has it elsewhere.
    fn archive(&self, path: &str) -> Option<u32> {
        let path = path.trim_start_matches("./");
        let exact = self.by_path.get(path).copied();
        let exact = exact.filter(|number| (*number as usize) < self.archive_count);
        let base = || path.rsplit('/').next().and_then(|base| *self.by_base.get(base)?);
        exact.or_else(base)
    }

    fn path_of(&self, number: u32) -> Option<&RelPath> {
        self.files.get(number as usize).and_then(|file| file.pieces.first())
    }

    fn path_text(&self, number: u32) -> String {
        self.path_of(number).map(ToString::to_string).unwrap_or_default()
    }

    fn read_error(&self, number: u32, source: io::Error) -> FormatError {
        FormatError::Read {
            at: Box::new(Place::file(&self.label, &self.path_text(number))),
            source,
        }
    }

    fn open(&self, number: u32) -> Result<Arc<dyn ReadAt>, FormatError> {
        let path = self.path_of(number).ok_or(io::ErrorKind::NotFound.into());
        path.and_then(|path| self.tree.open(path)).map_err(|e| self.read_error(number, e))
    }

    fn index(&self, number: u32) -> Result<Arc<TarIndex<Note>>, FormatError> {
        self.indexes.get(&number, || {
            let file = self.open(number)?;
            let mut classify = |member: &Member<'_>| match member.kind {
                MemberKind::File if member.length > 0 => {
                    self.note(file.as_ref(), member.offset, member.length, member.head)
                }
                _ => Ok(Note::Unprobed),
            };
            let index = TarIndex::build(file.as_ref(), &self.limits, &mut classify)
                .map_err(|e| self.read_error(number, e))?;
            self.notice_defects(number, &index);
            let weight = index.memory_bytes();
            Ok((index, weight))
        })
    }

    fn note(&self, file: &dyn ReadAt, start: u64, length: u64, head: &[u8]) -> io::Result<Note> {
        if self.probe == Probe::None {
            return Ok(Note::Unprobed);
        }
        let probed = match probe_head(head, length) {
            Head::Known(probed) => Some(probed),
            Head::Unknown => None,
            Head::NeedsMore => {
                probe_at(length, |offset, buffer| file.read_at(start + offset, buffer))?
            }
        };
        Ok(probed.map_or(Note::Unknown, Note::Known))
    }

    fn notice_defects(&self, number: u32, index: &TarIndex<Note>) {
        let path = self.path_text(number);
        let notice = |kind: &str, offset: Option<u64>, detail: String| {
            let at = Place { offset, ..Place::file(&self.label, &path) };
            Notice { kind: kind.to_owned(), at, detail }
        };
        let mut found: Vec<Notice> = index
            .defects()
            .iter()
            .map(|defect| {
                let kind = match defect.kind {
                    DefectKind::BadHeader { .. } => "damaged_header",
                    DefectKind::Truncated { .. } => "truncated_archive",
                    DefectKind::NoEndBlocks => "no_end_blocks",
                    DefectKind::ConflictingNames { .. } => "conflicting_names",
                    DefectKind::Concatenated => "concatenated_archives",
                    DefectKind::TrailingGarbage => "trailing_garbage",
                    DefectKind::Limit { .. } => "limit",
                    DefectKind::Repeated { .. } => "repeated_member",
                    _ => "damaged_archive",
                };
                notice(kind, Some(defect.offset), defect.to_string())
            })
            .collect();
        if index.dropped_defects() > 0 {
            let more = format!("{} more defects are not listed", index.dropped_defects());
            found.push(notice("damaged_archive", None, more));
        }
        if let Some((stated, what)) = self.stated_members(&path) {
            let members = index.iter().filter(|entry| entry.kind == MemberKind::File).count();
            if members as u64 != stated {
                let detail = format!("{members} {what}, {stated} by the manifest");
                found.push(notice("manifest_mismatch", None, detail));
            }
        }
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// How many members the manifest says that an archive holds.
    fn stated_members(&self, path: &str) -> Option<(u64, &'static str)> {
        let name = ShardName::parse(path)?;
        let Manifest { source_per_shard, samples_per_shard, .. } = self.manifest;
        let Manifest { num_samples, num_unique_source_images, .. } = self.manifest;
        let holds = |each: u64, total| shard_holds(name.index, name.count, each, total);
        match name.series.rsplit('/').next()? {
            "source" => Some((holds(source_per_shard?, num_unique_source_images)?, "sources")),
            "asset" => {
                Some((holds(samples_per_shard?, num_samples)?.checked_mul(2)?, "targets and masks"))
            }
            _ => None,
        }
    }

    fn picture(
        &self,
        name: &str,
        number: u32,
        entry: &Entry<'_, Note>,
    ) -> Result<Picture, PictureFault> {
        let fault = |kind, cause: &str| {
            Err(PictureFault {
                kind,
                cause: format!("{}: {cause}", printable(name.as_bytes())),
                file: Some(self.path_text(number)),
                member: name.to_owned(),
                offset: Some(entry.header_offset),
            })
        };
        match entry.kind {
            MemberKind::File => {}
            MemberKind::Link => return fault("unusable_member", "a link, which is never followed"),
            MemberKind::Sparse => return fault("unusable_member", "a sparse file"),
            MemberKind::Directory => return fault("unusable_member", "a folder"),
            _ => return fault("unusable_member", "no regular file"),
        }
        if entry.length == 0 {
            return fault("empty_picture", "0 bytes");
        }
        let address = Address::Range { file: number, offset: entry.offset, length: entry.length };
        match entry.note {
            Note::Unknown => {
                fault("unknown_picture_type", "its bytes are those of no known picture")
            }
            Note::Unprobed => Ok(unprobed(name, address)),
            Note::Known(Probed { media_type, width, height }) => Ok(Picture {
                width: Some(width),
                height: Some(height),
                media_type: Some(media_type),
                ..unprobed(name, address)
            }),
        }
    }

    /// Why a name is not in an archive that is there.
    fn not_found(&self, name: &str, number: u32, index: &TarIndex<Note>) -> PictureFault {
        let wanted = member_name(name);
        let of_it = index.defects().iter().find(|defect| match &defect.kind {
            DefectKind::Truncated { name, .. } => name.as_ref() == wanted,
            DefectKind::ConflictingNames { first, second } => {
                [first, second].iter().any(|name| name.as_ref() == wanted)
            }
            _ => false,
        });
        let hiding = || {
            let no_end = |kind: &DefectKind| matches!(kind, DefectKind::NoEndBlocks);
            index.defects().iter().find(|d| d.kind.hides_members() || no_end(&d.kind))
        };
        let archive = self.path_text(number);
        let (kind, cause, offset) = match of_it {
            Some(defect) => {
                let kind = match defect.kind {
                    DefectKind::Truncated { .. } => "truncated_member",
                    _ => "unusable_member",
                };
                (kind, defect.to_string(), Some(defect.offset))
            }
            None => match hiding() {
                Some(defect) => {
                    let cause = format!("not found in a damaged archive: {defect}");
                    ("damaged_archive", cause, Some(defect.offset))
                }
                None => ("missing_member", format!("not in {archive}"), None),
            },
        };
        let cause = format!("{}: {cause}", printable(name.as_bytes()));
        PictureFault { kind, cause, file: Some(archive), member: name.to_owned(), offset }
    }

    /// A picture of which only a path is known.
    fn find_anywhere(&self, name: &str) -> Result<Picture, NotFound> {
        if let Some(found) = self.find_loose(name)? {
            return Ok(found);
        }
        let everywhere = match self.everywhere.get() {
            Some(everywhere) => everywhere,
            None => {
                let made = self.names_everywhere()?;
                self.everywhere.get_or_init(|| made)
            }
        };
        for tail in tails(name) {
            let wanted = member_name(tail);
            for number in everywhere.get(&hash(wanted)).into_iter().flatten() {
                let index = self.index(*number)?;
                if let Some(entry) = index.get(wanted) {
                    return Ok(self.picture(name, *number, &entry)?);
                }
            }
        }
        Err(NotFound::from(PictureFault {
            kind: "missing_member",
            cause: format!("{}: no file and in no archive", printable(name.as_bytes())),
            file: None,
            member: name.to_owned(),
            offset: None,
        }))
    }

    fn names_everywhere(&self) -> Result<HashMap<u64, Vec<u32>>, FormatError> {
        let mut everywhere: HashMap<u64, Vec<u32>> = HashMap::new();
        for (number, _) in (0_u32..).zip(self.files.iter().take(self.archive_count)) {
            for entry in self.index(number)?.iter() {
                everywhere.entry(hash(entry.name)).or_default().push(number);
            }
        }
        Ok(everywhere)
    }

    /// A picture that lies loose in the copy, by the longest end of its path that is there.
    fn find_loose(&self, name: &str) -> Result<Option<Picture>, NotFound> {
        if self.files.len() == self.archive_count {
            return Ok(None);
        }
        let loose = |tail: &str| {
            let number = self.by_path.get(tail).copied();
            number.filter(|number| *number as usize >= self.archive_count)
        };
        let Some(number) = tails(name).find_map(loose) else { return Ok(None) };
        let file = self.open(number)?;
        let length = file.len();
        let note = match length {
            0 => Note::Unprobed,
            _ => {
                self.note(file.as_ref(), 0, length, &[]).map_err(|e| self.read_error(number, e))?
            }
        };
        let entry = Entry {
            name: name.as_bytes(),
            header_offset: 0,
            offset: 0,
            length,
            kind: MemberKind::File,
            note,
        };
        Ok(Some(self.picture(name, number, &entry)?))
    }
}

fn unprobed(name: &str, address: Address) -> Picture {
    Picture { name: name.to_owned(), address, width: None, height: None, media_type: None }
}

fn member_name(name: &str) -> &[u8] {
    name.trim_start_matches("./").as_bytes()
}

/// A path and what is left of it when leading folders are taken off, one after the other.
fn tails(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_start_matches("./").trim_start_matches('/');
    std::iter::successors(Some(path), |path| path.split_once('/').map(|(_, tail)| tail))
}

fn hash(name: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    // Names that meet by chance or by design only cost a look into one archive more.
    let mut hasher = DefaultHasher::new();
    hasher.write(name);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn leading_folders_are_taken_off_one_by_one() {
        let all: Vec<_> = super::tails("./a/b/c.png").collect();
        assert_eq!(all, ["a/b/c.png", "b/c.png", "c.png"]);
        let all: Vec<_> = super::tails("/data/x.png").collect();
        assert_eq!(all, ["data/x.png", "x.png"]);
    }
}
