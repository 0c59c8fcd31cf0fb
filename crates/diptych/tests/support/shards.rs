//! Shards of WebDataset read by other code than ours, and held to what is promised of them.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::release::png_size;

/// A sample: the members of one key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) key: String,
    /// What follows the key and a dot in each member's name, and the member's bytes, in order.
    pub(crate) members: Vec<(String, Vec<u8>)>,
}

impl Sample {
    pub(crate) fn member(&self, part: &str) -> &[u8] {
        let found = self.members.iter().find(|(name, _)| name == part);
        &found.unwrap_or_else(|| panic!("{} has no {part}", self.key)).1
    }

    pub(crate) fn parts(&self) -> Vec<&str> {
        self.members.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The record as text.
    pub(crate) fn record_text(&self) -> &str {
        std::str::from_utf8(self.member("json")).unwrap()
    }

    pub(crate) fn record(&self) -> Value {
        serde_json::from_str(self.record_text()).unwrap()
    }
}

/// Every sample of an output, in the order of its shards.
pub(crate) fn samples(out: &Path) -> Vec<Sample> {
    shard_names(out).iter().flat_map(|name| shard(&out.join("data").join(name))).collect()
}

/// The names of an output's shards, in order.
pub(crate) fn shard_names(out: &Path) -> Vec<String> {
    let entries = fs::read_dir(out.join("data")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".tar")).collect();
    names.sort();
    names
}

/// The samples of a shard, whose headers and end are checked byte by byte.
fn shard(path: &Path) -> Vec<Sample> {
    let bytes = fs::read(path).unwrap();
    let mut samples: Vec<Sample> = Vec::new();
    let mut archive = tar::Archive::new(bytes.as_slice());
    let mut end = 0;
    let mut begins = Vec::new();
    for entry in archive.entries().unwrap().raw(true) {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        assert_eq!(entry.raw_header_position(), end, "{name} follows at once");
        let header = entry.header().clone();
        let begin = end;
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        assert_plain(&header, &name, data.len());
        end += 512 + (data.len() as u64).next_multiple_of(512);
        let (key, part) = name.split_once('.').unwrap();
        let part = (part.to_owned(), data);
        match samples.last_mut() {
            Some(sample) if sample.key == key => sample.members.push(part),
            _ => {
                begins.push(begin);
                samples.push(Sample { key: key.to_owned(), members: vec![part] });
            }
        }
    }
    begins.push(end);
    let offsets: Vec<u8> = begins.iter().flat_map(|offset: &u64| offset.to_le_bytes()).collect();
    let index = format!("{}.idx", path.display());
    assert!(fs::read(&index).unwrap() == offsets, "{index} has the samples' offsets and the end");
    let rest = &bytes[usize::try_from(end).unwrap()..];
    assert!(rest == [0; 1024], "{} ends with 1024 zeros and nothing else", path.display());
    assert!(!samples.is_empty(), "{} is empty", path.display());
    samples
}

/// Plain ustar: everything in its field, nothing of when or by whom.
fn assert_plain(header: &tar::Header, name: &str, length: usize) {
    let bytes = header.as_bytes();
    let mut name_field = [0; 100];
    name_field[..name.len()].copy_from_slice(name.as_bytes());
    assert_eq!(bytes[..100], name_field, "{name}");
    assert_eq!(&bytes[100..108], b"0000644\0", "mode of {name}");
    assert_eq!(&bytes[108..124], b"0000000\x000000000\0", "owner of {name}");
    assert_eq!(&bytes[124..136], format!("{length:011o}\0").as_bytes(), "size of {name}");
    assert_eq!(&bytes[136..148], b"00000000000\0", "time of {name}");
    let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
    let field: u32 = bytes[148..156].iter().map(|byte| u32::from(*byte)).sum();
    assert_eq!(header.cksum().unwrap(), sum - field + 8 * u32::from(b' '), "checksum of {name}");
    assert_eq!(bytes[156], b'0', "type of {name}");
    assert_eq!(bytes[157..257], [0; 100], "link of {name}");
    assert_eq!(&bytes[257..265], b"ustar\x0000", "magic of {name}");
    assert_eq!(bytes[265..329], [0; 64], "owner names of {name}");
    assert!(bytes[345..].iter().all(|byte| *byte == 0), "prefix of {name}");
}

/// What the record must say of a picture.
pub(crate) fn picture_record(part: &str, name: &str, bytes: &[u8]) -> Value {
    let (width, height) = png_size(bytes);
    serde_json::json!({"part": part, "name": name, "width": width, "height": height})
}
