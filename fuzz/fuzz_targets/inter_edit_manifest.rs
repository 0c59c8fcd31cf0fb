//! The target `inter_edit_manifest`, for libFuzzer.
#![cfg_attr(any(fuzzing, feature = "libfuzzer"), no_main)]
fuzz::target!("inter_edit_manifest");
