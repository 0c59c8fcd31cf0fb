//! Numbers of bytes as people write them.

/// A text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no size: a number with B, KB, MB, GB, TB, KiB, MiB, GiB or TiB")]
pub struct SizeError {
    /// What was given.
    pub found: String,
}

/// A number of bytes: digits, optionally a fraction, and a unit. `KB`, `MB`, `GB` and `TB` are
/// powers of 1000, `KiB` and so on powers of 1024; case does not matter, and `B` may be left out.
///
/// # Errors
/// [`SizeError`].
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let error = || SizeError { found: text.to_owned() };
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(error)?;
    let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        "ti" | "tib" => 1 << 40,
        _ => return Err(error()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = if whole.is_empty() && !fraction.is_empty() {
        0
    } else {
        whole.parse().map_err(|_| error())?
    };
    let mut size = whole.checked_mul(unit).ok_or_else(error)?;
    if !fraction.is_empty() {
        if fraction.len() > 12 {
            return Err(error());
        }
        let numerator: u128 = fraction.parse().map_err(|_| error())?;
        let scale = 10_u128.pow(u32::try_from(fraction.len()).map_err(|_| error())?);
        let part = numerator * u128::from(unit) / scale;
        size =
            u64::try_from(part).ok().and_then(|part| size.checked_add(part)).ok_or_else(error)?;
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_both_kinds_of_units() {
        let cases = [
            ("0", 0),
            ("512", 512),
            ("1GB", 1_000_000_000),
            ("1.5 gb", 1_500_000_000),
            ("64MiB", 64 << 20),
            ("2k", 2_000),
            (".5KiB", 512),
            ("0.0001KB", 0),
        ];
        for (text, size) in cases {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
        for text in ["", "GB", "-1", "1XB", "1.2.3", "1e3", "99999999999TB", "1é", "∞", "."] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
