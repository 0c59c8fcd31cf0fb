//! WebDataset shards: plain ustar archives in which the members of a sample stand together.
//!
//! What the real readers need, and how they fail in silence, decides the layout:
//!
//! - names fit in the 100-byte field and are raw UTF-8 without extended headers, since the
//!   mmap reader of `wids` knows nothing else;
//! - no dot in a key, since readers end it at the first; lower-case extensions of the true type;
//! - no empty shard, which three readers refuse;
//! - the card declares every field of the whole output, since `datasets` would otherwise infer
//!   them from the first five samples and drop what comes later;
//! - what `wids` and Energon would make in a pass of their own over the finished shards is written
//!   with them.

mod card;
mod index;
mod ustar;
mod writer;

use diptych_format::{About, Format, FormatError, MaskMeaning, Options, Writer};

/// The format.
pub const FORMAT: &dyn Format = &WebDataset;

struct WebDataset;

const ABOUT: About = About {
    name: "webdataset",
    title: "WebDataset",
    summary: "tar shards of samples, for webdataset, datasets and torch",
    reads: false,
    writes: true,
    options: &[],
    losses: &[
        "numbers that are not finite become null",
        "a mask is written in its one form: an 8-bit grey PNG, 255 = edited",
        "pictures of regions (not run lengths) are left out",
    ],
    fills: &[],
    masks: MaskMeaning::None,
    terms: &[],
    published: &[],
};

impl Format for WebDataset {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn open_writer(&self, _: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(writer::ShardWriter))
    }
}
