//! The playback core, sample by sample.

use std::sync::atomic::AtomicBool;

use super::super::alloc_guard;
use super::super::speaker::Queued;
use super::*;

const RATE: u32 = 16_000;
static GO: AtomicBool = AtomicBool::new(false);

struct Bench {
    speaker: Speaker,
    player: Player,
    account: Account,
    rendered: u64,
}

impl Bench {
    fn new() -> Self {
        let (speaker, player, account) = Player::new(RATE);
        Self { speaker, player, account, rendered: 0 }
    }

    fn play(&mut self, turn: u64, samples: &[f32]) {
        assert_eq!(self.speaker.play(turn, samples, &GO), Queued::Yes);
    }

    fn finish(&mut self, turn: u64) {
        assert_eq!(self.speaker.finish(turn, &GO), Queued::Yes);
    }

    fn render(&mut self, len: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; len];
        self.player.render(&mut out, self.rendered * 62_500);
        self.rendered += len as u64;
        out
    }

    /// Everything reported since, without progress, times in samples.
    fn reports(&mut self) -> Vec<String> {
        let at = |ns: u64| ns.div_ceil(62_500);
        std::iter::from_fn(|| self.account.reports.pop().ok())
            .filter_map(|report| {
                Some(match report {
                    Report::Started { turn, at_ns } => format!("started {turn} at {}", at(at_ns)),
                    Report::FirstAudio { turn, at_ns } => {
                        format!("audible {turn} at {}", at(at_ns))
                    }
                    Report::Progress { .. } => return None,
                    Report::GainReached { turn, gain, at_ns } => {
                        format!("gain {turn} {gain:.2} at {}", at(at_ns))
                    }
                    Report::Paused { turn, played, at_ns } => format!("paused {turn} after {played} at {}", at(at_ns)),
                    Report::Resumed { turn, played, at_ns } => {
                        format!("resumed {turn} after {played} at {}", at(at_ns))
                    }
                    Report::Cancelled { turn, played, at_ns } => {
                        format!("cancelled {turn} after {played} at {}", at(at_ns))
                    }
                    Report::Drained { turn, played, at_ns } => {
                        format!("drained {turn} after {played} at {}", at(at_ns))
                    }
                    Report::Underrun { turn, played, at_ns, len_ns } => {
                        format!("underrun {turn} after {played} at {} for {}", at(at_ns), at(len_ns))
                    }
                })
            })
            .collect()
    }
}

/// Largest difference between neighbours.
fn largest_step(samples: &[f32]) -> f32 {
    samples.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max)
}

fn ramp(from: usize, len: usize) -> Vec<f32> {
    (from..from + len).map(|i| i as f32 / 100_000.0).collect()
}

#[test]
fn chunks_of_any_size_join_without_a_gap() {
    for (chunk, block) in [(2, 480), (7, 64), (160, 160), (1000, 441), (5000, 10)] {
        let mut bench = Bench::new();
        let samples = ramp(1, 5000);
        for chunk in samples.chunks(chunk) {
            bench.play(1, chunk);
        }
        bench.finish(1);
        let mut out = Vec::new();
        while out.len() < 5100 {
            out.extend(bench.render(block));
        }
        assert_eq!(out[..5000], samples, "chunks of {chunk}, blocks of {block}");
        assert!(out[5000..].iter().all(|s| *s == 0.0));
        // 316 / 100,000 is the first sample of the ramp at -50 dB.
        assert_eq!(bench.reports(), ["started 1 at 0", "audible 1 at 316", "drained 1 after 5000 at 5000"]);
        assert_eq!(bench.speaker.control().position(), (1, 5000));
    }
}

#[test]
fn turns_follow_each_other_within_one_block() {
    let mut bench = Bench::new();
    bench.play(1, &[0.5; 100]);
    bench.finish(1);
    bench.play(2, &[-0.5; 100]);
    bench.play(3, &[0.25; 100]); // ends turn 2, which nobody finished
    bench.finish(3);
    bench.finish(4); // a turn without audio
    let out = bench.render(400);
    assert_eq!(out[..100], [0.5; 100]);
    assert_eq!(out[100..200], [-0.5; 100]);
    assert_eq!(out[200..300], [0.25; 100]);
    assert_eq!(
        bench.reports(),
        [
            "started 1 at 0",
            "audible 1 at 0",
            "drained 1 after 100 at 100",
            "started 2 at 100",
            "audible 2 at 100",
            "drained 2 after 100 at 200",
            "started 3 at 200",
            "audible 3 at 200",
            "drained 3 after 100 at 300",
            "drained 4 after 0 at 300",
        ]
    );
}

#[test]
fn cancel_fades_within_10_ms_and_lets_nothing_through_later() {
    let mut bench = Bench::new();
    bench.play(1, &[0.8; 20_000]);
    bench.finish(1);
    assert_eq!(bench.render(1000), [0.8; 1000]);
    let control = bench.speaker.control();
    control.cancel(1);
    let out = bench.render(2000);
    let last = out.iter().rposition(|s| *s != 0.0).unwrap();
    assert!(last < 160, "still sounding after {last} samples");
    assert!(largest_step(&out) < 0.01, "click of {}", largest_step(&out));
    assert_eq!(bench.reports(), ["started 1 at 0", "audible 1 at 0", "cancelled 1 after 1128 at 1128"]);
    assert_eq!(bench.speaker.queued().as_nanos(), 0, "cancelled audio still waits");
    assert!(control.is_cancelled(1));

    // Late audio of the cancelled turn is refused at the door; the next turn is whole from its first sample.
    assert_eq!(bench.speaker.play(1, &[0.8; 100], &GO), Queued::Stale);
    assert_eq!(bench.speaker.finish(1, &GO), Queued::Stale);
    bench.play(2, &[0.3; 64]);
    bench.finish(2);
    let out = bench.render(128);
    assert_eq!((&out[..64], &out[64..]), (&[0.3; 64][..], &[0.0; 64][..]));
    assert_eq!(bench.reports(), ["started 2 at 3000", "audible 2 at 3000", "drained 2 after 64 at 3064"]);
}

#[test]
fn cancel_before_the_first_sample_leaves_an_empty_queue() {
    let mut bench = Bench::new();
    bench.play(1, &[0.8; 500]);
    bench.speaker.control().cancel(1);
    bench.play(2, &[0.3; 64]);
    bench.finish(2);
    let out = bench.render(64);
    assert_eq!(out[..10], [0.3; 10]);
    assert_eq!(bench.reports(), ["cancelled 1 after 0 at 0", "started 2 at 0", "audible 2 at 0"]);
}

#[test]
fn cancel_reaches_the_turn_that_sounds_and_the_ones_queued_behind_it() {
    let mut bench = Bench::new();
    bench.play(1, &[0.8; 500]);
    bench.finish(1);
    bench.play(2, &[0.8; 500]);
    bench.render(64);
    bench.speaker.control().cancel(2);
    bench.play(3, &[0.1; 500]);
    bench.finish(3);
    let out = bench.render(640);
    assert!(out[128..628].iter().all(|s| *s == 0.1) && out[628..].iter().all(|s| *s == 0.0));
    let reports = bench.reports();
    assert_eq!(reports[2..4], ["cancelled 1 after 192 at 192", "cancelled 2 after 0 at 192"]);
}

#[test]
fn cancel_of_a_turn_that_is_over_still_answers() {
    let mut bench = Bench::new();
    bench.play(1, &[0.8; 64]);
    bench.finish(1);
    bench.render(128);
    bench.speaker.control().cancel(1);
    bench.render(64);
    assert_eq!(bench.reports()[2..], ["drained 1 after 64 at 64", "cancelled 1 after 64 at 128"]);
}

#[test]
fn pause_and_resume_lose_nothing_and_do_not_click() {
    let mut bench = Bench::new();
    let tone: Vec<f32> = (0..4000).map(|i| 0.5 * (i as f32 * 0.05).sin()).collect();
    bench.play(1, &tone);
    bench.finish(1);
    let control = bench.speaker.control();
    let mut out = bench.render(1000);
    control.pause(1);
    out.extend(bench.render(1000));
    control.resume(1);
    out.extend(bench.render(4000));
    assert!(largest_step(&out[..4872]) < 0.03, "click of {}", largest_step(&out[..4872]));
    // 128 samples of fade-out, silence, fade-in from where it stopped: every sample of the turn was sent exactly once.
    assert!(out[1128..2000].iter().all(|s| *s == 0.0));
    assert_eq!(out[2128..4872], tone[1256..4000]);
    assert_eq!(
        bench.reports()[2..],
        ["paused 1 after 1128 at 1128", "resumed 1 after 1128 at 2000", "drained 1 after 4000 at 4872"]
    );
}

#[test]
fn a_turn_held_before_its_start_waits_and_another_can_replace_it() {
    let mut bench = Bench::new();
    let control = bench.speaker.control();
    control.pause(1);
    bench.play(1, &[0.5; 500]);
    assert_eq!(bench.render(300), [0.0; 300]);
    assert_eq!(bench.reports(), [""; 0]);
    control.cancel(1);
    control.pause(2);
    bench.play(2, &[0.25; 500]);
    bench.finish(2);
    assert_eq!(bench.render(300), [0.0; 300]);
    control.resume(1); // not its pause
    assert_eq!(bench.render(100), [0.0; 100]);
    control.resume(2);
    assert_eq!(bench.render(500), [0.25; 500]);
    assert_eq!(bench.reports()[..2], ["cancelled 1 after 0 at 300", "started 2 at 700"]);
}

#[test]
fn cancel_while_paused_is_silent_at_once() {
    let mut bench = Bench::new();
    bench.play(1, &[0.5; 5000]);
    bench.render(64);
    bench.speaker.control().pause(1);
    bench.render(640);
    bench.speaker.control().cancel(1);
    assert_eq!(bench.render(64), [0.0; 64]);
    assert_eq!(bench.reports()[2..], ["paused 1 after 192 at 192", "cancelled 1 after 192 at 192"]);
}

#[test]
fn gain_ramps_and_belongs_to_its_turn() {
    let mut bench = Bench::new();
    bench.play(1, &[0.5; 2000]);
    bench.finish(1);
    bench.play(2, &[0.5; 200]);
    bench.finish(2);
    bench.render(100);
    bench.speaker.control().set_gain(1, 0.2, std::time::Duration::from_millis(20));
    let out = bench.render(1000);
    assert!(largest_step(&out) < 0.002, "click of {}", largest_step(&out));
    assert!(out[319..].iter().all(|s| (s - 0.1).abs() < 1e-5), "gain is not there after 20 ms");
    bench.speaker.control().set_gain(1, 1.0, std::time::Duration::from_millis(10));
    bench.render(160);
    assert_eq!(bench.render(840)[739..], [0.5; 101], "the next turn plays at full level");
    let reports = bench.reports();
    assert_eq!(reports[2..4], ["gain 1 0.20 at 420", "gain 1 1.00 at 1260"]);
}

#[test]
fn a_hole_is_counted_once_and_does_not_click() {
    let mut bench = Bench::new();
    bench.play(1, &[0.5; 1000]);
    let mut out = bench.render(3000);
    bench.play(1, &[0.5; 1000]);
    bench.finish(1);
    out.extend(bench.render(2000));
    assert!(largest_step(&out[..4000]) < 0.01, "click of {}", largest_step(&out[..4000]));
    assert!(out[1000..3000].iter().all(|s| *s == 0.0));
    assert_eq!(bench.reports()[2..], ["underrun 1 after 1000 at 1000 for 2000", "drained 1 after 2000 at 4000"]);
}

#[test]
fn a_late_finish_is_no_hole() {
    let mut bench = Bench::new();
    bench.play(1, &[0.5; 1000]);
    bench.render(3000);
    bench.finish(1);
    bench.render(100);
    assert_eq!(bench.reports()[2..], ["drained 1 after 1000 at 1000"]);
}

#[test]
fn what_was_played_is_recorded_as_it_left() {
    let mut bench = Bench::new();
    bench.play(1, &ramp(1, 3000));
    bench.finish(1);
    let mut out = bench.render(1000);
    bench.speaker.control().pause(1);
    out.extend(bench.render(500));
    bench.speaker.control().resume(1);
    out.extend(bench.render(4000));
    let mut recorded = vec![0.0; out.len()];
    while let Ok(block) = bench.account.far.pop() {
        let at = block.at_ns.div_ceil(62_500) as usize;
        recorded[at..at + block.len].copy_from_slice(&block.samples[..block.len]);
    }
    assert_eq!(recorded, out);
}

#[test]
fn a_full_queue_waits_until_cancelled_or_closed() {
    let mut bench = Bench::new();
    let minute = vec![0.1; RATE as usize * 60];
    let control = bench.speaker.control();
    let waiting = std::thread::spawn(move || {
        let outcome = bench.speaker.play(1, &minute, &GO);
        (outcome, bench)
    });
    control.cancel(1);
    let (outcome, mut bench) = waiting.join().unwrap();
    assert_eq!(outcome, Queued::Stale);

    let cancel = AtomicBool::new(true);
    assert_eq!(bench.speaker.play(2, &[0.1; 10], &cancel), Queued::Stale);
    drop(bench.player);
    assert_eq!(bench.speaker.play(3, &[0.1; 10], &GO), Queued::Closed);
    assert_eq!(bench.speaker.finish(3, &GO), Queued::Closed);
}

#[test]
fn a_player_nobody_listens_to_goes_on() {
    let mut bench = Bench::new();
    for turn in 1..=3000 {
        bench.play(turn, &[0.1; 100]);
        bench.finish(turn);
        assert_eq!(bench.render(100), [0.1; 100], "turn {turn}");
    }
    assert!(bench.player.lost_reports() > 0, "the test did not fill the ring");
}

/// Everything that can happen within a callback: start, duck, pause, resume, hole, cancel, next turn, full report ring.
#[test]
fn rendering_never_touches_the_allocator() {
    let mut bench = Bench::new();
    let control = bench.speaker.control();
    let mut out = [0.0; 1024];
    let mut rendered = 0;
    for turn in 1..=40 {
        bench.play(turn, &[0.5; 3000]);
        for step in 0..8 {
            match step {
                1 => control.set_gain(turn, 0.25, std::time::Duration::from_millis(20)),
                2 => control.pause(turn),
                4 => control.resume(turn),
                6 => bench.play(turn, &[0.5; 3000]),
                7 if turn % 2 == 0 => control.cancel(turn),
                7 => bench.finish(turn),
                _ => {}
            }
            let calls = alloc_guard::calls(|| bench.player.render(&mut out, rendered * 62_500));
            assert_eq!(calls, 0, "turn {turn}, step {step}");
            rendered += out.len() as u64;
        }
    }
    let happened = bench.reports();
    for word in ["started", "audible", "gain", "paused", "resumed", "underrun", "cancelled", "drained"] {
        assert!(happened.iter().any(|report| report.starts_with(word)), "nothing was {word}");
    }
}
