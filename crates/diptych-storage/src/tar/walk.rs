//! From member to member.

use std::io;
use std::mem::take;

use super::defect::{DefectKind, Defects, kept_name};
use super::extension::Extension;
use super::header::{self, BLOCK, Block, Fields};
use super::window::Window;
use crate::limits::Limits;
use crate::read::ReadAt;

/// How many bytes of each body [`Member::head`] holds, where the body has as many: enough for the
/// header of most pictures, and with the tar header a whole number of blocks.
pub const HEAD_BYTES: usize = 1536;

/// Most that is read before a body, in bytes, because the member before had so much.
const LONGEST_LEAD: u64 = 8 << 10;

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemberKind {
    /// A file, whose bytes are its body.
    File,
    /// A symbolic or hard link. It has no body and is not followed.
    Link,
    /// A folder.
    Directory,
    /// A file with holes, whose body is not its bytes. It cannot be used.
    Sparse,
    /// A device, a volume label or what else there is.
    Other,
}

/// A member of an archive. Its body lies within the archive.
#[derive(Debug, Clone, Copy)]
pub struct Member<'w> {
    /// The name without leading `./`, and without the `/` at the end of a folder's. Bytes, since
    /// it need not be UTF-8; it may lead anywhere.
    pub name: &'w [u8],
    /// Position of the header block, in bytes from the start of the archive.
    pub header_offset: u64,
    /// Position of the body.
    pub offset: u64,
    /// Bytes of the body.
    pub length: u64,
    /// What it is.
    pub kind: MemberKind,
    /// The first [`HEAD_BYTES`] of the body, or all of a shorter one.
    pub head: &'w [u8],
}

/// Goes over an archive from header to header. Memory is bounded by
/// [`Limits::member_header_bytes`] and a window, whatever the archive claims.
pub struct Walk<'f> {
    window: Window<'f>,
    limits: Limits,
    /// Of the next header.
    position: u64,
    /// Bytes from the first extended header of the last member to its body.
    lead: u64,
    extension: Extension,
    name: Vec<u8>,
    members: usize,
    after_zeros: bool,
    /// Whether what stands before the next header was left out.
    after_gap: bool,
    /// Whether an extended header may be part of that.
    lost_extension: bool,
    done: bool,
    /// Bytes that were gone through to find a header.
    gaps: u64,
    defects: Defects,
}

struct Found {
    header_offset: u64,
    offset: u64,
    length: u64,
    kind: MemberKind,
}

impl<'f> Walk<'f> {
    /// Starts at the beginning of `file`.
    #[must_use]
    pub fn new(file: &'f dyn ReadAt, limits: &Limits) -> Self {
        Self {
            window: Window::new(file),
            limits: *limits,
            position: 0,
            lead: BLOCK as u64,
            extension: Extension::default(),
            name: Vec::new(),
            members: 0,
            after_zeros: false,
            after_gap: false,
            lost_extension: false,
            done: false,
            gaps: 0,
            defects: Defects::default(),
        }
    }

    /// Starts at the first header that can be believed: `file` is the rest of an archive whose
    /// beginning is missing. Blocks begin at `border`; where that is not known, or no header is
    /// found so, at whichever byte the first header is.
    ///
    /// # Errors
    /// Those of reading.
    pub fn of_rest(file: &'f dyn ReadAt, limits: &Limits, border: Option<u64>) -> io::Result<Self> {
        let mut walk = Self::new(file, limits);
        let at_border = border.map(|border| walk.next_header(border)).transpose()?.flatten();
        let resumed = match at_border {
            Some(at) => Some(at),
            None => walk.window.find_header(limits.gap_bytes)?,
        };
        walk.after_gap = true;
        walk.done = resumed.is_none();
        walk.position = resumed.unwrap_or_default();
        walk.defects.push(0, DefectKind::NoBeginning { resumed });
        Ok(walk)
    }

    /// The next member; `None` at the end, or where nothing more can be believed.
    ///
    /// # Errors
    /// Those of reading. Bad data is no error: see [`Walk::defects`].
    pub fn next_member(&mut self) -> io::Result<Option<Member<'_>>> {
        let found = loop {
            if self.done {
                return Ok(None);
            }
            if let Some(found) = self.step()? {
                break found;
            }
        };
        let Found { header_offset, offset, length, kind } = found;
        let count = usize::try_from(length).map_or(HEAD_BYTES, |length| length.min(HEAD_BYTES));
        let head = self.window.get(offset, count, count)?;
        Ok(Some(Member { name: &self.name, header_offset, offset, length, kind, head }))
    }

    /// What was found wrong so far; all of it once there is no next member.
    #[must_use]
    pub fn defects(&self) -> &Defects {
        &self.defects
    }

    /// The defects, to keep.
    #[must_use]
    pub fn into_defects(self) -> Defects {
        self.defects
    }

    /// Looks at the block at the position.
    fn step(&mut self) -> io::Result<Option<Found>> {
        let at = self.position;
        let lead = usize::try_from(self.lead).unwrap_or(BLOCK);
        let bytes = self.window.get(at, BLOCK, lead + HEAD_BYTES)?;
        let Some(block) = bytes.first_chunk::<BLOCK>() else {
            let (there, zeros) = (bytes.len(), bytes.iter().all(|byte| *byte == 0));
            self.end(at, there, zeros);
            return Ok(None);
        };
        match header::parse(block, &mut self.name) {
            Block::Zeros => self.skip_zeros(at)?,
            Block::Bad(_) if self.after_zeros => {
                self.defects.push(at, DefectKind::TrailingGarbage);
                self.done = true;
            }
            Block::Bad(why) => {
                self.lost_extension |= header::seems_extension(block);
                self.find_way(at, why)?;
            }
            Block::Header(fields) => {
                if take(&mut self.after_zeros) {
                    self.defects.push(at, DefectKind::Concatenated);
                }
                match fields.flag {
                    b'x' | b'X' | b'L' | b'K' | b'g' => self.extend(at, &fields)?,
                    _ => return self.member(at, &fields),
                }
            }
        }
        Ok(None)
    }

    /// Ends where less than a block is left.
    fn end(&mut self, at: u64, there: usize, zeros: bool) {
        self.done = true;
        self.orphan(None);
        let kind = match (zeros, self.after_zeros) {
            (true, true) => return,
            (true, false) => DefectKind::NoEndBlocks,
            (false, true) => DefectKind::TrailingGarbage,
            (false, false) => {
                DefectKind::Truncated { name: Box::default(), missing: (BLOCK - there) as u64 }
            }
        };
        self.defects.push(at.min(self.window.length()), kind);
    }

    /// Notes extended headers that no member follows.
    fn orphan(&mut self, resumed: Option<u64>) {
        if let Some(start) = take(&mut self.extension).start {
            let why = "no member follows the extended header";
            self.defects.push(start, DefectKind::BadHeader { why, resumed });
        }
    }

    fn skip_zeros(&mut self, at: u64) -> io::Result<()> {
        self.orphan(Some(at));
        self.after_zeros = true;
        // What is behind the end blocks is another archive, and complete.
        (self.after_gap, self.lost_extension) = (false, false);
        let mut at = at;
        loop {
            let stretch = self.window.stretch(at, BLOCK)?;
            let zeros = stretch.iter().position(|byte| *byte != 0).unwrap_or(stretch.len());
            let whole = zeros / BLOCK * BLOCK;
            at += whole as u64;
            if !self.may_go_on(at, whole) {
                return Ok(());
            }
            if whole == 0 {
                self.position = at;
                return Ok(());
            }
        }
    }

    /// Looks for the next header behind one that cannot be believed.
    fn find_way(&mut self, bad: u64, why: &'static str) -> io::Result<()> {
        self.extension = Extension::default();
        self.after_gap = true;
        let resumed = self.next_header(bad + BLOCK as u64)?;
        self.defects.push(bad, DefectKind::BadHeader { why, resumed });
        self.done = resumed.is_none();
        self.position = resumed.unwrap_or(self.position);
        Ok(())
    }

    /// The position of the next header, where blocks begin at `at`.
    fn next_header(&mut self, mut at: u64) -> io::Result<Option<u64>> {
        loop {
            let (blocks, _) = self.window.stretch(at, BLOCK)?.as_chunks::<BLOCK>();
            if blocks.is_empty() {
                return Ok(None);
            }
            let before = blocks.iter().take_while(|block| !header::is_ustar(block)).count();
            let is_found = before < blocks.len();
            at += (before * BLOCK) as u64;
            if !self.may_go_on(at, before * BLOCK) {
                return Ok(None);
            }
            if is_found {
                return Ok(Some(at));
            }
        }
    }

    /// Whether so many further bytes may be gone through to find a header, up to `at`.
    fn may_go_on(&mut self, at: u64, bytes: usize) -> bool {
        let limit = self.limits.gap_bytes;
        self.gaps = self.gaps.saturating_add(bytes as u64);
        if self.gaps > limit {
            self.done = true;
            self.defects.push(at, DefectKind::Limit { what: "bytes without a header", limit });
        }
        self.gaps <= limit
    }

    /// Takes an extended header.
    fn extend(&mut self, at: u64, fields: &Fields) -> io::Result<()> {
        if !self.step_over(at, fields.size, false) {
            return Ok(());
        }
        // What holds for all members (`g`) could only give all of them one name or size.
        if fields.flag == b'g' {
            return Ok(());
        }
        self.extension.start.get_or_insert(at);
        // Where a link leads is not asked.
        if fields.flag == b'K' {
            return Ok(());
        }
        let limit = self.limits.member_header_bytes;
        let Some(count) = usize::try_from(fields.size).ok().filter(|size| *size <= limit) else {
            self.extension.bad = Some("its extended header is too long");
            self.over_limit(at, "bytes of an extended header", limit);
            return Ok(());
        };
        let bytes = self.window.get(at + BLOCK as u64, count, count + BLOCK + HEAD_BYTES)?;
        match fields.flag {
            b'L' => self.extension.long_name(bytes),
            _ => self.extension.records(bytes),
        }
        Ok(())
    }

    /// Takes a member's header.
    fn member(&mut self, at: u64, fields: &Fields) -> io::Result<Option<Found>> {
        let extension = take(&mut self.extension);
        let gap = take(&mut self.after_gap);
        let lost = take(&mut self.lost_extension)
            || gap && extension.name.is_none() && fields.name_is_full;
        let conflict = extension.name.as_ref().zip(extension.other_name.as_ref());
        if let Some(name) = extension.sparse_name.as_ref().or(extension.name.as_ref()) {
            self.name.clone_from(name);
        }
        let nameless = self.name.is_empty();
        // Before ustar a folder was a file whose name ends so. That of the header may be cut there.
        let is_old_folder = fields.flag == 0 && self.name.ends_with(b"/");
        let flag = if is_old_folder { b'5' } else { fields.flag };
        tidy(&mut self.name, flag == b'5');

        let kind = match flag {
            _ if extension.sparse => MemberKind::Sparse,
            0 | b'0' | b'7' => MemberKind::File,
            b'1' | b'2' => MemberKind::Link,
            b'5' => MemberKind::Directory,
            b'S' => MemberKind::Sparse,
            _ => MemberKind::Other,
        };
        let length = if header::has_body(flag) { extension.size.unwrap_or(fields.size) } else { 0 };
        let map = if fields.map_goes_on { self.map_bytes(at)? } else { 0 };
        let length = length.saturating_add(map);
        if !self.step_over(at, length, true) {
            return Ok(None);
        }

        let offset = at + BLOCK as u64;
        let first = extension.start.unwrap_or(at);
        self.lead = (offset - first).min(LONGEST_LEAD);
        self.window.note_distance(self.position - first);

        let why = match extension.bad {
            Some(why) => Some(why),
            None if nameless => Some("it has no name"),
            None if self.name.contains(&0) => Some("there is a NUL in its name"),
            None if lost => Some("its extended header may be lost"),
            None => None,
        };
        if let Some(why) = why {
            let resumed = Some(self.position);
            self.defects.push(at, DefectKind::BadHeader { why, resumed });
            return Ok(None);
        }
        if let Some((first, second)) = conflict {
            let (first, second) = (kept_name(first), kept_name(second));
            self.defects.push(at, DefectKind::ConflictingNames { first, second });
            return Ok(None);
        }
        if self.name.len() > self.limits.member_name_bytes {
            self.over_limit(at, "bytes of a member's name", self.limits.member_name_bytes);
            return Ok(None);
        }
        if self.members >= self.limits.members {
            self.done = true;
            self.over_limit(at, "members", self.limits.members);
            return Ok(None);
        }
        self.members += 1;
        Ok(Some(Found { header_offset: at, offset, length, kind }))
    }

    /// Moves the position behind the body of the header at `at`, and tells whether it is all
    /// there.
    fn step_over(&mut self, at: u64, length: u64, named: bool) -> bool {
        let start = at + BLOCK as u64;
        let end = start.saturating_add(length);
        let missing = end.saturating_sub(self.window.length());
        if missing > 0 {
            let name = if named { kept_name(&self.name) } else { Box::default() };
            self.defects.push(at, DefectKind::Truncated { name, missing });
            self.done = true;
            return false;
        }
        // The end lies in the file, and files are shorter than `u64::MAX` by far; if one is not,
        // then nothing follows.
        let whole = length.checked_next_multiple_of(BLOCK as u64);
        self.position = whole.map_or(end, |whole| start.saturating_add(whole));
        true
    }

    /// Bytes of the further blocks that the map of a GNU sparse member takes.
    fn map_bytes(&mut self, at: u64) -> io::Result<u64> {
        let mut bytes = 0;
        loop {
            let start = at + BLOCK as u64 + bytes;
            bytes += BLOCK as u64;
            let block = self.window.get(start, BLOCK, BLOCK)?;
            if block.get(504).is_none_or(|goes_on| *goes_on == 0) {
                return Ok(bytes);
            }
        }
    }

    fn over_limit(&mut self, at: u64, what: &'static str, limit: usize) {
        self.defects.push(at, DefectKind::Limit { what, limit: limit as u64 });
    }
}

/// Drops leading `./`, and the `/` at the end of a folder's name.
fn tidy(name: &mut Vec<u8>, is_folder: bool) {
    let mut skip = 0;
    while name.get(skip..).is_some_and(|rest| rest.starts_with(b"./")) {
        skip += 2;
    }
    name.drain(..skip);
    while is_folder && name.len() > 1 && name.ends_with(b"/") {
        name.pop();
    }
    if skip > 0 && name.is_empty() {
        name.push(b'.');
    }
}
