//! Files are staged, copied and moved as they should be.

use super::*;
use crate::read::Pieces;
use std::sync::Arc;

fn path(name: &str) -> RelPath {
    RelPath::new(name).unwrap()
}

fn local(dir: &Path, name: &str, bytes: &[u8]) -> crate::read::LocalFile {
    fs::write(dir.join(name), bytes).unwrap();
    crate::read::LocalFile::new(File::open(dir.join(name)).unwrap()).unwrap()
}

#[test]
fn bytes_and_ranges_come_out_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = local(dir.path(), "in", &data);
    let (a, b) = data.split_at(700_001);
    let pieces =
        Pieces::new(vec![Arc::new(local(dir.path(), "a", a)), Arc::new(local(dir.path(), "b", b))]);
    for durable in [false, true] {
        let out = LocalOutput::new(&dir.path().join("out"), durable);
        let mut staged = out.stage(&path("x/y.part")).unwrap();
        staged.reserve(if durable { 9_000_000 } else { 10 });
        let mut expected = Vec::new();
        let cases: [(&dyn ReadAt, u64, u64); 6] = [
            (&file, 7, 1_000_003),
            (&data, 0, 1_200_000),
            (&file, 100, 20),
            (&pieces, 600_001, 200_000),
            (&pieces, 0, 1_200_000),
            (&file, 1_200_000, 0),
        ];
        for (from, offset, length) in cases {
            staged.write(b"between").unwrap();
            expected.extend_from_slice(b"between");
            staged.copy_range(from, offset, length).unwrap();
            let number = |n| usize::try_from(n).unwrap();
            let (offset, length) = (number(offset), number(length));
            expected.extend_from_slice(&data[offset..offset + length]);
            assert_eq!(staged.position(), expected.len() as u64);
        }
        staged.write(&data).unwrap();
        expected.extend_from_slice(&data);
        assert_eq!(staged.close().unwrap(), expected.len() as u64);
        assert!(!out.exists(&path("done/y")).unwrap());
        out.publish(&path("x/y.part"), &path("done/y")).unwrap();
        assert!(!out.exists(&path("x/y.part")).unwrap());
        assert_eq!(out.read(&path("done/y")).unwrap().unwrap(), expected);
        out.remove(&path("done")).unwrap();
        out.remove(&path("done")).unwrap();
        assert_eq!(out.read(&path("done/y")).unwrap(), None);
    }
}

#[test]
fn a_folder_is_moved_to_where_another_is() {
    for durable in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let out = LocalOutput::new(dir.path(), durable);
        let put = |name: &str| out.put(&path(name), name.as_bytes()).unwrap();
        ["1/a/0/x", "1/a/1/x", "2/a/1/y", "2/a/2/x", "3/a/1/x"].into_iter().for_each(put);
        for from in ["1/a", "2/a", "3/a"] {
            out.merge(&path(from), &path("to/b/a")).unwrap();
            assert!(!out.exists(&path(from)).unwrap());
        }
        let read = |name: &str| out.read(&path(name)).unwrap();
        let found = ["0/x", "1/x", "1/y", "2/x"].map(|name| read(&format!("to/b/a/{name}")));
        let wanted = ["1/a/0/x", "3/a/1/x", "2/a/1/y", "2/a/2/x"];
        assert_eq!(found, wanted.map(|text| Some(text.as_bytes().to_vec())));
        assert!(out.merge(&path("1/a"), &path("to/b/a")).is_err());
    }
}

#[test]
fn a_small_file_makes_its_folders() {
    let dir = tempfile::tempdir().unwrap();
    let out = LocalOutput::new(dir.path(), false);
    for name in ["a/b/c", "a/b/d"] {
        let mut file = out.stage_small(&path(name), 1).unwrap();
        file.write(b"x").unwrap();
        file.close().unwrap();
        out.publish_small(&path(name), &path(&format!("z/{name}"))).unwrap();
        assert_eq!(out.read(&path(&format!("z/{name}"))).unwrap().unwrap(), b"x");
    }
    assert!(out.publish_small(&path("a/none"), &path("y/none")).is_err());
}

/// Where the file system can, blocks are shared; what is in the files is the same everywhere.
#[test]
fn a_whole_file_is_copied_whether_its_blocks_are_shared_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = local(dir.path(), "in", &data);
    let out = LocalOutput::new(&dir.path().join("out"), false);
    for small in [false, true] {
        let mut staged = match small {
            true => out.stage_small(&path("y"), 7).unwrap(),
            false => out.stage(&path("y")).unwrap(),
        };
        staged.copy_range(&file, 0, 800_000).unwrap();
        assert_eq!(staged.position(), 800_000);
        staged.write(b"behind").unwrap();
        staged.copy_range(&file, 0, 800_000).unwrap();
        assert_eq!(staged.close().unwrap(), 1_600_006);
        let whole = [data.as_slice(), b"behind", &data].concat();
        assert_eq!(out.read(&path("y")).unwrap().unwrap(), whole);
    }
    // What was appended after it was opened is not copied.
    fs::write(dir.path().join("in"), [data.as_slice(), b"more"].concat()).unwrap();
    let mut staged = out.stage(&path("z")).unwrap();
    staged.copy_range(&file, 0, 800_000).unwrap();
    assert_eq!(staged.close().unwrap(), 800_000);
}

#[test]
fn a_range_that_is_not_there_is_the_readers_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = local(dir.path(), "in", &[7; 100_000]);
    let out = LocalOutput::new(&dir.path().join("out"), false);
    let mut staged = out.stage(&path("y")).unwrap();
    for length in [100, 60_000] {
        let error = staged.copy_range(&file, 99_999, length).unwrap_err();
        let OutputError::Read { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn one_lock_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("work/lock");
    let first = Lock::take(&at).unwrap();
    assert!(first.is_some());
    assert!(Lock::take(&at).unwrap().is_none());
    drop(first);
    assert!(Lock::take(&at).unwrap().is_some());
}
