//! The rows of a manifest.

use std::fmt;

use diptych_format::FormatError;
use diptych_format::writer::Change;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::unit_row::{UnitRow, UnitSide};
use crate::layout::{Role, Side, Sides};

/// The version of what stands under `extra`.
const EXTRA_VERSION: u32 = 1;

/// The names that a row's files have in the folders of their roles.
pub(crate) struct Placed {
    /// The source photograph.
    pub(crate) source: String,
    /// The files of either side, where it is there.
    pub(crate) sides: Sides<Option<PlacedSide>>,
}

/// The names of one side's files.
pub(crate) struct PlacedSide {
    pub(crate) target: Option<String>,
    pub(crate) mask: Option<String>,
    pub(crate) references: Vec<String>,
}

/// The line of a row, without its end. `own_stays` says that the row which PAPE has of the pairs
/// tells all of them.
pub(crate) fn line(
    row: &UnitRow,
    placed: &Placed,
    mask_iou: Option<f64>,
    own_stays: bool,
) -> Result<String, FormatError> {
    let json = |source| FormatError::Json { what: "a row", source };
    match &row.own {
        Some(own) if own_stays => Ok(own.get().to_owned()),
        Some(own) => {
            let mut own: Fields = serde_json::from_str(own.get()).map_err(json)?;
            own.leave_out(row);
            own.set("extra", &Extra::of(row, placed))?;
            serde_json::to_string(&own).map_err(json)
        }
        None => serde_json::to_string(&Foreign::of(row, placed, mask_iou)).map_err(json),
    }
}

/// A row of pairs that PAPE has none of.
#[derive(serde::Serialize)]
struct Foreign<'a> {
    id: &'a str,
    image_id: &'a str,
    language: Option<&'a str>,
    object: Option<&'a str>,
    normal_prompt: Option<&'a str>,
    abnormal_prompt: Option<&'a str>,
    mask_iou: Option<f64>,
    mask_origin: BothSides<Option<&'a str>>,
    source_paths: Nothing,
    export_paths: ExportPaths,
    extra: Extra<'a>,
}

/// `{}`.
#[derive(serde::Serialize)]
struct Nothing {}

#[derive(serde::Serialize)]
struct BothSides<T> {
    normal: T,
    abnormal: T,
}

#[derive(serde::Serialize)]
struct ExportPaths {
    source: String,
    normal: Option<String>,
    abnormal: Option<String>,
    mask_normal: Option<String>,
    mask_abnormal: Option<String>,
}

/// All that the layout has no key for.
#[derive(serde::Serialize)]
struct Extra<'a> {
    diptych: u32,
    normal: Option<&'a RawValue>,
    abnormal: Option<&'a RawValue>,
    files: Files<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<BothSides<Option<&'a Change>>>,
}

/// The names of a row's files.
#[derive(serde::Serialize)]
struct Files<'a> {
    source: &'a str,
    normal: Option<&'a str>,
    abnormal: Option<&'a str>,
    mask_normal: Option<&'a str>,
    mask_abnormal: Option<&'a str>,
    references_normal: &'a [String],
    references_abnormal: &'a [String],
}

impl<'a> Foreign<'a> {
    fn of(row: &'a UnitRow, placed: &'a Placed, mask_iou: Option<f64>) -> Self {
        let (normal, abnormal) = (row.normal.as_ref(), row.abnormal.as_ref());
        let prompt = |side: Option<&'a UnitSide>| side.and_then(|side| side.prompt.as_deref());
        let origin = |side: Option<&'a UnitSide>| side.and_then(|side| side.mask_origin.as_deref());
        let files = Files::of(placed);
        let below = |role: Role, name: &str| format!("{}/{name}", role.folder());
        let id = normal.or(abnormal).map_or("", |side| side.key.as_str());
        Self {
            id,
            image_id: &row.image_id,
            language: row.language.as_deref(),
            object: row.object.as_deref(),
            normal_prompt: prompt(normal),
            abnormal_prompt: prompt(abnormal),
            mask_iou,
            mask_origin: BothSides { normal: origin(normal), abnormal: origin(abnormal) },
            source_paths: Nothing {},
            export_paths: ExportPaths {
                source: below(Role::Source, &placed.source),
                normal: files.normal.map(|name| below(Role::Normal, name)),
                abnormal: files.abnormal.map(|name| below(Role::Abnormal, name)),
                mask_normal: files.mask_normal.map(|name| below(Role::MaskNormal, name)),
                mask_abnormal: files.mask_abnormal.map(|name| below(Role::MaskAbnormal, name)),
            },
            extra: Extra::of(row, placed),
        }
    }
}

impl<'a> Extra<'a> {
    fn of(row: &'a UnitRow, placed: &'a Placed) -> Self {
        let (normal, abnormal) = (row.normal.as_ref(), row.abnormal.as_ref());
        let record = |side: Option<&'a UnitSide>| side.map(|side| side.record.as_ref());
        let change = |side: Option<&'a UnitSide>| side.and_then(|side| side.change.as_ref());
        let compared = change(normal).is_some() || change(abnormal).is_some();
        Self {
            diptych: EXTRA_VERSION,
            normal: record(normal),
            abnormal: record(abnormal),
            files: Files::of(placed),
            change: compared
                .then(|| BothSides { normal: change(normal), abnormal: change(abnormal) }),
        }
    }
}

impl<'a> Files<'a> {
    fn of(placed: &'a Placed) -> Self {
        let Sides { normal, abnormal } = &placed.sides;
        let target = |side: &'a Option<PlacedSide>| side.as_ref()?.target.as_deref();
        let mask = |side: &'a Option<PlacedSide>| side.as_ref()?.mask.as_deref();
        let references = |side: &'a Option<PlacedSide>| {
            side.as_ref().map(|side| side.references.as_slice()).unwrap_or_default()
        };
        Self {
            source: &placed.source,
            normal: target(normal),
            abnormal: target(abnormal),
            mask_normal: mask(normal),
            mask_abnormal: mask(abnormal),
            references_normal: references(normal),
            references_abnormal: references(abnormal),
        }
    }
}

/// A JSON object as it was written: the keys in their order, the values untouched.
struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// Says of a side that is not there that it is not.
    fn leave_out(&mut self, row: &UnitRow) {
        for side in Side::BOTH.into_iter().filter(|side| row.of(*side).is_none()) {
            let prompt = format!("{}_prompt", side.word());
            for (key, value) in &mut self.0 {
                if *key == prompt {
                    *value = RawValue::NULL.to_owned();
                }
            }
        }
    }

    /// Gives a key a value, in the place that it has or at the end.
    fn set(&mut self, key: &str, value: &impl Serialize) -> Result<(), FormatError> {
        let value = serde_json::value::to_raw_value(value)
            .map_err(|source| FormatError::Json { what: "a row", source })?;
        self.0.retain(|(of, _)| of != key);
        self.0.push((key.to_owned(), value));
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
