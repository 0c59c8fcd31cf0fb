//! Pictures by the paths that rows give, in the archives of their group or loose.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use diptych_format::archives::{ArchiveIndex, Archives, NotFound, PictureFault};
use diptych_format::{FormatError, ReaderInput};
use diptych_schema::Picture;
use diptych_storage::tar::MemberKind;
use diptych_storage::{ReadAt, ReadTree, RelPath};

use crate::groups::{Group, Stem, Task};
use crate::layout::Partition;
use crate::missing;
use crate::paths::{ends_with, join, last, normal, split_last};
use crate::pieces::Archive;
use crate::tops::{Tops, fitting};

/// Paths of which it is remembered where such are found.
const REMEMBERED: usize = 1024;

/// Archives whose indexes are held while a partition is read; most have one.
const HELD: usize = 4;

/// The files of a copy that hold pictures.
pub(crate) struct Pictures {
    pub(crate) archives: Archives,
    pub(crate) found: Vec<Place>,
    tree: Arc<dyn ReadTree>,
    /// Number of the first loose picture; they come after the archives.
    first_loose: u32,
    loose: Vec<RelPath>,
    /// Folders of the folders that loose pictures are in, and of the pictures.
    loose_of_samples: BTreeSet<String>,
}

/// An archive, and what of it is known.
pub(crate) struct Place {
    pub(crate) archive: Archive,
    /// Number of its first run.
    first: u32,
    tops: OnceLock<Tops>,
}

impl Place {
    /// The numbers of its runs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = u32> + use<> {
        let count = u32::try_from(self.archive.runs.len()).unwrap_or(u32::MAX);
        self.first..self.first.saturating_add(count)
    }
}

/// A folder that pictures are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Its archive; `None` where the pictures lie loose.
    place: Option<usize>,
    path: String,
}

impl Folder {
    /// What it is called: the sample.
    pub(crate) fn name(&self) -> &str {
        last(&self.path)
    }

    /// The folder that it is in.
    pub(crate) fn group(&self) -> &str {
        split_last(&self.path, 1).map_or("", |(group, _)| group)
    }
}

/// Where pictures of paths that begin alike may be.
#[derive(Debug, Default)]
struct Homes {
    /// What to put in place of all but the last components of a path, and how many those are.
    spots: Vec<(Folder, usize)>,
    /// Archives of the group.
    places: Vec<usize>,
}

impl Pictures {
    pub(crate) fn new(
        input: &ReaderInput<'_>,
        archives: Vec<Archive>,
        loose: Vec<RelPath>,
    ) -> Self {
        let mut files = Vec::new();
        let mut found = Vec::with_capacity(archives.len());
        for archive in archives {
            let first = u32::try_from(files.len()).unwrap_or(u32::MAX);
            files.extend(archive.runs.iter().cloned());
            found.push(Place { archive, first, tops: OnceLock::new() });
        }
        let first_loose = u32::try_from(files.len()).unwrap_or(u32::MAX);
        let mut loose_of_samples = BTreeSet::new();
        for path in &loose {
            files.push(diptych_format::SourceFile::new(vec![path.clone()]));
            if let Some((folder, _)) = split_last(path.as_str(), 2)
                && !loose_of_samples.contains(folder)
            {
                loose_of_samples.insert(folder.to_owned());
            }
        }
        let archives = Archives::new(input, files);
        let tree = Arc::clone(&input.tree);
        Self { archives, found, tree, first_loose, loose, loose_of_samples }
    }

    /// What finds the pictures of a partition.
    pub(crate) fn finder<'a>(&'a self, partition: &'a Partition) -> Finder<'a> {
        let held = RefCell::default();
        Finder { pictures: self, partition, homes: HashMap::new(), open: None, held }
    }

    fn tops<'a>(&self, place: &'a Place) -> Result<&'a Tops, FormatError> {
        if let Some(tops) = place.tops.get() {
            return Ok(tops);
        }
        let mut tops = Tops::default();
        for run in place.runs() {
            tops.add(self.archives.index(run)?.as_ref());
        }
        // Another thread may have been faster; it found the same.
        Ok(place.tops.get_or_init(|| tops))
    }

    /// The number of a loose picture.
    fn loose(&self, path: &str) -> Option<u32> {
        let at = self.loose.binary_search_by(|loose| loose.as_str().cmp(path)).ok()?;
        self.first_loose.checked_add(u32::try_from(at).ok()?)
    }
}

/// Finds the pictures of a partition.
pub(crate) struct Finder<'a> {
    pictures: &'a Pictures,
    partition: &'a Partition,
    /// By what stands before the last components of a path.
    homes: HashMap<String, Rc<Homes>>,
    /// The archive read from last.
    open: Option<(u32, Arc<dyn ReadAt>)>,
    /// Indexes of the archives that were asked last: those of a large group weigh more than all
    /// that is kept for others, and must not be made anew for each picture.
    held: RefCell<VecDeque<(u32, Arc<ArchiveIndex>)>>,
}

impl Finder<'_> {
    /// The picture that a row names, and the folder that it is in.
    pub(crate) fn find(&mut self, path: &str) -> Result<(Picture, Folder), NotFound> {
        let usual = normal(path).map_err(|why| missing::no_path(path, why))?;
        let homes = self.homes(&usual)?;
        for (folder, depth) in &homes.spots {
            let Some((_, rest)) = split_last(&usual, *depth) else { continue };
            let name = join(&folder.path, rest);
            if let Some(picture) = self.picture(folder.place, &name, path)? {
                let parent = split_last(&name, 1).map_or("", |(parent, _)| parent).to_owned();
                return Ok((picture, Folder { place: folder.place, path: parent }));
            }
        }
        let Homes { spots, places } = homes.as_ref();
        let names = |number: usize| {
            let of_place = spots.iter().filter(move |(folder, _)| folder.place == Some(number));
            let usual = usual.as_str();
            of_place.filter_map(move |(folder, depth)| {
                Some(join(&folder.path, split_last(usual, *depth)?.1))
            })
        };
        let mut tried = Vec::new();
        for number in places {
            let Some(place) = self.pictures.found.get(*number) else { continue };
            let tops = self.pictures.tops(place)?;
            tried.push((place, tops, names(*number).collect::<Vec<_>>()));
        }
        Err(missing::fault(&self.pictures.archives, self.partition, path, &usual, &tried)?.into())
    }

    /// The picture `name` beside one that was found, where there is one.
    pub(crate) fn picture_beside(
        &self,
        folder: &Folder,
        name: &str,
    ) -> Result<Option<Picture>, NotFound> {
        let path = join(&folder.path, name);
        self.picture(folder.place, &path, &path)
    }

    /// Why the picture `name`, which is not beside one that was found, may be where a piece is
    /// missing; `None` where none is.
    pub(crate) fn cut_beside(
        &self,
        folder: &Folder,
        name: &str,
    ) -> Result<Option<PictureFault>, FormatError> {
        let pictures = self.pictures;
        let Some(place) = folder.place.and_then(|place| pictures.found.get(place)) else {
            return Ok(None);
        };
        let path = join(&folder.path, name);
        let tried = (place, pictures.tops(place)?, vec![path.clone()]);
        missing::cut(&pictures.archives, &tried, &path)
    }

    /// The bytes of a file beside a picture that was found, where it is there: at most `limit` of
    /// them, or its length where it is longer.
    pub(crate) fn bytes_beside(
        &mut self,
        folder: &Folder,
        name: &str,
        limit: usize,
    ) -> Result<Option<Result<Vec<u8>, u64>>, FormatError> {
        let path = join(&folder.path, name);
        let pictures = self.pictures;
        let Some(place) = folder.place else {
            let Some(entry) = pictures.tree.entry(&path) else { return Ok(None) };
            let file = pictures.tree.open(&entry.path);
            let read = file.and_then(|file| read(file.as_ref(), 0, file.len(), limit));
            let error = |source| FormatError::Read {
                at: Box::new(diptych_format::Place::file(pictures.archives.label(), &path)),
                source,
            };
            return read.map(Some).map_err(error);
        };
        let Some(place) = pictures.found.get(place) else { return Ok(None) };
        let tops = pictures.tops(place)?;
        for run in place.runs() {
            let index = self.index(run)?;
            let entry = index.get(tops.member(&path));
            let Some(entry) = entry.filter(|entry| entry.kind == MemberKind::File) else {
                continue;
            };
            let file = match &self.open {
                Some((number, file)) if *number == run => Arc::clone(file),
                _ => {
                    let file = pictures.archives.open(run)?;
                    self.open = Some((run, Arc::clone(&file)));
                    file
                }
            };
            let read = read(file.as_ref(), entry.offset, entry.length, limit);
            return read.map(Some).map_err(|source| pictures.archives.read_error(run, source));
        }
        Ok(None)
    }

    fn index(&self, run: u32) -> Result<Arc<ArchiveIndex>, FormatError> {
        let mut held = self.held.borrow_mut();
        if let Some((_, index)) = held.iter().find(|(number, _)| *number == run) {
            return Ok(Arc::clone(index));
        }
        let index = self.pictures.archives.index(run)?;
        if held.len() >= HELD {
            held.pop_front();
        }
        held.push_back((run, Arc::clone(&index)));
        Ok(index)
    }

    /// The picture of that name in an archive, or loose; `None` where there is none.
    fn picture(
        &self,
        place: Option<usize>,
        name: &str,
        called: &str,
    ) -> Result<Option<Picture>, NotFound> {
        let Self { pictures, .. } = self;
        let Some(place) = place else {
            let number = pictures.loose(name);
            return number.map(|number| pictures.archives.loose(called, number)).transpose();
        };
        let Some(place) = pictures.found.get(place) else { return Ok(None) };
        let tops = pictures.tops(place)?;
        for run in place.runs() {
            let index = self.index(run)?;
            if let Some(entry) = index.get(tops.member(name)) {
                return Ok(Some(pictures.archives.member(called, run, &entry)?));
            }
        }
        Ok(None)
    }

    /// Where pictures of paths like this one may be: worked out for the first of them.
    fn homes(&mut self, usual: &str) -> Result<Rc<Homes>, FormatError> {
        let is_flat = self.partition.task == Some(Task::Action);
        let by_file = split_last(usual, 1).map_or("", |(folder, _)| folder);
        let by_sample = split_last(usual, 2).map(|(folder, _)| folder);
        let key = match by_sample {
            Some(folder) if !is_flat => format!("{folder}/"),
            _ => by_file.to_owned(),
        };
        if let Some(homes) = self.homes.get(&key) {
            return Ok(Rc::clone(homes));
        }
        let homes = Rc::new(self.work_out(by_file, by_sample, is_flat)?);
        if self.homes.len() >= REMEMBERED {
            self.homes.clear();
        }
        self.homes.insert(key, Rc::clone(&homes));
        Ok(homes)
    }

    fn work_out(
        &self,
        by_file: &str,
        by_sample: Option<&str>,
        is_flat: bool,
    ) -> Result<Homes, FormatError> {
        let Self { pictures, partition, .. } = self;
        let before = by_sample.unwrap_or("");
        // What the path says counts; the file's name only where the path says nothing.
        let of_path = before.rsplit('/').chain([last(by_file)]).find_map(Group::of_folder);
        let of_file = partition.known.and_then(Stem::group);
        let group = of_path.or(of_file);
        let stem = last(&partition.stem);
        let by_stem = format!("results_{stem}");
        let mut names = BTreeSet::from([last(before)]);
        if of_path.is_none() || of_path == of_file || of_file.is_none() {
            names.extend([stem, by_stem.as_str()]);
        }
        for folder in group.into_iter().flat_map(Group::folders) {
            names.insert(folder);
        }
        names.remove("");

        let mut homes = Homes { places: self.places(group, &names)?, spots: Vec::new() };
        let loose = |path: &str| Folder { place: None, path: path.to_owned() };
        let below_roots = |folder: &str| {
            let path =
                |root| if folder.is_empty() { String::from(root) } else { join(root, folder) };
            let all = ["", "Singleturn", "Multiturn"].map(path);
            let there = all.into_iter().filter(|path| pictures.loose_of_samples.contains(path));
            there.map(|path| (loose(&path), 2)).collect::<Vec<_>>()
        };
        // As the path stands, below the root or below one of the two folders of archives.
        homes.spots.extend(by_sample.into_iter().flat_map(below_roots));
        for number in &homes.places {
            let Some(place) = pictures.found.get(*number) else { continue };
            let tops = pictures.tops(place)?;
            let mut add = |folders: Vec<&str>, depth| {
                let folder = |path: &str| Folder { place: Some(*number), path: path.to_owned() };
                homes.spots.extend(folders.into_iter().map(|path| (folder(path), depth)));
            };
            if let Some(folder) = by_sample {
                add(fitting(&tops.of_samples, folder, &names, true), 2);
            }
            if by_sample.is_none() || is_flat {
                add(fitting(&tops.of_files, by_file, &names, is_flat), 1);
            }
        }
        if let Some(folder) = by_sample {
            let is_it = |path: &&String| ends_with(path, folder) || names.contains(last(path));
            let others = pictures.loose_of_samples.iter().filter(is_it);
            homes.spots.extend(others.map(|path| (loose(path), 2)));
            // What an archive without a folder of its own was unpacked into.
            if group.is_some_and(|group| group.top.is_empty()) {
                homes.spots.extend(below_roots(""));
            }
        }
        if by_sample.is_none() || is_flat {
            let parents = pictures.loose.iter().map(|path| path.parent().unwrap_or(""));
            let is_it = |path: &&str| {
                *path == by_file || names.contains(last(path)) || ends_with(path, by_file)
            };
            let others: BTreeSet<_> = parents.filter(is_it).collect();
            homes.spots.extend(others.into_iter().map(|path| (loose(path), 1)));
        }
        Ok(homes)
    }

    /// The archives that pictures of a group may be in: those of the group's name, or of the names
    /// that rows give, and else those that nobody knows but that have such folders.
    fn places(
        &self,
        group: Option<&Group>,
        names: &BTreeSet<&str>,
    ) -> Result<Vec<usize>, FormatError> {
        let all = &self.pictures.found;
        let named = |is_it: &dyn Fn(&str) -> bool| {
            let of_name = all.iter().enumerate().filter(|(_, place)| is_it(place.archive.name()));
            of_name.map(|(number, _)| number).collect::<Vec<_>>()
        };
        let mut found = group.map_or(Vec::new(), |group| named(&|name| name == group.name));
        found.extend(named(&|name| names.contains(name)));
        let mut seen = BTreeSet::new();
        found.retain(|number| seen.insert(*number));
        if found.is_empty() {
            for number in named(&|name| Group::named(name).is_none()) {
                let Some(place) = all.get(number) else { continue };
                if self.pictures.tops(place)?.has(names) {
                    found.push(number);
                }
            }
        }
        Ok(found)
    }
}

/// Reads a range, where it is no longer than `limit`.
fn read(
    file: &dyn ReadAt,
    offset: u64,
    length: u64,
    limit: usize,
) -> std::io::Result<Result<Vec<u8>, u64>> {
    let Some(count) = usize::try_from(length).ok().filter(|count| *count <= limit) else {
        return Ok(Err(length));
    };
    let mut bytes = vec![0; count];
    file.read_exact_at(offset, &mut bytes)?;
    Ok(Ok(bytes))
}
