//! How much a release may ask of us.

use std::collections::BTreeMap;

use crate::size::{SizeError, parse_size};

/// What a compressed text or page may become whatever its size is, in bytes: where little is
/// compressed, how many times as much it becomes says nothing.
pub const EXPANSION_FLOOR: u64 = 16 << 20;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, which are set as sizes.
    Bytes,
    /// Things, which are set as numbers.
    Count,
    /// How many times as much, which is set as a number.
    Times,
}

/// One limit, as documents and help tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Its name, as [`Limits::set`] takes it.
    pub name: &'static str,
    /// What its value counts.
    pub unit: Unit,
    /// Its value where nothing is said.
    pub default: u64,
    /// The greatest value that it takes; the least is 1.
    pub greatest: u64,
    /// What it bounds, and what becomes of what is beyond it.
    pub help: &'static str,
}

/// Why a limit cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// No limit has that name.
    #[error("no limit is called `{name}`: there is {}", near.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Names that are nearly it; all where none is.
        near: Vec<&'static str>,
    },
    /// The value is no size.
    #[error("{name}: {source}")]
    Size {
        /// The limit.
        name: &'static str,
        /// What is wrong with it.
        source: SizeError,
    },
    /// The value is no number.
    #[error("{name} takes a whole number, not `{value}`")]
    NoNumber {
        /// The limit.
        name: &'static str,
        /// The value.
        value: String,
    },
    /// The value is out of range.
    #[error("{name} takes 1 to {greatest}, not {value}")]
    OutOfRange {
        /// The limit.
        name: &'static str,
        /// The value.
        value: u64,
        /// The greatest value.
        greatest: u64,
    },
}

/// Makes the struct, its defaults and the table of one list.
macro_rules! limits {
    ($($field:ident $name:literal: $type:ty, $unit:ident, $default:expr, $greatest:expr, $help:literal;)*) => {
        /// Bounds on what is believed of a release, so that no file, however made, can exhaust
        /// memory, time or disk.
        ///
        /// Exceeding one is never silent: it becomes a rejection, a notice or an error that names the
        /// place. The bounds do not limit the size of pictures or archives that pass through, which
        /// are never held in memory. [`Limits::ALL`] tells of each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Limits {
            $(#[doc = $help] pub $field: $type,)*
        }

        impl Limits {
            /// What holds where nothing is said.
            pub const DEFAULT: Self = Self { $($field: $default,)* };

            /// All limits.
            pub const ALL: [Limit; [$($name),*].len()] = [
                $(Limit {
                    name: $name,
                    unit: Unit::$unit,
                    default: Self::DEFAULT.$field as u64,
                    greatest: $greatest,
                    help: $help,
                },)*
            ];

            /// The value of a limit, by its name.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $($name => Some(self.$field as u64),)*
                    _ => None,
                }
            }

            fn put(&mut self, name: &str, value: u64) {
                match name {
                    // A value that this machine cannot count to bounds nothing on it.
                    $($name => self.$field = <$type>::try_from(value).unwrap_or(<$type>::MAX),)*
                    _ => {}
                }
            }
        }
    };
}

/// No bound but that of the number's own type, as far as every place can add to it.
const ANY: u64 = i64::MAX as u64;

limits! {
    row_bytes "row-bytes": usize, Bytes, 1 << 20, 1 << 30,
        "A row of a text file, after decompression. A longer one is passed over and rejected. Rows \
         of Parquet files, as JSON, may have eight times as much, and so may members of text in \
         WebDataset shards and rows of our own, since a record holds a row as text in which every \
         quote is escaped.";
    rows "rows": u64, Count, 10_000_000, ANY,
        "Rows of one file. Behind them nothing is read, and one rejection says so.";
    expansion "expansion": u64, Times, 100, ANY,
        "How many times its size a compressed text may become, and how many times the size of their \
         file all rows of a Parquet file may, as JSON; beyond 16 MiB that each may. Behind that \
         nothing is read, and one rejection says so.";
    page_expansion "page-expansion": u64, Times, 10, ANY,
        "How many times its size a compressed page of a Parquet file may become, beyond 16 MiB that \
         every one may. Pictures are compressed already and become no larger. A page that would \
         become more is not read, and costs the rows that need it.";
    page_bytes "page-bytes": u64, Bytes, 1 << 30, ANY,
        "A page of pictures of a Parquet file that has to be decompressed, before and after, and all \
         such pages that are kept. A page holds as many pictures as its writer put into it.";
    text_page_bytes "text-page-bytes": u64, Bytes, 32 << 20, ANY,
        "A page of any other column of a Parquet file, before and after decompression. It bounds the \
         length of a text too. A larger one costs the rows of its row group.";
    footer_bytes "footer-bytes": u64, Bytes, 8 << 20, u32::MAX as u64,
        "What stands at the end of a Parquet file and says where its columns are. A file with more is \
         not read, and one rejection stands for its rows.";
    member_name_bytes "member-name-bytes": usize, Bytes, 4096, 65_535,
        "The name of an archive's member, as an extended header may state it. Such a member is left \
         out and told of.";
    member_header_bytes "member-header-bytes": usize, Bytes, 1 << 20, 1 << 30,
        "An extended header of an archive's member. Such a member is left out and told of.";
    members "members": usize, Count, 4_000_000, 1 << 31,
        "Members of one archive. Behind them nothing is read, which is told of.";
    gap_bytes "gap-bytes": u64, Bytes, 8 << 30, ANY,
        "Bytes that are gone through to find what comes next: of one archive, zeros or damage before a \
         header; of a text, blanks and a row; and of a text beside the rows, all \
         of it. Behind them nothing is read, which is told of.";
    index_bytes "index-bytes": usize, Bytes, 48 << 20, ANY,
        "Memory for the indexes of archives: beyond it the one used longest ago is dropped, and made \
         again when it is needed again.";
    files "files": usize, Count, 1_000_000, ANY,
        "Files in a release. One with more is refused.";
    folder_depth "folder-depth": usize, Count, 32, 256,
        "Levels of folders below a release's root. What lies deeper is not looked at, which is told \
         of.";
    notices "notices": usize, Count, 1_000, ANY,
        "Notices of one kind of a release. Where there are more, one notice says so.";
    pixels "pixels": u64, Count, 100_000_000, ANY,
        "Pixels of a mask that has to be decoded, of the grid that it is brought to, and of each of \
         two pictures that are compared. Such a mask is rejected; such pictures are not compared.";
    picture_bytes "picture-bytes": u64, Bytes, 256 << 20, ANY,
        "Bytes of such a picture, as it is and as it is decoded; and of a picture in a page of a \
         Parquet file that has to be decompressed.";
}

impl Limits {
    /// For a first look at a release, to tell which format it has: what shows that is near the
    /// beginning of its files.
    pub const LOOK: Self = Self { gap_bytes: 16 << 20, expansion: 1, ..Self::DEFAULT };

    /// Sets a limit by its name. Sizes are read by [`parse_size`].
    ///
    /// # Errors
    /// See [`LimitError`]; nothing is set then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), LimitError> {
        let limit = Self::named(name)?;
        let number =
            match limit.unit {
                Unit::Bytes => parse_size(value)
                    .map_err(|source| LimitError::Size { name: limit.name, source })?,
                Unit::Count | Unit::Times => value.trim().parse().map_err(|_| {
                    LimitError::NoNumber { name: limit.name, value: value.to_owned() }
                })?,
            };
        self.set_number(name, number)
    }

    /// Those that are not as they are by themselves, by name.
    #[must_use]
    pub fn changed(&self) -> BTreeMap<String, u64> {
        let said = Self::ALL.iter().filter_map(|limit| {
            let value = self.get(limit.name)?;
            (value != limit.default).then(|| (limit.name.to_owned(), value))
        });
        said.collect()
    }

    /// What [`Limits::changed`] gave, as limits again.
    ///
    /// # Errors
    /// [`LimitError`] where a name or a value is not what it was when they were written down.
    pub fn of_changed(changed: &BTreeMap<String, u64>) -> Result<Self, LimitError> {
        let mut limits = Self::DEFAULT;
        for (name, value) in changed {
            limits.set_number(name, *value)?;
        }
        Ok(limits)
    }

    fn set_number(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
        let Limit { name, greatest, .. } = *Self::named(name)?;
        if !(1..=greatest).contains(&value) {
            return Err(LimitError::OutOfRange { name, value, greatest });
        }
        self.put(name, value);
        Ok(())
    }

    fn named(name: &str) -> Result<&'static Limit, LimitError> {
        const ALL: &[Limit] = &Limits::ALL;
        ALL.iter().find(|limit| limit.name == name).ok_or_else(|| {
            let names = || ALL.iter().map(|limit| limit.name);
            let mut near: Vec<_> = names().filter(|of| is_near(of, name)).collect();
            if near.is_empty() {
                near = names().collect();
            }
            LimitError::Unknown { name: name.to_owned(), near }
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Whether a name is another with a few letters changed, or begins or ends as it does: `row_bytes`,
/// `rowbytes` and `row` are near `row-bytes`.
fn is_near(name: &str, given: &str) -> bool {
    /// Letters that may be wrong.
    const WRONG: usize = 2;
    if given.len() > 2 * name.len() {
        return false;
    }
    let part = given.len() > WRONG && (name.starts_with(given) || name.ends_with(given));
    // How many letters have to be changed, row by row of the table of all beginnings.
    let mut row: Vec<usize> = (0..=given.len()).collect();
    for (line, letter) in name.bytes().enumerate() {
        let before = std::mem::replace(&mut row, vec![line + 1]);
        for (place, other) in given.bytes().enumerate() {
            let [above_left, above] =
                [place, place + 1].map(|at| before.get(at).copied().unwrap_or(usize::MAX));
            let left = row.last().copied().unwrap_or(usize::MAX);
            let changed = above_left + usize::from(letter != other);
            row.push(changed.min(above + 1).min(left + 1));
        }
    }
    part || row.last().is_some_and(|changed| *changed <= WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_by_their_names() {
        let mut limits = Limits::DEFAULT;
        for (name, value) in [("row-bytes", "4MB"), ("rows", "7"), ("page-bytes", "1GiB")] {
            limits.set(name, value).unwrap();
        }
        assert_eq!((limits.row_bytes, limits.rows), (4_000_000, 7));
        let changed = limits.changed();
        let wanted = [("row-bytes".to_owned(), 4_000_000), ("rows".to_owned(), 7)];
        assert_eq!(changed, BTreeMap::from(wanted), "what is as by itself is not said");
        assert_eq!(Limits::of_changed(&changed), Ok(limits));
        for limit in &Limits::ALL {
            assert_eq!(Limits::DEFAULT.get(limit.name), Some(limit.default));
            for value in [1, limit.greatest] {
                limits.set(limit.name, &value.to_string()).unwrap();
                assert_eq!(limits.get(limit.name), Some(value), "{}", limit.name);
            }
        }
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_may_be_meant() {
        let message = |name, value| Limits::default().set(name, value).unwrap_err().to_string();
        let cases = [
            ("row_bytes", "1", "no limit is called `row_bytes`: there is row-bytes"),
            ("pixel", "1", "no limit is called `pixel`: there is pixels"),
            ("page", "1", "no limit is called `page`: there is page-expansion, page-bytes"),
            ("rows", "many", "rows takes a whole number, not `many`"),
            ("rows", "0", "rows takes 1 to 9223372036854775807, not 0"),
            ("folder-depth", "300", "folder-depth takes 1 to 256, not 300"),
            (
                "row-bytes",
                "1XB",
                "row-bytes: `1XB` is no size: a number with B, KB, MB, GB, TB, KiB, \
                                  MiB, GiB or TiB",
            ),
        ];
        for (name, value, wanted) in cases {
            assert_eq!(message(name, value), wanted);
        }
        let all = message("nothing like it", "1");
        assert!(Limits::ALL.iter().all(|limit| all.contains(limit.name)), "{all}");
        let names: std::collections::BTreeSet<_> = Limits::ALL.iter().map(|of| of.name).collect();
        assert_eq!(names.len(), Limits::ALL.len());
    }
}
