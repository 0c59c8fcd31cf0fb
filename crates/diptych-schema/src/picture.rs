//! Pictures and where their bytes are.

use std::fmt;

use crate::vocabulary;

vocabulary! {
    /// The kinds of [`Address`].
    pub(crate) AddressKind {
        /// [`Address::Range`].
        Range = "range",
        /// [`Address::Cell`].
        Cell = "cell",
        /// [`Address::Inline`].
        Inline = "inline",
        /// [`Address::Url`].
        Url = "url",
    }
}

/// Where the bytes of a picture (or of one part of a mask) are.
///
/// Files are meant by their number in the file table that goes with the pair (a catalog's, or
/// the reader's). A format or a store that cannot serve a kind refuses it by
/// [`Address::kind`]; it never guesses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A range of a file, or of a file in pieces, which the range may cross.
    Range {
        /// Number in the file table.
        file: u32,
        /// First byte, counted from the start of the (joined) file.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// A cell of a Parquet file that holds the picture's bytes.
    Cell {
        /// Number in the file table.
        file: u32,
        /// Row group, from 0.
        row_group: u32,
        /// Leaf column, from 0, in the order of the Parquet schema.
        column: u32,
        /// Which of the column's values in the row group it is, from 0, nulls counted: the row
        /// within the row group, but where rows are lists of pictures.
        row: u64,
        /// Bytes.
        length: u64,
    },
    /// The bytes themselves.
    Inline(Vec<u8>),
    /// A place on the network.
    Url {
        /// The address as the release gives it.
        url: String,
        /// SHA-256 of the bytes in lower-case hexadecimal, where the release states it.
        sha256: Option<String>,
    },
}

impl Address {
    /// The word for this kind of address in the catalog and in messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.tag().word()
    }

    /// The kind itself.
    pub(crate) fn tag(&self) -> AddressKind {
        match self {
            Self::Range { .. } => AddressKind::Range,
            Self::Cell { .. } => AddressKind::Cell,
            Self::Inline(_) => AddressKind::Inline,
            Self::Url { .. } => AddressKind::Url,
        }
    }

    /// Bytes that the address covers, where it says so.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Range { length, .. } | Self::Cell { length, .. } => Some(*length),
            Self::Inline(bytes) => u64::try_from(bytes.len()).ok(),
            Self::Url { .. } => None,
        }
    }

    /// The number in the file table, for addresses into files.
    #[must_use]
    pub fn file(&self) -> Option<u32> {
        match self {
            Self::Range { file, .. } | Self::Cell { file, .. } => Some(*file),
            Self::Inline(_) | Self::Url { .. } => None,
        }
    }

    /// Adds `by` to the file number: a reader counts its own files from 0, a catalog of several
    /// sources counts on.
    pub fn shift_file(&mut self, by: u32) {
        if let Self::Range { file, .. } | Self::Cell { file, .. } = self {
            *file = file.saturating_add(by);
        }
    }
}

/// What kind of picture the bytes are, told from the bytes and never from a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MediaType {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
    /// GIF.
    Gif,
    /// BMP.
    Bmp,
    /// TIFF.
    Tiff,
}

impl MediaType {
    /// Every type, in the order of the enum.
    pub const ALL: [Self; 6] =
        [Self::Png, Self::Jpeg, Self::Webp, Self::Gif, Self::Bmp, Self::Tiff];

    /// The internet media type, as the catalog holds it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
            Self::Bmp => "image/bmp",
            Self::Tiff => "image/tiff",
        }
    }

    /// The one file extension that outputs use for this type: lower case, one spelling.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Webp => "webp",
            Self::Gif => "gif",
            Self::Bmp => "bmp",
            Self::Tiff => "tif",
        }
    }

    /// The type with this [`name`](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A picture: what the release calls it, where its bytes are, and what they show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The path that the release gives it.
    pub name: String,
    /// Where the bytes are.
    pub address: Address,
    /// Width in pixels as the header states it; `None` until a header was looked at.
    pub width: Option<u32>,
    /// Height in pixels as the header states it; `None` until a header was looked at.
    pub height: Option<u32>,
    /// The type, from the bytes; `None` until a header was looked at.
    pub media_type: Option<MediaType>,
}

impl Picture {
    /// A picture whose bytes were not looked at.
    #[must_use]
    pub fn unprobed(name: &str, address: Address) -> Self {
        Self { name: name.to_owned(), address, width: None, height: None, media_type: None }
    }

    /// Width and height, where both are known.
    #[must_use]
    pub fn size(&self) -> Option<(u32, u32)> {
        self.width.zip(self.height)
    }
}

/// A further input picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The picture.
    pub picture: Picture,
    /// What the release uses it for (`object`, ...), where it says so.
    pub role: Option<String>,
}
