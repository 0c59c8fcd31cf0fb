//! What messages owe.

use std::error::Error;

/// Text in a message is in one line and shows what is in it.
pub(crate) fn printable(text: &str) {
    assert!(!text.is_empty());
    assert_eq!(diptych::storage::text::visible(text), text);
}

/// An error and everything behind it, each of which is text that can be printed.
pub(crate) fn told(error: &dyn Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts.iter().for_each(|text| printable(text));
    texts.join(": ")
}
