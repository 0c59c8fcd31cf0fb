//! The target `imgedit_recap`, for libFuzzer.
#![cfg_attr(any(fuzzing, feature = "libfuzzer"), no_main)]
fuzz::target!("imgedit_recap");
