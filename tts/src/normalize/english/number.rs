//! Numbers in words.
