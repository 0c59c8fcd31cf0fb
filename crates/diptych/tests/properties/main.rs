//! What holds of any small release, whole or damaged, on the whole way through every reader and
//! writer.
//!
//! A run tries few cases; `PROPTEST_CASES=2000 cargo test -p diptych --test properties` tries more.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod choosing;
mod damage;
mod drawn;
#[allow(dead_code, reason = "what the example needs of it and this does not")]
#[path = "../../examples/mixed_set/pictures.rs"]
mod pictures;
#[path = "../support/mod.rs"]
mod support;
mod whole;

use proptest::test_runner::Config;

/// So many cases, or as many as the environment says. A case that fails is to become a test of its
/// own, and is not noted anywhere else.
fn cases(few: u32) -> Config {
    let said = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    Config { cases: said.unwrap_or(few), failure_persistence: None, ..Config::default() }
}
