//! Speech synthesis: a stream of text in, chunks of audio out.
