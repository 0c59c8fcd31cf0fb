//! Records, and rows that others laid out.

use std::sync::Arc;

use diptych::format::Sample;
use diptych::format::foreign::known::{ALL, Known, Shape, known, unknown};
use diptych::format::foreign::{ColumnMap, ForeignRow};
use diptych::format::record::{FoundPictures, Record, restore};
use diptych::format::writer::{Payload, WrittenPicture};
use diptych::schema::{Address, EditPair, MaskPart, MediaType, Picture};
use serde_json::{Map, Value};

use crate::text::{printable, told};

fn somewhere() -> Picture {
    Picture::unprobed("", Address::Inline(vec![1]))
}

fn written(of: &Picture, role: Option<String>) -> WrittenPicture {
    let payload = Payload::Bytes(Arc::from([1_u8].as_slice()));
    let (width, height) = of.size().unwrap_or((1, 1));
    let name = Some(of.name.clone());
    WrittenPicture { name, role, media_type: MediaType::Png, width, height, payload }
}

fn sample(pair: EditPair) -> Sample {
    let mask = pair.mask.as_ref().and_then(|mask| match mask.parts.first() {
        Some(MaskPart::Picture(picture)) => Some(written(picture, None)),
        _ => None,
    });
    let references = pair.references.iter();
    Sample {
        key: String::new(),
        source: written(&pair.source, None),
        references: references.map(|of| written(&of.picture, of.role.clone())).collect(),
        target: pair.target.as_ref().map(|target| written(target, None)),
        mask,
        pair,
        change: None,
        row: 0,
    }
}

/// A record: written from the pair that it gives it is read back as that pair.
pub(crate) fn record(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let read = |text: &str| {
        let restored = restore(text)?;
        let found = FoundPictures {
            source: somewhere(),
            references: restored.pictures.references.iter().map(|_| somewhere()).collect(),
            target: restored.pictures.target.as_ref().map(|_| somewhere()),
            mask: restored.pictures.mask.as_ref().map(|_| somewhere()),
        };
        Ok(restored.with(found))
    };
    let pair: Result<EditPair, diptych::format::record::RestoreError> = read(text);
    let pair = match pair {
        Ok(pair) => pair,
        Err(error) => return drop(told(&error)),
    };
    let sample = sample(pair);
    let again = serde_json::to_string(&Record::new(&sample, false).0).expect("it can be written");
    let back = read(&again).expect("a record that was written is one");
    let third = {
        let sample = self::sample(back);
        serde_json::to_string(&Record::new(&sample, false).0).expect("it can be written")
    };
    assert_eq!(third, again, "what comes back is what was written");
}

/// A map of columns in the first line, a row in the second: ids without repeats, one a pair.
pub(crate) fn foreign(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (map, row) = text.split_once('\n').unwrap_or((text, ""));
    let fields: Map<String, Value> = serde_json::from_str(row).unwrap_or_default();
    let shapes = fields.iter().map(|(name, value)| (name.clone(), Shape::of(value))).collect();
    let given = ColumnMap::parse(map);
    let taken = known(&shapes).map(Known::map);
    if taken.is_none() {
        printable(&unknown(&shapes));
    }
    if let Err(error) = &given {
        told(error);
    }
    let all = ALL.iter().map(Known::map);
    for map in given.into_iter().chain(taken).chain(all) {
        if let Some(notice) = map.unmet(&shapes, "fuzz") {
            printable(&notice.detail);
        }
        let row = ForeignRow {
            dataset: "fuzz".to_owned(),
            place: "0:0".to_owned(),
            fields: fields.clone(),
            native: Some("{}".to_owned()),
            ..ForeignRow::default()
        };
        let roles = map.roles(|name| match fields.get(name) {
            Some(Value::String(name)) => vec![name.clone()],
            Some(Value::Array(names)) => names.iter().map(Value::to_string).collect(),
            _ => Vec::new(),
        });
        let pictures =
            roles.and_then(|roles| roles.map(|name| Ok(Picture { name, ..somewhere() })));
        match pictures {
            Ok(pictures) => {
                let pairs = map.pairs(&row, pictures);
                let ids: Vec<_> = pairs.iter().map(|pair| pair.pair_id.clone()).collect();
                assert_eq!(ids, map.ids(&row));
                assert!(ids.iter().all(|id| !id.is_empty()));
                assert!(ids.len() == 1 || ids.len() == 2 && ids[0] != ids[1]);
            }
            Err(fault) => printable(&fault.cause),
        }
    }
}
