//! The target `convert`, for libFuzzer.
#![cfg_attr(any(fuzzing, feature = "libfuzzer"), no_main)]
fuzz::target!("convert");
