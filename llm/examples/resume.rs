//! A long prompt computed once, saved, and gone on from in a later run without computing it again.
//!
//! `cargo run --release -p pocket-voice-llm --example resume -- MODEL PROMPT STATE_FILE`

use llm::{Message, Model, Sampler, SamplerConfig, Session, SessionConfig, Speculation, TextStream};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, prompt, state] = &args[..] else { return Err("usage: resume MODEL PROMPT STATE_FILE".into()) };
    let model = Model::open(Path::new(path))?;
    let mut session = Session::new(model.clone(), SessionConfig::default())?;
    let cancel = AtomicBool::new(false);
    match std::fs::read(state) {
        Ok(saved) => session.restore(&saved)?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => println!("no saved state yet"),
        Err(e) => return Err(e.into()),
    }

    let prompt = model.chat().render(&[Message::system(prompt), Message::user("Go on.")], true)?;
    let start = Instant::now();
    let prefill = session.advance_to(&prompt, &cancel)?;
    println!(
        "{} tokens from the saved state, {} computed in {:.0?}",
        prefill.reused,
        prefill.computed,
        start.elapsed()
    );
    std::fs::write(state, session.save())?;

    let mut sampler =
        Sampler::new(SamplerConfig { temperature: 0.7, top_p: 0.9, seed: 1, ..SamplerConfig::default() })?;
    let mut text = TextStream::new(&model);
    let mut generator = session.generate(&mut sampler, &cancel).speculate(Speculation::default());
    for token in generator.by_ref().take(64) {
        print!("{}", text.push(token?));
    }
    println!("{}\n{:?}", text.finish(), generator.stats());
    Ok(())
}
