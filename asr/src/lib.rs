//! Speech recognition: 16 kHz samples in, partial and final transcripts out.
