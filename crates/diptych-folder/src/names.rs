//! Names of columns: which of them name pictures, as the loader has it.

/// What a column is called by the loader that names a picture, or a list of them: `source` for
/// `source_file_name`, and `image` where there is nothing before; `None` for other columns.
pub(crate) fn picture_column(name: &str) -> Option<&str> {
    match name {
        "file_name" => Some("image"),
        "file_names" => Some("images"),
        name => name.strip_suffix("_file_name").or_else(|| name.strip_suffix("_file_names")),
    }
}

/// The columns that may name the pictures of a name: as the loader has it, then as it is, for
/// tables whose paths have names of their own.
pub(crate) fn columns_of(picture: &str) -> [String; 3] {
    match picture {
        "image" => ["file_name".to_owned(), "image_file_name".to_owned(), picture.to_owned()],
        "images" => ["file_names".to_owned(), "images_file_names".to_owned(), picture.to_owned()],
        _ => [format!("{picture}_file_name"), format!("{picture}_file_names"), picture.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_pictures_are_told_by_their_names() {
        for (column, picture) in [
            ("source_file_name", Some("source")),
            ("references_file_names", Some("references")),
            ("file_name", Some("image")),
            ("file_names", Some("images")),
            ("file_name_x", None),
            ("filename", None),
        ] {
            assert_eq!(picture_column(column), picture, "{column}");
            let back =
                picture.is_none_or(|picture| columns_of(picture).contains(&column.to_owned()));
            assert!(back, "{column}");
        }
    }
}
