//! What stands beside a pair, in all the ways in which it was written.

use diptych_schema::{
    Address, BoxStatus, EditBox, EditPair, Edited, Grid, Label, MaskOrigin, MaskPart, Picture,
    Region,
};
use proptest::prelude::*;

use super::{Beside, Context, SideFault, add};
use crate::groups::Task;

const SAMPLE: &str = "00094_00030_000304748";

fn picture(name: &str, size: (u32, u32)) -> Picture {
    let address = Address::Range { file: 0, offset: 0, length: 1 };
    let (width, height) = (Some(size.0), Some(size.1));
    Picture { width, height, ..Picture::unprobed(name, address) }
}

fn pair() -> EditPair {
    let source = picture("results_x/00094_00030_000304748/original.png", (1536, 1024));
    let mut pair = EditPair::new("imgedit:x:0".to_owned(), "imgedit".to_owned(), source);
    pair.target = Some(picture("results_x/00094_00030_000304748/result.png", (1536, 1024)));
    pair.edit_type = Some("task".to_owned());
    pair
}

fn context(task: Task) -> Context<'static> {
    Context { task, turn: None, turns: 1, sample: SAMPLE }
}

fn turn(task: Task, turn: u16, turns: u16) -> Context<'static> {
    Context { task, turn: Some(turn), turns, sample: SAMPLE }
}

/// A pair and what is beside it.
fn with(context: Context<'_>, beside: Beside<'_>) -> EditPair {
    let mut pair = pair();
    assert_eq!(add(&mut pair, &context, &beside), []);
    pair
}

fn with_result(context: Context<'_>, result: &str) -> EditPair {
    with(context, Beside { result: Some(result.as_bytes()), ..Beside::default() })
}

fn labels<'p>(pair: &'p EditPair, name: &str) -> Vec<&'p str> {
    let of = pair.labels.iter().filter(|label| label.name == name);
    of.map(|label| label.value.as_str()).collect()
}

fn scores(pair: &EditPair) -> Vec<(&str, f64)> {
    pair.scores.iter().map(|score| (score.name.as_str(), score.value)).collect()
}

fn roles(pair: &EditPair) -> Vec<(&str, &str)> {
    let role = |region: &Region| region.role.clone().map(|role| -> &str { role.leak() });
    let of = pair.regions.iter();
    of.map(|region| (region.label.as_deref().unwrap(), role(region).unwrap())).collect()
}

/// An object as the pipeline wrote it.
fn object(class: &str, edges: &str) -> String {
    format!(
        r#"{{"class_name": "{class}", "bbox": [{edges}], "mask": "", "score": [0.9921875],
            "clip_score": 0.9597620368003845, "aes_score": 4.34375}}"#
    )
}

fn result(fields: &str) -> String {
    format!(
        r#"{{"original_path": "00094/00030/000304748.jpg",
            "resolution": {{"height": 1333, "width": 2000}}, {fields}}}"#
    )
}

const TIE: &str = "538.66, 620.27, 576.15, 646.44";

fn single(kind: &str, words: &str) -> String {
    let tie = object("bow tie", TIE);
    result(&format!(
        r#""edit_obj": {tie}, "edit_type": "{kind}", "edit_prompt": "p", "edit_result": {words}"#
    ))
}

#[test]
fn a_single_edits_object_is_its_region_and_its_box() {
    let pair = with_result(context(Task::Remove), &single("remove", "null"));
    let edit_box = EditBox::new([538.66, 620.27, 576.15, 646.44], 2000, 1333);
    assert_eq!(edit_box.status, BoxStatus::Ok);
    assert_eq!(pair.edit_box, Some(edit_box));
    let [region] = pair.regions.as_slice() else { panic!("{:?}", pair.regions) };
    assert_eq!(
        (region.label.as_deref(), region.role.as_deref()),
        (Some("bow tie"), Some("edited"))
    );
    assert_eq!((region.edit_box, &region.mask), (Some(edit_box), &None));
    let numbers: Vec<_> = region.scores.iter().map(|s| (s.name.as_str(), s.value)).collect();
    assert_eq!(
        numbers,
        [("aesthetic", 4.34375), ("clip", 0.959_762_036_800_384_5), ("segmentation", 0.992_187_5)]
    );
    assert_eq!(labels(&pair, "object"), ["bow tie"]);
    assert_eq!(labels(&pair, "edit_result"), [""; 0]);
    // The task stays the edit type of a pair that is no turn.
    assert_eq!(pair.edit_type.as_deref(), Some("task"));
    assert_eq!(pair.edit_type_native, ["remove"]);
    assert!(pair.scores.is_empty() && pair.mask.is_none());
}

#[test]
fn a_replacements_result_is_words() {
    let pair = with_result(context(Task::Replace), &single("replace", r#""a fox""#));
    assert_eq!(labels(&pair, "edit_result"), ["a fox"]);
    assert_eq!(roles(&pair), [("bow tie", "edited")]);
}

#[test]
fn what_is_added_is_an_object_of_the_result() {
    let bench = object("wooden bench", "49.31, 71.27, 110.93, 129.64");
    let fields = format!(r#""edit_obj": null, "edit_type": "add", "edit_result": {bench}"#);
    let pair = with_result(context(Task::Add), &result(&fields));
    assert_eq!(roles(&pair), [("wooden bench", "result")]);
    assert_eq!(labels(&pair, "object"), ["wooden bench"]);
    assert_eq!(pair.edit_box, pair.regions[0].edit_box);
    assert!(pair.edit_box.is_some());
}

#[test]
fn a_style_transfer_has_a_style_and_nothing_else() {
    let pair = with_result(context(Task::Style), r#"{"style": "watercolor"}"#);
    assert_eq!(labels(&pair, "style"), ["watercolor"]);
    assert_eq!((pair.regions.len(), pair.edit_box, pair.edit_type_native.len()), (0, None, 0));
}

fn two_objects(kinds: &str) -> String {
    let (dog, hat) = (object("dog", "1, 2, 30, 40"), object("hat", "5.5, 6, 7, 8"));
    result(&format!(
        r#""edit_obj2": {hat}, "edit_obj1": {dog}, "edit_type": {kinds}, "edit_prompt": null,
           "edit_result1": "a cat", "edit_result2": "a cap", "round1_prompt": "a"#
    ))
    .replace("\"a}", "\"a\"}")
}

#[test]
fn a_hybrid_edit_has_two_objects_and_no_one_box() {
    let pair = with_result(context(Task::Hybrid), &two_objects(r#"["replace", "add"]"#));
    assert_eq!(roles(&pair), [("dog", "edited"), ("hat", "result")]);
    assert_eq!(labels(&pair, "object"), ["dog", "hat"]);
    assert_eq!(labels(&pair, "edit_result"), ["a cat", "a cap"]);
    assert_eq!(pair.edit_box, None);
    assert_eq!(pair.edit_type_native, ["replace", "add"]);
    assert_eq!(pair.edit_type.as_deref(), Some("task"));
}

#[test]
fn a_turns_operation_and_object_are_its_own() {
    let result = two_objects(r#"["Replace", "alter"]"#);
    let first = with_result(turn(Task::ContentMemory, 0, 2), &result);
    assert_eq!(roles(&first), [("dog", "edited"), ("hat", "context")]);
    assert_eq!(first.edit_type.as_deref(), Some("replace"));
    assert_eq!(first.edit_type_native, ["Replace"]);
    assert_eq!(first.edit_box, first.regions[0].edit_box);
    assert_eq!(labels(&first, "object"), ["dog"]);
    assert_eq!(labels(&first, "edit_result"), ["a cat"]);
    let second = with_result(turn(Task::ContentMemory, 1, 2), &result);
    assert_eq!(roles(&second), [("dog", "context"), ("hat", "edited")]);
    assert_eq!(second.edit_type.as_deref(), Some("adjust"));
    assert_eq!(second.edit_type_native, ["alter"]);
    assert_eq!(labels(&second, "edit_result"), ["a cap"]);
}

#[test]
fn an_object_without_a_number_is_that_of_every_turn() {
    let tie = object("bow tie", TIE);
    let fields = format!(r#""edit_obj": {tie}, "edit_type": ["add", "replace", "adjust"]"#);
    let found: Vec<_> = (0..3)
        .map(|number| {
            let pair = with_result(turn(Task::VersionBacktracking, number, 3), &result(&fields));
            assert_eq!(labels(&pair, "object"), ["bow tie"]);
            assert_eq!(pair.edit_box, pair.regions[0].edit_box);
            (pair.edit_type.clone().unwrap(), pair.regions[0].role.clone().unwrap())
        })
        .collect();
    // What the first round adds is in its result only.
    let word = |word: &str, role: &str| (word.to_owned(), role.to_owned());
    assert_eq!(found, [word("add", "result"), word("replace", "edited"), word("adjust", "edited")]);
}

#[test]
fn operations_that_do_not_tell_the_turns_apart_are_not_guessed_at() {
    for kinds in [r#"["add", "replace"]"#, r#""replace""#, "[]", "null", r#"["a", 5, "b"]"#] {
        let pair = with_result(
            turn(Task::ContentUnderstanding, 1, 3),
            &result(&format!(r#""edit_type": {kinds}"#)),
        );
        assert_eq!(pair.edit_type.as_deref(), Some("task"), "{kinds}");
        assert!(pair.edit_type_native.is_empty(), "{kinds}");
    }
}

#[test]
fn what_is_written_otherwise_is_left_out() {
    for (fields, regions) in [
        (r#""edit_obj": {}, "edit_result": 5"#, 0),
        (r#""edit_obj": "x", "edit_type": {"a": 1}"#, 0),
        (r#""edit_obj": {"class_name": null, "bbox": [1, 2, 3]}"#, 1),
        (r#""edit_obj": {"class_name": "a", "bbox": ["1", 2, 3, 4], "score": [1, 2]}"#, 1),
        (r#""edit_objects": {"class_name": "a"}"#, 0),
    ] {
        let pair = with_result(context(Task::Replace), &result(fields));
        assert_eq!(pair.regions.len(), regions, "{fields}");
        assert!(pair.edit_box.is_none(), "{fields}");
        assert!(pair.regions.iter().all(|region| region.scores.is_empty()), "{fields}");
    }
    // Without a frame a box means nothing.
    let bare = format!(
        r#"{{"resolution": {{"height": 0, "width": 5}}, "edit_obj": {}}}"#,
        object("a", TIE)
    );
    assert_eq!(with_result(context(Task::Replace), &bare).regions[0].edit_box, None);
    let floats = r#"{"resolution": {"height": 1333.0, "width": 2000.0}, "edit_obj": {"class_name": "a", "bbox": [-1, 2, 2001, 4]}}"#;
    let found = with_result(context(Task::Replace), floats).edit_box.unwrap();
    assert_eq!((found.frame_width, found.status), (2000, BoxStatus::OutOfFrame));
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_costs_nothing_else() {
    let mut pair = pair();
    let beside = Beside {
        result: Some(b"{\"style\": \"x\" # a comment\n}"),
        judge: Some(b"[5"),
        judge_two: Some(b""),
        score: Some(b"4.5"),
        recap: Some(b"[]"),
    };
    let faults = add(&mut pair, &context(Task::Style), &beside);
    let files: Vec<_> = faults.iter().map(|SideFault { file, .. }| file.as_str()).collect();
    assert_eq!(
        files,
        ["result.json", "the record of the photograph", "judge_2scores.json", "judge.json"]
    );
    assert_eq!(scores(&pair), [("gpt.average", 4.5)]);
}

fn judged(context: Context<'_>, beside: Beside<'_>) -> Vec<(String, f64)> {
    scores(&with(context, beside)).into_iter().map(|(n, v)| (n.to_owned(), v)).collect()
}

fn judge(file: &str) -> Vec<(String, f64)> {
    let beside = Beside { judge_two: Some(file.as_bytes()), ..Beside::default() };
    judged(context(Task::Replace), beside)
}

fn named(scores: &[(&str, f64)]) -> Vec<(String, f64)> {
    scores.iter().map(|(name, value)| (format!("gpt.{name}"), *value)).collect()
}

#[test]
fn the_judges_words_become_scores_and_their_mean() {
    let lines = r#"{"score": "Brief reasoning: fine.\nPrompt Compliance: 4\nVisual Naturalness: 5\nPhysical & Detail Integrity: 4.", "folder": "a/5"}"#;
    let three = named(&[
        ("average", 13.0 / 3.0),
        ("physical_detail_integrity", 4.0),
        ("prompt_compliance", 4.0),
        ("visual_naturalness", 5.0),
    ]);
    assert_eq!(judge(lines), three);
    let two = r#"{"score": "Brief reasoning: 2 of 3 are right\nScore 1: **4**\nScore 2: 5/5\nObjects match: True"}"#;
    assert_eq!(judge(two), named(&[("average", 4.5), ("score_1", 4.0), ("score_2", 5.0)]));
    let beside = Beside { judge: Some(two.as_bytes()), ..Beside::default() };
    let pair = with(context(Task::Add), beside);
    let is = [Label { name: "objects_match".to_owned(), value: "true".to_owned() }];
    assert_eq!(pair.labels, is);
}

#[test]
fn scores_of_any_kind_of_value_are_taken() {
    let average = named(&[("average", 4.0)]);
    for file in
        ["4", "4.0", r#""4""#, r#"{"score": 4}"#, r#"{"score": "**4**"}"#, r#"[4]"#, r#"["4/5"]"#]
    {
        assert_eq!(judge(file), average, "{file}");
    }
    let pairs = named(&[("average", 4.5), ("score_1", 4.0), ("score_2", 5.0)]);
    for file in [
        r#"{"Score 1": 4, "Score 2": "5/5"}"#,
        "[4, 5]",
        r#"{"score": {"score_1": 4, "score_2": [5]}}"#,
        r#""Score 1: 4\nScore 2: 5\nScore 1: 1""#,
        r#"{"score": "```json\n{\"Score 1\": 4, \"Score 2\": 5}\n```"}"#,
    ] {
        assert_eq!(judge(file), pairs, "{file}");
    }
    let stated = named(&[("average", 3.0), ("score_1", 4.0)]);
    assert_eq!(judge(r#"{"Score 1": 4, "average": 3}"#), stated);
    for nothing in ["null", "true", "{}", "[]", r#""no idea""#, r#"[{"a": 1}, 2]"#, "[[[[[[4]]]]]]"]
    {
        assert_eq!(judge(nothing), [], "{nothing}");
    }
}

#[test]
fn the_newest_file_that_says_something_counts() {
    let (two, one, large) = (b"5".as_slice(), b"4".as_slice(), b"3".as_slice());
    let found = |judge_two, judge, score| {
        let beside = Beside { judge_two, judge, score, ..Beside::default() };
        judged(context(Task::Add), beside).first().map(|(_, value)| *value)
    };
    assert_eq!(found(Some(two), Some(one), Some(large)), Some(5.0));
    assert_eq!(found(None, Some(one), Some(large)), Some(4.0));
    assert_eq!(found(None, None, Some(large)), Some(3.0));
    assert_eq!(found(Some(b"{\"score\": \"\"}"), None, Some(large)), Some(3.0));
    assert_eq!(found(Some(b"null"), Some(one), None), Some(4.0));
    assert_eq!(found(None, None, None), None);
}

#[test]
fn scores_of_a_folder_are_those_of_each_turn() {
    let beside = Beside { score: Some(b"4.5"), ..Beside::default() };
    for number in 0..3 {
        let pair = with(turn(Task::VersionBacktracking, number, 3), beside);
        assert_eq!(scores(&pair), [("gpt.average", 4.5)]);
        assert_eq!(labels(&pair, "score_scope"), ["session"]);
    }
    assert_eq!(labels(&with(context(Task::Add), beside), "score_scope"), [""; 0]);
    let none = with(turn(Task::VersionBacktracking, 0, 3), Beside::default());
    assert!(none.labels.is_empty());
}

/// A record as the authors published one, with two objects of one class.
fn recap() -> String {
    let segment = |class: &str, edges: &str, mask: &str| {
        format!(
            r#"{{"class_name": "{class}", "bbox": [{edges}], "mask": "{mask}", "score": 0.9921875}}"#
        )
    };
    format!(
        r#"{{"path": "00094/00030/000304748.jpg", "cap": ["The image depicts a waiter."],
            "resolution": {{"height": 1333, "width": 2000}}, "aes": 6.13, "border": [176],
            "tags": {{"background": ["sky", ""], "object": ["bow tie"], "summary": ["A waiter."]}},
            "segmentation": {{"background": [{}], "object": [{}, {}], "box_format": "xyxy"}},
            "bg_count": {{"sky": 1}}, "obj_count": {{"bow tie": 2}}}}"#,
        segment("sky", "0, 0, 2000, 500.5", "`\\\\1"),
        segment("bow tie", "534.97, 640.49, 551.07, 667.63", "hhge0;UY18L2"),
        segment("bow tie", "538.7, 620.3, 576.1, 646.4", "kQie02aY13M2L"),
    )
}

fn run_length(counts: &str) -> MaskPart {
    MaskPart::RunLength { counts: counts.to_owned(), width: 2000, height: 1333 }
}

fn recaptioned(context: Context<'_>, result: Option<&str>, recap: &str) -> EditPair {
    let beside = Beside {
        result: result.map(str::as_bytes),
        recap: Some(recap.as_bytes()),
        ..Beside::default()
    };
    with(context, beside)
}

#[test]
fn a_record_gives_captions_tags_a_score_and_regions() {
    let pair = recaptioned(context(Task::Style), None, &recap());
    let captions: Vec<_> =
        pair.captions.iter().map(|c| (c.text.as_str(), c.of.as_deref())).collect();
    assert_eq!(
        captions,
        [("The image depicts a waiter.", Some("source")), ("A waiter.", Some("source"))]
    );
    assert_eq!(labels(&pair, "tag_background"), ["sky"]);
    assert_eq!(labels(&pair, "tag_object"), ["bow tie"]);
    assert_eq!(scores(&pair), [("aesthetic", 6.13)]);
    assert_eq!(roles(&pair), [("sky", "context"), ("bow tie", "context"), ("bow tie", "context")]);
    assert_eq!(pair.regions[0].mask, Some(run_length("`\\1")));
    assert_eq!(pair.regions[0].edit_box, Some(EditBox::new([0.0, 0.0, 2000.0, 500.5], 2000, 1333)));
    assert_eq!((pair.mask, pair.edit_box), (None, None));
    let plain = recap().replace(r#"["A waiter."]"#, r#""A waiter.""#);
    assert_eq!(recaptioned(context(Task::Style), None, &plain).captions[1].text, "A waiter.");
}

#[test]
fn the_edited_objects_mask_is_that_of_its_class_and_box() {
    let remove = single("remove", "null");
    let pair = recaptioned(context(Task::Remove), Some(&remove), &recap());
    assert_eq!(roles(&pair), [("bow tie", "edited"), ("sky", "context"), ("bow tie", "context")]);
    assert_eq!(pair.regions[0].mask, Some(run_length("kQie02aY13M2L")));
    let mask = pair.mask.unwrap();
    assert_eq!(mask.parts, [run_length("kQie02aY13M2L")]);
    assert_eq!((mask.edited, mask.origin), (Edited::White, MaskOrigin::RunLength));
    assert_eq!(mask.grid, Grid::Other);
    // `result.json` has the box as it is, and the numbers that the segment has too.
    assert_eq!(pair.edit_box.unwrap().x0, 538.66);
    assert_eq!(pair.regions[0].scores.len(), 3);
}

#[test]
fn a_mask_of_the_release_is_not_replaced() {
    let mut pair = recaptioned(context(Task::Remove), Some(&single("remove", "null")), &recap());
    let (before, recap) = (pair.mask.clone(), recap().replace("kQie02aY13M2L", "other"));
    let beside = Beside { recap: Some(recap.as_bytes()), ..Beside::default() };
    pair.regions.truncate(1);
    add(&mut pair, &context(Task::Remove), &beside);
    assert_eq!(pair.mask, before);
}

#[test]
fn an_object_that_is_in_no_record_has_no_mask() {
    for (other, edges) in [("bow-tie", TIE), ("bow tie", "1, 2, 3, 4")] {
        let object = object(other, edges);
        let stated = result(&format!(r#""edit_obj": {object}, "edit_type": "remove""#));
        let pair = recaptioned(context(Task::Remove), Some(&stated), &recap());
        assert_eq!((pair.mask, pair.regions.len()), (None, 4), "{other}");
        assert_eq!(pair.regions[0].mask, None);
    }
    // Of two edited objects one is not enough.
    let (tie, hat) = (object("bow tie", TIE), object("hat", "1, 2, 3, 4"));
    let both = result(&format!(r#""edit_obj1": {tie}, "edit_obj2": {hat}"#));
    let pair = recaptioned(context(Task::Hybrid), Some(&both), &recap());
    assert_eq!(pair.mask, None);
    assert!(pair.regions[0].mask.is_some());
    // Each turn has its own.
    let pair = recaptioned(turn(Task::ContentMemory, 0, 2), Some(&both), &recap());
    assert_eq!(pair.mask.unwrap().parts, [run_length("kQie02aY13M2L")]);
}

#[test]
fn a_class_without_a_box_has_to_be_the_only_one() {
    let bare = |class: &str| {
        let stated = result(&format!(r#""edit_obj": {{"class_name": "{class}"}}"#));
        recaptioned(context(Task::Remove), Some(&stated), &recap()).mask.map(|mask| mask.parts)
    };
    assert_eq!(bare("sky"), Some(vec![run_length("`\\1")]));
    assert_eq!(bare("bow tie"), None);
}

#[test]
fn a_run_length_masks_grid_is_told_by_its_size() {
    let recap = recap().replace("1333", "1024").replace("2000", "1536");
    let stated = single("remove", "null").replace("1333", "1024").replace("2000", "1536");
    let pair = recaptioned(context(Task::Remove), Some(&stated), &recap);
    assert_eq!(pair.mask.unwrap().grid, Grid::Source);
    // A record without a size has that of `result.json`.
    let bare = recap.replace(r#""resolution": {"height": 1024, "width": 1536}, "#, "");
    assert_ne!(bare, recap);
    let pair = recaptioned(context(Task::Remove), Some(&stated), &bare);
    assert_eq!(pair.mask.unwrap().parts[0].size(), Some((1536, 1024)));
}

#[test]
fn records_may_lack_what_was_not_made() {
    let pair =
        recaptioned(context(Task::Remove), None, r#"{"path": "1/2/3.jpg", "segmentation": null}"#);
    assert_eq!((pair.captions.len(), pair.regions.len(), pair.scores.len()), (0, 0, 0));
}

#[test]
fn captions_say_which_picture_is_the_photograph() {
    let of = |context| recaptioned(context, None, &recap()).captions[0].of.clone();
    let (source, target) = (Some("source".to_owned()), Some("target".to_owned()));
    assert_eq!(of(context(Task::Remove)), source);
    assert_eq!(of(context(Task::Add)), target);
    assert_eq!(of(turn(Task::VersionBacktracking, 0, 3)), target);
    assert_eq!(of(turn(Task::VersionBacktracking, 2, 3)), source);
    assert_eq!(of(turn(Task::ContentUnderstanding, 2, 3)), source);
    assert_eq!(of(turn(Task::ContentMemory, 0, 2)), source);
    assert_eq!(of(turn(Task::ContentMemory, 1, 2)), None);
    assert_eq!(of(context(Task::Extract)), source);
    let mut cut = pair();
    cut.source.name = "results_extract_ref_part1/1_2_3/result_2.png".to_owned();
    let recap = recap();
    let beside = Beside { recap: Some(recap.as_bytes()), ..Beside::default() };
    add(&mut cut, &context(Task::Extract), &beside);
    assert_eq!(cut.captions[0].of, None);
}

#[test]
fn a_photograph_is_named_by_the_result_or_by_the_folder() {
    let of = |sample, result: Option<&str>| {
        let context = Context { task: Task::Add, turn: None, turns: 1, sample };
        context.photograph(result.map(str::as_bytes))
    };
    let wanted = Some("00095_00019_000197953".to_owned());
    assert_eq!(of("00095_00019_000197953", None), wanted);
    let stated = r#"{"original_path": "00095/00019/000197953.jpg"}"#;
    assert_eq!(of("else", Some(stated)), wanted);
    assert_eq!(of("00095_00019_000197953", Some("{}")), wanted);
    assert_eq!(of("00095_00019_000197953", Some("no JSON")), wanted);
    assert_eq!(of("kgrdxxd90yk_segment_151_frame_164", None), None);
    let paths = [
        "00095/00019/000197953.jpg",
        "laion-aes/00095/00019/000197953.jpg",
        "./00095\\00019\\000197953.png",
        "part0/0009500019000197953_step4_withcount.json",
        "0009500019000197953.json",
    ];
    for path in paths {
        assert_eq!(super::recap::photograph(path), wanted, "{path}");
    }
    for path in ["", "a.jpg", "00019/000197953.jpg", "a/b/c.jpg", "000950001900019795.json"] {
        assert_eq!(super::recap::photograph(path), None, "{path}");
    }
}

proptest! {
    #[test]
    fn nothing_that_stands_beside_makes_it_panic(
        text in prop_oneof![
            "\\PC{0,60}",
            "\\{\"(edit_obj|edit_obj1|edit_result2|edit_type|resolution|score|cap|tags|segmentation)\": [\\[{]?\"?[0-9a-z:./ ]{0,12}\"?[\\]}]?\\}",
        ],
        number in 0_u16..4,
    ) {
        let bytes = Some(text.as_bytes());
        let beside =
            Beside { result: bytes, judge: bytes, judge_two: bytes, score: bytes, recap: bytes };
        for context in [context(Task::Hybrid), turn(Task::ContentMemory, number, 2)] {
            add(&mut pair(), &context, &beside);
        }
    }
}
