//! Writing.
mod names;
mod unit_row;
