//! Shards, sample by sample, into edits.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use diptych_format::archives::{ArchiveIndex, Archives};
use diptych_format::foreign::known::unknown;
use diptych_format::foreign::{ColumnMap, Seen};
use diptych_format::shards::Counted;
use diptych_format::written::{fewer, stated};
use diptych_format::{
    Edit, Edits, FormatError, Notice, Part, Place, Reader, ReaderInput, Rejection, SourceFile,
    Stated, Tally,
};
use diptych_storage::text::printable;
use diptych_storage::{Limits, ReadAt, ReadTree};

use crate::NAME;
use crate::groups::{Few, Groups, Told};
use crate::layout::{Layout, Shard, State};
use crate::look::Look;
use crate::sample::{Loss, Sample};

pub(crate) struct ShardReader {
    pub(crate) tree: Arc<dyn ReadTree>,
    pub(crate) archives: Archives,
    pub(crate) limits: Limits,
    pub(crate) counted: Vec<Counted>,
    /// What foreign fields are; `None` where samples have records.
    pub(crate) map: Option<ColumnMap>,
    shards: Vec<Shard>,
    partitions: Vec<String>,
    /// What was noticed while samples were read.
    notices: Mutex<BTreeSet<Notice>>,
    /// How many pairs were written, where the copy says it.
    written: Option<Stated>,
    /// Samples read of each shard.
    samples: Vec<AtomicU64>,
}

impl ShardReader {
    pub(crate) fn open(input: &ReaderInput<'_>) -> Result<Self, FormatError> {
        let Layout { shards, files, counted } = Layout::of(input.tree.as_ref());
        let nothing = |what: String| FormatError::Malformed {
            at: Box::new(Place { source: input.label.to_owned(), ..Place::default() }),
            what,
        };
        if files.is_empty() {
            return Err(nothing("no shard: there is no .tar".to_owned()));
        }
        let look = Look::at(input.tree.as_ref());
        let given = ColumnMap::given(NAME, input.options)?;
        let unmet = given.as_ref().and_then(|map| map.unmet(&look.all_shapes(), input.label));
        let lost = look.damaged.as_ref().map(|(path, why)| {
            format!(
                "the samples of {path} were written by diptych and have no records any more \
                 ({why}); they can be read as somebody else's with the option `map`"
            )
        });
        let seen = Seen { is_ours: look.ours.is_some(), lost, known: look.known() };
        let map = ColumnMap::of_release(given, seen, || unknown(&look.shapes)).map_err(nothing)?;
        Ok(Self {
            tree: Arc::clone(&input.tree),
            archives: Archives::new(
                input,
                files.into_iter().map(|path| SourceFile::new(vec![path])).collect(),
            ),
            limits: input.limits,
            counted,
            written: stated(input.tree.as_ref()).filter(|_| map.is_none()),
            map,
            partitions: shards.iter().map(|shard| shard.path.clone()).collect(),
            samples: shards.iter().map(|_| AtomicU64::new(0)).collect(),
            shards,
            notices: Mutex::new(unmet.into_iter().collect()),
        })
    }

    /// Samples read of all shards.
    pub(crate) fn samples(&self) -> u64 {
        self.samples.iter().map(|samples| samples.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn place(&self, path: &str) -> Place {
        Place::file(self.archives.label(), path)
    }

    fn notice(&self, notices: impl IntoIterator<Item = Notice>) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
    }

    /// The edit that stands for those of a shard, of which nobody knows how many they are.
    fn lost(&self, path: &str, kind: &str, cause: String, offset: Option<u64>) -> Edit {
        Edit::Rejected(Box::new(Rejection {
            kind: kind.to_owned(),
            cause,
            at: Place { offset, ..self.place(path) },
            dataset: self.dataset().to_owned(),
            subset: None,
            pair_id: None,
            native: None,
        }))
    }

    /// The dataset's name where a sample does not tell it.
    pub(crate) fn dataset(&self) -> &str {
        self.map.as_ref().and_then(|map| map.dataset.as_deref()).unwrap_or(NAME)
    }

    fn tell(&self, path: &str, told: &Told) {
        let Told { passed_over, scattered, dotted } = told;
        let notice = |kind: &str, few: &Few, what: &str| {
            (few.count > 0).then(|| Notice {
                kind: kind.to_owned(),
                at: self.place(path),
                detail: format!("{} {what}, {} for one", few.count, printable(&few.first)),
            })
        };
        self.notice(
            [
                notice("passed_over", passed_over, "members whose names are those of no sample"),
                notice("scattered_samples", scattered, "samples whose members are apart"),
                notice("dots_in_keys", dotted, "samples whose keys other readers end too early"),
            ]
            .into_iter()
            .flatten(),
        );
    }
}

impl Reader for ShardReader {
    fn files(&self) -> &[SourceFile] {
        self.archives.files()
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        let shard = self.shards.get(partition).ok_or_else(|| FormatError::Malformed {
            at: Box::new(self.place("")),
            what: format!("there is no partition {partition}"),
        })?;
        let lost = |kind, cause: &str| {
            let edit = self.lost(&shard.path, kind, cause.to_owned(), None);
            Ok(Box::new(Once(Some(edit))) as Box<dyn Edits>)
        };
        let number = match shard.state {
            State::Here(number) => number,
            State::Missing => return lost("missing_shard", "the shard is not there"),
            State::Compressed => {
                let cause = "the shard is compressed as a whole: it has to be decompressed first";
                return lost("compressed_shard", cause);
            }
        };
        let file = self.archives.open(number)?;
        if file.is_empty() {
            return lost("empty_shard", "the file is empty: its samples are lost");
        }
        let index = self.archives.index(number)?;
        let takes = self.map.as_ref().map(|map| |name: &str| map.takes_picture(name));
        let takes = takes.as_ref().map(|takes| takes as &dyn Fn(&str) -> bool);
        let groups = Groups::of(&index, takes);
        self.tell(&shard.path, &groups.told);
        Ok(Box::new(ShardEdits {
            count: self.samples.get(partition),
            reader: self,
            shard,
            number,
            file,
            index,
            groups,
            at: 0,
            pending: Vec::new(),
            unread: Few::default(),
            tells_of_damage: false,
            ended: false,
        }))
    }

    fn notices(&self, tally: &Tally) -> Vec<Notice> {
        let mut all = self.archives.notices();
        let label = self.archives.label();
        all.extend(fewer(label, self.written.as_ref(), tally, self.partitions.len()));
        all.extend(self.notices.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        all.into_iter().collect()
    }

    fn parts(&self, _: &Tally) -> Result<Vec<Part>, FormatError> {
        Ok(crate::parts::parts(self))
    }
}

struct Once(Option<Edit>);

impl Edits for Once {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        Ok(self.0.take())
    }
}

/// The edits of a shard.
struct ShardEdits<'a> {
    reader: &'a ShardReader,
    shard: &'a Shard,
    number: u32,
    file: Arc<dyn ReadAt>,
    index: Arc<ArchiveIndex>,
    groups: Groups,
    /// Where the next group begins.
    at: usize,
    /// Edits of the group that was read last, the last one first.
    pending: Vec<Edit>,
    /// Members that no column and no record is made of.
    unread: Few,
    /// Whether a rejection told of what is damaged.
    tells_of_damage: bool,
    /// Where its samples are counted.
    count: Option<&'a AtomicU64>,
    ended: bool,
}

impl Edits for ShardEdits<'_> {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        loop {
            if let Some(edit) = self.pending.pop() {
                return Ok(Some(edit));
            }
            if self.ended {
                return Ok(None);
            }
            self.step()?;
        }
    }
}

impl ShardEdits<'_> {
    /// Reads the next group.
    fn step(&mut self) -> Result<(), FormatError> {
        let Some(group) = self.groups.next(&mut self.at, &self.index) else {
            self.ended = true;
            self.end();
            return Ok(());
        };
        let count = group.samples.len() as u64;
        if let Some(part) = &group.repeated {
            let sample = Sample::new(self.reader, self.shard, &group.key, 0);
            let loss = sample.repeated(&self.index, &group, part);
            self.lose(vec![loss]);
            self.read(1);
            return Ok(());
        }
        self.read(count);
        for (again, members) in group.samples.iter().enumerate() {
            let sample = Sample::new(self.reader, self.shard, &group.key, again);
            match sample.read(self.number, self.file.as_ref(), &self.index, members)? {
                Ok(found) => {
                    found.unread.iter().for_each(|name| self.unread.add(name));
                    let edits = found.pairs.into_iter().map(|pair| Edit::Pair(Box::new(pair)));
                    self.pending.extend(edits);
                }
                Err(losses) => self.lose(losses),
            }
        }
        self.pending.reverse();
        Ok(())
    }

    fn read(&self, samples: u64) {
        if let Some(count) = self.count {
            count.fetch_add(samples, Ordering::Relaxed);
        }
    }

    fn lose(&mut self, losses: Vec<Loss>) {
        for Loss { rejection, is_of_damage } in losses {
            self.tells_of_damage |= is_of_damage;
            self.pending.push(Edit::Rejected(Box::new(rejection)));
        }
    }

    /// Tells what is known when all samples were read.
    fn end(&mut self) {
        let path = &self.shard.path;
        if self.unread.count > 0 {
            let Few { count, first } = &self.unread;
            self.reader.notice([Notice {
                kind: "unread_members".to_owned(),
                at: self.reader.place(path),
                detail: format!(
                    "{count} members that no column is made of, {} for one",
                    printable(first)
                ),
            }]);
        }
        // Whole samples may be lost of which nothing is left to tell.
        let hiding = self.index.defects().iter().find(|defect| defect.kind.hides_members());
        if let Some(defect) = hiding.filter(|_| !self.tells_of_damage) {
            let cause = format!("{defect}: samples are lost, and count as one");
            let lost = self.reader.lost(path, "damaged_archive", cause, Some(defect.offset));
            self.pending.push(lost);
        } else if self.at == 0 && hiding.is_none() {
            self.reader.notice([Notice {
                kind: "no_samples".to_owned(),
                at: self.reader.place(path),
                detail: "there is no sample in it".to_owned(),
            }]);
        }
    }
}
