//! See `llm::fuzzing::mtok`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    llm::fuzzing::mtok(bytes);
});
