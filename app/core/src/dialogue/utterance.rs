//! What the user is saying, from the first onset until the turn is committed or dismissed.

use crate::audio::SamplePos;

use super::reply::Reply;

/// A final transcript of an utterance and how far it reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decoded {
    /// End of the last speech frame when it was asked for.
    pub speech_end: SamplePos,
    pub text: String,
    /// When it was there.
    pub at: SamplePos,
}

/// One utterance; several stretches of speech with pauses between them.
#[derive(Debug, Clone)]
pub(super) struct Utterance {
    pub id: u64,
    /// First sample that is decoded: the onset less the pre-roll.
    pub from: SamplePos,
    /// First sample with speech.
    pub speech_start: SamplePos,
    /// One past the last sample with speech so far.
    pub speech_end: SamplePos,
    /// When silence was first reported after `speech_end`.
    pub vad_end: Option<SamplePos>,
    /// The user has paused for long enough that a final transcript was asked for.
    pub in_pause: bool,
    /// Consecutive speech samples seen in this pause; enough of them end it.
    pub resumed: u64,
    /// `speech_end` of the final transcript that is being decoded.
    pub decoding: Option<SamplePos>,
    pub decoded: Option<Decoded>,
    /// Probability that the turn is complete, from the latest scoring.
    pub p_complete: Option<f32>,
    /// Silence at which the audio is scored next, in ms.
    pub score_at_ms: u32,
    pub partial_pending: bool,
    pub partial_asked: SamplePos,
    /// The answer that was started on a provisional transcript.
    pub speculation: Option<Reply>,
    /// Work on the speculation rests, because the user went on.
    pub suspended: bool,
    pub speculations: u32,
    /// It reached its greatest length and is answered as it stands.
    pub capped: bool,
    /// It began while an answer was under way, so that "stop" and "mhm" ask for no answer of their own.
    pub over_reply: bool,
}

impl Utterance {
    pub(super) fn new(id: u64, from: SamplePos, speech_start: SamplePos, now: SamplePos) -> Self {
        Self {
            id,
            from,
            speech_start,
            speech_end: now,
            vad_end: None,
            in_pause: false,
            resumed: 0,
            decoding: None,
            decoded: None,
            p_complete: None,
            score_at_ms: 0,
            partial_pending: false,
            partial_asked: now,
            speculation: None,
            suspended: false,
            speculations: 0,
            capped: false,
            over_reply: false,
        }
    }

    /// The final transcript, if it covers all speech so far.
    pub(super) fn final_text(&self) -> Option<&Decoded> {
        self.decoded.as_ref().filter(|d| d.speech_end == self.speech_end)
    }

    /// Milliseconds since the last speech.
    pub(super) fn silence_ms(&self, now: SamplePos) -> u32 {
        u32::try_from(now.saturating_sub(self.speech_end) / 16).unwrap_or(u32::MAX)
    }
}
