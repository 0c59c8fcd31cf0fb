//! A unit written to memory, and samples for it.

#![allow(dead_code, reason = "each test uses some of it")]

pub(crate) mod reading;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use diptych_format::options::Assignment;
use diptych_format::writer::{UnitOutput, UnitStart, WrittenPicture};
use diptych_format::{Atom, FormatError, Options, Payload, Sample, UnitFiles, Used};
use diptych_schema::{Address, EditPair, MediaType, Picture, Split};
use diptych_storage::output::{OutputError, StagedFile};
use diptych_storage::{ReadAt, RelPath};

/// What was written: parts at their positions, of which those that are longer than `keep` are left
/// out, and read as zeros.
#[derive(Clone, Default)]
pub(crate) struct Written(Arc<Mutex<Parts>>);

#[derive(Default)]
struct Parts {
    parts: Vec<(u64, Vec<u8>)>,
    length: u64,
    keep: usize,
    largest: usize,
}

impl Written {
    pub(crate) fn keeping(keep: usize) -> Self {
        Self(Arc::new(Mutex::new(Parts { keep, ..Parts::default() })))
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(ReadAt::len(self)).unwrap()];
        self.read_exact_at(0, &mut bytes).unwrap();
        bytes
    }

    /// Writes it to a file, with holes for what was left out.
    pub(crate) fn save(&self, path: &Path) {
        let parts = self.0.lock().unwrap();
        let mut file = File::create(path).unwrap();
        for (at, part) in &parts.parts {
            file.seek(SeekFrom::Start(*at)).unwrap();
            file.write_all(part).unwrap();
        }
        file.set_len(parts.length).unwrap();
    }

    /// The longest part that was written at once.
    pub(crate) fn largest(&self) -> usize {
        self.0.lock().unwrap().largest
    }
}

impl ReadAt for Written {
    fn len(&self) -> u64 {
        self.0.lock().unwrap().length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let parts = self.0.lock().unwrap();
        let end = parts.length.min(offset + buffer.len() as u64);
        let length = usize::try_from(end.saturating_sub(offset)).unwrap();
        let buffer = &mut buffer[..length];
        buffer.fill(0);
        let first = parts.parts.partition_point(|(at, part)| at + part.len() as u64 <= offset);
        for (at, part) in &parts.parts[first..] {
            if *at >= end {
                break;
            }
            let (from, to) = (offset.max(*at), end.min(at + part.len() as u64));
            let index = |of: u64, base: u64| usize::try_from(of - base).unwrap();
            buffer[index(from, offset)..index(to, offset)]
                .copy_from_slice(&part[index(from, *at)..index(to, *at)]);
        }
        Ok(length)
    }
}

impl StagedFile for Written {
    fn reserve(&mut self, _: u64) {}

    fn write(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        let mut parts = self.0.lock().unwrap();
        let at = parts.length;
        if bytes.len() <= parts.keep {
            parts.parts.push((at, bytes.to_vec()));
        }
        parts.largest = parts.largest.max(bytes.len());
        parts.length += bytes.len() as u64;
        Ok(())
    }

    fn copy_range(&mut self, _: &dyn ReadAt, _: u64, _: u64) -> Result<(), OutputError> {
        panic!("pages are not copied")
    }

    fn position(&self) -> u64 {
        ReadAt::len(self)
    }

    fn close(self: Box<Self>) -> Result<u64, OutputError> {
        Ok(ReadAt::len(self.as_ref()))
    }
}

struct OneFile(Option<Written>);

impl UnitOutput for OneFile {
    fn stage(&mut self, _: &RelPath, _: u64) -> Result<Box<dyn StagedFile>, OutputError> {
        Ok(Box::new(self.0.take().expect("a unit is one file")))
    }

    fn stage_small(&mut self, name: &RelPath, n: u64) -> Result<Box<dyn StagedFile>, OutputError> {
        self.stage(name, n)
    }
}

/// Writes samples as a unit, with the options given.
pub(crate) fn write_to(
    written: &Written,
    options: &[&str],
    samples: impl Iterator<Item = Sample>,
) -> Result<UnitFiles, FormatError> {
    let about = diptych_parquet::FORMAT.about();
    let given: Vec<_> = options.iter().map(|given| Assignment::parse(given).unwrap()).collect();
    let options = Options::new(about.name, about.options, &given, Used::Writing).unwrap();
    let writer = diptych_parquet::FORMAT.open_writer(&options)?;
    let mut output = OneFile(Some(written.clone()));
    let start = UnitStart {
        split: Some(Split::Train),
        bytes: 0,
        datasets: &BTreeSet::from([String::new()]),
    };
    let mut unit = writer.begin(start, &mut output)?;
    for sample in samples {
        unit.write(&Atom { samples: vec![sample] })?;
    }
    unit.close()
}

/// The bytes of a file with these samples.
pub(crate) fn file(options: &[&str], samples: Vec<Sample>) -> Vec<u8> {
    let written = Written::keeping(usize::MAX);
    write_to(&written, options, samples.into_iter()).unwrap();
    written.bytes()
}

/// A picture that is in a file.
pub(crate) fn range(bytes: &[u8]) -> WrittenPicture {
    let length = bytes.len() as u64;
    let mut file = b"before".to_vec();
    file.extend_from_slice(bytes);
    of(Payload::Range { file: Arc::new(file), offset: 6, length })
}

/// A picture that is in memory.
pub(crate) fn inline(bytes: &[u8]) -> WrittenPicture {
    of(Payload::Bytes(Arc::from(bytes)))
}

pub(crate) fn of(payload: Payload) -> WrittenPicture {
    let media_type = MediaType::Png;
    let name = Some("a.PNG".to_owned());
    WrittenPicture { name, role: None, media_type, width: 3, height: 2, payload }
}

/// A pair with these pictures.
pub(crate) fn sample(
    id: &str,
    source: WrittenPicture,
    references: Vec<WrittenPicture>,
    target: Option<WrittenPicture>,
    mask: Option<WrittenPicture>,
) -> Sample {
    let nothing = Picture::unprobed("a.PNG", Address::Inline(Vec::new()));
    let pair = EditPair::new(id.to_owned(), "toy".to_owned(), nothing);
    let key = diptych_format::key::key_of(id);
    Sample { pair, key, source, references, target, mask, change: None, row: 0 }
}

/// So many bytes that are others for each seed and are compressed by nothing.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> =
        std::iter::repeat_with(&mut next).take(length / 8 + 1).flatten().collect();
    bytes.truncate(length);
    bytes
}
