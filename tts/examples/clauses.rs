//! Shows how a text is cut and read: one clause a line.
//!
//! `cargo run --release -p pocket-voice-tts --example clauses < text`

use std::io::{self, BufRead};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut stream = tts::ClauseStream::default();
        let mut clauses = stream.push(&line.replace("\\n", "\n"));
        clauses.extend(stream.finish());
        let spoken: Vec<&str> = clauses.iter().map(|clause| clause.spoken.as_str()).collect();
        println!("{line}\t{}", spoken.join(" "));
    }
    Ok(())
}
