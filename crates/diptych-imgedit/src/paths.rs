//! Paths as rows and archives have them, brought to one form.

/// A path with `/` between components, and nothing before the first.
///
/// # Errors
/// Why it is no path in a release: a fragment.
pub(crate) fn normal(path: &str) -> Result<String, &'static str> {
    let mut found = String::with_capacity(path.len());
    for (place, component) in path.split(['/', '\\']).enumerate() {
        match component {
            "" | "." => continue,
            ".." => return Err("it leads out of the release"),
            // The drive of a path of somebody's disk.
            _ if place == 0 && component.ends_with(':') => continue,
            _ if component.contains('\0') => return Err("there is a NUL in it"),
            _ => {}
        }
        if !found.is_empty() {
            found.push('/');
        }
        found.push_str(component);
    }
    if found.is_empty() { Err("it names nothing") } else { Ok(found) }
}

/// Takes the last `depth` components off: the folder that is left, and what was taken off. `None`
/// where there are fewer.
pub(crate) fn split_last(path: &str, depth: usize) -> Option<(&str, &str)> {
    let mut at = path.len();
    for taken in 1..=depth {
        match path.get(..at)?.rfind('/') {
            Some(slash) => at = slash,
            None => return (taken == depth).then_some(("", path)),
        }
    }
    Some((path.get(..at)?, path.get(at + 1..)?))
}

/// A folder and what is in it.
pub(crate) fn join(folder: &str, rest: &str) -> String {
    match folder {
        "" => rest.to_owned(),
        _ => format!("{folder}/{rest}"),
    }
}

/// The last component.
pub(crate) fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether the last components of `path` are those of `tail`.
pub(crate) fn ends_with(path: &str, tail: &str) -> bool {
    let before = path.strip_suffix(tail);
    !tail.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_brought_to_one_form_or_refused() {
        for (path, expected) in [
            ("a/b/c.png", "a/b/c.png"),
            ("./a//b/./c.png", "a/b/c.png"),
            ("/mnt/data/a/c.png", "mnt/data/a/c.png"),
            ("D:\\data\\a\\c.png", "data/a/c.png"),
            (".\\c.png", "c.png"),
            ("a/..b/c", "a/..b/c"),
        ] {
            assert_eq!(normal(path).as_deref(), Ok(expected), "{path}");
        }
        for path in ["a/../b", "..", "..\\b", "", "./", "/", "a\0b"] {
            assert!(normal(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn folders_are_taken_apart_from_the_end() {
        assert_eq!(split_last("a/b/c/d", 2), Some(("a/b", "c/d")));
        assert_eq!(split_last("c/d", 2), Some(("", "c/d")));
        assert_eq!(split_last("/c/d", 2), Some(("", "c/d")));
        assert_eq!(split_last("d", 1), Some(("", "d")));
        assert_eq!(split_last("d", 2), None);
        assert!(ends_with("x/a/b", "a/b") && ends_with("a/b", "a/b"));
        assert!(!ends_with("xa/b", "a/b") && !ends_with("a", ""));
        assert_eq!((join("", "x"), join("a", "x")), ("x".to_owned(), "a/x".to_owned()));
    }
}
