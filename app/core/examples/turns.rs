//! Measures whole turns over a folder of labelled questions.
//!
//! `cargo run --release -p pocket-voice-core --example turns -- assets/audio/questions`

use pocket_voice::bench::{TurnsConfig, turns};
use pocket_voice::simulation::read_clips;
use pocket_voice::{Config, Models, report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: turns FOLDER")?;
    let clips = read_clips(folder.as_ref())?;
    let mut config = Config { max_tokens: 24, ..Config::default() };
    config.hearing.echo_cancelling = std::env::var_os("AEC").is_some();
    let models = Models::load(&config, &assets::Store::open()?)?;
    let report = turns(&config, models, &clips, &TurnsConfig::default(), |p| eprintln!("{}/{}", p.done, p.of))?;
    for turn in &report.turns {
        println!("{} -> {}\n{}", turn.user, turn.assistant, report::waterfall(turn));
    }
    print!("{}", report::table(&report));
    Ok(())
}
