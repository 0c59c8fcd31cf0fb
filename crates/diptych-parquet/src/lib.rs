//! Parquet files of edit pairs with their pictures in them, as `datasets` and the Hub's viewer take
//! them: `data/SPLIT-SSSSS-of-NNNNN.parquet` and a card.
//!
//! One schema in every file, whatever the data: the columns of the record, and before the column
//! `pictures` those of the pictures, `source`, `references`, `target` and `mask`. What decides
//! whether a reader shows a picture is in [`layout`]; how the bytes get into the file without being
//! held is in [`group`].

mod card;
mod group;
mod layout;
mod names;
mod path_columns;
mod picture_column;
#[cfg(test)]
mod values;
mod wire;
mod writer;

use diptych_format::{
    About, Alteration, Format, FormatError, MaskMeaning, OptionKind, OptionSpec, Options, Used,
    Writer,
};

/// The format.
pub const FORMAT: &dyn Format = &Parquet;

/// Its name.
const NAME: &str = "parquet";

/// The option that says how large row groups are.
const ROW_GROUP: &str = "row-group";

/// The option that names columns as a training script expects them.
const PRESET: &str = "preset";

/// The option that names columns.
const RENAME: &str = "rename";

struct Parquet;

const ABOUT: About = About {
    name: NAME,
    title: "Parquet",
    summary: "Parquet files with the pictures in them, for datasets and the Hub",
    reads: false,
    writes: true,
    options: &[
        OptionSpec {
            key: ROW_GROUP,
            kind: OptionKind::Size,
            default: "100MB",
            help: "bytes of a row group, at most, where a pair is not larger; it has fewer where \
                   its records, and masks made anew, take 16 MiB",
            used: Used::Writing,
        },
        OptionSpec {
            key: PRESET,
            kind: OptionKind::Choice(names::PRESETS),
            default: names::NO_PRESET,
            help: "name columns as scripts of diffusers expect them: ip2p (train_instruct_pix2pix), \
                   kontext (train_dreambooth_lora_flux_kontext) or control (train_control_flux)",
            used: Used::Writing,
        },
        OptionSpec {
            key: RENAME,
            kind: OptionKind::Text,
            default: "",
            help: "name columns otherwise: source=input_image,target=edited_image",
            used: Used::Writing,
        },
    ],
    losses: &[],
    alters: Alteration::OF_RECORDS,
    fills: &[],
    masks: MaskMeaning::None,
    terms: &[],
    citation: None,
    published: &[],
};

impl Format for Parquet {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn open_writer(&self, options: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(writer::ParquetWriter::new(options)?))
    }
}
