//! What the KV cache holds after advancing, rolling back, cancelling, failing, saving and speculating.

use super::*;
use crate::model::{Engine, OpenOptions};
use crate::sampler::SamplerConfig;
use crate::speculate::Speculation;
use std::path::Path;

fn model(kind: &str) -> Arc<Model> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/gguf-tiny/qwen3-tiny-{kind}.gguf"));
    Model::open_with(&path, &OpenOptions { engine: Engine::Reference }).unwrap()
}

fn session(context: usize) -> Session {
    Session::new(model("Q4_1"), SessionConfig { context, threads: 1 }).unwrap()
}

fn go() -> AtomicBool {
    AtomicBool::new(false)
}

const PROMPT: [TokenId; 8] = [526, 78, 463, 340, 11, 220, 493, 331];

/// Logits after `tokens`, computed from nothing.
fn fresh_logits(tokens: &[TokenId]) -> Vec<f32> {
    let mut session = session(64);
    session.advance_to(tokens, &go()).unwrap();
    session.logits().to_vec()
}

#[track_caller]
fn same(a: &[f32], b: &[f32]) {
    let largest = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(a.len() == b.len() && largest < 1e-4, "{} and {} logits, {largest} apart", a.len(), b.len());
}

#[test]
fn the_longest_common_prefix_is_never_computed_twice() {
    let mut session = session(64);
    let changed = [526, 78, 463, 9, 9];
    let steps: [(&[TokenId], usize, usize); 6] = [
        (&PROMPT[..5], 0, 5),
        (&PROMPT, 5, 3),
        (&PROMPT, 8, 0),
        (&changed, 3, 2),
        (&changed[..4], 3, 1), // a rollback to a position whose logits are gone: one token again
        (&PROMPT, 3, 5),
    ];
    for (target, reused, computed) in steps {
        assert_eq!(session.advance_to(target, &go()).unwrap(), Prefill { reused, computed }, "{target:?}");
        assert_eq!(session.tokens(), target);
        same(session.logits(), &fresh_logits(target));
    }
}

#[test]
fn a_rollback_forgets_and_its_logits_are_unknown() {
    let mut session = session(64);
    session.advance_to(&PROMPT, &go()).unwrap();
    session.truncate(100);
    assert_eq!(session.logits().len(), 608);
    session.truncate(4);
    assert_eq!((session.tokens(), session.logits().len()), (&PROMPT[..4], 0));
    session.append(&PROMPT[4..], &go()).unwrap();
    same(session.logits(), &fresh_logits(&PROMPT));
    session.truncate(0);
    let nothing = session.generate(&mut Sampler::new(SamplerConfig::default()).unwrap(), &go()).next();
    assert!(matches!(nothing, Some(Err(Error::Setting { .. }))));
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let mut session = session(8);
    session.advance_to(&PROMPT[..6], &go()).unwrap();
    let full = session.append(&PROMPT[..3], &go());
    assert!(matches!(full, Err(Error::ContextFull { needed: 9, context: 8 })), "{full:?}");
    let unknown = session.advance_to(&[1, 608], &go());
    assert!(matches!(unknown, Err(Error::UnknownToken { token: 608, vocab: 608 })), "{unknown:?}");
    assert_eq!(session.tokens(), &PROMPT[..6]);
    // Generation stops with the same error when it runs into the end: after the sixth, two fit, one more is sampled.
    let mut sampler = Sampler::new(SamplerConfig::default()).unwrap();
    let cancel = go();
    let steps: Vec<_> = session.generate(&mut sampler, &cancel).collect();
    assert_eq!(steps.len(), 4);
    assert!(matches!(steps[3], Err(Error::ContextFull { needed: 9, .. })), "{steps:?}");
}

#[test]
fn settings_that_can_not_work_are_refused() {
    let model = model("Q4_1");
    for (context, threads) in [(0, 1), (2049, 1), (64, 0), (64, 1000)] {
        let session = Session::new(model.clone(), SessionConfig { context, threads });
        assert!(matches!(session.map(|_| ()), Err(Error::Setting { .. })), "{context} {threads}");
    }
    let mut session = session(64);
    assert!(session.set_threads(0).is_err() && session.set_threads(2).is_ok());
    assert!(session.set_taps(&[2]).is_err() && session.set_taps(&[0, 1]).is_ok());
}

#[test]
fn a_cancel_ends_within_a_token() {
    let mut session = session(64);
    let cancel = AtomicBool::new(true);
    assert!(matches!(session.advance_to(&PROMPT, &cancel), Err(Error::Cancelled)));
    assert!(session.tokens().is_empty());
    cancel.store(false, Ordering::Relaxed);
    session.advance_to(&PROMPT, &cancel).unwrap();
    let mut sampler = Sampler::new(SamplerConfig::default()).unwrap();
    let mut generator = session.generate(&mut sampler, &cancel);
    assert!(generator.next().unwrap().is_ok());
    cancel.store(true, Ordering::Relaxed);
    assert!(matches!(generator.next(), Some(Err(Error::Cancelled))));
    assert!(generator.next().is_none());
}

#[test]
fn taps_show_the_residual_stream() {
    let mut session = session(64);
    session.set_taps(&[1, 0]).unwrap();
    session.advance_to(&PROMPT, &go()).unwrap();
    assert_eq!((session.tap(0).len(), session.tap(1).len()), (8 * 128, 8 * 128));
    assert_ne!(session.tap(0), session.tap(1));
    session.append(&[1], &go()).unwrap();
    assert_eq!(session.tap(0).len(), 128);
}

#[test]
fn a_saved_session_goes_on_where_it_was() {
    let mut session = session(64);
    session.advance_to(&PROMPT, &go()).unwrap();
    let saved = session.save();
    let mut restored = Session::new(session.model().clone(), SessionConfig { context: 32, threads: 1 }).unwrap();
    restored.restore(&saved).unwrap();
    assert_eq!(restored.tokens(), PROMPT);
    assert_eq!(restored.advance_to(&PROMPT, &go()).unwrap(), Prefill { reused: 7, computed: 1 });
    same(restored.logits(), session.logits());

    let mut small = Session::new(session.model().clone(), SessionConfig { context: 4, threads: 1 }).unwrap();
    assert!(matches!(small.restore(&saved), Err(Error::ContextFull { .. })));
    let mut other = Session::new(model("Q8_0"), SessionConfig { context: 32, threads: 1 }).unwrap();
    assert!(other.restore(&saved).unwrap_err().to_string().contains("another model"));
    for len in [0, 10, 30, saved.len() - 1] {
        assert!(matches!(restored.restore(&saved[..len]), Err(Error::State(_))), "{len} bytes");
    }
    let mut flipped = saved.clone();
    flipped[200] ^= 1;
    assert!(restored.restore(&flipped).unwrap_err().to_string().contains("checksum"));
}

#[test]
fn speculation_changes_no_token() {
    // Text that repeats itself, so that there is something to look up.
    let prompt: Vec<TokenId> = PROMPT.iter().cycle().take(40).copied().collect();
    let configs = [
        SamplerConfig::default(),
        SamplerConfig { temperature: 0.7, seed: 5, ..SamplerConfig::default() },
        SamplerConfig {
            temperature: 1.5,
            top_k: 50,
            top_p: 0.9,
            repetition_penalty: 1.1,
            seed: 6,
            ..SamplerConfig::default()
        },
    ];
    for config in configs {
        let run = |speculation: Speculation| {
            let mut session = session(128);
            let (mut sampler, cancel) = (Sampler::new(config.clone()).unwrap(), go());
            session.advance_to(&prompt, &cancel).unwrap();
            let mut generator = session.generate(&mut sampler, &cancel).speculate(speculation);
            let tokens: Vec<_> = generator.by_ref().take(40).map(Result::unwrap).collect();
            (tokens, generator.stats())
        };
        let eager = Speculation { position_cost: 0.0, min_match: 1, ..Speculation::default() };
        let ((plain, none), (guessed, stats)) = (run(Speculation::off()), run(eager));
        assert_eq!(plain, guessed, "{config:?}");
        assert_eq!((none.drafted, none.accepted), (0, 0));
        assert!(stats.drafted > 0, "{stats:?}");
    }
}

#[test]
fn a_dropped_generator_leaves_only_tokens_that_were_seen() {
    let prompt: Vec<TokenId> = PROMPT.iter().cycle().take(40).copied().collect();
    let eager = Speculation { position_cost: 0.0, min_match: 1, ..Speculation::default() };
    for taken in 1..12 {
        let mut session = session(128);
        let (mut sampler, cancel) = (Sampler::new(SamplerConfig::default()).unwrap(), go());
        session.advance_to(&prompt, &cancel).unwrap();
        let tokens: Vec<_> =
            session.generate(&mut sampler, &cancel).speculate(eager.clone()).take(taken).map(Result::unwrap).collect();
        let all = [&prompt[..], &tokens].concat();
        assert!(all.starts_with(session.tokens()), "{taken}");
        assert!(session.tokens().len() + 1 >= all.len(), "{taken}");
    }
}
