//! A recorded user asks, the assistant answers into a file: the whole loop in one screen of code.
//!
//! `cargo run --release -p pocket-voice-core --example ask -- IN.wav OUT.wav`

use std::path::PathBuf;

use pocket_voice::audio::FileHost;
use pocket_voice::{Assistant, Config, Event, Models, report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: ask IN.wav OUT.wav".into());
    };
    let config = Config::default();
    let models = Models::load(&config, &assets::Store::open()?)?;
    let host = FileHost::open(&input)?.output(&output);
    let assistant = Assistant::start(&config, models, Box::new(host))?;
    for event in assistant.events() {
        match event {
            Event::AssistantText { text, .. } => print!("{text}"),
            Event::TurnFinished(turn) => print!("\n{}", report::waterfall(&turn)),
            event => println!("{event:?}"),
        }
    }
    print!("{}", report::table(&assistant.join()?));
    Ok(())
}
