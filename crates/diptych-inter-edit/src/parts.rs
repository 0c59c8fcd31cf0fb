//! How complete a copy is: against its manifest, and against the whole release as it was measured.

use diptych_format::{Facet, Part, Published, Stated};

use crate::layout::Shards;
use crate::manifest::{MANIFEST, Manifest};

/// Measured on the full download.
const SHARDS: [(&str, u64); 3] =
    [("metadata shards", 275), ("source shards", 245), ("asset shards", 275)];
/// Rows.
const SAMPLES: u64 = 1_099_964;
/// Pictures in the source shards.
const SOURCES: u64 = 610_186;

/// Pairs of each kind in the full download.
pub(crate) const PUBLISHED: &[Published] = &[
    Published { facet: Facet::EditType, value: "local", pairs: 408_044 },
    Published { facet: Facet::EditType, value: "add", pairs: 312_325 },
    Published { facet: Facet::EditType, value: "remove", pairs: 308_050 },
    Published { facet: Facet::EditType, value: "texture", pairs: 71_545 },
    Published { facet: Facet::Language, value: "zh", pairs: 624_298 },
    Published { facet: Facet::Language, value: "en", pairs: 475_666 },
];

/// What was found of a copy.
pub(crate) struct Found {
    pub(crate) rows: u64,
    /// Regular files in the archives of sources, and in those of targets and masks.
    pub(crate) sources: u64,
    pub(crate) assets: u64,
}

/// The lines that tell how complete a copy is.
pub(crate) fn parts(shards: &[Shards], manifest: &Manifest, found: &Found) -> Vec<Part> {
    let by_manifest = |count| Stated { count, by: MANIFEST.to_owned() };
    let mut parts: Vec<_> = shards
        .iter()
        .map(|shards| {
            let by_names = |count| Stated { count, by: "the names of the shards".to_owned() };
            Part {
                name: shards.what.to_owned(),
                here: shards.here,
                stated: shards.by_manifest.map(by_manifest).or(shards.by_names.map(by_names)),
                published: SHARDS.iter().find(|(what, _)| *what == shards.what).map(|(_, n)| *n),
                missing: shards.missing.clone(),
            }
        })
        .collect();
    for (name, here, stated, published) in [
        ("samples", found.rows, manifest.num_samples, SAMPLES),
        ("source pictures", found.sources, manifest.num_unique_source_images, SOURCES),
        // Not every copy has a mask for each sample, and the manifest does not count them.
        ("targets and masks", found.assets, None, 2 * SAMPLES),
    ] {
        let (name, published) = (name.to_owned(), Some(published));
        parts.push(Part { name, here, stated: stated.map(by_manifest), published, missing: None });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_counts_add_up() {
        let of = |facet| PUBLISHED.iter().filter(move |p| p.facet == facet).map(|p| p.pairs);
        assert_eq!(of(Facet::EditType).sum::<u64>(), SAMPLES);
        assert_eq!(of(Facet::Language).sum::<u64>(), SAMPLES);
        // 4,000 rows a shard and 3,964 in the last; 2,500 sources a shard and 186 in the last.
        assert_eq!(274 * 4000 + 3964, SAMPLES);
        assert_eq!(244 * 2500 + 186, SOURCES);
    }
}
