//! What stands beside the pictures of the miniature ImgEdit, as far as pairs come to hold it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeMap;

use diptych::format::options::Assignment;
use diptych::schema::{EditPair, MaskOrigin, MaskPart};
use support::again;
use support::folder::fixtures;

/// The pairs of the release, with its recaptions or without.
fn pairs(with_recaptions: bool) -> BTreeMap<String, EditPair> {
    let recap = fixtures().join("imgedit-recap").display().to_string();
    let option = format!("imgedit.recap={recap}");
    let options =
        if with_recaptions { vec![Assignment::parse(&option).unwrap()] } else { Vec::new() };
    let pairs = again::pairs(&fixtures().join("imgedit"), &options);
    pairs.into_iter().map(|pair| (pair.pair_id.clone(), pair)).collect()
}

fn scores(pair: &EditPair) -> Vec<(&str, f64)> {
    pair.scores.iter().map(|score| (score.name.as_str(), score.value)).collect()
}

fn labels<'p>(pair: &'p EditPair, name: &str) -> Vec<&'p str> {
    let of = pair.labels.iter().filter(|label| label.name == name);
    of.map(|label| label.value.as_str()).collect()
}

fn roles(pair: &EditPair) -> Vec<&str> {
    pair.regions.iter().filter_map(|region| region.role.as_deref()).collect()
}

const THREE: [(&str, f64); 4] = [
    ("gpt.average", 13.0 / 3.0),
    ("gpt.physical_detail_integrity", 4.0),
    ("gpt.prompt_compliance", 4.0),
    ("gpt.visual_naturalness", 5.0),
];
const TWO: [(&str, f64); 3] = [("gpt.average", 4.5), ("gpt.score_1", 4.0), ("gpt.score_2", 5.0)];

#[test]
fn scores_come_from_the_newest_file_that_there_is() {
    let pairs = pairs(false);
    let of = |id: &str| scores(&pairs[&format!("imgedit:{id}")]);
    // judge_2scores.json, judge.json, and the large file under each group's name there.
    assert_eq!(of("add_part5:0"), THREE);
    assert_eq!(of("add_part5:1"), TWO);
    assert_eq!(of("replace_part0:0"), TWO);
    assert_eq!(of("adjust_canny_part2:0"), [("gpt.average", 4.5)]);
    for stem in ["hybrid_part6", "reference_extract_part1", "reference_replace_part1"] {
        assert_eq!(of(&format!("{stem}:1")), THREE, "{stem}");
    }
    assert_eq!(of("action_part1:0"), []);
    assert_eq!(labels(&pairs["imgedit:add_part5:1"], "objects_match"), ["true"]);
    for turn in 0..3 {
        let pair = &pairs[&format!("imgedit:content_understanding_part2:1:{turn}")];
        assert_eq!(
            (scores(pair).as_slice(), labels(pair, "score_scope")),
            (&THREE[..], vec!["session"])
        );
    }
}

#[test]
fn objects_and_operations_come_from_the_result() {
    let pairs = pairs(false);
    for (id, pair) in &pairs {
        let stem = pair.subset.as_deref().unwrap();
        if stem.starts_with("action") || stem.starts_with("style") {
            assert_eq!((pair.regions.len(), pair.edit_box), (0, None), "{id}");
            continue;
        }
        let of_edit = roles(pair).iter().filter(|role| **role != "context").count();
        assert_eq!(labels(pair, "object").len(), of_edit, "{id}");
        assert_eq!(pair.edit_box.is_some(), of_edit == 1, "{id}");
        let frame = pair.edit_box.map(|of| (of.frame_width, of.frame_height));
        assert!(frame.is_none_or(|frame| [(96, 64), (64, 96), (72, 72)].contains(&frame)), "{id}");
    }
    let types = |stem: &str, turns: u16| {
        let of = |turn| pairs[&format!("imgedit:{stem}:0:{turn}")].edit_type.clone().unwrap();
        (0..turns).map(of).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(types("content_memory_part2", 2), "adjust remove");
    assert_eq!(types("content_understanding_part2", 3), "adjust remove replace");
    assert_eq!(types("version_backtracking_part0", 3), "add adjust replace");
    let memory = |turn: u8| roles(&pairs[&format!("imgedit:content_memory_part2:1:{turn}")]);
    assert_eq!((memory(0), memory(1)), (vec!["edited", "context"], vec!["context", "edited"]));
    assert_eq!(roles(&pairs["imgedit:add_part5:0"]), ["result"]);
    assert_eq!(roles(&pairs["imgedit:version_backtracking_part0:0:0"]), ["result"]);
    for number in 0..2 {
        let hybrid = &pairs[&format!("imgedit:hybrid_part6:{number}")];
        assert_eq!((roles(hybrid), hybrid.edit_box), (vec!["edited", "edited"], None));
        assert_eq!(hybrid.edit_type_native, ["adjust", "remove"]);
    }
    assert_eq!(labels(&pairs["imgedit:style_transfer_part0:0"], "style"), ["night"]);
}

#[test]
fn every_photograph_that_is_recaptioned_is_found() {
    let (bare, pairs) = (pairs(false), pairs(true));
    assert_eq!(bare.len(), pairs.len());
    for (id, pair) in &pairs {
        let stem = pair.subset.as_deref().unwrap();
        if stem.starts_with("action") || stem.starts_with("style") {
            assert_eq!(pair, &bare[id]);
            continue;
        }
        assert_eq!(pair.captions.len(), 2, "{id}");
        assert_eq!(labels(pair, "tag_background"), ["sky"], "{id}");
        assert_eq!(labels(pair, "tag_object").len(), 2, "{id}");
        assert!(scores(pair).iter().any(|(name, _)| *name == "aesthetic"), "{id}");
        // Two things and the background, each once, and each with its mask.
        assert_eq!(pair.regions.len(), 3, "{id}");
        let size = pair.regions[0].edit_box.map(|of| (of.frame_width, of.frame_height));
        for region in &pair.regions {
            assert!(matches!(&region.mask, Some(MaskPart::RunLength { .. })), "{id}: {region:?}");
            assert_eq!(region.mask.as_ref().unwrap().size(), size, "{id}");
        }
        // What the release has as a picture stays; an object that is taken out of its picture is
        // on a grid of its own, and has no mask.
        match &bare[id].mask {
            None if stem.starts_with("reference_extract") => assert_eq!(pair.mask, None, "{id}"),
            Some(mask) => assert_eq!(pair.mask.as_ref(), Some(mask), "{id}"),
            None => assert_eq!(pair.mask.as_ref().unwrap().origin, MaskOrigin::RunLength, "{id}"),
        }
    }
}
