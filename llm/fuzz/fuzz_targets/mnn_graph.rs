//! See `llm::fuzzing::mnn_graph`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    llm::fuzzing::mnn_graph(bytes);
});
