//! What pairs are chosen from: those of releases, once they are read, and those of catalogs, where
//! they lie.

use std::path::PathBuf;
use std::sync::Arc;

use diptych_format::{Notice, Place};
use diptych_schema::EditPair;
use diptych_storage::Limits;

use crate::catalog::{Catalog, CatalogFile, CatalogSource, Partition};
use crate::error::EngineError;
use crate::input::{Input, OpenCatalog};
use crate::report::Books;
use crate::source::Sources;

/// Files of pairs, in the order of their sources, and the files that the addresses of all mean.
pub(crate) struct Pool<'a> {
    pub(crate) parts: Vec<Part<'a>>,
    /// The partitions that were read, and where their rejections are.
    pub(crate) partitions: Vec<(Partition, Rejections<'a>)>,
    pub(crate) files: Arc<[CatalogFile]>,
    pub(crate) sources: Vec<CatalogSource>,
    /// What the sources that were asked for are called: a catalog by all that it is of.
    pub(crate) names: Vec<String>,
    pub(crate) notices: Vec<Notice>,
    /// What was chosen before of catalogs that are sources here.
    pub(crate) earlier: Books,
}

/// A file of pairs.
pub(crate) struct Part<'a> {
    catalog: &'a Catalog,
    /// Its number there.
    file: usize,
    /// Its pairs, as the catalog states them.
    pub(crate) pairs: u64,
    /// What the numbers of files in it are counted from here.
    first_file: u32,
    /// The catalog that is a source, if it is of one.
    given: Option<&'a OpenCatalog>,
    /// The place of its source among those that were asked for.
    pub(crate) input: usize,
}

/// Where the rejections of a partition are.
#[derive(Clone, Copy)]
pub(crate) struct Rejections<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) given: Option<&'a OpenCatalog>,
    /// The partition's number there; that of no partition stands for what choosing has led to.
    pub(crate) partition: Option<usize>,
}

impl<'a> Pool<'a> {
    /// The pairs of `inputs`, of which the releases were read into `read`, in their order.
    pub(crate) fn new(inputs: &'a [Input], read: Option<&'a Catalog>) -> Result<Self, EngineError> {
        let mut pool = Self {
            parts: Vec::new(),
            partitions: Vec::new(),
            files: Arc::new([]),
            sources: inputs.iter().flat_map(Input::sources).collect(),
            names: inputs.iter().map(name).collect(),
            notices: Vec::new(),
            earlier: Books::default(),
        };
        let mut files: Vec<CatalogFile> = read.map(|of| of.files().to_vec()).unwrap_or_default();
        for (input, of) in inputs.iter().enumerate() {
            match (of, read) {
                (Input::Release(of), Some(read)) => {
                    let label = &of.terms.label;
                    for (number, partition) in read.head().partitions.iter().enumerate() {
                        if partition.source == *label {
                            pool.add_part(read, number, partition.pairs, 0, None, input);
                            let partition = partition.clone();
                            pool.add_partition(partition, read, number, None);
                        }
                    }
                    let notices = read.head().notices.iter();
                    let own = notices.filter(|notice| notice.at.source == *label);
                    pool.notices.extend(own.cloned());
                }
                (Input::Release(_), None) => {}
                (Input::Catalog(of), _) => {
                    let first = u32::try_from(files.len()).unwrap_or(u32::MAX);
                    pool.add_catalog(of, first, input);
                    files.extend(of.files());
                }
            }
        }
        if u32::try_from(files.len()).is_err() {
            let label = pool.sources.first().map(|of| of.terms.label.clone()).unwrap_or_default();
            let what = "more files than a catalog can number".to_owned();
            return Err(EngineError::Changed { label, what });
        }
        pool.files = files.into();
        Ok(pool)
    }

    fn add_catalog(&mut self, of: &'a OpenCatalog, first_file: u32, input: usize) {
        let head = of.catalog.head();
        let pairs: Vec<u64> = match &head.selected {
            Some(selected) => {
                self.earlier.add(&selected.books);
                selected.files.clone()
            }
            None => head.partitions.iter().map(|partition| partition.pairs).collect(),
        };
        for (file, pairs) in pairs.into_iter().enumerate() {
            self.add_part(&of.catalog, file, pairs, first_file, Some(of), input);
        }
        for (number, partition) in head.partitions.iter().enumerate() {
            let source = of.label(&partition.source);
            let partition = Partition { source, ..partition.clone() };
            self.add_partition(partition, &of.catalog, number, Some(of));
        }
        self.notices.extend(of.notices());
    }

    fn add_part(
        &mut self,
        catalog: &'a Catalog,
        file: usize,
        pairs: u64,
        first_file: u32,
        given: Option<&'a OpenCatalog>,
        input: usize,
    ) {
        self.parts.push(Part { catalog, file, pairs, first_file, given, input });
    }

    fn add_partition(
        &mut self,
        partition: Partition,
        catalog: &'a Catalog,
        number: usize,
        given: Option<&'a OpenCatalog>,
    ) {
        let rejections = Rejections { catalog, given, partition: Some(number) };
        self.partitions.push((partition, rejections));
    }

    /// Catalogs that are sources and hold what was chosen, each once: where the rejections are that
    /// choosing had led to.
    pub(crate) fn chosen_before(inputs: &'a [Input]) -> impl Iterator<Item = Rejections<'a>> {
        inputs.iter().filter_map(|input| match input {
            Input::Catalog(of) if of.catalog.head().selected.is_some() => {
                Some(Rejections { catalog: &of.catalog, given: Some(of), partition: None })
            }
            _ => None,
        })
    }

    /// The pictures of the pairs, some of whose releases lie elsewhere by now.
    pub(crate) fn pictures(
        &self,
        moved: &[(String, PathBuf)],
        limits: Limits,
    ) -> Result<Sources, EngineError> {
        Sources::of(Arc::clone(&self.files), &self.sources, moved, limits)
    }

    /// Those of the releases that lie elsewhere which are of this pool.
    pub(crate) fn moved(&self, roots: &[(String, PathBuf)]) -> Vec<(String, PathBuf)> {
        let is_here = |(label, _): &&(String, PathBuf)| {
            self.sources.iter().any(|source| source.terms.label == *label)
        };
        roots.iter().filter(is_here).cloned().collect()
    }

    /// Where a pair is, for a message: the file that its source picture is in.
    pub(crate) fn place(&self, pair: &EditPair) -> Place {
        let number = pair.source.address.file();
        let file = number.and_then(|number| self.files.get(number as usize));
        let Some(file) = file else { return Place::default() };
        let path = file.pieces.first().map(|piece| piece.path.to_string());
        Place { source: file.source.clone(), file: path, ..Place::default() }
    }
}

/// What a source is called.
pub(super) fn name(input: &Input) -> String {
    let labels: Vec<_> = input.formats().into_iter().map(|(label, _)| label).collect();
    labels.join("+")
}

impl Rejections<'_> {
    /// That they are not those that the catalog states.
    pub(crate) fn other_rejections(&self) -> EngineError {
        let what = "its rejections are not those that the catalog states".to_owned();
        let file = self.catalog.root().display().to_string();
        let error = crate::work::damaged(&file, crate::error::DamagedBy::Content(what));
        match self.given {
            Some(given) => given.failed(error),
            None => error,
        }
    }
}

impl Part<'_> {
    /// Some columns of all its pairs. Numbers of files are those of the part.
    pub(crate) fn columns(
        &self,
        columns: &std::collections::BTreeSet<String>,
    ) -> Result<impl Iterator<Item = Result<arrow_array::RecordBatch, EngineError>>, EngineError>
    {
        let batches = self.catalog.columns(self.file, columns).map_err(|e| self.failed(e))?;
        Ok(batches.map(|batch| batch.map_err(|e| self.failed(e))))
    }

    /// The pairs in these rows, which rise, with the numbers that files have here.
    pub(crate) fn pairs_in(
        &self,
        rows: &[u64],
    ) -> Result<impl Iterator<Item = Result<EditPair, EngineError>>, EngineError> {
        let pairs = self.catalog.pairs_in(self.file, rows).map_err(|e| self.failed(e))?;
        Ok(pairs.map(|pair| {
            let mut pair = pair.map_err(|e| self.failed(e))?;
            if let Some(given) = self.given {
                given.check_addresses(&mut pair).map_err(|e| self.failed(e))?;
            }
            pair.addresses_mut().for_each(|address| address.shift_file(self.first_file));
            Ok(pair)
        }))
    }

    /// The number that a file of the part has here.
    pub(crate) fn file_here(&self, number: u32) -> u32 {
        number.saturating_add(self.first_file)
    }

    /// About how many bytes a pair takes in memory.
    pub(crate) fn bytes_of_a_pair(&self) -> Result<usize, EngineError> {
        self.catalog.bytes_of_a_pair(self.file).map_err(|e| self.failed(e))
    }

    /// The folder of the catalog that it is of.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.catalog.root()
    }

    /// That its pairs are not those that the catalog states.
    pub(crate) fn other_pairs(&self) -> EngineError {
        let what = "its pairs are not those that the catalog states";
        let file = crate::catalog::pairs_file(self.file);
        let damage = crate::error::DamagedBy::Content(what.to_owned());
        self.failed(crate::work::damaged(&file, damage))
    }

    fn failed(&self, error: EngineError) -> EngineError {
        match self.given {
            Some(given) => given.failed(error),
            None => error,
        }
    }
}
