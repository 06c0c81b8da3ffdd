//! What the default policy makes of the measured pauses and ends: a change of words or weights that costs shows here.

mod pauses;

use pauses::{cut_off, delays, table};
use turn_detect::text::cue;
use turn_detect::{Endpointing, EndpointingConfig, Stage, TextCue};

#[test]
fn the_default_beats_silence_alone_and_answers_most_ends_at_once() {
    let table = table();
    let (holds, ends) = (|| table.iter().filter(|p| p.hold), || table.iter().filter(|p| !p.hold));
    assert!(holds().count() >= 200 && ends().count() >= 100);
    let policy = Endpointing::default();
    let cut = cut_off(&policy, holds());
    let delays = delays(&policy, ends());
    let at_once = delays.iter().filter(|&&ms| ms < 256).count() as f64 / delays.len() as f64;
    let mean = delays.iter().sum::<u32>() / delays.len() as u32;
    println!("{:.1}% cut off, {:.0}% of the ends at once, {mean} ms on average", 100.0 * cut, 100.0 * at_once);
    assert!(cut <= 0.24, "{cut}");
    assert!(at_once >= 0.72, "{at_once}");
    let real = cut_off(&policy, holds().filter(|p| p.source == "real"));
    assert!(real <= 0.21, "{real}");
    // Silence alone that waits as long on average cuts off far more.
    let silence_alone = Endpointing::new(EndpointingConfig {
        stages: vec![Stage { silence_ms: mean, p_complete: 0.0 }],
        unfinished_malus: 0.0,
        ..EndpointingConfig::default()
    });
    let alone = cut_off(&silence_alone.expect("valid"), holds());
    assert!(alone > 2.5 * cut, "{alone} against {cut}");
}

#[test]
fn unfinished_words_are_waited_for() {
    let table = table();
    let unfinished = || table.iter().filter(|p| matches!(cue(&p.text), TextCue::Unfinished(_)));
    let holds = unfinished().filter(|p| p.hold);
    assert!(holds.clone().count() >= 140);
    assert!(cut_off(&Endpointing::default(), holds) == 0.0);
    // And few turns that are over read so.
    assert!(unfinished().filter(|p| !p.hold).count() <= 5);
}
