//! Run lengths into masks and back, for a second opinion on both: JSON lines in, JSON lines out.
//!
//! - `{"width", "height", "counts"}`, a string of run lengths, is answered by
//!   `{"runs", "padded", "mask"}`: its runs, how many pixels it leaves out, and the mask as it is
//!   written, a PNG in hexadecimal digits.
//! - `{"width", "height", "pixels"}`, the pixels of a mask row by row, `0` or `1` each, is answered
//!   by `{"counts"}`.

use std::error::Error;
use std::io::{BufRead, Write};

use diptych_pixels::mask::{DecodeLimits, Part, normalise};
use diptych_pixels::run_length::{RunLimits, decode, encode};
use diptych_schema::Edited;
use serde_json::{Value, json};

/// Pixels of a mask, far more than such a line has.
const PIXELS: u64 = 1 << 24;

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&serde_json::from_str(&line?)?)?;
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn answer(line: &Value) -> Result<Value, Box<dyn Error>> {
    let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::as_bytes);
    let side = |key: &str| line.get(key).and_then(Value::as_u64).ok_or("a side is missing");
    let size = (u32::try_from(side("width")?)?, u32::try_from(side("height")?)?);
    if let Some(counts) = text("counts") {
        let found = decode(counts, size, RunLimits { pixels: PIXELS, runs: PIXELS })?;
        let limits = DecodeLimits { pixels: PIXELS, bytes: 2 * PIXELS };
        let part = Part::RunLength { counts, size };
        let mask = normalise(&[part], Edited::White, None, limits)?;
        let hex: String = mask.png.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(json!({ "runs": found.runs, "padded": found.padded, "mask": hex }))
    } else {
        let digits = text("pixels").ok_or("neither counts nor pixels")?;
        let pixels: Vec<u8> = digits.iter().map(|digit| u8::from(*digit == b'1')).collect();
        Ok(json!({ "counts": encode(&pixels, size)? }))
    }
}
