//! The parameters of a difference, as data: names, units, ranges and what they do.

/// A parameter of [`DifferenceOptions`], as documents and help tell of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name, as [`DifferenceOptions::set`] takes it.
    pub name: &'static str,
    /// What its value counts.
    pub unit: &'static str,
    /// Its value where nothing is said.
    pub default: f64,
    /// The least and the greatest value.
    pub range: (f64, f64),
    /// What it does, and how its default was chosen.
    pub help: &'static str,
}

/// Why a parameter cannot be set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// No parameter has that name.
    #[error("no parameter of a difference is called {name:?}, those are {}", names())]
    Unknown {
        /// The name.
        name: String,
    },
    /// The value is no number.
    #[error("{name} takes a number, not {value:?}")]
    NoNumber {
        /// The parameter.
        name: &'static str,
        /// The value.
        value: String,
    },
    /// The value is out of range.
    #[error("{name} takes {}..={}, not {value}", range.0, range.1)]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// The value.
        value: f64,
        /// The least and the greatest value.
        range: (f64, f64),
    },
}

fn names() -> String {
    DifferenceOptions::PARAMETERS.map(|of| of.name).join(", ")
}

/// Makes the struct, its defaults and the table of one list.
macro_rules! parameters {
    ($($field:ident $name:literal, $unit:literal, $default:literal, $range:expr, $help:literal;)*) => {
        /// How a source and a target are compared. Options are data: `Default` has those that are
        /// good for most pictures, and [`DifferenceOptions::PARAMETERS`] tells of each.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct DifferenceOptions {
            $(#[doc = $help] #[doc = ""] #[doc = concat!("In ", $unit, ".")] pub $field: f64,)*
        }

        impl Default for DifferenceOptions {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl DifferenceOptions {
            /// All parameters.
            pub const PARAMETERS: [Parameter; [$($name),*].len()] = [
                $(Parameter { name: $name, unit: $unit, default: $default, range: $range, help: $help },)*
            ];

            /// The value of a parameter, by its name.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $($name => Some(self.$field),)*
                    _ => None,
                }
            }

            fn place(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $($name => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

parameters! {
    aspect "aspect", "a share", 0.02, (0.0, 0.2),
        "How far the aspects of source and target may lie apart. Beyond it they are no two versions \
         of one picture, or one of them was cropped.";
    side "side", "pixels", 400.0, (64.0, 4096.0),
        "The longest side of the grid that pictures are compared on; larger ones are brought to it \
         by a whole factor. A border is then known to that factor.";
    smoothing "smoothing", "pixels of the grid", 4.0, (0.0, 16.0),
        "How far differences are averaged to each side to find an edit. Wider finds weaker edits \
         and loses smaller ones.";
    noise_floor "noise-floor", "squared differences of colour", 0.03, (0.0001, 100.0),
        "Noise that is there at least: where a target repeats its source to the bit, less than one \
         level of 255.";
    threshold "threshold", "times the noise", 3.0, (1.0, 100.0),
        "The averaged squared difference from which on something is edited, where noise is even.";
    spread "spread", "times the spread of the noise", 3.0, (0.0, 20.0),
        "How many spreads above the middle of the noise the threshold lies at least, where noise is \
         uneven, as blocks of a JPEG make it.";
    strong "strong", "times the noise", 16.0, (1.0, 10000.0),
        "The squared difference of a single pixel from which on it is edited, if most around it are.";
    weak "weak", "times the noise", 2.0, (0.1, 100.0),
        "The squared difference from which on a pixel belongs to an edit that was found around it.";
    relative "relative", "a share", 0.5, (0.0, 1.0),
        "What averaged squared differences have to reach of those around them; half of them puts a \
         border where it is.";
    edge "edge", "a share", 0.1, (0.0, 1.0),
        "What squared differences have to reach of those around them where blur or noise wash out \
         the borders of an edit.";
    closing "closing", "a share of the longest side", 0.012, (0.0, 0.1),
        "The radius that gaps of a mask are closed with.";
    opening "opening", "a share of the longest side", 0.004, (0.0, 0.1),
        "The radius that thin parts of a mask are taken away with.";
    largest_hole "largest-hole", "a share of the picture", 0.02, (0.0, 1.0),
        "The largest hole of a mask that is filled.";
    smallest_area "smallest-area", "a share of the picture", 0.0005, (0.0, 1.0),
        "The smallest part of a mask.";
    smallest_part "smallest-part", "a share of the largest part", 0.1, (0.0, 1.0),
        "The smallest part of a mask beside the largest, both weighed by how far they stand out.";
    tint "tint", "levels of 255", 11.0, (0.0, 255.0),
        "The mean change of all colours from which on it is the edit, and none of the generator's.";
    least_tint "least-tint", "levels of 255", 1.5, (0.0, 255.0),
        "The same, where nothing else changed.";
    misfit "misfit", "levels of 255", 5.5, (0.0, 255.0),
        "How far colours may be scattered around one map of colours before the whole picture counts \
         as changed.";
    unrest "unrest", "squared differences of colour", 8.0, (0.0, 10000.0),
        "The noise of lightness from which on the whole picture counts as changed.";
    broad "broad", "a share of the picture", 0.25, (0.0, 1.0),
        "The share of the picture that has to have changed for tint, misfit, unrest or lost detail to \
         make an edit one of the whole picture.";
    whole "whole", "a share of the picture", 0.985, (0.0, 1.0),
        "The area of a mask from which on the whole picture counts as changed.";
}

impl DifferenceOptions {
    /// Sets a parameter by its name.
    ///
    /// # Errors
    /// See [`ParameterError`]; nothing is set then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParameterError> {
        let parameter = Self::PARAMETERS.iter().find(|of| of.name == name);
        let unknown = || ParameterError::Unknown { name: name.to_owned() };
        let Parameter { name, range, .. } = *parameter.ok_or_else(unknown)?;
        let number: f64 = value
            .parse()
            .map_err(|_| ParameterError::NoNumber { name, value: value.to_owned() })?;
        if !(range.0..=range.1).contains(&number) {
            return Err(ParameterError::OutOfRange { name, value: number, range });
        }
        if let Some(place) = self.place(name) {
            *place = number;
        }
        Ok(())
    }
}
