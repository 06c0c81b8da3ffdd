//! How surprised a model is by a text: logits after every token, in one call.
//!
//! `cargo run --release -p pocket-voice-llm --example perplexity -- MODEL TEXT_FILE`

use llm::{Model, Session, SessionConfig};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, text] = &args[..] else { return Err("usage: perplexity MODEL TEXT_FILE".into()) };
    let model = Model::open(Path::new(path))?;
    let mut tokens = model.tokenizer().encode(&std::fs::read_to_string(text)?)?;
    // The logits of a thousand tokens of a large vocabulary are some hundred megabytes.
    tokens.truncate(1024.min(model.config().context));
    if tokens.len() < 2 {
        return Err("the text has fewer than two tokens".into());
    }

    let vocab = model.config().vocab;
    let given = &tokens[..tokens.len() - 1];
    let mut logits = vec![0.0; given.len() * vocab]; // [tokens, vocab]
    let config = SessionConfig { context: tokens.len(), ..SessionConfig::default() };
    let mut session = Session::new(model.clone(), config)?;
    session.append_with_logits(given, &mut logits, &AtomicBool::new(false))?;

    // Negative log-likelihood of each token under the logits before it.
    let surprise = |(logits, &next): (&[f32], &u32)| {
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|&x| f64::from(x - max).exp()).sum();
        sum.ln() - f64::from(logits[next as usize] - max)
    };
    let total: f64 = logits.chunks_exact(vocab).zip(&tokens[1..]).map(surprise).sum();
    println!("perplexity {:.4} over {} tokens", (total / given.len() as f64).exp(), given.len());
    Ok(())
}
