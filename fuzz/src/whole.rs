//! Small trees of any kind, detected, indexed and converted; and catalogs.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::OnceLock;

use diptych::catalog::Catalog;
use diptych::detect::detect;
use diptych::{FORMATS, Request, Silent, SourceRequest};
use tempfile::TempDir;

use crate::LIMITS;
use crate::release::{Files, check, tree};

/// What stands before the name of a file in an input that is a tree.
pub const MARK: &str = "\n=== ";

/// The files that an input stands for: each behind a line of [`MARK`] and its name.
#[must_use]
pub fn files(input: &[u8]) -> Files {
    let mut files = Files::new();
    let mark = MARK.as_bytes();
    let starts = input.windows(mark.len()).enumerate().filter(|(_, window)| *window == mark);
    let starts: Vec<_> = starts.map(|(at, _)| at).collect();
    let ends = starts.iter().copied().skip(1).chain([input.len()]);
    for (start, end) in starts.iter().zip(ends) {
        let part = &input[start + mark.len()..end.max(start + mark.len())];
        let line = part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
        let name = String::from_utf8_lossy(&part[..line]).into_owned();
        files.insert(name, part.get(line + 1..).unwrap_or_default().to_vec());
    }
    files
}

/// A conversion of few threads, into a folder that is thrown away.
fn request(release: &Path, to: &str, out: &Path) -> Request {
    let source = SourceRequest::new(release.to_path_buf());
    let mut request = Request::new(vec![source], to, out);
    request.durable = false;
    request.jobs = NonZeroUsize::MIN;
    request.limits = LIMITS;
    request.limit = Some(100);
    request
}

/// A small tree, from detection to an output whose books balance.
pub(crate) fn convert(input: &[u8]) {
    let files = files(input);
    let tree = tree(&files);
    let Ok((format, _)) = detect(FORMATS, &tree, "fuzz") else { return };
    check(format, &files, &[]);
    let folder = tempfile::tempdir().expect("there is room");
    let (release, out) = (folder.path().join("release"), folder.path().join("out"));
    for (name, bytes) in &files {
        let Ok(path) = diptych::storage::RelPath::new(name) else { continue };
        let path = path.under(&release);
        // A name may be that of a folder too: the tree has then one of both.
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        if made.is_ok() {
            let _ = fs::write(path, bytes);
        }
    }
    let Ok(outcome) = diptych::engine().convert(&request(&release, "webdataset", &out), &Silent)
    else {
        return;
    };
    let book = &outcome.report.total;
    assert_eq!(book.read, book.written + book.filtered_out() + book.rejections());
    // What was written is read again, every pair of it.
    let again = folder.path().join("catalog");
    if book.written > 0 {
        let indexed = diptych::engine().index(&request(&out, "", &again), &Silent);
        let indexed = indexed.expect("what was written can be read");
        assert_eq!((indexed.pairs, indexed.total.rejections()), (book.written, 0));
    }
}

/// A catalog, one of whose files is the input.
pub(crate) fn catalog(input: &[u8]) {
    static BASE: OnceLock<TempDir> = OnceLock::new();
    let base = BASE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("there is room");
        let release =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/bad/pape/missing_mask/release");
        let made = diptych::engine()
            .index(&request(&release, "", &folder.path().join("catalog")), &Silent);
        made.expect("the fixture is a release");
        folder
    });
    let root = base.path().join("catalog");
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    let name = CATALOG[usize::from(*first) % CATALOG.len()];
    let good = fs::read(root.join(name)).expect("a catalog has it");
    fs::write(root.join(name), rest).expect("there is room");
    read_catalog(&root);
    fs::write(root.join(name), good).expect("there is room");
}

/// The files of a catalog of one partition, in the order of an input's first byte.
pub const CATALOG: [&str; 4] =
    ["catalog.json", "files.parquet", "pairs-00000.parquet", "rejections-00000.jsonl"];

fn read_catalog(root: &Path) {
    let Ok(Some(catalog)) = Catalog::open(root) else { return };
    for partition in 0..catalog.head().partitions.len().min(3) {
        if let Ok(pairs) = catalog.pairs(partition, 0, 100) {
            pairs.take(100).for_each(drop);
        }
        if let Ok(rejections) = catalog.rejections(partition) {
            // Behind one that is none there may be no end.
            let whole = rejections.take(100).take_while(Result::is_ok);
            whole.for_each(drop);
        }
    }
}
