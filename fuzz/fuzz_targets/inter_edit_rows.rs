//! The target `inter_edit_rows`, for libFuzzer.
#![cfg_attr(any(fuzzing, feature = "libfuzzer"), no_main)]
fuzz::target!("inter_edit_rows");
