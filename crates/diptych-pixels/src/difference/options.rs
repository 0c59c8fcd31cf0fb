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
    side "side", "pixels", 768.0, (64.0, 4096.0),
        "The longest side of the grid that pictures are compared on; larger ones are brought to \
         it by a whole factor.";
    threshold "threshold", "times the noise", 3.0, (0.5, 100.0),
        "How far a difference must stand out from the noise.";
    closing "closing", "a share of the longest side", 0.012, (0.0, 0.1),
        "The radius that gaps of a mask are closed with.";
    opening "opening", "a share of the longest side", 0.004, (0.0, 0.1),
        "The radius below which thin parts of a mask are taken away.";
    smallest_area "smallest-area", "a share of the picture", 0.0005, (0.0, 1.0),
        "The smallest part of a mask.";
    smallest_part "smallest-part", "a share of the mask", 0.1, (0.0, 1.0),
        "The smallest part of a mask that has larger ones.";
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
