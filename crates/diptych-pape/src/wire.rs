//! A row's bytes into what it says. No I/O.
//!
//! Of a published row only the names of five fields are known: `image_id`, `normal_prompt`,
//! `abnormal_prompt`, `source_paths` and `export_paths`. What they hold, and what stands beside
//! them, is looked at leniently: a row is refused only where no pair can be made of it.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::extra::{Extra, extra};
use crate::layout::{Role, Sides};

/// What a row says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The id of the image, as it is written: a number keeps its digits.
    pub(crate) image_id: Option<String>,
    /// The row's own id.
    pub(crate) id: Option<String>,
    /// The language, as the row says it.
    pub(crate) language: Option<String>,
    pub(crate) prompts: Sides<Prompt>,
    pub(crate) object: Option<String>,
    pub(crate) anomaly_category: Option<String>,
    pub(crate) mask_iou: Option<f64>,
    pub(crate) paths: Paths,
    /// What this program wrote beside a row.
    pub(crate) extra: Option<Extra>,
}

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Prompt {
    #[default]
    None,
    Text(String),
    /// There is one, but what it is no text: what it is instead.
    Unreadable(&'static str),
}

impl Prompt {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Paths that a row gives, with the role that each has: those of the release before those of what
/// it was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Paths(Vec<(Role, String)>);

impl Paths {
    /// Those of a role, in order.
    pub(crate) fn of(&self, role: Role) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(of, _)| *of == role).map(|(_, path)| path.as_str())
    }
}

/// Why no pair can be made of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowFault {
    pub(crate) kind: &'static str,
    pub(crate) cause: String,
}

type Raw<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    image_id: Raw<'a>,
    language: Raw<'a>,
    lang: Raw<'a>,
    prompt_language: Raw<'a>,
    object: Raw<'a>,
    anomaly_category: Raw<'a>,
    normal_prompt: Raw<'a>,
    abnormal_prompt: Raw<'a>,
    mask_iou: Raw<'a>,
    source_paths: Raw<'a>,
    export_paths: Raw<'a>,
    extra: Raw<'a>,
}

/// Reads a row.
pub(crate) fn parse(bytes: &[u8]) -> Result<Row, RowFault> {
    let fault = |kind, cause: String| RowFault { kind, cause };
    let invalid = |error: serde_json::Error| fault("invalid_json", error.to_string());
    let text = std::str::from_utf8(bytes)
        .map_err(|e| fault("invalid_json", format!("not UTF-8 from byte {}", e.valid_up_to())))?;
    // Serde would take a list for a struct, its items for the fields in turn.
    if !text.trim_start().starts_with('{') {
        serde_json::from_str::<&RawValue>(text).map_err(invalid)?;
        return Err(fault("not_an_object", "a JSON value that is no object".to_owned()));
    }
    let fields: Fields<'_> = serde_json::from_str(text).map_err(invalid)?;
    let extra = fields.extra.map(extra).transpose();
    let extra = extra.map_err(|cause| fault("invalid_field", format!("extra: {cause}")))?;
    let mut paths = Paths::default();
    paths.gather(fields.export_paths, None);
    paths.gather(fields.source_paths, Some(Role::Source));
    let language = [fields.language, fields.lang, fields.prompt_language];
    Ok(Row {
        image_id: fields.image_id.and_then(id_text),
        id: fields.id.and_then(id_text),
        language: language.into_iter().flatten().find_map(text_of),
        prompts: Sides {
            normal: prompt(fields.normal_prompt),
            abnormal: prompt(fields.abnormal_prompt),
        },
        object: fields.object.and_then(text_of),
        anomaly_category: fields.anomaly_category.and_then(text_of),
        mask_iou: fields.mask_iou.and_then(|raw| serde_json::from_str(raw.get()).ok()),
        paths,
        extra: extra.flatten(),
    })
}

/// Whether a first row is one of such a manifest: it has a prompt of either kind.
pub(crate) fn is_row(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Prompts<'a> {
        // `null` is there too.
        #[serde(borrow, default, deserialize_with = "there")]
        normal_prompt: Raw<'a>,
        #[serde(borrow, default, deserialize_with = "there")]
        abnormal_prompt: Raw<'a>,
    }
    fn there<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Raw<'de>, D::Error> {
        <&RawValue>::deserialize(from).map(Some)
    }
    let prompts = serde_json::from_slice::<Prompts<'_>>(bytes).ok();
    bytes.trim_ascii_start().starts_with(b"{")
        && prompts.is_some_and(|of| of.normal_prompt.or(of.abnormal_prompt).is_some())
}

/// A field's text; what is none, and empty text, is as if it were not there.
fn text_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<String>(raw.get()).ok().filter(|text| !text.is_empty())
}

/// An id: text, or a number as it is written, however large.
fn id_text(raw: &RawValue) -> Option<String> {
    match raw.get().as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => Some(raw.get().to_owned()),
        _ => text_of(raw),
    }
}

fn prompt(raw: Raw<'_>) -> Prompt {
    let Some(raw) = raw else { return Prompt::None };
    match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => Prompt::Text(text),
        Err(_) => Prompt::Unreadable(match raw.get().as_bytes().first() {
            Some(b'"') => "broken text",
            Some(b'[') => "a list",
            Some(b'{') => "an object",
            Some(b't' | b'f') => "true or false",
            _ => "a number",
        }),
    }
}

impl Paths {
    /// Takes the paths of a field: an object of them by role, a list, or one. `otherwise` is the
    /// role of one that does not tell its own.
    fn gather(&mut self, raw: Raw<'_>, otherwise: Option<Role>) {
        // What is no JSON for a value (numbers beyond all bounds) is no path either.
        let value = raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        self.take(&value.unwrap_or_default(), "", otherwise);
    }

    fn take(&mut self, value: &Value, keys: &str, otherwise: Option<Role>) {
        match value {
            Value::String(path) if !path.is_empty() => {
                let path = path.replace('\\', "/");
                let role = role_of(keys).or_else(|| role_of_folder(&path)).or(otherwise);
                self.0.extend(role.map(|role| (role, path)));
            }
            Value::Array(items) => {
                items.iter().for_each(|item| self.take(item, keys, otherwise));
            }
            Value::Object(fields) => fields.iter().for_each(|(key, value)| {
                self.take(value, &format!("{keys}.{}", key.to_lowercase()), otherwise);
            }),
            _ => {}
        }
    }
}

/// The role that a lower-case word says.
fn role_of(word: &str) -> Option<Role> {
    // The one word holds the other.
    let abnormal = word.contains("abnormal");
    let normal = !abnormal && word.contains("normal");
    match word.contains("mask") {
        true if abnormal => Some(Role::MaskAbnormal),
        true if normal => Some(Role::MaskNormal),
        true => None,
        false if abnormal => Some(Role::Abnormal),
        false if normal => Some(Role::Normal),
        false => word.contains("source").then_some(Role::Source),
    }
}

/// The role that the folder of a path says.
fn role_of_folder(path: &str) -> Option<Role> {
    let (folder, _) = path.rsplit_once('/')?;
    let mut names = folder.rsplit('/').map(str::to_lowercase);
    let (last, above) = (names.next()?, names.next().unwrap_or_default());
    let role = role_of(&last)?;
    match role {
        Role::Normal if above.contains("mask") => Some(Role::MaskNormal),
        Role::Abnormal if above.contains("mask") => Some(Role::MaskAbnormal),
        role => Some(role),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fields: &str) -> Row {
        parse(format!("{{{fields}}}").as_bytes()).unwrap()
    }

    fn paths(export: &str) -> Vec<(Role, String)> {
        row(&format!("\"export_paths\": {export}")).paths.0
    }

    fn of(all: &[(Role, &str)]) -> Vec<(Role, String)> {
        all.iter().map(|(role, path)| (*role, (*path).to_owned())).collect()
    }

    #[test]
    fn a_row_says_all_of_it() {
        let found = row(r#""id": "COCO_flux2_dev_000000000139_en", "image_id": 139,
            "language": "en", "object": "cup", "anomaly_category": "material",
            "normal_prompt": "a glass", "abnormal_prompt": "a cup of fire", "mask_iou": 0.8891,
            "source_paths": {"source": "/b/000000000139.jpg"},
            "export_paths": {"source": "/r/source/139.jpg", "mask_abnormal": "/r/x.png"}"#);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            Row {
                image_id: text("139"),
                id: text("COCO_flux2_dev_000000000139_en"),
                language: text("en"),
                prompts: Sides {
                    normal: Prompt::Text("a glass".to_owned()),
                    abnormal: Prompt::Text("a cup of fire".to_owned()),
                },
                object: text("cup"),
                anomaly_category: text("material"),
                mask_iou: Some(0.8891),
                paths: Paths(of(&[
                    (Role::MaskAbnormal, "/r/x.png"),
                    (Role::Source, "/r/source/139.jpg"),
                    (Role::Source, "/b/000000000139.jpg"),
                ])),
                extra: None,
            }
        );
    }

    #[test]
    fn an_id_keeps_its_digits() {
        let id = |id: &str| row(&format!("\"image_id\": {id}")).image_id;
        let some = |id: &str| Some(id.to_owned());
        assert_eq!(id("139"), some("139"));
        assert_eq!(id("\"000000000139\""), some("000000000139"));
        assert_eq!(id("\"n01440764_10026\""), some("n01440764_10026"));
        assert_eq!(id("\"a/airfield/00000001\""), some("a/airfield/00000001"));
        assert_eq!(id("18446744073709551617"), some("18446744073709551617"));
        assert_eq!(id("139.0"), some("139.0"));
        for none in ["null", "true", "[1]", "{\"a\": 1}", "\"\"", "\"\\ud800\""] {
            assert_eq!(id(none), None, "{none}");
        }
    }

    #[test]
    fn a_role_is_told_by_its_words() {
        let keys = [
            ("source", Some(Role::Source)),
            ("Source_Path", Some(Role::Source)),
            ("normal", Some(Role::Normal)),
            ("abnormal", Some(Role::Abnormal)),
            ("abnormal_image", Some(Role::Abnormal)),
            ("mask_normal", Some(Role::MaskNormal)),
            ("normal_mask", Some(Role::MaskNormal)),
            ("AbnormalMask", Some(Role::MaskAbnormal)),
            ("masks/abnormal", Some(Role::MaskAbnormal)),
            ("mask", None),
            ("mask_source", None),
            ("thumbnail", None),
        ];
        for (key, role) in keys {
            let found = paths(&format!("{{\"{key}\": \"/a/b.png\"}}"));
            assert_eq!(found.first().map(|(role, _)| *role), role, "{key}");
        }
    }

    #[test]
    fn paths_are_an_object_a_list_or_one() {
        let nested = r#"{"masks": {"normal": "a.png", "abnormal": ["b.png"]}, "source": null}"#;
        // Keys come in the order of the alphabet: between roles it means nothing.
        assert_eq!(
            paths(nested),
            of(&[(Role::MaskAbnormal, "b.png"), (Role::MaskNormal, "a.png")])
        );
        let list = r#"["/r/source/a.jpg", "C:\\r\\normal\\b.png", "/r/masks/abnormal/c.png",
                       "/r/mask_normal/d.png", "/elsewhere/e.png", "f.png", "", 7]"#;
        assert_eq!(
            paths(list),
            of(&[
                (Role::Source, "/r/source/a.jpg"),
                (Role::Normal, "C:/r/normal/b.png"),
                (Role::MaskAbnormal, "/r/masks/abnormal/c.png"),
                (Role::MaskNormal, "/r/mask_normal/d.png"),
            ])
        );
        assert_eq!(paths("\"/r/abnormal/a.png\""), of(&[(Role::Abnormal, "/r/abnormal/a.png")]));
        assert_eq!(paths("\"/r/COCO/flux2_dev\""), []);
        // What a release was made from are sources, unless they say otherwise.
        let sources = row(r#""source_paths": "/data/build/x.jpg""#).paths.0;
        assert_eq!(sources, of(&[(Role::Source, "/data/build/x.jpg")]));
        let sources = row(r#""source_paths": ["/b/x.jpg", "/b/normal/y.png"]"#).paths.0;
        assert_eq!(sources, of(&[(Role::Source, "/b/x.jpg"), (Role::Normal, "/b/normal/y.png")]));
    }

    #[test]
    fn what_is_null_empty_or_odd_costs_no_row() {
        let found = row(r#""normal_prompt": null, "abnormal_prompt": "", "language": 7,
            "lang": "zh", "mask_iou": "0.5", "object": ["cup"], "export_paths": 1e999,
            "source_paths": null, "extra": {"note": 1}, "unknown": {"x": 1, "x": 2}"#);
        assert_eq!(found.prompts.normal, Prompt::None);
        assert_eq!(found.prompts.abnormal, Prompt::Text(String::new()));
        assert_eq!(found.language.as_deref(), Some("zh"));
        assert_eq!((found.mask_iou, found.object, found.extra), (None, None, None));
        assert_eq!(found.paths, Paths::default());
        let found = row(r#""normal_prompt": ["a"], "abnormal_prompt": 3"#);
        assert_eq!(found.prompts.normal, Prompt::Unreadable("a list"));
        assert_eq!(found.prompts.abnormal, Prompt::Unreadable("a number"));
    }

    #[test]
    fn rows_that_make_no_pair_say_why() {
        let fault = |bytes: &[u8]| {
            let RowFault { kind, cause } = parse(bytes).unwrap_err();
            (kind, cause)
        };
        for broken in ["{", "nonsense", "{\"image_id\": NaN}", "{} {}"] {
            assert_eq!(fault(broken.as_bytes()).0, "invalid_json", "{broken}");
        }
        let (kind, cause) = fault(br#"{"image_id": 1, "image_id": 2}"#);
        assert_eq!(kind, "invalid_json");
        assert!(cause.starts_with("duplicate field `image_id`"), "{cause}");
        assert_eq!(fault(b"[1]").0, "not_an_object");
        assert_eq!(fault(b"null").0, "not_an_object");
        assert_eq!(fault(b"{\"a\": \"\xff\"}").1, "not UTF-8 from byte 7");
        assert_eq!(fault("{\"export_paths\":".repeat(9999).as_bytes()).0, "invalid_json");
        let (kind, cause) = fault(br#"{"extra": {"diptych": 2}}"#);
        assert_eq!((kind, cause.starts_with("extra: ")), ("invalid_field", true));
    }

    #[test]
    fn a_first_row_is_known_by_its_prompts() {
        for yes in [r#"{"normal_prompt": null}"#, r#" {"x": [1], "abnormal_prompt": "a"}"#] {
            assert!(is_row(yes.as_bytes()), "{yes}");
        }
        for no in ["{}", "[1, 2]", "{", r#"{"prompt": "normal_prompt"}"#] {
            assert!(!is_row(no.as_bytes()), "{no}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80),
            paths in "[\\[\\]{}\":,/a-c.\\\\0]{0,40}",
        ) {
            let _ = parse(&bytes);
            let _ = parse(format!("{{\"export_paths\": {paths}}}").as_bytes());
        }
    }
}
