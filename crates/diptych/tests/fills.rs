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
use diptych::format::OptionKind;
use diptych::format::options::Assignment;
use diptych::schema::arrow::{catalog_schema, encode};
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

#[test]
fn a_format_fills_the_columns_that_it_declares() {
    for format in diptych::FORMATS.iter().filter(|format| format.about().reads) {
        let about = format.about();
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
        let mut found = BTreeSet::new();
        for (number, partition) in catalog.head().partitions.iter().enumerate() {
            let pairs = catalog.pairs(number, 0, partition.pairs).unwrap();
            let pairs: Vec<_> = pairs.map(Result::unwrap).collect();
            found.extend(filled(&pairs));
        }
        let declared: BTreeSet<_> = about.fills.iter().map(|fill| fill.column.to_owned()).collect();
        assert_eq!(found, declared, "{}", about.name);
    }
}
