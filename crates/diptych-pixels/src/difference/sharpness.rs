//! Which of two pictures is the sharper one, and how to make both alike.

use super::grid::Picture;
use super::plane::Plane;
use super::tint::Tint;

/// Blurs that are tried, from none to the strongest: standard deviation in pixels, and half of the
/// kernel.
const BLURS: [(f32, &[f32]); 8] = [
    (0.0, &[1.0]),
    (0.4, &[0.919_224, 0.040_388]),
    (0.6, &[0.663_818, 0.165_525, 0.002_566]),
    (0.8, &[0.499_116, 0.228_512, 0.021_93]),
    (1.0, &[0.399_05, 0.242_036, 0.054_006, 0.004_433]),
    (1.25, &[0.319_224, 0.231_804, 0.088_756, 0.017_92, 0.001_908]),
    (1.5, &[0.266_56, 0.213_445, 0.109_586, 0.036_075, 0.007_614]),
    (2.0, &[0.200_565, 0.176_998, 0.121_649, 0.065_114, 0.027_144, 0.008_812]),
];

/// Places to each side that the widest kernel reaches.
const REACH: usize = 5;
/// Blocks that are looked at, at most.
const SAMPLES: usize = 160;
/// A difference beyond this, in levels, is an edit and no blur.
const CAP: f32 = 12.0;
/// What blurring the target costs, for each pixel of it: generators seldom sharpen.
const RELUCTANCE: f32 = 0.12;

/// How both become equally sharp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sharpness {
    source: usize,
    target: usize,
}

impl Sharpness {
    /// Told by blocks that show the same in both.
    pub(super) fn of(source: &Picture, target: &Picture, tint: &Tint) -> Self {
        let squares = squares(source, target, tint);
        let mut best = Self { source: 0, target: 0 };
        if squares.is_empty() {
            return best;
        }
        let mut least = best.misses(&squares);
        for step in [Self { source: 1, target: 0 }, Self { source: 0, target: 1 }] {
            let mut next = step;
            while next.source.max(next.target) < BLURS.len() {
                let found = next.misses(&squares);
                if found >= least {
                    break;
                }
                (best, least) = (next, found);
                next.source += step.source;
                next.target += step.target;
            }
        }
        best
    }

    /// The blur of the target that remains, as a standard deviation in pixels of the grid; 0 where
    /// it is as sharp as the source or sharper.
    pub(super) fn lost(self) -> f32 {
        BLURS.get(self.source).map_or(0.0, |(deviation, _)| *deviation)
    }

    /// Whether all detail that can be lost here is.
    pub(super) fn is_all_lost(self) -> bool {
        self.source + 1 == BLURS.len()
    }

    /// Half of the kernels that make source and target equally sharp; `None` where one is so as it
    /// is.
    pub(super) fn kernels(self) -> [Option<&'static [f32]>; 2] {
        [self.source, self.target].map(|by| BLURS.get(by).filter(|_| by > 0).map(|(_, half)| *half))
    }

    /// How far the squares lie apart then.
    fn misses(self, squares: &[[Plane; 2]]) -> f32 {
        let (Some((_, of_source)), Some((deviation, of_target))) =
            (BLURS.get(self.source), BLURS.get(self.target))
        else {
            return f32::INFINITY;
        };
        let mut sum = 0.0;
        for [source, target] in squares {
            let (source, target) = (source.through(of_source), target.through(of_target));
            for (source, target) in inner(&source).zip(inner(&target)) {
                for (a, b) in source.iter().zip(target) {
                    sum += (a - b).abs().min(CAP);
                }
            }
        }
        sum * (1.0 + RELUCTANCE * deviation)
    }
}

/// What no kernel reaches the border from.
fn inner(plane: &Plane) -> impl Iterator<Item = &[f32]> {
    let (height, width) = (plane.height.saturating_sub(2 * REACH), plane.width);
    plane
        .rows()
        .skip(REACH)
        .take(height)
        .map(move |row| row.get(REACH..width.saturating_sub(REACH)).unwrap_or_default())
}

/// Blocks with texture that show the same in both, and what lies around them.
fn squares(source: &Picture, target: &Picture, tint: &Tint) -> Vec<[Plane; 2]> {
    let side = tint.side;
    let places: Vec<(usize, usize)> = tint
        .blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| !block.is_flat && tint.is_same(block))
        .map(|(at, _)| (at % tint.across.max(1) * side, at / tint.across.max(1) * side))
        .collect();
    let step = places.len().div_ceil(SAMPLES).max(1);
    let undoing = tint.undoing();
    let wide = side + 2 * REACH;
    let cut = |(left, top): (usize, usize)| {
        let from = |at: usize, step: usize| {
            isize::try_from(at + step).unwrap_or_default() - REACH.cast_signed()
        };
        let mut both = [Plane::new(wide, wide), Plane::new(wide, wide)];
        let [of_source, of_target] = &mut both;
        let places = (0..wide).flat_map(|y| (0..wide).map(move |x| (x, y)));
        let to = of_source.data.iter_mut().zip(&mut of_target.data);
        for ((to_source, to_target), (x, y)) in to.zip(places) {
            let (x, y) = (from(left, x), from(top, y));
            let source = source.at(x, y);
            let (target, _) = undoing.pixel(source, target.at(x, y));
            *to_source = brightness(source.map(f32::from));
            *to_target = brightness(target);
        }
        both
    };
    places.into_iter().step_by(step).map(cut).collect()
}

fn brightness([red, green, blue]: [f32; 3]) -> f32 {
    0.299 * red + 0.587 * green + 0.114 * blue
}
