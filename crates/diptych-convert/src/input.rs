//! What pairs are taken from: releases that are read, and catalogs that were made of some.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use diptych_format::options::Assignment;
use diptych_format::{About, Format, Notice, OptionKind, Options, Probe, Used};
use diptych_schema::{Address, EditPair};
use diptych_storage::text::printable;
use diptych_storage::{Limits, LocalTree};

use crate::catalog::{Catalog, CatalogFile, CatalogSource, HEAD};
use crate::detect::detect;
use crate::error::{DamagedBy, EngineError};
use crate::observe::{Event, Observer};
use crate::request::{Request, SourceRequest, SourceTerms, limits_told};
use crate::source::{Labels, OpenSource, format_named, listing, open_folders, what_changed};
use crate::work::damaged;

/// A release, or a catalog of some.
pub(crate) enum Input {
    Release(Box<OpenSource>),
    Catalog(Box<OpenCatalog>),
}

/// A catalog whose pairs are taken as they are.
pub(crate) struct OpenCatalog {
    pub(crate) catalog: Catalog,
    /// The folder, as it was given.
    pub(crate) path: String,
    /// The releases that it was made of, under the labels that they have here, in its order.
    pub(crate) sources: Vec<CatalogSource>,
    /// The formats of these.
    pub(crate) abouts: Vec<&'static About>,
    /// Their labels here, by the ones that the catalog has for them.
    labels: BTreeMap<String, String>,
}

impl AsRef<Self> for Input {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Input {
    /// Its sources as a catalog states them.
    pub(crate) fn sources(&self) -> Vec<CatalogSource> {
        match self {
            Self::Release(of) => vec![of.catalogued()],
            Self::Catalog(of) => of.sources.clone(),
        }
    }

    /// Label and format of each of its sources.
    pub(crate) fn formats(&self) -> Vec<(&str, &'static About)> {
        match self {
            Self::Release(of) => vec![(of.terms.label.as_str(), of.about())],
            Self::Catalog(of) => {
                let labels = of.sources.iter().map(|source| source.terms.label.as_str());
                labels.zip(of.abouts.iter().copied()).collect()
            }
        }
    }

    /// Whether the headers of its pictures are looked at before they are written.
    fn is_probed(&self, probe: Probe) -> bool {
        match self {
            Self::Release(_) => probe == Probe::Header,
            Self::Catalog(of) => of.catalog.head().probe,
        }
    }
}

/// Whether the headers of all pictures are looked at before they are written.
pub(crate) fn all_probed<I: AsRef<Input>>(inputs: &[I], probe: Probe) -> bool {
    inputs.iter().all(|input| input.as_ref().is_probed(probe))
}

impl OpenCatalog {
    fn open(
        formats: &[&'static dyn Format],
        catalog: Catalog,
        path: String,
        taken: &mut Labels,
    ) -> Result<Self, EngineError> {
        let mut labels = BTreeMap::new();
        let mut sources = catalog.head().sources.clone();
        let mut abouts = Vec::with_capacity(sources.len());
        for source in &mut sources {
            let about = format_named(formats, &source.terms.format, "read")?.about();
            let label = taken.next(about.name);
            labels.insert(std::mem::replace(&mut source.terms.label, label.clone()), label);
            abouts.push(about);
        }
        Ok(Self { catalog, path, sources, abouts, labels })
    }

    /// What a source is called here that the catalog calls so.
    pub(crate) fn label(&self, there: &str) -> String {
        self.labels.get(there).cloned().unwrap_or_default()
    }

    /// Labels here, by those that the catalog has.
    pub(crate) fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// An error of its files. What is wrong with the disk may be mended.
    pub(crate) fn failed(&self, error: EngineError) -> EngineError {
        let is_damage = match &error {
            EngineError::Damaged { .. } => true,
            EngineError::Work { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        };
        if !is_damage {
            return error;
        }
        EngineError::DamagedCatalog { path: self.path.clone(), source: Box::new(error) }
    }

    /// Refuses a pair whose pictures are nowhere.
    pub(crate) fn check_addresses(&self, pair: &mut EditPair) -> Result<(), EngineError> {
        let files = self.catalog.files();
        let is_there = |address: &Address| {
            let Some(number) = address.file() else { return true };
            let Some(file) = files.get(number as usize) else { return false };
            match address {
                Address::Range { offset, length, .. } => {
                    let lengths = file.pieces.iter().map(|piece| piece.length);
                    let all = lengths.fold(0, u64::saturating_add);
                    offset.checked_add(*length).is_some_and(|end| end <= all)
                }
                _ => true,
            }
        };
        if pair.addresses_mut().all(|address| is_there(address)) {
            return Ok(());
        }
        let pair_id = printable(pair.pair_id.as_bytes());
        let what = format!("a picture of {pair_id} lies where no file is");
        Err(damaged(&self.path, DamagedBy::Content(what)))
    }

    /// Its file table.
    pub(crate) fn files(&self) -> impl Iterator<Item = CatalogFile> {
        let files = self.catalog.files().iter();
        files.map(|file| CatalogFile { source: self.label(&file.source), ..file.clone() })
    }

    /// What is to be known of its releases.
    pub(crate) fn notices(&self) -> impl Iterator<Item = Notice> {
        self.catalog.head().notices.iter().cloned().map(|mut notice| {
            notice.at.source = self.label(&notice.at.source);
            notice
        })
    }

    /// Refuses releases that are no longer what they were when the catalog was made.
    fn check_releases(
        &self,
        roots: &[(String, PathBuf)],
        limits: &Limits,
    ) -> Result<(), EngineError> {
        for (source, about) in self.sources.iter().zip(&self.abouts) {
            let SourceTerms { label, options, .. } = &source.terms;
            let moved = roots.iter().rfind(|(of, _)| of == label).map(|(_, root)| root);
            let root = moved.unwrap_or(&source.root);
            let tree = LocalTree::open(root, limits)
                .map_err(|source| EngineError::Gone { label: label.clone(), source })?;
            let files: Vec<_> = self.files().filter(|file| file.source == *label).collect();
            let mut found = what_changed(&files, &tree, moved.is_none());
            // What else a release consists of is known where it lies as it lay, and where nothing
            // was read beside it of which the place is not known.
            let further = about.options.iter().any(|option| {
                option.kind == OptionKind::Folder && options.contains_key(option.key)
            });
            if found.is_none() && moved.is_none() && !further {
                let same = listing(std::iter::once(&tree)) == source.listing;
                found = (!same).then(|| OTHER_FILES.to_owned());
            }
            if let Some(what) = found {
                return Err(EngineError::Changed { label: label.clone(), what });
            }
        }
        Ok(())
    }
}

/// What is different where no file is that pictures are in.
pub(crate) const OTHER_FILES: &str = "there are other files, or files of rows have changed";

/// Lists the releases and tells their formats, and opens the catalogs.
pub(crate) fn open_inputs(
    formats: &[&'static dyn Format],
    request: &Request,
    sources: &[SourceRequest],
    observer: &dyn Observer,
) -> Result<Vec<Input>, EngineError> {
    let mut labels = Labels::default();
    let mut inputs = Vec::with_capacity(sources.len());
    for source in sources {
        let path = source.path.display().to_string();
        if Catalog::is_at(&source.path) {
            if source.from.is_some() {
                return Err(EngineError::Decided { what: "`--from`".to_owned(), path });
            }
            if let Some(catalog) = Catalog::open(&source.path)? {
                let of = OpenCatalog::open(formats, catalog, path, &mut labels)?;
                for (source, about) in of.sources.iter().zip(&of.abouts) {
                    let (label, format) = (source.terms.label.clone(), about.name);
                    let reason = format!("{HEAD} in {} says so", of.path);
                    observer.event(Event::Source { label, format, reason });
                }
                inputs.push(Input::Catalog(Box::new(of)));
                continue;
            }
        }
        let tree = Arc::new(LocalTree::open(&source.path, &request.limits)?);
        if std::path::absolute(tree.root()).is_ok_and(|root| root.to_str().is_none()) {
            return Err(EngineError::NotUtf8 { path });
        }
        let (format, detection) = match &source.from {
            Some(name) => (format_named(formats, name, "read")?, None),
            None => {
                let detected = detect(formats, tree.as_ref(), &path);
                // Who cannot look does not know.
                tree.check_read()?;
                let (format, detection) = detected?;
                (format, Some(detection))
            }
        };
        let about = format.about();
        let given: Vec<_> = request.options.iter().chain(&source.options).cloned().collect();
        let options = Options::new(about.name, about.options, &given, Used::Reading)?;
        let folders = open_folders(about, &options, &request.limits)?;
        let label = labels.next(about.name);
        let reason = detection.as_ref().map(|of| of.reason.clone()).unwrap_or_default();
        observer.event(Event::Source { label: label.clone(), format: about.name, reason });
        let open = OpenSource::new(label, tree, detection, format, options, folders);
        inputs.push(Input::Release(Box::new(open)));
    }
    Ok(inputs)
}

/// Refuses options that take no part, which would be ignored in silence, and what was decided when
/// a catalog was made.
pub(crate) fn check_options(
    request: &Request,
    inputs: &[Input],
    to: Option<&About>,
) -> Result<(), EngineError> {
    let has = |about: &About, option: &Assignment, used| {
        about.name == option.format
            && about.options.iter().any(|spec| spec.key == option.key && spec.used == used)
    };
    for (source, input) in request.sources.iter().zip(inputs) {
        for option in &source.options {
            let reads = input.formats().iter().any(|(_, about)| has(about, option, Used::Reading));
            let Assignment { format, key, .. } = option;
            match input {
                Input::Release(_) if reads => {}
                Input::Catalog(of) if reads => {
                    let (what, path) = (format!("`-o {format}.{key}`"), of.path.clone());
                    return Err(EngineError::Decided { what, path });
                }
                _ => {
                    let (format, key) = (format.clone(), key.clone());
                    return Err(EngineError::StrayOption { format, key });
                }
            }
        }
    }
    for option in &request.options {
        let mut of_catalog = None;
        let mut takes_part = to.is_some_and(|to| has(to, option, Used::Writing));
        for input in inputs {
            let reads = |about| has(about, option, Used::Reading);
            match input {
                Input::Release(of) => takes_part |= reads(of.about()),
                Input::Catalog(of) if of.abouts.iter().any(|about| reads(about)) => {
                    of_catalog = Some(of);
                }
                Input::Catalog(_) => {}
            }
        }
        let Assignment { format, key, .. } = option;
        match (takes_part, of_catalog) {
            (true, _) => {}
            (false, Some(of)) => {
                let (what, path) = (format!("`-o {format}.{key}`"), of.path.clone());
                return Err(EngineError::Decided { what, path });
            }
            (false, None) => {
                let (format, key) = (format.clone(), key.clone());
                return Err(EngineError::StrayOption { format, key });
            }
        }
    }
    let probed = inputs.iter().find_map(|input| match input {
        Input::Catalog(of) if of.catalog.head().probe => Some(of.path.clone()),
        _ => None,
    });
    let only_catalogs = inputs.iter().all(|input| matches!(input, Input::Catalog(_)));
    match probed.filter(|_| only_catalogs && request.probe == Probe::None) {
        Some(path) => Err(EngineError::Decided { what: "`--probe none`".to_owned(), path }),
        None => Ok(()),
    }
}

/// Refuses catalogs that do not hold the pairs that are asked for, or hold what other limits let
/// through.
pub(crate) fn check_limits(request: &Request, inputs: &[Input]) -> Result<(), EngineError> {
    for input in inputs {
        let Input::Catalog(of) = input else { continue };
        if let Some(limit) = of.catalog.limited_to()
            && request.limit.is_none_or(|asked| asked > limit)
        {
            return Err(EngineError::LimitedCatalog { path: of.path.clone(), limit });
        }
        // What was read under other limits is not what would be read now.
        let (was, is) = (&of.catalog.head().limits, request.limits.changed());
        if *was != is {
            let (was, is) = (limits_told(was), limits_told(&is));
            return Err(EngineError::OtherLimits { path: of.path.clone(), was, is });
        }
    }
    Ok(())
}

/// Refuses catalogs of releases that are no longer what they were, some of which lie elsewhere by
/// now.
pub(crate) fn check_releases(request: &Request, inputs: &[Input]) -> Result<(), EngineError> {
    let catalogs = || {
        inputs.iter().filter_map(|input| match input {
            Input::Catalog(of) => Some(of),
            Input::Release(_) => None,
        })
    };
    let labels = || catalogs().flat_map(|of| &of.sources).map(|source| &source.terms.label);
    for (label, _) in &request.roots {
        if !labels().any(|of| of == label) {
            let (label, known) = (label.clone(), labels().cloned().collect());
            return Err(EngineError::NoLabel { label, known });
        }
    }
    catalogs().try_for_each(|of| of.check_releases(&request.roots, &request.limits))
}
