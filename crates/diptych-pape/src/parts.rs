//! How complete a copy is, and the counts of the whole release.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use diptych_format::foreign::split_of;
use diptych_format::{Facet, FormatError, Notice, Part, Published, Stated};
use diptych_schema::Split;
use diptych_storage::rows::RowEvent;
use diptych_storage::text::printable;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::layout::{Editor, Side};
use crate::overlap::iou;
use crate::pair::{Called, files};
use crate::reader::PapeReader;
use crate::wire;

/// Rows of each subset, as the release's card counts them in the order of the subsets: it calls
/// them pairs. A row is two edits.
const ROWS: [(&str, u64); 3] = [("COCO", 14_668), ("ImageNet", 18_488), ("Places", 14_591)];

/// Pairs of each subset.
pub(crate) const PUBLISHED: &[Published] = &[
    Published { facet: Facet::Subset, value: "COCO", pairs: 2 * 14_668 },
    Published { facet: Facet::Subset, value: "ImageNet", pairs: 2 * 18_488 },
    Published { facet: Facet::Subset, value: "Places", pairs: 2 * 14_591 },
];

/// Images in each split of a subset, as the release's card counts them.
const IMAGES: [(&str, Split, u64); 5] = [
    ("COCO", Split::Train, 1_600),
    ("COCO", Split::Val, 200),
    ("COCO", Split::Test, 200),
    ("ImageNet", Split::Test, 2_500),
    ("Places", Split::Test, 2_000),
];

/// The least overlap of the two masks of a row, as the release's card promises it.
const LEAST_IOU: f64 = 0.5;

/// How far the overlap that a row states may be from that of its masks.
const TOLERANCE: f64 = 0.01;

/// Rows or pictures that are named; of others it is told how many they are.
const NAMED: usize = 10;

/// Some of a kind: how many, and what the first are called.
#[derive(Default)]
struct Few {
    count: u64,
    named: Vec<String>,
}

impl Few {
    fn add(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(name());
        }
    }

    /// Their names; `None` where there is nothing of the kind.
    fn told(&self) -> Option<String> {
        let more = self.count.saturating_sub(self.named.len() as u64);
        let more = (more > 0).then(|| format!("and {more} more"));
        let names: Vec<_> = self.named.iter().cloned().chain(more).collect();
        (self.count > 0).then(|| names.join(", "))
    }
}

/// A subset and a split, as the split file calls them.
type Place = (Option<String>, String);

/// What the rows of a manifest ask for and say.
#[derive(Default)]
struct Found {
    /// Pictures that there should be.
    asked: u64,
    missing: Few,
    /// Rows of two masks that can be compared.
    compared: u64,
    /// Those whose masks have less in common than was promised.
    low: Few,
    /// Rows that state another overlap than their masks have.
    other: Few,
    /// Rows whose masks cannot be compared.
    unread: Few,
    /// What stands for the images in each split.
    images: BTreeMap<Place, HashSet<[u8; 16]>>,
}

/// The lines that tell how complete a copy is. Masks are decoded for it.
pub(crate) fn parts(reader: &PapeReader) -> Result<Vec<Part>, FormatError> {
    let found = reader.editors.par_iter().map(|editor| survey(reader, editor));
    let found: Vec<_> = found.collect::<Result<_, _>>()?;
    let mut parts = rows(reader);
    parts.extend(images(reader, &found));
    let sum = |of: fn(&Found) -> u64| found.iter().map(of).sum::<u64>();
    let (asked, missing) = (sum(|of| of.asked), sum(|of| of.missing.count));
    parts.push(Part {
        name: "pictures that rows have".to_owned(),
        here: asked - missing,
        stated: Some(Stated { count: asked, by: "the manifests".to_owned() }),
        published: None,
        missing: together(&found, |of| &of.missing),
    });
    let (compared, low) = (sum(|of| of.compared), sum(|of| of.low.count));
    parts.push(Part {
        name: format!("rows whose two masks overlap by {LEAST_IOU} or more"),
        here: compared - low,
        stated: Some(Stated { count: compared, by: "what the card promises".to_owned() }),
        published: None,
        missing: together(&found, |of| &of.low),
    });
    Ok(parts)
}

/// What all manifests have of a kind, in one line.
fn together(found: &[Found], of: fn(&Found) -> &Few) -> Option<String> {
    let mut all = Few::default();
    for of in found.iter().map(of) {
        all.count += of.count;
        let left = NAMED - all.named.len();
        all.named.extend(of.named.iter().take(left).cloned());
    }
    all.told()
}

/// Rows of each subset and of each manifest.
fn rows(reader: &PapeReader) -> Vec<Part> {
    let part = |name: &str, here, published| {
        let (stated, missing) = (None, None);
        let name = format!("rows of {}", printable(name.as_bytes()));
        Part { name, here, stated, published, missing }
    };
    let all = || (0..).zip(&reader.editors).map(|(of, editor)| (editor, reader.rows_of(of)));
    let of_subset = |subset: &str| {
        let is_of = |editor: &Editor| editor.subset.as_deref() == Some(subset);
        all().filter(|(editor, _)| is_of(editor)).map(|(_, rows)| rows).sum()
    };
    let known = ROWS.iter().filter(|_| holds_some_of_pape(reader));
    let known = known.map(|(subset, rows)| part(subset, of_subset(subset), Some(*rows)));
    let names: BTreeSet<_> =
        reader.editors.iter().filter_map(|editor| editor.subset.as_deref()).collect();
    let others = names.iter().filter(|name| ROWS.iter().all(|(known, _)| known != *name));
    let others = others.map(|name| part(name, of_subset(name), None));
    known.chain(others).chain(all().map(|(of, rows)| part(of.name(), rows, None))).collect()
}

/// Whether any of the subsets is one that was published: else this is something else in the same
/// layout.
fn holds_some_of_pape(reader: &PapeReader) -> bool {
    let is_known = |name: &str| ROWS.iter().any(|(known, _)| *known == name);
    reader.editors.iter().filter_map(|editor| editor.subset.as_deref()).any(is_known)
}

/// Images in each split of each subset.
fn images(reader: &PapeReader, found: &[Found]) -> Vec<Part> {
    let mut here: BTreeMap<Place, HashSet<[u8; 16]>> = BTreeMap::new();
    for (place, images) in found.iter().flat_map(|of| &of.images) {
        here.entry(place.clone()).or_default().extend(images);
    }
    let stated = reader.splits.counts();
    let published = |subset: &Option<String>, word: &str| {
        let split = split_of(word);
        let is_it =
            |of: &&(&str, Split, u64)| subset.as_deref() == Some(of.0) && split == Some(of.1);
        IMAGES.iter().find(is_it).map(|(.., images)| *images)
    };
    let mut places: Vec<Place> = IMAGES
        .iter()
        .filter(|_| holds_some_of_pape(reader))
        .map(|(subset, split, _)| (Some((*subset).to_owned()), split.word().to_owned()))
        .collect();
    let others =
        stated.keys().map(|(subset, word)| (subset.map(str::to_owned), (*word).to_owned()));
    for place in others {
        // The file may call a published split otherwise.
        let same = |of: &Place| {
            let is_split = of.1 == place.1
                || split_of(&of.1).is_some_and(|split| split_of(&place.1) == Some(split));
            of.0 == place.0 && is_split
        };
        match places.iter_mut().find(|of| same(of)) {
            Some(of) => *of = place,
            None => places.push(place),
        }
    }
    let by = reader.splits.file();
    let part = |place: Place| {
        let (subset, word) = &place;
        let of = subset.as_ref().map(|subset| format!(" of {}", printable(subset.as_bytes())));
        let of = of.unwrap_or_default();
        let stated = stated.get(&(subset.as_deref(), word.as_str()));
        Part {
            name: format!("images{of} in {}", printable(word.as_bytes())),
            here: here.get(&place).map_or(0, |images| images.len() as u64),
            stated: stated.map(|count| Stated { count: *count, by: by.to_owned() }),
            published: published(subset, word),
            missing: None,
        }
    };
    places.into_iter().map(part).collect()
}

/// Goes through a manifest once more.
fn survey(reader: &PapeReader, editor: &Editor) -> Result<Found, FormatError> {
    let mut found = Found::default();
    let mut rows = reader.open_rows(editor)?;
    while let Some(event) = reader.next_row(editor, &mut rows)? {
        let RowEvent::Row(row) = event else { continue };
        let (line, text) = (row.number + 1, std::str::from_utf8(row.bytes).unwrap_or_default());
        let Ok(row) = wire::parse(row.bytes) else { continue };
        let called = Called::new(editor, &row, text, None);
        found.see(reader, &called, line)?;
    }
    for (kind, some, what) in [
        ("mask_iou_differs", &found.other, "mask_iou is not the overlap of the masks"),
        ("unread_masks", &found.unread, "the masks cannot be compared"),
    ] {
        reader.notice(some.told().map(|told| Notice {
            kind: kind.to_owned(),
            at: reader.place(editor),
            detail: format!("in {} of its rows {what}: {told}", some.count),
        }));
    }
    Ok(found)
}

impl Found {
    fn see(
        &mut self,
        reader: &PapeReader,
        called: &Called<'_>,
        line: u64,
    ) -> Result<(), FormatError> {
        let sides = Side::BOTH.map(|side| (side, files(called, side, &reader.pictures)));
        for (side, files) in &sides {
            for (role, file) in files.iter().flat_map(|files| files.all(*side)) {
                self.asked += 1;
                if file.is_none() {
                    self.missing.add(|| {
                        format!("{} line {line} ({})", called.editor.name(), role.folder())
                    });
                }
            }
        }
        if let Some(said) = called.said(&reader.splits) {
            let place = (said.subset.map(str::to_owned), said.split.to_owned());
            let digest = Sha256::digest(said.id);
            self.images.entry(place).or_default().extend(digest.first_chunk());
        }
        let masks = sides.map(|(_, files)| files.and_then(|files| files.mask));
        // What other datasets have in one row was not made to overlap.
        if let ([Some(normal), Some(abnormal)], None) = (masks, &called.row.extra) {
            self.compare(reader, called, line, (normal, abnormal))?;
        }
        Ok(())
    }

    /// Compares the masks of a row.
    fn compare(
        &mut self,
        reader: &PapeReader,
        called: &Called<'_>,
        line: u64,
        (normal, abnormal): (u32, u32),
    ) -> Result<(), FormatError> {
        let found = match iou(&reader.pictures, normal, abnormal, &reader.limits)? {
            Ok(found) => found,
            Err(why) => {
                self.unread.add(|| format!("line {line} ({})", printable(why.as_bytes())));
                return Ok(());
            }
        };
        self.compared += 1;
        if found < LEAST_IOU {
            self.low.add(|| format!("{} line {line} ({found:.4})", called.editor.name()));
        }
        let stated = called.row.mask_iou;
        if let Some(stated) = stated.filter(|of| (of - found).abs() > TOLERANCE) {
            self.other.add(|| format!("line {line} ({found:.4}, not {stated:.4})"));
        }
        Ok(())
    }
}
