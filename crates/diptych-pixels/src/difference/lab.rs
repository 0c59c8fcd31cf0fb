//! Colours as they are seen: CIELAB under D65, from sRGB.
//!
//! A square root of squared differences in it is about what people see between two colours; one
//! is about the least that they see. Differences of hue and saturation count less between strong
//! colours, as in the difference of 1994.

use std::sync::OnceLock;

use super::plane::Plane;
use crate::decode::srgb_to_linear;

/// Steps of a sample of sRGB that light is known for; samples after blurring lie between.
const LIGHTS: usize = 255 * 8 + 1;
/// Steps of light that the root is known for.
const ROOTS: usize = 4096;

/// From linear sRGB to XYZ, each row through its white.
const ROWS: [[f32; 3]; 3] =
    [[0.433_91, 0.376_23, 0.189_86], [0.212_6, 0.715_2, 0.072_2], [0.017_72, 0.109_46, 0.872_82]];

/// Lightness and how two pictures differ in it, and in what is no lightness.
pub(super) struct Differences {
    pub(super) lightness: [Plane; 2],
    /// Squares of differences of lightness.
    pub(super) light: Plane,
    /// Squares of differences of hue and saturation.
    pub(super) chroma: Plane,
}

impl Differences {
    /// Between two pictures on a grid of this width and height. `row` gives a row of each, as red,
    /// green and blue from 0 to 255.
    pub(super) fn between(
        width: usize,
        height: usize,
        mut row: impl FnMut(usize, &mut [[f32; 3]], &mut [[f32; 3]]),
    ) -> Self {
        let plane = || Plane::new(width, height);
        let (mut first, mut second, mut light, mut chroma) = (plane(), plane(), plane(), plane());
        let table = Table::get();
        let to = first.rows_mut().zip(second.rows_mut());
        let to = to.zip(light.rows_mut().zip(chroma.rows_mut()));
        let mut colours = [vec![[0.0; 3]; width], vec![[0.0; 3]; width]];
        for (y, ((first, second), (light, chroma))) in to.enumerate() {
            let [source, target] = &mut colours;
            row(y, source, target);
            for pixel in source.iter_mut().chain(target) {
                *pixel = table.lab(*pixel);
            }
            let [source, target] = &colours;
            for (to, [l, ..]) in first.iter_mut().zip(source) {
                *to = *l;
            }
            for (to, [l, ..]) in second.iter_mut().zip(target) {
                *to = *l;
            }
            let pairs = source.iter().zip(target);
            for ((light, chroma), ([l, a, b], [m, c, d])) in light.iter_mut().zip(chroma).zip(pairs)
            {
                *light = (l - m) * (l - m);
                let less = 1.0 + 0.045 * (a * a + b * b).sqrt();
                *chroma = ((a - c) * (a - c) + (b - d) * (b - d)) / (less * less);
            }
        }
        Self { lightness: [first, second], light, chroma }
    }
}

impl Differences {
    /// On a grid of half the width and height.
    pub(super) fn halved(&self) -> (Plane, Plane) {
        (self.light.halved(), self.chroma.halved())
    }
}

struct Table {
    light: Box<[f32; SIZE]>,
    root: Box<[f32; SIZE]>,
}

/// Entries of a table, a power of two, so that no place is beyond it.
const SIZE: usize = 8192;

impl Table {
    fn get() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let known = srgb_to_linear();
            let mut light = Box::new([1.0; SIZE]);
            for (at, to) in light.iter_mut().enumerate().take(LIGHTS) {
                let known = |at: usize| known.get(at.min(255)).copied().unwrap_or_default();
                let share = (at % 8) as f32 / 8.0;
                *to = known(at / 8) * (1.0 - share) + known(at / 8 + 1) * share;
            }
            let mut roots = Box::new([1.0; SIZE]);
            for (at, to) in roots.iter_mut().enumerate().take(ROOTS) {
                *to = root(at as f64 / ROOTS as f64);
            }
            Self { light, root: roots }
        })
    }

    fn lab(&self, pixel: [f32; 3]) -> [f32; 3] {
        let light = pixel.map(|sample| pick(&self.light, sample * 8.0));
        let [r, g, b] = light;
        let [x, y, z] = ROWS.map(|[of_r, of_g, of_b]| {
            pick(&self.root, (of_r * r + of_g * g + of_b * b) * ROOTS as f32)
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }
}

/// The entry nearest to a place.
fn pick(table: &[f32; SIZE], at: f32) -> f32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "such casts saturate, and places are few"
    )]
    let at = (at + 0.5) as i32 as usize & (SIZE - 1);
    table.get(at).copied().unwrap_or_default()
}

/// The cube root, and the line that takes its place near black.
fn root(of: f64) -> f32 {
    let value = if of > 0.008_856 {
        let mut root = 1.0;
        for _ in 0..40 {
            root -= (root * root * root - of) / (3.0 * root * root);
        }
        root
    } else {
        7.787 * of + 16.0 / 116.0
    };
    #[expect(clippy::cast_possible_truncation, reason = "the precision of samples")]
    let value = value as f32;
    value
}
