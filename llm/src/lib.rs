//! The language model engine: model files, forward pass, KV cache, sampling.
