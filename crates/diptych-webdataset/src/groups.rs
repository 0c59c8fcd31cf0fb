//! Members of a shard into samples. No I/O.
//!
//! Other readers make a sample of members that stand next to each other. Here all members of one
//! key in a shard are one sample, wherever they stand: what was packed in another order is whole
//! all the same. A part that is there again begins a further sample of that key, as in archives
//! that were joined; where only some of the parts are there again nobody can say which are meant.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use diptych_format::archives::{ArchiveIndex, Note};
use diptych_storage::tar::{Entry, MemberKind};

use crate::names::{Kind, key_length, kind_of, longer_keys, part};

/// The samples of a shard.
pub(crate) struct Groups {
    /// Members by their sample, and in the order of the archive; samples in that of their first.
    slots: Vec<Slot>,
    /// What is to be told of the members.
    pub(crate) told: Told,
}

/// What is to be told of a shard's members: how many, and one of them.
#[derive(Default)]
pub(crate) struct Told {
    /// Names that readers pass over.
    pub(crate) passed_over: Few,
    /// Samples whose members do not stand together.
    pub(crate) scattered: Few,
    /// Samples whose keys have dots.
    pub(crate) dotted: Few,
}

/// Some of a kind: how many, and the name of the first.
#[derive(Default)]
pub(crate) struct Few {
    pub(crate) count: u64,
    pub(crate) first: Vec<u8>,
}

impl Few {
    pub(crate) fn add(&mut self, name: &[u8]) {
        if self.count == 0 {
            self.first = name.to_vec();
        }
        self.count += 1;
    }
}

/// A member, by what it is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    group: u32,
    /// Its place in the archive.
    member: u32,
    /// Bytes of its key.
    key: u32,
}

/// A member of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its place in the archive.
    pub(crate) place: usize,
    /// Its part, in lower case.
    pub(crate) part: String,
}

/// The members of one key in an archive, as they are to be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) key: Vec<u8>,
    /// The samples: one, or more where all of its parts are there again.
    pub(crate) samples: Vec<Vec<Member>>,
    /// A part that is there again while others are not.
    pub(crate) repeated: Option<String>,
}

impl Groups {
    /// The samples of an archive. `takes` tells of a picture's name whether it means something:
    /// only by such names keys may have dots, and without it none has.
    pub(crate) fn of(index: &ArchiveIndex, takes: Option<&dyn Fn(&str) -> bool>) -> Self {
        let mut told = Told::default();
        let dotted = takes.map(|takes| dotted(index, takes)).unwrap_or_default();
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        let mut slots = Vec::new();
        let mut last = None;
        let mut scattered = HashSet::new();
        for (place, entry) in files(index) {
            let Some(short) = key_length(entry.name) else {
                told.passed_over.add(entry.name);
                continue;
            };
            let is_dotted =
                |key: &usize| entry.name.get(..*key).is_some_and(|k| dotted.contains(k));
            let key = longer_keys(entry.name, short).filter(is_dotted).last().unwrap_or(short);
            let name = entry.name.get(..key).unwrap_or_default();
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let group = *numbers.entry(name).or_insert(next);
            if group == next && key != short {
                told.dotted.add(name);
            }
            if group != next && last != Some(group) && scattered.insert(group) {
                told.scattered.add(name);
            }
            last = Some(group);
            // An index holds no more members than that, and names are shorter.
            if let (Ok(member), Ok(key)) = (u32::try_from(place), u32::try_from(key)) {
                slots.push(Slot { group, member, key });
            }
        }
        slots.sort_unstable();
        Self { slots, told }
    }

    /// The next group behind `at`, which moves on.
    pub(crate) fn next(&self, at: &mut usize, index: &ArchiveIndex) -> Option<Group> {
        let rest = self.slots.get(*at..)?;
        let first = rest.first()?;
        let count = rest.iter().take_while(|slot| slot.group == first.group).count();
        let range = Range { start: *at, end: *at + count };
        *at = range.end;
        let slots = self.slots.get(range)?;
        let name = index.at(first.member as usize)?.name;
        let key = name.get(..first.key as usize)?.to_vec();
        let members = slots.iter().filter_map(|slot| {
            let entry = index.at(slot.member as usize)?;
            let part = part(entry.name, slot.key as usize);
            Some(Member { place: slot.member as usize, part })
        });
        let mut samples: Vec<Vec<Member>> = Vec::new();
        for member in members {
            let lacks = |sample: &Vec<Member>| sample.iter().all(|of| of.part != member.part);
            match samples.iter().position(lacks).and_then(|at| samples.get_mut(at)) {
                Some(sample) => sample.push(member),
                None => samples.push(vec![member]),
            }
        }
        let repeated = samples.get(1).and_then(|sample| sample.first());
        let is_uneven = samples.windows(2).any(|two| match two {
            [one, other] => one.len() != other.len(),
            _ => false,
        });
        let repeated = repeated.filter(|_| is_uneven).map(|member| member.part.clone());
        Some(Group { key, samples, repeated })
    }
}

/// The files of an archive, each with its place; and what stands where a file should be, so that
/// whoever needs it can say what it is.
fn files(index: &ArchiveIndex) -> impl Iterator<Item = (usize, Entry<'_, Note>)> {
    index.all().enumerate().filter(|(_, of)| of.kind != MemberKind::Directory)
}

/// Keys that dots belong to: what stands in front of a picture's name that means something, where
/// what other readers take for the key has no such picture of its own.
fn dotted<'i>(index: &'i ArchiveIndex, takes: &dyn Fn(&str) -> bool) -> HashSet<&'i [u8]> {
    let means = |name: &[u8], key: usize| {
        let part = part(name, key);
        let (kind, field) = kind_of(&part);
        kind == Kind::Picture && takes(field)
    };
    let (mut plain, mut dotted) = (HashSet::new(), HashSet::new());
    for (_, entry) in files(index) {
        if let Some(key) = key_length(entry.name).filter(|key| means(entry.name, *key)) {
            plain.extend(entry.name.get(..key));
        }
    }
    for (_, entry) in files(index) {
        let Some(key) = key_length(entry.name) else { continue };
        if means(entry.name, key) || entry.name.get(..key).is_none_or(|k| plain.contains(k)) {
            continue;
        }
        let longer = longer_keys(entry.name, key).find(|key| means(entry.name, *key));
        dotted.extend(longer.and_then(|key| entry.name.get(..key)));
    }
    dotted
}

#[cfg(test)]
mod tests {

    use diptych_storage::Limits;
    use diptych_storage::read::ReadAt;
    use diptych_storage::tar::TarIndex;

    use super::*;
    use crate::ustar;

    struct Memory(Vec<u8>);

    impl ReadAt for Memory {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
            let rest = self.0.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        }
    }

    /// Keys, and the parts of each of its samples; and what is told.
    fn groups(names: &[&str]) -> (Vec<(String, Vec<String>)>, Told) {
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend_from_slice(ustar::header(name, 0).unwrap().as_bytes());
        }
        bytes.extend_from_slice(&ustar::END);
        let index = TarIndex::build(&Memory(bytes), &Limits::DEFAULT, &mut |_| Ok(Note::Unprobed));
        let index = index.unwrap();
        let groups = Groups::of(&index, Some(&|name| ["source", "target"].contains(&name)));
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(group) = groups.next(&mut at, &index) {
            let parts = |sample: &Vec<Member>| {
                sample.iter().map(|of| of.part.as_str()).collect::<Vec<_>>().join(" ")
            };
            let mut samples: Vec<_> = group.samples.iter().map(parts).collect();
            samples.extend(group.repeated.map(|part| format!("again: {part}")));
            found.push((String::from_utf8(group.key).unwrap(), samples));
        }
        (found, groups.told)
    }

    fn of(names: &[&str]) -> Vec<(String, Vec<String>)> {
        groups(names).0
    }

    fn wanted(groups: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        groups.iter().map(|(key, samples)| ((*key).to_owned(), texts(samples))).collect()
    }

    #[test]
    fn members_apart_are_one_sample() {
        let names = ["b.json", "a.json", "a.source.png", "b.source.png", "x", ".y.png"];
        let (found, told) = groups(&names);
        assert_eq!(found, wanted(&[("b", &["json source.png"]), ("a", &["json source.png"])]));
        assert_eq!((told.scattered.count, told.scattered.first.as_slice()), (1, &b"b"[..]));
        assert_eq!((told.passed_over.count, told.passed_over.first.as_slice()), (2, &b"x"[..]));
        assert_eq!(groups(&names[1..3]).1.scattered.count, 0);
    }

    #[test]
    fn what_is_there_again_whole_is_a_sample_of_its_own() {
        let names = ["a.json", "a.source.png", "a.json", "a.source.png"];
        assert_eq!(of(&names), wanted(&[("a", &["json source.png", "json source.png"])]));
        let again = wanted(&[("a", &["json source.png", "source.png", "again: source.png"])]);
        assert_eq!(of(&["a.json", "a.source.png", "a.source.png"]), again);
        // Names that differ in case only are one part.
        assert_eq!(of(&["a.json", "a.source.png", "a.SOURCE.PNG"]), again);
    }

    #[test]
    fn dots_may_belong_to_a_key() {
        let names = ["v1.0.source.png", "v1.0.json", "v1.1.source.png", "v1.1.json", "v1.1.txt"];
        let (found, told) = groups(&names);
        let both = wanted(&[("v1.0", &["source.png json"]), ("v1.1", &["source.png json txt"])]);
        assert_eq!(found, both);
        assert_eq!((told.dotted.count, told.dotted.first.as_slice()), (2, &b"v1.0"[..]));
        // Else they are parts of a sample, whatever they end with.
        let names = ["a.source.png", "a.of.source.png", "a.meta.json", "b.0.jpg", "b.0.json"];
        let (found, told) = groups(&names);
        let parts = ["source.png of.source.png meta.json", "0.jpg 0.json"];
        assert_eq!(found, wanted(&[("a", &parts[..1]), ("b", &parts[1..])]));
        assert_eq!(told.dotted.count, 0);
    }
}
