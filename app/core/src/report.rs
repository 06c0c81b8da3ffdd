//! What happened, turn by turn: the report of `ask`, of `bench turns` and of the evaluation harness.
//!
//! Times are milliseconds on the sample clock of the input, from its first sample. A value that did not happen
//! is null.

mod quantile;
mod table;
mod waterfall;

use serde::{Deserialize, Serialize};

pub use quantile::{Quantiles, quantiles};
pub use table::table;
pub use waterfall::waterfall;

use crate::message::BargeInOutcome;

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Of this layout.
    pub version: u32,
    /// Where it ran.
    pub machine: Machine,
    /// What ran.
    pub models: Models,
    /// Whether `speech_end` comes from labels of the input or from the VAD.
    pub speech_end_from: SpeechEndSource,
    /// Every committed turn, in order.
    pub turns: Vec<Turn>,
    /// Every time the user spoke over an answer.
    pub barge_ins: Vec<BargeIn>,
    /// Over all turns.
    pub summary: Summary,
}

/// Where the acoustic end of speech is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpeechEndSource {
    /// The end of the last frame that the VAD called speech.
    Vad,
    /// A label that came with the input.
    Labels,
}

/// The machine that a report was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system and processor architecture.
    pub platform: String,
    /// Logical cores that the process may use.
    pub cores: usize,
    /// Threads given to each stage.
    pub threads: usize,
}

impl Machine {
    /// This machine, with `threads` threads a stage.
    #[must_use]
    pub fn here(threads: usize) -> Self {
        Self {
            platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            threads,
        }
    }
}

/// The models that took part, by catalogue id or file name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Models {
    /// Speech recognition.
    pub asr: String,
    /// Language model.
    pub llm: String,
    /// Voice.
    pub voice: String,
    /// End of turn.
    pub turn: String,
}

/// One committed turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// From 1, in the order of commitment.
    pub id: u64,
    /// What the user said, as understood.
    pub user: String,
    /// All that the model wrote.
    pub assistant: String,
    /// The part of it whose audio was played.
    pub heard: String,
    /// Whether the user cut it short.
    pub interrupted: bool,
    /// How often the model was started on a provisional transcript; the last of them may have been kept.
    pub speculations: u32,
    /// Prompt tokens that had to be computed, because the cache did not hold them.
    pub prefill_tokens: usize,
    /// Prompt tokens that the cache held.
    pub reused_tokens: usize,
    /// Tokens that the model wrote.
    pub generated_tokens: usize,
    /// When each stage was done.
    pub events_ms: Events,
    /// First token, from both clocks; negative from the commit when it was ready before.
    pub first_token_ms: Clocks,
    /// First audio, from both clocks.
    pub first_audio_ms: Clocks,
}

/// When each stage of one turn was done, in ms from the first sample of the input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// First sample of the user's speech.
    pub speech_start: Option<f64>,
    /// One past the last sample of the user's speech.
    pub speech_end: Option<f64>,
    /// The VAD had reported silence after it.
    pub vad_end: Option<f64>,
    /// The transcript that was answered was complete.
    pub transcript_final: Option<f64>,
    /// The turn was declared over.
    pub commit: Option<f64>,
    /// The prompt was in the cache.
    pub prefill_done: Option<f64>,
    /// The first token was there.
    pub first_token: Option<f64>,
    /// The first clause was complete.
    pub first_clause: Option<f64>,
    /// The first chunk of audio had been synthesised.
    pub first_chunk: Option<f64>,
    /// The first sample above -50 dBFS reached the sink.
    pub first_audio: Option<f64>,
    /// The last sample left the sink.
    pub drained: Option<f64>,
}

/// One delay from both clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// From the acoustic end of the user's speech.
    pub from_speech_end: Option<f64>,
    /// From the moment the turn was declared over.
    pub from_commit: Option<f64>,
}

impl Turn {
    /// Fills the two delays from the events.
    pub fn measure(&mut self) {
        let clocks = |event: Option<f64>| Clocks {
            from_speech_end: since(event, self.events_ms.speech_end),
            from_commit: since(event, self.events_ms.commit),
        };
        self.first_token_ms = clocks(self.events_ms.first_token);
        self.first_audio_ms = clocks(self.events_ms.first_audio);
    }
}

fn since(event: Option<f64>, start: Option<f64>) -> Option<f64> {
    Some(event? - start?)
}

/// The user spoke over an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BargeIn {
    /// Which turn's answer.
    pub turn: u64,
    /// When the speech began, in ms from the first sample of the input.
    pub onset_ms: f64,
    /// When the answer became quieter.
    pub duck_ms: Option<f64>,
    /// When it paused.
    pub pause_ms: Option<f64>,
    /// When the sink was silent for good; null where it resumed.
    pub silent_ms: Option<f64>,
    /// How it ended.
    pub outcome: BargeInOutcome,
}

/// Over all turns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many turns were committed.
    pub turns: usize,
    /// First token.
    pub first_token_ms: ClockQuantiles,
    /// First audio.
    pub first_audio_ms: ClockQuantiles,
    /// Answers that became audible although the user had only paused.
    pub false_cutoffs: usize,
    /// Times the sink had nothing to play in the middle of an answer.
    pub underruns: u64,
}

/// Quantiles from both clocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockQuantiles {
    /// From the acoustic end of the user's speech.
    pub from_speech_end: Option<Quantiles>,
    /// From the moment the turn was declared over.
    pub from_commit: Option<Quantiles>,
}

impl Report {
    /// Recomputes delays and the summary's quantiles from the turns' events.
    pub fn summarise(&mut self) {
        for turn in &mut self.turns {
            turn.measure();
        }
        let over = |delay: fn(&Turn) -> Option<f64>| quantiles(self.turns.iter().filter_map(delay));
        self.summary.turns = self.turns.len();
        self.summary.first_token_ms = ClockQuantiles {
            from_speech_end: over(|t| t.first_token_ms.from_speech_end),
            from_commit: over(|t| t.first_token_ms.from_commit),
        };
        self.summary.first_audio_ms = ClockQuantiles {
            from_speech_end: over(|t| t.first_audio_ms.from_speech_end),
            from_commit: over(|t| t.first_audio_ms.from_commit),
        };
    }

    /// Takes each turn's `speech_end` from the label it belongs to, and counts false cut-offs by the labels: answers that
    /// became audible before the utterance that they cut was over.
    ///
    /// A turn belongs to the last utterance that began before it was committed. Where that one is labelled to end after
    /// the commit, the turn was a cut-off and keeps the VAD's end.
    pub fn use_labels(&mut self, spans: &[Span]) {
        self.summary.false_cutoffs = 0;
        for turn in &mut self.turns {
            let Some(commit) = turn.events_ms.commit else { continue };
            let Some(span) =
                spans.iter().filter(|s| s.start_ms < commit).max_by(|a, b| a.start_ms.total_cmp(&b.start_ms))
            else {
                continue;
            };
            if span.end_ms <= commit {
                turn.events_ms.speech_end = Some(span.end_ms);
                self.speech_end_from = SpeechEndSource::Labels;
            } else if turn.events_ms.first_audio.is_some_and(|audio| audio < span.end_ms) {
                self.summary.false_cutoffs += 1;
            }
        }
        self.summarise();
    }
}

/// A labelled utterance, in ms from the first sample of the input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// First sample with speech.
    pub start_ms: f64,
    /// One past the last sample with speech; pauses inside belong to the utterance.
    pub end_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(end: f64, commit: f64, token: f64, audio: f64) -> Turn {
        let events_ms = Events {
            speech_end: Some(end),
            commit: Some(commit),
            first_token: Some(token),
            first_audio: Some(audio),
            ..Events::default()
        };
        Turn { events_ms, ..Turn::default() }
    }

    fn report(turns: Vec<Turn>) -> Report {
        let models = Models { asr: "a".into(), llm: "l".into(), voice: "v".into(), turn: "t".into() };
        let mut report = Report {
            version: 1,
            machine: Machine::here(2),
            models,
            speech_end_from: SpeechEndSource::Vad,
            turns,
            barge_ins: vec![],
            summary: Summary::default(),
        };
        report.summarise();
        report
    }

    #[test]
    fn both_clocks_are_reported() {
        let report = report(vec![turn(1000.0, 1200.0, 1150.0, 1400.0)]);
        let delays = &report.turns[0];
        assert_eq!(delays.first_token_ms, Clocks { from_speech_end: Some(150.0), from_commit: Some(-50.0) });
        assert_eq!(delays.first_audio_ms, Clocks { from_speech_end: Some(400.0), from_commit: Some(200.0) });
        assert_eq!(report.summary.first_audio_ms.from_speech_end.unwrap().p95, 400.0);
    }

    #[test]
    fn labels_date_the_end_of_speech_and_find_cutoffs() {
        let mut report = report(vec![turn(1000.0, 1200.0, 1150.0, 1400.0), turn(9000.0, 9200.0, 9100.0, 9400.0)]);
        let span = |start_ms, end_ms| Span { start_ms, end_ms };
        report.use_labels(&[span(100.0, 940.0), span(8000.0, 10_500.0)]);
        assert_eq!(report.turns[0].first_audio_ms.from_speech_end, Some(460.0));
        assert_eq!(report.turns[1].first_audio_ms.from_speech_end, Some(400.0));
        assert_eq!(report.speech_end_from, SpeechEndSource::Labels);
        assert_eq!(report.summary.false_cutoffs, 1, "the second answer began before 10,500 ms");
    }

    #[test]
    fn what_did_not_happen_is_null() {
        let json = serde_json::to_value(report(vec![Turn::default()])).unwrap();
        assert!(json["turns"][0]["events_ms"]["first_audio"].is_null());
        assert!(json["summary"]["first_audio_ms"]["from_commit"].is_null());
    }
}
