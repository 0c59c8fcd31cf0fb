//! Hashes the sources and targets of a catalog: `hash CATALOG LEVEL [CACHE]`, where `CACHE` is a
//! folder that keeps the hashes. Prints how many pictures were read and how long that took.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use diptych_convert::catalog::Catalog;
use diptych_convert::hashes::{CacheFolder, Hashing};
use diptych_convert::pictures::Pictures;
use diptych_convert::request::default_jobs;
use diptych_convert::{Level, Silent};
use diptych_storage::Limits;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().ok_or("hash CATALOG LEVEL [CACHE]");
    let (folder, level) = (word()?, word()?.parse::<Level>()?);
    let catalog = Catalog::open(Path::new(&folder))?.ok_or("no catalog")?;
    let labels = catalog.head().sources.iter().map(|source| {
        let label = &source.terms.label;
        (label.clone(), label.clone())
    });
    let cache =
        words.next().map(|folder| CacheFolder { folder: folder.into(), labels: labels.collect() });
    let start = Instant::now();
    let mut addresses = Vec::new();
    for (number, partition) in catalog.head().partitions.iter().enumerate() {
        for pair in catalog.pairs(number, 0, partition.pairs)? {
            let pair = pair?;
            addresses.push(pair.source.address);
            addresses.extend(pair.target.map(|target| target.address));
        }
    }
    let listed = start.elapsed();
    let hashing = Hashing {
        level,
        limits: Limits::DEFAULT,
        jobs: default_jobs(),
        observer: &Silent,
        caches: cache.as_slice(),
        durable: false,
    };
    let hashed = Pictures::of(&catalog, &[], Limits::DEFAULT)?.hashes(&addresses, &hashing)?;
    let (pictures, bytes) = hashed.read;
    let mut out = std::io::stdout().lock();
    let seconds = (start.elapsed() - listed).as_secs_f64();
    writeln!(out, "{} addresses, listed in {:.2} s", addresses.len(), listed.as_secs_f64())?;
    writeln!(out, "{pictures} pictures of {bytes} bytes read and hashed in {seconds:.2} s")?;
    for (why, count) in hashed.undecoded {
        writeln!(out, "not decoded, {why}: {count}")?;
    }
    for notice in hashed.notices {
        writeln!(out, "{}: {}", notice.kind, notice.detail)?;
    }
    Ok(())
}
