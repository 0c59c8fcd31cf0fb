use proptest::prelude::*;

use super::*;
use crate::orientation::Orientation;

const LIMITS: DecodeLimits = DecodeLimits { pixels: 1 << 22, bytes: 64 << 20 };

/// A picture of grain on a slope, which has texture all over.
fn scene(x: u32, y: u32) -> [u8; 3] {
    let mut state = u64::from(x / 2) << 32 | u64::from(y / 2);
    state = (state ^ 0x9E37_79B9).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ state >> 29).wrapping_mul(0x94D0_49BB_1331_11EB);
    let grain = (state >> 59) as u8;
    let [x, y] = [x / 4, y / 8].map(|of| of.to_le_bytes()[0]);
    [60 + grain + x, 90 + grain, 140 + grain - y]
}

fn png(
    (width, height): (u32, u32),
    orientation: Orientation,
    colour: impl Fn(u32, u32) -> [u8; 3],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(::png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    if orientation != Orientation::Upright {
        writer.write_chunk(::png::chunk::eXIf, &orientation.to_exif()).unwrap();
    }
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let samples: Vec<u8> = places.flat_map(|(x, y)| colour(x, y)).collect();
    writer.write_image_data(&samples).unwrap();
    writer.finish().unwrap();
    bytes
}

fn upright(size: (u32, u32), colour: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    png(size, Orientation::Upright, colour)
}

const SIZE: (u32, u32) = (160, 120);

fn is_inside(x: u32, y: u32) -> bool {
    (40..90).contains(&x) && (30..70).contains(&y)
}

fn edited(x: u32, y: u32) -> [u8; 3] {
    if is_inside(x, y) { [200, 30, 40] } else { scene(x, y) }
}

fn found(source: &[u8], target: &[u8]) -> Difference {
    difference(source, target, &DifferenceOptions::default(), LIMITS).unwrap()
}

fn mask(source: &[u8], target: &[u8]) -> ChangeMask {
    match found(source, target) {
        Difference::Local(mask) => mask,
        other => panic!("{other:?}"),
    }
}

/// How well a mask meets the square, which is as large as `scale` says.
fn meets(mask: &Bits, scale: f64) -> f64 {
    let mut truth = Bits::new(mask.width(), mask.height());
    for (x, y) in (0..mask.height()).flat_map(|y| (0..mask.width()).map(move |x| (x, y))) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let of = |at: u32| ((f64::from(at) + 0.5) / scale) as u32;
        truth.set(x, y, is_inside(of(x), of(y)));
    }
    crate::overlap(mask, &truth).unwrap().iou().unwrap()
}

#[test]
fn an_edited_square_is_found() {
    let (source, target) = (upright(SIZE, scene), upright(SIZE, edited));
    let found = mask(&source, &target);
    assert_eq!((found.mask.width(), found.mask.height()), SIZE);
    assert!(meets(&found.mask, 1.0) > 0.97);
    assert_eq!(found.components, 1);
    assert!(found.confidence > 0.7, "{}", found.confidence);
}

#[test]
fn a_tint_is_no_edit() {
    let tint = |[r, g, b]: [u8; 3]| [r + 6, g - 3, b + 2];
    let (source, target) = (upright(SIZE, scene), upright(SIZE, |x, y| tint(edited(x, y))));
    assert!(meets(&mask(&source, &target).mask, 1.0) > 0.97);
}

#[test]
fn nothing_is_found_where_nothing_changed() {
    let source = upright(SIZE, scene);
    assert_eq!(found(&source, &source), Difference::Unchanged);
}

#[test]
fn a_change_of_everything_is_global() {
    let source = upright(SIZE, scene);
    let negative = upright(SIZE, |x, y| scene(x, y).map(|of| 255 - of));
    let Difference::Global { share, uniformity } = found(&source, &negative) else { panic!() };
    assert!(share > 0.9 && uniformity > 0.9, "{share} {uniformity}");
    let warm = upright(SIZE, |x, y| scene(x, y).map(|of| of / 2 + 80));
    assert!(matches!(found(&source, &warm), Difference::Global { .. }));
}

/// Half of everything and twice of everything, and sides that differ by a few pixels.
#[test]
fn sizes_may_differ() {
    let source = upright(SIZE, scene);
    let double = upright((320, 240), |x, y| edited(x / 2, y / 2));
    assert!(meets(&mask(&source, &double).mask, 1.0) > 0.93);
    let source = upright((320, 240), |x, y| scene(x / 2, y / 2));
    let half = upright(SIZE, edited);
    let found = mask(&source, &half);
    assert_eq!((found.mask.width(), found.mask.height()), (320, 240));
    assert!(meets(&found.mask, 2.0) > 0.93);
    let large = upright((640, 480), |x, y| scene(x / 4, y / 4));
    let found = mask(&large, &upright((640, 480), |x, y| edited(x / 4, y / 4)));
    assert_eq!((found.mask.width(), found.mask.height()), (640, 480));
    assert!(meets(&found.mask, 4.0) > 0.95);
    let (source, less) = (upright((161, 121), scene), upright((160, 120), edited));
    assert!(matches!(self::found(&source, &less), Difference::Local(_)));
}

#[test]
fn shapes_may_differ_by_no_more_than_two_in_a_hundred() {
    let source = upright((1000, 100), |_, _| [90; 3]);
    let within = upright((1019, 100), |_, _| [90; 3]);
    assert_eq!(found(&source, &within), Difference::Unchanged);
    let beyond = upright((1021, 100), |_, _| [90; 3]);
    for (a, b) in [(&source, &beyond), (&beyond, &source)] {
        let error = difference(a, b, &DifferenceOptions::default(), LIMITS).unwrap_err();
        assert!(matches!(error, DifferenceError::AspectsDiffer { .. }), "{error}");
    }
}

#[test]
fn the_mask_lies_on_the_stored_grid() {
    let target = upright(SIZE, edited);
    for of in Orientation::ALL {
        let size = of.size(SIZE);
        // Each stored pixel, by where it is seen.
        let mut seen = vec![(0, 0); (SIZE.0 * SIZE.1) as usize];
        for (x, y) in (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (x, y))) {
            let (column, row) = of.stored(SIZE, x, y);
            seen[(row * size.0 + column) as usize] = (x, y);
        }
        let at = |x: u32, y: u32| seen[(y * size.0 + x) as usize];
        let source = png(size, of, |x, y| scene(at(x, y).0, at(x, y).1));
        let found = mask(&source, &target).mask;
        assert_eq!((found.width(), found.height()), size);
        let mut right = 0;
        for (x, y) in (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y))) {
            right += u32::from(found.get(x, y) == is_inside(at(x, y).0, at(x, y).1));
        }
        assert!(right > SIZE.0 * SIZE.1 * 99 / 100, "{of:?}: {right}");
    }
}

#[test]
fn any_size_is_compared() {
    for size in [(1, 1), (1, 2), (2, 1), (1, 500), (500, 1), (3, 3), (7, 9), (801, 2)] {
        let source = upright(size, |_, _| [10; 3]);
        let target = upright(size, |x, _| [if x == 0 { 250 } else { 10 }; 3]);
        assert_eq!(found(&source, &source), Difference::Unchanged, "{size:?}");
        if let Difference::Local(found) = found(&source, &target) {
            assert_eq!((found.mask.width(), found.mask.height()), size);
        }
    }
}

#[test]
fn errors_say_which_picture() {
    let source = upright(SIZE, scene);
    let options = DifferenceOptions::default();
    let error = difference(&source, b"none", &options, LIMITS).unwrap_err();
    assert_eq!(error.to_string(), "the target is not decoded");
    let error = difference(b"none", &source, &options, LIMITS).unwrap_err();
    assert_eq!(error.to_string(), "the source is not decoded");
}

#[test]
fn parameters_are_set_by_name() {
    let mut options = DifferenceOptions::default();
    options.set("closing", "0.05").unwrap();
    assert_eq!((options.closing, options.get("closing")), (0.05, Some(0.05)));
    for (name, value, says) in [
        ("closings", "1", "no parameter of a difference is called \"closings\", those are aspect"),
        ("closing", "wide", "closing takes a number, not \"wide\""),
        ("closing", "0.2", "closing takes 0..=0.1, not 0.2"),
        ("closing", "NaN", "closing takes 0..=0.1, not NaN"),
    ] {
        let error = options.set(name, value).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
    let default = DifferenceOptions::default();
    for of in DifferenceOptions::PARAMETERS {
        assert!((of.range.0..=of.range.1).contains(&of.default), "{}", of.name);
        assert_eq!(default.get(of.name), Some(of.default));
        assert!(of.help.ends_with('.'), "{}", of.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is set and whatever the pictures hold, it ends, and a mask has the source's size.
    #[test]
    fn no_pictures_make_it_panic(
        size in (1..70_u32, 1..70_u32),
        levels in proptest::collection::vec(any::<u8>(), 8),
        ends in proptest::collection::vec(any::<bool>(), DifferenceOptions::PARAMETERS.len()),
        extreme: bool,
    ) {
        let mut options = DifferenceOptions::default();
        if extreme {
            for (of, high) in DifferenceOptions::PARAMETERS.iter().zip(ends) {
                let value = if high { of.range.1 } else { of.range.0 };
                options.set(of.name, &value.to_string()).unwrap();
            }
        }
        let noise = |x: u32, y: u32| levels[((x * 31 + y * 17) ^ (x * y)) as usize % 8];
        let source = upright(size, |x, y| [noise(x, y); 3]);
        let target = upright(size, |x, y| [noise(y, x), noise(x, y), levels[(x / 9 % 8) as usize]]);
        match difference(&source, &target, &options, LIMITS) {
            Ok(Difference::Local(found)) => {
                prop_assert_eq!((found.mask.width(), found.mask.height()), size);
                prop_assert!((0.0..=1.0).contains(&found.confidence));
            }
            Ok(Difference::Global { share, uniformity }) => {
                prop_assert!((0.0..=1.0).contains(&share) && (0.0..=1.0).contains(&uniformity));
            }
            Ok(Difference::Unchanged) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}
