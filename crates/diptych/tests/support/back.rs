//! What went into an output and what comes back from it, held against each other but for what the
//! format declares ([`Altered`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use diptych::catalog::Catalog;
use diptych::format::options::Assignment;
use diptych::format::{About, Altered, Format, Options, Used, Writer};
use diptych::pictures::Pictures;
use diptych::schema::{Address, EditPair, Edited, Grid, Mask, MaskPart, MediaType, Picture, Split};
use diptych::storage::Limits;
use diptych_pixels::mask::Part;
use diptych_pixels::{Bits, DecodeLimits};
use serde_json::Value;

use super::again::{catalog, pairs_of};

pub(crate) fn writer(format: &dyn Format) -> Box<dyn Writer> {
    let About { name, options, .. } = format.about();
    format.open_writer(&Options::new(name, options, &[], Used::Writing).unwrap()).unwrap()
}

/// What a release holds, and its pictures.
pub(crate) struct Held {
    pub(crate) pairs: Vec<EditPair>,
    pub(crate) pictures: Pictures,
}

impl Held {
    pub(crate) fn read(path: &Path, options: &[Assignment]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::of(&catalog(path, options, &dir.path().join("catalog")))
    }

    pub(crate) fn of(catalog: &Catalog) -> Self {
        let pictures = Pictures::of(catalog, &[], Limits::DEFAULT).unwrap();
        Self { pairs: pairs_of(catalog), pictures }
    }

    pub(crate) fn bytes(&self, picture: &Picture) -> Arc<[u8]> {
        self.pictures.bytes(&picture.address).unwrap()
    }

    /// The pixels of a mask.
    pub(crate) fn bits(&self, mask: &Mask) -> Bits {
        let held: Vec<_> = mask
            .parts
            .iter()
            .map(|part| match part {
                MaskPart::Picture(picture) => Some(self.bytes(picture)),
                MaskPart::RunLength { .. } => None,
            })
            .collect();
        let parts: Vec<_> = mask
            .parts
            .iter()
            .zip(&held)
            .map(|(part, bytes)| match (part, bytes) {
                (MaskPart::RunLength { counts, width, height }, _) => {
                    Part::RunLength { counts: counts.as_bytes(), size: (*width, *height) }
                }
                (_, bytes) => Part::Picture(bytes.as_ref().unwrap()),
            })
            .collect();
        let limits = DecodeLimits { pixels: 1 << 24, bytes: 1 << 24 };
        Bits::from_parts(&parts, mask.edited, limits).unwrap()
    }
}

/// What a format makes of pairs, by its own word.
pub(crate) struct Destination {
    pub(crate) about: &'static About,
    pub(crate) writer: Box<dyn Writer>,
    pub(crate) alters: BTreeSet<Altered>,
}

impl Destination {
    pub(crate) fn new(format: &'static dyn Format) -> Self {
        let about = format.about();
        let alters = about.alters.iter().map(|alteration| alteration.of).collect();
        Self { about, writer: writer(format), alters }
    }

    pub(crate) fn alters(&self, what: Altered) -> bool {
        self.alters.contains(&what)
    }

    /// Whether a mask is written in the one form.
    pub(crate) fn makes(&self, pair: &EditPair, mask: &Mask) -> bool {
        self.alters(Altered::MaskForm) && !self.writer.keeps_mask(pair, mask)
    }

    /// The grid that a mask is written on, where it is another than its own.
    pub(crate) fn grid(&self, pair: &EditPair, mask: &Mask) -> Option<(u32, u32)> {
        let brings = self.alters(Altered::MaskGrid) && self.makes(pair, mask);
        pair.source.size().filter(|_| brings)
    }

    /// What is expected to come back of the pairs.
    pub(crate) fn expected(&self, held: &Held) -> BTreeMap<String, EditPair> {
        let mut strictest: BTreeMap<_, Option<Split>> = BTreeMap::new();
        for pair in &held.pairs {
            let split = strictest.entry(image(held, pair)).or_default();
            *split = (*split).max(pair.split);
        }
        let pairs = held.pairs.iter().map(|was| {
            let mut pair = was.clone();
            if let Some(mask) = was.mask.as_ref().filter(|mask| self.makes(was, mask)) {
                pair.mask = Some(made(mask, self.grid(was, mask)));
            }
            let mut expected = without_addresses(pair);
            if self.alters(Altered::RegionPicture) {
                for region in &mut expected.regions {
                    region.mask.take_if(|mask| matches!(mask, MaskPart::Picture(_)));
                }
            }
            if self.alters(Altered::Split) {
                expected.split = strictest[&image(held, was)];
            }
            if self.alters(Altered::NativeSplit) && was.dataset == self.about.name {
                forget_split(&mut expected);
            }
            (was.pair_id.clone(), expected)
        });
        pairs.collect()
    }

    /// The ids of pairs in the order in which they come back; none where that is the layout's own.
    pub(crate) fn order<'a>(&self, pairs: &'a [EditPair]) -> Vec<&'a str> {
        if self.alters(Altered::Order) {
            return Vec::new();
        }
        let mut pairs: Vec<_> = pairs.iter().collect();
        if self.writer.divides_splits() {
            pairs.sort_by_key(|pair| pair.split.unwrap_or(Split::Train));
        }
        pairs.into_iter().map(|pair| pair.pair_id.as_str()).collect()
    }

    /// What came back, as far as it can be expected.
    pub(crate) fn found(&self, held: &Held) -> BTreeMap<String, EditPair> {
        let pairs = held.pairs.iter().map(|is| {
            let mut found = without_addresses(is.clone());
            if self.alters(Altered::NativeSplit) && is.dataset == self.about.name {
                forget_split(&mut found);
            }
            (is.pair_id.clone(), found)
        });
        pairs.collect()
    }
}

/// What stands for the image that a pair was made from: pairs of one share a split.
pub(crate) fn image(held: &Held, pair: &EditPair) -> (String, Option<String>, Vec<u8>) {
    let label = pair.labels.iter().find(|label| label.name == "image_id");
    let id = match label {
        Some(label) => label.value.clone().into_bytes(),
        None => held.bytes(&pair.source).to_vec(),
    };
    (pair.dataset.clone(), pair.subset.clone(), id)
}

pub(crate) fn forget_split(pair: &mut EditPair) {
    let native = pair.native.as_ref().unwrap();
    let mut native: BTreeMap<String, Value> = serde_json::from_str(native).unwrap();
    native.remove("split");
    pair.native = Some(serde_json::to_string(&native).unwrap());
}

pub(crate) fn without_addresses(mut pair: EditPair) -> EditPair {
    pair.addresses_mut().for_each(|address| *address = Address::Inline(Vec::new()));
    pair
}

/// A mask in the one form, on a grid. Run lengths become a picture without a name, and parts
/// become one with that of the first.
pub(crate) fn made(mask: &Mask, grid: Option<(u32, u32)>) -> Mask {
    let size = grid.or(mask.parts.first().and_then(MaskPart::size)).unwrap();
    let name = mask.parts.iter().find_map(|part| match part {
        MaskPart::Picture(picture) => Some(picture.name.clone()),
        MaskPart::RunLength { .. } => None,
    });
    let picture = Picture {
        name: name.unwrap_or_default(),
        address: Address::Inline(Vec::new()),
        width: Some(size.0),
        height: Some(size.1),
        media_type: Some(MediaType::Png),
    };
    let grid = if grid.is_some() { Grid::Source } else { mask.grid };
    let parts = vec![MaskPart::Picture(picture)];
    Mask { parts, edited: Edited::White, grid, ..mask.clone() }
}

/// Holds the pictures of a pair that came back against those that went in.
pub(crate) fn compare_pictures(
    to: &Destination,
    (was, before): (&EditPair, &Held),
    (is, after): (&EditPair, &Held),
) {
    let id = &was.pair_id;
    let mut all = vec![(Some(&was.source), Some(&is.source))];
    all.push((was.target.as_ref(), is.target.as_ref()));
    assert_eq!(was.references.len(), is.references.len(), "{id}");
    for (was, is) in was.references.iter().zip(&is.references) {
        all.push((Some(&was.picture), Some(&is.picture)));
    }
    for (was, is) in all {
        let bytes = [(was, before), (is, after)]
            .map(|(picture, held)| picture.map(|picture| held.bytes(picture)));
        assert!(bytes[0] == bytes[1], "{id}: the bytes of {:?}", was.map(|was| &was.name));
    }
    let (Some(was_mask), Some(is_mask)) = (&was.mask, &is.mask) else {
        assert_eq!(was.mask.is_some(), is.mask.is_some(), "{id}");
        return;
    };
    let (was_bits, is_bits) = (before.bits(was_mask), after.bits(is_mask));
    let wanted = match to.grid(was, was_mask) {
        Some((width, height)) => was_bits.on_grid(width, height),
        None => was_bits,
    };
    assert!(wanted == is_bits, "{id}: the pixels of its mask");
    if let ([MaskPart::Picture(was_picture)], [MaskPart::Picture(is_picture)], false) =
        (was_mask.parts.as_slice(), is_mask.parts.as_slice(), to.makes(was, was_mask))
    {
        assert!(
            before.bytes(was_picture) == after.bytes(is_picture),
            "{id}: the bytes of its mask"
        );
    }
}

/// Holds what came back against what went in.
pub(crate) fn compare(what: &str, to: &Destination, went_in: &Held, came_back: &Held) {
    let (wanted, found) = (to.expected(went_in), to.found(came_back));
    assert!(wanted.keys().eq(found.keys()), "{what}: {:?}, {:?}", wanted.keys(), found.keys());
    for (id, was) in &wanted {
        assert_eq!(found[id], *was, "{what}");
    }
    assert_eq!(to.order(&came_back.pairs), to.order(&went_in.pairs), "{what}");
    let after: BTreeMap<_, _> = came_back.pairs.iter().map(|is| (&is.pair_id, is)).collect();
    for was in &went_in.pairs {
        compare_pictures(to, (was, went_in), (after[&was.pair_id], came_back));
    }
}
