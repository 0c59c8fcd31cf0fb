//! What a format lets its user choose, declared as data so that the command knows none of it.

use std::collections::BTreeMap;

pub use diptych_storage::size::{SizeError, parse_size};

/// One option of a format.
#[derive(Debug)]
pub struct OptionSpec {
    /// The key in `-o FORMAT.KEY=VALUE`.
    pub key: &'static str,
    /// What a value may be.
    pub kind: OptionKind,
    /// The value where none is given.
    pub default: &'static str,
    /// What it does: a fragment without a period.
    pub help: &'static str,
    /// Whether it is about reading releases or about writing outputs.
    pub used: Used,
}

/// When an option has a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// When a release is read.
    Reading,
    /// When an output is written.
    Writing,
}

/// What an option's value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionKind {
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A number of bytes, as [`parse_size`] reads it.
    Size,
    /// Any text.
    Text,
    /// A folder, which is listed like a release and handed to the reader.
    Folder,
}

/// Why an option cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// It is not of the form `FORMAT.KEY=VALUE`.
    #[error("`{given}` is not FORMAT.KEY=VALUE")]
    Form {
        /// What was given.
        given: String,
    },
    /// The format has no such option.
    #[error("{format} has no option `{key}`{}", known_keys(.known))]
    Unknown {
        /// The format.
        format: &'static str,
        /// The key given.
        key: String,
        /// The keys it has.
        known: Vec<&'static str>,
    },
    /// The value is not of the option's kind.
    #[error("{format}.{key} takes {expected}, not `{found}`")]
    Value {
        /// The format.
        format: &'static str,
        /// The key.
        key: &'static str,
        /// What it takes.
        expected: String,
        /// What was given.
        found: String,
    },
    /// A size is none.
    #[error(transparent)]
    Size(#[from] SizeError),
}

fn known_keys(known: &[&str]) -> String {
    if known.is_empty() {
        ": it has none".to_owned()
    } else {
        format!(": it has {}", known.join(", "))
    }
}

/// One assignment of the command line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The format meant.
    pub format: String,
    /// The option's key.
    pub key: String,
    /// The value.
    pub value: String,
}

impl Assignment {
    /// Reads `FORMAT.KEY=VALUE`.
    ///
    /// # Errors
    /// [`OptionError::Form`].
    pub fn parse(given: &str) -> Result<Self, OptionError> {
        let parts = given
            .split_once('=')
            .and_then(|(name, value)| Some((name.split_once('.')?, value)))
            .filter(|((format, key), _)| !format.is_empty() && !key.is_empty());
        let ((format, key), value) =
            parts.ok_or_else(|| OptionError::Form { given: given.to_owned() })?;
        Ok(Self { format: format.to_owned(), key: key.to_owned(), value: value.to_owned() })
    }
}

/// The options of one format: each declared key with the value given, or its default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    values: BTreeMap<&'static str, String>,
}

impl Options {
    /// Takes the assignments that mean `format` and checks them against those of `specs` that are
    /// `used` so; those of the others are left alone. Of two for one key the later holds.
    ///
    /// # Errors
    /// [`OptionError`] for a key that is not declared or a value that is not of its kind.
    pub fn new(
        format: &'static str,
        specs: &'static [OptionSpec],
        given: &[Assignment],
        used: Used,
    ) -> Result<Self, OptionError> {
        let of_use = specs.iter().filter(|spec| spec.used == used);
        let mut values: BTreeMap<_, _> =
            of_use.map(|spec| (spec.key, spec.default.to_owned())).collect();
        for Assignment { key, value, .. } in given.iter().filter(|g| g.format == format) {
            let spec = specs.iter().find(|spec| spec.key == key).ok_or_else(|| {
                let known = specs.iter().map(|spec| spec.key).collect();
                OptionError::Unknown { format, key: key.clone(), known }
            })?;
            if spec.used != used {
                continue;
            }
            let expected = match spec.kind {
                OptionKind::Flag if matches!(value.as_str(), "true" | "false") => None,
                OptionKind::Flag => Some("true or false".to_owned()),
                OptionKind::Choice(words) if words.contains(&value.as_str()) => None,
                OptionKind::Choice(words) => Some(words.join(" or ")),
                OptionKind::Size => {
                    parse_size(value).is_err().then(|| "a size such as 100MB".to_owned())
                }
                OptionKind::Text | OptionKind::Folder => None,
            };
            if let Some(expected) = expected {
                let found = value.clone();
                return Err(OptionError::Value { format, key: spec.key, expected, found });
            }
            values.insert(spec.key, value.clone());
        }
        Ok(Self { values })
    }

    /// The value of a declared key; `""` for one that is not declared.
    #[must_use]
    pub fn get(&self, key: &str) -> &str {
        self.values.get(key).map_or("", String::as_str)
    }

    /// Keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(key, value)| (*key, value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[OptionSpec] = &[
        OptionSpec {
            key: "side",
            kind: OptionKind::Flag,
            default: "true",
            help: "",
            used: Used::Reading,
        },
        OptionSpec {
            key: "mode",
            kind: OptionKind::Choice(&["a", "b"]),
            default: "a",
            help: "",
            used: Used::Reading,
        },
        OptionSpec {
            key: "group",
            kind: OptionKind::Size,
            default: "100MB",
            help: "",
            used: Used::Reading,
        },
        OptionSpec {
            key: "name",
            kind: OptionKind::Text,
            default: "",
            help: "",
            used: Used::Reading,
        },
    ];

    fn options(given: &[&str]) -> Result<Options, OptionError> {
        let given: Result<Vec<_>, _> = given.iter().map(|g| Assignment::parse(g)).collect();
        Options::new("toy", SPECS, &given?, Used::Reading)
    }

    #[test]
    fn declared_options_are_taken_and_others_refused() {
        let found = options(&["toy.side=false", "other.side=x", "toy.name=a=b", "toy.side=true"]);
        let found = found.unwrap();
        let all: Vec<_> = found.iter().collect();
        assert_eq!(all, [("group", "100MB"), ("mode", "a"), ("name", "a=b"), ("side", "true")]);
        assert_eq!(found.get("name"), "a=b");
        let message = |given| options(&[given]).unwrap_err().to_string();
        assert_eq!(message("toy.sid=x"), "toy has no option `sid`: it has side, mode, group, name");
        assert_eq!(message("toy.side=yes"), "toy.side takes true or false, not `yes`");
        assert_eq!(message("toy.mode=c"), "toy.mode takes a or b, not `c`");
        assert_eq!(message("toy.group=big"), "toy.group takes a size such as 100MB, not `big`");
        for wrong in ["side=true", "toy.side", "toy.=x", ".side=x", ""] {
            assert_eq!(message(wrong), format!("`{wrong}` is not FORMAT.KEY=VALUE"));
        }
        let given = [Assignment::parse("toy.mode=c").unwrap()];
        let of_the_other_use = Options::new("toy", SPECS, &given, Used::Writing).unwrap();
        assert_eq!(of_the_other_use, Options::default());
        let none =
            Options::new("bare", &[], &[Assignment::parse("bare.x=1").unwrap()], Used::Reading);
        assert_eq!(none.unwrap_err().to_string(), "bare has no option `x`: it has none");
    }
}
