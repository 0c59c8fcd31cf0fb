//! Tests of the way between pairs and batches.

mod errors;
mod round_trip;
mod schema;
mod strategy;
