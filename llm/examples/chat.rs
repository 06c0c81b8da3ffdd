//! One question to a model file, the answer streamed, with the time to the first token.
//!
//! `cargo run --release -p pocket-voice-llm --example chat -- MODEL "Name three colours."`

use llm::{Message, Model, Sampler, SamplerConfig, Session, SessionConfig, TextStream};
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(question)) = (args.next(), args.next()) else {
        return Err("usage: chat MODEL QUESTION".into());
    };
    let start = Instant::now();
    let model = Model::open(Path::new(&path))?;
    let mut session = Session::new(model.clone(), SessionConfig::default())?;
    let opened = start.elapsed();

    let prompt = model.chat().render(&[Message::user(question)], true)?;
    let cancel = AtomicBool::new(false);
    session.advance_to(&prompt, &cancel)?;
    let prefilled = start.elapsed();

    let mut sampler = Sampler::new(SamplerConfig::default())?;
    let mut text = TextStream::new(&model);
    let mut tokens = 0;
    for token in session.generate(&mut sampler, &cancel).take(128) {
        print!("{}", text.push(token?));
        std::io::stdout().flush()?;
        tokens += 1;
    }
    println!("{}", text.finish());
    let decode = (start.elapsed() - prefilled).as_secs_f32();
    eprintln!(
        "opened in {opened:.0?}, {} prompt tokens ready at {prefilled:.0?}, then {:.0} tokens/s",
        prompt.len(),
        tokens as f32 / decode
    );
    Ok(())
}
