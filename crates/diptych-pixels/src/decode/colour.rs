//! ICC profiles: from what a picture's numbers mean to sRGB.
//!
//! A profile of a matrix and curves becomes three tables and a matrix of our own. Conversion by
//! the library that parses it would depend on the processor in the last bit.

use std::sync::OnceLock;

use moxcms::{ColorProfile, DataColorSpace};

use super::{CHANNELS, DecodeError};

/// Steps of light between black and white for which the sample of sRGB is known beforehand.
const STEPS: usize = 4096;

/// What a profile does to samples.
pub(super) enum Conversion {
    /// Nothing: it is that of sRGB, or as good as it.
    None,
    /// Grey is another grey.
    Grey(Box<[u8; 256]>),
    /// Colours through curves and a matrix.
    Matrix(Box<Matrix>),
}

pub(super) struct Matrix {
    /// Light of each sample, for red, green and blue.
    curves: [Box<[f32; 256]>; CHANNELS],
    /// From light of the profile to light of sRGB, a row for each channel of sRGB.
    rows: [[f32; CHANNELS]; CHANNELS],
}

impl Conversion {
    /// What a profile says of a picture that is stored in colours, or in grey.
    pub(super) fn of(icc: Option<&[u8]>, is_grey: bool) -> Result<Self, DecodeError> {
        let Some(icc) = icc.filter(|icc| !icc.is_empty()) else {
            return Ok(Self::None);
        };
        // What is no profile says nothing: so do the others read it.
        let Ok(profile) = ColorProfile::new_from_slice(icc) else {
            return Ok(Self::None);
        };
        match (profile.color_space, is_grey) {
            (DataColorSpace::Gray, true) => Self::grey(&profile),
            (DataColorSpace::Rgb, _) => Self::matrix(&profile),
            // A profile of another kind of picture is a mistake, and says nothing of this one.
            (DataColorSpace::Gray, false) | (_, true) => Ok(Self::None),
            _ => Err(DecodeError::UnsupportedColour { what: "a profile that is not of RGB" }),
        }
    }

    fn grey(profile: &ColorProfile) -> Result<Self, DecodeError> {
        let curve = profile.build_gray_linearize_table::<u8, 256, 8>();
        let curve = curve.map_err(|_| without_curves())?;
        let mut table = Box::new([0; 256]);
        for (sample, light) in table.iter_mut().zip(curve.iter()) {
            *sample = srgb_of(*light);
        }
        Ok(if is_near(&table) { Self::None } else { Self::Grey(table) })
    }

    fn matrix(profile: &ColorProfile) -> Result<Self, DecodeError> {
        let has_matrix = profile.red_trc.is_some()
            && profile.green_trc.is_some()
            && profile.blue_trc.is_some()
            && profile.rgb_to_xyz_matrix().v.iter().flatten().any(|value| *value != 0.0);
        if !has_matrix {
            return Err(without_curves());
        }
        let table = |curve: Result<Box<[f32; 256]>, _>| curve.map_err(|_| without_curves());
        let curves = [
            table(profile.build_r_linearize_table::<u8, 256, 8>(false))?,
            table(profile.build_g_linearize_table::<u8, 256, 8>(false))?,
            table(profile.build_b_linearize_table::<u8, 256, 8>(false))?,
        ];
        let rows = profile.transform_matrix(&ColorProfile::new_srgb()).v;
        let rows = rows.map(|row| row.map(narrow));
        let matrix = Matrix { curves, rows };
        Ok(if matrix.is_srgb() { Self::None } else { Self::Matrix(Box::new(matrix)) })
    }

    /// Converts samples of pixels, three each; of grey pictures all three are one.
    pub(super) fn apply(&self, samples: &mut [u8]) {
        match self {
            Self::None => {}
            Self::Grey(table) => {
                for sample in samples {
                    *sample = table.get(usize::from(*sample)).copied().unwrap_or(*sample);
                }
            }
            Self::Matrix(matrix) => {
                // Pixels beside each other are often one colour.
                let mut last = ([0; CHANNELS], matrix.convert([0; CHANNELS]));
                for pixel in samples.as_chunks_mut::<CHANNELS>().0 {
                    if *pixel != last.0 {
                        last = (*pixel, matrix.convert(*pixel));
                    }
                    *pixel = last.1;
                }
            }
        }
    }
}

fn without_curves() -> DecodeError {
    DecodeError::UnsupportedColour { what: "a profile without a matrix and curves" }
}

#[expect(clippy::cast_possible_truncation, reason = "the precision that pictures need")]
fn narrow(value: f64) -> f32 {
    value as f32
}

impl Matrix {
    fn convert(&self, pixel: [u8; CHANNELS]) -> [u8; CHANNELS] {
        let [r, g, b] = &self.curves;
        let light = |curve: &[f32; 256], at: u8| curve.get(usize::from(at)).copied();
        let [red, green, blue] = [(r, pixel[0]), (g, pixel[1]), (b, pixel[2])]
            .map(|(curve, at)| light(curve, at).unwrap_or_default());
        self.rows.map(|[of_red, of_green, of_blue]| {
            srgb_of(red * of_red + green * of_green + blue * of_blue)
        })
    }

    /// Whether no colour moves by more than rounding does. Grey, pure and mixed colours tell.
    fn is_srgb(&self) -> bool {
        let levels = [0, 16, 64, 128, 192, 255];
        levels.iter().all(|r| {
            levels.iter().all(|g| {
                levels.iter().all(|b| {
                    let pixel = [*r, *g, *b];
                    let near = |(a, b): (&u8, &u8)| a.abs_diff(*b) <= 1;
                    self.convert(pixel).iter().zip(&pixel).all(near)
                })
            })
        })
    }
}

/// Whether a table gives nearly what it is given.
fn is_near(table: &[u8; 256]) -> bool {
    table.iter().zip(0..=u8::MAX).all(|(to, from)| to.abs_diff(from) <= 1)
}

/// Light, from 0 to 1, of each sample of sRGB.
pub(crate) fn srgb_to_linear() -> &'static [f32; 256] {
    static LIGHT: OnceLock<Box<[f32; 256]>> = OnceLock::new();
    LIGHT.get_or_init(|| {
        let mut light = Box::new([0.0; 256]);
        for (light, sample) in light.iter_mut().zip(0_u8..=255) {
            *light = narrow(light_of(f64::from(sample) / 255.0));
        }
        light
    })
}

/// Light of a sample of sRGB between 0 and 1. Functions of the platform differ in the last bit, so
/// the power is taken with roots and products: 2.4 is twelve fifths.
fn light_of(sample: f64) -> f64 {
    if sample <= 0.040_45 {
        return sample / 12.92;
    }
    let base = (sample + 0.055) / 1.055;
    let root = fifth_root(base);
    let square = root * root;
    base * base * square
}

/// The fifth root of a number between 0.05 and 1, by Newton's steps.
fn fifth_root(of: f64) -> f64 {
    let mut root = 1.0;
    for _ in 0..24 {
        let fourth = root * root * root * root;
        root -= (fourth * root - of) / (5.0 * fourth);
    }
    root
}

/// The sample of sRGB that is nearest to some light.
fn srgb_of(light: f32) -> u8 {
    static SAMPLES: OnceLock<Box<[u8; STEPS + 1]>> = OnceLock::new();
    let samples = SAMPLES.get_or_init(|| {
        // Light in the middle between two samples divides them.
        let light = |sample: u32| light_of(f64::from(sample) / 255.0);
        let mut samples = Box::new([0; STEPS + 1]);
        let mut sample = 0_u8;
        for (at, place) in (0_u32..).zip(samples.iter_mut()) {
            let here = f64::from(at) / (STEPS as f64);
            while sample < u8::MAX
                && (light(sample.into()) + light(u32::from(sample) + 1)) / 2.0 < here
            {
                sample += 1;
            }
            *place = sample;
        }
        samples
    });
    let scaled = light.clamp(0.0, 1.0) * STEPS as f32 + 0.5;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of steps"
    )]
    let at = scaled as usize;
    samples.get(at).copied().unwrap_or(u8::MAX)
}
