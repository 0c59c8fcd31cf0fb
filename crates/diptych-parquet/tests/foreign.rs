//! Files of others: the sets that are known, told by the names and types of their columns, and what
//! a map says.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Float64Array, Int32Array, LargeBinaryArray, ListArray, NullArray,
    StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use diptych_format::{Confidence, Edit, Tally};
use diptych_schema::{Address, EditPair, Edited, Grid, Split};
use diptych_storage::MemoryTree;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use support::reading::{file_of, opened, read_all, tree};

/// A PNG of 8 by 8 pixels in one colour, as far as its head goes.
fn png(seed: u8) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\0\0\0\0".to_vec();
    bytes.extend(std::iter::repeat_n(seed, 40));
    bytes
}

type Cells = Vec<Option<Vec<u8>>>;

/// Two rows of pictures.
fn two(first: u8) -> Cells {
    vec![Some(png(first)), Some(png(first + 1))]
}

fn structs(cells: &Cells, paths: &[Option<&str>]) -> StructArray {
    let bytes = BinaryArray::from_iter(cells.iter().map(Option::as_deref));
    let fields = Fields::from(vec![
        Field::new("bytes", DataType::Binary, true),
        Field::new("path", DataType::Utf8, true),
    ]);
    let paths = StringArray::from(paths.to_vec());
    let there: NullBuffer = cells.iter().map(Option::is_some).collect::<Vec<_>>().into();
    StructArray::new(fields, vec![Arc::new(bytes), Arc::new(paths)], Some(there))
}

fn image(cells: &Cells) -> ArrayRef {
    Arc::new(structs(cells, &vec![None; cells.len()]))
}

fn text(values: [&str; 2]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn texts(values: [&[&str]; 2]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    values.iter().for_each(|texts| lists.append_value(texts.iter().map(Some)));
    Arc::new(lists.finish())
}

fn number(values: [i32; 2]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn score(values: [f64; 2]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

/// The pairs of a file, how sure it is that it is one, and nothing that was rejected.
fn pairs(path: &str, columns: Vec<(&str, ArrayRef)>, map: &str) -> (Confidence, Vec<EditPair>) {
    let bytes = file_of(columns, WriterProperties::builder().set_compression(Compression::SNAPPY));
    let tree = tree([(path, bytes)]);
    let sure = diptych_parquet::FORMAT.detect(&tree).confidence;
    let pair = |edit| match edit {
        Edit::Pair(pair) => *pair,
        Edit::Rejected(rejection) => panic!("{rejection:?}"),
    };
    (sure, read_all(opened(tree, map).unwrap().as_ref()).into_iter().map(pair).collect())
}

fn known(path: &str, columns: Vec<(&str, ArrayRef)>) -> Vec<EditPair> {
    let (sure, pairs) = pairs(path, columns, "");
    assert_eq!(sure, Confidence::Strong);
    pairs
}

#[test]
fn instruct_pix2pix() {
    let found = known(
        "data/train-00000-of-00001-504518959982bcec.parquet",
        vec![
            ("original_prompt", text(["a cat", "b"])),
            ("original_image", image(&two(1))),
            ("edit_prompt", text(["make it a dog", "d"])),
            ("edited_prompt", text(["a dog", "c"])),
            ("edited_image", image(&two(3))),
        ],
    );
    let first = &found[0];
    assert_eq!(first.pair_id, "instructpix2pix:data/train-00000-of-00001-504518959982bcec:0");
    assert_eq!((first.dataset.as_str(), first.split), ("instructpix2pix", Some(Split::Train)));
    assert_eq!(first.instruction.as_deref(), Some("make it a dog"));
    let captions: Vec<_> =
        first.captions.iter().map(|of| (of.text.as_str(), of.of.as_deref().unwrap())).collect();
    assert_eq!(captions, [("a cat", "source"), ("a dog", "target")]);
    assert_eq!((first.source.width, first.source.height), (Some(8), Some(8)));
    let row = r#"{"original_prompt":"a cat","original_image":{"path":null},"edit_prompt":"make it a dog","edited_prompt":"a dog","edited_image":{"path":null}}"#;
    assert_eq!(first.native.as_deref(), Some(format!("{{\"row\":{row}}}").as_str()));
    // Column 1 is `original_image.bytes`, and the next its path.
    let address = Address::Cell { file: 0, row_group: 0, column: 1, row: 0, length: 69 };
    assert_eq!(first.source.address, address);
    let address = Address::Cell { file: 0, row_group: 0, column: 5, row: 1, length: 69 };
    assert_eq!(found[1].target.as_ref().unwrap().address, address);
}

#[test]
fn magic_brush() {
    let found = known(
        "data/dev-00000-of-00001.parquet",
        vec![
            ("img_id", text(["9", "9"])),
            ("turn_index", number([1, 2])),
            ("source_img", image(&two(1))),
            ("mask_img", image(&two(3))),
            ("instruction", text(["x", "y"])),
            ("target_img", image(&two(5))),
        ],
    );
    let ids: Vec<_> = found.iter().map(|pair| pair.pair_id.as_str()).collect();
    assert_eq!(ids, ["magicbrush:9:0", "magicbrush:9:1"]);
    let second = &found[1];
    assert_eq!(second.session_id.as_deref(), Some("magicbrush:9"));
    assert_eq!((second.turn, second.base.as_deref()), (Some(1), Some("previous")));
    let mask = second.mask.as_ref().unwrap();
    assert_eq!((mask.edited, mask.grid), (Edited::Painted, Grid::Source));
    assert_eq!(second.split, Some(Split::Val));
}

#[test]
fn ultra_edit() {
    // In most of its splits there is no mask, and the column is of no type.
    let columns = |mask: ArrayRef| {
        vec![
            ("clip_sim_source", score([0.5, 0.25])),
            ("source_caption", text(["a", "b"])),
            ("target_caption", text(["c", "d"])),
            ("edit_prompt", text(["x", "y"])),
            ("idx", number([7, 8])),
            ("source_image", image(&two(1))),
            ("edited_image", image(&two(3))),
            ("mask_image", mask),
        ]
    };
    let path = "data/FreeForm_0-00000-of-00001.parquet";
    let found = known(path, columns(Arc::new(NullArray::new(2))));
    assert_eq!(found[1].pair_id, "ultraedit:data/FreeForm_0-00000-of-00001:1");
    assert_eq!((found[1].mask.is_none(), found[1].split), (true, None));
    assert!(found[1].native.as_ref().unwrap().contains("\"clip_sim_source\":0.25"));
    let masks = vec![None, Some(png(9))];
    let found = known("data/RegionBase-00000-of-00001.parquet", columns(image(&masks)));
    assert!(found[0].mask.is_none());
    assert_eq!(found[1].mask.as_ref().unwrap().edited, Edited::White);
}

#[test]
fn omni_edit() {
    let found = known(
        "data/train-00000-of-00001.parquet",
        vec![
            ("omni_edit_id", text(["task_1", "task_2"])),
            ("task", text(["removal", "swap"])),
            ("src_img", image(&two(1))),
            ("edited_img", image(&two(3))),
            ("edited_prompt_list", texts([&["x", "y"], &["z"]])),
            ("o_score", score([9.5, 8.0])),
        ],
    );
    assert_eq!(found[0].pair_id, "omniedit:task_1");
    assert_eq!(found[0].instruction.as_deref(), Some("x"));
    assert_eq!((found[0].instructions.len(), found[1].instructions.len()), (2, 0));
    let types: Vec<_> = found.iter().map(|pair| pair.edit_type.as_deref().unwrap()).collect();
    assert_eq!(types, ["remove", "swap"]);
}

#[test]
fn hq_edit() {
    let found = known(
        "data/train-00000-of-00001.parquet",
        vec![
            ("input", text(["a", "b"])),
            ("input_image", image(&two(1))),
            ("edit", text(["x", "y"])),
            ("inverse_edit", text(["undo x", ""])),
            ("output", text(["c", "d"])),
            ("output_image", image(&two(3))),
        ],
    );
    let ids: Vec<_> = found.iter().map(|pair| pair.pair_id.clone()).collect();
    let of = |row: &str| format!("hq-edit:data/train-00000-of-00001:{row}");
    assert_eq!(ids, [of("0"), of("0:inverse"), of("1")]);
    assert_eq!(found[1].source, found[0].target.clone().unwrap());
    assert_eq!(found[1].instruction.as_deref(), Some("undo x"));
}

#[test]
fn nhr_edit() {
    let found = known(
        "data/train-00000-of-00001.parquet",
        vec![
            ("sample_id", text(["s1", "s2"])),
            ("source_image", image(&two(1))),
            ("edited_image", image(&two(3))),
            ("edit_instruction", text(["x", "y"])),
            ("augmented_instructions", texts([&["x again"], &[]])),
            ("category", text(["Add", "Remove"])),
        ],
    );
    assert_eq!(found[0].pair_id, "nhr-edit:s1");
    let wordings: Vec<_> = found[0].instructions.iter().map(|of| of.text.as_str()).collect();
    assert_eq!(wordings, ["x", "x again"]);
}

#[test]
fn crisp_edit() {
    // Names of its files have spaces, and pictures are of several types.
    let jpeg = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x0B\x08\0\x10\0\x20\x01\x01\x11\0\xFF\xD9";
    let targets = vec![Some(jpeg.to_vec()), Some(png(4))];
    let found = known(
        "data/motion change_00012.parquet",
        vec![
            ("input_img", image(&two(1))),
            ("instruction", text(["x", "y"])),
            ("output_img", image(&targets)),
            ("type", text(["motion change", "motion change"])),
        ],
    );
    assert_eq!(found[0].pair_id, "crispedit:data/motion change_00012:0");
    assert_eq!(found[0].edit_type.as_deref(), Some("action"));
    assert_eq!(found[0].target.as_ref().unwrap().size(), Some((32, 16)));
}

#[test]
fn what_names_mean_types_say() {
    // `input` and `output` are texts here, and pictures elsewhere.
    let (sure, _) =
        pairs("a.parquet", vec![("input", image(&two(1))), ("output", image(&two(3)))], "");
    assert_eq!(sure, Confidence::Strong);
    let map = "source:image_file,target:edited_file,reference:visual_input,instruction:edit";
    let columns = vec![
        ("image_file", image(&two(1))),
        ("edited_file", image(&two(3))),
        ("visual_input", image(&vec![None, Some(png(9))])),
        ("input", text(["a", "b"])),
        ("output", text(["a", "b"])),
        ("edit", text(["x", "y"])),
    ];
    let (sure, found) = pairs("default/train/0000.parquet", columns, map);
    assert_eq!(sure, Confidence::Weak);
    assert_eq!(found[0].pair_id, "parquet:default/train/0000:0");
    assert_eq!((found[0].references.len(), found[1].references.len()), (0, 1));
    assert_eq!(found[0].split, Some(Split::Train));
    assert_eq!(found[0].source.name, "default/train/0000:0:image_file");
    // Two columns of text are no pictures, though others would call them so.
    let bytes = file_of(
        vec![("source", text(["a", "b"])), ("target", text(["a", "b"]))],
        WriterProperties::builder(),
    );
    let found = diptych_parquet::FORMAT.detect(&tree([("a.parquet", bytes)]));
    assert_eq!(found.confidence, Confidence::No);
    assert_eq!(found.near, ["a.parquet, which has not two columns of pictures"]);
}

/// Pictures as bytes alone and in lists, and their paths as their names.
#[test]
fn pictures_stand_in_many_ways() {
    let large: ArrayRef =
        Arc::new(LargeBinaryArray::from_iter(two(3).iter().map(Option::as_deref)));
    let all = structs(
        &vec![Some(png(1)), None, Some(png(9)), Some(png(2))],
        &[Some("x/1.png"), None, None, Some("")],
    );
    let item = Arc::new(Field::new("item", all.data_type().clone(), true));
    let list: ArrayRef =
        Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([3, 1]), Arc::new(all), None));
    let columns = vec![("source", list), ("target", large), ("prompt", text(["x", "y"]))];
    let (sure, found) = pairs("a.parquet", columns, "");
    assert_eq!(sure, Confidence::Strong);
    assert_eq!(found[0].source.name, "x/1.png");
    assert_eq!((found[0].references.len(), found[1].references.len()), (1, 0));
    let reference = &found[0].references[0].picture;
    let address = Address::Cell { file: 0, row_group: 0, column: 0, row: 2, length: 69 };
    assert_eq!((&reference.address, reference.name.as_str()), (&address, "a:0:source"));
    let address = Address::Cell { file: 0, row_group: 0, column: 0, row: 3, length: 69 };
    assert_eq!((&found[1].source.address, found[1].source.name.as_str()), (&address, "a:1:source"));
    // Text that does not say so is none.
    let words = [Some(&b"no picture"[..]), None];
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter(words));
    let columns =
        vec![("source", image(&two(1))), ("target", image(&two(3))), ("instruction", bytes)];
    let (_, found) = pairs("a.parquet", columns, "");
    assert_eq!(found[0].instruction.as_deref(), Some("no picture"));
}

/// Whatever a writer does with them, the bytes are the same.
#[test]
fn every_way_of_writing_gives_the_same_pairs() {
    let properties = || WriterProperties::builder();
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let plain = || properties().set_dictionary_enabled(false);
    let ways = [
        (true, plain()),
        (true, plain().set_data_page_row_count_limit(1).set_write_batch_size(1)),
        (false, properties()),
        (false, plain().set_compression(Compression::SNAPPY)),
        (false, properties().set_compression(zstd).set_writer_version(WriterVersion::PARQUET_2_0)),
    ];
    let mut of_first = None;
    for (is_plain, way) in ways {
        let columns = vec![
            ("source", image(&two(1))),
            ("target", image(&vec![Some(png(5)); 2])),
            ("instruction", text(["x", "y"])),
        ];
        let tree: MemoryTree = tree([("a.parquet", file_of(columns, way))]);
        let mut pairs: Vec<_> = read_all(opened(tree, "").unwrap().as_ref())
            .into_iter()
            .map(|edit| match edit {
                Edit::Pair(pair) => *pair,
                Edit::Rejected(rejection) => panic!("{rejection:?}"),
            })
            .collect();
        for pair in &mut pairs {
            for address in pair.addresses_mut() {
                assert_eq!(matches!(address, Address::Range { .. }), is_plain);
                assert_eq!(address.length(), Some(69));
                *address = Address::Inline(Vec::new());
            }
        }
        assert_eq!(of_first.get_or_insert(pairs.clone()), &pairs);
    }
}

#[test]
fn a_copy_says_how_complete_it_is() {
    let columns = || vec![("source", image(&two(1))), ("target", image(&two(3)))];
    let file = || file_of(columns(), WriterProperties::builder());
    let paths = ["data/train-00001-of-00003.parquet", "data/train-00002-of-00003.parquet"];
    let reader = opened(tree(paths.map(|path| (path, file()))), "").unwrap();
    assert_eq!(reader.partitions()[0], "data/train-00000-of-00003.parquet");
    let rejected = read_all(reader.as_ref()).into_iter().filter_map(|edit| match edit {
        Edit::Rejected(rejection) => Some(rejection.kind),
        Edit::Pair(_) => None,
    });
    assert_eq!(rejected.collect::<Vec<_>>(), ["missing_shard"]);
    let parts = reader.parts(&Tally::default()).unwrap();
    let told: Vec<_> = parts
        .iter()
        .map(|part| (part.name.as_str(), part.here, part.stated.as_ref().unwrap().count))
        .collect();
    assert_eq!(told, [("files of data/train", 2, 3), ("rows", 4, 4)]);
    assert_eq!(parts[0].missing.as_deref(), Some("data/train-00000-of-00003.parquet"));
}
