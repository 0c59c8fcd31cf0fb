//! Layouts that are known, as data: which fields each has and what they are.
//!
//! Where a set's name and counts were never seen from here, what is known of it is what others
//! wrote of it; what is not known is left to `native`.

use std::collections::BTreeMap;

use diptych_schema::EditTypes;
use diptych_storage::text::printable;
use serde_json::Value;

use super::{Column, ColumnMap};

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A picture, or a list of them.
    Picture,
    /// Text.
    Text,
    /// A list of texts.
    Texts,
    /// A number.
    Number,
    /// Nothing in any row that was looked at.
    Nothing,
    /// Something else.
    Other,
}

impl Shape {
    /// That of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::String(_) => Self::Text,
            Value::Number(_) => Self::Number,
            Value::Null => Self::Nothing,
            Value::Array(items) if items.iter().all(Value::is_string) => Self::Texts,
            _ => Self::Other,
        }
    }
}

/// The fields of a release by name, and what they hold.
pub type Shapes = BTreeMap<String, Shape>;

/// A layout that is known.
#[derive(Debug)]
pub struct Known {
    /// The dataset's name in pairs; `None` for the layout that is nobody's.
    pub dataset: Option<&'static str>,
    /// The set, for people.
    pub title: &'static str,
    /// Fields by which it is told from others, beside those of its pictures.
    pub signs: &'static [(&'static str, Shape)],
    /// Columns and the fields that are taken for them.
    pub fields: &'static [(Column, &'static str)],
    /// The words that it has for kinds of edit, and the shared word for each.
    pub edit_types: EditTypes,
}

impl Known {
    /// The map.
    #[must_use]
    pub fn map(&self) -> ColumnMap {
        let fields = self.fields.iter().map(|(column, name)| (*column, (*name).to_owned()));
        ColumnMap {
            dataset: self.dataset.map(str::to_owned),
            fields: fields.collect(),
            edit_types: self.edit_types,
        }
    }

    fn fits(&self, shapes: &Shapes) -> bool {
        let has = |name: &str, shape| shapes.get(name) == Some(&shape);
        let has_picture = |wanted: Column| {
            let mut fields = self.fields.iter().filter(|(column, _)| *column == wanted);
            fields.any(|(_, name)| has(name, Shape::Picture))
        };
        self.signs.iter().all(|(name, shape)| has(name, *shape))
            && has_picture(Column::Source)
            && has_picture(Column::Target)
    }
}

/// The names of fields that are pictures, and of others.
#[must_use]
pub fn names(shapes: &Shapes) -> (Vec<&str>, Vec<&str>) {
    let all = shapes.iter().map(|(name, shape)| (name.as_str(), *shape));
    let (pictures, others): (Vec<_>, Vec<_>) = all.partition(|(_, of)| *of == Shape::Picture);
    let names = |of: Vec<(_, _)>| of.into_iter().map(|(name, _)| name).collect();
    (names(pictures), names(others))
}

/// Why a release cannot be read without being told what its fields are.
#[must_use]
pub fn unknown(shapes: &Shapes) -> String {
    let (pictures, others) = names(shapes);
    let told = |names: &[&str]| match names {
        [] => "none".to_owned(),
        names => printable(names.join(", ").as_bytes()),
    };
    format!(
        "which fields are source and target is not known: pictures are {}; other fields are {}; \
         the option `map` can say it",
        told(&pictures),
        told(&others)
    )
}

/// The layout that fields are of, by their names and what they hold.
#[must_use]
pub fn known(shapes: &Shapes) -> Option<&'static Known> {
    ALL.iter().find(|known| known.fits(shapes))
}

/// All of them, in the order in which they are tried: those with signs of their own first.
pub const ALL: &[Known] = &[
    // Ecosystem notes 1.1: both captions beside the instruction.
    Known {
        dataset: Some("instructpix2pix"),
        title: "InstructPix2Pix, clip-filtered",
        signs: &[
            ("edit_prompt", Shape::Text),
            ("original_prompt", Shape::Text),
            ("edited_prompt", Shape::Text),
        ],
        fields: &[
            (Column::Source, "original_image"),
            (Column::Target, "edited_image"),
            (Column::Instruction, "edit_prompt"),
            (Column::SourceCaption, "original_prompt"),
            (Column::TargetCaption, "edited_prompt"),
        ],
        edit_types: &[],
    },
    // 1.2: sessions by `img_id`, turns from 1; an older revision calls the pictures otherwise.
    // The mask is the photograph with the region painted white.
    Known {
        dataset: Some("magicbrush"),
        title: "MagicBrush",
        signs: &[("instruction", Shape::Text), ("turn_index", Shape::Number)],
        fields: &[
            (Column::Source, "source_img"),
            (Column::Source, "input_img"),
            (Column::Target, "target_img"),
            (Column::Target, "output_img"),
            (Column::PaintedMask, "mask_img"),
            (Column::Instruction, "instruction"),
            (Column::Session, "img_id"),
            (Column::TurnFrom1, "turn_index"),
        ],
        edit_types: &[],
    },
    // 1.3: the mask is there in one of its three repositories. `idx` tells rows of one split
    // apart only, so it is no id.
    Known {
        dataset: Some("ultraedit"),
        title: "UltraEdit",
        signs: &[
            ("edit_prompt", Shape::Text),
            ("source_caption", Shape::Text),
            ("target_caption", Shape::Text),
        ],
        fields: &[
            (Column::Source, "source_image"),
            (Column::Target, "edited_image"),
            (Column::Mask, "mask_image"),
            (Column::Instruction, "edit_prompt"),
            (Column::SourceCaption, "source_caption"),
            (Column::TargetCaption, "target_caption"),
        ],
        edit_types: &[],
    },
    // 1.6: the instruction is a list of wordings, of which all are kept. `swap` mixes objects and
    // backgrounds and stays as it is.
    Known {
        dataset: Some("omniedit"),
        title: "OmniEdit-Filtered-1.2M",
        signs: &[("edited_prompt_list", Shape::Texts)],
        fields: &[
            (Column::Id, "omni_edit_id"),
            (Column::Source, "src_img"),
            (Column::Target, "edited_img"),
            (Column::Instruction, "edited_prompt_list"),
            (Column::EditType, "task"),
        ],
        edit_types: &[
            ("addition", "add"),
            ("removal", "remove"),
            ("object_swap", "replace"),
            ("attribute_modification", "adjust"),
            ("background", "background"),
            ("background_swap", "background"),
            ("env", "environment"),
            ("style", "style"),
        ],
    },
    // 1.5: `input` and `output` are captions; the inverse instruction is a pair of its own.
    Known {
        dataset: Some("hq-edit"),
        title: "HQ-Edit",
        signs: &[("edit", Shape::Text), ("inverse_edit", Shape::Text)],
        fields: &[
            (Column::Source, "input_image"),
            (Column::Target, "output_image"),
            (Column::Instruction, "edit"),
            (Column::Inverse, "inverse_edit"),
            (Column::SourceCaption, "input"),
            (Column::TargetCaption, "output"),
        ],
        edit_types: &[],
    },
    // 1.10: as Parquet, and as a folder with `source_file_name` and `edited_file_name`.
    Known {
        dataset: Some("nhr-edit"),
        title: "NHR-Edit",
        signs: &[
            ("edit_instruction", Shape::Text),
            ("augmented_instructions", Shape::Texts),
            ("sample_id", Shape::Text),
        ],
        fields: &[
            (Column::Id, "sample_id"),
            (Column::Source, "source_image"),
            (Column::Source, "source"),
            (Column::Target, "edited_image"),
            (Column::Target, "edited"),
            (Column::Instruction, "edit_instruction"),
            (Column::Variant, "augmented_instructions"),
            (Column::EditType, "category"),
        ],
        edit_types: &[("add object", "add"), ("remove object", "remove")],
    },
    // 1.14: no id; its kinds of edit have spaces in their names.
    Known {
        dataset: Some("crispedit"),
        title: "CrispEdit-2M",
        signs: &[("instruction", Shape::Text), ("type", Shape::Text)],
        fields: &[
            (Column::Source, "input_img"),
            (Column::Target, "output_img"),
            (Column::Instruction, "instruction"),
            (Column::EditType, "type"),
        ],
        edit_types: &[
            ("add", "add"),
            ("background change", "background"),
            ("color", "adjust"),
            ("motion change", "action"),
            ("remove", "remove"),
            ("replace", "replace"),
            ("style", "style"),
        ],
    },
    // 1.11: WebDataset shards; `KEY.1.0.jpg`, in one builder's `KEY.1.1.jpg` as well, and
    // `KEY.2.jpg`. Others begin a part with a second dot, which does not count.
    Known {
        dataset: Some("x2edit"),
        title: "X2Edit",
        signs: &[("2", Shape::Picture)],
        fields: &[
            (Column::Source, "1.0"),
            (Column::Source, "1"),
            (Column::Reference, "1.1"),
            (Column::Target, "2"),
            (Column::Instruction, "instruction"),
            (Column::Instruction, "txt"),
            (Column::Variant, "instruction_zh"),
            (Column::TargetCaption, "caption"),
            (Column::EditType, "task"),
        ],
        edit_types: &[],
    },
    // Nobody's: what most people call these things.
    Known {
        dataset: None,
        title: "common names",
        signs: &[],
        fields: &[
            (Column::Source, "source"),
            (Column::Source, "source_image"),
            (Column::Source, "input_image"),
            (Column::Source, "original_image"),
            (Column::Source, "input"),
            (Column::Reference, "reference"),
            (Column::Target, "target"),
            (Column::Target, "target_image"),
            (Column::Target, "edited_image"),
            (Column::Target, "output_image"),
            (Column::Target, "output"),
            (Column::Target, "edited"),
            (Column::Mask, "mask"),
            (Column::Mask, "mask_image"),
            (Column::Instruction, "instruction"),
            (Column::Instruction, "edit_instruction"),
            (Column::Instruction, "edit_prompt"),
            (Column::Instruction, "prompt"),
            (Column::Instruction, "txt"),
            (Column::Language, "language"),
            (Column::EditType, "edit_type"),
            (Column::Editor, "editor"),
            (Column::Split, "split"),
        ],
        edit_types: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(fields: &[(&str, Shape)]) -> Shapes {
        fields.iter().map(|(name, shape)| ((*name).to_owned(), *shape)).collect()
    }

    /// The columns of each set as its card or those who read it list them.
    #[test]
    fn each_set_is_told_by_its_columns() {
        use Shape::{Nothing, Number, Picture, Text, Texts};
        type Set<'a> = (Option<&'a str>, &'a [(&'a str, Shape)]);
        let sets: &[Set<'_>] = &[
            (
                Some("instructpix2pix"),
                &[
                    ("original_prompt", Text),
                    ("original_image", Picture),
                    ("edit_prompt", Text),
                    ("edited_prompt", Text),
                    ("edited_image", Picture),
                ],
            ),
            (
                Some("magicbrush"),
                &[
                    ("img_id", Text),
                    ("turn_index", Number),
                    ("source_img", Picture),
                    ("mask_img", Picture),
                    ("instruction", Text),
                    ("target_img", Picture),
                ],
            ),
            (
                Some("magicbrush"),
                &[
                    ("img_id", Text),
                    ("turn_index", Number),
                    ("input_img", Picture),
                    ("instruction", Text),
                    ("output_img", Picture),
                ],
            ),
            (
                Some("ultraedit"),
                &[
                    ("clip_sim_source", Number),
                    ("source_caption", Text),
                    ("target_caption", Text),
                    ("edit_prompt", Text),
                    ("idx", Number),
                    ("source_image", Picture),
                    ("edited_image", Picture),
                    ("edit_object", Nothing),
                    ("mask_image", Nothing),
                ],
            ),
            (
                Some("omniedit"),
                &[
                    ("omni_edit_id", Text),
                    ("task", Text),
                    ("src_img", Picture),
                    ("edited_img", Picture),
                    ("edited_prompt_list", Texts),
                    ("o_score", Number),
                ],
            ),
            (
                Some("hq-edit"),
                &[
                    ("input", Text),
                    ("input_image", Picture),
                    ("edit", Text),
                    ("inverse_edit", Text),
                    ("output", Text),
                    ("output_image", Picture),
                ],
            ),
            (
                Some("nhr-edit"),
                &[
                    ("sample_id", Text),
                    ("source_image", Picture),
                    ("edited_image", Picture),
                    ("edit_instruction", Text),
                    ("augmented_instructions", Texts),
                    ("category", Text),
                ],
            ),
            (
                Some("nhr-edit"),
                &[
                    ("sample_id", Text),
                    ("source", Picture),
                    ("edited", Picture),
                    ("edit_instruction", Text),
                    ("augmented_instructions", Texts),
                ],
            ),
            (
                Some("crispedit"),
                &[
                    ("input_img", Picture),
                    ("instruction", Text),
                    ("output_img", Picture),
                    ("type", Text),
                ],
            ),
            (Some("x2edit"), &[("1.0", Picture), ("2", Picture), ("instruction", Text)]),
            // What diffusers' scripts expect, and an AnyEdit in which names mislead.
            (None, &[("input_image", Picture), ("edited_image", Picture), ("edit_prompt", Text)]),
            (None, &[("source", Picture), ("target", Picture)]),
        ];
        for (dataset, fields) in sets {
            let found = known(&shapes(fields)).map(|known| known.dataset);
            assert_eq!(found, Some(*dataset), "{fields:?}");
        }
    }

    #[test]
    fn names_alone_are_not_enough() {
        use Shape::{Picture, Text};
        let all = |fields: &[(&str, Shape)]| known(&shapes(fields)).is_some();
        assert!(!all(&[("input", Text), ("output", Text)]));
        assert!(!all(&[("source", Picture), ("target", Text)]));
        assert!(!all(&[("jpg", Picture), ("txt", Text)]));
        assert!(!all(&[("original_image", Text), ("edited_image", Text), ("edit_prompt", Text)]));
        assert!(all(&[("input", Picture), ("output", Picture)]));
    }

    #[test]
    fn every_layout_has_what_a_pair_needs_and_a_name_of_its_own() {
        let mut names: Vec<_> = ALL.iter().map(|known| known.dataset).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        for known in ALL {
            let has = |wanted| known.fields.iter().any(|(column, _)| *column == wanted);
            assert!(has(Column::Source) && has(Column::Target), "{}", known.title);
            assert!(has(Column::Instruction), "{}", known.title);
        }
    }

    #[test]
    fn values_have_shapes() {
        for (text, shape) in [
            ("\"a\"", Shape::Text),
            ("[\"a\", \"b\"]", Shape::Texts),
            ("[]", Shape::Texts),
            ("1.5", Shape::Number),
            ("null", Shape::Nothing),
            ("[1]", Shape::Other),
            ("{}", Shape::Other),
            ("true", Shape::Other),
        ] {
            assert_eq!(Shape::of(&serde_json::from_str(text).unwrap()), shape, "{text}");
        }
    }
}
