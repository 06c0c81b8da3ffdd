//! See `llm::fuzzing::gguf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    llm::fuzzing::gguf(bytes);
});
