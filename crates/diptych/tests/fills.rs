//! What formats declare of the columns that their releases fill, against what their fixtures fill.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use std::collections::BTreeSet;

use diptych::catalog::Catalog;
use diptych::format::foreign::known::ALL;
use diptych::format::options::Assignment;
use diptych::format::{About, OptionKind};
use diptych::schema::arrow::{catalog_schema, encode};
use diptych::schema::edit_type::{is_shared, shared};
use diptych::schema::{Address, EditPair, Picture};
use diptych::{Request, Silent, SourceRequest};
use support::folder::fixtures;

/// The columns that are other than those of a pair of which nothing is known.
fn filled(pairs: &[EditPair]) -> BTreeSet<String> {
    let nothing = Picture::unprobed("", Address::Inline(Vec::new()));
    let empty = encode(&[EditPair::new(String::new(), String::new(), nothing)]).unwrap();
    let batch = encode(pairs).unwrap();
    let schema = catalog_schema();
    let is_filled = |column: usize| {
        (0..pairs.len()).any(|row| {
            batch.column(column).slice(row, 1).to_data() != empty.column(column).to_data()
        })
    };
    let names = schema.fields().iter().map(|field| field.name().clone());
    names.enumerate().filter(|(i, _)| is_filled(*i)).map(|(_, name)| name).collect()
}

/// The pairs of a format's fixture.
fn pairs_of(about: &About) -> Vec<EditPair> {
    let dir = tempfile::tempdir().unwrap();
    let source = SourceRequest::new(fixtures().join(about.name));
    // A further folder that the format takes lies beside its release.
    let folders = about.options.iter().filter(|option| option.kind == OptionKind::Folder);
    let options = folders.map(|option| {
        let folder = fixtures().join(format!("{}-{}", about.name, option.key));
        Assignment {
            format: about.name.to_owned(),
            key: option.key.to_owned(),
            value: folder.to_str().unwrap().to_owned(),
        }
    });
    let options = options.collect();
    let request = Request::new(vec![source], "", dir.path().join("c"));
    let request = Request { durable: false, options, ..request };
    diptych::engine().index(&request, &Silent).unwrap();
    let catalog = Catalog::open(&request.out).unwrap().unwrap();
    let mut found = Vec::new();
    for (number, partition) in catalog.head().partitions.iter().enumerate() {
        let pairs = catalog.pairs(number, 0, partition.pairs).unwrap();
        found.extend(pairs.map(Result::unwrap));
    }
    found
}

#[test]
fn a_format_fills_the_columns_that_it_declares() {
    for format in diptych::FORMATS.iter().filter(|format| format.about().reads) {
        let about = format.about();
        let found = filled(&pairs_of(about));
        let declared: BTreeSet<_> = about.fills.iter().map(|fill| fill.column.to_owned()).collect();
        assert_eq!(found, declared, "{}", about.name);
    }
}

#[test]
fn edit_types_of_tables_are_of_the_vocabulary() {
    let formats = diptych::FORMATS.iter().map(|format| format.about());
    let tables = formats.map(|about| (about.name, about.edit_types));
    let known = ALL.iter().map(|known| (known.title, known.edit_types));
    let mut words = 0;
    for (name, table) in tables.chain(known) {
        let mut natives = BTreeSet::new();
        for (native, word) in table {
            assert!(is_shared(word), "{name}: {native} becomes {word}");
            // Else no word would ever be it.
            assert_eq!(native.trim().to_lowercase(), *native, "{name}");
            assert!(natives.insert(native), "{name}: {native} is there twice");
            words += 1;
        }
    }
    assert!(words > 40, "{words}");
}

#[test]
fn readers_give_the_edit_types_of_their_tables() {
    let formats = diptych::FORMATS.iter().map(|format| format.about());
    for about in formats.filter(|about| about.reads && !about.edit_types.is_empty()) {
        let pairs = pairs_of(about);
        let types: BTreeSet<_> =
            pairs.iter().filter_map(|pair| pair.edit_type.as_deref()).collect();
        assert!(!types.is_empty(), "{}", about.name);
        for word in types {
            let is_it = |(_, to): &(&str, &str)| *to == word;
            assert!(about.edit_types.iter().any(is_it), "{}: {word}", about.name);
        }
        for native in pairs.iter().flat_map(|pair| &pair.edit_type_native) {
            let word = shared(native, about.edit_types).unwrap();
            assert!(is_shared(&word), "{}: {native} becomes {word}", about.name);
        }
    }
}
