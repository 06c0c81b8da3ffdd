//! Conversations as scripts: what the user does, and what the dialogue then has done.
//!
//! The world is simulated: recognition, scoring and the model answer at once, and the loudspeaker plays 16 samples of the
//! voice each millisecond. Every test is a list of steps and the decisions that must follow, in order.

use turn_detect::Endpointing;
use vad::VadEvent;

use super::*;
use crate::history::Speaker;

enum Step {
    /// The user speaks for so many ms; by its end the recogniser would understand the text.
    Speak(u32, &'static str),
    /// Nobody speaks for so many ms.
    Quiet(u32),
    /// A sound that the VAD takes for speech, without words, for so many ms.
    Noise(u32),
    /// Smart-turn's opinion from here on.
    Complete(f32),
    /// What the model will answer from here on; a word lasts 300 ms.
    Answers(&'static str),
    Command(Command),
    InputEnds,
}
use Step::{Answers, Complete, InputEnds, Noise, Quiet, Speak};

struct World {
    dialogue: Dialogue,
    now: SamplePos,
    in_speech: bool,
    transcript: String,
    p_complete: f32,
    answer: &'static str,
    /// Turn, samples queued, samples played, held.
    sink: Option<(TurnId, u64, u64, bool)>,
    log: Vec<String>,
}

const FRAME: u64 = 512;

impl World {
    fn new() -> Self {
        let dialogue = Dialogue::new(DialogueConfig::default(), Endpointing::default(), History::new(""));
        Self {
            dialogue,
            now: 0,
            in_speech: false,
            transcript: String::new(),
            p_complete: 0.95,
            answer: "Well then.",
            sink: None,
            log: Vec::new(),
        }
    }

    fn tell(&mut self, input: Input) {
        let mut pending = std::collections::VecDeque::from(self.dialogue.on(input));
        while let Some(output) = pending.pop_front() {
            for input in self.obey(output) {
                pending.extend(self.dialogue.on(input));
            }
        }
    }

    fn obey(&mut self, output: Output) -> Vec<Input> {
        let at = self.now;
        match output {
            Output::Recognize { utterance, speech_end, purpose, .. } => {
                let text = self.transcript.clone();
                match purpose {
                    Purpose::Partial => vec![Input::Partial { utterance, text }],
                    Purpose::Final => vec![Input::Final { utterance, speech_end, text, at }],
                }
            }
            Output::Score { utterance, speech_end, .. } => {
                vec![Input::Scored { utterance, speech_end, p_complete: self.p_complete }]
            }
            Output::Think { turn, prompt } => {
                let question = &prompt.last().expect("a prompt has a question").text;
                self.log.push(format!("think {turn} {question}"));
                self.answer(turn, self.answer)
            }
            Output::Speak { turn, text } => {
                self.log.push(format!("speak {turn} {text}"));
                self.answer(turn, text.leak()).into_iter().filter(|i| !matches!(i, Input::Token { .. })).collect()
            }
            Output::Release(turn) => {
                self.log.push(format!("release {turn}"));
                self.hold(turn, false);
                vec![]
            }
            Output::Cancel(turn) => {
                self.log.push(format!("cancel {turn}"));
                let played = self.sink.take_if(|s| s.0 == turn).map_or(0, |s| s.2);
                vec![Input::Playback(PlaybackEvent::Cancelled { turn: turn.0, played, at })]
            }
            Output::Gain(turn, gain) => {
                self.log.push(format!("gain {turn} {gain}"));
                vec![Input::Playback(PlaybackEvent::GainReached { turn: turn.0, gain, at })]
            }
            Output::Hold(turn) => {
                self.log.push(format!("hold {turn}"));
                let played = self.hold(turn, true);
                vec![Input::Playback(PlaybackEvent::Paused { turn: turn.0, played, at })]
            }
            Output::Unhold(turn) => {
                self.log.push(format!("unhold {turn}"));
                self.hold(turn, false);
                vec![]
            }
            Output::Suspend(turn) => {
                self.log.push(format!("suspend {turn}"));
                vec![]
            }
            Output::Continue(turn) => {
                self.log.push(format!("continue {turn}"));
                vec![]
            }
            Output::Tell(Event::Ended) => {
                self.log.push("ended".into());
                vec![]
            }
            Output::Tell(Event::Dismissed) => {
                self.log.push("dismissed".into());
                vec![]
            }
            Output::Tell(_) => vec![],
        }
    }

    fn hold(&mut self, turn: TurnId, held: bool) -> u64 {
        match &mut self.sink {
            Some(sink) if sink.0 == turn => {
                sink.3 = held;
                sink.2
            }
            _ => 0,
        }
    }

    fn answer(&mut self, turn: TurnId, text: &'static str) -> Vec<Input> {
        let at = self.now;
        let mut words = Vec::new();
        let mut start = 0;
        for (i, word) in text.split(' ').enumerate() {
            words.push(SpokenWord { source: start..start + word.len(), end: 4800 * (i as u64 + 1) });
            start += word.len() + 1;
        }
        self.sink = Some((turn, 4800 * words.len() as u64, 0, true));
        vec![
            Input::Prefilled { turn, computed: 7, reused: 3, at },
            Input::Token { turn, text: text.to_owned(), at },
            Input::Clause { turn, at },
            Input::Chunk { turn, words, at },
        ]
    }

    fn frame(&mut self, is_speech: bool) {
        self.now += FRAME;
        self.play();
        let end = vad::SamplePos(self.now);
        self.tell(Input::Vad(VadEvent::Frame { end, speech_prob: f32::from(u8::from(is_speech)), is_speech }));
    }

    /// The VAD's segmenter: 3 frames of speech start a segment, 10 frames of silence end it.
    fn frames(&mut self, ms: u32, is_speech: bool) {
        let start = self.now;
        for i in 1..=ms.div_ceil(32) {
            self.frame(is_speech);
            if is_speech && i == 3 && !self.in_speech {
                self.in_speech = true;
                self.tell(Input::Vad(VadEvent::SpeechStart { at: vad::SamplePos(start) }));
            } else if !is_speech && i == 10 && self.in_speech {
                self.in_speech = false;
                self.tell(Input::Vad(VadEvent::SpeechEnd { at: vad::SamplePos(start) }));
            }
        }
    }

    fn play(&mut self) {
        let at = self.now;
        let Some((turn, queued, played, held)) = self.sink else {
            return;
        };
        if held {
            return;
        }
        let played_now = (played + FRAME).min(queued);
        self.sink = Some((turn, queued, played_now, held));
        let turn = turn.0;
        if played == 0 {
            self.tell(Input::Playback(PlaybackEvent::FirstAudio { turn, at }));
        }
        self.tell(Input::Playback(PlaybackEvent::Progress { turn, played: played_now, at }));
        if played_now == queued {
            self.sink = None;
            self.tell(Input::Playback(PlaybackEvent::Drained { turn, played: queued, at }));
        }
    }

    fn run(mut self, steps: &[Step]) -> Self {
        for step in steps {
            match step {
                Speak(ms, text) => {
                    self.transcript = (*text).to_owned();
                    self.frames(*ms, true);
                }
                Noise(ms) => {
                    self.transcript = String::new();
                    self.frames(*ms, true);
                }
                Quiet(ms) => self.frames(*ms, false),
                Complete(p) => self.p_complete = *p,
                Answers(text) => self.answer = text,
                Step::Command(command) => self.tell(Input::Command(command.clone())),
                InputEnds => self.tell(Input::InputEnded { at: self.now }),
            }
        }
        self
    }

    fn heard(&self) -> Vec<(&str, &str)> {
        self.dialogue.history().exchanges().iter().map(|e| (e.user.as_str(), e.assistant.as_str())).collect()
    }
}

fn check(steps: &[Step], decisions: &[&str], history: &[(&str, &str)]) -> World {
    let world = World::new().run(steps);
    assert_eq!(world.log, decisions, "decisions");
    assert_eq!(world.heard(), history, "history");
    world
}

const LONG: &str = "One two three four five six seven eight nine ten";

#[test]
fn a_question_is_answered_and_its_probes_are_filled() {
    let world = check(
        &[Speak(960, "What time is it?"), Quiet(3000), InputEnds, Quiet(500)],
        &["think 1 What time is it?", "release 1", "ended"],
        &[("What time is it?", "Well then.")],
    );
    let (turns, barge_ins, cutoffs, _) = world.dialogue.record();
    assert_eq!((turns.len(), barge_ins.len(), cutoffs), (1, 0, 0));
    let e = &turns[0].events_ms;
    let order = [e.speech_start, e.speech_end, e.vad_end, e.transcript_final, e.first_token, e.commit, e.first_audio];
    assert!(order.iter().all(Option::is_some), "{e:?}");
    assert!(order.is_sorted(), "{e:?}");
    assert_eq!((e.speech_start, e.speech_end), (Some(0.0), Some(960.0)));
    assert_eq!((turns[0].prefill_tokens, turns[0].reused_tokens), (7, 3));
}

#[test]
fn a_pause_inside_a_turn_cancels_the_speculation_and_nothing_is_heard() {
    check(
        &[
            Complete(0.1),
            Speak(960, "I would like to"),
            Quiet(320),
            Complete(0.95),
            Speak(960, "I would like to book a table."),
            Quiet(3000),
        ],
        &["think 1 I would like to", "suspend 1", "cancel 1", "think 2 I would like to book a table.", "release 2"],
        &[("I would like to book a table.", "Well then.")],
    );
}

#[test]
fn the_end_is_found_even_if_the_turn_never_seems_complete() {
    let world = World::new().run(&[Complete(0.0), Speak(960, "because"), Quiet(6000)]);
    assert_eq!(world.heard(), [("because", "Well then.")]);
}

#[test]
fn going_on_before_the_answer_is_audible_merges_the_turn() {
    let mut world = World::new().run(&[Speak(960, "Tell me a joke"), Quiet(96)]);
    // The loudspeaker is slow to start: hold back what plays.
    while !world.log.iter().any(|l| l == "release 1") {
        world.frame(false);
        world.hold(TurnId(1), true);
    }
    world.hold(TurnId(1), true);
    let world = world.run(&[Speak(960, "Tell me a joke about cats"), Quiet(3000)]);
    assert_eq!(world.heard(), [("Tell me a joke about cats", "Well then.")]);
    assert_eq!(world.dialogue.record().0.len(), 1);
    assert_eq!(world.dialogue.record().0[0].id, 1);
}

#[test]
fn an_interruption_cancels_and_history_holds_what_was_heard() {
    let world = check(
        &[
            Answers(LONG),
            Speak(960, "Count to ten."),
            Quiet(1400),
            Answers("Four."),
            Speak(960, "Wait, what is two plus two?"),
            Quiet(2000),
        ],
        &[
            "think 1 Count to ten.",
            "release 1",
            "gain 1 0.25",
            "hold 1",
            "cancel 1",
            "think 2 Wait, what is two plus two?",
            "release 2",
        ],
        &[("Count to ten.", "One two three four five"), ("Wait, what is two plus two?", "Four.")],
    );
    let (turns, barge_ins, ..) = world.dialogue.record();
    assert!(turns[0].interrupted && !turns[1].interrupted);
    assert!(turns[0].assistant.starts_with(&turns[0].heard));
    assert_eq!(barge_ins.len(), 1);
    assert_eq!(barge_ins[0].outcome, BargeInOutcome::Cancelled);
    let order = [Some(barge_ins[0].onset_ms), barge_ins[0].duck_ms, barge_ins[0].pause_ms, barge_ins[0].silent_ms];
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{:?}", barge_ins[0]);
}

#[test]
fn stop_ends_the_answer_and_makes_no_turn() {
    check(
        &[Answers(LONG), Speak(960, "Count to ten."), Quiet(1400), Speak(480, "Stop."), Quiet(2000)],
        &["think 1 Count to ten.", "release 1", "gain 1 0.25", "cancel 1", "dismissed"],
        &[("Count to ten.", "One two three four five")],
    );
}

#[test]
fn a_backchannel_loses_no_word() {
    let world = check(
        &[Answers(LONG), Speak(960, "Count to ten."), Quiet(1400), Speak(384, "Mhm."), Quiet(4000)],
        &["think 1 Count to ten.", "release 1", "gain 1 0.25", "hold 1", "unhold 1", "gain 1 1", "dismissed"],
        &[("Count to ten.", LONG)],
    );
    assert_eq!(world.dialogue.record().1[0].outcome, BargeInOutcome::Resumed);
}

#[test]
fn a_cough_before_the_answer_never_drops_it() {
    check(
        &[Answers(LONG), Speak(960, "Count to ten."), Quiet(260), Noise(128), Quiet(6000)],
        &["think 1 Count to ten.", "release 1", "gain 1 0.25", "unhold 1", "gain 1 1", "dismissed"],
        &[("Count to ten.", LONG)],
    );
}

#[test]
fn noise_alone_makes_no_turn() {
    check(&[Noise(640), Quiet(2000), InputEnds, Quiet(500)], &["dismissed", "ended"], &[]);
}

#[test]
fn a_changed_comma_keeps_the_speculation() {
    check(
        &[
            Complete(0.1),
            Speak(960, "what time is it"),
            Quiet(320),
            Complete(0.95),
            // A breath that the VAD takes for speech.
            Speak(128, "What time is it?"),
            Quiet(3000),
        ],
        &["think 1 what time is it", "suspend 1", "continue 1", "release 1"],
        &[("what time is it", "Well then.")],
    );
}

#[test]
fn commands_interrupt_ask_and_say() {
    check(
        &[
            Answers(LONG),
            Step::Command(Command::Ask("Count.".into())),
            Quiet(800),
            Step::Command(Command::Interrupt),
            Quiet(300),
            Step::Command(Command::Say("All done.".into())),
            Quiet(2000),
            Step::Command(Command::Finish),
            Quiet(64),
        ],
        &["think 1 Count.", "release 1", "cancel 1", "speak 2 All done.", "release 2", "ended"],
        &[("Count.", "One two three"), ("", "All done.")],
    );
}

#[test]
fn a_failed_answer_ends_its_turn_only() {
    let mut world = World::new().run(&[Speak(960, "Hello there"), Quiet(320)]);
    world.tell(Input::Failed { turn: Some(TurnId(1)), utterance: None, message: "out of memory".into() });
    let world = world.run(&[Quiet(500), Speak(960, "Are you there?"), Quiet(2000)]);
    assert_eq!(world.heard().last(), Some(&("Are you there?", "Well then.")));
}

#[test]
fn no_prompt_ever_holds_a_stage_direction() {
    let world = World::new().run(&[
        Answers(LONG),
        Speak(960, "Count to ten."),
        Quiet(1400),
        Speak(960, "Wait, what is two plus two?"),
        Quiet(4000),
    ]);
    let prompt = world.dialogue.history().prompt("And now?");
    let texts: Vec<_> = prompt.iter().map(|m| (m.speaker, m.text.as_str())).collect();
    assert_eq!(
        texts,
        [
            (Speaker::User, "Count to ten."),
            (Speaker::Assistant, "One two three four five"),
            (Speaker::User, "Wait, what is two plus two?"),
            (Speaker::Assistant, LONG),
            (Speaker::User, "And now?"),
        ]
    );
}
