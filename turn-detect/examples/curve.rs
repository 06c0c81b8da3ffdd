//! False cut-offs against delay: what the default policy gives, and what a bolder or shyer one would.
//!
//! `cargo run --release -p pocket-voice-turn-detect --example curve`
//!
//! Cut off: share of pauses of 0.2 to 1.5 s in which the policy answers before the speaker goes on. Delay: silence after
//! which it answers an end. The last column is the cut-offs where the words do not already say that more is to come.

#[path = "../tests/pauses/mod.rs"]
mod pauses;

use pauses::{Pause, cut_off, delays, table};
use turn_detect::text::cue;
use turn_detect::{Endpointing, EndpointingConfig, Stage, TextCue};

fn main() -> turn_detect::Result<()> {
    let table = table();
    println!(
        "{} pauses, {} ends\n{:<28} {:>8} {:>8} {:>7} {:>6} {:>6} {:>6} {:>9}",
        table.iter().filter(|p| p.hold).count(),
        table.iter().filter(|p| !p.hold).count(),
        "policy",
        "cut off",
        "of real",
        "at once",
        "P50",
        "mean",
        "P95",
        "sentences"
    );
    let default = EndpointingConfig::default();
    for silence_ms in [300, 600, 900, 1_200, 1_500] {
        let stages = vec![Stage { silence_ms, p_complete: 0.0 }];
        let config = EndpointingConfig { stages, unfinished_malus: 0.0, complete_bonus: 0.0, ..default.clone() };
        row(&format!("silence alone, {silence_ms} ms"), config, &table)?;
    }
    let stages = vec![Stage { silence_ms: 200, p_complete: 0.5 }];
    let audio = EndpointingConfig { stages, unfinished_malus: 0.0, complete_bonus: 0.0, ..default.clone() };
    row("audio alone, 0.5 at 200 ms", audio, &table)?;
    let audio = EndpointingConfig { unfinished_malus: 0.0, complete_bonus: 0.0, ..default.clone() };
    row("audio alone, default stages", audio, &table)?;
    for shift in [-3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 1.5] {
        let name = if shift == 0.0 { "DEFAULT".into() } else { format!("log-odds asked {shift:+}") };
        let mut config = default.clone();
        for stage in &mut config.stages {
            let odds = stage.p_complete / (1.0 - stage.p_complete) * f32::exp(shift);
            stage.p_complete = odds / (1.0 + odds);
        }
        row(&name, config, &table)?;
    }
    Ok(())
}

fn row(name: &str, config: EndpointingConfig, table: &[Pause]) -> turn_detect::Result<()> {
    let policy = Endpointing::new(config)?;
    let holds = || table.iter().filter(|p| p.hold);
    let delays = delays(&policy, table.iter().filter(|p| !p.hold));
    let share = |n: usize| 100.0 * n as f64 / delays.len() as f64;
    let open = |p: &&Pause| matches!(cue(&p.text), TextCue::Unfinished(_));
    println!(
        "{name:<28} {:>7.1}% {:>7.1}% {:>6.0}% {:>6} {:>6} {:>6} {:>8.1}%",
        100.0 * cut_off(&policy, holds()),
        100.0 * cut_off(&policy, holds().filter(|p| p.source == "real")),
        share(delays.iter().filter(|&&ms| ms < 256).count()),
        delays[delays.len() / 2],
        delays.iter().sum::<u32>() / delays.len() as u32,
        delays[delays.len() * 95 / 100],
        100.0 * cut_off(&policy, holds().filter(|p| !open(p))),
    );
    Ok(())
}
