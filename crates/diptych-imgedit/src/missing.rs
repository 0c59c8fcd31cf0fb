//! Why a picture is not found.

use diptych_format::FormatError;
use diptych_format::archives::{Archives, PictureFault};
use diptych_storage::tar::DefectKind;
use diptych_storage::text::printable;

use crate::groups::{Group, Stem};
use crate::layout::Partition;
use crate::paths::split_last;
use crate::pictures::Place;
use crate::tops::Tops;

/// What was tried: an archive, its folders, and the names that were looked for in it.
type Tried<'a> = (&'a Place, &'a Tops, Vec<String>);

/// A name that is no path.
pub(crate) fn no_path(path: &str, why: &str) -> PictureFault {
    PictureFault {
        kind: "invalid_path",
        cause: format!("{}: {why}", printable(path.as_bytes())),
        file: None,
        member: path.to_owned(),
        offset: None,
    }
}

/// Why there is no picture of that name in what was tried.
///
/// # Errors
/// Where an archive cannot be read.
pub(crate) fn fault(
    archives: &Archives,
    partition: &Partition,
    path: &str,
    usual: &str,
    tried: &[Tried<'_>],
) -> Result<PictureFault, FormatError> {
    let mut fault = match tried {
        [] => no_archive(partition, path),
        [first, ..] => {
            let mut fault = None;
            for tried in tried {
                let said = cut(archives, tried, path)?.or_else(|| escaped(tried, path, usual));
                fault = fault.or(said);
            }
            match fault {
                Some(fault) => fault,
                None => absent(archives, first, path, usual)?,
            }
        }
    };
    if partition.is_withdrawn() {
        fault.cause.push_str(
            "; this file was published with pictures that are in no archive, and withdrawn: \
             hybrid_part* took its place",
        );
    } else if let Some(stem) = partition.known.filter(|stem| stem.lost > 0) {
        let all = stem.rows * stem.pairs_each;
        let said = format!("; of the {all} edits of {}, {} have none", stem.name, stem.lost);
        fault.cause.push_str(&said);
    }
    Ok(fault)
}

fn no_archive(partition: &Partition, path: &str) -> PictureFault {
    let of_path = path.rsplit(['/', '\\']).find_map(Group::of_folder);
    let group = of_path.or_else(|| partition.known.and_then(Stem::group));
    let file = group.map(|group| format!("{}/{}.tar", group.folder, group.name));
    let what = match &file {
        Some(file) => format!("neither {file}.split.* nor a folder of its pictures is there"),
        None => "there is no archive and no folder of such pictures".to_owned(),
    };
    PictureFault {
        kind: "missing_archive",
        cause: format!("{}: {what}", printable(path.as_bytes())),
        file,
        member: path.to_owned(),
        offset: None,
    }
}

/// A picture that is or may be where a piece is missing or too short.
pub(crate) fn cut(
    archives: &Archives,
    (place, _, names): &Tried<'_>,
    path: &str,
) -> Result<Option<PictureFault>, FormatError> {
    let archive = &place.archive;
    if archive.pieces == 0 {
        return Ok(None);
    }
    let missing = |piece: &str, offset: u64, cause: String| {
        Some(PictureFault {
            kind: "missing_piece",
            cause: format!("{}: {cause}", printable(path.as_bytes())),
            file: Some(piece.to_owned()),
            member: path.to_owned(),
            offset: Some(offset),
        })
    };
    let gap_after = |run: usize| archive.gaps.iter().find(|gap| gap.after == run);
    let mut end = None;
    for (run, number) in (1..).zip(place.runs()) {
        let index = archives.index(number)?;
        for defect in index.defects() {
            let is_end =
                matches!(defect.kind, DefectKind::Truncated { .. } | DefectKind::NoEndBlocks);
            let is_it = match &defect.kind {
                DefectKind::Truncated { name, .. } => {
                    names.iter().any(|wanted| wanted.as_bytes() == name.as_ref())
                }
                _ => false,
            };
            if is_it && let Some(gap) = gap_after(run) {
                let (file, at) = archives.at(number, defect.offset);
                let cause = format!("it begins at byte {at} of {file}, and {}", gap.what);
                return Ok(missing(&gap.piece, gap.offset, cause));
            }
            if is_end && run == archive.runs.len() {
                end = Some((number, defect.clone(), is_it));
            }
        }
    }
    // What ends the last piece that is there, where it is not the end of the archive.
    if let Some((number, defect, is_it)) = &end
        && (*is_it || archive.gaps.is_empty())
    {
        let (piece, offset, what) = archives_end(archives, place, *number);
        let (file, at) = archives.at(*number, defect.offset);
        let cause = match is_it {
            true => format!("it begins at byte {at} of {file}, and {what}"),
            false => format!("not in what is there, and {what}"),
        };
        return Ok(missing(&piece, offset, cause));
    }
    let Some(first) = archive.gaps.first() else { return Ok(None) };
    let all: Vec<_> = archive.gaps.iter().map(|gap| gap.what.as_str()).collect();
    let cause = format!("not in what is there, and {}", all.join("; "));
    Ok(missing(&first.piece, first.offset, cause))
}

/// Where an archive that goes on behind its last piece goes on: the piece, the place in it, and
/// what is wrong.
fn archives_end(archives: &Archives, place: &Place, number: u32) -> (String, u64, String) {
    let archive = &place.archive;
    let published = Group::named(archive.name()).map(|group| group.pieces);
    let (last, length) = match archive.last {
        Some((number, length)) => (number, length),
        None => (0, 0),
    };
    let next = archive.piece(last.saturating_add(1));
    let goes_on = published.is_some_and(|pieces| last.saturating_add(1) < pieces);
    if goes_on || archive.common == Some(length) {
        let what = format!("{next} is not there");
        return (next, 0, what);
    }
    let piece = archive.piece(last);
    let path = archives.files().get(number as usize).and_then(|file| file.pieces.last());
    let piece = path.map_or(piece, ToString::to_string);
    let what = format!("{piece} ends at byte {length} before the archive does");
    (piece, length, what)
}

/// A member that would be it, if its name did not lead out of the archive.
fn escaped((place, tops, _): &Tried<'_>, path: &str, usual: &str) -> Option<PictureFault> {
    let rest = split_last(usual, 2).map_or(usual, |(_, rest)| rest);
    let member = printable(tops.escaping(rest)?.as_bytes()).to_string();
    let shown = printable(path.as_bytes());
    Some(PictureFault {
        kind: "unusable_member",
        cause: format!("{shown}: the member {member} leads out of the archive"),
        file: place
            .archive
            .runs
            .first()
            .and_then(|run| run.pieces.first())
            .map(ToString::to_string),
        member: path.to_owned(),
        offset: None,
    })
}

/// A picture that is simply not there.
fn absent(
    archives: &Archives,
    (place, tops, names): &Tried<'_>,
    path: &str,
    usual: &str,
) -> Result<PictureFault, FormatError> {
    let wanted = names.first().map_or(usual, String::as_str);
    let Some(run) = place.runs().last() else {
        return Ok(no_path(path, "nothing of its archive is there"));
    };
    let index = archives.index(run)?;
    let mut fault = archives.absent(path, tops.member(wanted), run, &index);
    if fault.kind == "missing_member" {
        let files = place.archive.files();
        fault.cause = format!("{}: not in {files}", printable(path.as_bytes()));
    }
    Ok(fault)
}
