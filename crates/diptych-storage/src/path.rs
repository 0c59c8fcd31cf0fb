//! Paths below a root.

use std::fmt;
use std::path::{Path, PathBuf};

/// A path below a root that cannot lead out of it: one or more components joined by `/`, none of
/// them empty, `.` or `..`, without backslashes, colons of a drive, or NUL.
///
/// An unchecked name cannot reach the file system, since only this type can.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

/// Why a name is no path below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The name is empty or has an empty component.
    #[error("an empty component")]
    Empty,
    /// The name begins at a root or a drive.
    #[error("an absolute path")]
    Absolute,
    /// A component is `.` or `..`.
    #[error("a component that is `.` or `..`")]
    Dots,
    /// A NUL, a control character or a backslash.
    #[error("a character that no path here may have")]
    Character,
}

impl RelPath {
    /// Checks `name`. Leading `./` is dropped.
    ///
    /// # Errors
    /// A [`PathError`] where the name could lead elsewhere.
    pub fn new(name: &str) -> Result<Self, PathError> {
        let mut name = name;
        while let Some(rest) = name.strip_prefix("./") {
            name = rest;
        }
        if name.starts_with('/') || has_drive(name) {
            return Err(PathError::Absolute);
        }
        for component in name.split('/') {
            match component {
                "" => return Err(PathError::Empty),
                "." | ".." => return Err(PathError::Dots),
                _ if component.chars().any(|c| c == '\\' || c.is_control()) => {
                    return Err(PathError::Character);
                }
                _ => {}
            }
        }
        Ok(Self(name.to_owned()))
    }

    /// The path with `/` between components.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The path of the folder that holds it; `None` at the root.
    #[must_use]
    pub fn parent(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(parent, _)| parent)
    }

    /// Where it is under `root`.
    #[must_use]
    pub fn under(&self, root: &Path) -> PathBuf {
        let mut path = root.to_path_buf();
        path.extend(self.0.split('/'));
        path
    }
}

fn has_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic())
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_below_a_root_are_paths() {
        for name in ["a", "a/b.tar", "中/文 #1.png", ".hidden/x", "a..b/...c"] {
            assert_eq!(RelPath::new(name).unwrap().as_str(), name);
        }
        assert_eq!(RelPath::new("././a/b").unwrap().as_str(), "a/b");
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let cases = [
            ("", PathError::Empty),
            ("a//b", PathError::Empty),
            ("a/", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            (".//etc", PathError::Absolute),
            ("C:/x", PathError::Absolute),
            ("..", PathError::Dots),
            ("a/../b", PathError::Dots),
            ("a/./b", PathError::Dots),
            ("a\\b", PathError::Character),
            ("a\0b", PathError::Character),
            ("a\nb", PathError::Character),
        ];
        for (name, error) in cases {
            assert_eq!(RelPath::new(name), Err(error), "{name:?}");
        }
    }
}
