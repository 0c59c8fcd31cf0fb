//! A shard of more than 8 GiB: where its samples begin, and that the same archive is walked through.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests state what they expect by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use diptych_format::options::Assignment;
use diptych_format::writer::{UnitOutput, UnitStart, WrittenPicture};
use diptych_format::{Atom, Options, Payload, Sample, Used};
use diptych_schema::{Address, EditPair, MediaType, Picture, Split};
use diptych_storage::output::{OutputError, StagedFile};
use diptych_storage::tar::Walk;
use diptych_storage::{Limits, ReadAt, RelPath};
use diptych_webdataset::FORMAT;

/// Bytes of each picture: as many as fit into a member twice over.
const PICTURE: u64 = 3 << 30;

/// A file in memory that keeps what is written and leaves holes for what is copied.
#[derive(Clone, Default)]
struct Holes(Arc<Mutex<Parts>>);

/// What was written, by where it begins, and the length of all.
#[derive(Default)]
struct Parts {
    written: BTreeMap<u64, Vec<u8>>,
    length: u64,
}

impl ReadAt for Holes {
    fn len(&self) -> u64 {
        self.0.lock().unwrap().length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let of = self.0.lock().unwrap();
        let end = of.length.min(offset + buffer.len() as u64);
        let length = usize::try_from(end.saturating_sub(offset)).unwrap();
        let buffer = buffer.get_mut(..length).unwrap();
        for (place, byte) in (offset..).zip(buffer.iter_mut()) {
            let part = of.written.range(..=place).next_back();
            let at = |(start, part): (&u64, &Vec<u8>)| {
                part.get(usize::try_from(place - start).unwrap()).copied()
            };
            *byte = part.and_then(at).unwrap_or(0);
        }
        Ok(length)
    }
}

impl StagedFile for Holes {
    fn reserve(&mut self, _: u64) {}

    fn write(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        let mut of = self.0.lock().unwrap();
        let at = of.length;
        if !bytes.is_empty() {
            of.written.insert(at, bytes.to_vec());
        }
        of.length += bytes.len() as u64;
        Ok(())
    }

    fn copy_range(&mut self, _: &dyn ReadAt, _: u64, length: u64) -> Result<(), OutputError> {
        self.0.lock().unwrap().length += length;
        Ok(())
    }

    fn position(&self) -> u64 {
        ReadAt::len(self)
    }

    fn close(self: Box<Self>) -> Result<u64, OutputError> {
        Ok(ReadAt::len(self.as_ref()))
    }
}

#[derive(Default)]
struct Files(BTreeMap<String, Holes>);

impl UnitOutput for Files {
    fn stage(&mut self, name: &RelPath, _: u64) -> Result<Box<dyn StagedFile>, OutputError> {
        Ok(Box::new(self.0.entry(name.to_string()).or_default().clone()))
    }

    fn stage_small(&mut self, name: &RelPath, n: u64) -> Result<Box<dyn StagedFile>, OutputError> {
        self.stage(name, n)
    }
}

/// A picture that is there in length only.
struct Nothing;

impl ReadAt for Nothing {
    fn len(&self) -> u64 {
        PICTURE
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> std::io::Result<usize> {
        panic!("pictures are copied, not read")
    }
}

fn sample(number: u64) -> Sample {
    let payload = Payload::Range { file: Arc::new(Nothing), offset: 0, length: PICTURE };
    let picture = || WrittenPicture {
        name: None,
        role: None,
        media_type: MediaType::Png,
        width: 1,
        height: 1,
        payload: payload.clone(),
    };
    let pair_id = format!("toy:{number}");
    let key = diptych_format::key::key_of(&pair_id);
    let nothing = Picture::unprobed("a.png", Address::Inline(Vec::new()));
    let pair = EditPair::new(pair_id, "toy".to_owned(), nothing);
    let (source, target) = (picture(), Some(picture()));
    Sample {
        pair,
        key,
        source,
        references: Vec::new(),
        target,
        mask: None,
        change: None,
        row: number,
    }
}

#[test]
fn a_shard_over_8_gib_has_every_sample_where_its_index_says() {
    let given: [Assignment; 0] = [];
    let about = FORMAT.about();
    let options = Options::new(about.name, about.options, &given, Used::Writing).unwrap();
    let writer = FORMAT.open_writer(&options).unwrap();
    let mut files = Files::default();
    let datasets = BTreeSet::from(["toy".to_owned()]);
    let start = UnitStart { split: Some(Split::Train), bytes: 0, datasets: &datasets };
    let mut unit = writer.begin(start, &mut files).unwrap();
    for number in 0..4 {
        unit.write(&Atom { samples: vec![sample(number)] }).unwrap();
    }
    let written = unit.close().unwrap();
    let shard = files.0.values().max_by_key(|file| ReadAt::len(*file)).unwrap();
    assert_eq!(written.files.first().unwrap().bytes, ReadAt::len(shard));
    assert!(ReadAt::len(shard) > 8 * PICTURE);

    let mut walk = Walk::new(shard, &Limits::DEFAULT);
    let (mut names, mut records) = (Vec::new(), Vec::new());
    while let Some(member) = walk.next_member().unwrap() {
        let name = String::from_utf8(member.name.to_vec()).unwrap();
        if name.ends_with(".json") {
            records.push(member.header_offset);
        } else {
            assert_eq!(member.length, PICTURE, "{name}");
        }
        names.push(name);
    }
    assert_eq!((names.len(), records.len()), (12, 4));
    assert!(walk.into_defects().list().is_empty());
    assert!(records.last().is_some_and(|last| *last > 6 * PICTURE));
    // The index lists where each sample begins, and the end.
    let (_, index) = files.0.iter().find(|(name, _)| name.ends_with(".idx")).unwrap();
    let mut bytes = vec![0; usize::try_from(ReadAt::len(index)).unwrap()];
    index.read_exact_at(0, &mut bytes).unwrap();
    let listed: Vec<_> = bytes
        .chunks_exact(8)
        .map(|number| u64::from_le_bytes(number.try_into().unwrap()))
        .collect();
    assert_eq!(listed.get(..4), Some(records.as_slice()));
}
