#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| streamfmt_fuzz::native(data));
