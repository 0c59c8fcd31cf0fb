//! PAPE: pairs of a plausible and an anomalous edit.
mod writer;
/// The dataset's name in pairs, and the format's.
const NAME: &str = "pape";
