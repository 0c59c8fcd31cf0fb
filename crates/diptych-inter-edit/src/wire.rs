//! A row's bytes into what it says. No I/O.
//!
//! Released rows have twelve fields; the authors' own loader also takes other names for the
//! pictures and the words, and so does this. What a field holds is looked at leniently: a row is
//! refused only where the pair could not be made.

use serde::Deserialize;
use serde_json::value::RawValue;

/// What a row says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The sample's id as a key: a number to at least seven digits, other text as it is.
    pub(crate) id: Option<String>,
    /// Place among all samples and among all sources, where they are numbers: shards follow.
    pub(crate) sample_number: Option<u64>,
    pub(crate) source_number: Option<u64>,
    pub(crate) edit_type: Option<String>,
    pub(crate) instruction: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) better_data: Option<bool>,
    pub(crate) bounding_box: BoundingBox,
    pub(crate) source: PictureName,
    pub(crate) target: PictureName,
    pub(crate) mask: Option<PictureName>,
}

/// A picture as a row names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PictureName {
    /// The archive, where the row names one.
    pub(crate) archive: Option<String>,
    pub(crate) file: String,
}

/// The row's box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum BoundingBox {
    None,
    /// Edges x0, y0, x1, y1 and the frame's width and height.
    Edges([f64; 4], u32, u32),
    /// There is one, but not as published elsewhere: it stays in the native row.
    Unreadable,
}

/// Why no pair can be made of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowFault {
    pub(crate) kind: &'static str,
    pub(crate) cause: String,
    /// The row's id, as far as it was read.
    pub(crate) id: Option<String>,
}

type Raw<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    sample_id: Raw<'a>,
    source_id: Raw<'a>,
    edit_type: Raw<'a>,
    instruction: Raw<'a>,
    edit_instruction: Raw<'a>,
    concise_edit_prompt: Raw<'a>,
    edit_prompt: Raw<'a>,
    language: Raw<'a>,
    better_data: Raw<'a>,
    bounding_box: Raw<'a>,
    bbox_reference_dimensions: Raw<'a>,
    source_archive: Raw<'a>,
    asset_archive: Raw<'a>,
    original_image_path: Raw<'a>,
    original_image_url: Raw<'a>,
    background_image: Raw<'a>,
    image_path: Raw<'a>,
    source_file: Raw<'a>,
    source_path: Raw<'a>,
    edited_image_path: Raw<'a>,
    edited_image_url: Raw<'a>,
    target_image: Raw<'a>,
    target_file: Raw<'a>,
    gt_path: Raw<'a>,
    mask_image_path: Raw<'a>,
    mask: Raw<'a>,
    mask_file: Raw<'a>,
    mask_path: Raw<'a>,
}

/// Several names of one field, the released one first.
type Aliases<'a, const N: usize> = [(&'static str, Raw<'a>); N];

/// Reads a row.
pub(crate) fn parse(bytes: &[u8]) -> Result<Row, RowFault> {
    let fault = |kind, cause: String| RowFault { kind, cause, id: None };
    let invalid = |error: serde_json::Error| fault("invalid_json", error.to_string());
    let text = std::str::from_utf8(bytes)
        .map_err(|e| fault("invalid_json", format!("not UTF-8 from byte {}", e.valid_up_to())))?;
    // Serde would take a list for a struct, its items for the fields in turn.
    if !text.trim_start().starts_with('{') {
        serde_json::from_str::<&RawValue>(text).map_err(invalid)?;
        return Err(fault("not_an_object", "a JSON value that is no object".to_owned()));
    }
    let fields: Fields<'_> = serde_json::from_str(text).map_err(invalid)?;
    let id = fields.sample_id.map(id_key).transpose();
    let (id, unusable_id) = match id {
        Ok(id) => (id, None),
        Err(found) => (None, Some(found)),
    };
    let with_id = |mut fault: RowFault| {
        fault.id.clone_from(&id);
        fault
    };
    if let Some(found) = unusable_id {
        let cause = format!("sample_id is {found}, not a number or text");
        return Err(fault("invalid_field", cause));
    }
    let source = fields.source().and_then(|file| {
        let file = file.ok_or_else(|| missing("a source", &fields.source_aliases()))?;
        let archive = optional_text("source_archive", fields.source_archive)?;
        Ok(PictureName { archive, file })
    });
    let asset = |name: &'static str, file: Option<String>| {
        let archive = optional_text("asset_archive", fields.asset_archive)?;
        Ok((name, file.map(|file| PictureName { archive, file })))
    };
    let target = first_text(&fields.target_aliases()).and_then(|file| {
        let (name, target) = asset("a target", file)?;
        target.ok_or_else(|| missing(name, &fields.target_aliases()))
    });
    let mask = first_text(&fields.mask_aliases()).and_then(|file| Ok(asset("a mask", file)?.1));
    let instruction = fields.instruction();
    Ok(Row {
        sample_number: fields.sample_id.and_then(number),
        source_number: fields.source_id.and_then(number),
        edit_type: optional_text("edit_type", fields.edit_type).map_err(with_id)?,
        instruction: Some(instruction.map_err(with_id)?).filter(|text| !text.is_empty()),
        language: optional_text("language", fields.language).map_err(with_id)?,
        better_data: fields.better_data.and_then(|raw| serde_json::from_str(raw.get()).ok()),
        bounding_box: bounding_box(fields.bounding_box, fields.bbox_reference_dimensions),
        source: source.map_err(with_id)?,
        target: target.map_err(with_id)?,
        mask: mask.map_err(with_id)?,
        id,
    })
}

impl<'a> Fields<'a> {
    fn source_aliases(&self) -> Aliases<'a, 6> {
        [
            ("source_file", self.source_file),
            ("original_image_path", self.original_image_path),
            ("original_image_url", self.original_image_url),
            ("background_image", self.background_image),
            ("image_path", self.image_path),
            ("source_path", self.source_path),
        ]
    }

    fn source(&self) -> Result<Option<String>, RowFault> {
        first_text(&self.source_aliases())
    }

    fn target_aliases(&self) -> Aliases<'a, 5> {
        [
            ("target_file", self.target_file),
            ("edited_image_path", self.edited_image_path),
            ("edited_image_url", self.edited_image_url),
            ("target_image", self.target_image),
            ("gt_path", self.gt_path),
        ]
    }

    fn mask_aliases(&self) -> Aliases<'a, 4> {
        [
            ("mask_file", self.mask_file),
            ("mask_image_path", self.mask_image_path),
            ("mask", self.mask),
            ("mask_path", self.mask_path),
        ]
    }

    /// The instruction; empty where the release has an empty one.
    fn instruction(&self) -> Result<String, RowFault> {
        let aliases = [
            ("instruction", self.instruction),
            ("edit_instruction", self.edit_instruction),
            ("concise_edit_prompt", self.concise_edit_prompt),
            ("edit_prompt", self.edit_prompt),
        ];
        let (name, raw) = aliases
            .iter()
            .find_map(|(name, raw)| Some((*name, (*raw)?)))
            .ok_or_else(|| missing("an instruction", &aliases))?;
        text(name, raw)
    }
}

fn missing<const N: usize>(what: &str, aliases: &Aliases<'_, N>) -> RowFault {
    let names: Vec<_> = aliases.iter().map(|(name, _)| *name).collect();
    let cause = format!("no field names {what}; looked for {}", names.join(", "));
    RowFault { kind: "missing_field", cause, id: None }
}

/// The first of the fields that is there and not empty.
fn first_text<const N: usize>(aliases: &Aliases<'_, N>) -> Result<Option<String>, RowFault> {
    for (name, raw) in aliases {
        if let Some(found) = optional_text(name, *raw)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A field's text; absent and empty are the same.
fn optional_text(name: &str, raw: Raw<'_>) -> Result<Option<String>, RowFault> {
    let found = raw.map(|raw| text(name, raw)).transpose()?;
    Ok(found.filter(|text| !text.is_empty()))
}

fn text(name: &str, raw: &RawValue) -> Result<String, RowFault> {
    serde_json::from_str(raw.get()).map_err(|error| RowFault {
        kind: "invalid_field",
        cause: format!("{name} is {}, not text ({error})", kind_of(raw)),
        id: None,
    })
}

/// What kind of JSON value it is, for a message.
fn kind_of(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'"') => "broken text",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        Some(b't' | b'f') => "true or false",
        _ => "a number",
    }
}

/// A non-negative whole number.
fn number(raw: &RawValue) -> Option<u64> {
    raw.get().parse().ok()
}

/// Digits of an id at the least, as in the names of the pictures.
const ID_DIGITS: usize = 7;

/// The key that an id makes, or what it is instead. The digits are taken as written: no number is
/// too large.
fn id_key(raw: &RawValue) -> Result<String, &'static str> {
    let written = raw.get();
    if written.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(format!("{written:0>ID_DIGITS$}"));
    }
    match written.as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => Ok(written.to_owned()),
        Some(b'"') => serde_json::from_str::<String>(written)
            .ok()
            .filter(|id| !id.is_empty())
            .ok_or("empty or broken text"),
        _ => Err(kind_of(raw)),
    }
}

fn bounding_box(edges: Raw<'_>, frame: Raw<'_>) -> BoundingBox {
    #[derive(Deserialize)]
    struct Frame {
        width: f64,
        height: f64,
    }
    let Some(edges) = edges else { return BoundingBox::None };
    let edges = serde_json::from_str::<[f64; 4]>(edges.get());
    let frame = frame.and_then(|raw| serde_json::from_str::<Frame>(raw.get()).ok());
    let sides = frame.and_then(|frame| Some((side(frame.width)?, side(frame.height)?)));
    match (edges, sides) {
        (Ok(edges), Some((width, height))) => BoundingBox::Edges(edges, width, height),
        _ => BoundingBox::Unreadable,
    }
}

/// A side of a frame: a whole number of pixels, whether written `960` or `960.0`.
fn side(value: f64) -> Option<u32> {
    let whole = (1.0..=f64::from(u32::MAX)).contains(&value) && value.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and within the range of u32"
    )]
    whole.then_some(value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"sample_id": 17, "source_id": 9, "edit_type": "Remove",
        "instruction": "移除 \u2192 **x**\n", "better_data": true, "bounding_box": [547, 353, 751, 547],
        "bbox_reference_dimensions": {"width": 960, "height": 640},
        "source_archive": "source_shards/source-00001-of-00004.tar", "source_file": "sources/source_0000009.png",
        "asset_archive": "asset_shards/asset-00002-of-00005.tar", "target_file": "targets/target_0000017.png",
        "mask_file": "masks/mask_0000017.png"}"#;

    fn fault(row: &str) -> (&'static str, String) {
        let fault = parse(row.as_bytes()).unwrap_err();
        (fault.kind, fault.cause)
    }

    #[test]
    fn a_released_row_says_all_of_it() {
        let row = parse(ROW.as_bytes()).unwrap();
        let picture = |archive: &str, file: &str| PictureName {
            archive: Some(archive.to_owned()),
            file: file.to_owned(),
        };
        let asset = "asset_shards/asset-00002-of-00005.tar";
        assert_eq!(
            row,
            Row {
                id: Some("0000017".to_owned()),
                sample_number: Some(17),
                source_number: Some(9),
                edit_type: Some("Remove".to_owned()),
                instruction: Some("移除 → **x**\n".to_owned()),
                language: None,
                better_data: Some(true),
                bounding_box: BoundingBox::Edges([547.0, 353.0, 751.0, 547.0], 960, 640),
                source: picture(
                    "source_shards/source-00001-of-00004.tar",
                    "sources/source_0000009.png"
                ),
                target: picture(asset, "targets/target_0000017.png"),
                mask: Some(picture(asset, "masks/mask_0000017.png")),
            }
        );
    }

    #[test]
    fn the_official_loaders_names_are_taken() {
        let sources = [
            "original_image_path",
            "original_image_url",
            "background_image",
            "image_path",
            "source_file",
            "source_path",
        ];
        let targets =
            ["edited_image_path", "edited_image_url", "target_image", "target_file", "gt_path"];
        let masks = ["mask_image_path", "mask", "mask_file", "mask_path"];
        let texts = ["instruction", "edit_instruction", "concise_edit_prompt", "edit_prompt"];
        let taken = |source: &str, target: &str, mask: &str, text: &str| {
            let json = format!(
                r#"{{"{source}": "s.png", "{target}": "t.png", "{mask}": "m.png", "{text}": "x"}}"#
            );
            let row = parse(json.as_bytes()).unwrap();
            assert_eq!((row.source.file.as_str(), row.source.archive), ("s.png", None));
            assert_eq!(row.target.file, "t.png");
            assert_eq!(row.mask.unwrap().file, "m.png");
            assert_eq!(row.instruction.unwrap(), "x");
            assert_eq!(row.id, None);
        };
        sources.iter().for_each(|source| taken(source, "gt_path", "mask", "instruction"));
        targets.iter().for_each(|target| taken("source_path", target, "mask", "instruction"));
        masks.iter().for_each(|mask| taken("source_path", "gt_path", mask, "instruction"));
        texts.iter().for_each(|text| taken("source_path", "gt_path", "mask", text));
    }

    #[test]
    fn an_id_is_a_number_or_text() {
        let id = |id: &str| {
            let json = format!(
                r#"{{"sample_id": {id}, "source_file": "s", "target_file": "t", "instruction": "x"}}"#
            );
            parse(json.as_bytes()).map(|row| row.id)
        };
        let some = |id: &str| Ok(Some(id.to_owned()));
        assert_eq!(id("3"), some("0000003"));
        assert_eq!(id("12345678"), some("12345678"));
        assert_eq!(id("18446744073709551617"), some("18446744073709551617"));
        assert_eq!(id("-4"), some("-4"));
        assert_eq!(id(r#""a b""#), some("a b"));
        assert_eq!(id("null"), Ok(None));
        for wrong in ["[1]", "{}", "true", r#""""#] {
            assert_eq!(id(wrong).unwrap_err().kind, "invalid_field", "{wrong}");
        }
    }

    #[test]
    fn boxes_may_be_floats_and_an_unreadable_one_costs_no_pair() {
        let found = |edges: &str, frame: &str| {
            let json = format!(
                r#"{{"source_file": "s", "target_file": "t", "instruction": "x",
                    "bounding_box": {edges}, "bbox_reference_dimensions": {frame}}}"#
            );
            parse(json.as_bytes()).unwrap().bounding_box
        };
        let frame = r#"{"width": 726.0, "height": 960}"#;
        let edges = BoundingBox::Edges([-1.0, 0.5, 726.0, 959.25], 726, 960);
        assert_eq!(found("[-1, 0.5, 726, 959.25]", frame), edges);
        assert_eq!(found("null", frame), BoundingBox::None);
        for (edges, frame) in [
            ("[1, 2, 3]", frame),
            ("[1, 2, 3, 4, 5]", frame),
            (r#"["1", 2, 3, 4]"#, frame),
            ("[1, 2, 3, 4]", "null"),
            ("[1, 2, 3, 4]", r#"{"width": 0, "height": 1}"#),
            ("[1, 2, 3, 4]", r#"{"width": 1.5, "height": 1}"#),
            ("[1, 2, 3, 4]", r#"{"width": -5, "height": 1e300}"#),
        ] {
            assert_eq!(found(edges, frame), BoundingBox::Unreadable, "{edges} {frame}");
        }
    }

    #[test]
    fn what_is_absent_or_null_is_none_and_an_empty_instruction_too() {
        let json = r#"{"source_file": "s", "target_file": "t", "mask_file": null,
                       "instruction": "", "edit_type": null, "better_data": "yes"}"#;
        let row = parse(json.as_bytes()).unwrap();
        assert_eq!((row.mask, row.instruction, row.edit_type), (None, None, None));
        assert_eq!((row.better_data, row.sample_number, row.language), (None, None, None));
    }

    #[test]
    fn rows_that_make_no_pair_say_why() {
        assert_eq!(fault("{").0, "invalid_json");
        assert_eq!(fault("nonsense").0, "invalid_json");
        assert_eq!(fault(r#"{"sample_id": NaN}"#).0, "invalid_json");
        assert_eq!(fault(r#"{"mask": 1, "mask": 2}"#).0, "invalid_json");
        assert_eq!(fault("[1, 2]").0, "not_an_object");
        assert_eq!(fault("7").0, "not_an_object");
        let deep = "{\"a\":".repeat(10_000);
        assert_eq!(fault(&deep).0, "invalid_json");
        let (kind, cause) = fault(r#"{"sample_id": 1, "target_file": "t", "instruction": "x"}"#);
        assert_eq!(kind, "missing_field");
        assert!(cause.contains("source_file, original_image_path"), "{cause}");
        let (_, cause) = fault(r#"{"source_file": "s", "instruction": "x"}"#);
        assert!(cause.contains("a target"), "{cause}");
        let (_, cause) = fault(r#"{"source_file": "s", "target_file": "t"}"#);
        assert!(cause.contains("instruction, edit_instruction"), "{cause}");
        let (kind, cause) =
            fault(r#"{"source_file": ["s"], "target_file": "t", "instruction": "x"}"#);
        assert_eq!(kind, "invalid_field");
        assert!(cause.contains("source_file is a list, not text"), "{cause}");
        // A lone surrogate is no text.
        let lone = r#"{"source_file": "s", "target_file": "t", "instruction": "\ud800"}"#;
        assert_eq!(fault(lone).0, "invalid_field");
        let not_utf8 = parse(b"{\"a\": \"\xff\"}").unwrap_err();
        assert_eq!(not_utf8.cause, "not UTF-8 from byte 7");
        let known = parse(br#"{"sample_id": 5, "instruction": 3}"#).unwrap_err();
        assert_eq!(known.id.as_deref(), Some("0000005"));
    }
}
