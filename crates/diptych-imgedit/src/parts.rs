//! How complete a copy is, against what was measured on the whole release.

use diptych_format::{Facet, Part, Published};

use crate::groups::{GROUPS, SCORED, STEMS};
use crate::layout::Partition;
use crate::pieces::Archive;

/// Pairs of each Parquet file whose pictures were released.
pub(crate) const PUBLISHED: &[Published] = &published();

const fn published() -> [Published; STEMS.len()] {
    let mut all = [Published { facet: Facet::Subset, value: "", pairs: 0 }; STEMS.len()];
    let mut number = 0;
    while number < STEMS.len() {
        #[expect(clippy::indexing_slicing, reason = "evaluated while compiling")]
        let (stem, place) = (&STEMS[number], &mut all[number]);
        place.value = stem.name;
        place.pairs = stem.pairs();
        number += 1;
    }
    all
}

/// What was read of a Parquet file.
pub(crate) struct Found<'a> {
    pub(crate) partition: &'a Partition,
    pub(crate) rows: u64,
    pub(crate) edits: u64,
    pub(crate) pairs: u64,
}

/// The lines that tell how complete a copy is.
pub(crate) fn parts(
    found: &[Found<'_>],
    archives: &[&Archive],
    scored: Option<usize>,
) -> Vec<Part> {
    let part = |name: String, here, published, missing| Part {
        name,
        here,
        stated: None,
        published: Some(published),
        missing,
    };
    let mut parts = Vec::new();
    for stem in &STEMS {
        let here = found.iter().filter(|of| of.partition.known == Some(stem));
        let (mut rows, mut edits, mut pairs, mut is_here) = (0, 0, 0, false);
        for of in here {
            (rows, edits, pairs, is_here) =
                (rows + of.rows, edits + of.edits, pairs + of.pairs, true);
        }
        let mut missing = Vec::new();
        if !is_here {
            missing.push(format!("Parquet/{}.parquet is not there", stem.name));
        } else if pairs < edits {
            missing.push(format!("{} of {edits} edits are no pairs", edits - pairs));
        }
        if stem.lost > 0 {
            let all = stem.rows * stem.pairs_each;
            let share = share(stem.pairs(), all);
            let lost = stem.lost;
            missing.push(format!(
                "in the whole release {lost} of {all} have no pictures ({share} have)"
            ));
        }
        let missing = Some(missing.join("; ")).filter(|missing| !missing.is_empty());
        parts.push(part(format!("rows of {}", stem.name), rows, stem.rows, missing));
    }
    for group in &GROUPS {
        let here: Vec<_> = archives.iter().filter(|of| of.name() == group.name).collect();
        // An archive that was not cut is all of its pieces.
        let pieces = here.iter().map(|of| if of.pieces == 0 { group.pieces } else { of.pieces });
        let gaps: Vec<_> =
            here.iter().flat_map(|of| &of.gaps).map(|gap| gap.what.as_str()).collect();
        let missing = if here.is_empty() {
            Some(format!("{}/{}.tar.split.* is not there", group.folder, group.name))
        } else {
            Some(gaps.join("; ")).filter(|gaps| !gaps.is_empty())
        };
        parts.push(part(format!("pieces of {}", group.name), pieces.sum(), group.pieces, missing));
    }
    let missing = scored.is_none().then(|| format!("{} is not there", crate::side::SCORES));
    let here = scored.map_or(0, |count| count as u64);
    parts.push(part("folders with scores".to_owned(), here, SCORED, missing));
    parts
}

/// A share in percent, rounded to one decimal.
fn share(part: u64, whole: u64) -> String {
    let thousandths = (part * 1000 + whole / 2).checked_div(whole).unwrap_or(0);
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_is_missing_and_what_was_never_there() {
        let lines = parts(&[], &[], Some(7));
        assert_eq!(lines.len(), 37 + 35 + 1);
        let of = |name: &str| lines.iter().find(|part| part.name == name).unwrap();
        let remove = of("rows of remove_part0");
        assert_eq!((remove.here, remove.published), (0, Some(32_222)));
        assert_eq!(
            remove.missing.as_deref(),
            Some(
                "Parquet/remove_part0.parquet is not there; in the whole release 7968 of 32222 \
                 have no pictures (75.3 % have)"
            )
        );
        assert_eq!(of("pieces of results_replace_part0").published, Some(14));
        let scores = of("folders with scores");
        assert_eq!((scores.here, scores.missing.as_deref()), (7, None));
        assert_eq!(PUBLISHED.iter().map(|of| of.pairs).sum::<u64>(), 1_400_396);
    }
}
