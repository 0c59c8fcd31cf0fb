//! What a row says that this program wrote: the records of its pairs, and the names of their
//! pictures. No I/O.
//!
//! ```json
//! {"diptych": 1, "normal": RECORD or null, "abnormal": RECORD or null,
//!  "files": {"source": NAME, "normal": NAME, "abnormal": null, "mask_normal": NAME,
//!            "mask_abnormal": null, "references_normal": [NAME], "references_abnormal": []}}
//! ```
//!
//! Where a side has a record, that is the pair, whatever else the row says.

use diptych_format::record::{Restored, restore};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::layout::{Role, Side, Sides};

/// The version of the object that is read here.
const VERSION: u64 = 1;

/// What the object says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Extra {
    /// The pairs, without their pictures.
    pub(crate) sides: Sides<Option<Box<Restored>>>,
    pub(crate) files: Files,
}

/// Names of pictures, each in the folder of its role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Files {
    source: Option<String>,
    normal: Option<String>,
    abnormal: Option<String>,
    mask_normal: Option<String>,
    mask_abnormal: Option<String>,
    references_normal: Vec<String>,
    references_abnormal: Vec<String>,
}

impl Files {
    /// The name of the one picture of a role.
    pub(crate) fn of(&self, role: Role) -> Option<&str> {
        let name = match role {
            Role::Source => &self.source,
            Role::Normal => &self.normal,
            Role::Abnormal => &self.abnormal,
            Role::MaskNormal => &self.mask_normal,
            Role::MaskAbnormal => &self.mask_abnormal,
            Role::Reference => &None,
        };
        name.as_deref()
    }

    /// The names of a side's further input pictures, in order.
    pub(crate) fn references(&self, side: Side) -> &[String] {
        match side {
            Side::Normal => &self.references_normal,
            Side::Abnormal => &self.references_abnormal,
        }
    }
}

#[derive(Deserialize)]
struct Fields<'a> {
    diptych: u64,
    #[serde(borrow)]
    normal: Option<&'a RawValue>,
    abnormal: Option<&'a RawValue>,
    #[serde(default)]
    files: Files,
}

/// Reads a field `extra`; `None` for one that is somebody else's.
pub(crate) fn extra(raw: &RawValue) -> Result<Option<Extra>, String> {
    #[derive(Deserialize)]
    struct Ours<'a> {
        #[serde(borrow)]
        diptych: Option<&'a RawValue>,
    }
    let is_object = raw.get().starts_with('{');
    let ours = serde_json::from_str::<Ours<'_>>(raw.get()).ok().filter(|_| is_object);
    if ours.is_none_or(|ours| ours.diptych.is_none()) {
        return Ok(None);
    }
    let fields: Fields<'_> = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    if fields.diptych != VERSION {
        return Err(format!("of version {}, and {VERSION} is known", fields.diptych));
    }
    let side = |side: Side, raw: Option<&RawValue>| {
        let within = |what: String| format!("{}: {what}", side.word());
        let Some(raw) = raw else { return Ok(None) };
        let restored = restore(raw.get()).map_err(|error| within(error.to_string()))?;
        if restored.pair.pair_id.is_empty() {
            return Err(within("a record without a pair_id".to_owned()));
        }
        if restored.pictures.target.is_none() {
            return Err(within("a record without a target".to_owned()));
        }
        Ok(Some(Box::new(restored)))
    };
    let sides = Sides {
        normal: side(Side::Normal, fields.normal)?,
        abnormal: side(Side::Abnormal, fields.abnormal)?,
    };
    Ok(Some(Extra { sides, files: fields.files }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Option<Extra>, String> {
        extra(serde_json::from_str::<&RawValue>(json).unwrap())
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() {
        for json in ["{}", "{\"a\": 1}", "[1]", "7", "\"diptych\"", "{\"diptych\": null}"] {
            assert_eq!(read(json), Ok(None), "{json}");
        }
    }

    #[test]
    fn names_are_taken_by_role() {
        let json = r#"{"diptych": 1, "normal": null, "files": {"source": "s.jpg",
            "mask_abnormal": "m.png", "references_normal": ["a-0.png", "a-1.png"]}}"#;
        let Extra { sides, files } = read(json).unwrap().unwrap();
        assert_eq!(sides, Sides::default());
        let names = Role::ALL.map(|role| files.of(role));
        assert_eq!(names, [Some("s.jpg"), None, None, None, Some("m.png"), None]);
        assert_eq!(files.references(Side::Normal), ["a-0.png", "a-1.png"]);
        assert_eq!(files.references(Side::Abnormal), [""; 0]);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let why = |json: &str| read(json).unwrap_err();
        assert_eq!(why("{\"diptych\": 2}"), "of version 2, and 1 is known");
        assert!(why("{\"diptych\": \"1\"}").contains("invalid type"));
        let of_side = why(r#"{"diptych": 1, "abnormal": {"pair_id": "a"}}"#);
        assert!(of_side.starts_with("abnormal: no record: missing field"), "{of_side}");
    }
}
