use diptych_storage::parquet::head::{PageKind, levels as read_levels, page_head};

use super::*;

#[test]
fn what_is_written_is_read_back() {
    for (levels, rows, pictures, max) in [
        (Levels::ONE, 1, 1, (0, 2)),
        (Levels::ONE, 700, 0, (0, 2)),
        (Levels::LIST, 1, 1, (1, 4)),
        (Levels::LIST, 1, 300, (1, 4)),
        (Levels::LIST, 90, 0, (1, 4)),
    ] {
        let bytes = 1_000_000 * u64::try_from(pictures).unwrap();
        let written = head_of_page(levels, rows, pictures, bytes).unwrap();
        let head = page_head(&written).unwrap();
        let PageKind::Data(data) = head.kind else { panic!("{head:?}") };
        assert!(data.plain);
        let found = read_levels(&data, &written[head.length..], max.0, max.1).unwrap();
        assert_eq!(head.length + found.length, written.len());
        assert_eq!(head.size, bytes + found.length as u64);
        let begun: Vec<_> = (0..rows.max(pictures)).map(|i| i == 0 || pictures == 0).collect();
        assert_eq!(found.begins, if levels.repeated { begun } else { vec![true; rows] });
        let level = if pictures > 0 { levels.present } else { levels.absent };
        assert_eq!(found.definition, vec![level; rows.max(pictures)]);
    }
    let most = u64::try_from(i32::MAX).unwrap() - 6;
    assert!(head_of_page(Levels::ONE, 1, 1, most).is_some());
    assert_eq!(head_of_page(Levels::ONE, 1, 1, most + 1), None);
}
