//! How complete a copy is, and the counts of the whole release.

use diptych_format::{Facet, FormatError, Part, Published};

use crate::reader::PapeReader;

/// Rows of each subset, as the release's card counts them. A row is two edits.
const ROWS: [(&str, u64); 3] = [("COCO", 14_668), ("ImageNet", 18_488), ("Places", 14_591)];

/// Pairs of each subset.
pub(crate) const PUBLISHED: &[Published] = &[
    Published { facet: Facet::Subset, value: "COCO", pairs: 2 * 14_668 },
    Published { facet: Facet::Subset, value: "ImageNet", pairs: 2 * 18_488 },
    Published { facet: Facet::Subset, value: "Places", pairs: 2 * 14_591 },
];

/// The lines that tell how complete a copy is.
pub(crate) fn parts(reader: &PapeReader) -> Result<Vec<Part>, FormatError> {
    let rows = |part: &dyn Fn(&crate::layout::Editor) -> bool| {
        let of = reader.editors.iter().enumerate().filter(|(_, editor)| part(editor));
        of.map(|(partition, _)| reader.rows_of(partition)).sum()
    };
    let mut parts = Vec::new();
    for (subset, published) in ROWS {
        parts.push(Part {
            name: format!("rows of {subset}"),
            here: rows(&|editor| editor.subset.as_deref() == Some(subset)),
            stated: None,
            published: Some(published),
            missing: None,
        });
    }
    Ok(parts)
}
