//! How long it takes to find all hashes that are near each other, and how much memory.
//!
//! `near SET COUNT DISTANCE` draws so many hashes, puts one after the other into an index and asks
//! for those before it that are near. A set is `random`, `clustered` (tens that are near one), or
//! `skewed` (bits that depend on each other and are not one as often as zero, as those of
//! photographs). Each run is a process by itself, since memory is told at its most.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use diptych_pixels::near::near_groups;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().ok_or("near SET COUNT DISTANCE");
    let (set, count, distance) = (word()?, word()?.parse::<usize>()?, word()?.parse()?);
    let hashes: Vec<u64> = match set.as_str() {
        "random" => (0..count as u64).map(drawn).collect(),
        "clustered" => (0..count as u64).map(clustered).collect(),
        "skewed" => (0..count as u64).map(skewed).collect(),
        _ => return Err("a set is random, clustered or skewed".into()),
    };
    let start = Instant::now();
    let groups = near_groups(&hashes, distance)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut sizes = vec![0_u32; count];
    for first in groups {
        if let Some(size) = sizes.get_mut(first as usize) {
            *size += 1;
        }
    }
    let alone = sizes.iter().filter(|size| **size > 0).count();
    let most = sizes.iter().max().copied().unwrap_or(0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown");
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{set} {count} within {distance}: {seconds:.2} s, {}, {alone} groups, {most} in the largest",
        memory.trim()
    )?;
    Ok(())
}

/// A number without order.
fn drawn(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// One of ten with up to five bits turned.
fn clustered(i: u64) -> u64 {
    let turned = drawn(i) % 6;
    (0..turned).fold(drawn(i / 10), |hash, bit| hash ^ 1 << (drawn(i * 8 + bit) % 64))
}

/// Bits that each lean to one side, and are sums of the same few numbers besides some of their own.
fn skewed(i: u64) -> u64 {
    let from = |number: u64| (number >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    let shared: Vec<f64> = (0..12).map(|n| from(drawn(i * 128 + n))).collect();
    (0..64).fold(0, |hash, bit| {
        let weight = |n: usize| from(drawn(u64::MAX / 2 + bit * 16 + n as u64));
        let sum: f64 = shared.iter().enumerate().map(|(n, value)| weight(n) * value).sum();
        let own = 1.2 * from(drawn(i * 128 + 64 + bit));
        hash | u64::from(sum + own + 0.3 * weight(15) > 0.0) << bit
    })
}
