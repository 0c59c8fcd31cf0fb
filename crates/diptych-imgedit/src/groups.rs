//! The groups of the release, as data: which archive the pictures of a Parquet file are in, what
//! its folders are called inside the archive and in the rows, and how much of everything there is.
//!
//! Counts were measured on the full download. They are for copies to be held against.

use diptych_schema::{EditTypes, vocabulary};

/// The words that rows, files and folders have for what was asked: those of `result.json`, those
/// that the names of Parquet files begin with, and those of the benchmark, which has an older one
/// for an adjustment and shortens two.
pub(crate) const EDIT_TYPES: EditTypes = &[
    ("action", "action"),
    ("add", "add"),
    ("adjust", "adjust"),
    ("alter", "adjust"),
    ("background", "background"),
    ("compose", "hybrid"),
    ("content_memory", "content_memory"),
    ("content_understand", "content_understanding"),
    ("content_understanding", "content_understanding"),
    ("extract", "extract"),
    ("hybrid", "hybrid"),
    ("reference_extract", "extract"),
    ("reference_replace", "reference_replace"),
    ("remove", "remove"),
    ("replace", "replace"),
    ("style", "style"),
    ("style_transfer", "style"),
    ("version_backtrace", "version_backtracking"),
    ("version_backtrack", "version_backtracking"),
    ("version_backtracking", "version_backtracking"),
];

vocabulary! {
    /// What was asked of the editors of a group.
    pub(crate) Task {
        Add = "add",
        Remove = "remove",
        Replace = "replace",
        Adjust = "adjust",
        Background = "background",
        Style = "style",
        Action = "action",
        Hybrid = "hybrid",
        Extract = "extract",
        ReferenceReplace = "reference_replace",
        ContentMemory = "content_memory",
        ContentUnderstanding = "content_understanding",
        VersionBacktracking = "version_backtracking",
    }
}

/// Which masks lie in a sample's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Masks {
    /// None of the pair's own.
    None,
    /// `mask.png`.
    One,
    /// `mask_0.png` and `mask_1.png`: what both show is edited.
    Two,
    /// `mask_K.png` for the turn K.
    EachTurn,
}

impl Task {
    /// The task of a Parquet file that is in no table, by the beginning of its name.
    pub(crate) fn of_stem(stem: &str) -> Option<Self> {
        let stem = stem.strip_prefix("results_").unwrap_or(stem);
        let begins = EDIT_TYPES.iter().filter(|(native, _)| stem.starts_with(native));
        let (_, word) = begins.max_by_key(|(native, _)| native.len())?;
        Self::from_word(word)
    }

    /// What a turn of such a session edits. Only content memory goes on with what the turn before
    /// made; version backtracking goes back to what the first turn made; content understanding
    /// begins with the photograph in each turn.
    pub(crate) fn base(self, turn: u16) -> String {
        match (self, turn) {
            (_, 0) | (Self::ContentUnderstanding, _) => "original".to_owned(),
            (Self::VersionBacktracking, 2..) => "turn:0".to_owned(),
            _ => "previous".to_owned(),
        }
    }

    pub(crate) fn masks(self) -> Masks {
        match self {
            Self::Add
            | Self::Remove
            | Self::Replace
            | Self::Adjust
            | Self::Background
            | Self::ReferenceReplace => Masks::One,
            Self::Hybrid => Masks::Two,
            Self::ContentMemory | Self::ContentUnderstanding | Self::VersionBacktracking => {
                Masks::EachTurn
            }
            // The picture of an extracted object is on a grid of its own.
            Self::Style | Self::Action | Self::Extract => Masks::None,
        }
    }
}

/// An archive of the release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// `Singleturn` or `Multiturn`.
    pub(crate) folder: &'static str,
    /// The archive's name, without `.tar` and what follows.
    pub(crate) name: &'static str,
    /// How many pieces it was cut into.
    pub(crate) pieces: u64,
    /// The folder that all samples are in inside the archive; empty where they are in none.
    pub(crate) top: &'static str,
}

/// A Parquet file of the release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stem {
    /// Its name without `.parquet`.
    pub(crate) name: &'static str,
    pub(crate) task: Task,
    pub(crate) rows: u64,
    /// Pairs of a row; for content memory those behind the premise.
    pub(crate) pairs_each: u64,
    /// Pairs whose pictures were never released.
    pub(crate) lost: u64,
    /// The name of its archive.
    pub(crate) group: &'static str,
    /// What the paths in its rows begin with; empty where they are bare names.
    pub(crate) prefix: &'static str,
}

impl Stem {
    /// Pairs whose pictures were released.
    pub(crate) const fn pairs(&self) -> u64 {
        self.rows * self.pairs_each - self.lost
    }

    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        STEMS.iter().find(|stem| stem.name == name)
    }

    pub(crate) fn group(&self) -> Option<&'static Group> {
        Group::named(self.group)
    }
}

impl Group {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        GROUPS.iter().find(|group| group.name == name)
    }

    /// What its folder is called anywhere.
    pub(crate) fn folders(&'static self) -> impl Iterator<Item = &'static str> {
        let of_rows = STEMS.iter().filter(|stem| stem.group == self.name).map(|stem| stem.prefix);
        [self.name, self.top].into_iter().chain(of_rows)
    }

    /// The group that a folder belongs to: by the archive's name, by the folder inside it, or by
    /// what rows call that.
    pub(crate) fn of_folder(folder: &str) -> Option<&'static Self> {
        if folder.is_empty() {
            return None;
        }
        let by_rows = || STEMS.iter().find(|stem| stem.prefix == folder)?.group();
        let of_archive = GROUPS.iter().find(|group| group.name == folder || group.top == folder);
        of_archive.or_else(by_rows)
    }
}

const fn stem(
    name: &'static str,
    task: Task,
    rows: u64,
    group: &'static str,
    prefix: &'static str,
) -> Stem {
    Stem { name, task, rows, pairs_each: 1, lost: 0, group, prefix }
}

const fn session(name: &'static str, task: Task, rows: u64, group: &'static str) -> Stem {
    let pairs_each = if matches!(task, Task::ContentMemory) { 2 } else { 3 };
    Stem { pairs_each, ..stem(name, task, rows, group, group) }
}

/// Every Parquet file.
#[rustfmt::skip]
pub(crate) static STEMS: [Stem; 37] = [
    stem("action_part1", Task::Action, 37_224, "action_part1", ""),
    stem("action_part2", Task::Action, 37_416, "action_part2", ""),
    stem("action_part3", Task::Action, 40_294, "action_part3", ""),
    stem("action_part4", Task::Action, 44_074, "action_part4", ""),
    stem("add_part0", Task::Add, 32_233, "results_add_laion_part0", "results_add_laion_part0"),
    stem("add_part1", Task::Add, 77_039, "results_add_laion_part1", "results_add_laion_part1"),
    stem("add_part4", Task::Add, 35_127, "results_add_laion_part4", "results_add_laion_part4"),
    stem("add_part5", Task::Add, 31_068, "results_add_laion_part5", "results_add_laion_part5"),
    stem("adjust_canny_part0", Task::Adjust, 42_030, "results_adjust_canny_laion_part0", "results_adjust_canny_laion_part0"),
    stem("adjust_canny_part2", Task::Adjust, 7_756, "results_adjust_canny_laion_part2", "results_adjust_canny_laion_part2"),
    stem("adjust_canny_part3", Task::Adjust, 42_904, "results_adjust_canny_laion_part3", "results_adjust_canny_laion_part3"),
    stem("adjust_canny_part4", Task::Adjust, 42_819, "results_adjust_canny_laion_part4", "results_adjust_canny_laion_part4"),
    stem("background_part0", Task::Background, 14_135, "results_background_laion_part0", "results_background_laion_part0"),
    stem("background_part2", Task::Background, 13_991, "results_background_laion_part2", "results_background_laion_part2"),
    stem("background_part3", Task::Background, 13_493, "results_background_laion_part3", "results_background_laion_part3"),
    stem("background_part5", Task::Background, 14_095, "results_background_laion_part5", "results_background_laion_part5"),
    stem("background_part7", Task::Background, 2_376, "results_background_laion_part7", "results_background_laion_part7"),
    Stem { lost: 9, ..stem("hybrid_part0", Task::Hybrid, 10_267, "results_hybrid_part0", "results_compose_part0") },
    stem("hybrid_part2", Task::Hybrid, 8_656, "results_hybrid_part2", "results_compose_part2"),
    stem("hybrid_part6", Task::Hybrid, 9_467, "results_hybrid_part6", "results_compose_part6_fix"),
    stem("reference_extract_part1", Task::Extract, 76_907, "results_extract_and_visualedit_part1", "results_extract_ref_part1"),
    stem("reference_replace_part1", Task::ReferenceReplace, 76_907, "results_extract_and_visualedit_part1", "results_extract_ref_part1"),
    Stem { lost: 41_993, ..stem("reference_extract_part7", Task::Extract, 41_993, "results_extract_and_visualedit_part7", "results_extract_ref_part7") },
    Stem { lost: 41_993, ..stem("reference_replace_part7", Task::ReferenceReplace, 41_993, "results_extract_and_visualedit_part7", "results_extract_ref_part7") },
    Stem { lost: 7_968, ..stem("remove_part0", Task::Remove, 32_222, "results_remove_part0", "results_remove") },
    stem("remove_part1", Task::Remove, 76_981, "results_remove_laion_part1", "results_remove_laion_part1"),
    stem("remove_part4", Task::Remove, 7_698, "results_remove_laion_part4", "results_remove_laion_part4"),
    stem("remove_part5", Task::Remove, 42_745, "results_remove_laion_part5", "results_remove_laion_part5"),
    stem("replace_part0", Task::Replace, 32_209, "results_replace_part0", "replace"),
    stem("replace_part1", Task::Replace, 75_626, "results_replace_laion_part1", "results_replace_laion_part1"),
    stem("replace_part4", Task::Replace, 39_912, "results_replace_laion_part4", "results_replace_laion_part4"),
    stem("replace_part5", Task::Replace, 11_648, "results_replace_laion_part5", "results_replace_laion_part5"),
    stem("style_transfer", Task::Style, 28_374, "results_style_transfer", "results_style_transfer"),
    stem("style_transfer_part0", Task::Style, 36_472, "results_style_transfer_part0", "results_style_transfer_part0_cap36472"),
    session("content_memory_part2", Task::ContentMemory, 30_861, "results_content_memory_part2"),
    session("content_understanding_part2", Task::ContentUnderstanding, 42_139, "results_content_understanding_part2"),
    session("version_backtracking_part0", Task::VersionBacktracking, 42_023, "results_version_backtracking_part0"),
];

const fn single(name: &'static str, pieces: u64, top: &'static str) -> Group {
    Group { folder: "Singleturn", name, pieces, top }
}

const fn multi(name: &'static str, pieces: u64) -> Group {
    Group { folder: "Multiturn", name, pieces, top: name }
}

/// Every archive. What one group has above its folder, a path of somebody's disk, is in no table:
/// such folders are taken off whatever they are called.
#[rustfmt::skip]
pub(crate) static GROUPS: [Group; 35] = [
    single("action_part1", 2, "part1"),
    single("action_part2", 2, "part2"),
    single("action_part3", 2, "part3"),
    single("action_part4", 2, "part4"),
    single("results_add_laion_part0", 4, "results_add_laion_part0"),
    single("results_add_laion_part1", 9, "results_add_laion_part1"),
    single("results_add_laion_part4", 4, "results_add_laion_part4"),
    single("results_add_laion_part5", 4, "results_add_laion_part5"),
    single("results_adjust_canny_laion_part0", 5, "results_adjust_canny_laion_part0"),
    single("results_adjust_canny_laion_part2", 1, ""),
    single("results_adjust_canny_laion_part3", 5, "results_adjust_canny_laion_part3"),
    single("results_adjust_canny_laion_part4", 5, "results_adjust_canny_laion_part4"),
    single("results_background_laion_part0", 2, "results_background_laion_part0"),
    single("results_background_laion_part2", 2, "results_background_laion_part2"),
    single("results_background_laion_part3", 2, "results_background_laion_part3"),
    single("results_background_laion_part5", 2, "results_background_laion_part5"),
    single("results_background_laion_part7", 1, "results_background_laion_part7"),
    single("results_hybrid_part0", 3, "results_compose_part0"),
    single("results_hybrid_part2", 3, "results_compose_part2"),
    single("results_hybrid_part6", 3, "results_compose_part6_fix"),
    single("results_extract_and_visualedit_part1", 11, "results_extract_ref_part1"),
    single("results_extract_and_visualedit_part7", 3, "results_extract_ref_part7"),
    single("results_remove_part0", 11, "results_remove"),
    single("results_remove_laion_part1", 9, "results_remove_laion_part1"),
    single("results_remove_laion_part4", 1, "results_remove_laion_part4"),
    single("results_remove_laion_part5", 5, "results_remove_laion_part5"),
    single("results_replace_part0", 14, "results"),
    single("results_replace_laion_part1", 9, "results_replace_laion_part1"),
    single("results_replace_laion_part4", 5, "results_replace_laion_part4"),
    single("results_replace_laion_part5", 2, "results_replace_laion_part5"),
    single("results_style_transfer", 4, "results_style_transfer"),
    single("results_style_transfer_part0", 17, "results_style_transfer_part0_cap36472"),
    multi("results_content_memory_part2", 27),
    multi("results_content_understanding_part2", 56),
    multi("results_version_backtracking_part0", 56),
];

/// Keys of the large file of scores, as published.
pub(crate) const SCORED: u64 = 824_333;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_counts_add_up() {
        let rows = |sessions: bool| {
            let of_kind = STEMS.iter().filter(move |stem| (stem.pairs_each > 1) == sessions);
            of_kind.map(|stem| stem.rows).sum::<u64>()
        };
        assert_eq!((rows(false), rows(true)), (1_178_151, 115_023));
        let all: u64 = STEMS.iter().map(|stem| stem.rows * stem.pairs_each).sum();
        let lost: u64 = STEMS.iter().map(|stem| stem.lost).sum();
        assert_eq!((all, lost), (1_492_359, 91_963));
        assert_eq!(STEMS.iter().map(Stem::pairs).sum::<u64>(), all - lost);
        let with_reference = STEMS.iter().filter(|stem| stem.task == Task::ReferenceReplace);
        assert_eq!(with_reference.map(|stem| stem.rows).sum::<u64>(), 118_900);
    }

    #[test]
    fn every_file_has_its_archive_and_every_archive_a_file() {
        for stem in &STEMS {
            let group = stem.group().unwrap();
            assert_eq!(Task::of_stem(stem.name), Some(stem.task), "{}", stem.name);
            // Whatever a folder of it is called, it leads to the archive.
            for folder in [group.name, group.top, stem.prefix] {
                let found = Group::of_folder(folder);
                assert_eq!(found, (!folder.is_empty()).then_some(group), "{folder}");
            }
        }
        for group in &GROUPS {
            assert!(STEMS.iter().any(|stem| stem.group == group.name), "{}", group.name);
            let multi = STEMS.iter().any(|s| s.group == group.name && s.pairs_each > 1);
            assert_eq!(group.folder == "Multiturn", multi, "{}", group.name);
        }
        assert_eq!(Task::of_stem("compose_part0"), Some(Task::Hybrid));
        assert_eq!(Task::of_stem("results_add_laion_part9"), Some(Task::Add));
        assert_eq!(Task::of_stem("holiday"), None);
        // Every word is that of a task.
        for (native, word) in EDIT_TYPES {
            assert_eq!(Task::of_stem(native).map(Task::word), Some(*word), "{native}");
        }
    }

    #[test]
    fn a_session_goes_on_or_begins_anew_as_its_task_says() {
        let bases = |task: Task| (0..3).map(|turn| task.base(turn)).collect::<Vec<_>>();
        assert_eq!(bases(Task::ContentMemory), ["original", "previous", "previous"]);
        assert_eq!(bases(Task::ContentUnderstanding), ["original"; 3]);
        assert_eq!(bases(Task::VersionBacktracking), ["original", "previous", "turn:0"]);
    }
}
