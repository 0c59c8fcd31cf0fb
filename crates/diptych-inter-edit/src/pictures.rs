//! Pictures by name: in the archives, or loose in a copy that was unpacked.

use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

use diptych_format::archives::{Archives, NotFound, PictureFault};
use diptych_format::{FormatError, Notice, ReaderInput, SourceFile};
use diptych_schema::{Address, Picture};
use diptych_storage::RelPath;
use diptych_storage::text::printable;

use crate::wire::PictureName;

/// The pictures of a release, by the names that its rows give.
pub(crate) struct Pictures {
    archives: Archives,
    /// Archives come before loose pictures.
    archive_count: usize,
    by_path: HashMap<String, u32>,
    /// Archives by their last component, where only one has it.
    by_base: HashMap<String, Option<u32>>,
    /// Which archive holds a member, by its name's hash: only where rows name no archives.
    everywhere: OnceLock<HashMap<u64, Vec<u32>>>,
}

impl Pictures {
    pub(crate) fn new(
        input: &ReaderInput<'_>,
        archives: Vec<RelPath>,
        loose: Vec<RelPath>,
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
        let archives = Archives::new(input, files);
        Self { archives, archive_count, by_path, by_base, everywhere: OnceLock::new() }
    }

    pub(crate) fn files(&self) -> &[SourceFile] {
        self.archives.files()
    }

    /// What was noticed of the archives looked into.
    pub(crate) fn notices(&self) -> BTreeSet<Notice> {
        self.archives.notices()
    }

    /// The archives looked into: path, and how many regular files are in it.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, u64)> {
        let members = self.archives.members();
        members.into_iter().map(|(number, members)| (self.archives.path(number), members))
    }

    /// Looks into every archive, also into those that no row has asked for.
    pub(crate) fn look_into_all(&self) -> Result<(), FormatError> {
        let seen = self.archives.members();
        let all = (0_u32..).take(self.archive_count);
        all.filter(|number| !seen.contains_key(number))
            .try_for_each(|number| self.archives.index(number).map(drop))
    }

    /// The picture that a row names.
    pub(crate) fn find(&self, name: &PictureName) -> Result<Picture, NotFound> {
        if ["http://", "https://"].iter().any(|scheme| name.file.starts_with(scheme)) {
            let address = Address::Url { url: name.file.clone(), sha256: None };
            return Ok(Picture::unprobed(&name.file, address));
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
        let index = self.archives.index(number)?;
        let wanted = member_name(&name.file);
        match index.get(wanted) {
            Some(entry) => Ok(self.archives.member(&name.file, number, &entry)?),
            None => Err(self.archives.absent(&name.file, wanted, number, &index).into()),
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
                let index = self.archives.index(*number)?;
                if let Some(entry) = index.get(wanted) {
                    return Ok(self.archives.member(name, *number, &entry)?);
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
        for number in (0_u32..).take(self.archive_count) {
            for entry in self.archives.index(number)?.iter() {
                everywhere.entry(hash(entry.name)).or_default().push(number);
            }
        }
        Ok(everywhere)
    }

    /// A picture that lies loose in the copy, by the longest end of its path that is there.
    fn find_loose(&self, name: &str) -> Result<Option<Picture>, NotFound> {
        let loose = |tail: &str| {
            let number = self.by_path.get(tail).copied();
            number.filter(|number| *number as usize >= self.archive_count)
        };
        let found = tails(name).find_map(loose);
        found.map(|number| self.archives.loose(name, number)).transpose()
    }
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
