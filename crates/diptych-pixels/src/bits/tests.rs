use proptest::prelude::*;

use super::*;
use crate::run_length;

const LIMITS: DecodeLimits = DecodeLimits { pixels: 1 << 20, bytes: 8 << 20 };

fn bits(size: (u32, u32), pixels: &[u8]) -> Bits {
    Bits::from_bytes(size, pixels)
}

#[test]
fn what_two_masks_have_in_common_is_counted() {
    let first = bits((3, 2), &[1, 1, 0, 0, 9, 0]);
    let second = bits((3, 2), &[0, 1, 1, 0, 255, 0]);
    let both = overlap(&first, &second).unwrap();
    assert_eq!(both, Overlap { intersection: 2, union: 4 });
    assert_eq!(both.iou(), Some(0.5));
    let nothing = Bits::new(3, 2);
    assert_eq!(overlap(&nothing, &nothing).unwrap().iou(), None);
    let error = overlap(&first, &Bits::new(2, 3)).unwrap_err();
    assert_eq!(error, SizesDiffer { first: (3, 2), second: (2, 3) });
    assert_eq!(error.to_string(), "masks of 3x2 and 2x3 pixels");
}

#[test]
fn any_mask_becomes_bits() {
    let counts = run_length::encode(&[0, 1, 1, 0, 0, 1], (3, 2)).unwrap();
    let part = Part::RunLength { counts: counts.as_bytes(), size: (3, 2) };
    let found = Bits::from_parts(&[part], Edited::White, LIMITS).unwrap();
    assert_eq!(found, bits((3, 2), &[0, 1, 1, 0, 0, 1]));
    let png = bits((3, 2), &[1, 0, 0, 0, 0, 0]).to_png(None).unwrap();
    let parts = [part, Part::Picture(&png)];
    let found = Bits::from_parts(&parts, Edited::White, LIMITS).unwrap();
    assert_eq!(found, bits((3, 2), &[1, 1, 1, 0, 0, 1]));
    let found = Bits::from_parts(&parts[1..], Edited::Black, LIMITS).unwrap();
    assert_eq!((found.count(), found.area()), (5, 5.0 / 6.0));
    assert!(matches!(Bits::from_parts(&[], Edited::White, LIMITS), Err(MaskError::NoParts)));
}

#[test]
fn the_orientation_is_written_where_it_says_something() {
    let mask = bits((3, 2), &[1, 0, 0, 0, 1, 0]);
    let plain = mask.to_png(None).unwrap();
    assert_eq!(plain, mask.to_png(Some(Orientation::Upright)).unwrap());
    for of in Orientation::ALL {
        let png = mask.to_png(Some(of)).unwrap();
        let part = [Part::Picture(&png)];
        assert_eq!(Bits::from_parts(&part, Edited::White, LIMITS).unwrap(), mask);
        let read = crate::decode::decode(&png, LIMITS).unwrap();
        assert_eq!(read.orientation, of);
        assert_eq!((read.width, read.height), of.size((3, 2)));
    }
    assert!(Bits::new(0, 3).to_png(None).is_err());
}

#[test]
fn a_mask_is_turned_back_to_where_it_is_stored() {
    let seen = bits((2, 3), &[1, 1, 1, 0, 0, 0]);
    for of in Orientation::ALL {
        let stored = seen.clone().turn_back(of);
        assert_eq!(stored.size(), of.size((2, 3)));
        for (x, y) in (0..3).flat_map(|y| (0..2).map(move |x| (x, y))) {
            let (column, row) = of.stored((2, 3), x, y);
            assert_eq!(stored.get(column, row), seen.get(x, y), "{of:?}");
        }
    }
}

proptest! {
    #[test]
    fn bits_are_what_was_set(width in 1..150_u32, height in 1..5_u32, seed: u64) {
        let mut state = seed | 1;
        let pixels: Vec<u8> = (0..width * height)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if state >> 63 == 0 { 0 } else { state.to_be_bytes()[1] | 1 }
            })
            .collect();
        let mut set = Bits::new(width, height);
        for (at, pixel) in pixels.iter().enumerate() {
            let at = u32::try_from(at).unwrap();
            set.set(at % width, at / width, *pixel != 0);
            prop_assert_eq!(set.get(at % width, at / width), *pixel != 0);
        }
        prop_assert_eq!(&set, &bits((width, height), &pixels));
        prop_assert!(!set.get(width, 0) && !set.get(0, height));
        prop_assert_eq!(set.count(), pixels.iter().filter(|of| **of != 0).count() as u64);
        let png = set.to_png(None).unwrap();
        prop_assert_eq!(&Bits::from_parts(&[Part::Picture(&png)], Edited::White, LIMITS).unwrap(), &set);
        prop_assert_eq!(overlap(&set, &set).unwrap().union, set.count());
    }
}
