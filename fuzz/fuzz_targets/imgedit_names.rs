//! The target `imgedit_names`, for libFuzzer.
#![cfg_attr(any(fuzzing, feature = "libfuzzer"), no_main)]
fuzz::target!("imgedit_names");
