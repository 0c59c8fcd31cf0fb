//! The obvious way to a change mask, to compare with: brightness that differs by 18 levels or
//! more, gaps closed with a disc of 5 pixels, and parts under 30 % of the mask dropped.

use diptych_pixels::{Bits, Rgb};

/// Levels from which on a pixel is edited.
const LEVELS: u32 = 18;
/// The share of the mask that a part must have.
const SHARE: f64 = 0.3;
/// The disc: how far each of its rows reaches to both sides.
const DISC: [(i64, i64); 5] = [(-2, 0), (-1, 2), (0, 2), (1, 2), (2, 0)];

pub(super) fn mask(source: &Rgb, target: &Rgb) -> Bits {
    let (width, height) = (source.width, source.height);
    let mut mask = Bits::new(width, height);
    let (first, second) = (grey(source), resized(&grey(target), target, (width, height)));
    for (at, (a, b)) in (0..).zip(first.iter().zip(&second)) {
        mask.set(at % width, at / width, a.abs_diff(*b) >= LEVELS);
    }
    let closed = sweep(&sweep(&mask, true), false);
    largest(&closed)
}

/// Brightness by ITU-R 601, from 0 to 255.
fn grey(picture: &Rgb) -> Vec<u32> {
    let pixels = picture.samples.as_chunks::<3>().0.iter();
    pixels
        .map(|pixel| {
            let [r, g, b] = pixel.map(u32::from);
            (19_595 * r + 38_470 * g + 7_471 * b + 0x8000) >> 16
        })
        .collect()
}

/// To another size, by straight lines between the nearest four.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the picture")]
fn resized(grey: &[u32], from: &Rgb, (width, height): (u32, u32)) -> Vec<u32> {
    if (from.width, from.height) == (width, height) {
        return grey.to_vec();
    }
    let place = |at: u32, of: u32, all: u32| {
        let centre = (f64::from(at) + 0.5) * f64::from(all) / f64::from(of) - 0.5;
        let centre = centre.clamp(0.0, f64::from(all - 1));
        (centre.floor() as u32, centre - centre.floor())
    };
    let value = |x: u32, y: u32| {
        let at = y.min(from.height - 1) * from.width + x.min(from.width - 1);
        grey.get(at as usize).copied().map_or(0.0, f64::from)
    };
    let mut out = Vec::new();
    for y in 0..height {
        let (row, down) = place(y, height, from.height);
        for x in 0..width {
            let (column, across) = place(x, width, from.width);
            let line = |y| value(column, y) * (1.0 - across) + value(column + 1, y) * across;
            out.push((line(row) * (1.0 - down) + line(row + 1) * down).round() as u32);
        }
    }
    out
}

/// With `any`, what the disc around each edited pixel covers; else where all that it covers is
/// edited. Beyond the picture there is nothing to cover.
fn sweep(mask: &Bits, any: bool) -> Bits {
    let (width, height) = (i64::from(mask.width()), i64::from(mask.height()));
    let mut out = Bits::new(mask.width(), mask.height());
    let side = |at: i64| u32::try_from(at).unwrap_or_default();
    for y in 0..height {
        for x in 0..width {
            let places = DISC.iter().flat_map(|(row, reach)| {
                (-reach..=*reach).map(move |column| (x + column, y + row))
            });
            let mut inside =
                places.filter(|(x, y)| (0..width).contains(x) && (0..height).contains(y));
            let is_edited = |(x, y): (i64, i64)| mask.get(side(x), side(y));
            let edited = if any { inside.any(is_edited) } else { inside.all(is_edited) };
            out.set(side(x), side(y), edited);
        }
    }
    out
}

/// The parts that are large enough; pixels touch at corners as well.
fn largest(mask: &Bits) -> Bits {
    let mut left = mask.clone();
    let mut out = Bits::new(mask.width(), mask.height());
    let least = SHARE * mask.count() as f64;
    for start in 0..mask.width() * mask.height() {
        let start = (start % mask.width(), start / mask.width());
        if !left.get(start.0, start.1) {
            continue;
        }
        left.set(start.0, start.1, false);
        let (mut part, mut next) = (vec![start], 0);
        while let Some((x, y)) = part.get(next).copied() {
            next += 1;
            for row in y.saturating_sub(1)..=y + 1 {
                for column in x.saturating_sub(1)..=x + 1 {
                    if left.get(column, row) {
                        left.set(column, row, false);
                        part.push((column, row));
                    }
                }
            }
        }
        if part.len() as f64 >= least {
            part.iter().for_each(|(x, y)| out.set(*x, *y, true));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(size: (u32, u32), samples: impl Fn(u32, u32) -> u8) -> Rgb {
        let places = (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y)));
        let samples = places.flat_map(|(x, y)| [samples(x, y); 3]).collect();
        Rgb { width: size.0, height: size.1, samples, orientation: Default::default() }
    }

    #[test]
    fn a_square_is_found_and_a_speck_is_not() {
        let source = picture((40, 30), |_, _| 100);
        let inside = |x: u32, y: u32| (5..20).contains(&x) && (8..20).contains(&y);
        let target =
            picture((40, 30), |x, y| if inside(x, y) || (x, y) == (35, 3) { 118 } else { 117 });
        let mask = mask(&source, &target);
        for (x, y) in (0..30).flat_map(|y| (0..40).map(move |x| (x, y))) {
            assert_eq!(mask.get(x, y), inside(x, y), "{x} {y}");
        }
        let half = picture((20, 15), |x, y| if inside(2 * x, 2 * y) { 200 } else { 100 });
        assert!(super::mask(&source, &half).get(12, 14));
    }
}
