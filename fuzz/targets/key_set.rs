#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| perennial_fuzz::key_set(data));
