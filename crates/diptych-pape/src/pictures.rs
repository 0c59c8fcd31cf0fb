//! Pictures by the names that rows give.
//!
//! A row's paths are those of another machine: what counts is the name, in the folder of the
//! role. Where a folder has folders of its own, the end of the path must agree as far as the
//! file lies below.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use diptych_format::archives::{Archives, NotFound, PictureFault};
use diptych_format::{FormatError, ReaderInput, SourceFile};
use diptych_schema::Picture;
use diptych_storage::RelPath;
use diptych_storage::text::printable;

use crate::layout::{ENDINGS, Editor, Role, join, split_name};

/// Names of a path's end that are looked at: no release has folders deeper than that below those
/// of the roles.
const TAIL: usize = 4;

/// Files that are looked at for one stem: no more than some have it, and a release that was made
/// to be slow has no more than these.
const ALIKE: usize = 256;

/// The pictures of a release.
pub(crate) struct Pictures {
    archives: Archives,
    /// Which of them a row has asked for.
    claimed: Vec<AtomicBool>,
}

impl Pictures {
    /// The files `pictures`, which are sorted.
    pub(crate) fn new(input: &ReaderInput<'_>, pictures: Vec<RelPath>) -> Self {
        let claimed = pictures.iter().map(|_| AtomicBool::new(false)).collect();
        let files = pictures.into_iter().map(|path| SourceFile::new(vec![path])).collect();
        Self { archives: Archives::new(input, files), claimed }
    }

    pub(crate) fn files(&self) -> &[SourceFile] {
        self.archives.files()
    }

    /// The number of the file at `path`.
    fn number(&self, path: &str) -> Option<u32> {
        let at = self.first_from(path);
        let number = u32::try_from(at).ok()?;
        (at < self.claimed.len() && self.archives.path(number) == path).then_some(number)
    }

    /// How many files come before `path`.
    fn first_from(&self, path: &str) -> usize {
        let of = |file: &SourceFile| file.pieces.first().is_some_and(|of| of.as_str() < path);
        self.files().partition_point(of)
    }

    /// The file that a row means by a path.
    pub(crate) fn named(&self, editor: &Editor, role: Role, path: &str) -> Option<u32> {
        let folder = editor.of_role(role);
        let exact = tails(path).find_map(|tail| self.number(&join(&folder, tail)));
        exact.or_else(|| {
            let name = tails(path).last()?;
            let (stem, ending) = split_name(name);
            self.with_stem(&folder, stem, ending)
        })
    }

    /// The file with this stem in the folder of a role.
    pub(crate) fn stemmed(&self, editor: &Editor, role: Role, stem: &str) -> Option<u32> {
        self.with_stem(&editor.of_role(role), stem, None)
    }

    /// The picture in `folder` that has this stem: the one with this ending in whatever case,
    /// else the first.
    fn with_stem(&self, folder: &str, stem: &str, ending: Option<&str>) -> Option<u32> {
        let start = format!("{}.", join(folder, stem));
        let first = u32::try_from(self.first_from(&start)).ok()?;
        let endings = (first..).take(ALIKE).map_while(|number| {
            let rest = self.archives.path(number).strip_prefix(&start)?;
            Some((number, rest))
        });
        let pictures: Vec<_> = endings
            .filter(|(_, rest)| ENDINGS.iter().any(|known| rest.eq_ignore_ascii_case(known)))
            .collect();
        let same = |(_, rest): &&(u32, &str)| ending.is_some_and(|e| rest.eq_ignore_ascii_case(e));
        pictures.iter().find(same).or(pictures.first()).map(|(number, _)| *number)
    }

    /// Notes that a row asks for a file.
    pub(crate) fn claim(&self, number: u32) {
        if let Some(claimed) = self.claimed.get(number as usize) {
            claimed.store(true, Ordering::Relaxed);
        }
    }

    /// The picture that a file is.
    pub(crate) fn picture(&self, number: u32) -> Result<Picture, NotFound> {
        let path = self.archives.path(number).to_owned();
        self.archives.loose(&path, number)
    }

    /// How many files no row has asked for, for each folder that has such, and one of them.
    pub(crate) fn unclaimed(&self) -> BTreeMap<&str, (u64, &RelPath)> {
        let mut unclaimed = BTreeMap::new();
        for (file, claimed) in self.files().iter().zip(&self.claimed) {
            let Some(path) = file.pieces.first().filter(|_| !claimed.load(Ordering::Relaxed))
            else {
                continue;
            };
            unclaimed.entry(path.parent().unwrap_or("")).or_insert((0, path)).0 += 1;
        }
        unclaimed
    }

    /// Why a row has no picture of a role: none of the names that it gives is there.
    pub(crate) fn absent(&self, editor: &Editor, role: Role, names: &[&str]) -> PictureFault {
        let folder = editor.of_role(role);
        let begin = format!("{folder}/");
        let at = u32::try_from(self.first_from(&begin)).unwrap_or(u32::MAX);
        let name = names.first().and_then(|path| tails(path).last());
        let what = name.map_or("a picture", |name| name);
        let shown = printable(what.as_bytes());
        let cause = if self.archives.path(at).starts_with(&begin) {
            format!("{shown}: not in {folder}")
        } else {
            format!("{shown}: {folder} is not there, or empty")
        };
        let file = name.map_or_else(|| folder.clone(), |name| join(&folder, name));
        PictureFault {
            kind: "missing_member",
            cause,
            file: Some(file),
            member: what.to_owned(),
            offset: None,
        }
    }

    /// Bytes of a picture up to a limit, for what has to be decoded.
    pub(crate) fn bytes(&self, number: u32, limit: u64) -> Result<Option<Vec<u8>>, FormatError> {
        let file = self.archives.open(number)?;
        let Some(length) = Some(file.len()).filter(|length| *length <= limit) else {
            return Ok(None);
        };
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        let read = file.read_exact_at(0, &mut bytes);
        read.map_err(|error| self.archives.read_error(number, error))?;
        Ok(Some(bytes))
    }
}

/// The ends of a path that are looked for, the longest first; the name alone is the last.
fn tails(path: &str) -> impl Iterator<Item = &str> {
    let starts = path.rmatch_indices('/').map(|(at, _)| at + 1).chain([0]).take(TAIL);
    let mut tails: Vec<_> = starts.filter_map(|start| path.get(start..)).collect();
    tails.reverse();
    tails.into_iter().filter(|tail| !tail.is_empty())
}
