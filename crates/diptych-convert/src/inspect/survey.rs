//! What is in the pairs of a release.

use std::collections::BTreeMap;

use diptych_format::{Facet, Published, Rejection};
use diptych_schema::{EditPair, MaskPart, Picture};
use serde::{Serialize, Serializer};

use super::counts::{Counts, Lengths};

/// Kinds of problems, each by its file, that are told apart.
const PROBLEMS: usize = 1_000;
/// Names of scores that are told apart.
const SCORES: usize = 1_000;

/// What is in the pairs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Survey {
    /// `split`.
    pub splits: Counts,
    /// `edit_type`.
    pub edit_types: Counts,
    /// `language`.
    pub languages: Counts,
    /// `editor`.
    pub editors: Counts,
    /// `subset`.
    pub subsets: Counts,
    /// `licence`.
    pub licences: Counts,
    /// Characters of the instructions that there are.
    pub instruction_characters: Lengths,
    /// Pairs without an instruction.
    pub without_instruction: u64,
    /// Sessions, and the pairs in them.
    pub sessions: Gathered,
    /// Groups, and the pairs in them.
    pub groups: Gathered,
    /// The pictures before.
    pub source: Pictures,
    /// Further input pictures.
    pub references: Pictures,
    /// The pictures after.
    pub target: Pictures,
    /// The pictures that masks are made of.
    pub mask: Pictures,
    /// Whether source and target have one size.
    pub sizes_of_source_and_target: Sizes,
    /// Whose grid masks are on; none where there is no mask.
    pub mask_grids: Counts,
    /// Where masks come from; none where there is no mask.
    pub mask_origins: Counts,
    /// How boxes lie in their frames; none where there is no box.
    pub boxes: Counts,
    /// Frames that boxes are in, as `WIDTHxHEIGHT`; none where there is no box.
    pub box_frames: Counts,
    /// Names of labels: in how many pairs each is.
    pub labels: Counts,
    /// Scores, by name.
    #[serde(serialize_with = "scores_in_a_list")]
    pub scores: BTreeMap<String, Scores>,
}

/// Pictures in one role. A picture that several pairs use counts in each.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Pictures {
    /// How many.
    pub count: u64,
    /// Their bytes, where addresses say.
    pub bytes: u64,
    /// Types by their first bytes; none where they were not looked at.
    pub types: Counts,
    /// Sizes as `WIDTHxHEIGHT`; none where headers were not looked at.
    pub sizes: Counts,
    /// Width and height of the one with the fewest pixels.
    pub smallest: Option<(u32, u32)>,
    /// Width and height of the one with the most pixels.
    pub largest: Option<(u32, u32)>,
}

/// Pairs that belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Gathered {
    /// How many sessions or groups.
    pub count: u64,
    /// Pairs in them.
    pub pairs: u64,
    /// Pairs in the largest.
    pub most_pairs: u64,
    #[serde(skip)]
    last: Option<String>,
    #[serde(skip)]
    in_last: u64,
}

/// Whether two pictures of a pair have one size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Pairs in which they have.
    pub same: u64,
    /// Pairs in which they have not.
    pub different: u64,
    /// Pairs of which it is not known.
    pub unknown: u64,
}

/// Names out of a release are values, not keys.
fn scores_in_a_list<S: Serializer>(
    scores: &BTreeMap<String, Scores>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Named<'a> {
        name: &'a str,
        #[serde(flatten)]
        of: Scores,
    }
    serializer.collect_seq(scores.iter().map(|(name, of)| Named { name, of: *of }))
}

/// A score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scores {
    /// Pairs that have it.
    pub count: u64,
    /// The lowest.
    pub least: f64,
    /// The sum over the count.
    pub mean: f64,
    /// The highest.
    pub most: f64,
}

impl Survey {
    /// A survey that counts what was published in any case.
    pub(crate) fn of(published: &'static [Published]) -> Self {
        let mut survey = Self::default();
        for facet in [Facet::EditType, Facet::Language, Facet::Subset, Facet::Editor] {
            let of_it = published.iter().filter(|published| published.facet == facet);
            survey.facet_mut(facet).expect(of_it.map(|published| published.value));
        }
        survey
    }

    /// The counts by which pairs of a kind are published.
    pub(crate) fn facet(&self, facet: Facet) -> &Counts {
        match facet {
            Facet::EditType => &self.edit_types,
            Facet::Language => &self.languages,
            Facet::Subset => &self.subsets,
            Facet::Editor => &self.editors,
        }
    }

    fn facet_mut(&mut self, facet: Facet) -> &mut Counts {
        match facet {
            Facet::EditType => &mut self.edit_types,
            Facet::Language => &mut self.languages,
            Facet::Subset => &mut self.subsets,
            Facet::Editor => &mut self.editors,
        }
    }

    pub(crate) fn add(&mut self, pair: &EditPair) {
        self.splits.add(pair.split.map(diptych_schema::Split::word));
        self.edit_types.add(pair.edit_type.as_deref());
        self.languages.add(pair.language.as_deref());
        self.editors.add(pair.editor.as_deref());
        self.subsets.add(pair.subset.as_deref());
        self.licences.add(pair.licence.as_deref());
        match &pair.instruction {
            Some(text) => self.instruction_characters.add(text.chars().count()),
            None => self.without_instruction += 1,
        }
        self.sessions.add(pair.session_id.as_deref());
        self.groups.add(pair.group_id.as_deref());
        self.source.add(&pair.source);
        pair.references.iter().for_each(|reference| self.references.add(&reference.picture));
        pair.target.iter().for_each(|target| self.target.add(target));
        let sizes = pair.source.size().zip(pair.target.as_ref().and_then(Picture::size));
        match sizes {
            None => self.sizes_of_source_and_target.unknown += 1,
            Some((source, target)) if source == target => self.sizes_of_source_and_target.same += 1,
            Some(_) => self.sizes_of_source_and_target.different += 1,
        }
        let mask = pair.mask.as_ref();
        self.mask_grids.add(mask.map(|mask| mask.grid.word()));
        self.mask_origins.add(mask.map(|mask| mask.origin.word()));
        for part in mask.iter().flat_map(|mask| &mask.parts) {
            if let MaskPart::Picture(picture) = part {
                self.mask.add(picture);
            }
        }
        let edit_box = pair.edit_box.as_ref();
        self.boxes.add(edit_box.map(|of| of.status.word()));
        let frame = edit_box.map(|of| size_text(of.frame_width, of.frame_height));
        self.box_frames.add(frame.as_deref());
        pair.labels.iter().for_each(|label| self.labels.add(Some(&label.name)));
        // One that an output had as null is no number.
        for score in pair.scores.iter().filter(|score| score.value.is_finite()) {
            let of = Scores { count: 1, least: score.value, mean: score.value, most: score.value };
            self.add_score(&score.name, of);
        }
    }

    fn add_score(&mut self, name: &str, of: Scores) {
        let room = self.scores.len() < SCORES;
        match self.scores.get_mut(name) {
            Some(known) => known.merge(of),
            None if room => {
                self.scores.insert(name.to_owned(), of);
            }
            None => {}
        }
    }

    /// Adds what was found in the pairs that follow.
    pub(crate) fn merge(&mut self, next: &Self) {
        self.splits.merge(&next.splits);
        self.edit_types.merge(&next.edit_types);
        self.languages.merge(&next.languages);
        self.editors.merge(&next.editors);
        self.subsets.merge(&next.subsets);
        self.licences.merge(&next.licences);
        self.instruction_characters.merge(&next.instruction_characters);
        self.without_instruction += next.without_instruction;
        self.sessions.merge(&next.sessions);
        self.groups.merge(&next.groups);
        self.source.merge(&next.source);
        self.references.merge(&next.references);
        self.target.merge(&next.target);
        self.mask.merge(&next.mask);
        self.sizes_of_source_and_target.merge(next.sizes_of_source_and_target);
        self.mask_grids.merge(&next.mask_grids);
        self.mask_origins.merge(&next.mask_origins);
        self.boxes.merge(&next.boxes);
        self.box_frames.merge(&next.box_frames);
        self.labels.merge(&next.labels);
        next.scores.iter().for_each(|(name, of)| self.add_score(name, *of));
    }
}

fn size_text(width: u32, height: u32) -> String {
    format!("{width}x{height}")
}

impl Pictures {
    fn add(&mut self, picture: &Picture) {
        self.count += 1;
        self.bytes += picture.address.length().unwrap_or(0);
        self.types.add(picture.media_type.map(diptych_schema::MediaType::name));
        let text = picture.size().map(|(width, height)| size_text(width, height));
        self.sizes.add(text.as_deref());
        self.span(picture.size(), picture.size());
    }

    fn span(&mut self, smallest: Option<(u32, u32)>, largest: Option<(u32, u32)>) {
        let pixels = |(width, height): &(u32, u32)| u64::from(*width) * u64::from(*height);
        let both = |a: Option<(u32, u32)>, b: Option<(u32, u32)>| a.into_iter().chain(b);
        self.smallest = both(self.smallest, smallest).min_by_key(pixels);
        // Of several that are as large, the first.
        self.largest = both(largest, self.largest).max_by_key(pixels);
    }

    fn merge(&mut self, next: &Self) {
        self.count += next.count;
        self.bytes += next.bytes;
        self.types.merge(&next.types);
        self.sizes.merge(&next.sizes);
        self.span(next.smallest, next.largest);
    }
}

impl Gathered {
    /// A pair, of the session or group named; those of one follow each other.
    fn add(&mut self, id: Option<&str>) {
        if let Some(id) = id {
            self.pairs += 1;
            if self.last.as_deref() == Some(id) {
                self.in_last += 1;
            } else {
                (self.count, self.in_last) = (self.count + 1, 1);
                self.last = Some(id.to_owned());
            }
            self.most_pairs = self.most_pairs.max(self.in_last);
        }
    }

    fn merge(&mut self, next: &Self) {
        self.count += next.count;
        self.pairs += next.pairs;
        self.most_pairs = self.most_pairs.max(next.most_pairs);
    }
}

impl Sizes {
    fn merge(&mut self, next: Self) {
        self.same += next.same;
        self.different += next.different;
        self.unknown += next.unknown;
    }
}

impl Scores {
    fn merge(&mut self, next: Self) {
        let count = self.count + next.count;
        #[expect(clippy::cast_precision_loss, reason = "a mean of more pairs than 2^52 may be off")]
        let share = next.count as f64 / count as f64;
        self.mean += (next.mean - self.mean) * share;
        self.least = self.least.min(next.least);
        self.most = self.most.max(next.most);
        self.count = count;
    }
}

/// Edits that cannot become pairs, by what is wrong and in which file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    by_file: BTreeMap<(String, Option<String>), Problem>,
    /// Edits with problems beyond those that are told apart.
    others: u64,
}

/// What is wrong with edits, in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The kind of the rejections.
    pub kind: String,
    /// The file in which the cause lies.
    pub file: Option<String>,
    /// Edits rejected for it.
    pub edits: u64,
    /// The first of them.
    pub first: Rejection,
}

impl Problems {
    pub(crate) fn add(&mut self, rejection: Rejection) {
        let (kind, file) = (rejection.kind.clone(), rejection.at.file.clone());
        self.add_problem(Problem { kind, file, edits: 1, first: rejection });
    }

    fn add_problem(&mut self, problem: Problem) {
        let key = (problem.kind.clone(), problem.file.clone());
        let room = self.by_file.len() < PROBLEMS;
        match self.by_file.get_mut(&key) {
            Some(known) => known.edits += problem.edits,
            None if room => {
                self.by_file.insert(key, problem);
            }
            None => self.others += problem.edits,
        }
    }

    pub(crate) fn merge(&mut self, next: Self) {
        next.by_file.into_values().for_each(|problem| self.add_problem(problem));
        self.others += next.others;
    }

    /// The problems, those of most edits first, and the edits beyond.
    pub(crate) fn most_first(self) -> (Vec<Problem>, u64) {
        let mut problems: Vec<_> = self.by_file.into_values().collect();
        problems.sort_by_key(|problem| std::cmp::Reverse(problem.edits));
        (problems, self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_format::Place;
    use diptych_schema::{Address, Score};

    fn pair(session: Option<&str>, size: Option<(u32, u32)>, score: f64) -> EditPair {
        let address = Address::Range { file: 0, offset: 0, length: 10 };
        let mut picture = Picture::unprobed("p", address);
        (picture.width, picture.height) = (size.map(|s| s.0), size.map(|s| s.1));
        EditPair {
            session_id: session.map(str::to_owned),
            instruction: session.map(|_| "移除".to_owned()),
            target: Some(Picture { width: Some(4), height: Some(2), ..picture.clone() }),
            scores: vec![Score { name: "clip".to_owned(), value: score }],
            ..EditPair::new("a".to_owned(), "d".to_owned(), picture)
        }
    }

    fn survey(pairs: &[EditPair]) -> Survey {
        let mut survey = Survey::default();
        pairs.iter().for_each(|pair| survey.add(pair));
        survey
    }

    #[test]
    fn pairs_are_counted_in_all_that_they_hold() {
        let pairs = [
            pair(Some("x"), Some((4, 2)), 1.0),
            pair(Some("x"), Some((8, 8)), 3.0),
            pair(Some("y"), None, 5.0),
            pair(None, Some((1, 7)), 7.0),
        ];
        let found = survey(&pairs);
        assert_eq!(
            (found.sessions.count, found.sessions.pairs, found.sessions.most_pairs),
            (2, 3, 2)
        );
        assert_eq!((found.source.count, found.source.bytes, found.source.types.none), (4, 40, 4));
        assert_eq!((found.source.smallest, found.source.largest), (Some((1, 7)), Some((8, 8))));
        assert_eq!((found.source.sizes.of("4x2"), found.source.sizes.none), (1, 1));
        let sizes = found.sizes_of_source_and_target;
        assert_eq!((sizes.same, sizes.different, sizes.unknown), (1, 2, 1));
        let characters = found.instruction_characters.spread().map(|s| (s.least, s.most));
        assert_eq!((characters, found.without_instruction), (Some((2, 2)), 1));
        let mut nothing = pair(None, None, 2.0);
        nothing.scores[0].value = f64::NAN;
        assert!(survey(&[nothing]).scores.is_empty());
        let clip = found.scores["clip"];
        assert_eq!((clip.count, clip.least, clip.mean, clip.most), (4, 1.0, 4.0, 7.0));
        assert_eq!((found.boxes.none, found.mask_grids.none, found.splits.none), (4, 4, 4));
        // In parts, and put together.
        let mut merged = survey(&pairs[..2]);
        merged.merge(&survey(&pairs[2..]));
        let json = |of: &Survey| serde_json::to_value(of).unwrap();
        assert_eq!(json(&merged), json(&found));
    }

    #[test]
    fn problems_are_told_apart_by_kind_and_file() {
        let rejection = |kind: &str, file: &str, row| Rejection {
            kind: kind.to_owned(),
            cause: format!("row {row}"),
            at: Place::file("r", file),
            dataset: "d".to_owned(),
            subset: None,
            pair_id: None,
            native: None,
        };
        let mut problems = Problems::default();
        problems.add(rejection("a", "1", 0));
        let mut next = Problems::default();
        for (kind, file, row) in [("a", "2", 1), ("a", "1", 2), ("a", "2", 3), ("a", "2", 4)] {
            next.add(rejection(kind, file, row));
        }
        problems.merge(next);
        let (found, others) = problems.most_first();
        let told: Vec<_> =
            found.iter().map(|p| (p.file.as_deref(), p.edits, p.first.cause.as_str())).collect();
        assert_eq!(told, [(Some("2"), 3, "row 1"), (Some("1"), 2, "row 0")]);
        assert_eq!(others, 0);
        let mut many = Problems::default();
        for file in 0..PROBLEMS + 3 {
            many.add(rejection("a", &file.to_string(), 0));
        }
        let (found, others) = many.most_first();
        assert_eq!((found.len(), others), (PROBLEMS, 3));
    }
}
