//! How complete a copy is, against what was measured on the whole release.

use diptych_format::{Facet, Part, Published};

use crate::groups::{GROUPS, SCORED, STEMS, Stem};
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
    let archives_of =
        |group: &str| -> Vec<_> { archives.iter().filter(|of| of.name() == group).collect() };
    let mut parts = Vec::new();
    for stem in &STEMS {
        let here: Vec<_> = found.iter().filter(|of| of.partition.known == Some(stem)).collect();
        let sum = |of: fn(&Found<'_>) -> u64| here.iter().map(|found| of(found)).sum::<u64>();
        let (edits, pairs) = (sum(|of| of.edits), sum(|of| of.pairs));
        // A part of the release is a normal thing to have: what is missing is the half of one.
        let missing = if here.is_empty() {
            let there = !archives_of(stem.group).is_empty();
            there.then(|| format!("Parquet/{}.parquet is not there, its archive is", stem.name))
        } else if pairs < edits {
            Some(format!("{} of {edits} edits are no pairs{}", edits - pairs, lost(stem)))
        } else {
            None
        };
        parts.push(part(format!("rows of {}", stem.name), sum(|of| of.rows), stem.rows, missing));
    }
    for group in &GROUPS {
        let here = archives_of(group.name);
        // An archive that was not cut is all of its pieces.
        let pieces = here.iter().map(|of| if of.pieces == 0 { group.pieces } else { of.pieces });
        let gaps: Vec<_> =
            here.iter().flat_map(|of| &of.gaps).map(|gap| gap.what.as_str()).collect();
        let is_wanted =
            |of: &Found<'_>| of.partition.known.is_some_and(|stem| stem.group == group.name);
        let missing = if !here.is_empty() {
            Some(gaps.join("; ")).filter(|gaps| !gaps.is_empty())
        } else if found.iter().any(is_wanted) {
            Some(format!(
                "{}/{}.tar.split.* is not there, its Parquet file is",
                group.folder, group.name
            ))
        } else {
            None
        };
        parts.push(part(format!("pieces of {}", group.name), pieces.sum(), group.pieces, missing));
    }
    let here = scored.map_or(0, |count| count as u64);
    parts.push(part("folders with scores".to_owned(), here, SCORED, None));
    parts
}

/// What is known of edits of a Parquet file whose pictures were never released.
fn lost(stem: &Stem) -> String {
    let all = stem.rows * stem.pairs_each;
    match stem.lost {
        0 => String::new(),
        lost => {
            let share = share(stem.pairs(), all);
            format!("; in the whole release {lost} of {all} have no pictures ({share} have)")
        }
    }
}

/// A share in percent, rounded to one decimal.
fn share(part: u64, whole: u64) -> String {
    let thousandths = (part * 1000 + whole / 2).checked_div(whole).unwrap_or(0);
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::RelPath;

    #[test]
    fn a_line_tells_what_is_missing_and_what_was_never_there() {
        let stem = Stem::named("remove_part0").unwrap();
        let partition = Partition {
            path: RelPath::new("Parquet/remove_part0.parquet").unwrap(),
            stem: "remove_part0".to_owned(),
            known: Some(stem),
            task: Some(stem.task),
        };
        let found = [Found { partition: &partition, rows: 4, edits: 4, pairs: 3 }];
        let lines = parts(&found, &[], Some(7));
        assert_eq!(lines.len(), 37 + 35 + 1);
        let of = |name: &str| lines.iter().find(|part| part.name == name).unwrap();
        let remove = of("rows of remove_part0");
        assert_eq!((remove.here, remove.published), (4, Some(32_222)));
        let lost = "1 of 4 edits are no pairs; in the whole release 7968 of 32222 have no pictures \
                    (75.3 % have)";
        assert_eq!(remove.missing.as_deref(), Some(lost));
        let archive = of("pieces of results_remove_part0");
        let gone = "Singleturn/results_remove_part0.tar.split.* is not there, its Parquet file is";
        assert_eq!(archive.missing.as_deref(), Some(gone));
        // What nobody has downloaded is not missing.
        let replace = of("pieces of results_replace_part0");
        assert_eq!((replace.published, replace.missing.as_deref()), (Some(14), None));
        assert_eq!(of("rows of add_part0").missing, None);
        let scores = of("folders with scores");
        assert_eq!((scores.here, scores.missing.as_deref()), (7, None));
        assert_eq!(PUBLISHED.iter().map(|of| of.pairs).sum::<u64>(), 1_400_396);
    }
}
