//! Damaged archives: what is left of them, and what is said about the rest.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests state what they expect by panicking"
)]

mod tar_support;

use diptych_storage::Limits;
use diptych_storage::tar::{DefectKind, TarIndex};
use proptest::prelude::*;
use tar_support::{Tar, header, read, walk};

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned())).collect()
}

const CHECKSUM: &str = "its checksum is wrong";

fn bad(why: &'static str, resumed: Option<u64>) -> DefectKind {
    DefectKind::BadHeader { why, resumed }
}

fn truncated(name: &str, missing: u64) -> DefectKind {
    DefectKind::Truncated { name: name.as_bytes().into(), missing }
}

#[test]
fn a_cut_archive_keeps_what_is_whole() {
    let tar = Tar::default().file("a", &[b'a'; 600]).file("b", b"bb").end();
    let a = ("a", "a".repeat(600));
    let a = pairs(&[(a.0, &a.1)]);
    let both = [a.clone(), pairs(&[("b", "bb")])].concat();
    // Of a: header 0, body 512..1112; of b: header 1536, body 2048..2050; end blocks 2560.
    let cases = [
        (0, vec![], DefectKind::NoEndBlocks),
        (1, vec![], truncated("", 511)),
        (511, vec![], truncated("", 1)),
        (512, vec![], truncated("a", 600)),
        (1111, vec![], truncated("a", 1)),
        (1112, a.clone(), DefectKind::NoEndBlocks),
        (1536, a.clone(), DefectKind::NoEndBlocks),
        (1537, a.clone(), truncated("", 511)),
        (2048, a.clone(), truncated("b", 2)),
        (2049, a, truncated("b", 1)),
        (2050, both.clone(), DefectKind::NoEndBlocks),
        (2560, both.clone(), DefectKind::NoEndBlocks),
        (2600, both.clone(), DefectKind::NoEndBlocks),
    ];
    for (length, members, defect) in cases {
        let (found, defects) = read(&tar[..length]);
        let defects: Vec<_> = defects.into_iter().map(|(_, kind)| kind).collect();
        assert_eq!((found, defects), (members, vec![defect]), "{length}");
    }
    for length in [3072, 3100, 3584] {
        assert_eq!(read(&tar[..length]), (both.clone(), vec![]));
    }
    let padded = [&tar[..], &[0; 300_000]].concat();
    assert_eq!(read(&padded), (both, vec![]));
    let long = Tar::default().long(b'L', &"n".repeat(600)).0;
    assert_eq!(read(&long[..1000]), (vec![], vec![(0, truncated("", 113))]));
}

#[test]
fn behind_a_bad_header_the_way_is_found_again() {
    let body = "x".repeat(3000);
    let mut tar = Tar::default().file("a", b"1");
    let lost = tar.at();
    tar = tar.file("b", body.as_bytes());
    let found = tar.at();
    let tar = tar.file("c", b"3").file("d", b"4").end();
    let mut damaged = tar.clone();
    damaged[usize::try_from(lost).unwrap() + 3] ^= 0x40;
    let (members, defects) = read(&damaged);
    assert_eq!(members, pairs(&[("a", "1"), ("c", "3"), ("d", "4")]));
    assert_eq!(defects, [(lost, bad(CHECKSUM, Some(found)))]);
    let (_, defects) = walk(&damaged);
    assert_eq!(
        defects[0].to_string(),
        "bad header at byte 1024: its checksum is wrong; left out up to byte 4608"
    );

    // The last one: nothing is behind it.
    let last = usize::try_from(found).unwrap() + 1024;
    let mut damaged = tar;
    damaged[last] = b'?';
    let (members, defects) = read(&damaged);
    assert_eq!(members, pairs(&[("a", "1"), ("b", &body), ("c", "3")]));
    assert_eq!(defects, [(last as u64, bad(CHECKSUM, None))]);

    // No archive at all.
    let noise: Vec<u8> =
        (0..100_000_u32).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[0] | 1).collect();
    assert_eq!(read(&noise), (vec![], vec![(0, bad(CHECKSUM, None))]));
}

#[test]
fn a_member_whose_extended_header_is_lost_is_not_given_the_short_name() {
    let long = "n".repeat(150);
    for start in
        [Tar::default().long(b'L', &long), Tar::default().pax(b'x', &[("path", long.as_bytes())])]
    {
        for at in [0, 156, 300] {
            let mut tar = start.clone();
            let short = tar.at();
            tar.0[at] ^= 1;
            let tar = tar.file(&long[..60], b"1").file("b", b"2").end();
            let (members, defects) = read(&tar);
            assert_eq!(members, pairs(&[("b", "2")]));
            let why = bad("its extended header may be lost", Some(short + 1024));
            assert_eq!(defects, [(0, bad(CHECKSUM, Some(short))), (short, why)]);
        }
    }
    // Nothing is left of the header, but the name seems to be cut.
    let mut tar = Tar::default().long(b'L', &long);
    tar.0[..512].fill(0xaa);
    let tar = tar.file(&long[..100], b"1").file("b", b"2").end();
    assert_eq!(read(&tar).0, pairs(&[("b", "2")]));
}

#[test]
fn a_member_without_a_name_is_stepped_over() {
    let inner = Tar::default().file("inner", b"x").0;
    let tar = Tar::default().entry(&header(b"", b'0', inner.len() as u64), &inner);
    let next = tar.at();
    let tar = tar.file("b", b"2").end();
    let why = bad("it has no name", Some(next));
    assert_eq!(read(&tar), (pairs(&[("b", "2")]), vec![(0, why)]));
}

#[test]
fn archives_that_were_concatenated_are_read_on() {
    let first = Tar::default().file("a", b"1").end();
    let second = Tar::default().file("b", b"2").end();
    let both = [&first[..], &second].concat();
    let members = pairs(&[("a", "1"), ("b", "2")]);
    assert_eq!(read(&both), (members.clone(), vec![(2048, DefectKind::Concatenated)]));
    let apart = [&first[..], &[0; 512 * 300], &second].concat();
    assert_eq!(read(&apart), (members, vec![(2048 + 512 * 300, DefectKind::Concatenated)]));

    let a = pairs(&[("a", "1")]);
    for garbage in [&b"garbage"[..], &[b'x'; 512], &[b'y'; 100_000]] {
        // What follows is not searched for headers.
        let tar = [&first[..], garbage, &second].concat();
        assert_eq!(read(&tar), (a.clone(), vec![(2048, DefectKind::TrailingGarbage)]));
    }
}

#[test]
fn an_index_tells_whether_names_may_be_missing() {
    let index =
        |tar: &[u8]| TarIndex::build(&tar.to_vec(), &Limits::DEFAULT, &mut |_| Ok(())).unwrap();
    let tar = Tar::default().file("a", b"1").file("b", b"2").end();
    assert!(!index(&tar).may_lack_members());
    assert!(!index(&tar[..2048]).may_lack_members());
    assert!(index(&tar[..2000]).may_lack_members() || index(&tar[..1500]).may_lack_members());
    let mut damaged = tar;
    damaged[0] ^= 1;
    let index = index(&damaged);
    assert!(index.may_lack_members() && index.get(b"a").is_none() && index.get(b"b").is_some());
}

#[test]
fn defects_are_kept_up_to_a_bound() {
    let one = Tar::default().file("a", b"").0;
    let many = one.repeat(3000);
    let index = TarIndex::build(&many, &Limits::DEFAULT, &mut |_| Ok(())).unwrap();
    assert_eq!((index.len(), index.defects().len()), (1, 1000));
    // And the missing end blocks.
    assert_eq!(index.dropped_defects(), 2000);
}

/// Names and bodies.
type Bodies = Vec<(Vec<u8>, Vec<u8>)>;

/// A valid archive as the `tar` crate writes it, and what is in it.
fn archives() -> impl Strategy<Value = (Vec<u8>, Bodies)> {
    let name = "([a-z.\u{4e00}-\u{4e20}]{1,60}/){0,4}[a-z0-9 ]{1,60}";
    let size = prop_oneof![4 => 0..3000_usize, 1 => 0..100_000_usize];
    let member = (name, size, any::<u8>(), any::<bool>());
    prop::collection::vec(member, 0..12).prop_map(|members| {
        let mut builder = tar::Builder::new(Vec::new());
        let mut expected = Vec::new();
        for (i, (name, size, fill, pax)) in members.into_iter().enumerate() {
            // Components of dots would be refused by the builder.
            let name = format!("m{i}/{}", name.replace('.', "_"));
            let body = vec![fill; size];
            let mut header = tar::Header::new_gnu();
            header.set_size(size as u64);
            if pax {
                header = tar::Header::new_ustar();
                header.set_size(0);
                let size = size.to_string();
                let records = [("path", name.as_bytes()), ("size", size.as_bytes())];
                builder.append_pax_extensions(records).unwrap();
                header.as_old_mut().name[0] = b'p';
                header.set_cksum();
                builder.append(&header, body.as_slice()).unwrap();
            } else {
                builder.append_data(&mut header, &name, body.as_slice()).unwrap();
            }
            expected.push((name.into_bytes(), body));
        }
        (builder.into_inner().unwrap(), expected)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn archives_come_back((tar, expected) in archives()) {
        let (seen, defects) = walk(&tar);
        prop_assert_eq!(defects, vec![]);
        let seen: Vec<_> = seen.into_iter().map(|s| (s.name, s.body)).collect();
        prop_assert_eq!(seen, expected);
    }

    // What is given lies in the file: `walk` checks it, by taking it out.
    #[test]
    fn damaged_archives_end(
        (mut tar, _) in archives(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 1..600_usize), 0..6),
        length in any::<prop::sample::Index>(),
        in_headers: bool,
    ) {
        for (at, byte, count) in damage {
            let mut at = at.index(tar.len());
            if in_headers {
                at = at / 512 * 512 + usize::from(byte) * 2;
            }
            for place in tar.iter_mut().skip(at).take(count) {
                *place ^= byte;
            }
        }
        walk(&tar);
        tar.truncate(length.index(tar.len() + 1));
        walk(&tar);
    }

    #[test]
    fn any_headers_end(
        blocks in prop::collection::vec(
            (prop::sample::select(b"0LxgKS5\x001V".to_vec()), any::<u64>(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)),
            0..20,
        ),
    ) {
        let mut tar = Tar::default();
        for (flag, size, is_small, body) in blocks {
            let size = if is_small { size % 2000 } else { size };
            let mut header = header(b"name", flag, 0);
            header.as_old_mut().size[0] = 0x80;
            header.as_old_mut().size[4..].copy_from_slice(&size.to_be_bytes());
            header.as_mut_bytes()[482] = body.first().copied().unwrap_or(0) & 1;
            header.set_cksum();
            tar = tar.entry(&header, &body);
        }
        walk(&tar.0);
        walk(&tar.end());
    }

    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        walk(&bytes);
    }
}

#[test]
fn the_rest_of_an_archive_is_read_from_its_first_header_on() {
    let body = b"ustar ".repeat(200);
    let mut tar = Tar::default().file("a", &body);
    let second = tar.at();
    tar = tar.file("b", b"2");
    let third = tar.at();
    let tar = tar.file("c", b"3").end();
    let names = |cut: u64, border: Option<u64>| {
        let rest = tar[usize::try_from(cut).unwrap()..].to_vec();
        let mut note = |_: &diptych_storage::tar::Member<'_>| Ok(());
        let index = TarIndex::build_rest(&rest, &Limits::DEFAULT, border, &mut note).unwrap();
        let found: Vec<_> =
            index.iter().map(|entry| (entry.name[0], cut + entry.header_offset)).collect();
        assert!(index.may_lack_members());
        let resumed = found.first().map(|(_, at)| at - cut);
        assert_eq!(index.defects()[0].kind, DefectKind::NoBeginning { resumed });
        found
    };
    let (b, c) = ((b'b', second), (b'c', third));
    for cut in 1..=third + 512 {
        let expected = match cut {
            0 => vec![],
            _ if cut <= second => vec![b, c],
            _ if cut <= third => vec![c],
            _ => vec![],
        };
        let border = cut.next_multiple_of(512) - cut;
        assert_eq!(names(cut, Some(border)), expected, "{cut}");
        assert_eq!(names(cut, None), expected, "{cut}");
    }
    assert_eq!(names(second, Some(7)), [b, c], "a wrong border leads to nothing wrong");
}
