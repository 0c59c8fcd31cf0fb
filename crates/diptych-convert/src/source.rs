//! The releases behind a catalog: opened when their bytes are moved, and refused when changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diptych_format::options::Assignment;
use diptych_format::{
    About, Detection, Format, OptionKind, Options, Place, Probe, Reader, ReaderInput, Used,
};
use diptych_storage::read::Pieces;
use diptych_storage::recent::Recent;
use diptych_storage::tree::open_listed;
use diptych_storage::{Limits, LocalTree, ReadAt, ReadTree};
use sha2::{Digest, Sha256};

use crate::catalog::{Catalog, CatalogFile, Piece};
use crate::detect::detect;
use crate::error::EngineError;
use crate::observe::{Event, Observer};
use crate::request::{OptionValues, SourceRequest, SourceTerms};

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
        Ok(self.format.open_reader(ReaderInput {
            tree: dynamic(&self.tree),
            label: &self.terms.label,
            options: &self.options,
            folders,
            limits,
            probe,
        })?)
    }

    /// A digest of the files' names, lengths and times, those of further folders among them.
    pub(crate) fn listing(&self) -> String {
        let mut digest = Sha256::new();
        for tree in std::iter::once(&self.tree).chain(self.folders.values()) {
            digest_of(tree, true, &mut digest);
        }
        hex(&digest.finalize())
    }

    /// Places in this release.
    pub(crate) fn place(&self) -> Place {
        Place { source: self.terms.label.clone(), ..Place::default() }
    }
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
fn open_folders(
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

/// Lists the releases and tells their formats.
pub(crate) fn open_sources(
    formats: &[&'static dyn Format],
    sources: &[SourceRequest],
    options: &[Assignment],
    limits: &Limits,
    observer: &dyn Observer,
) -> Result<Vec<OpenSource>, EngineError> {
    let mut open: Vec<OpenSource> = Vec::with_capacity(sources.len());
    for source in sources {
        let tree = Arc::new(LocalTree::open(&source.path, limits)?);
        if std::path::absolute(tree.root()).is_ok_and(|root| root.to_str().is_none()) {
            return Err(EngineError::NotUtf8 { path: source.path.display().to_string() });
        }
        let (format, detection) = match &source.from {
            Some(name) => (format_named(formats, name, "read")?, None),
            None => {
                let path = source.path.display().to_string();
                let (format, detection) = detect(formats, tree.as_ref(), &path)?;
                (format, Some(detection))
            }
        };
        let about = format.about();
        let given = Options::new(about.name, about.options, options, Used::Reading)?;
        // A label does not depend on where the release lies, since it is part of the output.
        let before = open.iter().filter(|s| s.terms.format == about.name).count();
        let label = match before {
            0 => about.name.to_owned(),
            before => format!("{}-{}", about.name, before + 1),
        };
        let reason = detection.as_ref().map(|of| of.reason.clone()).unwrap_or_default();
        observer.event(Event::Source { label: label.clone(), format: about.name, reason });
        let folders = open_folders(about, &given, limits)?;
        let mut options = values(&given);
        for (key, tree) in &folders {
            // Terms are part of the output, which does not depend on where a folder lies: what is
            // in it stands for it.
            let mut digest = Sha256::new();
            digest_of(tree, false, &mut digest);
            let said = format!("{} files, {}", tree.list().len(), hex(&digest.finalize()));
            options.insert((*key).to_owned(), said);
        }
        let terms = SourceTerms { label, format: about.name.to_owned(), options };
        open.push(OpenSource { terms, tree, detection, format, options: given, folders });
    }
    Ok(open)
}

pub(crate) fn values(options: &Options) -> OptionValues {
    options.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The files that a catalog's addresses mean.
pub(crate) struct Sources {
    files: Arc<Files>,
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

struct Files {
    files: Arc<[CatalogFile]>,
    roots: BTreeMap<String, Root>,
    open: Recent<u32, Arc<dyn ReadAt>>,
}

struct Root {
    path: PathBuf,
    /// Whether the release still lies where it was indexed: a copy has times of its own.
    in_place: bool,
}

impl Sources {
    /// Those of `catalog`, some of which lie elsewhere by now.
    pub(crate) fn new(catalog: &Catalog, moved: &[(String, PathBuf)]) -> Result<Self, EngineError> {
        let mut roots: BTreeMap<_, _> = catalog
            .head()
            .sources
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
        let (files, open) = (Arc::clone(catalog.files()), Recent::new(OPEN_FILES));
        Ok(Self { files: Arc::new(Files { files, roots, open }) })
    }

    /// A file, by its number. It can be opened now, and may be kept for later.
    pub(crate) fn file(&self, number: u32) -> Result<Arc<dyn ReadAt>, EngineError> {
        let length = self.files.open(number)?.len();
        Ok(Arc::new(LaterFile { files: Arc::clone(&self.files), number, length }))
    }

    /// What a file is called.
    pub(crate) fn name(&self, number: u32) -> Place {
        let Some(file) = self.files.files.get(number as usize) else { return Place::default() };
        let path = file.pieces.first().map(|piece| piece.path.to_string());
        Place { source: file.source.clone(), file: path, ..Place::default() }
    }

    /// Where a picture of that name in that file is, for a rejection.
    pub(crate) fn place(&self, file: Option<u32>, name: &str, offset: Option<u64>) -> Place {
        let place = file.map_or_else(Place::default, |number| self.name(number));
        Place { member: Some(name.to_owned()), offset, ..place }
    }
}

impl Files {
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

    fn piece(&self, label: &str, piece: &Piece) -> Result<Arc<dyn ReadAt>, EngineError> {
        let root = self.roots.get(label).ok_or_else(|| EngineError::NoLabel {
            label: label.to_owned(),
            known: self.roots.keys().cloned().collect(),
        })?;
        let (file, now) =
            open_listed(&root.path, &piece.path).map_err(|source| EngineError::ReadSource {
                label: label.to_owned(),
                file: piece.path.to_string(),
                source,
            })?;
        let changed = |what: String| EngineError::Changed { label: label.to_owned(), what };
        if now.length != piece.length {
            let (path, was, is) = (&piece.path, piece.length, now.length);
            return Err(changed(format!("{path} had {was} bytes and has {is}")));
        }
        if root.in_place && now.modified != piece.modified {
            return Err(changed(format!("{} was written since", piece.path)));
        }
        Ok(file)
    }
}

/// Which of a source's files is no longer what it was when the catalog was made.
pub(crate) fn what_changed(files: &[CatalogFile], source: &OpenSource) -> String {
    let of_source = files.iter().filter(|file| file.source == source.terms.label);
    for piece in of_source.flat_map(|file| &file.pieces) {
        match source.tree.entry(piece.path.as_str()) {
            None => return format!("{} is not there any more", piece.path),
            Some(now) if now.length != piece.length => {
                let (was, is) = (piece.length, now.length);
                return format!("{} had {was} bytes and has {is}", piece.path);
            }
            Some(now) if now.modified != piece.modified => {
                return format!("{} was written since", piece.path);
            }
            Some(_) => {}
        }
    }
    "there are other files, or files of rows have changed".to_owned()
}
