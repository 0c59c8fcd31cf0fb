//! The set: records written by hand, and the pictures that belong to them.
//!
//! What readers infer from the first samples is wrong for the later ones here: the first
//! [`PLAIN`] pairs of each split have nothing that can be left out, and an instruction that looks
//! like a date.

use serde_json::{Value, json};

use crate::pictures::{Drawn, DrawnMask, gif, jpeg, mask, png, sha256, webp};

/// What a pair is and what its pictures are.
pub(crate) struct Told {
    pub(crate) split_file: &'static str,
    pub(crate) record: Value,
    pub(crate) source: Drawn,
    pub(crate) references: Vec<Drawn>,
    pub(crate) target: Drawn,
    pub(crate) mask: Option<DrawnMask>,
}

impl Told {
    /// The pair's line of the truth.
    pub(crate) fn truth(&self) -> Value {
        let references: Vec<_> = self.references.iter().map(|r| sha256(&r.bytes)).collect();
        json!({
            "split_file": self.split_file,
            "record": self.record,
            "sha256": {
                "source": sha256(&self.source.bytes),
                "references": references,
                "target": sha256(&self.target.bytes),
                "mask": self.mask.as_ref().map(|mask| sha256(&mask.pixels)),
            },
        })
    }

    fn put(&mut self, key: &str, value: Value) {
        if let Some(field) = self.record.get_mut(key) {
            *field = value;
        }
    }

    fn put_picture(&mut self, role: &str, value: Value) {
        if let Some(field) = self.record.pointer_mut(&format!("/pictures/{role}")) {
            *field = value;
        }
    }
}

/// How many pairs of each split come first and have nothing but what every pair has.
const PLAIN: usize = 8;

/// Further pairs of `train`, and ids that are hard to make file names of.
const RICH: usize = 20;
const HARD_IDS: [&str; 13] = [
    "toy:case:abc",
    "toy:case:ABC",
    "toy:Case:abc",
    "toy:v1.0:a.b.c",
    ".hidden",
    "__meta__",
    "toy:a::b",
    "toy:a:_b",
    "toy:a_:b",
    "toy:../up/and down\\:移除🌅é.png",
    "con",
    "toy:a-long-id-that-ends-with-what-tells-it-from-the-next-one:0000000001",
    "toy:a-long-id-that-ends-with-what-tells-it-from-the-next-one:0000000002",
];

/// Pairs of `val` behind the plain ones: without a mask, then with one.
const NO_MASK: usize = 8;
const MASK: usize = 8;

/// Every pair, in the order in which the release has them.
pub(crate) fn set() -> Vec<Told> {
    let mut set = Vec::new();
    for split in ["train", "val", "test"] {
        set.extend((0..PLAIN).map(|i| plain(split, &format!("toy:{split}:{i:07}"))));
    }
    for j in 0..RICH {
        set.push(rich(plain("train", &format!("toy:train:{:07}", PLAIN + j)), j, j % 4 != 3));
    }
    for (j, id) in HARD_IDS.iter().enumerate() {
        set.push(rich(plain("train", id), RICH + j, j % 2 == 0));
    }
    // Without a split they are for training, and their records say that none was stated.
    for (j, dressed) in [(0, false), (1, true)] {
        let mut told = plain("train", &format!("other.set:nowhere:{j}"));
        if dressed {
            told = rich(told, 2 * j + 1, true);
        }
        told.put("split", Value::Null);
        told.put("dataset", json!("other.set"));
        set.push(told);
    }
    for j in 0..NO_MASK + MASK {
        let told = plain("val", &format!("toy:val:{:07}", PLAIN + j));
        set.push(rich(told, j, j >= NO_MASK));
    }
    set.push(plain("test", "toy:test:last"));
    set
}

/// A picture of the record, under a name whose extension is wrong on purpose.
fn picture(role: &str, id: &str, drawn: &Drawn) -> Value {
    json!({
        "part": format!("{role}.{}", drawn.extension),
        "name": format!("{role}s/{id}.JPEG"),
        "width": drawn.width,
        "height": drawn.height,
    })
}

/// A pair that has only what every pair has.
fn plain(split: &'static str, id: &str) -> Told {
    let source = png(&format!("source {id}"), 0, (12, 8));
    let target = png(&format!("target {id}"), 0, (12, 8));
    let record = json!({
        "pair_id": id,
        "dataset": "toy",
        "subset": null,
        "split": split,
        "session_id": null,
        "turn": null,
        "base": null,
        "premise": null,
        "group_id": null,
        "variant": null,
        "inverse_of": null,
        "edit_type": null,
        "edit_type_native": [],
        "instruction": "2024-01-01",
        "language": null,
        "instructions": [],
        "captions": [],
        "editor": null,
        "pictures": {
            "source": picture("source", id, &source),
            "references": [],
            "target": picture("target", id, &target),
            "mask": null,
        },
        "mask_grid": null,
        "mask_origin": null,
        "box": null,
        "regions": [],
        "scores": [],
        "labels": [],
        "licence": null,
        "native": null,
    });
    Told { split_file: split, record, source, references: Vec::new(), target, mask: None }
}

/// Gives a pair what the plain ones lack; which of it depends on `j`.
fn rich(mut told: Told, j: usize, masked: bool) -> Told {
    dress_words(&mut told, j);
    dress_family(&mut told, j);
    dress_places(&mut told, j);
    dress_values(&mut told, j);
    dress_pictures(&mut told, j, masked);
    told
}

/// Text with what breaks readers of lines, quotes and code points.
fn hard_text(j: usize) -> String {
    format!(
        " \u{feff}把天空变成 🌅 \"{j}\"\n2nd \u{2028} line\r\n\t\\u0041 \\ 'é' e\u{301} \u{0}\u{7f} \
         null NaN {{\"a\": 1}} </script> "
    )
}

fn dress_words(told: &mut Told, j: usize) {
    told.put("subset", json!("sub.v1.0"));
    told.put("edit_type", json!(["add", "remove", "style_change"].get(j % 3)));
    told.put("edit_type_native", json!(["Add", "加", ""]));
    told.put("instruction", if j % 9 == 4 { Value::Null } else { json!(hard_text(j)) });
    told.put("language", if j % 9 == 4 { Value::Null } else { json!("zh") });
    let native = format!(
        "{{\"row\": {{\"sample_id\":{j},\n \"big\":9007199254740993,\"huge\":18446744073709551617,\
         \"f\":1.0,\"e\":1E400,\"n\":null,\"l\":[],\"s\":\"\u{2028}🌅 \\\"q\\\" \\n \\u0000 \\\\\"}}}}"
    );
    told.put("native", json!(native));
    if j.is_multiple_of(5) {
        told.put(
            "instructions",
            json!([
                {"text": "short", "language": "en", "kind": "concise"},
                {"text": "長い\n", "language": null, "kind": null},
            ]),
        );
        told.put(
            "captions",
            json!([
                {"text": "a couple on a cliff", "language": "en", "of": "source"},
                {"text": "", "language": null, "of": null},
            ]),
        );
        told.put("editor", json!("flux2_dev"));
        told.put("licence", json!("cc-by-4.0"));
    }
}

fn dress_family(told: &mut Told, j: usize) {
    // Three turns that follow each other are a session.
    if j % 5 >= 2 {
        let base = match j % 5 {
            2 => "original",
            3 => "previous",
            _ => "turn:0",
        };
        let of = told.split_file;
        told.put("session_id", json!(format!("{of}/{}", j / 5)));
        told.put("turn", json!(if j == 4 { 65_535 } else { j % 5 - 2 }));
        told.put("base", json!(base));
        told.put("premise", json!("remember: 夜"));
    }
    if j % 3 == 1 {
        told.put("group_id", json!(format!("g{}", j / 6)));
        told.put("variant", json!("normal"));
    }
    if j % 7 == 3 {
        told.put("inverse_of", json!("toy:train:0000001"));
    }
}

fn dress_places(told: &mut Told, j: usize) {
    let (edges, status) = match j % 8 {
        0 | 6 => ([1.0, -0.5, 726.0, 959.25], "out_of_frame"),
        2 => ([0.1, 0.0, 725.999, 960.0], "ok"),
        4 => ([40.0, 50.0, 40.0, 90.0], "degenerate"),
        _ => ([0.0; 4], ""),
    };
    if !status.is_empty() {
        let [x0, y0, x1, y1] = edges;
        told.put(
            "box",
            json!({"x0": x0, "y0": y0, "x1": x1, "y1": y1,
                "frame_width": 726, "frame_height": 960, "status": status}),
        );
    }
    if j % 4 == 1 {
        told.put(
            "regions",
            json!([
                {
                    "label": "bow tie", "role": "edited",
                    "x0": 1.0, "y0": 2.0, "x1": 3.5, "y1": 4.0,
                    "frame_width": 24, "frame_height": u32::MAX,
                    "mask": "32112", "mask_width": 4, "mask_height": 3,
                    "scores": [{"name": "a", "value": 0.5}, {"name": "b", "value": 2.0}],
                },
                {
                    "label": "天", "role": null,
                    "x0": null, "y0": null, "x1": null, "y1": null,
                    "frame_width": null, "frame_height": null,
                    "mask": null, "mask_width": null, "mask_height": null,
                    "scores": [],
                },
            ]),
        );
    }
}

fn dress_values(told: &mut Told, j: usize) {
    if j.is_multiple_of(3) {
        // One of all the scores is no number in the release.
        let aesthetic = if j == 6 && told.split_file == "train" { None } else { Some(1.0) };
        told.put(
            "scores",
            json!([
                {"name": "aesthetic", "value": aesthetic},
                {"name": "clip", "value": if j % 2 == 1 { 1.0 } else { 0.31 }},
                {"name": "gpt.prompt_compliance", "value": 4.0},
                {"name": "huge", "value": f64::MAX},
                {"name": "large", "value": 1e22},
                {"name": "nothing", "value": -0.0},
                {"name": "tiny", "value": 5e-324},
            ]),
        );
    }
    if j % 3 != 1 {
        told.put(
            "labels",
            json!([
                {"name": "better_data", "value": "false"},
                {"name": "empty", "value": ""},
                {"name": "seed", "value": "18446744073709551615"},
                {"name": "物体", "value": "café"},
            ]),
        );
    }
}

fn dress_pictures(told: &mut Told, j: usize, masked: bool) {
    let id = told.record.get("pair_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let drawn = |role: &str, of: usize| match of % 6 {
        1 => jpeg(&format!("{role} {id}")),
        3 => webp(),
        5 => gif(),
        _ => png(&format!("{role} {id}"), of / 2, (10, 9)),
    };
    told.source = drawn("source", j);
    told.target = drawn("target", j + 4);
    told.references = (0..j % 3).map(|k| drawn(&format!("reference{k}"), j / 3 + k)).collect();
    // The grid that a mask is said to have is held against the sizes: they must agree.
    let (grid, size) = match j % 3 {
        0 => ("source", told.source.size()),
        1 => ("target", told.target.size()),
        _ => ("other", (7, 5)),
    };
    told.mask = masked.then(|| mask(&format!("mask {id}"), j % 8 == 5, size));

    told.put_picture("source", picture("source", &id, &told.source));
    told.put_picture("target", picture("target", &id, &told.target));
    let references = told.references.iter().enumerate().map(|(k, drawn)| {
        let mut reference = picture(&format!("reference{k}"), &id, drawn);
        if let Some(fields) = reference.as_object_mut() {
            let role = if k == 0 { json!("object") } else { Value::Null };
            fields.insert("role".to_owned(), role);
        }
        reference
    });
    told.put_picture("references", references.collect());
    if let Some(mask) = &told.mask {
        let mut of = picture("mask", &id, &mask.drawn);
        let origin = match j % 8 {
            1 => "run_length",
            5 => "difference",
            _ => "release",
        };
        // What is a string in the release has no path in it.
        if let Some(name) = of.get_mut("name").filter(|_| origin == "run_length") {
            *name = Value::Null;
        }
        told.put_picture("mask", of);
        told.put("mask_grid", json!(grid));
        told.put("mask_origin", json!(origin));
    }
}
