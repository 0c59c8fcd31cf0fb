//! Archives made by hand, header by header.

use tar::{EntryType, Header};

/// An archive in the making.
#[derive(Default, Clone)]
pub(crate) struct Tar(pub(crate) Vec<u8>);

impl Tar {
    /// Adds a header as it is, the body that follows it, and what fills the last block.
    pub(crate) fn entry(mut self, header: &Header, body: &[u8]) -> Self {
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(body);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// Adds a file.
    pub(crate) fn file(self, name: &str, body: &[u8]) -> Self {
        self.entry(&header(name.as_bytes(), b'0', body.len() as u64), body)
    }

    /// Adds a PAX header: `x` for the next member, `g` for all.
    pub(crate) fn pax(self, flag: u8, records: &[(&str, &[u8])]) -> Self {
        let mut body = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let digits =
                (1..).find(|digits| (rest + digits).to_string().len() == *digits).unwrap_or(0);
            body.extend(format!("{} {key}=", rest + digits).into_bytes());
            body.extend_from_slice(value);
            body.push(b'\n');
        }
        self.entry(&header(b"PaxHeaders/x", flag, body.len() as u64), &body)
    }

    /// Adds a GNU long name (`L`) or long link (`K`).
    pub(crate) fn long(self, flag: u8, name: &str) -> Self {
        let body = [name.as_bytes(), b"\0"].concat();
        let header = header(b"././@LongLink", flag, body.len() as u64);
        self.entry(&header, &body)
    }

    /// Adds the two blocks at the end.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }

    /// The length so far.
    pub(crate) fn at(&self) -> u64 {
        self.0.len() as u64
    }
}

/// A ustar header with a right checksum.
pub(crate) fn header(name: &[u8], flag: u8, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(EntryType::new(flag));
    header.set_mode(0o644);
    header.set_size(size);
    header.set_cksum();
    header
}
