//! The works: what is compared with what, as data. A new comparison is a new row here.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Something that is done to a data folder, in several ways.
pub(super) struct Work {
    pub(super) name: &'static str,
    /// What it compares, in one sentence.
    pub(super) about: &'static str,
    /// What the data folder must hold: a folder in it ("" is the data folder), and how the name of
    /// a file in that one ends.
    pub(super) needs: &'static [(&'static str, &'static str)],
    /// Whether the output is about as large as the data.
    pub(super) copies: bool,
    /// Whether ours is held to [`PROMISED_BYTES`] and [`PROMISED_BYTES_A_PAIR`].
    pub(super) promises_memory: bool,
    /// Ours first: ratios are against it.
    pub(super) contestants: &'static [Contestant],
}

/// One way to do a work, as a command.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    /// Words with placeholders: `{data}`, `{out}` (a path where nothing is yet), `{jobs}`,
    /// `{diptych}`, `{tar_index}` and `{xtask}` (programs of ours), and where the user gave them `{peers}`
    /// and `{python}`.
    pub(super) command: &'static [&'static str],
}

/// The memory that ours may use for any number of pairs.
pub(super) const PROMISED_BYTES: u64 = 64_000_000;
/// The memory that ours may use for each pair besides.
pub(super) const PROMISED_BYTES_A_PAIR: u64 = 64;

/// Python packages of the contestants, whose versions are told.
pub(super) const PACKAGES: &[&str] =
    &["webdataset", "duckdb", "opencv-python-headless", "pyarrow", "datasets"];

const INTER_EDIT: &[(&str, &str)] =
    &[("metadata", ".jsonl.gz"), ("source_shards", ".tar"), ("asset_shards", ".tar")];

/// What everybody can do with a release as it lies there: list its tars and scan its metadata.
const LIST_AND_SCAN: Contestant = Contestant {
    name: "tar t + DuckDB",
    command: &[
        "sh",
        "-c",
        r#"find -L "$1" -name '*.tar' -print0 | xargs -0 -n 1 -P "$2" tar tf &&
        "$3" "$4/g_meta_scan.py" "$1" "$5" --engine duckdb --threads "$2""#,
        "sh",
        "{data}",
        "{jobs}",
        "{python}",
        "{peers}",
        "{out}",
    ],
};

const IMGEDIT: &[(&str, &str)] = &[("Parquet", ".parquet"), ("Singleturn", ".tar.split.000")];

/// The way that the authors of ImgEdit document, then Python for the rest.
const JOIN_AND_UNPACK: Contestant = Contestant {
    name: "cat, tar x, Python",
    command: &["{python}", "{peers}/d3_imgedit_webdataset.py", "{data}", "{out}"],
};

const PYTHON_TAR_INDEX: Contestant = Contestant {
    name: "Python tarfile index",
    command: &["{python}", "{peers}/h_tar_index.py", "{data}", "{out}"],
};

/// All works.
pub(super) const WORKS: &[Work] = &[
    Work {
        name: "convert-webdataset",
        about: "A release of Inter-Edit-Train becomes WebDataset shards of 256 MB; `cp` only \
                copies it.",
        needs: INTER_EDIT,
        copies: true,
        promises_memory: false,
        contestants: &[
            Contestant {
                name: "diptych convert",
                command: &[
                    "{diptych}",
                    "convert",
                    "{data}",
                    "--to",
                    "webdataset",
                    "--out",
                    "{out}",
                    "--shard-size",
                    "256MB",
                    "--no-sync",
                    "--jobs",
                    "{jobs}",
                ],
            },
            Contestant { name: "cp -r", command: &["cp", "-r", "{data}", "{out}"] },
            Contestant {
                name: "webdataset.ShardWriter",
                command: &[
                    "{python}",
                    "{peers}/a_interedit_webdataset.py",
                    "{data}",
                    "{out}",
                    "--shard-mb",
                    "256",
                ],
            },
            Contestant {
                name: "Python tarfile",
                command: &[
                    "{python}",
                    "{peers}/a_interedit_webdataset.py",
                    "{data}",
                    "{out}",
                    "--shard-mb",
                    "256",
                    "--writer",
                    "tarfile",
                ],
            },
        ],
    },
    Work {
        name: "convert-parquet",
        about: "A release of Inter-Edit-Train becomes Parquet files of about 500 MB with the \
                pictures in them.",
        needs: INTER_EDIT,
        copies: true,
        promises_memory: true,
        contestants: &[
            Contestant {
                name: "diptych convert",
                command: &[
                    "{diptych}",
                    "convert",
                    "{data}",
                    "--to",
                    "parquet",
                    "--out",
                    "{out}",
                    "--shard-size",
                    "500MB",
                    "--no-sync",
                    "--jobs",
                    "{jobs}",
                ],
            },
            Contestant {
                name: "pyarrow",
                command: &["{python}", "{peers}/b_interedit_parquet_pyarrow.py", "{data}", "{out}"],
            },
            Contestant {
                name: "datasets to_parquet",
                command: &[
                    "{python}",
                    "{peers}/b2_interedit_parquet_datasets.py",
                    "{data}",
                    "{out}",
                ],
            },
        ],
    },
    Work {
        name: "convert-folder",
        about: "A release of Inter-Edit-Train becomes folders of pictures with a table; `tar x` \
                unpacks its tars and joins nothing, and both others write each source once.",
        needs: INTER_EDIT,
        copies: true,
        promises_memory: true,
        contestants: &[
            Contestant {
                name: "diptych convert",
                command: &[
                    "{diptych}",
                    "convert",
                    "{data}",
                    "--to",
                    "folder",
                    "--out",
                    "{out}",
                    "--no-sync",
                    "--jobs",
                    "{jobs}",
                ],
            },
            Contestant {
                name: "tar x, zcat",
                command: &[
                    "sh",
                    "-c",
                    r#"mkdir -p "$2" &&
                    for tar in "$1"/source_shards/*.tar "$1"/asset_shards/*.tar; do
                        tar xf "$tar" -C "$2" || exit
                    done &&
                    zcat "$1"/metadata/*.jsonl.gz >"$2"/metadata.jsonl"#,
                    "sh",
                    "{data}",
                    "{out}",
                ],
            },
            Contestant {
                name: "Python, from an index",
                command: &["{python}", "{peers}/c_interedit_folder.py", "{data}", "{out}"],
            },
        ],
    },
    Work {
        name: "index-header",
        about: "A release becomes a catalog with the size and type of every picture; the others \
                list its tars and scan its metadata.",
        needs: INTER_EDIT,
        copies: false,
        promises_memory: true,
        contestants: &[
            Contestant {
                name: "diptych index --probe header",
                command: &[
                    "{diptych}",
                    "index",
                    "{data}",
                    "--out",
                    "{out}",
                    "--probe",
                    "header",
                    "--no-sync",
                    "--jobs",
                    "{jobs}",
                ],
            },
            LIST_AND_SCAN,
            PYTHON_TAR_INDEX,
        ],
    },
    Work {
        name: "index-none",
        about: "The same, without a look at the pictures.",
        needs: INTER_EDIT,
        copies: false,
        promises_memory: true,
        contestants: &[
            Contestant {
                name: "diptych index --probe none",
                command: &[
                    "{diptych}",
                    "index",
                    "{data}",
                    "--out",
                    "{out}",
                    "--probe",
                    "none",
                    "--no-sync",
                    "--jobs",
                    "{jobs}",
                ],
            },
            LIST_AND_SCAN,
            PYTHON_TAR_INDEX,
        ],
    },
    Work {
        name: "inspect",
        about: "What is in a release is told, and nothing is written; the others list its tars \
                and scan its metadata.",
        needs: INTER_EDIT,
        copies: false,
        promises_memory: true,
        contestants: &[
            Contestant {
                name: "diptych inspect",
                command: &["{diptych}", "inspect", "{data}", "--json", "--jobs", "{jobs}"],
            },
            LIST_AND_SCAN,
        ],
    },
    Work {
        name: "convert-imgedit",
        about: "ImgEdit in its pieces becomes WebDataset shards, with masks turned round and on \
                the grid of their sources.",
        needs: IMGEDIT,
        copies: true,
        promises_memory: false,
        contestants: &[
            Contestant {
                name: "diptych convert",
                command: &[
                    "{diptych}",
                    "convert",
                    "{data}",
                    "--to",
                    "webdataset",
                    "--out",
                    "{out}",
                    "--mask-grid",
                    "source",
                    "--shard-size",
                    "512MB",
                    "--no-sync",
                    "--jobs",
                    "{jobs}",
                ],
            },
            JOIN_AND_UNPACK,
        ],
    },
    Work {
        name: "convert-imgedit-pape",
        about: "ImgEdit in its pieces becomes the layout of PAPE, with its own masks turned round \
                and on the pixels of their sources; the Python writes shards, which is less work.",
        needs: IMGEDIT,
        copies: true,
        promises_memory: false,
        contestants: &[
            Contestant {
                name: "diptych",
                command: &[
                    "{diptych}",
                    "convert",
                    "{data}",
                    "--from",
                    "imgedit",
                    "--to",
                    "pape",
                    "--mask-from",
                    "release",
                    "--out",
                    "{out}",
                    "--jobs",
                    "{jobs}",
                    "--no-sync",
                    "--quiet",
                ],
            },
            JOIN_AND_UNPACK,
        ],
    },
    Work {
        name: "index-imgedit",
        about: "ImgEdit in its pieces becomes a catalog; `tar t` lists its archives as if they \
                were joined.",
        needs: IMGEDIT,
        copies: false,
        promises_memory: false,
        contestants: &[
            Contestant {
                name: "diptych index",
                command: &[
                    "{diptych}",
                    "index",
                    "{data}",
                    "--out",
                    "{out}",
                    "-o",
                    "imgedit.side=off",
                    "--no-sync",
                    "--jobs",
                    "{jobs}",
                ],
            },
            Contestant {
                name: "cat, tar t",
                command: &[
                    "sh",
                    "-c",
                    r#"for first in "$1"/*/*.tar.split.000; do
                        cat "$(dirname "$first")/$(basename "$first" 000)"* | tar t
                    done"#,
                    "sh",
                    "{data}",
                ],
            },
        ],
    },
    Work {
        name: "difference-masks",
        about: "200 change masks from source and target, decoding and encoding included; OpenCV \
                takes a threshold.",
        needs: INTER_EDIT,
        copies: false,
        promises_memory: false,
        contestants: &[
            Contestant {
                name: "diptych-pixels' difference",
                command: &[
                    "{xtask}",
                    "mask-work",
                    "difference",
                    "{data}",
                    "{out}",
                    "--jobs",
                    "{jobs}",
                ],
            },
            Contestant {
                name: "OpenCV",
                command: &[
                    "{python}",
                    "{peers}/e_diff_mask.py",
                    "{data}",
                    "{out}",
                    "--threads",
                    "{jobs}",
                ],
            },
        ],
    },
    Work {
        name: "overlap-masks",
        about: "The overlap of each of 200 masks with the next, decoding included.",
        needs: INTER_EDIT,
        copies: false,
        promises_memory: false,
        contestants: &[
            Contestant {
                name: "diptych-pixels' overlap",
                command: &[
                    "{xtask}",
                    "mask-work",
                    "overlap",
                    "{data}",
                    "{out}",
                    "--jobs",
                    "{jobs}",
                ],
            },
            Contestant {
                name: "OpenCV",
                command: &[
                    "env",
                    "PYTHONPATH={peers}",
                    "{python}",
                    concat!(env!("CARGO_MANIFEST_DIR"), "/peers/overlap_masks.py"),
                    "{data}",
                    "{out}",
                    "--jobs",
                    "{jobs}",
                ],
            },
        ],
    },
    Work {
        name: "tar-index",
        about: "The place of every member of the tars in a folder is written down as JSON; \
                `tar t` lists their names.",
        needs: &[("", ".tar")],
        copies: false,
        promises_memory: false,
        contestants: &[
            Contestant {
                name: "diptych-storage's TarIndex",
                command: &["{tar_index}", "{data}", "{out}"],
            },
            Contestant {
                name: "tar t",
                command: &[
                    "sh",
                    "-c",
                    r#"find -L "$1" -name '*.tar' -print0 | xargs -0 -n 1 -P "$2" tar tf"#,
                    "sh",
                    "{data}",
                    "{jobs}",
                ],
            },
            PYTHON_TAR_INDEX,
        ],
    },
];

/// What placeholders stand for, by their names.
pub(super) type Values = BTreeMap<&'static str, OsString>;

impl Contestant {
    /// Its command, or the first placeholder that has no value.
    pub(super) fn fill(&self, values: &Values) -> Result<Vec<OsString>, &'static str> {
        self.command.iter().map(|word| fill(word, values)).collect()
    }

    /// Whether its command has a placeholder of this name.
    pub(super) fn asks_for(&self, name: &str) -> bool {
        let placeholder = format!("{{{name}}}");
        self.command.iter().any(|word| word.contains(&placeholder))
    }
}

fn fill(word: &'static str, values: &Values) -> Result<OsString, &'static str> {
    let mut filled = OsString::new();
    let mut rest = word;
    while let Some((before, name, after)) = placeholder(rest) {
        filled.push(before);
        filled.push(values.get(name).ok_or(name)?);
        rest = after;
    }
    filled.push(rest);
    Ok(filled)
}

/// What comes before the first placeholder of a text, its name, and what comes behind it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(names: &[&'static str]) -> Values {
        names.iter().map(|name| (*name, OsString::from(format!("<{name}>")))).collect()
    }

    #[test]
    fn placeholders_are_filled() {
        let contestant = Contestant {
            name: "x",
            command: &["{python}", "{peers}/x.py", "--threads={jobs}", "$1", "a{data}b{out}"],
        };
        let all = values(&["python", "peers", "jobs", "data", "out"]);
        let filled = contestant.fill(&all).unwrap();
        assert_eq!(filled, ["<python>", "<peers>/x.py", "--threads=<jobs>", "$1", "a<data>b<out>"]);
        assert_eq!(contestant.fill(&values(&["python", "jobs", "data", "out"])), Err("peers"));
        assert!(contestant.asks_for("peers") && !contestant.asks_for("diptych"));
    }

    #[test]
    fn every_work_is_whole() {
        let known = ["data", "out", "jobs", "diptych", "tar_index", "xtask", "peers", "python"];
        let mut names = std::collections::BTreeSet::new();
        for work in WORKS {
            assert!(names.insert(work.name), "{} is there twice", work.name);
            assert!(work.about.ends_with('.') && !work.needs.is_empty(), "{}", work.name);
            let ours = work.contestants.first().unwrap();
            assert!(ours.fill(&values(&known)).is_ok(), "{}", work.name);
            let programs = ["diptych", "tar_index", "xtask"];
            assert!(programs.iter().any(|of| ours.asks_for(of)), "{}", work.name);
            assert!(work.contestants.len() >= 2, "{} compares nothing", work.name);
            for contestant in work.contestants {
                assert!(contestant.fill(&values(&known)).is_ok(), "{}", contestant.name);
                assert!(contestant.asks_for("data"), "{} reads nothing", contestant.name);
                // A peer that is asked for is run by the interpreter that is asked for.
                assert_eq!(contestant.asks_for("peers"), contestant.asks_for("python"));
            }
        }
    }

    #[test]
    fn every_work_is_documented() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let page = std::fs::read_to_string(root.join("docs/benchmarks.md")).unwrap();
        for work in WORKS {
            assert!(page.contains(&format!("| `{}` |", work.name)), "{} has no row", work.name);
        }
    }
}
