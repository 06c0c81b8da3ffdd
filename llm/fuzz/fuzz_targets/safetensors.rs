//! See `llm::fuzzing::safetensors`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    llm::fuzzing::safetensors(bytes);
});
