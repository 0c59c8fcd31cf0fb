//! Names of files: in which folder each picture is, and what it is called there.

use diptych_schema::vocabulary;

vocabulary! {
    /// What a picture is to its pair; the word is the folder of such pictures.
    pub(crate) Role {
        /// The picture before.
        Source = "source",
        /// A further input picture.
        Reference = "reference",
        /// The picture after.
        Target = "target",
        /// The mask.
        Mask = "mask",
    }
}

/// Rows whose pictures are in one folder: no file system and no host of repositories minds so many.
const ROWS_OF_FOLDER: u64 = 1000;

/// The path of a picture from the folder of its split. `row` is the pair's place in the split, and
/// `number` that of a reference among those of its pair.
pub(crate) fn picture(
    role: Role,
    row: u64,
    key: &str,
    number: Option<usize>,
    extension: &str,
) -> String {
    let folder = row / ROWS_OF_FOLDER;
    match number {
        None => format!("{role}/{folder:05}/{key}.{extension}"),
        Some(number) => format!("{role}/{folder:05}/{key}-{number}.{extension}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_in_folders_of_a_thousand_rows() {
        assert_eq!(picture(Role::Source, 0, "a_1", None, "jpg"), "source/00000/a_1.jpg");
        assert_eq!(picture(Role::Mask, 999, "a_1", None, "png"), "mask/00000/a_1.png");
        assert_eq!(picture(Role::Target, 1000, "a_1", None, "png"), "target/00001/a_1.png");
        let reference = picture(Role::Reference, 123_456_789, "a_1", Some(1), "webp");
        assert_eq!(reference, "reference/123456/a_1-1.webp");
    }
}
