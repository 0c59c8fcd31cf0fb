//! PAPE: pairs of a plausible and an anomalous edit.
mod writer;

use diptych_format::{
    About, Format, FormatError, MaskMeaning, OptionKind, OptionSpec, Options, Writer,
};

/// The format.
pub const FORMAT: &dyn Format = &Pape;

/// The dataset's name in pairs, and the format's.
const NAME: &str = "pape";

struct Pape;

const ABOUT: About = About {
    name: NAME,
    title: "PAPE",
    summary: "pairs of a plausible and an anomalous edit of one object, in folders with a manifest for each editor",
    reads: false,
    writes: true,
    options: &[
        OptionSpec {
            key: writer::ABNORMAL_IF,
            kind: OptionKind::Text,
            default: "",
            help: "labels.KEY=VALUE: which of two paired edits is the anomalous one",
        },
        OptionSpec {
            key: writer::MIN_IOU,
            kind: OptionKind::Text,
            default: "0.5",
            help: "how far the masks of two paired edits have to overlap, from 0 to 1",
        },
        OptionSpec {
            key: writer::PAIR,
            kind: OptionKind::Flag,
            default: "false",
            help: "whether two edits of one object in one photograph become one row",
        },
    ],
    losses: &[],
    fills: &[],
    masks: MaskMeaning::Changed,
    published: &[],
};

impl Format for Pape {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn open_writer(&self, options: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(writer::PapeWriter::new(options)?))
    }
}
