//! The files of a release that hold pictures: archives by the headers of their members, and
//! pictures that lie loose.
//!
//! What a release calls a picture, and in which file it is to be looked for, a format knows. What
//! is the same for all is here: an index of each archive is made once and kept while there is
//! room, pictures' headers are looked at in the same pass, damage is noticed, and what cannot be
//! used is told with its place.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use diptych_pixels::{Head, Probed, probe_at, probe_head};
use diptych_schema::{Address, Picture};
use diptych_storage::read::Pieces;
use diptych_storage::recent::Recent;
use diptych_storage::tar::{DefectKind, Entry, Member, MemberKind, TarIndex};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadAt, ReadTree, RelPath};

use crate::{FormatError, Notice, Notices, Place, Probe, ReaderInput, SourceFile};

/// What a picture's first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// They were not looked at.
    Unprobed,
    /// No picture known here.
    Unknown,
    /// Its type and size.
    Known(Probed),
}

/// What every PNG ends with: an empty chunk of the kind IEND.
const PNG_END: [u8; 12] = *b"\0\0\0\0IEND\xAE\x42\x60\x82";

/// The members of an archive, each with what its first bytes say.
pub type ArchiveIndex = TarIndex<Note>;

/// Why a picture that a row names is not to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureFault {
    /// The kind of the rejection.
    pub kind: &'static str,
    /// What is wrong: a fragment without a period.
    pub cause: String,
    /// The file in which it is or should be, where that is known.
    pub file: Option<String>,
    /// The picture, as the release calls it.
    pub member: String,
    /// Where in the file, in bytes.
    pub offset: Option<u64>,
}

/// Why a picture is not found.
#[derive(Debug)]
pub enum NotFound {
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

/// What a member is that is no file, which cannot be used: a fragment. `None` for a file.
#[must_use]
pub fn no_file(kind: MemberKind) -> Option<&'static str> {
    match kind {
        MemberKind::File => None,
        MemberKind::Link => Some("a link, which is never followed"),
        MemberKind::Sparse => Some("a sparse file"),
        MemberKind::Directory => Some("a folder"),
        MemberKind::Other => Some("no regular file"),
    }
}

/// What lies in a file as if it were a member.
fn entry(name: &str, offset: u64, length: u64, note: Note) -> Entry<'_, Note> {
    let (name, kind) = (name.as_bytes(), MemberKind::File);
    Entry { name, header_offset: offset, offset, length, kind, note }
}

/// The files of a release that hold pictures. A file's number is its place.
pub struct Archives {
    tree: Arc<dyn ReadTree>,
    label: String,
    limits: Limits,
    probe: Probe,
    files: Vec<SourceFile>,
    /// Where the pieces of a file that has several end in it, in order.
    ends: BTreeMap<u32, Vec<u64>>,
    indexes: Recent<u32, ArchiveIndex>,
    seen: Mutex<Seen>,
}

/// What is known of the archives that were looked into.
struct Seen {
    notices: Notices,
    /// Regular files in an archive, by its number.
    members: BTreeMap<u32, u64>,
}

impl Archives {
    /// The files `files` of the release that a reader was given.
    #[must_use]
    pub fn new(input: &ReaderInput<'_>, files: Vec<SourceFile>) -> Self {
        let length =
            |piece: &RelPath| input.tree.entry(piece.as_str()).map_or(0, |entry| entry.length);
        let ends = |file: &SourceFile| {
            let lengths = file.pieces.iter().map(length);
            let sums = lengths.scan(0_u64, |end, length| {
                *end = end.saturating_add(length);
                Some(*end)
            });
            sums.collect()
        };
        Self {
            ends: (0..)
                .zip(&files)
                .filter(|(_, file)| file.pieces.len() > 1)
                .map(|(number, file)| (number, ends(file)))
                .collect(),
            tree: Arc::clone(&input.tree),
            label: input.label.to_owned(),
            limits: input.limits,
            probe: input.probe,
            files,
            indexes: Recent::new(input.limits.index_bytes),
            seen: Mutex::new(Seen {
                notices: Notices::new(input.limits.notices),
                members: BTreeMap::new(),
            }),
        }
    }

    /// What places in the release are named by.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The path of a file, of its first piece where it has several; empty for one that there is
    /// not.
    #[must_use]
    pub fn path(&self, number: u32) -> &str {
        let first = self.files.get(number as usize).and_then(|file| file.pieces.first());
        first.map_or("", |path| path.as_str())
    }

    /// Which piece of a file holds the byte at `offset`, and where in that piece it is.
    #[must_use]
    pub fn at(&self, number: u32, offset: u64) -> (&str, u64) {
        let piece = || {
            let file = self.files.get(number as usize)?;
            let ends = self.ends.get(&number)?;
            // Behind the end it is the last one that goes on.
            let place = ends.partition_point(|end| *end <= offset).min(ends.len().checked_sub(1)?);
            let start = place.checked_sub(1).and_then(|before| ends.get(before));
            Some((file.pieces.get(place)?.as_str(), offset - start.copied().unwrap_or(0)))
        };
        piece().unwrap_or((self.path(number), offset))
    }

    /// What was noticed of the archives looked into, sorted.
    #[must_use]
    pub fn notices(&self) -> BTreeSet<Notice> {
        self.seen().notices.iter().cloned().collect()
    }

    /// How many regular files are in each archive that was looked into, by its number.
    #[must_use]
    pub fn members(&self) -> BTreeMap<u32, u64> {
        self.seen().members.clone()
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error of reading the file `number`.
    #[must_use]
    pub fn read_error(&self, number: u32, source: io::Error) -> FormatError {
        FormatError::Read { at: Box::new(Place::file(&self.label, self.path(number))), source }
    }

    /// Opens a file; one in pieces as if they were one.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(&self, number: u32) -> Result<Arc<dyn ReadAt>, FormatError> {
        let file = self.files.get(number as usize).ok_or(io::ErrorKind::NotFound.into());
        let opened = file.and_then(|file| match file.pieces.as_slice() {
            [only] => self.tree.open(only),
            pieces => {
                let pieces: io::Result<Vec<_>> =
                    pieces.iter().map(|piece| self.tree.open(piece)).collect();
                Ok(Arc::new(Pieces::new(pieces?)) as Arc<dyn ReadAt>)
            }
        });
        opened.map_err(|source| self.read_error(number, source))
    }

    /// The index of an archive: made now, or kept from before.
    ///
    /// # Errors
    /// Where the archive cannot be read. Damage is no error: it is noticed.
    pub fn index(&self, number: u32) -> Result<Arc<ArchiveIndex>, FormatError> {
        self.indexes.get(&number, || {
            let file = self.open(number)?;
            let mut classify = |member: &Member<'_>| match member.kind {
                MemberKind::File if member.length > 0 => {
                    self.note(file.as_ref(), member.offset, member.length, member.head)
                }
                _ => Ok(Note::Unprobed),
            };
            let rest = self.files.get(number as usize).and_then(|file| file.rest);
            let (file, limits) = (file.as_ref(), &self.limits);
            let index = match rest {
                None => TarIndex::build(file, limits, &mut classify),
                Some(rest) => TarIndex::build_rest(file, limits, rest.border, &mut classify),
            };
            let index = index.map_err(|source| self.read_error(number, source))?;
            self.see(number, &index);
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

    fn see(&self, number: u32, index: &ArchiveIndex) {
        let notice = |kind: &str, offset: Option<u64>, detail: String| {
            let (file, offset) = match offset.map(|offset| self.at(number, offset)) {
                Some((file, offset)) => (file, Some(offset)),
                None => (self.path(number), None),
            };
            let at = Place { offset, ..Place::file(&self.label, file) };
            Notice { kind: kind.to_owned(), at, detail }
        };
        let mut found: Vec<Notice> = index
            .defects()
            .iter()
            // Who says that the beginning is missing says so better.
            .filter(|defect| !matches!(defect.kind, DefectKind::NoBeginning { .. }))
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
        // Folders are no loss: files say where they are themselves.
        let unusable = |entry: &Entry<'_, Note>| match entry.kind {
            MemberKind::File | MemberKind::Directory => false,
            MemberKind::Link | MemberKind::Sparse | MemberKind::Other => true,
        };
        let mut unusable = index.iter().filter(unusable);
        if let Some(first) = unusable.next() {
            let (count, what) = (1 + unusable.count(), no_file(first.kind).unwrap_or_default());
            let name = printable(first.name);
            let detail = format!("{count} members that are no files, {name} for one: {what}");
            found.push(notice("unusable_members", Some(first.header_offset), detail));
        }
        let regular = index.iter().filter(|entry| entry.kind == MemberKind::File).count() as u64;
        let mut seen = self.seen();
        seen.notices.extend(found);
        seen.members.insert(number, regular);
    }

    /// The picture that a member is; `name` is what the release calls it.
    ///
    /// # Errors
    /// Where the member cannot be a picture.
    pub fn member(
        &self,
        name: &str,
        number: u32,
        entry: &Entry<'_, Note>,
    ) -> Result<Picture, PictureFault> {
        let fault = |kind, cause: &str| {
            let (file, offset) = self.at(number, entry.header_offset);
            Err(PictureFault {
                kind,
                cause: format!("{}: {cause}", printable(name.as_bytes())),
                file: Some(file.to_owned()),
                member: name.to_owned(),
                offset: Some(offset),
            })
        };
        if let Some(what) = no_file(entry.kind) {
            return fault("unusable_member", what);
        }
        if entry.length == 0 {
            return fault("empty_picture", "0 bytes");
        }
        if let Some(piece) = self.broken_at(number, entry) {
            let cause = format!(
                "it does not end where it should, behind the end of {piece}: a piece is short, \
                 long or another's"
            );
            return fault("missing_piece", &cause);
        }
        let address = Address::Range { file: number, offset: entry.offset, length: entry.length };
        match entry.note {
            Note::Unknown => {
                fault("unknown_picture_type", "its bytes are those of no known picture")
            }
            Note::Unprobed => Ok(Picture::unprobed(name, address)),
            Note::Known(Probed { media_type, width, height }) => Ok(Picture {
                width: Some(width),
                height: Some(height),
                media_type: Some(media_type),
                ..Picture::unprobed(name, address)
            }),
        }
    }

    /// The piece at whose end a picture is broken: it crosses that, and its last bytes are not
    /// those of a PNG or a JPEG that begins as it does. Where a piece lost bytes that nobody can
    /// miss, nothing but this tells that what is read as one picture is parts of two.
    fn broken_at(&self, number: u32, entry: &Entry<'_, Note>) -> Option<&str> {
        let pieces = &self.files.get(number as usize)?.pieces;
        if pieces.len() < 2 {
            return None;
        }
        let last = entry.offset.checked_add(entry.length)?.checked_sub(1)?;
        let ((first, _), (end, _)) = (self.at(number, entry.offset), self.at(number, last));
        if first == end {
            return None;
        }
        // What cannot be read is told by whoever copies it.
        let file = self.open(number).ok()?;
        let read = |offset: u64, length: u64| {
            let mut bytes = vec![0; usize::try_from(length.min(entry.length)).ok()?];
            file.read_exact_at(offset, &mut bytes).ok()?;
            Some(bytes)
        };
        let head = read(entry.offset, 8)?;
        let tail = read((last + 1).saturating_sub(PNG_END.len() as u64).max(entry.offset), 12)?;
        let is_whole = match head.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => tail.ends_with(&PNG_END),
            [0xFF, 0xD8, 0xFF, ..] => tail.ends_with(&[0xFF, 0xD9]),
            _ => true,
        };
        (!is_whole).then_some(first)
    }

    /// The picture that a whole file is.
    ///
    /// # Errors
    /// Where it cannot be one, or cannot be read.
    pub fn loose(&self, name: &str, number: u32) -> Result<Picture, NotFound> {
        let file = self.open(number)?;
        self.range(name, number, file.as_ref(), 0, file.len())
    }

    /// The picture that a range of the file `number` is, which is open.
    ///
    /// # Errors
    /// Where it cannot be one, or cannot be read.
    pub fn range(
        &self,
        name: &str,
        number: u32,
        file: &dyn ReadAt,
        offset: u64,
        length: u64,
    ) -> Result<Picture, NotFound> {
        let note = match length {
            0 => Note::Unprobed,
            _ => {
                let note = self.note(file, offset, length, &[]);
                note.map_err(|error| self.read_error(number, error))?
            }
        };
        Ok(self.member(name, number, &entry(name, offset, length, note))?)
    }

    /// The picture that bytes are which do not lie in the file `number` as they are.
    ///
    /// # Errors
    /// Where they cannot be one.
    pub fn held(&self, name: &str, number: u32, bytes: &[u8]) -> Result<Picture, PictureFault> {
        let length = bytes.len() as u64;
        let note = match probe_head(bytes, length) {
            _ if length == 0 || self.probe == Probe::None => Note::Unprobed,
            Head::Known(probed) => Note::Known(probed),
            Head::Unknown | Head::NeedsMore => Note::Unknown,
        };
        let picture = self.member(name, number, &entry(name, 0, length, note));
        picture.map_err(|fault| PictureFault { offset: None, ..fault })
    }

    /// Why `name` is not in an archive that is there, where `wanted` was looked for as the
    /// member's name.
    #[must_use]
    pub fn absent(
        &self,
        name: &str,
        wanted: &[u8],
        number: u32,
        index: &ArchiveIndex,
    ) -> PictureFault {
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
        let archive = self.path(number);
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
        let at = offset.map(|offset| self.at(number, offset));
        let file = Some(at.map_or(archive, |(file, _)| file).to_owned());
        let (member, offset) = (name.to_owned(), at.map(|(_, offset)| offset));
        PictureFault { kind, cause, file, member, offset }
    }
}
