//! A format whose release is code: pairs that no fixture has.

use diptych::format::reader::SourceFile;
use diptych::format::{
    About, Edit, Edits, Format, FormatError, MaskMeaning, Notice, Part, Reader, ReaderInput, Tally,
};
use diptych::report::Report;
use diptych::schema::{
    Address, Combine, EditPair, Edited, Grid, Label, Mask, MaskOrigin, MaskPart, Picture,
};
use diptych::{Engine, EngineError, Request, Silent};

/// Its pairs.
pub(crate) struct Toy(pub(crate) fn() -> Vec<EditPair>);

const ABOUT: About = About {
    name: "toy",
    title: "Toy",
    summary: "pairs of a test",
    reads: true,
    writes: false,
    options: &[],
    losses: &[],
    alters: &[],
    fills: &[],
    edit_types: &[],
    masks: MaskMeaning::Changed,
    terms: &[],
    citation: None,
    published: &[],
};

impl Format for Toy {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn open_reader(&self, _: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(ToyReader::new(vec![(self.0)()])))
    }
}

/// A toy of several partitions.
pub(crate) struct Partitions(pub(crate) Vec<Vec<EditPair>>);

impl Format for Partitions {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn open_reader(&self, _: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Ok(Box::new(ToyReader::new(self.0.clone())))
    }
}

struct ToyReader {
    pairs: Vec<Vec<EditPair>>,
    partitions: Vec<String>,
}

impl ToyReader {
    fn new(pairs: Vec<Vec<EditPair>>) -> Self {
        let partitions = (0..pairs.len()).map(|number| number.to_string()).collect();
        Self { pairs, partitions }
    }
}

impl Reader for ToyReader {
    fn files(&self) -> &[SourceFile] {
        &[]
    }

    fn partitions(&self) -> &[String] {
        &self.partitions
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        Ok(Box::new(ToyEdits(self.pairs[partition].clone().into_iter())))
    }

    fn parts(&self, _: &Tally) -> Result<Vec<Part>, FormatError> {
        Ok(Vec::new())
    }

    fn notices(&self, _: &Tally) -> Vec<Notice> {
        Vec::new()
    }
}

struct ToyEdits(std::vec::IntoIter<EditPair>);

impl Edits for ToyEdits {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        Ok(self.0.next().map(|pair| Edit::Pair(Box::new(pair))))
    }
}

/// Converts with an engine that knows the toy beside all others. The source that is asked for has
/// to say that it is one.
pub(crate) fn convert(toy: &'static Toy, request: &Request) -> Result<Report, EngineError> {
    Ok(engine(toy).convert(request, &Silent)?.report)
}

/// An engine that knows a toy beside all others.
pub(crate) fn engine(toy: &'static dyn Format) -> Engine {
    let mut formats: Vec<&'static dyn Format> = diptych::FORMATS.to_vec();
    formats.push(toy);
    Engine::new(formats.leak())
}

/// A picture in grey, of 8x6 pixels of one value.
pub(crate) fn grey(name: &str, value: u8) -> Picture {
    picture(name, 8, &[value; 48])
}

/// A picture in grey.
pub(crate) fn picture(name: &str, width: u32, pixels: &[u8]) -> Picture {
    let height = u32::try_from(pixels.len()).unwrap() / width;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(pixels).unwrap();
    writer.finish().unwrap();
    let (name, address) = (name.to_owned(), Address::Inline(bytes));
    Picture { name, address, width: None, height: None, media_type: None }
}

/// A mask of 8x6 pixels whose first so many columns are edited.
pub(crate) fn columns(count: usize) -> Mask {
    let pixels: Vec<u8> = (0..48).map(|i| if i % 8 < count { 255 } else { 0 }).collect();
    Mask {
        parts: vec![MaskPart::Picture(picture("m.png", 8, &pixels))],
        combine: Combine::Union,
        edited: Edited::White,
        grid: Grid::Source,
        origin: MaskOrigin::Release,
    }
}

pub(crate) fn label(name: &str, value: &str) -> Label {
    Label { name: name.to_owned(), value: value.to_owned() }
}
