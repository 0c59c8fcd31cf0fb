//! How much a release may ask of us.

/// Bounds on what is believed of a release, so that no file, however made, can exhaust memory.
///
/// Exceeding one is never silent: it becomes a rejection or an error that names the place. The
/// bounds do not limit the size of pictures or archives, which are never held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest row of a text file, in bytes.
    pub row_bytes: usize,
    /// Longest name of an archive member, in bytes, as an extended header may state it.
    pub member_name_bytes: usize,
    /// Longest extended header of an archive member, in bytes.
    pub member_header_bytes: usize,
    /// Members of one archive.
    pub members: usize,
    /// Memory for the indexes of archives, in bytes: beyond it the one used longest ago is
    /// dropped, and made again when it is needed again.
    pub index_bytes: usize,
    /// Files in a release.
    pub files: usize,
    /// Levels of folders below a release's root.
    pub folder_depth: usize,
    /// Pixels of a picture that has to be decoded.
    pub pixels: u64,
    /// Bytes of a picture that has to be decoded or held in memory.
    pub picture_bytes: u64,
    /// Bytes of a page of a Parquet file that has to be decompressed, before and after, and of all
    /// such pages that are kept. A page holds as many pictures as its writer put into it.
    pub page_bytes: u64,
}

impl Limits {
    /// What the command uses.
    pub const DEFAULT: Self = Self {
        row_bytes: 1 << 20,
        member_name_bytes: 4096,
        member_header_bytes: 1 << 20,
        members: 4_000_000,
        index_bytes: 48 << 20,
        files: 1_000_000,
        folder_depth: 32,
        pixels: 100_000_000,
        picture_bytes: 256 << 20,
        page_bytes: 1 << 30,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
