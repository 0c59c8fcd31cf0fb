//! A format made of functions: what it reads is given by the test, what it writes is text.

#![allow(dead_code, reason = "each file of tests uses its part of this")]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use diptych_convert::{Engine, EngineError, Outcome, Request, Silent, SourceRequest};
use diptych_format::writer::{
    FinishOutput, Finished, FinishedUnit, Provenance, UnitFile, UnitOutput, UnitStart,
};
use diptych_format::{
    About, Atom, Confidence, Detection, Edit, Edits, Format, FormatError, Grain, MaskMeaning,
    Notice, Options, Part, Payload, Place, Reader, ReaderInput, Rejection, SourceFile, Tally,
    UnitFiles, UnitWriter, Writer,
};
use diptych_schema::{Address, EditPair, MediaType, Picture};
use diptych_storage::output::StagedFile;
use diptych_storage::{ReadTree, RelPath};

/// The partitions of a release.
pub(crate) type Partitions = fn() -> Vec<Vec<Edit>>;

pub(crate) struct Toy(pub(crate) Partitions);

const ABOUT: About = About {
    name: "toy",
    title: "Toy",
    summary: "pairs from a function",
    reads: true,
    writes: true,
    options: &[],
    losses: &[],
    alters: &[],
    fills: &[],
    edit_types: &[],
    masks: MaskMeaning::None,
    terms: &[],
    citation: None,
    published: &[],
};

impl Format for Toy {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, _: &dyn ReadTree) -> Detection {
        Detection::yes(Confidence::Weak, "it takes anything")
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        let names = (0..(self.0)().len()).map(|i| format!("part-{i}")).collect();
        let files = input.tree.list().iter();
        let files = files.map(|e| SourceFile::new(vec![e.path.clone()])).collect();
        Ok(Box::new(ToyReader { partitions: self.0, names, files }))
    }

    fn open_writer(&self, _: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(ToyWriter { for_evaluation: false }))
    }
}

/// The same, but what it writes may have no target.
pub(crate) struct ToyForEvaluation(pub(crate) Partitions);

impl Format for ToyForEvaluation {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, tree: &dyn ReadTree) -> Detection {
        Toy(self.0).detect(tree)
    }

    fn open_reader(&self, input: ReaderInput<'_>) -> Result<Box<dyn Reader>, FormatError> {
        Toy(self.0).open_reader(input)
    }

    fn open_writer(&self, _: &Options) -> Result<Box<dyn Writer>, FormatError> {
        Ok(Box::new(ToyWriter { for_evaluation: true }))
    }
}

struct ToyReader {
    partitions: Partitions,
    names: Vec<String>,
    files: Vec<SourceFile>,
}

impl Reader for ToyReader {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn partitions(&self) -> &[String] {
        &self.names
    }

    fn read(&self, partition: usize) -> Result<Box<dyn Edits + '_>, FormatError> {
        Ok(Box::new(ToyEdits((self.partitions)().swap_remove(partition).into_iter())))
    }

    fn parts(&self, _: &Tally) -> Result<Vec<Part>, FormatError> {
        Ok(Vec::new())
    }

    fn notices(&self, _: &Tally) -> Vec<Notice> {
        Vec::new()
    }
}

struct ToyEdits(std::vec::IntoIter<Edit>);

impl Edits for ToyEdits {
    fn next(&mut self) -> Result<Option<Edit>, FormatError> {
        Ok(self.0.next())
    }
}

/// What no output of ours can hold.
pub(crate) const UNHELD: &str = "unheld";

/// Writes a line a sample: its key, the type and size of each picture, and of a mask all that is
/// to be known.
struct ToyWriter {
    for_evaluation: bool,
}

impl Writer for ToyWriter {
    fn grain(&self) -> Grain {
        Grain::Session
    }

    fn holds_pairs_without_target(&self) -> bool {
        self.for_evaluation
    }

    fn check(&self, pair: &EditPair) -> Result<(), FormatError> {
        match pair.edit_type.as_deref() {
            Some(UNHELD) => Err(FormatError::CannotHold {
                pair_id: pair.pair_id.clone(),
                what: "an edit of no known kind".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn overhead(&self, _: &EditPair, _: u64) -> u64 {
        0
    }

    fn begin<'a>(
        &'a self,
        _: UnitStart<'a>,
        output: &'a mut dyn UnitOutput,
    ) -> Result<Box<dyn UnitWriter + 'a>, FormatError> {
        let file = output.stage(&RelPath::new("lines").expect("a path"), 0)?;
        Ok(Box::new(ToyUnit { file, samples: 0 }))
    }

    fn finish(
        &self,
        units: &[FinishedUnit],
        _: &Provenance,
        output: &mut dyn FinishOutput,
    ) -> Result<Finished, FormatError> {
        for unit in units {
            let split = unit.split.expect("units of one split");
            let name = format!("{split}-{}", unit.unit);
            output.place(unit.unit, "lines", &RelPath::new(&name).expect("a path"))?;
        }
        Ok(Finished::default())
    }
}

struct ToyUnit {
    file: Box<dyn StagedFile>,
    samples: u64,
}

impl UnitWriter for ToyUnit {
    fn write(&mut self, atom: &Atom) -> Result<(), FormatError> {
        for sample in &atom.samples {
            let mut line = sample.key.clone();
            let pictures = [("source", Some(&sample.source)), ("target", sample.target.as_ref())];
            for (role, picture) in pictures.into_iter().chain([("mask", sample.mask.as_ref())]) {
                if let Some(picture) = picture {
                    let (w, h) = (picture.width, picture.height);
                    line += &format!(" {role}:{}:{w}x{h}", picture.media_type.extension());
                }
            }
            if let (Some(mask), Some(of)) = (&sample.mask, &sample.pair.mask) {
                let name = mask.name.as_deref().unwrap_or("-");
                line += &format!(" name:{name} on:{}", of.grid);
                for label in &sample.pair.labels {
                    line += &format!(" {}:{}", label.name, label.value);
                }
                line += &format!(" {}", rows(&mask.payload));
            }
            self.file.write((line + "\n").as_bytes())?;
            self.samples += 1;
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<UnitFiles, FormatError> {
        let bytes = self.file.close()?;
        let file = UnitFile { name: "lines".to_owned(), bytes, samples: self.samples };
        Ok(UnitFiles { files: vec![file], fields: BTreeMap::new() })
    }
}

/// How long a mask is, and its rows: `#` for 255, `.` for 0, `?` for what is between.
fn rows(payload: &Payload) -> String {
    let Payload::Bytes(bytes) = payload else { return "far".to_owned() };
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a small picture")];
    let frame = reader.next_frame(&mut pixels).expect("pixels");
    let mark = |pixel: &u8| match pixel {
        0 => '.',
        255 => '#',
        _ => '?',
    };
    let row = |row: &[u8]| row.iter().map(mark).collect();
    let rows: Vec<String> = pixels.chunks(frame.width as usize).map(row).collect();
    format!("{}:{}", bytes.len(), rows.join("/"))
}

/// A grey PNG of one value: 8 bits, stored without compression worth speaking of.
pub(crate) fn png(width: u32, height: u32, value: u8) -> Vec<u8> {
    let count = usize::try_from(width * height).expect("a small picture");
    png_of(width, height, &vec![value; count])
}

/// A grey PNG of these values.
pub(crate) fn png_of(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(pixels).expect("pixels");
    writer.finish().expect("an end");
    bytes
}

pub(crate) fn picture(name: &str, bytes: Vec<u8>) -> Picture {
    Picture {
        name: name.to_owned(),
        address: Address::Inline(bytes),
        width: None,
        height: None,
        media_type: None::<MediaType>,
    }
}

pub(crate) fn pair(id: &str) -> EditPair {
    let source = picture("s.png", png(4, 3, 9));
    EditPair {
        target: Some(picture("t.png", png(2, 2, 9))),
        ..EditPair::new(id.to_owned(), "toy".to_owned(), source)
    }
}

pub(crate) fn edit(pair: EditPair) -> Edit {
    Edit::Pair(Box::new(pair))
}

pub(crate) fn rejected(kind: &str) -> Edit {
    Edit::Rejected(Box::new(Rejection {
        kind: kind.to_owned(),
        cause: "because".to_owned(),
        at: Place::file("toy", "part-0"),
        dataset: "toy".to_owned(),
        subset: Some("s".to_owned()),
        pair_id: None,
        native: None,
    }))
}

/// A folder with a source and room for an output.
pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("in")).expect("a folder");
        Self { dir }
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    pub(crate) fn source(&self) -> SourceRequest {
        SourceRequest::new(self.dir.path().join("in"))
    }

    pub(crate) fn request(&self) -> Request {
        Request { durable: false, ..Request::new(vec![self.source()], "toy", self.out()) }
    }
}

pub(crate) fn convert(
    formats: &'static [&'static dyn Format],
    request: &Request,
) -> Result<Outcome, EngineError> {
    Engine::new(formats).convert(request, &Silent)
}

/// The files of the output and what is in them, all but the report.
pub(crate) fn files(out: &Path) -> BTreeMap<String, String> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).unwrap_or_default())
    };
    let entries = std::fs::read_dir(out).expect("the output");
    entries.map(read).filter(|(name, _)| name != "report.json").collect()
}
