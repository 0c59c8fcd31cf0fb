//! Archives that are made to do harm: what stands in them where files should be, what their headers
//! say that is not so, and what is missing of them.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use support::hostile::{Ended, Scene, picture};
use support::made::{Made, archive};
use support::tars::{Tar, header};

/// A sample of a WebDataset shard.
fn sample(tar: Tar, key: &str) -> Tar {
    tar.file(&format!("{key}.source.png"), &picture(1))
        .file(&format!("{key}.target.png"), &picture(2))
        .file(&format!("{key}.txt"), b"do")
}

fn good() -> Tar {
    sample(Tar::default(), "0000")
}

/// What comes of a shard.
fn shard(bytes: Vec<u8>) -> Ended {
    Scene::of([("shard-0.tar", bytes)]).convert(&["-v"])
}

#[test]
fn what_is_no_file_is_told_of_and_costs_only_who_needs_it() {
    for (flag, what) in [
        (b'1', "a link, which is never followed"),
        (b'2', "a link, which is never followed"),
        (b'S', "a sparse file"),
        (b'3', "no regular file"),
        (b'4', "no regular file"),
        (b'6', "no regular file"),
        (b'Z', "no regular file"),
    ] {
        let tar = good().entry(&header(b"1.source.png", flag, 0), b"");
        let tar = tar.file("1.target.png", &picture(3)).file("1.txt", b"do");
        let ended = shard(tar.end());
        ended.with(3).writes(1).rejects(1, "unusable_member", what);
        ended.notices("unusable_members", "1.source.png");
    }
    // What tells of the sample may be a link as well.
    let tar = good().file("1.source.png", &picture(3)).file("1.target.png", &picture(4));
    let tar = tar.entry(&header(b"1.json", b'2', 0), b"");
    shard(tar.end()).with(3).writes(1).rejects(1, "unusable_member", "json: a link");
    // What is called like no part of a sample is none; folders are no loss.
    let mut tar = good();
    for (name, flag) in [("c", b'3'), ("b", b'4'), ("p", b'6'), ("d/", b'5')] {
        tar = tar.entry(&header(name.as_bytes(), flag, 0), b"");
    }
    let ended = shard(tar.end());
    ended.with(0).writes(1).notices("unusable_members", "3 members that are no files, c for one");
}

#[test]
fn links_lead_nowhere() {
    for flag in [b'1', b'2'] {
        for to in ["/etc/passwd", "../../beside/picture.png", "0000.source.png", "1.source.png"] {
            let mut link = header(b"1.source.png", flag, 0);
            link.set_link_name_literal(to).unwrap();
            link.set_cksum();
            let tar = good().entry(&link, b"").file("1.target.png", &picture(3));
            shard(tar.file("1.txt", b"do").end()).with(3).writes(1).rejects(
                1,
                "unusable_member",
                "a link",
            );
        }
    }
}

#[test]
fn names_of_members_lead_nowhere() {
    let long = "n".repeat(4096);
    let names = [
        "../../../etc/x",
        "/etc/x",
        "..",
        "../x",
        "a/../../x",
        "C:\\x",
        "C:x",
        "\\\\host\\share\\x",
        "a\\..\\..\\x",
        "con",
        "aux.x",
        "\u{202e}gnp.exe",
        "\x1b]52;c;aGk=\x07",
        "A",
        "a",
        &long,
    ];
    let mut tar = Tar::default();
    for name in names {
        for (part, body) in [("source.png", picture(1)), ("target.png", picture(2))] {
            let name = format!("{name}/k.{part}");
            tar = tar.pax(b'x', &[("path", name.as_bytes())]).file("short", &body);
        }
    }
    // Not UTF-8.
    for part in ["source.png", "target.png"] {
        let name = [b"\xff\xfe\xc0/k.", part.as_bytes()].concat();
        tar = tar.entry(&header(&name, b'0', 0), b"");
    }
    let ended = shard(tar.end());
    ended.with(3).writes(names.len() as u64 - 1).rejects(1, "empty_picture", "");
    ended.notices("limit", "bytes of a member's name");
}

/// A header's own size is not what counts, where an extended one gives another; and who follows the
/// other finds a member that is none.
#[test]
fn sizes_that_disagree_hide_no_member_and_show_none() {
    let inner = Tar::default().file("9.source.png", &picture(5)).file("9.target.png", &picture(6));
    let inner = inner.0;
    let size = inner.len().to_string();
    for (own, extended) in [(0, size.as_str()), (inner.len() as u64, "0")] {
        let mut tar = good().pax(b'x', &[("size", extended.as_bytes())]);
        tar = tar.entry(&header(b"blob", b'0', own), &inner);
        let tar = sample(tar, "2");
        let ended = shard(tar.end());
        // By PAX the size is that of the extended header (CVE-2025-62518).
        let shown = u64::from(extended == "0");
        ended.writes(2 + shown).with(0);
    }
    // Two sizes, and one that is none: such a member is left out, and what it may hide is told of.
    for records in [
        vec![("size", &b"1"[..]), ("size", &b"2"[..])],
        vec![("size", b"-1")],
        vec![("size", b"9223372036854775808")],
        vec![("size", b"1e3")],
    ] {
        let tar = good().pax(b'x', &records).file("1.source.png", &picture(1));
        let tar = tar.file("1.target.png", &picture(2)).file("1.txt", b"do");
        let ended = shard(tar.end());
        ended.with(3).notices("damaged_header", "size");
        assert_eq!(ended.rejections.len(), 1);
    }
}

/// What a PAX header says is about the member, and not about a long name between them
/// (GHSA-3cv2-h65g-fgmm).
#[test]
fn an_extended_header_before_a_long_name_is_about_the_member() {
    let body = picture(7);
    let inner = Tar::default().file("9.source.png", &picture(5)).0;
    let big = [body.as_slice(), &vec![0; 1024 - body.len() % 512], &inner].concat();
    let size = big.len().to_string();
    let tar = good().pax(b'x', &[("size", size.as_bytes())]);
    let tar = tar.long(b'L', "1.source.png").entry(&header(b"short", b'0', 0), &big);
    let tar = tar.file("1.target.png", &picture(8)).file("1.txt", b"do");
    shard(tar.end()).with(0).writes(2);
    // Two headers that give two names.
    let tar = good().pax(b'x', &[("path", b"1.source.png")]).long(b'L', "1.other.png");
    let tar = tar.file("x", &picture(7)).file("1.target.png", &picture(8)).file("1.txt", b"do");
    let ended = shard(tar.end());
    ended.with(3).writes(1).notices("conflicting_names", "1.source.png and 1.other.png");
}

#[test]
fn sizes_that_no_file_has_are_told_of() {
    let claims = |field: &[u8; 12]| {
        let mut claims = header(b"1.source.png", b'0', 0);
        claims.as_old_mut().size = *field;
        claims.set_cksum();
        good().entry(&claims, &picture(3))
    };
    let cases: [(&[u8; 12], &str); 7] = [
        (b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", "truncated_archive"),
        (b"777777777777", "truncated_archive"),
        (b"00000077777\0", "truncated_archive"),
        (b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", "damaged_header"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "damaged_header"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\0", "damaged_header"),
        (b"-0000001000\0", "damaged_header"),
    ];
    for (field, kind) in cases {
        let ended = shard(claims(field).end());
        ended.with(3).writes(1).notices(kind, "shard-0.tar");
        assert_eq!(ended.rejections.len(), 1, "{field:?}");
    }
}

#[test]
fn a_wrong_checksum_and_a_cut_header_are_rejections() {
    let whole = good().file("1.source.png", &picture(3));
    let at = usize::try_from(good().at()).unwrap();
    let mut wrong = whole.clone().end();
    wrong[at + 3] ^= 1;
    shard(wrong).with(3).writes(1).rejects(1, "damaged_archive", "its checksum is wrong");
    // Cut anywhere in the header of the last member, or behind it.
    for cut in [at + 1, at + 300, at + 511, at + 512, at + 513] {
        let ended = shard(whole.0[..cut].to_vec());
        ended.with(3).writes(1);
        assert_eq!(ended.rejections.len(), 1, "{cut}");
        ended.notices("truncated_archive", "shard-0.tar");
    }
}

#[test]
fn what_is_said_of_all_members_is_not_believed() {
    let records: [(&str, &[u8]); 2] = [("path", b"9.source.png"), ("size", b"1")];
    let tar = sample(good().pax(b'g', &records), "1").pax(b'g', &records);
    shard(tar.end()).with(0).writes(2);
    // Records that do not end, or say that they are longer than they are.
    for body in
        [&b"30 path=1.source.png\n"[..], b"99999999999999999999 path=x\n", b"x", b"7 size\n"]
    {
        let tar = good().entry(&header(b"PaxHeaders/x", b'x', body.len() as u64), body);
        let tar = tar.file("1.source.png", &picture(3)).file("1.target.png", &picture(2));
        let ended = shard(tar.end());
        ended.with(3).writes(1).notices("damaged_header", "malformed");
    }
}

/// Zeros and damage that take no room on the disk.
#[test]
fn an_archive_without_end_ends() {
    let scene = Scene::new();
    let tar = good().end();
    let file = scene.zeros("shard-0.tar", 1 << 42);
    std::os::unix::fs::FileExt::write_all_at(&file, &tar, 0).unwrap();
    let ended = scene.convert(&["--max", "gap-bytes=64MiB"]);
    ended.with(3).writes(1).rejects(1, "damaged_archive", "bytes without a header");
    ended.notices("limit", "67108864");
    // A member of it all is passed over in a step.
    let mut claims = header(b"1.bin", b'0', 0);
    claims.as_old_mut().size = *b"\x80\0\0\0\0\0\x03\xff\0\0\0\0";
    claims.set_cksum();
    let tar = good().entry(&claims, b"").0;
    std::os::unix::fs::FileExt::write_all_at(&file, &tar, 0).unwrap();
    let ended = scene.convert(&["--max", "gap-bytes=8GiB", "--max", "gap-bytes=64MiB"]);
    ended.writes(1);
}

/// Nothing but headers, each of which has something wrong.
#[test]
fn defects_without_end_are_counted() {
    let mut bad = header(b"x", b'0', 0);
    bad.as_old_mut().size = *b"xxxxxxxxxxx\0";
    bad.set_cksum();
    let mut tar = good();
    for _ in 0..2000 {
        tar = tar.entry(&bad, b"").entry(&header(b"y/", b'5', 0), b"");
    }
    let ended = shard(tar.end());
    ended.with(3).writes(1).notices("damaged_archive", "1000 more defects are not listed");
    let listed = ended.report()["notices"].as_array().unwrap().len();
    assert!(listed < 1010, "{listed}");
}

/// The archives of other formats are walked by the same walk: a row whose picture is a link says so.
#[test]
fn rows_that_need_a_link_say_so() {
    let scene = Scene::new();
    Made { samples: 3, per_shard: 3, picture_bytes: 60 }.write(&scene.release());
    let of = "asset_shards/asset-00000-of-00001.tar";
    let bytes = std::fs::read(scene.release().join(of)).unwrap();
    let mut tar = Tar(bytes[..bytes.len() - 1024].to_vec());
    let mut link = header(b"targets/target_0000001.png", b'2', 0);
    link.set_link_name_literal("/etc/passwd").unwrap();
    link.set_cksum();
    tar = tar.entry(&link, b"");
    scene.write(of, &tar.end());
    let ended = scene.convert(&[]);
    ended.with(3).writes(2).rejects(1, "unusable_member", "a link, which is never followed");
    ended.notices("unusable_members", "targets/target_0000001.png");
    // An archive of nothing but a row's own name, again and again.
    let many: Vec<_> =
        (0..5000).map(|_| ("targets/target_0000001.png".to_owned(), Vec::new())).collect();
    scene.write(of, &archive(&many));
    scene.convert(&[]).with(4).rejects(1, "empty_picture", "").notices("repeated_member", "");
}
