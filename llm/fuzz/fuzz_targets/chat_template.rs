//! See `llm::fuzzing::chat_template`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    llm::fuzzing::chat_template(bytes);
});
