//! Voice activity: 16 kHz samples in, speech probability and speech segments out.
