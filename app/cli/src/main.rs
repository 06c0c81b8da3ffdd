//! The `pocket-voice` command.

fn main() {}
