//! What a tar holds: names, sizes and kinds, in every way of saying them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests state what they expect by panicking"
)]

mod tar_support;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use diptych_storage::Limits;
use diptych_storage::read::ReadAt;
use diptych_storage::tar::{DefectKind, MemberKind, TarIndex};
use tar::Header;
use tar_support::{Tar, header, read, walk, walk_within};

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned())).collect()
}

fn bad(why: &'static str, resumed: u64) -> DefectKind {
    DefectKind::BadHeader { why, resumed: Some(resumed) }
}

/// A header with its checksum made right.
fn sealed(mut header: Header) -> Header {
    header.set_cksum();
    header
}

#[test]
fn names_come_from_the_header_its_prefix_or_a_gnu_header() {
    let long = "d/".repeat(100) + "long.png";
    let mut prefixed = header(b"b.png", b'0', 3);
    prefixed.as_ustar_mut().unwrap().prefix[..5].copy_from_slice(b"./a/b");
    let mut gnu = Header::new_gnu();
    gnu.as_old_mut().name[..5].copy_from_slice(b"c.png");
    gnu.set_size(3);
    // Old GNU headers keep times where ustar keeps the prefix.
    gnu.as_gnu_mut().unwrap().set_atime(0o1234);
    let mut full = header(&[b'n'; 100], b'0', 1);
    full.as_ustar_mut().unwrap().prefix = [b'p'; 155];
    let tar = Tar::default()
        .file("./a.png", b"one")
        .entry(&sealed(prefixed), b"two")
        .entry(&sealed(gnu), b"333")
        .long(b'K', &long)
        .long(b'L', &long)
        .file("d/d/d", b"four")
        .entry(&sealed(full), b"5")
        .file("././././e", b"6")
        .end();
    let full = format!("{}/{}", "p".repeat(155), "n".repeat(100));
    let expected = pairs(&[
        ("a.png", "one"),
        ("a/b/b.png", "two"),
        ("c.png", "333"),
        (&long, "four"),
        (&full, "5"),
        ("e", "6"),
    ]);
    assert_eq!(read(&tar), (expected, vec![]));
}

#[test]
fn a_size_in_a_pax_header_counts() {
    // CVE-2025-62518: a reader that believes the 0 takes the body for more members.
    let inner = Tar::default().file("hidden", b"x").0;
    let length = inner.len().to_string();
    let tar = Tar::default()
        .pax(b'x', &[("size", length.as_bytes()), ("mtime", b"1.5")])
        .entry(&header(b"outer", b'0', 0), &inner)
        .file("after", b"y")
        .end();
    let (seen, defects) = walk(&tar);
    assert_eq!(defects, []);
    assert_eq!(
        seen.iter().map(|s| s.name.as_slice()).collect::<Vec<_>>(),
        [&b"outer"[..], b"after"]
    );
    assert_eq!(seen[0].body, inner);
}

#[test]
fn a_pax_header_before_a_gnu_long_name_is_about_the_member() {
    // GHSA-3cv2-h65g-fgmm: a reader that applies the size to the long name goes astray.
    let tar = Tar::default()
        .pax(b'x', &[("size", b"2048")])
        .long(b'L', "name of the member")
        .entry(&header(b"name", b'0', 0), &[b'z'; 2048])
        .file("after", b"y")
        .end();
    let body = "z".repeat(2048);
    let expected = pairs(&[("name of the member", &body), ("after", "y")]);
    assert_eq!(read(&tar), (expected, vec![]));
}

#[test]
fn pax_names_may_hold_anything_but_nul() {
    let tar = Tar::default()
        .pax(b'x', &[("path", b"a\nb=c \xff/\xe5\x9b\xbe"), ("comment", b"\n\n9 path=x")])
        .file("short", b"1")
        .pax(b'x', &[("path", b"")])
        .file("empty takes back", b"2")
        .pax(b'x', &[("path", b"a\0b")])
        .file("nul", b"3")
        .file("last", b"4")
        .end();
    let (seen, defects) = walk(&tar);
    let names: Vec<_> = seen.iter().map(|s| s.name.as_slice()).collect();
    assert_eq!(names, [&b"a\nb=c \xff/\xe5\x9b\xbe"[..], b"empty takes back", b"last"]);
    assert_eq!(defects.len(), 1);
    assert_eq!(defects[0].kind, bad("there is a NUL in its name", seen[2].header_offset));
}

#[test]
fn what_a_global_header_says_of_all_members_is_not_believed() {
    let tar = Tar::default()
        .pax(b'g', &[("path", b"wrong"), ("size", b"512"), ("comment", b"made by git")])
        .file("a", b"1")
        .file("b", b"2")
        .end();
    assert_eq!(read(&tar), (pairs(&[("a", "1"), ("b", "2")]), vec![]));
}

#[test]
fn a_member_with_two_names_is_left_out() {
    let two = |start: Tar| {
        let at = start.at();
        let tar = start.file("short", b"1").file("after", b"2").end();
        let (members, defects) = read(&tar);
        assert_eq!(members, pairs(&[("after", "2")]));
        let (first, second) = (b"one".as_slice().into(), b"two".as_slice().into());
        assert_eq!(defects, [(at, DefectKind::ConflictingNames { first, second })]);
    };
    two(Tar::default().pax(b'x', &[("path", b"one")]).long(b'L', "two"));
    two(Tar::default().long(b'L', "one").pax(b'x', &[("path", b"two")]));
    two(Tar::default().long(b'L', "one").long(b'L', "two"));
    two(Tar::default().pax(b'x', &[("path", b"one"), ("path", b"two")]));

    let same =
        Tar::default().pax(b'x', &[("path", b"one")]).long(b'L', "one").file("o", b"1").end();
    assert_eq!(read(&same), (pairs(&[("one", "1")]), vec![]));
    let at = 1024 * 2;
    let sizes = Tar::default()
        .pax(b'x', &[("size", b"1")])
        .pax(b'x', &[("size", b"2")])
        .file("a", b"1")
        .file("b", b"2")
        .end();
    let why = bad("its extended headers give it two sizes", at + 1024);
    assert_eq!(read(&sizes), (pairs(&[("b", "2")]), vec![(at, why)]));
}

#[test]
fn malformed_extended_headers_leave_their_member_out() {
    for body in [
        &b"nonsense"[..],
        b"9 path=a",
        b"99 path=a\n",
        b"10 path=abc\n",
        b"0 path=a\n",
        b"-9 path=a\n",
        b"18446744073709551616 a=b\n",
        b"4 ab\n",
        b"3 \n",
        b" \n",
        b"12 path=abc\n\x01",
    ] {
        let tar = Tar::default().entry(&header(b"x", b'x', body.len() as u64), body);
        let at = tar.at();
        let tar = tar.file("a", b"1").file("b", b"2").end();
        let why = bad("its extended header is malformed", at + 1024);
        assert_eq!(read(&tar), (pairs(&[("b", "2")]), vec![(at, why)]), "{body:?}");
    }
    for size in ["-1", "+1", "1e3", "9223372036854775808", "99999999999999999999"] {
        let tar = Tar::default().pax(b'x', &[("size", size.as_bytes())]);
        let at = tar.at();
        let tar = tar.file("a", b"1").file("b", b"2").end();
        let why = bad("the size in its extended header is no number of bytes", at + 1024);
        assert_eq!(read(&tar), (pairs(&[("b", "2")]), vec![(at, why)]), "{size}");
    }
    let tar = Tar::default().file("a", b"1").long(b'L', "b").end();
    let why = bad("no member follows the extended header", 2048);
    assert_eq!(read(&tar), (pairs(&[("a", "1")]), vec![(1024, why)]));
}

#[test]
fn kinds_are_told_apart_and_links_have_no_body() {
    let mut tar = Tar::default();
    for (number, flag) in b"1256\x003477VD".iter().enumerate() {
        let name = format!("{number}");
        // Whatever the size of a member without a body says, a header follows.
        let body: &[u8] = if matches!(flag, b'1'..=b'6') { b"" } else { b"body" };
        tar = tar.entry(&header(name.as_bytes(), *flag, 4), body);
    }
    let mut old = Header::new_old();
    old.as_old_mut().name[..7].copy_from_slice(b"folder/");
    old.as_old_mut().linkflag = [0];
    old.set_size(4);
    let tar = tar
        .entry(&sealed(old), b"")
        .entry(&header(b"./", b'5', 0), b"")
        .entry(&header(b"./x//", b'5', 0), b"")
        .file("last", b"1")
        .end();
    let (seen, defects) = walk(&tar);
    assert_eq!(defects, []);
    use MemberKind::{Directory, File, Link, Other};
    let kinds: Vec<_> = seen.iter().map(|s| s.kind).collect();
    let expected = [
        Link, Link, Directory, Other, File, Other, Other, File, File, Other, Other, Directory,
        Directory, Directory, File,
    ];
    assert_eq!(kinds, expected);
    let names: Vec<_> = seen[11..].iter().map(|s| s.name.as_slice()).collect();
    assert_eq!(names, [&b"folder"[..], b".", b"x", b"last"]);
}

#[test]
fn a_long_name_cut_behind_a_folder_is_no_folder() {
    // The `tar` crate gives files the old flag, and the header the first hundred bytes.
    let name = "f".repeat(99) + "/a";
    let tar = Tar::default()
        .long(b'L', &name)
        .entry(&header(&name.as_bytes()[..100], 0, 1), b"1")
        .file("b", b"2")
        .end();
    assert_eq!(read(&tar), (pairs(&[(&name, "1"), ("b", "2")]), vec![]));
}

#[test]
fn files_with_holes_are_not_taken_for_files() {
    let mut gnu = Header::new_gnu();
    gnu.as_old_mut().name[..3].copy_from_slice(b"gnu");
    gnu.as_old_mut().linkflag = [b'S'];
    gnu.as_gnu_mut().unwrap().isextended = [1];
    gnu.set_size(600);
    // Two further blocks of the map, then the body.
    let mut map = vec![0; 1024];
    map[504] = 1;
    let body = [map, vec![b'b'; 600]].concat();
    let tar = Tar::default()
        .entry(&sealed(gnu), &body)
        .pax(
            b'x',
            &[
                ("GNU.sparse.major", b"1"),
                ("GNU.sparse.name", b"real"),
                ("path", b"GNUSparseFile.1/real"),
            ],
        )
        .file("pax", b"1\n0\n")
        .file("last", b"1")
        .end();
    let (seen, defects) = walk(&tar);
    assert_eq!(defects, []);
    let found: Vec<_> = seen.iter().map(|s| (s.name.as_slice(), s.kind)).collect();
    use MemberKind::{File, Sparse};
    assert_eq!(found, [(&b"gnu"[..], Sparse), (b"real", Sparse), (b"last", File)]);
    // Cut inside the map.
    let (seen, defects) = walk(&tar[..1100]);
    assert_eq!((seen.len(), defects.len()), (0, 1));
    assert!(matches!(defects[0].kind, DefectKind::Truncated { .. }));
}

#[test]
fn sizes_that_no_body_can_have_are_not_believed() {
    let mut large = header(b"large", b'0', 0);
    large.as_old_mut().size = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4];
    let tar = Tar::default().entry(&sealed(large), b"four").end();
    assert_eq!(read(&tar), (pairs(&[("large", "four")]), vec![]));

    for size in [
        *b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        *b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
        *b"\x80\x01\0\0\0\0\0\0\0\0\0\0",
        *b"-0000000001\0",
    ] {
        let mut bad_size = header(b"bad", b'0', 0);
        bad_size.as_old_mut().size = size;
        let tar = Tar::default().entry(&sealed(bad_size), b"1").file("good", b"2").end();
        let why = bad("its size is no number of bytes", 1024);
        assert_eq!(read(&tar), (pairs(&[("good", "2")]), vec![(0, why)]));
    }
    // As large as can be said: it is missing, and nothing overflows.
    let mut huge = header(b"huge", b'0', 0);
    huge.as_old_mut().size = *b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff";
    let tar = Tar::default().entry(&sealed(huge), b"1").end();
    let missing = u64::try_from(i64::MAX).unwrap() - 1536;
    let name = b"huge".as_slice().into();
    assert_eq!(read(&tar), (vec![], vec![(0, DefectKind::Truncated { name, missing })]));
}

#[test]
fn limits_bound_names_headers_and_members() {
    let limits =
        Limits { member_name_bytes: 8, member_header_bytes: 600, members: 3, ..Limits::DEFAULT };
    let limit = |what, limit| DefectKind::Limit { what, limit };
    let tar = Tar::default()
        .file("123456789", b"1")
        .file("12345678", b"2")
        .long(b'L', &"n".repeat(700))
        .file("n", b"3")
        .file("a", b"4")
        .file("b", b"5")
        .file("c", b"6")
        .file("d", b"7")
        .end();
    let (seen, defects) = walk_within(&tar, &limits);
    let names: Vec<_> = seen.iter().map(|s| s.name.as_slice()).collect();
    assert_eq!(names, [&b"12345678"[..], b"a", b"b"]);
    let found: Vec<_> = defects.into_iter().map(|defect| (defect.offset, defect.kind)).collect();
    let expected = [
        (0, limit("bytes of a member's name", 8)),
        (2048, limit("bytes of an extended header", 600)),
        (3584, bad("its extended header is too long", 4608)),
        (6656, limit("members", 3)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn so_many_bytes_are_gone_through_to_find_a_header() {
    let gap = 40 * 512;
    let tar = |filling: u8, end: bool| {
        let before = Tar::default().file("a", b"1");
        let mut bytes = if end { before.end() } else { before.0 };
        let from = bytes.len();
        bytes.resize(from + gap, filling);
        bytes.extend(Tar::default().file("b", b"2").end());
        bytes
    };
    // Zeros with the end blocks, and what is no header: the first block of that is looked at anyway.
    for (bytes, least) in [(tar(0, true), gap + 1024), (tar(7, false), gap - 512)] {
        let names = |gap_bytes: usize| {
            let limits = Limits { gap_bytes: gap_bytes as u64, ..Limits::DEFAULT };
            let (seen, defects) = walk_within(&bytes, &limits);
            let what = "bytes without a header";
            let limit = DefectKind::Limit { what, limit: gap_bytes as u64 };
            let told = defects.iter().any(|defect| defect.kind == limit);
            (seen.len(), told, defects.iter().any(|defect| defect.kind.hides_members()))
        };
        // The end blocks behind the last member are gone through, too.
        assert_eq!(names(least + 1024).0, 2);
        assert!(!names(least + 1024).1);
        assert_eq!(names(least - 1), (1, true, true));
    }
}

#[test]
fn the_last_member_of_a_name_counts() {
    let tar = Tar::default()
        .entry(&header(b"d/", b'5', 0), b"")
        .file("a", b"old")
        .file("b", b"only")
        .entry(&header(b"d/", b'5', 0), b"")
        .file("./a", b"newer")
        .file("a", b"newest")
        .end();
    let mut heads = Vec::new();
    let index = TarIndex::build(&tar, &Limits::DEFAULT, &mut |member| {
        heads.push(member.head.to_vec());
        Ok(u32::try_from(heads.len()).unwrap())
    })
    .unwrap();
    assert_eq!(heads.len(), 6);
    assert_eq!((index.len(), index.is_empty()), (3, false));
    let a = index.get(b"a").unwrap();
    assert_eq!((a.length, a.note, a.kind), (6, 6, MemberKind::File));
    assert_eq!(a.header_offset + 512, a.offset);
    assert_eq!(index.get(b"b").unwrap().note, 3);
    assert_eq!(index.get(b"d").unwrap().kind, MemberKind::Directory);
    assert_eq!(index.get(b"./a"), None);
    assert_eq!(index.get(b""), None);
    let names: Vec<_> = index.iter().map(|entry| (entry.name, entry.note)).collect();
    assert_eq!(names, [(&b"b"[..], 3), (b"d", 4), (b"a", 6)]);
    let repeated: Vec<_> = index
        .defects()
        .iter()
        .map(|defect| match &defect.kind {
            DefectKind::Repeated { name, first } => (&**name, *first, defect.offset),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(repeated, [(&b"a"[..], 512, 3072), (b"a", 3072, 4096)]);
    assert_eq!(
        index.defects()[0].to_string(),
        "a at byte 3072 is there a second time, first at byte 512"
    );
    assert!(!index.may_lack_members());
    assert_eq!(index.dropped_defects(), 0);
}

#[test]
fn an_index_takes_little_memory() {
    let mut tar = Tar::default();
    for i in 0..3000 {
        tar = tar.file(&format!("masks/mask_{i:07}.png"), b"");
    }
    let tar = tar.end();
    let index = TarIndex::build(&tar, &Limits::DEFAULT, &mut |_| Ok([0_u32; 3])).unwrap();
    assert!(index.memory_bytes() < 3000 * (56 + 22), "{}", index.memory_bytes());
    for i in 0..3000 {
        assert!(index.get(format!("masks/mask_{i:07}.png").as_bytes()).is_some());
    }
    assert_eq!(index.get(b"masks/mask_0003000.png"), None);
    let empty = TarIndex::build(&Vec::new(), &Limits::DEFAULT, &mut |_| Ok(())).unwrap();
    assert!(empty.is_empty() && empty.get(b"a").is_none());
}

/// Counts what is read.
struct Counted(Vec<u8>, AtomicUsize, AtomicUsize);

impl ReadAt for Counted {
    fn len(&self) -> u64 {
        ReadAt::len(&self.0)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read_at(offset, buffer)?;
        self.1.fetch_add(1, Ordering::Relaxed);
        self.2.fetch_add(n, Ordering::Relaxed);
        Ok(n)
    }
}

fn reads(tar: Vec<u8>, members: usize) -> (usize, usize) {
    let file = Counted(tar, AtomicUsize::new(0), AtomicUsize::new(0));
    let index = TarIndex::build(&file, &Limits::DEFAULT, &mut |_| Ok(())).unwrap();
    assert_eq!((index.len(), index.defects()), (members, &[][..]));
    (file.1.into_inner(), file.2.into_inner())
}

#[test]
fn few_and_small_reads_do() {
    let (mut small, mut large, mut long) = (Tar::default(), Tar::default(), Tar::default());
    for i in 0..1000 {
        small = small.file(&i.to_string(), &vec![1; 100 + i * 3]);
    }
    for i in 0..100 {
        large = large.file(&i.to_string(), &[1; 100_000]);
        long = long.long(b'L', &format!("{i}/{}", "n".repeat(200))).file("n", &[1; 100_000]);
    }
    // One read serves the headers of many small members.
    let length = small.0.len();
    let (count, bytes) = reads(small.end(), 1000);
    assert!(count < length / 60_000 + 3 && bytes < length + length / 10, "{count}, {bytes}");
    // Bodies of large members are not read, and one read gives header and head.
    for tar in [large, long] {
        let (count, bytes) = reads(tar.end(), 100);
        assert!(count < 110 && bytes < 100 * 3100 + 200_000, "{count}, {bytes}");
    }
}

#[test]
fn errors_of_reading_and_noting_are_errors() {
    struct Broken(Vec<u8>);
    impl ReadAt for Broken {
        fn len(&self) -> u64 {
            ReadAt::len(&self.0) + 1
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read_at(offset, buffer)
        }
    }
    let tar = Tar::default().file("a", b"1").end();
    let broken = TarIndex::build(&Broken(tar.clone()), &Limits::DEFAULT, &mut |_| Ok(()));
    assert_eq!(broken.err().map(|error| error.kind()), Some(io::ErrorKind::UnexpectedEof));
    let refused = TarIndex::<()>::build(&tar, &Limits::DEFAULT, &mut |_| {
        Err(io::ErrorKind::PermissionDenied.into())
    });
    assert_eq!(refused.err().map(|error| error.kind()), Some(io::ErrorKind::PermissionDenied));
}
