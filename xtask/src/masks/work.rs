//! Masks as a benchmark makes them: many pairs, some threads, a file for each.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use diptych_pixels::mask::Part;
use diptych_pixels::{Bits, Difference, DifferenceOptions, difference, overlap};
use diptych_schema::Edited;
use serde_json::Value;

use super::LIMITS;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to do.
    #[arg(value_enum)]
    what: What,
    /// A release: `metadata/*.jsonl.gz`, whose rows name archives and what is in them.
    data: PathBuf,
    /// Where masks are written.
    out: PathBuf,
    /// Pairs, at most.
    #[arg(long, default_value = "200")]
    n: usize,
    /// Threads.
    #[arg(long, default_value = "2")]
    jobs: usize,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    /// Compare source and target and write the mask.
    Difference,
    /// Compare the mask of each pair with that of the next.
    Overlap,
}

/// Does the work and says how many pairs there were.
pub(crate) fn run(args: &Args) -> anyhow::Result<String> {
    fs::create_dir_all(&args.out)?;
    let rows = rows(&args.data, args.n)?;
    let archives = archives(&args.data, &rows)?;
    let next = AtomicUsize::new(0);
    let done = std::thread::scope(|scope| {
        let work = || {
            let (mut done, mut spent) = (0_usize, Duration::ZERO);
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(row) = rows.get(at) else {
                    return anyhow::Ok((done, spent));
                };
                spent += match args.what {
                    What::Difference => {
                        mask(row, &archives, &args.out.join(format!("{at:07}.png")))?
                    }
                    What::Overlap => {
                        let other = rows.get((at + 1) % rows.len()).unwrap_or(row);
                        compare([row, other], &archives)?
                    }
                };
                done += 1;
            }
        };
        let workers: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let (mut done, mut spent) = (0, Duration::ZERO);
        for worker in workers {
            let (pairs, of_worker) = worker.join().ok().context("a thread panicked")??;
            (done, spent) = (done + pairs, spent + of_worker);
        }
        anyhow::Ok((done, spent))
    })?;
    let (done, spent) = done;
    ensure!(done > 0, "no pairs");
    let each = spent.as_secs_f64() * 1000.0 / done as f64;
    Ok(format!("{done} pairs, {each:.2} ms of a thread each without reading and writing"))
}

/// Archives by their path: the open file, and where members lie in it.
type Archives = BTreeMap<String, (File, BTreeMap<String, (u64, u64)>)>;

fn rows(data: &Path, most: usize) -> anyhow::Result<Vec<Value>> {
    let mut files: Vec<_> = fs::read_dir(data.join("metadata"))?
        .map(|entry| entry.map(|of| of.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut rows = Vec::new();
    for file in files {
        let lines = BufReader::new(flate2::read::MultiGzDecoder::new(File::open(file)?)).lines();
        for line in lines.take(most - rows.len()) {
            rows.push(serde_json::from_str(&line?)?);
        }
    }
    Ok(rows)
}

fn text<'a>(row: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    row.get(key).and_then(Value::as_str).with_context(|| format!("a row without {key:?}"))
}

fn archives(data: &Path, rows: &[Value]) -> anyhow::Result<Archives> {
    let mut archives = Archives::new();
    for row in rows {
        for key in ["source_archive", "asset_archive"] {
            let name = text(row, key)?;
            if archives.contains_key(name) {
                continue;
            }
            let mut members = BTreeMap::new();
            for entry in tar::Archive::new(File::open(data.join(name))?).entries_with_seek()? {
                let entry = entry?;
                let path = entry.path()?.to_string_lossy().into_owned();
                members.insert(path, (entry.raw_file_position(), entry.size()));
            }
            archives.insert(name.to_owned(), (File::open(data.join(name))?, members));
        }
    }
    Ok(archives)
}

fn bytes(row: &Value, [archive, file]: [&str; 2], archives: &Archives) -> anyhow::Result<Vec<u8>> {
    let (archive, file) = (text(row, archive)?, text(row, file)?);
    let (from, members) = archives.get(archive).context("an archive that was not opened")?;
    let (start, length) = members.get(file).with_context(|| format!("no {file} in {archive}"))?;
    let mut bytes = vec![0; usize::try_from(*length)?];
    from.read_exact_at(&mut bytes, *start)?;
    Ok(bytes)
}

fn mask(row: &Value, archives: &Archives, out: &Path) -> anyhow::Result<Duration> {
    let source = bytes(row, ["source_archive", "source_file"], archives)?;
    let target = bytes(row, ["asset_archive", "target_file"], archives)?;
    let begin = Instant::now();
    let found = difference(&source, &target, &DifferenceOptions::default(), LIMITS)?;
    let png = match found {
        Difference::Local(found) => Some(found.mask.to_png(None)?),
        Difference::Global { .. } | Difference::Unchanged => None,
    };
    let spent = begin.elapsed();
    if let Some(png) = png {
        fs::write(out, png)?;
    }
    Ok(spent)
}

fn compare(rows: [&Value; 2], archives: &Archives) -> anyhow::Result<Duration> {
    let (mut masks, mut spent) = (Vec::new(), Duration::ZERO);
    for row in rows {
        let bytes = bytes(row, ["asset_archive", "mask_file"], archives)?;
        let begin = Instant::now();
        masks.push(Bits::from_parts(&[Part::Picture(&bytes)], Edited::White, LIMITS)?);
        spent += begin.elapsed();
    }
    let begin = Instant::now();
    if let [first, second] = masks.as_slice()
        && first.width() == second.width()
        && first.height() == second.height()
    {
        std::hint::black_box(overlap(first, second)?.iou());
    }
    Ok(spent + begin.elapsed())
}
