//! See `llm::fuzzing::tokenizer_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    llm::fuzzing::tokenizer_json(bytes);
});
