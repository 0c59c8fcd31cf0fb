//! A row and its pictures into pairs.

use diptych_format::archives::{NotFound, PictureFault};
use diptych_format::foreign::split_of;
use diptych_format::record::{FoundPictures, Restored};
use diptych_schema::text::language_of;
use diptych_schema::{
    Combine, EditPair, Edited, Grid, Label, Mask, MaskOrigin, MaskPart, Score, edit_type,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::extra::Extra;
use crate::layout::{Editor, Role, Side};
use crate::pictures::Pictures;
use crate::splits::{Said, Splits, strictness};
use crate::wire::{Prompt, Row};
use crate::{EDIT_TYPES, NAME};

/// The row's language: what it says, else what its prompts are written in. `None` where it has
/// none.
pub(crate) fn language(row: &Row) -> Option<String> {
    let prompts = || Side::BOTH.into_iter().filter_map(|side| row.prompts.of(side).text());
    let texts = || prompts().filter(|text| !text.is_empty());
    let by_script = |otherwise| {
        let mut found = texts().filter_map(|text| language_of(text, otherwise));
        found.next()
    };
    let said = row.language.clone();
    // Published rows are in one of two languages, both prompts in the same.
    said.or_else(|| by_script(None)).or_else(|| by_script(Some("en")))
}

/// A row with what it is called by.
pub(crate) struct Called<'a> {
    pub(crate) editor: &'a Editor,
    pub(crate) row: &'a Row,
    /// The row as it is written.
    pub(crate) text: &'a str,
    pub(crate) language: Option<String>,
    /// What its edits have in common: the group, and the beginning of their ids.
    pub(crate) group_id: String,
    /// Whether its image and language are also those of another row.
    is_repeated: bool,
}

impl<'a> Called<'a> {
    /// `line` is the row's number among the rows of its manifest, from 1, where its image and
    /// language are also those of another row.
    pub(crate) fn new(editor: &'a Editor, row: &'a Row, text: &'a str, line: Option<u64>) -> Self {
        let (language, is_repeated) = (language(row), line.is_some());
        let line = line.map(|line| format!("#{line}")).unwrap_or_default();
        let or_empty = |of: &'a Option<String>| of.as_deref().unwrap_or_default();
        let group_id = format!(
            "{NAME}:{}:{}:{}:{}{line}",
            or_empty(&editor.subset),
            or_empty(&editor.editor),
            or_empty(&row.image_id),
            language.as_deref().unwrap_or_default(),
        );
        Self { editor, row, text, language, group_id, is_repeated }
    }

    pub(crate) fn pair_id(&self, side: Side) -> String {
        format!("{}:{}", self.group_id, side.word())
    }

    /// What the split file says of the row's image.
    pub(crate) fn said<'s>(&self, splits: &'s Splits) -> Option<Said<'s>> {
        splits.said(self.editor.subset.as_deref(), self.row.image_id.as_deref()?)
    }

    /// The release's own record: the row, and what the split file says.
    pub(crate) fn native(&self, splits: &Splits) -> String {
        #[derive(Serialize)]
        struct Native<'a> {
            row: &'a RawValue,
            #[serde(skip_serializing_if = "Option::is_none")]
            split: Option<NativeSplit<'a>>,
        }
        #[derive(Serialize)]
        struct NativeSplit<'a> {
            #[serde(flatten)]
            said: Said<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            seed: Option<&'a RawValue>,
        }
        let split = self.said(splits).map(|said| NativeSplit { said, seed: splits.seed() });
        // The row was read as JSON before.
        let row = serde_json::from_str(self.text.trim());
        let native = row.and_then(|row| serde_json::to_string(&Native { row, split }));
        native.unwrap_or_default()
    }

    /// Names by which a picture is looked for where no path leads to one.
    fn stems(&self, role: Role) -> Vec<String> {
        let mut stems: Vec<_> = self.row.id.clone().into_iter().collect();
        if let Some(image_id) = &self.row.image_id {
            let whole = image_id.strip_suffix(".0").unwrap_or(image_id);
            // COCO's files are called by twelve digits.
            let is_number = whole.bytes().all(|byte| byte.is_ascii_digit());
            let padded = is_number.then(|| format!("{whole:0>12}"));
            let ids = [Some(image_id.clone()), padded].into_iter().flatten();
            let language = self.language.as_deref();
            stems.extend(ids.clone().filter_map(|id| Some(format!("{id}_{}", language?))));
            // Rows of other languages have the same source, and no other picture.
            if role == Role::Source || language.is_none() {
                stems.extend(ids);
            }
        }
        stems
    }

    /// The file of a picture of a published row.
    fn file(&self, pictures: &Pictures, role: Role) -> Option<u32> {
        let mut named = self.row.paths.of(role);
        named.find_map(|path| pictures.named(self.editor, role, path)).or_else(|| {
            // Image and language are those of another row's picture too: where a row says which
            // one is its own, and that is not there, the other's is not taken for it.
            let says = self.row.paths.of(role).next().is_some();
            if says && self.is_repeated && role != Role::Source {
                return None;
            }
            let stems = self.stems(role);
            stems.iter().find_map(|stem| pictures.stemmed(self.editor, role, stem))
        })
    }

    /// The file of a picture of a row that this program wrote.
    fn file_of_extra(&self, pictures: &Pictures, extra: &Extra, role: Role) -> Option<u32> {
        let names = extra.files.of(role).into_iter().chain(self.row.paths.of(role));
        names.into_iter().find_map(|name| pictures.named(self.editor, role, name))
    }

    /// Why there is no picture of a role.
    fn absent(&self, pictures: &Pictures, role: Role) -> PictureFault {
        let of_extra = self.row.extra.as_ref().and_then(|extra| extra.files.of(role));
        let names: Vec<_> = of_extra.into_iter().chain(self.row.paths.of(role)).collect();
        pictures.absent(self.editor, role, &names)
    }
}

/// The files of an edit's pictures: `None` for one that is not there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) source: Option<u32>,
    pub(crate) references: Vec<Option<u32>>,
    pub(crate) target: Option<u32>,
    pub(crate) mask: Option<u32>,
    /// Whether there should be a target and a mask.
    has_target: bool,
    has_mask: bool,
}

impl Files {
    /// Each picture that there should be: its role, and its file where it is there.
    pub(crate) fn all(&self, side: Side) -> impl Iterator<Item = (Role, Option<u32>)> {
        let target = self.has_target.then_some((side.target(), self.target));
        let mask = self.has_mask.then_some((side.mask(), self.mask));
        let references = self.references.iter().map(|file| (Role::Reference, *file));
        [(Role::Source, self.source)].into_iter().chain(references).chain(target).chain(mask)
    }
}

/// The files of an edit's pictures; `None` where the row has no such edit.
pub(crate) fn files(called: &Called<'_>, side: Side, pictures: &Pictures) -> Option<Files> {
    let (target, mask) = (side.target(), side.mask());
    let Some(extra) = &called.row.extra else {
        let file = |role| called.file(pictures, role);
        let is_named = |role| called.row.paths.of(role).next().is_some();
        let (target_file, mask_file) = (file(target), file(mask));
        let is_asked = match called.row.prompts.of(side) {
            Prompt::None => false,
            Prompt::Text(text) => !text.is_empty(),
            Prompt::Unreadable(_) => true,
        };
        let is_there = is_asked || is_named(target) || is_named(mask) || target_file.is_some();
        return is_there.then(|| Files {
            source: file(Role::Source),
            references: Vec::new(),
            target: target_file,
            mask: mask_file,
            has_target: true,
            has_mask: mask_file.is_some() || is_named(mask),
        });
    };
    let said = &extra.sides.of(side).as_ref()?.pictures;
    let file = |role| called.file_of_extra(pictures, extra, role);
    let names = extra.files.references(side);
    let reference = |number: usize| {
        let name = names.get(number)?;
        pictures.named(called.editor, Role::Reference, name)
    };
    let (has_target, has_mask) = (said.target.is_some(), said.mask.is_some());
    Some(Files {
        source: file(Role::Source),
        references: (0..said.references.len()).map(reference).collect(),
        target: has_target.then(|| file(target)).flatten(),
        mask: has_mask.then(|| file(mask)).flatten(),
        has_target,
        has_mask,
    })
}

/// What became of one side of a row.
pub(crate) enum Outcome {
    /// The row has no such edit.
    None,
    Pair(Box<EditPair>),
    /// It is lost.
    Lost(Box<Lost>),
    Failed(diptych_format::FormatError),
}

/// An edit that is lost, with what is known of it.
pub(crate) struct Lost {
    pub(crate) fault: PictureFault,
    pub(crate) pair_id: String,
    pub(crate) dataset: String,
    pub(crate) subset: Option<String>,
    pub(crate) native: Option<String>,
}

/// The edit that one side of a row is.
pub(crate) fn edit(
    called: &Called<'_>,
    side: Side,
    pictures: &Pictures,
    splits: &Splits,
) -> Outcome {
    let Some(files) = files(called, side, pictures) else { return Outcome::None };
    let found = found(called, side, pictures, &files);
    let unreadable = match called.row.prompts.of(side) {
        Prompt::Unreadable(what) if called.row.extra.is_none() => Some(PictureFault {
            kind: "invalid_field",
            cause: format!("{}_prompt is {what}, not text", side.word()),
            file: None,
            member: String::new(),
            offset: None,
        }),
        _ => None,
    };
    let recorded = called.row.extra.as_ref().and_then(|extra| {
        let restored = extra.sides.of(side).as_deref()?;
        Some((extra, restored))
    });
    let fault = match (found, unreadable) {
        (Err(NotFound::Failed(error)), _) => return Outcome::Failed(error),
        (_, Some(fault)) => fault,
        (Err(NotFound::Fault(fault)), None) => *fault,
        (Ok(found), None) => {
            return Outcome::Pair(Box::new(match recorded {
                Some((extra, restored)) => {
                    let mut pair = restored.clone().with(found);
                    complete(&mut pair, called, extra, side, splits);
                    pair
                }
                None => pair(called, side, found, splits),
            }));
        }
    };
    Outcome::Lost(Box::new(match recorded {
        Some((_, Restored { pair, .. })) => Lost {
            fault,
            pair_id: pair.pair_id.clone(),
            dataset: pair.dataset.clone(),
            subset: pair.subset.clone(),
            native: pair.native.clone(),
        },
        None => Lost {
            fault,
            pair_id: called.pair_id(side),
            dataset: NAME.to_owned(),
            subset: called.editor.subset.clone(),
            native: Some(called.native(splits)),
        },
    }))
}

/// Looks at the pictures of an edit. All files that are there are claimed, also where one is not.
fn found(
    called: &Called<'_>,
    side: Side,
    pictures: &Pictures,
    files: &Files,
) -> Result<FoundPictures, NotFound> {
    files.all(side).filter_map(|(_, file)| file).for_each(|file| pictures.claim(file));
    let needed = |number: Option<u32>, role| match number {
        Some(number) => pictures.picture(number),
        None => Err(called.absent(pictures, role).into()),
    };
    let wanted = |number: Option<u32>, role, is_wanted: bool| {
        is_wanted.then(|| needed(number, role)).transpose()
    };
    Ok(FoundPictures {
        source: needed(files.source, Role::Source)?,
        references: files
            .references
            .iter()
            .map(|number| needed(*number, Role::Reference))
            .collect::<Result<_, _>>()?,
        target: wanted(files.target, side.target(), files.has_target)?,
        mask: wanted(files.mask, side.mask(), files.has_mask)?,
    })
}

/// The pair of a published row.
fn pair(called: &Called<'_>, side: Side, found: FoundPictures, splits: &Splits) -> EditPair {
    let Called { editor, row, .. } = called;
    let FoundPictures { source, target, mask, .. } = found;
    let mut labels = Vec::new();
    let mut label = |name: &str, value: &str| {
        labels.push(Label { name: name.to_owned(), value: value.to_owned() });
    };
    // In the order of their names.
    let said = called.said(splits);
    let split = said.and_then(|said| split_of(said.split));
    if let Some(category) = &row.anomaly_category {
        label("anomaly_category", category);
    }
    if let Some(image_id) = &row.image_id {
        label("image_id", image_id);
    }
    let instruction = row.prompts.of(side).text().filter(|text| !text.is_empty());
    if instruction.is_none() {
        label("instruction_empty", "true");
    }
    if let Some(object) = &row.object {
        label("object", object);
    }
    if let Some(said) = said.filter(|_| split.is_none()) {
        label("split_native", said.split);
    }
    let score = |value| Score { name: "mask_iou".to_owned(), value };
    let mask = mask.map(|mask| Mask {
        parts: vec![MaskPart::Picture(mask)],
        combine: Combine::Union,
        edited: Edited::Nonzero,
        // Nobody says whether edited pictures keep the size of their source; masks are said to be
        // those of the source, and the sizes tell where they are not.
        grid: Grid::Source,
        origin: MaskOrigin::Release,
    });
    let mut pair = EditPair {
        subset: editor.subset.clone(),
        split,
        group_id: Some(called.group_id.clone()),
        variant: Some(side.word().to_owned()),
        edit_type: edit_type::shared(side.word(), EDIT_TYPES),
        instruction: instruction.map(str::to_owned),
        language: called.language.clone(),
        editor: editor.editor.clone(),
        target,
        mask,
        scores: row.mask_iou.map(score).into_iter().collect(),
        labels,
        native: Some(called.native(splits)),
        ..EditPair::new(called.pair_id(side), NAME.to_owned(), source)
    };
    pair.verify_mask_grid();
    pair
}

/// What the place of a recorded pair says beyond its record.
fn complete(pair: &mut EditPair, called: &Called<'_>, extra: &Extra, side: Side, splits: &Splits) {
    // Who trains on an image that another row of it is tested with sees what it is tested with.
    let of_image = called.said(splits).and_then(|said| split_of(said.split));
    if pair.split.is_some() && strictness(of_image) > strictness(pair.split) {
        pair.split = of_image;
    }
    // Two pairs that were put into one row are compared with each other from then on.
    if let (Some(normal), Some(abnormal)) = (&extra.sides.normal, &extra.sides.abnormal)
        && [normal, abnormal]
            .iter()
            .all(|side| side.pair.variant.is_none() && side.pair.group_id.is_none())
    {
        pair.variant = Some(side.word().to_owned());
        pair.group_id = Some(normal.pair.pair_id.clone());
    }
}
