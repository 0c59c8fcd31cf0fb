//! The releases behind a catalog: opened when their bytes are moved, and refused when changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diptych_format::{
    About, Detection, Format, OptionKind, Options, Payload, Place, Probe, Reader, ReaderInput,
};
use diptych_schema::Address;
use diptych_storage::parquet::cells::{CellPlace, Cells};
use diptych_storage::read::{Pieces, WatchedFile};
use diptych_storage::recent::Recent;
use diptych_storage::tree::{TreeEntry, look_at_listed, open_listed};
use diptych_storage::{Limits, LocalTree, ReadAt, ReadTree};
use sha2::{Digest, Sha256};

use crate::catalog::{Catalog, CatalogFile, CatalogSource, Piece};
use crate::error::EngineError;
use crate::request::{OptionValues, SourceTerms};

/// Files that are open at one time: far below what any system allows, far above what the units
/// in flight read from at one moment.
const OPEN_FILES: usize = 24;

/// A release whose format is known.
pub(crate) struct OpenSource {
    pub(crate) terms: SourceTerms,
    pub(crate) tree: Arc<LocalTree>,
    /// Why it is in its format; `None` where the user said so.
    pub(crate) detection: Option<Detection>,
    format: &'static dyn Format,
    options: Options,
    /// The folders that options name, by key.
    folders: BTreeMap<&'static str, Arc<LocalTree>>,
}

impl OpenSource {
    pub(crate) fn new(
        label: String,
        tree: Arc<LocalTree>,
        detection: Option<Detection>,
        format: &'static dyn Format,
        options: Options,
        folders: BTreeMap<&'static str, Arc<LocalTree>>,
    ) -> Self {
        let mut said = values(&options);
        for (key, tree) in &folders {
            // Terms are part of the output, which does not depend on where a folder lies: what is
            // in it stands for it.
            let mut digest = Sha256::new();
            digest_of(tree, false, &mut digest);
            let what = format!("{} files, {}", tree.list().len(), hex(&digest.finalize()));
            said.insert((*key).to_owned(), what);
        }
        let terms = SourceTerms { label, format: format.about().name.to_owned(), options: said };
        Self { terms, tree, detection, format, options, folders }
    }

    pub(crate) fn about(&self) -> &'static About {
        self.format.about()
    }

    pub(crate) fn reader(
        &self,
        limits: Limits,
        probe: Probe,
    ) -> Result<Box<dyn Reader>, EngineError> {
        let dynamic = |tree: &Arc<LocalTree>| Arc::clone(tree) as Arc<dyn ReadTree>;
        let folders = self.folders.iter().map(|(key, tree)| (*key, dynamic(tree))).collect();
        let opened = self.format.open_reader(ReaderInput {
            tree: dynamic(&self.tree),
            label: &self.terms.label,
            options: &self.options,
            folders,
            limits,
            probe,
        });
        self.check_read()?;
        Ok(opened?)
    }

    /// It as a catalog states it.
    pub(crate) fn catalogued(&self) -> CatalogSource {
        let (terms, root) = (self.terms.clone(), self.tree.root());
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_path_buf());
        CatalogSource { terms, root, listing: listing(self.trees()) }
    }

    /// Refuses a release whose files could not all be read, or were written meanwhile.
    pub(crate) fn check_whole(&self, limits: &Limits) -> Result<(), EngineError> {
        self.check_read()?;
        for tree in self.trees() {
            if let Some(what) = tree.what_changed(limits)? {
                let label = self.terms.label.clone();
                return Err(EngineError::ChangedMeanwhile { label, what });
            }
        }
        Ok(())
    }

    /// Refuses a release whose files could not all be read: what is said of it then is not so.
    pub(crate) fn check_read(&self) -> Result<(), EngineError> {
        Ok(self.trees().try_for_each(LocalTree::check_read)?)
    }

    fn trees(&self) -> impl Iterator<Item = &LocalTree> {
        std::iter::once(&self.tree).chain(self.folders.values()).map(AsRef::as_ref)
    }

    /// Places in this release.
    pub(crate) fn place(&self) -> Place {
        Place { source: self.terms.label.clone(), ..Place::default() }
    }
}

/// A digest of the files' names, lengths and times: those of a release, and of the folders that
/// are read beside it.
pub(crate) fn listing<'a>(trees: impl Iterator<Item = &'a LocalTree>) -> String {
    let mut digest = Sha256::new();
    trees.for_each(|tree| digest_of(tree, true, &mut digest));
    hex(&digest.finalize())
}

fn digest_of(tree: &LocalTree, with_times: bool, digest: &mut Sha256) {
    for entry in tree.list() {
        digest.update(entry.path.as_str().as_bytes());
        digest.update([0]);
        digest.update(entry.length.to_le_bytes());
        if with_times {
            digest.update(entry.modified.to_le_bytes());
        }
    }
}

/// Lists the folders that options name.
pub(crate) fn open_folders(
    about: &About,
    options: &Options,
    limits: &Limits,
) -> Result<BTreeMap<&'static str, Arc<LocalTree>>, EngineError> {
    let named = about.options.iter().filter(|spec| spec.kind == OptionKind::Folder);
    let given = named.filter(|spec| !options.get(spec.key).is_empty());
    given
        .map(|spec| {
            let tree = LocalTree::open(Path::new(options.get(spec.key)), limits)?;
            Ok((spec.key, Arc::new(tree)))
        })
        .collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The format of that name which can be read or written.
pub(crate) fn format_named(
    formats: &[&'static dyn Format],
    name: &str,
    action: &'static str,
) -> Result<&'static dyn Format, EngineError> {
    let can = |format: &&'static dyn Format| match action {
        "read" => format.about().reads,
        _ => format.about().writes,
    };
    let able: Vec<_> = formats.iter().copied().filter(can).collect();
    able.iter().find(|format| format.about().name == name).copied().ok_or_else(|| {
        let known = able.iter().map(|format| format.about().name).collect();
        EngineError::NoFormat { name: name.to_owned(), action, known }
    })
}

/// The labels of sources, each once: the name of the format, and a number where there are several
/// in it. A label does not depend on where the release lies, since it is part of the output.
#[derive(Default)]
pub(crate) struct Labels(BTreeMap<&'static str, usize>);

impl Labels {
    pub(crate) fn next(&mut self, format: &'static str) -> String {
        let count = self.0.entry(format).or_default();
        *count += 1;
        match *count {
            1 => format.to_owned(),
            count => format!("{format}-{count}"),
        }
    }
}

pub(crate) fn values(options: &Options) -> OptionValues {
    options.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The files that a catalog's addresses mean.
pub(crate) struct Sources {
    files: Arc<Files>,
}

fn unreadable(label: &str, piece: &Piece, source: io::Error) -> EngineError {
    EngineError::ReadSource { label: label.to_owned(), file: piece.path.to_string(), source }
}

/// What went wrong with a file, told with its name: whoever copies from it does not know it.
fn named(label: &str, file: &str, source: io::Error) -> io::Error {
    if source.get_ref().and_then(|error| error.downcast_ref::<EngineError>()).is_some() {
        return source;
    }
    let (label, file) = (label.to_owned(), file.to_owned());
    io::Error::new(source.kind(), EngineError::ReadSource { label, file, source })
}

/// A file that is opened when it is read, and opened again where it was closed since: so any number
/// of pictures can wait for their turn, however many files they are in.
struct LaterFile {
    files: Arc<Files>,
    number: u32,
    length: u64,
}

impl ReadAt for LaterFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let file = self.files.open(self.number).map_err(io::Error::other)?;
        file.read_at(offset, buffer)
    }

    fn share_with(&self, to: &File) -> io::Result<bool> {
        let file = self.files.open(self.number).map_err(io::Error::other)?;
        file.share_with(to)
    }
}

/// A cell of a Parquet file, which is read when its bytes are.
struct CellFile {
    files: Arc<Files>,
    place: CellPlace,
    length: u64,
}

impl ReadAt for CellFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let open = || Files::later(&self.files, self.place.file).map_err(io::Error::other);
        let read = self.files.cells.read_at(self.place, open, offset, buffer);
        read.map_err(|error| {
            let Place { source, file, .. } = self.files.name(self.place.file);
            named(&source, &file.unwrap_or_default(), error)
        })
    }
}

struct Files {
    files: Arc<[CatalogFile]>,
    roots: BTreeMap<String, Root>,
    open: Recent<u32, Arc<dyn ReadAt>>,
    cells: Cells,
}

struct Root {
    path: PathBuf,
    /// Whether the release still lies where it was indexed: a copy has times of its own.
    in_place: bool,
}

impl Sources {
    /// Those of `catalog`, some of which lie elsewhere by now.
    pub(crate) fn new(
        catalog: &Catalog,
        moved: &[(String, PathBuf)],
        limits: Limits,
    ) -> Result<Self, EngineError> {
        Self::of(Arc::clone(catalog.files()), &catalog.head().sources, moved, limits)
    }

    /// Those of a table of files, which are of these sources.
    pub(crate) fn of(
        files: Arc<[CatalogFile]>,
        sources: &[CatalogSource],
        moved: &[(String, PathBuf)],
        limits: Limits,
    ) -> Result<Self, EngineError> {
        let mut roots: BTreeMap<_, _> = sources
            .iter()
            .map(|s| (s.terms.label.clone(), Root { path: s.root.clone(), in_place: true }))
            .collect();
        for (label, path) in moved {
            if !roots.contains_key(label) {
                let known = roots.into_keys().collect();
                return Err(EngineError::NoLabel { label: label.clone(), known });
            }
            roots.insert(label.clone(), Root { path: path.clone(), in_place: false });
        }
        let (open, cells) = (Recent::new(OPEN_FILES), Cells::new(limits));
        Ok(Self { files: Arc::new(Files { files, roots, open, cells }) })
    }

    /// Where the bytes of a picture come from; `None` where that is not this disk.
    pub(crate) fn payload(&self, address: &Address) -> Result<Option<Payload>, EngineError> {
        Ok(match address {
            Address::Range { file, offset, length } => {
                let file = self.file(*file)?;
                Some(Payload::Range { file, offset: *offset, length: *length })
            }
            Address::Inline(bytes) => Some(Payload::Bytes(Arc::from(bytes.as_slice()))),
            Address::Cell { file, row_group, column, row, length } => {
                let (file, row_group, column, number) = (*file, *row_group, *column, *row);
                let file = self.cell(CellPlace { file, row_group, column, number }, *length);
                Some(Payload::Range { file, offset: 0, length: *length })
            }
            Address::Url { .. } => None,
        })
    }

    /// The file table.
    pub(crate) fn files(&self) -> &[CatalogFile] {
        &self.files.files
    }

    /// A file, by its number. It can be opened now, and may be kept for later.
    fn file(&self, number: u32) -> Result<Arc<dyn ReadAt>, EngineError> {
        Files::later(&self.files, number)
    }

    /// The bytes of a cell, of which there are so many.
    fn cell(&self, place: CellPlace, length: u64) -> Arc<dyn ReadAt> {
        Arc::new(CellFile { files: Arc::clone(&self.files), place, length })
    }

    /// That a picture cannot be read.
    pub(crate) fn read_error(&self, address: &Address, source: io::Error) -> EngineError {
        let source = match source.downcast::<EngineError>() {
            // It says which file it is.
            Ok(error) => return error,
            Err(source) => source,
        };
        let in_none = || Place::file("the catalog", "a picture");
        let place = address.file().map_or_else(in_none, |number| self.name(number));
        let file = place.file.unwrap_or_default();
        EngineError::ReadSource { label: place.source, file, source }
    }

    /// Refuses files that are not what they were: what was copied from them meanwhile may be of
    /// both.
    pub(crate) fn check_unchanged(
        &self,
        numbers: impl IntoIterator<Item = u32>,
    ) -> Result<(), EngineError> {
        for number in numbers {
            let Some(file) = self.files.files.get(number as usize) else { continue };
            for piece in &file.pieces {
                let root = self.files.root(&file.source)?;
                let now = look_at_listed(&root.path, &piece.path);
                let now = now.map_err(|source| unreadable(&file.source, piece, source))?;
                self.files.compare(&file.source, piece, &now)?;
            }
        }
        Ok(())
    }

    /// What a file is called.
    pub(crate) fn name(&self, number: u32) -> Place {
        self.files.name(number)
    }

    /// Where a picture of that name in that file is, for a rejection.
    pub(crate) fn place(&self, file: Option<u32>, name: &str, offset: Option<u64>) -> Place {
        let place = file.map_or_else(Place::default, |number| self.name(number));
        Place { member: Some(name.to_owned()), offset, ..place }
    }
}

impl Files {
    fn name(&self, number: u32) -> Place {
        let Some(file) = self.files.get(number as usize) else { return Place::default() };
        let path = file.pieces.first().map(|piece| piece.path.to_string());
        Place { source: file.source.clone(), file: path, ..Place::default() }
    }

    fn later(files: &Arc<Self>, number: u32) -> Result<Arc<dyn ReadAt>, EngineError> {
        let length = files.open(number)?.len();
        Ok(Arc::new(LaterFile { files: Arc::clone(files), number, length }))
    }

    fn open(&self, number: u32) -> Result<Arc<dyn ReadAt>, EngineError> {
        let open = self.open.get(&number, || {
            let file = self.files.get(number as usize).ok_or_else(|| EngineError::Changed {
                label: "the catalog".to_owned(),
                what: format!("it has no file {number}"),
            })?;
            let pieces: Result<Vec<_>, EngineError> =
                file.pieces.iter().map(|piece| self.piece(&file.source, piece)).collect();
            let mut pieces = pieces?;
            let weight = pieces.len().max(1);
            let one = if pieces.len() == 1 { pieces.pop() } else { None };
            let file = one.unwrap_or_else(|| Arc::new(Pieces::new(pieces)) as Arc<dyn ReadAt>);
            Ok::<_, EngineError>((file, weight))
        })?;
        Ok(Arc::clone(open.as_ref()))
    }

    fn root(&self, label: &str) -> Result<&Root, EngineError> {
        self.roots.get(label).ok_or_else(|| EngineError::NoLabel {
            label: label.to_owned(),
            known: self.roots.keys().cloned().collect(),
        })
    }

    fn piece(&self, label: &str, piece: &Piece) -> Result<Arc<dyn ReadAt>, EngineError> {
        let root = self.root(label)?;
        let (file, now) =
            open_listed(&root.path, &piece.path).map_err(|e| unreadable(label, piece, e))?;
        self.compare(label, piece, &now)?;
        // Of a file in pieces it is known here only which of them it is.
        let (label, path) = (label.to_owned(), piece.path.to_string());
        let on_error = move |error| named(&label, &path, error);
        Ok(Arc::new(WatchedFile { file, on_error }))
    }

    /// Refuses a piece that is not what it was.
    fn compare(&self, label: &str, piece: &Piece, now: &TreeEntry) -> Result<(), EngineError> {
        let in_place = self.roots.get(label).is_some_and(|root| root.in_place);
        match piece.entry().what_changed(now, in_place) {
            Some(what) => Err(EngineError::Changed { label: label.to_owned(), what }),
            None => Ok(()),
        }
    }
}

/// Which of a source's files is no longer what it was when the catalog was made. A copy has times
/// of its own.
pub(crate) fn what_changed<'a>(
    files: impl IntoIterator<Item = &'a CatalogFile>,
    tree: &LocalTree,
    with_times: bool,
) -> Option<String> {
    files.into_iter().flat_map(|file| &file.pieces).find_map(|piece| {
        let path = &piece.path;
        match tree.entry(path.as_str()) {
            None => Some(format!("{path} is not there any more")),
            Some(now) => piece.entry().what_changed(now, with_times),
        }
    })
}
