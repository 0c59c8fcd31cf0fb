//! Archives in pieces: names into runs, each of which is read as one file.
//!
//! An archive was cut at bytes, `PREFIX.tar.split.000` and so on, all pieces but the last of one
//! length. Where a piece is missing, or one that is not the last is short, the run ends: what
//! follows begins somewhere inside a member, and is read from its first header on. Nothing is
//! padded.

use std::collections::BTreeMap;

use diptych_format::{Notice, Place, Rest, SourceFile};
use diptych_storage::{ReadTree, RelPath};

/// Bytes of a block of a tar.
const BLOCK: u64 = 512;

/// An archive of a copy: whole, in pieces, or with pieces missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Archive {
    /// Its path without `.tar` and what follows.
    pub(crate) path: String,
    /// What of it can be read as one file, in order.
    pub(crate) runs: Vec<SourceFile>,
    /// What is missing between them and before them, in order.
    pub(crate) gaps: Vec<Gap>,
    /// Pieces that are here; 0 for one that was not cut.
    pub(crate) pieces: u64,
    /// Number and length of the last piece.
    pub(crate) last: Option<(u64, u64)>,
    /// Length of all pieces but the last, where that is known.
    pub(crate) common: Option<u64>,
    /// How wide the numbers of the pieces are written.
    width: usize,
}

/// What is missing of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    /// How many runs are before it.
    pub(crate) after: usize,
    /// The piece in which it begins.
    pub(crate) piece: String,
    /// Where in that piece it begins: behind what is there of it.
    pub(crate) offset: u64,
    /// What is wrong: a fragment.
    pub(crate) what: String,
}

#[derive(Debug, Clone)]
struct Piece {
    path: RelPath,
    number: u64,
    length: u64,
}

impl Archive {
    fn new(path: String, width: usize) -> Self {
        let (runs, gaps) = (Vec::new(), Vec::new());
        Self { path, runs, gaps, pieces: 0, last: None, common: None, width }
    }

    /// The last component of its path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// What a piece of it is called.
    pub(crate) fn piece(&self, number: u64) -> String {
        let width = self.width;
        format!("{}.tar.split.{number:0width$}", self.path)
    }

    /// What its files are called, for messages.
    pub(crate) fn files(&self) -> String {
        match self.pieces {
            0 => format!("{}.tar", self.path),
            _ => format!("{}.tar.split.*", self.path),
        }
    }
}

/// The archive's path and the piece's number, where a file is a piece; the number is `None` for an
/// archive that was not cut.
pub(crate) fn parse(path: &str) -> Option<(&str, Option<u64>)> {
    if let Some(prefix) = path.strip_suffix(".tar") {
        return Some((prefix, None)).filter(|(prefix, _)| !prefix.is_empty());
    }
    let (prefix, number) = path.rsplit_once(".tar.split.")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|_| is_number)?;
    Some((prefix, Some(number))).filter(|(prefix, _)| !prefix.is_empty() && !prefix.ends_with('/'))
}

/// The archives of a copy in the order of their paths, and what was noticed of their pieces.
pub(crate) fn archives(
    tree: &dyn ReadTree,
    label: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> (Vec<Archive>, Vec<Notice>) {
    let mut whole = BTreeMap::new();
    let mut cut: BTreeMap<&str, Vec<Piece>> = BTreeMap::new();
    for entry in tree.list().iter().filter(|entry| is_wanted(entry.path.as_str())) {
        let Some((prefix, number)) = parse(entry.path.as_str()) else { continue };
        match number {
            None => {
                whole.insert(prefix, entry.path.clone());
            }
            Some(number) => {
                let piece = Piece { path: entry.path.clone(), number, length: entry.length };
                cut.entry(prefix).or_default().push(piece);
            }
        }
    }
    let mut notices = Vec::new();
    let mut found = BTreeMap::new();
    for (prefix, pieces) in cut {
        let mut notice = |kind: &str, file: &str, detail: String| {
            let at = Place::file(label, file);
            notices.push(Notice { kind: kind.to_owned(), at, detail });
        };
        if let Some(path) = whole.get(prefix) {
            for piece in pieces {
                let detail = format!("not read, since {path} is the whole archive");
                notice("shadowed_piece", piece.path.as_str(), detail);
            }
            continue;
        }
        found.insert(prefix, join(prefix, pieces, &mut notice));
    }
    for (prefix, path) in whole {
        let (path, runs) = (prefix.to_owned(), vec![SourceFile::new(vec![path])]);
        found.insert(prefix, Archive { runs, ..Archive::new(path, 0) });
    }
    (found.into_values().collect(), notices)
}

/// Puts pieces in order and cuts them into runs.
fn join(
    prefix: &str,
    mut pieces: Vec<Piece>,
    notice: &mut dyn FnMut(&str, &str, String),
) -> Archive {
    let by_name: Vec<_> = pieces.iter().map(|piece| piece.number).collect();
    pieces.sort_by(|a, b| (a.number, &a.path).cmp(&(b.number, &b.path)));
    let digits = |piece: &Piece| piece.path.as_str().len() - prefix.len() - ".tar.split.".len();
    let width = pieces.iter().map(digits).min().unwrap_or(0);
    let path = prefix.to_owned();
    let mut archive = Archive { pieces: pieces.len() as u64, ..Archive::new(path, width) };
    if !by_name.is_sorted() {
        let detail = "their order by name is not that of their numbers, which counts".to_owned();
        notice("piece_order", &archive.files(), detail);
    }
    pieces.dedup_by(|later, first| {
        let is_same = later.number == first.number;
        if is_same {
            let detail = format!("not read, since {} has the same number", first.path);
            notice("shadowed_piece", later.path.as_str(), detail);
        }
        is_same
    });
    archive.pieces = pieces.len() as u64;
    let common = common_length(&pieces);
    let last = pieces.last().map_or(0, |piece| piece.number);
    archive.last = pieces.last().map(|piece| (piece.number, piece.length));
    archive.common = common;
    let total: u64 = pieces.iter().map(|piece| piece.length).fold(0, u64::saturating_add);
    let mut expected = 0;
    let mut rest = None;
    let mut run = Vec::new();
    for Piece { path, number, length } in pieces {
        if number > expected {
            archive.close(&mut run, &mut rest);
            let (piece, what) = (archive.piece(expected), absent(&archive, expected, number));
            notice("missing_piece", &piece, what.clone());
            archive.lack(piece, 0, what);
            rest = Some(Rest { border: border(common, number) });
        }
        expected = number.saturating_add(1);
        run.push(path.clone());
        let Some(common) = common.filter(|common| *common != length && number < last) else {
            continue;
        };
        let detail = format!("{length} bytes, the others have {common}");
        if length > common {
            notice("long_piece", path.as_str(), detail);
            continue;
        }
        notice("short_piece", path.as_str(), detail);
        archive.close(&mut run, &mut rest);
        let what = format!("{path} has {length} bytes, the others have {common}");
        archive.lack(path.to_string(), length, what);
        rest = Some(Rest { border: border(Some(common), expected) });
    }
    archive.close(&mut run, &mut rest);
    if archive.gaps.is_empty() && !total.is_multiple_of(BLOCK) {
        let detail = format!("{total} bytes in all, which is no multiple of {BLOCK}");
        notice("odd_length", &archive.files(), detail);
    }
    archive
}

impl Archive {
    /// Ends a run.
    fn close(&mut self, run: &mut Vec<RelPath>, rest: &mut Option<Rest>) {
        if !run.is_empty() {
            let pieces = std::mem::take(run);
            self.runs.push(SourceFile { pieces, rest: rest.take() });
        }
    }

    /// Notes that something is missing behind the last run.
    fn lack(&mut self, piece: String, offset: u64, what: String) {
        let after = self.runs.len();
        match self.gaps.last_mut() {
            // A piece is missing right behind a short one.
            Some(gap) if gap.after == after => gap.what = format!("{}; {what}", gap.what),
            _ => self.gaps.push(Gap { after, piece, offset, what }),
        }
    }
}

/// Says which pieces are not there.
fn absent(archive: &Archive, from: u64, to: u64) -> String {
    let first = archive.piece(from);
    match to - from {
        1 => format!("{first} is not there"),
        many => format!("{first} and {} more up to number {} are not there", many - 1, to - 1),
    }
}

/// The length that most pieces have; of two that are as frequent the longer. The last piece alone
/// does not tell.
fn common_length(pieces: &[Piece]) -> Option<u64> {
    let mut lengths: BTreeMap<u64, usize> = BTreeMap::new();
    for piece in pieces {
        *lengths.entry(piece.length).or_default() += 1;
    }
    let most = lengths.into_iter().max_by_key(|(length, count)| (*count, *length));
    most.map(|(length, _)| length).filter(|length| *length > 0 && pieces.len() > 1)
}

/// Where in the piece `number` the first block begins: all pieces before it have one length.
fn border(common: Option<u64>, number: u64) -> Option<u64> {
    let start = u128::from(common?) * u128::from(number) % u128::from(BLOCK);
    Some((BLOCK - u64::try_from(start).ok()?) % BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_storage::MemoryTree;

    fn found(files: &[(&str, usize)]) -> (Vec<Archive>, Vec<String>) {
        let files = files.iter().map(|(name, n)| (RelPath::new(name).unwrap(), vec![0; *n]));
        let (archives, notices) = archives(&MemoryTree::new(files), "L", |_| true);
        let told = notices.iter().map(|n| format!("{}: {}: {}", n.kind, n.at, n.detail)).collect();
        (archives, told)
    }

    fn runs(archive: &Archive) -> Vec<(Vec<&str>, Option<Option<u64>>)> {
        let each = archive.runs.iter().map(|run| {
            let numbers = run.pieces.iter().map(|p| p.as_str().rsplit('.').next().unwrap());
            (numbers.collect(), run.rest.map(|rest| rest.border))
        });
        each.collect()
    }

    fn only(files: &[(&str, usize)]) -> (Archive, Vec<String>) {
        let (mut archives, told) = found(files);
        assert_eq!(archives.len(), 1);
        (archives.pop().unwrap(), told)
    }

    #[test]
    fn names_of_pieces_are_read_at_any_width() {
        assert_eq!(parse("S/a.tar.split.000"), Some(("S/a", Some(0))));
        assert_eq!(parse("a.b.tar.split.0012"), Some(("a.b", Some(12))));
        assert_eq!(parse("a.tar.split.7"), Some(("a", Some(7))));
        assert_eq!(parse("S/a.tar"), Some(("S/a", None)));
        for other in [
            "a.tar.split.",
            "a.tar.split.0x",
            "a.tar.split.+1",
            ".tar",
            "a.tgz",
            "a.tar.split.000.part",
            "S/.tar.split.000",
            "a.split.000",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
        assert_eq!(parse("a.tar.split.99999999999999999999"), None);
    }

    #[test]
    fn whole_pieces_are_one_run_in_the_order_of_their_numbers() {
        let (archive, told) =
            only(&[("a.tar.split.000", 512), ("a.tar.split.001", 512), ("a.tar.split.002", 512)]);
        assert_eq!(runs(&archive), [(vec!["000", "001", "002"], None)]);
        assert_eq!((archive.pieces, archive.gaps.len(), told), (3, 0, vec![]));
        assert_eq!(archive.piece(7), "a.tar.split.007");
        let (archive, told) = only(&[
            ("a.tar.split.0", 512),
            ("a.tar.split.1", 512),
            ("a.tar.split.10", 512),
            ("a.tar.split.2", 512),
            ("a.tar.split.3", 512),
            ("a.tar.split.4", 512),
            ("a.tar.split.5", 512),
            ("a.tar.split.6", 512),
            ("a.tar.split.7", 512),
            ("a.tar.split.8", 512),
            ("a.tar.split.9", 512),
        ]);
        assert_eq!(archive.runs.len(), 1);
        assert_eq!(archive.runs[0].pieces[10].as_str(), "a.tar.split.10");
        assert_eq!(
            told,
            ["piece_order: L/a.tar.split.*: their order by name is not that of \
                           their numbers, which counts"]
        );
        let (_, told) = only(&[("a.tar.split.000", 512), ("a.tar.split.001", 100)]);
        assert_eq!(
            told,
            ["odd_length: L/a.tar.split.*: 612 bytes in all, which is no multiple of 512"]
        );
    }

    #[test]
    fn a_run_ends_where_a_piece_is_missing_or_short() {
        let (archive, told) = only(&[
            ("a.tar.split.001", 700),
            ("a.tar.split.002", 700),
            ("a.tar.split.005", 700),
            ("a.tar.split.006", 3),
        ]);
        let border = |start: u64| Some(Some((512 - start % 512) % 512));
        assert_eq!(
            runs(&archive),
            [(vec!["001", "002"], border(700)), (vec!["005", "006"], border(3500)),]
        );
        let gaps: Vec<_> = archive.gaps.iter().map(|g| (g.after, g.piece.as_str())).collect();
        assert_eq!(gaps, [(0, "a.tar.split.000"), (1, "a.tar.split.003")]);
        assert_eq!(
            told,
            [
                "missing_piece: L/a.tar.split.000: a.tar.split.000 is not there",
                "missing_piece: L/a.tar.split.003: a.tar.split.003 and 1 more up to number 4 are \
             not there",
            ]
        );
        let (archive, told) = only(&[
            ("a.tar.split.00", 700),
            ("a.tar.split.01", 20),
            ("a.tar.split.02", 700),
            ("a.tar.split.03", 3),
        ]);
        assert_eq!(runs(&archive), [(vec!["00", "01"], None), (vec!["02", "03"], border(1400))]);
        assert_eq!(
            archive.gaps,
            [Gap {
                after: 1,
                piece: "a.tar.split.01".to_owned(),
                offset: 20,
                what: "a.tar.split.01 has 20 bytes, the others have 700".to_owned(),
            }]
        );
        assert_eq!(told, ["short_piece: L/a.tar.split.01: 20 bytes, the others have 700"]);
        // The last piece alone does not tell how long the others were.
        let (archive, _) = only(&[("a.tar.split.001", 300)]);
        assert_eq!(runs(&archive), [(vec!["001"], Some(None))]);
        // Of two, the longer is whole.
        let (archive, _) = only(&[("a.tar.split.000", 20), ("a.tar.split.001", 700)]);
        assert_eq!(runs(&archive), [(vec!["000"], None), (vec!["001"], border(700))]);
        // A piece missing behind a short one is the same gap.
        let (archive, _) = only(&[("a.tar.split.000", 20), ("a.tar.split.002", 700)]);
        assert_eq!((archive.runs.len(), archive.gaps.len()), (2, 1));
        assert!(archive.gaps[0].what.ends_with("; a.tar.split.001 is not there"));
    }

    #[test]
    fn an_archive_is_taken_once() {
        let (archives, told) = found(&[
            ("a.tar", 5),
            ("a.tar.split.000", 5),
            ("b.tar.split.0", 512),
            ("b.tar.split.000", 512),
            ("notes.txt", 5),
        ]);
        let paths: Vec<_> =
            archives.iter().map(|a| (a.path.as_str(), a.runs[0].pieces[0].as_str())).collect();
        assert_eq!(paths, [("a", "a.tar"), ("b", "b.tar.split.0")]);
        assert_eq!(
            told,
            [
                "shadowed_piece: L/a.tar.split.000: not read, since a.tar is the whole archive",
                "shadowed_piece: L/b.tar.split.000: not read, since b.tar.split.0 has the same number",
            ]
        );
    }
}
