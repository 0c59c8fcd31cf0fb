//! Members by name.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;

use super::defect::{DefectKind, Defects, kept_name};
use super::header::BLOCK;
use super::walk::{Member, MemberKind, Walk};
use crate::limits::Limits;
use crate::read::ReadAt;

/// Bytes for the names of one archive: more than the headers of [`Limits::members`] members can
/// hold by themselves, so that only an archive made for it needs more.
const NAMES: usize = 1 << 30;

/// What a tar holds, to look names up in: some forty bytes, the name and a note of the caller's
/// for each member.
pub struct TarIndex<N> {
    names: Vec<u8>,
    slots: Vec<Slot<N>>,
    table: Table,
    repeated: usize,
    defects: Defects,
}

/// A member of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'i, N> {
    /// The name, as in [`Member::name`].
    pub name: &'i [u8],
    /// Position of the header block, in bytes from the start of the archive.
    pub header_offset: u64,
    /// Position of the body.
    pub offset: u64,
    /// Bytes of the body.
    pub length: u64,
    /// What it is.
    pub kind: MemberKind,
    /// What the caller noted.
    pub note: N,
}

struct Slot<N> {
    offset: u64,
    length: u64,
    name_start: u32,
    name_length: u16,
    kind: MemberKind,
    /// Whether a later member has the name.
    is_replaced: bool,
    note: N,
}

impl<N: Copy> TarIndex<N> {
    /// Goes over the archive once. `classify` sees each member as it comes and gives the note to
    /// keep with it; it may read more of the file itself.
    ///
    /// # Errors
    /// Those of reading, and those of `classify`. Bad data is no error: see
    /// [`TarIndex::defects`].
    pub fn build(
        file: &dyn ReadAt,
        limits: &Limits,
        classify: &mut dyn FnMut(&Member<'_>) -> io::Result<N>,
    ) -> io::Result<Self> {
        Self::of(Walk::new(file, &Self::bounded(limits)), classify)
    }

    /// The same for the rest of an archive whose beginning is missing: see [`Walk::of_rest`].
    ///
    /// # Errors
    /// As [`TarIndex::build`].
    pub fn build_rest(
        file: &dyn ReadAt,
        limits: &Limits,
        border: Option<u64>,
        classify: &mut dyn FnMut(&Member<'_>) -> io::Result<N>,
    ) -> io::Result<Self> {
        Self::of(Walk::of_rest(file, &Self::bounded(limits), border)?, classify)
    }

    /// The lengths of names are kept in sixteen bits.
    fn bounded(limits: &Limits) -> Limits {
        let longest = limits.member_name_bytes.min(usize::from(u16::MAX));
        Limits { member_name_bytes: longest, ..*limits }
    }

    fn of(
        mut walk: Walk<'_>,
        classify: &mut dyn FnMut(&Member<'_>) -> io::Result<N>,
    ) -> io::Result<Self> {
        let mut names = Vec::new();
        let mut slots = Vec::new();
        let mut too_much = None;
        while let Some(member) = walk.next_member()? {
            let (Ok(name_start), Ok(name_length), true) = (
                u32::try_from(names.len()),
                u16::try_from(member.name.len()),
                names.len() + member.name.len() <= NAMES,
            ) else {
                too_much = Some(member.header_offset);
                break;
            };
            let Member { offset, length, kind, .. } = member;
            let note = classify(&member)?;
            names.extend_from_slice(member.name);
            let is_replaced = false;
            slots.push(Slot { offset, length, name_start, name_length, kind, is_replaced, note });
        }
        let mut defects = walk.into_defects();
        if let Some(at) = too_much {
            let (what, limit) = ("bytes of the names of all members", NAMES as u64);
            defects.push(at, DefectKind::Limit { what, limit });
        }
        names.shrink_to_fit();
        slots.shrink_to_fit();
        let table = Table::new(slots.len());
        let mut index = Self { names, slots, table, repeated: 0, defects };
        index.fill_table();
        Ok(index)
    }

    /// Enters the members by name. Of those with one name the last counts.
    fn fill_table(&mut self) {
        let Self { names, slots, table, repeated, defects } = self;
        let mut number = 0;
        while let Some(slot) = slots.get(number) {
            let name = slot.name(names);
            let is_it = |other: usize| slots.get(other).is_some_and(|o| o.name(names) == name);
            if let Some(earlier) = table.enter(name, number, is_it) {
                *repeated += 1;
                // A folder is put before its files again by whoever adds to an archive.
                let (at, kind) = (slot.header_offset(), slot.kind);
                let name = kept_name(name);
                if let Some(earlier) = slots.get_mut(earlier) {
                    earlier.is_replaced = true;
                    let first = earlier.header_offset();
                    if [earlier.kind, kind] != [MemberKind::Directory; 2] {
                        defects.push(at, DefectKind::Repeated { name, first });
                    }
                }
            }
            number += 1;
        }
    }

    /// The member of that name; of several the last.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<Entry<'_, N>> {
        let is_it =
            |other: usize| self.slots.get(other).is_some_and(|o| o.name(&self.names) == name);
        let number = self.table.find(name, is_it)?;
        self.slots.get(number).map(|slot| self.entry(slot))
    }

    /// The members in the order of the archive, one of each name.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_, N>> {
        self.slots.iter().filter(|slot| !slot.is_replaced).map(|slot| self.entry(slot))
    }

    /// All members in the order of the archive, also those whose name a later one has.
    pub fn all(&self) -> impl ExactSizeIterator<Item = Entry<'_, N>> {
        self.slots.iter().map(|slot| self.entry(slot))
    }

    /// The member at a place of [`TarIndex::all`].
    #[must_use]
    pub fn at(&self, place: usize) -> Option<Entry<'_, N>> {
        self.slots.get(place).map(|slot| self.entry(slot))
    }

    /// How many members there are, those of one name counted once.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.repeated
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// What is wrong with the archive.
    #[must_use]
    pub fn defects(&self) -> &[super::Defect] {
        self.defects.list()
    }

    /// How many more defects there are than [`TarIndex::defects`] lists.
    #[must_use]
    pub fn dropped_defects(&self) -> u64 {
        self.defects.dropped()
    }

    /// Whether a name that is not found may be missing because the archive is damaged.
    #[must_use]
    pub fn may_lack_members(&self) -> bool {
        self.defects.hide_members()
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.names.capacity()
            + self.slots.capacity() * size_of::<Slot<N>>()
            + self.table.cells.capacity() * size_of::<u32>()
            + self.defects.memory_bytes()
    }

    fn entry(&self, slot: &Slot<N>) -> Entry<'_, N> {
        Entry {
            name: slot.name(&self.names),
            header_offset: slot.header_offset(),
            offset: slot.offset,
            length: slot.length,
            kind: slot.kind,
            note: slot.note,
        }
    }
}

impl<N> Slot<N> {
    fn name<'n>(&self, names: &'n [u8]) -> &'n [u8] {
        let start = self.name_start as usize;
        names.get(start..start + usize::from(self.name_length)).unwrap_or_default()
    }

    /// The header is the block before the body.
    fn header_offset(&self) -> u64 {
        self.offset.saturating_sub(BLOCK as u64)
    }
}

/// Numbers of members by the hash of their names: open addressing, four bytes a cell. The hash is
/// keyed, since names are chosen by others.
struct Table {
    /// A number plus one; 0 is free.
    cells: Vec<u32>,
    hasher: RandomState,
}

impl Table {
    /// Room for `count` numbers.
    fn new(count: usize) -> Self {
        // A third stays free, so that searches are short.
        let cells = (count + count / 2).next_power_of_two();
        Self { cells: vec![0; cells], hasher: RandomState::new() }
    }

    /// The cells to look at for `name`.
    fn places(&self, name: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let mask = self.cells.len() - 1;
        // The low bits are as good as any others.
        let first = usize::try_from(self.hasher.hash_one(name) & mask as u64).unwrap_or(0);
        (0..self.cells.len()).map(move |step| (first + step) & mask)
    }

    fn find(&self, name: &[u8], is_it: impl Fn(usize) -> bool) -> Option<usize> {
        self.places(name)
            .map_while(|place| self.cells.get(place).and_then(|cell| cell.checked_sub(1)))
            .map(|number| number as usize)
            .find(|number| is_it(*number))
    }

    /// Enters `number`, and gives the number of the same name whose place it takes.
    fn enter(
        &mut self,
        name: &[u8],
        number: usize,
        is_it: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mark = u32::try_from(number + 1).unwrap_or(0);
        for place in self.places(name) {
            let Some(cell) = self.cells.get_mut(place) else {
                break;
            };
            let earlier = cell.checked_sub(1).map(|number| number as usize);
            if earlier.is_none_or(&is_it) {
                *cell = mark;
                return earlier;
            }
        }
        None
    }
}
