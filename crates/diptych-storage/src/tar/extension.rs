//! Extended headers: what they say of the member behind them.

use super::header::until_nul;

/// What the extended headers since the last member say. All of them are about the next member,
/// in whatever order they come: a PAX header before a GNU long name is not about the long name.
#[derive(Default)]
pub(super) struct Extension {
    /// Position of the first extended header; `None` where there is none.
    pub(super) start: Option<u64>,
    /// The name.
    pub(super) name: Option<Vec<u8>>,
    /// A name that is given too and is another.
    pub(super) other_name: Option<Vec<u8>>,
    /// The name of a sparse member, which replaces the name that stands for readers that do not
    /// know of them.
    pub(super) sparse_name: Option<Vec<u8>>,
    /// Bytes of the body.
    pub(super) size: Option<u64>,
    /// Whether the member is sparse.
    pub(super) sparse: bool,
    /// Why the member cannot be believed.
    pub(super) bad: Option<&'static str>,
}

impl Extension {
    /// Takes a GNU long name.
    pub(super) fn long_name(&mut self, body: &[u8]) {
        self.give_name(until_nul(body));
    }

    /// Takes the records of a PAX header. They are read by their stated lengths: a value may hold
    /// line breaks, at which the `tar` crate would split it.
    pub(super) fn records(&mut self, mut body: &[u8]) {
        // Zeros may fill the rest.
        while let Some(1..) = body.first() {
            let Some((key, value, rest)) = record(body) else {
                self.bad = Some("its extended header is malformed");
                return;
            };
            body = rest;
            match key {
                // An empty value takes a record back.
                b"path" if !value.is_empty() => self.give_name(value),
                b"size" if !value.is_empty() => self.give_size(value),
                b"GNU.sparse.name" => {
                    self.sparse = true;
                    self.sparse_name = Some(value.to_vec());
                }
                _ => self.sparse |= key.starts_with(b"GNU.sparse."),
            }
        }
    }

    /// Readers do not agree on which of several names counts.
    fn give_name(&mut self, name: &[u8]) {
        match &self.name {
            None => self.name = Some(name.to_vec()),
            Some(first) if first == name => {}
            Some(_) => self.other_name = Some(name.to_vec()),
        }
    }

    fn give_size(&mut self, digits: &[u8]) {
        match decimal(digits).filter(|size| i64::try_from(*size).is_ok()) {
            None => self.bad = Some("the size in its extended header is no number of bytes"),
            Some(size) if self.size.is_some_and(|first| first != size) => {
                self.bad = Some("its extended headers give it two sizes");
            }
            Some(size) => self.size = Some(size),
        }
    }
}

/// The first record, `LENGTH KEY=VALUE\n`, and what follows it.
fn record(body: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = body.iter().take(21).position(|byte| *byte == b' ')?;
    let length = usize::try_from(decimal(body.get(..space)?)?).ok()?;
    let (record, rest) = body.split_at_checked(length)?;
    let (b'\n', pair) = record.get(space + 1..)?.split_last()? else {
        return None;
    };
    let equals = pair.iter().position(|byte| *byte == b'=')?;
    let (key, value) = pair.split_at_checked(equals)?;
    Some((key, value.get(1..)?, rest))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, byte| match byte {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}
