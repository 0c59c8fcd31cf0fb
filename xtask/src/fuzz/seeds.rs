//! The inputs that fuzzing begins with: files of the fixtures, and what lies in them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use ::fuzz::whole::{CATALOG, MARK};
use anyhow::{Context as _, ensure};
use diptych::format::foreign::known;
use diptych::pixels::run_length;
use diptych::storage::tar::{MemberKind, Walk};
use diptych::storage::{Limits, LocalTree, ReadTree as _};
use diptych::{Request, Silent, SourceRequest};
use flate2::read::GzDecoder;
use png::{BitDepth, ColorType};

use crate::fixtures::Tree;

/// What the names of seeds begin with: other inputs of a corpus were found.
pub(crate) const PREFIX: &str = "seed-";

/// Bytes of a seed, at most: of what is longer the fuzzer would change too little.
const MOST: usize = 17_000;

/// Seeds in the making, by target and bytes: no target has one twice.
#[derive(Default)]
struct Seeds(BTreeMap<(&'static str, Vec<u8>), String>);

impl Seeds {
    fn add(&mut self, target: &'static str, name: &str, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        if bytes.len() <= MOST {
            self.0.entry((target, bytes)).or_insert_with(|| name.to_owned());
        }
    }

    /// Adds an input that begins with a byte that says what the rest is.
    fn choose(&mut self, target: &'static str, name: &str, choice: u8, bytes: &[u8]) {
        self.add(target, &format!("{name}-{choice}"), [&[choice], bytes].concat());
    }
}

/// Every seed, by its path from the corpus: `TARGET/seed-NAME`.
pub(crate) fn seeds(root: &Path) -> anyhow::Result<Tree> {
    let fixtures = Fixtures::open(&root.join("fixtures"))?;
    let mut seeds = Seeds::default();
    texts(&fixtures, &mut seeds);
    archives(&fixtures, &mut seeds)?;
    columns(&fixtures, &mut seeds);
    pictures(root, &fixtures, &mut seeds)?;
    rows_of_others(&fixtures, &mut seeds);
    trees(&fixtures, &mut seeds);
    conditions(&mut seeds);
    catalogs(&fixtures, &mut seeds)?;
    let mut tree = Tree::new();
    for ((target, bytes), name) in seeds.0 {
        let path = format!("{target}/{PREFIX}{name}");
        let numbered = (2..).map(|number| format!("{path}-{number}"));
        let free = std::iter::once(path.clone()).chain(numbered).find(|of| !tree.contains_key(of));
        tree.insert(free.unwrap_or(path), bytes);
    }
    Ok(tree)
}

/// The fixtures, by their paths.
struct Fixtures {
    files: Tree,
}

impl Fixtures {
    fn open(folder: &Path) -> anyhow::Result<Self> {
        let tree = LocalTree::open(folder, &Limits::DEFAULT)?;
        let mut files = Tree::new();
        for entry in tree.list() {
            let path = entry.path.under(folder);
            let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            files.insert(entry.path.as_str().to_owned(), bytes);
        }
        ensure!(files.len() > 500, "only {} fixtures were found", files.len());
        Ok(Self { files })
    }

    fn get(&self, path: &str) -> anyhow::Result<&[u8]> {
        Ok(self.files.get(path).with_context(|| format!("there is no fixture {path}"))?)
    }

    /// Files below a folder whose names end so, each with a name for a seed.
    fn below(&self, folder: &str, end: &str) -> impl Iterator<Item = (String, &[u8])> {
        self.files
            .iter()
            .filter(move |(path, _)| path.starts_with(folder) && path.ends_with(end))
            .map(move |(path, bytes)| {
                let name = path.trim_start_matches("bad/").replace("/release/", "/");
                (name.replace('/', "-"), bytes.as_slice())
            })
    }
}

/// The members of a tar that are files: name and bytes.
fn members(tar: &[u8]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let bytes = tar.to_vec();
    let mut walk = Walk::new(&bytes, &Limits::DEFAULT);
    let mut found = Vec::new();
    while let Some(member) = walk.next_member()? {
        if member.kind == MemberKind::File {
            let start = usize::try_from(member.offset)?;
            let body = tar.get(start..start + usize::try_from(member.length)?);
            let name = String::from_utf8_lossy(member.name).into_owned();
            found.push((name, body.unwrap_or_default().to_vec()));
        }
    }
    Ok(found)
}

/// Manifests, splits and rows of text.
fn texts(fixtures: &Fixtures, seeds: &mut Seeds) {
    for folder in ["inter-edit-train/", "bad/inter-edit-train/"] {
        for (name, bytes) in fixtures.below(folder, "manifest.json") {
            seeds.add("inter_edit_manifest", &name, bytes);
        }
        for end in [".jsonl.gz", ".jsonl"] {
            for (name, bytes) in fixtures.below(folder, end) {
                seeds.add("inter_edit_rows", &name, bytes);
                // Its text, which more can be changed in.
                let mut text = Vec::new();
                if GzDecoder::new(bytes).read_to_end(&mut text).is_ok() && text.len() <= 4_096 {
                    seeds.add("inter_edit_rows", &format!("{name}-text"), text);
                }
            }
        }
    }
    for folder in ["pape/", "bad/pape/"] {
        for (name, bytes) in fixtures.below(folder, "manifest.jsonl") {
            seeds.add("pape_manifest", &name, bytes);
        }
        for (name, bytes) in fixtures.below(folder, ".json") {
            if name.contains("splits") {
                seeds.add("pape_splits", &name, bytes);
            }
        }
    }
    for (name, bytes) in fixtures.below("bad/folder/", "metadata.jsonl") {
        seeds.add("folder_lines", &name, bytes);
    }
    for (name, bytes) in fixtures.below("bad/folder/", "metadata.csv") {
        seeds.add("folder_csv", &name, bytes);
    }
    for (name, bytes) in fixtures.below("imgedit/", "score.json") {
        seeds.add("imgedit_scores", &name, bytes);
    }
    let (first, last) = ("metadata/train-00000-of-00003.jsonl.gz", "splits/split_seed2026.json");
    for (name, bytes) in fixtures.below("inter-edit-train/", first) {
        seeds.add("rows", &name, bytes);
    }
    for end in [last, "COCO/longcat_image_edit/manifest.jsonl"] {
        for (name, bytes) in fixtures.below("pape/", end) {
            seeds.add("rows", &name, bytes);
        }
    }
    for case in ["corrupt_metadata", "trailing_garbage_gzip", "cut_metadata", "web_page"] {
        for (name, bytes) in fixtures.below(&format!("bad/inter-edit-train/{case}/"), ".jsonl.gz") {
            seeds.add("rows", &name, bytes);
        }
    }
    let items = r#" [{"a": "b, [\"c\"]"}, 1.5e9, [[], {}], "\\", null ,true] "#;
    seeds.add("rows", "array", items);
    let unclosed = "\u{FEFF}\n[\"\u{e4}\u{1F600}\", {\"a\": [1, 2]";
    seeds.add("rows", "array-unclosed", unclosed);
    seeds.add("rows", "lines", "\u{FEFF}\r\na\r\n\n b\nc");
}

/// Tars, and what lies in them.
fn archives(fixtures: &Fixtures, seeds: &mut Seeds) -> anyhow::Result<()> {
    for (name, bytes) in fixtures.below("imgedit-recap/laion-aes/", ".tar") {
        seeds.add("tar", &name, bytes);
        let cuts = [9, 70, 130, 96, 0, 1, 68, 200];
        seeds.add("pieces", &name, [&cuts, bytes].concat());
    }
    // What is odd in a bad archive stands where it first differs from the good one.
    for (name, bytes) in fixtures.below("bad/inter-edit-train/", ".tar") {
        let good = name.split_once("_shards-").and_then(|(_, file)| {
            let folder = file.split('-').next()?;
            fixtures.files.get(&format!("inter-edit-train/{folder}_shards/{file}"))
        });
        let place = match good {
            Some(good) => good.iter().zip(bytes).position(|(good, bad)| good != bad),
            None => None,
        };
        let place = place.unwrap_or(bytes.len().saturating_sub(4096)) / 512 * 512;
        let (start, end) = (place.saturating_sub(1024), bytes.len().min(place + 4096));
        seeds.add("tar", &name, bytes.get(start..end).unwrap_or_default());
    }
    for (name, bytes) in fixtures.below("bad/webdataset/", ".tar") {
        if bytes.len() <= 13_000 {
            seeds.add("webdataset", &name, bytes);
        }
    }
    for (name, bytes) in fixtures.below("webdataset/data/", ".tar") {
        if bytes.len() <= 11_000 {
            seeds.add("webdataset", &name, bytes);
        }
        for (member, bytes) in members(bytes)? {
            if member.ends_with(".json") {
                seeds.add("webdataset_record", &member, bytes.as_slice());
                seeds.add("record", &member, bytes);
            }
        }
    }
    for case in ["foreign", "foreign_list", "x2edit"] {
        for (name, bytes) in fixtures.below(&format!("bad/webdataset/{case}/"), ".tar") {
            for (member, bytes) in members(bytes)? {
                if member.ends_with(".json") {
                    let member = member.replace('/', "-");
                    seeds.add("webdataset_record", &format!("{name}-{member}"), bytes);
                }
            }
        }
    }
    for (member, bytes) in members(fixtures.get("imgedit-bench/Benchmark.tar")?)? {
        let choice = match member.rsplit('/').next() {
            Some("singleturn.json") => 0,
            Some("annotation.jsonl") => 1,
            Some("annotation.json") => 2,
            _ => continue,
        };
        seeds.choose("imgedit_bench", &member.replace('/', "-"), choice, &bytes);
    }
    for (number, part) in ["part0", "part1"].iter().enumerate() {
        let tar = fixtures.get(&format!("imgedit-recap/jsons/{part}.tar"))?;
        for (member, bytes) in members(tar)?.into_iter().take(4) {
            let choice = u8::try_from(number)?;
            seeds.choose("imgedit_recap", &member.replace('/', "-"), choice, &bytes);
        }
    }
    beside_pictures(fixtures, seeds)?;
    let names = "9216 Singleturn/results_background_laion_part7.tar.split.000\n\
                 9216 Singleturn/results_background_laion_part7.tar.split.001\n";
    seeds.add("imgedit_names", "pieces", names);
    seeds.add("imgedit_names", "gap", names.replace(".001", ".002"));
    seeds.add(
        "imgedit_names",
        "several",
        names.replacen("9216", "5000", 1).replace(".split.001", ""),
    );
    let other = "18432 a/results_background_part7.tar\n9 Singleturn/x/original.png\n";
    seeds.add("imgedit_names", "other-folder", other);
    Ok(())
}

/// What lies beside the pictures of ImgEdit.
fn beside_pictures(fixtures: &Fixtures, seeds: &mut Seeds) -> anyhow::Result<()> {
    let mut archives: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for (path, bytes) in fixtures.files.range("imgedit/".to_owned().."imgedit0".to_owned()) {
        if let Some((archive, _)) = path.split_once(".tar") {
            archives.entry(archive).or_default().extend(bytes);
        }
    }
    for (archive, bytes) in archives {
        for (member, bytes) in members(&bytes)? {
            let group = archive.rsplit('/').next().unwrap_or(archive);
            let name = format!("{group}-{}", member.rsplit('/').nth(1).unwrap_or_default());
            match member.rsplit('/').next() {
                Some("result.json") => seeds.add("imgedit_result", &name, bytes),
                Some("judge.json") => seeds.choose("imgedit_judge", &name, 0, &bytes),
                Some("judge_2scores.json") => seeds.choose("imgedit_judge", &name, 1, &bytes),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Parquet files.
fn columns(fixtures: &Fixtures, seeds: &mut Seeds) {
    for folder in ["imgedit/Parquet/", "bad/imgedit/"] {
        for (name, bytes) in fixtures.below(folder, ".parquet") {
            if !name.ends_with("-Parquet-remove_part5.parquet") {
                seeds.add("imgedit_rows", &name, bytes);
                seeds.add("parquet_rows", &name, bytes);
            }
        }
    }
    for (name, bytes) in fixtures.below("bad/parquet/", ".parquet") {
        if bytes.len() < 6_000 || name.contains("-cut-") {
            seeds.add("parquet", &name, bytes);
        }
        if bytes.len() < 6_000 {
            seeds.add("parquet_values", &name, bytes);
            // The head of the first page, and the end.
            let head = bytes.get(4..600.min(bytes.len())).unwrap_or_default();
            seeds.choose("parquet_heads", &name, 2, head);
            let end = bytes.get(bytes.len().saturating_sub(2_500)..).unwrap_or_default();
            seeds.choose("parquet_heads", &format!("{name}-end"), 0, end);
        }
    }
    for (name, bytes) in fixtures.below("folder/val/", ".parquet") {
        seeds.add("folder_parquet", &name, bytes);
    }
    for (name, bytes) in fixtures.below("bad/folder/", ".parquet") {
        seeds.add("folder_parquet", &name, bytes);
    }
}

/// Bytes that stand in a source as text: constants of hexadecimal digits, by their names.
fn constants(source: &str) -> Vec<(String, Vec<u8>)> {
    let constant = |part: &str| {
        let (name, rest) = part.split_once(": &str =")?;
        let (value, _) = rest.split_once(';')?;
        let digits: Vec<u8> = value
            .split('"')
            .skip(1)
            .step_by(2)
            .flat_map(str::bytes)
            .filter_map(|digit| u8::try_from(char::from(digit).to_digit(16)?).ok())
            .collect();
        let (pairs, _) = digits.as_chunks::<2>();
        let bytes = pairs.iter().map(|[high, low]| high * 16 + low).collect();
        Some((name.to_ascii_lowercase(), bytes))
    };
    source.split("const ").skip(1).filter_map(constant).collect()
}

/// Pictures and masks: those of the fixtures, and those that tests of the decoders have.
fn pictures(root: &Path, fixtures: &Fixtures, seeds: &mut Seeds) -> anyhow::Result<()> {
    let path = root.join("crates/diptych-pixels/src/decode/tests/files.rs");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut made = constants(&text);
    ensure!(made.len() >= 8, "{} has {} pictures", path.display(), made.len());
    made.extend(of_every_kind()?);
    for (name, bytes) in &made {
        seeds.add("picture", name, bytes.as_slice());
        seeds.choose("probe", name, 40, bytes);
        if name.starts_with("png") {
            for choice in [0, 2, 0x2C] {
                seeds.choose("mask", name, choice, bytes);
            }
        }
    }
    for (end, most) in [(".png", 3), (".jpg", 2)] {
        for (name, bytes) in fixtures.below("pape/COCO/flux2_dev/", end).take(most) {
            seeds.add("picture", &name, bytes);
            seeds.choose("probe", &name, 40, bytes);
        }
    }
    for (name, bytes) in fixtures.below("pape/COCO/flux2_dev/masks/", ".png").take(2) {
        seeds.choose("mask", &name, 0, bytes);
        seeds.choose("mask", &name, 2, bytes);
    }
    for (name, head) in HEADS {
        seeds.choose("probe", name, 12, head);
    }
    let ring: Vec<u8> =
        (0..24 * 16).map(|at| u8::from((at % 24) / 6 == 1 && at / 48 % 2 == 1)).collect();
    let (all, none) = (vec![1; 24 * 16], vec![0; 24 * 16]);
    for (name, pixels) in [("ring", ring), ("all", all), ("none", none)] {
        let counts = run_length::encode(&pixels, (24, 16))?;
        seeds.add("run_length", name, [&[24, 16, 0], counts.as_bytes()].concat());
        let mask = made.last().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
        let cut = u8::try_from(counts.len())?;
        seeds.add(
            "mask",
            &format!("two-parts-{name}"),
            [&[0xC4, cut], counts.as_bytes(), mask].concat(),
        );
    }
    for (name, counts) in
        [("long", "0o1P2P2P2"), ("negative", "3N"), ("overflow", "oooooooooooooo0")]
    {
        seeds.add("run_length", name, [&[255, 255, 31], counts.as_bytes()].concat());
    }
    Ok(())
}

/// A small PNG of each kind of samples.
fn of_every_kind() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let palette: Vec<u8> = (0..=255).collect();
    let mut made = Vec::new();
    for (colour, depth) in [
        (ColorType::Grayscale, BitDepth::One),
        (ColorType::Grayscale, BitDepth::Two),
        (ColorType::Grayscale, BitDepth::Eight),
        (ColorType::Grayscale, BitDepth::Sixteen),
        (ColorType::GrayscaleAlpha, BitDepth::Eight),
        (ColorType::Indexed, BitDepth::Four),
        (ColorType::Indexed, BitDepth::Eight),
        (ColorType::Rgb, BitDepth::Eight),
        (ColorType::Rgba, BitDepth::Sixteen),
    ] {
        let (width, height) = (11, 5);
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        if colour == ColorType::Indexed {
            encoder.set_palette(palette.get(..48).unwrap_or_default());
        }
        let bits = usize::from(depth as u8) * colour.samples() * width as usize;
        let row: Vec<u8> =
            (0..bits.div_ceil(8)).map(|at| if at % 2 == 0 { 0xF0 } else { 9 }).collect();
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&row.repeat(height as usize))?;
        writer.finish()?;
        made.push((format!("png-{colour:?}-{depth:?}").to_lowercase(), bytes));
    }
    Ok(made)
}

/// Heads of the types that no fixture is of.
const HEADS: &[(&str, &[u8])] = &[
    ("gif", b"GIF89a\x10\0\x08\0\x80\0\0"),
    ("bmp", b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x10\0\0\0\x08\0\0\0\x01\0\x18\0"),
    (
        "tiff",
        b"II*\0\x08\0\0\0\x02\0\0\x01\x03\0\x01\0\0\0\x10\0\0\0\x01\x01\x04\0\x01\0\0\0\x08\0\0\0\0\0\0\0",
    ),
    (
        "tiff-big-endian",
        b"MM\0*\0\0\0\x08\0\x02\x01\0\0\x03\0\0\0\x01\0\x10\0\0\x01\x01\0\x04\0\0\0\x01\0\0\0\x08\0\0\0\0",
    ),
    ("webp-extended", b"RIFF\x20\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\x0F\0\0\x07\0\0"),
];

/// Maps of columns with rows for them.
fn rows_of_others(fixtures: &Fixtures, seeds: &mut Seeds) {
    for known in known::ALL {
        let map = known.map();
        let fields = map.fields.iter();
        let text: Vec<_> = fields.map(|(column, name)| format!("{column}:{name}")).collect();
        let names = map.fields.iter().map(|(_, name)| name.as_str());
        let names = names.chain(known.signs.iter().map(|(name, _)| *name));
        let row: BTreeMap<_, _> = names.map(|name| (name, "3")).collect();
        let row = serde_json::to_string(&row).unwrap_or_default();
        let name = known.dataset.unwrap_or(known.title).replace(['/', ' '], "-");
        seeds.add("foreign", &name, format!("{}\n{row}", text.join(",")));
    }
    for (name, bytes) in fixtures.below("bad/folder/foreign", "metadata.jsonl") {
        let row = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let map = b"id:id,source:before_file_name,target:after_file_name,instruction:text\n";
        seeds.add("foreign", &name, [map.as_slice(), row].concat());
    }
}

/// Each construct that there is.
fn conditions(seeds: &mut Seeds) {
    for (name, text) in [
        ("list", "edit_type IN ('add', NULL) AND score('x') NOT IN (0, 1.5, turn)"),
        ("range", "NOT turn BETWEEN -1 AND length(labels) OR source.width IS NULL"),
        ("pattern", "edit_type LIKE 'a!_d%' ESCAPE '!' OR label('x') NOT ILIKE '_%'"),
        ("arithmetic", "(turn + 1) * 2 - turn / 0 >= -(1e3 % 7)"),
        ("null", "target IS NOT NULL AND (TRUE IS DISTINCT FROM NULL) IS NOT FALSE"),
        ("names", "\"Edit_Type\" <> 'it''s' AND box.status = mask.grid"),
        ("number", "score('x') - turn"),
        ("wrong", "edit_typ = \"add\" AND CASE WHEN turn = '1' THEN (SELECT 1) END"),
    ] {
        seeds.add("condition", name, text);
    }
}

/// Small releases as one input each.
fn trees(fixtures: &Fixtures, seeds: &mut Seeds) {
    for (name, folder, only) in [
        ("pape", "bad/pape/missing_mask/release/", ""),
        ("pape-clash", "bad/pape/case_collision/release/", ""),
        ("folder", "bad/folder/foreign/release/", ""),
        ("folder-csv", "bad/folder/foreign_csv_cells/release/", ""),
        ("folder-lines", "bad/folder/cut_text/release/", ""),
        ("parquet", "bad/parquet/foreign/release/", ""),
        ("parquet-list", "bad/parquet/foreign_list/release/", ""),
        ("imgedit-bench", "bad/imgedit-bench/item_is_a_list/release/", ""),
        ("webdataset", "bad/webdataset/foreign/release/", ""),
        ("imgedit", "imgedit/", "part5."),
        ("imgedit-hybrid", "imgedit/", "hybrid_part6"),
    ] {
        let mut input = Vec::new();
        for (path, bytes) in &fixtures.files {
            if let Some(rest) = path.strip_prefix(folder).filter(|path| path.contains(only)) {
                input.extend_from_slice(MARK.as_bytes());
                input.extend_from_slice(rest.as_bytes());
                input.push(b'\n');
                input.extend_from_slice(bytes);
            }
        }
        seeds.add("convert", name, input);
    }
}

/// The files of a catalog.
fn catalogs(fixtures: &Fixtures, seeds: &mut Seeds) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let (release, catalog) = (scratch.path().join("release"), scratch.path().join("catalog"));
    for (path, bytes) in &fixtures.files {
        if let Some(path) = path.strip_prefix("bad/pape/missing_mask/release/") {
            let path = release.join(path);
            fs::create_dir_all(path.parent().context("a file without a folder")?)?;
            fs::write(&path, bytes)?;
            // A catalog notes when files were changed.
            fs::File::options().write(true).open(&path)?.set_modified(std::time::UNIX_EPOCH)?;
        }
    }
    let source = SourceRequest::new(release.clone());
    let mut request = Request::new(vec![source], "", &catalog);
    request.durable = false;
    diptych::engine().index(&request, &Silent)?;
    for (number, name) in CATALOG.iter().enumerate() {
        let mut bytes = fs::read(catalog.join(name)).with_context(|| (*name).to_owned())?;
        if name.ends_with(".json") {
            // Where the release lies is of this machine.
            let text = String::from_utf8(bytes)?;
            let root = fs::canonicalize(&release)?.display().to_string();
            bytes = text.replace(&root, "/release").into_bytes();
        }
        seeds.choose("catalog", name, u8::try_from(number)?, &bytes);
    }
    Ok(())
}
