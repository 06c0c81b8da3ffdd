//! What each setting leaves of a small distribution.

use super::*;

fn sampler(config: SamplerConfig) -> Sampler {
    Sampler::new(config).unwrap()
}

/// Probabilities 0.5, 0.25, 0.125, 0.125 of tokens 2, 0, 1, 3.
fn logits() -> [f32; 4] {
    [0.25f32, 0.125, 0.5, 0.125].map(f32::ln)
}

#[track_caller]
fn check(config: SamplerConfig, expected: &[(f32, TokenId)]) {
    let mut sampler = sampler(SamplerConfig {
        temperature: if config.temperature == 0.0 { 1.0 } else { config.temperature },
        ..config
    });
    let got = sampler.distribution(&logits()).unwrap();
    let close =
        got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| a.1 == b.1 && (a.0 - b.0).abs() < 1e-5);
    assert!(close, "{got:?}, expected {expected:?}");
}

#[test]
fn filters_keep_what_they_say() {
    let default = SamplerConfig::default;
    check(default(), &[(0.5, 2), (0.25, 0), (0.125, 1), (0.125, 3)]);
    check(SamplerConfig { top_k: 2, ..default() }, &[(2.0 / 3.0, 2), (1.0 / 3.0, 0)]);
    check(SamplerConfig { top_k: 9, ..default() }, &[(0.5, 2), (0.25, 0), (0.125, 1), (0.125, 3)]);
    check(SamplerConfig { top_p: 0.5, ..default() }, &[(1.0, 2)]);
    check(SamplerConfig { top_p: 0.51, ..default() }, &[(2.0 / 3.0, 2), (1.0 / 3.0, 0)]);
    check(SamplerConfig { min_p: 0.4, ..default() }, &[(2.0 / 3.0, 2), (1.0 / 3.0, 0)]);
    // Temperature 0.5 squares the odds: 16 : 4 : 1 : 1.
    let odds = [(16.0 / 22.0, 2), (4.0 / 22.0, 0), (1.0 / 22.0, 1), (1.0 / 22.0, 3)];
    check(SamplerConfig { temperature: 0.5, ..default() }, &odds);
}

#[test]
fn a_repeated_token_is_penalised_once() {
    let config = SamplerConfig { temperature: 1.0, repetition_penalty: 2.0, ..SamplerConfig::default() };
    let mut sampler = sampler(config);
    sampler.accept(2);
    sampler.accept(2);
    // The logits are negative, so the penalty doubles ln 0.5 to ln 0.25; the rest stays: 2 : 2 : 1 : 1 of 6 eighths.
    let expected = [(1.0 / 3.0, 0), (1.0 / 3.0, 2), (1.0 / 6.0, 1), (1.0 / 6.0, 3)];
    let got = sampler.distribution(&logits()).unwrap();
    assert!(got.iter().zip(&expected).all(|(a, b)| a.1 == b.1 && (a.0 - b.0).abs() < 1e-5), "{got:?}");
}

#[test]
fn old_tokens_leave_the_window() {
    let config = SamplerConfig { repetition_penalty: 100.0, repetition_window: 2, ..SamplerConfig::default() };
    let mut sampler = sampler(config);
    let logits = [3.0, 2.0, 1.0];
    let tokens: Vec<_> = (0..6).map(|_| sampler.sample(&logits).unwrap()).collect();
    assert_eq!(tokens, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn draws_follow_the_probabilities_and_the_seed() {
    let draw = |seed| {
        let mut sampler = sampler(SamplerConfig { temperature: 1.0, seed, ..SamplerConfig::default() });
        (0..10_000).map(|_| sampler.sample(&logits()).unwrap()).collect::<Vec<_>>()
    };
    let tokens = draw(7);
    assert_eq!(tokens, draw(7));
    assert_ne!(tokens, draw(8));
    for (token, p) in [(2, 0.5), (0, 0.25), (1, 0.125), (3, 0.125)] {
        let share = tokens.iter().filter(|&&t| t == token).count() as f32 / tokens.len() as f32;
        // Five standard deviations of 10,000 draws.
        assert!((share - p).abs() < 0.025, "token {token}: {share}, expected {p}");
    }
}

#[test]
fn greedy_takes_the_first_of_equals() {
    let mut sampler = sampler(SamplerConfig::default());
    assert_eq!(sampler.sample(&[1.0, 3.0, 3.0, f32::NEG_INFINITY]).unwrap(), 1);
}

#[test]
fn logits_that_are_no_numbers_are_refused() {
    let bad: [&[f32]; 5] = [&[0.0, f32::NAN], &[f32::NAN, 0.0], &[f32::INFINITY, 0.0], &[f32::NEG_INFINITY; 3], &[]];
    for temperature in [0.0, 0.8] {
        let mut sampler = sampler(SamplerConfig { temperature, ..SamplerConfig::default() });
        for logits in bad {
            assert!(matches!(sampler.sample(logits), Err(Error::NotFinite { .. })), "{logits:?}");
        }
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let default = SamplerConfig::default;
    let bad = [
        SamplerConfig { temperature: -1.0, ..default() },
        SamplerConfig { temperature: f32::NAN, ..default() },
        SamplerConfig { top_p: 0.0, ..default() },
        SamplerConfig { top_p: 1.5, ..default() },
        SamplerConfig { min_p: -0.1, ..default() },
        SamplerConfig { repetition_penalty: 0.0, ..default() },
        SamplerConfig { repetition_penalty: f32::INFINITY, ..default() },
    ];
    for config in bad {
        assert!(matches!(Sampler::new(config.clone()), Err(Error::Setting { .. })), "{config:?}");
    }
}
