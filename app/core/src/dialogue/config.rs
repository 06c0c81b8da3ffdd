//! The dialogue's timing.

use crate::barge_in::BargeInConfig;

/// How the dialogue times its work. Durations in ms.
#[derive(Debug, Clone, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct DialogueConfig {
    /// Silence after which a final transcript is decoded and an answer started. Most pauses between words are shorter
    /// than 100 ms; a later start costs latency one to one, an earlier one costs decodes that are thrown away.
    pub first_pause_ms: u32,
    /// Speech in a pause that ends it. One VAD frame alone is a click or a breath.
    pub resume_ms: u32,
    /// Speech that opens an utterance when the VAD is still in its hangover.
    pub onset_ms: u32,
    /// Audio before the onset that is decoded, too. 500 ms keeps the first word whole.
    pub pre_roll_ms: u32,
    /// Speculative answers for one utterance; past that, the answer starts at the commit.
    pub max_speculations: u32,
    /// Silence after which an utterance without words is forgotten.
    pub dismiss_after_ms: u32,
    /// Time between partial transcripts while the user speaks.
    pub partial_every_ms: u32,
    /// The same while an answer waits for the gate's decision.
    pub urgent_partial_every_ms: u32,
    /// Longest utterance; then the turn is committed as it stands.
    pub max_utterance_ms: u32,
    /// How speech over an answer is judged.
    pub barge_in: BargeInConfig,
}

impl Default for DialogueConfig {
    fn default() -> Self {
        Self {
            first_pause_ms: 96,
            resume_ms: 64,
            onset_ms: 96,
            pre_roll_ms: 500,
            max_speculations: 6,
            dismiss_after_ms: 400,
            partial_every_ms: 500,
            urgent_partial_every_ms: 160,
            max_utterance_ms: 60_000,
            barge_in: BargeInConfig::default(),
        }
    }
}
