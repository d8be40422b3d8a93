#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gateway_fuzz::check("workflow", data));
